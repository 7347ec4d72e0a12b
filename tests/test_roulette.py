"""Walks that end at random places, and are made up for: as defined, and without bias."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numba import njit

import naive
import ordinal_shapley as osv
from ordinal_shapley.sampling.designs import design_of
from ordinal_shapley.vocabulary import DESIGNS
from problems import size
from runs import sample_with
from test_exact import random_table
from test_ordinal_sampling import OTHER_STREAM, check_samples, played
from test_sampled_values import ascending
from test_sampling import strata_of

LUCK_KEY = 0x9FB21C651E98DF25


def lucky_number(seed, index):
    return ((naive.Stream(seed ^ LUCK_KEY, index).bits() >> 11) + 1) / 2**53


def falling(needed):
    """The closest sequence that never rises: means over runs, merged while one is above."""
    runs = []
    for need in needed:
        runs.append([need])
        while len(runs) > 1 and np.mean(runs[-1]) > np.mean(runs[-2]):
            runs[-2:] = [runs[-2] + runs[-1]]
    return [np.mean(run) for run in runs for _ in run]


def between(sizes, found, n):
    """Straight lines over the logarithm of the size."""
    out = []
    for s in range(1, n + 1):
        k = min(max(np.searchsorted(sizes, s), 1), len(sizes) - 1)
        (a, b), (low, high) = sizes[k - 1 : k + 1], found[k - 1 : k + 1]
        out.append(low + (high - low) * math.log(s / a) / math.log(b / a))
    return np.array(out)


def plan_by_hand(utility, seed, strata, quota, share, weight, least, pilot, sizes=None):
    """Chances and centres, from some sizes of the prefixes of the pilot's permutations, all by default."""
    m = sum(quota)
    sizes = range(1, m + 1) if sizes is None else sizes
    orders = [naive.permutation(seed ^ OTHER_STREAM, t, strata, quota) for t in range(pilot)]
    U = np.array([[utility(order[:s]) for s in sizes] for order in orders])
    spread = between(sizes, np.var(U, axis=0), m)
    turns = [1 / s + 1 / (m - s) for s in range(1, m)] + [1 / m]
    needed = [share**2 * v * a for v, a in zip(spread, turns, strict=True)]
    if share < 1:
        pairs = [s for s in sizes if s == 1 or s - 1 in sizes]
        added = [
            [weight(order[: s - 1]) * (utility(order[:s]) - utility(order[: s - 1])) for s in pairs]
            for order in orders
        ]
        needed += (1 - share) ** 2 * between(pairs, np.mean(np.square(added), axis=0), m)
        roots = np.sqrt(falling(needed))
        places = range(1, m + 1)
        floors = [least * min(1, math.sqrt(100 / k)) for k in places]
        chances = [max(root / max(roots), floor) for root, floor in zip(roots, floors, strict=True)]
    else:
        best, safe = np.sqrt(needed), np.sqrt(turns)
        mixed = (1 - least) * best / best.sum() + least * safe / safe.sum()
        # Scaled to a sum, none above 1: the factor by bisection.
        low, high = 0.0, 1e6
        for _ in range(200):
            middle = (low + high) / 2
            if sum(min(1.0, middle * c) for c in mixed) < min(8, max(2, m // 4)):
                low = middle
            else:
                high = middle
        chances = [min(1.0, low * c) for c in mixed]
    return chances, between(sizes, U.mean(axis=0), m)


def chosen(chances, luck, share):
    """Which places are evaluated."""
    if share < 1:
        return [c >= luck for c in chances]
    reach = np.cumsum([0.0, *chances])
    return [math.floor(b + luck) > math.floor(a + luck) for a, b in itertools.pairwise(reach)]


def samples_by_hand(utility, n, orders, luck, chances, centres, share, weight):
    samples = np.zeros((len(orders), n))
    empty = utility(())
    for t, order in enumerate(orders):
        m = len(order)
        seen = chosen(chances, luck[t], share)
        full = centres[m - 1] + (utility(order) - centres[m - 1]) / chances[-1] * seen[-1]
        for j, i in enumerate(order):
            in_out = (full - empty) / m
            for s in range(1, m):
                if seen[s - 1]:
                    part = 1 / s if j < s else -1 / (m - s)
                    in_out += (utility(order[:s]) - centres[s - 1]) * part / chances[s - 1]
            marginal = 0.0
            if seen[j]:
                marginal = weight(order[:j]) * (utility(order[: j + 1]) - utility(order[:j])) / chances[j]
            samples[t, i] = share * in_out + (1 - share) * marginal
    return samples


VALUES = [
    ("partial_ordinal", "tmc", {}),
    ("partial_ordinal", "ctmc", {}),
    ("ordinal", "tmc", {}),
    ("ordinal", "ctmc", {}),
    ("blend", "tmc", {"alpha": 0.3}),
    ("weighted_ordinal", "tmc", {"order_weight": ascending}),
]


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize(("value", "method", "options"), VALUES)
def test_samples_are_as_defined(value, method, options, design):
    if design == "latin" and method == "ctmc":
        design = "independent"
    n, n_permutations = 9, 27
    _, utility = played(n=n)
    result = sample_with(
        osv.FunctionGame(utility, n),  # whose evaluations cost the same
        value,
        method,
        truncation=osv.Roulette(min_probability=0.2, n_pilot=5),
        design=design,
        n_permutations=n_permutations,
        random_state=6,
        strata=utility.y,
        **options,
    )
    strata, quota = strata_of(utility.y, method, 0.8)
    share = {"ordinal": 1.0, "blend": 0.3}.get(value, 0.0)

    def weight(sequence):
        return math.factorial(len(sequence)) * ascending(sequence) if "order_weight" in options else 1.0

    chances, centres = plan_by_hand(utility, result.seed, strata, quota, share, weight, 0.2, 5)
    assert min(chances) < 0.7, "all is evaluated: the test shows nothing"
    orders = [naive.permutation(result.seed, t, strata, quota, design) for t in range(n_permutations)]
    luck = [lucky_number(result.seed, t) for t in range(n_permutations)]
    samples = samples_by_hand(utility, n, orders, luck, chances, centres, share, weight)
    check_samples(result, samples, design_of(design).replicate_size(n))
    seen = [sum(chosen(chances, u, share)) for u in luck]
    assert result.mean_evaluated == pytest.approx(np.mean(seen))


@njit
def early(sequence):
    """Most is decided by who comes first, so that walks do end early."""
    total = 0.0
    for j in range(len(sequence)):
        total += (sequence[j] + 1.0) / (j + 1.0) ** 3
        if j > 0 and sequence[j] > sequence[j - 1]:
            total += 0.3 / (j + 1.0) ** 2
    return total


def test_profiles_have_no_bias_either():
    game, _ = random_table(4, 2)
    for value in ("partial_ordinal", "ordinal"):
        exact = osv.exact_values(game, value, position_profile=True).position_profile
        result = sample_with(
            game, value, "auto", position_profile=True, n_permutations=size(20_000, 400), random_state=1
        )
        error = result.position_profile - exact
        sure = result.position_profile_stderr < 1e-12
        assert np.abs(error[sure]).max(initial=0) < 1e-12
        assert np.abs(error[~sure] / result.position_profile_stderr[~sure]).max() < 4.5


@pytest.mark.parametrize("value", ["partial_ordinal", "ordinal"])
def test_fewer_utilities_than_full_walks_for_the_same_error(value):
    game = osv.FunctionGame(early, 8)
    full, roulette = (
        sample_with(game, value, n_permutations=size(2_000, 300), random_state=1, **options)
        for options in ({}, {"method": "tmc", "truncation": osv.Roulette()})
    )
    assert roulette.n_evaluations < full.n_evaluations
    work = [np.mean(r.stderr**2) * r.n_evaluations for r in (full, roulette)]
    assert work[1] < 0.8 * work[0]


def test_a_constant_game_and_one_player():
    rule = osv.Roulette()
    for value in ("partial_ordinal", "ordinal"):
        game = osv.TableGame(4, {}, default=2.0)
        result = sample_with(game, value, "tmc", truncation=rule, n_permutations=10, random_state=0)
        assert result.values.tolist() == [0.0] * 4
        game = osv.TableGame(1, {(): 1.0, (0,): 3.0})
        result = sample_with(game, value, "tmc", truncation=rule, n_permutations=10, random_state=0)
        assert result.values.tolist() == [2.0]


# Squares of such contributions are out of range, and so are their standard errors.
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.parametrize("value", ["partial_ordinal", "ordinal"])
def test_chances_do_not_depend_on_the_unit_of_utilities(value):
    rng = np.random.default_rng(0)
    utilities = {s: float(rng.normal()) for s in naive.sequences_of(range(5))}
    small, large = (
        sample_with(
            osv.TableGame(5, {s: scale * u for s, u in utilities.items()}),
            value,
            "auto",
            n_permutations=30,
            random_state=0,
        )
        for scale in (1.0, 2.0**560)
    )
    assert large.n_evaluations == small.n_evaluations
    np.testing.assert_allclose(large.values / 2.0**560, small.values, rtol=1e-12)
