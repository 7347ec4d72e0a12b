"""The one place where benchmarks reach below the public API: the trainer's kernels, called over and over.

Python cannot call them, so compiled loops do.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import numpy as np

import ordinal_shapley as osv
from ordinal_shapley_kernels.abi import entry
from ordinal_shapley_kernels.certificate import _take_snapshot, certify
from ordinal_shapley_kernels.dense import FULL, combine_columns, copy_multiple, row_products
from ordinal_shapley_kernels.lanes import WIDTH
from ordinal_shapley_kernels.logistic import _weigh_prefix, fit_models
from ordinal_shapley_kernels.logistic_arrays import MEMORY
from ordinal_shapley_kernels.logistic_factor import factorise
from ordinal_shapley_kernels.logistic_gradient import differentiate, find_slopes
from ordinal_shapley_kernels.logistic_intercepts import soften
from ordinal_shapley_kernels.logistic_softmax import (
    _aim,
    _evaluate,
    _find_margins,
    _renew_factor,
    _sum_residuals,
    _whiten,
)
from ordinal_shapley_kernels.logistic_solver import _correct_direction, _point
from ordinal_shapley_kernels.logistic_workspace import LogisticWorkspace
from ordinal_shapley_kernels.scoring import score_decisions


@entry
def repeat_pass(game: LogisticWorkspace, repeats: int) -> float:
    """Decision values, derivatives of the losses, gradient."""
    prefix, solver = game.prefix, game.solver
    d, n = game.dimension, (game.length + WIDTH - 1) // WIDTH * WIDTH
    columns, margins, slopes = prefix.columns, prefix.margins[0], prefix.trial_slopes[0]
    model, gradient = solver.models[0], solver.trial_gradients[0]
    first = 0.0
    for _ in range(repeats):
        combine_columns(model, d, columns, n, 0, margins)
        find_slopes(margins, prefix.signs[0], n, slopes)
        row_products(columns, d, slopes, n, FULL, gradient)
        first += gradient[0]
    return first


@entry
def repeat_factorisation(game: LogisticWorkspace, repeats: int) -> None:
    """Hessian, and its inverse Cholesky factor."""
    for _ in range(repeats):
        factorise(game, 0, 0, 1)


def repeaters(n_rows: int, d: int) -> tuple[Callable[[int], object], Callable[[int], object]]:
    """Return functions of a number of repeats: gradient passes, and factorisations of the Hessian.

    The model is a fitted one of two classes, over n_rows rows and d features, the intercept's included.
    """
    rng = np.random.default_rng(d)
    # Features past the number of rows would be folded into fewer; so more rows are in the game than in use.
    n = max(n_rows, d)
    X, y = rng.normal(size=(n, d - 1)), np.arange(n) % 2
    game = osv.LogisticGame(X, y, X[:2], y[:2])
    workspace = game._make_workspace()
    workspace.span_limit = 0  # by the columns, however few the rows are
    workspace.functions.reset(workspace)
    for row in range(n_rows):
        workspace.functions.push(workspace, row)
    fit_models(workspace, 1e-3)
    return (
        lambda repeats: repeat_pass(workspace, repeats),
        lambda repeats: repeat_factorisation(workspace, repeats),
    )


@entry
def repeat_gradient(game: LogisticWorkspace, repeats: int) -> None:
    """What a model with known slopes needs at new weights."""
    game.solver.active[0] = 0
    for _ in range(repeats):
        differentiate(game, 1, 0)


@entry
def repeat_direction(game: LogisticWorkspace, repeats: int) -> None:
    """Where to step: remembered steps, then out of white coordinates."""
    solver = game.solver
    solver.active[0] = 0
    for _ in range(repeats):
        _correct_direction(
            solver.white_gradients[0],
            solver.white_steps[0],
            solver.white_changes[0],
            solver.curvature_scales[0],
            MEMORY,
            MEMORY - 1,
            False,
            game.dimension,
            solver.pair_products,
            solver.white_directions[0],
        )
        solver.scales[0] = 0.0
        _point(game, 1)


@entry
def repeat_trial(game: LogisticWorkspace, repeats: int) -> None:
    """A full pass at the end of a step."""
    prefix, solver = game.prefix, game.solver
    d, n = game.dimension, (game.length + WIDTH - 1) // WIDTH * WIDTH
    solver.active[0] = 0
    copy_multiple(solver.trials[0], 1.0, solver.models[0], d)
    for _ in range(repeats):
        combine_columns(solver.trials[0], d, prefix.columns, n, game.triangular, prefix.margins[0])
        differentiate(game, 1, 1)


@entry
def repeat_certificate(game: LogisticWorkspace, repeats: int) -> int:
    """Comparison with a snapshot that decides all rows."""
    certain = 0
    for _ in range(repeats):
        game.has_snapshot = 1
        certain += certify(game)
    return certain


@entry
def repeat_snapshot(game: LogisticWorkspace, repeats: int) -> None:
    """Decision values of all validation rows."""
    for _ in range(repeats):
        _take_snapshot(game)


@entry
def repeat_weights(game: LogisticWorkspace, repeats: int) -> None:
    """Position weights and costs."""
    for _ in range(repeats):
        _weigh_prefix(game)


@entry
def repeat_score(game: LogisticWorkspace, repeats: int) -> float:
    """The score of the decisions."""
    validation = game.validation
    total = 0.0
    for _ in range(repeats):
        total += score_decisions(game.scoring, validation.decisions, validation.truth, validation.counts)
    return total


PIECES = {
    "a half pass, to white coordinates": repeat_gradient,
    "direction of a step": repeat_direction,
    "a full pass, likewise": repeat_trial,
    "a new factor": repeat_factorisation,
    "a snapshot": repeat_snapshot,
    "comparison with a snapshot": repeat_certificate,
    "position weights": repeat_weights,
    "the score": repeat_score,
}


@entry
def repeat_softmax_gradient(game: LogisticWorkspace, repeats: int) -> None:
    """Gradients of all classes with the intercepts where they should be, after a step without length."""
    for _ in range(repeats):
        for k in range(game.n_models):
            copy_multiple(game.solver.trials[k], 1.0, game.solver.models[k], game.dimension)
        _evaluate(game, 1e-3)


@entry
def repeat_softmax_products(game: LogisticWorkspace, repeats: int) -> None:
    """The products with the rows that gradients of all classes consist of."""
    for _ in range(repeats):
        for k in range(game.n_models):
            copy_multiple(game.solver.trials[k], 1.0, game.solver.models[k], game.dimension)
        _find_margins(game)
        _sum_residuals(game)


@entry
def repeat_probabilities(game: LogisticWorkspace, repeats: int) -> float:
    """Probabilities and residuals from decision values."""
    sway = 0.0
    for _ in range(repeats):
        sway += soften(game, False)
    return sway


@entry
def repeat_white(game: LogisticWorkspace, repeats: int) -> None:
    """Gradients of all classes to white coordinates."""
    for _ in range(repeats):
        _whiten(game, game.solver.gradients, game.solver.trial_white_gradients)


@entry
def repeat_softmax_direction(game: LogisticWorkspace, repeats: int) -> None:
    """Where L-BFGS steps."""
    for _ in range(repeats):
        _aim(game)


@entry
def repeat_softmax_factor(game: LogisticWorkspace, repeats: int) -> None:
    """The mean Hessian, and its inverse Cholesky factor."""
    for _ in range(repeats):
        _renew_factor(game)


SOFTMAX_PIECES = {
    "products of one pass": repeat_softmax_products,
    "probabilities": repeat_probabilities,
    "a gradient, with the intercepts found": repeat_softmax_gradient,
    "to white coordinates": repeat_white,
    "direction of a step": repeat_softmax_direction,
    "a new factor": repeat_softmax_factor,
    "a snapshot": repeat_snapshot,
}


def softmax_nanoseconds(
    game: osv.LogisticGame, m: int, rounds: int = 9, repeats: int = 100
) -> dict[str, float]:
    """Median CPU time of each piece of a softmax fit, at the first m rows, whose prefixes were fitted.

    And how many multiplications and additions the products of a pass are.
    """
    workspace = game._make_workspace()
    functions = workspace.functions
    found: dict[str, float] = {}
    for name, repeat in SOFTMAX_PIECES.items():
        functions.reset(workspace)
        for player in range(m):
            functions.push(workspace, player)
            functions.evaluate(workspace)
        repeat(workspace, 1)
        seconds = []
        for _ in range(rounds):
            began = time.process_time()
            repeat(workspace, repeats)
            seconds.append((time.process_time() - began) / repeats)
        found[name] = 1e9 * median(seconds)
    rows = (workspace.length + WIDTH - 1) // WIDTH * WIDTH
    found["products"] = 2.0 * workspace.n_models * workspace.dimension * rows / (1 + workspace.triangular)
    return found


def piece_nanoseconds(game: osv.LogisticGame, rounds: int = 9, repeats: int = 400) -> dict[str, float]:
    """Median CPU time of each piece of a fit, in the middle of a random order whose prefixes were fitted."""
    order = np.random.default_rng(0).permutation(game.n_players)
    workspace = game._make_workspace()
    functions = workspace.functions
    found: dict[str, float] = {}
    for name, repeat in PIECES.items():
        functions.reset(workspace)
        for player in order[: len(order) // 2].tolist():
            functions.push(workspace, player)
            functions.evaluate(workspace)
        repeat(workspace, 1)
        seconds = []
        for _ in range(rounds):
            began = time.process_time()
            repeat(workspace, repeats)
            seconds.append((time.process_time() - began) / repeats)
        found[name] = 1e9 * median(seconds)
    return found
