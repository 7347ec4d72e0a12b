"""Stopping rules against a transcription of their definition, and their composition."""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ordinal_shapley as osv
from ordinal_shapley.common import parallel
from ordinal_shapley.sampling.convergence import MaxStandardError, RankStability, RelativeChange
from ordinal_shapley.sampling.stopping import (
    Check,
    MaxEvaluations,
    MaxPermutations,
    MaxSeconds,
    Progress,
    StoppingRule,
)
from runs import SAMPLED, bits, game_of, sample_with


def at(n_permutations, values=(1.0, 2.0), stderr=0.0, seconds=0.1):
    values = np.array(values, dtype=float)
    errors = np.broadcast_to(np.array(stderr, dtype=float), values.shape)
    return Progress(values, errors, n_permutations, 10 * n_permutations, seconds)


def naive_change(history, window):
    """Return the figure of RelativeChange from its definition; history is [(t, values), ...]."""
    now, values = history[-1]
    before = [t for t, _ in history[:-1] if t <= now - window]
    if not before:
        return None
    worst = 0.0
    for t, earlier in history[:-1]:
        if t < max(before):
            continue
        known = [
            (v, e) for v, e in zip(values, earlier, strict=True) if v == v and e == e
        ]  # NaN is the only float that differs from itself
        scale = sum(abs(v) for v, _ in known) / len(known) if known else 0.0
        if known and all(v == e for v, e in known):
            continue
        if scale == 0.0:
            return math.inf
        terms = [abs(v - e) / max(abs(v), scale) for v, e in known]
        worst = max(worst, sum(terms) / len(terms))
    return worst


class TestRelativeChange:
    def test_by_hand(self):
        check = RelativeChange(tol=0.05).begin()
        assert not check(at(100, [1.0, 3.0]))
        assert check.figure == "relative change unknown (stop < 0.05)"
        # mean |v| = 2: (|1.1 - 1| / 2 + |2.9 - 3| / 2.9) / 2 = 0.0422 and a bit.
        assert check(at(200, [1.1, 2.9]))
        assert check.figure == "relative change 0.0422 (stop < 0.05)"
        assert (check.fired, check.converged) == ("RelativeChange", True)
        assert not check(at(300, [2.0, 2.9]))
        assert (check.fired, check.converged) == ("", False)

    def test_values_that_stay_0_have_converged(self):
        run = osv.sample_values(osv.TableGame(3, {}), random_state=0)
        assert (run.n_permutations, run.stopped_by) == (200, "RelativeChange")
        check = RelativeChange().begin()
        assert not check(at(100, [0.0, 0.1]))
        assert not check(at(200, [0.0, 0.0]))  # it has just become 0
        assert check(at(300, [0.0, 0.0]))

    def test_a_floor_lets_small_values_converge(self):
        # (1e-4 / 1e-3 + 1e-4 / 1e-3) / 2 = 0.1, where the values themselves moved by 100 %.
        check = RelativeChange(tol=0.11, floor=1e-3).begin()
        check(at(100, [1e-4, 0.0]))
        assert check(at(200, [0.0, 1e-4]))
        check = RelativeChange(tol=0.09, floor=1e-3).begin()
        check(at(100, [1e-4, 0.0]))
        assert not check(at(200, [0.0, 1e-4]))

    def test_keeps_its_own_copy(self):
        check, values = RelativeChange().begin(), np.array([1.0, 2.0])
        check(Progress(values, values, 100, 0, 0.0))
        values *= 3  # a driver may reuse its array
        assert not check(Progress(values, values, 200, 0, 0.0))

    @given(
        window=st.sampled_from([1, 50, 100, 150, 250, 400]),
        rounds=st.lists(
            st.tuples(
                st.sampled_from([10, 50, 100, 130]),
                st.lists(
                    st.one_of(st.integers(-99, 99).map(lambda k: k / 50), st.just(math.nan), st.just(0.0)),
                    min_size=3,
                    max_size=3,
                ),
            ),
            max_size=8,
        ),
    )
    def test_equals_the_definition(self, window, rounds):
        check, history, now = RelativeChange(tol=0.3, window=window).begin(), [], 0
        for step, values in rounds:
            now += step
            history.append((now, values))
            expected = naive_change(history, window)
            if expected is not None and math.isclose(expected, 0.3, rel_tol=1e-9):
                return  # rounding decides
            assert check(at(now, values)) == (expected is not None and expected < 0.3)
            shown = "unknown" if expected is None else f"{expected:.3g}"
            if expected is None or not math.isfinite(expected):
                assert check.figure == f"relative change {shown} (stop < 0.3)"


class TestMaxStandardError:
    def test_by_hand(self):
        check = MaxStandardError(0.1).begin()
        assert not check(at(100, stderr=[0.05, 0.2]))
        assert check.figure == "largest standard error 0.2 (stop <= 0.1)"
        assert (check.fired, check.converged) == ("", False)
        assert check(at(200, stderr=[0.1, 0.05]))
        assert (check.fired, check.converged) == ("MaxStandardError", True)

    def test_relative_to_the_spread(self):
        # Values 1 and 5 have a standard deviation of 2.
        check = MaxStandardError(0.1, relative=True).begin()
        assert not check(at(100, [1.0, 5.0], stderr=0.21))
        assert check.figure == "largest standard error 0.105 of the spread (stop <= 0.1)"
        assert check(at(100, [1.0, 5.0], stderr=0.19))
        assert not check(at(200, [3.0, 3.0], stderr=1e-9)), "no spread is no licence"
        assert check(at(300, [3.0, 3.0], stderr=0.0))

    def test_not_before_its_minimum(self):
        check = MaxStandardError(0.1, min_permutations=250).begin()
        assert [check(at(t)) for t in (100, 200, 250, 300)] == [False, False, True, True]

    def test_players_without_an_error_keep_it_going(self):
        check = MaxStandardError(1.0).begin()
        assert not check(at(100, [1.0, 2.0], stderr=[0.1, math.nan]))
        assert check.figure == "largest standard error unknown (stop <= 1)"


def naive_spearman(one, two):
    """1 - 6 sum d^2 / (n^3 - n), for values without ties."""
    ranks = [[sorted(values).index(v) for v in values] for values in (one, two)]
    n = len(one)
    return 1 - 6 * sum((a - b) ** 2 for a, b in zip(*ranks, strict=True)) / (n**3 - n)


class TestRankStability:
    @settings(deadline=None)  # the first example imports scipy
    @given(st.permutations(range(7)), st.permutations(range(7)))
    def test_equals_the_definition(self, one, two):
        check = RankStability(correlation=0.6, k=2, overlap=0.5).begin()
        assert not check(at(100, one))
        top = {i for i in range(7) if one[i] >= 5} & {i for i in range(7) if two[i] >= 5}
        bottom = {i for i in range(7) if one[i] < 2} & {i for i in range(7) if two[i] < 2}
        overlap, rho = min(len(top), len(bottom)) / 2, naive_spearman(one, two)
        assert check(at(200, two)) == (rho >= 0.6 - 1e-12 and overlap >= 0.5)
        assert (
            check.figure == (f"rank correlation {rho:.3f}, {overlap:.0%} of the ends (stop >= 0.6, 50%)")
            or abs(rho) < 1e-3
        )

    def test_looks_at_the_worst_of_the_window(self):
        check = RankStability(window=200).begin()
        said = [check(at(t, v)) for t, v in ((100, [1, 2, 3]), (200, [3, 2, 1]), (300, [1, 2, 3]))]
        assert said == [False] * 3
        assert [check(at(t, [1, 2, 3])) for t in (400, 500)] == [False, True]

    def test_players_of_no_value_do_not_disturb_it(self):
        check = RankStability().begin()
        check(at(100, [0.0] * 9 + [1.0]))
        assert check(at(200, [0.0] * 9 + [2.0]))
        check = RankStability().begin()
        check(at(100, [0.0] * 4))
        assert check(at(200, [0.0] * 4))
        check = RankStability().begin()
        check(at(100, [0.0] * 4))
        assert not check(at(200, [0.0, 1.0, 2.0, 3.0]))

    def test_unknown_players_are_left_out(self):
        check = RankStability().begin()
        check(at(100, [math.nan, 1.0, 2.0, 3.0]))
        assert check(at(200, [9.0, 1.0, 2.0, 3.0]))
        check = RankStability().begin()
        check(at(100, [math.nan] * 2))
        assert not check(at(200, [math.nan] * 2))


class TestLimits:
    def test_evaluations(self):
        check = MaxEvaluations(1_500).begin()
        assert [check(at(t)) for t in (100, 149, 150, 200)] == [False, False, True, True]
        assert (check.fired, check.converged) == ("MaxEvaluations", False)

    def test_seconds(self):
        check = MaxSeconds(2).begin()
        assert [check(at(100, seconds=s)) for s in (0.1, 1.9, 2.0, 3.0)] == [False, False, True, True]
        assert (check.fired, check.converged) == ("MaxSeconds", False)

    def test_limits_of_pairs(self):
        rule = MaxEvaluations(10) | MaxSeconds(5) | MaxSeconds(7) | RelativeChange()
        assert (rule.max_permutations, rule.max_evaluations, rule.max_seconds) == (None, 10, 5.0)
        rule = MaxEvaluations(10) & MaxSeconds(5) & MaxSeconds(7)
        assert (rule.max_permutations, rule.max_evaluations, rule.max_seconds) == (None, None, None)
        rule = MaxSeconds(5) & MaxSeconds(7)
        assert rule.max_seconds == 7.0


class Scripted(StoppingRule):
    """Says what it is told to, and counts its calls."""

    def __init__(self, answers, *, name, converges):
        self.answers, self.name, self.converges = answers, name, converges
        self.calls = 0

    def begin(self):
        rule = self

        class Run(Check):
            def __call__(self, progress):
                stop = rule.answers[progress.n_permutations // 100 - 1]
                rule.calls += 1
                self.figure = f"{rule.name} figure"
                self.fired = rule.name if stop else ""
                self.converged = stop and rule.converges
                return stop

        return Run()


answers = st.lists(st.booleans(), min_size=5, max_size=5)


class TestComposition:
    @given(answers, answers, answers)
    def test_is_boolean_algebra(self, a, b, c):
        rules = [
            Scripted(said, name=name, converges=name != "C")
            for name, said in zip("ABC", (a, b, c), strict=True)
        ]
        either, both = (rules[0] | rules[1] & rules[2]).begin(), (rules[0] & rules[1]).begin()
        for round_ in range(5):
            x, y, z = a[round_], b[round_], c[round_]
            assert either(at(100 * round_ + 100)) == (x or (y and z))
            assert bool(either.fired) == (x or (y and z))
            assert either.converged == (x or (y and z))
            assert both(at(100 * round_ + 100)) == (x and y)
            assert both.converged == (x and y)
            assert both.fired == ("A & B" if x and y else "")
        # No call is saved by the other side's answer: a rule that looks back misses no round.
        assert [rule.calls for rule in rules] == [10, 10, 5]

    def test_convergence_at_the_cap_is_convergence(self):
        for rule in (RelativeChange() | MaxPermutations(200), MaxPermutations(200) | RelativeChange()):
            check = rule.begin()
            check(at(100))
            assert check(at(200))
            assert (check.fired, check.converged) == ("RelativeChange", True)

    @given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 9))
    def test_the_cap_is_when_it_stops(self, a, b, c):
        a, b, c = (MaxPermutations(100 * k) for k in (a, b, c))
        for rule in (a | b & c, (a | b) & c, a & b & c, a | b | c):
            check = rule.begin()
            first = next(t for t in range(100, 1_000, 100) if check(at(t)))
            assert first == rule.max_permutations

    def test_runs_do_not_share_state(self):
        rule = RelativeChange() | MaxPermutations(1_000)
        one, two = rule.begin(), rule.begin()
        one(at(100))
        assert not two(at(200))
        assert one(at(200))

    def test_repr_reads_back(self):
        a, b, c = RelativeChange(), MaxPermutations(5), MaxPermutations(9)
        for rule in (a | b & c, (a | b) & c, a & (b | c), a | b | c):
            assert eval(repr(rule)) == rule


# In runs


RULES = {
    "MaxStandardError": MaxStandardError(0.06),
    "RankStability": RankStability(0.8, overlap=0.5),
    "RelativeChange": RelativeChange(0.3),
}


@pytest.mark.parametrize("name", RULES)
def test_a_run_with_a_null_player_converges(name):
    run = sample_with(
        game_of(4, null=2), stopping=RULES[name] | MaxPermutations(5_000), random_state=1, n_jobs=2
    )
    assert (run.stopped_by, run.converged) == (name, True)
    assert run.n_permutations % 100 == 0
    assert run.n_permutations >= (100 if name == "MaxStandardError" else 200)
    assert (run.values[2], run.stderr[2]) == (0.0, 0.0)


def test_a_game_that_is_worth_nothing_converges():
    game = osv.TableGame(3, {})
    for rule in (MaxStandardError(0.1), MaxStandardError(0.1, relative=True), RankStability()):
        run = osv.sample_values(game, "partial_ordinal", "mc", stopping=rule, random_state=1)
        assert run.converged
    assert sample_with(game, stopping=RelativeChange(floor=1e-6), random_state=1).converged


def test_evaluations_stop_between_the_same_shards_for_any_number_of_jobs():
    game = game_of(5)
    runs = [sample_with(game, stopping=MaxEvaluations(333), random_state=1, n_jobs=n) for n in (1, 2, 4)]
    # 50 utilities a shard.
    assert [(run.n_permutations, run.n_evaluations) for run in runs] == [(70, 350)] * 3
    assert {run.stopped_by for run in runs} == {"MaxEvaluations"}
    same = osv.sample_values(game, "partial_ordinal", "mc", n_permutations=70, random_state=1)
    assert bits(runs[0]) == bits(runs[1]) == bits(runs[2]) == bits(same)


class Out(parallel.Cancellation):
    """Time is up at the k-th look at the clock, whatever the time is."""

    left = 0

    @property
    def time_is_up(self):
        Out.left -= 1
        return Out.left < 0 or self.deadline < 0


@pytest.mark.filterwarnings("ignore:.*standard errors", "ignore:partition and case")
@pytest.mark.filterwarnings("ignore:.*truncation ended")
@pytest.mark.parametrize("name", SAMPLED)
def test_a_run_out_of_time_is_a_run_of_as_many_permutations(name, monkeypatch):
    from ordinal_shapley.sampling import running

    game, options = game_of(5), {"random_state": 3, **SAMPLED[name]}
    lengths = set()
    for looks in (150, 171, 233, 318):
        Out.left = looks
        with monkeypatch.context() as patch:
            # By this clock any call takes long, so that each is of one utility.
            patch.setattr(time, "perf_counter", itertools.count(0, 10**6).__next__)
            patch.setattr(running, "Cancellation", Out)
            cut = sample_with(game, stopping=MaxSeconds(1e9), **options)
        assert (cut.stopped_by, cut.converged) == ("MaxSeconds", False)
        lengths.add(cut.n_permutations)
        whole = sample_with(game, n_permutations=cut.n_permutations, **options)
        assert bits(cut) == bits(whole)
    assert len(lengths) > 1
    assert name in ("roulette", "ordinal roulette") or any(n % 5 for n in lengths)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_no_time_for_a_permutation(n_jobs):
    def slow(sequence):
        time.sleep(0.05)
        return 0.0

    with pytest.raises(TimeoutError, match="MaxSeconds"):
        sample_with(osv.FunctionGame(slow, 1000), stopping=MaxSeconds(0.1), random_state=1, n_jobs=n_jobs)


def test_time_that_is_not_over_changes_nothing():
    game = game_of(4)
    plain = osv.sample_values(game, "partial_ordinal", "mc", n_permutations=130, random_state=2)
    timed = sample_with(game, stopping=MaxSeconds(1e6) | MaxPermutations(130), random_state=2, n_jobs=2)
    assert timed.stopped_by == "MaxPermutations"
    assert bits(plain) == bits(timed)


def test_a_part_of_a_shard_leaves_the_file_as_it_was(tmp_path):
    game = osv.TableGame.from_array(4, np.random.default_rng(0).normal(size=65))
    options = {"random_state": 0, "position_profile": True}
    sample_with(game, n_permutations=15, checkpoint=tmp_path / "run.npz", **options)
    kept = osv.Valuation.load(tmp_path / "run.npz")
    whole = sample_with(game, n_permutations=10, **options)
    assert kept.n_permutations == 10
    assert np.array_equal(kept.position_profile, whole.position_profile, equal_nan=True)
    assert np.array_equal(kept.values, whole.values)


# What a run keeps of its way, and that this changes nothing


GAME = osv.TableGame(3, {(0,): 1.0, (0, 1): 3.0, (2, 1): -1.0, (1, 0, 2): 2.0})
CHANGE = "relative change over 100 permutations"


def sample(stopping, **options):
    return sample_with(GAME, stopping=stopping, random_state=0, **options)


def test_every_round_is_a_shorter_run():
    history = osv.History(osv.MaxPermutations(450))
    whole = sample(history)
    assert history.n_permutations.tolist() == [100, 200, 300, 400, 450]
    assert history.n_evaluations[-1] == whole.n_evaluations
    assert (np.diff(history.n_evaluations) > 0).all()
    assert (np.diff(history.seconds) >= 0).all()
    for at, n_permutations in enumerate(history.n_permutations):
        shorter = sample(None, n_permutations=int(n_permutations))
        np.testing.assert_array_equal(history.values[at], shorter.values)
        np.testing.assert_array_equal(history.stderr[at], shorter.stderr)
    assert history.readings == history.limits == {}


@pytest.mark.parametrize(
    "rule",
    [
        osv.RelativeChange(0.02) | osv.MaxPermutations(3_000),
        osv.RelativeChange(0.02, window=300) & osv.MaxPermutations(700) | osv.MaxPermutations(3_000),
        osv.RelativeChange(1e-9) | osv.MaxPermutations(250),
    ],
)
def test_the_run_is_that_of_the_rule(rule):
    history = osv.History(rule)
    with_history, without = sample(history), sample(rule)
    assert history.max_permutations == rule.max_permutations
    np.testing.assert_array_equal(with_history.values, without.values)
    for name in ("stopped_by", "converged", "n_permutations"):
        assert getattr(with_history, name) == getattr(without, name)


def test_readings_are_the_change_of_the_values_kept():
    history = osv.History(osv.RelativeChange(0.01, window=100) | osv.MaxPermutations(2_000))
    assert sample(history).converged
    assert history.limits == {CHANGE: 0.01}
    measured = history.readings[CHANGE]
    assert np.isnan(measured[0])
    for at in range(1, len(measured)):
        now, before = history.values[at], history.values[at - 1]
        scale = np.maximum(np.abs(now), np.abs(now).mean())
        assert measured[at] == pytest.approx(np.mean(np.abs(now - before) / scale))
    assert measured[-1] < 0.01 <= measured[1:-1].min()


def test_readings_of_every_rule_are_at_the_limit_when_it_stops():
    rules = {
        osv.MaxStandardError(0.03): ["largest standard error"],
        osv.MaxStandardError(0.1, relative=True): ["largest standard error of the spread"],
        osv.RankStability(0.9, overlap=0.8, window=200): [
            "rank correlation over 200 permutations",
            "share of the ends in common over 200 permutations",
        ],
    }
    for rule, names in rules.items():
        history = osv.History(rule | osv.MaxPermutations(20_000))
        assert sample(history).converged
        assert list(history.readings) == list(history.limits) == names
        for name, measured in history.readings.items():
            if name.startswith("largest"):
                scale = history.values.std(axis=1) if rule.relative else 1.0
                np.testing.assert_allclose(measured, history.stderr.max(axis=1) / scale)
                assert measured[-1] <= history.limits[name] < measured[:-1].min()
            else:
                assert measured[-1] >= history.limits[name]


def test_a_run_that_goes_on_from_a_checkpoint(tmp_path):
    rule = osv.RelativeChange(1e-3, window=300)
    path = tmp_path / "run.npz"
    sample(osv.History(rule), n_permutations=500, checkpoint=path)
    history = osv.History(rule)
    resumed = sample(history, n_permutations=900, checkpoint=path)
    whole = osv.History(rule)
    np.testing.assert_array_equal(sample(whole, n_permutations=900).values, resumed.values)
    name = "relative change over 300 permutations"
    np.testing.assert_array_equal(history.n_permutations[-4:], whole.n_permutations[-4:])
    np.testing.assert_array_equal(history.readings[name][-4:], whole.readings[name][-4:])


def feed(history, n_rounds):
    check = history.begin()
    for number in range(1, n_rounds + 1):
        check(Progress(np.full(2, float(number)), np.zeros(2), 100 * number, number, 0.1 * number))
    return check


@pytest.mark.parametrize("n_rounds", [1, 7, 8, 9, 16, 17, 23, 100])
def test_many_rounds_are_thinned_evenly_and_the_last_one_stays(n_rounds):
    history = osv.History(osv.MaxPermutations(10_000), max_rounds=8)
    feed(history, n_rounds)
    kept = history.n_permutations // 100
    assert len(kept) <= 9
    assert len(kept) > min(n_rounds, 8) / 2
    assert kept[-1] == n_rounds
    gaps = np.diff(np.concatenate([[0], kept]))
    assert len(set(gaps[:-1])) <= 1
    assert gaps[-1] <= gaps[0]
    np.testing.assert_array_equal(history.values[:, 0], kept)


def test_rounds_do_not_share_memory_with_the_run():
    history = osv.History(osv.MaxPermutations(10_000))
    values = np.zeros(2)
    history.begin()(Progress(values, values, 100, 1, 0.1))
    values[:] = 7.0
    assert not history.values.any()
    assert not history.stderr.any()
