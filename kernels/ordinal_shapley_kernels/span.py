"""Coordinates in the span of the prefix, for prefixes shorter than the data have columns.

The model of a prefix lies in the span of its rows, so it needs one coordinate per row, however many columns
the data have. With q_0, q_1, ... the Gram-Schmidt vectors of the rows x_0, x_1, ... in this order, x_i has
the coordinates L[i, :i + 1], where L L^T is the Cholesky factorisation of the matrix of inner products, and a
validation row v has V with V L^T = v.x. An entering row adds a row to L, by substitution from its inner
products with the earlier rows, eight at a time if many enter at once. Coordinates of validation rows are
computed on demand.

An inner product K has a rounding error of eps K, and no more than that is lost: a pivot that may be rounding
alone is raised as far as L L^T still equals the products within their error, so the decision values of rows
that nearly coincide stay right. The coordinate of another row there is the remainder of its product with that
row, over the pivot, or 0 if that may be rounding. (For rows that depend on earlier ones these would be random
numbers as large as the pivots, and the inverse of a triangular matrix of random numbers grows exponentially
with its size.)
"""

from __future__ import annotations

import math
from typing import Any

from ordinal_shapley_kernels.abi import entry, inlined, part, symbol
from ordinal_shapley_kernels.dense import (
    FULL,
    add_multiple,
    combine_columns,
    copy_multiple,
    dot,
    row_products,
)
from ordinal_shapley_kernels.lanes import (
    WIDTH,
    add_product,
    divide,
    load,
    load_row,
    multiply,
    splat,
    splat_at,
    store,
    store_row,
    subtract,
    subtract_product,
)
from ordinal_shapley_kernels.logistic_arrays import EPSILON, NO_FACTOR
from ordinal_shapley_kernels.logistic_workspace import LogisticWorkspace, free_intercept
from ordinal_shapley_kernels.products import combine_columns_of_each, inline_products_with_eight
from ordinal_shapley_kernels.raw_rows import read_row
from ordinal_shapley_kernels.workspace import Matrix, Vector

# A pivot whose square is below this multiple of its rounding error may be rounding alone, if nearly dependent
# rows have multiplied the errors.
_DOUBTFUL = 256.0
# Below this multiple it is taken to be rounding, and so is the remainder of a product with its row below the
# other multiple.
_ONLY_ROUNDING = 4.0
_LEFT_OVER = 2.0**16
# With more rows than this that depend on earlier ones, the columns of the data are better features.
_MAX_DEPENDENT = 2
# With a larger share of new rows in a prefix an earlier factor is of no use.
_MAX_NEW = 0.25


@entry
def empty_span(game: LogisticWorkspace) -> None:
    """Reset to no rows and no coordinates, also from the columns of the data."""
    validation = game.validation
    game.dimension = 0
    game.triangular = 1
    game.rounding_dimension = game.span_rounding
    game.known_of_all = 0
    game.n_dependent = 0
    validation.known[:] = 0
    validation.norms[:] = validation.full_norms
    free_intercept(game)


@part
def _open_block(game: LogisticWorkspace, first: int) -> None:
    """Add eight coordinates, which are 0 in everything computed so far."""
    solver, validation, prefix = game.solver, game.validation, game.prefix
    past = first + WIDTH
    game.dimension = past
    prefix.columns[first:past, :past] = 0.0
    models, snapshot, inverse_factors = solver.models, validation.snapshot_models, solver.inverse_factors
    steps, changes = solver.white_steps, solver.white_changes
    coordinates, white_features = validation.coordinates, validation.white_features
    any_factor = False
    for k in range(game.n_models):
        any_factor |= solver.factor_state[k] != NO_FACTOR
        models[k, first:past] = 0.0
        snapshot[k, first:past] = 0.0
        for t in range(steps.shape[1]):
            steps[k, t, first:past] = 0.0
            changes[k, t, first:past] = 0.0
    for v in range(coordinates.shape[0]):
        coordinates[v, first:past] = 0.0
    if any_factor:
        for factor in range(inverse_factors.shape[0]):
            for j in range(first, past):
                _set_identity_row(inverse_factors[factor], j)
            for v in range(coordinates.shape[0]):
                white_features[factor, v, first:past] = 0.0


@inlined
def _set_identity_row(matrix: Matrix, j: int) -> None:
    """Set row j of a lower triangular matrix, up to the end of its block, to that of the identity."""
    matrix[j, : j // WIDTH * WIDTH + WIDTH] = 0.0
    matrix[j, j] = 1.0


@part
def _pivot(game: LogisticWorkspace, m: int, square: float) -> float:
    """Return the pivot of row m, given its square; record whether it may be rounding."""
    prefix, norm = game.prefix, game.prefix.norms[m]
    # No pivot may be smaller than its rounding error.
    smallest = game.span_rounding * EPSILON * norm * norm
    # A square far below 0 comes from much larger errors, and makes coordinates unreliable.
    doubt = 0
    if square <= _DOUBTFUL * smallest:
        game.rounding_dimension = 2.0 * game.span_rounding
        doubt = 1 if square >= -_DOUBTFUL * smallest else 1 + _MAX_DEPENDENT
    game.n_dependent += doubt
    prefix.dependent[m] = doubt
    is_rounding = square <= _ONLY_ROUNDING * smallest
    prefix.noise[m] = _LEFT_OVER * game.span_rounding * EPSILON * norm if is_rounding else 0.0
    return math.sqrt(max(square, smallest))


@part
def _substitute(columns: Matrix, m: int, noise: Vector, norm: float, rest: Vector, out: Vector) -> None:
    """out[:m] = solution y of L y = rest, where L is columns[:m, :m].T; `rest` is written over.

    Eight unknowns at a time, whose part is then subtracted from the rest.
    """
    for j in range(0, m, WIDTH):
        for t in range(j, min(j + WIDTH, m)):
            y = 0.0 if abs(rest[t]) < noise[t] * norm else rest[t] / columns[t, t]
            out[t] = y
            for i in range(t + 1, min(j + WIDTH, m)):
                rest[i] -= y * columns[t, i]
        if j + WIDTH < m:
            c0, c1, c2, c3 = columns[j], columns[j + 1], columns[j + 2], columns[j + 3]
            c4, c5, c6, c7 = columns[j + 4], columns[j + 5], columns[j + 6], columns[j + 7]
            y0, y1, y2, y3 = splat(out[j]), splat(out[j + 1]), splat(out[j + 2]), splat(out[j + 3])
            y4, y5, y6, y7 = splat(out[j + 4]), splat(out[j + 5]), splat(out[j + 6]), splat(out[j + 7])
            for i in range(j + WIDTH, m, WIDTH):
                s0 = multiply(y0, load(c0, i))
                s0 = add_product(s0, y1, load(c1, i))
                s0 = add_product(s0, y2, load(c2, i))
                s0 = add_product(s0, y3, load(c3, i))
                s1 = multiply(y4, load(c4, i))
                s1 = add_product(s1, y5, load(c5, i))
                s1 = add_product(s1, y6, load(c6, i))
                s1 = add_product(s1, y7, load(c7, i))
                store(rest, i, subtract(subtract(load(rest, i), s0), s1))


@symbol
def _extend_by_one(game: LogisticWorkspace, m: int) -> None:
    """Compute the coordinates of row m of the prefix, given those of earlier rows."""
    prefix = game.prefix
    rows, triangle, wanted = prefix.rows, prefix.triangle, prefix.wanted
    row = rows[m]
    own = triangle[m]
    own[: m // WIDTH * WIDTH + WIDTH] = 0.0
    features, products = prefix.features, game.training.products
    if products.shape[0] > 0:
        for t in range(m):
            wanted[t] = products[row, rows[t]]
    else:
        row_products(features, (m + WIDTH - 1) // WIDTH * WIDTH, features[m], game.n_features, FULL, wanted)
    norm = prefix.norms[m]
    _substitute(prefix.columns, m, prefix.noise, norm, wanted, own)
    own[m] = _pivot(game, m, norm * norm - dot(own, own, game.dimension))


@part
def _store_coordinate(game: LogisticWorkspace, t: int, rest: Any, first: int, last: int) -> None:
    """Write coordinate t of rows first to last - 1 into `block`, given the remainders of their products."""
    block, noise, norms = game.prefix.block, game.prefix.noise[t], game.prefix.norms
    pivot = game.prefix.columns[t, t]
    if noise > 0.0:
        store_row(block, t, 0, rest)
        for lane in range(last - first):
            small = abs(block[t, lane]) < noise * norms[first + lane]
            block[t, lane] = 0.0 if small else block[t, lane] / pivot
    else:
        store_row(block, t, 0, divide(rest, splat(pivot)))


@symbol
def _extend_by_block(game: LogisticWorkspace, first: int, last: int) -> None:
    """Do the same for rows first to last - 1 of the prefix, at most eight, one per lane of `block`."""
    training, prefix = game.training, game.prefix
    rows, columns, triangle, block = prefix.rows, prefix.columns, prefix.triangle, prefix.block
    features, products = prefix.features, training.products
    count = last - first
    if products.shape[0] > 0:
        for t in range(last):
            for lane in range(WIDTH):
                block[t, lane] = products[rows[min(first + lane, last - 1)], rows[t]]
    else:
        for t in range(0, last, 2):
            inline_products_with_eight(features, first, t, block)
    whole = first // WIDTH * WIDTH
    for t in range(0, whole, WIDTH):
        s0, s1, s2, s3 = (
            load_row(block, t, 0),
            load_row(block, t + 1, 0),
            load_row(block, t + 2, 0),
            load_row(block, t + 3, 0),
        )
        s4, s5, s6, s7 = (
            load_row(block, t + 4, 0),
            load_row(block, t + 5, 0),
            load_row(block, t + 6, 0),
            load_row(block, t + 7, 0),
        )
        for s in range(t):
            y = load_row(block, s, 0)
            s0 = subtract_product(s0, splat_at(columns, s, t), y)
            s1 = subtract_product(s1, splat_at(columns, s, t + 1), y)
            s2 = subtract_product(s2, splat_at(columns, s, t + 2), y)
            s3 = subtract_product(s3, splat_at(columns, s, t + 3), y)
            s4 = subtract_product(s4, splat_at(columns, s, t + 4), y)
            s5 = subtract_product(s5, splat_at(columns, s, t + 5), y)
            s6 = subtract_product(s6, splat_at(columns, s, t + 6), y)
            s7 = subtract_product(s7, splat_at(columns, s, t + 7), y)
        store_row(block, t, 0, s0)
        store_row(block, t + 1, 0, s1)
        store_row(block, t + 2, 0, s2)
        store_row(block, t + 3, 0, s3)
        store_row(block, t + 4, 0, s4)
        store_row(block, t + 5, 0, s5)
        store_row(block, t + 6, 0, s6)
        store_row(block, t + 7, 0, s7)
        for i in range(t, t + WIDTH):
            rest = load_row(block, i, 0)
            for s in range(t, i):
                rest = subtract_product(rest, splat_at(columns, s, i), load_row(block, s, 0))
            _store_coordinate(game, i, rest, first, last)
    for t in range(whole, first):
        rest = load_row(block, t, 0)
        for s in range(t):
            rest = subtract_product(rest, splat_at(columns, s, t), load_row(block, s, 0))
        _store_coordinate(game, t, rest, first, last)
    for lane in range(count):
        t = first + lane
        rest = load_row(block, t, 0)
        for s in range(t):
            rest = subtract_product(rest, splat_at(block, s, lane), load_row(block, s, 0))
        store_row(block, t, 0, rest)
        columns[t, t] = _pivot(game, t, block[t, lane])
        _store_coordinate(game, t, rest, first, last)
        for other in range(lane):
            block[t, other] = 0.0
        block[t, lane] = columns[t, t]
    for lane in range(count):
        i = first + lane
        own = triangle[i]
        own[: i // WIDTH * WIDTH + WIDTH] = 0.0
        for t in range(i + 1):
            own[t] = block[t, lane]


@part
def _by_products(game: LogisticWorkspace) -> bool:
    """Whether all inner products are tabulated, so that the columns of the data are not needed."""
    return game.training.products.shape[0] > 0 and game.validation.products.shape[0] > 0


@entry
def enter_span(game: LogisticWorkspace) -> None:
    """Compute the coordinates of the waiting rows, or leave the span if the prefix outgrows it."""
    if not _outgrows_span(game):
        _extend_span(game)
    if _outgrows_span(game):
        leave_span(game)


@part
def _extend_span(game: LogisticWorkspace) -> None:
    """Compute coordinates of the waiting rows; in new ones models are 0, factorised Hessians the identity."""
    first, last = game.entered, game.length
    columns, triangle = game.prefix.columns, game.prefix.triangle
    norms, full_norms = game.validation.norms, game.validation.full_norms
    if not _by_products(game):
        for i in range(first, last):
            read_row(game.training.raw, game.prefix.rows[i], game.prefix.features[i])
    if last - first > _MAX_NEW * last:
        states = game.solver.factor_state
        for k in range(game.n_models):
            states[k] = NO_FACTOR
        game.has_snapshot = 0
    while first < last:
        past = min(first + WIDTH, last)
        for i in range(first, past):
            if i % WIDTH == 0:
                _open_block(game, i)
        if past - first == 1:
            _extend_by_one(game, first)
        else:
            _extend_by_block(game, first, past)
        for i in range(first, past):
            for t in range(game.dimension):
                columns[t, i] = triangle[i, t] if t <= i else 0.0
        first = past
    if _costs_to_complete(game) <= _costs_by_columns(game):
        complete_all(game)
    else:
        norms[:] = full_norms
    game.entered = last


@part
def _costs_to_complete(game: LogisticWorkspace) -> float:
    """Multiplications for the missing coordinates of all validation rows."""
    product = 0 if game.validation.products.shape[0] > 0 else game.n_features
    return float(
        (game.length - game.known_of_all) * game.validation.known.shape[0] * (product + game.dimension // 2)
    )


@part
def _costs_by_columns(game: LogisticWorkspace) -> float:
    """Multiplications to score validation rows by the columns of the data beyond those by coordinates."""
    n_valid, m = game.validation.known.shape[0], game.length
    if _by_products(game):
        return math.inf  # there are no columns
    return float(game.n_models * ((n_valid + m) * game.n_features + m * m // 2 - n_valid * game.dimension))


@part
def _add_coordinate(game: LogisticWorkspace, v: int, t: int, coordinate: float) -> None:
    """Store coordinate t of a validation row, also in its white coordinates."""
    validation, stamps = game.validation, game.solver.factor_stamps
    validation.coordinates[v, t] = coordinate
    whitened_with, leverages = validation.stamps, validation.leverages
    for factor in range(stamps.shape[0]):
        if whitened_with[factor, v] == stamps[factor]:
            leverage = leverages[factor, v]
            validation.white_features[factor, v, t] = coordinate
            leverages[factor, v] = math.sqrt(leverage * leverage + coordinate * coordinate)


@entry
def complete(game: LogisticWorkspace, v: int) -> None:
    """Bring a validation row into the span."""
    validation, prefix = game.validation, game.prefix
    features, own, products = validation.features, validation.coordinates[v], validation.products
    rows, triangle = prefix.rows, prefix.triangle
    first, wanted = validation.known[v], prefix.wanted
    if products.shape[0] > 0:
        for t in range(first, game.length):
            wanted[t] = products[rows[t], v]
    else:
        missing = (game.length - first + WIDTH - 1) // WIDTH * WIDTH
        row_products(prefix.features[first:], missing, features[v], game.n_features, FULL, wanted[first:])
    for t in range(first, game.length):
        rest = wanted[t] - dot(triangle[t], own, t // WIDTH * WIDTH + WIDTH)
        _add_coordinate(game, v, t, rest / triangle[t, t])
    validation.known[v] = game.length
    validation.norms[v] = math.sqrt(dot(own, own, game.dimension))


@symbol
def complete_all(game: LogisticWorkspace) -> None:
    """Bring all validation rows into the span."""
    validation, prefix = game.validation, game.prefix
    scores, columns, products = validation.scores[0], validation.coordinate_columns, validation.products
    coordinates, norms, known = validation.coordinates, validation.norms, validation.known
    rows, triangle = prefix.rows, prefix.triangle
    n_valid, width = known.shape[0], scores.shape[0]
    # While rows are entering, norms are exact if no coordinate was missing before.
    exact = game.entered < game.length and game.known_of_all == game.entered
    for t in range(game.known_of_all, game.length):
        n, pivot, own = t // WIDTH * WIDTH + WIDTH, triangle[t, t], columns[t]
        columns[t:n] = 0.0
        combine_columns(triangle[t], n, columns, width, 0, scores)
        if products.shape[0] > 0:
            own[:] = products[rows[t]]
        else:
            combine_columns(prefix.features[t], game.n_features, validation.columns, width, 0, own)
        for v in range(n_valid):
            own[v] = (own[v] - scores[v]) / pivot
            if t >= known[v]:
                _add_coordinate(game, v, t, own[v])
            if exact:
                norms[v] = math.sqrt((norms[v] * norms[v] if t > 0 else 0.0) + own[v] * own[v])
    for v in range(n_valid):
        known[v] = game.length
        if not exact:
            norms[v] = math.sqrt(dot(coordinates[v], coordinates[v], game.dimension))
    game.known_of_all = game.length


@entry
def shrink_span(game: LogisticWorkspace, m: int) -> None:
    """Drop the coordinate of row m, the last of the prefix, and everything computed with it."""
    solver, validation = game.solver, game.validation
    game.dimension = (m + WIDTH - 1) // WIDTH * WIDTH
    game.has_snapshot = 0
    game.known_of_all = min(game.known_of_all, m)
    game.n_dependent -= game.prefix.dependent[m]
    for k in range(game.n_models):
        solver.models[k, m] = 0.0
        solver.pairs[k, :] = 0
    for factor in range(solver.factor_stamps.shape[0]):
        solver.factor_stamps[factor] += 1
        _set_identity_row(solver.inverse_factors[factor], m)
    coordinates, norms, known = validation.coordinates, validation.norms, validation.known
    for v in range(known.shape[0]):
        own = coordinates[v]
        own[m] = 0.0
        known[v] = min(known[v], m)
        if known[v] == m:
            norms[v] = math.sqrt(dot(own, own, game.dimension))
        else:
            norms[v] = validation.full_norms[v]


@part
def _in_columns(game: LogisticWorkspace) -> float:
    """Write the models in the columns of the data to `column_models`.

    Returns a bound on the rounding error of the decision value of a row of norm 1.
    """
    solver, prefix = game.solver, game.prefix
    features, triangle, norms, wanted = prefix.features, prefix.triangle, prefix.norms, prefix.wanted
    models, column_models = solver.models, solver.column_models
    m, n_features = game.length, game.n_features
    largest = 0.0
    for k in range(game.n_models):
        out = column_models[k]
        copy_multiple(wanted, 1.0, models[k], game.dimension)
        copy_multiple(out, 0.0, features[0], n_features)
        pull = 0.0
        for i in range(m):
            t = m - 1 - i
            # The model is sum_t a_t x_t, with L^T a its coordinates.
            share = wanted[t] / triangle[t, t]
            add_multiple(wanted, -share, triangle[t], t // WIDTH * WIDTH + WIDTH)
            add_multiple(out, share, features[t], n_features)
            pull += abs(share) * norms[t]
        largest = max(largest, pull)
    return EPSILON * (m + game.rounding_dimension) * largest


@entry
def score_in_span(game: LogisticWorkspace) -> None:
    """Write decision values of all validation rows into `validation.scores`, the cheaper way."""
    validation, models = game.validation, game.solver.models
    scores, width = validation.scores, validation.scores.shape[1]
    game.snapshot_rounding = 0.0
    if game.known_of_all < game.length and _costs_by_columns(game) < _costs_to_complete(game):
        game.snapshot_rounding = _in_columns(game)
        columns = validation.columns
        combine_columns_of_each(
            game.solver.column_models, game.n_models, columns.shape[0], columns, width, FULL, scores
        )
    else:
        complete_all(game)
        columns = validation.coordinate_columns
        combine_columns_of_each(models, game.n_models, game.dimension, columns, width, FULL, scores)


@part
def _outgrows_span(game: LogisticWorkspace) -> bool:
    """Whether a prefix should switch to the columns of the data, if there are fewer than rows."""
    too_long = game.length > game.span_limit or game.n_dependent > _MAX_DEPENDENT
    return too_long and game.span_limit < game.training.norms.shape[0]


@symbol
def leave_span(game: LogisticWorkspace) -> None:
    """Switch to the columns of the data, with equivalent models; all rows have to enter again."""
    solver, validation = game.solver, game.validation
    n_features, length = game.n_features, game.length
    game.length = game.entered
    if game.length > 0:  # otherwise models are 0
        _in_columns(game)
        for k in range(game.n_models):
            copy_multiple(solver.models[k], 1.0, solver.column_models[k], n_features)
    game.length = length
    game.entered = 0
    for k in range(game.n_models):
        solver.factor_state[k] = NO_FACTOR
        solver.pairs[k, :] = 0
    for factor in range(solver.factor_stamps.shape[0]):
        solver.factor_stamps[factor] += 1
    validation.norms[:] = validation.full_norms
    game.dimension = n_features
    game.triangular = 0
    game.rounding_dimension = game.column_rounding
    game.has_snapshot = 0
    game.snapshot_rounding = 0.0
    free_intercept(game)
