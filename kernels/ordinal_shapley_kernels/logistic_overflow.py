"""Rows of prefixes too long to keep all features: every pass reads them again.

`Prefix.columns` has room for a number of rows. Those after them are read from the original data, a block at a
time, and products are computed with the rows of a block as they are. They are read in the order of the data,
because random access would wait for the memory at each row.
"""

from __future__ import annotations

from ordinal_shapley_kernels.abi import entry, inlined, part, symbol
from ordinal_shapley_kernels.dense import FULL, add_gram, add_multiple, copy_multiple
from ordinal_shapley_kernels.lanes import WIDTH
from ordinal_shapley_kernels.logistic_workspace import LogisticWorkspace
from ordinal_shapley_kernels.products import combine_columns_of_each, row_products_of_each
from ordinal_shapley_kernels.raw_rows import read_row
from ordinal_shapley_kernels.workspace import Matrix, Vector


@inlined
def n_kept(game: LogisticWorkspace) -> int:
    """Number of rows of the prefix, padded, whose features are in `columns`."""
    return min((game.length + WIDTH - 1) // WIDTH * WIDTH, game.prefix.columns.shape[1])


@symbol
def _order(game: LogisticWorkspace, first: int) -> None:
    """Write the rows of the prefix from `first` on to `overflow_order`, in the order of the data."""
    prefix = game.prefix
    rows, places = prefix.rows, prefix.overflow_places
    order, overflow_rows = prefix.overflow_order, prefix.overflow_rows
    for i in range(first, game.length):
        places[rows[i]] = i  # never 0, because some rows have room
    n = 0
    for row in range(places.shape[0]):
        if places[row] > 0:
            order[n] = places[row]
            overflow_rows[n] = row
            places[row] = 0
            n += 1
    game.n_overflow = n


@part
def _read_block(game: LogisticWorkspace, start: int) -> int:
    """Read rows of `overflow_order` from `start` on into `overflow`; returns how many."""
    raw, rows, overflow = game.training.raw, game.prefix.overflow_rows, game.prefix.overflow
    n = min(overflow.shape[0], game.n_overflow - start)
    for t in range(n):
        read_row(raw, rows[start + t], overflow[t])
    return n


@symbol
def _evaluate(game: LogisticWorkspace, models: Matrix, n_models: int, out: Matrix) -> None:
    """Write the decision values of the rows of `overflow_order`, each at its place in the prefix."""
    order, overflow, values = game.prefix.overflow_order, game.prefix.overflow, game.prefix.overflow_values
    for start in range(0, game.n_overflow, overflow.shape[0]):
        n = _read_block(game, start)
        padded = (n + WIDTH - 1) // WIDTH * WIDTH
        row_products_of_each(overflow, padded, models, n_models, game.dimension, FULL, values)
        for k in range(n_models):
            for t in range(n):
                out[k, order[start + t]] = values[k, t]


@entry
def order_overflow(game: LogisticWorkspace, first: int) -> None:
    """List the rows of the prefix from `first` on."""
    _order(game, first)


@entry
def enter_overflow(game: LogisticWorkspace, first: int) -> None:
    """List the rows from `first` on, and write their decision values in the place of their slopes."""
    _order(game, first)
    _evaluate(game, game.solver.models, game.n_models, game.prefix.slopes)


@entry
def evaluate_overflow(game: LogisticWorkspace, n_active: int) -> None:
    """Write the decision values of the trials on rows without columns into `margins`."""
    _evaluate(game, game.solver.trials, n_active, game.prefix.margins)


@entry
def differentiate_overflow(game: LogisticWorkspace, n_active: int) -> None:
    """Add the residuals of rows without columns to the gradients of the trials."""
    prefix, gradients, sums = game.prefix, game.solver.trial_gradients, game.solver.column_models
    order, overflow, values = prefix.overflow_order, prefix.overflow, prefix.overflow_values
    residuals = prefix.residuals
    for start in range(0, game.n_overflow, overflow.shape[0]):
        n = _read_block(game, start)
        padded = (n + WIDTH - 1) // WIDTH * WIDTH
        for place in range(n_active):
            for t in range(padded):
                values[place, t] = residuals[place, order[start + t]] if t < n else 0.0
        combine_columns_of_each(values, n_active, padded, overflow, game.dimension, FULL, sums)
        for place in range(n_active):
            add_multiple(gradients[place], 1.0, sums[place], game.dimension)


@entry
def add_overflow_gram(game: LogisticWorkspace, factor: int, model: int) -> None:
    """Add rows without columns, with the curvatures of a model, to a Hessian."""
    curvatures, out = game.solver.factor_curvatures[model], game.solver.inverse_factors[factor]
    prefix, n_features = game.prefix, game.dimension
    raw, entering = game.training.raw, prefix.entering
    rows, order = prefix.overflow_rows, prefix.overflow_order
    columns, weights = prefix.overflow_columns, prefix.overflow_weights
    n = 0
    for t in range(game.n_overflow):
        place = order[t]
        if curvatures[place] > 0.0:
            read_row(raw, rows[t], entering)
            for j in range(n_features):
                columns[j, n] = entering[j]
            weights[n] = curvatures[place]
            n += 1
        if n == weights.shape[0] or t == game.n_overflow - 1:
            while n % WIDTH > 0:
                weights[n] = 0.0
                n += 1
            add_gram(columns, n_features, weights, 0, n, WIDTH, 0, 1, prefix.scaled, out)
            n = 0


@symbol
def read_features(game: LogisticWorkspace, i: int, out: Vector) -> None:
    """Write the features in use of row i of the prefix."""
    columns, entering = game.prefix.columns, game.prefix.entering
    if i < columns.shape[1]:
        for j in range(game.dimension):
            out[j] = columns[j, i]
    else:
        read_row(game.training.raw, game.prefix.rows[i], entering)
        copy_multiple(out, 1.0, entering, game.dimension)
