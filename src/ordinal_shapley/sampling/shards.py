"""A shard: a fixed range of permutations, walked by one worker and returned as sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import config
from numpy.typing import NDArray

from ordinal_shapley._parallel import Cancellation, run_in_steps
from ordinal_shapley.games.base import UtilityError
from ordinal_shapley.moments import Moments
from ordinal_shapley.sampling.plan import Plan
from ordinal_shapley_kernels.in_out import add_in_out
from ordinal_shapley_kernels.logistic_workspace import UNCONVERGED, LogisticWorkspace
from ordinal_shapley_kernels.permutations import draw_many
from ordinal_shapley_kernels.walks import (
    COMPLETED_STOPS,
    EVALUATIONS,
    FAILED,
    MEASURING,
    PAUSED,
    PLACE,
    WALK_LENGTH,
    Rule,
    make_walk,
    walk,
)

# Permutations a shard. It must never depend on the number of workers: results are added shard by shard.
SHARD_SIZE = 10


def walk_shard(
    make_workspace: Callable[..., Any],
    first: int,
    stop: int,
    cancellation: Cancellation,
    n_plan: int,
    *arguments: Any,
) -> tuple[Moments, int]:
    """Walk permutations first..stop-1 and return their sums, and how many fits did not converge.

    The arrays of plan and game are direct arguments (`n_plan` entries of a Plan, then the game's payload),
    so that a backend that ships arrays apart from tasks finds them.
    """
    plan = Plan(*arguments[:n_plan])
    game = make_workspace(*arguments[n_plan:])
    run = make_walk(
        plan.members,
        plan.starts,
        plan.quota,
        plan.sizes,
        plan.seed,
        plan.count_chosen,
        first,
        stop,
        plan.empty_value,
        plan.in_out,
    )
    rule = Rule(int(plan.rule), float(plan.tolerance), int(plan.patience), float(plan.target))
    # Without the JIT the random stream's arithmetic is numpy's, which warns when it wraps round.
    with np.errstate(over="ignore" if config.DISABLE_JIT else "warn"):
        status = run_in_steps(lambda budget: walk(game, run, rule, budget), PAUSED, cancellation)
    if status == FAILED:
        place = run.state[PLACE]
        raise UtilityError(tuple(run.drawn[: plan.quota.sum() if place == MEASURING else place + 1].tolist()))
    n_permutations = stop - first
    if plan.in_out and not cancellation.requested:
        run.sums[:] = 0.0
        run.square_sums[:] = 0.0
        scratch = np.empty(run.orders.shape[1])
        add_in_out(run.orders, run.utilities, plan.empty_value, scratch, run.sums, run.square_sums)
    chosen = run.chosen
    if len(plan.quota) == 1:
        chosen[:] = n_permutations
    moments = Moments(
        run.sums,
        run.square_sums,
        chosen,
        n_permutations,
        int(run.state[EVALUATIONS]),
        int(run.state[WALK_LENGTH]),
        int(run.state[COMPLETED_STOPS]),
    )
    return moments, unconverged_fits(game)


def unconverged_fits(game: Any) -> int:
    """Return how many model fits of a workspace could not be brought to convergence."""
    return int(game.counters[UNCONVERGED]) if isinstance(game, LogisticWorkspace) else 0


def random_orders(n_players: int, seed: int, count: int) -> NDArray[np.int64]:
    """Return `count` random orders of all players, apart from those that are walked."""
    one_stratum = make_walk(
        np.arange(n_players),
        np.array([0, n_players]),
        np.array([n_players]),
        np.ones(n_players, np.int64),
        0,
        False,
        0,
        0,
        0.0,
    )
    orders = np.empty((count, n_players), np.int64)
    with np.errstate(over="ignore" if config.DISABLE_JIT else "warn"):
        # Another key than the run's own, so that the target is independent of the walks.
        draw_many(one_stratum.deck, np.uint64(seed ^ 0x5DEECE66D), 0, n_players, orders)
    return orders
