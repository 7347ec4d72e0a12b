"""Truncation rules: what they hold, and what they refuse."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from ordinal_shapley.sampling.truncation import Truncation


def test_paper():
    assert dataclasses.astuple(Truncation.paper()) == ("paper", 0.05, 1, "own")
    assert Truncation.paper(tol=0.2) == Truncation("paper", 0.2)


def test_patience():
    assert dataclasses.astuple(Truncation.patience()) == ("patience", 0.05, 6, "mean")
    rule = Truncation.patience(tol=0.1, patience=2, target="given")
    assert dataclasses.astuple(rule) == ("patience", 0.1, 2, "given")


def test_is_a_value():
    rule = Truncation.paper()
    assert rule == Truncation.paper()
    assert len({rule, Truncation.paper(), Truncation.patience()}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        rule.tol = 0.1
    assert eval(repr(rule)) == rule


@pytest.mark.parametrize("tol", [0, 0.0, np.float32(0.25), np.int64(1)])
def test_any_real_tolerance(tol):
    assert Truncation.paper(tol).tol == tol


@pytest.mark.parametrize(
    ("make", "error", "named"),
    [
        (lambda: Truncation("relative"), ValueError, "rule is 'relative'"),
        (lambda: Truncation(["a"]), ValueError, r"rule is \['a'\], expected one of 'paper'"),
        (lambda: Truncation.paper(tol=-0.1), ValueError, "tol is -0.1"),
        (lambda: Truncation.paper(tol=math.nan), ValueError, "tol is nan"),
        (lambda: Truncation.patience(tol=math.inf), ValueError, "tol is inf"),
        (lambda: Truncation.paper(tol="0.1"), TypeError, "tol is '0.1'"),
        (lambda: Truncation.paper(tol=True), TypeError, "tol is True"),
        (lambda: Truncation.patience(patience=0), ValueError, "patience is 0"),
        (lambda: Truncation.patience(patience=1.5), TypeError, "patience is 1.5"),
        (lambda: Truncation.patience(patience=True), TypeError, "patience is True"),
        (lambda: Truncation("patience", repeats=0, target="mean"), ValueError, "repeats is 0"),
        (lambda: Truncation("paper", repeats=6), ValueError, "repeats is 6.*patience"),
        (lambda: Truncation.patience(target="own"), ValueError, "target is 'own', expected one of 'mean'"),
        (lambda: Truncation("paper", target="mean"), ValueError, "target is 'mean'.*'own'"),
    ],
)
def test_bad_arguments_are_named(make, error, named):
    with pytest.raises(error, match=named):
        make()
