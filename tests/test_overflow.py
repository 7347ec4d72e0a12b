"""Prefixes with more rows than there is room for their features: the same models, and little memory."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import ordinal_shapley as osv
from ordinal_shapley_kernels import logistic_workspace
from problems import size


def problem(n=150, d=6, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X, X_valid = rng.normal(size=(n, d)), rng.normal(size=(60, d))
    axes = rng.normal(size=(d, classes))
    y = (X @ axes + rng.normal(size=(n, classes))).argmax(axis=1)
    y[:classes] = range(classes)
    return X, y, X_valid, (X_valid @ axes).argmax(axis=1)


def repeated(X):
    return np.concatenate([X[: len(X) // 2]] * 2)


def collinear(X):
    return np.hstack([X, X[:, :2] + X[:, 2:4]])


KINDS = {
    "float64": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "int64": lambda X: np.rint(3 * X).astype(np.int64),
    "int32": lambda X: np.rint(3 * X).astype(np.int32),
    "sparse": lambda X: scipy.sparse.csr_matrix(np.where(np.abs(X) < 0.7, 0.0, X)),
    "repeated rows": repeated,
    "collinear columns": collinear,
}


@pytest.fixture
def few_kept(monkeypatch):
    """Leave room for some dozens of rows."""

    def keep(numbers):
        monkeypatch.setattr(logistic_workspace, "_MAX_KEPT", numbers)

    return keep


def found(X, y, X_valid, y_valid, **options):
    """Utilities of prefixes of all lengths of one order, and of some of others; and what popping leaves."""
    game = osv.LogisticGame(X, y, X_valid, y_valid, **options)
    rng = np.random.default_rng(1)
    n = len(y)
    walked = game.prefix_utilities(rng.permutation(n))
    jumped = [game(rng.permutation(n)[:m]) for m in (n // 4, n // 3, n // 2, n - 1, n)]
    return np.array([*walked, *jumped])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("classes", [2, 5])
def test_decisions_are_the_same(kind, classes, few_kept):
    X, y, X_valid, y_valid = problem(n=size(150, 60), classes=classes)
    data = KINDS[kind](X), y, KINDS[kind](X_valid) if kind != "repeated rows" else X_valid, y_valid
    expected = found(*data)
    few_kept(8 * 24)
    assert np.array_equal(found(*data), expected)


def test_where_the_span_of_rows_is_left(few_kept):
    X, y, X_valid, y_valid = problem(n=size(200, 90), d=60)
    expected = found(X, y, X_valid, y_valid)
    few_kept(0)  # as many rows as the span takes
    assert np.array_equal(found(X, y, X_valid, y_valid), expected)


@pytest.mark.parametrize("C", [1.0, 1e4])
def test_losses_are_the_same(C, few_kept):
    data = problem(n=size(150, 60))
    expected = found(*data, scoring="neg_log_loss", C=C)
    few_kept(8 * 24)
    np.testing.assert_allclose(found(*data, scoring="neg_log_loss", C=C), expected, rtol=1e-8)


def test_features_of_very_different_scales(few_kept):
    X, y, X_valid, y_valid = problem(n=size(150, 60))
    scales = 10.0 ** np.arange(-4, 8, 2)
    expected = found(X * scales, y, X_valid * scales, y_valid)
    few_kept(8 * 24)
    assert np.array_equal(found(X * scales, y, X_valid * scales, y_valid), expected)


def test_rows_that_are_taken_back(few_kept):
    X, y, X_valid, y_valid = problem(n=40)
    groups = np.repeat(np.arange(5), 8)
    few_kept(8)
    kept = osv.LogisticGame(X, y, X_valid, y_valid, groups=groups)._make_workspace().prefix.columns.shape[1]
    assert kept < 40
    few = osv.exact_values(osv.LogisticGame(X, y, X_valid, y_valid, groups=groups), "ordinal")
    few_kept(2**22)
    all_kept = osv.exact_values(osv.LogisticGame(X, y, X_valid, y_valid, groups=groups), "ordinal")
    np.testing.assert_allclose(few.values, all_kept.values, rtol=1e-12, atol=1e-14)


def test_bits_do_not_depend_on_what_went_before(few_kept):
    few_kept(8 * 24)
    game = osv.LogisticGame(*problem(n=size(150, 60)), scoring="neg_log_loss")
    order = np.random.default_rng(2).permutation(game.n_players)
    alone = game(order)
    game(order[::-1])
    game(order[:10])
    assert game(order) == alone


def test_memory_hardly_grows_with_the_columns_of_the_rows(few_kept):
    few_kept(2**14)
    n, columns = 20_000, 64

    def bytes_of(n, d):
        X, y = np.ones((n, d), np.float32), np.arange(n) % 2
        return osv.LogisticGame(X, y, X[:5], y[:5])._make_workspace()._block.nbytes

    assert bytes_of(n, columns) - bytes_of(n // 2, columns) < n // 2 * 8 * columns // 4
