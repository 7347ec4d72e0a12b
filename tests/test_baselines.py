"""Baselines against brute force and plain loops."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.ensemble import BaggingClassifier
from sklearn.tree import DecisionTreeClassifier

import naive
import ordinal_shapley as osv
from ordinal_shapley.experiments.baselines import data_oob, knn_shapley, leave_one_out

RNG = np.random.default_rng(0)
X, X_VALID = RNG.normal(size=(7, 2)), RNG.normal(size=(6, 2))
Y, Y_VALID = np.array(["c", "a", "b", "a", "c", "b", "a"]), np.array(["a", "c", "b", "b", "a", "c"])


def neighbour_utility(X, y, X_valid, y_valid, k):
    """Mean share of the right class among the k nearest of a set of rows; nearer by distance, then index."""

    def utility(players):
        total = 0.0
        for point, truth in zip(X_valid, y_valid, strict=True):
            near = sorted(
                players, key=lambda i: (sum((a - b) ** 2 for a, b in zip(X[i], point, strict=True)), i)
            )
            total += sum(y[i] == truth for i in near[:k]) / k
        return total / len(y_valid)

    return utility


@pytest.mark.parametrize("k", [1, 2, 3, 6, 7, 8, 20])
def test_knn_shapley_is_the_classic_value_of_its_utility(k):
    expected = naive.exact_classic(neighbour_utility(X, Y, X_VALID, Y_VALID, k), len(X))
    np.testing.assert_allclose(knn_shapley(X, Y, X_VALID, Y_VALID, k), expected, atol=1e-14)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_knn_shapley_with_equal_rows_and_equal_distances(k):
    rows = np.array([[2.0, 0], [0, 0], [0, 0], [0, 2], [2, 2], [1, 1]])
    labels = np.array([1, 0, 1, 1, 0, 0])
    points, truth = np.array([[1.0, 1], [0, 0], [1, 0]]), np.array([1, 0, 1])
    expected = naive.exact_classic(neighbour_utility(rows, labels, points, truth, k), len(rows))
    found = knn_shapley(rows, labels, points, truth, n_neighbors=k)
    np.testing.assert_allclose(found, expected, atol=1e-14)
    # The order of rows at one distance matters here, so the test sees it.
    other = knn_shapley(rows[::-1], labels[::-1], points, truth, n_neighbors=k)[::-1]
    assert np.abs(other - expected).max() > 0.01


def test_knn_shapley_equals_the_exact_values_of_a_game_and_is_efficient():
    utility = neighbour_utility(X, Y, X_VALID, Y_VALID, 3)
    game = osv.FunctionGame(utility, 7, order_free=True)
    found = knn_shapley(X, Y, X_VALID, Y_VALID, 3)
    np.testing.assert_allclose(found, osv.exact_values(game, "classic").values, atol=1e-14)
    assert found.sum() == pytest.approx(utility(range(7)))


def test_knn_shapley_takes_frames():
    frames = [pd.DataFrame(X), pd.Series(Y), pd.DataFrame(X_VALID), pd.Series(Y_VALID)]
    np.testing.assert_array_equal(knn_shapley(*frames), knn_shapley(X, Y, X_VALID, Y_VALID))


@pytest.mark.parametrize("labels", [[0, 1], ["no", "yes"]])
def test_data_oob_against_a_loop(labels):
    n = 30
    X = RNG.normal(size=(n, 3))
    y = np.array(labels)[(X[:, 0] + RNG.normal(size=n) > 0).astype(int)]
    bag = BaggingClassifier(n_estimators=12, random_state=5).fit(X, y)
    votes = [[] for _ in range(n)]
    for fitted, seen in zip(bag.estimators_, bag.estimators_samples_, strict=True):
        tree = DecisionTreeClassifier(random_state=fitted.random_state)
        tree.fit(X, y, sample_weight=np.bincount(seen, minlength=n))
        for i in set(range(n)) - set(seen):
            votes[i].append(tree.predict(X[[i]])[0] == y[i])
    expected = [np.mean(v) for v in votes]
    np.testing.assert_allclose(data_oob(X, y, n_estimators=12, random_state=5), expected, rtol=1e-14)


def test_data_oob_of_rows_that_every_tree_has_seen():
    X, y = np.arange(20.0)[:, None], np.arange(20) % 2
    seen = BaggingClassifier(n_estimators=1, random_state=0).fit(X, y).estimators_samples_[0]
    values = data_oob(X, y, n_estimators=1, random_state=0)
    assert set(np.flatnonzero(np.isnan(values))) == set(seen)


def test_data_oob_is_reproducible_and_independent_of_workers():
    values = data_oob(X, Y, n_estimators=30, random_state=3)
    with parallel_config("threading"):  # processes take long to start
        np.testing.assert_array_equal(data_oob(X, Y, n_estimators=30, random_state=3, n_jobs=2), values)
    assert (data_oob(X, Y, n_estimators=30, random_state=4) != values).any()
    generators = [np.random.default_rng(1), np.random.default_rng(1), np.random.RandomState(1)]
    first, again, _ = (data_oob(X, Y, n_estimators=30, random_state=state) for state in generators)
    np.testing.assert_array_equal(first, again)


def first_come(sequence):
    """Order matters: a player adds its number over its place."""
    return sum((player + 1) ** 2 / (place + 1) for place, player in enumerate(sequence))


@pytest.mark.parametrize(
    "game",
    [
        osv.TableGame(3, {(0,): 1.0, (0, 1): 2.0, (0, 2): -1.0, (1, 2): 4.0, (0, 1, 2): 0.5}),
        osv.FunctionGame(first_come, 6),
        osv.FunctionGame(len, 1),
        osv.LogisticGame(X, Y, X_VALID, Y_VALID),
        osv.LogisticGame(X, Y, X_VALID, Y_VALID, groups=[0, 1, 0, 2, 3, 3, 2]),
    ],
    ids=lambda game: type(game).__name__,
)
def test_leave_one_out(game):
    n = game.n_players
    full = game(list(range(n)))
    expected = [full - game([j for j in range(n) if j != i]) for i in range(n)]
    np.testing.assert_array_equal(leave_one_out(game), expected)
    np.testing.assert_array_equal(leave_one_out(game, n_jobs=2), expected)


def test_leave_one_out_against_refits():
    codes, truth = (np.searchsorted(["a", "b", "c"], labels) for labels in (Y, Y_VALID))
    utility = naive.LogisticUtility(X, codes, X_VALID, truth)
    expected = [utility(range(7)) - utility([j for j in range(7) if j != i]) for i in range(7)]
    np.testing.assert_allclose(leave_one_out(osv.LogisticGame(X, Y, X_VALID, Y_VALID)), expected, atol=1e-14)
