"""Exact values against plain loops over permutations and against shapiq's exact computer.

Ours and the baseline run in one process, in turns, so that a change in the machine's speed meets both; the
table takes the median of each. The baselines get smaller games where they would take too long: what is
compared is distinct sequences (or subsets) a second, so a loop that evaluates a sequence many times pays
for it, and pays less than it would in the larger game. Nothing is asserted about time.
"""

from __future__ import annotations

import itertools
import math
import time

import numba
import numpy as np
import pytest

import ordinal_shapley as osv
from bench import problems, refit
from bench.timing import FULL, Baselines, report, rounds

ROUNDS = 5


@numba.njit
def discounted(sequence):
    total = 0.0
    for place in range(sequence.size):
        total += (sequence[place] + 1.0) / (place + 1.0)
    return total


def count_sequences(n):
    return sum(math.perm(n, k) for k in range(n + 1))


def loop_over_permutations(utility, n):
    """The paper's second expression as one would write it; a permutation has n prefixes to evaluate."""
    values = np.zeros(n)
    for order in itertools.permutations(range(n)):
        before = utility(())
        for place, player in enumerate(order):
            after = utility(order[: place + 1])
            values[player] += after - before
            before = after
    return values / math.factorial(n)


def measure(
    benchmark,
    game,
    baseline,
    name,
    work,
    n_ours,
    n_baseline,
    target,
    *,
    n_rounds=ROUNDS,
    value="partial_ordinal",
    **options,
):
    """Time both in turns; `baseline()` returns how many sequences it did the work of."""
    baselines = Baselines()
    small = osv.TableGame.from_array(1, np.zeros(2))
    osv.exact_values(small, "partial_ordinal")
    osv.exact_values(game, value, **options)  # compiles

    def setup():
        start = time.perf_counter()
        n_done = baseline()
        baselines.add(name, (time.perf_counter() - start) / n_done)

    result = benchmark.pedantic(
        lambda: osv.exact_values(game, value, **options), setup=setup, rounds=rounds(n_rounds)
    )
    report(
        benchmark,
        "exact",
        work,
        units=result.n_evaluations,
        baselines=baselines,
        players=n_ours,
        baseline_players=n_baseline,
        workers=options.get("n_jobs", -1),
        aim=target,
    )
    return result


def permutations_of(utility, n):
    def baseline():
        loop_over_permutations(utility, n)
        return count_sequences(n)

    return baseline


@pytest.mark.parametrize("value", ["partial_ordinal", "ordinal"])
def test_table(benchmark, value):
    n, n_small = (10 if FULL else 9), 7
    values = np.random.default_rng(0).normal(size=count_sequences(n))
    game = osv.TableGame.from_array(n, values)
    small = {S: 1.0 * len(S) for k in range(n_small + 1) for S in itertools.permutations(range(n_small), k)}
    measure(
        benchmark,
        game,
        permutations_of(small.__getitem__, n_small),
        "loop",
        f"table, {value}",
        n,
        n_small,
        "40 M/s on one core",
        value=value,
        n_jobs=1,
    )


@pytest.mark.parametrize("workers", [1, 2])
def test_jitted_function(benchmark, workers):
    n, n_small = (10 if FULL else 9), 6
    measure(
        benchmark,
        osv.FunctionGame(discounted, n),
        permutations_of(lambda S: sum((i + 1.0) / (k + 1.0) for k, i in enumerate(S)), n_small),
        "loop",
        f"jitted function, {workers} worker{'s' if workers > 1 else ''}",
        n,
        n_small,
        "40 M/s on two cores" if workers == 2 else "",
        n_jobs=workers,
    )


def test_python_function(benchmark):
    n = 7

    def utility(S):
        return sum((i + 1.0) / (k + 1.0) for k, i in enumerate(S))

    measure(
        benchmark,
        osv.FunctionGame(lambda S: utility(S.tolist()), n),
        permutations_of(utility, n),
        "loop",
        "plain Python function",
        n,
        n,
        "",
    )


def test_logistic_game(benchmark):
    """The baseline is scikit-learn's model, fitted to the prefixes of a few permutations: fits a second."""
    problem = problems.wine()
    n_each = 3 if FULL else 2
    rows = np.concatenate([np.flatnonzero(problem.y == c)[:n_each] for c in np.unique(problem.y)])[:8]
    game = osv.LogisticGame(problem.X[rows], problem.y[rows], problem.X_valid, problem.y_valid)
    rng = np.random.default_rng(0)
    small = problem._replace(X=problem.X[rows], y=problem.y[rows])

    def baseline():
        orders = [rng.permutation(len(rows)) for _ in range(5)]
        answers = [refit.with_sklearn(small, order, native=False)[1] for order in orders]
        return sum(np.count_nonzero(~np.isnan(accuracies)) for accuracies in answers)

    result = measure(
        benchmark,
        game,
        baseline,
        "scikit-learn",
        "logistic game",
        len(rows),
        len(rows),
        "n = 8 in 10 s",
        n_jobs=1,
    )
    assert result.n_evaluations == count_sequences(len(rows))


def test_classic_by_subsets(benchmark):
    """Shapiq takes all coalitions as one boolean matrix, so its game is one numpy expression."""
    shapiq = pytest.importorskip("shapiq")
    n, n_small = 20, (16 if FULL else 10)
    worth = np.random.default_rng(0).normal(size=n)

    @numba.njit
    def squared(sequence):
        total = 0.0
        for player in sequence:
            total += worth[player]
        return total * total

    def baseline():
        computer = shapiq.ExactComputer(lambda X: (X @ worth[:n_small]) ** 2, n_small)
        theirs = computer("SV").get_n_order_values(1)
        ours = osv.exact_values(osv.FunctionGame(squared, n_small, order_free=True), "classic")
        np.testing.assert_allclose(ours.values, theirs, atol=1e-9)
        return 2**n_small

    measure(
        benchmark,
        osv.FunctionGame(squared, n, order_free=True),
        baseline,
        "shapiq",
        "classic, by subsets",
        n,
        n_small,
        "n = 20",
        n_rounds=3,
        value="classic",
        n_jobs=1,
    )
