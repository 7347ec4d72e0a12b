"""Gradients of the weighted logistic objective, and bounds on the distance to the optimum.

f is 1-strongly convex, so |w - w*| <= |g| for the optimum w*. The same is much sharper with the earlier
Hessian H_s in place of the identity. If H(w) >= c H_s and no row is longer than X, curvatures fall at most by
exp(-X |w - w*|) on the way to w*, and with r = |L^T (w - w*)| and u = X |M g| / c

    c r (1 - exp(-X r)) / (X r) <= |M g|,   so   r <= -log(1 - u) / X,

hence the Hessians on the way average at least c' = -c u / log(1 - u) times H_s, and

    c' |L^T (w* - w)|^2 <= (M g).(L^T (w - w*)),

a ball around w - B g / (2 c') with radius |M g| / (2 c'). A row x in the factor with curvature s has at most
the squared white length |x|^2 / (1 + s |x|^2), so the rows whose curvature has fallen below c s take off at
most the sum of (c s - curvature) |x|^2 / (1 + s |x|^2): H(w) >= (c - that sum) H_s. Also H(w) >= c H_s for c
the minimum of curvature / s, which is larger if all curvatures have fallen.

A free intercept is not penalised, so f is not strongly convex, and H_s >= I is false. With (x, 1) for a row,
H_s = D + sum_i s_i (x_i, 1)(x_i, 1)^T, where D is I except for a 0 at the intercept. The intercept
eliminated, with h = sum_i s_i, m = sum_i s_i x_i / h and S = I + sum_i s_i (x_i - m)(x_i - m)^T >= I,

    |M (x, b)|^2 = (x - b m)^T S^-1 (x - b m) + b^2 / h,

at most (|x| + k)^2 for a row (b = 1) and (1 + k)^2 |(x, b)|^2 for any vector, where k = |m| + 1 / sqrt(h) is
at most the `offsets` kept with a factor. These replace the bounds on white lengths. A row in the factor has
at most the squared white length min(1 / s, (|x| + k)^2), and |g| alone bounds nothing.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ordinal_shapley_kernels.abi import part, symbol
from ordinal_shapley_kernels.dense import FULL, LOWER, UPPER, dot, inline_row_products
from ordinal_shapley_kernels.elementary import exp_lanes
from ordinal_shapley_kernels.lanes import (
    WIDTH,
    add,
    add_product,
    divide,
    load,
    magnitude,
    multiply,
    splat,
    store,
    subtract,
    total,
)
from ordinal_shapley_kernels.logistic_arrays import (
    EPSILON,
    HALF,
    NO_FACTOR,
    NORM,
    RADIUS,
    ROUNDING,
    SCORE_ROUNDING,
    SHARE,
    UNDERFLOW,
    WHITE_NORM,
)
from ordinal_shapley_kernels.logistic_overflow import n_kept
from ordinal_shapley_kernels.logistic_workspace import LogisticWorkspace, differentiate_overflow
from ordinal_shapley_kernels.products import row_products_of_each
from ordinal_shapley_kernels.workspace import Vector

# Shares c of the factorised Hessian to compare the current one with.
_HIGH_SHARE = 0.7
_LOW_SHARE = 0.3
# Largest u for which the bound is used.
_FURTHEST = 0.95
# -u / log(1 - u) at u = 0, 1 / _N_CHORDS, ..., rounded down: a logarithm takes a fifth of a gradient's time.
_N_CHORDS = 128
_KEPT = np.array([1.0, *(-u / math.log1p(-u) for u in np.arange(1, _N_CHORDS) / _N_CHORDS), 0.0]) - 1e-14
# Covers the rounding of the inverse factor itself (see `factorise`).
_FACTOR_SLACK = 1.0 + 1e-5


@part
def _slope(sign: Any, margin: Any) -> Any:
    """Derivative of the loss log(1 + exp(-sign * margin)) by the decision value, for eight rows."""
    growth = exp_lanes(multiply(sign, margin))
    return divide(subtract(splat(0.0), sign), add(splat(1.0), growth))


@part
def find_slopes(margins: Vector, signs: Vector, n: int, slopes: Vector) -> None:
    """Derivatives of the losses by the decision values."""
    for i in range(0, n, WIDTH):
        store(slopes, i, _slope(load(signs, i), load(margins, i)))


@part
def slope_along(margins: Vector, signs: Vector, costs: Vector, n: int, length: float) -> tuple[float, float]:
    """First and second derivative of the losses by the length of a step; `margins` is the change by 1."""
    slope = curvature = splat(0.0)
    lengths, one = splat(length), splat(1.0)
    for i in range(0, n, WIDTH):
        margin = load(margins, i)
        loss = _slope(load(signs, i), multiply(lengths, margin))
        size, weighted = magnitude(loss), multiply(load(costs, i), margin)
        slope = add_product(slope, weighted, loss)
        curvature = add_product(curvature, multiply(weighted, margin), multiply(size, subtract(one, size)))
    return total(slope), total(curvature)


@part
def _weigh_slopes(
    game: LogisticWorkspace, model: int, place: int, n: int, from_margins: int
) -> tuple[float, float, float, float]:
    """Write the residuals at one place, slopes times costs, and with `from_margins` the slopes.

    Returns sum_i |residual_i| |x_i|, sum_i curvature_i |x_i|^2, and for the high and the low share how much
    rows whose curvature has fallen below that share of the factorised one take off it.
    """
    prefix, solver = game.prefix, game.solver
    margins, signs = prefix.margins[place], prefix.signs[model]
    slopes = prefix.trial_slopes[place] if from_margins else prefix.slopes[model]
    costs, norms, residuals = prefix.costs, prefix.norms, prefix.residuals[place]
    curvatures, leverages = solver.factor_curvatures[model], solver.factor_leverages[model]
    pull = stiffness = high = low = splat(0.0)
    high_share, low_share, one = splat(_HIGH_SHARE), splat(_LOW_SHARE), splat(1.0)
    for i in range(0, n, WIDTH):
        if from_margins:
            slope = _slope(load(signs, i), load(margins, i))
            store(slopes, i, slope)
        else:
            slope = load(slopes, i)
        residual = multiply(load(costs, i), slope)
        store(residuals, i, residual)
        size = magnitude(residual)
        curvature = multiply(size, subtract(one, magnitude(slope)))
        norm = load(norms, i)
        pull = add_product(pull, size, norm)
        stiffness = add_product(stiffness, curvature, multiply(norm, norm))
        factorised = load(curvatures, i)
        leverage = load(leverages, i)
        lack = subtract(multiply(high_share, factorised), curvature)
        high = add_product(high, add(lack, magnitude(lack)), leverage)
        lack = subtract(multiply(low_share, factorised), curvature)
        low = add_product(low, add(lack, magnitude(lack)), leverage)
    return total(pull), total(stiffness), 0.5 * total(high), 0.5 * total(low)


@part
def factor_curvatures(slopes: Vector, costs: Vector, n: int, curvatures: Vector) -> None:
    """Write the curvatures of the rows."""
    one = splat(1.0)
    for i in range(0, n, WIDTH):
        size = magnitude(load(slopes, i))
        store(curvatures, i, multiply(multiply(load(costs, i), size), subtract(one, size)))


@part
def leverage(free: int, offset: float, norm: float, curvature: float) -> float:
    """Bound on the squared white norm of a row that is in a factor with this curvature."""
    square = (norm + offset) * (norm + offset)
    if free:
        return square if curvature * square < 1.0 else 1.0 / curvature
    return square / (1.0 + curvature * square)


@part
def bound_leverages(game: LogisticWorkspace, model: int) -> float:
    """Write bounds on the squared white norms of rows in a factor; returns sum_i curvature_i |x_i|^2."""
    solver, norms = game.solver, game.prefix.norms
    curvatures, leverages = solver.factor_curvatures[model], solver.factor_leverages[model]
    n = (game.length + WIDTH - 1) // WIDTH * WIDTH
    stiffness = mass = pull = splat(0.0)
    one = splat(1.0)
    for i in range(0, n, WIDTH):
        curvature, norm = load(curvatures, i), load(norms, i)
        square = multiply(norm, norm)
        stiff = multiply(curvature, square)
        store(leverages, i, divide(square, add(one, stiff)))
        stiffness = add(stiffness, stiff)
        mass = add(mass, curvature)
        pull = add_product(pull, curvature, norm)
    if game.free:
        masses = total(mass)
        offset = (total(pull) + math.sqrt(masses)) / masses * (1.0 + 1e-9)
        solver.offsets[model] = offset
        for i in range(n):
            leverages[i] = leverage(1, offset, norms[i], curvatures[i])
    return total(stiffness)


@part
def _min_share(residuals: Vector, slopes: Vector, curvatures: Vector, m: int) -> float:
    """The minimum over the rows of curvature as a share of the factorised one, at most 1."""
    minimum = 1.0
    for i in range(m):
        curvature = abs(residuals[i]) * (1.0 - abs(slopes[i]))
        if curvature < minimum * curvatures[i]:
            minimum = curvature / curvatures[i]
    return minimum * (1.0 - 1e-12)


@part
def _add_weights(
    gradient: Vector, weights: Vector, penalties: Vector, n_features: int
) -> tuple[float, float]:
    """gradient += penalties * weights, in place; returns the norms of gradient and weights."""
    norm = size = splat(0.0)
    for j in range(0, n_features, WIDTH):
        weight = load(weights, j)
        value = add_product(load(gradient, j), load(penalties, j), weight)
        store(gradient, j, value)
        norm = add_product(norm, value, value)
        size = add_product(size, weight, weight)
    return math.sqrt(total(norm)), math.sqrt(total(size))


@part
def bound_distance(game: LogisticWorkspace, model: int, bounds: Vector, share: float) -> None:
    """Write SHARE, RADIUS and HALF, given the share c of H_s in the current Hessian."""
    n_features, offset = game.dimension, game.solver.offsets[model]
    longest = game.prefix.largest[game.length - 1] + offset
    rounding = bounds[ROUNDING] + n_features * math.sqrt(n_features) * EPSILON * bounds[NORM]
    rounding *= 1.0 + offset
    size = _FACTOR_SLACK * bounds[WHITE_NORM] + rounding
    bounds[SHARE] = 0.0
    bounds[RADIUS] = math.inf
    bounds[HALF] = math.inf
    if longest * size < _FURTHEST * share:
        reach = longest * size / share
        if reach > 1e-9:
            # Chords of a concave function lie below it.
            place = reach * _N_CHORDS
            chord = int(place)
            share *= _KEPT[chord] + (place - chord) * (_KEPT[chord + 1] - _KEPT[chord])
        bounds[SHARE] = share
        bounds[RADIUS] = size / share
        bounds[HALF] = (size + rounding) / (2.0 * share)


@part
def _same_factor(game: LogisticWorkspace, n_active: int) -> bool:
    """Whether the active models use one factor."""
    factor_of, active = game.solver.factor_of, game.solver.active
    same = n_active > 1
    for place in range(1, n_active):
        same &= factor_of[active[place]] == factor_of[active[0]]
    return same


@symbol
def differentiate(game: LogisticWorkspace, n_active: int, from_margins: int) -> None:
    """Compute gradients of the objectives of the active models, with bounds on the distance to the optima.

    With `from_margins` at the trials, whose decision values are in `margins`; else at the models, whose
    slopes are known. Writes residuals and the arrays called trial.

    The bound on the rounding error of the gradient is (m + 4) eps (|w| + sum |residual_i| |x_i|) for the
    sums, plus, by residuals of decision values that are sums of `rounding_dimension` terms, that number times
    eps |w| (1 + sum curvature_i |x_i|^2). In the span inner products have such errors, too, and
    sum |residual_i| |x_i| is added to |w|.
    """
    prefix, solver = game.prefix, game.solver
    m, n_features, triangular, dimension = (
        game.length,
        game.dimension,
        game.triangular,
        game.rounding_dimension,
    )
    n, kept = (m + WIDTH - 1) // WIDTH * WIDTH, n_kept(game)
    shape = UPPER if triangular else FULL
    active, sums, residuals = solver.active, solver.sums, prefix.residuals
    gradients, white_gradients = solver.trial_gradients, solver.trial_white_gradients
    inverse_factors, factor_of = solver.inverse_factors, solver.factor_of
    for place in range(n_active):
        pull, stiffness, high, low = _weigh_slopes(game, active[place], place, n, from_margins)
        sums[place, 0], sums[place, 1], sums[place, 2], sums[place, 3] = pull, stiffness, high, low
    if n_active == 1:
        inline_row_products(prefix.columns, n_features, residuals[0], kept, shape, gradients[0])
    else:
        row_products_of_each(prefix.columns, n_features, residuals, n_active, kept, shape, gradients)
    if kept < m:
        differentiate_overflow(game, n_active)
    for place in range(n_active):
        model, bounds = active[place], solver.trial_bounds[place]
        weights = solver.trials[place] if from_margins else solver.models[model]
        norm, size = _add_weights(gradients[place], weights, solver.penalties, n_features)
        pull, stiffness = sums[place, 0], sums[place, 1]
        spread = size + pull if triangular else size
        bounds[NORM] = norm
        rounding = (m + 4) * (size + pull) + dimension * spread * (1.0 + stiffness)
        bounds[ROUNDING] = EPSILON * rounding + UNDERFLOW
        bounds[SCORE_ROUNDING] = EPSILON * dimension * spread
    together = _same_factor(game, n_active)
    if together and solver.factor_state[active[0]] != NO_FACTOR:
        factor = inverse_factors[factor_of[active[0]]]
        row_products_of_each(factor, n_features, gradients, n_active, n_features, LOWER, white_gradients)
    for place in range(n_active):
        model, bounds = active[place], solver.trial_bounds[place]
        gradient, white_gradient = gradients[place], white_gradients[place]
        if solver.factor_state[model] == NO_FACTOR:
            bounds[WHITE_NORM] = math.inf
            bound_distance(game, model, bounds, 0.0)
            continue
        if not together:
            factor = inverse_factors[factor_of[model]]
            inline_row_products(factor, n_features, gradient, n_features, LOWER, white_gradient)
        bounds[WHITE_NORM] = math.sqrt(dot(white_gradient, white_gradient, n_features))
        slack = solver.hessian_slack[model]
        kept = 1.0 - slack[0] - slack[1]
        share = max(_HIGH_SHARE * kept - sums[place, 2], _LOW_SHARE * kept - sums[place, 3])
        if share <= 0.0:
            slopes = prefix.trial_slopes[place] if from_margins else prefix.slopes[model]
            share = kept * _min_share(residuals[place], slopes, solver.factor_curvatures[model], m)
        bound_distance(game, model, bounds, share)
