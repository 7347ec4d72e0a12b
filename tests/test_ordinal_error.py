"""The comparison of docs/ordinal.md counts what it says it counts."""

from __future__ import annotations

import numpy as np
import pytest

import naive
import ordinal_error
import ordinal_shapley as osv
from problems import random_problem, size


def tiny(n=8, walks=(30, 60)):
    rows = random_problem(2, n=n, n_valid=25, seed=4)
    game = osv.LogisticGame(*rows)
    truth = osv.sample_values(game, "ordinal", "mc", n_permutations=size(500, 50), random_state=1).values
    costs = ordinal_error.HasEveryClass(rows.y)
    return ordinal_error.Problem("tiny", f"{n} rows", game, costs, truth, walks, 2, truncated=True)


def test_budgets():
    problem = tiny()
    runs = ordinal_error.all_runs(problem, 3)
    assert set(runs) == {"in/out", "in/out, patience", "in/out, roulette", "insertion"}
    budgets, _ = runs["in/out"]
    n = problem.game.n_players
    result = osv.sample_values(problem.game, "ordinal", "mc", n_permutations=30, random_state=1003)
    orders = [naive.permutation(result.seed, t, [list(range(n))], [n]) for t in range(30)]
    prefixes = [tuple(order[:s]) for order in orders for s in range(1, n + 1)]
    assert budgets[0] == result.n_evaluations == sum(map(problem.costs, prefixes))
    for name, (used, values) in runs.items():
        assert not any(u > b for u, b in zip(used, budgets, strict=True)), name
        assert np.shape(values) == (2, n)
    assert all(b - u < 2 for u, b in zip(runs["insertion"][0], budgets, strict=True))
    assert runs["in/out, patience"][0][1] > budgets[0] / 2
    assert runs["in/out, roulette"][0][1] > budgets[1] / 2


@pytest.mark.slow
def test_insertion_in_the_comparison_is_unbiased():
    problem = tiny(n=5)
    exact = osv.exact_values(problem.game, "ordinal").values
    runs = [ordinal_error.insertion_run(problem, run, [200])[1][0] for run in range(size(100, 20))]
    errors = np.std(runs, axis=0, ddof=1) / np.sqrt(len(runs))
    assert np.abs((np.mean(runs, axis=0) - exact) / errors).max() < 4.5


@pytest.mark.parametrize(
    ("sequence", "gains"),
    [((), 0), ((0, 4), 6), ((4, 0), 0), ((1, 0, 7, 5, 4), 3 + 4), ((3, 7), 0), ((3, 2, 6, 4), 2 + 3)],
)
def test_gains_from_trade(sequence, gains):
    assert ordinal_error.gains_from_trade(np.array(sequence, dtype=np.int64)) == gains
