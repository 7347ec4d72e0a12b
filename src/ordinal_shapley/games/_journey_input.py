"""Reading journeys: lists, texts such as "A > B" and tables of events become sequences and counts."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence, Set
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common import arrays
from ordinal_shapley.vocabulary import REPEATS, check_choice

if TYPE_CHECKING:
    import pandas as pd

# Shares of credit are ratios of numbers as large as the factorial of a journey's length.
_MAX_TOUCHED = 100
_MAX_CHANNELS = 1_000_000
# Of counts: their ratios, times such a factorial, are far from the limits of floats.
_MIN, _MAX = 1e-30, 1e30
# What others put between channels.
_ARROWS = ("->", "=>", "→", "&gt;", ">>", ">")
_OTHER_SEPS = (*_ARROWS, "|", ";", ",")


class Counted(NamedTuple):
    """Journeys, each sequence of channels once.

    Attributes
    ----------
    channels : list of str
        Their names; below channels are numbers.
    sequences : list of tuple of int
        Distinct channels in order of their touches, sorted.
    conversions, totals : float64 (n_sequences,)
        How many journeys of each sequence converted, and how many there were; not 0.
    """

    channels: list[str]
    sequences: list[tuple[int, ...]]
    conversions: NDArray[np.float64]
    totals: NDArray[np.float64]


def count_journeys(
    journeys: Any, conversions: Any, non_conversions: Any, repeats: str, channels: Any
) -> Counted:
    """Count journeys that are given as lists of channels."""
    check_choice("repeats", repeats, REPEATS)
    rows = as_rows(journeys, "journeys")
    counts = _as_counts(conversions, non_conversions, len(rows))
    names = ((f"journeys[{row}]", _as_names(journey, row)) for row, journey in enumerate(rows))
    return _count(names, counts, repeats, channels)


def count_paths(
    paths: Any, conversions: Any, non_conversions: Any, sep: Any, repeats: str, channels: Any
) -> Counted:
    """Count journeys that are given as texts."""
    check_choice("repeats", repeats, REPEATS)
    if not (isinstance(sep, str) and sep.strip()):
        raise ValueError(f"sep is {sep!r}, expected a text such as '>'")
    rows = as_rows(paths, "paths")
    counts = _as_counts(conversions, non_conversions, len(rows))
    sums: dict[str, list[float]] = {}
    places: dict[str, int] = {}
    for row, (path, *pair) in enumerate(zip(rows, *counts.tolist(), strict=True)):
        if not isinstance(path, str):
            raise TypeError(f"paths[{row}] is {path!r}, expected a text such as 'A {sep.strip()} B'")
        if path not in sums:
            sums[path] = [0.0, 0.0]
            places[path] = row
        sums[path][0] += pair[0]
        sums[path][1] += pair[1]
    _warn_of_sep(places, sep)
    distinct = np.array(list(sums.values()), np.float64).reshape(-1, 2).T
    names = ((f"paths[{row}]", _split(path, row, sep)) for path, row in places.items())
    return _count(names, distinct, repeats, channels)


def count_events(
    frame: pd.DataFrame,
    journey: str,
    channel: str,
    time: str | None,
    converted: str,
    repeats: str,
    channels: Any,
) -> Counted:
    """Count journeys that are given by a table with one row a touch."""
    import pandas as pd

    check_choice("repeats", repeats, REPEATS)
    _check_frame(frame)
    if not len(frame):
        raise ValueError("frame has no rows, expected at least one")
    journeys, touched = column_of(frame, journey), column_of(frame, channel)
    for name, column in ((journey, journeys), (channel, touched)):
        if column.isna().any():
            raise ValueError(f"frame has no {name} at row {_row(frame, column.isna())!r}, expected one")
    codes = pd.factorize(journeys)[0]
    order = np.argsort(codes, kind="stable")
    if time is not None:
        times = _as_times(frame, time)
        order = np.lexsort((times, codes))
        _refuse_ties(frame, journey, time, codes, times, touched, order)
    flags = _as_flags(column_of(frame, converted), f"frame[{converted!r}]", frame.index)
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    won = np.maximum.reduceat(flags[order], starts)
    rows = touched.tolist()
    ends = [*starts[1:].tolist(), len(order)]
    ids = journeys.tolist()

    def names() -> Iterator[tuple[str, list[str]]]:
        for start, end in zip(starts.tolist(), ends, strict=True):
            where = f"journey {ids[order[start]]!r}"
            yield where, [_as_name(rows[row], where) for row in order[start:end].tolist()]

    return _count(names(), np.stack([won, 1.0 - won]), repeats, channels)


def as_converted(converted: Any, n_journeys: int) -> NDArray[np.float64]:
    """Check whether each journey converted: True, False, 1 or 0."""
    column = arrays.as_column(converted, "converted", n_journeys, "journey")
    return _as_flags(column, "converted", range(n_journeys))


def column_of(frame: pd.DataFrame, name: str) -> pd.Series:
    """Return a column; ValueError unless there is just one of that name."""
    _check_frame(frame)
    count = list(frame.columns).count(name)
    if count != 1:
        listed = ", ".join(map(repr, frame.columns))
        raise ValueError(
            f"frame has {'no' if count == 0 else count} column{'s'[: count > 1]} {name!r}, its columns are "
            f"{listed}"
        )
    return frame[name]


def _check_frame(frame: Any) -> None:
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"frame is a {type(frame).__name__}, expected a pandas DataFrame")


def _count(
    rows: Iterable[tuple[str, list[str]]], counts: NDArray[np.float64], repeats: str, channels: Any
) -> Counted:
    """Add up rows of named channels with their conversions and non-conversions, row by row."""
    kept: dict[tuple[str, ...], tuple[str, ...]] = {}
    sums: dict[tuple[str, ...], list[float]] = {}
    for (where, names), pair in zip(rows, counts.T.tolist(), strict=True):
        touched = tuple(names)
        if touched not in kept:
            kept[touched] = _without_repeats(touched, where, repeats)
        total = sums.setdefault(kept[touched], [0.0, 0.0])
        total[0] += pair[0]
        total[1] += pair[1]
    found = sorted({name for sequence in sums for name in sequence})
    names = found if channels is None else _as_channels(channels, found)
    if len(names) > _MAX_CHANNELS:
        raise ValueError(f"journeys have {len(names):,} channels, expected at most {_MAX_CHANNELS:,}")
    number = {name: i for i, name in enumerate(names)}
    numbered = {tuple(number[name] for name in sequence): pair for sequence, pair in sums.items()}
    sequences = sorted(sequence for sequence, pair in numbered.items() if sum(pair) > 0.0)
    pairs = np.array([numbered[sequence] for sequence in sequences], np.float64).reshape(-1, 2)
    return Counted(names, sequences, pairs[:, 0].copy(), pairs.sum(axis=1))


def _without_repeats(touched: tuple[str, ...], where: str, repeats: str) -> tuple[str, ...]:
    first = tuple(dict.fromkeys(touched))
    if len(first) == len(touched):
        kept = touched
    elif repeats == "error":
        again = next(name for k, name in enumerate(touched) if name in touched[:k])
        raise ValueError(
            f"{where} touches {again!r} twice, expected distinct channels: say which touch counts, "
            "repeats='first' or repeats='last'"
        )
    else:
        kept = first if repeats == "first" else tuple(dict.fromkeys(touched[::-1]))[::-1]
    if len(kept) > _MAX_TOUCHED:
        raise ValueError(f"{where} has {len(kept)} channels, expected at most {_MAX_TOUCHED}")
    return kept


def as_rows(values: Any, name: str) -> Sequence[Any]:
    """Check that there is one entry for each journey, and at least one."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise TypeError(f"{name} is a {type(values).__name__}, expected a list with one entry a journey")
    if hasattr(values, "columns"):
        raise TypeError(f"{name} is a frame, expected one entry a journey: see from_frame and from_events")
    if isinstance(values, Set):
        raise TypeError(f"{name} is a {type(values).__name__}, which has no order, expected a list")
    rows = list(values)
    if not rows:
        raise ValueError(f"{name} is empty, expected at least one journey")
    return rows


def _as_names(journey: Any, row: int) -> list[str]:
    where = f"journeys[{row}]"
    if isinstance(journey, str):
        raise TypeError(f"{where} is {journey!r}, expected a list of channels: from_paths reads texts")
    if not isinstance(journey, Iterable):
        raise TypeError(f"{where} is {journey!r}, expected a list of channels")
    if isinstance(journey, Set):
        raise TypeError(f"{where} is a {type(journey).__name__}, which has no order, expected a list")
    names = [_as_name(channel, where) for channel in journey]
    if not names:
        raise ValueError(f"{where} is empty, expected at least one channel")
    return names


def _as_name(channel: Any, where: str) -> str:
    if isinstance(channel, Integral) and not isinstance(channel, bool):
        return str(int(channel))
    if not isinstance(channel, str):
        raise TypeError(f"{where} holds {channel!r}, expected names of channels")
    name = channel.strip()
    if not name:
        raise ValueError(f"{where} holds the blank name {channel!r}, expected names of channels")
    return str(name)


def _split(path: str, row: int, sep: str) -> list[str]:
    names = [name.strip() for name in path.split(sep)]
    if not all(names):
        hint = f"; if {2 * sep!r} stands between them, pass sep={2 * sep!r}" if 2 * sep in path else ""
        raise ValueError(f"paths[{row}] is {path!r}, expected channels such as 'A {sep.strip()} B'{hint}")
    return names


def _warn_of_sep(places: dict[str, int], sep: str) -> None:
    """Warn if something else seems to stand between channels; paths come with their rows."""
    whole = not any(sep in path for path in places)
    for other in _OTHER_SEPS:
        holding = [path for path in places if other in path]
        arrow = other in _ARROWS
        if other == sep or not (2 * len(holding) >= len(places) or (holding and arrow)):
            continue  # other marks than arrows may stand in a few names
        # A few channels, each of them a path by the other mark.
        inside = (
            arrow and other not in sep and all(other in name for path in places for name in path.split(sep))
        )
        if sep in other or whole or inside:
            warnings.warn(
                f"paths[{places[holding[0]]}] is {holding[0]!r}, and channels are told apart by {sep!r}: if "
                f"it should be {other!r}, pass sep={other!r}",
                stacklevel=4,
            )
            return


def _as_channels(channels: Any, found: list[str]) -> list[str]:
    names = [_as_name(channel, "channels") for channel in as_rows(channels, "channels")]
    if len(set(names)) < len(names):
        raise ValueError("channels holds a name twice, expected distinct names")
    unknown = set(found) - set(names)
    if unknown:
        raise ValueError(f"channels lacks {min(unknown)!r}, expected all channels of the journeys")
    return names


def _as_counts(conversions: Any, non_conversions: Any, n: int) -> NDArray[np.float64]:
    given = [("conversions", conversions)]
    if non_conversions is not None:
        given.append(("non_conversions", non_conversions))
    counts = np.zeros((2, n))
    for row, (name, values) in enumerate(given):
        numbers = arrays.as_numbers(arrays.as_column(values, name, n, "journey"), name)
        bad = ~((numbers == 0.0) | ((numbers >= _MIN) & (numbers <= _MAX)))
        if bad.any():
            at = int(np.argmax(bad))
            expected = f"0 or a number from {_MIN:g} to {_MAX:g}" if numbers[at] > 0 else "at least 0"
            raise ValueError(f"{name}[{at}] is {numbers[at]:g}, expected {expected}")
        counts[row] = numbers
    return counts


def _as_flags(column: Any, name: str, index: Any) -> NDArray[np.float64]:
    values = column.tolist()
    for row, value in zip(index, values, strict=True):
        if not (isinstance(value, Real | np.bool_) and value in (0, 1)):
            raise ValueError(
                f"{name} is {value!r} at row {arrays.plain(row)!r}, expected True, False, 1 or 0"
            )
    return np.array(values, np.float64)


def _as_times(frame: pd.DataFrame, time: str) -> NDArray[Any]:
    column = column_of(frame, time)
    if getattr(column.dtype, "kind", "O") not in "iufM":
        raise TypeError(
            f"frame[{time!r}] is of type {column.dtype}, expected numbers or dates: convert texts with "
            "pandas.to_datetime first"
        )
    if column.isna().any():
        raise ValueError(f"frame has no {time} at row {_row(frame, column.isna())!r}, expected one")
    # Dates with a time zone as the moments that they are.
    return column.to_numpy() if column.dtype.kind != "M" else column.astype("int64").to_numpy()


def _refuse_ties(
    frame: pd.DataFrame,
    journey: str,
    time: str,
    codes: NDArray[Any],
    times: NDArray[Any],
    touched: pd.Series,
    order: NDArray[np.intp],
) -> None:
    """ValueError where two channels are touched at once."""
    before, after = order[:-1], order[1:]
    channels = touched.to_numpy()
    tied = (
        (codes[before] == codes[after])
        & (times[before] == times[after])
        & (channels[before] != channels[after])
    )
    if tied.any():
        a, b = int(before[np.argmax(tied)]), int(after[np.argmax(tied)])
        raise ValueError(
            f"journey {arrays.plain(frame[journey].iloc[a])!r} touches {channels[a]!r} and {channels[b]!r} "
            f"at the same {time}, {frame[time].iloc[a]}, so that their order is not known: sort the rows "
            "and give time=None to take them as they stand"
        )


def _row(frame: pd.DataFrame, marked: pd.Series) -> Any:
    return arrays.plain(frame.index[int(np.argmax(marked.to_numpy()))])
