"""Dense linear algebra for small systems, eight numbers at a time.

A call into BLAS costs more than the work itself at these sizes, and its threads would get in the way.
Matrices of features are kept feature by feature ("columns", shape (n_features, capacity)), so that loops
run along rows of data, which are many, and not along features, which may be few.

Shapes throughout: `columns` (at least n_features, capacity) with the first n rows of data in use; vectors
over features (n_features,), over rows (capacity,); factors (n_features, n_features). n and n_features are
multiples of `WIDTH`; what pads them is 0. Sums are taken in the order written here, whatever the compiler.
With `triangular`, column j is 0 for the rows before j, and most of those zeros are not read.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley_kernels._jit import kernel
from ordinal_shapley_kernels.lanes import WIDTH, load, magnitude, splat, store, total

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

# Shapes of a matrix whose zeros `row_products` does not read.
FULL = 0
LOWER = 1
UPPER = 2


@kernel()
def dot(a: Vector, b: Vector, n: int) -> float:
    """Sum of a[i] * b[i] over i < n."""
    sums = splat(0.0)
    for i in range(0, n, WIDTH):
        sums = sums + load(a, i) * load(b, i)
    return total(sums)


@kernel()
def absolute_dot(a: Vector, b: Vector, n: int) -> float:
    """Sum of |a[i] b[i]| over i < n."""
    sums = splat(0.0)
    for i in range(0, n, WIDTH):
        sums = sums + magnitude(load(a, i) * load(b, i))
    return total(sums)


@kernel()
def distance(a: Vector, b: Vector, n: int) -> float:
    """Euclidean distance of a[:n] and b[:n]."""
    sums = splat(0.0)
    for i in range(0, n, WIDTH):
        gap = load(a, i) - load(b, i)
        sums = sums + gap * gap
    return math.sqrt(total(sums))


@kernel()
def add_multiple(out: Vector, factor: float, a: Vector, n: int) -> None:
    """out[:n] += factor * a[:n], in place."""
    factors = splat(factor)
    for i in range(0, n, WIDTH):
        store(out, i, load(out, i) + factors * load(a, i))


@kernel()
def copy_multiple(out: Vector, factor: float, a: Vector, n: int) -> None:
    """out[:n] = factor * a[:n]."""
    factors = splat(factor)
    for i in range(0, n, WIDTH):
        store(out, i, factors * load(a, i))


@kernel()
def combine_columns(
    weights: Vector, n_features: int, columns: Matrix, n: int, triangular: bool, out: Vector
) -> None:
    """out[:n] = weights[:n_features] @ columns[:n_features, :n]; four registers of rows at a time."""
    i = 0
    while i + 4 * WIDTH <= n:
        s0 = s1 = s2 = s3 = splat(0.0)
        for j in range(min(n_features, i + 4 * WIDTH) if triangular else n_features):
            column = columns[j]
            weight = splat(weights[j])
            s0 = s0 + weight * load(column, i)
            s1 = s1 + weight * load(column, i + WIDTH)
            s2 = s2 + weight * load(column, i + 2 * WIDTH)
            s3 = s3 + weight * load(column, i + 3 * WIDTH)
        store(out, i, s0)
        store(out, i + WIDTH, s1)
        store(out, i + 2 * WIDTH, s2)
        store(out, i + 3 * WIDTH, s3)
        i += 4 * WIDTH
    while i < n:
        s0 = s1 = s2 = s3 = splat(0.0)
        for j in range(0, min(n_features, i + WIDTH) if triangular else n_features, 4):
            s0 = s0 + splat(weights[j]) * load(columns[j], i)
            s1 = s1 + splat(weights[j + 1]) * load(columns[j + 1], i)
            s2 = s2 + splat(weights[j + 2]) * load(columns[j + 2], i)
            s3 = s3 + splat(weights[j + 3]) * load(columns[j + 3], i)
        store(out, i, (s0 + s1) + (s2 + s3))
        i += WIDTH


@kernel()
def row_products(rows: Matrix, n_rows: int, a: Vector, n: int, shape: int, out: Vector) -> None:
    """out[j] = rows[j, :n] @ a[:n] for j < n_rows; eight rows a pass over `a`.

    With `shape` LOWER or UPPER the zeros of a triangular matrix are not read, but for those in the blocks of
    eight on the diagonal.
    """
    for j in range(0, n_rows, WIDTH):
        r0, r1, r2, r3 = rows[j], rows[j + 1], rows[j + 2], rows[j + 3]
        r4, r5, r6, r7 = rows[j + 4], rows[j + 5], rows[j + 6], rows[j + 7]
        s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = splat(0.0)
        for i in range(j if shape == UPPER else 0, j + WIDTH if shape == LOWER else n, WIDTH):
            x = load(a, i)
            s0 = s0 + x * load(r0, i)
            s1 = s1 + x * load(r1, i)
            s2 = s2 + x * load(r2, i)
            s3 = s3 + x * load(r3, i)
            s4 = s4 + x * load(r4, i)
            s5 = s5 + x * load(r5, i)
            s6 = s6 + x * load(r6, i)
            s7 = s7 + x * load(r7, i)
        out[j], out[j + 1], out[j + 2], out[j + 3] = total(s0), total(s1), total(s2), total(s3)
        out[j + 4], out[j + 5], out[j + 6], out[j + 7] = total(s4), total(s5), total(s6), total(s7)


@kernel()
def regularised_gram(
    columns: Matrix,
    n_features: int,
    curvature: Vector,
    n: int,
    triangular: bool,
    scratch: Matrix,
    out: Matrix,
) -> None:
    """Upper triangle of out = I + sum_i curvature[i] x_i x_i^T, in tiles of four by four.

    Below the diagonal only parts of the tiles are written. `scratch` is (4, capacity).
    """
    s0, s1, s2, s3 = scratch[0], scratch[1], scratch[2], scratch[3]
    for j in range(0, n_features, 4):
        c0, c1, c2, c3 = columns[j], columns[j + 1], columns[j + 2], columns[j + 3]
        for i in range(j // WIDTH * WIDTH if triangular else 0, n, WIDTH):
            x = load(curvature, i)
            store(s0, i, x * load(c0, i))
            store(s1, i, x * load(c1, i))
            store(s2, i, x * load(c2, i))
            store(s3, i, x * load(c3, i))
        for k in range(j, n_features, 4):
            c0, c1, c2, c3 = columns[k], columns[k + 1], columns[k + 2], columns[k + 3]
            t00 = t01 = t02 = t03 = t10 = t11 = t12 = t13 = splat(0.0)
            t20 = t21 = t22 = t23 = t30 = t31 = t32 = t33 = splat(0.0)
            for i in range(k // WIDTH * WIDTH if triangular else 0, n, WIDTH):
                x0, x1, x2, x3 = load(s0, i), load(s1, i), load(s2, i), load(s3, i)
                y = load(c0, i)
                t00, t10, t20, t30 = t00 + x0 * y, t10 + x1 * y, t20 + x2 * y, t30 + x3 * y
                y = load(c1, i)
                t01, t11, t21, t31 = t01 + x0 * y, t11 + x1 * y, t21 + x2 * y, t31 + x3 * y
                y = load(c2, i)
                t02, t12, t22, t32 = t02 + x0 * y, t12 + x1 * y, t22 + x2 * y, t32 + x3 * y
                y = load(c3, i)
                t03, t13, t23, t33 = t03 + x0 * y, t13 + x1 * y, t23 + x2 * y, t33 + x3 * y
            row = out[j]
            row[k], row[k + 1], row[k + 2], row[k + 3] = total(t00), total(t01), total(t02), total(t03)
            row = out[j + 1]
            row[k], row[k + 1], row[k + 2], row[k + 3] = total(t10), total(t11), total(t12), total(t13)
            row = out[j + 2]
            row[k], row[k + 1], row[k + 2], row[k + 3] = total(t20), total(t21), total(t22), total(t23)
            row = out[j + 3]
            row[k], row[k + 1], row[k + 2], row[k + 3] = total(t30), total(t31), total(t32), total(t33)
    for j in range(n_features):
        out[j, j] += 1.0


@kernel()
def _eliminate_within(matrix: Matrix, n: int, k: int) -> None:
    """Elimination among the pivot rows k..k+3; see `invert_factor`."""
    for t in range(k, k + 4):
        row = matrix[t]
        # Every pivot of a matrix >= I is at least 1; one that rounding pushed below is put back there, so
        # the factor exists whatever the scale of the data.
        scale = 1.0 / math.sqrt(max(row[t], 1.0))
        copy_multiple(row, scale, row, n)
        row[t] = scale
        for i in range(t + 1, k + 4):
            other = matrix[i]
            other[t] = 0.0
            add_multiple(other, -row[i], row, n)
    for t in range(k, k + 4):
        matrix[t, t + 1 : k + 4] = 0.0


@kernel()
def invert_factor(matrix: Matrix, n: int) -> None:
    """Overwrite a matrix H = L L^T >= I, n by n, by M = L^-1, so that H^-1 = M^T M.

    The upper triangle of `matrix` is read; afterwards it is 0. Gaussian elimination of [H | I] turns I into
    M. Of row i, columns i.. hold what is left of H and the columns of past pivots hold the row of M, so both
    fit in one matrix; what lies between is never used. Four pivots and four rows at a time.
    """
    for k in range(0, n, 4):
        _eliminate_within(matrix, n, k)
        p0, p1, p2, p3 = matrix[k], matrix[k + 1], matrix[k + 2], matrix[k + 3]
        past = (k + 4 + WIDTH - 1) // WIDTH * WIDTH
        for i in range(k + 4, n, 4):
            f00, f01, f02, f03 = splat(p0[i]), splat(p1[i]), splat(p2[i]), splat(p3[i])
            f10, f11, f12, f13 = splat(p0[i + 1]), splat(p1[i + 1]), splat(p2[i + 1]), splat(p3[i + 1])
            f20, f21, f22, f23 = splat(p0[i + 2]), splat(p1[i + 2]), splat(p2[i + 2]), splat(p3[i + 2])
            f30, f31, f32, f33 = splat(p0[i + 3]), splat(p1[i + 3]), splat(p2[i + 3]), splat(p3[i + 3])
            for row in range(i, i + 4):
                matrix[row, k], matrix[row, k + 1], matrix[row, k + 2], matrix[row, k + 3] = (
                    0.0,
                    0.0,
                    0.0,
                    0.0,
                )
            r0, r1, r2, r3 = matrix[i], matrix[i + 1], matrix[i + 2], matrix[i + 3]
            j = 0
            while j < n:
                if j == past:
                    j = max(i // WIDTH * WIDTH, past)
                x0, x1, x2, x3 = load(p0, j), load(p1, j), load(p2, j), load(p3, j)
                store(r0, j, (((load(r0, j) - f00 * x0) - f01 * x1) - f02 * x2) - f03 * x3)
                store(r1, j, (((load(r1, j) - f10 * x0) - f11 * x1) - f12 * x2) - f13 * x3)
                store(r2, j, (((load(r2, j) - f20 * x0) - f21 * x1) - f22 * x2) - f23 * x3)
                store(r3, j, (((load(r3, j) - f30 * x0) - f31 * x1) - f32 * x2) - f33 * x3)
                j += WIDTH
    for i in range(n):
        matrix[i, i + 1 : n] = 0.0


@kernel()
def add_to_factor(inverse_factor: Matrix, n: int, white: Vector, curvature: float, sums: Vector) -> None:
    """Make M = L^-1 that of L L^T + curvature x x^T, in place, where `white` is M x; `sums` is scratch.

    The Cholesky factor of I + curvature (M x)(M x)^T is applied row by row, for two multiplications an entry.
    """
    copy_multiple(sums, 0.0, white, n)
    grown = 1.0
    for i in range(n):
        row = inverse_factor[i]
        before = grown
        grown += curvature * white[i] * white[i]
        scale = splat(math.sqrt(before / grown))
        share = splat(curvature * white[i] / before)
        entry = splat(white[i])
        for j in range(0, i + 1, WIDTH):
            old, earlier = load(row, j), load(sums, j)
            store(row, j, scale * (old - share * earlier))
            store(sums, j, earlier + entry * old)


@kernel()
def combine_triangle(a: Vector, rows: Matrix, n: int, out: Vector) -> None:
    """out[:n] = a[:n] @ rows[:n, :n] for lower triangular `rows`."""
    for k in range(0, n, WIDTH):
        s0 = s1 = s2 = s3 = splat(0.0)
        for i in range(k, n, 4):
            s0 = s0 + splat(a[i]) * load(rows[i], k)
            s1 = s1 + splat(a[i + 1]) * load(rows[i + 1], k)
            s2 = s2 + splat(a[i + 2]) * load(rows[i + 2], k)
            s3 = s3 + splat(a[i + 3]) * load(rows[i + 3], k)
        store(out, k, (s0 + s1) + (s2 + s3))
