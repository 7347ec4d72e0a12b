"""How the accuracy of a model changes as rows are removed in the order of their values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common import arguments, arrays, frames
from ordinal_shapley.common.arrays import indexable, model_rows, take
from ordinal_shapley.experiments.detection import as_values
from ordinal_shapley.games import LogisticGame

if TYPE_CHECKING:
    import pandas as pd


_MAX_MARKS = 10_000
Score = Callable[[NDArray[np.intp]], float]


@dataclass(frozen=True, eq=False)
class RemovalCurves:
    """Accuracy on a test set as training rows are removed.

    Attributes
    ----------
    n_rows : int
        Number of training rows before any is removed.
    removed : ndarray of int64, shape (n_marks,)
        Rows removed at each mark, from 0.
    high_first : ndarray of float64, shape (n_marks,)
        Accuracy when the rows with the highest values are removed first. The faster it falls, the better the
        values show which rows the model depends on.
    low_first : ndarray of float64, shape (n_marks,)
        Accuracy when those with the lowest values are removed first.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> curves = osv.remove_high_value([0.1, 0.4, 0.3, 0.2], X, y, [[0.5], [2.5]], [0, 1])
    >>> curves.to_frame()
       removed  share  high_first  low_first
    0        0   0.00         1.0        1.0
    1        1   0.25         0.5        0.5
    2        2   0.50         0.5        0.5
    3        3   0.75         0.5        0.5
    """

    n_rows: int
    removed: NDArray[np.int64]
    high_first: NDArray[np.float64]
    low_first: NDArray[np.float64]

    @property
    def share(self) -> NDArray[np.float64]:
        """Share of the training rows removed at each mark."""
        return self.removed / self.n_rows

    @property
    def auc(self) -> float:
        """Mean height of the curve `high_first`, by trapezoids; low is good."""
        return _mean_height(self.removed, self.high_first)

    @property
    def auc_low_first(self) -> float:
        """Mean height of the curve `low_first`, by trapezoids; high is good."""
        return _mean_height(self.removed, self.low_first)

    @property
    def half_sum(self) -> float:
        """Sum of `high_first` over the first half of the marks: what arXiv:2305.01660 tabulates as an AUC."""
        return float(self.high_first[: len(self.removed) // 2].sum())

    def to_frame(self) -> pd.DataFrame:
        """Return both curves, one row per mark."""
        import pandas as pd

        names = ("removed", "share", "high_first", "low_first")
        return pd.DataFrame({name: getattr(self, name) for name in names})


def _mean_height(at: NDArray[np.int64], heights: NDArray[np.float64]) -> float:
    if len(at) == 1:
        return float(heights[0])
    return float(np.sum(np.diff(at) * (heights[1:] + heights[:-1]) / 2) / (at[-1] - at[0]))


def remove_high_value(
    values: Any,
    X: Any,
    y: Any,
    X_test: Any,
    y_test: Any,
    *,
    estimator: Any = None,
    marks: int = 20,
) -> RemovalCurves:
    """Retrain as rows are removed by value, from the highest down and from the lowest up.

    Parameters
    ----------
    values : Valuation or array-like of shape (n_rows,)
        Any value for each training row; also a fitted estimator. A Series may be in another order: it is
        matched with ``X`` or ``y`` by its index; rows without one count from 0.
    X : DataFrame, array or sparse matrix of shape (n_rows, n_features)
        Training rows.
    y : array-like of shape (n_rows,)
        Their labels.
    X_test, y_test : same kinds as X and y
        The test set and its labels: preferably rows that were not used to compute the values.
    estimator : scikit-learn classifier, optional
        The model to train, cloned for each training. By default the model of `LogisticGame` with uniform
        weights, which is scikit-learn's ``LogisticRegression(solver="liblinear")``, fully converged, one
        against the rest for more than two classes.
    marks : int, default 20
        Number of points at which to train. They are ``n_rows // marks`` rows apart, as in the experiments of
        arXiv:2305.01660; for a smaller set one row apart.

    Returns
    -------
    RemovalCurves
        Accuracies at the marks.

    Raises
    ------
    TypeError, ValueError
        If an argument cannot be used; the message names it.
    RuntimeError
        If ``estimator`` cannot be fitted to the rows that are left, or cannot predict.

    Notes
    -----
    The model is trained on the classes that are left; if only one is left, that one is predicted. Rows of
    equal value are removed in their order in ``X``.

    References
    ----------
    A. Ghorbani and J. Zou, "Data Shapley: Equitable Valuation of Data for Machine Learning", ICML 2019.

    Examples
    --------
    >>> import numpy as np
    >>> import ordinal_shapley as osv
    >>> wine = osv.datasets.load_wine()
    >>> parts = np.array_split(np.random.default_rng(0).permutation(178), 3)
    >>> (X, y), (X_valid, y_valid), (X_test, y_test) = ((wine.X[rows], wine.y[rows]) for rows in parts)
    >>> game = osv.LogisticGame(X, y, X_valid, y_valid)
    >>> valuation = osv.sample_values(game, n_permutations=100, random_state=0)
    >>> curves = osv.remove_high_value(valuation, X, y, X_test, y_test)
    >>> curves.high_first.shape, bool(curves.auc < curves.auc_low_first)
    ((20,), True)
    """
    rows_for = indexable if estimator is None else model_rows
    X, X_test = rows_for(X, "X"), rows_for(X_test, "X_test")
    columns, expected = frames.columns_of(X_test), frames.columns_of(X)
    arrays.check_features(X_test.shape[1], X.shape[1], columns, expected, "X_test")
    n, n_test = X.shape[0], X_test.shape[0]
    column = as_values(values, n, *((X, "X") if hasattr(X, "iloc") else (y, "y")))
    arrays.warn_of_order(X, "X", y=y)
    arrays.warn_of_order(X_test, "X_test", y_test=y_test)
    y = arrays.as_labels(y, "y", n, "row of X")
    y_test = arrays.as_labels(y_test, "y_test", n_test, "row of X_test")
    known, tested = (arrays.encode(labels, name)[0] for labels, name in ((y, "y"), (y_test, "y_test")))
    arrays.check_known("y_test", tested, known.tolist(), "no model could predict it")
    marks = arguments.integer("marks", marks, max=_MAX_MARKS)
    if estimator is None:
        score = _logistic_score(X, y, X_test, y_test)
    else:
        score = _estimator_score(estimator, X, y, X_test, y_test)
    removed = max(1, n // marks) * np.arange(marks, dtype=np.int64)
    removed = removed[removed < n]
    orders = (np.argsort(-column, kind="stable"), np.argsort(column, kind="stable"))
    whole = score(np.arange(n))
    high, low = (np.array([whole, *(score(np.sort(order[k:])) for k in removed[1:])]) for order in orders)
    return RemovalCurves(n, removed, high, low)


def _logistic_score(X: Any, y: NDArray[Any], X_test: Any, y_test: NDArray[Any]) -> Score:
    """Accuracy of the logistic model trained on some of the rows."""
    train, test = (table.values for table in arrays.as_tables(X, X_test, "X_test"))
    games: dict[bytes, LogisticGame] = {}

    def score(rows: NDArray[np.intp]) -> float:
        classes = np.unique(y[rows])
        known = np.isin(y_test, classes)
        if len(classes) == 1 or not known.any():
            return float(known.mean()) if len(classes) == 1 else 0.0
        # A test row of a removed class is predicted wrongly by any model.
        which = np.isin(y, classes)
        key = which.tobytes()
        if key not in games:
            games[key] = LogisticGame(
                train[which], y[which], test[known], y_test[known], position_weight="uniform", empty_value=0.0
            )
        return games[key]((np.cumsum(which) - 1)[rows]) * float(known.mean())

    return score


def _estimator_score(estimator: Any, X: Any, y: NDArray[Any], X_test: Any, y_test: NDArray[Any]) -> Score:
    """Accuracy of an estimator trained on some of the rows."""
    from sklearn.base import clone

    from ordinal_shapley.games._trainer import is_regression

    name = type(estimator).__name__
    if is_regression(estimator, "a classifier"):
        raise TypeError(f"estimator is the regressor {name}, expected a classifier")

    def score(rows: NDArray[np.intp]) -> float:
        left = y[rows]
        if (left == left[0]).all():
            return float(np.mean(y_test == left[0]))
        try:
            model = clone(estimator).fit(take(X, rows), left)
            return float(np.mean(np.asarray(model.predict(X_test)) == y_test))
        except Exception as error:
            raise RuntimeError(
                f"estimator {name} failed with {len(rows)} of {len(y)} rows left: "
                f"{type(error).__name__}: {error}"
            ) from error

    return score
