"""Scores of decisions, decision values and probabilities on the validation rows."""

from __future__ import annotations

import math

from ordinal_shapley_kernels.abi import inlined, symbol
from ordinal_shapley_kernels.elementary import exp
from ordinal_shapley_kernels.workspace import IntegerMatrix, Integers, Matrix, Vector

ACCURACY = 0
BALANCED_ACCURACY = 1
F1 = 2
ROC_AUC = 3
NEG_LOG_LOSS = 4

_MIN_LOG = -52.0 * math.log(2.0)


@symbol
def score_decisions(scoring: int, decisions: Integers, truth: Integers, counts: IntegerMatrix) -> float:
    """Accuracy, balanced accuracy or F1 of class codes.

    Parameters
    ----------
    decisions, truth : int64 (n_rows,)
        Class codes.
    counts : int64 (3, n_classes)
        Scratch: rows of the class, rows predicted as it, and rows of it predicted as it.

    Notes
    -----
    Balanced accuracy is the mean recall over the classes that occur in `truth`. F1 is that of class 1
    for two classes and the mean over all classes for more; a class that neither occurs nor is decided
    for counts 0 unless it never occurs at all in either, when it is left out, as in scikit-learn.
    """
    n_rows = truth.shape[0]
    if scoring == ACCURACY:
        right = 0
        for i in range(n_rows):
            if decisions[i] == truth[i]:
                right += 1
        return right / n_rows
    counts[:, :] = 0
    for i in range(n_rows):
        counts[0, truth[i]] += 1
        counts[1, decisions[i]] += 1
        if decisions[i] == truth[i]:
            counts[2, truth[i]] += 1
    n_classes = counts.shape[1]
    total = 0.0
    used = 0
    for c in range(n_classes):
        if scoring == BALANCED_ACCURACY:
            if counts[0, c] > 0:
                total += counts[2, c] / counts[0, c]
                used += 1
        elif n_classes > 2 or c == 1:
            size = counts[0, c] + counts[1, c]
            if size > 0:
                total += 2.0 * counts[2, c] / size
                used += 1
    return total / used if used > 0 else 0.0


@inlined
def _sift_down(values: Vector, order: Integers, root: int, size: int) -> None:
    """Restore the heap below `root`: no row in `order` has a larger value than its parent."""
    while 2 * root + 1 < size:
        child = 2 * root + 1
        if child + 1 < size and values[order[child + 1]] > values[order[child]]:
            child += 1
        if values[order[child]] <= values[order[root]]:
            return
        order[root], order[child] = order[child], order[root]
        root = child


@inlined
def _sort_by_value(values: Vector, order: Integers) -> None:
    """Write the rows in order of increasing value into `order` (heapsort, without allocation)."""
    n_rows = order.shape[0]
    for i in range(n_rows):
        order[i] = i
    for k in range(n_rows // 2):
        _sift_down(values, order, n_rows // 2 - 1 - k, n_rows)
    for k in range(n_rows - 1):
        last = n_rows - 1 - k
        order[0], order[last] = order[last], order[0]
        _sift_down(values, order, 0, last)


@symbol
def roc_auc(values: Vector, truth: Integers, order: Integers, tie: float) -> float:
    """Area under the ROC curve: P(value of class 1 > value of class 0), ties counting one half.

    Neighbours in sorted order closer than `tie` count as tied. `order` is scratch (n_rows,).
    """
    n_rows = truth.shape[0]
    _sort_by_value(values, order)
    below = 0  # rows of class 0 in earlier ties
    wins = 0.0
    n_positive = 0
    start = 0
    while start < n_rows:
        stop = start + 1
        while stop < n_rows and values[order[stop]] - values[order[stop - 1]] <= tie:
            stop += 1
        positive = 0
        for i in range(start, stop):
            positive += truth[order[i]]
        negative = stop - start - positive
        wins += positive * (below + 0.5 * negative)
        below += negative
        n_positive += positive
        start = stop
    return wins / (n_positive * below)


@inlined
def _log_sigmoid(x: float) -> float:
    """log(1 / (1 + exp(-x))) without overflow."""
    return -math.log1p(exp(-x)) if x > 0.0 else x - math.log1p(exp(x))


@symbol
def neg_log_loss(values: Matrix, truth: Integers, n_classes: int, softmax: int, of_rows: Vector) -> float:
    """Mean log-probability of the true class; one-vs-rest sigmoids are normalised to sum to 1.

    A probability below 2**-52 counts as 2**-52, as in scikit-learn.
    `of_rows` (n_rows,) or (0,) gets those of the rows. `values` is (1, n_rows) decision values of class 1 for
    two classes, else (n_classes, n_rows).
    """
    n_rows = truth.shape[0]
    total = 0.0
    for i in range(n_rows):
        if n_classes == 2:
            own = _log_sigmoid(values[0, i] if truth[i] == 1 else -values[0, i])
        else:
            largest = -math.inf
            for c in range(n_classes):
                largest = max(largest, values[c, i] if softmax else _log_sigmoid(values[c, i]))
            mass = 0.0
            for c in range(n_classes):
                mass += math.exp((values[c, i] if softmax else _log_sigmoid(values[c, i])) - largest)
            own = values[truth[i], i] if softmax else _log_sigmoid(values[truth[i], i])
            own = own - largest - math.log(mass)
        own = max(own, _MIN_LOG)
        if of_rows.shape[0] > 0:
            of_rows[i] = own
        total += own
    return total / n_rows
