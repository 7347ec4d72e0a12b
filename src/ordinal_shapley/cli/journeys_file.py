"""A file of journeys: which columns it has, and the game that they make."""

from __future__ import annotations

import re
import shlex
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ordinal_shapley.cli.data_options import file_columns
from ordinal_shapley.cli.options import data_option

if TYPE_CHECKING:
    import pandas as pd

    from ordinal_shapley.games import JourneyGame

_FLAGS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


@dataclass(frozen=True)
class PathOptions:
    """The columns of a file with a row for each path."""

    path: Annotated[
        str | None,
        data_option(
            "The column of paths such as A > B.",
            default="path, if there is one",
            metavar="COL",
            autocompletion=file_columns,
        ),
    ] = None
    conversions: Annotated[
        str | None,
        data_option(
            "Paths: the column of journeys that converted.",
            default="conversions",
            metavar="COL",
            autocompletion=file_columns,
        ),
    ] = None
    non_conversions: Annotated[
        str | None,
        data_option(
            "Paths: the column of those that did not.",
            default="non_conversions, if there is one",
            metavar="COL",
            autocompletion=file_columns,
        ),
    ] = None
    path_sep: Annotated[
        str | None, data_option("Paths: what stands between channels.", default=">", metavar="TEXT")
    ] = None

    def given(self) -> list[str]:
        """Return the options that were given."""
        options = {
            "--path": self.path,
            "--conversions": self.conversions,
            "--non-conversions": self.non_conversions,
            "--path-sep": self.path_sep,
        }
        return [flag for flag, word in options.items() if word is not None]

    def game(self, frame: pd.DataFrame, **options: Any) -> JourneyGame:
        """Return the game of the paths in `frame`."""
        from ordinal_shapley.games import JourneyGame

        path, conversions = self.path or "path", self.conversions or "conversions"
        sep = ">" if self.path_sep is None else self.path_sep
        non_conversions = self.non_conversions
        if non_conversions is None and "non_conversions" in frame.columns:
            non_conversions = "non_conversions"
        _check_columns(frame, [path, conversions, *([] if non_conversions is None else [non_conversions])])
        for row, text in zip(frame.index, frame[path], strict=True):
            if not text.strip():
                raise ValueError(f"no {path} in row {row}, expected channels such as 'A {sep} B'")
        counts = {
            name: [_as_count(text, name, row) for row, text in zip(frame.index, frame[name], strict=True)]
            for name in (conversions, non_conversions)
            if name is not None
        }
        lost = None if non_conversions is None else counts[non_conversions]
        columns = {"paths": path, "conversions": conversions, "non_conversions": non_conversions}

        def in_words(message: object) -> str:
            """Put a message of the library in terms of file and options."""
            text = re.sub(
                r"^(paths|conversions|non_conversions)\[(\d+)\]",
                lambda m: f"{columns[m[1]]} in row {frame.index[int(m[2])]}",
                str(message),
            )
            return re.sub(r"pass sep='(.*)'$", lambda m: f"give --path-sep {shlex.quote(m[1])}", text)

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                game = JourneyGame.from_paths(
                    frame[path].tolist(), counts[conversions], lost, sep=sep, **options
                )
            except ValueError as error:
                raise ValueError(in_words(error)) from error
        for caution in caught:
            warnings.warn(in_words(caution.message), caution.category, stacklevel=2)
        return game


@dataclass(frozen=True)
class TouchOptions:
    """The columns of a file with a row for each touch."""

    journey: Annotated[
        str | None,
        data_option(
            "Touches: the column that says which journey.",
            default="journey",
            metavar="COL",
            autocompletion=file_columns,
        ),
    ] = None
    channel: Annotated[
        str | None,
        data_option(
            "Touches: the column of channels.", default="channel", metavar="COL", autocompletion=file_columns
        ),
    ] = None
    time: Annotated[
        str | None,
        data_option(
            "Touches: the column of numbers or dates.",
            default="time",
            metavar="COL",
            autocompletion=file_columns,
        ),
    ] = None
    file_order: Annotated[
        bool, data_option("Touches: they are in order in the file; time is not read.", flag="--file-order")
    ] = False
    converted: Annotated[
        str | None,
        data_option(
            "Touches: the column of 1 or 0; a 1 at any touch says that the journey converted.",
            default="converted",
            metavar="COL",
            autocompletion=file_columns,
        ),
    ] = None

    def given(self) -> list[str]:
        """Return the options that were given."""
        options = {
            "--journey": self.journey,
            "--channel": self.channel,
            "--time": self.time,
            "--file-order": self.file_order or None,
            "--converted": self.converted,
        }
        return [flag for flag, word in options.items() if word is not None]

    def game(self, frame: pd.DataFrame, **options: Any) -> JourneyGame:
        """Return the game of the touches in `frame`."""
        from ordinal_shapley.games import JourneyGame

        journey, channel = self.journey or "journey", self.channel or "channel"
        converted = self.converted or "converted"
        time = None if self.file_order else self.time or "time"
        _check_columns(frame, [journey, channel, *([] if time is None else [time]), converted])
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
        if time is not None:
            frame[time] = _as_times(frame[time])
        return JourneyGame.from_events(frame, journey, channel, time, converted, **options)


def make_game(frame: pd.DataFrame, paths: PathOptions, touches: TouchOptions, **options: Any) -> JourneyGame:
    """Return the game of what a file holds; its form is told by the options given, or else by the columns."""
    has_touches = bool(touches.given()) or (not paths.given() and "path" not in frame.columns)
    if has_touches and not touches.given() and not {"journey", "channel"} <= set(frame.columns):
        raise ValueError(
            f"the columns are {_listed(frame)}, expected path, or journey and channel: "
            "name the columns by --path, or by --journey, --channel, --time and --converted"
        )
    return (touches if has_touches else paths).game(frame, **options)


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


def read_file(path: Path) -> pd.DataFrame:
    """Read all columns as texts; rows are counted from 1."""
    from ordinal_shapley.tables.reading import read_texts

    frame = read_texts(path, "a file of journeys")
    return frame.set_axis(range(1, len(frame) + 1), axis=0)
