"""The problems that are timed: training and validation rows, and the loop to compare with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from ordinal_shapley import datasets

Floats = npt.NDArray[np.float64]


class Problem(NamedTuple):
    """Standardised rows of a data set.

    name, X (n, d), y (n,), X_valid (v, d), y_valid (v,), and the speed-up aimed at.
    """

    name: str
    X: Floats
    y: npt.NDArray[np.int64]
    X_valid: Floats
    y_valid: npt.NDArray[np.int64]
    target: int


def _split(name: str, X: npt.ArrayLike, y: npt.ArrayLike, n: int, n_valid: int, target: int) -> Problem:
    codes = np.unique(y, return_inverse=True)[1].astype(np.int64)
    train, valid, y_train, y_valid = train_test_split(
        np.asarray(X, dtype=np.float64),
        codes,
        train_size=n,
        test_size=n_valid,
        stratify=codes,
        random_state=0,
    )
    scaler = StandardScaler().fit(train)
    return Problem(name, scaler.transform(train), y_train, scaler.transform(valid), y_valid, target)


def wine() -> Problem:
    data = datasets.load_wine()
    return _split("Wine", data.X, data.y, 89, 49, 300)


def wdbc() -> Problem:
    data = datasets.load_cancer_wisconsin()
    return _split("WDBC", data.X, data.y, 284, 185, 200)


def adult() -> Problem:
    data = datasets.load_adult(split="train")
    return _split("Adult, one-hot", data.X, data.y, 200, 200, 30)


def gaussian_weights(m: int) -> Floats:
    """Position weights of a sequence of m rows; they change with every row added."""
    if m == 1:
        return np.ones(1)
    mean, sd = (m - 1) / 2, (m - 1) / 6
    return m / (np.sqrt(2 * np.pi) * sd) * np.exp(-((np.arange(m) - mean) ** 2) / (2 * sd**2))


def refit_loop(problem: Problem, order: npt.NDArray[np.int64]) -> tuple[Floats, int]:
    """Accuracy of every prefix of one order, each fitted anew by scikit-learn's liblinear.

    With three classes one binary model a class is fitted and the largest decision wins: what
    liblinear did itself before scikit-learn 1.8 took that away. Prefixes that lack a class have no
    model, here as there, and cost nothing.

    Returns
    -------
    accuracies : ndarray of shape (n,)
        NaN where the prefix has no model.
    n_fits : int
        Prefixes fitted (one-vs-rest counts as one).
    """
    n_classes = problem.y.max() + 1
    model = LogisticRegression(solver="liblinear")
    accuracies = np.full(order.size, np.nan)
    for m in range(1, order.size + 1):
        rows = order[:m]
        X, y, weights = problem.X[rows], problem.y[rows], gaussian_weights(m)
        if np.unique(y).size < n_classes:
            continue
        if n_classes == 2:
            predicted = model.fit(X, y, sample_weight=weights).predict(problem.X_valid)
        else:
            decisions = [
                model.fit(X, y == c, sample_weight=weights).decision_function(problem.X_valid)
                for c in range(n_classes)
            ]
            predicted = np.argmax(decisions, axis=0)
        accuracies[m - 1] = np.mean(predicted == problem.y_valid)
    return accuracies, int(np.count_nonzero(~np.isnan(accuracies)))
