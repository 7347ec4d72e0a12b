"""Probabilities of softmax models, and their free intercepts, found from the decision values alone."""

from __future__ import annotations

import math
from typing import Any

from ordinal_shapley_kernels.abi import part, symbol
from ordinal_shapley_kernels.dense import FULL
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
    splat_at,
    store_row,
    subtract,
    subtract_product,
    total,
)
from ordinal_shapley_kernels.logistic_arrays import EPSILON
from ordinal_shapley_kernels.logistic_workspace import LogisticWorkspace, free_column
from ordinal_shapley_kernels.products import row_products_of_each
from ordinal_shapley_kernels.workspace import Matrix, Vector

# Maximum steps of Newton's method.
_MAX_STEPS = 100
# Rounding leaves no correct digits of a system with a worse condition.
_MAX_CONDITION = 1e13
_MIN_PIVOT = 1e-200


@part
def _greater(a: Any, b: Any) -> Any:
    """The larger of two numbers, roughly, lane by lane."""
    return multiply(splat(0.5), add(add(a, b), magnitude(subtract(a, b))))


@symbol
def soften(game: LogisticWorkspace, is_begun: bool) -> float:
    """Write probabilities (`trial_slopes`) and residuals, from `margins`.

    If it `is_begun`, probabilities are updated by the step of the intercepts in the last row but one of
    `intercepts`, which needs no exponential.

    Returns sum_i c_i |x_i| (1 - sum_k p_ik^2).
    """
    prefix, n_models = game.prefix, game.n_models
    margins, shares, residuals, scaled = prefix.margins, prefix.trial_slopes, prefix.residuals, prefix.scaled
    signs, costs, steps = prefix.signs, prefix.costs, game.solver.intercepts
    growths = steps.shape[1]
    half, one, sway = splat(0.5), splat(1.0), splat(0.0)
    for i in range(0, game.length, WIDTH):
        mass = others = square = splat(0.0)
        if is_begun:
            for k in range(n_models):
                growth = multiply(load_row(shares, k, i), splat_at(steps, growths, k))
                store_row(shares, k, i, growth)
                mass = add(mass, growth)
                others = add_product(others, growth, subtract(half, multiply(half, load_row(signs, k, i))))
        else:
            largest = load_row(margins, 0, i)
            for k in range(1, n_models):
                largest = _greater(largest, load_row(margins, k, i))
            for k in range(n_models):
                growth = exp_lanes(subtract(load_row(margins, k, i), largest))
                store_row(shares, k, i, growth)
                mass = add(mass, growth)
                others = add_product(others, growth, subtract(half, multiply(half, load_row(signs, k, i))))
        share, cost = divide(one, mass), load(costs, i)
        # The probability of the own class minus 1 is minus the sum of the others: no digits are lost.
        others = multiply(multiply(others, share), cost)
        for k in range(n_models):
            probability = multiply(load_row(shares, k, i), share)
            store_row(shares, k, i, probability)
            square = add_product(square, probability, probability)
            own = add_product(half, half, load_row(signs, k, i))
            weight = multiply(cost, probability)
            store_row(scaled, k, i, weight)
            store_row(residuals, k, i, subtract_product(multiply(weight, subtract(one, own)), own, others))
        sway = add_product(sway, multiply(cost, load(prefix.norms, i)), subtract(one, square))
    return total(sway)


@part
def _intercept_hessian(game: LogisticWorkspace) -> None:
    """Write J, made regular, into `intercepts`, and the gradient into its last row but one."""
    prefix, n_models, out = game.prefix, game.n_models, game.solver.intercepts
    n = (game.length + WIDTH - 1) // WIDTH * WIDTH
    n_padded = out.shape[1]
    row_products_of_each(prefix.trial_slopes, n_padded, prefix.scaled, n_models, n, FULL, out)
    trace = 0.0
    for k in range(n_models):
        weight = 0.0
        for j in range(n_models):
            weight += out[k, j] if j != k else 0.0
        trace += weight
        out[n_padded, k] = weight
    # Moving all intercepts together changes nothing, so their sum is fixed.
    shift = trace / (n_models * n_models)
    for k in range(n_models):
        for j in range(n_models):
            out[k, j] = shift + (out[n_padded, k] if j == k else -out[k, j])
    for k in range(n_models):
        gradient = splat(0.0)
        for i in range(0, n, WIDTH):
            gradient = add(gradient, load_row(prefix.residuals, k, i))
        out[n_padded, k] = total(gradient)


@part
def _solve(matrix: Matrix, right: Vector, found: Vector, n: int) -> float:
    """Overwrite `right` by the solution of a positive definite system; returns its range.

    Infinity where rounding leaves no pivot. Overwrites the matrix A. `found` gets the root of x.Ax for the
    solution x, and a bound on the range of vectors v with v.Av = 1.
    """
    trace = 0.0
    for k in range(n):
        trace += matrix[k, k]
    square = 0.0
    for k in range(n):
        if not matrix[k, k] > _MIN_PIVOT:
            return math.inf
        for i in range(k + 1, n):
            share = matrix[i, k] / matrix[k, k]
            for j in range(k + 1, n):
                matrix[i, j] -= share * matrix[k, j]
            right[i] -= share * right[k]
        square += right[k] * right[k] / matrix[k, k]
    # The largest number on the diagonal of the inverse.
    max_diagonal = 0.0
    for j in range(n):
        own = 0.0
        for k in range(j, n):
            found[k] = 1.0 if k == j else 0.0
        for k in range(j, n):
            own += found[k] * found[k] / matrix[k, k]
            for i in range(k + 1, n):
                found[i] -= matrix[i, k] / matrix[k, k] * found[k]
        max_diagonal = max(max_diagonal, own)
    if not max_diagonal * trace < _MAX_CONDITION:
        return math.inf
    found[0], found[1] = math.sqrt(square), 2.0 * math.sqrt(max_diagonal)
    low, high = math.inf, -math.inf
    for turn in range(n):
        k = n - 1 - turn
        for j in range(k + 1, n):
            right[k] -= matrix[k, j] * right[j]
        right[k] /= matrix[k, k]
        low, high = min(low, right[k]), max(high, right[k])
    return high - low


@symbol
def minimise_over_intercepts(game: LogisticWorkspace, precision: float) -> float:
    """Minimise the objective over the intercepts of the trials, and update `margins`.

    A step whose components have the range r is shortened by the factor log(1 + r) / r unless it is short;
    this leads down for any r, because curvatures change by at most exp(2 r) on the way.

    Returns a bound on the error of a gradient due to the remaining distance, at most `precision` unless
    rounding is larger, and writes a bound on that of decision values into the first place of the last row of
    `intercepts`.

    The distance left after a full step d of range r <= 0.1, from where the Hessian is J: with its norm
    L = |d|_J, and q a bound on the range of vectors v with |v|_J = 1, the gradient there is the integral of
    (J(t) - J) d, so in the norm of the inverse of J at most ((exp(2 r) - 1) / (2 r) - 1) L <= r (1 + r) L; in
    that of the inverse of the Hessian J' there exp(r) times as much, and q' <= exp(r) q. Let e be the rest,
    with range s <= q' |e|_J'. Curvatures along it are at least exp(-2 s) times those of J', so
    |e| (1 - exp(-2 s)) / (2 s) is at most that gradient's norm l; hence s <= -log(1 - 2 q' l) / 2 and
    |e| <= s / q'. Along it p_i changes by the integral of P_i e, whose square is at most
    (1 - |p_i|^2) e.P_i e, both of which grow by at most exp(2 s). By Cauchy and Schwarz, summed over the
    rows, a gradient changes by at most exp(2 s) |e| times the root of sum c_i |x_i|^2 (1 - |p_i|^2).
    """
    margins, solver, n_models = game.prefix.margins, game.solver, game.n_models
    column, matrix = free_column(game), game.solver.intercepts
    steps, found = matrix[matrix.shape[1]], matrix[matrix.shape[1] + 1]
    longest = game.prefix.largest[game.length - 1]
    sway = soften(game, False)
    for _ in range(_MAX_STEPS):
        _intercept_hessian(game)
        length = _solve(matrix, steps, found, n_models)
        if not length < math.inf:
            break
        is_whole = length <= 0.1
        scale = 1.0 if is_whole else math.log1p(length) / length
        for k in range(n_models):
            step = splat(-scale * steps[k])
            solver.trials[k, column] -= scale * steps[k]
            for i in range(0, game.length, WIDTH):
                store_row(margins, k, i, add(load_row(margins, k, i), step))
            steps[k] = math.exp(-scale * steps[k])
        sway = soften(game, length < 1.0)
        if not is_whole:
            continue
        grown = math.exp(length)
        distance, reach = grown * length * (1.0 + length) * found[0], grown * found[1]
        share = 2.0 * distance * reach
        is_final = length * length <= EPSILON
        if share < 0.5:
            left = -0.5 * math.log1p(-share)
            off = math.sqrt(longest * sway) * left / reach / (1.0 - share)
            if is_final or (off <= precision and left <= precision * longest):
                # Plus the rounding of each margin.
                found[0] = left + 16.0 * EPSILON
                return off + 16.0 * EPSILON * (1.0 + sway)
        elif is_final:
            break
    found[0] = math.inf
    return math.inf
