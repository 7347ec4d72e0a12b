"""Newton steps for the weighted logistic objective, with a factor that is reused from fit to fit.

A model w minimises f(w) = |w|^2 / 2 + sum_i c_i log(1 + exp(-s_i w.x_i)), liblinear's objective with the
intercept as a penalised feature.

From one prefix to the next the optimum and the Hessian change little. So a step starts from -B g, where
B = M^T M is the inverse of an *earlier* Hessian, corrected by the last few steps (the two-loop recursion of
L-BFGS, Nocedal 1980). This is done in white coordinates, where B is the identity: the white gradient is M g,
and steps must shrink its norm |M g|, which does not depend on the scales of the features. The Hessian is
factorised again only if a step gains too little. If a step fails even then, it is halved: along the exact
Newton direction |M g| decreases at first (its derivative is -|M g|), so this ends, whatever the scale of the
data.
"""

from __future__ import annotations

import math

from ordinal_shapley_kernels.abi import part, symbol
from ordinal_shapley_kernels.dense import (
    FULL,
    LOWER,
    UPPER,
    add_multiple,
    copy_multiple,
    dot,
    inline_combine_columns,
    inline_combine_triangle,
)
from ordinal_shapley_kernels.lanes import WIDTH, add_product, load, multiply, splat, store, subtract, total
from ordinal_shapley_kernels.logistic_arrays import (
    EUCLIDEAN_FLOOR,
    EXACT,
    HESSIAN_FLOOR,
    MEMORY,
    NORM,
    ROUNDING,
    STALE,
    USABLE,
    WHITE_NORM,
)
from ordinal_shapley_kernels.logistic_factor import renew_factor, take_trial
from ordinal_shapley_kernels.logistic_floor import LOG_2, rounding_in_hessian_norm
from ordinal_shapley_kernels.logistic_gradient import differentiate
from ordinal_shapley_kernels.logistic_overflow import n_kept
from ordinal_shapley_kernels.logistic_workspace import LogisticWorkspace, evaluate_overflow
from ordinal_shapley_kernels.products import combine_columns_of_each
from ordinal_shapley_kernels.workspace import Matrix, Vector

# A factor that costs more steps than this is expensive.
_DEAR = 10.0
_SHORTEST_STEP = 1e-10
_SHORTEST_EXACT_STEP = 1e-6

# A model keeps a factor of other sequences, with which it began, this many times longer.
_PATIENCE = 12.0

# How many steps of models that share a factor and passes over the rows cost as much as one alone.
_TOGETHER = 3.0

# Outcomes of a trial
_TAKEN = 0
_AGAIN = 1
_FLOOR = 2
_LEFT = 3  # until the shared factor has been renewed


@part
def _correct_direction(
    white_gradient: Vector,
    steps: Matrix,
    changes: Matrix,
    scales: Vector,
    n_pairs: int,
    newest: int,
    shared: int,
    n: int,
    along: Vector,
    out: Vector,
) -> None:
    """Two-loop recursion of L-BFGS from the identity: out[:n] = -(inverse Hessian, roughly) gradient[:n]."""
    copy_multiple(out, -1.0, white_gradient, n)
    for k in range(n_pairs):
        slot = (newest - k) % MEMORY
        along[slot] = scales[slot] * dot(steps[slot], out, n)
        add_multiple(out, -along[slot], changes[slot], n)
    if n_pairs > 0:
        # How much less the gradient changes than with the earlier Hessian.
        slot = newest % MEMORY
        longer = 1.0 / (scales[slot] * dot(changes[slot], changes[slot], n))
        if longer > 1.0 and shared:
            copy_multiple(out, longer, out, n)
    for k in range(n_pairs):
        slot = (newest - (n_pairs - 1 - k)) % MEMORY
        across = scales[slot] * dot(changes[slot], out, n)
        add_multiple(out, along[slot] - across, steps[slot], n)


@part
def _remember_step(
    scale: float,
    n: int,
    direction: Vector,
    trial_gradient: Vector,
    gradient: Vector,
    step: Vector,
    change: Vector,
) -> float:
    """Write step and change of gradient, both white; returns 1 / (step . change), or 0 if unreliable."""
    scales = splat(scale)
    curvature = length = splat(0.0)
    for j in range(0, n, WIDTH):
        moved = multiply(scales, load(direction, j))
        changed = subtract(load(trial_gradient, j), load(gradient, j))
        store(step, j, moved)
        store(change, j, changed)
        curvature = add_product(curvature, moved, changed)
        length = add_product(length, moved, moved)
    products = total(curvature)
    # Otherwise the Hessian is far from the factorised one, or this is rounding.
    return 1.0 / products if products > 1e-3 * total(length) and products > 0.0 else 0.0


@part
def _factor_in_steps(m: int, n_features: int) -> float:
    """Cost of a new factor in steps.

    Costs are measured nanoseconds; the formula was tuned for speed on problems of 14 to 200 features.
    """
    factor = n_features * n_features * (m / 50.0 + n_features / 42.0) + 500.0
    step = n_features * (m / 10.0 + n_features / 7.5) + m + 500.0
    return factor / step


@part
def _steps_for_factor(game: LogisticWorkspace, model: int) -> float:
    """Steps that a model takes rather than compute a new factor."""
    steps = _factor_in_steps(game.length, game.dimension)
    # Without references this slack means that rows have left the sequence, not that the factor is foreign.
    foreign = game.references.lengths.shape[0] > 0 and game.solver.hessian_slack[model, 0] >= 1.0
    return steps * _PATIENCE if foreign else steps


@symbol
def _aim(game: LogisticWorkspace, place: int) -> None:
    """Find the white direction of an active model, with a new factor if its own is stale."""
    solver = game.solver
    model = solver.active[place]
    if solver.factor_state[model] <= STALE:
        renew_factor(game, model)
    _correct_direction(
        solver.white_gradients[model],
        solver.white_steps[model],
        solver.white_changes[model],
        solver.curvature_scales[model],
        solver.pairs[model, 0],
        solver.pairs[model, 1] + MEMORY - 1,
        solver.factor_of[model] == game.n_models,
        game.dimension,
        solver.pair_products,
        solver.white_directions[model],
    )


@symbol
def _point(game: LogisticWorkspace, n_active: int) -> None:
    """Transform the new white directions of the active models to features."""
    solver, n = game.solver, game.dimension
    active, scales, factor_of = solver.active, solver.scales, solver.factor_of
    inverse_factors, directions, white_directions = (
        solver.inverse_factors,
        solver.directions,
        solver.white_directions,
    )
    together = n_active >= 4
    for place in range(n_active):
        model = active[place]
        together &= scales[model] == 0.0 and factor_of[model] == factor_of[active[0]]
    if together:
        trials, white = solver.trials, solver.trial_white_gradients
        for place in range(n_active):
            copy_multiple(white[place], 1.0, white_directions[active[place]], n)
        factor = inverse_factors[factor_of[active[0]]]
        combine_columns_of_each(white, n_active, n, factor, n, LOWER, trials)
    for place in range(n_active):
        model = active[place]
        if scales[model] == 0.0:
            scales[model] = 1.0
            if together:
                copy_multiple(directions[model], 1.0, solver.trials[place], n)
            else:
                factor = inverse_factors[factor_of[model]]
                inline_combine_triangle(white_directions[model], factor, n, directions[model])


@symbol
def _judge(game: LogisticWorkspace, place: int) -> int:
    """Return the outcome of a trial, and take it if it is better."""
    solver = game.solver
    n, m = game.dimension, game.length
    model = solver.active[place]
    bounds, trial_bounds = solver.bounds[model], solver.trial_bounds[place]
    factor_state, at_floor, pairs, scales = solver.factor_state, solver.at_floor, solver.pairs, solver.scales
    exact = at_floor[model] == EUCLIDEAN_FLOOR
    scale = scales[model]
    size, rounding, min_gain = bounds[NORM], bounds[ROUNDING], 0.1
    radius = math.inf
    if exact:
        size = bounds[WHITE_NORM]
        rounding = rounding_in_hessian_norm(game, model)
        radius = 2.0 * (size + rounding)
        if not radius * (game.prefix.largest[m - 1] + solver.offsets[model]) <= LOG_2:
            radius = math.inf
        # The rounding bound is a worst case: below it a step that halves the gradient still helps.
        min_gain = 0.5 if size <= rounding else 0.1
    if trial_bounds[WHITE_NORM] < (1.0 - min_gain * scale) * bounds[WHITE_NORM]:
        slot = pairs[model, 1]
        curvature_scale = _remember_step(
            scale,
            n,
            solver.white_directions[model],
            solver.trial_white_gradients[place],
            solver.white_gradients[model],
            solver.white_steps[model, slot],
            solver.white_changes[model, slot],
        )
        if curvature_scale > 0.0:
            solver.curvature_scales[model, slot] = curvature_scale
            pairs[model, 0] = min(pairs[model, 0] + 1, MEMORY)
            pairs[model, 1] = (slot + 1) % MEMORY
        steps = _steps_for_factor(game, model)
        if solver.factor_of[model] == game.n_models:
            steps *= _TOGETHER
        slow = trial_bounds[WHITE_NORM] > (0.3 + 0.6 * steps / (steps + 3.0)) * bounds[WHITE_NORM]
        factor_state[model] = STALE if slow else USABLE
        take_trial(game, place)
        if not exact and bounds[NORM] <= bounds[ROUNDING]:
            at_floor[model] = EUCLIDEAN_FLOOR
        return _TAKEN
    at_end = False
    if factor_state[model] == EXACT:
        # Near the floor rounding decides which gradient is smaller, so halving the step is useless.
        at_end = size <= 10.0 * rounding
        scales[model] = 0.5 * scale
    elif scale > 0.2 and _steps_for_factor(game, model) > _DEAR:
        # Several shorter steps cost less than a factor.
        scales[model] = 0.5 * scale
    else:
        factor_state[model] = STALE
        if game.shares_left > 0 and solver.factor_of[model] == game.n_models:
            return _LEFT  # others may need a new factor as well
        scales[model] = 0.0
        return _AGAIN
    if not at_end and scales[model] > (_SHORTEST_EXACT_STEP if exact else _SHORTEST_STEP):
        return _AGAIN
    if exact:
        solver.hessian_radii[model] = radius
    at_floor[model] = HESSIAN_FLOOR if exact else EUCLIDEAN_FLOOR
    return _FLOOR


@symbol
def improve(game: LogisticWorkspace) -> None:
    """Take one step that shrinks the white gradient of each involved model, or find that none does.

    Reads the solver's gradients at the current models; writes all of the solver's state for these models. A
    model that no step improves is at its floor. At the Euclidean floor it takes exact Newton steps, and if
    none of them improves it, it is final, with a bound in the Hessian's norm.
    """
    solver, prefix = game.solver, game.prefix
    n, n_rows = game.dimension, n_kept(game)
    active, scales, trials = solver.active, solver.scales, solver.trials
    models, directions = solver.models, solver.directions
    n_active = 0
    for k in range(game.n_models):
        if solver.involved[k]:
            active[n_active] = k
            n_active += 1
            scales[k] = 0.0
            if solver.at_floor[k] == EUCLIDEAN_FLOOR:
                solver.factor_state[k] = STALE
    while n_active > 0:
        for place in range(n_active):
            if scales[active[place]] == 0.0:
                _aim(game, place)
        _point(game, n_active)
        for place in range(n_active):
            model = active[place]
            copy_multiple(trials[place], 1.0, models[model], n)
            add_multiple(trials[place], scales[model], directions[model], n)
        if n_active == 1:
            inline_combine_columns(trials[0], n, prefix.columns, n_rows, game.triangular, prefix.margins[0])
        else:
            shape = UPPER if game.triangular else FULL
            combine_columns_of_each(trials, n_active, n, prefix.columns, n_rows, shape, prefix.margins)
        if n_rows < game.length:
            evaluate_overflow(game, n_active)
        differentiate(game, n_active, 1)
        n_left = 0
        for place in range(n_active):
            if _judge(game, place) == _AGAIN:
                active[n_left] = active[place]
                n_left += 1
        n_active = n_left
