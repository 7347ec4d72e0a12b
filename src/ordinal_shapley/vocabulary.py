"""The words that options take, in Python and on the command line alike."""

from __future__ import annotations

from typing import Any

VALUES = ("partial_ordinal", "ordinal", "classic")
ESTIMATORS = ("marginal", "in_out")
EXACT_VALUES = ("partial_ordinal", "ordinal", "classic", "blend", "weighted_ordinal")
CASES = ("within", "between")
WAYS = ("subsets", "orders")
METHODS = ("mc", "tmc", "cmc", "ctmc")
DESIGNS = ("independent", "antithetic", "latin")
AVERAGES = ("all", "selected")
SCORINGS = ("accuracy", "balanced_accuracy", "f1", "roc_auc", "neg_log_loss")
REGRESSION_SCORINGS = ("r2", "neg_mean_squared_error")
NEIGHBOR_SCORINGS = ("accuracy", "balanced_accuracy", "f1", "vote_share")
MODELS = ("logistic", "ridge", "neighbors")
POSITION_WEIGHTS = ("gaussian", "uniform")
PROTOCOLS = ("paper", "authors")
TRUNCATIONS = ("paper", "patience", "roulette")
REPEATS = ("error", "first", "last")
UNSEEN = ("backoff", "zero")
WORTHS = ("rate", "conversions")
# The category of entries that are not there.
MISSING = "missing"

# Methods that draw players class by class, and those whose walks may end early.
CLASS_METHODS = ("cmc", "ctmc")
TRUNCATED_METHODS = ("tmc", "ctmc")


def choose(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    """ValueError unless `value` is one of `allowed`."""
    if not isinstance(value, str) or value not in allowed:
        one_of = "one of " if len(allowed) > 1 else ""
        raise ValueError(f"{name} is {value!r}, expected {one_of}{', '.join(map(repr, allowed))}")
