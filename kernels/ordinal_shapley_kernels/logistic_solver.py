"""Newton steps for the weighted logistic objective, with a factor that is reused from fit to fit.

A model w minimises f(w) = |w|^2 / 2 + sum_i c_i log(1 + exp(-s_i w.x_i)), liblinear's objective with the
intercept as a penalised feature.

From one prefix to the next the optimum and the Hessian move little. So a step starts from -B g, where B =
M^T M is the inverse of an *earlier* Hessian, corrected by the last few steps (the two-loop recursion of
L-BFGS, Nocedal 1980). All of it is done in white coordinates, where B is the identity: the white gradient is
M g, and its norm |M g|, which does not depend on the scales of the features, is what steps must shrink. The
Hessian is factorised anew only when a step gains too little. If a step fails even then, it is halved: along
the exact Newton direction |M g| falls at first (its derivative is -|M g|), so this ends, whatever the scale
of the data.
"""

from __future__ import annotations

import math

from ordinal_shapley_kernels.abi import part, symbol
from ordinal_shapley_kernels.dense import (
    LOWER,
    add_multiple,
    add_to_factor,
    copy_multiple,
    dot,
    inline_combine_columns,
    inline_combine_triangle,
    invert_factor,
    regularised_gram,
    row_products,
)
from ordinal_shapley_kernels.lanes import (
    WIDTH,
    add_product,
    load,
    multiply,
    splat,
    store,
    subtract,
    total,
)
from ordinal_shapley_kernels.logistic_floor import LOG_2, rounding_in_hessian_norm
from ordinal_shapley_kernels.logistic_gradient import (
    bound_distance,
    differentiate,
    factor_curvatures,
)
from ordinal_shapley_kernels.logistic_workspace import (
    EPSILON,
    EUCLIDEAN_FLOOR,
    HESSIAN_FLOOR,
    MEMORY,
    N_BOUNDS,
    NORM,
    NOT_AT_FLOOR,
    ROUNDING,
    WHITE_NORM,
    LogisticWorkspace,
)
from ordinal_shapley_kernels.workspace import Matrix, Vector

NO_FACTOR = 0
STALE = 1  # gains too little: factorise before the next step
USABLE = 2
EXACT = 3  # of the Hessian at the present model

# A new row whose curvature in white coordinates exceeds this is brought into the factor.
_LARGEST_SURPRISE = 4.0
_SHORTEST_STEP = 1e-10
_SHORTEST_EXACT_STEP = 1e-6


@part
def _try_model(game: LogisticWorkspace, model: int) -> None:
    """Gradient at the trial; writes the last row of slopes, gradients and bounds."""
    prefix = game.prefix
    trial = game.n_models
    n = (game.length + WIDTH - 1) // WIDTH * WIDTH
    margins = prefix.margins
    inline_combine_columns(
        game.solver.models[trial], game.dimension, prefix.columns, n, game.triangular, margins
    )
    differentiate(game, model, trial, 1)


@part
def _move_to_trial(game: LogisticWorkspace, model: int) -> None:
    """Make the trial the model."""
    solver, slopes = game.solver, game.prefix.slopes
    models, gradients, white_gradients = solver.models, solver.gradients, solver.white_gradients
    bounds = solver.bounds
    n, trial = game.dimension, game.n_models
    copy_multiple(models[model], 1.0, models[trial], n)
    copy_multiple(gradients[model], 1.0, gradients[trial], n)
    copy_multiple(white_gradients[model], 1.0, white_gradients[trial], n)
    copy_multiple(slopes[model], 1.0, slopes[trial], (game.length + WIDTH - 1) // WIDTH * WIDTH)
    for i in range(N_BOUNDS):
        bounds[model, i] = bounds[trial, i]


@part
def forget(game: LogisticWorkspace, model: int, m: int) -> None:
    """Put a model back to 0, with neither factor nor remembered steps."""
    solver, slopes, signs = game.solver, game.prefix.slopes, game.prefix.signs
    models = solver.models
    for j in range(models.shape[1]):
        models[model, j] = 0.0
    solver.factor_state[model] = NO_FACTOR
    solver.pairs[model, 0] = 0
    solver.pairs[model, 1] = 0
    for i in range(m):
        slopes[model, i] = -0.5 * signs[model, i]


@symbol
def factorise(game: LogisticWorkspace, model: int) -> None:
    """Factorise the Hessian at the model, forget earlier steps and renew what depends on the factor."""
    prefix, solver = game.prefix, game.solver
    m, n_features = game.length, game.dimension
    n = (m + WIDTH - 1) // WIDTH * WIDTH
    inverse_factor = solver.inverse_factors[model]
    curvatures = solver.factor_curvatures[model]
    stiffness = factor_curvatures(
        prefix.slopes[model], prefix.costs, prefix.norms, n, curvatures, solver.factor_leverages[model]
    )
    regularised_gram(
        prefix.columns, n_features, curvatures, n, game.triangular, prefix.scaled, inverse_factor
    )
    invert_factor(inverse_factor, n_features)
    solver.factor_state[model] = EXACT
    solver.factor_stamps[model] += 1
    solver.pairs[model, 0] = 0
    solver.pairs[model, 1] = 0
    # Backward error of the products and of the elimination, against H_s >= I.
    made_up = 4.0 * (m + n_features) * EPSILON * (1.0 + stiffness)
    solver.hessian_slack[model, 0] = 0.0
    solver.hessian_slack[model, 1] = made_up
    white_gradient = solver.white_gradients[model]
    row_products(inverse_factor, n_features, solver.gradients[model], n_features, LOWER, white_gradient)
    bounds = solver.bounds[model]
    bounds[WHITE_NORM] = math.sqrt(dot(white_gradient, white_gradient, n_features))
    bound_distance(bounds, 1.0 - made_up, prefix.largest[m - 1], n_features)


@part
def _add_last_row(game: LogisticWorkspace, model: int) -> None:
    """Bring the last row into the factor if it changes the Hessian much in its direction.

    Such a row makes every step with the old factor overshoot, and a new one would cost a hundred times this.
    """
    prefix, solver = game.prefix, game.solver
    last = game.length - 1
    slope = abs(prefix.slopes[model, last])
    curvature = prefix.costs[last] * slope * (1.0 - slope)
    square = prefix.norms[last] * prefix.norms[last]
    stiffness = curvature * square
    if solver.factor_curvatures[model, last] > 0.0 or not stiffness > _LARGEST_SURPRISE:
        return
    n = game.dimension
    columns, inverse_factor = prefix.columns, solver.inverse_factors[model]
    row, white = solver.models[game.n_models], solver.white_gradients[game.n_models]
    for j in range(n):
        row[j] = columns[j, last]
    row_products(inverse_factor, n, row, n, LOWER, white)
    if not curvature * dot(white, white, n) > _LARGEST_SURPRISE:
        return
    add_to_factor(inverse_factor, n, white, curvature, solver.direction)
    solver.factor_stamps[model] += 1
    solver.pairs[model, 0] = 0
    solver.pairs[model, 1] = 0
    solver.factor_curvatures[model, last] = curvature
    solver.factor_leverages[model, last] = square / (1.0 + stiffness)
    solver.hessian_slack[model, 1] += 4.0 * (game.length + n) * EPSILON * (1.0 + stiffness)


@part
def refresh(game: LogisticWorkspace, model: int) -> None:
    """Gradient of a model for the sequence at hand, from the slopes that are known."""
    solver = game.solver
    curvatures, slopes = solver.factor_curvatures[model], game.prefix.slopes[model]
    m = game.length
    for i in range(m, (m + WIDTH - 1) // WIDTH * WIDTH):
        curvatures[i] = 0.0
        slopes[i] = 0.0
    if solver.factor_state[model] != NO_FACTOR:
        _add_last_row(game, model)
    differentiate(game, model, model, 0)
    if solver.factor_state[model] == NO_FACTOR:
        factorise(game, model)
    elif solver.factor_state[model] == EXACT:
        solver.factor_state[model] = USABLE
    bounds = solver.bounds[model]
    solver.at_floor[model] = EUCLIDEAN_FLOOR if bounds[NORM] <= bounds[ROUNDING] else NOT_AT_FLOOR


@part
def _correct_direction(
    white_gradient: Vector,
    steps: Matrix,
    changes: Matrix,
    scales: Vector,
    n_pairs: int,
    newest: int,
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
    """Write step and change of gradient, both white; returns 1 / (step . change), 0 if it would mislead."""
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
    # The Hessian is far from the factorised one, or this is rounding.
    return 1.0 / products if products > 1e-3 * total(length) and products > 0.0 else 0.0


@part
def _largest_share_left(m: int, n_features: int) -> float:
    """Share of the white gradient that a step may leave before a new factor pays.

    The more steps a factor costs, the larger. Costs are nanoseconds as measured; the form was fitted to what
    is fastest on problems of 14 to 200 features.
    """
    factor = n_features * n_features * (m / 50.0 + n_features / 42.0) + 500.0
    step = n_features * (m / 10.0 + n_features / 7.5) + m + 500.0
    return 0.3 + 0.6 * factor / (factor + 3.0 * step)


@symbol
def improve(game: LogisticWorkspace, model: int) -> None:
    """Take one step that shrinks the white gradient of a model, or find that none does.

    Reads the solver's gradient at the present weights; writes all of the solver's state of the model. A
    model that no step improves is at its floor. One that is at its Euclidean floor already takes exact Newton
    steps, and when none of those improves it is settled for good, with a bound in the Hessian's norm.
    """
    solver = game.solver
    n, m, trial = game.dimension, game.length, game.n_models
    bounds, trial_bounds = solver.bounds[model], solver.bounds[trial]
    factor_state, at_floor, pairs = solver.factor_state, solver.at_floor, solver.pairs
    models, white_gradients = solver.models, solver.white_gradients
    direction, white_direction = solver.direction, solver.white_direction
    steps, changes, scales = (
        solver.white_steps[model],
        solver.white_changes[model],
        solver.curvature_scales[model],
    )
    exact = at_floor[model] == EUCLIDEAN_FLOOR
    if exact:
        factor_state[model] = STALE
    size, rounding, least_gain = bounds[NORM], bounds[ROUNDING], 0.1
    radius = math.inf
    scale = 1.0
    needs_direction = True
    while scale > (_SHORTEST_EXACT_STEP if exact else _SHORTEST_STEP):
        if needs_direction:
            if factor_state[model] <= STALE:
                factorise(game, model)
            newest = pairs[model, 1] + MEMORY - 1
            _correct_direction(
                white_gradients[model],
                steps,
                changes,
                scales,
                pairs[model, 0],
                newest,
                n,
                solver.pair_products,
                white_direction,
            )
            inline_combine_triangle(white_direction, solver.inverse_factors[model], n, direction)
            needs_direction = False
            if exact:
                size = bounds[WHITE_NORM]
                rounding = rounding_in_hessian_norm(game, model)
                radius = 2.0 * (size + rounding)
                if not radius * game.prefix.largest[m - 1] <= LOG_2:
                    radius = math.inf
                # The rounding bound is a worst case: a step that halves the gradient pays below it.
                least_gain = 0.5 if size <= rounding else 0.1
        copy_multiple(models[trial], 1.0, models[model], n)
        add_multiple(models[trial], scale, direction, n)
        _try_model(game, model)
        if trial_bounds[WHITE_NORM] < (1.0 - least_gain * scale) * bounds[WHITE_NORM]:
            slot = pairs[model, 1]
            curvature_scale = _remember_step(
                scale,
                n,
                white_direction,
                white_gradients[trial],
                white_gradients[model],
                steps[slot],
                changes[slot],
            )
            if curvature_scale > 0.0:
                scales[slot] = curvature_scale
                pairs[model, 0] = min(pairs[model, 0] + 1, MEMORY)
                pairs[model, 1] = (slot + 1) % MEMORY
            slow = trial_bounds[WHITE_NORM] > _largest_share_left(m, n) * bounds[WHITE_NORM]
            factor_state[model] = STALE if slow else USABLE
            _move_to_trial(game, model)
            if not exact and bounds[NORM] <= bounds[ROUNDING]:
                at_floor[model] = EUCLIDEAN_FLOOR
            return
        if factor_state[model] == EXACT:
            # Near the floor rounding decides which of two gradients is smaller: halving is in vain.
            if size <= 10.0 * rounding:
                break
            scale *= 0.5
        else:
            factor_state[model] = STALE
            needs_direction = True
    if exact:
        solver.hessian_radii[model] = radius
    at_floor[model] = HESSIAN_FLOOR if exact else EUCLIDEAN_FLOOR
