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

How far is the optimum w*? f is 1-strongly convex, so |w - w*| <= |g|. Much sharper is the same with the
earlier Hessian H_s in place of the identity. If H(w) >= c H_s and no row is longer than X, curvatures fall at
most by exp(-X |w - w*|) on the way to w*, and with r = |L^T (w - w*)| and u = X |M g| / c

    c r (1 - exp(-X r)) / (X r) <= |M g|,   so   r <= -log(1 - u) / X,

hence the Hessians on the way average at least c' = -c u / log(1 - u) times H_s, and

    c' |L^T (w* - w)|^2 <= (M g).(L^T (w - w*)),

a ball around w - B g / (2 c') with radius |M g| / (2 c'). A row x of the factor with curvature s counts at
most |x|^2 / (1 + s |x|^2) in white coordinates (squared), so the rows whose curvature has fallen below
c s cost at most the sum of (c s - curvature) |x|^2 / (1 + s |x|^2): H(w) >= (c - that sum) H_s.
"""

from __future__ import annotations

import math

from ordinal_shapley_kernels._jit import kernel
from ordinal_shapley_kernels.dense import (
    FULL,
    LOWER,
    UPPER,
    Matrix,
    Vector,
    add_multiple,
    add_to_factor,
    combine_columns,
    combine_triangle,
    copy_multiple,
    dot,
    invert_factor,
    regularised_gram,
    row_products,
)
from ordinal_shapley_kernels.elementary import exp_lanes
from ordinal_shapley_kernels.lanes import WIDTH, load, magnitude, splat, store, total
from ordinal_shapley_kernels.logistic_floor import LOG_2, rounding_in_hessian_norm
from ordinal_shapley_kernels.logistic_workspace import (
    DIMENSION,
    EPSILON,
    EUCLIDEAN_FLOOR,
    HALF,
    HESSIAN_FLOOR,
    MEMORY,
    N_FACTS,
    NORM,
    NOT_AT_FLOOR,
    RADIUS,
    ROUNDING,
    SCORE_ROUNDING,
    SHARE,
    TRIANGULAR,
    WHITE_NORM,
    Prefix,
    Solver,
)

NO_FACTOR = 0
STALE = 1  # gains too little: factorise before the next step
USABLE = 2
EXACT = 3  # of the Hessian at the present model

# A new row whose curvature in white coordinates exceeds this is brought into the factor.
_LARGEST_SURPRISE = 4.0
_SHORTEST_STEP = 1e-10
_SHORTEST_EXACT_STEP = 1e-6
# Shares c of the factorised Hessian that the present one is compared with.
_HIGH_SHARE = 0.7
_LOW_SHARE = 0.3
# Largest u for which the bound is used.
_FURTHEST = 0.95
# Covers the rounding of an inverse factor whose matrix is right to within itself (see `factorise`).
_FACTOR_SLACK = 1.0 + 1e-5


@kernel()
def find_slopes(margins: Vector, signs: Vector, n: int, slopes: Vector) -> None:
    """Derivatives of the losses log(1 + exp(-sign * margin)) by the decision values."""
    for i in range(0, n, WIDTH):
        sign = load(signs, i)
        store(slopes, i, (splat(0.0) - sign) / (splat(1.0) + exp_lanes(sign * load(margins, i))))


@kernel()
def _weigh_slopes(
    slopes: Vector,
    costs: Vector,
    norms: Vector,
    factor_curvatures: Vector,
    factor_levers: Vector,
    n: int,
    residuals: Vector,
) -> tuple[float, float, float, float]:
    """Write `residuals`, the slopes times the costs.

    Returns sum_i |residual_i| |x_i|, sum_i curvature_i |x_i|^2, and what the rows whose curvature has
    fallen below a share of the factorised one take off that share, for the high and the low share.
    """
    pull = stiffness = high = low = splat(0.0)
    high_share, low_share = splat(_HIGH_SHARE), splat(_LOW_SHARE)
    for i in range(0, n, WIDTH):
        slope = load(slopes, i)
        residual = load(costs, i) * slope
        store(residuals, i, residual)
        size = magnitude(residual)
        curvature = size * (splat(1.0) - magnitude(slope))
        norm = load(norms, i)
        pull = pull + size * norm
        stiffness = stiffness + curvature * (norm * norm)
        factorised = load(factor_curvatures, i)
        lever = load(factor_levers, i)
        lack = high_share * factorised - curvature
        high = high + (lack + magnitude(lack)) * lever
        lack = low_share * factorised - curvature
        low = low + (lack + magnitude(lack)) * lever
    return total(pull), total(stiffness), 0.5 * total(high), 0.5 * total(low)


@kernel()
def _factor_curvatures(
    slopes: Vector, costs: Vector, norms: Vector, n: int, curvatures: Vector, levers: Vector
) -> float:
    """Write the curvatures of the rows and bounds on their white norms; returns sum_i curvature_i |x_i|^2."""
    stiffness = splat(0.0)
    one = splat(1.0)
    for i in range(0, n, WIDTH):
        size = magnitude(load(slopes, i))
        curvature = load(costs, i) * size * (one - size)
        norm = load(norms, i)
        stiff = curvature * (norm * norm)
        store(curvatures, i, curvature)
        store(levers, i, (norm * norm) / (one + stiff))
        stiffness = stiffness + stiff
    return total(stiffness)


@kernel()
def _add_weights(gradient: Vector, weights: Vector, n_features: int) -> tuple[float, float]:
    """gradient += weights, in place; returns the norms of both."""
    norm = size = splat(0.0)
    for j in range(0, n_features, WIDTH):
        weight = load(weights, j)
        entry = load(gradient, j) + weight
        store(gradient, j, entry)
        norm = norm + entry * entry
        size = size + weight * weight
    return math.sqrt(total(norm)), math.sqrt(total(size))


@kernel()
def bound_distance(facts: Vector, share: float, longest: float, n_features: int) -> None:
    """Write SHARE, RADIUS and HALF, given the share c of H_s in the present Hessian."""
    rounding = facts[ROUNDING] + n_features * math.sqrt(n_features) * EPSILON * facts[NORM]
    size = _FACTOR_SLACK * facts[WHITE_NORM] + rounding
    facts[SHARE] = 0.0
    facts[RADIUS] = math.inf
    facts[HALF] = math.inf
    if longest * size < _FURTHEST * share:
        reach = longest * size / share
        if reach > 1e-9:
            share *= -reach / math.log1p(-reach)
        facts[SHARE] = share
        facts[RADIUS] = size / share
        facts[HALF] = (size + rounding) / (2.0 * share)


@kernel(internal=True, inline=True)
def differentiate(
    prefix: Prefix,
    solver: Solver,
    model: int,
    m: int,
    dimension: float,
    slopes: Vector,
    weights: Vector,
    gradient: Vector,
    white_gradient: Vector,
    facts: Vector,
) -> None:
    """Gradient of a model's objective over m rows at `weights`, and what it says of the optimum.

    Writes the last three arguments, and the prefix's residuals. The bound on what rounding may have done to
    the gradient is (m + 4) eps (|w| + sum |residual_i| |x_i|) for the sums, and the effect on the residuals
    of decision values that are `dimension` terms long, dimension eps |w| (1 + sum curvature_i |x_i|^2). Of
    wide data each inner product is that uncertain, and sum |residual_i| |x_i| is added to |w| there.
    """
    n = (m + WIDTH - 1) // WIDTH * WIDTH
    n_features = solver.extent[DIMENSION]
    pull, stiffness, high, low = _weigh_slopes(
        slopes,
        prefix.costs,
        prefix.norms,
        solver.factor_curvatures[model],
        solver.factor_levers[model],
        n,
        prefix.residuals,
    )
    shape = UPPER if solver.extent[TRIANGULAR] else FULL
    row_products(prefix.columns, n_features, prefix.residuals, n, shape, gradient)
    norm, size = _add_weights(gradient, weights, n_features)
    inverse_factor = solver.inverse_factors[model]
    row_products(inverse_factor, n_features, gradient, n_features, LOWER, white_gradient)
    spread = size + pull if solver.extent[TRIANGULAR] else size
    facts[NORM] = norm
    facts[ROUNDING] = EPSILON * ((m + 4) * (size + pull) + dimension * spread * (1.0 + stiffness))
    facts[WHITE_NORM] = math.sqrt(dot(white_gradient, white_gradient, n_features))
    facts[SCORE_ROUNDING] = EPSILON * dimension * spread
    kept = 1.0 - solver.factor_losses[model, 0] - solver.factor_losses[model, 1]
    share = max(_HIGH_SHARE * kept - high, _LOW_SHARE * kept - low)
    bound_distance(facts, share, prefix.largest[m - 1], n_features)


@kernel(internal=True, inline=True)
def try_model(prefix: Prefix, solver: Solver, model: int, m: int, dimension: float) -> None:
    """Gradient at `solver.trial`; writes the prefix's trial slopes and the solver's trial."""
    n = (m + WIDTH - 1) // WIDTH * WIDTH
    n_features = solver.extent[DIMENSION]
    triangular = solver.extent[TRIANGULAR] == 1
    combine_columns(solver.trial, n_features, prefix.columns, n, triangular, prefix.margins)
    find_slopes(prefix.margins, prefix.signs[model], n, prefix.trial_slopes)
    differentiate(
        prefix,
        solver,
        model,
        m,
        dimension,
        prefix.trial_slopes,
        solver.trial,
        solver.trial_gradient,
        solver.trial_white_gradient,
        solver.facts[solver.models.shape[0]],
    )


@kernel(internal=True, inline=True)
def move_to_trial(prefix: Prefix, solver: Solver, model: int, m: int) -> None:
    """Make the trial the model."""
    n = solver.extent[DIMENSION]
    copy_multiple(solver.models[model], 1.0, solver.trial, n)
    copy_multiple(solver.gradients[model], 1.0, solver.trial_gradient, n)
    copy_multiple(solver.white_gradients[model], 1.0, solver.trial_white_gradient, n)
    copy_multiple(prefix.slopes[model], 1.0, prefix.trial_slopes, (m + WIDTH - 1) // WIDTH * WIDTH)
    for i in range(N_FACTS):
        solver.facts[model, i] = solver.facts[solver.models.shape[0], i]


@kernel(internal=True, inline=True)
def forget(prefix: Prefix, solver: Solver, model: int, m: int) -> None:
    """Put a model back to 0, with neither factor nor remembered steps."""
    solver.models[model, :] = 0.0
    solver.factor_state[model] = NO_FACTOR
    solver.pairs[model, :] = 0
    for i in range(m):
        prefix.slopes[model, i] = -0.5 * prefix.signs[model, i]


@kernel(internal=True)
def factorise(prefix: Prefix, solver: Solver, model: int, m: int) -> None:
    """Factorise the Hessian at the model, forget earlier steps and renew what depends on the factor."""
    n = (m + WIDTH - 1) // WIDTH * WIDTH
    n_features = solver.extent[DIMENSION]
    triangular = solver.extent[TRIANGULAR] == 1
    inverse_factor = solver.inverse_factors[model]
    curvatures = solver.factor_curvatures[model]
    stiffness = _factor_curvatures(
        prefix.slopes[model], prefix.costs, prefix.norms, n, curvatures, solver.factor_levers[model]
    )
    regularised_gram(prefix.columns, n_features, curvatures, n, triangular, prefix.scaled, inverse_factor)
    invert_factor(inverse_factor, n_features)
    solver.factor_state[model] = EXACT
    solver.factor_stamps[model] += 1
    solver.pairs[model, 0] = 0
    solver.pairs[model, 1] = 0
    # Backward error of the products and of the elimination, against H_s >= I.
    made_up = 4.0 * (m + n_features) * EPSILON * (1.0 + stiffness)
    solver.factor_losses[model, 0] = 0.0
    solver.factor_losses[model, 1] = made_up
    white_gradient = solver.white_gradients[model]
    row_products(inverse_factor, n_features, solver.gradients[model], n_features, LOWER, white_gradient)
    facts = solver.facts[model]
    facts[WHITE_NORM] = math.sqrt(dot(white_gradient, white_gradient, n_features))
    bound_distance(facts, 1.0 - made_up, prefix.largest[m - 1], n_features)


@kernel(internal=True, inline=True)
def _add_last_row(prefix: Prefix, solver: Solver, model: int, m: int) -> None:
    """Bring the last row into the factor if it changes the Hessian much in its direction.

    Such a row makes every step with the old factor overshoot, and a new one would cost a hundred times this.
    """
    last = m - 1
    slope = abs(prefix.slopes[model, last])
    curvature = prefix.costs[last] * slope * (1.0 - slope)
    stiffness = curvature * prefix.norms[last] * prefix.norms[last]
    if solver.factor_curvatures[model, last] > 0.0 or not stiffness > _LARGEST_SURPRISE:
        return
    n = solver.extent[DIMENSION]
    row, white = solver.trial, solver.trial_white_gradient
    for j in range(n):
        row[j] = prefix.columns[j, last]
    row_products(solver.inverse_factors[model], n, row, n, LOWER, white)
    if not curvature * dot(white, white, n) > _LARGEST_SURPRISE:
        return
    add_to_factor(solver.inverse_factors[model], n, white, curvature, solver.direction)
    solver.factor_stamps[model] += 1
    solver.pairs[model, 0] = 0
    solver.pairs[model, 1] = 0
    solver.factor_curvatures[model, last] = curvature
    solver.factor_levers[model, last] = prefix.norms[last] * prefix.norms[last] / (1.0 + stiffness)
    solver.factor_losses[model, 1] += 4.0 * (m + n) * EPSILON * (1.0 + stiffness)


@kernel(internal=True, inline=True)
def refresh(prefix: Prefix, solver: Solver, model: int, m: int, dimension: float) -> None:
    """Gradient of a model for the sequence at hand, from the slopes that are known."""
    for i in range(m, (m + WIDTH - 1) // WIDTH * WIDTH):
        solver.factor_curvatures[model, i] = 0.0
        prefix.slopes[model, i] = 0.0
    if solver.factor_state[model] != NO_FACTOR:
        _add_last_row(prefix, solver, model, m)
    facts = solver.facts[model]
    differentiate(
        prefix,
        solver,
        model,
        m,
        dimension,
        prefix.slopes[model],
        solver.models[model],
        solver.gradients[model],
        solver.white_gradients[model],
        facts,
    )
    if solver.factor_state[model] == NO_FACTOR:
        factorise(prefix, solver, model, m)
    elif solver.factor_state[model] == EXACT:
        solver.factor_state[model] = USABLE
    solver.at_floor[model] = EUCLIDEAN_FLOOR if facts[NORM] <= facts[ROUNDING] else NOT_AT_FLOOR


@kernel()
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


@kernel()
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
        moved = scales * load(direction, j)
        changed = load(trial_gradient, j) - load(gradient, j)
        store(step, j, moved)
        store(change, j, changed)
        curvature = curvature + moved * changed
        length = length + moved * moved
    products = total(curvature)
    # The Hessian is far from the factorised one, or this is rounding.
    return 1.0 / products if products > 1e-3 * total(length) and products > 0.0 else 0.0


@kernel()
def _largest_share_left(m: int, n_features: int) -> float:
    """Share of the white gradient that a step may leave before a new factor pays.

    The more steps a factor costs, the larger. Costs are nanoseconds as measured; the form was fitted to what
    is fastest on problems of 14 to 200 features.
    """
    factor = n_features * n_features * (m / 50.0 + n_features / 42.0) + 500.0
    step = n_features * (m / 10.0 + n_features / 7.5) + m + 500.0
    return 0.3 + 0.6 * factor / (factor + 12.0 * step)


@kernel(internal=True, inline=True)
def improve(prefix: Prefix, solver: Solver, model: int, m: int, dimension: float) -> None:
    """Take one step that shrinks the white gradient of a model, or find that none does.

    Reads the solver's gradient at the present weights; writes all of the solver's state of the model. A
    model that no step improves is at its floor. One that is at its Euclidean floor already takes exact Newton
    steps, and when none of those improves it is settled for good, with a bound in the Hessian's norm.
    """
    n = solver.extent[DIMENSION]
    facts = solver.facts[model]
    trial_facts = solver.facts[solver.models.shape[0]]
    exact = solver.at_floor[model] == EUCLIDEAN_FLOOR
    if exact:
        solver.factor_state[model] = STALE
    size, rounding, least_gain = facts[NORM], facts[ROUNDING], 0.1
    radius = math.inf
    scale = 1.0
    needs_direction = True
    while scale > (_SHORTEST_EXACT_STEP if exact else _SHORTEST_STEP):
        if needs_direction:
            if solver.factor_state[model] <= STALE:
                factorise(prefix, solver, model, m)
            _correct_direction(
                solver.white_gradients[model],
                solver.white_steps[model],
                solver.white_changes[model],
                solver.curvature_scales[model],
                solver.pairs[model, 0],
                solver.pairs[model, 1] + MEMORY - 1,
                n,
                solver.pair_products,
                solver.white_direction,
            )
            combine_triangle(solver.white_direction, solver.inverse_factors[model], n, solver.direction)
            needs_direction = False
            if exact:
                size = facts[WHITE_NORM]
                rounding = rounding_in_hessian_norm(prefix, solver, model, m, dimension)
                radius = 2.0 * (size + rounding)
                if not radius * prefix.largest[m - 1] <= LOG_2:
                    radius = math.inf
                # The rounding bound is a worst case: a step that halves the gradient pays below it.
                least_gain = 0.5 if size <= rounding else 0.1
        copy_multiple(solver.trial, 1.0, solver.models[model], n)
        add_multiple(solver.trial, scale, solver.direction, n)
        try_model(prefix, solver, model, m, dimension)
        if trial_facts[WHITE_NORM] < (1.0 - least_gain * scale) * facts[WHITE_NORM]:
            slot = solver.pairs[model, 1]
            curvature_scale = _remember_step(
                scale,
                n,
                solver.white_direction,
                solver.trial_white_gradient,
                solver.white_gradients[model],
                solver.white_steps[model, slot],
                solver.white_changes[model, slot],
            )
            if curvature_scale > 0.0:
                solver.curvature_scales[model, slot] = curvature_scale
                solver.pairs[model, 0] = min(solver.pairs[model, 0] + 1, MEMORY)
                solver.pairs[model, 1] = (slot + 1) % MEMORY
            slow = trial_facts[WHITE_NORM] > _largest_share_left(m, n) * facts[WHITE_NORM]
            solver.factor_state[model] = STALE if slow else USABLE
            move_to_trial(prefix, solver, model, m)
            if not exact and facts[NORM] <= facts[ROUNDING]:
                solver.at_floor[model] = EUCLIDEAN_FLOOR
            return
        if solver.factor_state[model] == EXACT:
            # Near the floor rounding decides which of two gradients is smaller: halving is in vain.
            if size <= 10.0 * rounding:
                break
            scale *= 0.5
        else:
            solver.factor_state[model] = STALE
            needs_direction = True
    if exact:
        solver.hessian_radii[model] = radius
    solver.at_floor[model] = HESSIAN_FLOOR if exact else EUCLIDEAN_FLOOR
