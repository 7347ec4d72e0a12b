"""Every sampled value is unbiased: z-scores about the brute-force value, over all players of 20 games.

A new value, estimator or design is a line in `SAMPLERS`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pytest

import naive
import ordinal_shapley as osv
import unbiased
from bench.evidence import agreement, z_scores
from problems import JIT, random_problem, size
from runs import sample_with

N_GAMES = 20
# Whole blocks of a Latin design for up to six players.
N_PERMUTATIONS = size(2_520, 120)


class Sampler(NamedTuple):
    """Arguments of `sample_values`, the formula for what it estimates, and whether games are order free."""

    arguments: dict[str, Any]
    exact: Callable[..., np.ndarray]
    order_free: bool = False


def blend(U, n):
    return 0.4 * naive.exact_ordinal(U, n) + 0.6 * naive.exact_partial_ordinal(U, n)


ROULETTE = {"method": "tmc", "truncation": osv.Roulette()}
SAMPLERS = {
    "partial ordinal": Sampler({"value": "partial_ordinal"}, naive.exact_partial_ordinal),
    "ordinal": Sampler({"value": "ordinal"}, naive.exact_ordinal),
    "partial ordinal, antithetic": Sampler({"design": "antithetic"}, naive.exact_partial_ordinal),
    "partial ordinal, latin": Sampler({"design": "latin"}, naive.exact_partial_ordinal),
    "partial ordinal, roulette": Sampler(ROULETTE, naive.exact_partial_ordinal),
    "ordinal, antithetic": Sampler({"value": "ordinal", "design": "antithetic"}, naive.exact_ordinal),
    "ordinal, latin": Sampler({"value": "ordinal", "design": "latin"}, naive.exact_ordinal),
    "ordinal, roulette": Sampler({"value": "ordinal", **ROULETTE}, naive.exact_ordinal),
    "blend": Sampler({"value": "blend", "alpha": 0.4}, blend),
    "classic, marginal": Sampler({"value": "classic"}, naive.exact_classic, order_free=True),
    "classic, in/out": Sampler(
        {"value": "classic", "contribution": "in_out"}, naive.exact_classic, order_free=True
    ),
}


def table(n, seed, order_free):
    """A random table, and the same as a plain function."""
    rng = np.random.default_rng([7, n, seed])
    worth = {}
    for S in naive.sequences_of(range(n)):
        worth[S] = rng.normal() if not order_free or tuple(sorted(S)) == S else worth[tuple(sorted(S))]
    return osv.TableGame(n, worth), naive.TableUtility(n, worth)


def logistic(n, seed, order_free):
    """Random rows of two or three classes, and the same valued plainly."""
    n_classes = 3 if n > 4 and seed % 3 == 0 else 2
    problem = random_problem(2, n=n, n_valid=15, n_classes=n_classes, seed=seed)
    scoring = ("accuracy", "neg_log_loss", "balanced_accuracy")[seed % 3]
    weight, weights = (
        ("uniform", naive.uniform_weights) if order_free else ("gaussian", naive.gaussian_weights)
    )
    return (
        osv.LogisticGame(*problem, position_weight=weight, scoring=scoring),
        naive.LogisticUtility(*problem, weights=weights, scoring=scoring),
    )


@lru_cache
def games(order_free):
    """Tables and logistic games in turn; one for every seed."""
    most = {table: size(6, 4), logistic: size(5, 4)}
    made = []
    for seed in range(N_GAMES):
        make = (table, logistic)[seed % 2]
        made.append(make(2 + seed // 2 % (most[make] - 1), seed, order_free))
    return made


def scores(sampler, exact):
    """Of all players of all games: how many standard errors the estimate is off."""
    out = []
    for seed, (game, U) in enumerate(games(sampler.order_free)):
        result = sample_with(game, n_permutations=N_PERMUTATIONS, random_state=seed, **sampler.arguments)
        errors = result.values - exact(U, game.n_players)
        # Where every permutation says the same, it must be right.
        noisy = result.stderr > 1e-12
        np.testing.assert_allclose(errors[~noisy], 0, atol=1e-9)
        out += (errors[noisy] / result.stderr[noisy]).tolist()
    return np.array(out)


@pytest.mark.parametrize("name", SAMPLERS)
def test_unbiased(name):
    sampler = SAMPLERS[name]
    z = scores(sampler, sampler.exact)
    assert len(z) >= size(50, 30)
    assert np.abs(z).max() <= 4.5
    # Standard errors neither too large to find anything nor too small; those of a game depend on each other.
    assert 0.6 < z.std() < 1.4


def test_another_value_would_be_found_out():
    z = scores(SAMPLERS["ordinal"], naive.exact_partial_ordinal)
    assert np.abs(z).max() > size(20, 4.5)


def of_a_few_and_tenths(truth):
    """The few, tenths of all in the order of their values, and each weighted by its value."""
    parts = [np.arange(unbiased.N_FEW), *unbiased.tenths("tenth", truth).values()]
    return np.column_stack([*(np.isin(np.arange(len(truth)), part) for part in parts), truth])


@pytest.mark.slow
@pytest.mark.skipif(not JIT, reason="takes many permutations")
@pytest.mark.parametrize(("value", "ordered"), [("ordinal", True), ("classic", False)])
@pytest.mark.parametrize(("n_permutations", "n_runs"), [(20, 500), (2_000, 10)])
def test_no_bias_among_hundreds_with_a_rare_class(value, ordered, n_permutations, n_runs):
    """What is done by default, in long runs, and in short ones, of which the pilot would be a large part."""
    case = unbiased.rare_players(300, ordered=ordered)
    reference = case.reference(case.game)
    runs = [
        sample_with(case.game, value, n_permutations=n_permutations, random_state=seed, **ROULETTE)
        for seed in range(n_runs)
    ]
    values, stderr = (np.array([getattr(run, name) for run in runs]) for name in ("values", "stderr"))
    found = agreement(values, reference, np.sqrt((stderr**2).mean(axis=0) / len(runs)))
    assert found.largest < 4.5
    assert found.p > 0.001
    sums = of_a_few_and_tenths(reference.values)
    assert np.abs(z_scores(values @ sums, reference.sums(sums))).max() < 3.5
