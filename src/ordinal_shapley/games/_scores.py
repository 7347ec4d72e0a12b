"""Scores of predictions: where they apply, and their baselines; class weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common.arguments import number
from ordinal_shapley.vocabulary import SCORINGS
from ordinal_shapley_kernels import scoring

MAX_COST = 1e30  # of a weight, or what it is multiplied by
SCORING_CODES = dict(
    zip(
        SCORINGS,
        (scoring.ACCURACY, scoring.BALANCED_ACCURACY, scoring.F1, scoring.ROC_AUC, scoring.NEG_LOG_LOSS),
        strict=True,
    )
)


def check_score(name: str, classes: NDArray[Any], truth: NDArray[np.int64]) -> None:
    """ValueError unless a score applies to these classes and validation labels."""
    if name == "roc_auc":
        if len(classes) != 2:
            raise ValueError(f"scoring='roc_auc' is for two classes, y has {len(classes)}")
        if len(np.unique(truth)) < 2:
            raise ValueError("scoring='roc_auc' needs both classes in y_valid, which holds one")
    if name == "f1" and len(classes) == 2 and not (truth == 1).any():
        raise ValueError(
            f"scoring='f1' is that of class {classes.tolist()[1]!r}, which does not occur in y_valid"
        )


def read_class_weight(class_weight: Any, classes: NDArray[Any]) -> NDArray[np.float64] | None:
    """Return the weight of each class, 1 if a dict lacks it; None for "balanced"."""
    weights = np.ones(len(classes))
    if class_weight is None:
        return weights
    if isinstance(class_weight, str) and class_weight == "balanced":
        return None
    if not isinstance(class_weight, Mapping):
        raise TypeError(f"class_weight is {class_weight!r}, expected None, 'balanced' or a dict of weights")
    codes = {label: code for code, label in enumerate(classes.tolist())}
    for label, weight in class_weight.items():
        if label not in codes:
            raise ValueError(f"class_weight has {label!r}, expected classes that occur in y")
        name = f"class_weight of {label!r}"
        weights[codes[label]] = number(name, weight, above=0.0, max=MAX_COST)
    return weights


def check_spread(name: str, truth: NDArray[np.float64]) -> None:
    """ValueError unless a score of predicted numbers applies to these validation targets."""
    # The mean of equal numbers may have a rounding error, and squares of tiny ones are 0.
    equal = (truth == truth[0]).all() or not np.square(truth - truth.mean()).sum() > 0
    if name == "r2" and equal:
        raise ValueError(
            "scoring='r2' needs targets that differ, y_valid holds one value only: use "
            "'neg_mean_squared_error'"
        )


def score_of_squares(name: str, truth: NDArray[np.float64]) -> tuple[float, float, float]:
    """Offset and scale of a score, offset - scale * (sum of squared errors), and the score of the mean."""
    squares = float(np.square(truth - truth.mean()).sum())
    if name == "r2":
        return 1.0, 1.0 / squares, 0.0
    return 0.0, 1.0 / len(truth), -squares / len(truth)


def majority_score(name: str, truth: NDArray[np.int64], n_classes: int) -> float:
    """Score of the majority-class baseline; for "neg_log_loss" of equal probabilities for all classes."""
    if name == "roc_auc":
        return 0.5
    if name == "neg_log_loss":
        return -math.log(n_classes)
    counts = np.bincount(truth, minlength=n_classes)
    majority, n = int(counts.argmax()), len(truth)
    n_majority = int(counts[majority])
    if name in ("accuracy", "vote_share"):  # voting for one class gets as many shares right as decisions
        return n_majority / n
    n_present = int(np.count_nonzero(counts))
    if name == "balanced_accuracy":
        return 1.0 / n_present
    share = 2.0 * n_majority / (n_majority + n)
    if n_classes == 2:
        return share if majority == 1 else 0.0
    return share / n_present
