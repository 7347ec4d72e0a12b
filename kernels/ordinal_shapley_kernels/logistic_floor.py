"""The last word on a model, measured in the norm of the exact Hessian.

The bounds of `logistic_solver` take |M error| <= |error| for what rounding did to the gradient. On features
of very different scales that makes them useless: an error of 1e-10 in a gradient of 1e6 is nothing along the
direction of a large feature, and says little about the others. So when a model is at its floor and rows are
still undecided, all is measured anew with the exact Hessian H = L L^T at w and M = L^-1:

    |x.(w - w*)| <= |M x| |H^(1/2) (w - w*)|,    |H^(1/2) (w - w*)| <= 2 |M g|,

the second as long as no curvature falls below half its size between w and w*, which holds when
2 |M g| max_i |x_i| <= log 2 (decision values then move by at most log 2 and H >= I). Errors of the computed
gradient count by |M x_i| <= min(|x_i|, 1 / sqrt(curvature_i)), because H >= curvature_i x_i x_i^T.
"""

from __future__ import annotations

import math

from ordinal_shapley_kernels._jit import kernel
from ordinal_shapley_kernels.dense import Vector, add_multiple, combine_triangle, copy_multiple, dot
from ordinal_shapley_kernels.lanes import WIDTH, load, magnitude, splat, total
from ordinal_shapley_kernels.logistic_solver import EPSILON, factorise, move_to_trial, try_model
from ordinal_shapley_kernels.logistic_workspace import HESSIAN_FLOOR, WHITE_NORM, Prefix, Solver

_MOST_STEPS = 100
_SHORTEST_STEP = 1e-6
_LOG_2 = 0.6931471805599453


@kernel()
def absolute_dot(a: Vector, b: Vector, n: int) -> float:
    """Sum of |a[i] b[i]| over i < n."""
    sums = splat(0.0)
    for i in range(0, n, WIDTH):
        sums = sums + magnitude(load(a, i) * load(b, i))
    return total(sums)


@kernel(internal=True)
def _rounding_in_hessian_norm(prefix: Prefix, solver: Solver, model: int, m: int, dimension: float) -> float:
    """Bound on |M (computed gradient - gradient)| for a model whose factor is exact."""
    weights = solver.models[model]
    total_error = EPSILON * (m + 4) * math.sqrt(dot(weights, weights, weights.shape[0]))
    for i in range(m):
        terms = 0.0
        for j in range(weights.shape[0]):
            terms += abs(weights[j] * prefix.columns[j, i])
        root = math.sqrt(solver.factor_curvatures[model, i])
        lever = prefix.norms[i] if root * prefix.norms[i] < 1.0 else 1.0 / root
        residual = abs(prefix.costs[i] * prefix.slopes[model, i])
        total_error += EPSILON * (dimension * terms * root + (m + 4) * residual * lever)
    return total_error


@kernel(internal=True)
def settle_in_hessian_norm(prefix: Prefix, solver: Solver, model: int, m: int, dimension: float) -> None:
    """Take exact Newton steps, halved where need be, while they pay; then bound what is left.

    The merit of a step is |M g| with the M at its start, which falls along the Newton direction. Writes the
    solver's state of the model, its `hessian_radii` and `at_floor`.
    """
    n = solver.trial.shape[0]
    radius = math.inf
    for step in range(_MOST_STEPS):
        factorise(prefix, solver, model, m)
        rounding = _rounding_in_hessian_norm(prefix, solver, model, m, dimension)
        size = solver.facts[model, WHITE_NORM]
        radius = 2.0 * (size + rounding)
        if not radius * prefix.largest[m - 1] <= _LOG_2:
            radius = math.inf
        if step == _MOST_STEPS - 1:
            break  # the bound must be that of the last model
        combine_triangle(solver.white_gradients[model], solver.inverse_factors[model], solver.direction)
        # The rounding bound is a worst case: a step that halves the gradient is worth taking below it.
        share = 0.5 if size <= rounding else 0.1
        scale = 1.0
        moved = False
        while scale > _SHORTEST_STEP and not moved:
            copy_multiple(solver.trial, 1.0, solver.models[model], n)
            add_multiple(solver.trial, -scale, solver.direction, n)
            try_model(prefix, solver, model, m, dimension)
            moved = solver.facts[solver.models.shape[0], WHITE_NORM] <= (1.0 - share * scale) * size
            if moved:
                move_to_trial(prefix, solver, model, m)
            elif size <= 10.0 * rounding:
                break
            scale *= 0.5
        if not moved or size == 0.0:
            break
    solver.hessian_radii[model] = radius
    solver.at_floor[model] = HESSIAN_FLOOR
