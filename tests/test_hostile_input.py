"""Odd input that once gave nonsense, a leaked warning or an error without a name."""

from __future__ import annotations

import pickle
import threading

import numpy as np
import pytest

import ordinal_shapley as osv
from ordinal_shapley.common.parallel import Cancellation
from ordinal_shapley.sampling import shards

RNG = np.random.default_rng(0)
Y = np.arange(24) % 2
X = RNG.normal(size=(24, 3))
X[:, 0] += 2 * Y
Y_VALID = np.arange(12) % 2
X_VALID = RNG.normal(size=(12, 3))
X_VALID[:, 0] += 2 * Y_VALID


def game(**changes):
    arguments = {"X": X, "y": Y, "X_valid": X_VALID, "y_valid": Y_VALID} | changes
    return osv.LogisticGame(**arguments)


def test_functions_of_two_kinds_agree_and_the_game_pickles():
    pairwise = game(position_weight=lambda i, m: 1.0 + i / m)
    at_once = game(position_weight=lambda m: 1.0 + np.arange(m) / m)
    copied = pickle.loads(pickle.dumps(pairwise))
    order = RNG.permutation(24)
    expected = at_once.prefix_utilities(order)
    np.testing.assert_array_equal(pairwise.prefix_utilities(order), expected)
    np.testing.assert_array_equal(copied.prefix_utilities(order), expected)


def test_endless_patience_is_no_truncation():
    whole = osv.sample_values(game(), method="mc", n_permutations=4, random_state=0)
    rule = osv.Truncation.patience(patience=10**30, target="given")
    patient = osv.sample_values(game(), method="tmc", truncation=rule, n_permutations=4, random_state=0)
    np.testing.assert_array_equal(patient.values, whole.values)


def test_shards_that_nobody_waits_for_stop(monkeypatch):
    """After a run ends early its workers do no more than the call of the kernel they are in."""
    calls = []
    real = shards.walk

    def slow(*arguments):
        calls.append(threading.get_ident())
        return real(*arguments[:3], 1)  # one utility a call

    monkeypatch.setattr(shards, "walk", slow)
    cancellation = Cancellation()
    cancellation.requested = True
    played = game()
    plan = _plan(played)
    payload = (cancellation, len(plan), *plan, *played._payload)
    handed_in = shards.walk_shard(played._workspace_maker, 0, 10, *payload)
    assert calls == []
    assert handed_in.moments.n_evaluations == 0


def _plan(played):
    from ordinal_shapley.sampling.plan import Plan

    n = played.n_players
    return Plan(np.arange(n), np.array([0, n]), np.array([n]), played.player_sizes, 1, False, 0.5)


def test_interrupted_run_leaves_no_worker_behind(monkeypatch):
    """A KeyboardInterrupt in the driver reaches the workers through the cancellation."""
    seen = []
    real = shards.walk_shard

    def spy(make_workspace, first, stop, cancellation, *rest):
        seen.append(cancellation)
        return real(make_workspace, first, stop, cancellation, *rest)

    from ordinal_shapley.sampling import running
    from ordinal_shapley.sampling.stopping import Check

    monkeypatch.setattr(running, "walk_shard", spy)

    class Strike(Check):
        def __call__(self, progress):
            raise KeyboardInterrupt

    class Interrupting(osv.MaxPermutations):
        def begin(self):
            return Strike()

    with pytest.raises(KeyboardInterrupt):
        osv.sample_values(game(), stopping=Interrupting(1000), n_jobs=2, random_state=0)
    assert seen
    assert all(cancellation.requested for cancellation in seen)
