"""From a scikit-learn model to its game: what is compiled, what is not and why, pipelines, what is said."""

from __future__ import annotations

import time
import warnings
from inspect import signature

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.metrics import accuracy_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import ordinal_shapley as osv
from problems import JIT, random_problem, size

TWO = random_problem(3, n=14, n_valid=25, seed=3)
THREE = random_problem(3, n=15, n_valid=25, n_classes=3, seed=4)
TIGHT = {"tol": 1e-10, "max_iter": 100_000}


def numbers(n=14, n_valid=25, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + n_valid, 3))
    y = X @ [2.0, -1.0, 0.5] + 0.3 * rng.normal(size=n + n_valid) + 5.0
    return X[:n], y[:n], X[n:], y[n:]


NUMBERS = numbers()


def logistic(**options):
    return LogisticRegression(**TIGHT, **options)


def orders(n, count, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.permutation(n)[: rng.integers(n - 4, n + 1)] for _ in range(count)]


def shown(parameter):
    text = repr(parameter) if isinstance(parameter, str | BaseEstimator) else ""
    return text.split(" at 0x")[0]  # the same in every worker


class Slow(ClassifierMixin, BaseEstimator):
    """Takes its time."""

    def fit(self, X, y):
        time.sleep(0.002)
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


# --- what is compiled

COMPILED = [
    (logistic(solver="liblinear"), TWO, "neg_log_loss"),
    (logistic(solver="liblinear", C=0.2, dual=True), TWO, "roc_auc"),
    (logistic(solver="liblinear", fit_intercept=False), TWO, "neg_log_loss"),
    (logistic(solver="liblinear", class_weight="balanced"), TWO, "neg_log_loss"),
    (logistic(), TWO, "neg_log_loss"),
    (logistic(C=0.3), THREE, "neg_log_loss"),
    (logistic(class_weight={0: 2.0, 1: 0.5}), TWO, "roc_auc"),
    (logistic(class_weight="balanced", solver="newton-cholesky"), THREE, "neg_log_loss"),
    (logistic(fit_intercept=False, solver="newton-cg"), THREE, "neg_log_loss"),
    (Ridge(alpha=0.3), NUMBERS, "r2"),
    (Ridge(alpha=2.0, solver="svd", tol=1e-2), NUMBERS, "neg_mean_squared_error"),
    (Ridge(fit_intercept=False), NUMBERS, "r2"),
    (RidgeClassifier(alpha=0.5), TWO, "roc_auc"),
    (RidgeClassifier(fit_intercept=False, class_weight="balanced"), THREE, "balanced_accuracy"),
    (KNeighborsClassifier(3), THREE, "accuracy"),
    (KNeighborsClassifier(4, weights="distance", p=2.0), THREE, "f1"),
    (KNeighborsRegressor(3, weights="distance"), NUMBERS, "neg_mean_squared_error"),
    (KNeighborsRegressor(2), NUMBERS, "r2"),
    (KNeighborsClassifier(1, metric="euclidean", algorithm="brute"), TWO, "balanced_accuracy"),
]


@pytest.mark.parametrize(("model", "problem", "scoring"), COMPILED, ids=shown)
def test_a_compiled_game_is_that_of_the_model(model, problem, scoring):
    takes_weights = "sample_weight" in signature(model.fit).parameters
    for weight in ("uniform", "gaussian") if takes_weights else ("uniform",):
        options = {"position_weight": weight, "scoring": scoring}
        ours = osv.game_for(model, *problem, compiled=True, **options)
        theirs = osv.game_for(model, *problem, compiled=False, **options)
        assert isinstance(theirs, osv.EstimatorGame)
        assert not isinstance(ours, osv.EstimatorGame)
        for sequence in orders(len(problem[1]), size(12, 4)):
            assert ours(sequence) == pytest.approx(theirs(sequence), abs=1e-6)
        assert ours(()) == pytest.approx(theirs(()))


@pytest.mark.parametrize("problem", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("solver", ["liblinear", "lbfgs"])
def test_one_against_the_rest_is_compiled(problem, solver):
    model = OneVsRestClassifier(logistic(solver=solver, C=0.5))
    ours, theirs = (
        osv.game_for(model, *problem, compiled=way, scoring="neg_log_loss") for way in (True, False)
    )
    for sequence in orders(len(problem.y), size(12, 4)):
        assert ours(sequence) == pytest.approx(theirs(sequence), abs=1e-6)


def test_owners_and_weights_of_rows_reach_a_compiled_game():
    rng = np.random.default_rng(0)
    options = {"groups": np.arange(14) % 5, "sample_weight": rng.uniform(0.5, 2.0, 14)}
    model = logistic(solver="liblinear", C=0.7)
    ours, theirs = (
        osv.game_for(model, *TWO, compiled=way, scoring="roc_auc", empty_value=0.25, **options)
        for way in (True, False)
    )
    assert ours.n_players == theirs.n_players == 5
    for sequence in [(0, 1, 2), (4, 3, 0, 1), ()]:
        assert ours(sequence) == pytest.approx(theirs(sequence), abs=1e-9)


def test_the_default_is_the_game_that_is_built_by_hand():
    ours = osv.game_for(LogisticRegression(solver="liblinear", C=2.0), *TWO, position_weight="gaussian")
    hand = osv.LogisticGame(*TWO, C=2.0)
    runs = [osv.sample_values(game, n_permutations=10, random_state=0) for game in (ours, hand)]
    np.testing.assert_array_equal(runs[0].values, runs[1].values)
    assert runs[0].settings.digest == runs[1].settings.digest  # so that they pool


def test_tolerances_and_iterations_play_no_part():
    loose, tight = (
        LogisticRegression(solver="liblinear", tol=10.0, max_iter=1, verbose=0),
        logistic(solver="liblinear"),
    )
    games = [osv.game_for(model, *TWO, compiled=True, scoring="roc_auc") for model in (loose, tight)]
    for sequence in orders(14, 5):
        assert games[0](sequence) == games[1](sequence)


# --- what is not, and why

NOT_COMPILED = [
    (LogisticRegression(l1_ratio=0.5, solver="saga"), TWO, "l1_ratio"),
    (LogisticRegression(C=np.inf), TWO, "C=inf"),
    (LogisticRegression(warm_start=True), THREE, "warm_start"),
    (LogisticRegression(solver="liblinear", intercept_scaling=2.0), TWO, "intercept_scaling"),
    (LogisticRegression(solver="liblinear"), THREE, "solver"),
    (LogisticRegression(solver="best"), TWO, "solver"),
    (OneVsRestClassifier(LogisticRegression(warm_start=True)), THREE, "warm_start"),
    (OneVsRestClassifier(DecisionTreeClassifier()), THREE, "DecisionTreeClassifier"),
    (OneVsRestClassifier(LogisticRegression(class_weight="balanced")), THREE, "class_weight"),
    (Ridge(positive=True), NUMBERS, "positive"),
    (Ridge(alpha=0.0), NUMBERS, "alpha"),
    (KNeighborsClassifier(p=1), TWO, "p=1"),
    (KNeighborsClassifier(metric="cosine"), TWO, "metric"),
    (KNeighborsClassifier(metric_params={"w": [1.0, 2.0, 3.0]}), TWO, "metric_params"),
    (KNeighborsClassifier(weights=np.ones_like), TWO, "weights"),
    (DecisionTreeClassifier(), TWO, "DecisionTreeClassifier"),
]


@pytest.mark.parametrize(("model", "problem", "named"), NOT_COMPILED, ids=shown)
def test_what_is_not_compiled_is_named(model, problem, named):
    with pytest.raises(ValueError, match=named):
        osv.game_for(model, *problem, compiled=True)
    game = osv.game_for(model, *problem)
    assert isinstance(game, osv.EstimatorGame)
    assert named in game.model


def test_a_subclass_is_another_model():
    class Other(LogisticRegression):
        pass

    with pytest.raises(ValueError, match="Other"):
        osv.game_for(Other(solver="liblinear"), *TWO, compiled=True)


def test_a_score_of_the_user_s_own_is_not_compiled():
    def score(model, X, y):
        return accuracy_score(y, model.predict(X))

    model = LogisticRegression(solver="liblinear")
    for scoring, name in ((score, "score"), ("precision", "precision")):
        with pytest.raises(ValueError, match=name):
            osv.game_for(model, *TWO, scoring=scoring, compiled=True)
        assert isinstance(osv.game_for(model, *TWO, scoring=scoring), osv.EstimatorGame)


# --- pipelines


def table(n=40, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "colour": rng.choice(["red", "green", "blue"], n),
            "shape": rng.choice(["round", "flat"], n),
        },
        index=[f"row {k}" for k in range(n)],
    )
    frame.loc[frame.index[3], "size"] = np.nan
    y = np.where(
        frame["size"].fillna(0.0) + (frame["colour"] == "red") + 0.3 * rng.normal(size=n) > 0.3, "yes", "no"
    )
    return frame, y


def prepared():
    numeric = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    return make_column_transformer(
        (numeric, ["size"]), (OneHotEncoder(handle_unknown="ignore"), ["colour", "shape"])
    )


def halves():
    frame, y = table()
    return frame[:20], y[:20], frame[20:], y[20:]


def test_transformers_are_fitted_once_and_the_last_step_is_compiled():
    X, y, X_valid, y_valid = halves()
    pipeline = make_pipeline(prepared(), logistic(solver="liblinear"))
    game = osv.game_for(pipeline, X, y, X_valid, y_valid, compiled=True)
    columns = prepared().fit(X)
    hand = osv.LogisticGame(
        columns.transform(X), y, columns.transform(X_valid), y_valid, position_weight="uniform"
    )
    for sequence in orders(20, 5):
        assert game(sequence) == hand(sequence)
    assert list(game.player_names) == list(X.index)
    assert "ColumnTransformer fitted once" in game.model
    assert not hasattr(pipeline[0], "transformers_")  # the user's own stays as it was


@pytest.mark.parametrize("last", [DecisionTreeClassifier(max_depth=2, random_state=0), LinearSVC()])
def test_a_last_step_in_python_gets_rows_that_are_transformed_once(last):
    X, y, X_valid, y_valid = halves()
    game = osv.game_for(make_pipeline(prepared(), last), X, y, X_valid, y_valid)
    columns = prepared().fit(X)
    hand = osv.EstimatorGame(
        last, columns.transform(X), y, columns.transform(X_valid), y_valid, position_weight="uniform"
    )
    for sequence in orders(20, 4):
        assert game(sequence) == hand(sequence)
    assert "fitted in Python" in game.model
    assert "fitted once" in game.model


def test_each_fits_all_steps_to_every_sequence():
    X, y, X_valid, y_valid = halves()
    pipeline = make_pipeline(prepared(), logistic(solver="liblinear"))
    game = osv.game_for(pipeline, X, y, X_valid, y_valid, fit_transformers="each")
    for sequence in orders(20, 4):
        model = clone(pipeline).fit(X.iloc[sequence], y[sequence])
        assert game(sequence) == accuracy_score(y_valid, model.predict(X_valid))
    assert "once" not in game.model
    with pytest.raises(ValueError, match="fit_transformers"):
        osv.game_for(pipeline, X, y, X_valid, y_valid, fit_transformers="each", compiled=True)


def test_transformers_learn_from_labels_too_and_pipelines_nest():
    X, y, X_valid, y_valid = TWO
    inner = make_pipeline(SelectKBest(k=2), "passthrough", logistic(solver="liblinear"))
    game = osv.game_for(make_pipeline(StandardScaler(), inner), X, y, X_valid, y_valid, scoring="roc_auc")
    scaler = StandardScaler().fit(X)
    best = SelectKBest(k=2).fit(scaler.transform(X), y)
    hand = osv.LogisticGame(
        best.transform(scaler.transform(X)),
        y,
        best.transform(scaler.transform(X_valid)),
        y_valid,
        scoring="roc_auc",
        position_weight="uniform",
    )
    for sequence in orders(14, 5):
        assert game(sequence) == hand(sequence)
    assert "StandardScaler, SelectKBest fitted once" in game.model


def test_sparse_rows_and_frames_between_steps():
    frame, y = table()
    frame = frame[["colour", "shape"]]
    steps = [OneHotEncoder(), OneHotEncoder(sparse_output=False).set_output(transform="pandas")]
    games = [
        osv.game_for(
            make_pipeline(step, logistic(solver="liblinear")), frame[:20], y[:20], frame[20:], y[20:]
        )
        for step in steps
    ]
    assert games[0](range(20)) == games[1](range(20))
    assert list(games[0].player_names) == list(games[1].player_names) == list(frame.index[:20])
    X = scipy.sparse.csr_array(TWO.X)
    alone = osv.game_for(make_pipeline(LogisticRegression(solver="liblinear")), X, *TWO[1:])
    assert alone.model == "LogisticRegression(solver='liblinear'), compiled"


def test_a_pipeline_of_another_class_is_left_to_itself():
    class Resampling(Pipeline):
        pass

    pipeline = Resampling([("scale", StandardScaler()), ("model", LogisticRegression(solver="liblinear"))])
    game = osv.game_for(pipeline, *TWO)
    assert isinstance(game, osv.EstimatorGame)
    assert "once" not in game.model


def test_transformers_that_fail_are_named():
    X, y, X_valid, y_valid = halves()
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    with pytest.raises(ValueError, match="estimator"):
        osv.game_for(pipeline, X, y, X_valid, y_valid)


@pytest.mark.parametrize("options", [{}, {"fit_transformers": "each"}, {"compiled": False}])
def test_estimators_play_the_game_of_their_model(options):
    X, y, X_valid, y_valid = halves()
    pipeline = make_pipeline(prepared(), LogisticRegression(solver="liblinear"))
    run = {"sampler": "mc", "n_permutations": 2, "random_state": 0}
    fitted = osv.OrdinalShapley(pipeline, evidence=False, **run, **options)
    fitted.fit(X, y, X_valid, y_valid)
    game = osv.game_for(pipeline, X, y, X_valid, y_valid, position_weight="gaussian", **options)
    expected = osv.sample_values(game, method="mc", n_permutations=2, random_state=0)
    np.testing.assert_array_equal(fitted.values_, expected.values)
    assert fitted.valuation_.model == expected.model
    assert list(fitted.valuation_.player_names) == list(X.index)


# --- what is said


def test_results_say_which_model_was_fitted(tmp_path):
    model = make_pipeline(StandardScaler(), LogisticRegression(solver="liblinear", C=0.5))
    valuation = osv.sample_values(osv.game_for(model, *TWO), n_permutations=10, random_state=0)
    assert "LogisticRegression(C=0.5, solver='liblinear'), compiled" in valuation.model
    assert "StandardScaler fitted once" in valuation.model
    assert valuation.model in repr(valuation)
    valuation.save(tmp_path / "run.npz")
    assert osv.Valuation.load(tmp_path / "run.npz").model == valuation.model
    few = osv.game_for(model, TWO[0][-5:], TWO[1][-5:], *TWO[2:])
    exact = osv.exact_values(few)
    assert exact.model == few.model and exact.model in repr(exact)
    valuation.to_html(tmp_path / "page.html")
    assert "StandardScaler fitted once" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "StandardScaler fitted once" in valuation._repr_html_()


def test_games_built_by_hand_say_so_too():
    assert osv.LogisticGame(*TWO).model == "LogisticGame, compiled"
    tree = osv.EstimatorGame(DecisionTreeClassifier(max_depth=1), *TWO)
    assert tree.model == "DecisionTreeClassifier(max_depth=1), fitted in Python"
    assert osv.TableGame(2, {(0, 1): 1.0}).model is None


def test_a_long_run_in_python_is_forecast_before_it_begins():
    game = osv.game_for(Slow(), *TWO)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for method in ("auto", "mc", "tmc"):
            with pytest.raises(UserWarning, match="Slow"):
                osv.sample_values(game, method=method, n_permutations=100_000)
        limited = osv.MaxStandardError(1.0) | osv.MaxSeconds(36_000) | osv.MaxPermutations(100_000)
        osv.sample_values(game, stopping=limited)
        osv.sample_values(game, "classic", n_permutations=1)


@pytest.mark.skipif(not JIT, reason="takes fits of many rows")
def test_a_very_long_compiled_run_is_forecast_after_its_first_fits():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 1_000)
    game = osv.LogisticGame(rng.normal(size=(1_000, 200)), y, rng.normal(size=(100, 200)), y[:100])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="permutations; quicker"):
            osv.sample_values(game, n_permutations=10**9)
