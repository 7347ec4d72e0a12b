"""Cost against the number of rows, features and classes: the points of the picture.

CPU time per fit, of full permutations, beside that of liblinear's C++ alone on some of the prefixes. Under
the patience rule: what one more permutation costs.
"""

from __future__ import annotations

import functools
import time
from statistics import median

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import ordinal_shapley as osv
from bench import problems, refit
from bench.timing import FULL, Baselines, report, rounds

# (rows, features, classes), by the size that varies; the first of each is enough to see that it runs.
SIZES = {
    "rows": [(n, 30, 2) for n in (50, 100, 200, 400, 800)],
    "features": [(200, d, 2) for d in (8, 16, 32, 64, 128, 256, 512, 1024)],
    "classes": [(200, 20, k) for k in (2, 3, 4, 6, 8, 12)],
}
POINTS = [(axis, size) for axis, sizes in SIZES.items() for size in (sizes if FULL else sizes[:1])]
N_REFITTED = 8
SECONDS = 0.3
ROWS_OF_ADULT = (1_000, 4_000, 16_000, problems.ADULT_ROWS) if FULL else (500,)


def make_game(problem):
    return osv.LogisticGame(problem.X, problem.y, problem.X_valid, problem.y_valid)


def enough_permutations(run):
    """So many that a round takes about SECONDS."""
    start = time.perf_counter()
    run(2)
    return max(2, int(2 * SECONDS / (time.perf_counter() - start))) if FULL else 2


@pytest.mark.benchmark(timer=time.process_time)
@pytest.mark.parametrize(("axis", "size"), POINTS, ids=str)
def test_cost_a_fit(benchmark, axis, size):
    problem = problems.gaussian_classes(*size)
    game, baselines, seeds = make_game(problem), Baselines(), iter(range(1_000))
    order = np.random.default_rng(0).permutation(problem.y.size)
    first = max(int(np.argmax(problem.y[order] == c)) for c in range(problem.n_classes)) + 1
    lengths = np.unique(np.linspace(first, order.size, N_REFITTED).astype(int)).tolist()

    def run(n_permutations, seed=0):
        return osv.sample_values(
            game, "partial_ordinal", "mc", n_permutations=n_permutations, random_state=seed, n_jobs=1
        )

    run(1)  # compiles
    n_permutations = enough_permutations(run)

    def refit_some():
        seconds, accuracies = refit.with_liblinear(problem, order, lengths=lengths)
        baselines.add("liblinear", seconds / len(lengths))
        ours = game.prefix_utilities(order)
        assert np.nanmean(np.abs(ours - accuracies)) < 0.01
        return (n_permutations, next(seeds)), {}

    with threadpool_limits(1):
        valuation = benchmark.pedantic(run, setup=refit_some, rounds=rounds(3))
    report(
        benchmark,
        "scaling",
        f"{axis}: {size[0]} rows, {size[1]} features, {size[2]} classes",
        # Prefixes that lack a class count as evaluations and cost nothing; few do.
        units=valuation.n_evaluations,
        baselines=baselines,
        axis=axis,
        size=size[("rows", "features", "classes").index(axis)],
    )


@functools.cache
def all_of_adult():
    return problems.adult_all()


@pytest.mark.benchmark(timer=time.process_time)
@pytest.mark.parametrize("n", ROWS_OF_ADULT)
def test_walk_under_patience(benchmark, n):
    if FULL:
        problem = all_of_adult()
        rows = np.random.default_rng(0).permutation(problem.y.size)[:n]
        problem = problem._replace(X=problem.X[rows], y=problem.y[rows])
    else:
        problem = problems.adult(n)
    game, few, many = make_game(problem), 20, (120 if FULL else 40)
    rule = osv.PatienceTruncation(target="given")
    seconds = []

    def run(n_permutations):
        return osv.sample_values(
            game,
            "partial_ordinal",
            osv.PermutationSampler(truncation=rule, class_fraction=0.8),
            n_permutations=n_permutations,
            random_state=0,
            n_jobs=1,
        )

    run(few)

    def run_few():
        start = time.process_time()
        run(few)
        seconds.append(time.process_time() - start)
        return (many,), {}

    with threadpool_limits(1):
        valuation = benchmark.pedantic(run, setup=run_few, rounds=rounds(3))
    report(
        benchmark,
        "patience",
        f"Adult, {n:,} rows",
        units=many - few,
        rows=n,
        seconds_for_few=median(seconds),
        mean_evaluated=valuation.mean_evaluated,
    )
