"""Utilities of a few permutations at some sizes only, ahead of a run, on all its workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common.parallel import Cancellation
from ordinal_shapley.games.base import Game, UtilityError
from ordinal_shapley.sampling.plan import Plan
from ordinal_shapley.sampling.shards import other_stream, walked, weighted_marginals

_SCORES = 0x5DEECE66D  # makes a key of its own, so that scores are independent of the run


class Look(NamedTuple):
    """What one permutation tells of the sizes looked at."""

    utilities: NDArray[np.float64]  # of its prefixes
    marginals: NDArray[np.float64]  # above the size looked at before, times the weight of the players before
    evaluations: int


def pilot_plan(plan: Plan, sizes: NDArray[np.int64]) -> Plan:
    """Return a plan that evaluates these sizes, of permutations that are independent of the plan's own."""
    return _at_sizes(other_stream(plan), sizes)


def score_plan(game: Game, seed: int) -> Plan:
    """Return a plan that evaluates random orders of all players."""
    n = game.n_players
    strata = (np.arange(n), np.array([0, n]), np.array([n]))
    return _at_sizes(Plan(*strata, game.player_sizes, seed ^ _SCORES, False, 0.0), np.array([n]))


def _at_sizes(plan: Plan, sizes: NDArray[np.int64]) -> Plan:
    # Systematic sampling with probabilities of 1 and 0 leaves nothing to chance.
    inclusion = np.zeros(int(plan.quota.sum()))
    inclusion[sizes - 1] = 1.0
    return plan._replace(in_out=1.0, inclusion=inclusion)


def look(
    make_workspace: Callable[..., Any], index: int, cancellation: Cancellation, n_plan: int, *arguments: Any
) -> Look | UtilityError | None:
    """Evaluate the sizes of a plan in permutation `index`; None if there was no time.

    As for a shard, the arrays of plan and game are direct arguments. A failure is handed in.
    """
    plan = Plan(*arguments[:n_plan])
    try:
        game = cancellation.workspace(make_workspace, arguments[n_plan:])
        run = walked(plan, game, index, index + 1, cancellation)
        if run.next == index:
            return None
        seen = np.flatnonzero(plan.inclusion)
        return Look(run.utilities[0, seen], weighted_marginals(plan, run)[0, seen], run.evaluations)
    except UtilityError as error:
        error.permutation = None  # a number in another stream tells nobody anything
        return error
