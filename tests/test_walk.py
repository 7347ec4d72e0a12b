"""Utilities of every prefix equal a loop of tightly converged fits and scikit-learn metrics."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from ordinal_shapley import LogisticGame
from problems import named, size, twins, wine

METRICS = ["accuracy", "balanced_accuracy", "f1", "roc_auc", "neg_log_loss"]
# Metrics without a certificate converge to a tolerance.
TOLERANCE = {"roc_auc": 1e-12, "neg_log_loss": 1e-7}


def along(game, order):
    """Utilities of all prefixes of an order, warm-started along it."""
    return game.prefix_utilities(order)


def check_walk(game, utility, order, atol=1e-12):
    expected = [utility(order[: m + 1]) for m in range(len(order))]
    np.testing.assert_allclose(along(game, order), expected, atol=atol, rtol=0)
    # A single evaluation starts cold, and agrees.
    for m in {0, 1, len(order) // 2, len(order)}:
        assert game(order[:m]) == pytest.approx(utility(order[:m]), abs=atol)


@lru_cache
def models_of(name, against_rest):
    """Room for the models of a problem, which are the same for every metric."""
    return {}


class FittedOnce(naive.LogisticUtility):
    def __init__(self, *problem, models, scoring):
        super().__init__(*problem, scoring=scoring)
        self.models = models

    def coefficients(self, sequence):
        if sequence not in self.models:
            self.models[sequence] = super().coefficients(sequence)
        return self.models[sequence]


@pytest.mark.parametrize("scoring", METRICS)
@pytest.mark.parametrize("name", ["wine", "wine raw", "cancer", "wdbc", "wdbc raw"])
def test_every_prefix(name, scoring):
    problem = named(name)
    against_rest = problem.n_classes > 2 and scoring == "roc_auc"
    if against_rest:
        problem = problem.against_rest(0)
    game = LogisticGame(*problem, scoring=scoring)
    utility = FittedOnce(*problem, models=models_of(name, against_rest), scoring=scoring)
    rng = np.random.default_rng(3)
    for _ in range(size(2, 1)):
        order = rng.permutation(len(problem.y))[: size(100, 8)]
        check_walk(game, utility, order, TOLERANCE.get(scoring, 1e-12))


@pytest.mark.parametrize("scoring", METRICS)
def test_against_a_scikit_learn_loop(scoring):
    # liblinear itself in place of the oracle's own solver.
    problem = named("wdbc")
    game = LogisticGame(*problem, scoring=scoring)
    utility = naive.LogisticUtility(*problem, scoring=scoring, solver=naive.liblinear)
    order = np.random.default_rng(8).permutation(len(problem.y))[: size(80, 8)]
    check_walk(game, utility, order, 1e-6 if scoring == "neg_log_loss" else 1e-12)


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_regularisation(C):
    problem = wine(True)
    game = LogisticGame(*problem, C=C)
    check_walk(
        game, naive.LogisticUtility(*problem, C=C), np.random.default_rng(0).permutation(89)[: size(60, 8)]
    )


def test_sample_weight():
    problem = wine(True)
    sample_weight = 10.0 ** np.random.default_rng(0).uniform(-5, 5, 89)
    check_walk(
        LogisticGame(*problem, sample_weight=sample_weight),
        naive.LogisticUtility(*problem, sample_weight=sample_weight),
        np.random.default_rng(1).permutation(89)[: size(89, 8)],
    )


def falling(position, m):
    return (m - position) / m


def falling_all(m):
    return [(m - i) / m for i in range(m)]


def test_weights_by_a_function():
    import numba

    problem = wine(True).first(40)
    utility = naive.LogisticUtility(*problem, weights=lambda m: np.array(falling_all(m)))
    order = np.random.default_rng(0).permutation(40)[: size(40, 8)]
    for weight in (falling, falling_all, numba.njit(falling)):
        game = LogisticGame(*problem, position_weight=weight)
        assert not game.order_free
        check_walk(game, utility, order)


@pytest.mark.parametrize("scoring", METRICS)
def test_empty_value_is_the_score_of_the_commonest_validation_label(scoring):
    problem = named("cancer").first(30)
    game = LogisticGame(*problem, scoring=scoring)
    utility = naive.LogisticUtility(*problem, scoring=scoring)
    assert game(()) == game.empty_value_ == pytest.approx(utility.v0, abs=1e-15)
    one_class = np.flatnonzero(problem.y == 1)[:3]
    assert game(one_class) == game.empty_value_


def test_empty_value_as_a_number():
    problem = wine(True)
    game = LogisticGame(*problem, empty_value=-2.5)
    utility = naive.LogisticUtility(*problem, empty_value=-2.5)
    check_walk(game, utility, np.random.default_rng(0).permutation(89)[: size(30, 8)])
    assert game([0]) == -2.5


def test_auc_ties_do_not_depend_on_the_warm_start():
    # Two pairs of twins in a symmetric order have the model 0: every validation row is tied.
    problem, pairs = named("cancer"), twins()
    game = LogisticGame(*problem, scoring="roc_auc")
    utility = naive.LogisticUtility(*problem, scoring="roc_auc")
    for a, b in pairs:
        for c, d in pairs:
            if len({a, b, c, d}) == 4:
                check_walk(game, utility, [a, c, d, b])
                assert utility([a, c, d, b]) == 0.5


def clients(n, rng, n_clients=12):
    """Random owners of n rows, as labels; not sorted, not contiguous."""
    labels = rng.integers(n_clients, size=n)
    labels[:n_clients] = np.arange(n_clients)
    return np.array([f"client {k:02d}" for k in labels])


@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss"])
def test_groups_enter_together_in_the_given_order(scoring):
    problem = wine(True)
    rng = np.random.default_rng(4)
    groups = clients(89, rng)
    sample_weight = rng.uniform(0.5, 2, 89)
    game = LogisticGame(*problem, groups=groups, sample_weight=sample_weight, scoring=scoring)
    names = list(game.player_names)
    assert sorted(names) == sorted(set(groups))
    assert game.n_players == 12
    members = [list(np.flatnonzero(groups == name)) for name in names]
    utility = naive.LogisticUtility(*problem, members=members, sample_weight=sample_weight, scoring=scoring)
    for _ in range(size(5, 1)):
        order = rng.permutation(12)[: size(12, 4)]
        check_walk(game, utility, order, TOLERANCE.get(scoring, 1e-12))


@settings(max_examples=size(60, 4), deadline=None)
@given(
    n=st.integers(4, 14),
    d=st.integers(1, 6),
    n_classes=st.integers(2, 4),
    n_valid=st.integers(1, 20),
    levels=st.integers(1, 3),
    seed=st.integers(0, 2**32 - 1),
    scoring=st.sampled_from(["accuracy", "balanced_accuracy", "f1", "neg_log_loss"]),
)
def test_small_integer_features(n, d, n_classes, n_valid, levels, seed, scoring):
    # Few distinct rows: many duplicates, contradictions and exact ties.
    rng = np.random.default_rng(seed)
    X = rng.integers(-levels, levels + 1, size=(n, d)).astype(float)
    X_valid = rng.integers(-levels, levels + 1, size=(n_valid, d)).astype(float)
    y, y_valid = rng.integers(n_classes, size=n), rng.integers(n_classes, size=n_valid)
    y[:n_classes] = np.arange(n_classes)
    y_valid[0] = 1  # f1 is that of class 1 and wants it there
    game = LogisticGame(X, y, X_valid, y_valid, scoring=scoring)
    utility = naive.LogisticUtility(X, y, X_valid, y_valid, scoring=scoring)
    check_walk(game, utility, rng.permutation(n), TOLERANCE.get(scoring, 1e-12))


def test_a_row_that_is_perpendicular_to_all_others_is_tied():
    X = np.array([[-2.0, -1, 1, -1], [2, -1, -1, 1], [1, 2, -2, -1], [2, 0, 0, -1]])
    y, X_valid, y_valid = np.array([0, 1, 1, 1]), np.array([[0.0, 1, 1, 1]]), np.array([1])
    game, utility = (make(X, y, X_valid, y_valid) for make in (LogisticGame, naive.LogisticUtility))
    check_walk(game, utility, np.array([2, 3, 0, 1]))


def test_the_caller_s_arrays_stay_as_they_are():
    problem = named("wine")
    before = [array.copy() for array in problem]
    game = LogisticGame(*problem)
    along(game, np.arange(size(60, 10)))
    game.coefficients(np.arange(10 if len(set(problem.y[:10])) == 3 else 89), tol=1e-6)
    for array, copy in zip(problem, before, strict=True):
        np.testing.assert_array_equal(array, copy)
