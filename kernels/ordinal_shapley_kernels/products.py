"""Products of a matrix with several vectors at once, so that the matrix is read once for all.

Shapes and order of sums are those of `dense`.
"""

from __future__ import annotations

from ordinal_shapley_kernels.abi import inlined, part, symbol
from ordinal_shapley_kernels.dense import (
    LOWER,
    UPPER,
    inline_combine_columns,
    inline_combine_triangle,
    inline_row_products,
)
from ordinal_shapley_kernels.lanes import WIDTH, add_product, load_row, splat, store_row, totals
from ordinal_shapley_kernels.tiles import MAX_VECTORS, MIN_VECTORS, combine_tile, product_tile, span_of
from ordinal_shapley_kernels.workspace import Matrix

# Numbers per chunk of a matrix, to stay in the L2 cache for all vectors, and per chunk of a vector, so that
# several stay in the L1 cache.
_CACHED = 2**16
_MIN_COLUMNS = 16
_CHUNK = 512


@inlined
def _group_size(n_vectors: int) -> int:
    """Number of vectors per pass over a matrix, such that groups are about equal."""
    n_groups = (n_vectors + MAX_VECTORS - 1) // MAX_VECTORS
    return (n_vectors + n_groups - 1) // n_groups


@symbol
def combine_columns_of_each(
    weights: Matrix, n_weights: int, n_features: int, columns: Matrix, n: int, shape: int, out: Matrix
) -> None:
    """out[k, :n] = weights[k, :n_features] @ columns[:n_features, :n] for k < n_weights.

    Several rows of weights share a pass over the columns. With `shape` UPPER columns are 0 before the
    diagonal, with LOWER past it.
    """
    if n_weights < MIN_VECTORS:
        for k in range(n_weights):
            if shape == LOWER:
                inline_combine_triangle(weights[k], columns, n, out[k])
            else:
                inline_combine_columns(weights[k], n_features, columns, n, shape == UPPER, out[k])
        return
    size = _group_size(n_weights)
    widest = span_of(size)
    chunk = max(_CACHED // max(n, 1), _MIN_COLUMNS)
    for start in range(0, n_features, chunk):
        stop = min(start + chunk, n_features)
        for group in range(0, n_weights, size):
            k = min(group, n_weights - size)
            i = 0
            while i < n:
                span = widest if i + widest * WIDTH <= n else 1
                first = max(start, i) if shape == LOWER else start
                past = min(stop, i + span * WIDTH) if shape == UPPER else stop
                combine_tile(weights, k, size, columns, first, past, i, span, start > 0, out)
                i += span * WIDTH


@symbol
def row_products_of_each(
    rows: Matrix, n_rows: int, vectors: Matrix, n_vectors: int, n: int, shape: int, out: Matrix
) -> None:
    """out[k, j] = rows[j, :n] @ vectors[k, :n] for j < n_rows and k < n_vectors; see `row_products`."""
    if n_vectors < MIN_VECTORS:
        for k in range(n_vectors):
            inline_row_products(rows, n_rows, vectors[k], n, shape, out[k])
        return
    size = _group_size(n_vectors)
    span = span_of(size)
    for start in range(0, n, _CHUNK):
        stop = min(start + _CHUNK, n)
        for j in range(0, n_rows, span):
            first = max(start, j // WIDTH * WIDTH) if shape == UPPER else start
            past = min(stop, j // WIDTH * WIDTH + WIDTH) if shape == LOWER else stop
            for group in range(0, n_vectors, size):
                k = min(group, n_vectors - size)
                product_tile(vectors, k, size, rows, j, span, first, past, start > 0, out)


@part
def inline_products_with_eight(rows: Matrix, first: int, t: int, out: Matrix) -> None:
    """out[t, i] = rows[t] . rows[first + i] for i < 8, and likewise out[t + 1]."""
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = splat(0.0)
    t0 = t1 = t2 = t3 = t4 = t5 = t6 = t7 = splat(0.0)
    for j in range(0, rows.shape[1], WIDTH):
        x, y = load_row(rows, t, j), load_row(rows, t + 1, j)
        z = load_row(rows, first, j)
        s0 = add_product(s0, x, z)
        t0 = add_product(t0, y, z)
        z = load_row(rows, first + 1, j)
        s1 = add_product(s1, x, z)
        t1 = add_product(t1, y, z)
        z = load_row(rows, first + 2, j)
        s2 = add_product(s2, x, z)
        t2 = add_product(t2, y, z)
        z = load_row(rows, first + 3, j)
        s3 = add_product(s3, x, z)
        t3 = add_product(t3, y, z)
        z = load_row(rows, first + 4, j)
        s4 = add_product(s4, x, z)
        t4 = add_product(t4, y, z)
        z = load_row(rows, first + 5, j)
        s5 = add_product(s5, x, z)
        t5 = add_product(t5, y, z)
        z = load_row(rows, first + 6, j)
        s6 = add_product(s6, x, z)
        t6 = add_product(t6, y, z)
        z = load_row(rows, first + 7, j)
        s7 = add_product(s7, x, z)
        t7 = add_product(t7, y, z)
    store_row(out, t, 0, totals(s0, s1, s2, s3, s4, s5, s6, s7))
    store_row(out, t + 1, 0, totals(t0, t1, t2, t3, t4, t5, t6, t7))
