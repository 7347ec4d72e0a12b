"""The ridge games' nopython side: weighted least squares with a penalty, solved for every sequence.

All weights change with the length of the sequence, so earlier solutions are of no use. With weighted means (0
without an intercept), rows z_i = sqrt(W_i / alpha) (x_i - mean) and t_i = sqrt(W_i / alpha) (y_i - mean),
coefficients are

    (I + Z^T Z)^-1 Z^T t = Z^T (I + Z Z^T)^-1 t,

of which the smaller system is solved. Both are at least I, which the Cholesky factor of `dense` requires.
Models of several targets, one per class, share it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley_kernels.abi import entry, inlined
from ordinal_shapley_kernels.blocks import add_to_block, begin_blocks, score_without_model
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
    """Fields that the ridge games share; sizes are padded to a multiple of `WIDTH` with 0."""

    rows: Rows  # rows of the current sequence
    features: Matrix  # (n_rows, n_features), read-only: shared by all workers, like all data
    targets: Matrix  # (n_models, n_rows), read-only
    row_weights: Vector  # (n_rows,), read-only: sample weights divided by alpha
    weight_kind: int
    weight_table: Vector  # read-only: as in the position weight kernel
    fit_intercept: int
    valid_columns: Matrix  # (n_features, n_valid), read-only: validation rows, feature by feature
    empty_value: float  # utility of a sequence without a model
    weights: Vector  # (n_rows,): scratch: weights of the sequence
    means: Vector  # (n_features,): scratch: weighted means
    matrix: Matrix  # (n_features, larger of n_rows and n_features): scratch: Z or its transpose
    products: Matrix  # (4, larger of n_rows and n_features): scratch
    ones: Vector  # (larger of n_rows and n_features,), read-only
    system: Matrix  # (n_features, n_features): scratch: the smaller system, then its inverse factor
    # right, half (larger of n_rows and n_features,): scratch.
    right: Vector
    half: Vector
    models: Matrix  # (n_models, n_features): coefficients of the last sequence evaluated
    intercepts: Vector  # (n_models,), not padded
    predictions: Matrix  # (n_models, n_valid): of the models, without their intercepts


class RidgeNumbers(RidgeWorkspace):
    """Nopython side of a RidgeGame."""

    truth: Vector  # (n_valid,), not padded, read-only: targets of the validation rows
    # offset, scale: the utility is `offset` minus `scale` times the sum of squared errors.
    offset: float
    scale: float


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


def shared_fields(
    features: NDArray[np.float64],
    targets: NDArray[np.float64],
    row_weights: NDArray[np.float64],
    weight_kind: int,
    weight_table: NDArray[np.float64],
    fit_intercept: bool,
    valid_columns: NDArray[np.float64],
    empty_value: float,
) -> dict[str, Any]:
    """Return the fields of a RidgeWorkspace but `rows`; `features` and `valid_columns` are padded."""
    n_models, n_rows = targets.shape
    width = features.shape[1]
    capacity = max(padded(n_rows), width)
    return {
        "features": features,
        "targets": targets,
        "row_weights": row_weights,
        "weight_kind": weight_kind,
        "weight_table": weight_table,
        "fit_intercept": fit_intercept,
        "valid_columns": valid_columns,
        "empty_value": empty_value,
        "weights": (padded(n_rows),),
        "means": (width,),
        "matrix": (width, capacity),
        "products": (4, capacity),
        "ones": np.ones(capacity),
        "system": (width, width),
        "right": (capacity,),
        "half": (capacity,),
        "models": (n_models, width),
        "intercepts": (n_models,),
        "predictions": (n_models, valid_columns.shape[1]),
    }


def make_workspace(
    player_starts: NDArray[np.int64],
    player_rows: NDArray[np.int64],
    truth: NDArray[np.float64],
    offset: float,
    scale: float,
    *shared: Any,
) -> RidgeNumbers:
    """Allocate the workspace of one worker; `shared` is for `shared_fields`."""
    return RidgeNumbers(
        FUNCTIONS,
        rows=make_rows(player_starts, player_rows, np.zeros(len(player_rows), np.int64), 1),
        truth=truth,
        offset=offset,
        scale=scale,
        **shared_fields(*shared),
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
def weigh(game: Any) -> float:
    """Write the weights of the rows of the sequence, and return their sum."""
    weights, placed, row_weights = game.weights, game.rows.placed, game.row_weights
    m = game.rows.length
    fill_position_weights(game.weight_kind, game.weight_table, m, weights)
    total = 0.0
    for i in range(m):
        weights[i] *= row_weights[placed[i]]
        total += weights[i]
    return total


@inlined
def _centre(game: Any, total: float) -> None:
    """Write the weighted means of features and, into `intercepts`, of targets; 0 without an intercept."""
    weights, placed, means, intercepts = game.weights, game.rows.placed, game.means, game.intercepts
    features, targets = game.features, game.targets
    means[:] = 0.0
    intercepts[:] = 0.0
    if not game.fit_intercept:
        return
    m = game.rows.length
    for k in range(intercepts.shape[0]):
        target = 0.0
        for i in range(m):
            target += weights[i] * targets[k, placed[i]]
        intercepts[k] = target / total
    for i in range(m):
        weight = weights[i]
        row = placed[i]
        for j in range(means.shape[0]):
            means[j] += weight * features[row, j]
    for j in range(means.shape[0]):
        means[j] /= total


@inlined
def fit(game: Any, total: float) -> None:
    """Fit the models to the sequence, whose `weights` sum to `total`; write `predictions`."""
    features, targets, placed, weights = game.features, game.targets, game.rows.placed, game.weights
    means, models, intercepts, predictions = game.means, game.models, game.intercepts, game.predictions
    matrix, system, right, half = game.matrix, game.system, game.right, game.half
    _centre(game, total)
    m, width = game.rows.length, means.shape[0]
    by_rows = m < width
    long = (m + WIDTH - 1) // WIDTH * WIDTH
    short = long if by_rows else width
    for i in range(long):
        weights[i] = root = math.sqrt(weights[i]) if i < m else 0.0
        row = placed[i] if i < m else 0
        for j in range(width):
            number = root * (features[row, j] - means[j])
            if by_rows:
                matrix[i, j] = number
            else:
                matrix[j, i] = number
    length = width if by_rows else long
    regularised_gram(matrix, short, game.ones, length, False, 1, game.products, system)
    invert_factor(system, short, -1, 1.0)
    for k in range(models.shape[0]):
        model, target = models[k], intercepts[k]
        for i in range(long):
            right[i] = weights[i] * (targets[k, placed[i]] - target) if i < m else 0.0
        if by_rows:
            row_products(system, short, right, short, LOWER, half)
            combine_triangle(half, system, short, right)
            combine_columns(right, short, matrix, width, False, model)
        else:
            row_products(matrix, width, right, long, FULL, half)
            row_products(system, width, half, width, LOWER, right)
            combine_triangle(right, system, width, model)
        intercepts[k] -= dot(model, means, width)
        combine_columns(model, width, game.valid_columns, predictions.shape[1], False, predictions[k])


@entry
def evaluate(game: RidgeNumbers) -> int:
    """Write the score on the validation rows of the model fitted to the sequence."""
    total = weigh(game)
    if not total > 0.0:
        score_without_model(game)
        return OK
    fit(game, total)
    truth, predictions, intercept = game.truth, game.predictions[0], game.intercepts[0]
    squares = 0.0
    n_valid, in_blocks = truth.shape[0], begin_blocks(game, 0.0)
    for v in range(n_valid):
        error = truth[v] - (predictions[v] + intercept)
        squares += error * error
        if in_blocks:
            add_to_block(game, v, game.offset - game.scale * n_valid * error * error)
    game.scores[0] = game.offset - game.scale * squares
    return OK


FUNCTIONS = GameFunctions(reset, push, pop, is_defined, evaluate)
