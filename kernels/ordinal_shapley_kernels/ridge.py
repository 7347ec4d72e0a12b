"""The ridge game's nopython side: weighted least squares with a penalty, solved anew for every sequence.

Every weight changes with the length of the sequence, so nothing that was solved before is of use. With
weighted means, rows z_i = sqrt(W_i / alpha) (x_i - mean) and t_i = sqrt(W_i / alpha) (y_i - mean),
coefficients are

    (I + Z^T Z)^-1 Z^T t = Z^T (I + Z Z^T)^-1 t,

of which the smaller system is solved. Both are at least I, which the Cholesky factor of `dense` relies on.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley_kernels._jit import kernel
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
from ordinal_shapley_kernels.lanes import WIDTH, padded
from ordinal_shapley_kernels.position_weights import fill_position_weights
from ordinal_shapley_kernels.rows import LENGTH, Rows, clear_rows, make_rows, place_rows, remove_rows


class RidgeWorkspace(NamedTuple):
    """Nopython side of a RidgeGame; sizes are padded to a multiple of `WIDTH` with 0.

    Attributes
    ----------
    rows : Rows
        Rows of the sequence at hand.
    features : float64 (n_rows, n_features), read-only
    targets : float64 (n_rows,)
    row_weights : float64 (n_rows,)
        Sample weights divided by alpha.
    weight_kind : int
    weight_table : float64
        As in the position weight kernel.
    valid_columns : float64 (n_features, n_valid)
        Validation rows, feature by feature.
    truth : float64 (n_valid,), not padded
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
    ones : float64 (larger of n_rows and n_features,)
    system : float64 (n_features, n_features)
        Scratch: the smaller system, then its inverse factor.
    right, half : float64 (larger of n_rows and n_features,)
        Scratch.
    model : float64 (n_features,)
        Coefficients of the sequence that was evaluated last.
    intercept : float64 (1,)
    predictions : float64 (n_valid,)
    """

    rows: Rows
    features: NDArray[np.float64]
    targets: NDArray[np.float64]
    row_weights: NDArray[np.float64]
    weight_kind: int
    weight_table: NDArray[np.float64]
    valid_columns: NDArray[np.float64]
    truth: NDArray[np.float64]
    offset: float
    scale: float
    empty_value: float
    weights: NDArray[np.float64]
    means: NDArray[np.float64]
    matrix: NDArray[np.float64]
    products: NDArray[np.float64]
    ones: NDArray[np.float64]
    system: NDArray[np.float64]
    right: NDArray[np.float64]
    half: NDArray[np.float64]
    model: NDArray[np.float64]
    intercept: NDArray[np.float64]
    predictions: NDArray[np.float64]


def make_workspace(
    features: NDArray[np.float64],
    targets: NDArray[np.float64],
    row_weights: NDArray[np.float64],
    player_starts: NDArray[np.int64],
    player_rows: NDArray[np.int64],
    weight_kind: int,
    weight_table: NDArray[np.float64],
    valid: NDArray[np.float64],
    truth: NDArray[np.float64],
    offset: float,
    scale: float,
    empty_value: float,
) -> RidgeWorkspace:
    """Allocate the workspace of one worker; `features` and `valid` hold a row of data a row."""
    n_rows, n_features = features.shape
    width = padded(n_features)
    capacity = max(padded(n_rows), width)
    wide = np.zeros((n_rows, width))
    wide[:, :n_features] = features
    columns = np.zeros((width, padded(len(valid))))
    columns[:n_features, : len(valid)] = valid.T
    return RidgeWorkspace(
        make_rows(player_starts, player_rows, np.zeros(n_rows, np.int64), 1),
        wide,
        np.require(targets, np.float64, ["C", "A", "W", "O"]),
        np.require(row_weights, np.float64, ["C", "A", "W", "O"]),
        int(weight_kind),
        np.require(weight_table, np.float64, ["C", "A", "W", "O"]),
        columns,
        np.require(truth, np.float64, ["C", "A", "W", "O"]),
        float(offset),
        float(scale),
        float(empty_value),
        np.zeros(padded(n_rows)),
        np.zeros(width),
        np.zeros((width, capacity)),
        np.zeros((4, capacity)),
        np.ones(capacity),
        np.zeros((width, width)),
        np.zeros(capacity),
        np.zeros(capacity),
        np.zeros(width),
        np.zeros(1),
        np.zeros(columns.shape[1]),
    )


@kernel(internal=True)
def clear(game: RidgeWorkspace) -> None:
    """Empty the sequence."""
    clear_rows(game.rows)


@kernel(internal=True)
def place(game: RidgeWorkspace, player: int) -> None:
    """Append a player's rows to the sequence."""
    place_rows(game.rows, player)


@kernel(internal=True)
def remove_last(game: RidgeWorkspace, player: int) -> None:
    """Take the rows of the player that was placed last out of the sequence."""
    remove_rows(game.rows, player)


@kernel(internal=True)
def has_model(game: RidgeWorkspace) -> bool:
    """Whether the sequence holds a row."""
    return game.rows.state[LENGTH] > 0


@kernel(internal=True)
def _centre(game: RidgeWorkspace, m: int) -> float:
    """Write weights and weighted means of features; return the mean of targets, NaN if all weights are 0."""
    weights, placed, means = game.weights, game.rows.placed, game.means
    fill_position_weights(game.weight_kind, game.weight_table, m, weights)
    total = 0.0
    target = 0.0
    means[:] = 0.0
    for i in range(m):
        row = placed[i]
        weights[i] *= game.row_weights[row]
        total += weights[i]
        target += weights[i] * game.targets[row]
        for j in range(means.shape[0]):
            means[j] += weights[i] * game.features[row, j]
    if not total > 0.0:
        return math.nan
    for j in range(means.shape[0]):
        means[j] /= total
    return target / total


@kernel(internal=True)
def _solve(game: RidgeWorkspace, m: int, target: float) -> None:
    """Write the coefficients into `model`; `weights` and `means` are those of the sequence."""
    width = game.means.shape[0]
    matrix, placed, right, half = game.matrix, game.rows.placed, game.right, game.half
    by_rows = m < width
    long = (m + WIDTH - 1) // WIDTH * WIDTH
    short = long if by_rows else width
    for i in range(long):
        root = math.sqrt(game.weights[i]) if i < m else 0.0
        row = placed[i] if i < m else 0
        right[i] = root * (game.targets[row] - target)
        for j in range(width):
            entry = root * (game.features[row, j] - game.means[j])
            if by_rows:
                matrix[i, j] = entry
            else:
                matrix[j, i] = entry
    length = width if by_rows else long
    regularised_gram(matrix, short, game.ones, length, False, game.products, game.system)
    invert_factor(game.system, short)
    if by_rows:
        row_products(game.system, short, right, short, LOWER, half)
        combine_triangle(half, game.system, short, right)
        combine_columns(right, short, matrix, width, False, game.model)
    else:
        row_products(matrix, width, right, long, FULL, half)
        row_products(game.system, width, half, width, LOWER, right)
        combine_triangle(right, game.system, width, game.model)


@kernel(internal=True)
def utility(game: RidgeWorkspace) -> float:
    """Score on the validation rows of the model fitted to the sequence."""
    m = game.rows.state[LENGTH]
    if m == 0:
        return game.empty_value
    target = _centre(game, m)
    if target != target:
        return game.empty_value
    _solve(game, m, target)
    width = game.means.shape[0]
    game.intercept[0] = target - dot(game.model, game.means, width)
    combine_columns(game.model, width, game.valid_columns, game.predictions.shape[0], False, game.predictions)
    squares = 0.0
    for v in range(game.truth.shape[0]):
        error = game.truth[v] - (game.predictions[v] + game.intercept[0])
        squares += error * error
    return game.offset - game.scale * squares
