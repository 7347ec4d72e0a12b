"""The command ``journeys``: credit for conversions among the channels of a file of journeys."""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ordinal_shapley.cli import options, output
from ordinal_shapley.cli.data import DECIMAL, SEP, SEPS, file_columns
from ordinal_shapley.cli.options import data_option, either, option
from ordinal_shapley.vocabulary import AFTER_CONVERSION, JOURNEY_VALUES, REPEATS, UNSEEN, UTILITIES

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from ordinal_shapley.games import JourneyGame

_LONGEST_NAME = 32
_SHOWN = 40
_LISTED = 5
_RESAMPLES = 1_000
# Total number of subsets of the channels of paths up to which these resamples take seconds.
_MAX_SUBSETS = 200_000
_FLAGS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}

# The line of the file where a row begins.
_Line = Callable[[int], int | str]


def _column(help: str, without: str) -> Any:
    return data_option(None, help, "COL", without=without, complete=file_columns)


@dataclass(frozen=True)
class PathOptions:
    """The columns of a file with a row for each path."""

    path: str | None = _column("The column of paths such as A > B.", "path, if there is one")
    conversions: str | None = _column(
        "Paths: the column with the number of journeys that converted.", "conversions"
    )
    non_conversions: str | None = _column(
        "Paths: the column with the number of journeys that did not convert.",
        "non_conversions, if there is one",
    )
    path_sep: str | None = data_option(None, "Paths: separator of channels.", "TEXT", without=">")

    def game(self, frame: pd.DataFrame, decimal: str, line: _Line, **options: Any) -> JourneyGame:
        """Return the game of the paths in `frame`."""
        from ordinal_shapley.games import JourneyGame

        sep = ">" if self.path_sep is None else self.path_sep
        lost = self.non_conversions
        if lost is None and "non_conversions" in frame.columns:
            lost = "non_conversions"
        columns = {"paths": self.path or "path", "conversions": self.conversions or "conversions"}
        columns |= {} if lost is None else {"non_conversions": lost}
        paths, *counts = (_texts(frame, name) for name in columns.values())
        with _naming_rows(columns, line):
            lists = [_as_counts(texts, decimal, line) for texts in counts]
            return JourneyGame.from_paths(paths.tolist(), *lists, sep=sep, **options)


@dataclass(frozen=True)
class TouchOptions:
    """The columns of a file with a row for each touch."""

    journey: str | None = _column("Touches: the column of journey IDs.", "journey")
    channel: str | None = _column("Touches: the column of channels.", "channel")
    time: str | None = _column("Touches: the column of times, as numbers or dates.", "time")
    file_order: bool | None = data_option(
        None, "Touches: the file lists them in order, so no time is read.", flag="--file-order"
    )
    converted: str | None = _column(
        "Touches: the column of conversions, 1 or 0: 1 at the touch that converted, or at all touches of a "
        "journey that converted.",
        "converted",
    )
    after_conversion: str | None = data_option(
        None,
        "Touches after a conversion: cut (leave them out), split (begin a new journey) or keep (count them "
        "for the same journey).",
        "NAME",
        without="cut",
        choices=AFTER_CONVERSION,
    )

    def game(self, frame: pd.DataFrame, decimal: str, line: _Line, **options: Any) -> JourneyGame:
        """Return the game of the touches in `frame`."""
        from ordinal_shapley.games import JourneyGame

        journey, channel = self.journey or "journey", self.channel or "channel"
        time = None if self.file_order else self.time or "time"
        converted = self.converted or "converted"
        columns = {name: _texts(frame, name) for name in (journey, channel, time, converted) if name}
        for name in (journey, channel):
            _check(columns[name], columns[name].str.strip() == "", "one", line)
        flags = columns[converted].str.strip().str.lower().str.removesuffix(".0")
        _check(columns[converted], ~flags.isin(_FLAGS), "1 or 0, true or false, yes or no", line)
        frame = frame.assign(**{converted: flags.map(_FLAGS)})
        if time is not None:
            frame[time] = _as_times(frame[time], decimal, line)
        options["after_conversion"] = self.after_conversion
        return JourneyGame.from_events(frame, journey, channel, time, converted, **options)


@options.command
def journeys(
    paths: PathOptions,
    touches: TouchOptions,
    file: Path = options.argument(MISSING, "A table of paths with counts, or of touches.", "FILE.csv"),
    value_kind: str = option(
        "partial_ordinal", f"{either(JOURNEY_VALUES)}.", "NAME", flag="--value", choices=JOURNEY_VALUES
    ),
    utility: str = option(
        "rate",
        "Utility of a sequence: rate (share of its journeys that convert) or conversions (their number).",
        "NAME",
        choices=UTILITIES,
    ),
    unseen: str | None = option(
        None,
        "With --utility rate, the utility of a sequence without journeys: backoff (that of its longest "
        "beginning with journeys) or zero.",
        "NAME",
        without="backoff",
        choices=UNSEEN,
    ),
    repeats: str = option(
        "error",
        f"Which touch counts if a journey touches a channel more than once: {either(REPEATS)}.",
        "NAME",
        choices=REPEATS,
    ),
    exclude: list[str] | None = data_option(
        None,
        "Leave out this channel, which marks a beginning or an outcome, and keep conversions; can be given "
        "again.",
        "CHANNEL",
    ),
    by_position: bool = options.output_option(
        False, "Show at which positions of journeys credit was earned.", flag="--by-position"
    ),
    bootstrap: int | None = options.sampling_option(
        None,
        "Bootstrap resamples of the journeys, for standard errors and 95 % CIs; 0 for none.",
        "N",
        without=f"{_RESAMPLES}, or none if that takes more than seconds",
        limits={"min": 0, "max": 100_000},
    ),
    sep: str = SEP,
    decimal: str = DECIMAL,
    seed: int = options.SEED,
    out: Path | None = options.OUT,
    plot: Path | None = options.PLOT,
    as_json: bool = options.JSON,
) -> None:
    """Credit conversions to the channels that people touched, by the order of touches.

    FILE.csv has one row per path, with counts:

    path,conversions,non_conversions

    search > mail,30,70

    or one row per touch, in any order:

    journey,channel,time,converted

    u1,search,2026-01-31 12:00,1

    Credits add up to the conversions. For example:

    ordinal-shapley journeys paths.csv

    ordinal-shapley journeys touches.csv --repeats first --by-position --plot credit.png
    """
    if paths.path_sep is not None and not paths.path_sep.strip():
        raise ValueError(f"--path-sep is {paths.path_sep!r}, expected a text such as '>'")
    if touches.time is not None and touches.file_order:
        raise ValueError("give either --time or --file-order, not both")
    given = [_given(paths), _given(touches)]
    if all(given):
        raise ValueError(f"give either {given[0]}, for paths, or {given[1]}, for touches, not both")
    output.check_outputs({"--out": out, "--plot": plot}, [file])
    with output.warning_lines() as warned:
        from ordinal_shapley.tables.files import TEXTS, open_file
        from ordinal_shapley.tables.table import Marks, line_of

        opened = open_file(file, "a file of journeys", Marks(SEPS[sep]))
        frame = opened.frame(**TEXTS)
        try:
            has_touches = bool(given[1]) or (not given[0] and "path" not in frame.columns)
            if has_touches and not given[1] and not {"journey", "channel"} <= set(frame.columns):
                raise ValueError(
                    "name the columns by --path, or by --journey, --channel, --time and --converted: the "
                    f"file has {_listed(frame)}, expected path, or journey and channel"
                )
            form = touches if has_touches else paths
            more = {"repeats": repeats, "utility": utility, "unseen": unseen, "exclude": exclude}
            line = functools.partial(line_of, opened.content, sep=opened.marks.sep)
            game = form.game(frame, decimal, line, **more)
            drawn = _resamples(game) if bootstrap is None else bootstrap or None
            credit = game.credit(value_kind, bootstrap=drawn, random_state=seed)
            places = game.credit(value_kind, by_position=True) if by_position else None
        except (TypeError, ValueError) as error:
            message = options.in_options(str(error)).replace(", or in a game with ordered=False", "")
            raise ValueError(f"{file.name}: {message}") from error
        rank = credit["credit"].rank(ascending=False, method="first").astype(int)
        credit = credit.assign(rank=rank)
        table = credit if places is None else credit.join(places.add_prefix("position_"))
        settings: dict[str, Any] = {"value": value_kind, "bootstrap": drawn, "seed": seed, "exclude": exclude}
        settings |= {"sep": sep, "decimal": decimal, "after_conversion": touches.after_conversion}
        split = touches.after_conversion == "split"
        kind = value_kind.replace("_", " ").capitalize()
        title = f"{kind} credit for {_count(game.n_conversions, 'conversion')}"
        bars = credit if places is None else places
        height = 1.6 + 0.28 * min(len(bars), 30)
        picture = output.picture_writer("plot_credit", bars, height=height, title=title)
        heading = f"[bold]{title}[/bold] of {output.safe(file.name)}"
        output.show(
            "journeys",
            as_json,
            lambda: _document(game, credit, places, file.name, settings),
            lambda console: _show(console, heading, game, credit, places, value_kind, drawn, split),
            [(out, output.csv_writer(table)), (plot, picture)],
            warned,
        )


def _resamples(game: JourneyGame) -> int | None:
    """Return the default number of resamples, None if they would take more than seconds."""
    touches = game.to_frame()["path"].str.count(" > ") + 1
    return _RESAMPLES if (2.0**touches).sum() <= _MAX_SUBSETS else None


def _given(options: PathOptions | TouchOptions) -> str:
    """Return the first option that was given, "" if none."""
    names = [field.name for field in fields(options) if getattr(options, field.name) is not None]
    return f"--{names[0].replace('_', '-')}" if names else ""


@contextmanager
def _naming_rows(columns: dict[str, str], line: _Line) -> Iterator[None]:
    """Let messages that begin with an argument and an index name the column and the file's line instead."""

    def in_file(message: object) -> str:
        pattern = rf"^({'|'.join(columns)})\[(\d+)\]"
        return re.sub(pattern, lambda m: f"{columns[m[1]]} in line {line(int(m[2]))}", str(message))

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        except ValueError as error:
            raise ValueError(in_file(error)) from error
    for one in caught:
        warnings.warn(in_file(one.message), one.category, stacklevel=2)


def _texts(frame: pd.DataFrame, name: str) -> pd.Series:
    if name not in frame.columns:
        raise ValueError(f"no column {name!r}, the columns are {_listed(frame)}")
    return frame[name]


def _check(texts: pd.Series, odd: pd.Series, expected: str, line: _Line) -> None:
    """ValueError if a mask is True anywhere in a column."""
    if odd.any():
        row = int(odd.to_numpy().argmax())
        raise ValueError(f"{texts.name} is {texts.iloc[row]!r} in line {line(row)}, expected {expected}")


def _with_points(texts: pd.Series, decimal: str) -> pd.Series:
    """Return texts with decimal points; with decimal commas, commas and points are swapped."""
    return texts.str.translate(str.maketrans(",.", ".,")) if decimal == "," else texts


def _as_counts(texts: pd.Series, decimal: str, line: _Line) -> Any:
    import pandas as pd

    pointed = _with_points(texts, decimal)
    counts = pd.to_numeric(pointed, errors="coerce")
    hint = "; with --decimal , it may be 1,5" if texts.str.contains(",").any() and decimal == "." else ""
    _check(texts, ~((counts >= 0) & (counts < float("inf"))), f"a number of at least 0{hint}", line)
    return pointed.astype(float).tolist()


def _as_times(texts: pd.Series, decimal: str, line: _Line) -> Any:
    import pandas as pd

    numbers = pd.to_numeric(_with_points(texts, decimal), errors="coerce")
    if numbers.notna().all():
        return numbers
    # Nothing in which day and month can be confused.
    dates = pd.to_datetime(texts, format="ISO8601", utc=True, errors="coerce")
    if dates.isna().all():  # with full stops the day is first
        formats = (f"%d.%m.%Y{time}" for time in ("", " %H:%M", " %H:%M:%S"))
        read = (pd.to_datetime(texts, format=form, utc=True, errors="coerce") for form in formats)
        dates = functools.reduce(pd.Series.combine_first, read, dates)
    # Numbers are wrong only among dates.
    odd = dates.isna() if dates.notna().any() else numbers.isna()
    _check(texts, odd, "numbers, or dates such as 2026-01-31 12:00 or 31.01.2026 12:00", line)
    return dates


def _listed(frame: pd.DataFrame) -> str:
    return ", ".join(map(repr, frame.columns))


def _document(
    game: JourneyGame,
    credit: pd.DataFrame,
    places: pd.DataFrame | None,
    name: str,
    settings: dict[str, Any],
) -> dict[str, Any]:
    """Return what ``--json`` prints: the channels in order, with the figures to compare credit with."""
    touches = game.touches()[["last_touch", "touched"]]
    channels = output.records(credit.join(touches).rename_axis("channel"))
    if places is not None:
        for channel, row in zip(channels, places.to_numpy(), strict=True):
            channel["by_position"] = row
    sizes = {"journeys": game.n_journeys, "conversions": game.n_conversions}
    return {
        "data": {"name": name, **sizes, "paths": game._counted.n_paths, "channels": game.n_players},
        "settings": {name: getattr(game, name) for name in ("utility", "unseen", "repeats")} | settings,
        "channels": channels,
    }


def _show(
    console: Console,
    title: str,
    game: JourneyGame,
    credit: pd.DataFrame,
    places: pd.DataFrame | None,
    value: str,
    bootstrap: int | None,
    split: bool,
) -> None:
    """Print what the journeys were, and the channels, highest credit first."""
    import numpy as np

    console.print(title)
    console.print(output.facts(*_summary(game, value)))
    console.print()
    credits = credit["credit"].to_numpy()
    order = np.argsort(-credits, kind="stable")
    shown = order[:_SHOWN]
    touches = game.touches()
    some = touches.iloc[shown]
    columns = {
        **_credits(credit, shown, output.plus_minus(console)),
        "last touch": _numbers([*some["last_touch"], touches["last_touch"].sum()]),
        "touched": [*_numbers(some["touched"]), ""],
    }
    output.make_room(console, columns, ("touched", "share, 95 % CI", "last touch"), 12)
    names = [*credit.index[shown], "all channels"]
    output.print_table(console, {"channel": names} | columns, "channel", _LONGEST_NAME)
    if len(order) > len(shown):
        rest = _numbers([credits[order[_SHOWN:]].sum()])[0]
        console.print(f"{len(order) - _SHOWN:,} more channels have a credit of {rest} together")
    if places is not None:
        console.print("\n[bold]Credit by position in the journey[/bold]; the sum of each row is the credit")
        part = places.iloc[shown]
        written = np.array(_numbers(part.to_numpy().ravel())).reshape(part.shape)
        by_position = {str(position): list(cells) for position, cells in zip(part, written.T, strict=True)}
        output.print_wide(console, "channel", list(part.index), by_position)
    console.print()
    meanings = {
        "last touch": "Last touch: conversions of journeys that end with the channel.",
        "touched": "Touched: conversions of journeys that touch the channel.",
    }
    lines = [words for column, words in meanings.items() if column in columns]
    if bootstrap is not None:
        lines.append(
            f"Standard errors and 95 % CIs are from {bootstrap:,} bootstrap resamples of the journeys."
        )
        if split:
            lines.append("They are too small: --after-conversion split makes several journeys per person.")
        if credit["stderr"].isna().any():
            lines.append("?: not known, because the channel gets no credit in any resample.")
    elif _resamples(game) is None:
        lines.append("For standard errors and 95 % CIs, which take a while here, add --bootstrap N.")
    console.print(" ".join(lines))
    if bootstrap is not None and (credits < 0).any():
        below = list(map(output.safe, credit.index[credit["ci_high"] < 0]))
        listed = ", ".join(below[:_LISTED]) + ", ..." * (len(below) > _LISTED)
        if below:
            console.print(
                f"Associated with fewer conversions (95 % CI entirely below 0), as a cause or not: {listed}. "
                "If journeys end at the conversion, late channels look worse than they are: only people who "
                "had not converted before saw them."
            )
        else:
            console.print("Credits below 0 may be chance: their 95 % CIs include 0.")


def _credits(credit: pd.DataFrame, shown: Any, sign: str) -> dict[str, list[str]]:
    """Return the columns of credit and share, with a row for all channels, and errors if there are any."""
    import numpy as np

    from ordinal_shapley.report.text import decimals

    some, wholes = credit.iloc[shown], credit[["credit", "share"]].sum()
    numbers = [*some["credit"], wholes["credit"]]
    share = [f"{100 * share:.1f} %" for share in [*some["share"], wholes["share"]]]
    if "stderr" not in credit.columns:
        return {"credit": _numbers(numbers), "share": share}
    # Two digits of a standard error, or integers.
    digits = max(0, decimals(credit["stderr"].to_numpy() / 1000, np.zeros(0)) - 3)

    def interval(name: str, scale: float, digits: int) -> list[str]:
        ends = (_numbers(scale * some[f"{name}ci_{end}"], digits) for end in ("low", "high"))
        return ["?" if low == "?" else f"{low} to {high}" for low, high in zip(*ends, strict=True)] + [""]

    return {
        "credit": _numbers(numbers, digits),
        "std. error": [f"{sign} {error}" for error in _numbers(some["stderr"], digits)] + [""],
        "95 % CI": interval("", 1.0, digits),
        "share": share,
        "share, 95 % CI": interval("share_", 100.0, 1),
    }


def _summary(game: JourneyGame, value: str) -> list[tuple[str, str]]:
    rate = game.n_conversions / game.n_journeys if game.n_journeys else 0.0
    paths, channels = _count(game._counted.n_paths, "path"), _count(game.n_players, "channel")
    n_journeys = _numbers([game.n_journeys])[0]
    lines = [("journeys", f"{n_journeys}, {100 * rate:.3g} % converted; {paths} of {channels}")]
    if game.utility == "conversions":
        lines.append(("utility", "number of journeys with this path that converted"))
    else:
        like = (
            "largest observed subsets; order is ignored"
            if value == "classic"
            else "longest observed beginning"
        )
        unseen = f"utility of its {like}" if game.unseen == "backoff" else "utility 0"
        if value == "classic" and game.unseen == "zero":
            unseen += "; order is ignored"
        lines.append(("unseen path", unseen))
    if game._of_journeys:
        lines.append(("converted", "the same at all touches of each journey, so all of them count"))
    n_without, won = game._counted.without
    if n_without:
        gone = f"{_count(n_without, 'journey')} without other channels, with {_count(won, 'conversion')}"
        lines.append(("left out", gone))
    repeated = f"in {_numbers([game._counted.n_repeated])[0]} journeys the {game.repeats} touch counts"
    return [*lines, ("repeats", repeated if game._counted.n_repeated else "none")]


def _numbers(numbers: Any, digits: int | None = None) -> list[str]:
    """Format numbers with `digits` decimals; without, integers if all are whole, else two decimals."""
    counts = [round(float(number), 9) for number in numbers]  # without rounding errors of sums
    if digits is None:
        digits = 0 if all(number.is_integer() for number in counts) else 2
    texts = ["?" if number != number else f"{number:,.{digits}f}" for number in counts]
    return [text if text.strip("-0.,") else text.replace("-", "") for text in texts]


def _count(number: float, noun: str) -> str:
    return f"{_numbers([number])[0]} {noun}{'' if number == 1 else 's'}"
