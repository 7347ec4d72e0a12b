"""Truncated permutation sampling against pyDVL's and OpenDataVal's, of the same order-free model.

One thread each, in turns, CPU time. That all train the same model is checked on prefixes of an order.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest

import ordinal_shapley as osv
from bench import problems, rivals
from bench.timing import FULL, Baselines, report, rounds

TOL = 0.01
PROBLEMS = {"wine": problems.wine, "wdbc": problems.wdbc, "adult": problems.adult}
# Permutations of ours a round, which take about as long as THEIRS of a rival.
OURS = {"wine": 600, "wdbc": 300, "adult": 50}
THEIRS = 5
# pyDVL's rule is ours with patience 1, about the score of all rows as given. OpenDataVal's (ten steps in a
# row without any change) is none of ours: there we walk on to the end, which is more work.
RULES = {
    "pyDVL": osv.PermutationSampler(truncation=osv.PatienceTruncation(TOL, patience=1, target="given")),
    "OpenDataVal": "mc",
}


def check(game, problem, rival):
    order = np.random.default_rng(0).permutation(problem.y.size)
    first = max(int(np.argmax(problem.y[order] == c)) for c in range(problem.n_classes)) + 1
    lengths = np.unique(np.linspace(first, order.size, 12).astype(int))
    theirs = rival(prefixes=[order[:m].tolist() for m in lengths])["utilities"]
    gaps = np.abs(np.array(theirs) - game.prefix_utilities(order)[lengths - 1])
    assert np.mean(gaps) < 0.01


@pytest.mark.benchmark(timer=time.process_time)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", PROBLEMS)
def test_truncated_permutations(benchmark, name, rule):
    if not FULL:
        pytest.skip("needs a rival's environment; BENCH_FULL=1 looks for one")
    problem, n_permutations = PROBLEMS[name](), OURS[name]
    game = osv.LogisticGame(
        problem.X, problem.y, problem.X_valid, problem.y_valid, position_weight="uniform", empty_value=0.0
    )
    baselines, fits, seeds = Baselines(), [], iter(range(1_000))

    def ours(seed):
        with warnings.catch_warnings():
            # That this rule ends many walks early is what is to be measured, not heeded.
            warnings.filterwarnings("ignore", ".*truncation ended", UserWarning)
            return osv.sample_values(
                game, "classic", RULES[rule], n_permutations=n_permutations, random_state=seed, n_jobs=1
            )

    ours(0)  # compiles
    try:
        running = rivals.running(rule, problem)
        with running as rival:
            check(game, problem, rival)
            request = {"n_permutations": THEIRS} | ({"tol": TOL} if rule == "pyDVL" else {})
            rival(seed=0, **request)

            def theirs():
                seed = next(seeds)
                answer = rival(seed=seed, **request)
                baselines.add(rule, answer["seconds"] / THEIRS)
                fits.append(answer["fits"] / THEIRS)
                return (seed,), {}

            valuation = benchmark.pedantic(ours, setup=theirs, rounds=rounds())
            version = rival.version
    except rivals.MissingRivalError as missing:
        pytest.skip(str(missing))

    report(
        benchmark,
        "tmc",
        problem.name,
        units=n_permutations,
        baselines=baselines,
        targets={rule: 500},
        rival=f"{rule} {version}",
        fits_a_permutation=valuation.n_evaluations / n_permutations,
        baseline_fits_a_permutation=float(np.mean(fits)),
    )
