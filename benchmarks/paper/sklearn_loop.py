"""How long a loop over scikit-learn takes for a fit of the paper's algorithms, measured on a few walks."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from paper.methods import CLASS_FRACTION, TOLERANCE
from paper.splits import Split

MIN_FITS = 60


def seconds_per_fit(method: str, split: Split, min_fits: int = MIN_FITS) -> tuple[float, int]:
    """Run "tmc", "cmc" or "ctmc" as a plain loop, whole walks until there are so many fits.

    Returns
    -------
    seconds : float
        Mean time of a fit and its score.
    n_fits : int
        Fits made.
    """
    random = np.random.default_rng(split.values_seed)
    classes = np.unique(split.y)
    # A fit that reaches the iteration limit warns; its time counts all the same.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits, began = 0, time.perf_counter()
        while fits < min_fits:
            fits += sum(1 for _ in _walk(method, split, classes, random))
        return (time.perf_counter() - began) / fits, fits


def _walk(
    method: str, split: Split, classes: NDArray[np.generic], random: np.random.Generator
) -> Iterator[None]:
    """Walk one permutation, and yield at each fit."""
    rows = np.arange(len(split.y))
    if method in ("cmc", "ctmc"):
        members = (np.flatnonzero(split.y == name) for name in classes)
        rows = np.concatenate(
            [random.permutation(m)[: max(1, int(CLASS_FRACTION * len(m) + 1e-9))] for m in members]
        )
    order = random.permutation(rows)
    whole = np.inf
    if method in ("tmc", "ctmc"):
        whole = accuracy(split, order, classes)
        yield
    for m in range(1, len(order) + 1):
        if len(np.unique(split.y[order[:m]])) < len(classes):
            continue
        score = accuracy(split, order[:m], classes)
        yield
        if abs(whole - score) < TOLERANCE:
            break


def accuracy(split: Split, order: NDArray[np.intp], classes: NDArray[np.generic]) -> float:
    """Accuracy of the weighted model; scikit-learn 1.8 wants more than two classes done one by one."""
    X, y, weights = split.X[order], split.y[order], gaussian_weights(len(order))
    if len(classes) == 2:
        model = LogisticRegression(solver="liblinear").fit(X, y, sample_weight=weights)
        return float(np.mean(model.predict(split.X_valid) == split.y_valid))
    decisions = [
        LogisticRegression(solver="liblinear")
        .fit(X, y == name, sample_weight=weights)
        .decision_function(split.X_valid)
        for name in classes
    ]
    return float(np.mean(classes[np.argmax(decisions, axis=0)] == split.y_valid))


def gaussian_weights(m: int) -> NDArray[np.float64]:
    """Return the paper's weights of the positions in a sequence of m rows."""
    if m == 1:
        return np.ones(1)
    sigma = (m - 1) / 6
    at = np.arange(m) - (m - 1) / 2
    return m / (np.sqrt(2 * np.pi) * sigma) * np.exp(-(at**2) / (2 * sigma**2))
