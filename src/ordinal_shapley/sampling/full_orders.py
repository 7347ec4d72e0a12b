"""Random full orders of a run, apart from its permutations, and how many of them tell enough."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numba import config
from numpy.typing import NDArray

from ordinal_shapley.games.base import Game
from ordinal_shapley_kernels.permutations import draw_orders, make_permutation_state

TARGET_ORDERS = 20
# The mean of those that cost much is near enough with a standard error of this share of a rule's tolerance.
NEAR_TARGET = 0.1


def wrapping() -> AbstractContextManager[Any]:
    """Without the JIT the random stream's arithmetic is numpy's, which warns when it wraps round."""
    return np.errstate(over="ignore" if config.DISABLE_JIT else "warn")


def score_key(seed: int) -> int:
    """Return another key than the run's own, so that a score is independent of the walks."""
    return seed ^ 0x5DEECE66D


def random_orders(n_players: int, seed: int, count: int) -> NDArray[np.int64]:
    """Return `count` random orders of all players, apart from those that are walked."""
    key = score_key(seed)
    state = make_permutation_state(np.arange(n_players), np.array([0, n_players]), np.array([n_players]), key)
    with wrapping():
        return draw_orders(state, 0, count)


def _orders_at_first(game: Game, most: int) -> int:
    """Return how many random orders of all players are evaluated first: `most` unless they are dear."""
    cost = float(game._relative_costs(np.array([game.n_players]), jump=True)[0])
    return min(most, max(1 if game.order_free else 2, int(min(most, game._much / cost))))


def _are_enough(scored: Sequence[float], tolerance: float) -> bool:
    """Whether the standard error of the mean of some utilities is at most this share of it."""
    n = len(scored)
    error = float(np.std(scored, ddof=1)) / math.sqrt(n) if n > 1 else 0.0
    return error <= tolerance * abs(float(np.mean(scored)))


def add_enough(
    found: list[float], game: Game, most: int, tolerance: float, evaluate: Callable[[range], list[float]]
) -> list[float]:
    """Add utilities of random full orders until they are `most`, or fewer that are dear and agree.

    `evaluate` gives those of some indices, fewer if time is up.
    """
    for count in (_orders_at_first(game, most), most):
        if len(found) < count:
            found += evaluate(range(len(found), count))
        if len(found) < count or _are_enough(found[:count], tolerance):
            break
    return found[:count]


def target_score(game: Game, target: str, tol: float, seed: int) -> float:
    """Return the full score that a rule of this tolerance compares with in a run of this seed."""
    if target == "given":
        return game(np.arange(game.n_players))
    orders = random_orders(game.n_players, seed, TARGET_ORDERS)
    scored = add_enough(
        [], game, len(orders), NEAR_TARGET * tol, lambda indices: [game(orders[t]) for t in indices]
    )
    return float(np.mean(scored))
