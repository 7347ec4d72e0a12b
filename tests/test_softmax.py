"""What softmax kernels claim of the converged models, before they have converged."""

from __future__ import annotations

import math

import numpy as np
import pytest

import ordinal_shapley as osv
from ordinal_shapley_kernels.logistic import fit_softmax
from ordinal_shapley_kernels.logistic_arrays import RADIUS, ROUNDING
from problems import size

OFFSET = {"free": lambda n_classes: math.sqrt(2 * n_classes - 3), "penalized": lambda n_classes: 0.0}


def problems_of(kind, seed):
    """Rows and classes: normal, of very different lengths, separable, with one row of some classes."""
    rng = np.random.default_rng(seed)
    n_classes, n, d = int(rng.integers(3, 7)), int(rng.integers(12, 40)), int(rng.integers(1, 8))
    y = rng.permutation(np.arange(n) % n_classes)
    X = rng.normal(size=(n, d))
    if kind == "long rows":
        X *= 10.0 ** rng.uniform(-2, 2, size=(n, 1))
    elif kind == "separable":
        X += 6.0 * rng.normal(size=(n_classes, d))[y]
    elif kind == "one row":
        y = np.where(np.arange(n) < n_classes, np.arange(n), 0)
    elif kind == "chain":
        # Neighbouring classes meet on alternate sides.
        X[:, 0] = 5.0 * np.where(y // 2 % 2 == 0, 1.0, -1.0)
    return X, y, rng


def fitted(game, order, radius):
    workspace = game._make_workspace()
    workspace.functions.reset(workspace)
    for player in order.tolist():
        workspace.functions.push(workspace, player)
    fit_softmax(workspace, radius)
    return workspace


@pytest.mark.parametrize("intercept", ["free", "penalized"])
@pytest.mark.parametrize("kind", ["normal", "long rows", "separable", "one row", "chain"])
def test_decision_values_change_no_more_than_is_claimed(kind, intercept):
    largest, n_checked = 0.0, 0
    for seed in range(size(25, 2)):
        X, y, rng = problems_of(kind, seed)
        C = 10.0 ** rng.uniform(-4, 4)
        X_valid = np.concatenate([X, rng.normal(size=(20, X.shape[1])) * np.abs(X).max()])
        game = osv.LogisticGame(
            X,
            y,
            X_valid,
            np.resize(y, len(X_valid)),
            C=C,
            position_weight="uniform",
            multi_class="multinomial",
            fit_intercept=intercept,
            scoring="neg_log_loss",
        )
        order = rng.permutation(len(y))
        done = fitted(game, order, 1e-13)
        if done.unconverged:
            continue
        best = game._features.coefficients(done, order)
        for radius in (1e3, 10.0, 0.1, 1e-3):
            rough = fitted(game, order, radius)
            bounds = rough.solver.bounds[0]
            found = game._features.coefficients(rough, order)
            moved = X_valid @ (best - found)[:, :-1].T + (best - found)[:, -1]
            change = np.abs(moved[:, :, None] - moved[:, None, :]).max(axis=(1, 2))
            lengths = rough.validation.norms + rough.solver.offsets[0]
            claimed = 2.0 * lengths * (bounds[RADIUS] + bounds[ROUNDING])
            slack = 4.0 * lengths * done.solver.bounds[0, [RADIUS, ROUNDING]].sum() + 1e-9
            assert (change <= claimed + slack).all()
            if bounds[RADIUS] > 1e-6:
                largest, n_checked = max(largest, (change / claimed).max()), n_checked + 1
    assert n_checked > 0
    # Were it far larger than any change, the claim would be true of anything.
    assert largest > 1e-3


def largest_change(X, shares, x, a, b):
    """Largest change of a difference of decision values for a change of weights of norm 1."""
    n_classes = shares.shape[1]
    curvatures = [np.diag(p) - np.outer(p, p) for p in shares]
    total = np.linalg.pinv(sum(curvatures), rcond=1e-13)
    between = np.zeros(n_classes)
    between[a], between[b] = 1.0, -1.0
    pull = -total @ between
    change = np.outer(between, x)
    for row, curvature in zip(X, curvatures, strict=True):
        change += np.outer(curvature @ pull, row)
    return np.linalg.norm(change)


@pytest.mark.parametrize("n_classes", [3, 4, 7, 10])
def test_the_bound_on_intercepts_is_reached_and_not_passed(n_classes):
    rng = np.random.default_rng(n_classes)
    factor = OFFSET["free"](n_classes)
    for _ in range(size(100, 10)):
        X = rng.normal(size=(15, 3)) * rng.lognormal(0.0, 2.0, size=(15, 1))
        shares = rng.dirichlet(np.full(n_classes, 0.2), size=15) + 1e-9
        shares /= shares.sum(axis=1, keepdims=True)
        x = rng.normal(size=3)
        longest = np.linalg.norm(X, axis=1).max()
        bound = math.sqrt(2.0) * (np.linalg.norm(x) + factor * longest)
        assert largest_change(X, shares, x, 0, 1) <= bound * (1 + 1e-6)
    # A chain of classes of which only neighbours share rows, on alternate sides.
    X = np.array([[(-1.0) ** k] for k in range(n_classes - 1)])
    shares = np.full((n_classes - 1, n_classes), 1e-7)
    for k in range(n_classes - 1):
        shares[k, k : k + 2] = 0.5
    shares /= shares.sum(axis=1, keepdims=True)
    reached = largest_change(X, shares, np.zeros(1), 0, n_classes - 1) / (math.sqrt(2.0) * factor)
    assert 0.999 <= reached <= 1.0 + 1e-6


@pytest.mark.parametrize("intercept", ["free", "penalized"])
def test_intercepts_count_by_the_longest_row_after_every_factor(intercept):
    X, y, rng = problems_of("separable", 1)
    n_classes = y.max() + 1
    game = osv.LogisticGame(X, y, X, y, multi_class="multinomial", fit_intercept=intercept)
    order = rng.permutation(len(y))
    for radius in (10.0, 1e-2, 1e-9):
        workspace = fitted(game, order, radius)
        longest = workspace.prefix.largest[workspace.length - 1]
        expected = OFFSET[intercept](n_classes) * longest
        np.testing.assert_allclose(workspace.solver.offsets, expected, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "n_classes", "n", "d", "power"),
    [
        (68, 3, 49, 70, 4.2),
        (32, 6, 54, 30, 4.6),
        (205, 3, 49, 3, 5.6),
        (7, 5, 40, 20, 5.0),
        (8, 3, 40, 50, 5.5),
    ],
)
def test_hardly_regularised_prefixes_are_decided_as_by_models_that_are_fitted_tightly(
    seed, n_classes, n, d, power
):
    # Fits that go on from one another and from nothing once more, of models that need many steps.
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % n_classes)
    X = rng.normal(size=(n, d))
    X_valid = np.concatenate([X[:20], rng.normal(size=(40, d))])
    y_valid = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, 60 - n_classes)])
    game = osv.LogisticGame(
        X,
        y,
        X_valid,
        y_valid,
        C=10.0**power,
        position_weight="uniform",
        multi_class="multinomial",
        fit_intercept="free",
    )
    order = rng.permutation(n)
    lengths = range(n // 2, n + 1, size(4, 12))
    utilities = game.prefix_utilities(order)
    for m in lengths:
        models = game.coefficients(order[:m], 1e-12)
        values = X_valid @ models[:, :-1].T + models[:, -1]
        two = np.sort(values, axis=1)[:, -2:]
        clear = two[:, 1] - two[:, 0] > 1e-3
        right = values.argmax(axis=1) == y_valid
        off = abs(utilities[m - 1] * 60 - right.sum())
        assert off <= (~clear).sum()
