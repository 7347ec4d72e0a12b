"""Folds of rows: training and validation rows."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common import arguments, arrays
from ordinal_shapley.common.seeds import sklearn_state

Split: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]
_MAX_FOLDS = 100


def make_splits(
    cv: Any, X: Any, y: NDArray[Any], owners: NDArray[np.int64] | None, random_state: Any, numbers: bool
) -> list[Split]:
    """Return positions of training and validation rows, each increasing, of every fold.

    y are numbers if `numbers`, else classes.
    """
    n_rows = len(y)
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        n_folds = arguments.integer("cv", cv, min=2, max=_MAX_FOLDS)
        state = sklearn_state(random_state)
        fold_of = _fold_of_rows(n_folds, y, owners, state, numbers)
        splits = [(np.flatnonzero(fold_of != k), np.flatnonzero(fold_of == k)) for k in range(n_folds)]
        empty = sum(not len(valid) for _, valid in splits)
        if empty:
            advice = "give validation rows of their own, or a splitter such as KFold"
            for fewer in range(n_folds - 1, 1, -1):
                if len(np.setdiff1d(_fold_of_rows(fewer, y, owners, state, numbers), -1)) == fewer:
                    advice = f"expected at most {fewer}"
                    break
            raise ValueError(
                f"cv is {cv}, and {empty} of its folds would have no validation row: {advice}; a class with "
                "fewer rows than folds and an owner's only row are in no validation set"
            )
        return splits
    if isinstance(cv, str | bool) or not (hasattr(cv, "split") or hasattr(cv, "__iter__")):
        raise TypeError(f"cv is {cv!r}, expected a number of folds, a splitter, or pairs of row positions")
    from sklearn.model_selection import check_cv

    splits = []
    try:
        found = list(check_cv(cv, y).split(X, y, owners))
    except (TypeError, ValueError) as error:
        raise ValueError(f"cv cannot split these rows: {error}") from error
    for k, (train, valid) in enumerate(found):
        split = _positions(train, n_rows, k), _positions(valid, n_rows, k)
        if np.intersect1d(*split).size:
            raise ValueError(f"cv: fold {k + 1} has a row that is both a training and a validation row")
        splits.append(split)
    if not 1 <= len(splits) <= _MAX_FOLDS:
        raise ValueError(f"cv makes {len(splits)} folds, expected 1 to {_MAX_FOLDS}")
    return splits


def _positions(rows: Any, n_rows: int, fold: int) -> NDArray[np.int64]:
    rows, name = np.asarray(rows), f"cv: fold {fold + 1}"
    if rows.dtype.kind not in "iu" or rows.ndim != 1 or not rows.size:
        raise ValueError(f"{name} has {rows.size} rows of type {rows.dtype}, expected positions of some rows")
    if rows.min() < 0 or rows.max() >= n_rows:
        raise ValueError(f"{name} has row {rows.max()}, expected positions from 0 to {n_rows - 1}")
    distinct, counts = np.unique(rows, return_counts=True)
    if counts.max() > 1:
        raise ValueError(f"{name} has row {distinct[counts.argmax()]} more than once, expected distinct rows")
    return distinct.astype(np.int64)


def _fold_of_rows(
    n_folds: int, y: NDArray[Any], owners: NDArray[np.int64] | None, state: Any, numbers: bool
) -> NDArray[np.int64]:
    """Return the fold in which each row is a validation row, -1 for rows that are always training rows."""
    rng = np.random.RandomState(state)
    strata = _strata(y, n_folds, numbers)
    owner = np.zeros(len(y), np.int64) if owners is None else owners
    # Rows are dealt out in turn, stratum by stratum, with the rows of an owner in succession.
    order = np.lexsort((rng.permutation(len(y)), strata, owner))
    always = np.zeros(len(y), bool)
    if not numbers:
        always |= np.bincount(strata)[strata] < n_folds
    if owners is not None:
        always |= np.bincount(owners)[owners] < 2
    dealt = order[~always[order]]
    fold_of = np.full(len(y), -1)
    fold_of[dealt] = np.arange(len(dealt)) % n_folds
    if not numbers:
        # A class whose rows are all validation rows of one fold would be missing in its training rows.
        for code in np.unique(strata):
            folds = np.unique(fold_of[strata == code])
            if len(folds) == 1:
                fold_of[strata == code] = -1
    return fold_of


def _strata(y: NDArray[Any], n_folds: int, numbers: bool) -> NDArray[np.int64]:
    """Return the class of each row; for numbers, the part of their range."""
    if not numbers:
        return arrays.encode(y, "y")[1]
    ranks = np.argsort(np.argsort(y, kind="stable"), kind="stable")
    return np.asarray(ranks // n_folds)
