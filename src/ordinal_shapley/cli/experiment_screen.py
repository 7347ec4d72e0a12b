"""What an experiment on the user's rows writes and shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ordinal_shapley.cli.json_documents import Json, Warned, print_document, written
from ordinal_shapley.cli.options import running_option

if TYPE_CHECKING:
    import pandas as pd

    from ordinal_shapley.tables.problem import Problem

RANDOM = "random"
# By their names in JSON: the title of a column, and how a run gives the number.
Figures = dict[str, tuple[str, Callable[[Any], float]]]
_NOISE: Figures = {
    "roc_auc": ("ROC AUC", lambda found: found.auc),
    "precision": ("precision", lambda found: found.precision),
    "found_in_lowest_half": ("found in the lowest half", lambda found: found.found_at(0.5)),
}
_REMOVAL: Figures = {
    "all_rows": ("all rows", lambda curves: float(curves.high_first[0])),
    "highest_first": ("highest first", lambda curves: curves.auc),
    "lowest_first": ("lowest first", lambda curves: curves.auc_low_first),
}
_NOISE_TOLD = (
    "It is the chance that a wrong label has a lower value than a right one, 0.5 for a guess; precision is "
    "the share of wrong labels among as many of the lowest rows as there are wrong labels. To clean labels, "
    "prefer the ordinal or the classic value."
)
_REMOVAL_TOLD = (
    "Mean accuracy on held-out rows over all marks. Values are good if it is low where the highest go first "
    "and high where the lowest go first."
)


@dataclass(frozen=True)
class OutputOptions:
    """What is written of an experiment."""

    out: Annotated[
        Path | None, running_option("Write the curves of all runs there.", metavar="CURVES.csv")
    ] = None
    plot: Annotated[
        Path | None, running_option("Draw them there (png, svg, pdf ...).", metavar="CURVES.png")
    ] = None
    as_json: Json = False


def finish(
    results: dict[str, list[Any]],
    problem: Problem,
    held: Problem | None,
    settings: dict[str, Any],
    files: OutputOptions,
    warned: Warned,
) -> None:
    """Write the files and show the means; only where rows are removed are others `held` out."""
    from ordinal_shapley.cli import outputs, screen

    out, plot, seed = files.out, files.plot, settings["seed"]
    if out is not None:
        outputs.write_csv(_curves(results, seed), out)
    if plot is not None:
        from ordinal_shapley.plots import plot_detection, plot_removal
        from ordinal_shapley.plots.files import blank_figure, save_figure

        named = {name.replace("_", " "): runs for name, runs in results.items()}
        figure = blank_figure((8.0, 4.5))
        if held is None:
            del named[RANDOM]  # the picture has a line for it
            plot_detection(named, ax=figure.subplots())
        else:
            plot_removal(named, ax=figure.subplots())
        save_figure(figure, plot)
    figures = _NOISE if held is None else _REMOVAL
    if files.as_json:
        sizes = {"training_rows": len(problem.y), "validation_rows": len(problem.y_valid)}
        if held is not None:
            sizes["held_out_rows"] = len(held.y_valid)
        parts = {
            "data": {"name": problem.name, **sizes},
            "settings": settings,
            "values": _summaries(results, figures),
            "written": written(out, plot),
        }
        print_document(f"experiment {'noise' if held is None else 'removal'}", parts, warned)
        return
    console = screen.screen()
    n_runs = len(results[RANDOM])
    beside = "" if held is None else f" and {len(held.y_valid):,} held out"
    console.print(
        f"[bold]{'Wrong labels found' if held is None else 'Rows removed by value'}[/bold]: "
        f"{len(problem.y):,} training rows of {screen.safe(problem.name)}, "
        f"{len(problem.y_valid):,} validation rows{beside}, "
        f"{n_runs} run{'s' * (n_runs > 1)} from seed {seed}\n",
        highlight=False,
    )
    console.print(_table(results, figures))
    told = f"{_best(results)} {_NOISE_TOLD}" if held is None else _REMOVAL_TOLD
    spread = " Beside each mean stands the standard deviation over the runs." if n_runs > 1 else ""
    console.print(f"\n{told}{spread}", highlight=False)
    screen.tell_written(console, out, plot)


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


def _table(results: dict[str, list[Any]], figures: Figures) -> Any:
    from ordinal_shapley.cli.screen import plain_table

    table = plain_table()
    table.add_column("value", no_wrap=True)
    for title, _ in figures.values():
        table.add_column(title, justify="right")
    for name, runs in results.items():
        cells = (_spread([figure(run) for run in runs]) for _, figure in figures.values())
        table.add_row(name.replace("_", " "), *cells)
    return table


def _spread(numbers: list[float]) -> str:
    """Return "mean ± standard deviation"."""
    import numpy as np

    more = f" ± {np.std(numbers, ddof=1):.2f}" if len(numbers) > 1 else ""
    return f"{np.mean(numbers):.2f}{more}"


def _summaries(results: dict[str, list[Any]], figures: Figures) -> list[dict[str, Any]]:
    """Return mean, standard deviation and runs of each figure of each value."""
    import numpy as np

    lines: list[dict[str, Any]] = []
    for name, runs in results.items():
        line: dict[str, Any] = {"value": name}
        for key, (_, figure) in figures.items():
            numbers = [figure(run) for run in runs]
            spread = np.std(numbers, ddof=1) if len(numbers) > 1 else None
            line[key] = {"mean": np.mean(numbers), "std": spread, "runs": numbers}
        lines.append(line)
    return lines


def _best(results: dict[str, list[Any]]) -> str:
    import numpy as np

    areas = {name: float(np.mean([found.auc for found in runs])) for name, runs in results.items()}
    best = max(areas, key=lambda name: areas[name])
    return f"Highest ROC AUC: {best.replace('_', ' ')}."
