"""Two workers against one: wall time, in turns, the same permutations."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest

import ordinal_shapley as osv
from bench import problems
from bench.timing import FULL, Baselines, report, rounds


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core")
def test_two_workers(benchmark):
    problem, n_permutations = problems.wdbc(), (400 if FULL else 40)
    game = osv.LogisticGame(problem.X, problem.y, problem.X_valid, problem.y_valid)
    baselines, values = Baselines(), []

    def run(n_jobs):
        return osv.sample_values(
            game, "partial_ordinal", "mc", n_permutations=n_permutations, random_state=0, n_jobs=n_jobs
        )

    run(2)  # compiles

    def one_worker():
        start = time.perf_counter()
        values.append(run(1).values)
        baselines.add("one worker", (time.perf_counter() - start) / n_permutations)

    valuation = benchmark.pedantic(lambda: run(2), setup=one_worker, rounds=rounds())
    np.testing.assert_array_equal(valuation.values, values[0])
    report(
        benchmark,
        "workers",
        problem.name,
        units=n_permutations,
        baselines=baselines,
        targets={"one worker": 1.85},
        n_permutations=n_permutations,
    )
