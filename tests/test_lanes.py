"""Vectors of eight numbers against NumPy, through the kernels that are made of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from ordinal_shapley_kernels import dense, logistic_gradient
from ordinal_shapley_kernels.abi import callable_from_python
from ordinal_shapley_kernels.workspace import cache_aligned

combine_columns = callable_from_python(dense.combine_columns)
row_products = callable_from_python(dense.row_products)
regularised_gram = callable_from_python(dense.regularised_gram)
invert_factor = callable_from_python(dense.invert_factor)
combine_triangle = callable_from_python(dense.combine_triangle)
add_to_factor = callable_from_python(dense.add_to_factor)


def problem(d, n, seed=0):
    """Columns with room for more rows, and a vector over rows and one over features."""
    rng = np.random.default_rng([seed, d, n])
    return rng.normal(size=(d, n + 8)), rng.normal(size=n + 8), rng.normal(size=d)


@pytest.mark.parametrize("n", [8, 24, 32, 40, 96])
@pytest.mark.parametrize("d", [8, 16, 40])
def test_products(d, n):
    columns, a, weights = problem(d, n)
    out = np.full(n + 8, 7.0)
    combine_columns(weights, d, columns, n, False, out)
    np.testing.assert_allclose(out[:n], weights @ columns[:, :n], rtol=1e-13, atol=1e-13)
    assert np.all(out[n:] == 7.0)
    out = np.zeros(d)
    row_products(columns, d, a, n, dense.FULL, out)
    np.testing.assert_allclose(out, columns[:, :n] @ a[:n], rtol=1e-13, atol=1e-13)
    assert dense.dot(a, columns[0], n) == pytest.approx(a[:n] @ columns[0, :n], rel=1e-13)
    assert dense.distance(a, columns[0], n) == pytest.approx(
        np.linalg.norm(a[:n] - columns[0, :n]), rel=1e-13
    )


@pytest.mark.parametrize("d", [8, 16, 40, 104])
def test_inverse_factor(d):
    n = 48
    columns, curvature, a = problem(d, n)
    curvature = np.abs(curvature)
    hessian = np.eye(d) + columns[:, :n] * curvature[:n] @ columns[:, :n].T
    # What lies below the diagonal is not read.
    factor = np.full((d, d), np.nan)
    regularised_gram(columns, d, curvature, n, False, np.zeros((4, n + 8)), factor)
    np.testing.assert_allclose(np.triu(factor), np.triu(hessian), rtol=1e-12, atol=1e-12)
    invert_factor(factor, d)
    expected = np.linalg.inv(np.linalg.cholesky(hessian))
    np.testing.assert_allclose(factor, expected, rtol=0, atol=1e-12)
    out = np.zeros(d)
    row_products(factor, d, a, d, dense.LOWER, out)
    np.testing.assert_allclose(out, expected @ a, rtol=0, atol=1e-11)
    combine_triangle(a, factor, d, out)
    np.testing.assert_allclose(out, a @ expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize(("d", "n"), [(8, 8), (16, 16), (40, 40), (48, 48), (104, 104), (16, 48)])
def test_triangular_columns(d, n):
    # Row i has features 0 to i; what lies right of the last feature in use is not read.
    columns, a, weights = problem(d, n)
    columns = np.triu(columns)
    beyond = np.vstack([columns, np.full((8, n + 8), np.nan)])
    weights = np.append(weights, np.full(8, np.nan))
    out = np.zeros(n + 8)
    combine_columns(weights, d, beyond, n, True, out)
    np.testing.assert_allclose(out[:n], weights[:d] @ columns[:, :n], rtol=1e-13, atol=1e-13)
    out = np.full(d + 8, 7.0)
    row_products(beyond, d, a, n, dense.UPPER, out)
    np.testing.assert_allclose(out[:d], columns[:, :n] @ a[:n], rtol=1e-13, atol=1e-13)
    assert np.all(out[d:] == 7.0)
    curvature = np.abs(a)
    hessian = np.eye(d) + columns[:, :n] * curvature[:n] @ columns[:, :n].T
    factor = np.full((d + 8, d + 8), np.nan)
    regularised_gram(beyond, d, curvature, n, True, np.zeros((4, n + 8)), factor)
    np.testing.assert_allclose(np.triu(factor[:d, :d]), np.triu(hessian), rtol=1e-12, atol=1e-12)
    invert_factor(factor, d)
    expected = np.linalg.inv(np.linalg.cholesky(hessian))
    np.testing.assert_allclose(factor[:d, :d], expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("d", [8, 40])
def test_a_row_into_the_factor(d):
    rng = np.random.default_rng(d)
    rows = rng.normal(size=(5, d))
    hessian = np.eye(d)
    factor = np.eye(d)
    for row, curvature in zip(rows, [0.0, 1e-3, 1.0, 50.0, 1e4], strict=True):
        hessian += curvature * np.outer(row, row)
        add_to_factor(factor, d, factor @ row, curvature, np.zeros(d))
        np.testing.assert_allclose(factor, np.linalg.inv(np.linalg.cholesky(hessian)), rtol=0, atol=1e-10)


def test_slopes_of_the_loss():
    margins = np.concatenate([np.linspace(-40, 40, 801), [0.0, 700.0, -700.0, 1e6, -1e6, 1e300, 0.5]])
    assert len(margins) % 8 == 0
    for sign in (-1.0, 1.0):
        slopes = np.zeros(len(margins))
        logistic_gradient.find_slopes(margins, np.full(len(margins), sign), len(margins), slopes)
        np.testing.assert_allclose(slopes, -sign * expit(-sign * margins), rtol=1e-15, atol=1e-300)


def test_arrays_begin_at_a_cache_line():
    for shape in ((3,), (5, 8), (2, 3, 16)):
        array = cache_aligned(shape)
        assert array.shape == shape
        assert array.ctypes.data % 64 == 0
        assert not array.any()
