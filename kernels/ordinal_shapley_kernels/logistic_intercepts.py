"""Probabilities of softmax models, and their free intercepts, found from the decision values alone."""

from __future__ import annotations

import math
from typing import Any

from ordinal_shapley_kernels.abi import part, symbol
from ordinal_shapley_kernels.dense import add_gram
from ordinal_shapley_kernels.elementary import exp_lanes
from ordinal_shapley_kernels.lanes import (
    WIDTH,
    add,
    add_product,
    divide,
    load,
    load_row,
    magnitude,
    multiply,
    splat,
    store_row,
    subtract,
    subtract_product,
    total,
)
from ordinal_shapley_kernels.logistic_arrays import EPSILON
from ordinal_shapley_kernels.logistic_workspace import LogisticWorkspace, free_column
from ordinal_shapley_kernels.workspace import Matrix, Vector

# Steps of Newton's method.
_MAX_STEPS = 100


@part
def _greater(a: Any, b: Any) -> Any:
    """The larger of two numbers, roughly, lane by lane."""
    return multiply(splat(0.5), add(add(a, b), magnitude(subtract(a, b))))


@symbol
def soften(game: LogisticWorkspace) -> None:
    """Write probabilities (`trial_slopes`) and residuals, from `margins`."""
    prefix, n_models = game.prefix, game.n_models
    margins, shares, residuals = prefix.margins, prefix.trial_slopes, prefix.residuals
    signs, costs = prefix.signs, prefix.costs
    half, one = splat(0.5), splat(1.0)
    for i in range(0, game.length, WIDTH):
        largest = load_row(margins, 0, i)
        for k in range(1, n_models):
            largest = _greater(largest, load_row(margins, k, i))
        mass = others = splat(0.0)
        for k in range(n_models):
            growth = exp_lanes(subtract(load_row(margins, k, i), largest))
            store_row(shares, k, i, growth)
            mass = add(mass, growth)
            others = add_product(others, growth, subtract(half, multiply(half, load_row(signs, k, i))))
        share, cost = divide(one, mass), load(costs, i)
        # The probability of the own class less 1 is minus those of the others: no digits are lost.
        others = multiply(multiply(others, share), cost)
        for k in range(n_models):
            probability = multiply(load_row(shares, k, i), share)
            store_row(shares, k, i, probability)
            own = add_product(half, half, load_row(signs, k, i))
            residual = multiply(multiply(cost, probability), subtract(one, own))
            store_row(residuals, k, i, subtract_product(residual, own, others))


@part
def _intercept_hessian(game: LogisticWorkspace) -> None:
    """Write J, with what makes it regular, into `intercepts`, and the gradient into its last row."""
    prefix, n_models, out = game.prefix, game.n_models, game.solver.intercepts
    n = (game.length + WIDTH - 1) // WIDTH * WIDTH
    n_padded = out.shape[1]
    add_gram(prefix.trial_slopes, n_padded, prefix.costs, 0, n, WIDTH, 0, 0, prefix.scaled, out)
    trace = 0.0
    for k in range(n_models):
        weight = 0.0
        for j in range(n_models):
            product = out[min(j, k), max(j, k)]
            weight += product if j != k else 0.0
        trace += weight
        out[n_padded, k] = weight
    for k in range(n_models):
        out[k, k] = out[n_padded, k]
        for j in range(k):
            out[k, j] = out[j, k] = -out[j, k]
    # All intercepts may move together; their sum is kept as it is.
    for k in range(n_models):
        for j in range(n_models):
            out[k, j] += trace / (n_models * n_models)
    for k in range(n_models):
        gradient = splat(0.0)
        for i in range(0, n, WIDTH):
            gradient = add(gradient, load_row(prefix.residuals, k, i))
        out[n_padded, k] = total(gradient)


@part
def _solve(matrix: Matrix, right: Vector, n: int) -> float:
    """Overwrite `right` by the solution of a positive definite system; returns its range.

    Infinity where rounding leaves no pivot. The matrix is written over.
    """
    for k in range(n):
        if not matrix[k, k] > 0.0:
            return math.inf
        for i in range(k + 1, n):
            share = matrix[i, k] / matrix[k, k]
            for j in range(k + 1, n):
                matrix[i, j] -= share * matrix[k, j]
            right[i] -= share * right[k]
    low, high = math.inf, -math.inf
    for turn in range(n):
        k = n - 1 - turn
        for j in range(k + 1, n):
            right[k] -= matrix[k, j] * right[j]
        right[k] /= matrix[k, k]
        low, high = min(low, right[k]), max(high, right[k])
    return high - low


@symbol
def minimise_over_intercepts(game: LogisticWorkspace, tolerance: float) -> float:
    """Move intercepts of the trials, and `margins`, to where the objective is least.

    Returns how far off they may be, at most `tolerance` unless rounding is more. A step whose components
    range over r is shortened to log(1 + r) / r of it, which leads down whatever r is: curvatures change by at
    most exp(r) on the way.
    """
    margins, solver, n_models = game.prefix.margins, game.solver, game.n_models
    column, matrix = free_column(game), game.solver.intercepts
    steps = matrix[matrix.shape[0] - 1]
    for _ in range(_MAX_STEPS):
        _intercept_hessian(game)
        length = _solve(matrix, steps, n_models)
        if not length < math.inf:
            break
        scale = math.log1p(length) / length if length > 1e-8 else 1.0
        for k in range(n_models):
            step = splat(-scale * steps[k])
            solver.trials[k, column] -= scale * steps[k]
            for i in range(0, game.length, WIDTH):
                store_row(margins, k, i, add(load_row(margins, k, i), step))
        soften(game)
        # Newton's method squares the error; and each margin is rounded.
        off = 2.0 * length * length
        if length < 0.1 and off <= max(tolerance, EPSILON):
            return off + 16.0 * EPSILON
    return math.inf
