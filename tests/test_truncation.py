"""Truncation rules: what they hold, and what they refuse."""

from __future__ import annotations

import dataclasses

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
