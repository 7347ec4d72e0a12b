"""The command ``ordinal-shapley exact``: the value of each player of a game, from all sequences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ordinal_shapley.cli import options, output
from ordinal_shapley.cli.data import DECIMAL, SEP, SEPS
from ordinal_shapley.cli.options import data_option
from ordinal_shapley.vocabulary import count

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd
    from rich.console import Console

    from ordinal_shapley.exact.values import ExactValues
    from ordinal_shapley.games.table import TableGame

FILE_HELP = """GAME.json holds up to 12 players and the utilities of sequences that differ from the default:

{"players": ["ann", "bob"], "utilities": {"ann > bob": 1.0, "bob": 0.5}, "default": 0.0}

Or use a GAME.csv with the columns sequence and value; its players are the names in it, sorted.
With --order-free each sequence stands for all orders of its players."""
EXACT_HELP = f"""Compute the value of each player of a game exactly.

{FILE_HELP} For example:

ordinal-shapley exact game.json

ordinal-shapley exact game.json --value partial_ordinal --out values.csv
"""


@dataclass(frozen=True)
class GameOptions:
    """The game, and how its file is read."""

    game: Path = options.argument(MISSING, "The game, as JSON or as a table such as GAME.csv.", "GAME.json")
    order_free: bool = data_option(
        False, "Order does not matter: list each set of players once, in any order.", flag="--order-free"
    )
    sep: str = SEP
    decimal: str = DECIMAL

    def read(self) -> TableGame:
        """Return the game in the file."""
        from ordinal_shapley.games import TableGame
        from ordinal_shapley.tables.files import TEXTS, check_file, is_table, open_file
        from ordinal_shapley.tables.table import Marks

        if not is_table(self.game):
            check_file(self.game, "a game's file")
            return TableGame.from_json(self.game, order_free=self.order_free)
        import pandas as pd

        frame = open_file(self.game, "a game's file", Marks(SEPS[self.sep])).frame(**TEXTS)
        try:
            if {"sequence", "value"} <= set(frame.columns):
                numbers = frame["value"].str.replace(self.decimal, ".", regex=False)
                pairs = zip(frame["sequence"], numbers, strict=True)
                frame["value"] = pd.Series([_as_number(*pair) for pair in pairs], frame.index, object)
            return TableGame.from_frame(frame, order_free=self.order_free)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self.game.name}: {error}") from error


@options.command
def exact(
    which: options.GameValueOptions,
    file: GameOptions,
    max_seconds: float | None = options.MAX_SECONDS,
    jobs: int = options.JOBS,
    out: Path | None = options.OUT,
    profile: bool = options.output_option(
        False, "Show the expected marginal contribution of each player at each position.", flag="--profile"
    ),
    progress: bool = options.PROGRESS,
    as_json: bool = options.JSON,
) -> None:
    """Compute the value of each player exactly."""
    kind = which.value()
    output.check_outputs({"--out": out}, [file.game])
    with output.warning_lines() as warned:
        from ordinal_shapley import exact_values

        result = exact_values(
            file.read(),
            kind,
            position_profile=profile,
            n_jobs=jobs,
            progress=progress,
            max_seconds=max_seconds,
        )
        frame = result.to_frame().rename_axis("player")
        table = frame.copy()
        if result.position_profile is not None:
            for place, column in enumerate(result.position_profile.T, start=1):
                table[f"position_{place}"] = column
        output.show(
            "exact",
            as_json,
            lambda: _document(result, frame, file.game.name),
            lambda console: _show(console, result, frame, file.game.name),
            [(out, output.csv_writer(table))],
            warned,
        )


def _document(result: ExactValues, frame: pd.DataFrame, name: str) -> dict[str, Any]:
    players = output.records(frame)
    if result.position_profile is not None:
        for player, profile in zip(players, result.position_profile, strict=True):
            player["by_position"] = profile
    return {
        "data": {"name": name, "players": len(result)},
        "settings": {"value": result.kind.settings()},
        "run": {"evaluations": result.n_evaluations, "seconds": result.seconds},
        "sum": result.values.sum(),
        "players": players,
    }


def _show(console: Console, result: ExactValues, frame: pd.DataFrame, name: str) -> None:
    """Print the values, highest first, and what each player adds at each position if that is known."""
    title = f"Exact {result.kind.title.lower()} Shapley values of {count(len(result), 'player')}"
    console.print(f"[bold]{title}[/bold] of {output.safe(name)}")
    number = writer(result.values, result.values / 100)
    took = f"{result.n_evaluations:,} sequences in {result.seconds:.2f} s"
    total, sizes = number(result.values.sum()), result.kind.size_words
    total += (
        f"; not v(N) - v(empty), because of {sizes}"
        if sizes
        else " = v(N) - v(empty), where v(N) is the mean over all full permutations"
    )
    console.print(output.facts(("evaluations", took), ("sum", total)))
    console.print()
    ranked = frame.iloc[result.ranking()]
    ranks, values = (f"{rank:.0f}" for rank in ranked["rank"]), map(number, ranked["value"])
    output.print_table(console, {"rank": [*ranks], "player": [*ranked.index], "value": [*values]}, "player")
    if result.position_profile is not None:
        profile = result.position_profile[result.ranking()].T
        console.print(
            "\n[bold]Expected marginal contribution by position[/bold]; the mean of each row is the value"
        )
        columns = {str(place): list(map(number, column)) for place, column in enumerate(profile, start=1)}
        output.print_wide(console, "player", list(ranked.index), columns)


def writer(values: npt.NDArray[Any], errors: npt.NDArray[Any]) -> Callable[[float], str]:
    """Return what writes numbers with as many decimals as show two digits of a typical error."""
    import numpy as np

    from ordinal_shapley.report.text import decimals

    digits = decimals(errors, values)
    largest = np.abs(values[np.isfinite(values)]).max(initial=0.0)
    style = f"+.{digits}f" if digits <= 6 and largest < 1e7 else "+.2e"

    def number(value: float) -> str:
        text = format(float(value), style)
        return text if float(text) else text.replace("-", "+")

    return number


def _as_number(sequence: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"the value of {sequence!r} is {text!r}, expected a number") from None
