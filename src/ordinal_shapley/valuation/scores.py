"""What the values are of, in words: a model that is better than guessing, or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ordinal_shapley.valuation import Valuation

_ROUNDING = 1e-12


def is_better(valuation: Valuation) -> bool | None:
    """Whether the model of all rows is better than guessing; None if that is not known."""
    full, guess = valuation.full_score, valuation.guess_score
    if full is None or guess is None:
        return None
    return full > guess + _ROUNDING * abs(guess)


def score_words(valuation: Valuation, guess: str = "guessing", orders: bool = False) -> str:
    """Say what the model of all rows scores, and what `guess` does; "" if that is not known.

    `orders` says that the first is a mean over orders.
    """
    if valuation.full_score is None:
        return ""
    words = f"{valuation.full_score:.4g} by the model of all rows"
    if orders:
        words += " (the mean over random orders)"
    if valuation.guess_score is not None:
        words += f", {valuation.guess_score:.4g} by {guess}"
    if is_better(valuation) is False:
        words += ": no better, so these values say little"
    return words


def guess_of(scoring: object, classes: bool) -> str:
    """Say what guessing is for a score of `classes` or of numbers."""
    if not classes:
        return "always predicting the mean"
    return "guessing" if scoring in ("roc_auc", "neg_log_loss") else "always predicting the commonest class"
