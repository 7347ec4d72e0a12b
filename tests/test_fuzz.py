"""A few odd inputs for every target of `fuzzing`; `make reliability` tries thousands."""

from __future__ import annotations

import warnings

import pytest

import fuzzing
import ordinal_shapley as osv
from problems import size

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("target", fuzzing.TARGETS, ids=lambda target: target.__name__)
def test_answers_and_clear_errors(target):
    counts = fuzzing.fuzz(target, size(150, 25))
    assert set(counts) == {"answer", "error"}


def test_nonsense_is_found():
    def crash():
        raise IndexError("list index out of range")

    def somebody_elses():
        int("x")

    def warns():
        warnings.warn("overflow encountered", RuntimeWarning, stacklevel=1)

    def wrong():
        fuzzing.require(False, "a value that is no number")

    for work in (crash, somebody_elses, warns, wrong):
        with pytest.raises(fuzzing.NonsenseError):
            fuzzing.outcome(work)
    assert fuzzing.outcome(lambda: osv.MaxSeconds(1)) == "answer"
    assert fuzzing.outcome(lambda: osv.MaxSeconds(-1)) == "error"
