"""What the commands for games show."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.cli.screen import cut, facts, plain_table, room, safe
from ordinal_shapley.report.text import decimals

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console
    from rich.table import Table

    from ordinal_shapley.exact.values import ExactValues
    from ordinal_shapley.verification.comparison import Verification

_SHORTEST_NAME = 6
_MARK = "*"


def show_exact(console: Console, result: ExactValues, frame: pd.DataFrame, name: str) -> None:
    """Print the values, highest first, and what each player adds at each position if that is known.

    Parameters
    ----------
    console : rich.console.Console
        Where to print.
    result : ExactValues
        The result.
    frame : pandas.DataFrame
        The table that goes into the CSV.
    name : str
        The game's file.
    """
    _title(console, f"Exact {result.kind.title.lower()} Shapley values of {_players(len(result))}", name)
    figure = _Figures(result.values, result.values / 100)
    console.print(
        facts(
            ("utilities", f"{result.n_evaluations:,} sequences in {result.seconds:.2f} s"),
            ("sum", f"{figure(result.values.sum())}: what full orders are worth less the empty sequence"),
        ),
        highlight=False,
    )
    console.print()
    ranked = frame.iloc[result.ranking()]
    table = plain_table()
    table.add_column("rank", justify="right", no_wrap=True)
    table.add_column("player", max_width=room(console))
    table.add_column("value", justify="right", no_wrap=True)
    for player, row in ranked.iterrows():
        table.add_row(f"{row['rank']:.0f}", cut(player), figure(row["value"]))
    console.print(table)
    if result.position_profile is None:
        return
    console.print("\n[bold]Expected marginal contribution by position[/bold]; the mean of a row is the value")
    profile = result.position_profile[result.ranking()]
    width = max(len(figure(number)) for number in profile.ravel()) + 2
    longest = max(len(cut(player)) for player in ranked.index)
    named = min(longest, room(console) or longest) + 2
    at_once = max(1, (console.width - named) // width)
    for first in range(0, len(result), at_once):
        places = range(first, min(first + at_once, len(result)))
        if first:
            console.print()
        table = plain_table()
        table.add_column("player", max_width=room(console))
        for place in places:
            table.add_column(str(place + 1), justify="right", no_wrap=True)
        for player, row in zip(ranked.index, profile, strict=True):
            table.add_row(cut(player), *(figure(row[place]) for place in places))
        console.print(table)


def show_verification(
    console: Console, result: Verification, frame: pd.DataFrame, name: str, settings: str
) -> None:
    """Print what the estimate is worth as a whole, and player by player.

    Parameters
    ----------
    console : rich.console.Console
        Where to print.
    result : Verification
        The result.
    frame : pandas.DataFrame
        The table that goes into the CSV.
    name : str
        The game's file.
    settings : str
        Method and options, in words.
    """
    valuation = result.valuation
    what = f"{valuation.kind.title.lower()} Shapley values of {_players(len(result))}"
    _title(console, f"Estimates against exact {what}", name)
    figure = _Figures(np.concatenate([result.exact, result.estimate]), result.stderr)
    console.print(_summary(result, figure, settings), highlight=False)

    known = not result.note
    plus_minus = "±" if console.encoding.lower().startswith("utf") else "+/-"
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = result.z if known else result.error / result.stderr
    order = np.argsort(-result.exact, kind="stable")
    rows = frame.iloc[order]
    errors = [figure(error).lstrip("+") for error in rows["stderr"]]
    columns = {
        "exact": [figure(number) for number in rows["exact"]],
        "estimate": [figure(number) for number in rows["estimate"]],
        f"{plus_minus} std. error": [f"{plus_minus} {error}" for error in errors],
        "bias": [figure(number) for number in rows["bias"]],
        "noise": [figure(number) for number in rows["noise"]],
        "error": [figure(number) for number in rows["error"]],
        "z" if known else "error / s.e.": [f"{ratio:+.1f}" for ratio in ratios[order]],
        "": ["" if holds or math.isnan(error) else _MARK
             for holds, error in zip(rows["holds_exact"], rows["stderr"], strict=True)],
    }  # fmt: skip
    for name in ("error",) if known else ("bias", "noise"):
        del columns[name]
    if known and not _is_biased(result):
        del columns["bias"]
    # What a narrow screen has no room for: z tells of the noise, and of its size.
    for name in ("noise", f"{plus_minus} std. error"):
        if name in columns and _width(columns) + _SHORTEST_NAME + 2 > console.width:
            del columns[name]
    table = plain_table()
    table.add_column("player", max_width=room(console))
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for player, *cells in zip(rows.index, *columns.values(), strict=True):
        table.add_row(cut(player), *cells)
    console.print()
    console.print(table)
    console.print()
    if _MARK in columns[""]:
        console.print(
            f"{_MARK} the {_percent(result.level)} interval does not hold the exact value", highlight=False
        )
    if _is_biased(result):
        console.print(
            "Bias is what the sampler estimates, on average over all it can draw, less the exact value: more "
            "permutations don't change it. Noise is the rest, due to the permutations that were drawn; z is "
            "noise over standard error.",
            highlight=False,
        )


def _is_biased(result: Verification) -> bool:
    return not result.note and bool(np.any(result.class_bias) or np.any(result.truncation_bias))


def _width(columns: dict[str, list[str]]) -> int:
    return sum(max(map(len, [name, *cells])) + 2 for name, cells in columns.items())


def _percent(share: float) -> str:
    return f"{100 * share:.4g} %"


def _summary(result: Verification, figure: _Figures, settings: str) -> Table:
    valuation = result.valuation
    counted = f"{valuation.n_permutations:,} permutation{'s' if valuation.n_permutations > 1 else ''}"
    rows = [
        ("method", settings),
        (
            "utilities",
            f"{valuation.n_evaluations:,} for {counted}, "
            f"{result.exact_values.n_evaluations:,} for the exact values",
        ),
    ]
    if result.note:
        rows.append(("bias", f"not told apart from noise: {result.note}"))
    else:
        rows.append(("bias", _bias(result, figure)))
        z = result.z[~np.isnan(result.z)]
        largest = (
            f"largest |z| {np.abs(z).max():.1f}" if z.size else "no standard error: too few permutations"
        )
        rows.append(("noise", largest))
    total = int(np.sum(~np.isnan(result.stderr)))
    told = f"{int(np.sum(result.holds_exact))} of {total} hold the exact value" if total else "none"
    if not math.isnan(result.coverage):
        told += f", {int(np.sum(result.holds_expected))} what the sampler estimates"
    rows.append((f"{_percent(result.level)} intervals", told))
    correlation = result.rank_correlation
    told = "undefined: values are all equal" if math.isnan(correlation) else f"{correlation:.3f} (Spearman)"
    rows.append(("rank correlation", told))
    return facts(*rows)


def _bias(result: Verification, figure: _Figures) -> str:
    if not _is_biased(result):
        return "none: the expectation of the estimate is the exact value"
    worst = int(np.argmax(np.abs(result.bias)))
    labels = result.valuation.labels
    told = f"largest {figure(result.bias[worst])} ({safe(worst if labels is None else labels[worst])})"
    error = result.stderr[worst]
    if error > 0:
        told += f", {abs(result.bias[worst]) / error:.1f} standard errors"
    if np.any(result.class_bias) and np.any(result.truncation_bias):
        told += (
            f"; {figure(result.class_bias[worst])} by drawing a share of each class, "
            f"{figure(result.truncation_bias[worst])} by truncation"
        )
    return told


class _Figures:
    """Writes numbers with as many decimals as show two digits of a typical error."""

    def __init__(self, values: NDArray[np.float64], errors: NDArray[np.float64]) -> None:
        digits = decimals(errors, values)
        largest = np.abs(values[np.isfinite(values)]).max(initial=0.0)
        self._format = f"+.{digits}f" if digits <= 6 and largest < 1e7 else "+.2e"

    def __call__(self, number: Any) -> str:
        text = format(float(number), self._format)
        return text if float(text) else text.replace("-", "+")


def _title(console: Console, title: str, name: str) -> None:
    console.print(f"[bold]{title}[/bold] of {safe(name)}", highlight=False)


def _players(count: int) -> str:
    return f"{count:,} player{'s' if count > 1 else ''}"
