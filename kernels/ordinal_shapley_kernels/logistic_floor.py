"""Final bounds on a model, in the norm of the exact Hessian.

The bounds of `logistic_solver` use |M error| <= |error| for the rounding error of the gradient. On features
of very different scales they are useless: an error of 1e-10 in a gradient of 1e6 is negligible along a large
feature, and implies little for the others. So if rows are still undecided when a model is at its floor, it
takes exact Newton steps, with new bounds by the exact Hessian H = L L^T at w and M = L^-1:

    |x.(w - w*)| <= |M x| |H^(1/2) (w - w*)|,    |H^(1/2) (w - w*)| <= 2 |M g|,

the second as long as no curvature falls below half its size between w and w*, which holds when
2 |M g| max_i |x_i| <= log 2 (decision values then move by at most log 2 and H >= I). Errors of the computed
gradient count by |M x_i| <= min(|x_i|, 1 / sqrt(curvature_i)), because H >= curvature_i x_i x_i^T. Errors of
decision values count by the norm of sqrt(curvature_i) times each, because H >= X^T diag(curvatures) X. With a
free intercept lengths are those that `logistic_gradient` bounds.
"""

from __future__ import annotations

import math

from ordinal_shapley_kernels.abi import symbol
from ordinal_shapley_kernels.dense import dot
from ordinal_shapley_kernels.logistic_arrays import EPSILON, UNDERFLOW
from ordinal_shapley_kernels.logistic_overflow import n_kept
from ordinal_shapley_kernels.logistic_workspace import LogisticWorkspace
from ordinal_shapley_kernels.raw_rows import read_row

LOG_2 = 0.6931471805599453


@symbol
def rounding_in_hessian_norm(game: LogisticWorkspace, model: int) -> float:
    """Bound on |M (computed gradient - gradient)| for a model whose factor is exact."""
    prefix, solver = game.prefix, game.solver
    m, n_features, dimension = game.length, game.dimension, game.rounding_dimension
    weights, slopes, curvatures = solver.models[model], prefix.slopes[model], solver.factor_curvatures[model]
    costs, norms, columns, entering = prefix.costs, prefix.norms, prefix.columns, prefix.entering
    kept, offset = n_kept(game), solver.offsets[model]
    total_error = EPSILON * (m + 4) * math.sqrt(dot(weights, weights, n_features)) + UNDERFLOW
    total_error *= 1.0 + offset
    values = 0.0
    shared = 0.0  # added for each row by the inner products of wide data, proportional to its length
    if game.triangular:
        for i in range(m):
            shared += abs(costs[i] * slopes[i]) * norms[i]
    for i in range(m):
        terms = norms[i] * shared
        if i >= kept:
            read_row(game.training.raw, prefix.rows[i], entering)
        for j in range(n_features):
            terms += abs(weights[j] * (columns[j, i] if i < kept else entering[j]))
        root = math.sqrt(curvatures[i])
        longest = norms[i] + offset
        leverage = longest if root * longest < 1.0 else 1.0 / root
        residual = abs(costs[i] * slopes[i])
        total_error += EPSILON * (m + 4) * residual * leverage
        values += terms * root * terms * root
    return total_error + EPSILON * dimension * math.sqrt(values)
