"""Checks of single arguments: errors name the argument, the value given and what is expected.

For arrays see `arrays`, for words `vocabulary.check_choice`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any


def number(
    name: str,
    value: object,
    *,
    above: float = -math.inf,
    min: float = -math.inf,
    below: float = math.inf,
    max: float = math.inf,
    instead: str = "",
) -> float:
    """Return a finite number in range as a float; `instead` is another valid value, for the message."""
    expected = f"{instead or 'a'} number{_range(above, min, below, max)}"
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}, expected {expected}")
    shown: object = value
    try:
        result = float(value)
    except OverflowError:  # an integer
        shown = result = math.inf
    if not (math.isfinite(result) and above < result < below and min <= result <= max):
        if above == min == -math.inf or below == max == math.inf:
            expected = f"{instead or 'a'} finite number{_range(above, min, below, max)}"
        raise ValueError(f"{name} is {shown!r}, expected {expected}")
    return result


def _range(above: float, min: float, below: float, max: float) -> str:
    """The limits in words, to follow "a number"."""
    if math.isfinite(above) and math.isfinite(below):
        return f" between {above:g} and {below:g}"
    if math.isfinite(min) and math.isfinite(max):
        return f" from {min:g} to {max:g}"
    words = {"above": above, "of at least": min, "below": below, "at most": max}
    limits = " and ".join(f"{word} {limit:g}" for word, limit in words.items() if math.isfinite(limit))
    return f" {'of ' * limits.startswith('at most')}{limits}" if limits else ""


def integer(name: str, value: object, *, min: int = 1, max: float = 2**63 - 1) -> int:
    """Return an integer in range as an int; `max` is an integer or inf."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}, expected an integer of at least {min}")
    result = int(value)
    if not min <= result <= max:
        limits = f"from {min} to {max:,}"
        if max >= 2**31:  # the largest index
            limits = f"of at least {min}" if result < min else f"below 2**{int(max).bit_length()}"
        raise ValueError(f"{name} is {_shown(result)}, expected an integer {limits}")
    return result


def _shown(value: int) -> str:
    """An integer as text, as Python refuses to convert thousands of digits."""
    return str(value) if abs(value) < 10**40 else f"of {value.bit_length():,} bits"


def flag(name: str, value: object) -> bool:
    """Return True or False as a bool."""
    if not (isinstance(value, bool) or _is_numpy_bool(value)):
        raise TypeError(f"{name} is {value!r}, expected True or False")
    return bool(value)


def _is_numpy_bool(value: object) -> bool:
    import numpy as np  # here, because the command line checks options before it loads anything

    return isinstance(value, np.bool_)


def file_name(name: str, value: Any) -> Any:
    """Return the name of a file unchanged."""
    if not isinstance(value, str | os.PathLike):
        raise TypeError(f"{name} is {value!r}, expected the name of a file")
    return value


def with_prefix(prefix: str, error: Exception) -> Exception:
    """Return an error whose message is that of `error` with a prefix.

    It is a TypeError or a ValueError if `error` is one, else a RuntimeError, because the constructor of a
    user's class may take any arguments.
    """
    kind = next((kind for kind in (TypeError, ValueError) if isinstance(error, kind)), RuntimeError)
    again = kind(f"{prefix}{error}")
    again.__cause__ = error.__cause__ or error
    return again


@contextmanager
def errors_begin_with(prefix: str) -> Iterator[None]:
    """Prefix the messages of errors in the block."""
    try:
        yield
    except (RuntimeError, TypeError, ValueError) as error:
        again = with_prefix(prefix, error)
        raise again from again.__cause__
