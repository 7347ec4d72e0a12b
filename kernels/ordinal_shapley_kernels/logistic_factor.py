"""Inverse factors of Hessians of the logistic objective: when they are computed, and for which models.

A factor costs as much as many passes over the rows, more so with more features. So models keep theirs from
fit to fit, several classes start a cold fit with a shared one, and a row that changes a Hessian much updates
the factor.
"""

from __future__ import annotations

import math

from ordinal_shapley_kernels.abi import part, symbol
from ordinal_shapley_kernels.dense import (
    FULL,
    LOWER,
    UPPER,
    add_to_factor,
    copy_multiple,
    dot,
    invert_factor,
    regularised_gram,
    row_products,
)
from ordinal_shapley_kernels.lanes import WIDTH
from ordinal_shapley_kernels.logistic_arrays import (
    EPSILON,
    EUCLIDEAN_FLOOR,
    EXACT,
    N_BOUNDS,
    NO_FACTOR,
    NO_GRADIENT,
    NORM,
    NOT_AT_FLOOR,
    ROUNDING,
    STALE,
    USABLE,
    WHITE_NORM,
)
from ordinal_shapley_kernels.logistic_gradient import (
    bound_distance,
    bound_leverages,
    differentiate,
    factor_curvatures,
    leverage,
    slope_along,
)
from ordinal_shapley_kernels.logistic_overflow import n_kept, read_features
from ordinal_shapley_kernels.logistic_workspace import (
    LogisticWorkspace,
    add_overflow_gram,
    evaluate_overflow,
    free_column,
)
from ordinal_shapley_kernels.products import combine_columns_of_each

# A new row whose curvature in white coordinates exceeds this updates the factor.
_MAX_SURPRISE = 4.0
# Newton steps along the first direction.
_LEAP_STEPS = 8
# How many new factors the models of a fit share before each gets its own.
_MAX_SHARES = 8
# The first factor of a fit reads at least one in this number of blocks of rows.
_MAX_SKIPPED = 4
# A sequence is far from the previous one if it adds at least _MIN_GROWN rows, and one in _FAR of its own.
_MIN_GROWN = 4
_FAR = 8


@part
def forget(game: LogisticWorkspace, model: int, m: int) -> None:
    """Reset a model to 0, without factor and steps."""
    solver, slopes, signs = game.solver, game.prefix.slopes, game.prefix.signs
    models = solver.models
    for j in range(models.shape[1]):
        models[model, j] = 0.0
    solver.factor_of[model] = model
    solver.factor_state[model] = NO_FACTOR
    solver.offsets[model] = 0.0
    solver.pairs[model, 0] = 0
    solver.pairs[model, 1] = 0
    for i in range(m):
        slopes[model, i] = -0.5 * signs[model, i]


@symbol
def factorise(game: LogisticWorkspace, factor: int, model: int, every: int) -> None:
    """Compute the factor of the Hessian by a model's curvatures, 0 except in one block in `every`."""
    prefix, solver = game.prefix, game.solver
    n = n_kept(game)
    curvatures, inverse_factor = solver.factor_curvatures[model], solver.inverse_factors[factor]
    regularised_gram(
        prefix.columns,
        game.dimension,
        curvatures,
        n,
        game.triangular,
        every,
        prefix.scaled,
        inverse_factor,
    )
    if n < game.length:
        add_overflow_gram(game, factor, model)
    intercept, min_pivot = -1, 1.0
    if game.free:
        mass, intercept = 0.0, free_column(game)
        for i in range(game.length):
            mass += curvatures[i]
        inverse_factor[intercept, intercept] = mass
        # 1 / (H^-1)[intercept, intercept] = 1 / (1 / h + m^T S^-1 m), see `logistic_gradient`.
        min_pivot = solver.offsets[model] ** -2.0
    invert_factor(inverse_factor, game.dimension, intercept, min_pivot)
    solver.factor_stamps[factor] += 1


@part
def _factor_slack(game: LogisticWorkspace, model: int, stiffness: float) -> float:
    """Backward error of the products and of the elimination, as a share of the factorised Hessian."""
    longer = 1.0 + game.solver.offsets[model]
    return 4.0 * (game.length + game.dimension) * EPSILON * (1.0 + stiffness) * longer * longer


@part
def _use_factor(game: LogisticWorkspace, model: int, factor: int, stiffness: float) -> None:
    """Assign a factor to a model, and forget its earlier steps."""
    solver = game.solver
    solver.factor_of[model] = factor
    solver.factor_state[model] = EXACT
    solver.pairs[model, 0] = 0
    solver.pairs[model, 1] = 0
    solver.hessian_slack[model, 0] = 0.0
    solver.hessian_slack[model, 1] = _factor_slack(game, model, stiffness)


@symbol
def renew_factor(game: LogisticWorkspace, model: int) -> None:
    """Give a model its own factor, of the current Hessian, and update what depends on it."""
    prefix, solver = game.prefix, game.solver
    n, n_features = (game.length + WIDTH - 1) // WIDTH * WIDTH, game.dimension
    factor_curvatures(prefix.slopes[model], prefix.costs, n, solver.factor_curvatures[model])
    stiffness = bound_leverages(game, model)
    factorise(game, model, model, 1)
    _use_factor(game, model, model, stiffness)
    bounds, white_gradient = solver.bounds[model], solver.white_gradients[model]
    row_products(
        solver.inverse_factors[model], n_features, solver.gradients[model], n_features, LOWER, white_gradient
    )
    bounds[WHITE_NORM] = math.sqrt(dot(white_gradient, white_gradient, n_features))
    share = 1.0 - solver.hessian_slack[model, 1]
    bound_distance(game, model, bounds, share)


@part
def take_gradient(game: LogisticWorkspace, place: int) -> None:
    """Copy the trial gradient at a place, with its bounds, to its model."""
    solver, n = game.solver, game.dimension
    model = solver.active[place]
    gradients, white_gradients = solver.gradients, solver.white_gradients
    copy_multiple(gradients[model], 1.0, solver.trial_gradients[place], n)
    copy_multiple(white_gradients[model], 1.0, solver.trial_white_gradients[place], n)
    bounds, trial_bounds = solver.bounds, solver.trial_bounds
    for i in range(N_BOUNDS):
        bounds[model, i] = trial_bounds[place, i]


@part
def take_trial(game: LogisticWorkspace, place: int) -> None:
    """Copy the trial at a place to its model."""
    solver, prefix = game.solver, game.prefix
    model, n = solver.active[place], (game.length + WIDTH - 1) // WIDTH * WIDTH
    take_gradient(game, place)
    copy_multiple(solver.models[model], 1.0, solver.trials[place], game.dimension)
    copy_multiple(prefix.slopes[model], 1.0, prefix.trial_slopes[place], n)


@part
def _clear_padding(game: LogisticWorkspace, model: int) -> None:
    curvatures, slopes = game.solver.factor_curvatures[model], game.prefix.slopes[model]
    m = game.length
    for i in range(m, (m + WIDTH - 1) // WIDTH * WIDTH):
        curvatures[i] = 0.0
        slopes[i] = 0.0


@part
def _mark_floor(game: LogisticWorkspace, model: int) -> None:
    bounds = game.solver.bounds[model]
    game.solver.at_floor[model] = EUCLIDEAN_FLOOR if bounds[NORM] <= bounds[ROUNDING] else NOT_AT_FLOOR


@symbol
def _leap(game: LogisticWorkspace, n_active: int) -> None:
    """Minimise along the negative gradients of the active models, which are at 0."""
    prefix, solver = game.prefix, game.solver
    n_features, n = game.dimension, (game.length + WIDTH - 1) // WIDTH * WIDTH
    trials, margins = solver.trials, prefix.margins
    for place in range(n_active):
        copy_multiple(trials[place], 1.0, solver.gradients[solver.active[place]], n_features)
    shape = UPPER if game.triangular else FULL
    kept = n_kept(game)
    combine_columns_of_each(trials, n_active, n_features, prefix.columns, kept, shape, margins)
    if kept < game.length:
        evaluate_overflow(game, n_active)
    for place in range(n_active):
        signs = prefix.signs[solver.active[place]]
        square = dot(trials[place], trials[place], n_features)
        if game.free:
            square -= trials[place, free_column(game)] ** 2
        length = 0.0
        for _ in range(_LEAP_STEPS if square > 0.0 or game.free else 0):
            slope, curvature = slope_along(margins[place], signs, prefix.costs, n, length)
            length -= (slope + length * square) / (curvature + square)
        if not (length < 0.0 and length > -math.inf):
            length = 0.0
        copy_multiple(trials[place], length, trials[place], n_features)
        copy_multiple(margins[place], length, margins[place], n)
    differentiate(game, n_active, 1)
    for place in range(n_active):
        take_trial(game, place)


@part
def share_curvatures(game: LogisticWorkspace, n_active: int, every: int) -> float:
    """Give the active models their mean curvatures, from one block in `every`; return the stiffness."""
    prefix, solver = game.prefix, game.solver
    slopes, costs, active, curvatures = prefix.slopes, prefix.costs, solver.active, solver.factor_curvatures
    stiffness = 0.0
    for i in range((game.length + WIDTH - 1) // WIDTH * WIDTH):
        mean = 0.0
        for place in range(n_active):
            size = abs(slopes[active[place], i])
            mean += size * (1.0 - size)
        curvature = every * costs[i] * mean / n_active if i // WIDTH % every == 0 else 0.0
        for place in range(n_active):
            curvatures[active[place], i] = curvature
    for place in range(n_active):
        stiffness = bound_leverages(game, active[place])
    return stiffness


@symbol
def start(game: LogisticWorkspace) -> None:
    """Give a factor to models that lack one; several share that of their mean curvatures."""
    solver, states, active = game.solver, game.solver.factor_state, game.solver.active
    n_active = 0
    at_zero = True
    for k in range(game.n_models):
        if states[k] == NO_FACTOR:
            active[n_active] = k
            n_active += 1
            _clear_padding(game, k)
            at_zero &= not dot(solver.models[k], solver.models[k], game.dimension) > 0.0
            at_zero &= not solver.restarted[k]
    if n_active == 0:
        return
    differentiate(game, n_active, 0)
    for place in range(n_active):
        take_gradient(game, place)
    if at_zero:
        _leap(game, n_active)
    # If there are many rows a part of them is enough, with larger weights.
    every = 1
    if not game.triangular:
        every = max(1, min(_MAX_SKIPPED, game.length // (2 * game.dimension)))
    if n_active == 1 and every == 1:
        renew_factor(game, active[0])
        _mark_floor(game, active[0])
        return
    stiffness = share_curvatures(game, n_active, every)
    factor = game.n_models if n_active > 1 else active[0]
    factorise(game, factor, active[0], every)
    for place in range(n_active):
        _use_factor(game, active[place], factor, stiffness)
        states[active[place]] = USABLE
    differentiate(game, n_active, 0)
    for place in range(n_active):
        take_gradient(game, place)
        _mark_floor(game, active[place])


@part
def _is_far(game: LogisticWorkspace) -> bool:
    """Whether a reference is likely to be nearer than the sequence of the last fit."""
    lengths, m = game.references.lengths, game.length
    grown = m - game.fitted
    return (
        lengths.shape[0] > 0
        and not game.triangular
        and grown >= _MIN_GROWN
        and grown * _FAR >= m
        and m <= min(2 * lengths[lengths.shape[0] - 1], n_kept(game))
        and not game.solver.restarted[0]
    )


@symbol
def _begin_at_reference(game: LogisticWorkspace) -> None:
    """Start from the model and the factor of the reference whose length is nearest, as a ratio.

    Its Hessian is not comparable with the current one, so it gives no bounds.
    """
    references, solver, prefix = game.references, game.solver, game.prefix
    lengths, m, n_features = references.lengths, game.length, game.dimension
    place = 0
    while place + 1 < lengths.shape[0] and lengths[place] * lengths[place + 1] < m * m:
        place += 1
    n = (m + WIDTH - 1) // WIDTH * WIDTH
    source, factor = references.inverse_factors[place], solver.inverse_factors[0]
    for j in range(n_features):
        copy_multiple(factor[j], 1.0, source[j], j // WIDTH * WIDTH + WIDTH)
    solver.factor_stamps[0] += 1
    _use_factor(game, 0, 0, 0.0)
    solver.factor_state[0] = USABLE
    solver.hessian_slack[0, 0] = 1.0
    solver.factor_curvatures[0, :n] = 0.0
    solver.factor_leverages[0, :n] = 0.0
    _clear_padding(game, 0)
    solver.active[0] = 0
    copy_multiple(solver.trials[0], 1.0, references.models[place], n_features)
    combine_columns_of_each(solver.trials, 1, n_features, prefix.columns, n, FULL, prefix.margins)
    differentiate(game, 1, 1)
    take_trial(game, 0)
    _mark_floor(game, 0)


@part
def share_again(game: LogisticWorkspace) -> None:
    """Give the models that share a factor a new one if it is stale for several of them."""
    solver, shared = game.solver, game.n_models
    n_stale = 0
    for k in range(game.n_models):
        n_stale += solver.factor_of[k] == shared and solver.factor_state[k] == STALE and solver.involved[k]
    if n_stale > 1:
        game.shares_left -= 1
        for k in range(game.n_models):
            if solver.factor_of[k] == shared:
                solver.factor_state[k] = NO_FACTOR
        start(game)


@part
def _own_factor(game: LogisticWorkspace, model: int) -> None:
    """Copy a shared factor, so that a model can change its own."""
    solver = game.solver
    shared, own = solver.inverse_factors[solver.factor_of[model]], solver.inverse_factors[model]
    for j in range(game.dimension):
        copy_multiple(own[j], 1.0, shared[j], j // WIDTH * WIDTH + WIDTH)
    solver.factor_of[model] = model


@part
def _add_last_row(game: LogisticWorkspace, model: int) -> None:
    """Update the factor with the last row if that changes the Hessian much in its direction.

    Otherwise every step would overshoot, and a new factor costs a hundred times as much.
    """
    prefix, solver = game.prefix, game.solver
    last = game.length - 1
    slope = abs(prefix.slopes[model, last])
    curvature = prefix.costs[last] * slope * (1.0 - slope)
    norm, offset = prefix.norms[last], solver.offsets[model]
    stiffness = curvature * norm * norm
    if solver.factor_curvatures[model, last] > 0.0 or not stiffness > _MAX_SURPRISE:
        return
    n = game.dimension
    row, white = solver.trials[0], solver.trial_white_gradients[0]
    read_features(game, last, row)
    row_products(solver.inverse_factors[solver.factor_of[model]], n, row, n, LOWER, white)
    if not curvature * dot(white, white, n) > _MAX_SURPRISE:
        return
    if solver.factor_of[model] != model:
        _own_factor(game, model)
    add_to_factor(solver.inverse_factors[model], n, white, curvature, solver.directions[0])
    solver.factor_stamps[model] += 1
    solver.pairs[model, 0] = 0
    solver.pairs[model, 1] = 0
    solver.factor_curvatures[model, last] = curvature
    solver.factor_leverages[model, last] = leverage(game.free, offset, norm, curvature)
    solver.hessian_slack[model, 1] += _factor_slack(game, model, stiffness)


@symbol
def refresh(game: LogisticWorkspace) -> None:
    """Compute gradients for the current sequence, from known slopes, of the models that have none."""
    solver = game.solver
    states, active, at_floor = solver.factor_state, solver.active, solver.at_floor
    game.shares_left = _MAX_SHARES if game.n_models > 1 else 0
    if _is_far(game):
        _begin_at_reference(game)
    else:
        start(game)
    n_active = 0
    for k in range(game.n_models):
        if at_floor[k] == NO_GRADIENT:
            active[n_active] = k
            n_active += 1
            _clear_padding(game, k)
            _add_last_row(game, k)
    if n_active == 0:
        return
    differentiate(game, n_active, 0)
    for place in range(n_active):
        model = active[place]
        take_gradient(game, place)
        if states[model] == EXACT:
            states[model] = USABLE
        _mark_floor(game, model)
