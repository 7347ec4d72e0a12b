"""The last word on a model, measured in the Hessian's norm.

The Euclidean bound |w - w*| <= |gradient| + rounding is cheap, but on features of very different scales
rounding alone makes it useless: an error of 1e-10 in a gradient of 1e6 is nothing along the direction of a
large feature, and says little about the others. So when it is at its floor and rows are still undecided,
all is measured anew with the exact Hessian H = L L^T at w and M = L^-1:

    |x.(w - w*)| <= |M x| |H^(1/2) (w - w*)|,    |H^(1/2) (w - w*)| <= 2 |M g|,

the second as long as no curvature falls below half its size between w and w*, which holds when
2 |M g| max_i |x_i| <= log 2 (decision values then move by at most log 2 and H >= I). Errors of the computed
gradient count by |M x_i| <= min(|x_i|, 1 / sqrt(curvature_i)), because H >= curvature_i x_i x_i^T.
"""

from __future__ import annotations

import math

from ordinal_shapley_kernels._jit import kernel
from ordinal_shapley_kernels.dense import Matrix, Vector, apply_inverse, dot
from ordinal_shapley_kernels.logistic_solver import EPSILON, factorise, gradient_pass
from ordinal_shapley_kernels.logistic_workspace import HESSIAN_FLOOR, Prefix, Solver

_MOST_STEPS = 100
_SHORTEST_STEP = 1e-6
_LOG_2 = 0.6931471805599453


@kernel(reassociate=True)
def absolute_dot(a: Vector, b: Vector, n: int) -> float:
    """Sum of |a[i] b[i]| over i < n."""
    total = 0.0
    for i in range(n):
        total += abs(a[i] * b[i])
    return total


@kernel(reassociate=True)
def transformed_norm(inverse_factor: Matrix, a: Vector) -> float:
    """|M a| for the lower triangular M."""
    total = 0.0
    for i in range(a.shape[0]):
        product = dot(inverse_factor[i], a, i + 1)
        total += product * product
    return math.sqrt(total)


@kernel(internal=True)
def _rounding_in_hessian_norm(
    prefix: Prefix, weights: Vector, m: int, dimension: float
) -> tuple[float, float]:
    """Bound on |M (computed gradient - gradient)|, and the largest |x_i|.

    Reads the curvatures and residuals that the last pass at `weights` left in the prefix.
    """
    n_features = weights.shape[0]
    total = EPSILON * (m + 4) * math.sqrt(dot(weights, weights, n_features))
    largest = 0.0
    for i in range(m):
        terms = 0.0
        for j in range(n_features):
            terms += abs(weights[j] * prefix.columns[j, i])
        root = math.sqrt(prefix.curvatures[i])
        lever = prefix.norms[i] if root * prefix.norms[i] < 1.0 else 1.0 / root
        total += EPSILON * (dimension * terms * root + (m + 4) * abs(prefix.residuals[i]) * lever)
        largest = max(largest, prefix.norms[i])
    return total, largest


@kernel(internal=True)
def settle_in_hessian_norm(prefix: Prefix, solver: Solver, model: int, m: int, dimension: float) -> None:
    """Take exact Newton steps, halved where need be, while they pay; then bound what is left.

    The merit of a step is |M g| with the M at its start, which falls along the Newton direction for the
    same reason as |g| does. Writes the solver's state of the model, its `hessian_radii` and `at_floor`.
    """
    n = solver.trial.shape[0]
    radius = math.inf
    for step in range(_MOST_STEPS):
        factorise(prefix, solver, model, m)
        gradient = solver.gradients[model]
        inverse_factor = solver.inverse_factors[model]
        rounding, largest = _rounding_in_hessian_norm(prefix, solver.models[model], m, dimension)
        size = transformed_norm(inverse_factor, gradient)
        radius = 2.0 * (size + rounding)
        if not radius * largest <= _LOG_2:
            radius = math.inf
        if step == _MOST_STEPS - 1:
            break  # the bound must be that of the last model
        apply_inverse(inverse_factor, gradient, solver.scratch, solver.direction)
        # The rounding bound is a worst case: a step that halves the gradient is worth taking below it.
        share = 0.5 if size <= rounding else 0.1
        scale = 1.0
        moved = False
        while scale > _SHORTEST_STEP and not moved:
            for j in range(n):
                solver.trial[j] = solver.models[model, j] - scale * solver.direction[j]
            norm, euclidean_rounding = gradient_pass(
                prefix, model, m, dimension, solver.trial, solver.trial_gradient
            )
            trial_size = transformed_norm(inverse_factor, solver.trial_gradient)
            moved = trial_size <= (1.0 - share * scale) * size
            if moved:
                for j in range(n):
                    solver.models[model, j] = solver.trial[j]
                    solver.gradients[model, j] = solver.trial_gradient[j]
                solver.gradient_norms[model] = norm
                solver.rounding[model] = euclidean_rounding
            elif size <= 10.0 * rounding:
                break
            scale *= 0.5
        if not moved or size == 0.0:
            break
    solver.hessian_radii[model] = radius
    solver.at_floor[model] = HESSIAN_FLOOR
