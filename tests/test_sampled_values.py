"""Values besides the plain ones by sampling: partitions, weights, blends, profiles."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba import njit

import naive
import ordinal_shapley as osv
from problems import size
from runs import exact_with, sample_with
from test_exact import random_table
from test_ordinal_sampling import check_samples, in_out_samples, played
from test_sampling import RULES

pytestmark = pytest.mark.filterwarnings("ignore:.*truncation ended:UserWarning")
ignore_asymmetry = pytest.mark.filterwarnings("ignore:partition and case:UserWarning")

GROUPS = [[0, 0, 1, 1, 1, 0], [2, 1, 0, 1, 2, 0], [0, 0, 0, 0, 0, 0], [5, 3, 1, 0, 2, 4]]


def ascending(sequence):
    """Weight of an order: more if the first player's number is below the second's."""
    if len(sequence) < 2:
        return 1.0
    return (1.5 if sequence[0] < sequence[1] else 0.5) / math.factorial(len(sequence))


def representative(sequence, groups, case):
    """The sequence that stands for one: group after group, or each group's players in order."""
    if case == "within":
        return tuple(sorted(sequence, key=lambda i: groups[i]))
    waiting = {g: sorted(i for i in sequence if groups[i] == g) for g in set(groups)}
    return tuple(waiting[groups[i]].pop(0) for i in sequence)


def symmetrised(utility, groups, case):
    return lambda sequence: utility(representative(sequence, groups, case))


def orders_of(result, n):
    return [
        naive.permutation(result.seed, t, [list(range(n))], [n], result.sampler.design)
        for t in range(result.n_permutations)
    ]


@ignore_asymmetry
@pytest.mark.parametrize("case", ["within", "between"])
@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("kind", ["table", "function", "logistic"])
def test_partition_evaluates_representatives(kind, groups, case):
    if kind == "logistic":
        game, utility = played(n=6)
    else:
        game, utility = random_table(6, 3)
        if kind == "function":
            game = osv.FunctionGame(lambda sequence: utility(sequence), 6)
    result = sample_with(
        game, osv.PartialOrdinal(partition=groups, case=case), n_permutations=23, random_state=1
    )
    played_on = symmetrised(utility, groups, case)
    samples, _, _ = naive.marginal_contributions(played_on, 6, orders_of(result, 6))
    check_samples(result, samples)


@ignore_asymmetry
@pytest.mark.parametrize("rule", ["paper", "patience"])
@pytest.mark.parametrize("case", ["within", "between"])
def test_partition_truncated(case, rule):
    game, utility = played(n=10)
    groups = [i % 3 for i in range(10)]
    truncation = RULES[rule]
    result = sample_with(
        game,
        osv.PartialOrdinal(partition=groups, case=case),
        "tmc",
        truncation=truncation,
        n_permutations=12,
        random_state=1,
    )
    played_on = symmetrised(utility, groups, case)
    played_on.has_model = utility.has_model
    played_on.v0 = utility.v0
    samples, _, lengths = naive.marginal_contributions(
        played_on, 10, orders_of(result, 10), rule, truncation.tol, 2, played_on(range(10))
    )
    assert min(lengths) < 10
    check_samples(result, samples)
    assert result.mean_evaluated == pytest.approx(lengths.mean())


@pytest.mark.parametrize("method", ["mc", "tmc"])
@pytest.mark.parametrize("form", ["plain", "jitted", "table"])
def test_weights_multiply_marginal_contributions(form, method):
    game, utility = played(n=6)
    order_weight = ascending
    if form == "jitted":
        factorials = np.array([1.0, 1.0, 2.0, 6.0, 24.0, 120.0, 720.0])

        @njit
        def order_weight(sequence):
            if len(sequence) < 2:
                return 1.0
            return (1.5 if sequence[0] < sequence[1] else 0.5) / factorials[len(sequence)]

    elif form == "table":
        order_weight = osv.TableGame(6, {s: ascending(s) for s in naive.sequences_of(range(6))})
    rule = RULES["patience"] if method == "tmc" else None
    result = sample_with(
        game,
        "weighted_ordinal",
        method,
        truncation=rule,
        order_weight=order_weight,
        n_permutations=23,
        random_state=1,
    )
    orders = orders_of(result, 6)
    arguments = () if rule is None else ("patience", 0.15, 2, utility(range(6)))
    samples, _, _ = naive.marginal_contributions(utility, 6, orders, *arguments)
    for row, order in zip(samples, orders, strict=True):
        for j, i in enumerate(order):
            row[i] *= math.factorial(j) * ascending(order[:j])
    check_samples(result, samples)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("method", ["mc", "tmc"])
def test_blend_is_a_blend_in_every_permutation(method, alpha):
    game, utility = played(n=9)
    rule = RULES["patience"] if method == "tmc" else None
    result = sample_with(
        game, "blend", method, alpha=alpha, truncation=rule, n_permutations=20, random_state=1
    )
    orders = orders_of(result, 9)
    target = utility(range(9))
    arguments = () if rule is None else ("patience", 0.15, 2, target)
    marginals, _, lengths = naive.marginal_contributions(utility, 9, orders, *arguments)
    filled = [
        [utility(order[:s]) if s <= length else target for s in range(10)]
        for order, length in zip(orders, lengths, strict=True)
    ]
    in_out = in_out_samples(utility, 9, orders, filled, utility(()))
    samples = alpha * in_out + (1 - alpha) * marginals
    check_samples(result, samples)


@pytest.mark.parametrize("value", ["partial_ordinal", "weighted_ordinal"])
def test_profile_of_marginal_contributions(value):
    game, utility = played(n=6)
    options = {"order_weight": ascending} if value == "weighted_ordinal" else {}
    result = sample_with(game, value, position_profile=True, n_permutations=37, random_state=1, **options)
    cells = {}
    for order in orders_of(result, 6):
        for k, i in enumerate(order):
            weight = math.factorial(k) * ascending(order[:k]) if options else 1.0
            cells.setdefault((i, k), []).append(weight * (utility(order[: k + 1]) - utility(order[:k])))
    for i in range(6):
        for k in range(6):
            sample = cells.get((i, k), [])
            if len(sample) == 0:
                assert np.isnan(result.position_profile[i, k])
                continue
            assert result.position_profile[i, k] == pytest.approx(np.mean(sample), abs=1e-12)
            if len(sample) > 1:
                error = np.std(sample, ddof=1) / math.sqrt(len(sample))
                assert result.position_profile_stderr[i, k] == pytest.approx(error, abs=1e-12)
            else:
                assert np.isnan(result.position_profile_stderr[i, k])


@pytest.mark.parametrize(("value", "alpha"), [("ordinal", None), ("blend", 0.3)])
def test_profile_of_all_prefixes_averages_to_the_value(value, alpha):
    game, _ = played(n=7)
    result = sample_with(game, value, alpha=alpha, position_profile=True, n_permutations=33, random_state=1)
    np.testing.assert_allclose(result.position_profile.mean(axis=1), result.values, atol=1e-12)
    plain = sample_with(game, value, alpha=alpha, n_permutations=33, random_state=1)
    assert plain.position_profile is None
    assert plain.position_profile_stderr is None
    np.testing.assert_array_equal(plain.values, result.values)


@pytest.mark.slow
@pytest.mark.parametrize(("value", "alpha"), [("partial_ordinal", None), ("ordinal", None), ("blend", 0.3)])
def test_profiles_lie_about_the_exact_ones(value, alpha):
    scores = []
    for seed in range(size(20, 2)):
        game, _ = random_table(4, seed)
        exact = exact_with(game, value, alpha=alpha, position_profile=True).position_profile
        result = sample_with(
            game,
            value,
            alpha=alpha,
            position_profile=True,
            n_permutations=size(4_000, 400),
            random_state=seed,
        )
        error = result.position_profile - exact
        sure = result.position_profile_stderr < 1e-12  # nobody before: the same every time
        np.testing.assert_allclose(error[sure], 0, atol=1e-12)
        scores += (error[~sure] / result.position_profile_stderr[~sure]).tolist()
    assert np.abs(scores).max() < 4.5


def test_noise_that_is_small_beside_the_contributions_is_seen():
    worth = np.array([1.0, 2.0, 3.0, 4.0])
    noise = np.random.default_rng(0).normal(size=(4, 4))

    def utility(sequence):
        return worth[sequence].sum() + 1e-7 * noise[sequence[:-1], sequence[1:]].sum()

    game = osv.FunctionGame(utility, 4)
    result = osv.verify(game, "partial_ordinal", "mc", n_permutations=size(5_000, 300), random_state=0)
    assert (result.stderr > 1e-10).all()
    assert np.abs(result.z).max() < 4.5


def test_weights_near_the_smallest_numbers_keep_their_precision():
    n = 171
    worth = np.full(n, 1e-17)
    result = sample_with(
        osv.FunctionGame(lambda sequence: worth[sequence].sum(), n),
        osv.WeightedOrdinal(lambda sequence: 1 / math.factorial(len(sequence))),
        n_permutations=2,
        random_state=0,
    )
    np.testing.assert_allclose(result.values, 1e-17, rtol=1e-6)
