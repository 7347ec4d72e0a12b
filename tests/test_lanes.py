"""Vectors of eight numbers against NumPy, through the kernels that are made of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from ordinal_shapley_kernels import dense, logistic_gradient, products
from ordinal_shapley_kernels.abi import callable_from_python, inlined
from ordinal_shapley_kernels.lanes import load_halves, store
from ordinal_shapley_kernels.workspace import cache_aligned
from problems import JIT, size

combine_columns = callable_from_python(dense.combine_columns)
combine_columns_of_each = callable_from_python(products.combine_columns_of_each)
row_products = callable_from_python(dense.row_products)
row_products_of_each = callable_from_python(products.row_products_of_each)
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


@inlined
def join_halves(low, high, i, out):
    store(out, 0, load_halves(low, high, i))


@pytest.mark.parametrize("i", [0, 4, 8, 12])
def test_halves_of_two_arrays(i):
    low, high = problem(2, 8)[0]
    out = np.zeros(8)
    join_halves(low, high, i, out)
    np.testing.assert_array_equal(out, [*low[i : i + 4], *high[i : i + 4]])


def without_zeros(matrix, shape):
    """The triangle that a shape stands for, and the same with NaN in the zeros that must not be read.

    Those in the blocks of 32 by 32 on the diagonal may be.
    """
    if shape == dense.FULL:
        return matrix, matrix
    triangle = np.triu(matrix) if shape == dense.UPPER else np.tril(matrix)
    row, column = np.indices(matrix.shape) // 32
    unread = row > column if shape == dense.UPPER else row < column
    return triangle, np.where(unread, np.nan, triangle)


# Upper triangles are prefixes, of as many rows as features or more; lower ones are factors, which are square.
SHAPES = [
    *[(dense.FULL, d, n) for d in (8, 24, 40) for n in (8, 32, 40, 64, 72)],
    *[(dense.UPPER, d, n) for d, n in ((8, 8), (24, 24), (32, 32), (40, 40), (72, 72), (16, 48), (40, 104))],
    *[(dense.LOWER, d, d) for d in (8, 24, 32, 40, 64, 72, 104)],
]


@pytest.mark.parametrize(("shape", "d", "n"), SHAPES)
@pytest.mark.parametrize("n_vectors", range(1, 11))
def test_several_vectors_at_once(n_vectors, shape, d, n):
    rng = np.random.default_rng([n_vectors, d, n])
    # With room on all sides, where nothing is read or written.
    columns = np.full((d + 8, n + 8), np.nan)
    triangle, columns[:d, :n] = without_zeros(rng.normal(size=(d, n)), shape)
    weights = np.full((n_vectors + 1, d + 8), np.nan)
    weights[:n_vectors, :d] = rng.normal(size=(n_vectors, d))
    out = np.full((n_vectors + 1, n + 8), 7.0)
    combine_columns_of_each(weights, n_vectors, d, columns, n, shape, out)
    np.testing.assert_allclose(out[:n_vectors, :n], weights[:-1, :d] @ triangle, rtol=1e-12, atol=1e-12)
    assert np.all(out[n_vectors] == 7.0)
    assert np.all(out[:, n:] == 7.0)
    vectors = np.full((n_vectors + 1, n + 8), np.nan)
    vectors[:n_vectors, :n] = rng.normal(size=(n_vectors, n))
    out = np.full((n_vectors + 1, d + 8), 7.0)
    row_products_of_each(columns, d, vectors, n_vectors, n, shape, out)
    np.testing.assert_allclose(out[:n_vectors, :d], vectors[:-1, :n] @ triangle.T, rtol=1e-12, atol=1e-12)
    assert np.all(out[n_vectors] == 7.0)
    assert np.all(out[:, d:] == 7.0)


@pytest.mark.parametrize(("first", "last"), [(0, 2), (0, 8), (3, 4), (8, 16), (13, 18), (16, 23)])
@pytest.mark.parametrize("n_features", [8, 40])
def test_products_of_eight_rows_with_two(n_features, first, last):
    rows = np.random.default_rng([n_features, first, last]).normal(size=(30, n_features))
    out = np.full((last + 2, 8), 7.0)
    for t in range(0, last, 2):
        products.inline_products_with_eight(rows, first, t, out)
        assert np.all(out[t + 2 :] == 7.0)
    np.testing.assert_allclose(out[:last], rows[:last] @ rows[first : first + 8].T, rtol=0, atol=1e-12)


@pytest.mark.parametrize("every", [1, 2, 3, 4])
@pytest.mark.parametrize(("d", "n"), [(8, 8), (8, 72), (24, 96), (40, 200)])
def test_one_block_of_rows_in_so_many(d, n, every):
    columns, curvature, _ = problem(d, n)
    curvature = np.where(np.arange(n + 8) // 8 % every == 0, np.abs(curvature), 0.0)
    curvature[n:] = np.nan
    # Rows that are not taken are not read.
    read = np.where(np.arange(n + 8) // 8 % every == 0, columns, np.nan)
    gram = np.full((d, d), np.nan)
    regularised_gram(read, d, curvature, n, False, every, np.full((4, n + 8), np.nan), gram)
    expected = np.eye(d) + columns[:, :n] * curvature[:n] @ columns[:, :n].T
    np.testing.assert_allclose(np.triu(gram), np.triu(expected), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("triangular", "every"), [(False, 1), (False, 3), (True, 1)])
@pytest.mark.parametrize(("chunks", "more"), [(1, 8), (2, 0), (2, 40)])
def test_more_rows_than_a_chunk(monkeypatch, chunks, more, triangular, every):
    d = size(104, 16)
    if not JIT:  # compiled kernels have the number in them
        monkeypatch.setattr(dense, "_CACHED", 1)
    n = chunks * max(dense._CACHED // d // 8, 4) * 8 * every + more
    columns, curvature, _ = problem(d, n)
    if triangular:
        columns = np.triu(columns)
    curvature = np.where(np.arange(n + 8) // 8 % every == 0, np.abs(curvature), 0.0)
    gram = np.full((d, d), np.nan)
    regularised_gram(columns, d, curvature, n, triangular, every, np.zeros((4, n + 8)), gram)
    expected = np.eye(d) + columns[:, :n] * curvature[:n] @ columns[:, :n].T
    np.testing.assert_allclose(np.triu(gram), np.triu(expected), rtol=1e-11, atol=1e-11)


def test_the_matrix_of_no_rows_is_the_identity():
    gram = np.full((16, 16), np.nan)
    regularised_gram(np.zeros((16, 8)), 16, np.zeros(8), 0, False, 1, np.zeros((4, 8)), gram)
    np.testing.assert_array_equal(np.triu(gram), np.eye(16))


@pytest.mark.parametrize("d", [8, 16, 40, 104])
def test_inverse_factor(d):
    n = 48
    columns, curvature, a = problem(d, n)
    curvature = np.abs(curvature)
    hessian = np.eye(d) + columns[:, :n] * curvature[:n] @ columns[:, :n].T
    # What lies below the diagonal is not read.
    factor = np.full((d, d), np.nan)
    regularised_gram(columns, d, curvature, n, False, 1, np.zeros((4, n + 8)), factor)
    np.testing.assert_allclose(np.triu(factor), np.triu(hessian), rtol=1e-12, atol=1e-12)
    invert_factor(factor, d, -1, 1.0)
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
    regularised_gram(beyond, d, curvature, n, True, 1, np.zeros((4, n + 8)), factor)
    np.testing.assert_allclose(np.triu(factor[:d, :d]), np.triu(hessian), rtol=1e-12, atol=1e-12)
    invert_factor(factor, d, -1, 1.0)
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
