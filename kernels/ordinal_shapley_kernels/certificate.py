"""Deciding validation rows for certain before the models have converged.

What a model's gradient says of the converged model (see `logistic_solver`) bounds the decision value of
every row. Once no bound leaves room for another sign (two classes) or another largest value (more classes),
the decisions are the converged model's. Rows are not scored anew each time: a snapshot holds every row's
decision and its gap, and only rows whose gap is less than what the models may have moved since are scored
with the models at hand.
"""

from __future__ import annotations

import math

from ordinal_shapley_kernels.abi import part, symbol
from ordinal_shapley_kernels.dense import (
    FULL,
    LOWER,
    absolute_dot,
    copy_multiple,
    distance,
    dot,
    row_products,
)
from ordinal_shapley_kernels.logistic_arrays import (
    EPSILON,
    HALF,
    HESSIAN_FLOOR,
    NORM,
    NOT_AT_FLOOR,
    RADIUS,
    ROUNDING,
    SCORE_ROUNDING,
    SHARE,
    Validation,
)
from ordinal_shapley_kernels.logistic_workspace import LogisticWorkspace, complete, score_in_span
from ordinal_shapley_kernels.products import combine_columns_of_each
from ordinal_shapley_kernels.workspace import Vector

UNDECIDED = -1


@part
def score_rows(game: LogisticWorkspace) -> None:
    """Write the decision values of all validation rows into `validation.scores`."""
    validation, models = game.validation, game.solver.models
    if game.triangular:
        score_in_span(game)
        return
    scores = validation.scores
    combine_columns_of_each(
        models, game.n_models, game.dimension, validation.columns, scores.shape[1], FULL, scores
    )


@part
def _features(game: LogisticWorkspace, v: int) -> Vector:
    """A validation row, in the features that models work with."""
    validation = game.validation
    if game.triangular:
        if validation.known[v] < game.length:
            complete(game, v)
        return validation.coordinates[v]
    return validation.features[v]


@part
def _take_snapshot(game: LogisticWorkspace) -> None:
    """Score all validation rows with the models at hand; writes the snapshot."""
    validation, models = game.validation, game.solver.models
    n_models, n_features = game.n_models, game.dimension
    scores, snapshot = validation.scores, validation.snapshot_models
    decisions, gaps = validation.snapshot_decisions, validation.snapshot_gaps
    score_rows(game)
    for k in range(n_models):
        copy_multiple(snapshot[k], 1.0, models[k], n_features)
    if n_models == 1:
        values = scores[0]
        for v in range(decisions.shape[0]):
            decisions[v] = 1 if values[v] > 0.0 else 0
            gaps[v] = abs(values[v])
        return
    for v in range(decisions.shape[0]):
        # The largest value so far and the next; of equal ones the first is the largest.
        best, first, second = 0, scores[0, v], -math.inf
        for k in range(1, n_models):
            value = scores[k, v]
            if value > first:
                best, first, second = k, value, first
            elif value > second:
                second = value
        decisions[v] = best
        gaps[v] = first - second


@part
def _whiten(game: LogisticWorkspace, model: int, v: int, row: Vector) -> bool:
    """Bring validation row v, whose features are `row`, into the model's white coordinates, unless it is.

    Returns False where a step with the model is the better bargain.
    """
    validation, solver = game.validation, game.solver
    factor = solver.factor_of[model]
    stamp = solver.factor_stamps[factor]
    if validation.stamps[factor, v] == stamp:
        return True
    if game.whitenings_left <= 0 and solver.at_floor[model] == NOT_AT_FLOOR:
        return False
    game.whitenings_left -= 1
    n_features = game.dimension
    white = validation.white_features[factor, v]
    row_products(solver.inverse_factors[factor], n_features, row, n_features, LOWER, white)
    validation.leverages[factor, v] = math.sqrt(dot(white, white, n_features))
    validation.stamps[factor, v] = stamp
    return True


@part
def error_of(game: LogisticWorkspace, model: int) -> float:
    """How far the decision value of a row may be from the converged model's, by its length and the offset."""
    bounds = game.solver.bounds[model]
    return (bounds[RADIUS] if game.free else bounds[NORM]) + bounds[ROUNDING]


@part
def _bound_change(game: LogisticWorkspace, model: int, v: int, row: Vector) -> tuple[float, float]:
    """Bounds on how much the decision value of row v changes from the model to the converged one."""
    validation, solver = game.validation, game.solver
    bounds, factor = solver.bounds[model], solver.factor_of[model]
    norm = validation.norms[v]
    euclidean = (norm + solver.offsets[model]) * error_of(game, model)
    low, high = -euclidean, euclidean
    n_features = game.dimension
    at_floor = solver.at_floor[model] == HESSIAN_FLOOR
    bounded = solver.hessian_radii[model] < math.inf if at_floor else bounds[SHARE] > 0.0
    if bounded and _whiten(game, model, v, row):
        if at_floor:
            own_rounding = (
                game.rounding_dimension * EPSILON * absolute_dot(solver.models[model], row, n_features)
            )
            if game.triangular:
                own_rounding += norm * bounds[SCORE_ROUNDING]
            reach = validation.leverages[factor, v] * solver.hessian_radii[model] + own_rounding
            low, high = max(low, -reach), min(high, reach)
        else:
            white = validation.white_features[factor, v]
            centre = dot(white, solver.white_gradients[model], n_features) / (-2.0 * bounds[SHARE])
            reach = validation.leverages[factor, v] * bounds[HALF] + norm * bounds[SCORE_ROUNDING]
            low, high = max(low, centre - reach), min(high, centre + reach)
    return low, high


@part
def uncertainty(game: LogisticWorkspace, v: int) -> float:
    """How far the decision value of row v may be from the converged model's, for two classes."""
    low, high = _bound_change(game, 0, v, _features(game, v))
    return max(-low, high)


@part
def _may_look_at(game: LogisticWorkspace, v: int) -> bool:
    """Whether bringing a row into the span, if it is not there, is the better bargain than a step.

    If not, sets `solver.involved` for the models that can get better.
    """
    validation, known = game.validation, game.validation.known
    if not game.triangular or known[v] == game.length or validation.products.shape[0] > 0:
        return True
    game.completions_left -= 1
    return game.completions_left >= 0 or not _involve_all(game)


@symbol
def _decide(game: LogisticWorkspace, v: int) -> int:
    """Class of validation row v, or UNDECIDED with `solver.involved` set for the models to improve.

    Among models that cannot get any better a tie goes to class 0 (two classes) or the lowest class.
    """
    validation, solver = game.validation, game.solver
    n_models, n_features = game.n_models, game.dimension
    if not _may_look_at(game, v):
        return UNDECIDED
    row = _features(game, v)
    norm = validation.norms[v]
    scores, models, offsets = validation.row_scores, solver.models, solver.offsets
    at_floor, involved = solver.at_floor, solver.involved
    best = 0
    for k in range(n_models):
        scores[k] = dot(models[k], row, n_features)
        if scores[k] > scores[best]:
            best = k
    # Most rows are clear by what the lengths of the gradients alone allow.
    reach = (norm + offsets[best]) * error_of(game, best)
    if n_models == 1:
        if abs(scores[0]) > reach:
            return 1 if scores[0] > 0.0 else 0
    else:
        clear = True
        for k in range(n_models):
            ahead = scores[best] - scores[k]
            clear &= k == best or ahead > reach + (norm + offsets[k]) * error_of(game, k)
        if clear:
            return best
    lower = upper = 0.0
    lowest = best
    certain = True
    for turn in range(n_models):
        k = (best + turn) % n_models
        euclidean = (norm + offsets[k]) * error_of(game, k)
        if turn > 0 and scores[k] + euclidean < lower:
            continue
        low, high = _bound_change(game, k, v, row)
        if turn == 0:
            lower, upper = scores[k] + low, scores[k] + high
        elif not scores[k] + high < lower:
            lowest = min(lowest, k)
            for model in (k, best):
                if at_floor[model] < HESSIAN_FLOOR:
                    involved[model] = 1
                    certain = False
    if n_models == 1:
        certain = lower > 0.0 or upper < 0.0 or at_floor[0] == HESSIAN_FLOOR
        lowest = 1 if lower > 0.0 else 0
        if not certain:
            involved[0] = 1
    return lowest if certain else UNDECIDED


@part
def _split(validation: Validation, slack: float, offset: float) -> int:
    """Copy the snapshot's decisions, and list in `order` rows whose gap may be closed.

    It is at most `slack` times their norm and the offset.

    Returns how many they are. No branch: the processor could not guess which rows are near.
    """
    decisions, snapshot, rows = validation.decisions, validation.snapshot_decisions, validation.order
    gaps, norms = validation.snapshot_gaps, validation.norms
    n_near = 0
    for v in range(decisions.shape[0]):
        decisions[v] = snapshot[v]
        rows[n_near] = v
        n_near += 0 if gaps[v] > slack * (norms[v] + offset) else 1  # NaN is near
    return n_near


@part
def _reach(game: LogisticWorkspace, model: int) -> float:
    """What `error_of` says, by any bound, with rounding twice: that of the gradient and of the snapshot."""
    bounds = game.solver.bounds
    return min(error_of(game, model), bounds[model, RADIUS]) + bounds[model, ROUNDING]


@part
def _largest_offset(game: LogisticWorkspace) -> float:
    offset = 0.0
    for k in range(game.n_models):
        offset = max(offset, game.solver.offsets[k])
    return offset


@part
def _count_near(game: LogisticWorkspace) -> int:
    """How many gaps of the snapshot are no more than what models may be off, wherever they are now."""
    gaps, norms = game.validation.snapshot_gaps, game.validation.norms
    slack, offset = 0.0, _largest_offset(game)
    for k in range(game.n_models):
        slack = max(slack, _reach(game, k) if game.n_models == 1 else 2.0 * _reach(game, k))
    n_near = 0
    for v in range(gaps.shape[0]):
        n_near += 0 if gaps[v] > slack * (norms[v] + offset) else 1
    return n_near


@part
def _involve_all(game: LogisticWorkspace) -> bool:
    """Set `solver.involved` for all models that a step may improve; whether there are any."""
    at_floor, involved = game.solver.at_floor, game.solver.involved
    any_involved = False
    for k in range(game.n_models):
        if at_floor[k] == NOT_AT_FLOOR:
            involved[k] = 1
            any_involved = True
    return any_involved


@symbol
def _screen(game: LogisticWorkspace) -> int:
    """Decide the rows that are clear from the snapshot; writes and counts those that are not.

    Or UNDECIDED, with `solver.involved` set, where so many are not that a step is the better bargain.
    """
    validation, solver = game.validation, game.solver
    n_models, n_features = game.n_models, game.dimension
    models, snapshot = solver.models, validation.snapshot_models
    # A row scored alone costs its features, a step twice those of all rows of the prefix, for each model.
    most = 2 * game.length
    if not game.has_snapshot:
        # Gaps of long ago tell about how many rows are near.
        if game.has_gaps and _count_near(game) > most and _involve_all(game):
            return UNDECIDED
        _take_snapshot(game)
        game.has_snapshot = 1
        game.has_gaps = 1
        game.scored_alone = 0
    slack = 0.0
    for k in range(n_models):
        moved = distance(models[k], snapshot[k], n_features)
        # Rounding twice: the snapshot's scores are rounded as well as today's.
        reach = 1.0000001 * moved + _reach(game, k)
        slack = max(slack, reach if n_models == 1 else 2.0 * reach)
    slack += (1.0 if n_models == 1 else 2.0) * game.snapshot_rounding
    near = _split(validation, slack, _largest_offset(game))
    if near > most and _involve_all(game):
        # The snapshot is of no more use if it is the way since then that leaves so many.
        if _count_near(game) <= most:
            game.has_snapshot = 0
        return UNDECIDED
    return near


@symbol
def certify(game: LogisticWorkspace) -> bool:
    """Decide every validation row, or name the models that must be improved first.

    Writes `validation.decisions` and returns True, or writes `solver.involved` and returns False.
    """
    decisions, order = game.validation.decisions, game.validation.order
    involved = game.solver.involved
    for k in range(game.n_models):
        involved[k] = 0
    # A step costs a pass over the data, twice m times the features; a row half their square.
    game.whitenings_left = 1 + 4 * game.length // game.dimension
    # A row is brought into the span by as many products as the prefix has rows.
    game.completions_left = 1 + 2 * game.n_models * game.dimension // max(game.n_features, 1)
    # First the row that was decided last, the likeliest to be undecided still; then those of the screen.
    place, n_near = -1, 0
    certain = True
    while certain and place < n_near:
        v = game.hardest if place < 0 else order[place]
        decision = _decide(game, v)
        if decision == UNDECIDED:
            game.hardest = v
            certain = False
        elif place < 0:
            n_near = _screen(game)
            certain = n_near != UNDECIDED
        else:
            decisions[v] = decision
        place += 1
    # Scoring a row alone costs about four times its share of a snapshot: a new one pays once as much has
    # been spent since the last.
    game.scored_alone += place
    if 4 * game.scored_alone > decisions.shape[0]:
        game.has_snapshot = 0
    return certain
