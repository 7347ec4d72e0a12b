"""The options that some values take, exact or sampled: which they are and whether they fit the game."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common import arguments, arrays
from ordinal_shapley.games._rearranged import CASE_CODES, representative
from ordinal_shapley.games.base import Game
from ordinal_shapley.games.function import FunctionGame
from ordinal_shapley.vocabulary import CASES, choose

# How far sums and utilities that should be equal may be apart.
TOLERANCE = 1e-9
_SPOT_CHECKS = 20
_ORDER_CHECKS = 5
_CHECKED_SETS = 10  # of each size
_LARGEST_CHECKED = 4


def check_options(value: str, partition: Any, case: Any, alpha: Any, order_weight: Any) -> None:
    """Check that each option stands beside the value it belongs to."""
    for name, option, home in (
        ("alpha", alpha, "blend"),
        ("order_weight", order_weight, "weighted_ordinal"),
    ):
        if option is None and value == home:
            raise ValueError(f"{name} is missing: value={home!r} needs it")
        if option is not None and value != home:
            raise ValueError(f"{name} goes with value={home!r}, not with {value!r}")
    if alpha is not None:
        arguments.number("alpha", alpha, least=0.0, most=1.0)
    if order_weight is not None and not callable(order_weight):
        raise TypeError(f"order_weight is {order_weight!r}, expected a function of a sequence of players")
    if (partition is None) != (case is None):
        raise ValueError("partition and case belong together: give both or neither")
    if case is not None:
        choose("case", case, CASES)
        if value != "partial_ordinal":
            raise ValueError(f"partition goes with value='partial_ordinal', not with {value!r}")


def encode_partition(partition: Any, n_players: int) -> NDArray[np.int64]:
    """Group of each player, numbered from 0."""
    labels = arrays.as_names(partition, "partition", n_players, "player")
    return arrays.encode(labels, "partition")[1]


def check_symmetry(game: Game, groups: NDArray[np.int64], case: str) -> None:
    """Warn if random sequences are not worth the same as what represents them."""
    rng = np.random.default_rng(0)
    n = game.n_players
    for _ in range(_SPOT_CHECKS if n > 1 else 0):
        sequence = rng.permutation(n)[: rng.integers(2, n + 1)]
        alike = representative(sequence, groups, CASE_CODES[case])
        one, two = game(sequence), game(alike)
        if not math.isclose(one, two, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
            warnings.warn(
                f"the game is not as partition and case={case!r} say: the sequence "
                f"{tuple(sequence.tolist())} is worth {one}, {tuple(alike.tolist())} is worth {two}; the "
                "values are those of a game in which both are worth the latter",
                UserWarning,
                stacklevel=3,
            )
            return


def check_order_free(game: Game) -> None:
    """Warn if the order of some random sequences matters in a game that was said to have none."""
    if not game._order_on_trust:
        return
    rng = np.random.default_rng(0)
    n = game.n_players
    for _ in range(_ORDER_CHECKS if n > 1 else 0):
        sequence = rng.permutation(n)[: rng.integers(2, n + 1)]
        one, two = game(sequence), game(sequence[::-1].copy())
        if not math.isclose(one, two, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
            warnings.warn(
                f"the game is not as order_free=True says: the sequence {tuple(sequence.tolist())} is worth "
                f"{one}, its reverse {two}; ask for value='partial_ordinal' or value='ordinal'",
                UserWarning,
                stacklevel=3,
            )
            return


def as_weight_game(order_weight: Callable[..., Any], n_players: int) -> Game:
    """Return `order_weight` as a game, whose utilities are the weights."""
    if isinstance(order_weight, Game):
        game = order_weight
    else:
        game = FunctionGame(order_weight, n_players)
        game._callback.name = "it"  # messages begin with "order_weight: "
    if game.n_players != n_players:
        raise ValueError(f"order_weight is a game of {game.n_players} players, expected {n_players}")
    return game


def check_sum(total: float, players: tuple[int, ...]) -> None:
    """ValueError unless the weights of all orders of a set sum to 1."""
    if abs(total - 1.0) > TOLERANCE:
        raise ValueError(
            f"order_weight sums to {total:.12g} over the orders of {{{', '.join(map(str, players))}}}, "
            "expected 1 for every set of players"
        )


def spot_check_weights(game: Game) -> None:
    """ValueError if the weights of some small sets, drawn at random, do not sum to 1.

    All sets would be as much work as an exact value.
    """
    rng = np.random.default_rng(0)
    n = game.n_players
    for size in range(min(_LARGEST_CHECKED, n - 1) + 1):
        for _ in range(_CHECKED_SETS):
            players = tuple(sorted(rng.choice(n, size, replace=False).tolist()))
            try:
                total = math.fsum(game(order) for order in itertools.permutations(players))
            except (RuntimeError, TypeError, ValueError) as cause:
                raise arguments.retold("order_weight: ", cause) from cause
            check_sum(total, players)
