"""The one place where benchmarks reach below the public API: the trainer's kernels, called over and over.

They have no wrapper that Python could call, so compiled loops call them.
"""

from __future__ import annotations

from collections.abc import Callable

import numba
import numpy as np

import ordinal_shapley as osv
from ordinal_shapley_kernels.logistic import fit_sequence
from ordinal_shapley_kernels.logistic_solver import factorise, gradient_pass


@numba.njit
def _repeat_pass(prefix, solver, m, dimension, repeats):
    norm = 0.0
    for _ in range(repeats):
        norm += gradient_pass(prefix, 0, m, dimension, solver.models[0], solver.gradients[0])[0]
    return norm


@numba.njit
def _repeat_factorisation(prefix, solver, m, repeats):
    for _ in range(repeats):
        factorise(prefix, solver, 0, m)


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
    fit_sequence(workspace, np.arange(n_rows), 1e-3)
    prefix, solver, dimension = workspace.prefix, workspace.solver, workspace.rounding_dimension
    return (
        lambda repeats: _repeat_pass(prefix, solver, n_rows, dimension, repeats),
        lambda repeats: _repeat_factorisation(prefix, solver, n_rows, repeats),
    )
