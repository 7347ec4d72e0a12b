"""What the values are of, in words: a model that is better than guessing, or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ordinal_shapley.valuation.result import Valuation

_ROUNDING = 1e-12


def is_better(valuation: Valuation) -> bool | None:
    """Whether the model of all rows is better than guessing; None if that is not known."""
    full, guess = valuation.full_score, valuation.guess_score
    if full is None or guess is None:
        return None
    return full > guess + _ROUNDING * abs(guess)


def score_words(valuation: Valuation, game: Any = None) -> str:
    """Say what the model of all rows scores, and what guessing does; "" if that is not known."""
    if valuation.full_score is None:
        return ""
    words = f"{valuation.full_score:.4g} by the model of all rows"
    if game is not None and not game.order_free:
        words += f" ({'in a random order' if game.scored_orders == 1 else 'the mean over random orders'})"
    if valuation.guess_score is not None:
        words += f", {valuation.guess_score:.4g} by {guess_of(game)}"
    if is_better(valuation) is False:
        words += ": no better, so these values say little"
    return words


def guess_of(game: Any) -> str:
    """Say what guessing is in a game of training rows, if that is known."""
    if game is None or game.scoring in ("roc_auc", "neg_log_loss"):
        return "guessing"
    if getattr(game, "classes_", None) is None:
        return "always predicting the mean"
    return "always predicting the commonest class"
