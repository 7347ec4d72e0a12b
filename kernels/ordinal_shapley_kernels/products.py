"""Products of a matrix with several vectors at once: what is read of the matrix serves them all.

Shapes and order of sums are those of `dense`.
"""

from __future__ import annotations

from typing import Any

from ordinal_shapley_kernels.abi import inlined, part, symbol
from ordinal_shapley_kernels.dense import (
    LOWER,
    UPPER,
    inline_combine_columns,
    inline_combine_triangle,
    inline_row_products,
)
from ordinal_shapley_kernels.lanes import (
    WIDTH,
    add,
    add_product,
    load_row,
    splat,
    splat_at,
    store_halves,
    store_row,
    totals,
)
from ordinal_shapley_kernels.workspace import Matrix


@inlined
def _store_four(out: Matrix, row: int, i: int, a: Any, b: Any, c: Any, d: Any) -> None:
    """out[row, i : i + 32] = four registers."""
    store_row(out, row, i, a)
    store_row(out, row, i + WIDTH, b)
    store_row(out, row, i + 2 * WIDTH, c)
    store_row(out, row, i + 3 * WIDTH, d)


@symbol
def combine_columns_of_each(
    weights: Matrix, n_weights: int, n_features: int, columns: Matrix, n: int, shape: int, out: Matrix
) -> None:
    """out[k, :n] = weights[k, :n_features] @ columns[:n_features, :n] for k < n_weights.

    Four rows of weights go over the columns together. With `shape` UPPER columns are 0 before the diagonal,
    with LOWER past it.
    """
    if n_weights < 4:
        for k in range(n_weights):
            if shape == LOWER:
                inline_combine_triangle(weights[k], columns, n, out[k])
            else:
                inline_combine_columns(weights[k], n_features, columns, n, shape == UPPER, out[k])
        return
    for group in range(0, n_weights, 4):
        k = min(group, n_weights - 4)
        i = 0
        while i + 4 * WIDTH <= n:
            a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = splat(0.0)
            c0 = c1 = c2 = c3 = d0 = d1 = d2 = d3 = splat(0.0)
            first = i if shape == LOWER else 0
            for j in range(first, min(n_features, i + 4 * WIDTH) if shape == UPPER else n_features):
                x0, x1 = load_row(columns, j, i), load_row(columns, j, i + WIDTH)
                x2, x3 = load_row(columns, j, i + 2 * WIDTH), load_row(columns, j, i + 3 * WIDTH)
                weight = splat_at(weights, k, j)
                a0, a1 = add_product(a0, weight, x0), add_product(a1, weight, x1)
                a2, a3 = add_product(a2, weight, x2), add_product(a3, weight, x3)
                weight = splat_at(weights, k + 1, j)
                b0, b1 = add_product(b0, weight, x0), add_product(b1, weight, x1)
                b2, b3 = add_product(b2, weight, x2), add_product(b3, weight, x3)
                weight = splat_at(weights, k + 2, j)
                c0, c1 = add_product(c0, weight, x0), add_product(c1, weight, x1)
                c2, c3 = add_product(c2, weight, x2), add_product(c3, weight, x3)
                weight = splat_at(weights, k + 3, j)
                d0, d1 = add_product(d0, weight, x0), add_product(d1, weight, x1)
                d2, d3 = add_product(d2, weight, x2), add_product(d3, weight, x3)
            _store_four(out, k, i, a0, a1, a2, a3)
            _store_four(out, k + 1, i, b0, b1, b2, b3)
            _store_four(out, k + 2, i, c0, c1, c2, c3)
            _store_four(out, k + 3, i, d0, d1, d2, d3)
            i += 4 * WIDTH
        while i < n:
            a0 = b0 = c0 = d0 = a1 = b1 = c1 = d1 = splat(0.0)
            first = i if shape == LOWER else 0
            for j in range(first, min(n_features, i + WIDTH) if shape == UPPER else n_features, 2):
                x0, x1 = load_row(columns, j, i), load_row(columns, j + 1, i)
                a0 = add_product(a0, splat_at(weights, k, j), x0)
                b0 = add_product(b0, splat_at(weights, k + 1, j), x0)
                c0 = add_product(c0, splat_at(weights, k + 2, j), x0)
                d0 = add_product(d0, splat_at(weights, k + 3, j), x0)
                a1 = add_product(a1, splat_at(weights, k, j + 1), x1)
                b1 = add_product(b1, splat_at(weights, k + 1, j + 1), x1)
                c1 = add_product(c1, splat_at(weights, k + 2, j + 1), x1)
                d1 = add_product(d1, splat_at(weights, k + 3, j + 1), x1)
            store_row(out, k, i, add(a0, a1))
            store_row(out, k + 1, i, add(b0, b1))
            store_row(out, k + 2, i, add(c0, c1))
            store_row(out, k + 3, i, add(d0, d1))
            i += WIDTH


@symbol
def row_products_of_each(
    rows: Matrix, n_rows: int, vectors: Matrix, n_vectors: int, n: int, shape: int, out: Matrix
) -> None:
    """out[k, j] = rows[j, :n] @ vectors[k, :n] for j < n_rows and k < n_vectors; see `row_products`."""
    if n_vectors < 4:
        for k in range(n_vectors):
            inline_row_products(rows, n_rows, vectors[k], n, shape, out[k])
        return
    for j in range(0, n_rows, 4):
        first = j // WIDTH * WIDTH if shape == UPPER else 0
        past = j // WIDTH * WIDTH + WIDTH if shape == LOWER else n
        for group in range(0, n_vectors, 4):
            k = min(group, n_vectors - 4)
            a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = splat(0.0)
            c0 = c1 = c2 = c3 = d0 = d1 = d2 = d3 = splat(0.0)
            for i in range(first, past, WIDTH):
                x0, x1 = load_row(rows, j, i), load_row(rows, j + 1, i)
                x2, x3 = load_row(rows, j + 2, i), load_row(rows, j + 3, i)
                y = load_row(vectors, k, i)
                a0, a1 = add_product(a0, x0, y), add_product(a1, x1, y)
                a2, a3 = add_product(a2, x2, y), add_product(a3, x3, y)
                y = load_row(vectors, k + 1, i)
                b0, b1 = add_product(b0, x0, y), add_product(b1, x1, y)
                b2, b3 = add_product(b2, x2, y), add_product(b3, x3, y)
                y = load_row(vectors, k + 2, i)
                c0, c1 = add_product(c0, x0, y), add_product(c1, x1, y)
                c2, c3 = add_product(c2, x2, y), add_product(c3, x3, y)
                y = load_row(vectors, k + 3, i)
                d0, d1 = add_product(d0, x0, y), add_product(d1, x1, y)
                d2, d3 = add_product(d2, x2, y), add_product(d3, x3, y)
            store_halves(out[k], out[k + 1], j, totals(a0, a1, a2, a3, b0, b1, b2, b3))
            store_halves(out[k + 2], out[k + 3], j, totals(c0, c1, c2, c3, d0, d1, d2, d3))


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
