"""Size weights: exact and sampled values against the formula, and what else knows of them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
import ordinal_shapley as osv
from ordinal_shapley import bounds
from ordinal_shapley.sampling.designs import design_of
from ordinal_shapley.vocabulary import DESIGNS
from problems import JIT, random_problem, size
from runs import bits
from test_exact import random_table, table_of
from test_ordinal_sampling import OTHER_STREAM, check_samples, played
from test_roulette import lucky_number

N = 5
MIDDLE = [0.0, 0.5, 0.0, 0.5, 0.0]
# By name: weights, and the same for five players from their formula.
WEIGHTS = {
    "beta 4 1": (osv.beta_weights(4, 1), naive.beta_size_weights(N, 4, 1)),
    "beta 2 5": (osv.beta_weights(2, 5), naive.beta_size_weights(N, 2, 5)),
    "banzhaf": (osv.banzhaf_weights(), naive.banzhaf_size_weights(N)),
    "up to 1": (osv.sizes_up_to(1), [1, 0, 0, 0, 0]),
    "up to 3": (osv.sizes_up_to(3), [1 / 3, 1 / 3, 1 / 3, 0, 0]),
    "the last": (np.array([0.0, 0.0, 0.0, 0.0, 1.0]), [0, 0, 0, 0, 1]),
    "gaps": (MIDDLE, MIDDLE),
}
each_weights = pytest.mark.parametrize("name", WEIGHTS)


def free_table(n, seed=0):
    """A random game of sets, and the same as a plain function of tuples."""
    worth = np.random.default_rng([seed, n]).normal(size=2**n)
    utility = naive.TableUtility(n, {S: worth[sum(1 << i for i in S)] for S in naive.sequences_of(range(n))})
    return table_of(n, utility), utility


class TestWeights:
    @pytest.mark.parametrize("n", [1, 2, 3, 10, 60])
    @pytest.mark.parametrize(("a", "b"), [(1, 1), (16, 1), (4, 1), (1, 4), (3, 7)])
    def test_beta(self, n, a, b):
        expected = np.array(naive.beta_size_weights(n, a, b), float)
        np.testing.assert_allclose(osv.beta_weights(a, b).of(n), expected, rtol=1e-11)

    @pytest.mark.parametrize("n", [1, 2, 3, 10, 60])
    def test_banzhaf(self, n):
        expected = np.array(naive.banzhaf_size_weights(n), float)
        np.testing.assert_allclose(osv.banzhaf_weights().of(n), expected, rtol=1e-11)

    @pytest.mark.parametrize("n", [5_000, 200_000])
    @pytest.mark.parametrize(
        ("weights", "mean", "spread"),
        [
            (osv.beta_weights(16, 1), 1 / 17, 16 / 17**2 / 18),
            (osv.beta_weights(1, 16), 16 / 17, 16 / 17**2 / 18),
            (osv.beta_weights(1, 1), 1 / 2, 1 / 12),
            (osv.banzhaf_weights(), 1 / 2, 0.0),
        ],
    )
    def test_of_many_players(self, weights, mean, spread, n):
        """Beta weights are of a share of the others that has the Beta distribution."""
        found, shares = weights.of(n), np.arange(n) / (n - 1)
        assert np.isfinite(found).all() and found.min() >= 0.0
        assert found.sum() == pytest.approx(1.0, abs=1e-12)
        assert found @ shares == pytest.approx(mean, abs=1e-9)
        assert found @ (shares - mean) ** 2 == pytest.approx(spread, abs=1e-3)

    def test_beta_16_1_is_for_small_coalitions(self):
        found = osv.beta_weights(16, 1).of(1_000)
        assert (np.diff(found) < 0).all()
        assert found[:125].sum() > 0.8

    @pytest.mark.parametrize("largest", [1, 3, 5, 9])
    def test_up_to(self, largest):
        found = osv.sizes_up_to(largest).of(5)
        assert found.tolist() == [1 / min(largest, 5) if s < largest else 0.0 for s in range(5)]

    @each_weights
    @pytest.mark.parametrize("kind", [osv.Ordinal, osv.Classic])
    def test_they_are_part_of_the_value(self, kind, name):
        value = kind(size_weights=WEIGHTS[name][0])
        assert value == kind(size_weights=WEIGHTS[name][0])
        assert value != kind() and value != kind(size_weights=osv.sizes_up_to(2))
        assert "size_weights=" in repr(value)
        assert value.size_words and value.size_words in value.meaning and value.title != kind().title
        assert kind(size_weights=None) == kind() and repr(kind(size_weights=None)) == f"{kind.__name__}()"

    def test_they_are_shown_as_they_are_made(self):
        for text in ("beta_weights(16, 1)", "banzhaf_weights()", "sizes_up_to(50)"):
            assert repr(eval(f"osv.{text}")) == text


class TestExact:
    @each_weights
    @pytest.mark.parametrize("seed", range(size(3, 1)))
    def test_ordinal(self, name, seed):
        game, utility = random_table(N, seed)
        weights, expected = WEIGHTS[name]
        result = osv.exact_values(game, osv.Ordinal(size_weights=weights), position_profile=True)
        np.testing.assert_allclose(result.values, naive.exact_by_size(utility, N, expected), atol=1e-12)
        added = naive.exact_by_size(utility, N, None, sizes=True)
        np.testing.assert_allclose(result.position_profile, added, atol=1e-12)
        assert abs(result.efficiency_gap) > 1e-3

    @each_weights
    def test_classic(self, name):
        game, utility = free_table(N)
        weights, expected = WEIGHTS[name]
        for kind in (osv.Classic, osv.Ordinal):
            result = osv.exact_values(game, kind(size_weights=weights))
            np.testing.assert_allclose(result.values, naive.exact_by_size(utility, N, expected), atol=1e-12)

    @pytest.mark.parametrize("n", [1, 2, 6])
    def test_beta_and_banzhaf_from_their_closed_forms(self, n):
        game, utility = free_table(n)
        for a, b in ((16, 1), (4, 1), (1, 4), (0.5, 2.5)):
            found = osv.exact_values(game, osv.Classic(size_weights=osv.beta_weights(a, b))).values
            np.testing.assert_allclose(found, naive.exact_beta_shapley(utility, n, a, b), atol=1e-12)
        found = osv.exact_values(game, osv.Classic(size_weights=osv.banzhaf_weights())).values
        np.testing.assert_allclose(found, naive.exact_banzhaf(utility, n), atol=1e-12)

    def test_banzhaf_as_shapiq_has_it(self):
        """Banzhaf values by shapiq 1.4.1, ExactComputer(f, 5)("BV"), of these utilities by bits."""
        worth = [0, 2, 3, 8, 1, 5, 6, -5, -8, -4, -4, 7, 8, -9, 0, 6]
        worth += [-7, 6, -7, -1, 6, -4, -3, -4, 4, -5, 9, -1, 0, 0, 2, 1]
        game = table_of(5, lambda S: worth[sum(1 << i for i in S)])
        found = osv.exact_values(game, osv.Classic(size_weights=osv.banzhaf_weights())).values
        np.testing.assert_allclose(found, [-0.5, 1.375, 0.5, 0.0, -1.25], atol=1e-12)

    def test_equal_weights_are_the_shapley_value(self):
        game, _ = random_table(N)
        plain = osv.exact_values(game).values
        for weights in (osv.beta_weights(1, 1), osv.sizes_up_to(N), osv.sizes_up_to(99), np.full(N, 0.2)):
            found = osv.exact_values(game, osv.Ordinal(size_weights=weights)).values
            np.testing.assert_allclose(found, plain, atol=1e-12)


def factor(s, j, g, n):
    """What one utility of s players counts for the player at place j."""
    return g[s - 1] / s if j < s else -g[s] / (n - s)


def samples_by_hand(orders, U, centres, seen, g):
    """In/out contributions term by term: U[t][s], control variates, and 1 / probability of what is seen."""
    n = len(orders[0])
    samples = np.zeros((len(orders), n))
    for t, order in enumerate(orders):
        c = centres[t]
        full = c[n] + seen[t][n] * (U[t][n] - c[n])
        for j, i in enumerate(order):
            samples[t, i] = (g[n - 1] * full - g[0] * U[t][0]) / n
            for s in range(1, n):
                samples[t, i] += seen[t][s] * (U[t][s] - c[s]) * factor(s, j, g, n)
                samples[t, i] += c[s] * (g[s - 1] - g[s]) / n
    return samples


class TestSamples:
    @each_weights
    @pytest.mark.parametrize("design", DESIGNS)
    def test_in_out_of_full_permutations(self, name, design):
        game, utility = random_table(N, 2)
        weights, expected = WEIGHTS[name]
        g, unit = N * np.array(expected, float), design_of(design).replicate_size(N)
        sampler = osv.PermutationSampler(design=design)
        value, count = osv.Ordinal(size_weights=weights), 20
        result = osv.sample_values(game, value, sampler, n_permutations=count, random_state=2)
        strata = [[*range(N)]], [N]
        orders = [naive.permutation(result.seed, t, *strata, design) for t in range(count)]
        longest = int(np.flatnonzero(g)[-1]) + 1
        U = [[utility(order[:s]) for s in range(N + 1)] for order in orders]
        if design == "latin":
            others = [naive.permutation(result.seed ^ OTHER_STREAM, t, *strata) for t in range(10)]
            centre = np.mean([[utility(order[:s]) for s in range(N + 1)] for order in others], axis=0)
            centres = [centre] * count
        else:
            blocks = [[u for u in range(t - t % 10, t - t % 10 + 10) if u // unit != t // unit]
                      for t in range(count)]  # fmt: skip
            centres = [np.mean([U[u] for u in block], axis=0) for block in blocks]
        samples = samples_by_hand(orders, U, centres, np.ones((count, N + 1)), g)
        check_samples(result, samples, unit)
        assert result.mean_evaluated == longest

    @each_weights
    def test_in_out_of_some_prefixes(self, name, monkeypatch):
        n, count = 9, 27
        _, utility = played(n=n)
        weights = WEIGHTS[name][0]
        weights = weights if isinstance(weights, osv.SizeWeights) else np.repeat(weights, 2)[1:] / 2
        weights = weights if isinstance(weights, osv.SizeWeights) else weights / weights.sum()
        seen = []
        from ordinal_shapley.sampling import ahead

        plan_of = ahead.with_probabilities
        monkeypatch.setattr(
            ahead, "with_probabilities", lambda *given: seen.append(plan_of(*given)) or seen[0]
        )
        value = osv.Ordinal(size_weights=weights)
        result = osv.sample_values(osv.FunctionGame(utility, n), value, n_permutations=count, random_state=6)
        plan = seen[0]
        g = n * value.by_size(n)
        used = np.array([g[s - 1] > 0 or (s < n and g[s] > 0) for s in range(1, n + 1)])
        assert ((plan.inclusion > 0) == used).all()
        orders = [naive.permutation(result.seed, t, [[*range(n)]], [n]) for t in range(count)]
        U = [[utility(order[:s]) for s in range(n + 1)] for order in orders]
        reach = np.concatenate([[0.0], np.cumsum(plan.inclusion)])
        counts = np.zeros((count, n + 1))
        for t in range(count):
            steps = np.floor(reach + lucky_number(result.seed, t))
            for s in range(1, n + 1):
                counts[t, s] = (steps[s] > steps[s - 1]) / (plan.inclusion[s - 1] or 1.0)
        centres = [np.concatenate([[0.0], plan.baselines])] * count
        check_samples(result, samples_by_hand(orders, U, centres, counts, g))

    @each_weights
    @pytest.mark.parametrize("method", ["mc", "auto"])
    def test_marginal_contributions_count_by_their_weight(self, name, method):
        game, utility = free_table(N)
        weights, expected = WEIGHTS[name]
        value = osv.Classic(size_weights=weights)
        result = osv.sample_values(game, value, method, n_permutations=30, random_state=2)
        g = N * np.array(expected, float)
        if method == "mc":
            samples = np.zeros((30, N))
            for t in range(30):
                order = naive.permutation(result.seed, t, [[*range(N)]], [N])
                for k, i in enumerate(order):
                    samples[t, i] = g[k] * (utility(order[: k + 1]) - utility(order[:k]))
            check_samples(result, samples)
        assert result.mean_evaluated <= np.flatnonzero(g)[-1] + 1

    @pytest.mark.parametrize("kind", ["ordinal", "classic", "classic in_out"])
    @pytest.mark.parametrize("how", ["mc", "roulette", "antithetic", "roulette antithetic", "latin"])
    @each_weights
    def test_no_bias(self, name, how, kind):
        scores = []
        for seed in range(size(2, 1)):
            game, _ = (free_table if "classic" in kind else random_table)(N, seed)
            value = (osv.Classic if "classic" in kind else osv.Ordinal)(size_weights=WEIGHTS[name][0])
            design = next((design for design in DESIGNS if design in how), "independent")
            contribution = "in_out" if "in_out" in kind else None
            truncation = "roulette" if "roulette" in how else None
            sampler = osv.PermutationSampler(truncation, design, contribution=contribution)
            exact = osv.exact_values(game, value).values
            count = size(2_000, 1_000)  # a rare pair of permutations can matter much
            result = osv.sample_values(game, value, sampler, n_permutations=count, random_state=seed)
            sure = result.stderr < 1e-12
            np.testing.assert_allclose(result.values[sure], exact[sure], atol=1e-9)
            scores += ((result.values - exact)[~sure] / result.stderr[~sure]).tolist()
        assert np.abs(scores).max(initial=0.0) < 4.5

    @pytest.mark.skipif(not JIT, reason="slow")
    @pytest.mark.parametrize(("kind", "name"), [(osv.Ordinal, "beta 4 1"), (osv.Classic, "up to 3")])
    def test_standard_errors_are_the_spread_of_runs(self, kind, name):
        """Many runs of a game of rows: their z-scores have mean 0 and standard deviation 1."""
        problem = random_problem(2, n=8, n_valid=15, seed=3)
        game = osv.LogisticGame(*problem, position_weight="uniform" if kind is osv.Classic else "gaussian")
        value = kind(size_weights=WEIGHTS[name][0])
        exact = osv.exact_values(game, value).values
        runs = [osv.sample_values(game, value, n_permutations=600, random_state=seed) for seed in range(60)]
        z = np.array([(run.values - exact) / run.stderr for run in runs])
        assert np.abs(z.mean(axis=0) * np.sqrt(len(runs))).max() < 4.0
        assert 0.85 < z.std() < 1.15

    @pytest.mark.parametrize("kind", [osv.Ordinal, osv.Classic])
    @pytest.mark.parametrize("method", ["auto", "mc"])
    def test_profiles(self, kind, method):
        game, utility = free_table(N)
        weights, expected = WEIGHTS["up to 3"]
        value = kind(size_weights=weights)
        options = {"n_permutations": size(4_000, 300), "random_state": 1, "position_profile": True}
        result = osv.sample_values(game, value, method, **options)
        added = naive.exact_by_size(utility, N, None, sizes=True)
        assert np.isnan(result.position_profile[:, 3:]).all()
        error = (result.position_profile - added)[:, 1:3] / result.position_profile_stderr[:, 1:3]
        assert np.abs(error).max() < 4.5
        np.testing.assert_allclose(result.position_profile[:, 0], added[:, 0], atol=0.5)
        if kind is osv.Ordinal:
            found = result.position_profile[:, :3] @ np.array(expected[:3], float)
            np.testing.assert_allclose(found, result.values, atol=1e-12)
        plain = osv.sample_values(game, value, method, **options | {"position_profile": False})
        np.testing.assert_allclose(plain.values, result.values, atol=1e-12)


class TestPasses:
    @pytest.mark.parametrize("kind", [osv.Ordinal, osv.Classic])
    @pytest.mark.parametrize(
        "sampler",
        [osv.PermutationSampler(r, d) for r, d in itertools.product((None, "roulette"), DESIGNS)],
        ids=lambda sampler: sampler.words,
    )
    def test_nothing_larger_is_evaluated(self, kind, sampler, monkeypatch):
        lengths = []

        def utility(sequence):
            lengths.append(len(sequence))
            return float(sum(sequence) % 7)

        game = osv.FunctionGame(utility, 70, order_free=True)
        value = kind(size_weights=osv.sizes_up_to(20))
        monkeypatch.setattr(osv.Classic, "try_game", lambda value, game: None)
        lengths.clear()
        osv.sample_values(game, value, sampler, n_permutations=140, random_state=0)
        assert max(lengths) == 20

    @pytest.mark.parametrize("kind", [osv.Ordinal, osv.Classic])
    def test_the_pilot_leaves_out_what_hardly_counts(self, kind):
        lengths = []

        def utility(sequence):
            lengths.append(len(sequence))
            return 1.0 / (1.0 + len(sequence))

        game = osv.FunctionGame(utility, 2_000)
        game.order_free = kind is osv.Classic
        value = kind(size_weights=osv.beta_weights(16, 1))
        osv.sample_values(game, value, n_permutations=20, random_state=0)
        assert max(lengths) < 1_400

    def test_small_sizes_cost_less(self):
        problem = random_problem(3, n=60, n_valid=20, seed=1)
        game = osv.LogisticGame(*problem)
        plain, small = (
            osv.sample_values(game, osv.Ordinal(size_weights=w), n_permutations=40, random_state=0)
            for w in (None, osv.sizes_up_to(8))
        )
        assert small.mean_evaluated < plain.mean_evaluated


@pytest.mark.parametrize("kind", [osv.Ordinal, osv.Classic])
@given(data=st.data())
@settings(max_examples=size(25, 4), deadline=None)
def test_null_player_symmetry_and_linearity(kind, data):
    n = data.draw(st.integers(2, 5 if JIT else 4))
    numbers = st.floats(-1, 1).map(lambda x: round(x, 3))
    drawn = data.draw(st.lists(st.integers(0, 9), min_size=n, max_size=n).filter(sum))
    weights = np.array(drawn) / sum(drawn)
    values = data.draw(st.lists(numbers, min_size=2 * 3**n, max_size=2 * 3**n))

    def utility(part):
        def U(S):
            """Player 0 does nothing; players 1 and 2 can be exchanged."""
            rest = [i for i in S if i]
            kept = [tuple({1: 2, 2: 1}.get(i, i) if swap else i for i in rest) for swap in (False, True)]
            if kind is osv.Classic:
                kept = [tuple(sorted(one)) for one in kept]
            return sum(values[part + hash(one) % 3**n] for one in kept)

        return U

    one, two = utility(0), utility(3**n)
    value = kind(size_weights=weights)
    first, second, both = (
        osv.exact_values(table_of(n, U), value).values for U in (one, two, lambda S: one(S) + 2 * two(S))
    )
    np.testing.assert_allclose(both, first + 2 * second, atol=1e-12)
    assert abs(first[0]) < 1e-12
    if n > 2:
        assert first[1] == pytest.approx(first[2], abs=1e-12)


class TestAxioms:
    def test_all_but_efficiency_hold(self):
        game = table_of(4, lambda S: float(len([i for i in S if i > 0]) ** 2))
        report = osv.check_axioms(game, osv.Ordinal(size_weights=osv.beta_weights(4, 1)))
        found = {check.name: check.status for check in report}
        assert found.pop("efficiency") == "fails"
        assert set(found.values()) == {"holds"}
        assert "size_weights" in report.efficiency.detail and "Beta(4, 1)" in report.value

    def test_equal_weights_are_efficient(self):
        game, _ = random_table(4)
        assert osv.check_axioms(game, osv.Ordinal(size_weights=osv.beta_weights(1, 1))).holds

    def test_a_size_without_weight_hides_who_helps_there(self):
        game = table_of(3, lambda S: float(len(S) == 3))
        report = osv.check_axioms(game, osv.Classic(size_weights=osv.sizes_up_to(2)))
        assert report.monotone.status == "fails"
        assert "no weight" in report.monotone.detail


class TestVerify:
    @each_weights
    @pytest.mark.parametrize("kind", [osv.Ordinal, osv.Classic])
    def test_the_estimate_has_no_bias(self, kind, name):
        game, _ = free_table(N)
        value = kind(size_weights=WEIGHTS[name][0])
        result = osv.verify(game, value, n_permutations=size(2_000, 200), random_state=0)
        np.testing.assert_array_equal(result.expected, osv.exact_values(game, value).values)
        assert not result.bias.any()
        assert np.abs(result.z).max() < 4.5


class TestKeeping:
    @each_weights
    @pytest.mark.parametrize("kind", [osv.Ordinal, osv.Classic])
    def test_save_load_merge_and_resume(self, tmp_path, kind, name):
        game, _ = free_table(N)
        value = kind(size_weights=WEIGHTS[name][0])

        def sampled(n=40, **options):
            return osv.sample_values(game, value, n_permutations=n, random_state=1, **options)

        whole = sampled()
        whole.save(tmp_path / "whole.npz")
        loaded = osv.Valuation.load(tmp_path / "whole.npz")
        assert bits(loaded) == bits(whole)
        assert loaded.kind == value and loaded.settings.digest == whole.settings.digest
        np.testing.assert_array_equal(loaded.kind.by_size(N), value.by_size(N))
        parts = [loaded, sampled(20, first_permutation=40)]
        np.testing.assert_allclose(osv.Valuation.merge(parts).values, sampled(60).values, atol=1e-12)
        kept = tmp_path / "run.npz"
        sampled(20, checkpoint=kept)
        assert bits(sampled(checkpoint=kept)) == bits(whole)
        assert bits(sampled(n_jobs=2)) == bits(whole)

    def test_other_weights_do_not_mix(self, tmp_path):
        game, _ = free_table(N)
        kinds = [
            osv.Ordinal(),
            osv.Ordinal(size_weights=MIDDLE),
            osv.Ordinal(size_weights=osv.sizes_up_to(2)),
        ]
        options = {"n_permutations": 20, "random_state": 1}
        made = [osv.sample_values(game, k, first_permutation=20 * t, **options) for t, k in enumerate(kinds)]
        for pair in itertools.combinations(made, 2):
            with pytest.raises(ValueError, match="value"):
                osv.Valuation.merge(pair)
        kept = tmp_path / "run.npz"
        osv.sample_values(game, kinds[1], checkpoint=kept, **options)
        with pytest.raises(ValueError, match="checkpoint"):
            osv.sample_values(game, kinds[2], checkpoint=kept, **options)


class TestBounds:
    def test_ranges_hold_every_weighed_contribution(self):
        n, weights = 6, osv.beta_weights(4, 1)
        worth = np.random.default_rng(0).uniform(0, 1, n)
        low, high = bounds.position_ranges(np.zeros(n), np.ones(n), size_weights=weights)
        g = n * weights.of(n)
        for order in itertools.permutations(range(n)):
            for k in range(n):
                added = g[k] * (
                    worth[list(order[: k + 1])].max() * (k + 1) - k * worth[list(order[:k])].max(initial=0)
                )
                assert low[k] - 1e-12 <= added <= high[k] + 1e-12

    def test_the_tail_holds(self):
        """Errors of the plain average, against the bound made of weighed ranges."""
        n, count = 4, 20
        game, utility = free_table(n, 3)
        value = osv.Classic(size_weights=osv.sizes_up_to(2))
        g = n * value.by_size(n)
        worth = [[utility(S) for S in itertools.combinations(range(n), k)] for k in range(n + 1)]
        most = np.array([max(worth[k + 1]) - min(worth[k]) for k in range(n)])
        least = np.array([min(worth[k + 1]) - max(worth[k]) for k in range(n)])
        exact = osv.exact_values(game, value).values
        runs = size(400, 40)
        errors = np.abs([
            osv.sample_values(game, value, "mc", n_permutations=count, random_state=seed).values - exact
            for seed in range(runs)
        ])  # fmt: skip
        for eps in (1.0, 1.5, 2.0):
            tail = bounds.tmc_tail(eps, g * least, g * most, n_permutations=count)
            assert (errors >= eps).mean(axis=0).max() <= tail + 3 * np.sqrt(tail / runs)


class TestEstimators:
    @pytest.mark.parametrize("estimator", [osv.OrdinalShapley, osv.ClassicShapley])
    def test_they_value_with_the_weights(self, estimator):
        X, y, X_valid, y_valid = random_problem(2, n=14, n_valid=12, seed=2)
        weights = osv.sizes_up_to(6)
        model = estimator(size_weights=weights, n_permutations=30, random_state=0)
        assert model.get_params()["size_weights"] == weights
        model.fit(X, y, X_valid, y_valid)
        kind = osv.Ordinal if estimator is osv.OrdinalShapley else osv.Classic
        assert model.valuation_.kind == kind(size_weights=weights)
        expected = osv.sample_values(model.game_, model.valuation_.kind, n_permutations=30, random_state=0)
        assert bits(model.valuation_) == bits(expected)
