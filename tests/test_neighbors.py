"""The nearest neighbour game against brute force and against the closed form of its classic values."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import load_diabetes
from sklearn.metrics import get_scorer
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

import naive
import ordinal_shapley as osv
from ordinal_shapley.experiments import knn_shapley
from problems import named, random_problem, size, wdbc

pytestmark = pytest.mark.filterwarnings("ignore:.*truncation ended:UserWarning")

SCORINGS = ["accuracy", "balanced_accuracy", "f1", "vote_share"]
WEIGHTS = [("gaussian", naive.gaussian_weights), ("uniform", naive.uniform_weights)]


def with_ties(problem):
    """Some training rows are copies of others, and some of validation rows."""
    X = problem.X.copy()
    X[3] = X[1]
    X[-1] = problem.X_valid[0]
    return problem._replace(X=X)


@pytest.mark.parametrize(
    ("k", "by"), [(k, "uniform") for k in (1, 3, 4, 9, 100)] + [(k, "distance") for k in (1, 4, 100)]
)
@pytest.mark.parametrize("scoring", SCORINGS)
@pytest.mark.parametrize(("name", "weights"), WEIGHTS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_prefix_against_brute_force(n_classes, name, weights, scoring, k, by):
    problem = with_ties(random_problem(2, n=size(25, 12), n_valid=30, n_classes=n_classes, seed=3))
    game = osv.NearestNeighborGame(*problem, position_weight=name, n_neighbors=k, scoring=scoring, weights=by)
    U = naive.NeighborUtility(*problem, weights=weights, k=k, scoring=scoring, by=by)
    order = np.random.default_rng(k).permutation(len(problem.y))
    found = game.prefix_utilities(order)
    expected = [U(order[:m]) for m in range(1, len(order) + 1)]
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)
    assert game(order) == found[-1]
    assert game(()) == pytest.approx(U(()))


@pytest.mark.parametrize("k", [1, 2, 5, 7])
def test_the_closed_form_of_knn_shapley(k):
    """Also more neighbours than rows: a place that stays empty counts as wrong."""
    problem = with_ties(random_problem(3, n=6, n_valid=15, n_classes=3, seed=k))
    game = osv.NearestNeighborGame(
        *problem, position_weight="uniform", n_neighbors=k, scoring="vote_share", empty_value=0.0
    )
    expected = knn_shapley(*problem, n_neighbors=k)
    for value in ("classic", "partial_ordinal", "ordinal"):
        np.testing.assert_allclose(osv.exact_values(game, value).values, expected, atol=1e-13)


def undecided(X, X_valid, k):
    """Validation rows with more rows of X at one distance than places among their neighbours are left."""
    if k >= len(X):
        return np.zeros(len(X_valid), bool)
    distances = np.sort(cdist(X_valid, X, "sqeuclidean"), axis=1)
    return distances[:, k] <= distances[:, k - 1] * (1 + 1e-12)


def is_tied(model, X):
    """Where scikit-learn's rounding may break a tie of votes."""
    shares = np.sort(model.predict_proba(X), axis=1)
    lead = shares[:, -1] - shares[:, -2] if shares.shape[1] > 1 else np.ones(len(X))
    return (model.weights == "distance") & (lead > 0) & (lead < 1e-9)


@pytest.mark.parametrize(("k", "weights"), [(1, "uniform"), (5, "uniform"), (4, "distance")])
@pytest.mark.parametrize("name", ["wine", "wine raw", "wdbc", "digits", "adult", "cancer", "words"])
def test_every_decision_is_scikit_learns(name, k, weights):
    """Wherever scikit-learn's neighbours do not depend on how it looks for them."""
    data = named(name)
    order = np.random.default_rng(k).permutation(len(data.y))
    lengths = range(k, len(order) + 1, size(5, 40))
    n_decisions = 0
    for m in lengths:
        rows = np.sort(order[:m])
        model = KNeighborsClassifier(k, weights=weights, algorithm="brute").fit(data.X[rows], data.y[rows])
        sure = ~undecided(data.X[rows], data.X_valid, k) & ~is_tied(model, data.X_valid)
        if not sure.any():
            continue
        decided = model.predict(data.X_valid[sure])
        options = {"position_weight": "uniform", "n_neighbors": k, "weights": weights}
        game = osv.NearestNeighborGame(data.X, data.y, data.X_valid[sure], decided, **options)
        assert game(order[:m]) == 1.0
        n_decisions += sure.sum()
    # In Cancer and words most places at the end of the neighbours are for any of several rows.
    assert n_decisions > (0.15 if name in ("cancer", "words") else 0.99) * len(lengths) * len(data.y_valid)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("name", ["cancer", "words"])
def test_of_rows_as_near_the_first_is_taken(name, weights):
    """By brute force among dense rows, scikit-learn does so for one neighbour."""
    data = named(name)
    order = np.random.default_rng(0).permutation(len(data.y))
    options = {"position_weight": "uniform", "n_neighbors": 1, "weights": weights}
    found = osv.NearestNeighborGame(*data, **options).prefix_utilities(order)
    for m in range(1, len(order) + 1, size(3, 20)):
        rows = np.sort(order[:m])
        model = KNeighborsClassifier(1, weights=weights, algorithm="brute").fit(data.X[rows], data.y[rows])
        assert found[m - 1] == model.score(data.X_valid, data.y_valid)


@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy", "f1"])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_every_prefix_is_scikit_learns(weights, scoring):
    data = wdbc().first(size(120, 20))
    options = {"position_weight": "uniform", "weights": weights, "scoring": scoring, "n_neighbors": 3}
    order = np.random.default_rng(0).permutation(len(data.y))
    found = osv.NearestNeighborGame(*data, **options).prefix_utilities(order)
    for m in range(3, len(order) + 1):
        rows = order[:m]
        if len(np.unique(data.y[rows])) < 2:
            continue
        model = KNeighborsClassifier(3, weights=weights).fit(data.X[rows], data.y[rows])
        assert found[m - 1] == pytest.approx(
            get_scorer(scoring)(model, data.X_valid, data.y_valid), abs=1e-14
        )


@pytest.mark.parametrize("scoring", ["r2", "neg_mean_squared_error"])
@pytest.mark.parametrize(("k", "weights"), [(1, "uniform"), (5, "uniform"), (1, "distance"), (7, "distance")])
def test_every_mean_is_scikit_learns(k, weights, scoring):
    X, y = load_diabetes(return_X_y=True)
    X, y, X_valid, y_valid = X[:150], y[:150], X[150:220].copy(), y[150:220]
    X_valid[:3] = X[[4, 40, 90]]
    order = np.random.default_rng(k).permutation(150)[: size(150, 25)]
    options = {"position_weight": "uniform", "n_neighbors": k, "weights": weights, "scoring": scoring}
    game = osv.NearestNeighborRegressorGame(X, y, X_valid, y_valid, **options)
    found = game.prefix_utilities(order)
    for m in range(k, len(order) + 1):
        model = KNeighborsRegressor(k, weights=weights).fit(X[order[:m]], y[order[:m]])
        expected = get_scorer(scoring)(model, X_valid, y_valid)
        assert found[m - 1] == pytest.approx(expected, rel=1e-10, abs=1e-12)
        assert game(order[:m]) == found[m - 1]


@pytest.mark.parametrize("k", [1, 3, 9, 100])
@pytest.mark.parametrize("by", ["uniform", "distance"])
@pytest.mark.parametrize(("name", "weights"), WEIGHTS)
def test_every_prefix_of_means_against_brute_force(name, weights, by, k):
    problem = with_ties(random_problem(2, n=size(25, 12), n_valid=30, seed=3))
    rng = np.random.default_rng(2)
    problem = problem._replace(y=rng.normal(size=len(problem.y)), y_valid=rng.normal(size=30))
    order = rng.permutation(len(problem.y))
    for scoring in ("r2", "neg_mean_squared_error"):
        options = {"position_weight": name, "n_neighbors": k, "weights": by, "scoring": scoring}
        game = osv.NearestNeighborRegressorGame(*problem, **options)
        U = naive.NeighborMeanUtility(*problem, weights=weights, k=k, scoring=scoring, by=by)
        found = game.prefix_utilities(order)
        expected = [U(order[:m]) for m in range(1, len(order) + 1)]
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
        assert game(()) == game.empty_value_ == pytest.approx(U(()), abs=1e-14)


def test_a_neighbour_at_distance_0_takes_all_the_weight():
    X, y = [[0.0], [0.0], [1.0], [1e-100]], [0, 1, 1, 1]
    options = {"weights": "distance", "n_neighbors": 3, "position_weight": "uniform"}
    game = osv.NearestNeighborGame(X, y, [[0.0]], [0], scoring="vote_share", **options)
    assert game([0, 2, 3]) == 1.0
    assert game([0, 1, 2]) == 0.5
    assert game([2, 3]) == 0.0
    numbers = osv.NearestNeighborRegressorGame(
        X, [5.0, 7.0, 1.0, 2.0], [[0.0]], [6.0], scoring="neg_mean_squared_error", **options
    )
    assert numbers([0, 2, 3]) == -1.0
    assert numbers([0, 1, 2]) == 0.0
    assert numbers([3, 2]) == -16.0  # almost nothing weighs the other


def test_neighbours_without_weight():
    X, y = [[0.0], [1.0], [5.0]], [1.0, 3.0, 8.0]
    options = {"n_neighbors": 2, "scoring": "neg_mean_squared_error", "sample_weight": [0.0, 0.0, 1.0]}
    game = osv.NearestNeighborRegressorGame(X, y, [[0.2]], [2.0], **options)
    assert game([0, 1]) == game([0, 1, 2]) == 0.0  # the mean of 1 and 3
    assert game([2, 1]) == -36.0
    assert game([0]) == -1.0


@pytest.mark.parametrize("k", [1, 2, 3, 8])
def test_rows_that_leave_again(k):
    """Enumeration takes players out; what is left must be as if they had never been there."""
    problem = with_ties(random_problem(2, n=7, n_valid=12, seed=5))
    owners = [0, 0, 1, 2, 2, 3, 4]
    game = osv.NearestNeighborGame(*problem, groups=owners, n_neighbors=k, scoring="vote_share")
    members = [[i for i, owner in enumerate(owners) if owner == p] for p in range(5)]
    U = naive.NeighborUtility(*problem, k=k, scoring="vote_share")

    class Owners:
        n_players, v0 = 5, U.v0

        def __call__(self, sequence):
            return U([row for player in sequence for row in members[player]])

    expected = naive.exact_partial_ordinal(Owners(), 5)
    np.testing.assert_allclose(osv.exact_values(game, "partial_ordinal").values, expected, atol=1e-12)
    # Where some orders are worth the same, players leave from the middle, too.
    free = osv.NearestNeighborGame(
        *problem, groups=owners, n_neighbors=k, scoring="vote_share", position_weight="uniform"
    )
    classic = osv.exact_values(free, "classic").values
    for case in ("within", "between"):
        found = osv.exact_values(free, osv.PartialOrdinal(partition=[0, 1, 0, 1, 0], case=case)).values
        np.testing.assert_allclose(found, classic, atol=1e-12)


def test_bits_do_not_depend_on_the_way_there():
    problem = random_problem(2, n=9, n_valid=20, seed=1)
    game = osv.NearestNeighborGame(*problem, scoring="vote_share", n_neighbors=4)
    few = osv.NearestNeighborGame(*problem.first(5), scoring="vote_share", n_neighbors=4)
    np.testing.assert_array_equal(*(osv.exact_values(few, n_jobs=n).values for n in (1, 2)))
    order = np.random.default_rng(0).permutation(9)
    np.testing.assert_array_equal(game.prefix_utilities(order), [game(order[:m]) for m in range(1, 10)])


def test_weights_by_position_and_by_row():
    X, y = [[0.0], [1.0], [3.0]], [0, 1, 1]
    game = osv.NearestNeighborGame(
        X, y, [[0.1]], [0], n_neighbors=2, scoring="vote_share", position_weight=lambda i, m: 1.0 + i
    )
    assert game([0, 1]) == pytest.approx(1 / 3)
    assert game([1, 0]) == pytest.approx(2 / 3)
    assert game([0]) == 0.5
    weighted = osv.NearestNeighborGame(
        X, y, [[0.1]], [0], n_neighbors=2, scoring="vote_share", position_weight="uniform",
        sample_weight=[3.0, 1.0, 0.0],
    )  # fmt: skip
    assert weighted([2, 0, 1]) == pytest.approx(3 / 4)
    assert weighted([2]) == 0.0
    assert weighted.order_free


def test_equal_votes_go_to_the_first_class():
    X, y = [[1.0], [-1.0]], ["b", "a"]
    game = osv.NearestNeighborGame(X, y, [[0.9]], ["b"], n_neighbors=2)
    assert game([0, 1]) == game([1, 0]) == 0.0
    assert game([0]) == 1.0


def test_frames_sparse_rows_and_copies():
    X, y, X_valid, y_valid = random_problem(3, n=8, n_valid=10, seed=0)
    expected = osv.NearestNeighborGame(X, y, X_valid, y_valid).prefix_utilities(range(8))
    frame = pd.DataFrame(X, columns=["a", "b", "c"], index=list("stuvwxyz"))
    game = osv.NearestNeighborGame(frame, y, pd.DataFrame(X_valid, columns=["a", "b", "c"]), y_valid)
    assert game.player_names.tolist() == list("stuvwxyz")
    sparse = osv.NearestNeighborGame(scipy.sparse.csr_array(X), y, scipy.sparse.csr_array(X_valid), y_valid)
    for other in (game, sparse, pickle.loads(pickle.dumps(game))):
        np.testing.assert_array_equal(other.prefix_utilities(range(8)), expected)
