"""The game of the paper's experiments: the utility of a sequence is the score of a logistic model."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common import arguments, arrays
from ordinal_shapley.games._logistic_features import prepare
from ordinal_shapley.games._logistic_references import NO_REFERENCES, find_references
from ordinal_shapley.games._rows import CompiledRowGame, PositionWeight
from ordinal_shapley.games._scores import MAX_COST, SCORING_CODES, read_class_weight
from ordinal_shapley.vocabulary import INTERCEPTS, MULTI_CLASS, SCORINGS, check_choice
from ordinal_shapley_kernels.logistic import fit_models, fit_softmax, functions, make_game
from ordinal_shapley_kernels.logistic_workspace import LogisticWorkspace, Numbers, rooms

# Error allowed in decision values, for metrics that depend on them.
_VALUE_TOLERANCES = {"roc_auc": 1e-10, "neg_log_loss": 1e-9}

# Once this multiple of all rows has entered, a table of products costs no more than they did without it.
_SHARE_WALKED = 0.25


class LogisticGame(CompiledRowGame):
    r"""Weighted logistic regression: a sequence of rows has its score on validation rows as utility.

    The utility of a sequence of :math:`m` rows is the score of the model that minimises

    .. math:: \tfrac12 |w|^2 + C \sum_{i<m} W_i(m)\, s_i \log(1 + e^{-y_i w \cdot x_i}),

    where :math:`W_i(m)` is the weight of position :math:`i` in a sequence of :math:`m` rows, :math:`s_i` the
    row's sample weight, and the intercept is a feature of 1 that is penalised like the others: the model of
    scikit-learn's ``LogisticRegression(solver="liblinear")``, one against the rest for more than two classes.
    With ``fit_intercept="free"`` and ``multi_class="multinomial"`` it is that of ``LogisticRegression()``.
    The utility of a sequence that lacks a class, or gives it no positive weight, is ``empty_value``.

    Decisions are those of the fully converged model (see Notes), so the utility is a function of the sequence
    alone.

    Parameters
    ----------
    X : DataFrame, array or sparse matrix of shape (n_rows, n_features)
        Training rows: numbers, all finite.
    y : array-like of shape (n_rows,)
        Their classes: numbers, strings or booleans.
    X_valid, y_valid : same kinds as X and y
        Validation rows and their classes, which must all occur in ``y``.
    position_weight : {"gaussian", "uniform"} or callable, default "gaussian"
        "gaussian": the paper's :math:`W_i(m) = \frac{m}{\sqrt{2\pi}\sigma} e^{-(i-\mu)^2/(2\sigma^2)}` with
        :math:`\mu = (m-1)/2`, :math:`\sigma = (m-1)/6`, and 1 for a lone row. "uniform": 1, so that the order
        does not matter. A function of two arguments, ``w(position, m)``, best jitted with Numba, or of one,
        ``w(m)``, that returns the m weights (up to 5,000 rows).
    C : float, default 1.0
        Inverse strength of the penalty.
    scoring : {"accuracy", "balanced_accuracy", "f1", "roc_auc", "neg_log_loss"}, default "accuracy"
        As in scikit-learn; "f1" is that of the second class for two classes and the macro average for more,
        "roc_auc" is for two classes.
    groups : array-like of shape (n_rows,), optional
        Owner of each row. Players are then the owners, in sorted order; the rows of an owner enter together,
        in their given order, and positions and lengths count rows.
    sample_weight : array-like of shape (n_rows,), optional
        Weights that multiply the position weights.
    empty_value : "majority" or float, default "majority"
        Utility of the empty sequence and of those that lack a class. "majority": the score of always
        predicting the majority class of the validation rows (0.5 for "roc_auc", minus the log of the number
        of classes for "neg_log_loss"). The paper uses 0.
    multi_class : {"ovr", "multinomial"}, default "ovr"
        For more than two classes: one model of each class against the rest, or softmax models,

        .. math:: \min_{w, b} \tfrac12 |w|^2 + C \sum_{i<m} W_i(m)\, s_i
            \bigl(\log \textstyle\sum_k e^{w_k \cdot x_i + b_k} - w_{y_i} \cdot x_i - b_{y_i}\bigr).

        For two classes "multinomial" is the softmax model as well, which equals the binary one with twice C.
    fit_intercept : {"penalized", "free", "none"} or bool, default "penalized"
        "free": the intercept is not penalised, so that values do not change if a column is shifted. "none":
        there is none. True is "free" and False is "none", as in scikit-learn.
    class_weight : "balanced", dict or None, default None
        Weights of the classes, which multiply those of their rows. "balanced": in each sequence the rows of
        each class, with their other weights, sum to the same. Classes that a dict leaves out have weight 1.

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
    The objective is 1-strongly convex, so a model is within the norm of its gradient of the converged one.
    Fits stop once no decision on a validation row can change any more. A decision that is within rounding
    error of a tie goes to the first class (two classes) or the lowest of those tied.

    Arrays of float64, float32, int64 and int32 in C order and sparse rows are used as they are, without a
    copy: leave them unchanged as long as the game is in use. Of sparse rows with more columns than rows the
    inner products are kept: memory is then that of several numbers for each pair of rows, whatever the
    columns.

    References
    ----------
    J. Liu, P. Wang, C. Wu, "Data valuation: The partial ordinal Shapley value for machine learning",
    arXiv:2305.01660, Section 5.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"]
    >>> game = osv.LogisticGame(X, y, [[0.2], [0.9], [2.8]], ["no", "no", "yes"])
    >>> game([0, 3, 1, 2])
    1.0
    >>> game(())  # two of three validation rows are "no"
    0.6666666666666666
    """

    classes_: NDArray[Any]
    _awaits_classes = True
    _n_walked = 0  # rows entered by `prefix_utilities` so far
    _much = 1.2e10

    def __init__(
        self,
        X: Any,
        y: Any,
        X_valid: Any,
        y_valid: Any,
        *,
        position_weight: PositionWeight = "gaussian",
        C: float = 1.0,
        scoring: str = "accuracy",
        groups: Any = None,
        sample_weight: Any = None,
        empty_value: str | float = "majority",
        multi_class: str = "ovr",
        fit_intercept: str | bool = "penalized",
        class_weight: str | Mapping[Any, float] | None = None,
    ) -> None:
        train, valid = self._read_rows((X, y, X_valid, y_valid), groups, sample_weight, as_they_are=True)
        n_rows = self.n_rows
        self.C = arguments.number("C", C, above=0.0, max=MAX_COST)
        self._n_columns = train.values.shape[1] + 1  # that of the intercept
        self._read_classes(y, y_valid, scoring, SCORINGS, empty_value)
        n_classes = len(self.classes_)
        self._read_players(train.names, groups, self._codes)
        check_choice("multi_class", multi_class, MULTI_CLASS)
        self.multi_class = multi_class
        self._softmax = multi_class == "multinomial" and n_classes > 2
        if isinstance(fit_intercept, bool | np.bool_):
            fit_intercept = "free" if fit_intercept else "none"
        check_choice("fit_intercept", fit_intercept, INTERCEPTS)
        self.fit_intercept = fit_intercept
        self._costs = np.full(n_rows, self.C)
        if multi_class == "multinomial" and n_classes == 2:
            self._costs *= 2.0
        if sample_weight is not None:
            self._costs *= arrays.as_weights(sample_weight, "sample_weight", n_rows)
        self.class_weight = class_weight
        class_weights = read_class_weight(class_weight, self.classes_)
        self._is_balanced = class_weights is None
        if class_weights is not None:
            self._costs *= class_weights[self._codes]
        if not self._costs.max() <= MAX_COST:
            raise ValueError(
                f"sample_weight and class_weight times C = {self.C:g} are up to {self._costs.max():.3g}, "
                f"expected at most {MAX_COST:g}: rescale the weights"
            )
        self._read_position_weight(position_weight)
        self._references = NO_REFERENCES
        intercept, free = fit_intercept != "none", fit_intercept == "free"
        self._features = prepare(train.values, valid.values, float(self._costs.max()), intercept, free)
        # Including the row of a free intercept; shared by all workers.
        self._all_codes = self._features.with_intercept(self._codes, 0)
        self._all_costs = self._features.with_intercept(self._costs, 0)

    @property
    def _workspace_maker(self) -> Callable[..., LogisticWorkspace]:
        return make_game

    @property
    def _payload(self) -> tuple[Any, ...]:
        tolerance = _VALUE_TOLERANCES.get(self.scoring)
        features = self._features
        *rows, n_columns, intercept = features.raw
        return (
            Numbers(
                scoring=SCORING_CODES[self.scoring],
                span_limit=features.span_limit,
                n_columns=n_columns,
                intercept=intercept,
                n_classes=len(self.classes_),
                weight_kind=self._weights.kind,
                has_zero_weights=int(bool((self._weights.table == 0.0).any())),
                balanced=int(self._is_balanced),
                free=int(features.free),
                softmax=int(self._softmax),
                empty_value=self.empty_value_,
                column_rounding=float(features.n_terms),
                span_rounding=features.span_rounding,
                radius_tolerance=-1.0 if tolerance is None else tolerance / max(features.largest, 1.0),
            ),
            *rows,
            features.products,
            features.norms,
            self._all_codes,
            self._all_costs,
            self._player_starts,
            self._player_rows,
            self._weights.table,
            features.valid,
            features.valid_columns,
            features.valid_norms,
            features.valid_products,
            self._truth,
            *self._references,
        )

    @property
    def _entries(self) -> tuple[Any, ...]:
        features = self._features
        n_rows = self.n_rows + features.free
        capacity, room = rooms(n_rows, features.valid_columns.shape[0], features.span_limit)
        return functions(self._payload[0], room < capacity)

    def _for_jumps(self, tick: Callable[[int, int], bool], longest: int | None = None) -> LogisticGame:
        game = copy.copy(self)
        game._references = find_references(self, self._make_workspace(), tick, longest)
        return game

    def _expect_walks(self, n_rows: int | None = None) -> bool:
        if n_rows is not None:
            # Repeated calls pay for a table at some point; scores without a certificate are accurate to a
            # tolerance only, and must not depend on earlier calls.
            self._n_walked += n_rows
            if self.scoring in _VALUE_TOLERANCES or self._n_walked < _SHARE_WALKED * self.n_rows:
                return False
        prepared = self._features.tabulate()
        if prepared:
            vars(self).pop("_spare", None)
        return prepared

    @property
    def _settings(self) -> dict[str, Any]:
        features = self._features
        if features.basis is not None:  # validation rows are in coordinates of X
            rows: dict[str, Any] = {"X or X_valid": (*features.raw, features.valid)}
        elif not features.n_features:
            rows = {"X or X_valid": (features.products, features.valid_products)}
        else:
            rows = {"X": (*features.raw, features.n_terms), "X_valid": (features.valid,)}
        return {
            "game": "LogisticGame",
            **rows,
            "y": (self._codes, len(self.classes_)),
            "C, sample_weight or class_weight": (self._costs,),
            "groups": (self._player_starts, self._player_rows),
            "position_weight": (self._weights.kind, self._weights.table),
            "y_valid": (self._truth,),
            "scoring": self.scoring,
            "empty_value": self.empty_value_,
            "multi_class": "multinomial" if self._softmax else "ovr",
            "fit_intercept": self.fit_intercept,
            "class_weight": self._is_balanced,
        }

    def _relative_costs(self, sizes: NDArray[np.int64], jump: bool) -> NDArray[np.float64]:
        # Multiplications of passes over rows, scores of validation rows and, with a jump, factors.
        rows = sizes * (self.n_rows / self.n_players)
        columns = np.minimum(rows, self._n_columns)
        n_models = 1 if len(self.classes_) == 2 else len(self.classes_)
        if jump:
            scores = 6.0 * self._n_valid * self._n_columns
            each = columns**2 * (rows + columns) + 40.0 * columns * rows + scores
        else:
            each = columns * (4.0 * rows + self._n_valid)
        return np.asarray(1e4 + n_models * each)

    def _warn_unconverged(self, n_fits: int) -> None:
        if n_fits:
            warnings.warn(
                "standardise the features, for example with sklearn.preprocessing.StandardScaler: "
                f"{n_fits} model fits did not converge, because the features differ too much in scale, or C "
                "or the weights are extreme",
                RuntimeWarning,
                stacklevel=3,
            )

    def coefficients(
        self, sequence: Sequence[int] | NDArray[np.int64], tol: float = 1e-10
    ) -> NDArray[np.float64]:
        """Return the coefficients of the model trained on a sequence.

        Parameters
        ----------
        sequence : sequence of int
            Distinct players in order of entry; among them their rows must have every class.
        tol : float, default 1e-10
            Norm of the gradient at which to stop, if rounding allows.

        Returns
        -------
        ndarray of float64, shape (n_models, n_features + 1)
            Coefficients, the intercept last: one row for two classes (of ``classes_[1]`` against
            ``classes_[0]``), else one per class against the rest.

        Raises
        ------
        TypeError, ValueError
            If ``sequence`` is not a sequence of distinct players, or lacks a class.

        Examples
        --------
        >>> import ordinal_shapley as osv
        >>> game = osv.LogisticGame([[0.0], [1.0]], ["a", "b"], [[0.5]], ["a"], position_weight="uniform")
        >>> game.coefficients([0, 1]).round(3)
        array([[ 0.414, -0.069]])
        """
        players = self._check_sequence(sequence)
        rows = [self._player_rows[self._player_starts[p] : self._player_starts[p + 1]] for p in players]
        radius = arguments.number("tol", tol, above=0.0)
        workspace = self._spare_workspace()
        workspace.functions.reset(workspace)
        for player in players.tolist():
            workspace.functions.push(workspace, player)
        if not workspace.functions.is_defined(workspace):
            lacking = int(np.argmin(workspace.prefix.class_counts))
            raise ValueError(
                f"sequence lacks class {self.classes_.tolist()[lacking]!r}, expected rows of every class, "
                "with weights: without them there is no model"
            )
        (fit_softmax if self._softmax else fit_models)(workspace, radius)
        self._warn_unconverged(workspace.unconverged)
        return self._features.coefficients(workspace, np.concatenate(rows))

    def _facts(self) -> dict[str, str]:
        return super()._facts() | {"C": f"{self.C:g} (inverse strength of the penalty)"}
