"""Coordinates in the span of the prefix, for data with more columns than rows.

The model of a prefix lies in the span of its rows, so it needs one coordinate a row, however many columns the
data have. With q_0, q_1, ... the orthonormal vectors that Gram and Schmidt would make of the rows x_0, x_1,
... in their order, x_i has the coordinates L[i, :i + 1], where L L^T is the Cholesky factorisation of the
matrix of inner products, and a validation row v has V with V L^T = v.x. A row that enters adds a row to L and
a column to V, by substitution; it needs its inner products only, not the columns of the data.

An inner product K carries a rounding error of eps K, and no more than that is lost: a pivot that rounding
might have made up is raised to where L L^T still equals the products to within their error, so the decision
values of rows that nearly coincide stay right.
"""

from __future__ import annotations

import math

from ordinal_shapley_kernels._jit import kernel
from ordinal_shapley_kernels.dense import Matrix, Vector, combine_columns, dot
from ordinal_shapley_kernels.lanes import WIDTH, load, splat, store
from ordinal_shapley_kernels.logistic_workspace import (
    DIMENSION,
    EPSILON,
    SNAPSHOT,
    LogisticWorkspace,
)


@kernel()
def _substitute(columns: Matrix, m: int, rest: Vector) -> None:
    """Overwrite rest[:m] by the solution y of L y = rest, where L is columns[:m, :m].T; rest[m:] must be 0.

    Eight unknowns at a time, which are then taken off the rest.
    """
    n = (m + WIDTH - 1) // WIDTH * WIDTH
    for j in range(0, m, WIDTH):
        for t in range(j, min(j + WIDTH, m)):
            rest[t] /= columns[t, t]
            for i in range(t + 1, min(j + WIDTH, m)):
                rest[i] -= rest[t] * columns[t, i]
        if j + WIDTH < m:
            c0, c1, c2, c3 = columns[j], columns[j + 1], columns[j + 2], columns[j + 3]
            c4, c5, c6, c7 = columns[j + 4], columns[j + 5], columns[j + 6], columns[j + 7]
            y0, y1, y2, y3 = splat(rest[j]), splat(rest[j + 1]), splat(rest[j + 2]), splat(rest[j + 3])
            y4, y5, y6, y7 = splat(rest[j + 4]), splat(rest[j + 5]), splat(rest[j + 6]), splat(rest[j + 7])
            for i in range(j + WIDTH, n, WIDTH):
                s0 = y0 * load(c0, i) + y1 * load(c1, i) + y2 * load(c2, i) + y3 * load(c3, i)
                s1 = y4 * load(c4, i) + y5 * load(c5, i) + y6 * load(c6, i) + y7 * load(c7, i)
                store(rest, i, load(rest, i) - (s0 + s1))
    for i in range(m, n):
        rest[i] = 0.0


@kernel(internal=True)
def empty_span(game: LogisticWorkspace) -> None:
    """No row, no coordinate."""
    game.solver.extent[DIMENSION] = 0
    game.validation.norms[:] = 0.0


@kernel(internal=True, inline=True)
def _open_block(game: LogisticWorkspace, first: int) -> None:
    """Bring eight more coordinates into use, 0 in all that has been computed."""
    solver = game.solver
    validation = game.validation
    past = first + WIDTH
    solver.extent[DIMENSION] = past
    game.prefix.entering[first:past] = 0.0
    for k in range(solver.models.shape[0]):
        solver.models[k, first:past] = 0.0
        validation.snapshot_models[k, first:past] = 0.0
        for t in range(solver.white_steps.shape[1]):
            solver.white_steps[k, t, first:past] = 0.0
            solver.white_changes[k, t, first:past] = 0.0
        for j in range(first, past):
            _set_identity_row(solver.inverse_factors[k], j)
    for v in range(validation.truth.shape[0]):
        validation.features[v, first:past] = 0.0
        for k in range(solver.models.shape[0]):
            validation.white_features[k, v, first:past] = 0.0


@kernel(internal=True, inline=True)
def _set_identity_row(matrix: Matrix, j: int) -> None:
    """Row j of a lower triangular matrix, up to the end of its block, as in the identity."""
    matrix[j, : j // WIDTH * WIDTH + WIDTH] = 0.0
    matrix[j, j] = 1.0


@kernel(internal=True)
def extend_span(game: LogisticWorkspace, row: int, m: int) -> None:
    """Write `prefix.entering`, the coordinates of a training row that becomes row m of the prefix.

    In the coordinate that it adds all models are 0 and factorised Hessians the identity.
    """
    solver = game.solver
    prefix = game.prefix
    validation = game.validation
    if m % WIDTH == 0:
        _open_block(game, m)
    n_features = solver.extent[DIMENSION]
    products = game.training.features[row]
    entering = prefix.entering
    for i in range(m):
        entering[i] = products[prefix.rows[i]]
    for i in range(m, n_features):
        entering[i] = 0.0
    prefix.rows[m] = row
    _substitute(prefix.columns, m, entering)
    # Nothing may come out smaller than its rounding error.
    least = game.rounding_dimension * EPSILON * products[row]
    pivot = math.sqrt(max(products[row] - dot(entering, entering, n_features), least))
    scores = validation.scores[0]
    combine_columns(entering, n_features, validation.columns, scores.shape[0], False, scores)
    for v in range(validation.truth.shape[0]):
        coordinate = (validation.products[row, v] - scores[v]) / pivot
        validation.columns[m, v] = coordinate
        validation.features[v, m] = coordinate
        validation.norms[v] = math.sqrt(validation.norms[v] * validation.norms[v] + coordinate * coordinate)
    entering[m] = pivot
    for k in range(solver.models.shape[0]):
        _set_identity_row(solver.inverse_factors[k], m)
        for v in range(validation.truth.shape[0]):
            if validation.stamps[k, v] == solver.factor_stamps[k]:
                coordinate = validation.features[v, m]
                lever = validation.levers[k, v]
                validation.white_features[k, v, m] = coordinate
                validation.levers[k, v] = math.sqrt(lever * lever + coordinate * coordinate)


@kernel(internal=True)
def shrink_span(game: LogisticWorkspace, m: int) -> None:
    """Drop the coordinate of row m, the last of the prefix, and what was computed with it."""
    solver = game.solver
    validation = game.validation
    solver.extent[DIMENSION] = (m + WIDTH - 1) // WIDTH * WIDTH
    game.counters[SNAPSHOT] = 0
    for k in range(solver.models.shape[0]):
        solver.models[k, m] = 0.0
        solver.pairs[k, :] = 0
        solver.factor_stamps[k] += 1
        _set_identity_row(solver.inverse_factors[k], m)
    n_features = solver.extent[DIMENSION]
    for v in range(validation.truth.shape[0]):
        row = validation.features[v]
        row[m] = 0.0
        validation.norms[v] = math.sqrt(dot(row, row, n_features))
