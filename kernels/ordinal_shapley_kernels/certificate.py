"""Deciding validation rows with certainty before the models have converged.

The gradient bounds the distance to the converged model (see `logistic_solver`), and so the error of every
decision value. Once no error can change a sign (two classes) or the largest value (more classes), the
decisions are the converged model's. Not all rows are scored each time: a snapshot holds each row's decision
and gap, and only rows whose gap the models may have closed since then are scored with the current models.
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
    """Score all validation rows with the current models, and write the snapshot."""
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
        # The two largest values so far; the first of equal ones counts as the largest.
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
    """Compute the white coordinates of validation row v, whose features are `row`, unless they are known.

    Returns False where a step of the model costs less.
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
    """Bound on the error of a row's decision value, per unit of the row's length plus the model's offset."""
    bounds = game.solver.bounds[model]
    return (bounds[RADIUS] if game.free else bounds[NORM]) + bounds[ROUNDING]


@part
def _bound_change(game: LogisticWorkspace, model: int, v: int, row: Vector) -> tuple[float, float]:
    """Bounds on the decision value of row v by the converged model minus that by the current one."""
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
    """Bound on the error of the decision value of row v, for two classes."""
    low, high = _bound_change(game, 0, v, _features(game, v))
    return max(-low, high)


@part
def _may_look_at(game: LogisticWorkspace, v: int) -> bool:
    """Whether row v is in the span, or bringing it there costs less than a step.

    If not, sets `solver.involved` for the models that a step may improve.
    """
    validation, known = game.validation, game.validation.known
    if not game.triangular or known[v] == game.length or validation.products.shape[0] > 0:
        return True
    game.completions_left -= 1
    return game.completions_left >= 0 or not _involve_all(game)


@symbol
def _decide(game: LogisticWorkspace, v: int) -> int:
    """Class of validation row v, or UNDECIDED with `solver.involved` set for the models to improve.

    If the models tied cannot be improved, class 0 (two classes) or the lowest of them is decided for.
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
    # The norms of the gradients alone decide most rows.
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
    """Copy the snapshot's decisions, and list in `order` the rows whose decision may have changed.

    Their gap is at most `slack` times their norm plus the offset. Returns their number. Without a branch,
    which the processor could not predict.
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
    """`error_of`, by the better of two bounds, plus the rounding of the gradient and of the snapshot."""
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
    """Number of gaps in the snapshot that the error of the models, wherever they are now, could close."""
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
    """Set `solver.involved` for all models that a step may improve; return whether there are any."""
    at_floor, involved = game.solver.at_floor, game.solver.involved
    any_involved = False
    for k in range(game.n_models):
        if at_floor[k] == NOT_AT_FLOOR:
            involved[k] = 1
            any_involved = True
    return any_involved


@symbol
def _screen(game: LogisticWorkspace) -> int:
    """Decide rows by the snapshot where it suffices; list the others and return their number.

    Or return UNDECIDED, with `solver.involved` set, where they are so many that a step costs less.
    """
    validation, solver = game.validation, game.solver
    n_models, n_features = game.n_models, game.dimension
    models, snapshot = solver.models, validation.snapshot_models
    # For each model a row scored alone costs its features, a step twice the features of the prefix.
    max_near = 2 * game.length
    if not game.has_snapshot:
        # Old gaps still show about how many rows are near.
        if game.has_gaps and _count_near(game) > max_near and _involve_all(game):
            return UNDECIDED
        _take_snapshot(game)
        game.has_snapshot = 1
        game.has_gaps = 1
        game.scored_alone = 0
    slack = 0.0
    for k in range(n_models):
        moved = distance(models[k], snapshot[k], n_features)
        # Rounding twice: both the snapshot's scores and the current ones are rounded.
        reach = 1.0000001 * moved + _reach(game, k)
        slack = max(slack, reach if n_models == 1 else 2.0 * reach)
    slack += (1.0 if n_models == 1 else 2.0) * game.snapshot_rounding
    near = _split(validation, slack, _largest_offset(game))
    if near > max_near and _involve_all(game):
        # If it is the distance since the snapshot that leaves so many, make a new one.
        if _count_near(game) <= max_near:
            game.has_snapshot = 0
        return UNDECIDED
    return near


@symbol
def certify(game: LogisticWorkspace) -> bool:
    """Decide every validation row, or find the models that must be improved first.

    Writes `validation.decisions` and returns True, or writes `solver.involved` and returns False.
    """
    decisions, order = game.validation.decisions, game.validation.order
    involved = game.solver.involved
    for k in range(game.n_models):
        involved[k] = 0
    # A step costs 2 m n_features, whitening a row half of n_features squared.
    game.whitenings_left = 1 + 4 * game.length // game.dimension
    # Bringing a row into the span takes an inner product with each row of the prefix.
    game.completions_left = 1 + 2 * game.n_models * game.dimension // max(game.n_features, 1)
    # Begin with the row that was undecided last, the most likely to be so still; then those that `_screen`
    # lists.
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
    # Scoring a row alone costs about four times its share of a snapshot: make a new one once that much has
    # been spent.
    game.scored_alone += place
    if 4 * game.scored_alone > decisions.shape[0]:
        game.has_snapshot = 0
    return certain
