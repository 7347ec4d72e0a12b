"""The nearest neighbour game against brute force and against the closed form of its classic values."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.neighbors import KNeighborsClassifier

import naive
import ordinal_shapley as osv
from ordinal_shapley.experiments import knn_shapley
from problems import random_problem, size

pytestmark = pytest.mark.filterwarnings("ignore:truncation ended:UserWarning")

SCORINGS = ["accuracy", "balanced_accuracy", "f1", "vote_share"]
WEIGHTS = [("gaussian", naive.gaussian_weights), ("uniform", naive.uniform_weights)]


def with_ties(problem):
    """Some training rows are copies of others, and some of validation rows."""
    X = problem.X.copy()
    X[3] = X[1]
    X[-1] = problem.X_valid[0]
    return problem._replace(X=X)


@pytest.mark.parametrize("k", [1, 3, 4, 9, 100])
@pytest.mark.parametrize("scoring", SCORINGS)
@pytest.mark.parametrize(("name", "weights"), WEIGHTS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_prefix_against_brute_force(n_classes, name, weights, scoring, k):
    problem = with_ties(random_problem(2, n=size(25, 12), n_valid=30, n_classes=n_classes, seed=3))
    game = osv.NearestNeighborGame(*problem, position_weight=name, n_neighbors=k, scoring=scoring)
    U = naive.NeighborUtility(*problem, weights=weights, k=k, scoring=scoring)
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


def test_uniform_votes_are_scikit_learns():
    problem = random_problem(4, n=30, n_valid=50, seed=2)
    game = osv.NearestNeighborGame(*problem, position_weight="uniform", n_neighbors=3)
    order = np.random.default_rng(0).permutation(30)
    for m in range(3, 31):
        rows = np.sort(order[:m])
        model = KNeighborsClassifier(3).fit(problem.X[rows], problem.y[rows])
        assert game(order[:m]) == model.score(problem.X_valid, problem.y_valid)


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
