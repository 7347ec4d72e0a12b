"""The one place where benchmarks reach below the public API: the trainer's kernels, called over and over.

They have no wrapper that Python could call, so compiled loops call them.
"""

from __future__ import annotations

from collections.abc import Callable

import numba
import numpy as np

import ordinal_shapley as osv
from ordinal_shapley_kernels.dense import FULL, combine_columns, row_products
from ordinal_shapley_kernels.lanes import padded
from ordinal_shapley_kernels.logistic import fit_sequence
from ordinal_shapley_kernels.logistic_solver import factorise, find_slopes


@numba.njit
def _repeat_pass(prefix, solver, n, d, repeats):
    """Decision values, derivatives of the losses, gradient."""
    first = 0.0
    for _ in range(repeats):
        combine_columns(solver.models[0], d, prefix.columns, n, False, prefix.margins)
        find_slopes(prefix.margins, prefix.signs[0], n, prefix.trial_slopes)
        row_products(prefix.columns, d, prefix.trial_slopes, n, FULL, solver.trial_gradient)
        first += solver.trial_gradient[0]
    return first


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
    prefix, solver = workspace.prefix, workspace.solver
    return (
        lambda repeats: _repeat_pass(prefix, solver, padded(n_rows), padded(d), repeats),
        lambda repeats: _repeat_factorisation(prefix, solver, n_rows, repeats),
    )
