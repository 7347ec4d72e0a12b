"""Newton steps for the weighted logistic objective, with a factor that is reused from fit to fit.

A model w minimises f(w) = |w|^2 / 2 + sum_i c_i log(1 + exp(-s_i w.x_i)), liblinear's objective with the
intercept as a penalised feature. f is 1-strongly convex, so |w - w*| <= |gradient(w)|.

From one prefix to the next the optimum and the Hessian move little. So the step is -B g, where B is the
inverse of an *earlier* Hessian, corrected by the last few steps (the two-loop recursion of L-BFGS, Nocedal
1980). The Hessian is factorised anew only when a step gains too little. A step must shrink the gradient;
if it does not, the exact Newton direction is taken and halved until it does: along that direction |g|
falls at first (its derivative is -|g|), so this ends, whatever the scale of the data.
"""

from __future__ import annotations

import math

from ordinal_shapley_kernels._jit import kernel
from ordinal_shapley_kernels.dense import (
    Vector,
    add_multiple,
    apply_inverse,
    column_products,
    combine_columns,
    dot,
    invert_cholesky,
    regularised_gram,
)
from ordinal_shapley_kernels.elementary import exp
from ordinal_shapley_kernels.logistic_workspace import (
    EUCLIDEAN_FLOOR,
    MEMORY,
    NOT_AT_FLOOR,
    PADDING,
    Prefix,
    Solver,
)

NO_FACTOR = 0
STALE = 1  # gains too little: factorise before the next step
USABLE = 2
EXACT = 3  # of the Hessian at the present model

EPSILON = 2.220446049250313e-16
# A step that leaves more than this share of the gradient calls for a new factor.
SLOW = 0.6
_SHORTEST_STEP = 1e-10


@kernel(reassociate=True)
def _differentiate_losses(
    margins: Vector,
    signs: Vector,
    costs: Vector,
    norms: Vector,
    n: int,
    residuals: Vector,
    curvatures: Vector,
) -> tuple[float, float]:
    """First and second derivatives of the losses by the decision values, over n rows.

    Writes `residuals` and `curvatures`; returns sum_i |residual_i| |x_i| and sum_i curvature_i |x_i|^2.
    """
    pull = 0.0
    stiffness = 0.0
    for i in range(n):
        p = 1.0 / (1.0 + exp(signs[i] * margins[i]))
        residuals[i] = -signs[i] * (costs[i] * p)
        curvatures[i] = costs[i] * p * (1.0 - p)
        pull += costs[i] * p * norms[i]
        stiffness += curvatures[i] * norms[i] * norms[i]
    return pull, stiffness


@kernel(reassociate=True, internal=True)
def gradient_pass(
    prefix: Prefix, model: int, m: int, dimension: float, weights: Vector, gradient: Vector
) -> tuple[float, float]:
    """Gradient of one model's objective over the prefix's m rows.

    Writes `gradient` and the prefix's scratch. Returns its norm and a bound on what rounding may have
    done to it: (m + 4) eps (|w| + sum |residual_i| |x_i|) for the sums, and the effect on the residuals of
    decision values that are `dimension` terms long, dimension eps |w| (1 + sum curvature_i |x_i|^2).
    """
    n = (m + PADDING - 1) // PADDING * PADDING
    n_features = weights.shape[0]
    combine_columns(weights, prefix.columns, n, prefix.margins)
    pull, stiffness = _differentiate_losses(
        prefix.margins,
        prefix.signs[model],
        prefix.costs,
        prefix.norms,
        n,
        prefix.residuals,
        prefix.curvatures,
    )
    column_products(prefix.columns, prefix.residuals, n, gradient)
    size = 0.0
    norm = 0.0
    for j in range(n_features):
        gradient[j] += weights[j]
        norm += gradient[j] * gradient[j]
        size += weights[j] * weights[j]
    size = math.sqrt(size)
    rounding = EPSILON * ((m + 4) * (size + pull) + dimension * size * (1.0 + stiffness))
    return math.sqrt(norm), rounding


@kernel(internal=True)
def forget(solver: Solver, model: int) -> None:
    """Put a model back to 0, with neither factor nor remembered steps."""
    solver.models[model, :] = 0.0
    solver.factor_state[model] = NO_FACTOR
    solver.pairs[model, :] = 0


@kernel(internal=True)
def refresh(prefix: Prefix, solver: Solver, model: int, m: int, dimension: float) -> None:
    """Gradient of a model at its present weights; writes the solver's gradient, norm and rounding."""
    norm, rounding = gradient_pass(prefix, model, m, dimension, solver.models[model], solver.gradients[model])
    solver.gradient_norms[model] = norm
    solver.rounding[model] = rounding
    solver.at_floor[model] = EUCLIDEAN_FLOOR if norm <= rounding else NOT_AT_FLOOR
    if solver.factor_state[model] == EXACT:
        solver.factor_state[model] = USABLE


@kernel(internal=True)
def factorise(prefix: Prefix, solver: Solver, model: int, m: int) -> None:
    """Factorise the Hessian at the present weights and forget earlier steps."""
    n = (m + PADDING - 1) // PADDING * PADDING
    combine_columns(solver.models[model], prefix.columns, n, prefix.margins)
    _differentiate_losses(
        prefix.margins,
        prefix.signs[model],
        prefix.costs,
        prefix.norms,
        n,
        prefix.residuals,
        prefix.curvatures,
    )
    regularised_gram(prefix.columns, prefix.curvatures, n, prefix.margins, solver.hessian)
    invert_cholesky(solver.hessian, solver.inverse_factors[model])
    solver.factor_state[model] = EXACT
    solver.pairs[model, 0] = 0
    solver.pairs[model, 1] = 0


@kernel(reassociate=True, internal=True)
def _find_direction(solver: Solver, model: int) -> None:
    """direction = -B g with the factor at hand, corrected by the remembered steps."""
    n = solver.trial.shape[0]
    n_pairs = solver.pairs[model, 0]
    newest = solver.pairs[model, 1] + MEMORY - 1
    remaining = solver.trial  # free until the step is tried
    along = solver.pair_products
    for j in range(n):
        remaining[j] = -solver.gradients[model, j]
    for k in range(n_pairs):
        slot = (newest - k) % MEMORY
        along[slot] = solver.curvature_scales[model, slot] * dot(solver.steps[model, slot], remaining, n)
        add_multiple(remaining, -along[slot], solver.changes[model, slot], n)
    apply_inverse(solver.inverse_factors[model], remaining, solver.scratch, solver.direction)
    for k in range(n_pairs):
        slot = (newest - (n_pairs - 1 - k)) % MEMORY
        across = solver.curvature_scales[model, slot] * dot(solver.changes[model, slot], solver.direction, n)
        add_multiple(solver.direction, along[slot] - across, solver.steps[model, slot], n)


@kernel(reassociate=True, internal=True)
def _accept(solver: Solver, model: int, norm: float, rounding: float) -> None:
    """Move the model to the trial point and remember the step."""
    n = solver.trial.shape[0]
    slot = solver.pairs[model, 1]
    step = solver.steps[model, slot]
    change = solver.changes[model, slot]
    curvature = 0.0
    length = 0.0
    for j in range(n):
        step[j] = solver.trial[j] - solver.models[model, j]
        change[j] = solver.trial_gradient[j] - solver.gradients[model, j]
        curvature += step[j] * change[j]
        length += step[j] * step[j]
        solver.models[model, j] = solver.trial[j]
        solver.gradients[model, j] = solver.trial_gradient[j]
    # Strong convexity makes curvature >= length; less of it is rounding and would mislead.
    if curvature > 0.5 * length and length > 0.0:
        solver.curvature_scales[model, slot] = 1.0 / curvature
        solver.pairs[model, 0] = min(solver.pairs[model, 0] + 1, MEMORY)
        solver.pairs[model, 1] = (slot + 1) % MEMORY
    solver.factor_state[model] = STALE if norm > SLOW * solver.gradient_norms[model] else USABLE
    solver.gradient_norms[model] = norm
    solver.rounding[model] = rounding
    solver.at_floor[model] = EUCLIDEAN_FLOOR if norm <= rounding else NOT_AT_FLOOR


@kernel(reassociate=True, internal=True)
def improve(prefix: Prefix, solver: Solver, model: int, m: int, dimension: float) -> None:
    """Take one step that shrinks the gradient of a model, or find that none does.

    Reads the solver's gradient at the present weights; writes all of the solver's state of the model. A
    model that no step improves is at its floor.
    """
    n = solver.trial.shape[0]
    scale = 1.0
    needs_direction = True
    while scale > _SHORTEST_STEP:
        if needs_direction:
            if solver.factor_state[model] <= STALE:
                factorise(prefix, solver, model, m)
            _find_direction(solver, model)
            needs_direction = False
        for j in range(n):
            solver.trial[j] = solver.models[model, j] + scale * solver.direction[j]
        norm, rounding = gradient_pass(prefix, model, m, dimension, solver.trial, solver.trial_gradient)
        if norm <= (1.0 - 0.1 * scale) * solver.gradient_norms[model]:
            _accept(solver, model, norm, rounding)
            return
        if solver.factor_state[model] == EXACT:
            # Near the floor rounding decides which of two gradients is smaller: halving is in vain.
            if solver.gradient_norms[model] <= 10.0 * solver.rounding[model]:
                break
            scale *= 0.5
        else:
            solver.factor_state[model] = STALE
            needs_direction = True
    solver.at_floor[model] = EUCLIDEAN_FLOOR
