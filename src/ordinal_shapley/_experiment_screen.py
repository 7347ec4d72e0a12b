"""What an experiment on the user's rows writes and shows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from ordinal_shapley._tables import Problem

RANDOM = "random"


def finish(
    results: dict[str, list[Any]],
    problem: Problem,
    held: Problem | None,
    seed: int,
    out: Path | None,
    plot: Path | None,
) -> None:
    """Write the files and show the means; only where rows are removed are others `held` out."""
    from ordinal_shapley import _outputs, _screen

    if out is not None:
        _outputs.write_csv(_curves(results, seed), out)
    if plot is not None:
        from ordinal_shapley.plots import plot_detection, plot_removal

        named = {name.replace("_", " "): runs for name, runs in results.items()}
        figure = _outputs.blank_figure((8.0, 4.5))
        if held is None:
            del named[RANDOM]  # the picture has a line for it
            plot_detection(named, ax=figure.subplots())
        else:
            plot_removal(named, ax=figure.subplots())
        _outputs.save_figure(figure, plot)
    console = _screen.screen()
    n_runs = len(results[RANDOM])
    beside = "" if held is None else f" and {len(held.y_valid):,} held out"
    console.print(
        f"[bold]{'Wrong labels found' if held is None else 'Rows removed by value'}[/bold]: "
        f"{len(problem.y):,} training rows of {_screen.safe(problem.name)}, "
        f"{len(problem.y_valid):,} validation rows{beside}, "
        f"{n_runs} run{'s' * (n_runs > 1)} from seed {seed}\n",
        highlight=False,
    )
    table, advice = _noise_table(results) if held is None else _removal_table(results)
    console.print(table)
    console.print(f"\n{advice}", highlight=False)
    for path in (out, plot):
        if path is not None:
            console.print(f"Written: {path}", highlight=False, markup=False, soft_wrap=True)


def _curves(results: dict[str, list[Any]], seed: int) -> pd.DataFrame:
    """Return the curves of all runs, one line a mark."""
    import pandas as pd

    frames = []
    for name, runs in results.items():
        for run, result in enumerate(runs, start=seed):
            frame = result.to_frame()
            frame.insert(0, "seed", run)
            frame.insert(0, "value", name)
            frames.append(frame)
    whole: pd.DataFrame = pd.concat(frames).set_index("value")
    return whole


def _table(header: tuple[str, ...], lines: list[list[str]]) -> Any:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("value", no_wrap=True)
    for name in header:
        table.add_column(name, justify="right")
    for line in lines:
        table.add_row(*line)
    return table


def _spread(numbers: list[float]) -> str:
    """Return "mean ± standard deviation"."""
    import numpy as np

    more = f" ± {np.std(numbers, ddof=1):.2f}" if len(numbers) > 1 else ""
    return f"{np.mean(numbers):.2f}{more}"


def _noise_table(results: dict[str, list[Any]]) -> tuple[Any, str]:
    import numpy as np

    lines = [
        [
            name.replace("_", " "),
            _spread([found.auc for found in runs]),
            _spread([found.precision for found in runs]),
            _spread([found.found_at(0.5) for found in runs]),
        ]
        for name, runs in results.items()
    ]
    areas = {name: float(np.mean([found.auc for found in runs])) for name, runs in results.items()}
    best = max(areas, key=lambda name: areas[name])
    advice = (
        f"Highest ROC AUC: {best.replace('_', ' ')}. It is the chance that a wrong label has a lower value "
        "than a right one, 0.5 for a guess; precision is the share of wrong labels among as many of the "
        "lowest rows as there are wrong labels. To clean labels, prefer the ordinal or the classic value."
    )
    return _table(("ROC AUC", "precision", "found in the lowest half"), lines), advice


def _removal_table(results: dict[str, list[Any]]) -> tuple[Any, str]:
    lines = [
        [
            name.replace("_", " "),
            _spread([float(curves.high_first[0]) for curves in runs]),
            _spread([curves.auc for curves in runs]),
            _spread([curves.auc_low_first for curves in runs]),
        ]
        for name, runs in results.items()
    ]
    advice = (
        "Mean accuracy on held-out rows over all marks. Values are good if it is low where the highest go "
        "first and high where the lowest go first."
    )
    return _table(("all rows", "highest first", "lowest first"), lines), advice
