"""Starts of fits to distant prefixes: mean models and Hessians of random prefixes of some lengths."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common.parallel import one_thread
from ordinal_shapley.games._rows import CompiledRowGame
from ordinal_shapley_kernels.logistic import fit_models
from ordinal_shapley_kernels.logistic_workspace import LogisticWorkspace

# Lengths in multiples of the features: Hessians of shorter prefixes are far from their mean, and for longer
# ones a factor costs little compared to the passes over the rows.
_SHORTEST = 2
_LONGEST = 32
_RATIO = 2.0
_ORDERS = 8
# Distance allowed between their models and the optima.
_RADIUS = 1e-3


class References(NamedTuple):
    """The arrays of the kernels' `References`."""

    lengths: NDArray[np.int64]  # (n_lengths,)
    models: NDArray[np.float64]  # (n_lengths, n_features)
    inverse_factors: NDArray[np.float64]  # (n_lengths, n_features, n_features)


NO_REFERENCES = References(np.zeros(0, np.int64), np.zeros((0, 0)), np.zeros((0, 0, 0)))


@one_thread()
def find_references(
    game: CompiledRowGame,
    workspace: LogisticWorkspace,
    tick: Callable[[int, int], bool],
    longest: int | None = None,
) -> References:
    """Fit models of two classes to random prefixes of up to `longest` players; none if there is no time.

    They depend on the game alone, so that fits start alike in all runs and parts of runs. Several classes
    would gain nothing, because they share their first factor.
    """
    n_features, n = workspace.n_features, game.n_players
    rows = game.n_rows / n
    shortest = max(_SHORTEST * n_features, workspace.span_limit + 1) / rows
    max_players = n if longest is None else min(n, longest)
    largest = min(max_players, min(_LONGEST * n_features, workspace.prefix.columns.shape[1]) / rows)
    if workspace.n_models > 1 or not 1.0 <= shortest <= largest:
        return NO_REFERENCES
    count = int(np.log(largest / shortest) / np.log(_RATIO)) + 2
    sizes = np.unique(np.rint(np.geomspace(shortest, largest, count)).astype(np.int64))
    random = np.random.default_rng(0)
    found = []
    for place, size in enumerate(sizes):
        fits = []
        for order in range(_ORDERS):
            if not tick(place * _ORDERS + order, len(sizes) * _ORDERS):
                return NO_REFERENCES
            workspace.functions.reset(workspace)
            for player in random.permutation(n)[:size].tolist():
                workspace.functions.push(workspace, player)
            if workspace.functions.is_defined(workspace):
                fit_models(workspace, _RADIUS)
                if not workspace.triangular and workspace.length <= workspace.prefix.columns.shape[1]:
                    fits.append(_fitted(workspace))
        if fits:
            length, model, hessian = (np.mean(parts, axis=0) for parts in zip(*fits, strict=True))
            found.append((round(length), model, np.linalg.inv(np.linalg.cholesky(hessian))))
    if not found:
        return NO_REFERENCES
    lengths, models, factors = (np.array(part) for part in zip(*found, strict=True))
    return References(lengths, models, np.tril(factors))


def _fitted(workspace: LogisticWorkspace) -> tuple[int, NDArray[np.float64], NDArray[np.float64]]:
    """Length of the sequence, model (n_features,) and its Hessian (n_features, n_features)."""
    m, n_features = workspace.length, workspace.n_features
    slopes = np.abs(workspace.prefix.slopes[0, :m])
    columns = workspace.prefix.columns[:n_features, :m]
    curvatures = workspace.prefix.costs[:m] * slopes * (1.0 - slopes)
    model = workspace.solver.models[0, :n_features].copy()
    return m, model, np.diag(workspace.solver.penalties[:n_features]) + (columns * curvatures) @ columns.T
