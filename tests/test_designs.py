"""Designs of permutations: what is summed, unbiased, with errors over what is independent."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import stats

import naive
import ordinal_shapley as osv
from ordinal_shapley import vocabulary
from problems import JIT, random_problem, size
from runs import sample_with
from test_exact import random_table
from test_ordinal_sampling import check_samples, in_out_samples, played
from test_sampling import strata_of

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*truncation ended:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*standard errors:UserWarning"),
]

DESIGNS = list(vocabulary.DESIGNS)


@pytest.mark.parametrize("method", ["mc", "tmc", "cmc", "ctmc"])
@pytest.mark.parametrize("n_permutations", [7, 24])
def test_antithetic_pairs(method, n_permutations):
    game, utility = played(n=9)
    rule = osv.PatienceTruncation(0.1, patience=2, target="given") if method in ("tmc", "ctmc") else None
    result = sample_with(
        game,
        method=method,
        truncation=rule,
        design="antithetic",
        n_permutations=n_permutations,
        random_state=3,
    )
    strata, quota = strata_of(utility.y, method, 0.8)
    sequences = [
        naive.permutation(result.seed, t, strata, quota, "antithetic") for t in range(n_permutations)
    ]
    assert sequences[1] == sequences[0][::-1]
    arguments = () if rule is None else ("patience", 0.1, 2, utility(range(9)))
    samples, _, _ = naive.marginal_contributions(utility, 9, sequences, *arguments)
    check_samples(result, samples, 2)


@pytest.mark.parametrize("n", [5, 12])  # blocks that are shorter and longer than a shard
@pytest.mark.parametrize("method", ["mc", "tmc"])
def test_latin_blocks(n, method):
    game, utility = played(n=n)
    rule = osv.PatienceTruncation(0.1, patience=2, target="given") if method == "tmc" else None
    n_permutations = 3 * n + 4
    result = sample_with(
        game, method=method, truncation=rule, design="latin", n_permutations=n_permutations, random_state=3
    )
    sequences = [
        naive.permutation(result.seed, t, [list(range(n))], [n], "latin") for t in range(n_permutations)
    ]
    arguments = () if rule is None else ("patience", 0.1, 2, utility(range(n)))
    samples, _, _ = naive.marginal_contributions(utility, n, sequences, *arguments)
    check_samples(result, samples, n)


def test_in_out_of_pairs_is_centred_on_other_pairs():
    game, utility = played(n=8)
    result = sample_with(game, "ordinal", design="antithetic", n_permutations=23, random_state=3)
    sequences = [naive.permutation(result.seed, t, [list(range(8))], [8], "antithetic") for t in range(23)]
    filled = [[utility(seq[:s]) for s in range(9)] for seq in sequences]
    samples = in_out_samples(utility, 8, sequences, filled, utility(()), unit=2)
    check_samples(result, samples, 2)


@pytest.mark.parametrize("n", [5, 12])
def test_in_out_of_whole_latin_blocks_needs_no_centre(n):
    # In a whole block every player is among the first s exactly s times: a centre cancels.
    game, utility = played(n=n)
    result = sample_with(game, "ordinal", design="latin", n_permutations=3 * n, random_state=3)
    sequences = [naive.permutation(result.seed, t, [list(range(n))], [n], "latin") for t in range(3 * n)]
    expected = np.zeros(n)
    for sequence in sequences:
        for i in sequence:
            expected[i] += (utility(sequence) - utility(())) / n
            for s in range(1, n):
                expected[i] += utility(sequence[:s]) * (1 / s if i in sequence[:s] else -1 / (n - s))
    np.testing.assert_allclose(result.values, expected / (3 * n), atol=1e-12)
    assert result.values.sum() == pytest.approx(
        np.mean([utility(sequence) for sequence in sequences]) - utility(()), abs=1e-12
    )


@pytest.mark.slow
@pytest.mark.skipif(not JIT, reason="takes many permutations")
@pytest.mark.parametrize("design", ["antithetic", "latin"])
@pytest.mark.parametrize("value", ["partial_ordinal", "ordinal"])
def test_incomplete_units_are_unbiased(value, design):
    # Every run ends inside a unit (and has no error of its own); over many runs the mean is right.
    game, utility = random_table(5, 1)
    exact = naive.exact_ordinal(utility, 5) if value == "ordinal" else naive.exact_partial_ordinal(utility, 5)
    runs = np.array(
        [
            sample_with(game, value, design=design, n_permutations=3, random_state=seed).values
            for seed in range(2_000)
        ]
    )
    assert np.abs((runs.mean(axis=0) - exact) / stats.sem(runs, axis=0)).max() < 4.5


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("value", ["partial_ordinal", "ordinal"])
def test_same_bits_for_any_number_of_workers_and_ranges_pool(value, design):
    problem = random_problem(2, n=size(13, 5), n_valid=25, seed=4)
    game = osv.LogisticGame(*problem)
    options = {"design": design, "random_state": 7, "position_profile": True}
    one, two = (sample_with(game, value, n_permutations=136, n_jobs=k, **options) for k in (1, 2))
    for ours, theirs in zip(one.moments, two.moments, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    # 130 is ten blocks of a Latin design (26 of five players), 65 pairs, thirteen shards.
    parts = [
        sample_with(game, value, n_permutations=130, **options),
        sample_with(game, value, n_permutations=6, first_permutation=130, **options),
    ]
    pooled = osv.Valuation.merge(parts)
    for name in ("values", "stderr", "position_profile", "position_profile_stderr"):
        np.testing.assert_allclose(getattr(pooled, name), getattr(one, name), rtol=0, atol=1e-12)
    options["design"] = DESIGNS[DESIGNS.index(design) - 1]
    other = sample_with(game, value, n_permutations=10, **options)
    with pytest.raises(ValueError, match="design"):
        osv.Valuation.merge([parts[0], other])


def test_latin_balances_positions():
    game, _ = random_table(5, 3)
    result = sample_with(game, design="latin", n_permutations=20, random_state=0, position_profile=True)
    np.testing.assert_array_equal(result.moments.profile[2], np.full((5, 5), 4))
    np.testing.assert_allclose(result.position_profile.mean(axis=1), result.values, atol=1e-12)


@pytest.mark.parametrize(("design", "enough"), [("latin", 8), ("antithetic", 4)])
def test_a_single_unit_has_no_standard_errors(design, enough):
    game, _ = random_table(4, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sample_with(game, design=design, n_permutations=enough, random_state=0)
    with pytest.warns(UserWarning, match=design):
        result = sample_with(game, design=design, n_permutations=enough - 1, random_state=0)
    assert np.isnan(result.stderr).all()


def test_one_player():
    game = osv.TableGame(1, {(): 1.0, (0,): 3.0})
    for design in DESIGNS:
        for value in ("partial_ordinal", "ordinal", "classic"):
            result = sample_with(
                game, value, design=design, n_permutations=4, random_state=0, position_profile=True
            )
            assert result.values.tolist() == [2.0]
            assert result.stderr.tolist() == [0.0]
            assert result.position_profile.tolist() == [[2.0]]
