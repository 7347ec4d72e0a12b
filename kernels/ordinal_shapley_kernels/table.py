"""The table game's nopython side: utilities in one array, in the preorder of the tree of sequences.

The tree's root is the empty sequence; the children of a sequence append one more player, in increasing
order of players. With k players left a subtree has S(k) sequences, S(0) = 1, S(k) = 1 + k S(k - 1). So the
child that appends the r-th of the players left (from 0) lies 1 + r S(k - 1) behind its parent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley_kernels._jit import kernel
from ordinal_shapley_kernels.bits import count_bits


class TableWorkspace(NamedTuple):
    """Nopython side of a TableGame.

    Attributes
    ----------
    values : float64 (S(n_players),), read-only
        Utilities in preorder; shared by all workers.
    sizes : int64 (n_players + 1,)
        S(0), ..., S(n_players).
    nodes : int64 (n_players + 1,)
        Where the prefixes of the sequence at hand lie in `values`, by their length.
    unused : int64 (n_players + 1,)
        Players that are not in them, as bits.
    length : int64 (1,)
    """

    values: NDArray[np.float64]
    sizes: NDArray[np.int64]
    nodes: NDArray[np.int64]
    unused: NDArray[np.int64]
    length: NDArray[np.int64]


def subtree_sizes(n_players: int) -> list[int]:
    """Return S(0), ..., S(n_players): how many sequences there are of so many players."""
    sizes = [1]
    for k in range(1, n_players + 1):
        sizes.append(1 + k * sizes[-1])
    return sizes


def make_workspace(values: NDArray[np.float64], n_players: int) -> TableWorkspace:
    """Allocate the workspace of one worker; the table itself is not copied."""
    # Arrays that may be written and those that may not are two types, and each would compile all anew.
    shared = np.require(values, np.float64, ["C", "A"]).view()
    shared.flags.writeable = False
    unused = np.zeros(n_players + 1, np.int64)
    unused[0] = (1 << n_players) - 1
    return TableWorkspace(
        shared,
        np.array(subtree_sizes(n_players), np.int64),
        np.zeros(n_players + 1, np.int64),
        unused,
        np.zeros(1, np.int64),
    )


@kernel(internal=True)
def clear(game: TableWorkspace) -> None:
    """Go back to the empty sequence."""
    game.length[0] = 0


@kernel(internal=True)
def place(game: TableWorkspace, player: int) -> None:
    """Append a player to the sequence."""
    length = game.length[0]
    unused = game.unused[length]
    bit = 1 << player
    rank = count_bits(unused & (bit - 1))
    game.nodes[length + 1] = game.nodes[length] + 1 + rank * game.sizes[game.sizes.shape[0] - 2 - length]
    game.unused[length + 1] = unused ^ bit
    game.length[0] = length + 1


@kernel(internal=True)
def remove_last(game: TableWorkspace, player: int) -> None:
    """Take the player that was placed last out of the sequence."""
    game.length[0] -= 1


@kernel(internal=True)
def utility(game: TableWorkspace) -> float:
    """Utility of the sequence as it stands."""
    return game.values[game.nodes[game.length[0]]]


@kernel(internal=True)
def has_model(game: TableWorkspace) -> bool:
    """Every sequence has an entry."""
    return True


@kernel()
def is_order_free(values: NDArray[np.float64], n_players: int, first: NDArray[np.float64]) -> bool:
    """Whether all orders of a set of players have one utility, exactly.

    `first` (2^n_players) is scratch: NaN on entry, on return the utility of each set's first sequence.
    """
    used = 0
    depth = 0
    node = 0
    everyone = (1 << n_players) - 1
    # The players of the sequence at hand, four bits each: tables end far below 16 players.
    path = 0
    candidate = 0
    first[0] = values[0]
    while True:
        while candidate < n_players and used >> candidate & 1:
            candidate += 1
        if candidate == n_players:
            if depth == 0:
                return True
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
            return False
        candidate = 0 if used != everyone else n_players
