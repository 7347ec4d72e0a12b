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

from ordinal_shapley_kernels.abi import inlined, part
from ordinal_shapley_kernels.dense import combine_columns, dot
from ordinal_shapley_kernels.lanes import WIDTH, add_product, load, multiply, splat, store, subtract
from ordinal_shapley_kernels.logistic_workspace import EPSILON, LogisticWorkspace
from ordinal_shapley_kernels.workspace import Matrix, Vector


@part
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
                s0 = multiply(y0, load(c0, i))
                s0 = add_product(s0, y1, load(c1, i))
                s0 = add_product(s0, y2, load(c2, i))
                s0 = add_product(s0, y3, load(c3, i))
                s1 = multiply(y4, load(c4, i))
                s1 = add_product(s1, y5, load(c5, i))
                s1 = add_product(s1, y6, load(c6, i))
                s1 = add_product(s1, y7, load(c7, i))
                store(rest, i, subtract(subtract(load(rest, i), s0), s1))
    for i in range(m, n):
        rest[i] = 0.0


@part
def empty_span(game: LogisticWorkspace) -> None:
    """No row, no coordinate."""
    game.dimension = 0
    game.validation.norms[:] = 0.0


@part
def _open_block(game: LogisticWorkspace, first: int) -> None:
    """Bring eight more coordinates into use, 0 in all that has been computed."""
    solver = game.solver
    validation = game.validation
    past = first + WIDTH
    game.dimension = past
    game.prefix.entering[first:past] = 0.0
    models, snapshot, inverse_factors = solver.models, validation.snapshot_models, solver.inverse_factors
    steps, changes = solver.white_steps, solver.white_changes
    features, white_features = validation.features, validation.white_features
    for k in range(game.n_models):
        models[k, first:past] = 0.0
        snapshot[k, first:past] = 0.0
        for t in range(steps.shape[1]):
            steps[k, t, first:past] = 0.0
            changes[k, t, first:past] = 0.0
        for j in range(first, past):
            _set_identity_row(inverse_factors[k], j)
    for v in range(features.shape[0]):
        features[v, first:past] = 0.0
        for k in range(game.n_models):
            white_features[k, v, first:past] = 0.0


@inlined
def _set_identity_row(matrix: Matrix, j: int) -> None:
    """Row j of a lower triangular matrix, up to the end of its block, as in the identity."""
    matrix[j, : j // WIDTH * WIDTH + WIDTH] = 0.0
    matrix[j, j] = 1.0


@part
def extend_span(game: LogisticWorkspace, row: int, m: int) -> None:
    """Write `prefix.entering`, the coordinates of a training row that becomes row m of the prefix.

    In the coordinate that it adds all models are 0 and factorised Hessians the identity.
    """
    solver = game.solver
    prefix = game.prefix
    validation = game.validation
    if m % WIDTH == 0:
        _open_block(game, m)
    n_features = game.dimension
    products = game.training.features[row]
    entering, rows = prefix.entering, prefix.rows
    for i in range(m):
        entering[i] = products[rows[i]]
    for i in range(m, n_features):
        entering[i] = 0.0
    rows[m] = row
    _substitute(prefix.columns, m, entering)
    # Nothing may come out smaller than its rounding error.
    smallest = game.rounding_dimension * EPSILON * products[row]
    pivot = math.sqrt(max(products[row] - dot(entering, entering, n_features), smallest))
    scores, columns, norms = validation.scores[0], validation.columns, validation.norms
    features, wanted = validation.features, validation.products[row]
    combine_columns(entering, n_features, columns, scores.shape[0], 0, scores)
    for v in range(features.shape[0]):
        coordinate = (wanted[v] - scores[v]) / pivot
        columns[m, v] = coordinate
        features[v, m] = coordinate
        norms[v] = math.sqrt(norms[v] * norms[v] + coordinate * coordinate)
    entering[m] = pivot
    stamps, leverages, white_features = validation.stamps, validation.leverages, validation.white_features
    for k in range(game.n_models):
        _set_identity_row(solver.inverse_factors[k], m)
        stamp = solver.factor_stamps[k]
        for v in range(features.shape[0]):
            if stamps[k, v] == stamp:
                coordinate = features[v, m]
                leverage = leverages[k, v]
                white_features[k, v, m] = coordinate
                leverages[k, v] = math.sqrt(leverage * leverage + coordinate * coordinate)


@part
def shrink_span(game: LogisticWorkspace, m: int) -> None:
    """Drop the coordinate of row m, the last of the prefix, and what was computed with it."""
    solver = game.solver
    validation = game.validation
    game.dimension = (m + WIDTH - 1) // WIDTH * WIDTH
    game.has_snapshot = 0
    for k in range(game.n_models):
        solver.models[k, m] = 0.0
        solver.pairs[k, :] = 0
        solver.factor_stamps[k] += 1
        _set_identity_row(solver.inverse_factors[k], m)
    n_features = game.dimension
    features, norms = validation.features, validation.norms
    for v in range(features.shape[0]):
        row = features[v]
        row[m] = 0.0
        norms[v] = math.sqrt(dot(row, row, n_features))
