"""The words that options take, in Python and on the command line alike, and numbers of things."""

from __future__ import annotations

from typing import Any

VALUES = ("ordinal", "partial_ordinal", "classic")
# Values with a closed form for journeys, to which new values do not belong automatically.
JOURNEY_VALUES = ("ordinal", "partial_ordinal", "classic")
CONTRIBUTIONS = ("marginal", "in_out")
CASES = ("within", "between")
METHODS = ("auto", "mc", "tmc", "cmc", "ctmc")
DESIGNS = ("independent", "antithetic", "latin")
AVERAGES = ("all", "selected")
SCORINGS = ("accuracy", "balanced_accuracy", "f1", "roc_auc", "neg_log_loss")
RIDGE_CLASSIFIER_SCORINGS = SCORINGS[:4]
REGRESSION_SCORINGS = ("r2", "neg_mean_squared_error")
NEIGHBOR_SCORINGS = ("accuracy", "balanced_accuracy", "f1", "vote_share")
NEIGHBOR_WEIGHTS = ("uniform", "distance")
POSITION_WEIGHTS = ("gaussian", "uniform")
MULTI_CLASS = ("ovr", "multinomial")
INTERCEPTS = ("penalized", "free", "none")
TRUNCATIONS = ("roulette", "paper", "patience")
REPEATS = ("error", "first", "last")
AFTER_CONVERSION = ("cut", "split", "keep")
UNSEEN = ("backoff", "zero")
ERRORS = ("total", "monte_carlo")
UTILITIES = ("rate", "conversions")
# The category of missing values.
MISSING = "missing"


def count(n: int, noun: str) -> str:
    """Return so many of something."""
    return f"{n:,} {noun}{'s' * (n != 1)}"


def check_choice(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    """ValueError unless `value` is one of `allowed`."""
    if not isinstance(value, str) or value not in allowed:
        one_of = "one of " if len(allowed) > 1 else ""
        raise ValueError(f"{name} is {value!r}, expected {one_of}{', '.join(map(repr, allowed))}")
