"""The oracle checks itself: an independent solver, scikit-learn's loop, hand-made cases."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

import naive
from problems import named, random_problem


def test_gaussian_weights():
    np.testing.assert_array_equal(naive.gaussian_weights(1), [1.0])
    # m = 3: mu = 1, s = 1/3, W = 9/sqrt(2 pi) exp(-4.5), 9/sqrt(2 pi), and the same again.
    peak = 9 / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(naive.gaussian_weights(3), peak * np.exp([-4.5, 0, -4.5]))
    np.testing.assert_allclose(naive.gaussian_weights(90).mean(), 1, atol=0.01)
    np.testing.assert_array_equal(naive.gaussian_weights(7), naive.gaussian_weights(7)[::-1])


@pytest.mark.parametrize("name", ["wine", "wine raw", "wdbc", "wdbc raw"])
def test_newton_agrees_with_liblinear(name):
    problem = named(name)
    m = 50
    cost = naive.gaussian_weights(m)
    for sign in naive.one_vs_rest(problem.y[:m], problem.n_classes):
        ours = naive.newton(problem.X[:m], sign, cost)
        theirs = naive.liblinear(problem.X[:m], sign, cost)
        scale = 1 + naive.gradient_norm(np.zeros_like(ours), problem.X[:m], sign, cost)
        assert naive.gradient_norm(ours, problem.X[:m], sign, cost) < 1e-15 * scale
        assert np.linalg.norm((ours - theirs).astype(float)) < 1e-5 * np.linalg.norm(theirs)


def test_gradient_is_that_of_the_objective():
    problem = random_problem(4, n=20)
    sign, cost = naive.one_vs_rest(problem.y, 2)[0], np.linspace(0.1, 2, 20)
    w = np.array([0.3, -0.2, 0.5, 0.1, -0.4])
    numeric = [
        (naive.objective(w + h, problem.X, sign, cost) - naive.objective(w - h, problem.X, sign, cost)) / 2e-5
        for h in 1e-5 * np.eye(5)
    ]
    np.testing.assert_allclose(
        naive.gradient(w, problem.X, sign, cost).astype(float), numeric, rtol=1e-6, atol=1e-8
    )


@pytest.mark.parametrize("name", ["wine", "wdbc"])
def test_utilities_by_both_solvers(name):
    problem = named(name)
    tight = naive.LogisticUtility(*problem)
    loop = naive.LogisticUtility(*problem, solver=naive.liblinear)
    order = np.random.default_rng(0).permutation(len(problem.y))
    for m in (0, 1, 2, 3, 5, 10, 30, 60, 89):
        assert tight(order[:m]) == loop(order[:m])


def test_tied_decisions_go_to_the_lowest_class():
    coef = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.5]])
    assert naive.predict(coef, [[2.0], [0.5], [0.0]]).tolist() == [0, 0, 2]
    assert naive.predict(np.array([[1.0, 0.0]]), [[0.0], [1e-3], [-1.0]]).tolist() == [0, 1, 0]


def test_truncation_rules_by_hand():
    # v_3 = 0.97 is within 0.05 of the full order's 1, so v_4 = 0.2 is never seen.
    utilities = [0.0, 0.5, 0.58, 0.97, 0.2, 1.0]
    table = {tuple(range(j)): v for j, v in enumerate(utilities)}
    U = naive.TableUtility(5, table)
    marginals, length = naive.walk_paper(U, (0, 1, 2, 3, 4), 0.05)
    np.testing.assert_allclose(marginals, [0.5, 0.08, 0.39, 0, 0])
    assert length == 3
    marginals, length = naive.walk_patience(U, (0, 1, 2, 3, 4), 0.1, 2, 0.55)
    np.testing.assert_allclose(marginals, [0.5, 0.08, 0, 0, 0])
    assert length == 2


def test_rules_wait_for_a_model():
    X = np.array([[0.0], [0.1], [1.0], [1.1]])
    U = naive.LogisticUtility(X, [0, 0, 1, 1], X, [0, 0, 1, 1], empty_value=1.0)
    assert U((0, 1, 2, 3)) == 1.0  # so that the rule holds from the start, but for the missing model
    _, length = naive.walk_paper(U, (0, 1, 2, 3), 0.6)
    assert length == 3
    _, length = naive.walk_patience(U, (0, 1, 2, 3), 0.5, 2, 1.0)
    assert length == 4


def test_averages():
    marginals = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])
    chosen = np.array([[True, False], [False, True], [True, False]])
    values, errors = naive.averages(marginals, chosen, "all")
    np.testing.assert_allclose(values, [4 / 3, 2 / 3])
    np.testing.assert_allclose(errors, marginals.std(axis=0, ddof=1) / np.sqrt(3))
    values, errors = naive.averages(marginals, chosen, "selected")
    np.testing.assert_allclose(values, [2, 2])
    np.testing.assert_allclose(errors[0], np.sqrt(2 / 2))
    assert np.isnan(errors[1])


def test_class_quota_float_traps():
    assert 0.7 * 90 < 63
    assert 0.58 * 50 < 29
    assert naive.class_quota([90, 50, 1], 0.7) == [63, 35, 1]
    assert naive.class_quota([50], 0.58) == [29]


@pytest.mark.parametrize("n", [1, 2, 4])
def test_insertion_draws_are_uniform(n):
    # Every (sequence, place) has the chance 1/n 1/C(n-1, size) 1/size! 1/(size+1).
    rng, i, n_draws = np.random.default_rng(n), n - 1, 20_000
    counts = Counter(naive.insertion_draw(n, i, rng) for _ in range(n_draws))
    expected = {}
    for S in naive.sequences_of(range(n - 1)):
        chance = 1 / (n * math.comb(n - 1, len(S)) * math.factorial(len(S)) * (len(S) + 1))
        expected |= {(S, (*S[:k], i, *S[k:])): chance for k in range(len(S) + 1)}
    assert math.isclose(sum(expected.values()), 1)
    assert counts.keys() == expected.keys()
    for draw, p in expected.items():
        assert abs(counts[draw] - n_draws * p) <= 4.5 * math.sqrt(n_draws * p * (1 - p))
