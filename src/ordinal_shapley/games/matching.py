"""The compiled game that is equivalent to a scikit-learn model, if there is one."""

from __future__ import annotations

import math
from collections.abc import Callable
from inspect import signature
from numbers import Real
from typing import Any, NamedTuple

from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils.class_weight import compute_class_weight

from ordinal_shapley.common import arguments, arrays, frames
from ordinal_shapley.common.parallel import one_thread
from ordinal_shapley.games._failures import message_of
from ordinal_shapley.games._rows import PositionWeight, RowGame
from ordinal_shapley.games._trainer import is_regression, with_seeds
from ordinal_shapley.games.estimator import EstimatorGame, as_error_score, in_short
from ordinal_shapley.games.logistic import LogisticGame
from ordinal_shapley.games.neighbors import NearestNeighborGame
from ordinal_shapley.games.neighbors_regressor import NearestNeighborRegressorGame
from ordinal_shapley.games.ridge import RidgeGame
from ordinal_shapley.games.ridge_classifier import RidgeClassifierGame
from ordinal_shapley.vocabulary import (
    NEIGHBOR_SCORINGS,
    REGRESSION_SCORINGS,
    RIDGE_CLASSIFIER_SCORINGS,
    SCORINGS,
    check_choice,
)

_FREE_SOLVERS = ("lbfgs", "newton-cg", "newton-cholesky", "sag", "saga")


class _NotCompiledError(Exception):
    """Reason why no compiled game is equivalent to a model."""


class _Task(NamedTuple):
    """Arguments besides the model that decide whether there is a compiled game."""

    n_classes: int
    weighted: bool


class _Match(NamedTuple):
    """The game of a class of models, its scores, and the translation of parameters to options.

    `handled` parameters are translated, or do not affect a converged model; all others must have their
    defaults.
    """

    game: type[Any]
    scorings: tuple[str, ...]
    translate: Callable[[Any, _Task], dict[str, Any]]
    handled: str


def game_for(
    estimator: Any,
    X: Any,
    y: Any,
    X_valid: Any,
    y_valid: Any,
    *,
    compiled: bool | str = "auto",
    fit_transformers: str = "once",
    position_weight: PositionWeight = "uniform",
    scoring: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    empty_value: str | float = "majority",
    error_score: str | float = "raise",
    random_state: int = 0,
) -> RowGame:
    """Return the game of a scikit-learn model: a compiled one if an equivalent one exists.

    Compiled are ``LogisticRegression`` with an L2 penalty, alone or in a ``OneVsRestClassifier``, ``Ridge``,
    ``RidgeClassifier``, and ``KNeighborsClassifier`` and ``KNeighborsRegressor`` with Euclidean distances.
    Any other model, and a subclass of one of these, is refitted in Python.

    Parameters
    ----------
    estimator : classifier, regressor or pipeline
        Unfitted model with scikit-learn's interface.
    X : DataFrame, array or sparse matrix of shape (n_rows, n_features)
        Training rows.
    y : array-like of shape (n_rows,)
        Their classes, or for a regressor numbers.
    X_valid, y_valid : same kinds as X and y
        Validation rows.
    compiled : {"auto", True, False}, default "auto"
        "auto": compiled where possible. True: a ValueError says why it is not. False: always in Python.
    fit_transformers : {"once", "each"}, default "once"
        For a pipeline. "once": the steps before the last are fitted once, to all training rows and their
        labels, and rows of a sequence are taken from what they return. "each": all steps are fitted to each
        sequence, in Python.
    position_weight : {"uniform", "gaussian"} or callable, default "uniform"
        As for `LogisticGame`, but rows have equal weights by default. In Python all but "uniform" require a
        model whose ``fit`` takes weights.
    scoring : str or callable, optional
        As for `EstimatorGame`: by default "accuracy", for a regressor "r2". Compiled are the scores that the
        compiled game has.
    groups, sample_weight : array-like, optional
        As for `LogisticGame`.
    empty_value : "majority" or float, default "majority"
        Utility of sequences without a model; for a regressor "majority" stands for the mean.
    error_score : "raise" or float, default "raise"
        In Python: utility of a sequence whose fit or score fails.
    random_state : int, default 0
        Seed for the parts of the model that have none; a compiled model needs no seed.

    Returns
    -------
    LogisticGame, RidgeGame, NearestNeighborGame or EstimatorGame
        The game; its ``model`` says in words which model is fitted, whether it is compiled and why not.

    Raises
    ------
    TypeError, ValueError
        If an argument cannot be used; the message names it.

    Notes
    -----
    A compiled model is the fully converged one, whatever ``tol`` and ``max_iter`` are. A sequence that lacks
    a class, or gives one no positive weight, has utility ``empty_value``; but neighbours have a model for
    every sequence except the empty one, and all rows vote where there are fewer than ``n_neighbors``.

    Transformers that are fitted once have seen all training rows, also those that are not in a sequence.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"]
    >>> model = make_pipeline(StandardScaler(), LogisticRegression(solver="liblinear"))
    >>> game = osv.game_for(model, X, y, [[0.2], [0.9], [2.8]], ["no", "no", "yes"])
    >>> game.model
    "LogisticRegression(solver='liblinear'), compiled; StandardScaler fitted once, to all 4 training rows"
    >>> game([0, 3])
    1.0
    """
    regression = is_regression(estimator)
    if not (isinstance(compiled, str) and compiled == "auto"):
        compiled = arguments.flag("compiled", compiled)
    check_choice("fit_transformers", fit_transformers, ("once", "each"))
    seed = arguments.integer("random_state", random_state, min=0, max=2**32 - 1)
    model, rows, words = with_seeds(estimator, seed), (X, y, X_valid, y_valid), ""
    shown = estimator
    if fit_transformers == "once" and type(estimator) is Pipeline:
        model, rows, words = _transformed(model, rows, regression, groups, sample_weight)
        shown = _last(estimator)
    shared: dict[str, Any] = {
        "position_weight": position_weight,
        "groups": groups,
        "sample_weight": sample_weight,
        "empty_value": empty_value,
    }
    game: RowGame | None = None
    way = "fitted in Python"
    if compiled:
        uniform = isinstance(position_weight, str) and position_weight == "uniform"
        try:
            match, options = _matched(model, y, scoring, sample_weight is not None or not uniform)
        except _NotCompiledError as reason:
            if compiled is True:
                raise ValueError(f"compiled is True, but {reason}") from None
            way += f" ({reason})"
        else:
            as_error_score(error_score)  # only checked, as no fit fails
            if regression and isinstance(empty_value, str) and empty_value == "majority":
                shared["empty_value"] = "mean"
            if scoring is not None:
                options["scoring"] = scoring
            game, way = match.game(*rows, **shared, **options), "compiled"
    if game is None:
        game = EstimatorGame(
            model, *rows, **shared, scoring=scoring, error_score=error_score, random_state=seed
        )
    if words and groups is None:
        game.player_names = frames.row_labels(X)
    game._model = f"{in_short(shown)}, {way}{words}"
    return game


def _last(estimator: Any) -> Any:
    """The model at the end of a pipeline, which may end in another pipeline."""
    return _last(estimator[-1]) if type(estimator) is Pipeline else estimator


def _transformed(
    pipeline: Pipeline, rows: tuple[Any, Any, Any, Any], regression: bool, groups: Any, sample_weight: Any
) -> tuple[Any, tuple[Any, Any, Any, Any], str]:
    """Fit all steps but the last to the training rows; return the last, its rows, and a description."""
    X, y, X_valid, y_valid = rows
    X, X_valid = arrays.model_rows(X, "X"), arrays.model_rows(X_valid, "X_valid")
    arrays.warn_of_order(X, "X", y=y, groups=groups, sample_weight=sample_weight)
    arrays.warn_of_order(X_valid, "X_valid", y_valid=y_valid)
    n = X.shape[0]
    y = (arrays.as_targets if regression else arrays.as_labels)(y, "y", n, "row of X")
    model: Any = pipeline
    names: list[str] = []
    while type(model) is Pipeline:
        steps, model = model[:-1], model[-1]
        names += [type(step).__name__ for _, step in steps.steps if not isinstance(step, str | None)]
        if not len(steps):
            continue
        try:
            # With more threads the order of sums, and so their bits, would depend on the machine.
            with one_thread():
                X, X_valid = steps.fit_transform(X, y), steps.transform(X_valid)
        except Exception as error:
            reason = f"{type(error).__name__}: {' '.join(message_of(error).split())}"
            raise ValueError(
                f"estimator is a pipeline whose transformers cannot be fitted to X and applied to X_valid "
                f"({reason})"
            ) from error
    words = f"; {', '.join(names)} fitted once, to all {n:,} training rows" if names else ""
    return model, (X, y, X_valid, y_valid), words


def _matched(model: Any, y: Any, scoring: Any, weighted: bool) -> tuple[_Match, dict[str, Any]]:
    """Return the compiled game of a model and its options; `_NotCompiledError` if there is none."""
    match = _MATCHES.get(type(model))
    if type(model) is Pipeline:
        raise _NotCompiledError("fit_transformers='each' fits all steps of a pipeline to each sequence")
    if match is None:
        raise _NotCompiledError(f"{type(model).__name__} has no compiled game")
    n_classes = len(arrays.encode(arrays.as_array(y, "y"), "y")[0])
    _check_rest(model, match.handled)
    options = match.translate(model, _Task(n_classes, weighted))
    if not (scoring is None or (isinstance(scoring, str) and scoring in match.scorings)):
        shown = scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "a function")
        raise _NotCompiledError(f"scoring={shown} is not among the scores of {match.game.__name__}")
    return match, options


def _check_rest(model: Any, handled: str) -> None:
    """Check that parameters that are not `handled` have their defaults, also those of later versions."""
    defaults = signature(type(model)).parameters
    for name, value in model.get_params(deep=False).items():
        if name not in handled.split() and not _is_same(value, defaults[name].default):
            raise _not_covered(model, name)


def _is_same(value: Any, default: Any) -> bool:
    return value is default or (isinstance(value, type(default)) and bool(value == default))


def _not_covered(model: Any, name: str, when: str = "") -> _NotCompiledError:
    value = in_short(getattr(model, name))
    return _NotCompiledError(f"{name}={value} of {type(model).__name__} is not compiled{when}")


def _logistic(model: LogisticRegression, task: _Task) -> dict[str, Any]:
    # Until 1.7 there is `multi_class`, from 1.8 on `l1_ratio` and `C` replace `penalty`.
    penalty = getattr(model, "penalty", "deprecated")
    if penalty not in ("l2", "deprecated"):
        raise _not_covered(model, "penalty")
    if penalty == "deprecated" and model.l1_ratio:
        raise _not_covered(model, "l1_ratio")
    if model.dual and model.solver != "liblinear":
        raise _not_covered(model, "dual")
    if isinstance(model.C, Real) and math.isinf(model.C):
        raise _not_covered(model, "C")
    liblinear, several = model.solver == "liblinear", task.n_classes > 2
    scheme = getattr(model, "multi_class", "removed")
    if liblinear and several and scheme == "removed":
        raise _not_covered(model, "solver", " for more than two classes, nor fitted by scikit-learn")
    if not liblinear and model.solver not in _FREE_SOLVERS:
        raise _not_covered(model, "solver")
    if liblinear and model.fit_intercept and model.intercept_scaling != 1:
        raise _not_covered(model, "intercept_scaling")
    if scheme == "multinomial" and not several:  # for both classes, for which others have one model
        raise _not_covered(model, "multi_class", " for two classes")
    _check_balance(model, task)
    free = "penalized" if liblinear else "free"
    return {
        "C": model.C,
        "fit_intercept": free if model.fit_intercept else "none",
        "multi_class": "multinomial" if several and not liblinear and scheme != "ovr" else "ovr",
        "class_weight": model.class_weight,
    }


def _check_balance(model: Any, task: _Task) -> None:
    """Refuse older versions of scikit-learn, which balance classes without regard to weights."""
    balanced = isinstance(model.class_weight, str) and task.weighted
    if balanced and "sample_weight" not in signature(compute_class_weight).parameters:
        raise _not_covered(model, "class_weight", " with weights, which this version of scikit-learn ignores")


def _one_vs_rest(model: OneVsRestClassifier, task: _Task) -> dict[str, Any]:
    inner = model.estimator
    if type(inner) is not LogisticRegression:
        raise _NotCompiledError(f"{type(inner).__name__} one against the rest has no compiled game")
    _check_rest(inner, _LOGISTIC)
    if inner.class_weight is not None:  # one class against the rest
        raise _not_covered(inner, "class_weight", " one against the rest")
    return _logistic(inner, task._replace(n_classes=2))


def _ridge(model: Any, task: _Task) -> dict[str, Any]:
    if not (isinstance(model.alpha, Real) and float(model.alpha) > 0):
        raise _not_covered(model, "alpha")
    return {"alpha": model.alpha, "fit_intercept": model.fit_intercept}


def _ridge_classifier(model: RidgeClassifier, task: _Task) -> dict[str, Any]:
    return {**_ridge(model, task), "class_weight": model.class_weight}


def _neighbors(model: Any, task: _Task) -> dict[str, Any]:
    if model.metric != "euclidean" and (model.metric != "minkowski" or model.p != 2):
        raise _not_covered(model, "p" if model.metric == "minkowski" else "metric")
    if not isinstance(model.weights, str):
        raise _not_covered(model, "weights")
    return {"n_neighbors": model.n_neighbors, "weights": model.weights}


_LOGISTIC = (
    "C class_weight dual fit_intercept intercept_scaling l1_ratio max_iter multi_class n_jobs penalty "
    "random_state solver tol verbose"
)
_RIDGE = "alpha copy_X fit_intercept max_iter random_state solver tol"
_NEIGHBORS = "algorithm leaf_size metric n_jobs n_neighbors p weights"
_MATCHES: dict[type, _Match] = {
    LogisticRegression: _Match(LogisticGame, SCORINGS, _logistic, _LOGISTIC),
    OneVsRestClassifier: _Match(LogisticGame, SCORINGS, _one_vs_rest, "estimator n_jobs verbose"),
    Ridge: _Match(RidgeGame, REGRESSION_SCORINGS, _ridge, _RIDGE),
    RidgeClassifier: _Match(
        RidgeClassifierGame, RIDGE_CLASSIFIER_SCORINGS, _ridge_classifier, f"{_RIDGE} class_weight"
    ),
    KNeighborsClassifier: _Match(NearestNeighborGame, NEIGHBOR_SCORINGS, _neighbors, _NEIGHBORS),
    KNeighborsRegressor: _Match(NearestNeighborRegressorGame, REGRESSION_SCORINGS, _neighbors, _NEIGHBORS),
}
