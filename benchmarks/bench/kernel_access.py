"""The one place where benchmarks reach below the public API: the trainer's kernels, called over and over.

Python cannot call them, so compiled loops do.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import ordinal_shapley as osv
from ordinal_shapley_kernels.abi import entry
from ordinal_shapley_kernels.dense import FULL, combine_columns, row_products
from ordinal_shapley_kernels.lanes import WIDTH
from ordinal_shapley_kernels.logistic import fit_models
from ordinal_shapley_kernels.logistic_gradient import find_slopes
from ordinal_shapley_kernels.logistic_solver import factorise
from ordinal_shapley_kernels.logistic_workspace import LogisticWorkspace


@entry
def repeat_pass(game: LogisticWorkspace, repeats: int) -> float:
    """Decision values, derivatives of the losses, gradient."""
    prefix, solver = game.prefix, game.solver
    d, n, trial = game.dimension, (game.length + WIDTH - 1) // WIDTH * WIDTH, game.n_models
    columns, margins, slopes = prefix.columns, prefix.margins, prefix.slopes[trial]
    model, gradient = solver.models[0], solver.gradients[trial]
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
        factorise(game, 0)


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
    workspace.functions.reset(workspace)
    for row in range(n_rows):
        workspace.functions.push(workspace, row)
    fit_models(workspace, 1e-3)
    return (
        lambda repeats: repeat_pass(workspace, repeats),
        lambda repeats: repeat_factorisation(workspace, repeats),
    )
