"""Many rows of Adult: time and memory until every row has been evaluated so many times.

Usage: large.py N_ROWS CONTRIBUTIONS N_JOBS. A walk under the patience rule is short, so a row is evaluated in
few permutations and 0 in the others. A pilot run measures how many rows a permutation evaluates; from that
follows how many permutations give all rows their number with probability 99 % (a union bound over binomial
tails). Only the run of that many permutations is timed, all that it computes beforehand included.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

from scipy.stats import binom

sys.path.insert(0, str(Path(__file__).parent.parent))

import ordinal_shapley as osv
from bench import problems


def permutations_needed(n_rows: int, walk_length: float, contributions: int, failure: float = 0.01) -> int:
    low, high = 1, 1
    share = walk_length / n_rows

    def enough(n_permutations: int) -> bool:
        return bool(n_rows * binom.cdf(contributions - 1, n_permutations, share) <= failure)

    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def main(n_rows: int, contributions: int, n_jobs: int) -> None:
    problem = problems.adult_all() if n_rows == problems.ADULT_ROWS else problems.adult(n_rows, 1_000)
    game = osv.LogisticGame(problem.X, problem.y, problem.X_valid, problem.y_valid)

    def run(n_permutations: int, seed: int) -> osv.Valuation:
        return osv.sample_values(
            game,
            "partial_ordinal",
            osv.PermutationSampler(truncation=osv.PatienceTruncation(), class_fraction=0.8),
            n_permutations=n_permutations,
            random_state=seed,
            n_jobs=n_jobs,
        )

    pilot = run(200, seed=1)
    n_permutations = permutations_needed(n_rows, pilot.mean_evaluated, contributions)
    start = time.perf_counter()
    valuation = run(n_permutations, seed=0)
    seconds = time.perf_counter() - start
    print(
        json.dumps(
            {
                "seconds": seconds,
                "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
                "rows": n_rows,
                "validation_rows": len(problem.y_valid),
                "columns": problem.X.shape[1],
                "n_permutations": valuation.n_permutations,
                "mean_evaluated": valuation.mean_evaluated,
                "n_evaluations": valuation.n_evaluations,
                "contributions": contributions,
                "workers": n_jobs,
            }
        )
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
