"""The logistic game's nopython side: a sequence of players grows, and has a utility at every length.

Every kind of score has its own `evaluate`; the game's table lists the one in use, and only that one is
compiled. Rows that are pushed wait for the next evaluation, so that they enter together.
"""

from __future__ import annotations

import math
from typing import Any

from ordinal_shapley_kernels import logistic_overflow, span
from ordinal_shapley_kernels.abi import entry, part, symbol
from ordinal_shapley_kernels.blocks import (
    add_to_block,
    begin_blocks,
    score_without_model,
    share_right_decisions,
)
from ordinal_shapley_kernels.certificate import certify, error_of, score_rows, uncertainty
from ordinal_shapley_kernels.dense import copy_multiple, dot
from ordinal_shapley_kernels.elementary import exp
from ordinal_shapley_kernels.games import OK
from ordinal_shapley_kernels.lanes import WIDTH
from ordinal_shapley_kernels.logistic_arrays import HESSIAN_FLOOR, NO_GRADIENT
from ordinal_shapley_kernels.logistic_factor import forget, refresh, share_again
from ordinal_shapley_kernels.logistic_overflow import n_kept
from ordinal_shapley_kernels.logistic_softmax import give_up, start_softmax, step_softmax
from ordinal_shapley_kernels.logistic_solver import improve
from ordinal_shapley_kernels.logistic_workspace import (
    LogisticFunctions,
    LogisticWorkspace,
    Numbers,
    empty_span,
    enter_overflow,
    enter_span,
    make_workspace,
    order_overflow,
    shrink_span,
)
from ordinal_shapley_kernels.position_weights import fill_position_weights
from ordinal_shapley_kernels.raw_rows import read_row
from ordinal_shapley_kernels.scoring import NEG_LOG_LOSS, ROC_AUC, neg_log_loss, roc_auc, score_decisions

# Every step shrinks a gradient; a fit that takes more steps than this makes no progress.
_MAX_STEPS = 500


@entry
def reset(game: LogisticWorkspace) -> None:
    """Empty the sequence and forget the models, so that later results do not depend on earlier ones."""
    counts = game.prefix.class_counts
    for code in range(counts.shape[0]):
        counts[code] = 0
    if game.span_limit > 0:
        empty_span(game)
    for model in range(game.n_models):
        forget(game, model, 0)
    game.length = 0
    game.entered = 0
    game.fitted = 0
    game.classes_present = 0
    game.has_snapshot = 0
    game.has_gaps = 0
    game.hardest = 0
    game.is_lost = 0
    if game.free:
        prefix, row = game.prefix, game.training.norms.shape[0] - 1
        prefix.rows[0] = row
        prefix.norms[0] = prefix.largest[0] = 1.0
        prefix.base_costs[0] = 0.0
        game.length = 1


@entry
def push(game: LogisticWorkspace, player: int) -> None:
    """Append a player's rows to the sequence, without evaluating it."""
    training, prefix = game.training, game.prefix
    starts, player_rows = training.player_starts, training.player_rows
    rows, norms, largest, counts = prefix.rows, prefix.norms, prefix.largest, prefix.class_counts
    for place in range(starts[player], starts[player + 1]):
        row, m = player_rows[place], game.length
        norm = training.norms[row]
        rows[m] = row
        norms[m] = norm
        largest[m] = max(norm, largest[m - 1] if m > 0 else 0.0)
        prefix.base_costs[m] = training.costs[row]
        game.length = m + 1
        if training.costs[row] > 0.0:
            code = training.classes[row]
            if counts[code] == 0:
                game.classes_present += 1
            counts[code] += 1


@entry
def pop(game: LogisticWorkspace, player: int) -> None:
    """Take the rows of the player that was pushed last out of the sequence.

    The models stay as they are: a start for the next fit.
    """
    training, counts, solver = game.training, game.prefix.class_counts, game.solver
    starts, player_rows = training.player_starts, training.player_rows
    for place in range(starts[player], starts[player + 1]):
        row = player_rows[place]
        if training.costs[row] > 0.0:
            code = training.classes[row]
            counts[code] -= 1
            if counts[code] == 0:
                game.classes_present -= 1
        last = game.length - 1
        game.length = last
        if last < game.entered:
            game.entered = last
            for k in range(game.n_models):
                solver.hessian_slack[k, 0] += (
                    solver.factor_curvatures[k, last] * solver.factor_leverages[k, last]
                )
            if game.triangular:
                shrink_span(game, last)


@symbol
def enter_rows(game: LogisticWorkspace) -> None:
    """Compute the features of the waiting rows, and their slopes at the current models."""
    prefix, solver, entering = game.prefix, game.solver, game.prefix.entering
    first, last = game.entered, game.length
    rows, columns, triangle = prefix.rows, prefix.columns, prefix.triangle
    models, signs, slopes, curvatures = solver.models, prefix.signs, prefix.slopes, solver.factor_curvatures
    if game.triangular:
        enter_span(game)
    kept, at_zero = n_kept(game), True
    if kept < last:
        for k in range(game.n_models):
            at_zero &= not dot(models[k], models[k], game.dimension) > 0.0
        if not at_zero:  # models of 0 need no features
            enter_overflow(game, max(first, kept))
    # Rows before `first` have left the span, and only lack their columns.
    for i in range(first if game.triangular else game.entered, last):
        if not game.triangular and i < kept:
            read_row(game.training.raw, rows[i], entering)
            for j in range(game.dimension):
                columns[j, i] = entering[j]
            if game.softmax:
                copy_multiple(game.prefix.features[i], 1.0, entering, game.dimension)
        if i < first:
            continue
        code = game.training.classes[rows[i]]
        for k in range(game.n_models):
            sign = 1.0 if code == (k if game.n_models > 1 else 1) else -1.0
            if game.triangular:
                value = dot(models[k], triangle[i], i // WIDTH * WIDTH + WIDTH)
            elif i < kept:
                value = dot(models[k], entering, game.dimension)
            else:
                value = 0.0 if at_zero else slopes[k, i]
            signs[k, i] = sign
            curvatures[k, i] = 0.0
            if game.softmax:
                prefix.values[k, i] = value
                continue
            slopes[k, i] = -sign / (1.0 + exp(sign * value))
    game.entered = last


@symbol
def _weigh_prefix(game: LogisticWorkspace) -> None:
    """Write the costs of the rows for the current length; 0 in the padding."""
    costs, base_costs, masses = game.prefix.costs, game.prefix.base_costs, game.prefix.class_masses
    classes, rows = game.training.classes, game.prefix.rows
    first, m = game.free, game.length
    fill_position_weights(game.weight_kind, game.training.weight_table, m - first, costs[first:])
    costs[:first] = 0.0
    for i in range(first, m):
        costs[i] *= base_costs[i]
    for i in range(m, (m + WIDTH - 1) // WIDTH * WIDTH):
        costs[i] = 0.0
    if game.balanced or game.has_zero_weights:
        masses[:] = 0.0
        for i in range(first, m):
            masses[classes[rows[i]]] += costs[i]
    if game.balanced:
        mean = 0.0
        for code in range(masses.shape[0]):
            mean += masses[code] / masses.shape[0]
        for i in range(first, m):
            costs[i] *= mean / masses[classes[rows[i]]]


@symbol
def _has_model(game: LogisticWorkspace) -> bool:
    """Whether every class has a row with a positive weight."""
    masses = game.prefix.class_masses
    n_classes = masses.shape[0]
    if game.classes_present < n_classes or not game.has_zero_weights:
        return game.classes_present == n_classes
    _weigh_prefix(game)
    n_weighted = 0
    for code in range(n_classes):
        n_weighted += masses[code] > 0.0
    return n_weighted == n_classes


@part
def _lacks_model(game: LogisticWorkspace) -> bool:
    """Whether the sequence lacks a class; `scores` is then its utility."""
    score_without_model(game)
    return not _has_model(game)


@entry
def is_defined(game: LogisticWorkspace) -> int:
    """Whether every class has a row with a positive weight."""
    return 1 if _has_model(game) else 0


@part
def _must_improve(game: LogisticWorkspace, radius: float) -> bool:
    """Set `solver.involved` for models that may be further than `radius` from their optimum."""
    involved, at_floor = game.solver.involved, game.solver.at_floor
    any_involved = False
    for k in range(game.n_models):
        # A row is at least as long as its intercept's 1, so this bounds every error.
        error = (1.0 + game.solver.offsets[k]) * error_of(game, k)
        far = not error <= radius  # NaN is far
        involved[k] = 1 if far and at_floor[k] < HESSIAN_FLOOR else 0
        any_involved |= involved[k] == 1
    return any_involved


@symbol
def settle(game: LogisticWorkspace, radius: float) -> None:
    """Improve the models until each is within `radius` of its optimum, or as near as rounding allows.

    With a negative radius, until every validation row is decided.
    """
    if game.entered < game.length:
        enter_rows(game)
    _weigh_prefix(game)
    if n_kept(game) < game.length:
        order_overflow(game, n_kept(game))
    solver = game.solver
    at_floor, restarted, radii = solver.at_floor, solver.restarted, solver.hessian_radii
    n_models = game.n_models
    for k in range(n_models):
        at_floor[k] = NO_GRADIENT
        restarted[k] = 0
    refresh(game)
    for step in range(_MAX_STEPS + 1):
        if step == _MAX_STEPS:
            for k in range(n_models):
                at_floor[k] = HESSIAN_FLOOR
                radii[k] = math.inf
        settled = certify(game) != 0 if radius < 0.0 else not _must_improve(game, radius)
        if settled:
            break
        if game.shares_left > 0:
            share_again(game)
        improve(game)
        for k in range(n_models):
            lost = at_floor[k] == HESSIAN_FLOOR and radii[k] == math.inf
            if lost and not restarted[k]:
                # On badly scaled features a start may be a dead end; 0 seldom is.
                restarted[k] = 1
                forget(game, k, game.length)
                at_floor[k] = NO_GRADIENT
                refresh(game)
    game.fitted = game.length
    for k in range(n_models):
        if at_floor[k] == HESSIAN_FLOOR and radii[k] == math.inf:
            game.unconverged += 1
            break


@symbol
def settle_softmax(game: LogisticWorkspace, radius: float) -> None:
    """The same for softmax models."""
    if game.entered < game.length:
        enter_rows(game)
    _weigh_prefix(game)
    if n_kept(game) < game.length:
        order_overflow(game, n_kept(game))
    start_softmax(game)
    restarted = False
    left = _MAX_STEPS
    while True:
        if left == 0:
            give_up(game, False)
        if game.is_lost and not restarted:
            restarted = True
            left = _MAX_STEPS
            start_softmax(game)
        settled = certify(game) != 0 if radius < 0.0 else not _must_improve(game, radius)
        if settled:
            break
        step_softmax(game)
        left -= 1
    game.unconverged += game.is_lost
    game.fitted = game.length


@part
def _score_decisions(game: LogisticWorkspace) -> None:
    """Write the score of the decisions on the validation rows."""
    validation = game.validation
    decisions, truth = validation.decisions, validation.truth
    game.scores[0] = score_decisions(game.scoring, decisions, truth, validation.counts)
    share_right_decisions(game, decisions, truth)


@part
def _score_probabilities(game: LogisticWorkspace, softmax: int) -> None:
    """Write the mean log-probability of the validation rows' classes."""
    validation = game.validation
    values, truth, of_rows = validation.scores, validation.truth, validation.log_probabilities
    game.scores[0] = neg_log_loss(values, truth, game.prefix.class_counts.shape[0], softmax, of_rows)
    if begin_blocks(game, 0.0):
        for v in range(truth.shape[0]):
            add_to_block(game, v, of_rows[v])


@entry
def evaluate_decisions(game: LogisticWorkspace) -> int:
    """Write the score of the decisions on the validation rows of the models fitted to the sequence."""
    if _lacks_model(game):
        return OK
    settle(game, -1.0)
    _score_decisions(game)
    return OK


@part
def _score_rows(game: LogisticWorkspace) -> None:
    """Write the decision values of the validation rows into `validation.scores`."""
    settle(game, game.radius_tolerance)
    score_rows(game)


@entry
def evaluate_log_loss(game: LogisticWorkspace) -> int:
    """Write the mean log-probability of the validation rows' classes."""
    if _lacks_model(game):
        return OK
    _score_rows(game)
    _score_probabilities(game, 0)
    return OK


@entry
def evaluate_softmax_decisions(game: LogisticWorkspace) -> int:
    """Write the score of the decisions of softmax models."""
    if _lacks_model(game):
        return OK
    settle_softmax(game, -1.0)
    _score_decisions(game)
    return OK


@entry
def evaluate_softmax_log_loss(game: LogisticWorkspace) -> int:
    """Write the mean log-probability of the validation rows' classes by softmax models."""
    if _lacks_model(game):
        return OK
    settle_softmax(game, game.radius_tolerance)
    score_rows(game)
    _score_probabilities(game, 1)
    return OK


@entry
def evaluate_auc(game: LogisticWorkspace) -> int:
    """Write the area under the ROC curve of the decision values of the validation rows."""
    if _lacks_model(game):
        return OK
    _score_rows(game)
    validation = game.validation
    n_valid = validation.truth.shape[0]
    # Values closer than their error are ties, so that the score does not depend on the start of the fit.
    tie = 0.0
    for v in range(n_valid):
        tie = max(tie, 2.0 * uncertainty(game, v))
    game.scores[0] = roc_auc(validation.scores[0, :n_valid], validation.truth, validation.order, tie)
    return OK


def functions(numbers: Numbers, overflows: bool) -> LogisticFunctions:
    """Return the functions of a game, with those for the span and the overflow if it needs them."""
    if numbers.softmax:
        by_loss, by_decisions = evaluate_softmax_log_loss, evaluate_softmax_decisions
    else:
        by_loss, by_decisions = evaluate_log_loss, evaluate_decisions
    evaluate = {ROC_AUC: evaluate_auc, NEG_LOG_LOSS: by_loss}.get(numbers.scoring, by_decisions)
    usual = (reset, push, pop, is_defined, evaluate)
    used = [span] * (numbers.span_limit > 0) + [logistic_overflow] * overflows
    further = LogisticFunctions._fields[len(usual) :]
    more = {name: getattr(module, name) for module in used for name in further if hasattr(module, name)}
    return LogisticFunctions(*usual, **more)


def make_game(numbers: Numbers, *arrays: Any) -> LogisticWorkspace:
    """Allocate the workspace of one worker; see `logistic_workspace.make_workspace`."""
    return make_workspace(functions, numbers, *arrays)


@entry
def fit_models(game: LogisticWorkspace, radius: float) -> None:
    """Bring the models of the current sequence, `solver.models`, within `radius` of their optima."""
    settle(game, radius)


@entry
def fit_softmax(game: LogisticWorkspace, radius: float) -> None:
    """The same for softmax models."""
    settle_softmax(game, radius)
