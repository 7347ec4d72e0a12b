"""A result in numbers and words, for pages, notebooks and screens."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from ordinal_shapley.valuation.result import Valuation

_ROUNDING = 1e-12
_SETTLED = 0.5
# Errors fall with the root of the permutations: half of them takes three times as many more.
_MORE_TO_HALVE = 3.0


def decimals(errors: npt.NDArray[np.float64], values: npt.NDArray[np.float64]) -> int:
    """Return the decimals that show two digits of a typical standard error, or else of a typical value."""
    for numbers in (errors, values):
        sizes = np.abs(np.asarray(numbers, dtype=np.float64))
        sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
        if sizes.size:
            return int(np.clip(1 - math.floor(math.log10(float(np.median(sizes)))), 2, 9))
    return 4


def number(value: float, digits: int | None = None, sign: str = "") -> str:
    """Return a number for people to read, with a real minus; "?" for one that is not known."""
    if not math.isfinite(value):
        return "?"
    style = f".{digits}f" if digits is not None else ".0f" if abs(value) >= 1000 else ".4g"
    return f"{value:{sign},{style}}".replace("-", "\u2212")


def short(text: str, longest: int = 80) -> str:
    """Return the text, cut if it is very long."""
    return text if len(text) <= longest else text[: longest - 1] + "\u2026"


def count(n: int, noun: str) -> str:
    """Return so many of something."""
    return f"{n:,} {noun}{'s' * (n != 1)}"


def is_better(valuation: Valuation) -> bool | None:
    """Whether the model of all rows is better than the baseline; None if that is not known."""
    full, baseline = valuation.full_score, valuation.baseline_score
    if full is None or baseline is None:
        return None
    return full > baseline + _ROUNDING * abs(baseline)


def score_words(valuation: Valuation, game: Any = None) -> str:
    """Say what the model of all rows scores, and what the baseline does; "" if that is not known."""
    if valuation.full_score is None:
        return ""
    words = f"{valuation.full_score:.4g} by the model of all rows"
    if game is not None and not game.order_free:
        words += f" ({'in a random order' if game.scored_orders == 1 else 'the mean over random orders'})"
    if valuation.baseline_score is not None:
        words += f", {valuation.baseline_score:.4g} by {baseline_of(game)}"
    if is_better(valuation) is False:
        words += ": no better, so these values say little"
    return words


def baseline_of(game: Any) -> str:
    """Say what the baseline is in a game of training rows, if that is known."""
    if game is None or game.scoring in ("roc_auc", "neg_log_loss"):
        return "a constant prediction"
    if getattr(game, "classes_", None) is None:
        return "always predicting the mean"
    return "the majority-class baseline"


def reliability_words(valuation: Valuation) -> str:
    """Say what the reliability is and means, and what would halve the errors; "" if that is not known."""
    reliability = valuation.reliability
    if math.isnan(reliability):
        return ""
    words = f"{reliability:.2f}: {100 * reliability:.0f} % of the variance between values is not noise"
    if reliability < _SETTLED:
        words += ", but ranks mostly are"
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
