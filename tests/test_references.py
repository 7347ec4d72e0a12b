"""Fits that begin at a reference come to the same utilities, and references depend on the game alone."""

from __future__ import annotations

import numpy as np
import pytest

import ordinal_shapley as osv
from ordinal_shapley.games._logistic_references import NO_REFERENCES
from problems import JIT
from runs import sample_with

ROULETTE = {"method": "tmc", "truncation": osv.Roulette(), "random_state": 5}


def problem(n, d, seed=0, n_classes=2, n_valid=40, **options):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_classes, d))
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n + n_valid - n_classes)])
    X = centres[y] + 1.5 * rng.normal(size=(n + n_valid, d))
    y = np.where(rng.random(len(y)) < 0.1, rng.integers(0, n_classes, len(y)), y)
    return osv.LogisticGame(X[:n], y[:n], X[n:], y[n:], **options)


def prepared(game):
    return game._for_jumps(lambda done, total: True)


def jumps(game, orders, sizes):
    """Utilities of prefixes of some orders, each fitted after the one before."""
    workspace = game._make_workspace()
    functions = workspace.functions
    utilities = []
    for order in orders:
        functions.reset(workspace)
        for first, last in zip([0, *sizes], sizes, strict=False):
            for player in order[first:last]:
                functions.push(workspace, int(player))
            functions.evaluate(workspace)
            utilities.append(float(workspace.scores[0]))
    assert workspace.unconverged == 0
    return utilities


SHAPES = [(60, 3, {}), (120, 12, {}), (150, 50, {}), (90, 6, {"position_weight": "uniform", "C": 100.0})]


@pytest.mark.parametrize(("n", "d", "options"), SHAPES if JIT else SHAPES[:1])
@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss", "roc_auc"])
def test_utilities_are_those_of_a_game_without_references(n, d, options, scoring):
    game = problem(n, d, scoring=scoring, **options)
    rng = np.random.default_rng(1)
    orders = [rng.permutation(n) for _ in range(12 if JIT else 3)]
    sizes = [4, 9, 14, n // 3, n // 2, n // 2 + 1, n - 5, n]
    other = prepared(game)
    assert len(other._references.lengths)
    assert not len(game._references.lengths)
    wanted, found = jumps(game, orders, sizes), jumps(other, orders, sizes)
    if scoring == "accuracy":
        assert found == wanted
    else:
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-7)
    if scoring == "neg_log_loss":
        assert found != wanted  # other starts leave other bits: references are used


def test_repeated_and_dependent_rows():
    rng = np.random.default_rng(3)
    X = np.repeat(rng.normal(size=(20, 4)), 3, axis=0)
    X = np.column_stack([X, X[:, 0] + X[:, 1], 100.0 * X[:, 2]])
    y = (X[:, 0] + 0.5 * rng.normal(size=60) > 0).astype(int)
    game = osv.LogisticGame(X, y, X[::4] + 0.01, y[::4])
    orders = [rng.permutation(60) for _ in range(6)]
    sizes = [6, 12, 20, 40, 60]
    other = prepared(game)
    assert len(other._references.lengths)
    assert jumps(other, orders, sizes) == jumps(game, orders, sizes)


def test_players_of_several_rows():
    game = problem(90, 4, groups=np.arange(90) % 17 % 9)
    other = prepared(game)
    assert len(other._references.lengths)
    rng = np.random.default_rng(0)
    orders = [rng.permutation(game.n_players) for _ in range(6)]
    assert jumps(other, orders, [1, 3, 6, 9]) == jumps(game, orders, [1, 3, 6, 9])


@pytest.mark.parametrize("shape", [(60, 3, 3), (40, 30, 2)], ids=["three classes", "few rows"])
def test_none_where_they_gain_nothing(shape):
    n, d, n_classes = shape
    assert prepared(problem(n, d, n_classes=n_classes))._references is NO_REFERENCES


def test_none_without_time():
    told = []

    def tell(done, total):
        told.append((done, total))
        return done < 3

    assert problem(60, 3)._for_jumps(tell)._references is NO_REFERENCES
    assert [done for done, _ in told] == [0, 1, 2, 3]
    assert told[0][1] > 3


def test_none_are_longer_than_prefixes_that_count():
    game = problem(120, 3)
    everywhere = prepared(game)._references.lengths
    assert everywhere.max() > 60
    few = game._for_jumps(lambda done, total: True, 40)._references.lengths
    assert 0 < len(few) < len(everywhere) and few.max() <= 40
    assert game._for_jumps(lambda done, total: True, 2)._references is NO_REFERENCES


@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss"])
def test_the_same_bits_for_any_cut_and_any_workers(tmp_path, scoring):
    file = tmp_path / "run.npz"
    game = problem(60, 3, scoring=scoring)
    whole = sample_with(game, "ordinal", n_permutations=40, **ROULETTE)
    sample_with(game, "ordinal", n_permutations=20, checkpoint=file, **ROULETTE)
    fresh = problem(60, 3, scoring=scoring)
    resumed = sample_with(fresh, "ordinal", n_permutations=40, checkpoint=file, n_jobs=2, **ROULETTE)
    assert resumed.values.tobytes() == whole.values.tobytes()
    assert resumed.stderr.tobytes() == whole.stderr.tobytes()
    # What the game says afterwards is what it said before.
    order = np.random.default_rng(0).permutation(60)
    assert game(order) == problem(60, 3, scoring=scoring)(order)
