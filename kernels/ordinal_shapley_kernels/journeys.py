"""The utility of a JourneyGame, by the journeys of each set of channels.

These are the functions of a CompiledGame, as a user writes them.

The utility of a sequence is a weighted sum over sets of channels: of the utilities that the set has for those
of its channels that are in the sequence, in their order. If order matters, a trie of the sequences seen holds
these utilities; if not, a table for each set, indexed by the bits of its members.

Nodes of a trie are indexed level by level, so that the children of a node are neighbours, in increasing order
of their channels: the edge with index e leads to node e + 1.

Fields of the game
------------------
ordered : int
    Whether order matters.
trie_starts : int64 (n_nodes + 1,)
    If order matters: where the edges to the children of each node begin in `trie_channels`.
trie_channels : int64 (n_nodes - 1,)
    Channel of each edge.
parents : int64 (n_nodes,)
depths : int64 (n_nodes,)
utilities : float64 (n_nodes,)
    Utility of each node's sequence.
beyond : float64 (n_nodes,)
    Utility of the sequences that leave the trie behind the node.
tables : float64
    If not: utilities of all subsets of each set, the sets one after the other.
table_starts : int64 (n_sets,)
weights : float64 (n_sets,)
needed : int64 (n_sets,)
    Number of the set's channels that a sequence needs for a utility other than 0: 0, or the size of the set.
of_starts : int64 (n_channels + 1,)
    Where the sets of each channel begin in `of_sets`.
of_sets : int64
of_bits : int64
    The channel's bit in that set.
at : int64 (n_sets,), state
    State of the current sequence for each set: a node, or bits.
behind : int64 (n_sets,), state
    Touches since the trie was left.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley_kernels.abi import inlined


@inlined
def find_child(starts: NDArray[np.int64], channels: NDArray[np.int64], node: int, channel: int) -> int:
    """Return the child of a node for a channel, -1 if there is none."""
    low, end = starts[node], starts[node + 1]
    high = end
    while low < high:
        middle = (low + high) // 2
        if channels[middle] < channel:
            low = middle + 1
        else:
            high = middle
    return low + 1 if low < end and channels[low] == channel else -1


@inlined
def push(game: Any, player: int) -> None:
    """Append a channel to the sequence."""
    of_sets, of_bits, at, behind = game.of_sets, game.of_bits, game.at, game.behind
    starts, channels = game.trie_starts, game.trie_channels
    for e in range(game.of_starts[player], game.of_starts[player + 1]):
        s = of_sets[e]
        if game.ordered == 0:
            at[s] ^= of_bits[e]
            continue
        child = find_child(starts, channels, at[s], player) if behind[s] == 0 else -1
        if child < 0:
            behind[s] += 1
        else:
            at[s] = child


@inlined
def pop(game: Any, player: int) -> None:
    """Take the channel that was pushed last out of the sequence."""
    of_sets, of_bits, at, behind, parents = game.of_sets, game.of_bits, game.at, game.behind, game.parents
    for e in range(game.of_starts[player], game.of_starts[player + 1]):
        s = of_sets[e]
        if game.ordered == 0:
            at[s] ^= of_bits[e]
        elif behind[s] > 0:
            behind[s] -= 1
        else:
            at[s] = parents[at[s]]


@inlined
def evaluate(game: Any) -> float:
    """Utility of the current sequence; sets are added in a fixed order."""
    ordered, weights, ats, behind = game.ordered, game.weights, game.at, game.behind
    tables, table_starts, needed = game.tables, game.table_starts, game.needed
    depths, utilities, beyond = game.depths, game.utilities, game.beyond
    total = 0.0
    for s in range(weights.shape[0]):
        at = ats[s]
        if ordered == 0:
            total += weights[s] * tables[table_starts[s] + at]
        elif depths[at] >= needed[s]:
            total += weights[s] * (utilities[at] if behind[s] == 0 else beyond[at])
    return total
