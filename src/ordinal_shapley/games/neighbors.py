"""Nearest neighbours: the utility of a sequence is how well its rows vote on validation rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common import arguments, arrays
from ordinal_shapley.common.parallel import check_memory
from ordinal_shapley.games._rows import CompiledRowGame, PositionWeight
from ordinal_shapley.games._scores import SCORING_CODES
from ordinal_shapley.vocabulary import NEIGHBOR_SCORINGS, NEIGHBOR_WEIGHTS, check_choice
from ordinal_shapley_kernels.neighbors import VOTE_SHARE, make_voters

_MAX_NEIGHBORS = 1_000_000
_BLOCK = 2**20  # maximum numbers in one block of distances


class NeighborRowGame(CompiledRowGame):
    """Base of the nearest neighbour games of classes and of numbers: ranks of distances."""

    _own = "n_neighbors={0.n_neighbors}, "
    _truth: NDArray[Any]
    _sample_weights: NDArray[np.float64]

    def _read_neighbors(
        self, train: arrays.Table, valid: arrays.Table, n_neighbors: Any, weights: Any
    ) -> None:
        self.n_neighbors = arguments.integer("n_neighbors", n_neighbors, max=_MAX_NEIGHBORS)
        check_choice("weights", weights, NEIGHBOR_WEIGHTS)
        self.weights = weights
        shape = self.n_rows, len(valid.values)
        check_memory(
            (8 if weights == "uniform" else 12) * shape[0] * shape[1],
            f"the distances of {shape[0]:,} rows from {shape[1]:,} validation rows",
            "use fewer validation rows",
        )
        # [i, v]: number of training rows nearer to validation row v than row i
        self._ranks = np.empty(shape, np.int32)
        self._distances = np.empty((0, 0) if weights == "uniform" else shape)
        places = np.arange(self.n_rows, dtype=np.int32)[:, None]
        for block, order, squares in nearest_first(train.values, valid.values):
            np.put_along_axis(self._ranks[:, block], order.T, places, axis=0)
            if weights == "distance":
                self._distances[:, block] = np.sqrt(squares.T)

    @property
    def _shared(self) -> tuple[Any, ...]:
        """The last part of `_payload`."""
        return (
            self._ranks,
            self._distances,
            self._sample_weights,
            self._weights.kind,
            self._weights.table,
            self.n_neighbors,
            self.empty_value_,
        )

    @property
    def _settings(self) -> dict[str, Any]:
        return {
            "game": type(self).__name__,
            "X or X_valid": (self._ranks, self._distances),
            "sample_weight": (self._sample_weights,),
            "groups": (self._player_starts, self._player_rows),
            "position_weight": (self._weights.kind, self._weights.table),
            "n_neighbors": self.n_neighbors,
            "weights": self.weights,
            "scoring": self.scoring,
            "empty_value": self.empty_value_,
        }

    def _facts(self) -> dict[str, str]:
        voters = f"{self.n_neighbors}"
        return super()._facts() | {
            "Neighbours": voters if self.weights == "uniform" else f"{voters}, weighted by inverse distance"
        }


class NearestNeighborGame(NeighborRowGame):
    r"""A weighted nearest neighbour classifier: the utility is its score on validation rows.

    For each validation row the ``n_neighbors`` nearest rows of the sequence vote for their classes, each with
    the weight of its position, and the class with the most votes is predicted. With
    ``position_weight="uniform"`` that is scikit-learn's ``KNeighborsClassifier`` (see Notes). Every sequence
    except the empty one has a model, even if it lacks a class.

    Parameters
    ----------
    X : DataFrame, array or sparse matrix of shape (n_rows, n_features)
        Training rows: numbers, all finite. Distances are Euclidean, so put the features on one scale first.
    y : array-like of shape (n_rows,)
        Their classes: numbers, strings or booleans.
    X_valid, y_valid : same kinds as X and y
        Validation rows and their classes, which must all occur in ``y``.
    position_weight : {"gaussian", "uniform"} or callable, default "gaussian"
        As for `LogisticGame`.
    n_neighbors : int, default 5
        Neighbours that vote; of a sequence with fewer rows all do.
    weights : {"uniform", "distance"}, default "uniform"
        "distance": votes are divided by the distance; if a neighbour has distance 0, only such ones vote.
    scoring : {"accuracy", "balanced_accuracy", "f1", "vote_share"}, default "accuracy"
        "vote_share": the share of the votes that are for the right class, times the share of the
        ``n_neighbors`` places that a short sequence fills, as a mean over the validation rows. The others are
        as for `LogisticGame`.
    groups, sample_weight : array-like, optional
        As for `LogisticGame`.
    empty_value : "majority" or float, default "majority"
        Utility of the empty sequence. "majority": the score of always predicting the majority class of the
        validation rows. KNN-Shapley uses 0.

    Attributes
    ----------
    n_players, order_free, player_names, player_classes, player_sizes
        See `Game`.
    classes_ : ndarray
        Sorted classes.
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

    See Also
    --------
    ordinal_shapley.experiments.knn_shapley : Classic values of "vote_share" with uniform weights, at once.

    Notes
    -----
    Of classes with the same votes, up to rounding, the first is decided for, as in scikit-learn. Of rows at
    the same distance the one with the lower index is the nearer; scikit-learn has no such rule, and takes
    rows that depend on its algorithm. With fewer rows than ``n_neighbors`` it raises an error.

    References
    ----------
    R. Jia et al., "Efficient task-specific data valuation for nearest neighbor algorithms", PVLDB 12(11),
    2019, for "vote_share" with uniform weights.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> X, y = [[0.0], [1.0], [5.0]], ["a", "a", "b"]
    >>> game = osv.NearestNeighborGame(X, y, [[0.4], [4.0]], ["a", "b"], n_neighbors=1)
    >>> game.prefix_utilities([0, 2, 1])
    array([0.5, 1. , 1. ])
    """

    classes_: NDArray[Any]

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
        scoring: str = "accuracy",
        groups: Any = None,
        sample_weight: Any = None,
        empty_value: str | float = "majority",
    ) -> None:
        train, valid = self._read_rows((X, y, X_valid, y_valid), groups, sample_weight)
        self._read_classes(y, y_valid, scoring, NEIGHBOR_SCORINGS, empty_value)
        self._read_players(train.names, groups, self._codes)
        self._sample_weights = self._read_sample_weight(sample_weight)
        self._read_position_weight(position_weight)
        self._read_neighbors(train, valid, n_neighbors, weights)

    _workspace_maker = staticmethod(make_voters)

    @property
    def _payload(self) -> tuple[Any, ...]:
        return (
            self._player_starts,
            self._player_rows,
            self._codes,
            len(self.classes_),
            self._truth,
            VOTE_SHARE if self.scoring == "vote_share" else SCORING_CODES[self.scoring],
            *self._shared,
        )

    @property
    def _settings(self) -> dict[str, Any]:
        return super()._settings | {"y": (self._codes, len(self.classes_), self._truth)}


def nearest_first(
    train: NDArray[np.float64], valid: NDArray[np.float64]
) -> Iterator[tuple[slice, NDArray[np.intp], NDArray[np.float64]]]:
    """Yield blocks of validation rows, each with the training rows, the nearest first, and the distances."""
    from scipy.spatial.distance import cdist

    size = max(1, _BLOCK // len(train))
    for start in range(0, len(valid), size):
        block = slice(start, start + size)
        # From differences, not by a matrix product, so that equal rows are tied.
        squares = cdist(valid[block], train, "sqeuclidean")
        yield block, np.argsort(squares, axis=1, kind="stable"), squares
