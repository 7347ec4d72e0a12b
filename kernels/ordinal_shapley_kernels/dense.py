"""Dense linear algebra for small systems, written so that the compiler vectorises every inner loop.

A call into BLAS costs more than the work itself at these sizes, and its threads would get in the way.
Matrices of features are kept feature by feature ("columns", shape (n_features, capacity)), so that loops
run along rows of data, which are many, and not along features, which may be few.

Shapes throughout: `columns` (n_features, capacity) with the first n rows of data in use; vectors over
features (n_features,), over rows (capacity,); factors and Hessians (n_features, n_features). Vectors `a`, `b`
and `out` without columns beside them are as long as `n` or longer.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley_kernels._jit import kernel

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@kernel(reassociate=True)
def dot(a: Vector, b: Vector, n: int) -> float:
    """Sum of a[i] * b[i] over i < n."""
    total = 0.0
    for i in range(n):
        total += a[i] * b[i]
    return total


@kernel(reassociate=True)
def distance(a: Vector, b: Vector, n: int) -> float:
    """Euclidean distance of a[:n] and b[:n]."""
    total = 0.0
    for i in range(n):
        total += (a[i] - b[i]) * (a[i] - b[i])
    return math.sqrt(total)


@kernel(reassociate=True)
def add_multiple(out: Vector, factor: float, a: Vector, n: int) -> None:
    """out[:n] += factor * a[:n], in place."""
    for i in range(n):
        out[i] += factor * a[i]


@kernel(reassociate=True)
def combine_columns(weights: Vector, columns: Matrix, n: int, out: Vector) -> None:
    """out[:n] = weights @ columns[:, :n]; four features a pass over `out`."""
    n_features = weights.shape[0]
    for i in range(n):
        out[i] = 0.0
    j = 0
    while j + 4 <= n_features:
        w0, w1, w2, w3 = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
        c0, c1, c2, c3 = columns[j], columns[j + 1], columns[j + 2], columns[j + 3]
        for i in range(n):
            out[i] += (w0 * c0[i] + w1 * c1[i]) + (w2 * c2[i] + w3 * c3[i])
        j += 4
    while j < n_features:
        add_multiple(out, weights[j], columns[j], n)
        j += 1


@kernel(reassociate=True)
def column_products(columns: Matrix, a: Vector, n: int, out: Vector) -> None:
    """out[j] = columns[j, :n] @ a[:n]; four features a pass over `a`."""
    n_features = columns.shape[0]
    j = 0
    while j + 4 <= n_features:
        c0, c1, c2, c3 = columns[j], columns[j + 1], columns[j + 2], columns[j + 3]
        s0 = s1 = s2 = s3 = 0.0
        for i in range(n):
            s0 += c0[i] * a[i]
            s1 += c1[i] * a[i]
            s2 += c2[i] * a[i]
            s3 += c3[i] * a[i]
        out[j], out[j + 1], out[j + 2], out[j + 3] = s0, s1, s2, s3
        j += 4
    while j < n_features:
        out[j] = dot(columns[j], a, n)
        j += 1


@kernel(reassociate=True)
def regularised_gram(columns: Matrix, curvature: Vector, n: int, scratch: Vector, out: Matrix) -> None:
    """Lower triangle of out = I + sum_i curvature[i] x_i x_i^T; `scratch` holds n numbers."""
    n_features = columns.shape[0]
    for j in range(n_features):
        column = columns[j]
        for i in range(n):
            scratch[i] = column[i] * curvature[i]
        column_products(columns[: j + 1], scratch, n, out[j])
        out[j, j] += 1.0


@kernel(reassociate=True)
def _factorise_cholesky(matrix: Matrix) -> None:
    """Overwrite the lower triangle of a matrix >= I by its Cholesky factor L.

    Every pivot of a matrix >= I is at least 1; one that rounding pushed below is put back there, so the
    factor exists whatever the scale of the data.
    """
    n = matrix.shape[0]
    for i in range(n):
        row = matrix[i]
        j = 0
        while j + 4 <= i:
            r0, r1, r2, r3 = matrix[j], matrix[j + 1], matrix[j + 2], matrix[j + 3]
            s0 = s1 = s2 = s3 = 0.0
            for k in range(j):
                s0 += row[k] * r0[k]
                s1 += row[k] * r1[k]
                s2 += row[k] * r2[k]
                s3 += row[k] * r3[k]
            x0 = (row[j] - s0) / r0[j]
            x1 = (row[j + 1] - s1 - x0 * r1[j]) / r1[j + 1]
            x2 = (row[j + 2] - s2 - x0 * r2[j] - x1 * r2[j + 1]) / r2[j + 2]
            x3 = (row[j + 3] - s3 - x0 * r3[j] - x1 * r3[j + 1] - x2 * r3[j + 2]) / r3[j + 3]
            row[j], row[j + 1], row[j + 2], row[j + 3] = x0, x1, x2, x3
            j += 4
        while j < i:
            row[j] = (row[j] - dot(row, matrix[j], j)) / matrix[j, j]
            j += 1
        row[i] = math.sqrt(max(row[i] - dot(row, row, i), 1.0))


@kernel(reassociate=True)
def _combine_rows(weights: Vector, rows: Matrix, n_rows: int, out: Vector) -> None:
    """out += weights[:n_rows] @ rows[:n_rows] for lower triangular `rows`, in place."""
    i = 0
    while i + 4 <= n_rows:
        w0, w1, w2, w3 = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        r0, r1, r2, r3 = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        for k in range(i + 4):
            out[k] += (w0 * r0[k] + w1 * r1[k]) + (w2 * r2[k] + w3 * r3[k])
        i += 4
    while i < n_rows:
        add_multiple(out, weights[i], rows[i], i + 1)
        i += 1


@kernel(reassociate=True)
def invert_cholesky(matrix: Matrix, out: Matrix) -> None:
    """Write M = L^-1 for matrix = L L^T >= I into `out` (its upper triangle is 0), so matrix^-1 = M^T M.

    `matrix` (lower triangle read) is overwritten by L.
    """
    n = matrix.shape[0]
    _factorise_cholesky(matrix)
    for i in range(n):
        row = out[i]
        row[:] = 0.0
        _combine_rows(matrix[i], out, i, row)
        pivot = 1.0 / matrix[i, i]
        for j in range(i):
            row[j] *= -pivot
        row[i] = pivot


@kernel(reassociate=True)
def apply_inverse(inverse_factor: Matrix, a: Vector, scratch: Vector, out: Vector) -> None:
    """out = M^T (M a) for the lower triangular M of `invert_cholesky`."""
    n = inverse_factor.shape[0]
    i = 0
    while i + 4 <= n:
        r0, r1, r2, r3 = (
            inverse_factor[i],
            inverse_factor[i + 1],
            inverse_factor[i + 2],
            inverse_factor[i + 3],
        )
        s0 = s1 = s2 = s3 = 0.0
        for k in range(i + 4):
            s0 += r0[k] * a[k]
            s1 += r1[k] * a[k]
            s2 += r2[k] * a[k]
            s3 += r3[k] * a[k]
        scratch[i], scratch[i + 1], scratch[i + 2], scratch[i + 3] = s0, s1, s2, s3
        i += 4
    while i < n:
        scratch[i] = dot(inverse_factor[i], a, i + 1)
        i += 1
    for j in range(n):
        out[j] = 0.0
    _combine_rows(scratch, inverse_factor, n, out)
