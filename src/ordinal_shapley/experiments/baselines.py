"""Other values of training rows: the baselines."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common import arguments, arrays
from ordinal_shapley.common.parallel import check_n_jobs
from ordinal_shapley.common.seeds import sklearn_state
from ordinal_shapley.games import Game
from ordinal_shapley.games.base import check_game
from ordinal_shapley.games.neighbors import nearest_first

_MAX = 1_000_000  # trees, or neighbours
_MAX_FEATURE = float(np.finfo(np.float32).max)  # trees compute in float32


def knn_shapley(X: Any, y: Any, X_valid: Any, y_valid: Any, n_neighbors: int = 5) -> NDArray[np.float64]:
    r"""Compute the exact classic Shapley values of the rows of a nearest neighbour classifier.

    The utility of a set of training rows is, for one validation row, the share of its class among its
    ``n_neighbors`` nearest rows of the set; a neighbour that a smaller set lacks counts as wrong. Values are
    means over the validation rows. Distances are Euclidean, so put the features on one scale first.

    Parameters
    ----------
    X : DataFrame, array or sparse matrix of shape (n_rows, n_features)
        Training rows.
    y : array-like of shape (n_rows,)
        Their classes.
    X_valid, y_valid : same kinds as X and y
        Validation rows and their classes.
    n_neighbors : int, default 5
        Number of neighbours that vote; may exceed the number of rows.

    Returns
    -------
    ndarray of float64, shape (n_rows,)
        The value of each training row.

    Raises
    ------
    TypeError, ValueError
        If an argument cannot be used; the message names it.

    Notes
    -----
    With the rows in order of their distance from a validation row, :math:`m_i` 1 if row :math:`i` has its
    class and else 0, and :math:`K` neighbours,

    .. math:: s_n = \frac{\min(K, n)}{K n} m_n, \qquad
        s_i = s_{i+1} + \frac{m_i - m_{i+1}}{K} \frac{\min(K, i)}{i}.

    Of rows at the same distance the one with the lower index counts as the nearer.

    References
    ----------
    R. Jia et al., "Efficient task-specific data valuation for nearest neighbor algorithms", PVLDB 12(11),
    2019, Theorem 1.

    Examples
    --------
    >>> from ordinal_shapley.experiments.baselines import knn_shapley
    >>> knn_shapley([[0.0], [1.0], [5.0]], ["a", "a", "b"], [[0.4]], ["a"], n_neighbors=1)
    array([0.5, 0.5, 0. ])
    """
    train, valid = (table.values for table in arrays.as_tables(X, X_valid))
    n, n_valid = len(train), len(valid)
    arrays.warn_of_order(X, "X", y=y)
    arrays.warn_of_order(X_valid, "X_valid", y_valid=y_valid)
    _, codes, truth = arrays.as_classes(y, y_valid, n, n_valid)
    k = arguments.integer("n_neighbors", n_neighbors, max=_MAX)
    ranks = np.arange(1, n + 1)
    steps = np.minimum(k, ranks) / (k * ranks)
    totals = np.zeros(n)
    for block, order, _ in nearest_first(train, valid):
        match = (codes[order] == truth[block, None]).astype(np.float64)
        match[:, :-1] -= match[:, 1:]
        shares = np.cumsum((match * steps)[:, ::-1], axis=1)[:, ::-1]
        totals += np.bincount(order.ravel(), weights=shares.ravel(), minlength=n)
    return totals / n_valid


def data_oob(
    X: Any, y: Any, *, n_estimators: int = 1000, random_state: Any = None, n_jobs: int | None = None
) -> NDArray[np.float64]:
    """Compute how often decision trees that were not trained on a row predict its label (Data-OOB).

    Each tree is grown on a bootstrap sample of the rows. The value of a row is the share of right predictions
    among the trees whose sample lacks it; no validation rows are needed.

    Parameters
    ----------
    X : DataFrame, array or sparse matrix of shape (n_rows, n_features)
        Training rows.
    y : array-like of shape (n_rows,)
        Their classes.
    n_estimators : int, default 1000
        Number of trees.
    random_state : None, int, numpy Generator or RandomState
        The same number gives the same values for any ``n_jobs``.
    n_jobs : int, optional
        Workers, as in joblib: None is 1, -1 is every core.

    Returns
    -------
    ndarray of float64, shape (n_rows,)
        The value of each row, between 0 and 1; NaN for a row that is in the sample of every tree.

    Raises
    ------
    TypeError, ValueError
        If an argument cannot be used; the message names it.

    References
    ----------
    Y. Kwon and J. Zou, "Data-OOB: Out-of-bag estimate as a simple and efficient data value", ICML 2023.

    Examples
    --------
    >>> from ordinal_shapley.experiments.baselines import data_oob
    >>> X = [[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2], [5.3]]
    >>> y = ["a", "a", "a", "b", "b", "b", "b", "b"]  # the fourth is mislabelled
    >>> int(data_oob(X, y, n_estimators=100, random_state=0).argmin())
    3
    """
    rows = arrays.as_table(X, "X").values
    arrays.warn_of_order(X, "X", y=y)
    _, codes = arrays.encode(arrays.as_labels(y, "y", len(rows), "row of X"), "y")
    n_trees = arguments.integer("n_estimators", n_estimators, max=_MAX)
    check_n_jobs(n_jobs)
    state = sklearn_state(random_state)
    largest = float(np.abs(rows).max())
    if largest > _MAX_FEATURE:
        raise ValueError(
            f"X holds a number of size {largest:.3g}, expected at most {_MAX_FEATURE:.3g} for trees: "
            "rescale it"
        )

    from sklearn.ensemble import BaggingClassifier

    trees = BaggingClassifier(n_estimators=n_trees, random_state=state, n_jobs=n_jobs).fit(rows, codes)
    right = np.zeros(len(rows))
    unseen = np.zeros(len(rows))
    for tree, seen in zip(trees.estimators_, trees.estimators_samples_, strict=True):
        out = np.ones(len(rows), np.bool_)
        out[seen] = False
        if out.any():
            right[out] += tree.predict(rows[out]) == codes[out]
            unseen += out
    values = np.full(len(rows), np.nan)
    np.divide(right, unseen, out=values, where=unseen > 0)
    return values


def leave_one_out(game: Game, n_jobs: int | None = None) -> NDArray[np.float64]:
    """Compute how much the utility of all players drops when one of them is left out.

    The players are in the order of their indices, without the one left out. This takes ``n_players + 1``
    utilities.

    Parameters
    ----------
    game : Game
        For example a `LogisticGame`, a `TableGame` or a `FunctionGame`.
    n_jobs : int, optional
        Workers, as in joblib: None is 1 unless `joblib.parallel_config` says otherwise, -1 is every core.

    Returns
    -------
    ndarray of float64, shape (n_players,)
        The utility of all players less that without each.

    Raises
    ------
    TypeError, ValueError
        If an argument cannot be used; the message names it. Or if a utility is not a finite number.
    RuntimeError
        If the function of a `FunctionGame` raises or the model of an `EstimatorGame` fails.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> from ordinal_shapley.experiments.baselines import leave_one_out
    >>> leave_one_out(osv.TableGame(2, {(0,): 1.0, (0, 1): 3.0}))
    array([3., 2.])
    """
    check_game("game", game)
    check_n_jobs(n_jobs)
    from joblib import Parallel, delayed

    everyone = np.arange(game.n_players)
    without = (delayed(game)(np.delete(everyone, player)) for player in everyone)
    return game(everyone) - np.array(Parallel(n_jobs=n_jobs, prefer=game._prefer)(without))
