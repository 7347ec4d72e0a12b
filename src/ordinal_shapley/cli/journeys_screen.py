"""What the command ``journeys`` shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ordinal_shapley.cli.screen import cut, facts, plain_table, room, safe

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from ordinal_shapley.games import JourneyGame

_LONGEST_NAME = 32
_SHOWN = 40


def title(game: JourneyGame, value: str) -> str:
    """Return what credit it is, of how much."""
    kind = value.replace("_", " ").capitalize()
    return f"{kind} credit for {_count(game.n_conversions, 'conversion')}"


def show(
    console: Console,
    game: JourneyGame,
    credit: pd.DataFrame,
    places: pd.DataFrame | None,
    name: str,
    value: str,
) -> None:
    """Print what the journeys were, and the channels, highest credit first.

    Parameters
    ----------
    console : rich.console.Console
        Where to print.
    game : JourneyGame
        The game.
    credit, places : pandas.DataFrame
        Credit by channel, and by position if that is wanted.
    name : str
        The file.
    value : str
        Which value it is.
    """
    console.print(f"[bold]{title(game, value)}[/bold] of {safe(name)}", highlight=False)
    seen = game.to_frame()
    grid = facts()
    rate = game.n_conversions / game.n_journeys if game.n_journeys else 0.0
    grid.add_row(
        "journeys",
        f"{_numbers([game.n_journeys])[0]}, {100 * rate:.3g} % converted; {_count(len(seen), 'path')} of "
        f"{_count(game.n_players, 'channel')}",
    )
    if game.worth == "conversions":
        grid.add_row("worth", "conversions of the journeys that a sequence is")
    else:
        unseen = {"backoff": "worth as much as its longest beginning seen", "zero": "worth nothing"}
        grid.add_row("unseen path", unseen[str(game.unseen)] if value != "classic" else _pooled(game))
    repeats = {"error": "there are none", "first": "the first touch counts", "last": "the last touch counts"}
    grid.add_row("repeats", repeats[game.repeats])
    console.print(grid, highlight=False)
    console.print()

    order = np.argsort(-credit["credit"].to_numpy(), kind="stable")
    shown = order[:_SHOWN]
    touches = game.touches().iloc[shown]
    columns = {
        "credit": _numbers([*credit["credit"].iloc[shown], credit["credit"].sum()]),
        "share": [f"{100 * share:.1f} %" for share in [*credit["share"].iloc[shown], credit["share"].sum()]],
        "last touch": _numbers([*touches["last_touch"], game.touches()["last_touch"].sum()]),
        "touched": [*_numbers(touches["touched"]), ""],
    }
    for column in ("touched", "last touch"):  # what a narrow screen has no room for
        if sum(max(map(len, [name, *cells])) + 2 for name, cells in columns.items()) + 14 > console.width:
            del columns[column]
    table = plain_table()
    table.add_column("channel", max_width=room(console, _LONGEST_NAME))
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    for name_, *cells in zip([*credit.index[shown], "all channels"], *columns.values(), strict=True):
        table.add_row(cut(name_), *cells)
    console.print(table)
    if len(order) > len(shown):
        rest = credit["credit"].to_numpy()[order[_SHOWN:]].sum()
        console.print(
            f"{len(order) - _SHOWN:,} more channels have {_numbers([rest])[0]} of it together",
            highlight=False,
        )
    if places is not None:
        _show_places(console, places.iloc[shown])
    console.print()
    told = {
        "last touch": "Last touch: conversions of journeys that end with the channel.",
        "touched": "Touched: conversions of journeys that it is part of.",
    }
    console.print(" ".join(words for column, words in told.items() if column in columns), highlight=False)
    if (credit["credit"] < 0).any():
        console.print("Below 0 are channels that lower the rate where they come in.", highlight=False)


def _show_places(console: Console, places: pd.DataFrame) -> None:
    """Print credits by position, in several parts where the screen is narrow."""
    console.print("\n[bold]Credit by position in the journey[/bold]; the sum of a row is the credit")
    written = _numbers(places.to_numpy().ravel())
    n = places.shape[1]
    cells = [written[start : start + n] for start in range(0, len(written), n)]
    width = max((len(cell) for row in cells for cell in row), default=1) + 2
    longest = max(len(cut(name)) for name in places.index)
    named = min(longest, room(console, _LONGEST_NAME) or longest) + 2
    at_once = max(1, (console.width - named) // width)
    for first in range(0, n, at_once):
        if first:
            console.print()
        table = plain_table()
        table.add_column("channel", max_width=room(console, _LONGEST_NAME))
        for position in places.columns[first : first + at_once]:
            table.add_column(str(position), justify="right", no_wrap=True)
        for name, row in zip(places.index, cells, strict=True):
            table.add_row(cut(name), *row[first : first + at_once])
        console.print(table)


def _pooled(game: JourneyGame) -> str:
    if game.unseen == "zero":
        return "worth nothing; order does not count"
    return "worth as much as its largest parts seen; order does not count"


def _numbers(numbers: Any) -> list[str]:
    """Write counts as they are, or all of them with two decimals."""
    counts = [round(float(number), 9) for number in numbers]  # without the noise of sums
    digits = 0 if all(number.is_integer() for number in counts) else 2
    texts = [f"{number:,.{digits}f}" for number in counts]
    return [text if text.strip("-0.,") else text.replace("-", "") for text in texts]


def _count(number: float, of: str) -> str:
    return f"{_numbers([number])[0]} {of}{'' if number == 1 else 's'}"
