"""Reading journeys: lists, texts such as "A > B" and tables of events become sequences and counts."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Iterator, Sequence, Set
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common import arrays
from ordinal_shapley.common.frames import as_pandas
from ordinal_shapley.common.names import warn_of_alike
from ordinal_shapley.vocabulary import AFTER_CONVERSION, REPEATS, check_choice

if TYPE_CHECKING:
    import pandas as pd

# Credit is computed from ratios of numbers as large as the factorial of a journey's length.
_MAX_TOUCHED = 100
_MAX_CHANNELS = 1_000_000
# Limits of counts: their ratios, times such a factorial, are far from the limits of floats.
_MIN, _MAX = 1e-30, 1e30
# A channel may mark an outcome if this share of the journeys with the outcome has it, and if the outcomes of
# its journeys would be this unlikely for another channel.
_MIN_SHARE, _MAX_PROBABILITY = 0.1, 1e-6
_MAX_OUTCOMES = 3  # names that may all be outcomes, where only they end journeys
# Common separators of channels.
_ARROWS = ("->", "=>", "→", "&gt;", ">>", ">")
_OTHER_SEPS = (*_ARROWS, "|", ";", ",")

Key = TypeVar("Key", bound=tuple[Any, ...])


class Journeys(NamedTuple):
    """Journeys as read."""

    rows: Iterable[tuple[str, tuple[str, ...]]]  # the name of each in messages, and its channels
    counts: NDArray[np.float64]  # rows of conversions and non-conversions
    of_journeys: bool = False  # flags are of whole journeys, so all touches count
    known: frozenset[str] = frozenset()  # channels that may be excluded although no row has them any more


class Counted(NamedTuple):
    """Counts of journeys by distinct sequence of channels."""

    channels: list[str]  # names; below channels are indices
    sequences: list[tuple[int, ...]]  # sorted
    conversions: NDArray[np.float64]  # by sequence
    totals: NDArray[np.float64]  # all journeys by sequence, converted or not; never 0
    # For the original journeys, with repeated touches:
    touches: NDArray[np.float64]  # conversions of journeys that each channel is part of, begins and ends
    n_paths: int
    n_repeated: float  # number of journeys that touch a channel twice
    # Journeys that touch only excluded channels, which are not counted above, and their conversions.
    without: tuple[float, float]


def read_lists(journeys: Any, conversions: Any, non_conversions: Any) -> Journeys:
    """Read lists of channels, one per journey."""
    rows = as_list(journeys, "journeys", "journey")

    def names() -> Iterator[tuple[str, tuple[str, ...]]]:
        for row, journey in enumerate(rows):
            where = f"journeys[{row}]"
            yield where, tuple(_as_name(name, where) for name in as_list(journey, where, "channel"))

    return Journeys(names(), _as_counts(conversions, non_conversions, len(rows)))


def read_paths(paths: Any, conversions: Any, non_conversions: Any, sep: Any) -> Journeys:
    """Read texts."""
    if not (isinstance(sep, str) and sep.strip()):
        raise ValueError(f"sep is {sep!r}, expected a text such as '>'")
    rows = as_list(paths, "paths", "journey")
    counts = _as_counts(conversions, non_conversions, len(rows))
    places: dict[str, int] = {}
    for row, path in enumerate(rows):
        if not isinstance(path, str):
            raise TypeError(f"paths[{row}] is {path!r}, expected a text such as 'A {sep.strip()} B'")
        places.setdefault(path, row)
    _warn_of_sep(places, sep)
    names = {path: _split(path, row, sep) for path, row in places.items()}
    return Journeys([(f"paths[{row}]", names[path]) for row, path in enumerate(rows)], counts)


def read_events(
    frame: Any,
    journey: str,
    channel: str,
    time: str | None,
    converted: str,
    after: str | None,
    exclude: Any,
) -> Journeys:
    """Read a table with one row per touch; touches of excluded channels only give times of conversions."""
    import pandas as pd

    frame = as_frame(frame)
    journeys, touched = column_of(frame, journey), column_of(frame, channel)
    if not len(frame):
        raise ValueError("frame has no rows, expected at least one")
    for column in (journeys, touched):
        _refuse_missing(column)
    flags = as_flags(column_of(frame, converted), f"frame[{converted!r}]", frame.index)
    codes = pd.factorize(journeys)[0]
    order = np.argsort(codes, kind="stable")
    ids, channels = journeys.tolist(), touched.to_numpy()
    excluded = _as_excluded(exclude)
    stripped = [str(name).strip() for name in touched.tolist()]
    out = np.array([name in excluded for name in stripped])
    in_time = None
    if time is not None:
        times = _as_times(column_of(frame, time))
        order = np.lexsort((flags, times, codes))
        in_time = order[~out[order]]
    order, starts, of_journeys = _end_journeys(order, codes, flags, out, after)
    if in_time is not None:
        before, after_it = in_time[:-1], in_time[1:]
        tied = (codes[before] == codes[after_it]) & (times[before] == times[after_it])
        # The order of excluded ones does not matter.
        tied &= (channels[before] != channels[after_it]) & np.isin(before, order)
        if tied.any():
            a, b = int(before[np.argmax(tied)]), int(after_it[np.argmax(tied)])
            raise ValueError(
                f"journey {ids[a]!r} touches {channels[a]!r} and {channels[b]!r} at the same {time}, "
                f"{frame[time].iloc[a]}, so that their order is not known: sort the rows and give time=None "
                "to take them as they stand"
            )
    won = np.maximum.reduceat(flags[order], starts)
    in_order, ends = touched.iloc[order].tolist(), [*starts[1:].tolist(), len(order)]

    def names() -> Iterator[tuple[str, tuple[str, ...]]]:
        for start, end in zip(starts.tolist(), ends, strict=True):
            where = f"journey {ids[order[start]]!r}"
            yield where, tuple(_as_name(name, where) for name in in_order[start:end])

    return Journeys(names(), np.stack([won, 1.0 - won]), of_journeys, excluded.intersection(stripped))


def _end_journeys(
    order: NDArray[np.int64],
    codes: NDArray[np.int64],
    flags: NDArray[np.float64],
    out: NDArray[np.bool_],
    after: str | None,
) -> tuple[NDArray[np.int64], NDArray[np.int64], bool]:
    """Return the touches that count, in order, the starts of journeys, and if flags are of whole journeys."""
    if after is not None:
        check_choice("after_conversion", after, AFTER_CONVERSION)
    codes, flags = codes[order], flags[order]
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    # Number of conversions of the journey before each touch.
    before = np.cumsum(flags) - flags
    before -= before[starts][codes[starts].searchsorted(codes)]
    same = (np.minimum.reduceat(flags, starts) == np.maximum.reduceat(flags, starts)).all()
    # An excluded touch without a conversion does not begin a journey after a conversion.
    kept = (before == 0.0) | (flags > 0.0) | ~out[order]
    order, codes, flags, before = order[kept], codes[kept], flags[kept], before[kept]
    late = before > 0.0
    of_journeys = bool(after is None and same and late.any())
    if of_journeys:
        after = "keep"
    elif after is None and late.any():
        warnings.warn(
            f"{int(late.sum()):,} touches after the first conversion of their journey are left out, in "
            f"{len(np.unique(codes[late])):,} of {len(starts):,} journeys, with {int(flags[late].sum()):,} "
            "further conversions: use after_conversion='cut' if that is right, after_conversion='split' to "
            "begin a new journey after each conversion, or after_conversion='keep' to count all touches and "
            "one conversion per journey",
            stacklevel=4,
        )
    if after == "keep":
        before[:] = 0.0
    elif after != "split":
        order, codes, before = order[~late], codes[~late], before[~late]
    new = (np.diff(codes, prepend=-1) != 0) | (np.diff(before, prepend=0.0) != 0.0)
    return order, np.flatnonzero(new), of_journeys


def as_frame(frame: Any) -> pd.DataFrame:
    """Return a frame of any library as a pandas frame."""
    import pandas as pd

    frame = as_pandas(frame, "frame")
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"frame is a {type(frame).__name__}, expected a frame of pandas, Polars or PyArrow")
    return frame


def column_of(frame: pd.DataFrame, name: str) -> pd.Series:
    """Return a column; ValueError unless exactly one has that name."""
    count = list(frame.columns).count(name)
    if count != 1:
        listed = ", ".join(map(repr, frame.columns))
        raise ValueError(f"frame has {count or 'no'} columns {name!r}, expected one; it has {listed}")
    return frame[name]


def count_journeys(journeys: Journeys, repeats: str, channels: Any, exclude: Any) -> Counted:
    """Add up the journeys of each sequence of channels."""
    check_choice("repeats", repeats, REPEATS)
    (rows, counts, *_), without = _leave_out(journeys, _as_excluded(exclude))
    given = []
    kept: dict[tuple[str, ...], tuple[str, ...]] = {}
    for where, path in rows:
        given.append(path)
        if path not in kept:
            kept[path] = _without_repeats(path, where, repeats)
    paths, sums = add_up(given, counts)
    totals = sums.sum(axis=0)
    found = sorted({name for path in paths for name in path})
    names = found if channels is None else _as_channels(channels, found)
    if len(names) > _MAX_CHANNELS:
        raise ValueError(f"journeys have {len(names):,} channels, expected at most {_MAX_CHANNELS:,}")
    _warn_of_names(found, paths, sums)
    number = {name: i for i, name in enumerate(names)}
    ways = {path: tuple(number[name] for name in kept[path]) for path in paths}
    ends = ([number[path[end]] for path in paths] for end in (0, -1))
    touched = [[channel for path in paths for channel in ways[path]], *ends]
    repeated = [len(path) > len(ways[path]) for path in paths]
    wins = [np.repeat(sums[0], [len(ways[path]) for path in paths]), sums[0], sums[0]]
    n = len(names)
    touches = [np.bincount(*pair, n).astype(np.float64) for pair in zip(touched, wins, strict=True)]
    some = np.flatnonzero(totals)
    sequences, (conversions, of_each) = add_up(
        [ways[paths[k]] for k in some.tolist()], np.stack([sums[0], totals])[:, some]
    )
    n_repeated = float(totals[repeated].sum())
    touched_by = np.stack(touches, 1)
    return Counted(names, sequences, conversions, of_each, touched_by, len(some), n_repeated, without)


def _leave_out(journeys: Journeys, excluded: frozenset[str]) -> tuple[Journeys, tuple[float, float]]:
    """Leave channels out, and journeys that touch no other channel, whose conversions cannot be credited.

    Also returns the number of these journeys and of their conversions.
    """
    if not excluded:
        return journeys, (0.0, 0.0)
    rows = list(journeys.rows)
    unknown = excluded.difference(journeys.known, *(path for _, path in rows))
    if unknown:
        raise ValueError(f"exclude holds {min(unknown)!r}, expected channels that journeys touch")
    rows = [(where, tuple(name for name in path if name not in excluded)) for where, path in rows]
    some = np.array([bool(path) for _, path in rows])
    if not some.any():
        raise ValueError("exclude holds all channels of the journeys, expected some to be left")
    won, lost = journeys.counts[:, ~some].sum(axis=1).tolist()
    if won:
        warnings.warn(
            f"look at exclude if these are many: {won:,.10g} of {journeys.counts[0].sum():,.10g} conversions "
            "are left out, for their journeys touch excluded channels only",
            stacklevel=5,
        )
    return Journeys([row for row in rows if row[1]], journeys.counts[:, some]), (won + lost, won)


def _warn_of_names(channels: list[str], paths: list[tuple[str, ...]], counts: NDArray[np.float64]) -> None:
    """Warn of channels that may be the same, or that mark the beginning or the outcome of journeys."""
    warn_of_alike(channels, "channels", stacklevel=6)
    last = sorted({path[-1] for path in paths})
    nowhere_else = not any(name in path[:-1] for path in paths for name in last)
    if not counts[1].any() and 1 < len(last) <= _MAX_OUTCOMES < len(channels) and nowhere_else:
        named = ", ".join(map(repr, last))
        warnings.warn(
            f"count journeys that did not convert as non_conversions, and pass exclude=[{named}], if these "
            "are outcomes: each journey ends with one of them, and all are counted as conversions",
            stacklevel=5,
        )
    marks = {
        f"{name!r} {verb} {which}": repr(name)
        for verb, end in (("begins", 0), ("ends", -1))
        for name, which in _marks_at(end, paths, counts)
    }
    if marks and np.count_nonzero(counts.any(axis=0)) > 2:  # two paths are no evidence
        warnings.warn(
            f"pass exclude=[{', '.join(dict.fromkeys(marks.values()))}] if these mark a beginning or an "
            f"outcome and are not touches; all conversions are kept: {'; '.join(marks)}",
            stacklevel=5,
        )


def _marks_at(
    end: int, paths: list[tuple[str, ...]], counts: NDArray[np.float64]
) -> Iterator[tuple[str, str]]:
    """Yield channels that seem to mark the beginning, 0, or the end, -1, of journeys, and of which ones."""
    present: Any = counts.any(axis=0)
    elsewhere = {name for path in itertools.compress(paths, present) for name in (path[1:], path[:-1])[end]}
    keys, at = number_keys([path[end:][:1] for path in paths])
    journeys = np.array([np.bincount(at, row) for row in counts])
    n_paths = np.array([np.bincount(at, row > 0.0) for row in (*counts, present)])
    wholes, n_present = journeys.sum(axis=1), np.count_nonzero(present)
    for row, outcome in enumerate(("converted", "did not convert")):
        for k in np.flatnonzero((n_paths[row] > 1) & (journeys[1 - row] == 0.0)).tolist():
            n, others = journeys[row, k], wholes - journeys[:, k]
            if not others[1 - row]:
                continue
            if not others[row]:
                yield keys[k][0], f"every journey that {outcome}, and no other"
                continue
            # A channel like the others would be unlikely to have only one outcome.
            rare = (others[row] / others.sum()) ** n < _MAX_PROBABILITY
            if rare and n >= _MIN_SHARE * wholes[row] and keys[k][0] not in elsewhere:
                yield keys[k][0], f"{n:,.10g} journeys that {outcome}, and is nowhere else"
    # A mark that is not an outcome is never a whole journey (a purchase without a touch is).
    for k in np.flatnonzero((n_paths[2] == n_present) & (n_paths[2] > 1)).tolist():
        if keys[k] not in paths:
            yield keys[k][0], "every journey"


def add_up(keys: list[Key], counts: NDArray[np.float64]) -> tuple[list[Key], NDArray[np.float64]]:
    """Return the distinct keys, sorted, and the sums of their columns of counts."""
    distinct, which = number_keys(keys)
    sums = [np.bincount(which, row, len(distinct)) for row in counts]
    return distinct, np.array(sums, np.float64)


def number_keys(keys: list[Key]) -> tuple[list[Key], NDArray[np.int64]]:
    """Return the distinct keys, sorted, and the index of each key among them."""
    distinct = sorted(set(keys))
    number = {key: k for k, key in enumerate(distinct)}
    return distinct, np.array([number[key] for key in keys], np.int64)


def _without_repeats(touched: tuple[str, ...], where: str, repeats: str) -> tuple[str, ...]:
    kept = tuple(dict.fromkeys(touched))
    if repeats == "error" and len(kept) < len(touched):
        again = next(name for k, name in enumerate(touched) if name in touched[:k])
        raise ValueError(
            f"{where} touches {again!r} twice, expected distinct channels: say which touch counts, "
            "repeats='first' or repeats='last'"
        )
    if repeats == "last":
        kept = tuple(dict.fromkeys(touched[::-1]))[::-1]
    if len(kept) > _MAX_TOUCHED:
        raise ValueError(f"{where} has {len(kept)} channels, expected at most {_MAX_TOUCHED}")
    return kept


def as_list(values: Any, name: str, of: str) -> Sequence[Any]:
    """Check that values are ordered, and that there is at least one."""
    one_value = isinstance(values, str | bytes) or not isinstance(values, Iterable)
    if one_value or isinstance(values, Set) or hasattr(values, "columns"):
        raise TypeError(
            f"{name} is a {type(values).__name__}, expected a list with one value per {of}: for texts "
            "use from_paths, for tables from_frame or from_events"
        )
    entries = list(values)
    if not entries:
        raise ValueError(f"{name} is empty, expected at least one {of}")
    return entries


def _as_name(channel: Any, where: str) -> str:
    if isinstance(channel, Integral) and not isinstance(channel, bool):
        return str(int(channel))
    if not isinstance(channel, str):
        raise TypeError(f"{where} holds {channel!r}, expected names of channels")
    name = channel.strip()
    if not name:
        raise ValueError(f"{where} holds the blank name {channel!r}, expected names of channels")
    return str(name)


def _split(path: str, row: int, sep: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in path.split(sep))
    if not all(names):
        hint = f"; if {2 * sep!r} stands between them, pass sep={2 * sep!r}" if 2 * sep in path else ""
        raise ValueError(f"paths[{row}] is {path!r}, expected channels such as 'A {sep.strip()} B'{hint}")
    return names


def _warn_of_sep(places: dict[str, int], sep: str) -> None:
    """Warn if paths seem to have another separator; paths come with their rows."""
    whole = not any(sep in path for path in places)
    for other in _OTHER_SEPS:
        holding = [path for path in places if other in path]
        arrow = other in _ARROWS
        if other == sep or not (2 * len(holding) >= len(places) or (holding and arrow)):
            continue  # other marks than arrows may be part of a few names
        # A few channels, each of which is a path with the other separator.
        inside = (
            arrow and other not in sep and all(other in name for path in places for name in path.split(sep))
        )
        if sep in other or whole or inside:
            warnings.warn(
                f"paths[{places[holding[0]]}] is {holding[0]!r}, and channels are separated by {sep!r}: if "
                f"it should be {other!r}, pass sep={other!r}",
                stacklevel=4,
            )
            return


def _as_excluded(exclude: Any) -> frozenset[str]:
    if exclude is None:
        return frozenset()
    if isinstance(exclude, str) or not isinstance(exclude, Iterable):
        raise TypeError(f"exclude is {exclude!r}, expected a list of channels")
    return frozenset(_as_name(channel, "exclude") for channel in exclude)


def _as_channels(channels: Any, found: list[str]) -> list[str]:
    names = [_as_name(channel, "channels") for channel in as_list(channels, "channels", "channel")]
    if len(set(names)) < len(names):
        raise ValueError("channels holds a name twice, expected distinct names")
    unknown = set(found) - set(names)
    if unknown:
        raise ValueError(f"channels lacks {min(unknown)!r}, expected all channels of the journeys")
    return names


def _as_counts(conversions: Any, non_conversions: Any, n: int) -> NDArray[np.float64]:
    counts = np.zeros((2, n))
    for row, (name, values) in enumerate(
        (("conversions", conversions), ("non_conversions", non_conversions))
    ):
        if name == "non_conversions" and values is None:
            continue
        numbers = arrays.as_numbers(arrays.as_column(values, name, n, "journey"), name)
        bad = ~((numbers == 0.0) | ((numbers >= _MIN) & (numbers <= _MAX)))
        if bad.any():
            at = int(np.argmax(bad))
            raise ValueError(
                f"{name}[{at}] is {numbers[at]:g}, expected 0 or a number from {_MIN:g} to {_MAX:g}"
            )
        counts[row] = numbers
    return counts


def as_flags(column: Any, name: str, index: Any) -> NDArray[np.float64]:
    """Check whether each journey converted: True, False, 1 or 0."""
    values = column.tolist()
    for row, value in zip(index, values, strict=True):
        if not (isinstance(value, Real | np.bool_) and value in (0, 1)):
            raise ValueError(
                f"{name} is {value!r} at row {arrays.plain(row)!r}, expected True, False, 1 or 0"
            )
    return np.array(values, np.float64)


def _as_times(column: pd.Series) -> NDArray[Any]:
    if getattr(column.dtype, "kind", "O") not in "iufM":
        raise TypeError(
            f"frame[{column.name!r}] is of type {column.dtype}, expected numbers or dates: convert them "
            "with pandas.to_datetime first (utc=True for several time zones)"
        )
    _refuse_missing(column)
    # Dates with a time zone are compared as moments.
    return column.to_numpy() if column.dtype.kind != "M" else column.astype("int64").to_numpy()


def _refuse_missing(column: pd.Series) -> None:
    missing = column.isna().to_numpy()
    if missing.any():
        row = arrays.plain(column.index[int(np.argmax(missing))])
        raise ValueError(f"frame has no {column.name} at row {row!r}, expected one")
