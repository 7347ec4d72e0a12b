"""The command ``ordinal-shapley verify``: estimates of a game's values beside the exact ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ordinal_shapley.cli import options, output
from ordinal_shapley.cli.exact import FILE_HELP, GameOptions, writer
from ordinal_shapley.vocabulary import count

if TYPE_CHECKING:
    import pandas as pd

    from ordinal_shapley.verification.comparison import Verification

VERIFY_HELP = f"""Compare estimates of the players' values with the exact ones.

Each error is split into bias (the expectation of the estimate minus the exact value) and noise.

{FILE_HELP} For example:

ordinal-shapley verify game.json --method tmc --permutations 5000

ordinal-shapley verify game.json --method ctmc --strata red,red,blue,blue
"""
_SHORTEST_NAME = 6
_MARK = "*"


@options.command
def verify(
    sampling: options.GameSamplerOptions,
    which: options.GameValueOptions,
    file: GameOptions,
    permutations: int = options.stopping_option(
        5_000, "Number of permutations.", "N", limits={"min": 1, "max": 2**62}
    ),
    seed: int = options.SEED,
    max_seconds: float | None = options.MAX_SECONDS,
    jobs: int = options.JOBS,
    most_z: float | None = options.running_option(
        None,
        "Exit with code 1 if the noise of any player exceeds Z standard errors.",
        "Z",
        limits={"above": 0.0},
    ),
    out: Path | None = options.OUT,
    progress: bool = options.PROGRESS,
    as_json: bool = options.JSON,
) -> None:
    """Check estimates against exact values."""
    kind, sampler = which.value(), sampling.sampler()
    output.check_outputs({"--out": out}, [file.game])
    with output.warning_lines() as warned:
        import ordinal_shapley

        result = ordinal_shapley.verify(
            file.read(),
            kind,
            sampler,
            n_permutations=permutations,
            random_state=seed,
            n_jobs=jobs,
            progress=progress,
            max_seconds=max_seconds,
        )
        frame = result.to_frame().rename_axis("player")
        output.show(
            "verify",
            as_json,
            lambda: _document(result, frame, file.game.name),
            lambda console: _show(console, result, frame, file.game.name),
            [(out, output.csv_writer(frame))],
            warned,
        )
    largest = _largest_z(result)
    if most_z is not None and not (largest is not None and largest <= most_z):
        why = "no z is known, use more permutations"
        if largest is not None:
            why = f"the largest |z| is {largest:.2f}, above {most_z:g}"
        typer.echo(f"check failed: {why}", err=True)
        raise typer.Exit(1)


def _document(result: Verification, frame: pd.DataFrame, name: str) -> dict[str, Any]:
    import numpy as np

    exact = {"exact_evaluations": result.exact_values.n_evaluations}
    return {
        "data": {"name": name, "players": len(result)},
        "settings": output.run_settings(result.valuation),
        "run": output.run_summary(result.valuation) | exact,
        "summary": {
            "level": result.level,
            "intervals": int(np.sum(~np.isnan(result.stderr))),
            "holding_exact": int(np.sum(result.holds_exact)),
            "coverage": result.coverage,
            "coverage_of_exact": result.coverage_of_exact,
            "largest_bias": np.abs(result.bias).max(),
            "largest_z": _largest_z(result),
            "rank_correlation": result.rank_correlation,
            "note": result.note,
        },
        "players": output.records(frame),
    }


def _show(console: Any, result: Verification, frame: pd.DataFrame, name: str) -> None:
    """Print the accuracy of the estimate as a whole and by player, highest value first."""
    import numpy as np

    title = f"Estimates against exact {result.valuation.kind.title.lower()} Shapley values of "
    console.print(f"[bold]{title}{count(len(result), 'player')}[/bold] of {output.safe(name)}")
    number = writer(np.concatenate([result.exact, result.estimate]), result.stderr)
    console.print(output.facts(*_summary(result, number)))
    console.print()

    sign, order = output.plus_minus(console), np.argsort(-result.exact, kind="stable")
    rows = frame.iloc[order]
    columns = {column: list(map(number, rows[column])) for column in ("exact", "estimate")}
    columns[f"{sign} std. error"] = [f"{sign} {number(error).lstrip('+')}" for error in rows["stderr"]]
    if result.note:  # why bias is not known
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = rows["error"] / rows["stderr"]
        columns |= {"error": list(map(number, rows["error"])), "error / s.e.": [f"{r:+.1f}" for r in ratios]}
    else:
        parts = ("bias", "noise") if _is_biased(result) else ("noise",)
        columns |= {part: list(map(number, rows[part])) for part in parts}
        columns["z"] = [f"{z:+.1f}" for z in rows["z"]]
    missed = ~rows["holds_exact"] & rows["stderr"].notna()
    columns[""] = [_MARK * bool(one) for one in missed]
    # z compares the noise with its standard error.
    output.make_room(console, columns, ("noise", f"{sign} std. error"), _SHORTEST_NAME)
    output.print_table(console, {"player": [*rows.index]} | columns, "player")
    console.print()
    if missed.any():
        console.print(f"{_MARK} the {_percent(result.level)} CI does not contain the exact value")
    if _is_biased(result):
        console.print(
            "Bias is the expectation of the estimate minus the exact value; more permutations do not reduce "
            "it. Noise is the rest of the error, due to the permutations that were drawn; z is noise divided "
            "by the standard error."
        )


def _largest_z(result: Verification) -> float | None:
    return max((abs(z) for z in result.z.tolist() if not math.isnan(z)), default=None)


def _is_biased(result: Verification) -> bool:
    return not result.note and bool(result.class_bias.any() or result.truncation_bias.any())


def _percent(share: float) -> str:
    return f"{100 * share:.4g} %"


def _summary(result: Verification, number: Callable[[float], str]) -> list[tuple[str, str]]:
    import numpy as np

    valuation, correlation = result.valuation, result.rank_correlation
    evaluated = f"{valuation.n_evaluations:,} for {count(valuation.n_permutations, 'permutation')}"
    rows = [
        ("sampling", f"{valuation.sampler.words}; seed {valuation.seed}"),
        ("evaluations", f"{evaluated}, {result.exact_values.n_evaluations:,} for the exact values"),
    ]
    if result.note:
        rows.append(("bias", f"not separated from noise: {result.note}"))
    else:
        z = _largest_z(result)
        noise = "unknown: too few permutations" if z is None else f"largest |z| {z:.1f}"
        rows += [("bias", _bias(result, number)), ("noise", noise)]
    total = int(np.sum(~np.isnan(result.stderr)))
    held = f"{int(np.sum(result.holds_exact))} of {total} contain the exact value" if total else "none"
    if not math.isnan(result.coverage):
        held += f", {int(np.sum(result.holds_expected))} contain the expectation of the estimate"
    ranks = "undefined: all values are equal" if math.isnan(correlation) else f"{correlation:.3f} (Spearman)"
    return [*rows, (f"{_percent(result.level)} CI", held), ("rank correlation", ranks)]


def _bias(result: Verification, number: Callable[[float], str]) -> str:
    import numpy as np

    if not _is_biased(result):
        return "none: the expectation of the estimate is the exact value"
    worst = int(np.argmax(np.abs(result.bias)))
    words = f"largest {number(result.bias[worst])} ({output.safe(result.to_frame().index[worst])})"
    error = result.stderr[worst]
    if error > 0:
        words += f", {abs(result.bias[worst]) / error:.1f} standard errors"
    if result.class_bias.any() and result.truncation_bias.any():
        words += (
            f"; {number(result.class_bias[worst])} from drawing a share of each class, "
            f"{number(result.truncation_bias[worst])} from truncation"
        )
    return words
