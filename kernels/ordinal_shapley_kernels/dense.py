"""Dense linear algebra for small systems, eight numbers at a time.

A call into BLAS costs more than the work itself at these sizes, and its threads would get in the way.
Matrices of features are stored feature by feature ("columns", shape (n_features, capacity)), so that loops
run along rows of data, which are many, and not along features, which may be few.

Functions in the inner loop of a fit have two forms: `inline_...` is compiled into the kernel, which saves
passing arrays where there are few features; the other is a call.

Shapes throughout: `columns` (at least n_features, capacity) with the first n rows of data in use; vectors
over features (n_features,), over rows (capacity,); factors (n_features, n_features). n and n_features are
multiples of `WIDTH`; padding is 0. Sums are taken in the order written here, whatever the compiler.
With `triangular`, column j is 0 for the rows before j, and most of those zeros are not read.
"""

from __future__ import annotations

import math

from ordinal_shapley_kernels.abi import inlined, part, symbol
from ordinal_shapley_kernels.lanes import (
    WIDTH,
    add,
    add_product,
    load,
    load_halves,
    load_row,
    magnitude,
    multiply,
    splat,
    splat_at,
    splat_of,
    store,
    store_halves,
    store_row,
    subtract,
    subtract_product,
    total,
    totals,
)
from ordinal_shapley_kernels.workspace import Matrix, Vector

# Numbers that fit in the L2 cache beside others.
_CACHED = 2**17

# Shapes of a matrix whose zeros `row_products` does not read.
FULL = 0
LOWER = 1
UPPER = 2


@inlined
def dot(a: Vector, b: Vector, n: int) -> float:
    """Sum of a[i] * b[i] over i < n."""
    sums = splat(0.0)
    for i in range(0, n, WIDTH):
        sums = add_product(sums, load(a, i), load(b, i))
    return total(sums)


@inlined
def absolute_dot(a: Vector, b: Vector, n: int) -> float:
    """Sum of |a[i] b[i]| over i < n."""
    sums = splat(0.0)
    for i in range(0, n, WIDTH):
        sums = add(sums, magnitude(multiply(load(a, i), load(b, i))))
    return total(sums)


@inlined
def distance(a: Vector, b: Vector, n: int) -> float:
    """Euclidean distance of a[:n] and b[:n]."""
    sums = splat(0.0)
    for i in range(0, n, WIDTH):
        gap = subtract(load(a, i), load(b, i))
        sums = add_product(sums, gap, gap)
    return math.sqrt(total(sums))


@inlined
def add_multiple(out: Vector, factor: float, a: Vector, n: int) -> None:
    """out[:n] += factor * a[:n], in place."""
    factors = splat(factor)
    for i in range(0, n, WIDTH):
        store(out, i, add_product(load(out, i), factors, load(a, i)))


@inlined
def copy_multiple(out: Vector, factor: float, a: Vector, n: int) -> None:
    """out[:n] = factor * a[:n]."""
    factors = splat(factor)
    for i in range(0, n, WIDTH):
        store(out, i, multiply(factors, load(a, i)))


@part
def inline_combine_columns(
    weights: Vector, n_features: int, columns: Matrix, n: int, triangular: int, out: Vector
) -> None:
    """out[:n] = weights[:n_features] @ columns[:n_features, :n]; four registers of rows at a time."""
    # Eight sums at a time: an addition takes four cycles, and two start per cycle.
    i = 0
    while i + 4 * WIDTH <= n:
        s0 = s1 = s2 = s3 = t0 = t1 = t2 = t3 = splat(0.0)
        for j in range(0, min(n_features, i + 4 * WIDTH) if triangular else n_features, 2):
            weight = splat_of(weights, j)
            s0 = add_product(s0, weight, load_row(columns, j, i))
            s1 = add_product(s1, weight, load_row(columns, j, i + WIDTH))
            s2 = add_product(s2, weight, load_row(columns, j, i + 2 * WIDTH))
            s3 = add_product(s3, weight, load_row(columns, j, i + 3 * WIDTH))
            weight = splat_of(weights, j + 1)
            t0 = add_product(t0, weight, load_row(columns, j + 1, i))
            t1 = add_product(t1, weight, load_row(columns, j + 1, i + WIDTH))
            t2 = add_product(t2, weight, load_row(columns, j + 1, i + 2 * WIDTH))
            t3 = add_product(t3, weight, load_row(columns, j + 1, i + 3 * WIDTH))
        store(out, i, add(s0, t0))
        store(out, i + WIDTH, add(s1, t1))
        store(out, i + 2 * WIDTH, add(s2, t2))
        store(out, i + 3 * WIDTH, add(s3, t3))
        i += 4 * WIDTH
    while i < n:
        s0 = s1 = s2 = s3 = t0 = t1 = t2 = t3 = splat(0.0)
        for j in range(0, min(n_features, i + WIDTH) if triangular else n_features, 8):
            s0 = add_product(s0, splat_of(weights, j), load_row(columns, j, i))
            s1 = add_product(s1, splat_of(weights, j + 1), load_row(columns, j + 1, i))
            s2 = add_product(s2, splat_of(weights, j + 2), load_row(columns, j + 2, i))
            s3 = add_product(s3, splat_of(weights, j + 3), load_row(columns, j + 3, i))
            t0 = add_product(t0, splat_of(weights, j + 4), load_row(columns, j + 4, i))
            t1 = add_product(t1, splat_of(weights, j + 5), load_row(columns, j + 5, i))
            t2 = add_product(t2, splat_of(weights, j + 6), load_row(columns, j + 6, i))
            t3 = add_product(t3, splat_of(weights, j + 7), load_row(columns, j + 7, i))
        store(out, i, add(add(add(s0, s1), add(s2, s3)), add(add(t0, t1), add(t2, t3))))
        i += WIDTH


@symbol
def combine_columns(
    weights: Vector, n_features: int, columns: Matrix, n: int, triangular: int, out: Vector
) -> None:
    """Do the same as a call."""
    inline_combine_columns(weights, n_features, columns, n, triangular, out)


@part
def inline_row_products(rows: Matrix, n_rows: int, a: Vector, n: int, shape: int, out: Vector) -> None:
    """out[j] = rows[j, :n] @ a[:n] for j < n_rows; eight rows a pass over `a`.

    With `shape` LOWER or UPPER the zeros of a triangular matrix are not read, except in the blocks of eight
    on the diagonal.
    """
    for j in range(0, n_rows, WIDTH):
        s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = splat(0.0)
        for i in range(j if shape == UPPER else 0, j + WIDTH if shape == LOWER else n, WIDTH):
            x = load(a, i)
            s0 = add_product(s0, x, load_row(rows, j, i))
            s1 = add_product(s1, x, load_row(rows, j + 1, i))
            s2 = add_product(s2, x, load_row(rows, j + 2, i))
            s3 = add_product(s3, x, load_row(rows, j + 3, i))
            s4 = add_product(s4, x, load_row(rows, j + 4, i))
            s5 = add_product(s5, x, load_row(rows, j + 5, i))
            s6 = add_product(s6, x, load_row(rows, j + 6, i))
            s7 = add_product(s7, x, load_row(rows, j + 7, i))
        store(out, j, totals(s0, s1, s2, s3, s4, s5, s6, s7))


@symbol
def row_products(rows: Matrix, n_rows: int, a: Vector, n: int, shape: int, out: Vector) -> None:
    """Do the same as a call."""
    inline_row_products(rows, n_rows, a, n, shape, out)


@symbol
def regularised_gram(
    columns: Matrix,
    n_features: int,
    curvature: Vector,
    n: int,
    triangular: int,
    every: int,
    scratch: Matrix,
    out: Matrix,
) -> None:
    """Upper triangle of out = I + sum_i curvature[i] x_i x_i^T, in tiles of four by four.

    One block of eight rows in `every` is read, and the curvatures of the others must be 0; with `triangular`
    all are read. Below the diagonal only parts of the tiles are written. `scratch` is (4, capacity). Rows are
    processed in chunks whose features fit in the L2 cache.
    """
    step = every * WIDTH
    chunk = max(_CACHED // n_features // WIDTH, 4) * step
    for start in range(0, n, chunk):
        stop = min(start + chunk, n)
        add_gram(columns, n_features, curvature, start, stop, step, triangular, start, scratch, out)
    if n == 0:
        for j in range(n_features):
            out[j, j:n_features] = 0.0
    for j in range(n_features):
        out[j, j] += 1.0


@symbol
def add_gram(
    columns: Matrix,
    n_features: int,
    curvature: Vector,
    start: int,
    n: int,
    step: int,
    triangular: int,
    is_begun: int,
    scratch: Matrix,
    out: Matrix,
) -> None:
    """Add the Gram matrix of rows start to n - 1 to `out` if it `is_begun`, else write it there."""
    for j in range(0, n_features, 4):
        for i in range(max(j // WIDTH * WIDTH if triangular else 0, start), n, step):
            x = load(curvature, i)
            store_row(scratch, 0, i, multiply(x, load_row(columns, j, i)))
            store_row(scratch, 1, i, multiply(x, load_row(columns, j + 1, i)))
            store_row(scratch, 2, i, multiply(x, load_row(columns, j + 2, i)))
            store_row(scratch, 3, i, multiply(x, load_row(columns, j + 3, i)))
        for k in range(j, n_features, 4):
            t00 = t01 = t02 = t03 = t10 = t11 = t12 = t13 = splat(0.0)
            t20 = t21 = t22 = t23 = t30 = t31 = t32 = t33 = splat(0.0)
            for i in range(max(k // WIDTH * WIDTH if triangular else 0, start), n, step):
                x0, x1 = load_row(scratch, 0, i), load_row(scratch, 1, i)
                x2, x3 = load_row(scratch, 2, i), load_row(scratch, 3, i)
                y = load_row(columns, k, i)
                t00 = add_product(t00, x0, y)
                t10 = add_product(t10, x1, y)
                t20 = add_product(t20, x2, y)
                t30 = add_product(t30, x3, y)
                y = load_row(columns, k + 1, i)
                t01 = add_product(t01, x0, y)
                t11 = add_product(t11, x1, y)
                t21 = add_product(t21, x2, y)
                t31 = add_product(t31, x3, y)
                y = load_row(columns, k + 2, i)
                t02 = add_product(t02, x0, y)
                t12 = add_product(t12, x1, y)
                t22 = add_product(t22, x2, y)
                t32 = add_product(t32, x3, y)
                y = load_row(columns, k + 3, i)
                t03 = add_product(t03, x0, y)
                t13 = add_product(t13, x1, y)
                t23 = add_product(t23, x2, y)
                t33 = add_product(t33, x3, y)
            upper = totals(t00, t01, t02, t03, t10, t11, t12, t13)
            lower = totals(t20, t21, t22, t23, t30, t31, t32, t33)
            if is_begun:
                upper = add(upper, load_halves(out[j], out[j + 1], k))
                lower = add(lower, load_halves(out[j + 2], out[j + 3], k))
            store_halves(out[j], out[j + 1], k, upper)
            store_halves(out[j + 2], out[j + 3], k, lower)


@part
def _pivot_scale(pivot: float, minimum: float) -> float:
    # A pivot that rounding pushed below its minimum is reset to it, so that the factor exists at any scale.
    return 1.0 / math.sqrt(max(pivot, minimum))


@part
def _eliminate_within(matrix: Matrix, n: int, k: int, free: int, min_free: float) -> None:
    """Elimination among the pivot rows k..k+3; see `invert_factor`.

    First in the diagonal block, whose pivots depend on one another; then in all columns at once.
    """
    a01, a02, a03 = matrix[k, k + 1], matrix[k, k + 2], matrix[k, k + 3]
    a11, a12, a13 = matrix[k + 1, k + 1], matrix[k + 1, k + 2], matrix[k + 1, k + 3]
    a22, a23, a33 = matrix[k + 2, k + 2], matrix[k + 2, k + 3], matrix[k + 3, k + 3]
    s0 = _pivot_scale(matrix[k, k], min_free if k == free else 1.0)
    a01, a02, a03 = a01 * s0, a02 * s0, a03 * s0
    s1 = _pivot_scale(a11 - a01 * a01, min_free if k + 1 == free else 1.0)
    a12, a13 = (a12 - a01 * a02) * s1, (a13 - a01 * a03) * s1
    s2 = _pivot_scale((a22 - a02 * a02) - a12 * a12, min_free if k + 2 == free else 1.0)
    a23 = ((a23 - a02 * a03) - a12 * a13) * s2
    a33 = ((a33 - a03 * a03) - a13 * a13) - a23 * a23
    s3 = _pivot_scale(a33, min_free if k + 3 == free else 1.0)
    for i in range(4):
        for j in range(4):
            matrix[k + i, k + j] = 1.0 if i == j else 0.0
    f01, f02, f03 = splat(a01), splat(a02), splat(a03)
    f12, f13, f23 = splat(a12), splat(a13), splat(a23)
    t0, t1, t2, t3 = splat(s0), splat(s1), splat(s2), splat(s3)
    for j in range(0, n, WIDTH):
        r0 = multiply(t0, load_row(matrix, k, j))
        store_row(matrix, k, j, r0)
        r1 = multiply(t1, subtract_product(load_row(matrix, k + 1, j), f01, r0))
        store_row(matrix, k + 1, j, r1)
        r2 = subtract_product(load_row(matrix, k + 2, j), f02, r0)
        r2 = multiply(t2, subtract_product(r2, f12, r1))
        store_row(matrix, k + 2, j, r2)
        r3 = subtract_product(load_row(matrix, k + 3, j), f03, r0)
        r3 = subtract_product(r3, f13, r1)
        store_row(matrix, k + 3, j, multiply(t3, subtract_product(r3, f23, r2)))


@symbol
def invert_factor(matrix: Matrix, n: int, free: int, min_free: float) -> None:
    """Overwrite a matrix H = L L^T, n by n, by M = L^-1, so that H^-1 = M^T M.

    Pivots are at least 1, because H >= I, except that of column `free`, which is at least `min_free`.

    The upper triangle of `matrix` is read; afterwards it is 0. Gaussian elimination of [H | I] turns I into
    M. In row i, columns i.. hold the rest of H and the columns of past pivots hold the row of M, so both fit
    in one matrix; the columns between them are not used. Four pivots and four rows at a time.
    """
    for k in range(0, n, 4):
        _eliminate_within(matrix, n, k, free, min_free)
        past = (k + 4 + WIDTH - 1) // WIDTH * WIDTH
        for i in range(k + 4, n, 4):
            f00, f01, f02, f03 = (
                splat_at(matrix, k, i),
                splat_at(matrix, k + 1, i),
                splat_at(matrix, k + 2, i),
                splat_at(matrix, k + 3, i),
            )
            f10, f11, f12, f13 = (
                splat_at(matrix, k, i + 1),
                splat_at(matrix, k + 1, i + 1),
                splat_at(matrix, k + 2, i + 1),
                splat_at(matrix, k + 3, i + 1),
            )
            f20, f21, f22, f23 = (
                splat_at(matrix, k, i + 2),
                splat_at(matrix, k + 1, i + 2),
                splat_at(matrix, k + 2, i + 2),
                splat_at(matrix, k + 3, i + 2),
            )
            f30, f31, f32, f33 = (
                splat_at(matrix, k, i + 3),
                splat_at(matrix, k + 1, i + 3),
                splat_at(matrix, k + 2, i + 3),
                splat_at(matrix, k + 3, i + 3),
            )
            for row in range(i, i + 4):
                matrix[row, k], matrix[row, k + 1], matrix[row, k + 2], matrix[row, k + 3] = (
                    0.0,
                    0.0,
                    0.0,
                    0.0,
                )
            j = 0
            while j < n:
                if j == past:
                    j = max(i // WIDTH * WIDTH, past)
                x0, x1 = load_row(matrix, k, j), load_row(matrix, k + 1, j)
                x2, x3 = load_row(matrix, k + 2, j), load_row(matrix, k + 3, j)
                y = load_row(matrix, i, j)
                y = subtract_product(y, f00, x0)
                y = subtract_product(y, f01, x1)
                y = subtract_product(y, f02, x2)
                y = subtract_product(y, f03, x3)
                store_row(matrix, i, j, y)
                y = load_row(matrix, i + 1, j)
                y = subtract_product(y, f10, x0)
                y = subtract_product(y, f11, x1)
                y = subtract_product(y, f12, x2)
                y = subtract_product(y, f13, x3)
                store_row(matrix, i + 1, j, y)
                y = load_row(matrix, i + 2, j)
                y = subtract_product(y, f20, x0)
                y = subtract_product(y, f21, x1)
                y = subtract_product(y, f22, x2)
                y = subtract_product(y, f23, x3)
                store_row(matrix, i + 2, j, y)
                y = load_row(matrix, i + 3, j)
                y = subtract_product(y, f30, x0)
                y = subtract_product(y, f31, x1)
                y = subtract_product(y, f32, x2)
                y = subtract_product(y, f33, x3)
                store_row(matrix, i + 3, j, y)
                j += WIDTH
    for i in range(n):
        for j in range(i + 1, n):
            matrix[i, j] = 0.0


@symbol
def add_to_factor(inverse_factor: Matrix, n: int, white: Vector, curvature: float, sums: Vector) -> None:
    """Update M = L^-1 in place to that of L L^T + curvature x x^T, where `white` is M x; `sums` is scratch.

    The Cholesky factor of I + curvature (M x)(M x)^T is applied row by row, with two products per element.
    """
    copy_multiple(sums, 0.0, white, n)
    grown = 1.0
    for i in range(n):
        row = inverse_factor[i]
        before = grown
        grown += curvature * white[i] * white[i]
        scale = splat(math.sqrt(before / grown))
        share = splat(curvature * white[i] / before)
        own = splat(white[i])
        for j in range(0, i + 1, WIDTH):
            old, earlier = load(row, j), load(sums, j)
            store(row, j, multiply(scale, subtract_product(old, share, earlier)))
            store(sums, j, add_product(earlier, own, old))


@part
def inline_combine_triangle(a: Vector, rows: Matrix, n: int, out: Vector) -> None:
    """out[:n] = a[:n] @ rows[:n, :n] for lower triangular `rows`."""
    for k in range(0, n, WIDTH):
        s0 = s1 = s2 = s3 = t0 = t1 = t2 = t3 = splat(0.0)
        for i in range(k, n, 8):
            s0 = add_product(s0, splat_of(a, i), load_row(rows, i, k))
            s1 = add_product(s1, splat_of(a, i + 1), load_row(rows, i + 1, k))
            s2 = add_product(s2, splat_of(a, i + 2), load_row(rows, i + 2, k))
            s3 = add_product(s3, splat_of(a, i + 3), load_row(rows, i + 3, k))
            t0 = add_product(t0, splat_of(a, i + 4), load_row(rows, i + 4, k))
            t1 = add_product(t1, splat_of(a, i + 5), load_row(rows, i + 5, k))
            t2 = add_product(t2, splat_of(a, i + 6), load_row(rows, i + 6, k))
            t3 = add_product(t3, splat_of(a, i + 7), load_row(rows, i + 7, k))
        store(out, k, add(add(add(s0, s1), add(s2, s3)), add(add(t0, t1), add(t2, t3))))


@symbol
def combine_triangle(a: Vector, rows: Matrix, n: int, out: Vector) -> None:
    """Do the same as a call."""
    inline_combine_triangle(a, rows, n, out)
