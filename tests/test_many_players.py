"""Of many players few come before a walk ends: sums of those alone are made, as if they were of all."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from numba import njit

import ordinal_shapley as osv
from runs import sample_with

pytestmark = pytest.mark.filterwarnings("ignore:.*truncation ended:UserWarning")


@njit
def early(sequence):
    total = 0.0
    for j in range(len(sequence)):
        total += (1.0 + 0.01 * (sequence[j] % 7)) * 0.4**j
    return total


N = 1_000
RULE = osv.PatienceTruncation(0.05, 3, "given")
KINDS = {
    "independent": {"method": "tmc", "truncation": RULE},
    "antithetic": {"method": "tmc", "truncation": RULE, "design": "antithetic"},
    "by class": {"method": "ctmc", "truncation": RULE, "strata": np.arange(N) % 3},
    "selected": {"method": "cmc", "strata": np.arange(N) % 3, "class_fraction": 4 / N, "average": "selected"},
    "roulette": {"method": "tmc", "truncation": osv.Roulette(min_probability=0.001)},
}


def sampled(kind, n_permutations=57, **options):
    game = osv.FunctionGame(early, N)
    return sample_with(game, n_permutations=n_permutations, random_state=3, **KINDS[kind], **options)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_bits_on_two_workers_and_after_a_break(kind, tmp_path):
    whole = sampled(kind, 70)
    for n, n_jobs in ((7, 1), (23, 2), (70, 2)):
        part = sampled(kind, n, n_jobs=n_jobs, checkpoint=tmp_path / "run.npz")
    assert part.values.tobytes() == whole.values.tobytes()
    assert part.stderr.tobytes() == whole.stderr.tobytes()


def test_a_shard_takes_little_memory_of_many_players():
    """A run keeps some numbers a player; what shards take is for those that they reach."""
    n = 100_000
    game = osv.FunctionGame(early, n, order_free=False)
    sampled("independent")  # compiles
    tracemalloc.start()
    sample_with(game, method="tmc", truncation=RULE, n_permutations=200, random_state=3)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 28 * 8 * n  # 33 if sums of all players were made
