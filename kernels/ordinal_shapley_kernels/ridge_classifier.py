"""The ridge classifier game's nopython side: a model for each class, of +1 and -1, and their decisions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley_kernels.abi import entry, inlined
from ordinal_shapley_kernels.blocks import score_without_model, share_right_decisions
from ordinal_shapley_kernels.dense import dot
from ordinal_shapley_kernels.games import OK, GameFunctions
from ordinal_shapley_kernels.ridge import RidgeWorkspace, fit, pop, push, reset, shared_fields, weigh
from ordinal_shapley_kernels.rows import has_every_class, make_rows
from ordinal_shapley_kernels.scoring import ROC_AUC, roc_auc, score_decisions
from ordinal_shapley_kernels.workspace import IntegerMatrix, Integers, Vector

# Decision values closer than this share of their terms are tied: the difference may be rounding.
_TIE = 1e-11


class RidgeClasses(RidgeWorkspace):
    """Nopython side of a RidgeClassifierGame."""

    balanced: int  # whether the weights of rows are divided by the frequency of their class
    truth: Integers  # (n_valid,), read-only: classes of the validation rows
    valid_norms: Vector  # (n_valid,), read-only: norms of the validation rows
    scoring: int
    class_weights: Vector  # (n_classes,): scratch: total weight of the rows of each class
    decisions: Integers  # (n_valid,): scratch
    counts: IntegerMatrix  # (3, n_classes): scratch


def make_workspace(
    player_starts: NDArray[np.int64],
    player_rows: NDArray[np.int64],
    classes: NDArray[np.int64],
    n_classes: int,
    balanced: bool,
    truth: NDArray[np.int64],
    valid_norms: NDArray[np.float64],
    scoring: int,
    *shared: Any,
) -> RidgeClasses:
    """Allocate the workspace of one worker; `shared` is for `shared_fields`."""
    return RidgeClasses(
        FUNCTIONS,
        rows=make_rows(player_starts, player_rows, classes, n_classes),
        balanced=balanced,
        truth=truth,
        valid_norms=valid_norms,
        scoring=scoring,
        class_weights=(n_classes,),
        decisions=(len(truth),),
        counts=(3, n_classes),
        **shared_fields(*shared),
    )


@entry
def is_defined(game: RidgeClasses) -> int:
    """Whether the sequence holds a row of every class."""
    return int(has_every_class(game.rows))


@inlined
def _weigh_classes(game: RidgeClasses) -> float:
    """Write the weights of the rows of the sequence, and return their sum; 0 if a class has no weight."""
    rows, weights, class_weights = game.rows, game.weights, game.class_weights
    placed, classes, counts = rows.placed, rows.classes, rows.class_counts
    weigh(game)
    class_weights[:] = 0.0
    for i in range(rows.length):
        code = classes[placed[i]]
        if game.balanced:
            weights[i] *= rows.length / (counts.shape[0] * counts[code])
        class_weights[code] += weights[i]
    total = 0.0
    for code in range(class_weights.shape[0]):
        if not class_weights[code] > 0.0:
            return 0.0
        total += class_weights[code]
    return total


@inlined
def _decide(game: RidgeClasses, min_tie: float, slope: float) -> None:
    """Write the decisions; the first of tied classes is decided for."""
    decisions, norms, predictions = game.decisions, game.valid_norms, game.predictions
    intercepts = game.intercepts
    n_models = intercepts.shape[0]
    for v in range(decisions.shape[0]):
        tie = min_tie + slope * norms[v]
        if n_models == 1:
            decisions[v] = int(predictions[0, v] + intercepts[0] > tie)
            continue
        highest = -math.inf
        for k in range(n_models):
            highest = max(highest, predictions[k, v] + intercepts[k])
        decided = 0
        while predictions[decided, v] + intercepts[decided] < highest - tie:
            decided += 1
        decisions[v] = decided


@entry
def evaluate(game: RidgeClasses) -> int:
    """Write the score on the validation rows of the models fitted to the sequence."""
    total = _weigh_classes(game) if has_every_class(game.rows) else 0.0
    if not total > 0.0:
        score_without_model(game)
        return OK
    fit(game, total)
    truth, norms, models, means = game.truth, game.valid_norms, game.models, game.means
    width = means.shape[0]
    steepest = 0.0
    for k in range(models.shape[0]):
        steepest = max(steepest, dot(models[k], models[k], width))
    # The terms of decision values: 1, by the targets, and w (x - mean), proportional to the norm of the row.
    slope = _TIE * math.sqrt(steepest)
    min_tie = _TIE + slope * math.sqrt(dot(means, means, width))
    if game.scoring == ROC_AUC:
        furthest = 0.0
        for v in range(truth.shape[0]):
            furthest = max(furthest, norms[v])
        tie = min_tie + slope * furthest
        game.scores[0] = roc_auc(game.predictions[0], truth, game.decisions, tie)
    else:
        _decide(game, min_tie, slope)
        game.scores[0] = score_decisions(game.scoring, game.decisions, truth, game.counts)
        share_right_decisions(game, game.decisions, truth)
    return OK


FUNCTIONS = GameFunctions(reset, push, pop, is_defined, evaluate)
