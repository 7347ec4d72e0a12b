"""What ``exact`` and ``verify`` have in common: the game in a file, and the options of its values."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ordinal_shapley.cli.options import either, option
from ordinal_shapley.common.arguments import number
from ordinal_shapley.vocabulary import CASES, VALUES, choose

if TYPE_CHECKING:
    from ordinal_shapley.games.table import TableGame
    from ordinal_shapley.values import Value

# Not WeightedOrdinal: a command line has no words for a function.
NAMED_VALUES = (*VALUES, "blend")

FILE_HELP = """GAME.json holds up to 12 players and the utilities of sequences that aren't worth the default:

{"players": ["ann", "bob"], "utilities": {"ann > bob": 1.0, "bob": 0.5}, "default": 0.0}

A GAME.csv with the columns sequence and value does as well; its players are the names that occur, sorted."""


File = Annotated[
    Path, typer.Argument(metavar="GAME.json", help="The game; a name that ends with .csv is read as CSV.")
]
ValueName = Annotated[
    str, option(f"{either(NAMED_VALUES)}.", flag="--value", choices=NAMED_VALUES, metavar="NAME")
]
Alpha = Annotated[float | None, option("blend: the share of the ordinal value, from 0 to 1.", metavar="A")]
Partition = Annotated[
    str | None,
    option(
        "If only some orders matter: a group for each player, in the order of the file, such as a,a,b.",
        metavar="GROUPS",
    ),
]
Case = Annotated[
    str | None,
    option(
        f"With --partition: whether order matters {either(CASES)} groups.", choices=CASES, metavar="WHERE"
    ),
]


def make_value(name: str, alpha: float | None, partition: str | None, case: str | None) -> Value:
    """Return the value that the options stand for."""
    choose("--value", name, NAMED_VALUES)
    if case is not None:
        choose("--case", case, CASES)
    if (partition is None) != (case is None):
        raise ValueError("--partition and --case belong together: give both or neither")
    if (alpha is None) == (name == "blend"):
        raise ValueError(f"--alpha and --value blend belong together; --value is {name}")
    if case is not None and name != "partial_ordinal":
        raise ValueError(f"--partition is for --value partial_ordinal; --value is {name}")
    if alpha is not None:
        number("--alpha", alpha, least=0.0, most=1.0)
    from ordinal_shapley.values import Blend, PartialOrdinal, as_value

    if alpha is not None:
        return Blend(alpha)
    if partition is not None:
        return PartialOrdinal(read_names(partition, "--partition"), case)
    return as_value(name)


def read_names(text: str, flag: str) -> list[str]:
    """Return names from a text with commas between them."""
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise ValueError(f"{flag} is {text!r}, expected names with commas between them, such as x,x,y")
    return names


def check_out(out: Path | None, game: Path) -> None:
    """ValueError unless a file that is asked for can be written, and is not the game's."""
    if out is not None:
        from ordinal_shapley.cli.outputs import check_writable

        check_writable(out, "--out", (game,))


def read_game(path: Path, value: str) -> TableGame:
    """Read a game, and check that it has the value."""
    game = _read_file(path)
    if value == "classic" and not game.order_free:
        raise ValueError(
            f"--value: classic is for games whose order does not matter, and that of {path.name} does; ask "
            "for partial_ordinal or ordinal"
        )
    return game


def _read_file(path: Path) -> TableGame:
    from ordinal_shapley.games import TableGame
    from ordinal_shapley.tables.csv_errors import check_file
    from ordinal_shapley.tables.reading import read_texts

    if path.suffix.lower() != ".csv":
        check_file(path, "a game's file")
        return TableGame.from_json(path)
    import pandas as pd

    frame = read_texts(path, "a game's file")
    try:
        if {"sequence", "value"} <= set(frame.columns):
            pairs = zip(frame["sequence"], frame["value"], strict=True)
            frame["value"] = pd.Series([_as_number(*pair) for pair in pairs], frame.index, object)
        return TableGame.from_frame(frame)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path.name}: {error}") from error


def _as_number(sequence: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"the value of {sequence!r} is {text!r}, expected a number") from None
