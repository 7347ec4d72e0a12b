"""Full permutations of a LogisticGame against refitting every prefix with scikit-learn.

The two take turns in one process, one thread each, so that a change in the machine's speed meets
both; the table takes the median of each. Times are CPU times: what else the machine does counts for
neither, and a hidden thread would count. No truncation: both evaluate every prefix. Nothing is
asserted about time.
"""

from __future__ import annotations

import time
from statistics import median

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import ordinal_shapley as osv
import refit_loop

ROUNDS = 7


@pytest.mark.benchmark(timer=time.process_time)
@pytest.mark.parametrize(
    ("make", "n_permutations"),
    [(refit_loop.wine, 200), (refit_loop.wdbc, 100), (refit_loop.adult, 20)],
    ids=["wine", "wdbc", "adult"],
)
def test_full_permutations(benchmark, make, n_permutations):
    problem = make()
    rng = np.random.default_rng(0)
    seconds: list[float] = []
    fits: list[int] = []

    start = time.perf_counter()
    game = osv.LogisticGame(problem.X, problem.y, problem.X_valid, problem.y_valid)
    osv.sample_values(game, n_permutations=1, random_state=0, n_jobs=1)
    first_call = time.perf_counter() - start

    def refit():
        """Time one permutation of the rival's loop, then hand over the seed for our turn."""
        order = rng.permutation(problem.y.size)
        start = time.process_time()
        with threadpool_limits(1):
            accuracies, n_fits = refit_loop.refit_loop(problem, order)
        seconds.append(time.process_time() - start)
        fits.append(n_fits)
        # Same work: liblinear stops at a loose tolerance, so a decision here and there may differ.
        fitted = np.flatnonzero(~np.isnan(accuracies))[:: max(1, problem.y.size // 20)]
        ours = np.array([game(order[: m + 1]) for m in fitted])
        assert np.mean(np.abs(ours - accuracies[fitted])) < 0.01
        return (int(rng.integers(2**31)),), {}

    def ours(seed):
        return osv.sample_values(
            game, method="mc", n_permutations=n_permutations, random_state=seed, n_jobs=1
        )

    valuation = benchmark.pedantic(ours, setup=refit, rounds=ROUNDS)
    assert valuation.n_permutations == n_permutations

    benchmark.extra_info.update(
        work=problem.name,
        rows=problem.X.shape[0],
        columns=problem.X.shape[1],
        classes=int(problem.y.max()) + 1,
        validation_rows=problem.y_valid.size,
        target=problem.target,
        first_call_seconds=first_call,
        baseline_seconds=median(seconds),
        fits_a_permutation=median(fits),
        n_permutations=n_permutations,
    )
