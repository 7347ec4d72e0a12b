"""Checks of numbers, and of arrays of them with one entry per position: TypeError or ValueError."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def number(
    name: str,
    value: object,
    *,
    above: float = -math.inf,
    least: float = -math.inf,
    below: float = math.inf,
    most: float = math.inf,
) -> float:
    """Return a finite number in range as a float."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}, expected a number")
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    if not (math.isfinite(result) and above < result < below and least <= result <= most):
        words = {"above": above, "at least": least, "below": below, "at most": most}
        limits = [f"{word} {limit:g}" for word, limit in words.items() if math.isfinite(limit)]
        raise ValueError(f"{name} is {value!r}, expected {' and '.join(['a finite number', *limits])}")
    return result


def count(name: str, value: object) -> int:
    """Return an integer of at least 1 as an int."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}, expected an integer")
    if not 1 <= int(value) < 2**63:
        raise ValueError(f"{name} is {value}, expected at least 1 and less than 2**63")
    return int(value)


def array(name: str, value: object, kinds: str, expected: str) -> NDArray[Any]:
    """Return a number or a sequence of numbers, of the dtype kinds given, with one dimension."""
    try:
        result = np.asarray(value)
    except ValueError:  # ragged
        raise TypeError(f"{name} is {value!r}, expected {expected}") from None
    if result.size == 0 or result.ndim > 1:
        raise ValueError(f"{name} has shape {result.shape}, expected one entry per position")
    if result.dtype.kind not in kinds:
        raise TypeError(f"{name} is {value!r}, expected {expected}")
    return np.atleast_1d(result)


def intervals(
    low_name: str, low: ArrayLike, high_name: str, high: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of one interval per position."""
    ends = []
    for name, value in ((low_name, low), (high_name, high)):
        end = array(name, value, "iuf", "numbers").astype(np.float64)
        if not np.isfinite(end).all():
            raise ValueError(f"{name} has an entry that is not finite")
        ends.append(end)
    lows, highs = ends
    if lows.size != highs.size:
        raise ValueError(f"{low_name} has {lows.size} entries and {high_name} {highs.size}, not as many")
    if (lows > highs).any():
        at = int(np.argmax(lows > highs))
        raise ValueError(
            f"{low_name} is above {high_name} at position {at + 1}: {lows[at]:g} > {highs[at]:g}"
        )
    return lows, highs
