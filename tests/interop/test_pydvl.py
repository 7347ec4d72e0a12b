"""Results and games in pyDVL."""

from __future__ import annotations

import itertools
import math
import pickle

import numpy as np
import pytest

import ordinal_shapley as osv
from interop.libraries import breaches, needed
from problems import random_problem
from runs import SAMPLED, game_of, sample_with

pydvl = needed("pydvl.valuation")

from pydvl.utils.status import Status  # noqa: E402
from pydvl.valuation.result import load_result, save_result  # noqa: E402
from pydvl.valuation.types import Sample  # noqa: E402

from ordinal_shapley.experiments import leave_one_out  # noqa: E402
from ordinal_shapley.interop.pydvl import GameUtility, to_valuation_result  # noqa: E402


def free_game(n=6):
    """A logistic game in which order plays no part."""
    p = random_problem(3, n=n, seed=4)
    return osv.LogisticGame(p.X, p.y, p.X_valid, p.y_valid, position_weight="uniform")


def fitted(utility, sampler, stop):
    return pydvl.ShapleyValuation(utility, sampler, stop).fit(utility.dataset()).result


def assert_agrees(result, exact):
    """Within 4.5 standard errors; what has none agrees to rounding."""
    exact = np.asarray(exact)
    noisy = result.stderr > 1e-12
    assert noisy.sum() >= len(exact) - 1
    assert np.abs((result.values - exact)[noisy] / result.stderr[noisy]).max() < 4.5
    np.testing.assert_allclose(result.values[~noisy], exact[~noisy], atol=1e-9)


def test_its_names_are_documented():
    assert breaches("pydvl") == []


class TestResult:
    @pytest.mark.filterwarnings("ignore:.*truncation ended:UserWarning")
    @pytest.mark.filterwarnings("ignore:partition and case:UserWarning")
    @pytest.mark.parametrize("kind", SAMPLED)
    def test_values_errors_and_counts_are_ours(self, kind):
        valuation = sample_with(game_of(5), n_permutations=40, random_state=1, **SAMPLED[kind])
        result = to_valuation_result(valuation)
        np.testing.assert_array_equal(result.values, valuation.values)
        np.testing.assert_allclose(result.stderr, valuation.stderr, rtol=1e-14)
        np.testing.assert_array_equal(result.counts, valuation.counts)
        np.testing.assert_array_equal(result.indices, np.arange(5))
        assert result.names.tolist() == ["0", "1", "2", "3", "4"]
        assert result.algorithm == f"ordinal-shapley: {valuation.kind.name} by {valuation.sampler.words}"
        assert (result.n_permutations, result.n_evaluations) == (40, valuation.n_evaluations)
        assert (result.stopped_by, result.seed) == ("MaxPermutations", 1)

    def test_a_player_that_was_never_counted_has_no_value(self):
        options = {"method": "cmc", "strata": [0] * 5, "class_fraction": 0.2, "average": "selected"}
        valuation = sample_with(game_of(5), n_permutations=2, random_state=0, **options)
        result = to_valuation_result(valuation)
        assert 0 in valuation.counts
        np.testing.assert_array_equal(np.isnan(result.values), valuation.counts == 0)
        np.testing.assert_array_equal(np.isnan(result.variances), valuation.counts < 2)

    def test_status_says_whether_a_rule_of_convergence_ended_the_run(self):
        loose = osv.sample_values(
            game_of(4), "partial_ordinal", "mc", stopping=osv.MaxStandardError(10.0), random_state=0
        )
        assert loose.converged
        assert to_valuation_result(loose).status is Status.Converged
        capped = osv.sample_values(game_of(4), "partial_ordinal", "mc", n_permutations=10, random_state=0)
        assert to_valuation_result(capped).status is Status.Pending

    def test_exact_values_have_no_variance(self):
        exact = osv.exact_values(game_of(4), "ordinal")
        result = to_valuation_result(exact)
        np.testing.assert_array_equal(result.values, exact.values)
        np.testing.assert_array_equal(result.stderr, 0)
        assert result.status is Status.Converged
        assert result.algorithm == "ordinal-shapley: ordinal, exact"
        assert result.n_evaluations == exact.n_evaluations

    def test_names_are_the_labels_or_those_given(self):
        game = osv.TableGame(3, {(0, 1): 1.0}, names=["ann", "bob", "cat"])
        valuation = osv.sample_values(game, "partial_ordinal", "mc", n_permutations=10, random_state=0)
        assert to_valuation_result(valuation).names.tolist() == ["ann", "bob", "cat"]
        assert to_valuation_result(valuation, names=range(10, 13)).names.tolist() == ["10", "11", "12"]

    def test_it_is_pydvls_own_kind_sorted_and_saved(self, tmp_path):
        valuation = osv.sample_values(game_of(5), "partial_ordinal", "mc", n_permutations=40, random_state=1)
        result = to_valuation_result(valuation)
        assert result.sort(reverse=True).indices.tolist() == valuation.ranking().tolist()
        save_result(result, tmp_path / "values.pkl")
        assert load_result(tmp_path / "values.pkl") == result


class TestUtility:
    def test_every_set_is_worth_what_the_game_says(self):
        game = free_game(5)
        utility = GameUtility(game)
        for m in range(6):
            for players in itertools.combinations(range(5), m):
                assert utility(Sample(None, np.array(players, np.int_))) == game(players)
        assert utility(None) == game(())

    def test_all_sets_give_the_exact_classic_values(self):
        game = free_game()
        exact = osv.exact_values(game, "classic").values
        sampler = pydvl.DeterministicUniformSampler()
        result = fitted(GameUtility(game), sampler, pydvl.NoStopping(sampler))
        # Sets come one size after the other, each with its weight: the mean over 2^(n-1) of them.
        np.testing.assert_allclose(result.values, exact, atol=1e-12)

    @pytest.mark.parametrize(
        ("weights", "kind", "options"),
        [
            (osv.beta_weights(16, 1), pydvl.BetaShapleyValuation, {"alpha": 16, "beta": 1}),
            (osv.beta_weights(1, 4), pydvl.BetaShapleyValuation, {"alpha": 1, "beta": 4}),
            (osv.banzhaf_weights(), pydvl.BanzhafValuation, {}),
        ],
    )
    def test_size_weights_are_those_of_its_semivalues(self, weights, kind, options):
        game = free_game()
        utility, sampler = GameUtility(game), pydvl.DeterministicUniformSampler()
        result = kind(utility, sampler, pydvl.NoStopping(sampler), **options).fit(utility.dataset()).result
        exact = osv.exact_values(game, osv.Classic(size_weights=weights)).values
        np.testing.assert_allclose(result.values, exact, atol=1e-12)

    def test_truncated_monte_carlo_shapley_runs_with_it(self):
        game = free_game()
        utility = GameUtility(game)
        stop = pydvl.MinUpdates(1500)
        # A tolerance of 0 ends a walk at the full utility only; what follows is then small, not nothing.
        valuation = pydvl.TMCShapleyValuation(
            utility, truncation=pydvl.NoTruncation(), is_done=stop, seed=5, show_warnings=False
        ).fit(utility.dataset())
        assert_agrees(valuation.result, osv.exact_values(game, "classic").values)
        truncated = pydvl.TMCShapleyValuation(utility, is_done=pydvl.MinUpdates(50), seed=5)
        assert np.isfinite(truncated.fit(utility.dataset()).result.values).all()

    def test_leaving_one_out_is_ours(self):
        game = free_game()
        result = pydvl.LOOValuation(GameUtility(game)).fit(GameUtility(game).dataset()).result
        np.testing.assert_allclose(result.values, leave_one_out(game), atol=1e-12)

    def test_listed_players_enter_in_the_order_of_the_permutation(self):
        game = game_of(4)
        sampler = pydvl.DeterministicPermutationSampler()
        result = fitted(GameUtility(game, order="listed"), sampler, pydvl.NoStopping(sampler))
        assert result.counts.tolist() == [math.factorial(4)] * 4
        np.testing.assert_allclose(result.values, osv.exact_values(game, "partial_ordinal").values, atol=1e-9)
        assert np.abs(result.values - osv.exact_values(game, "ordinal").values).max() > 0.01

    def test_sorted_players_make_a_game_of_sets(self):
        game = game_of(4)
        utility = GameUtility(game, order="sorted")
        for players in itertools.permutations(range(4), 3):
            assert utility(Sample(None, np.array(players))) == game(sorted(players))
        sets = osv.FunctionGame(lambda players: game(sorted(players)), 4, order_free=True)
        sampler = pydvl.DeterministicUniformSampler()
        result = fitted(utility, sampler, pydvl.NoStopping(sampler))
        np.testing.assert_allclose(result.values, osv.exact_values(sets, "classic").values, atol=1e-12)

    def test_groups_are_players(self):
        p = random_problem(3, n=8, seed=4)
        groups = np.repeat(np.arange(4), 2)
        game = osv.LogisticGame(p.X, p.y, p.X_valid, p.y_valid, groups=groups, position_weight="uniform")
        utility = GameUtility(game)
        sampler = pydvl.DeterministicUniformSampler()
        data = pydvl.GroupedDataset(p.X, p.y, groups)
        result = pydvl.ShapleyValuation(utility, sampler, pydvl.NoStopping(sampler)).fit(data).result
        np.testing.assert_allclose(result.values, osv.exact_values(game, "classic").values, atol=1e-12)

    def test_a_copy_in_another_process_plays_the_same_game(self):
        utility = GameUtility(free_game(5))
        sample = Sample(None, np.arange(5))
        assert pickle.loads(pickle.dumps(utility))(sample) == utility(sample)
        assert "LogisticGame(5 players" in str(utility)
