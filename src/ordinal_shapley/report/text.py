"""Numbers and text about a result, for reports, notebooks and screens."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from ordinal_shapley.valuation.result import Valuation

_ROUNDING = 1e-12
_SETTLED = 0.5
# Errors fall with the root of the permutations: to halve them takes three times as many in addition.
_MORE_TO_HALVE = 3.0
_MIN_BLOCKS = 10  # minimum number of validation rows, as in sampling


def decimals(errors: npt.NDArray[np.float64], values: npt.NDArray[np.float64]) -> int:
    """Return the decimals for two digits of a typical standard error, or else of a typical value."""
    for numbers in (errors, values):
        sizes = np.abs(np.asarray(numbers, dtype=np.float64))
        sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
        if sizes.size:
            return int(np.clip(1 - math.floor(math.log10(float(np.median(sizes)))), 2, 9))
    return 4


def number(value: float, digits: int | None = None, sign: str = "") -> str:
    """Return a number as text, with a proper minus sign; "?" if it is unknown."""
    if not math.isfinite(value):
        return "?"
    style = f".{digits}f" if digits is not None else ".0f" if abs(value) >= 1000 else ".4g"
    return f"{value:{sign},{style}}".replace("-", "\u2212")


def short(text: str, longest: int = 80) -> str:
    """Return the text, shortened if it is very long."""
    return text if len(text) <= longest else text[: longest - 1] + "\u2026"


def is_better(valuation: Valuation) -> bool | None:
    """Whether the model of all rows is better than the baseline; None if unknown."""
    full, baseline = valuation.full_score, valuation.baseline_score
    if full is None or baseline is None:
        return None
    return full > baseline + _ROUNDING * abs(baseline)


def score_words(valuation: Valuation, game: Any = None) -> str:
    """Report the scores of the model of all rows and of the baseline; "" if unknown."""
    if valuation.full_score is None:
        return ""
    n_folds, ordered = len(valuation.moments.parts), game is not None and not game.order_free
    words = f"{valuation.full_score:.4g} with all {'training ' * (n_folds > 1)}rows"
    means = [f"{n_folds} folds"] * (n_folds > 1) + ["random orders"] * (ordered and game.scored_orders > 1)
    words += " in one random order" * (ordered and game.scored_orders == 1)
    words += f" (mean over {' and '.join(means)})" * bool(means)
    if valuation.baseline_score is not None:
        words += f"; {valuation.baseline_score:.4g} for {baseline_of(game)}"
    if is_better(valuation) is False:
        words += ". The model is no better than the baseline, so these values mean little"
    return words


def baseline_of(game: Any) -> str:
    """Describe the baseline of a game of training rows, if it is known."""
    if game is None or game.scoring in ("roc_auc", "neg_log_loss"):
        return "a constant prediction"
    if getattr(game, "classes_", None) is None:
        return "always predicting the mean"
    return "the majority-class baseline"


def shown_errors(valuation: Valuation) -> npt.NDArray[np.float64]:
    """Return the standard errors to show beside the values, and to use for intervals."""
    return valuation.stderr if valuation.stderr_total is None else valuation.stderr_total


def covered(valuation: Valuation, game: Any = None) -> str:
    """Describe what the standard errors cover."""
    if valuation.stderr_total is None:
        uncovered = [*valuation.sampler.biases]
        if valuation.full_score is not None or (game is not None and game._n_valid is not None):
            why = "" if uncovered else why_monte_carlo(valuation, game)
            uncovered.append("the choice of validation rows" + f" (because {why})" * bool(why))
        words = "Standard errors are Monte Carlo noise only"
        return f"{words}: they do not cover {', or '.join(uncovered)}." if uncovered else f"{words}."
    alone = valuation.stderr[np.isfinite(valuation.stderr)]
    median = number(float(f"{np.median(alone):.2g}") if alone.size else math.nan)
    return (
        "Standard errors cover both the choice of validation rows and Monte Carlo noise (that alone: median "
        f"{median})."
    )


def why_monte_carlo(valuation: Valuation, game: Any) -> str:
    """Describe why errors don't cover the choice of validation rows; "" if they do, or if unknown."""
    if valuation.stderr_total is not None or game is None or game._n_valid is None:
        return ""
    if valuation.sampler.biases:
        return "the sampler is biased"
    shares = [fold._row_shares for fold, _ in game._folds]
    if any(one is None for one in shares):
        return f"{game._score_name} is not a mean over validation rows"
    if min(map(len, shares)) < _MIN_BLOCKS:
        return f"{'a fold' if len(shares) > 1 else 'the game'} has fewer than {_MIN_BLOCKS} of them"
    return "there are too many players"


def sum_words(valuation: Valuation, noun: str = "row") -> str:
    """Describe the sum of the values of a cross-fitted game; "" for other games."""
    moments, n = valuation.moments, len(valuation.moments.parts)
    if n < 2 or valuation.kind.size_words or valuation.sampler.biases:
        return ""
    trained = np.bincount(np.concatenate(moments.players), minlength=len(valuation))  # type: ignore[union-attr]
    total = f"{number(float(np.nansum(valuation.values)))}; the expectation is"
    gain = f"the mean gain over {n} folds (score with all {noun}s minus score with none)"
    if trained.min() == n:
        return f"{total} {gain}"
    if trained.min() < n - 1:
        return ""
    about = "about " * bool(trained.max() == n)
    return f"{total} {about}{n / (n - 1):.4g} times {gain}, because each {noun} is valued in {n - 1} folds"


def reliability_words(valuation: Valuation) -> str:
    """Report and explain the reliability, and what would halve errors; "" if unknown."""
    reliability = valuation.reliability
    if math.isnan(reliability):
        return ""
    words = f"{reliability:.2f}: {100 * (1 - reliability):.0f} % of the variance between values "
    words += "is Monte Carlo noise"
    if reliability < _SETTLED:
        words += ", so ranks are not final: use more permutations"
    seconds = valuation.sampling_seconds
    if valuation.converged or seconds is None or not (valuation.stderr > 0.0).any():
        return words
    return f"{words}; about {duration(_MORE_TO_HALVE * seconds)} more would halve the standard errors"


def duration(seconds: float) -> str:
    """Return a time in words."""
    if seconds < 1.5:
        return "a second"
    for size, unit in ((86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes")):
        if seconds >= 2.0 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds:.0f} seconds"
