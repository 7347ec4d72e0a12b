"""Interrupts that come where nobody can raise them."""

from __future__ import annotations

import ctypes
import sys
import threading

import pytest

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
