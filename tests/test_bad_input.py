"""Wrong input gets an error of one line that names the argument, before any work."""

from __future__ import annotations

import math
import re
from functools import partial

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import ordinal_shapley as osv
from ordinal_shapley import bounds, plots
from ordinal_shapley.experiments import combined_rank, data_oob, knn_shapley, leave_one_out, self_confidence
from problems import random_problem
from test_valuation import by_hand

PROBLEM = random_problem(3, n=12, n_valid=8)
X, Y, X_VALID, Y_VALID = PROBLEM
THREE = random_problem(3, n=12, n_valid=8, n_classes=3)
NUMBERS = dict(PROBLEM._asdict(), y=X[:, 0], y_valid=X_VALID[:, 0])
WORDS = {name: np.where(codes, "yes", "no") for name, codes in (("y", Y), ("y_valid", Y_VALID))}
NAN, INF = math.nan, math.inf
LIBLINEAR = LogisticRegression(solver="liblinear")


def spoilt(array, index, value):
    array = np.array(array, dtype=float)
    array[index] = value
    return array


def masked(array):
    return np.ma.masked_array(array, array > 0)


def named(function):
    """What a test is called by."""
    return getattr(function, "func", function).__name__ if callable(function) else None


def refuses(call, name, error, **given):
    with pytest.raises(error) as caught:
        call(**given)
    words = str(caught.value)
    assert re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", words), f"{name} is not in {words!r}"
    assert "\n" not in words.strip()


@pytest.fixture(autouse=True)
def no_work(monkeypatch):
    """Fail when any shard of work is started."""

    def fail(*_args, **_kwargs):
        raise AssertionError("the work has started")

    monkeypatch.setattr(joblib.Parallel, "__call__", fail)


# Games of rows

EMPTY, FLAT, RAGGED = np.zeros((0, 3)), X[:, 0], [[1.0, 2.0], [3.0]]
# Of every game of rows: name, values that are wrong.
ROWS = {
    "X": [FLAT, X[:, :0], EMPTY, RAGGED, masked(X), None],
    "X_valid": [X_VALID[:, :2], EMPTY],
    "y": [Y[:-1], Y[:5], masked(Y), np.ones((12, 1, 1), int)],
    "y_valid": [Y_VALID[:-1], Y_VALID[:, None, None]],
    "groups": [np.arange(11), [None, "a"] * 6, np.array([1, "a"] * 6, object)],
    "sample_weight": [
        np.ones(11),
        np.full(12, 1e40),
        [10**400] + [1] * 11,
        -np.ones(12),
        spoilt(np.ones(12), 5, NAN),
        spoilt(np.ones(12), 5, INF),
        np.full(12, 1 + 1j),
        np.full(12, "2020", "M8[D]"),
        ["1"] * 12,
    ],
    "position_weight": [
        "gauss",
        None,
        3,
        lambda m: np.ones(m + 1),
        lambda i, m: -1.0,
        lambda i, m: NAN,
        lambda i, m: INF,
        lambda m: np.ones(m) * 1j,
        lambda m: ["a"] * m,
        lambda a, b, c: 1.0,
        lambda i, *, m: 1.0,
    ],
    "empty_value": ["zero", NAN, -1e308, True],
    "scoring": ["guess", 3],
}
GAMES = [
    (osv.LogisticGame, PROBLEM._asdict()),
    (osv.NearestNeighborGame, PROBLEM._asdict()),
    (osv.NearestNeighborRegressorGame, NUMBERS),
    (osv.RidgeClassifierGame, PROBLEM._asdict()),
    (osv.RidgeGame, NUMBERS),
    (partial(osv.EstimatorGame, GaussianNB()), PROBLEM._asdict()),
    (partial(osv.game_for, LIBLINEAR), PROBLEM._asdict()),
    (partial(osv.game_for, make_pipeline(StandardScaler(), GaussianNB())), PROBLEM._asdict()),
]


@pytest.mark.parametrize(("game", "problem"), GAMES, ids=named)
@pytest.mark.parametrize("name", ROWS)
def test_games_of_rows(game, problem, name):
    for value in ROWS[name]:
        refuses(game, name, (TypeError, ValueError), **problem | {name: value})


OWN = [
    (
        osv.LogisticGame,
        "X",
        [spoilt(X, (4, 2), NAN), spoilt(X, (7, 0), INF), X * 1e155, X.astype(str), X + 1j],
    ),
    (osv.LogisticGame, "X", [sp.csr_array(spoilt(X, (4, 2), NAN)), np.full((12, 3), np.datetime64("2020"))]),
    (osv.LogisticGame, "X_valid", [spoilt(X_VALID, (1, 1), NAN), X_VALID * 1e155]),
    (osv.LogisticGame, "y", [np.zeros(12, int), spoilt(Y, 3, NAN), np.column_stack([Y, Y])]),
    (osv.LogisticGame, "y", [["1", 1, *"2342344234"], ["a", NAN, *"abbababaab"], X[:, 0].astype(object)]),
    (osv.LogisticGame, "groups", [["1", 1, *"2342344234"], ["a", NAN, *"abbababaab"]]),
    (osv.LogisticGame, "y", [[None, *Y[1:]], np.arange(12) + 0.5, pd.to_datetime(["2020", None] * 6)]),
    (osv.LogisticGame, "y_valid", [np.where(np.arange(8) == 2, 9, Y_VALID), Y_VALID.astype(str)]),
    (osv.LogisticGame, "C", [0, -1.0, NAN, INF, "1", 1e200]),
    (osv.LogisticGame, "multi_class", ["softmax", None]),
    (osv.LogisticGame, "fit_intercept", ["no", None, 1]),
    (osv.LogisticGame, "class_weight", ["equal", {7: 1.0}, {0: -1.0}, {0: NAN}, [1.0, 2.0], np.ones(2), 3]),
    (osv.LogisticGame, "scoring", ["acuracy", None, np.array(["f1"])]),
    (partial(osv.LogisticGame, scoring="f1"), "y_valid", [np.zeros(8, int)]),
    (partial(osv.LogisticGame, scoring="roc_auc"), "y_valid", [np.ones(8, int)]),
    (osv.NearestNeighborGame, "X", [X * NAN]),
    (osv.NearestNeighborGame, "n_neighbors", [0, 2.0]),
    (osv.NearestNeighborGame, "weights", ["near", None, len]),
    (osv.NearestNeighborGame, "scoring", ["roc_auc"]),
    (osv.NearestNeighborGame, "empty_value", ["mean"]),
    (osv.NearestNeighborGame, "sample_weight", [np.zeros(12)]),
    (osv.NearestNeighborGame, "y_valid", [np.full(8, 5)]),
    (partial(osv.NearestNeighborGame, y_valid=np.zeros(8, int)), "scoring", ["f1"]),
    (partial(osv.NearestNeighborRegressorGame, y=FLAT, y_valid=X_VALID[:, 0]), "n_neighbors", [0, 2.0]),
    (partial(osv.NearestNeighborRegressorGame, y=FLAT, y_valid=X_VALID[:, 0]), "weights", ["near"]),
    (partial(osv.NearestNeighborRegressorGame, y=FLAT, y_valid=X_VALID[:, 0]), "scoring", ["accuracy"]),
    (partial(osv.NearestNeighborRegressorGame, y=FLAT), "y_valid", [np.ones(8), np.full(8, NAN)]),
    (osv.RidgeClassifierGame, "X", [X * NAN, X * 1e100]),
    (osv.RidgeClassifierGame, "alpha", [0.0, "1"]),
    (osv.RidgeClassifierGame, "fit_intercept", ["no", 1]),
    (osv.RidgeClassifierGame, "class_weight", ["even", 2.0, {7: 1.0}, {0: 0.0}, {0: -1}, {0: INF}, {1: "2"}]),
    (osv.RidgeClassifierGame, "scoring", ["neg_log_loss", "r2"]),
    (osv.RidgeClassifierGame, "empty_value", ["mean"]),
    (osv.RidgeClassifierGame, "y", [np.zeros(12, int)]),
    (osv.RidgeClassifierGame, "y_valid", [np.full(8, 5)]),
    (partial(osv.RidgeGame, y=FLAT, y_valid=X_VALID[:, 0]), "fit_intercept", [None, "penalized"]),
    (partial(osv.RidgeGame, y=FLAT, y_valid=X_VALID[:, 0]), "alpha", [0.0, 1e-40, "1"]),
    (partial(osv.RidgeGame, y=FLAT, y_valid=X_VALID[:, 0]), "scoring", ["accuracy"]),
    (partial(osv.RidgeGame, y=FLAT, y_valid=X_VALID[:, 0]), "empty_value", ["majority"]),
    (partial(osv.RidgeGame, y_valid=X_VALID[:, 0]), "y", [[1.0, NAN] * 6, list("abcdefghijkl"), X[:, :2]]),
    (partial(osv.RidgeGame, y=FLAT), "y_valid", [np.ones(8), np.full(8, 0.1)]),
    (osv.EstimatorGame, "estimator", [DecisionTreeClassifier, "tree", StandardScaler(), KMeans(2), X]),
    (partial(osv.EstimatorGame, GaussianNB()), "scoring", ["best", 3]),
    (partial(osv.EstimatorGame, GaussianNB(), empty_value=0.0, **WORDS), "scoring", ["precision", "r2"]),
    (partial(osv.EstimatorGame, Ridge(), empty_value=0.0), "scoring", ["precision"]),
    (partial(osv.EstimatorGame, GaussianNB()), "empty_value", ["mean", None]),
    (partial(osv.EstimatorGame, GaussianNB()), "error_score", ["ignore", NAN]),
    (partial(osv.EstimatorGame, GaussianNB()), "order_free", [1]),
    (partial(osv.EstimatorGame, GaussianNB()), "weight_name", [1]),
    (partial(osv.EstimatorGame, GaussianNB()), "random_state", [None, -1]),
    (partial(osv.EstimatorGame, GaussianNB()), "cache_size", [-1, 1.5]),
    (partial(osv.EstimatorGame, GaussianNB()), "y", [np.ones(12, int)]),
    (partial(osv.EstimatorGame, GaussianNB()), "y_valid", [np.full(8, 7)]),
    (partial(osv.EstimatorGame, Ridge()), "y", [["a"] * 12, np.full(12, INF)]),
    (
        osv.game_for,
        "estimator",
        [LogisticRegression, "tree", StandardScaler(), make_pipeline(StandardScaler())],
    ),
    (partial(osv.game_for, LIBLINEAR), "compiled", ["yes", 1, None]),
    (partial(osv.game_for, LIBLINEAR), "fit_transformers", ["never", None]),
    (partial(osv.game_for, LIBLINEAR), "error_score", ["ignore", NAN]),
    (partial(osv.game_for, LIBLINEAR), "random_state", [None, -1]),
    (partial(osv.game_for, LIBLINEAR, compiled=True), "scoring", ["best", 3]),
]


@pytest.mark.parametrize(("game", "name", "values"), OWN, ids=named)
def test_games_of_their_own(game, name, values):
    arguments = PROBLEM._asdict()
    for given in getattr(game, "keywords", {}):
        arguments.pop(given, None)
    for value in values:
        refuses(game, name, (TypeError, ValueError), **arguments | {name: value})


def test_the_place_of_a_bad_number_is_told():
    frame = pd.DataFrame(spoilt(X, (4, 2), NAN), columns=["age", "height", "kg"], index=list("abcdefghijkl"))
    for table, names in ((frame.to_numpy(), ["4", "2"]), (frame, ["e", "kg"])):
        for name in names:
            refuses(osv.LogisticGame, name, ValueError, **PROBLEM._asdict() | {"X": table})
    for dtype in ("string", "object", "category"):
        labels = pd.Series([None, *(["0", "1"] * 6)[1:]]).astype(dtype)
        refuses(osv.LogisticGame, "y", (TypeError, ValueError), **PROBLEM._asdict() | {"y": labels})
    names = {"X": pd.DataFrame(X, columns=list("abc")), "X_valid": pd.DataFrame(X_VALID, columns=list("abd"))}
    refuses(osv.LogisticGame, "X_valid", ValueError, **PROBLEM._asdict() | names)
    refuses(osv.LogisticGame, "roc_auc", ValueError, **THREE._asdict(), scoring="roc_auc")


def test_a_target_of_many_floats_looks_like_regression():
    rows, y = np.random.default_rng(0).normal(size=(400, 2)), np.arange(400.0)
    refuses(osv.LogisticGame, "y", ValueError, X=rows, y=y, X_valid=rows, y_valid=y)
    # Few distinct numbers are classes, and so are any as text.
    osv.LogisticGame(rows, (y > 99).astype(float), rows[:5], [0.0] * 5)
    assert len(osv.LogisticGame(rows, y.astype(str), rows, y.astype(str)).classes_) == 400


def test_labels_that_differ_in_type_only_are_told_by_their_types():
    with pytest.raises(ValueError, match=r"y_valid is of type str and y of type int"):
        osv.LogisticGame(X, Y, X_VALID, Y_VALID.astype(str))
    with pytest.raises(ValueError, match=r"y_test is of type int and y of type str"):
        osv.remove_high_value(np.zeros(12), X, Y.astype(str), X_VALID, Y_VALID)


def test_features_that_defeat_the_arithmetic_are_told_of():
    with pytest.warns(RuntimeWarning, match="standardise"):
        osv.LogisticGame(X * 1e15, Y, X_VALID * 1e15, Y_VALID).prefix_utilities(np.arange(12))


def test_models_that_cannot_be_fitted():
    refuses(
        osv.game_for,
        "C",
        ValueError,
        estimator=LogisticRegression(solver="liblinear", C=-1.0),
        **PROBLEM._asdict(),
    )
    rows = PROBLEM._asdict() | {"X": np.full((12, 3), "red")}
    refuses(
        osv.game_for, "estimator", ValueError, estimator=make_pipeline(StandardScaler(), LIBLINEAR), **rows
    )


DATES = pd.DataFrame({"x": pd.to_datetime(["2020-01-01", "2021-01-01"])})


@pytest.mark.parametrize(
    ("frame", "name"),
    [
        (X, "X"),
        ([[1.0]], "X"),
        (pd.DataFrame(X), "X"),
        (DATES, "x"),
        (pd.DataFrame({"x": [1.0, NAN]}), "x"),
        (pd.DataFrame({"x": []}), "rows"),
    ],
)
def test_tables_that_cannot_be_prepared(frame, name):
    refuses(osv.column_pipeline, name, (TypeError, ValueError), X=frame)


@pytest.mark.parametrize("sequence", [[0, 0], [12], [-1], [0.5], ["a"], [[0, 1]], 3])
def test_sequences(sequence):
    with pytest.raises((TypeError, ValueError), match="sequence"):
        osv.LogisticGame(*PROBLEM)(sequence)


# Everything else, one line an argument: what is a ValueError, what is a TypeError


def zeros(sequence):
    return 0.0


table = partial(osv.TableGame, n_players=2, utilities={})
tmc = partial(bounds.tmc_tail, eps=0.1, low=[0.0, -0.1], high=[0.5, 0.2])
total, strata = partial(tmc, n_permutations=10), partial(tmc, counts=[5, 5])
cmc = partial(bounds.cmc_tail, eps=0.1, low=0.0, high=0.5, n_permutations=10, q=0.5)
norm = partial(bounds.lp_tail, eps=0.1, tails=[lambda eps: 0.1])
needed = partial(bounds.permutations_needed, eps=0.1, failure=0.05, low=[0.0, -0.1], high=[0.5, 0.2])
ranges = partial(bounds.position_ranges, a=[0.0, 0.1], b=[0.5, 0.4])
knn = partial(knn_shapley, X=X, y=Y, X_valid=X_VALID, y_valid=Y_VALID)
oob = partial(data_oob, X=X, y=Y)
confidence = partial(self_confidence, X=X, y=Y)
trusted = partial(confidence, X_valid=X_VALID, y_valid=Y_VALID)
parts = [(np.arange(6), np.arange(6, 12)), (np.arange(6, 12), np.arange(6))]
curves = partial(osv.remove_high_value, values=np.ones(12), X=X, y=Y, X_test=X_VALID, y_test=Y_VALID)
journeys = partial(osv.JourneyGame, journeys=[["A"]], conversions=[1])
credit = osv.JourneyGame([["A"]], [1], [1]).credit
EVENTS = pd.DataFrame({"journey": [1], "channel": ["A"], "time": [1], "converted": [1]})
VALUATION, OTHER = (by_hand([1.0, 2.0], [0.1, 0.1], first_permutation=k, seed=k) for k in (0, 100))


def one(game):
    return 1.0


def pop(game, player):
    pass


compiled = partial(osv.CompiledGame, 3, one)

# Size weights that are of no number of players.
WRONG_WEIGHTS = [[0.5, 0.6], [1.5, -0.5], [NAN, 1.0], [INF], [], [[0.5, 0.5]], 1.0]

ARGUMENTS = [
    (osv.MaxPermutations, "n_permutations", [0, -5], [1e3, "10", True]),
    (osv.MaxEvaluations, "n_evaluations", [0, -1], [True, "1", None]),
    (osv.MaxSeconds, "seconds", [0, -1, INF, NAN], [True, "1", None]),
    (osv.RelativeChange, "tol", [0.0, -1, NAN, INF], [None, True]),
    (osv.RelativeChange, "window", [0], [10.0]),
    (osv.RelativeChange, "floor", [-1e-9, INF], ["0"]),
    (osv.MaxStandardError, "bound", [0, NAN], ["1"]),
    (partial(osv.MaxStandardError, bound=1.0), "relative", [], [1]),
    (partial(osv.MaxStandardError, bound=1.0), "min_permutations", [0], []),
    (osv.RankStability, "correlation", [1.1], []),
    (osv.RankStability, "k", [0], [0.1]),
    (osv.RankStability, "overlap", [-0.1], []),
    (osv.RankStability, "window", [0], []),
    (osv.History, "rule", [], [None, osv.MaxPermutations]),
    (partial(osv.History, osv.MaxPermutations(5)), "max_rounds", [0], [2.0]),
    *[(kind, "size_weights", WRONG_WEIGHTS, ["banzhaf", ["a"]]) for kind in (osv.Ordinal, osv.Classic)],
    (osv.sizes_up_to, "largest", [0, -1], [2.5, "50"]),
    (partial(osv.beta_weights, b=1), "a", [0, -1.0, NAN, INF], ["16", None]),
    (partial(osv.beta_weights, 16), "b", [0, INF], [True]),
    (osv.beta_weights(16, 1).of, "n_players", [0], [2.5]),
    (table, "n_players", [0, 13], [2.0, True]),
    (table, "utilities", [], [[1, 2], {"01": 1}]),
    (table, "default", [NAN], []),
    (table, "names", [["a"], ["a", "a"]], []),
    (partial(osv.TableGame.from_array, 2), "values", [np.zeros(4), [0, 1, 2, 3, NAN]], [list("abcde")]),
    (partial(osv.FunctionGame, n_players=3), "func", [], [3]),
    (partial(osv.FunctionGame, zeros), "n_players", [0], []),
    (partial(osv.FunctionGame, zeros, 3), "order_free", [], ["no"]),
    (total, "eps", [0, NAN, 10**400], ["0.1", True]),
    (total, "low", [[0.0, 0.3], [0.0], [[0.0, 0.1]], []], [[[0.0], [0.1, 0.2]]]),
    (total, "high", [[INF, 1.0]], [["a", "b"], None]),
    (total, "n_permutations", [0, None], [10.0]),
    (total, "k", [3, 0], [1.0]),
    (total, "bias", [-0.1], []),
    (total, "printed", [True], []),
    (total, "counts", [[5, 5]], []),
    (strata, "counts", [[5, 5, 5], [5, 0]], [[5.0, 5.0]]),
    (strata, "k", [1], []),
    (strata, "bias", [], ["0"]),
    (cmc, "eps", [-1], []),
    (cmc, "low", [0.6], []),
    (cmc, "n_permutations", [2**70], []),
    (cmc, "q", [0, 1.01], [None]),
    (cmc, "bias", [INF], []),
    (norm, "eps", [0], []),
    (norm, "p", [0.5], ["2"]),
    (norm, "tails", [[], [lambda eps: -1]], [len, [0.1], [lambda eps: None]]),
    (needed, "eps", [0, 1e-9], []),
    (needed, "failure", [0, 1], []),
    (needed, "n_players", [0], []),
    (needed, "p", [0], []),
    (needed, "q", [2], []),
    (needed, "k", [3], []),
    (needed, "bias", [0.1], []),
    (ranges, "a", [[0.6, 0.1]], ["no"]),
    (ranges, "b", [[1.0]], []),
    (ranges, "empty_value", [NAN], []),
    (partial(bounds.position_ranges, a=[0.5, 0.1], b=[0.5, 0.2]), "nonnegative", [True], []),
    (knn, "X", [X[:, 0], X * NAN], []),
    (knn, "y", [Y[:3], ["a"] * 12], []),
    (knn, "X_valid", [X_VALID[:, :1]], []),
    (knn, "y_valid", [np.full(8, 9)], [None]),
    (knn, "n_neighbors", [0], [2.5]),
    (oob, "X", [X * 1e60], [[["a"]] * 12]),
    (oob, "y", [Y[:3], np.arange(12) + 0.5], []),
    (oob, "n_estimators", [0], [True]),
    (oob, "random_state", [-1], ["x"]),
    (oob, "n_jobs", [0], []),
    (leave_one_out, "game", [], [[1.0]]),
    (confidence, "X", [X[:, 0], X * NAN], [[["a"]] * 12]),
    (partial(confidence, y=[0]), "X", [X[:1]], []),
    (confidence, "y", [Y[:3], ["a"] * 12, np.arange(12) + 0.5], []),
    (trusted, "X_valid", [X_VALID[:, :1], None], []),
    (partial(trusted, estimator=GaussianNB()), "X_valid", [X_VALID[:, :1]], [pd.DataFrame(X_VALID)]),
    (trusted, "y_valid", [np.full(8, 9), None], []),
    (confidence, "estimator", [], ["forest", GaussianNB, Ridge(), LinearSVC()]),
    (confidence, "cv", [1, 13, parts[:1], [(*parts[0],), (*parts[0],)], GroupKFold(3)], [None, 2.5, "5"]),
    (confidence, "cv", [[(np.arange(12), np.arange(12))], [(np.arange(6), [12])], [[1]]], [True]),
    (confidence, "n_neighbors", [0], [2.5]),
    (confidence, "random_state", [-1], ["x"]),
    (partial(combined_rank, evidence=[0.1, 0.2]), "values", [[1.0], [1.0, INF]], [["a", "b"], 1.0]),
    (partial(combined_rank, [1.0, 2.0]), "evidence", [[0.1, 1.2], [0.1, NAN], []], [["a", "b"]]),
    (partial(leave_one_out, osv.FunctionGame(len, 3)), "n_jobs", [], [1.5]),
    (osv.corrupt_labels, "y", [[1, 1, 1], [], [0.5, 1.7], [[0, 1], [1, 0]]], []),
    (partial(osv.corrupt_labels, [0, 1]), "fraction", [1.2, NAN], ["0.2", True]),
    (partial(osv.detect_noisy_labels, [1, 2, 3]), "noisy", [[], [0, 1, 2], [3], [-1], [0, 1, 0]], [[0.5]]),
    (partial(osv.detect_noisy_labels, noisy=[0]), "values", [[1, 2, INF], []], []),
    (osv.detect_noisy_labels(np.arange(6.0), [3]).found_at, "share", [1.5], []),
    (curves, "values", [np.ones(11), np.full(12, NAN)], [["a"] * 12, {1: 2}]),
    (curves, "marks", [0], [2.5]),
    (curves, "estimator", [], ["tree", Ridge(), Ridge]),
    (curves, "X_test", [np.ones((8, 2))], []),
    (curves, "y_test", [np.ones(3), ["1"] * 8], []),
    (curves, "X", [np.ones(12)], []),
    (journeys, "journeys", [[], [[]], [["A", " "]], [list(range(101))]], ["A > B", ["A > B"], [5]]),
    (journeys, "journeys", [[["A", "A"]]], [[{"A", "B"}], {("A",)}, pd.DataFrame({"a": [1]})]),
    (journeys, "conversions", [[1, 2], [-1], [INF], [1e-300], [1e40]], [["x"]]),
    (journeys, "non_conversions", [[NAN], [1, 2]], []),
    (journeys, "repeats", ["both"], []),
    (journeys, "unseen", ["longest"], []),
    (partial(journeys, utility="conversions"), "unseen", ["zero"], []),
    (journeys, "utility", ["money"], []),
    (journeys, "ordered", [], ["no"]),
    (journeys, "channels", [["B"], ["A", "A"], []], [{"A"}]),
    (journeys, "exclude", [["A"], ["B"], [" "]], ["A", 5, [1.5]]),
    (credit, "bootstrap", [0, 1, -5, 10**6], [1e3, "1000", True]),
    (partial(credit, by_position=True), "bootstrap", [1000], []),
    (partial(credit, bootstrap=2), "random_state", [-1], ["one", 0.5]),
    (osv.JourneyGame.from_events, "frame", [], [[["j", "A", 1, 1]]]),
    (partial(osv.JourneyGame.from_events, EVENTS), "after_conversion", ["drop", 1], []),
    (partial(osv.JourneyGame.from_frame), "frame", [], [{"path": ["A"], "conversions": [1]}]),
    (VALUATION.confidence_interval, "level", [0, 1, 95, -0.5, NAN], ["a"]),
    (VALUATION.to_frame, "level", [0, NAN], ["a"]),
    (VALUATION.suspects, "level", [95], []),
    (VALUATION.probability_below, "threshold", [], ["a"]),
    (VALUATION.save, "path", [], [5, None, b"x"]),
    (osv.Valuation.load, "path", [], [5, None, b"x"]),
    (VALUATION.to_csv, "path", [], [3]),
    (VALUATION.to_parquet, "path", [], [3]),
    (osv.Valuation.merge, "valuations", [[], [VALUATION, OTHER]], [None, 3, VALUATION, [VALUATION, None]]),
    (VALUATION.to_html, "X", [[[1.0]], [1.0, 2.0]], []),
    (VALUATION.to_html, "y", [["a"]], []),
    (VALUATION.to_html, "game", [osv.TableGame(3, {})], [5]),
    (VALUATION.to_html, "history", [], [[]]),
    (VALUATION.to_html, "title", [], [5]),
    (VALUATION.to_html, "settings", [], [["a"]]),
    (VALUATION.to_html, "warnings", [], ["text"]),
    (VALUATION.to_html, "level", [95], []),
    (VALUATION.to_html, "path", [], [5]),
    (partial(plots.plot_values, VALUATION), "highlight", [[3], [-1], [0.5]], []),
    (partial(plots.plot_values, VALUATION), "classes", [[0]], []),
    (partial(plots.plot_values, VALUATION), "level", [1.0], []),
    (plots.plot_values, "valuation", [], [None, [0.1, 0.2]]),
    (partial(plots.plot_estimates, estimates=VALUATION), "exact", [[[1.0]]], [["a", "b"]]),
    (
        partial(plots.plot_estimates, [1.0, 2.0, 3.0]),
        "estimates",
        [VALUATION, {}],
        [[1.0], {"a": [VALUATION]}],
    ),
    (plots.plot_profile, "result", [], [1.0]),
    (plots.plot_removal, "curves", [[], {}, {"a": []}], [3.0, [VALUATION]]),
    (plots.plot_detection, "detections", [], [{"a": None}]),
    (plots.plot_convergence, "history", [osv.History(osv.MaxPermutations(5))], [[]]),
    (plots.plot_stopping, "history", [osv.History(osv.MaxPermutations(5))], [[]]),
    (plots.plot_credit, "credit", [pd.DataFrame({"x": [1.0]}), pd.DataFrame({"credit": []})], [[1.0]]),
    (compiled, "push", [pop], [one]),
    (compiled, "pop", [pop], []),
    (compiled, "is_defined", [one], []),
    (compiled, "order_free", [], [2]),
    (compiled, "names", [["a", "a", "b"]], []),
    (compiled, "empty_value", [NAN], []),
    (compiled, "cache", [], [True]),
    (compiled, "arrays", [{"a b": [1]}, {"_a": [1]}, {3: [1]}, {"class": [1]}, {"self": [1]}], [[1]]),
    (compiled, "arrays", [], [{"a": 3.0}, {"a": np.zeros((1,) * 4)}, {"a": ["x"]}, {"a": masked(Y)}]),
    (compiled, "state", [{"length": [1]}], [{"a": [1j]}, {"a": [[1], [1, 2]]}, {"a": [None]}]),
    (compiled, "numbers", [{"scores": 1}, {"a": 2**63}, {"a": INF}], [{"a": "x"}, {"a": True}]),
    (partial(osv.CompiledGame, n_players=3), "evaluate", [], [5, None, len, lambda a, b: 1.0]),
    (partial(osv.CompiledGame, evaluate=one), "n_players", [0], []),
]


@pytest.mark.parametrize(("call", "name", "values", "types"), ARGUMENTS, ids=named)
@pytest.mark.filterwarnings("ignore:add the journeys")
def test_arguments(call, name, values, types):
    for value in values:
        refuses(call, name, ValueError, **{name: value})
    for value in types:
        refuses(call, name, TypeError, **{name: value})


SMALL = osv.TableGame(2, {(0,): 1.0, (1,): 2.0, (0, 1): 3.0, (1, 0): 3.0})


@pytest.mark.parametrize("kind", [osv.Ordinal, osv.Classic])
@pytest.mark.parametrize("use", [osv.exact_values, osv.sample_values, osv.verify, osv.check_axioms])
def test_size_weights_of_another_number_of_players(use, kind):
    for weights in ([1.0], [0.25, 0.25, 0.5]):
        value = kind(size_weights=weights)
        refuses(use, "size_weights", ValueError, game=SMALL, value=value)


@pytest.mark.parametrize("kind", [osv.Ordinal, osv.Classic])
@pytest.mark.parametrize("use", [osv.sample_values, osv.verify])
@pytest.mark.parametrize(
    "method",
    ["tmc", "cmc", "ctmc", *[osv.PermutationSampler(truncation=rule) for rule in ("paper", "patience")]],
    ids=str,
)
def test_size_weights_of_samplers_that_estimate_something_else(use, kind, method):
    if method in ("cmc", "ctmc"):
        method = osv.PermutationSampler(class_fraction=0.5, strata=[0, 1])
    refuses(use, "size_weights", ValueError, game=SMALL, value=kind(size_weights=[0.5, 0.5]), method=method)


def test_size_weights_of_bounds():
    for weights in ([1.0], [0.5, 0.6], "beta"):
        error = TypeError if weights == "beta" else ValueError
        refuses(bounds.position_ranges, "size_weights", error, a=[0, 0], b=[1, 1], size_weights=weights)


@pytest.mark.parametrize("estimator", [osv.OrdinalShapley, osv.ClassicShapley])
def test_size_weights_of_estimators(estimator):
    for weights, error in (([0.5, 0.6], ValueError), ([0.5, 0.5], ValueError), ("banzhaf", TypeError)):
        model = estimator(size_weights=weights)
        refuses(model.fit, "size_weights", error, X=X, y=Y, X_valid=X_VALID, y_valid=Y_VALID)
