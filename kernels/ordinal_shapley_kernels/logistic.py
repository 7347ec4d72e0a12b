"""The logistic game's nopython side: a sequence of players grows, and has a utility at every length."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley_kernels._jit import kernel
from ordinal_shapley_kernels.certificate import certify, uncertainty
from ordinal_shapley_kernels.dense import combine_columns, copy_multiple, dot
from ordinal_shapley_kernels.elementary import exp
from ordinal_shapley_kernels.lanes import WIDTH
from ordinal_shapley_kernels.logistic_solver import forget, improve, refresh
from ordinal_shapley_kernels.logistic_workspace import (
    CLASSES_PRESENT,
    DIMENSION,
    HARDEST,
    HESSIAN_FLOOR,
    LENGTH,
    NO_GRADIENT,
    NORM,
    ROUNDING,
    SNAPSHOT,
    TRIANGULAR,
    UNCONVERGED,
    LogisticWorkspace,
    Solver,
)
from ordinal_shapley_kernels.position_weights import fill_position_weights
from ordinal_shapley_kernels.scoring import (
    NEG_LOG_LOSS,
    ROC_AUC,
    neg_log_loss,
    roc_auc,
    score_decisions,
)
from ordinal_shapley_kernels.span import empty_span, extend_span, shrink_span

# Every step shrinks a gradient; a fit that takes more than this many is not getting anywhere.
_MOST_STEPS = 500


@kernel(internal=True)
def clear(game: LogisticWorkspace) -> None:
    """Empty the sequence and forget the models, so that what follows depends on nothing before."""
    game.prefix.class_counts[:] = 0
    if game.solver.extent[TRIANGULAR]:
        empty_span(game)
    for model in range(game.solver.models.shape[0]):
        forget(game.prefix, game.solver, model, 0)
    game.counters[LENGTH] = 0
    game.counters[CLASSES_PRESENT] = 0
    game.counters[SNAPSHOT] = 0
    game.counters[HARDEST] = 0


@kernel(internal=True)
def place(game: LogisticWorkspace, player: int) -> None:
    """Append a player's rows to the sequence without evaluating it."""
    training = game.training
    prefix = game.prefix
    solver = game.solver
    n_models = solver.models.shape[0]
    for entry in range(training.player_starts[player], training.player_starts[player + 1]):
        row = training.player_rows[entry]
        m = game.counters[LENGTH]
        if solver.extent[TRIANGULAR]:
            extend_span(game, row, m)
        else:
            copy_multiple(prefix.entering, 1.0, training.features[row], solver.extent[DIMENSION])
        n_features = solver.extent[DIMENSION]
        for j in range(n_features):
            prefix.columns[j, m] = prefix.entering[j]
        prefix.norms[m] = training.norms[row]
        prefix.largest[m] = max(training.norms[row], prefix.largest[m - 1] if m > 0 else 0.0)
        prefix.base_costs[m] = training.costs[row]
        code = training.classes[row]
        for k in range(n_models):
            sign = 1.0 if code == (k if n_models > 1 else 1) else -1.0
            prefix.signs[k, m] = sign
            margin = dot(solver.models[k], prefix.entering, n_features)
            prefix.slopes[k, m] = -sign / (1.0 + exp(sign * margin))
            solver.factor_curvatures[k, m] = 0.0
        if prefix.class_counts[code] == 0:
            game.counters[CLASSES_PRESENT] += 1
        prefix.class_counts[code] += 1
        game.counters[LENGTH] = m + 1


@kernel(internal=True)
def remove_last(game: LogisticWorkspace, player: int) -> None:
    """Take the rows of the player that was placed last out of the sequence.

    The models stay where they are: a start for the next fit, as good as any near one.
    """
    training = game.training
    solver = game.solver
    for entry in range(training.player_starts[player], training.player_starts[player + 1]):
        code = training.classes[training.player_rows[entry]]
        game.prefix.class_counts[code] -= 1
        if game.prefix.class_counts[code] == 0:
            game.counters[CLASSES_PRESENT] -= 1
        game.counters[LENGTH] -= 1
        last = game.counters[LENGTH]
        for k in range(solver.models.shape[0]):
            share = solver.factor_curvatures[k, last] * solver.factor_levers[k, last]
            solver.factor_losses[k, 0] += share
        if solver.extent[TRIANGULAR]:
            shrink_span(game, last)


@kernel(internal=True)
def has_model(game: LogisticWorkspace) -> bool:
    """Whether the sequence holds a row of every class."""
    return game.counters[CLASSES_PRESENT] == game.prefix.class_counts.shape[0]


@kernel(internal=True, inline=True)
def _weigh_prefix(game: LogisticWorkspace) -> None:
    """Costs of the rows for the sequence's present length; those of the padding are 0."""
    prefix = game.prefix
    m = game.counters[LENGTH]
    fill_position_weights(game.weight_kind, game.training.weight_table, m, prefix.costs)
    for i in range(m):
        prefix.costs[i] *= prefix.base_costs[i]
    for i in range(m, (m + WIDTH - 1) // WIDTH * WIDTH):
        prefix.costs[i] = 0.0


@kernel(internal=True, inline=True)
def _must_improve(solver: Solver, radius: float) -> bool:
    """Set `solver.involved` for models that may be further than `radius` from their optimum."""
    any_involved = False
    for k in range(solver.models.shape[0]):
        far = not solver.facts[k, NORM] + solver.facts[k, ROUNDING] <= radius  # NaN is far
        solver.involved[k] = far and solver.at_floor[k] < HESSIAN_FLOOR
        any_involved |= solver.involved[k] == 1
    return any_involved


@kernel(internal=True)
def _settle(game: LogisticWorkspace, radius: float) -> None:
    """Improve the models until each is within `radius` of its optimum, or as near as rounding allows.

    With a negative radius: until every validation row is decided.
    """
    _weigh_prefix(game)
    solver = game.solver
    counters = game.counters
    m = counters[LENGTH]
    n_models = solver.models.shape[0]
    for k in range(n_models):
        solver.at_floor[k] = NO_GRADIENT
        solver.restarted[k] = 0
        solver.involved[k] = 0
    settled = False
    for step in range(_MOST_STEPS + 1):
        for k in range(n_models):
            if solver.involved[k]:
                improve(game.prefix, solver, k, m, game.rounding_dimension)
                lost = solver.at_floor[k] == HESSIAN_FLOOR and solver.hessian_radii[k] == math.inf
                if lost and not solver.restarted[k]:
                    # On features of wild scales a start may be a dead end; 0 seldom is.
                    solver.restarted[k] = 1
                    forget(game.prefix, solver, k, m)
                    solver.at_floor[k] = NO_GRADIENT
            if solver.at_floor[k] == NO_GRADIENT:
                refresh(game.prefix, solver, k, m, game.rounding_dimension)
            if step == _MOST_STEPS:
                solver.at_floor[k] = HESSIAN_FLOOR
                solver.hessian_radii[k] = math.inf
        if radius < 0.0:
            settled = certify(game.validation, solver, counters, game.rounding_dimension)
        else:
            settled = not _must_improve(solver, radius)
        if settled:
            break
    for k in range(n_models):
        if solver.at_floor[k] == HESSIAN_FLOOR and solver.hessian_radii[k] == math.inf:
            counters[UNCONVERGED] += 1
            break


@kernel(internal=True)
def utility(game: LogisticWorkspace) -> float:
    """Score on the validation rows of the models fitted to the sequence."""
    if not has_model(game):
        return game.empty_value
    validation = game.validation
    _settle(game, game.radius_tolerance)
    if game.scoring < ROC_AUC:
        return score_decisions(game.scoring, validation.decisions, validation.truth, validation.counts)
    solver = game.solver
    scores = validation.scores
    for k in range(solver.models.shape[0]):
        combine_columns(
            solver.models[k], solver.extent[DIMENSION], validation.columns, scores.shape[1], False, scores[k]
        )
    if game.scoring == NEG_LOG_LOSS:
        return neg_log_loss(scores, validation.truth, game.prefix.class_counts.shape[0])
    # Values that the converged model may not tell apart are ties, whatever the start of the fit.
    tie = 0.0
    for v in range(validation.truth.shape[0]):
        tie = max(tie, 2.0 * uncertainty(validation, solver, game.counters, v, game.rounding_dimension))
    return roc_auc(scores[0, : validation.truth.shape[0]], validation.truth, validation.order, tie)


@kernel()
def fit_sequence(game: LogisticWorkspace, sequence: NDArray[np.int64], radius: float) -> None:
    """Bring the models of a sequence within `radius` of their optima; they are in `solver.models`."""
    clear(game)
    for player in sequence:
        place(game, player)
    _settle(game, radius)
