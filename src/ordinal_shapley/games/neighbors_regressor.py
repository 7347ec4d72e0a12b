"""Nearest neighbours: the utility of a sequence is how well means of near rows predict."""

from __future__ import annotations

from typing import Any

from ordinal_shapley.games._rows import PositionWeight
from ordinal_shapley.games.neighbors import NeighborRowGame
from ordinal_shapley_kernels.neighbors import make_averagers


class NearestNeighborRegressorGame(NeighborRowGame):
    r"""Means of nearest neighbours: the utility is how well they predict validation rows.

    For each validation row the mean of the targets of the ``n_neighbors`` nearest rows of the sequence is
    predicted, each with the weight of its position. With ``position_weight="uniform"`` that is scikit-learn's
    ``KNeighborsRegressor`` (see Notes).

    Parameters
    ----------
    X : DataFrame, array or sparse matrix of shape (n_rows, n_features)
        Training rows: numbers, all finite. Distances are Euclidean, so put the features on one scale first.
    y : array-like of shape (n_rows,)
        Their targets.
    X_valid, y_valid : same kinds as X and y
        Validation rows and their targets.
    position_weight : {"gaussian", "uniform"} or callable, default "gaussian"
        As for `LogisticGame`.
    n_neighbors : int, default 5
        Neighbours that count; of a sequence with fewer rows all do.
    weights : {"uniform", "distance"}, default "uniform"
        As for `NearestNeighborGame`.
    scoring : {"r2", "neg_mean_squared_error"}, default "r2"
        As in scikit-learn.
    groups, sample_weight : array-like, optional
        As for `LogisticGame`.
    empty_value : "mean" or float, default "mean"
        Utility of the empty sequence. "mean": the score of always predicting the mean of ``y_valid``, 0 for
        "r2".

    Attributes
    ----------
    n_players, order_free, player_names, player_classes, player_sizes
        See `Game`.
    classes_ : None
        There are none, as in an `EstimatorGame` of a regressor.
    n_rows : int
        Training rows.
    feature_names : list of str or None
        Columns of ``X`` if it is a DataFrame.
    empty_value_ : float
        The empty value as a number.

    Raises
    ------
    TypeError, ValueError
        If an argument cannot be used; the message names it.

    Notes
    -----
    Rows at the same distance are ordered as in a `NearestNeighborGame`. If all neighbours of a validation row
    have weight 0, they count the same.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> X, y = [[0.0], [1.0], [5.0]], [0.0, 2.0, 9.0]
    >>> game = osv.NearestNeighborRegressorGame(X, y, [[0.4], [4.0]], [1.0, 9.0], n_neighbors=1)
    >>> game.prefix_utilities([1, 2, 0])
    array([-0.5625 ,  0.96875,  0.96875])
    """

    _predicts_numbers = True

    def __init__(
        self,
        X: Any,
        y: Any,
        X_valid: Any,
        y_valid: Any,
        *,
        position_weight: PositionWeight = "gaussian",
        n_neighbors: int = 5,
        weights: str = "uniform",
        scoring: str = "r2",
        groups: Any = None,
        sample_weight: Any = None,
        empty_value: str | float = "mean",
    ) -> None:
        train, valid = self._read_rows((X, y, X_valid, y_valid), groups, sample_weight)
        self._targets, self._units = self._read_targets(y, y_valid, scoring, empty_value)
        self._read_players(train.names, groups, None)
        self._sample_weights = self._read_sample_weight(sample_weight)
        self._read_position_weight(position_weight)
        self._read_neighbors(train, valid, n_neighbors, weights)

    _workspace_maker = staticmethod(make_averagers)

    @property
    def _payload(self) -> tuple[Any, ...]:
        return (
            self._player_starts,
            self._player_rows,
            self._targets,
            self._truth,
            *self._units,
            *self._shared,
        )

    @property
    def _settings(self) -> dict[str, Any]:
        return super()._settings | {"y": (self._targets,), "y_valid": (self._truth,)}
