"""How much of the differences between values is no noise, in words, and what would halve the errors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ordinal_shapley.valuation.result import Valuation

_SETTLED = 0.5
# Errors fall with the root of the permutations: half of them takes three times as many more.
_MORE_TO_HALVE = 3.0


def reliability_words(valuation: Valuation) -> str:
    """Say what the reliability is and means, and what would halve the errors; "" if that is not known."""
    reliability = valuation.reliability
    if math.isnan(reliability):
        return ""
    words = f"{reliability:.2f}: {100 * reliability:.0f} % of the variance between values is not noise"
    if reliability < _SETTLED:
        words += ", so ranks mostly are"
    seconds = valuation.sampling_seconds
    if valuation.converged or seconds is None or not (valuation.stderr > 0.0).any():
        return words
    return f"{words}; about {duration(_MORE_TO_HALVE * seconds)} more would halve the standard errors"


def duration(seconds: float) -> str:
    """Return a time in words."""
    if seconds < 1.0:
        return "a second"
    for size, unit in ((86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes")):
        if seconds >= 2.0 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"
