"""The table game's nopython side: utilities in one array, in the preorder of the tree of sequences.

The tree's root is the empty sequence; the children of a sequence append one more player, in increasing
order of players. With k players left a subtree has S(k) sequences, S(0) = 1, S(k) = 1 + k S(k - 1). So the
child that appends the r-th of the players left (from 0) is 1 + r S(k - 1) places after its parent.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley_kernels.abi import entry
from ordinal_shapley_kernels.bits import count_bits
from ordinal_shapley_kernels.games import OK, Game, GameFunctions
from ordinal_shapley_kernels.workspace import Integers, Vector, Workspace


class TableWorkspace(Game):
    """Nopython side of a TableGame."""

    values: Vector  # (S(n_players),), read-only: utilities in preorder; shared by all workers
    sizes: Integers  # (n_players + 1,): S(0), ..., S(n_players)
    nodes: Integers  # (n_players + 1,): places in `values` of the prefixes of the current sequence, by length
    unused: Integers  # (n_players + 1,): players that are not in them, as bits
    length: int


def subtree_sizes(n_players: int) -> list[int]:
    """Return S(0), ..., S(n_players): numbers of sequences of 0, ..., n_players players."""
    sizes = [1]
    for k in range(1, n_players + 1):
        sizes.append(1 + k * sizes[-1])
    return sizes


def make_workspace(values: NDArray[np.float64], n_players: int) -> TableWorkspace:
    """Allocate the workspace of one worker; the table itself is not copied."""
    workspace = TableWorkspace(
        FUNCTIONS,
        values=values,
        sizes=np.array(subtree_sizes(n_players), np.int64),
        nodes=(n_players + 1,),
        unused=(n_players + 1,),
    )
    workspace.unused[0] = (1 << n_players) - 1
    return workspace


@entry
def reset(game: TableWorkspace) -> None:
    """Go back to the empty sequence."""
    game.length = 0


@entry
def push(game: TableWorkspace, player: int) -> None:
    """Append a player to the sequence."""
    length = game.length
    nodes, sizes = game.nodes, game.sizes
    unused = game.unused[length]
    bit = 1 << player
    rank = count_bits(unused & (bit - 1))
    nodes[length + 1] = nodes[length] + 1 + rank * sizes[sizes.shape[0] - 2 - length]
    game.unused[length + 1] = unused ^ bit
    game.length = length + 1


@entry
def pop(game: TableWorkspace, player: int) -> None:
    """Take the player that was pushed last out of the sequence."""
    game.length -= 1


@entry
def is_defined(game: TableWorkspace) -> int:
    """Every sequence has a utility."""
    return 1


@entry
def evaluate(game: TableWorkspace) -> int:
    """Write the utility of the current sequence."""
    game.scores[0] = game.values[game.nodes[game.length]]
    return OK


FUNCTIONS = GameFunctions(reset, push, pop, is_defined, evaluate)


class Orders(Workspace):
    """A table of utilities, and scratch."""

    values: Vector  # (S(n_players),)
    first: Vector  # (2^n_players,): NaN at the start; written, the utility of each set's first sequence


@entry
def is_order_free(orders: Orders, n_players: int) -> int:
    """Whether all orders of a set of players have one utility, exactly."""
    values, first = orders.values, orders.first
    used = 0
    depth = 0
    node = 0
    everyone = (1 << n_players) - 1
    # The players of the current sequence, four bits each: tables are for far fewer than 16 players.
    path = 0
    candidate = 0
    first[0] = values[0]
    while True:
        while candidate < n_players and used >> candidate & 1:
            candidate += 1
        if candidate == n_players:
            if depth == 0:
                return 1
            depth -= 1
            last = path & 15
            path >>= 4
            used ^= 1 << last
            candidate = last + 1
            continue
        used |= 1 << candidate
        path = path << 4 | candidate
        depth += 1
        node += 1
        if first[used] != first[used]:
            first[used] = values[node]
        elif first[used] != values[node]:
            return 0
        candidate = 0 if used != everyone else n_players
