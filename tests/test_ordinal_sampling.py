"""The ordinal value by sampling: the in/out estimator against its definition and the exact value."""

from __future__ import annotations

import numpy as np
import pytest

import naive
import ordinal_shapley as osv
from ordinal_shapley.sampling.shards import SHARD_SIZE
from problems import JIT, random_problem, size
from runs import plain_rule, sample_with

# Permutations of this stream are apart from those that are walked.
OTHER_STREAM = 0x2545F4914F6CDD1D

pytestmark = pytest.mark.filterwarnings("ignore:truncation ended:UserWarning")


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


def strata(utility, method, codes, fraction=0.8):
    n = len(codes)
    if method in ("mc", "tmc"):
        return [list(range(n))], [n]
    groups = [[i for i in range(n) if codes[i] == c] for c in sorted(set(codes))]
    return groups, naive.class_quota([len(g) for g in groups], fraction)


@pytest.mark.parametrize("method", ["mc", "cmc"])
@pytest.mark.parametrize("n_permutations", [1, 10, 11, 23])
def test_samples_equal_the_formula(method, n_permutations):
    game, utility = played(n=9)
    result = osv.sample_values(game, "ordinal", method, n_permutations=n_permutations, random_state=2)
    groups, quota = strata(utility, method, game._codes)
    sequences = [naive.permutation(result.seed, t, groups, quota) for t in range(n_permutations)]
    filled = [[utility(seq[:s]) for s in range(len(seq) + 1)] for seq in sequences]
    alone = n_permutations - n_permutations % SHARD_SIZE
    other = naive.permutation(result.seed ^ OTHER_STREAM, alone, groups, quota)
    other = [utility(other[:s]) for s in range(len(other) + 1)]
    samples = in_out_samples(utility, 9, sequences, filled, utility(()), other=other)
    np.testing.assert_allclose(result.values, samples.mean(axis=0), atol=1e-12)
    if n_permutations > 1:
        expected = samples.std(axis=0, ddof=1) / np.sqrt(n_permutations)
        np.testing.assert_allclose(result.stderr, expected, atol=1e-12)
    full = np.mean([row[-1] for row in filled])
    assert result.values.sum() == pytest.approx(full - utility(()), abs=1e-12)


@pytest.mark.parametrize("method", ["tmc", "ctmc"])
@pytest.mark.parametrize("kind", ["paper", "patience"])
def test_truncated_walks_go_on_at_the_full_utility(method, kind):
    game, utility = played(n=12)
    if kind == "paper":
        rule = osv.PaperTruncation(0.1)
    else:
        rule = osv.PatienceTruncation(0.15, patience=2, target="given")
    result = sample_with(
        game, value="ordinal", method=method, truncation=rule, n_permutations=20, random_state=3
    )
    groups, quota = strata(utility, method, game._codes)
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
    samples = in_out_samples(utility, 12, sequences, filled, utility(()))
    np.testing.assert_allclose(result.values, samples.mean(axis=0), atol=1e-12)


def test_estimates_lie_about_the_exact_value():
    game, utility = played()
    exact = naive.exact_ordinal(utility, 6)
    result = sample_with(game, "ordinal", n_permutations=size(20_000, 400), random_state=1, stopping=None)
    assert np.abs((result.values - exact) / result.stderr).max() < 4.5
    assert np.abs(result.values - naive.exact_partial_ordinal(utility, 6)).max() > 5 * result.stderr.max()


@pytest.mark.slow
@pytest.mark.skipif(not JIT, reason="takes many permutations")
def test_intervals_cover_the_exact_value():
    game, utility = played()
    exact = naive.exact_ordinal(utility, 6)
    runs = [
        osv.sample_values(game, "ordinal", "mc", n_permutations=100, random_state=seed) for seed in range(200)
    ]
    covered = [(low <= exact) & (exact <= high) for low, high in (r.confidence_interval() for r in runs)]
    assert 0.92 <= np.mean(covered) <= 0.98


def test_all_values_agree_where_order_plays_no_part():
    n, many = size(6, 4), size(20_000, 300)
    game, _ = played(n=n, position_weight="uniform")
    exact = None
    for value, estimator in [("ordinal", None), ("classic", "in_out"), ("classic", "marginal")]:
        result = sample_with(game, value, contribution=estimator, n_permutations=many, random_state=5)
        if exact is None:
            exact = naive.exact_partial_ordinal(lambda sequence: game(list(sequence)), n)
        assert np.abs((result.values - exact) / result.stderr).max() < 4.5


def test_same_bits_for_any_number_of_workers_and_ranges_pool():
    game, _ = played(n=size(20, 8))
    options = {"value": "ordinal", "method": "tmc", "random_state": 7}
    rule = osv.PatienceTruncation(target="given")
    one, two = (
        sample_with(game, n_permutations=50, truncation=rule, n_jobs=jobs, **options) for jobs in (1, 2)
    )
    assert one.values.tobytes() == two.values.tobytes()
    parts = [
        sample_with(game, n_permutations=30, truncation=rule, **options),
        sample_with(game, n_permutations=20, first_permutation=30, truncation=rule, **options),
    ]
    pooled = osv.Valuation.merge(parts)
    np.testing.assert_allclose(pooled.values, one.values, rtol=0, atol=1e-12)
    np.testing.assert_allclose(pooled.stderr, one.stderr, rtol=0, atol=1e-12)


def test_the_estimator_has_no_bias_unless_asked():
    problem = random_problem(2, n=20, n_valid=25, seed=4)
    model = osv.OrdinalShapley(n_permutations=20, random_state=0).fit(*problem)
    expected = sample_with(osv.LogisticGame(*problem), "ordinal", "auto", n_permutations=20, random_state=0)
    assert model.sampler == "auto"
    np.testing.assert_array_equal(model.values_, expected.values)
    np.testing.assert_array_equal(
        osv.OrdinalShapley(sampler="mc", n_permutations=20, random_state=0).fit(*problem).values_,
        sample_with(osv.LogisticGame(*problem), "ordinal", n_permutations=20, random_state=0).values,
    )
