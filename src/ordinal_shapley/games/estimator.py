"""Any scikit-learn model: the utility of a sequence is the score of the model trained on it."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import f1_score, get_scorer, log_loss, make_scorer

from ordinal_shapley.common import arguments, arrays, frames
from ordinal_shapley.common.parallel import Prefer
from ordinal_shapley.games._failures import message_of
from ordinal_shapley.games._fingerprint import fingerprint, fingerprint_of_rows
from ordinal_shapley.games._rows import PositionWeight, RowGame
from ordinal_shapley.games._scorers import KnownClasses, KnownNumbers, try_scorer
from ordinal_shapley.games._scores import check_score, check_spread, majority_score
from ordinal_shapley.games._trainer import (
    Memory,
    Trainer,
    as_score,
    is_regression,
    quiet,
    weight_name,
    with_seeds,
)
from ordinal_shapley.games.function import Callback
from ordinal_shapley.vocabulary import SCORINGS
from ordinal_shapley_kernels.estimator import make_workspace

_MAX_KEPT = 100_000_000
_MAX_SHOWN = 120  # maximum characters of a model
_MIN_FIT = 1e-4  # seconds; a faster fit was cached


class EstimatorGame(RowGame):
    r"""Any scikit-learn model: the utility is its score on validation rows.

    A clone of ``estimator`` is fitted to the rows in order of entry, with the weights of their positions as
    ``sample_weight``. The utility of a sequence that lacks a class, for a regressor of the empty one only, is
    ``empty_value``.

    Utilities are cached, so each worker fits a sequence only once. With ``n_jobs`` workers are processes.
    Each fit runs with one thread of BLAS and OpenMP, so results do not depend on ``n_jobs``.

    Parameters
    ----------
    estimator : classifier, regressor or pipeline
        Unfitted model with scikit-learn's interface. Parts whose ``random_state`` is None get that of the
        game.
    X : DataFrame, array or sparse matrix of shape (n_rows, n_features)
        Training rows, passed to the model unchanged: a pipeline may encode categories or fill in missing
        values.
    y : array-like of shape (n_rows,)
        Their classes, or for a regressor numbers.
    X_valid, y_valid : same kinds as X and y
        Validation rows; their classes must all occur in ``y``.
    position_weight : {"gaussian", "uniform"} or callable, default "gaussian"
        As for `LogisticGame`. All but "uniform" require a model whose ``fit`` takes weights.
    scoring : str or callable, optional
        A name that ``sklearn.metrics.get_scorer_names()`` lists, or ``scoring(model, X_valid, y_valid)``,
        which returns a number. By default "accuracy", for a regressor "r2". "f1" and "neg_log_loss" are as
        for `LogisticGame`: F1 of the second class, or the macro average for more than two.
    groups, sample_weight : array-like, optional
        As for `LogisticGame`.
    empty_value : "majority" or float, default "majority"
        Utility of sequences without a model. "majority": the score of always predicting the majority class
        of the validation rows, or for a regressor the mean of ``y_valid``.
    error_score : "raise" or float, default "raise"
        Utility of a sequence whose fit or score fails. "raise" stops with an error that names it.
    order_free : bool, optional
        Whether a set of rows is always passed to ``fit`` in the same order, so that the order of entry does
        not matter. By default True if all positions have the same weight. Use False for models that are
        trained row by row.
    weight_name : str, optional
        Name under which ``fit`` takes weights, such as "clf__sample_weight". By default it is found for
        models with ``sample_weight``, for pipelines (that of their last step), searches and votes.
    random_state : int, default 0
        Seed for the parts of the model that have none.
    cache_size : int, default 100,000
        Utilities that each worker caches, at about 200 bytes each; 0 for none.

    Attributes
    ----------
    n_players, order_free, player_names, player_classes, player_sizes
        See `Game`.
    classes_ : ndarray or None
        Sorted classes; None for a regressor.
    estimator : object
        The model that is cloned for each fit.
    n_rows : int
        Training rows.
    empty_value_ : float
        The empty value as a number.

    Raises
    ------
    TypeError, ValueError
        If an argument cannot be used; the message names it.

    See Also
    --------
    game_for : The compiled game of a model, where there is one.

    Notes
    -----
    Nothing is fitted before the game is used. A run begins with two fits of all rows in their given order. If
    they fail, so does the run, with a RuntimeError; if their scores differ, a UserWarning says that values
    depend on the seed. Warnings of the first fit are shown; warnings of all other fits are ignored.

    Sampled results pool (`Valuation.merge`) if models, scores and data were the same when the games were
    made. Classes and functions are compared by name, and by code if they are from the model's module or, for
    a scikit-learn model, from the running script or notebook.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"]
    >>> model = DecisionTreeClassifier(max_depth=1)
    >>> game = osv.EstimatorGame(model, X, y, [[0.6], [1.3], [2.8]], ["no", "no", "yes"])
    >>> game([0, 3, 1, 2])
    1.0
    >>> osv.exact_values(game).values.round(3)
    array([0.028, 0.194, 0.028, 0.083])
    """

    _prefer: Prefer = "processes"
    _is_slow = True
    _was_tried = False
    _without_order = "build it with position_weight='uniform' and order_free=True"

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        X_valid: Any,
        y_valid: Any,
        *,
        position_weight: PositionWeight = "gaussian",
        scoring: Any = None,
        groups: Any = None,
        sample_weight: Any = None,
        empty_value: str | float = "majority",
        error_score: str | float = "raise",
        order_free: bool | None = None,
        weight_name: str | None = None,
        random_state: int = 0,
        cache_size: int = 100_000,
    ) -> None:
        regression = is_regression(estimator)
        self._awaits_classes, self._predicts_numbers = not regression, regression
        X, X_valid = arrays.model_rows(X, "X"), arrays.model_rows(X_valid, "X_valid")
        columns, valid_columns = frames.columns_of(X), frames.columns_of(X_valid)
        arrays.check_features(X_valid.shape[1], X.shape[1], valid_columns, columns, "X_valid")
        arrays.warn_of_order(X, "X", y=y, groups=groups, sample_weight=sample_weight)
        arrays.warn_of_order(X_valid, "X_valid", y_valid=y_valid)
        self.n_rows, self._n_valid = n_rows, n_valid = X.shape[0], X_valid.shape[0]
        self.classes_: NDArray[Any] | None = None
        self._n_classes = 1
        if regression:
            y = arrays.as_targets(y, "y", n_rows, "row of X")
            y_valid = arrays.as_targets(y_valid, "y_valid", n_valid, "row of X_valid")
            self._codes, self._truth = np.zeros(n_rows, np.int64), np.zeros(0, np.int64)
        else:
            self.classes_, self._codes, self._truth = arrays.as_classes(y, y_valid, n_rows, n_valid)
            self._n_classes = len(self.classes_)
            y, y_valid = self.classes_[self._codes], self.classes_[self._truth]
        self._scorer, self.scoring = self._read_scoring(scoring)
        try_scorer(self._scorer, self.scoring, self.classes_, self._truth, X_valid, y_valid)
        if regression:
            check_spread(self.scoring, y_valid)
        words = ("mean", "majority") if regression else ("majority",)
        known = not callable(self.scoring)
        self._read_empty_value(empty_value, words, lambda: self._constant_score(X_valid, y_valid), known)
        self._read_players(frames.row_labels(X), groups, None if regression else self._codes)
        if sample_weight is not None:
            sample_weight = self._read_sample_weight(sample_weight)
        self._read_position_weight(position_weight)
        if order_free is not None:
            self.order_free = arguments.flag("order_free", order_free)
            if order_free and not self._weights.uniform:
                raise ValueError(
                    "order_free is True, but positions matter: expected position_weight='uniform'"
                )
        weighted = sample_weight is not None or not self._weights.uniform
        name = _weight_name(estimator, weight_name, weighted)
        seed = arguments.integer("random_state", random_state, min=0, max=2**32 - 1)
        self.estimator = with_seeds(estimator, seed)
        self.error_score = as_error_score(error_score)
        self._model = f"{in_short(estimator)}, fitted in Python"
        self._trainer = Trainer(
            self.estimator,
            name,
            (X, y, X_valid, y_valid),
            self._scorer,
            self._row_scorer(X_valid, y_valid),
            self._player_rows,
            self._player_starts,
            self._weights,
            sample_weight,
            None if isinstance(self.error_score, str) else self.error_score,
            self.order_free,
            Memory(arguments.integer("cache_size", cache_size, max=_MAX_KEPT, min=0)),
        )
        # Classes of scikit-learn count by name, others by code.
        is_sklearns = type(estimator).__module__.split(".")[0] == "sklearn"
        self._described = {
            "estimator": fingerprint(self.estimator, "__main__" if is_sklearns else None),
            "X": fingerprint_of_rows(X),
            "y": fingerprint((y, y_valid)),
            "X_valid": fingerprint_of_rows(X_valid),
            "groups": fingerprint((self._player_rows, self._player_starts)),
            "position_weight": fingerprint((self._weights.kind, self._weights.table)),
            "sample_weight": fingerprint(sample_weight),
            "scoring": self.scoring if isinstance(self.scoring, str) else fingerprint(self.scoring),
            "empty_value": self.empty_value_,
            "error_score": self.error_score,
            "order_free": self.order_free,
            "weight_name": name,
        }
        self._callback = Callback(
            self._trainer,
            self.n_players,
            fingerprint(self._described),
            f"estimator {self._name}",
            " (error_score=NUMBER goes on with that utility)",
        )

    def _read_scoring(self, scoring: Any) -> tuple[Any, Any]:
        """Return the scorer and its name."""
        if scoring is None:
            scoring = "r2" if self.classes_ is None else "accuracy"
        if callable(scoring):
            return scoring, scoring
        if self.classes_ is not None and isinstance(scoring, str) and scoring in SCORINGS:
            check_score(scoring, self.classes_, self._truth)
            if scoring == "accuracy":
                return _accuracy, scoring
            if scoring == "f1":
                options = {"pos_label": self.classes_[1]} if self._n_classes == 2 else {"average": "macro"}
                return make_scorer(f1_score, zero_division=0.0, **options), scoring
            if scoring == "neg_log_loss":
                options = {"response_method": "predict_proba", "labels": self.classes_}
                return make_scorer(log_loss, greater_is_better=False, **options), scoring
        try:
            return get_scorer(scoring), scoring
        except (TypeError, ValueError):
            raise ValueError(
                f"scoring is {scoring!r}, expected a function or a name such as 'accuracy' or 'r2' "
                "(sklearn.metrics.get_scorer_names() lists them)"
            ) from None

    def _row_scorer(self, X_valid: Any, y_valid: NDArray[Any]) -> _RowScorer | None:
        """Return the scorer of validation rows, if the score is their mean."""
        kind = _ROW_SCORES.get(self.scoring) if isinstance(self.scoring, str) else None
        return None if kind is None else _RowScorer(kind, X_valid, y_valid, self.scoring == "accuracy")

    def _constant_score(self, X_valid: Any, y_valid: NDArray[Any]) -> float:
        constant: Any
        if self.classes_ is None:
            constant = KnownNumbers(np.full(len(y_valid), np.mean(y_valid)))
        elif isinstance(self.scoring, str) and self.scoring in SCORINGS:
            return majority_score(self.scoring, self._truth, self._n_classes)
        else:
            majority = np.bincount(self._truth).argmax()
            constant = KnownClasses(self.classes_, np.full(len(y_valid), majority))
        try:
            with quiet():
                value = as_score(self._scorer(constant, X_valid, y_valid))
            if not math.isfinite(value):
                raise ValueError(f"it is {value}")
        except Exception as error:
            raise ValueError(
                "empty_value is 'majority', but scoring gives a constant prediction no finite score "
                f"({type(error).__name__}: {error}): expected a number, or another scoring"
            ) from error
        return value

    def _expect_walks(self, n_rows: int | None = None) -> bool:
        """Fit all rows before anything else, because most errors of a model appear at once."""
        if self._was_tried:
            return False
        everyone, name = np.arange(self.n_players), self._name
        try:
            began = time.monotonic()
            first = self._trainer.score(everyone)
            between = time.monotonic()
            differs = first != self._trainer(everyone)
            took = time.monotonic() - between
            # The first fit may include loading code, and the second one may be cached.
            self._seconds_per_fit = took if took > _MIN_FIT else between - began
        except Exception as error:
            why = f"{type(error).__name__}: {message_of(error)}"
            raise RuntimeError(f"estimator {name} failed on all rows in their given order: {why}") from error
        self._was_tried = True
        if differs:
            warnings.warn(
                f"fix the seed of estimator {name}: it scores differently each time it is fitted to the same "
                "rows, so the values depend on the seed",
                UserWarning,
                stacklevel=3,
            )
        return False

    _workspace_maker = staticmethod(make_workspace)

    @property
    def _row_shares(self) -> NDArray[np.float64] | None:
        return None if self._trainer.row_scorer is None else super()._row_shares

    @property
    def _payload(self) -> tuple[Any, ...]:
        return (
            self._callback,
            self._player_starts,
            self._player_rows,
            self._codes,
            self._n_classes,
            self.empty_value_,
        )

    def _relative_costs(self, sizes: NDArray[np.int64], jump: bool) -> NDArray[np.float64]:
        # Models are fitted from scratch. Below some hundred rows most of the time is overhead.
        return np.asarray(300.0 + sizes * (self.n_rows / self.n_players))

    @property
    def _settings(self) -> dict[str, Any]:
        return {"game": "EstimatorGame", **self._described}

    def __call__(self, sequence: Sequence[int] | NDArray[np.int64]) -> float:
        """Return the utility of a sequence of distinct players; () is the empty one."""
        players = self._check_sequence(sequence)
        starts, codes = self._player_starts, self._codes[self._player_rows]
        present = {code for p in players for code in codes[starts[p] : starts[p + 1]].tolist()}
        if len(present) < self._n_classes:
            return self.empty_value_
        return self._callback.value(players)

    def _listening(self) -> AbstractContextManager[None]:
        return self._callback.listening()

    @property
    def _name(self) -> str:
        return type(self.estimator).__name__

    def __repr__(self) -> str:
        return (
            f"EstimatorGame({self._name}, {self.n_players} players, {self.n_rows} rows, "
            f"position_weight={self.position_weight!r}, scoring={self.scoring!r})"
        )


class _RowScorer(NamedTuple):
    """Scores each validation row."""

    kind: Callable[[Any, Any, NDArray[Any]], NDArray[Any]]
    X: Any
    y: NDArray[Any]
    mean_is_score: bool  # bit-identical

    def __call__(self, model: Any) -> NDArray[Any]:
        return self.kind(model, self.X, self.y)


def _are_right(model: Any, X: Any, y: NDArray[Any]) -> NDArray[Any]:
    return np.equal(np.asarray(model.predict(X)).ravel(), y)  # type: ignore[no-any-return]


def _log_probabilities(model: Any, X: Any, y: NDArray[Any]) -> NDArray[Any]:
    probabilities = np.asarray(model.predict_proba(X))
    own = probabilities[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return np.asarray(np.log(np.clip(own, np.finfo(own.dtype).eps, 1.0)))


def _squared_errors(model: Any, X: Any, y: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(-np.square(np.asarray(model.predict(X)).ravel() - y))


def _shares_explained(model: Any, X: Any, y: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(1.0 + _squared_errors(model, X, y) / np.square(y - y.mean()).mean())


_ROW_SCORES = {
    "accuracy": _are_right,
    "balanced_accuracy": _are_right,
    "neg_log_loss": _log_probabilities,
    "r2": _shares_explained,
    "neg_mean_squared_error": _squared_errors,
}


def _accuracy(model: Any, X: Any, y: NDArray[Any]) -> float:
    """Score as the scorer of that name does, whose checks would take as long as a small fit."""
    return float(np.mean(_are_right(model, X, y)))


def _weight_name(estimator: Any, given: str | None, weighted: bool) -> str | None:
    """Name under which `fit` gets weights; None if there are none."""
    if given is not None and not isinstance(given, str):
        raise TypeError(f"weight_name is {given!r}, expected a name such as 'clf__sample_weight'")
    if not weighted or given is not None:
        return given if weighted else None
    name = weight_name(estimator)
    if name is None:
        last = getattr(estimator, "steps", None)
        whose = f"last step {type(last[-1][1]).__name__}" if last else "fit"
        raise ValueError(
            f"estimator is {type(estimator).__name__}, whose {whose} takes no sample_weight: expected "
            "position_weight='uniform' and no sample_weight, another model, or the argument's name in "
            "weight_name"
        )
    return name


def in_short(option: Any) -> str:
    """Return a model or a parameter as text on one line."""
    text = " ".join(repr(option).split())
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."


def as_error_score(value: Any) -> str | float:
    """Return "raise" or a number."""
    if isinstance(value, str) and value == "raise":
        return value
    return arguments.number("error_score", value, instead="'raise' or a")
