"""Exact against estimate: the expectation of what is sampled by brute force, and what is made of it."""

from __future__ import annotations

import dataclasses
import itertools
import math
from functools import lru_cache

import numpy as np
import pytest

import naive
import ordinal_shapley as osv
from ordinal_shapley.vocabulary import DESIGNS
from ordinal_shapley_kernels.table import subtree_sizes
from problems import JIT, random_problem, size
from runs import exact_with, plain_rule, sample_with, verify_with
from test_exact import random_table, random_weights
from test_ordinal_sampling import in_out_samples

# Small games truncate early, and that is what is looked at here.
pytestmark = pytest.mark.filterwarnings("ignore:.*truncation ended:UserWarning")

RULES = {
    "none": None,
    "paper": osv.PaperTruncation(0.5),
    "patience given": osv.PatienceTruncation(0.8, patience=1, target="given"),
    "patience mean": osv.PatienceTruncation(5.0, patience=2),
}
RUNS = [("mc", "none"), ("cmc", "none")] + [
    (method, rule) for method in ("tmc", "ctmc") for rule in RULES if rule != "none"
]


def selections(classes, quota):
    """Every order of every set with `quota[c]` players of class c."""
    strata = [[i for i, c in enumerate(classes) if c == k] for k in sorted(set(classes))]
    for parts in itertools.product(
        *(itertools.combinations(stratum, k) for stratum, k in zip(strata, quota, strict=True))
    ):
        yield from itertools.permutations([i for part in parts for i in part])


def target_of(U, n, seed, truncation):
    if truncation is None or truncation.name == "paper":
        return None
    if truncation.target == "given":
        return U(range(n))
    orders = [naive.permutation(seed ^ 0x5DEECE66D, t, [list(range(n))], [n]) for t in range(20)]
    return float(np.mean([U(order) for order in orders]))


def brute(U, n, in_out, classes, quota, truncation, target, average, factor=None):
    """Expected estimate of each player, order by order from the algorithms."""
    sequences = list(selections(classes, quota))
    rule = () if truncation is None else (*plain_rule(truncation), target)
    marginals, chosen, lengths = naive.marginal_contributions(U, n, sequences, *rule)
    credits = np.zeros((len(sequences), n))
    if in_out > 0:
        for t, sequence in enumerate(sequences):
            full = U(sequence) if target is None else target
            filled = [U(sequence[:s]) if s <= lengths[t] else full for s in range(len(sequence) + 1)]
            # Over all that can be drawn a centre cancels, so none is as good as any.
            none = [0.0] * len(filled)
            credits[t] = in_out * in_out_samples(U, n, [sequence], [filled], U(()), other=none)[0]
    if factor is not None:
        for t, sequence in enumerate(sequences):
            for k, i in enumerate(sequence):
                marginals[t, i] *= factor(sequence[:k])
    credits += (1 - in_out) * marginals
    return credits.sum(axis=0) / (chosen.sum(axis=0) if average == "selected" else len(sequences))


def expected_of(result, U, n, in_out, drawn, truncation, average="all", factor=None):
    """What the run of a result estimates in the mean."""
    target = target_of(U, n, result.valuation.seed, truncation)
    return brute(U, n, in_out, *drawn, truncation, target, average, factor)


def sampled(method, classes, fraction):
    """Classes and quota that a method draws with."""
    if method in ("mc", "tmc"):
        return [0] * len(classes), [len(classes)]
    return classes, naive.class_quota(np.bincount(classes).tolist(), fraction)


@lru_cache
def three_classes(n):
    """A logistic game, most of whose sequences have no model; its utilities are worth keeping."""
    problem = random_problem(2, n=n, n_valid=25, n_classes=3, seed=4)
    return problem, osv.LogisticGame(*problem), naive.LogisticUtility(*problem)


@pytest.mark.parametrize("average", ["all", "selected"])
@pytest.mark.parametrize("value", ["partial_ordinal", "ordinal"])
@pytest.mark.parametrize(("method", "rule"), RUNS)
def test_expected_is_the_mean_over_all_that_can_be_drawn(method, rule, value, average):
    n = 5
    game, U = random_table(n, seed=1)
    classes, truncation = [0, 1, 0, 1, 0], RULES[rule]
    result = verify_with(
        game,
        value,
        method,
        truncation=truncation,
        strata=classes,
        class_fraction=0.7,
        average=average,
        n_permutations=size(50, 5),
        random_state=3,
    )
    drawn = sampled(method, classes, 0.7)
    expected = expected_of(result, U, n, float(value == "ordinal"), drawn, truncation, average)
    np.testing.assert_allclose(result.expected, expected, atol=1e-12)
    exact = naive.exact_ordinal(U, n) if value == "ordinal" else naive.exact_partial_ordinal(U, n)
    np.testing.assert_allclose(result.exact, exact, atol=1e-12)
    np.testing.assert_allclose(result.bias, expected - exact, atol=1e-12)
    whole = brute(U, n, float(value == "ordinal"), *drawn, None, None, average)
    np.testing.assert_allclose(result.class_bias, whole - exact, atol=1e-12)
    np.testing.assert_allclose(result.truncation_bias, expected - whole, atol=1e-12)
    if truncation is not None:
        assert np.abs(result.truncation_bias).max() > 0.01, "nothing was truncated: the test shows nothing"


@pytest.mark.parametrize("value", ["partial_ordinal", "ordinal"])
@pytest.mark.parametrize(("method", "rule"), RUNS)
def test_expected_of_sequences_without_a_model(method, rule, value):
    # The rule is not asked before all classes are there.
    n = size(5, 4)
    problem, game, U = three_classes(n)
    truncation = {
        "none": None,
        "paper": osv.PaperTruncation(0.1),
        "patience given": osv.PatienceTruncation(0.2, patience=1, target="given"),
        "patience mean": osv.PatienceTruncation(0.3, patience=2),
    }[rule]
    result = verify_with(
        game,
        value,
        method,
        truncation=truncation,
        class_fraction=0.6,
        n_permutations=size(50, 5),
        random_state=3,
    )
    drawn = sampled(method, problem.y.tolist(), 0.6)
    expected = expected_of(result, U, n, float(value == "ordinal"), drawn, truncation)
    np.testing.assert_allclose(result.expected, expected, atol=1e-12)


@pytest.mark.parametrize("estimator", ["marginal", "in_out"])
@pytest.mark.parametrize(("method", "rule"), RUNS)
def test_expected_of_the_classic_value(method, rule, estimator):
    n = size(5, 4)
    worth = np.random.default_rng(2).normal(size=2**n)
    table = {S: worth[sum(1 << i for i in S)] for S in naive.sequences_of(range(n))}
    game, U = osv.TableGame(n, table), naive.TableUtility(n, table)
    classes, truncation = [0, 0, 0, 1, 1][:n], RULES[rule]
    result = verify_with(
        game,
        "classic",
        method,
        contribution=estimator,
        truncation=truncation,
        strata=classes,
        class_fraction=0.7,
        n_permutations=size(50, 5),
        random_state=3,
    )
    drawn = sampled(method, classes, 0.7)
    expected = expected_of(result, U, n, float(estimator == "in_out"), drawn, truncation)
    np.testing.assert_allclose(result.expected, expected, atol=1e-12)
    np.testing.assert_allclose(result.exact, naive.exact_classic(U, n), atol=1e-12)
    assert result.exact_values.n_evaluations == 2**n


def test_groups_of_rows():
    problem = random_problem(2, n=12, n_valid=20, seed=6)
    order = np.argsort(problem.y, kind="stable")
    problem = problem._replace(X=problem.X[order], y=problem.y[order])
    client = np.arange(12) // 3
    client[0] = 3  # one client of both classes
    members = [np.flatnonzero(client == c).tolist() for c in range(4)]
    game = osv.LogisticGame(*problem, groups=client)
    U = naive.LogisticUtility(*problem, members=members)
    assert any(U.has_model((i,)) for i in range(4)) and not all(U.has_model((i,)) for i in range(4))
    rule = osv.PaperTruncation(0.2)
    result = verify_with(game, method="tmc", truncation=rule, n_permutations=10, random_state=0)
    expected = expected_of(result, U, 4, 0.0, ([0] * 4, [4]), rule)
    np.testing.assert_allclose(result.expected, expected, atol=1e-12)


@pytest.mark.parametrize("kind", ["blend", "weighted", "within", "between"])
@pytest.mark.parametrize(("method", "rule"), RUNS)
@pytest.mark.filterwarnings("ignore:partition and case")
def test_expected_of_other_values(method, rule, kind):
    n = size(5, 4)
    classes, truncation = [0, 1, 0, 1, 0][:n], RULES[rule]
    game, U = random_table(n, seed=5)
    groups = [1, 0, 1, 0, 1][:n]
    q = random_weights(n, seed=1)
    in_out, factor, played = 0.0, None, U
    if kind == "blend":
        in_out = 0.3
        options = {"value": "blend", "alpha": in_out}
    elif kind == "weighted":
        options = {"value": "weighted_ordinal", "order_weight": osv.TableGame(n, q)}

        def factor(S):
            return math.factorial(len(S)) * q[S]
    else:
        options = {"partition": groups, "case": kind}

        def alike(S):
            if kind == "within":
                return tuple(sorted(S, key=lambda i: groups[i]))
            rest = {g: iter(sorted(i for i in S if groups[i] == g)) for g in (0, 1)}
            return tuple(next(rest[groups[i]]) for i in S)

        played = naive.TableUtility(n, {S: U(alike(S)) for S in naive.sequences_of(range(n))})
    result = verify_with(
        game,
        method=method,
        truncation=truncation,
        strata=classes,
        class_fraction=0.7,
        n_permutations=size(1_000, 400),  # weights make heavy tails
        random_state=3,
        **options,
    )
    drawn = sampled(method, classes, 0.7)
    expected = expected_of(result, played, n, in_out, drawn, truncation, factor=factor)
    np.testing.assert_allclose(result.expected, expected, atol=1e-12)
    np.testing.assert_array_equal(result.exact, exact_with(game, **options).values)
    assert np.abs(result.z).max() < 4.5


@pytest.mark.parametrize("value", ["partial_ordinal", "ordinal"])
@pytest.mark.parametrize("design", DESIGNS[1:])
def test_designs_change_the_noise_only(design, value):
    game, _ = random_table(5, seed=6)
    options = {"n_permutations": size(1_000, 50), "random_state": 1}
    sampler = osv.PermutationSampler(truncation=RULES["paper"])
    result = osv.verify(game, value, dataclasses.replace(sampler, design=design), **options)
    plain = osv.verify(game, value, sampler, **options)
    np.testing.assert_array_equal(result.expected, plain.expected)
    assert np.abs(result.z).max() < 4.5
    assert (result.stderr != plain.stderr).all()


@pytest.mark.parametrize(
    "truncation", [osv.PaperTruncation(1.0), osv.PatienceTruncation(0.5, patience=1, target="given")]
)
def test_distances_equal_to_the_tolerance(truncation):
    # The paper's rule wants less, the patience rule no more.
    values = np.random.default_rng(0).integers(0, 4, subtree_sizes(4)[4]).astype(float)
    values[4] = 2.0  # of the given order
    game = osv.TableGame.from_array(4, values)
    U = naive.TableUtility(4, {S: game(S) for S in naive.sequences_of(range(4))})
    assert U(range(4)) == 2.0
    result = verify_with(
        game, method="tmc", truncation=truncation, n_permutations=size(400, 20), random_state=0
    )
    expected = expected_of(result, U, 4, 0.0, ([0] * 4, [4]), truncation)
    np.testing.assert_allclose(result.expected, expected, atol=1e-12)
    assert np.abs(result.z).max() < 4.5


@pytest.mark.slow
@pytest.mark.skipif(not JIT, reason="takes many permutations")
@pytest.mark.parametrize(("method", "rule"), RUNS)
def test_intervals_cover_what_is_sampled(method, rule):
    game, _ = random_table(5, seed=8)
    options = {"truncation": RULES[rule], "strata": [0, 1, 0, 1, 0], "level": 0.9, "n_jobs": 1}
    runs = [
        verify_with(game, method=method, n_permutations=300, random_state=seed, **options)
        for seed in range(60)
    ]
    covered = [run.coverage for run in runs]
    assert 0.84 <= np.mean(covered) <= 0.96  # of 60 x 5 intervals, not independent
    if method == "mc":
        assert [run.coverage_of_exact for run in runs] == covered


def test_mc_has_no_bias_at_all():
    for value in ("partial_ordinal", "ordinal"):
        result = osv.verify(random_table(4)[0], value, "mc", n_permutations=20, random_state=0)
        assert not result.bias.any() and not result.class_bias.any() and not result.truncation_bias.any()
        np.testing.assert_array_equal(result.noise, result.error)
    # Nor has cmc that draws everybody.
    options = {"class_fraction": 1.0, "strata": [0, 0, 1, 1], "n_permutations": 20}
    result = verify_with(random_table(4)[0], method="cmc", **options)
    assert not result.bias.any()


def test_a_rule_that_never_fires_has_no_bias():
    rule = osv.PaperTruncation(0.0)
    for value in ("partial_ordinal", "ordinal"):
        result = verify_with(random_table(5)[0], value, "tmc", truncation=rule, n_permutations=10)
        assert not result.bias.any()  # not even by rounding


def test_truncation_can_take_most_of_a_value_away():
    # All together are worth 1, and so is each of the first four alone: what comes after such a one is cut.
    worth = np.array([1.0, 1.0, 1.0, 1.0, 5.0, -8.0])
    game = osv.FunctionGame(lambda sequence: worth[sequence].sum(), 6)
    result = osv.verify(game, "partial_ordinal", "tmc", n_permutations=size(2_000, 200), random_state=0)
    np.testing.assert_allclose(result.exact, worth, atol=1e-12)
    # The last two count when one of them comes first, in a third of the orders.
    np.testing.assert_allclose(result.bias[4:], [-10 / 3, 16 / 3], atol=1e-12)
    # All that the rule promises is that the biases add up to less than its tolerance.
    assert result.bias.sum() == pytest.approx(0.0, abs=1e-12)
    assert np.abs(result.z).max() < 4.5
    assert result.coverage_of_exact < result.coverage


def test_a_walk_may_end_before_its_first_player():
    worth = np.array([2.0, 1.0, -1.0, -2.0])
    game = osv.FunctionGame(lambda sequence: worth[sequence].sum(), 4)
    result = osv.verify(game, "partial_ordinal", "tmc", n_permutations=20, random_state=0)
    np.testing.assert_array_equal(result.expected, np.zeros(4))
    assert (result.coverage, result.coverage_of_exact) == (1.0, 0.0)
    assert result.z.tolist() == [0.0] * 4


def test_ranks_of_players_worth_the_same_are_tied():
    # Of four players two and two are worth the same, up to rounding.
    worth = [0.1, 0.7, 0.1, 0.7]
    game = osv.FunctionGame(lambda sequence: sum(worth[i] for i in sequence), 4)
    result = osv.verify(game, "partial_ordinal", "mc", n_permutations=7, random_state=0)
    assert result.rank_correlation == pytest.approx(1.0, abs=1e-12)
    assert result.z.tolist() == [0.0] * 4
    assert (result.coverage, result.coverage_of_exact) == (1.0, 1.0)


@pytest.mark.parametrize("method", ["mc", "tmc", "cmc", "ctmc"])
def test_a_constant_game(method):
    game = osv.TableGame(4, {}, default=0.3)
    result = verify_with(
        game, "partial_ordinal", method, strata=[0, 0, 1, 1], n_permutations=10, random_state=0
    )
    for array in (result.exact, result.expected, result.estimate, result.z, result.bias):
        assert array.tolist() == [0.0] * 4
    assert math.isnan(result.rank_correlation)
    assert (result.coverage, result.coverage_of_exact) == (1.0, 1.0)


def test_what_was_never_drawn_is_told():
    # One order in 720 is worth something; two permutations do not meet it, and see no spread either.
    game = osv.TableGame(6, {(5, 4, 3, 2, 1, 0): 1.0})
    result = osv.verify(game, "partial_ordinal", "mc", n_permutations=2, random_state=0)
    assert result.z.tolist() == [-math.inf] + [0.0] * 5
    assert result.coverage == 5 / 6


def test_a_single_permutation_has_no_standard_error():
    result = osv.verify(random_table(3)[0], "partial_ordinal", "mc", n_permutations=1, random_state=0)
    assert np.isnan(result.stderr).all() and np.isnan(result.z).all()
    assert math.isnan(result.coverage) and math.isnan(result.coverage_of_exact)
    assert "largest z nan" in repr(result)


def test_too_many_players_to_take_the_error_apart():
    worth = np.arange(12.0)
    game = osv.FunctionGame(lambda sequence: worth[sequence].sum() ** 2, 12, order_free=True)
    options = {"value": "classic", "n_permutations": size(200, 20), "random_state": 0}
    result = verify_with(game, method="tmc", **options)
    assert "12 players" in result.note
    for array in (result.expected, result.bias, result.class_bias, result.truncation_bias, result.z):
        assert np.isnan(array).all()
    assert math.isnan(result.coverage)
    assert 0 <= result.coverage_of_exact <= 1
    assert np.isfinite(result.error).all()
    assert "largest bias nan" in repr(result)
    # What is unbiased needs no going through orders.
    assert verify_with(game, method="mc", **options).note == ""


def test_every_sequence_is_evaluated_once_for_exact_and_expected():
    calls = []
    values = {S: float(k) for k, S in enumerate(naive.sequences_of(range(4)))}

    def func(sequence):
        calls.append(tuple(sequence.tolist()))
        return values[calls[-1]]

    options = {"method": "tmc", "n_permutations": 3, "random_state": 0}
    game = osv.FunctionGame(func, 4)
    sample_with(game, **options)
    sampling = len(calls)
    calls.clear()
    result = verify_with(game, **options)
    # The empty sequence is asked for by itself.
    assert len(calls) <= sampling + len(values) + 1
    assert result.exact_values.n_evaluations == len(values)
    assert result.valuation.n_evaluations <= sampling


@pytest.mark.slow
def test_roulette_has_no_bias():
    rng = np.random.default_rng(3)
    game = osv.TableGame(5, {s: float(rng.normal() / (1 + len(s))) for s in naive.sequences_of(range(5))})
    for value in ("partial_ordinal", "ordinal"):
        result = osv.verify(game, value, "auto", n_permutations=size(5_000, 300), random_state=0)
        assert result.bias.tolist() == [0.0] * 5
        assert result.valuation.mean_evaluated < 5
        assert np.abs(result.z).max() < 4.5
