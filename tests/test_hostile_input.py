"""Odd input that once gave nonsense, a leaked warning or an error without a name."""

from __future__ import annotations

import pickle
import threading

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.naive_bayes import GaussianNB

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


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"X": X * 1e155}, ValueError, r"X holds a number of size .*rescale"),
        ({"X_valid": X_VALID * 1e155}, ValueError, r"X_valid holds a number of size .*rescale"),
        ({"C": 1e200}, ValueError, "C is 1e.200"),
        ({"sample_weight": np.full(24, 1e40)}, ValueError, "sample_weight is up to 1e.40"),
        ({"sample_weight": np.full(24, 1 + 1j)}, TypeError, "sample_weight holds values of type complex"),
        ({"sample_weight": np.full(24, "2020", "M8[D]")}, TypeError, "sample_weight .* type datetime"),
        ({"sample_weight": ["1"] * 24}, TypeError, "sample_weight holds values of type <U1"),
        ({"X": np.ma.masked_array(X, X > 1)}, ValueError, "X has masked entries, the first at row"),
        ({"y": np.ma.masked_array(Y, Y > 0)}, ValueError, "y has masked entries, the first at row 1"),
        ({"X": sp.coo_array(np.arange(24.0))}, (TypeError, ValueError), "X "),
        ({"X": [[1.0, 2.0], [3.0]]}, ValueError, "X is no rectangular array"),
        ({"X": None}, TypeError, "X is a NoneType"),
        ({"empty_value": -1e308}, ValueError, "empty_value is -1e.308"),
        ({"y": np.arange(24) // 2 + 0.5}, ValueError, "12 distinct numbers and looks like regr"),
        ({"y": pd.Series(pd.to_datetime(["2020", None] * 12))}, ValueError, "y has a missing label at row 1"),
        ({"groups": [None, "a"] * 12}, ValueError, "groups has a missing label at row 0"),
        ({"scoring": np.array(["f1"])}, ValueError, "scoring is array"),
        ({"position_weight": lambda m: np.ones(m) * 1j}, TypeError, "position_weight .* type complex"),
        (
            {"position_weight": lambda i, m: np.inf if i == 1 else 1.0},
            ValueError,
            "position_weight gives inf",
        ),
        ({"position_weight": lambda m: ["a"] * m}, TypeError, "position_weight holds values of type <U1"),
        ({"position_weight": lambda m: np.ones(m + 1)}, ValueError, r"position_weight\(1\) has shape \(2,\)"),
        (
            {"position_weight": lambda i, m, k: 1.0},
            TypeError,
            r"position_weight takes \(i, m, k\), expected w",
        ),
        (
            {"position_weight": lambda i, *, m: 1.0},
            TypeError,
            r"position_weight takes \(i, \*, m\), expected w",
        ),
    ],
)
def test_refused_by_name(changes, error, words):
    with pytest.raises(error, match=words):
        game(**changes)


ROW_GAMES = {
    "logistic": osv.LogisticGame,
    "ridge": osv.RidgeGame,
    "neighbors": osv.NearestNeighborGame,
    "estimator": lambda **arguments: osv.EstimatorGame(GaussianNB(), **arguments),
}


@pytest.mark.parametrize("kind", ROW_GAMES)
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"X": np.ma.masked_array(X, X > 1)}, "X has masked entries, the first at row"),
        ({"X": [[1.0, 2.0], [3.0]]}, "X is no rectangular array"),
        ({"X": np.zeros((0, 3))}, "X has no rows"),
        ({"X_valid": X_VALID[:, :2]}, "X_valid has 2 features, expected 3"),
        ({"y": np.ma.masked_array(Y, Y > 0)}, "y has masked entries, the first at row 1"),
        ({"y": Y[:5]}, "y has 5 entries, expected 24"),
        ({"y_valid": Y_VALID[:, None, None]}, "y_valid has 3 dimensions"),
        ({"groups": [None, "a"] * 12}, "groups has a missing label at row 0"),
        ({"groups": np.array([1, "a"] * 12, object)}, "groups mixes int, str"),
        ({"labels": [0] * 3}, "labels has 3 entries, expected 24"),
        ({"sample_weight": np.full(24, 1e40)}, "sample_weight is up to 1e.40"),
        ({"sample_weight": -np.ones(24)}, r"sample_weight is -1\.0 at row 0"),
        ({"sample_weight": np.full(24, 1 + 1j)}, "sample_weight holds values of type complex"),
        ({"position_weight": lambda m: np.ones(m + 1)}, r"position_weight\(1\) has shape \(2,\)"),
        ({"position_weight": lambda i, m: -1.0}, r"position_weight gives -1\.0 for m = 1"),
        ({"position_weight": None}, "position_weight is None"),
        ({"empty_value": -1e308}, "empty_value is -1e.308"),
        ({"empty_value": True}, "empty_value is True"),
        ({"scoring": "guess"}, "scoring is 'guess'"),
    ],
)
def test_every_game_of_rows_refuses_by_name(kind, changes, words):
    arguments = {"X": X, "y": Y, "X_valid": X_VALID, "y_valid": Y_VALID} | changes
    with pytest.raises((TypeError, ValueError), match=words):
        ROW_GAMES[kind](**arguments)


def test_many_numbers_look_like_regression_and_as_text_they_are_classes():
    n = 400
    rows = RNG.normal(size=(n, 2))
    prices = np.arange(n)
    with pytest.raises(ValueError, match="y holds 400 distinct numbers and looks like regression"):
        osv.LogisticGame(rows, prices, rows, prices)
    assert len(osv.LogisticGame(rows, prices.astype(str), rows, prices.astype(str)).classes_) == n


def test_owners_may_be_numbers_of_any_sort():
    assert game(groups=np.arange(24) % 4 + 0.5).n_players == 4


def test_messages_show_plain_numbers():
    spoilt = pd.DataFrame(X, index=np.arange(100, 124))
    spoilt.iloc[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"at row 103, column '1'"):
        game(X=spoilt)


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


def test_estimators_name_what_is_wrong():
    model = osv.PartialOrdinalShapley(n_permutations=2)
    with pytest.raises(TypeError, match="y mixes int, str"):
        model.fit(X, np.array(["a", 1] * 12, dtype=object))
    with pytest.raises(ValueError, match="groups has a missing label"):
        model.fit(X, Y, groups=[np.nan] * 24)
    with pytest.raises(ValueError, match="X is no rectangular array"):
        model.fit([[1.0, 2.0], [3.0]], Y)
    with pytest.raises(ValueError, match="X has 1 dimensions"):
        model.fit(sp.coo_array(np.arange(24.0)), Y)


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
