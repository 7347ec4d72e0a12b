"""Full permutations of a LogisticGame against refitting every prefix.

All take turns, one thread each, so that a change in the machine's speed meets all; the table takes the
median of each. Times are CPU times: what else the machine does counts for none, and a hidden thread would
count. No truncation: every prefix is evaluated. Nothing is asserted about time.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from statistics import median
from typing import NamedTuple

import numpy as np
import pytest
import sklearn
from threadpoolctl import threadpool_limits

import ordinal_shapley as osv
from bench import problems, refit, rivals
from bench.timing import FULL, Baselines, report, rounds


class Case(NamedTuple):
    """A problem, how much of it to time, and the ratios aimed at: to the loop, and to liblinear alone."""

    make: Callable[[], problems.Problem]
    n_permutations: int
    n_rounds: int
    target: int
    strict_target: int | None = None


CASES = {
    "wine": Case(problems.wine, 300, 7, 1000, 50),
    "wdbc": Case(problems.wdbc, 150, 7, 600, 100),
    "adult": Case(problems.adult, 40, 7, 150, 50),
    "wine-raw": Case(problems.wine_raw, 100, 7, 300),
    "dense": Case(problems.dense_wide, 10, 3, 500),
    "sparse": Case(problems.sparse_wide, 3, 3, 150),
}
SLOW = ("dense", "sparse")


def check(game, order, *answers):
    """Same work: the same accuracies, but for liblinear's loose tolerance. Returns the largest mean gap."""
    ours, gap = game.prefix_utilities(order), 0.0
    for accuracies in answers:
        fitted = ~np.isnan(accuracies)
        gap = max(gap, float(np.mean(np.abs(ours - accuracies)[fitted])))
    assert gap < 0.01
    return gap


@pytest.mark.benchmark(timer=time.process_time)
@pytest.mark.parametrize("name", CASES)
def test_full_permutations(benchmark, name):
    if name in SLOW and not FULL:
        pytest.skip("takes minutes; BENCH_FULL=1 runs it")
    case = CASES[name]
    problem = case.make()
    n_permutations = case.n_permutations if FULL else 2
    rng = np.random.default_rng(0)
    baselines, fits, gaps = Baselines(), [], []
    versions = {"scikit-learn": sklearn.__version__}
    osv.LogisticGame([[0.0], [1.0]], [0, 1], [[0.5]], [0])  # imports what it needs

    start = time.process_time()
    game = osv.LogisticGame(problem.X, problem.y, problem.X_valid, problem.y_valid)
    setup_seconds = time.process_time() - start
    osv.sample_values(game, "partial_ordinal", "mc", n_permutations=1, random_state=0, n_jobs=1)  # compiles

    def ours(seed):
        return osv.sample_values(
            game, "partial_ordinal", "mc", n_permutations=n_permutations, random_state=seed, n_jobs=1
        )

    with contextlib.ExitStack() as stack:
        stack.enter_context(threadpool_limits(1))
        old = None
        if FULL:
            with contextlib.suppress(rivals.MissingRivalError):
                old = stack.enter_context(rivals.running("scikit-learn", problem))
                versions["old scikit-learn"] = old.version

        def refit_all():
            """Time one permutation of each baseline, then hand over the seed for our turn."""
            order = rng.permutation(problem.y.size)
            answers = {
                "scikit-learn": refit.with_sklearn(problem, order, native=False),
                "liblinear": refit.with_liblinear(problem, order),
            }
            if old is not None:
                answer = old(order=order.tolist())
                accuracies = np.array(answer["accuracies"], dtype=np.float64)
                answers["old scikit-learn"] = (answer["seconds"], accuracies)
            n_fits = int(np.count_nonzero(~np.isnan(answers["scikit-learn"][1])))
            for key, (seconds, _) in answers.items():
                baselines.add(key, seconds / n_fits)
            fits.append(n_fits)
            gaps.append(check(game, order, *(accuracies for _, accuracies in answers.values())))
            return (int(rng.integers(2**31)),), {}

        valuation = benchmark.pedantic(ours, setup=refit_all, rounds=rounds(case.n_rounds))
    assert valuation.n_permutations == n_permutations

    targets = {"scikit-learn": case.target}
    if case.strict_target:
        targets["liblinear"] = case.strict_target
    report(
        benchmark,
        "refit",
        problem.name,
        units=n_permutations * median(fits),
        baselines=baselines,
        targets=targets,
        rows=problem.X.shape[0],
        columns=problem.X.shape[1],
        classes=problem.n_classes,
        validation_rows=problem.y_valid.size,
        n_permutations=n_permutations,
        fits_a_permutation=median(fits),
        setup_seconds=setup_seconds,
        gap=max(gaps),
        versions=versions,
    )
