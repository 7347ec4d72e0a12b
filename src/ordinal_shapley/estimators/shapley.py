"""Values of training rows in the manner of scikit-learn: parameters first, then ``fit``."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from numbers import Real
from types import SimpleNamespace
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import train_test_split

from ordinal_shapley.common import arguments, arrays, frames
from ordinal_shapley.common.seeds import sklearn_state
from ordinal_shapley.estimators.evidence import label_evidence
from ordinal_shapley.games import CrossFitGame, LogisticGame
from ordinal_shapley.games._rows import RowGame
from ordinal_shapley.games._trainer import is_regression
from ordinal_shapley.games.matching import game_for
from ordinal_shapley.sampling.driver import as_rule, sample_values
from ordinal_shapley.sampling.sampler import PermutationSampler, as_sampler
from ordinal_shapley.sampling.stopping import MaxSeconds, StoppingRule
from ordinal_shapley.values import Classic, Ordinal, PartialOrdinal, Value

_Self = TypeVar("_Self", bound="_ShapleyEstimator")
# Attributes after `fit`.
_FITTED = {"values_", "valuation_", "game_", "classes_", "train_indices_", "valid_indices_"}
_FITTED |= {"n_features_in_", "feature_names_in_"}


@dataclass(eq=False, repr=False)
class _ShapleyEstimator(BaseEstimator):
    """Base of the estimators: parameters, the split, the game and the run."""

    estimator: Any = None
    _: KW_ONLY
    compiled: bool | str = "auto"
    fit_transformers: str = "once"
    C: float = 1.0
    scoring: Any = None
    empty_value: str | float = "majority"
    error_score: str | float = "raise"
    cv: Any = 5
    valid_fraction: float = 0.3
    sampler: Any = "auto"
    stopping: Any = None
    n_permutations: int | None = None
    max_seconds: float | None = None
    random_state: Any = None
    n_jobs: int | None = None
    checkpoint: Any = None
    progress: bool = False
    evidence: bool = True
    _value: ClassVar[Value]

    def fit(
        self: _Self,
        X: Any,
        y: Any,
        X_valid: Any = None,
        y_valid: Any = None,
        *,
        groups: Any = None,
        sample_weight: Any = None,
    ) -> _Self:
        """Value the rows of ``X``, or the groups they form.

        Without validation data the rows are cross-fitted: each is a validation row in one of ``cv`` folds and
        valued in the others, and its value is the mean over these, see `CrossFitGame`. With ``groups`` the
        rows of each group are split. Give validation data if you have rows whose labels you trust.

        With ``cv=None`` the share ``valid_fraction`` of the rows becomes the validation set, and only the
        others are valued, in their order. Validation rows are drawn class by class, by
        `sklearn.model_selection.train_test_split` with ``random_state``; with ``groups`` whole groups are
        drawn, class by class if no group mixes classes. The ``strata`` of ``sampler`` have a
        class for each row of ``X``, or for each group in the order of the sorted group names.

        Parameters
        ----------
        X : DataFrame, array or sparse matrix of shape (n_rows, n_features)
            Training rows.
        y : array-like of shape (n_rows,)
            Their classes, or for a regressor numbers.
        X_valid, y_valid : same kinds as X and y, optional
            Validation rows and their classes; both or neither.
        groups : array-like of shape (n_rows,), optional
            The owner of each row: rows of one group enter together, and groups are valued.
        sample_weight : array-like of shape (n_rows,), optional
            Weights that multiply the position weights.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        TypeError, ValueError
            If an argument cannot be used; the message names it.
        RuntimeError
            If ``estimator`` cannot be fitted or scored.
        """
        regression = self.estimator is not None and is_regression(self.estimator)
        if (X_valid is None) != (y_valid is None):
            missing = "X_valid" if X_valid is None else "y_valid"
            raise ValueError(f"{missing} is missing: give X_valid and y_valid together, or neither")
        if X_valid is None and self.checkpoint is not None and self.random_state is None:
            raise ValueError(
                "random_state is None, expected an integer, so that fit makes the same split again when it "
                "resumes a checkpoint; or give X_valid and y_valid"
            )
        sampler = as_sampler(self.sampler, "sampler")
        self._rule(1)  # reports errors before the work
        X = arrays.indexable(X, "X")
        self.train_indices_ = self.valid_indices_ = None
        game: CrossFitGame | RowGame
        if X_valid is None and self.cv is not None:
            options = {"groups": groups, "sample_weight": sample_weight, "regression": regression}
            game = CrossFitGame(self._game, X, y, cv=self.cv, random_state=self.random_state, **options)
        elif X_valid is None:
            n = X.shape[0]
            arrays.warn_of_order(X, "X", y=y, groups=groups, sample_weight=sample_weight)
            y = (arrays.as_targets if regression else arrays.as_labels)(y, "y", n, "row of X")
            groups = None if groups is None else arrays.as_names(groups, "groups", n, "row of X")
            if sample_weight is not None:
                sample_weight = arrays.as_column(sample_weight, "sample_weight", n, "row of X")
            train, valid = _split(y, groups, self.valid_fraction, self.random_state, not regression)
            if sampler.strata is not None:
                sampler = _of_training_rows(sampler, X, groups, train)
            X_valid, y_valid = arrays.take(X, valid), y[valid]
            X, y = arrays.take(X, train), y[train]
            groups, sample_weight = (None if a is None else a[train] for a in (groups, sample_weight))
            self.train_indices_, self.valid_indices_ = train, valid

        if X_valid is not None:
            game = self._game(X, y, X_valid, y_valid, groups=groups, sample_weight=sample_weight)
        self.game_ = game
        valuation = sample_values(
            game,
            self._kind(),
            sampler,
            stopping=self._rule(len(game._folds)),
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            checkpoint=self.checkpoint,
            progress=self.progress,
        )
        if valuation.player_names is None and self.train_indices_ is not None:
            # Rows without names are named by their positions in the X that was passed.
            valuation = replace(valuation, player_names=self.train_indices_)
        if arguments.flag("evidence", self.evidence) and not regression and groups is None:
            rows = (X, y, X_valid, y_valid)
            found = label_evidence(*rows, random_state=self.random_state, n_jobs=self.n_jobs)
            valuation = replace(valuation, evidence=found)
        self.valuation_ = valuation
        self.values_ = valuation.values
        self.classes_ = game.classes_
        self._remember_features(X)
        return self

    def __getattr__(self, name: str) -> Any:
        kind = type(self).__name__
        if name in _FITTED and "valuation_" not in vars(self):
            raise NotFittedError(f"{kind} has no {name} before it is fitted: call fit(X, y) first")
        raise AttributeError(f"{kind!r} object has no attribute {name!r}")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _rule(self, n_folds: int) -> StoppingRule:
        rule = as_rule(self.stopping, self.n_permutations, n_folds)
        if self.max_seconds is None:
            return rule
        return rule | MaxSeconds(arguments.number("max_seconds", self.max_seconds, above=0.0))

    def _kind(self) -> Value:
        """Return the value, with the estimator's size weights if it has any."""
        weights = getattr(self, "size_weights", None)
        return self._value if weights is None else type(self._value)(weights)  # type: ignore[call-arg]

    def _game(self, *rows: Any, **options: Any) -> RowGame:
        options["position_weight"] = getattr(self, "position_weight", "uniform")
        options["empty_value"] = self.empty_value
        of_models = {name: getattr(self, name) for name in ("compiled", "fit_transformers", "error_score")}
        if self.estimator is None:
            for name, value in of_models.items():
                if value != getattr(type(self), name):
                    raise ValueError(f"{name} is {value!r}, which requires an estimator")
            scoring = "accuracy" if self.scoring is None else self.scoring
            return LogisticGame(*rows, C=self.C, scoring=scoring, **options)
        if not (isinstance(self.C, Real) and self.C == 1.0):
            raise ValueError(f"C is {self.C!r}, which is for estimator=None: set C in the estimator")
        return game_for(self.estimator, *rows, scoring=self.scoring, **of_models, **options)

    def _remember_features(self, X: Any) -> None:
        self.n_features_in_ = X.shape[1]
        names = frames.columns_of(X)
        if names and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_


def _of_training_rows(
    sampler: PermutationSampler, X: Any, groups: NDArray[Any] | None, train: NDArray[np.intp]
) -> PermutationSampler:
    """Return the sampler with the strata of the valued rows, or of the valued groups in sorted order."""
    if groups is None:
        strata = sampler.matched(X, "X").strata
        return replace(sampler, strata=arrays.as_column(strata, "strata", X.shape[0], "row of X")[train])
    names = np.unique(groups)
    strata = sampler.matched(SimpleNamespace(player_names=names), "the groups").strata
    strata = arrays.as_column(strata, "strata", len(names), "group")
    return replace(sampler, strata=strata[np.isin(names, groups[train])])


def _split(
    y: NDArray[Any], groups: NDArray[Any] | None, valid_fraction: float, random_state: Any, by_class: bool
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return positions of training and validation rows, each in increasing order.

    With `by_class`, y are classes, which are split in proportion and all occur among the training rows.
    """
    valid_fraction = arguments.number("valid_fraction", valid_fraction, above=0.0, below=1.0)
    arrays.encode(y, "y")  # raises an error that names y if labels of mixed types cannot be sorted
    if groups is None:
        units, unit_classes = np.arange(len(y)), y
    else:
        units = arrays.encode(groups, "groups")[1]
        unit_classes = y[np.unique(units, return_index=True)[1]]
    stratify = unit_classes if by_class and np.array_equal(unit_classes[units], y) else None
    hint = "pass X_valid and y_valid to choose the validation rows yourself"
    if stratify is not None:
        names, sizes = np.unique(stratify, return_counts=True)
        if sizes.min() < 2:
            unit = "row" if groups is None else "group"
            raise ValueError(
                f"y has a single {unit} of class {names[sizes.argmin()]!s}, which cannot be both "
                f"valued and in the validation set: {hint}"
            )
    state = sklearn_state(random_state)
    try:
        kept, drawn = train_test_split(
            np.arange(units.max() + 1),
            test_size=valid_fraction,
            stratify=stratify,
            random_state=state,
        )
    except ValueError as error:
        raise ValueError(
            f"valid_fraction {valid_fraction} does not split these rows ({error}): {hint}"
        ) from error
    train, valid = (np.flatnonzero(np.isin(units, part)) for part in (kept, drawn))
    lost = np.setdiff1d(y, y[train])
    if by_class and lost.size:
        raise ValueError(
            f"valid_fraction {valid_fraction} leaves no training row of class {lost[0]!s}: {hint}"
        )
    return train, valid


@dataclass(eq=False, repr=False)
class _OrderedShapley(_ShapleyEstimator):
    """Base of the estimators with position weights."""

    position_weight: Any = field(default="gaussian", kw_only=True)


@dataclass(eq=False, repr=False)
class OrdinalShapley(_OrderedShapley):
    """Ordinal Shapley values of training rows, for weighted logistic regression or any model.

    A row's value is what it adds on average over all positions at which it may enter a sequence, not only
    the last.

    Parameters
    ----------
    estimator : classifier, regressor or pipeline, optional
        Any scikit-learn model, see `game_for`. By default the logistic regression of `LogisticGame`.
    position_weight : {"gaussian", "uniform"}, default "gaussian"
        Weight of a row in the model by its position in the sequence.
    size_weights : SizeWeights or array-like of shape (n_players,), optional
        Weights of the numbers of other rows, as for `Ordinal`: with `sizes_up_to` only small sets of rows
        are fitted.
    compiled : {"auto", True, False}, default "auto"
        Whether ``estimator`` is compiled: "auto" where possible, True always (else a ValueError), or never.
    fit_transformers : {"once", "each"}, default "once"
        Whether all steps but the last of a pipeline are fitted "once", to all training rows, or to "each"
        sequence, in Python.
    C : float, default 1.0
        Inverse strength of the L2 penalty of the logistic regression.
    scoring : {"accuracy", "balanced_accuracy", "f1", "roc_auc", "neg_log_loss"}, optional
        The utility, on validation rows; default "accuracy". With ``estimator`` any scorer's name or a
        function, and by default "r2" for a regressor.
    empty_value : "majority" or float, default "majority"
        Utility of a sequence without a model.
    error_score : "raise" or float, default "raise"
        Utility of a sequence for which ``estimator`` fails.
    cv : int, splitter, iterable or None, default 5
        Folds of cross-fitting if ``fit`` gets no validation data, see `CrossFitGame`. With None some rows are
        the validation set; they are not valued, so their label errors go undetected.
    valid_fraction : float, default 0.3
        With ``cv=None``, the share of the rows (or groups) to use as validation set.
    sampler : PermutationSampler or {"auto", "mc", "tmc", "cmc", "ctmc"}, default "auto"
        How permutations are sampled, by default unbiased: the ``method`` of
        `ordinal_shapley.sample_values`.
    max_seconds : float, optional
        Limit on the time of sampling, in addition to other stopping rules; values are those at that time.
    random_state : int, Generator, RandomState or None
        Makes the split and the permutations reproducible.
    stopping, n_permutations, n_jobs, checkpoint, progress
        As in `ordinal_shapley.sample_values`.
    evidence : bool, default True
        Whether to predict each row's label by a random forest that was not trained on the row, to show beside
        the values, see `ordinal_shapley.experiments.self_confidence`. Not for regressors or ``groups``.

    Attributes
    ----------
    values_ : ndarray of shape (n_players,)
        The value of each training row (or group), in order.
    valuation_ : Valuation
        The same with standard errors and row labels: the DataFrame's index, or the position in ``X`` if
        ``fit`` made the split.
    game_ : CrossFitGame, LogisticGame or what `game_for` returns
        The game whose players the rows are.
    classes_ : ndarray or None
        The classes; None for a regressor.
    train_indices_, valid_indices_ : ndarray or None
        With ``cv=None``, positions in ``X`` of the rows valued and of the validation rows; else None.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names; only if ``X`` is a DataFrame whose columns are all strings.

    See Also
    --------
    PartialOrdinalShapley : The value of rows that join at the end.
    ClassicShapley : The classic value, for rows whose order does not matter.

    References
    ----------
    arXiv:2305.01660, "Data valuation: The partial ordinal Shapley value for machine learning", whose first
    theorem defines the value.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from ordinal_shapley import OrdinalShapley
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> X[:] = StandardScaler().fit_transform(X)
    >>> model = OrdinalShapley(n_permutations=100, random_state=0).fit(X, y)
    >>> model.values_.shape, [len(valid) for _, valid in model.game_.splits]
    ((178,), [36, 36, 36, 35, 35])
    """

    size_weights: Any = field(default=None, kw_only=True)
    _value = Ordinal()


class PartialOrdinalShapley(_OrderedShapley):
    """Partial ordinal Shapley values of training rows, for weighted logistic regression or any model.

    A row's value is what it adds on average when it joins at the end of a sequence.

    Parameters
    ----------
    estimator, position_weight, compiled, fit_transformers, C, scoring, empty_value, error_score, \
cv, valid_fraction, sampler, stopping, n_permutations, max_seconds, random_state, n_jobs, checkpoint, \
progress, evidence
        As for `OrdinalShapley`, which also lists the attributes.

    See Also
    --------
    OrdinalShapley : The value of rows that may join at any position.
    ClassicShapley : The classic value, for rows whose order does not matter.

    References
    ----------
    arXiv:2305.01660, "Data valuation: The partial ordinal Shapley value for machine learning".

    Examples
    --------
    The paper's CTMC algorithm:

    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ordinal_shapley import PartialOrdinalShapley
    >>> X, y = load_wine(return_X_y=True)
    >>> X = scale(X)
    >>> model = PartialOrdinalShapley(sampler="ctmc", n_permutations=20, random_state=0)
    >>> model.fit(X[::2], y[::2], X[1::2], y[1::2]).values_.shape
    (89,)
    """

    _value = PartialOrdinal()


@dataclass(eq=False, repr=False)
class ClassicShapley(_ShapleyEstimator):
    """Classic Shapley values of training rows, for logistic regression or any model (Data Shapley).

    Every row has the same weight at any position, so only the set of rows matters. Use this unless your rows
    have an order that training follows.

    Parameters
    ----------
    estimator, compiled, fit_transformers, C, scoring, empty_value, error_score, cv, valid_fraction, \
sampler, stopping, n_permutations, max_seconds, random_state, n_jobs, checkpoint, progress, \
evidence, size_weights
        As for `OrdinalShapley`, which also lists the attributes.

    See Also
    --------
    OrdinalShapley : The value where order matters.

    References
    ----------
    A. Ghorbani and J. Zou, "Data Shapley: Equitable Valuation of Data for Machine Learning",
    ICML 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ordinal_shapley import ClassicShapley
    >>> X, y = load_wine(return_X_y=True)
    >>> X = scale(X)
    >>> model = ClassicShapley(n_permutations=20, random_state=0)
    >>> model.fit(X[::2], y[::2], X[1::2], y[1::2]).values_.shape
    (89,)

    For any other model:

    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> model = ClassicShapley(KNeighborsClassifier(1), n_permutations=20, random_state=0)
    >>> model.fit(X[::4], y[::4], X[1::2], y[1::2]).valuation_.model
    'KNeighborsClassifier(n_neighbors=1), compiled'
    """

    size_weights: Any = field(default=None, kw_only=True)
    _value = Classic()
