"""Interrupts that come where nobody can raise them, and what workers keep."""

from __future__ import annotations

import ctypes
import sys
import threading

import joblib
import pytest

import ordinal_shapley as osv
from ordinal_shapley.common.parallel import Cancellation, heeding_interrupts, run_in_steps

PAUSED, DONE = 1, 0


def lost_interrupt():
    """Ctrl-C inside a callback from compiled code."""

    def interrupted():
        raise KeyboardInterrupt

    ctypes.CFUNCTYPE(None)(interrupted)()


def test_a_lost_interrupt_ends_the_next_step():
    steps = []

    def step(budget):
        steps.append(budget)
        if len(steps) == 3:
            lost_interrupt()
        return PAUSED if len(steps) < 100 else DONE

    hook = sys.unraisablehook
    with pytest.raises(KeyboardInterrupt), heeding_interrupts():
        run_in_steps(step, PAUSED, Cancellation())
    assert len(steps) == 3
    assert sys.unraisablehook is hook
    # And the next run is not told of it.
    with heeding_interrupts():
        assert run_in_steps(lambda budget: DONE, PAUSED, Cancellation()) == DONE


def test_a_lost_interrupt_is_raised_at_the_end_at_the_latest():
    with pytest.raises(KeyboardInterrupt), heeding_interrupts():
        lost_interrupt()
    with pytest.raises(KeyboardInterrupt), heeding_interrupts(), heeding_interrupts():
        lost_interrupt()


def test_workers_hear_of_it():
    told = []

    def work():
        try:
            run_in_steps(lambda budget: PAUSED, PAUSED, Cancellation())
        except KeyboardInterrupt:
            told.append(True)

    def interrupt_worker():
        worker = threading.Thread(target=work)
        worker.start()
        lost_interrupt()
        worker.join(10)

    with pytest.raises(KeyboardInterrupt), heeding_interrupts():
        interrupt_worker()
    assert told == [True]


def test_other_exceptions_go_where_they_went(capsys):
    def failing():
        raise LookupError("lost")

    seen = []
    before, sys.unraisablehook = sys.unraisablehook, lambda unraisable: seen.append(unraisable.exc_type)
    try:
        with heeding_interrupts():
            ctypes.CFUNCTYPE(None)(failing)()
    finally:
        sys.unraisablehook = before
    assert seen == [LookupError]


def count_of_calls(game):
    game.calls += 1
    return 1.0 * game.calls


def left_alone(game):
    pass


@pytest.mark.parametrize("backend", ["sequential", "threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_a_worker_has_one_workspace_for_all_its_tasks(backend):
    """A utility that is how often its workspace was asked, against the rules, tells how long that lives."""
    game = osv.CompiledGame(5, count_of_calls, reset=left_alone, numbers={"calls": 0}, empty_value=0.0)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        run = osv.sample_values(game, "partial_ordinal", "mc", n_permutations=200, random_state=0)
        exact = osv.exact_values(game, "partial_ordinal", n_jobs=2)
    # What there is to share is the mean utility of full orders: at most 50 of which a shard has ten, and 16
    # of which a branch has sixteen.
    assert run.values.sum() > 200
    assert exact.values.sum() > 60
