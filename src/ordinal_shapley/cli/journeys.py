"""The command ``journeys``: credit for conversions among the channels of a file of journeys."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ordinal_shapley.cli.journeys_file import PathOptions, TouchOptions, make_game, read_file
from ordinal_shapley.cli.json_documents import Json, print_document, records, written
from ordinal_shapley.cli.option_groups import grouped
from ordinal_shapley.cli.options import (
    either,
    error_lines,
    option,
    running_option,
    warning_lines,
)
from ordinal_shapley.vocabulary import REPEATS, UNSEEN, VALUES, WORTHS, choose

if TYPE_CHECKING:
    import pandas as pd

    from ordinal_shapley.games import JourneyGame

_ADVICE = {
    "repeats='first' or repeats='last'": "--repeats first or --repeats last",
    "time=None": "--file-order",
    "worth='conversions'": "--worth conversions",
    ", or in a game with ordered=False": "",
}

JOURNEYS_HELP = """Share out conversions among the channels that people touched, by the order of touches.

FILE.csv has a row for each path, with counts:

path,conversions,non_conversions

search > mail,30,70

or a row for each touch, in any order:

journey,channel,time,converted

u1,search,2026-01-31 12:00,1

Credits add up to the conversions. For example:

ordinal-shapley journeys paths.csv

ordinal-shapley journeys touches.csv --repeats first --by-position --plot credit.png
"""


@grouped
def journeys(
    file: Annotated[Path, typer.Argument(metavar="FILE.csv", help="Paths with counts, or touches.")],
    paths: PathOptions,
    touches: TouchOptions,
    value_kind: Annotated[
        str, option(f"{either(VALUES)}.", flag="--value", choices=VALUES, metavar="NAME")
    ] = "partial_ordinal",
    worth: Annotated[
        str,
        option(
            f"{either(WORTHS)}: what a sequence is worth, how often its journeys convert or how many do.",
            choices=WORTHS,
            metavar="NAME",
        ),
    ] = "rate",
    unseen: Annotated[
        str | None,
        option(
            f"rate: what a sequence is worth that no journey had, {either(UNSEEN)}: as much as its longest "
            "beginning that one had, or nothing.",
            default="backoff",
            choices=UNSEEN,
            metavar="NAME",
        ),
    ] = None,
    repeats: Annotated[
        str,
        option(
            f"Which touch counts where a channel is touched again: {either(REPEATS)}.",
            choices=REPEATS,
            metavar="NAME",
        ),
    ] = "error",
    by_position: Annotated[
        bool, option("Say at which positions of journeys credit was earned.", flag="--by-position")
    ] = False,
    out: Annotated[Path | None, running_option("Write the credits there.", metavar="CREDIT.csv")] = None,
    plot: Annotated[
        Path | None, running_option("Draw them there (png, svg, pdf ...).", metavar="CREDIT.png")
    ] = None,
    as_json: Json = False,
) -> None:
    """Share out conversions among channels."""
    with error_lines():
        for flag, given, words in (
            ("--value", value_kind, VALUES),
            ("--worth", worth, WORTHS),
            ("--unseen", "backoff" if unseen is None else unseen, UNSEEN),
            ("--repeats", repeats, REPEATS),
        ):
            choose(flag, given, words)
        if unseen is not None and worth == "conversions":
            raise ValueError("--unseen goes with --worth rate, not with conversions")
        if paths.path_sep is not None and not paths.path_sep.strip():
            raise ValueError(f"--path-sep is {paths.path_sep!r}, expected a text such as '>'")
        if touches.time is not None and touches.file_order:
            raise ValueError("--time and --file-order exclude each other: give one of them")
        told = [paths.given(), touches.given()]
        if all(told):
            raise ValueError(
                f"{told[0][0]} is for paths and {told[1][0]} for touches: a file has one or the other"
            )

        from ordinal_shapley.cli.outputs import check_outputs

        check_outputs({"--out": out, "--plot": plot}, (file,))
        with warning_lines() as warned:
            frame = read_file(file)
            with _naming(file):
                game = make_game(frame, paths, touches, repeats=repeats, worth=worth, unseen=unseen)
                result = _Result(file.name, game, value_kind, by_position)
                result.write(out, plot)
                if as_json:
                    print_document("journeys", result.document() | {"written": written(out, plot)}, warned)
                else:
                    result.show(out, plot)


@dataclass(frozen=True)
class _Result:
    """The credits, with what is needed to tell them."""

    name: str
    game: JourneyGame
    value: str
    by_position: bool

    @cached_property
    def credit(self) -> pd.DataFrame:
        """What each channel is credited with."""
        return self.game.credit(self.value)

    @cached_property
    def places(self) -> pd.DataFrame | None:
        """The same by position, if it was asked for."""
        return self.game.credit(self.value, by_position=True) if self.by_position else None

    @property
    def ranked(self) -> pd.DataFrame:
        """The credits with their ranks."""
        return self.credit.assign(
            rank=self.credit["credit"].rank(ascending=False, method="first").astype(int)
        )

    def write(self, out: Path | None, plot: Path | None) -> None:
        """Write the files asked for."""
        from ordinal_shapley.cli import journeys_screen, outputs

        if out is not None:
            table = self.ranked
            if self.places is not None:
                table = table.join(self.places.add_prefix("position_"))
            outputs.write_csv(table, out)
        if plot is not None:
            from ordinal_shapley.plots import plot_credit
            from ordinal_shapley.plots.files import blank_figure, save_figure

            figure = blank_figure((8.0, 1.6 + 0.28 * min(len(self.credit), 30)))
            ax = plot_credit(self.credit if self.places is None else self.places, ax=figure.subplots())
            ax.set_title(journeys_screen.title(self.game, self.value), fontsize="medium", wrap=True)
            save_figure(figure, plot)

    def document(self) -> dict[str, Any]:
        """Return what ``--json`` prints: the channels in their order, with what the screen compares with."""
        game = self.game
        touches = game.touches()[["last_touch", "touched"]]
        channels = records(self.ranked.join(touches).rename_axis("channel"))
        if self.places is not None:
            for channel, row in zip(channels, self.places.to_numpy(), strict=True):
                channel["by_position"] = row
        sizes = {"journeys": game.n_journeys, "conversions": game.n_conversions}
        return {
            "data": {"name": self.name, **sizes, "paths": len(game.to_frame()), "channels": game.n_players},
            "settings": {
                "value": self.value,
                "worth": game.worth,
                "unseen": game.unseen if game.worth == "rate" else None,
                "repeats": game.repeats,
            },
            "channels": channels,
        }

    def show(self, out: Path | None, plot: Path | None) -> None:
        """Show the credits on the screen, and say what was written."""
        from ordinal_shapley.cli import journeys_screen, screen

        console = screen.screen()
        journeys_screen.show(console, self.game, self.credit, self.places, self.name, self.value)
        screen.tell_written(console, out, plot)


@contextmanager
def _naming(file: Path) -> Iterator[None]:
    """Let errors of the library begin with the file, and give their advice in terms of the options."""
    try:
        yield
    except (TypeError, ValueError) as error:
        message = str(error)
        for argument, flag in _ADVICE.items():
            message = message.replace(argument, flag)
        raise ValueError(f"{file.name}: {message}") from error
