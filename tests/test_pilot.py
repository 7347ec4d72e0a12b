"""The pilot of the roulette on a grid of sizes: no bias, the same on any workers, in sight, within limits."""

from __future__ import annotations

import joblib
import numpy as np
import pytest

import ordinal_shapley as osv
from ordinal_shapley.sampling import ahead, pilot
from ordinal_shapley.sampling.pilot import Look, pilot_sizes, with_probabilities
from ordinal_shapley.sampling.plan import Plan
from problems import JIT, random_problem, size
from runs import bits, sample_with
from test_ordinal_sampling import played
from test_roulette import plan_by_hand

RULE = {"method": "tmc", "truncation": osv.Roulette()}
KINDS = [("ordinal", "gaussian"), ("partial_ordinal", "gaussian"), ("classic", "uniform")]


@pytest.fixture
def coarse(monkeypatch):
    """A grid that leaves most sizes out, of however few players."""

    def sizes(n, pairs):
        few = np.unique(np.rint(np.geomspace(1, n, 3)).astype(int))
        return np.unique([*few, *few[1:] - 1]) if pairs else few

    for module in (pilot, ahead):
        monkeypatch.setattr(module, "pilot_sizes", sizes)
    return sizes


class TestSizes:
    @pytest.mark.parametrize("n", [1, 2, 59, 60])
    def test_few_places_are_all_looked_at(self, n):
        assert pilot_sizes(n, True).tolist() == pilot_sizes(n, False).tolist() == [*range(1, n + 1)]

    @pytest.mark.parametrize("n", [61, 1_000, 10**6])
    def test_about_thirty_of_many(self, n):
        single, pairs = pilot_sizes(n, False), pilot_sizes(n, True)
        assert single[0] == pairs[0] == 1 and single[-1] == pairs[-1] == n
        assert 20 <= len(single) <= 30 and len(pairs) <= 60
        assert (np.diff(single) > 0).all() and set(single) <= set(pairs)
        # The size before each is there, so that differences are marginal contributions.
        assert set(single[1:] - 1) <= set(pairs)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_chances_from_a_grid_are_as_defined(coarse, share):
    n, seed, pilot = 9, 5, 4
    _, utility = played(n=n)
    game = osv.FunctionGame(utility, n)
    value = "ordinal" if share else "partial_ordinal"
    rule = osv.Roulette(min_probability=0.2, n_pilot=pilot)
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "ordinal_shapley.sampling.ahead.with_probabilities",
            lambda *given: seen.append(with_probabilities(*given)) or seen[0],
        )
        sample_with(game, value, "tmc", truncation=rule, n_permutations=10, random_state=seed)
    sizes = coarse(n, share < 1).tolist()
    assert len(sizes) < n
    seed = sample_with(game, n_permutations=1, random_state=seed).seed
    chances, centres = plan_by_hand(
        utility, seed, [[*range(n)]], [n], share, lambda _: 1.0, 0.2, pilot, sizes
    )
    np.testing.assert_allclose(seen[0].inclusion, chances, rtol=1e-9)
    np.testing.assert_allclose(seen[0].baselines, centres, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("value", "weight"), KINDS)
@pytest.mark.parametrize("groups", [None, 2])
def test_no_bias_from_a_coarse_grid(coarse, value, weight, groups):
    scores = []
    for seed in range(size(12, 1)):
        n = size(7, 5) * (groups or 1)
        problem = random_problem(2, n=n, n_valid=15, seed=seed)
        owners = None if groups is None else np.arange(n) // groups
        game = osv.LogisticGame(*problem, position_weight=weight, groups=owners)
        exact = osv.exact_values(game, value).values
        result = sample_with(game, value, n_permutations=size(5_000, 100), random_state=seed, **RULE)
        noisy = result.stderr > 1e-12
        np.testing.assert_allclose(result.values[~noisy], exact[~noisy], atol=1e-9)
        scores += ((result.values - exact)[noisy] / result.stderr[noisy]).tolist()
    assert np.abs(scores).max() < 4.5
    assert not JIT or 0.7 < np.std(scores) < 1.3


@pytest.mark.parametrize(("value", "weight"), KINDS)
def test_no_bias_with_one_row_of_a_class(coarse, value, weight):
    """The rare class comes anywhere in an order: the pilot may never see small prefixes with a model."""
    X, y, X_valid, _ = random_problem(2, n=size(8, 5), n_valid=15, seed=1)
    y[:] = 0
    y[3] = 1
    game = osv.LogisticGame(X, y, X_valid, np.arange(15) % 2, position_weight=weight, empty_value=0.0)
    exact = osv.exact_values(game, value).values
    result = sample_with(game, value, n_permutations=size(40_000, 200), random_state=0, **RULE)
    assert np.abs((result.values - exact) / result.stderr).max() < 4.5


@pytest.mark.parametrize("in_out", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("n", [1, 2, 70, 20_000])
def test_every_place_has_a_chance(in_out, n):
    """Also where nothing that the pilot saw differed, or all did at one size."""
    game = osv.TableGame(1, {})
    strata = (np.arange(n), np.array([0, n]), np.array([n]))
    plan = Plan(*strata, np.ones(n, np.int64), 0, False, 0.0, in_out=in_out)
    n_sizes = len(pilot_sizes(n, in_out < 1.0))
    flat, steep, last = np.ones((2, n_sizes)), np.ones((2, n_sizes)), np.ones((2, n_sizes))
    steep[0, 0] = last[0, -1] = 0.0
    for utilities in (flat, steep, last):
        marginals = np.diff(utilities, axis=1, prepend=1.0)
        none = np.zeros((n_sizes, 0))
        looks = [Look(*rows, 0, none) for rows in zip(utilities, marginals, strict=True)]
        made = with_probabilities(plan, game, looks, 0.05)
        chances = made.inclusion
        assert chances.shape == made.baselines.shape == (n,)
        assert (chances > 0.0).all() and (chances <= 1.0).all()
        if in_out < 1.0:
            assert (np.diff(chances) <= 0.0).all()
            assert (chances >= 0.05 * np.minimum(1.0, np.sqrt(100 / np.arange(1, n + 1))) - 1e-15).all()
        else:
            assert chances.sum() == pytest.approx(min(n, 8, max(2, n // 4)))


@pytest.mark.parametrize("value", ["ordinal", "partial_ordinal"])
def test_the_same_bits_on_any_workers(coarse, value):
    game, _ = played(n=12)
    made = [sample_with(game, value, n_permutations=30, random_state=4, n_jobs=k, **RULE) for k in (1, 2, 3)]
    with joblib.parallel_config("loky"):
        made.append(sample_with(game, value, n_permutations=30, random_state=4, n_jobs=2, **RULE))
    assert all(bits(result) == bits(made[0]) for result in made)
    assert len({result.full_score for result in made}) == 1


def test_it_costs_a_few_hundred_evaluations(monkeypatch):
    calls = []

    def utility(sequence):
        calls.append(len(sequence))
        return 1.0 / (1.0 + len(sequence))

    n = 3_000
    game = osv.FunctionGame(utility, n)
    sample_with(game, "ordinal", n_permutations=1, random_state=0, **RULE)
    assert len(calls) < 700
    assert n in calls


def test_a_checkpoint_carries_the_pilot_and_the_scores(tmp_path):
    calls = []

    def utility(sequence):
        calls.append(sequence)
        return float(sum(sequence))

    game, path = osv.FunctionGame(utility, 6), tmp_path / "run.npz"
    options = {"random_state": 1, "checkpoint": path, **RULE}
    first = sample_with(game, "ordinal", n_permutations=20, **options)
    calls.clear()
    again = sample_with(game, "ordinal", n_permutations=20, **options)
    assert len(calls) == 1  # the empty sequence
    assert bits(first) == bits(again)
    rows = osv.LogisticGame(*random_problem(2, n=9, n_valid=15, seed=1))
    options["checkpoint"] = tmp_path / "rows.npz"
    first = sample_with(rows, "ordinal", n_permutations=20, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ordinal_shapley.sampling.ahead.look", None)
        again = sample_with(rows, "ordinal", n_permutations=40, **options)
    assert again.full_score == first.full_score
    plain = sample_with(rows, "ordinal", n_permutations=40, random_state=1, **RULE)
    assert bits(again) == bits(plain)
