"""Truncation rules: what they hold, and what they refuse."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import ordinal_shapley as osv
from ordinal_shapley.sampling.truncation import Truncation


def test_paper():
    assert dataclasses.astuple(Truncation.paper()) == ("paper", 0.05, 1, "own")
    assert Truncation.paper(tol=0.2) == Truncation("paper", 0.2)


def test_patience():
    assert dataclasses.astuple(Truncation.patience()) == ("patience", 0.05, 6, "mean")
    rule = Truncation.patience(tol=0.1, patience=2, target="given")
    assert dataclasses.astuple(rule) == ("patience", 0.1, 2, "given")


@pytest.mark.parametrize(
    ("method", "rule"),
    [
        ("tmc", Truncation.paper()), ("tmc", Truncation.patience()), ("ctmc", Truncation.roulette(pilot=2)),
        ("mc", None), ("cmc", None),
    ],
)  # fmt: skip
def test_results_know_their_rule(tmp_path, method, rule):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 2)), np.arange(12) % 2
    game = osv.LogisticGame(X, y, X, y)
    parts = [
        osv.sample_values(
            game, method=method, truncation=rule, n_permutations=4, first_permutation=first, random_state=0
        )
        for first in (0, 4)
    ]
    name = None if rule is None else rule.rule
    parts[0].save(tmp_path / "values.npz")
    found = [*parts, osv.Valuation.load(tmp_path / "values.npz"), osv.Valuation.merge(parts)]
    assert [part.truncation for part in found] == [name] * 4


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
