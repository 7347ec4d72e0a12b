"""The ordinal value by sampling: the in/out estimator against its definition and the exact value."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import naive
import ordinal_shapley as osv
from ordinal_shapley.sampling.shards import SHARD_SIZE
from problems import random_problem
from runs import plain_rule, sample_with
from test_sampling import RULES, strata_of

# Permutations of this stream are apart from those that are walked.
OTHER_STREAM = 0x2545F4914F6CDD1D

pytestmark = pytest.mark.filterwarnings("ignore:.*truncation ended:UserWarning")


def played(n=6, seed=4, **options):
    problem = random_problem(2, n=n, n_valid=25, seed=seed)
    return osv.LogisticGame(*problem, **options), naive.LogisticUtility(*problem)


def in_out_samples(utility, n_players, sequences, filled, empty, unit=1, other=None):
    """x[t, i] from the formula, one term at a time; `filled[t][s]` is the utility of the first s.

    A unit that is alone in its shard is centred with `other`, the utilities of another permutation.
    """
    samples = np.zeros((len(sequences), n_players))
    for t, sequence in enumerate(sequences):
        first = t - t % SHARD_SIZE
        block = range(first, min(first + SHARD_SIZE, len(sequences)))
        others = [filled[u] for u in block if u // unit != t // unit]
        others = others or [other]
        n = len(sequence)
        for i in sequence:
            value = (filled[t][n] - empty) / n
            for s in range(1, n):
                centre = np.mean([utilities[s] for utilities in others])
                share = 1 / s if i in sequence[:s] else -1 / (n - s)
                value += (filled[t][s] - centre) * share
            samples[t, i] = value
    return samples


def check_samples(result, samples, unit=1):
    """Values are the mean of the samples, standard errors those of the means of whole units."""
    np.testing.assert_allclose(result.values, samples.mean(axis=0), atol=1e-12)
    complete = len(samples) // unit
    if complete > 1:
        means = samples[: complete * unit].reshape(complete, unit, -1).mean(axis=1)
        np.testing.assert_allclose(result.stderr, stats.sem(means, axis=0), atol=1e-12)


@pytest.mark.parametrize("method", ["mc", "cmc"])
@pytest.mark.parametrize("n_permutations", [1, 10, 11, 23])
def test_samples_equal_the_formula(method, n_permutations):
    game, utility = played(n=9)
    result = osv.sample_values(game, "ordinal", method, n_permutations=n_permutations, random_state=2)
    groups, quota = strata_of(utility.y, method, 0.8)
    sequences = [naive.permutation(result.seed, t, groups, quota) for t in range(n_permutations)]
    filled = [[utility(seq[:s]) for s in range(len(seq) + 1)] for seq in sequences]
    alone = n_permutations - n_permutations % SHARD_SIZE
    other = naive.permutation(result.seed ^ OTHER_STREAM, alone, groups, quota)
    other = [utility(other[:s]) for s in range(len(other) + 1)]
    samples = in_out_samples(utility, 9, sequences, filled, utility(()), other=other)
    check_samples(result, samples)
    full = np.mean([row[-1] for row in filled])
    assert result.values.sum() == pytest.approx(full - utility(()), abs=1e-12)


@pytest.mark.parametrize("method", ["tmc", "ctmc"])
@pytest.mark.parametrize("kind", ["paper", "patience"])
def test_truncated_walks_go_on_at_the_full_utility(method, kind):
    game, utility = played(n=12)
    rule = RULES[kind]
    result = sample_with(game, "ordinal", method, truncation=rule, n_permutations=20, random_state=3)
    groups, quota = strata_of(utility.y, method, 0.8)
    sequences = [naive.permutation(result.seed, t, groups, quota) for t in range(20)]
    given = utility(range(12))
    # The oracle's walks say how long each walk was.
    _, _, lengths = naive.marginal_contributions(
        utility, 12, sequences, *plain_rule(rule), given if kind == "patience" else None
    )
    assert min(lengths) < len(sequences[0]), "nothing was truncated: the test shows nothing"
    filled = []
    for sequence, length in zip(sequences, lengths, strict=True):
        full = utility(sequence) if kind == "paper" else given
        filled.append([utility(sequence[:s]) if s <= length else full for s in range(len(sequence) + 1)])
    check_samples(result, in_out_samples(utility, 12, sequences, filled, utility(())))
