"""The ridge game's nopython side: weighted least squares with a penalty, solved anew for every sequence.

Every weight changes with the length of the sequence, so nothing that was solved before is of use. With
weighted means, rows z_i = sqrt(W_i / alpha) (x_i - mean) and t_i = sqrt(W_i / alpha) (y_i - mean),
coefficients are

    (I + Z^T Z)^-1 Z^T t = Z^T (I + Z Z^T)^-1 t,

of which the smaller system is solved. Both are at least I, which the Cholesky factor of `dense` relies on.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley_kernels.abi import entry, inlined
from ordinal_shapley_kernels.dense import (
    FULL,
    LOWER,
    combine_columns,
    combine_triangle,
    dot,
    invert_factor,
    regularised_gram,
    row_products,
)
from ordinal_shapley_kernels.games import OK, Game, GameFunctions
from ordinal_shapley_kernels.lanes import WIDTH, padded
from ordinal_shapley_kernels.position_weights import fill_position_weights
from ordinal_shapley_kernels.rows import Rows, make_rows, pop_rows, push_rows, reset_rows
from ordinal_shapley_kernels.workspace import Matrix, Vector


class RidgeWorkspace(Game):
    """Nopython side of a RidgeGame; sizes are padded to a multiple of `WIDTH` with 0.

    Attributes
    ----------
    rows : Rows
        Rows of the sequence at hand.
    features : float64 (n_rows, n_features), read-only
        Like all data shared by all workers.
    targets : float64 (n_rows,), read-only
    row_weights : float64 (n_rows,), read-only
        Sample weights divided by alpha.
    weight_kind : int
    weight_table : float64, read-only
        As in the position weight kernel.
    valid_columns : float64 (n_features, n_valid), read-only
        Validation rows, feature by feature.
    truth : float64 (n_valid,), not padded, read-only
        Their targets.
    offset, scale : float
        The utility is `offset` less `scale` times the sum of squared errors.
    empty_value : float
        Utility of a sequence without rows that weigh anything.
    weights : float64 (n_rows,)
        Scratch: weights of the sequence.
    means : float64 (n_features,)
        Scratch: weighted means.
    matrix : float64 (n_features, larger of n_rows and n_features)
        Scratch: Z or its transpose.
    products : float64 (4, larger of n_rows and n_features)
        Scratch.
    ones : float64 (larger of n_rows and n_features,), read-only
    system : float64 (n_features, n_features)
        Scratch: the smaller system, then its inverse factor.
    right, half : float64 (larger of n_rows and n_features,)
        Scratch.
    model : float64 (n_features,)
        Coefficients of the sequence that was evaluated last.
    intercept : float
    predictions : float64 (n_valid,)
    """

    rows: Rows
    features: Matrix
    targets: Vector
    row_weights: Vector
    weight_kind: int
    weight_table: Vector
    valid_columns: Matrix
    truth: Vector
    offset: float
    scale: float
    empty_value: float
    weights: Vector
    means: Vector
    matrix: Matrix
    products: Matrix
    ones: Vector
    system: Matrix
    right: Vector
    half: Vector
    model: Vector
    intercept: float
    predictions: Vector


def pad_data(
    features: NDArray[np.float64], valid: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return `features` and `valid_columns` of a workspace, of training and validation rows."""
    n_rows, n_features = features.shape
    wide = np.zeros((n_rows, padded(n_features)))
    wide[:, :n_features] = features
    columns = np.zeros((wide.shape[1], padded(len(valid))))
    columns[:n_features, : len(valid)] = valid.T
    return wide, columns


def make_workspace(
    features: NDArray[np.float64],
    targets: NDArray[np.float64],
    row_weights: NDArray[np.float64],
    player_starts: NDArray[np.int64],
    player_rows: NDArray[np.int64],
    weight_kind: int,
    weight_table: NDArray[np.float64],
    valid_columns: NDArray[np.float64],
    truth: NDArray[np.float64],
    offset: float,
    scale: float,
    empty_value: float,
) -> RidgeWorkspace:
    """Allocate the workspace of one worker; `features` and `valid_columns` are padded."""
    n_rows, width = features.shape
    capacity = max(padded(n_rows), width)
    return RidgeWorkspace(
        FUNCTIONS,
        rows=make_rows(player_starts, player_rows, np.zeros(n_rows, np.int64), 1),
        features=features,
        targets=targets,
        row_weights=row_weights,
        weight_kind=weight_kind,
        weight_table=weight_table,
        valid_columns=valid_columns,
        truth=truth,
        offset=offset,
        scale=scale,
        empty_value=empty_value,
        weights=(padded(n_rows),),
        means=(width,),
        matrix=(width, capacity),
        products=(4, capacity),
        ones=np.ones(capacity),
        system=(width, width),
        right=(capacity,),
        half=(capacity,),
        model=(width,),
        predictions=(valid_columns.shape[1],),
    )


@entry
def reset(game: RidgeWorkspace) -> None:
    """Empty the sequence."""
    reset_rows(game.rows)


@entry
def push(game: RidgeWorkspace, player: int) -> None:
    """Append a player's rows to the sequence."""
    push_rows(game.rows, player)


@entry
def pop(game: RidgeWorkspace, player: int) -> None:
    """Take the rows of the player that was pushed last out of the sequence."""
    pop_rows(game.rows, player)


@entry
def is_defined(game: RidgeWorkspace) -> int:
    """Whether the sequence holds a row."""
    return int(game.rows.length > 0)


@inlined
def _centre(game: RidgeWorkspace, m: int) -> float:
    """Write weights and weighted means of features; return the mean of targets, NaN if all weights are 0."""
    weights, placed, means = game.weights, game.rows.placed, game.means
    features, targets, row_weights = game.features, game.targets, game.row_weights
    fill_position_weights(game.weight_kind, game.weight_table, m, weights)
    total = 0.0
    target = 0.0
    means[:] = 0.0
    for i in range(m):
        row = placed[i]
        weights[i] *= row_weights[row]
        total += weights[i]
        target += weights[i] * targets[row]
        for j in range(means.shape[0]):
            means[j] += weights[i] * features[row, j]
    if not total > 0.0:
        return math.nan
    for j in range(means.shape[0]):
        means[j] /= total
    return target / total


@inlined
def _solve(game: RidgeWorkspace, m: int, target: float) -> None:
    """Write the coefficients into `model`; `weights` and `means` are those of the sequence."""
    features, targets, placed = game.features, game.targets, game.rows.placed
    weights, means, model = game.weights, game.means, game.model
    matrix, system, right, half = game.matrix, game.system, game.right, game.half
    width = means.shape[0]
    by_rows = m < width
    long = (m + WIDTH - 1) // WIDTH * WIDTH
    short = long if by_rows else width
    for i in range(long):
        root = math.sqrt(weights[i]) if i < m else 0.0
        row = placed[i] if i < m else 0
        right[i] = root * (targets[row] - target)
        for j in range(width):
            number = root * (features[row, j] - means[j])
            if by_rows:
                matrix[i, j] = number
            else:
                matrix[j, i] = number
    length = width if by_rows else long
    regularised_gram(matrix, short, game.ones, length, False, 1, game.products, system)
    invert_factor(system, short, -1, 1.0)
    if by_rows:
        row_products(system, short, right, short, LOWER, half)
        combine_triangle(half, system, short, right)
        combine_columns(right, short, matrix, width, False, model)
    else:
        row_products(matrix, width, right, long, FULL, half)
        row_products(system, width, half, width, LOWER, right)
        combine_triangle(right, system, width, model)


@entry
def evaluate(game: RidgeWorkspace) -> int:
    """Write the score on the validation rows of the model fitted to the sequence."""
    m = game.rows.length
    target = _centre(game, m) if m > 0 else math.nan
    if math.isnan(target):
        game.scores[0] = game.empty_value
        return OK
    _solve(game, m, target)
    model, means, truth, predictions = game.model, game.means, game.truth, game.predictions
    width = means.shape[0]
    intercept = target - dot(model, means, width)
    game.intercept = intercept
    combine_columns(model, width, game.valid_columns, predictions.shape[0], False, predictions)
    squares = 0.0
    for v in range(truth.shape[0]):
        error = truth[v] - (predictions[v] + intercept)
        squares += error * error
    game.scores[0] = game.offset - game.scale * squares
    return OK


FUNCTIONS = GameFunctions(reset, push, pop, is_defined, evaluate)
