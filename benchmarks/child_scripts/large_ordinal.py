"""Many rows of Adult: ordinal values by default until errors are those of so many full permutations.

Usage: large_ordinal.py N_ROWS N_FULL N_JOBS MAX_SECONDS

What errors a full permutation has follows from the utilities of some orders: at every prefix of the first
rows, and at some sizes after, between which they change little. They give what an order says of the row at
each of its places; the mean square of that is the variance of one permutation, for the values themselves are
tiny beside it.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

import ordinal_shapley as osv
from bench import problems
from ordinal_shapley.sampling.stopping import Check, Progress, StoppingRule

N_ORDERS = 40
EVERY = 300
N_SIZES = 12
# `sample_values` takes from each utility the mean of nine others.
CENTRED = 10 / 9


def variance_of_a_full_permutation(game: osv.LogisticGame, seed: int = 0) -> float:
    """Mean over the rows of the variance of what one full permutation says of them."""
    rng, n = np.random.default_rng(seed), game.n_players
    first = min(EVERY, n)
    later = np.unique(np.geomspace(first, n, N_SIZES).round().astype(int))[1:]
    sizes = np.arange(1, n + 1)
    known = np.concatenate([sizes[:first], later])
    utilities = np.empty((N_ORDERS, n))
    for k in range(N_ORDERS):
        order = rng.permutation(n)
        found = [*game.prefix_utilities(order[:first]), *(game(order[:m]) for m in later)]
        utilities[k] = np.interp(np.log(sizes), np.log(known), found)
    centred = utilities - utilities.mean(axis=0)
    centred *= np.sqrt(CENTRED * N_ORDERS / (N_ORDERS - 1))
    inner, s = centred[:, :-1], sizes[:-1]
    # What is found at the sizes that hold a place, and at those that do not.
    with_it = np.cumsum((inner / s)[:, ::-1], axis=1)[:, ::-1]
    without = np.cumsum(inner / (n - s), axis=1)
    zero = np.zeros((N_ORDERS, 1))
    said = np.hstack([with_it, zero]) - np.hstack([zero, without])
    said += (utilities[:, -1:] - game(())) / n
    return float(np.mean((said - said.mean()) ** 2))


@dataclass(frozen=True)
class MeanSquaredError(StoppingRule):
    """Stop when the mean square of the standard errors is small enough."""

    limit: float

    def begin(self) -> Check:
        """Return a fresh check."""
        return _MeanSquaredErrorCheck(self.limit)


class _MeanSquaredErrorCheck(Check):
    def __init__(self, limit: float) -> None:
        self._limit = limit

    def __call__(self, progress: Progress) -> bool:
        self.converged = bool(np.mean(progress.stderr**2) <= self._limit)
        self.fired = "MeanSquaredError" if self.converged else ""
        return self.converged


def main(n_rows: int, n_full: int, n_jobs: int, max_seconds: float) -> None:
    problem = problems.adult_all() if n_rows == problems.ADULT_ROWS else problems.adult(n_rows, 500)
    rows = (problem.X, problem.y, problem.X_valid, problem.y_valid)
    start = time.perf_counter()
    limit = variance_of_a_full_permutation(osv.LogisticGame(*rows)) / n_full
    looked = time.perf_counter() - start
    rule = MeanSquaredError(limit) | osv.MaxSeconds(max_seconds)
    start = time.perf_counter()
    model = osv.OrdinalShapley(stopping=rule, random_state=0, n_jobs=n_jobs).fit(*rows)
    seconds = time.perf_counter() - start
    valuation = model.valuation_
    print(
        json.dumps(
            {
                "seconds": seconds,
                "rows": n_rows,
                "columns": problem.X.shape[1],
                "validation_rows": len(problem.y_valid),
                "workers": n_jobs,
                "full_permutations": n_full,
                "limit": limit,
                "seconds_to_find_it": looked,
                "reached": float(np.mean(valuation.stderr**2)),
                "converged": bool(valuation.converged),
                "rule": valuation.sampler.words,
                "n_permutations": valuation.n_permutations,
                "n_evaluations": valuation.n_evaluations,
            }
        )
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]), float(sys.argv[4]))
