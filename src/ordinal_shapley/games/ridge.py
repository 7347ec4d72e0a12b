"""Ridge regression: the utility of a sequence is how well the model trained on it predicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common import arguments, arrays
from ordinal_shapley.games._rows import CompiledRowGame, PositionWeight, in_span
from ordinal_shapley_kernels.ridge import make_workspace, pad_data
from ordinal_shapley_kernels.walks import utilities_of

# The largest number in a linear system, which is squared in the solution.
_MAX_SQUARE = 1e120
_MIN_ALPHA = 1e-30


class RidgeRowGame(CompiledRowGame):
    """Base of the ridge games of numbers and of classes: rows, penalty, intercept and coefficients."""

    _own = "alpha={0.alpha:g}, "
    _weighed_by = "alpha or sample_weight"  # what `_row_weights` are of
    _targets: NDArray[np.float64]  # (n_models, n_rows)
    _truth: NDArray[Any]
    _row_weights: NDArray[np.float64]

    def _read_ridge(
        self, train: arrays.Table, valid: arrays.Table, alpha: Any, fit_intercept: Any, heaviest: float = 1.0
    ) -> None:
        """Prepare rows and their weights, which may be multiplied by up to `heaviest`."""
        self.alpha = arguments.number("alpha", alpha, min=_MIN_ALPHA)
        self.fit_intercept = arguments.flag("fit_intercept", fit_intercept)
        self._row_weights = self._row_weights / self.alpha
        # With an intercept shifting rows does not change predictions, and far from 0 digits would be lost.
        self._centre = train.values.mean(axis=0) * self.fit_intercept
        features, valid_rows = train.values - self._centre, valid.values - self._centre
        self._basis: NDArray[np.float64] | None = None
        if features.shape[1] > self.n_rows:
            # Coefficients lie in the span of the training rows. In an orthonormal basis of it norms and
            # predictions are the same, with at most as many features as rows.
            features, valid_rows, self._basis = in_span(features, valid_rows)
        heaviest *= float(self._row_weights.max()) * max(1.0, float(self._weights.table.max(initial=3.0)))
        largest = float(np.square(features).sum(axis=1).max(initial=0.0)) * heaviest
        if not largest <= _MAX_SQUARE:
            raise ValueError(
                f"alpha is {self.alpha:g}, and squares of rows of X times their weights are {largest:.3g} "
                f"times that, expected at most {_MAX_SQUARE:g}: rescale X or the weights"
            )
        self._n_coordinates = features.shape[1]
        self._features, self._valid = pad_data(features, valid_rows)

    @property
    def _shared(self) -> tuple[Any, ...]:
        """The last part of `_payload`."""
        return (
            self._features,
            self._targets,
            self._row_weights,
            self._weights.kind,
            self._weights.table,
            self.fit_intercept,
            self._valid,
            self.empty_value_,
        )

    @property
    def _settings(self) -> dict[str, Any]:
        return {
            "game": type(self).__name__,
            "X": (self._features,),
            "y": (self._targets,),
            self._weighed_by: (self._row_weights,),
            "fit_intercept": self.fit_intercept,
            "groups": (self._player_starts, self._player_rows),
            "position_weight": (self._weights.kind, self._weights.table),
            "X_valid": (self._valid,),
            "y_valid": (self._truth,),
            "scoring": self.scoring,
            "empty_value": self.empty_value_,
        }

    def _coefficients(self, sequence: Sequence[int] | NDArray[np.int64], needs: str) -> NDArray[np.float64]:
        """Coefficients of each model, the intercept last; ValueError if the sequence has no model."""
        players = self._check_sequence(sequence)
        workspace = self._spare_workspace()
        workspace.intercepts[:] = np.nan
        if len(players):
            utilities_of(workspace, players)
        if np.isnan(workspace.intercepts).any():
            raise ValueError(f"sequence has no model, expected rows with a weight{needs}")
        models = workspace.models[:, : self._n_coordinates]
        if self._basis is not None:
            models = models @ self._basis.T
        return np.column_stack([models, workspace.intercepts - models @ self._centre])

    def _facts(self) -> dict[str, str]:
        return super()._facts() | {"alpha": f"{self.alpha:g} (strength of the penalty)"}


class RidgeGame(RidgeRowGame):
    r"""Ridge regression: the utility is how well the model predicts validation rows.

    The utility of a sequence of :math:`m` rows is the score of the model :math:`w \cdot x + b` that minimises

    .. math:: \sum_{i<m} W_i(m)\, s_i (y_i - w \cdot x_i - b)^2 + \alpha |w|^2,

    where :math:`W_i(m)` is the weight of position :math:`i` in a sequence of :math:`m` rows and :math:`s_i`
    the row's sample weight: the model of scikit-learn's ``Ridge``.

    Parameters
    ----------
    X : DataFrame, array or sparse matrix of shape (n_rows, n_features)
        Training rows: numbers, all finite.
    y : array-like of shape (n_rows,)
        Their targets.
    X_valid, y_valid : same kinds as X and y
        Validation rows and their targets.
    position_weight : {"gaussian", "uniform"} or callable, default "gaussian"
        As for `LogisticGame`.
    alpha : float, default 1.0
        Strength of the penalty.
    fit_intercept : bool, default True
        Whether there is an intercept :math:`b`, which is not penalised; it is 0 without.
    scoring : {"r2", "neg_mean_squared_error"}, default "r2"
        As in scikit-learn.
    groups, sample_weight : array-like, optional
        As for `LogisticGame`.
    empty_value : "mean" or float, default "mean"
        Utility of the empty sequence, and of those whose rows all have weight 0. "mean": the score of always
        predicting the mean of ``y_valid``, 0 for "r2".

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
    All weights change with the length of the sequence, so each utility requires solving a system of as many
    equations as there are rows or features, whichever are fewer.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.1, 1.1, 1.9, 3.2]
    >>> game = osv.RidgeGame(X, y, [[0.5], [1.5], [2.5]], [0.5, 1.5, 2.5], alpha=0.1)
    >>> round(game([0, 3, 1, 2]), 4)
    0.9717
    >>> game.prefix_utilities([0, 3, 1, 2]).round(4)
    array([-2.94  ,  0.8927,  0.7551,  0.9717])
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
        alpha: float = 1.0,
        fit_intercept: bool = True,
        scoring: str = "r2",
        groups: Any = None,
        sample_weight: Any = None,
        empty_value: str | float = "mean",
    ) -> None:
        train, valid = self._read_rows((X, y, X_valid, y_valid), groups, sample_weight)
        targets, self._units = self._read_targets(y, y_valid, scoring, empty_value)
        self._targets = targets[None]
        self._read_players(train.names, groups, None)
        self._row_weights = self._read_sample_weight(sample_weight)
        self._read_position_weight(position_weight)
        self._read_ridge(train, valid, alpha, fit_intercept)

    _workspace_maker = staticmethod(make_workspace)

    @property
    def _payload(self) -> tuple[Any, ...]:
        return (self._player_starts, self._player_rows, self._truth, *self._units, *self._shared)

    def coefficients(self, sequence: Sequence[int] | NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the coefficients of the model trained on a sequence.

        Parameters
        ----------
        sequence : sequence of int
            Distinct players in order of entry, at least one.

        Returns
        -------
        ndarray of float64, shape (n_features + 1,)
            Coefficients, the intercept last.

        Raises
        ------
        TypeError, ValueError
            If ``sequence`` is not a sequence of distinct players, or all weights of its rows are 0.

        Examples
        --------
        >>> import ordinal_shapley as osv
        >>> game = osv.RidgeGame([[0.0], [1.0]], [0.0, 2.0], [[0.5], [2.0]], [1.0, 4.0], alpha=0.5)
        >>> game.coefficients([0, 1]).round(3)
        array([0.101, 0.95 ])
        """
        coefficients: NDArray[np.float64] = self._coefficients(sequence, "")[0]
        return coefficients
