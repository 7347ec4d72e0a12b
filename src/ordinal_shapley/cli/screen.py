"""What the command line shows of a result."""

from __future__ import annotations

import io
import math
import os
import sys
from typing import TYPE_CHECKING, Any

from ordinal_shapley.cli.printable import printable
from ordinal_shapley.common.names import names_of
from ordinal_shapley.report.text import decimals, reliability_words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from ordinal_shapley.valuation.result import Valuation

_SHOWN = 10
_LONGEST_LABEL = 24
_LONGEST_NAME = 16
# Where no terminal sets a width, nothing is cut and nothing is broken into lines.
_ENDLESS = 100_000
PIPE_CLOSED = 141  # what a shell says of a program that ends because nobody reads on


def screen() -> Console:
    """Return the screen; a character it can't print becomes a question mark, and no error."""
    from rich.console import Console

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            close_stdout()
            raise SystemExit(PIPE_CLOSED)

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    console = Screen()
    return console if _has_width(console) else Screen(width=_ENDLESS)


def _has_width(console: Console) -> bool:
    return console.is_terminal or os.environ.get("COLUMNS", "").isdigit()


def room(console: Console, longest: int = _LONGEST_LABEL) -> int | None:
    """Return how long a name may be on the screen; None where there is no end."""
    return longest if console.width < _ENDLESS else None


def tell_written(console: Console, *paths: Path | None) -> None:
    """Name the files that were asked for, a line each."""
    for path in paths:
        if path is not None:
            told = f"Written: {printable(str(path))}"
            console.print(told, highlight=False, markup=False, soft_wrap=True)


def close_stdout() -> None:
    """Write the rest to nowhere, so that Python has nothing to complain of when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())


def show(
    console: Console,
    valuation: Valuation,
    frame: pd.DataFrame,
    *,
    name: str,
    n_valid: int,
    valid: str,
    settings: str,
    uncovered: str,
    labels: str,
    score: str,
    goals: tuple[int | None, float | None],
    dim: bool,
) -> None:
    """Print the summary, the lowest and the highest rows, and what the errors mean.

    Parameters
    ----------
    console : rich.console.Console
        Where to print.
    valuation : Valuation
        The result.
    frame : pandas.DataFrame
        The table that goes into the CSV.
    name : str
        The file or data set.
    n_valid : int
        Number of validation rows.
    valid : str
        What they are, in words.
    settings : str
        Method and options, in words.
    uncovered : str
        What the standard errors don't cover, in words.
    labels : str
        What is predicted, in words.
    score : str
        How good the model of all rows is, in words.
    goals : tuple of int or None and float or None
        The permutations and the standard error that the user asked for.
    dim : bool
        Whether the value sees wrong labels only dimly.
    """
    kind = valuation.kind.title
    console.print(
        f"[bold]{kind} Shapley values of {len(frame):,} training rows[/bold] of {safe(name)}, "
        f"scored on {n_valid:,} validation rows",
        highlight=False,
    )
    facts_of_data = (("labels", safe(labels)), ("validation", safe(valid)), ("score", score))
    console.print(_summary(valuation, settings, facts_of_data, goals, len(frame)), highlight=False)

    plus_minus = "±" if console.encoding.lower().startswith("utf") else "+/-"
    ranked = frame.sort_values("rank", ascending=False, kind="stable")
    digits = decimals(frame["stderr"].to_numpy(), frame["value"].to_numpy())
    parts = {"All rows, lowest first": ranked}
    if len(frame) > 2 * _SHOWN:
        parts = {
            "The ten lowest rows, lowest first": ranked.head(_SHOWN),
            "The ten highest rows, highest first": ranked.tail(_SHOWN).iloc[::-1],
        }
    for title, rows in parts.items():
        console.print(f"\n[bold]{title}[/bold]")
        console.print(_table(rows, digits, plus_minus, room(console)))

    known = int(frame["stderr"].notna().sum())
    n_below = int(frame["below_zero"].sum())
    below = f"{n_below:,} of {known:,} rows" if known else "It is not known which rows"
    console.print(
        f"\n{below} {'has' if known and n_below == 1 else 'have'} a 95 % interval that lies below 0. "
        f"Standard errors are Monte Carlo noise only: they don't cover {uncovered}.",
        highlight=False,
    )
    if dim:
        console.print(
            "To look for wrong labels use --value ordinal or --value classic: this one sees them only dimly.",
            highlight=False,
        )


def stop_reason(valuation: Valuation, asked: int | None, bound: float | None) -> str:
    """Why the run ended, in words."""
    if valuation.stopped_by == "MaxSeconds":
        return "as many as there was time for"
    if valuation.converged:
        if bound is not None:
            return f"no standard error is above {bound:g} (MaxStandardError)"
        return "the values changed by less than 5 % over the last 100 (RelativeChange)"
    if bound is not None:
        return f"the limit; a standard error is still above {bound:g} ({valuation.stopped_by})"
    if asked is not None and valuation.n_permutations > asked:
        return f"the fewest that the checkpoint can give; {asked:,} were asked for"
    if asked is not None:
        return "as many as were asked for"
    return f"the limit; the values still changed by 5 % or more over 100 ({valuation.stopped_by})"


def _summary(
    valuation: Valuation,
    settings: str,
    data: Sequence[tuple[str, str]],
    goals: tuple[int | None, float | None],
    n: int,
) -> Table:
    stop, reliable = stop_reason(valuation, *goals), reliability_words(valuation)
    speed = valuation.n_evaluations / valuation.seconds if valuation.seconds > 0 else math.nan
    return facts(
        ("method", settings),
        *data,
        ("permutations", f"{valuation.n_permutations:,}: {stop}"),
        (
            "model fits",
            f"{valuation.n_evaluations:,} in {valuation.seconds:.2f} s: {speed:,.0f} fits a second",
        ),
        ("mean walk", f"{valuation.mean_walk_length:.1f} of {n:,} rows"),
        *([("reliability", reliable)] if reliable else []),
    )


def _table(rows: pd.DataFrame, digits: int, plus_minus: str, room: int | None) -> Table:
    table = plain_table()
    table.add_column("rank", justify="right", no_wrap=True)
    table.add_column("row", justify="right", no_wrap=True)
    table.add_column("label", max_width=room)  # the one column that gives way on a narrow screen
    table.add_column(f"value {plus_minus} std. error", justify="right", no_wrap=True)
    table.add_column("95 % interval", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    shown = [str(name) for name in rows.index]
    if room is not None:
        # The names of all rows that are shown are told apart, however long.
        shown = names_of(rows.index.to_numpy(), len(rows), _LONGEST_NAME)
    for name, (_, row) in zip(shown, rows.iterrows(), strict=True):
        table.add_row(
            str(row["rank"]),
            safe(name),
            cut(row["label"]),
            f"{row['value']:+.{digits}f} {plus_minus} {_number(row['stderr'], digits)}",
            f"{_number(row['ci_low'], digits, '+')} to {_number(row['ci_high'], digits, '+')}",
            "< 0" if row["below_zero"] else "",
        )
    return table


def facts(*rows: tuple[str, str]) -> Table:
    """Return lines of a term and what there is to say of it."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    for row in rows:
        grid.add_row(*row)
    return grid


def plain_table() -> Table:
    """Return a table without a box; its columns are still to come."""
    from rich.table import Table

    return Table(box=None, padding=(0, 2, 0, 0), header_style="dim")


def cut(name: Any) -> Text:
    """Return a name that ends with an ellipsis where there is no room for all of it."""
    from rich.text import Text

    return Text(printable(str(name)), no_wrap=True, overflow="ellipsis")


def safe(text: Any) -> str:
    """Return the text with nothing in it that rich would take for markup, or a terminal for a command."""
    from rich.markup import escape

    return escape(printable(str(text)))


def _number(value: float, digits: int, sign: str = "") -> str:
    """Return the number, and a question mark for one that is not known."""
    return "?" if math.isnan(value) else f"{value:{sign}.{digits}f}"
