"""Scorers of scikit-learn, tested on models that need no fit."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from ordinal_shapley.games._failures import message_of
from ordinal_shapley.games._trainer import quiet


def try_scorer(
    scorer: Any, scoring: Any, classes: NDArray[Any] | None, truth: NDArray[np.int64], X: Any, y: NDArray[Any]
) -> None:
    """ValueError if a scikit-learn scorer fails even for correct predictions, or nearly correct ones.

    For a function only the arguments are checked.
    """
    _check_arguments(scorer)
    if type(scorer).__module__.split(".")[0] != "sklearn":
        return  # a user's function may depend on the model
    right: Any
    if classes is None:
        right, of, advice = KnownNumbers(y + 0.25), "targets like y_valid", "another score, or a function"
    else:
        right, known = KnownClasses(classes, truth), classes.tolist()
        of = f"classes such as {known[0]!r} and {known[1]!r}"
        advice = f"classes 0 and 1, or sklearn.metrics.make_scorer(..., pos_label={known[1]!r})"
        if len(known) > 2:
            advice = "another, such as one whose name ends in _macro or _ovr, or a function"
    try:
        with quiet():
            scorer(right, X, y)
    except Exception as error:
        shown = repr(scoring) if isinstance(scoring, str) else "a scorer"
        why = f"{type(error).__name__}: {message_of(error)}"
        raise ValueError(f"scoring is {shown}, which is not for {of} ({why}): expected {advice}") from error


def _check_arguments(scorer: Any) -> None:
    try:
        signature = inspect.signature(scorer)
    except (TypeError, ValueError):  # for example some functions written in C
        return
    try:
        signature.bind(None, None, None)
    except TypeError:
        raise ValueError(
            f"scoring takes the arguments {signature}, expected a function of a model, X_valid and y_valid: "
            "pass sklearn.metrics.make_scorer(...) of a metric of true and predicted labels"
        ) from None


class KnownClasses(ClassifierMixin, BaseEstimator):
    """Predicts given classes, without a fit."""

    def __init__(self, classes: NDArray[Any], codes: NDArray[np.int64]) -> None:
        self.classes_ = classes
        self.codes = codes

    def predict(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.classes_[self.codes])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        return np.asarray(np.eye(len(self.classes_))[self.codes])


class KnownNumbers(RegressorMixin, BaseEstimator):
    """Predicts given numbers, without a fit."""

    def __init__(self, numbers: NDArray[np.float64]) -> None:
        self.numbers = numbers

    def predict(self, X: Any) -> NDArray[np.float64]:
        return self.numbers
