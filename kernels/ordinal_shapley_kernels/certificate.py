"""Deciding validation rows for certain before the models have converged.

The converged model w* lies within `radius` = |gradient| + rounding of w, so the decision value of a row x
is off by at most |x| radius. Once that cannot change the sign (two classes) or the largest of the values
(more classes), the decision is the converged model's. Rows are not scored anew each time: a snapshot holds
every row's decision and its gap, and only rows whose gap is less than what the models may have moved since
are scored with the models at hand.
"""

from __future__ import annotations

import math

from ordinal_shapley_kernels._jit import kernel
from ordinal_shapley_kernels.dense import combine_columns, distance, dot
from ordinal_shapley_kernels.logistic_floor import absolute_dot, transformed_norm
from ordinal_shapley_kernels.logistic_solver import EPSILON
from ordinal_shapley_kernels.logistic_workspace import (
    HARDEST,
    HESSIAN_FLOOR,
    SCORED_ALONE,
    SNAPSHOT,
    Floats,
    Ints,
    Solver,
    Validation,
)

UNDECIDED = -1


@kernel(internal=True)
def _take_snapshot(validation: Validation, solver: Solver) -> None:
    """Score all validation rows with the models at hand; writes the snapshot."""
    n_valid = validation.truth.shape[0]
    n_models = solver.models.shape[0]
    scores = validation.scores
    for k in range(n_models):
        combine_columns(solver.models[k], validation.columns, scores.shape[1], scores[k])
        for j in range(solver.models.shape[1]):
            validation.snapshot_models[k, j] = solver.models[k, j]
    for v in range(n_valid):
        if n_models == 1:
            best = 1 if scores[0, v] > 0.0 else 0
            gap = abs(scores[0, v])
        else:
            best = 0
            for k in range(1, n_models):
                if scores[k, v] > scores[best, v]:
                    best = k
            gap = math.inf
            for k in range(n_models):
                if k != best:
                    gap = min(gap, scores[best, v] - scores[k, v])
        validation.snapshot_decisions[v] = best
        # A row outside the span of the training rows may have norm 0, and then decision values of 0.
        validation.snapshot_gaps[v] = gap / max(validation.norms[v], 1e-300)


@kernel(internal=True)
def uncertainty(validation: Validation, solver: Solver, model: int, v: int, dimension: float) -> float:
    """How far a model's decision value of row v may be from the converged model's."""
    euclidean = validation.norms[v] * (solver.gradient_norms[model] + solver.rounding[model])
    if solver.at_floor[model] < HESSIAN_FLOOR or solver.hessian_radii[model] == math.inf:
        return euclidean
    row = validation.features[v]
    own_rounding = dimension * EPSILON * absolute_dot(solver.models[model], row, row.shape[0])
    exact = transformed_norm(solver.inverse_factors[model], row) * solver.hessian_radii[model]
    return min(euclidean, exact + own_rounding)


@kernel(internal=True)
def _decide(validation: Validation, solver: Solver, v: int, dimension: float) -> int:
    """Class of validation row v, or UNDECIDED with `solver.involved` set for the models to improve.

    Among models that cannot get any better a tie goes to class 0 (two classes) or the lowest class.
    """
    n_models = solver.models.shape[0]
    n_features = solver.models.shape[1]
    row = validation.features[v]
    if n_models == 1:
        score = dot(solver.models[0], row, n_features)
        if abs(score) > uncertainty(validation, solver, 0, v, dimension):
            return 1 if score > 0.0 else 0
        if solver.at_floor[0] == HESSIAN_FLOOR:
            return 0
        solver.involved[0] = 1
        return UNDECIDED
    scores = validation.row_scores
    best = 0
    for k in range(n_models):
        scores[k] = dot(solver.models[k], row, n_features)
        if scores[k] > scores[best]:
            best = k
    reach = uncertainty(validation, solver, best, v, dimension)
    lowest = best
    certain = True
    for k in range(n_models):
        if k != best and scores[best] - scores[k] <= reach + uncertainty(validation, solver, k, v, dimension):
            lowest = min(lowest, k)
            for model in (k, best):
                if solver.at_floor[model] < HESSIAN_FLOOR:
                    solver.involved[model] = 1
                    certain = False
    return lowest if certain else UNDECIDED


@kernel(reassociate=True)
def _copy_clear_decisions(decisions: Ints, snapshot: Ints, gaps: Floats, slack: float) -> int:
    """Copy the snapshot's decisions and count the rows whose gap does not exceed `slack`."""
    near = 0
    for v in range(decisions.shape[0]):
        decisions[v] = snapshot[v]
        near += 1 if gaps[v] <= slack else 0
    return near


@kernel(internal=True)
def certify(validation: Validation, solver: Solver, counters: Ints, dimension: float) -> bool:
    """Decide every validation row, or name the models that must be improved first.

    Writes `validation.decisions` and returns True, or writes `solver.involved` and returns False.
    """
    n_models = solver.models.shape[0]
    n_features = solver.models.shape[1]
    n_valid = validation.truth.shape[0]
    solver.involved[:] = 0
    # The row that was decided last is the likeliest to be undecided still.
    if _decide(validation, solver, counters[HARDEST], dimension) == UNDECIDED:
        return False
    if not counters[SNAPSHOT]:
        _take_snapshot(validation, solver)
        counters[SNAPSHOT] = 1
        counters[SCORED_ALONE] = 0
    slack = 0.0
    for k in range(n_models):
        moved = distance(solver.models[k], validation.snapshot_models[k], n_features)
        # Twice the rounding: the snapshot's scores are rounded as well as today's.
        reach = 1.0000001 * moved + solver.gradient_norms[k] + 2.0 * solver.rounding[k]
        slack = max(slack, reach if n_models == 1 else 2.0 * reach)
    gaps = validation.snapshot_gaps
    near = _copy_clear_decisions(validation.decisions, validation.snapshot_decisions, gaps, slack)
    # Scoring a row alone costs about four times its share of a snapshot: a new one pays once as much has
    # been spent since the last.
    counters[SCORED_ALONE] += near
    if 4 * counters[SCORED_ALONE] > n_valid:
        counters[SNAPSHOT] = 0
    if near > 0:
        for v in range(n_valid):
            if gaps[v] <= slack:
                decision = _decide(validation, solver, v, dimension)
                if decision == UNDECIDED:
                    counters[HARDEST] = v
                    return False
                validation.decisions[v] = decision
    return True
