"""Classification by ridge regression: the utility of a sequence is how well its models decide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.games._rows import PositionWeight
from ordinal_shapley.games._scores import SCORING_CODES, read_class_weight
from ordinal_shapley.games.ridge import RidgeRowGame
from ordinal_shapley.vocabulary import RIDGE_CLASSIFIER_SCORINGS
from ordinal_shapley_kernels.ridge_classifier import make_workspace


class RidgeClassifierGame(RidgeRowGame):
    r"""A classifier by weighted ridge regression: the utility is its score on validation rows.

    The model is that of scikit-learn's ``RidgeClassifier``: a `RidgeGame`'s model of targets that are +1 for
    the second of two classes and -1 for the first; of more classes one for each, of targets that are +1 for
    its rows and -1 for all others. The sign of the prediction decides, or the class with the highest. The
    utility of a sequence that lacks a class, or whose rows of a class all have weight 0, is ``empty_value``.

    Parameters
    ----------
    X : DataFrame, array or sparse matrix of shape (n_rows, n_features)
        Training rows: numbers, all finite.
    y : array-like of shape (n_rows,)
        Their classes: numbers, strings or booleans.
    X_valid, y_valid : same kinds as X and y
        Validation rows and their classes, which must all occur in ``y``.
    position_weight : {"gaussian", "uniform"} or callable, default "gaussian"
        As for `LogisticGame`.
    alpha : float, default 1.0
        Strength of the penalty.
    fit_intercept : bool, default True
        As for `RidgeGame`.
    class_weight : None, "balanced" or dict, default None
        Weight of the rows of a class, as a factor: a dict of classes and weights above 0, 1 for classes it
        lacks; "balanced": :math:`m / (K m_c)` in a sequence of :math:`m` rows, :math:`m_c` of them of class
        :math:`c` of :math:`K`. As in ``RidgeClassifier``, rows count as one whatever they weigh.
    scoring : {"accuracy", "balanced_accuracy", "f1", "roc_auc"}, default "accuracy"
        As for `LogisticGame`.
    groups, sample_weight : array-like, optional
        As for `LogisticGame`.
    empty_value : "majority" or float, default "majority"
        Utility of the sequences without a model. "majority": the score of always predicting the majority
        class of the validation rows, 0.5 for "roc_auc".

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

    Notes
    -----
    Of classes whose predictions are equal, up to rounding, the first is decided for.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"]
    >>> game = osv.RidgeClassifierGame(X, y, [[0.2], [1.4], [2.8]], ["no", "no", "yes"])
    >>> game.prefix_utilities([0, 3, 1, 2]).round(3)
    array([0.667, 1.   , 0.333, 1.   ])
    """

    classes_: NDArray[Any]
    _awaits_classes = True
    _weighed_by = "alpha, class_weight or sample_weight"

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
        class_weight: Any = None,
        scoring: str = "accuracy",
        groups: Any = None,
        sample_weight: Any = None,
        empty_value: str | float = "majority",
    ) -> None:
        train, valid = self._read_rows((X, y, X_valid, y_valid), groups, sample_weight)
        self._read_classes(y, y_valid, scoring, RIDGE_CLASSIFIER_SCORINGS, empty_value)
        positive = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        self._targets = np.array([np.where(self._codes == code, 1.0, -1.0) for code in positive])
        self._read_players(train.names, groups, self._codes)
        self._row_weights = self._read_sample_weight(sample_weight)
        self._read_position_weight(position_weight)
        class_weights = read_class_weight(class_weight, self.classes_)
        self._is_balanced = class_weights is None
        if class_weights is not None:
            self._row_weights = self._row_weights * class_weights[self._codes]
        self._read_ridge(train, valid, alpha, fit_intercept, self.n_rows if self._is_balanced else 1.0)
        self._valid_norms = np.sqrt(np.square(self._valid[:, : self._n_valid]).sum(axis=0))

    _workspace_maker = staticmethod(make_workspace)

    @property
    def _payload(self) -> tuple[Any, ...]:
        return (
            self._player_starts,
            self._player_rows,
            self._codes,
            len(self.classes_),
            self._is_balanced,
            self._truth,
            self._valid_norms,
            SCORING_CODES[self.scoring],
            *self._shared,
        )

    @property
    def _settings(self) -> dict[str, Any]:
        return super()._settings | {
            "y": (self._codes, len(self.classes_)),
            "class_weight": self._is_balanced,
        }

    def coefficients(self, sequence: Sequence[int] | NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the coefficients of the models trained on a sequence.

        Parameters
        ----------
        sequence : sequence of int
            Distinct players in order of entry; among them their rows must have every class.

        Returns
        -------
        ndarray of float64, shape (n_models, n_features + 1)
            Coefficients, the intercept last: one row for two classes, else one per class.

        Raises
        ------
        TypeError, ValueError
            If ``sequence`` is not a sequence of distinct players, or has no model.

        Examples
        --------
        >>> import ordinal_shapley as osv
        >>> game = osv.RidgeClassifierGame([[0.0], [1.0]], ["a", "b"], [[0.5]], ["a"], alpha=0.5)
        >>> game.coefficients([0, 1]).round(3)
        array([[ 0.101, -0.05 ]])
        """
        return self._coefficients(sequence, " of every class")
