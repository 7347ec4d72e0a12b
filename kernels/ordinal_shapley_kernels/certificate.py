"""Deciding validation rows for certain before the models have converged.

What a model's gradient says of the converged model (see `logistic_solver`) bounds the decision value of
every row. Once no bound leaves room for another sign (two classes) or another largest value (more classes),
the decisions are the converged model's. Rows are not scored anew each time: a snapshot holds every row's
decision and its gap, and only rows whose gap is less than what the models may have moved since are scored
with the models at hand.
"""

from __future__ import annotations

import math

from ordinal_shapley_kernels._jit import kernel
from ordinal_shapley_kernels.dense import (
    LOWER,
    absolute_dot,
    combine_columns,
    copy_multiple,
    distance,
    dot,
    row_products,
)
from ordinal_shapley_kernels.logistic_workspace import (
    DIMENSION,
    EPSILON,
    HALF,
    HARDEST,
    HESSIAN_FLOOR,
    LENGTH,
    NORM,
    NOT_AT_FLOOR,
    RADIUS,
    ROUNDING,
    SCORE_ROUNDING,
    SCORED_ALONE,
    SHARE,
    SNAPSHOT,
    TRIANGULAR,
    WHITENINGS_LEFT,
    Floats,
    Ints,
    Solver,
    Validation,
)

UNDECIDED = -1


@kernel(internal=True, inline=True)
def _take_snapshot(validation: Validation, solver: Solver) -> None:
    """Score all validation rows with the models at hand; writes the snapshot."""
    n_valid = validation.truth.shape[0]
    n_models, n_features = solver.models.shape[0], solver.extent[DIMENSION]
    scores = validation.scores
    for k in range(n_models):
        combine_columns(solver.models[k], n_features, validation.columns, scores.shape[1], False, scores[k])
        copy_multiple(validation.snapshot_models[k], 1.0, solver.models[k], n_features)
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
        validation.snapshot_gaps[v] = gap


@kernel(internal=True, inline=True)
def _whiten(validation: Validation, solver: Solver, counters: Ints, model: int, v: int) -> bool:
    """Bring validation row v into the model's white coordinates, unless it is there already.

    Returns False where a step with the model is the better bargain.
    """
    if validation.stamps[model, v] == solver.factor_stamps[model]:
        return True
    if counters[WHITENINGS_LEFT] <= 0 and solver.at_floor[model] == NOT_AT_FLOOR:
        return False
    counters[WHITENINGS_LEFT] -= 1
    row = validation.features[v]
    n_features = solver.extent[DIMENSION]
    white = validation.white_features[model, v]
    row_products(solver.inverse_factors[model], n_features, row, n_features, LOWER, white)
    validation.levers[model, v] = math.sqrt(dot(white, white, n_features))
    validation.stamps[model, v] = solver.factor_stamps[model]
    return True


@kernel(internal=True, inline=True)
def _bound_change(
    validation: Validation, solver: Solver, counters: Ints, model: int, v: int, dimension: float
) -> tuple[float, float]:
    """Bounds on how much the decision value of row v changes from the model to the converged one."""
    facts = solver.facts[model]
    norm = validation.norms[v]
    euclidean = norm * (facts[NORM] + facts[ROUNDING])
    low, high = -euclidean, euclidean
    n_features = solver.extent[DIMENSION]
    at_floor = solver.at_floor[model] == HESSIAN_FLOOR
    bounded = solver.hessian_radii[model] < math.inf if at_floor else facts[SHARE] > 0.0
    if bounded and _whiten(validation, solver, counters, model, v):
        if at_floor:
            weights = solver.models[model]
            own_rounding = dimension * EPSILON * absolute_dot(weights, validation.features[v], n_features)
            if solver.extent[TRIANGULAR]:
                own_rounding += norm * facts[SCORE_ROUNDING]
            reach = validation.levers[model, v] * solver.hessian_radii[model] + own_rounding
            low, high = max(low, -reach), min(high, reach)
        else:
            white = validation.white_features[model, v]
            centre = dot(white, solver.white_gradients[model], n_features) / (-2.0 * facts[SHARE])
            reach = validation.levers[model, v] * facts[HALF] + norm * facts[SCORE_ROUNDING]
            low, high = max(low, centre - reach), min(high, centre + reach)
    return low, high


@kernel(internal=True)
def uncertainty(validation: Validation, solver: Solver, counters: Ints, v: int, dimension: float) -> float:
    """How far the decision value of row v may be from the converged model's, for two classes."""
    low, high = _bound_change(validation, solver, counters, 0, v, dimension)
    return max(-low, high)


@kernel(internal=True, inline=True)
def _decide(validation: Validation, solver: Solver, counters: Ints, v: int, dimension: float) -> int:
    """Class of validation row v, or UNDECIDED with `solver.involved` set for the models to improve.

    Among models that cannot get any better a tie goes to class 0 (two classes) or the lowest class.
    """
    n_models, n_features = solver.models.shape[0], solver.extent[DIMENSION]
    row = validation.features[v]
    scores = validation.row_scores
    best = 0
    for k in range(n_models):
        scores[k] = dot(solver.models[k], row, n_features)
        if scores[k] > scores[best]:
            best = k
    least = most = 0.0
    lowest = best
    certain = True
    for turn in range(n_models):
        k = (best + turn) % n_models
        euclidean = validation.norms[v] * (solver.facts[k, NORM] + solver.facts[k, ROUNDING])
        if turn > 0 and scores[k] + euclidean < least:
            continue
        low, high = _bound_change(validation, solver, counters, k, v, dimension)
        if turn == 0:
            least, most = scores[k] + low, scores[k] + high
        elif not scores[k] + high < least:
            lowest = min(lowest, k)
            for model in (k, best):
                if solver.at_floor[model] < HESSIAN_FLOOR:
                    solver.involved[model] = 1
                    certain = False
    if n_models == 1:
        certain = least > 0.0 or most < 0.0 or solver.at_floor[0] == HESSIAN_FLOOR
        lowest = 1 if least > 0.0 else 0
        if not certain:
            solver.involved[0] = 1
    return lowest if certain else UNDECIDED


@kernel()
def _copy_clear_decisions(decisions: Ints, snapshot: Ints, gaps: Floats, norms: Floats, slack: float) -> int:
    """Copy the snapshot's decisions and count the rows whose gap does not exceed `slack` times their norm."""
    near = 0
    for v in range(decisions.shape[0]):
        decisions[v] = snapshot[v]
        near += 0 if gaps[v] > slack * norms[v] else 1
    return near


@kernel()
def _list_near(gaps: Floats, norms: Floats, slack: float, rows: Ints) -> None:
    """Write the rows whose gap does not exceed `slack` times their norm, in order."""
    n_near = 0
    for v in range(gaps.shape[0]):
        if not gaps[v] > slack * norms[v]:  # NaN is near
            rows[n_near] = v
            n_near += 1


@kernel(internal=True, inline=True)
def _screen(validation: Validation, solver: Solver, counters: Ints) -> int:
    """Decide the rows that are clear from the snapshot; writes and counts those that are not."""
    n_models, n_features = solver.models.shape[0], solver.extent[DIMENSION]
    if not counters[SNAPSHOT]:
        _take_snapshot(validation, solver)
        counters[SNAPSHOT] = 1
        counters[SCORED_ALONE] = 0
    slack = 0.0
    for k in range(n_models):
        facts = solver.facts[k]
        moved = distance(solver.models[k], validation.snapshot_models[k], n_features)
        # Twice the rounding: the snapshot's scores are rounded as well as today's.
        reach = 1.0000001 * moved + min(facts[NORM] + facts[ROUNDING], facts[RADIUS]) + facts[ROUNDING]
        slack = max(slack, reach if n_models == 1 else 2.0 * reach)
    gaps, norms = validation.snapshot_gaps, validation.norms
    near = _copy_clear_decisions(validation.decisions, validation.snapshot_decisions, gaps, norms, slack)
    if near > 0:
        _list_near(gaps, norms, slack, validation.order)
    # Scoring a row alone costs about four times its share of a snapshot: a new one pays once as much has
    # been spent since the last.
    counters[SCORED_ALONE] += near
    if 4 * counters[SCORED_ALONE] > validation.truth.shape[0]:
        counters[SNAPSHOT] = 0
    return near


@kernel(internal=True, inline=True)
def certify(validation: Validation, solver: Solver, counters: Ints, dimension: float) -> bool:
    """Decide every validation row, or name the models that must be improved first.

    Writes `validation.decisions` and returns True, or writes `solver.involved` and returns False.
    """
    solver.involved[:] = 0
    # A step costs a pass over the data, twice m times the features; a row half their square.
    counters[WHITENINGS_LEFT] = 1 + 4 * counters[LENGTH] // solver.extent[DIMENSION]
    # First the row that was decided last, the likeliest to be undecided still; then those of the screen.
    entry, n_near = -1, 0
    certain = True
    while certain and entry < n_near:
        v = counters[HARDEST] if entry < 0 else validation.order[entry]
        decision = _decide(validation, solver, counters, v, dimension)
        if decision == UNDECIDED:
            counters[HARDEST] = v
            certain = False
        elif entry < 0:
            n_near = _screen(validation, solver, counters)
        else:
            validation.decisions[v] = decision
        entry += 1
    return certain
