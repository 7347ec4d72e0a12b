"""The command ``journeys``: credit for conversions among the channels of a file of journeys."""

from __future__ import annotations

import shlex
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ordinal_shapley.cli.data_options import file_columns
from ordinal_shapley.cli.json_documents import Json, Warned, print_document, records, written
from ordinal_shapley.cli.options import (
    data_option,
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

_FLAGS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}

# What others put between channels.
_OTHER_SEPS = ("->", "=>", "→", "|", ";", ",")

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


def journeys(
    file: Annotated[Path, typer.Argument(metavar="FILE.csv", help="Paths with counts, or touches.")],
    path: Annotated[
        str | None,
        data_option(
            "The column of paths such as A > B.",
            default="path, if there is one",
            metavar="COL",
            autocompletion=file_columns,
        ),
    ] = None,
    conversions: Annotated[
        str | None,
        data_option(
            "Paths: the column of journeys that converted.",
            default="conversions",
            metavar="COL",
            autocompletion=file_columns,
        ),
    ] = None,
    non_conversions: Annotated[
        str | None,
        data_option(
            "Paths: the column of those that did not.",
            default="non_conversions, if there is one",
            metavar="COL",
            autocompletion=file_columns,
        ),
    ] = None,
    sep: Annotated[
        str | None, data_option("Paths: what stands between channels.", default=">", metavar="TEXT")
    ] = None,
    journey: Annotated[
        str | None,
        data_option(
            "Touches: the column that says which journey.",
            default="journey",
            metavar="COL",
            autocompletion=file_columns,
        ),
    ] = None,
    channel: Annotated[
        str | None,
        data_option(
            "Touches: the column of channels.", default="channel", metavar="COL", autocompletion=file_columns
        ),
    ] = None,
    time: Annotated[
        str | None,
        data_option(
            "Touches: the column of numbers or dates.",
            default="time",
            metavar="COL",
            autocompletion=file_columns,
        ),
    ] = None,
    file_order: Annotated[
        bool, data_option("Touches: they are in order in the file; time is not read.", flag="--file-order")
    ] = False,
    converted: Annotated[
        str | None,
        data_option(
            "Touches: the column of 1 or 0; a 1 at any touch says that the journey converted.",
            default="converted",
            metavar="COL",
            autocompletion=file_columns,
        ),
    ] = None,
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
        if time is not None and file_order:
            raise ValueError("--time and --file-order exclude each other: give one of them")
        of_paths = {
            "--path": path,
            "--conversions": conversions,
            "--non-conversions": non_conversions,
            "--sep": sep,
        }
        of_touches = {
            "--journey": journey,
            "--channel": channel,
            "--time": time,
            "--file-order": file_order or None,
            "--converted": converted,
        }
        told = [[flag for flag, word in form.items() if word is not None] for form in (of_paths, of_touches)]
        if all(told):
            raise ValueError(
                f"{told[0][0]} is for paths and {told[1][0]} for touches: a file has one or the other"
            )

        from ordinal_shapley.cli.outputs import check_outputs

        check_outputs({"--out": out, "--plot": plot}, (file,))
        with warning_lines() as warned:
            frame = _read_file(file)
            has_touches = bool(told[1]) or (not told[0] and "path" not in frame.columns)
            if has_touches and not told[1] and not {"journey", "channel"} <= set(frame.columns):
                raise ValueError(
                    f"{file.name} has the columns {_listed(frame)}, expected path, or journey and channel: "
                    "name the columns by --path, or by --journey, --channel, --time and --converted"
                )
            options: dict[str, Any] = {"repeats": repeats, "worth": worth, "unseen": unseen}
            try:
                if has_touches:
                    columns = [
                        journey or "journey",
                        channel or "channel",
                        time or "time",
                        converted or "converted",
                    ]
                    game = _of_touches(frame, columns, file_order, options)
                else:
                    game = _of_paths(frame, path or "path", conversions or "conversions", non_conversions,
                                     ">" if sep is None else sep, options)  # fmt: skip
                _finish(game, file.name, value_kind, by_position, out, plot, warned if as_json else None)
            except (TypeError, ValueError) as error:
                raise ValueError(f"{file.name}: {_in_options(str(error))}") from error


def _finish(
    game: JourneyGame,
    name: str,
    value: str,
    by_position: bool,
    out: Path | None,
    plot: Path | None,
    warned: Warned | None,
) -> None:
    """Write the files and show the credits, as a document if it is said what was `warned` of."""
    from ordinal_shapley.cli import journeys_screen, outputs, screen

    credit = game.credit(value)
    places = game.credit(value, by_position=True) if by_position else None
    ranked = credit.assign(rank=credit["credit"].rank(ascending=False, method="first").astype(int))
    if out is not None:
        table = ranked if places is None else ranked.join(places.add_prefix("position_"))
        outputs.write_csv(table, out)
    if plot is not None:
        from ordinal_shapley.plots import plot_credit
        from ordinal_shapley.plots.files import blank_figure, save_figure

        figure = blank_figure((8.0, 1.6 + 0.28 * min(len(credit), 30)))
        ax = plot_credit(credit if places is None else places, ax=figure.subplots())
        ax.set_title(journeys_screen.title(game, value), fontsize="medium", wrap=True)
        save_figure(figure, plot)
    if warned is not None:
        parts = _document(game, ranked, places, name, value) | {"written": written(out, plot)}
        print_document("journeys", parts, warned)
        return
    console = screen.screen()
    journeys_screen.show(console, game, credit, places, name, value)
    screen.tell_written(console, out, plot)


def _document(
    game: JourneyGame, credit: pd.DataFrame, places: pd.DataFrame | None, name: str, value: str
) -> dict[str, Any]:
    """Return what ``--json`` prints: the channels in their order, with what the screen compares with."""
    touches = game.touches()[["last_touch", "touched"]]
    channels = records(credit.join(touches).rename_axis("channel"))
    if places is not None:
        for channel, row in zip(channels, places.to_numpy(), strict=True):
            channel["by_position"] = row
    sizes = {"journeys": game.n_journeys, "conversions": game.n_conversions}
    return {
        "data": {"name": name, **sizes, "paths": len(game.to_frame()), "channels": game.n_players},
        "settings": {
            "value": value,
            "worth": game.worth,
            "unseen": game.unseen if game.worth == "rate" else None,
            "repeats": game.repeats,
        },
        "channels": channels,
    }


def _in_options(message: str) -> str:
    """Return a message of the library with its advice in terms of the command's options."""
    for argument, flag in _ADVICE.items():
        message = message.replace(argument, flag)
    return message


def _of_paths(
    frame: pd.DataFrame,
    path: str,
    conversions: str,
    non_conversions: str | None,
    sep: str,
    options: dict[str, Any],
) -> JourneyGame:
    from ordinal_shapley.games import JourneyGame

    if non_conversions is None and "non_conversions" in frame.columns:
        non_conversions = "non_conversions"
    _check_columns(frame, [path, conversions, *([] if non_conversions is None else [non_conversions])])
    for row, text in zip(frame.index, frame[path], strict=True):
        if not text.strip():
            raise ValueError(f"no {path} in row {row}, expected channels such as 'A {sep} B'")
    _warn_of_sep(frame[path], sep)
    counts = {
        name: [_as_count(text, name, row) for row, text in zip(frame.index, frame[name], strict=True)]
        for name in (conversions, non_conversions)
        if name is not None
    }
    lost = None if non_conversions is None else counts[non_conversions]
    return JourneyGame.from_paths(frame[path].tolist(), counts[conversions], lost, sep=sep, **options)


def _warn_of_sep(paths: pd.Series, sep: str) -> None:
    """Warn if something else seems to stand between channels."""
    for other in _OTHER_SEPS:
        holds = paths.str.contains(other, regex=False)
        if other != sep and holds.any() and (sep in other or not paths.str.contains(sep, regex=False).any()):
            warnings.warn(
                f"{paths.name} is {paths[holds].iloc[0]!r} in row {paths.index[holds][0]}, and channels are "
                f"told apart by {sep!r}: if it should be {other!r}, give --sep {shlex.quote(other)}",
                stacklevel=2,
            )
            return


def _of_touches(
    frame: pd.DataFrame, columns: list[str], file_order: bool, options: dict[str, Any]
) -> JourneyGame:
    from ordinal_shapley.games import JourneyGame

    journey, channel, time, converted = columns
    _check_columns(frame, [name for name in columns if not (file_order and name == time)])
    frame = frame.copy()
    for name in (journey, channel):
        blank = frame[name].str.strip() == ""
        if blank.any():
            raise ValueError(f"no {name} in row {frame.index[blank][0]}, expected one")
    flags = [text.strip().lower().removesuffix(".0") for text in frame[converted]]
    for row, flag in zip(frame.index, flags, strict=True):
        if flag not in _FLAGS:
            raise ValueError(
                f"{converted} is {flag!r} in row {row}, expected 1 or 0, true or false, yes or no"
            )
    frame[converted] = [_FLAGS[flag] for flag in flags]
    if not file_order:
        frame[time] = _as_times(frame[time])
    return JourneyGame.from_events(
        frame, journey, channel, None if file_order else time, converted, **options
    )


def _as_times(texts: pd.Series) -> Any:
    import pandas as pd

    numbers = pd.to_numeric(texts, errors="coerce")
    if numbers.notna().all():
        return numbers
    # Nothing that can be taken for day before month and the other way round.
    dates = pd.to_datetime(texts, format="ISO8601", utc=True, errors="coerce")
    if dates.isna().any():
        # A number is at fault only among dates.
        bad = dates.isna() if dates.notna().any() else numbers.isna()
        row = texts.index[bad][0]
        raise ValueError(
            f"{texts.name} is {texts[row]!r} in row {row}, expected numbers, or dates such as 2026-01-31 or "
            "2026-01-31 12:00"
        )
    return dates


def _as_count(text: str, name: str, row: int) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0.0 <= number < float("inf"):
        raise ValueError(f"{name} is {text!r} in row {row}, expected a number of at least 0")
    return number


def _check_columns(frame: pd.DataFrame, names: list[str]) -> None:
    for name in names:
        if name not in frame.columns:
            raise ValueError(f"no column {name!r}, the columns are {_listed(frame)}")


def _listed(frame: pd.DataFrame) -> str:
    return ", ".join(map(repr, frame.columns))


def _read_file(path: Path) -> pd.DataFrame:
    """Read all columns as texts; rows are counted from 1."""
    from ordinal_shapley.tables.texts import read_texts

    frame = read_texts(path, "a file of journeys")
    return frame.set_axis(range(1, len(frame) + 1), axis=0)
