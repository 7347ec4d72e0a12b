"""What a run keeps of its way, and that this changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

import ordinal_shapley as osv
from ordinal_shapley.sampling.stopping import Progress
from runs import sample_with

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


def test_limits_are_those_of_the_rule():
    rule = osv.MaxEvaluations(300) | osv.MaxSeconds(60.0)
    history = osv.History(rule)
    assert history.max_evaluations == 300
    assert history.max_seconds == 60.0
    with_history, without = sample(history), sample(rule)
    assert with_history.stopped_by == without.stopped_by == "MaxEvaluations"
    np.testing.assert_array_equal(with_history.values, without.values)
    np.testing.assert_array_equal(history.values[-1], without.values)


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
    history = osv.History(osv.MaxPermutations(10_000), most_rounds=8)
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
