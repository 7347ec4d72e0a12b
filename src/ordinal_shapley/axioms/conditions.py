"""Conditions of the axioms: the utility of every sequence, and how near each condition is to being met."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common.parallel import check_memory
from ordinal_shapley.exact.enumeration import Scope, Wanted, enumerate_game, reporting
from ordinal_shapley.exact.plan import Budget, check_time
from ordinal_shapley.games.base import Game
from ordinal_shapley.games.table import TableGame
from ordinal_shapley.values import Classic, Ordinal
from ordinal_shapley_kernels import conditions as kernels
from ordinal_shapley_kernels.table import subtree_sizes

MAX_PLAYERS = 12
# Memory for the utilities, those of another game and of the sum of both, and temporary arrays.
_BYTES_PER_SEQUENCE = 5 * 8


class Gains(NamedTuple):
    """Lowest and highest change of the utility as each player joins, and the sequences with the player."""

    lowest: NDArray[np.float64]
    highest: NDArray[np.float64]
    lowest_at: list[tuple[int, ...]]
    highest_at: list[tuple[int, ...]]

    @property
    def sizes(self) -> NDArray[np.float64]:
        """The largest absolute change, by player."""
        return np.maximum(np.abs(self.lowest), np.abs(self.highest))

    def largest_at(self, player: int) -> tuple[int, ...]:
        """Return the sequence with that change."""
        down = abs(self.lowest[player]) > abs(self.highest[player])
        return self.lowest_at[player] if down else self.highest_at[player]


class Conditions(NamedTuple):
    """How near each condition of a game is to being met."""

    at_end: Gains  # by players joining there
    anywhere: Gains
    pairs: list[tuple[int, ...]]
    differences: NDArray[np.float64]  # by pair: largest change of a utility as the two are exchanged
    differences_at: list[tuple[int, ...]]


def check_size(game: Game) -> None:
    """ValueError if there are too many sequences for this machine."""
    n = game.n_players
    if n > MAX_PLAYERS:
        raise ValueError(
            f"game has {n} players, expected at most {MAX_PLAYERS}: axioms are about all sequences of them, "
            "so check a game of some of the players"
        )
    needed = _BYTES_PER_SEQUENCE * subtree_sizes(n)[n]
    check_memory(needed, f"checking all sequences of {n} players", "check a game of fewer players")


def tabulate(game: Game, budget: Budget, progress: bool) -> tuple[TableGame, float, int]:
    """Evaluate all sequences, or in an order-free game one for each set of players.

    Returns the game as a table, v(N) - v(empty), and the number of evaluations.
    """
    n = game.n_players
    budget = budget.on(game)
    scope = Scope.of(*(Classic() if game.order_free else Ordinal()).enumerated(n), n)
    instead = "check a game of fewer players, or raise max_seconds"
    with reporting(game):
        check_time(game, scope, budget, f"checking {n} players", instead)
    wanted = Wanted(subset_sums=game.order_free, utilities=not game.order_free)
    totals = enumerate_game(game, scope, wanted, budget.n_jobs, progress)
    game._warn_unconverged(totals.unconverged)
    utilities = totals.subset_sums[sets_in_preorder(n)] if game.order_free else totals.utilities
    table = like(game, utilities)
    return table, float(totals.full / scope.counts()[n] - table.values[0]), totals.n_evaluations


def like(game: Game, utilities: NDArray[np.float64]) -> TableGame:
    """Return a table of utilities as a game of the same players."""
    table = TableGame.from_array(game.n_players, utilities)
    table.player_names, table.player_classes = game.player_names, game.player_classes
    return table


def sets_in_preorder(n: int) -> NDArray[np.int32]:
    """Players of every sequence as bits, in preorder."""
    sets = np.zeros(1, np.int32)
    for k in range(1, n + 1):
        # After player p come the sets of one player less, with players from p on moved up by one.
        parts = [1 << p | sets >> p << p + 1 | sets & (1 << p) - 1 for p in range(k)]
        sets = np.concatenate([np.zeros(1, np.int32), *parts]).astype(np.int32)
    return sets


def find_conditions(game: TableGame) -> Conditions:
    """Visit all sequences."""
    n = game.n_players
    sizes = np.array(subtree_sizes(n), np.int64)
    at = kernels.Prefixes(
        path=(n,),
        unused=(n + 1,),
        open=(n + 1,),
        nodes=(n + 1,),
        without=(n + 1, n),
        exchanged=(n + 1, n, n),
    )
    extremes = np.empty((2, n, 2))
    extremes[:, :, 0], extremes[:, :, 1] = np.inf, -np.inf
    found = kernels.Findings(
        gains=extremes,
        gain_nodes=(2, n, 2),
        differences=np.full((n, n), -1.0),
        difference_nodes=(n, n),
    )

    def scan(root: tuple[int, ...], deepest: int) -> None:
        table = kernels.Utilities(values=game.values, sizes=sizes, root=np.array(root, np.int64))
        kernels.scan(table, at, found, deepest)

    # In pieces, because Ctrl-C cannot stop a kernel.
    split = min(n, 2)
    scan((), split)
    for root in itertools.permutations(range(n), split):
        scan(root, n)

    def gains(where: int) -> Gains:
        nodes = found.gain_nodes[where].T.tolist()
        return Gains(*found.gains[where].T, *([game._sequence(node) for node in side] for side in nodes))

    pairs: list[tuple[int, ...]] = list(itertools.combinations(range(n), 2))
    return Conditions(
        gains(kernels.AT_END),
        gains(kernels.ANYWHERE),
        pairs,
        np.array([found.differences[pair] for pair in pairs]),
        [game._sequence(int(found.difference_nodes[pair])) for pair in pairs],
    )
