"""The journey game's nopython side: what the journeys of each set of channels are worth in a given order.

The utility of a sequence is a sum over sets of channels: weight times what those of the sequence's channels
that are in the set are worth, in its order. Where order counts, worths stand in a trie of the sequences seen;
where it doesn't, in a table for each set, by the bits of its members.

Nodes of a trie are numbered level by level, so that the children of a node are neighbours, in increasing
order of their channels: the edge with index e leads to node e + 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley_kernels._jit import kernel


class Trie(NamedTuple):
    """Sequences seen, and their beginnings.

    Attributes
    ----------
    starts : int64 (n_nodes + 1,), read-only
        Where the edges to the children of each node begin in `channels`.
    channels : int64 (n_nodes - 1,), read-only
        Channel of each edge.
    parents : int64 (n_nodes,), read-only
    depths : int64 (n_nodes,), read-only
    """

    starts: NDArray[np.int64]
    channels: NDArray[np.int64]
    parents: NDArray[np.int64]
    depths: NDArray[np.int64]


class JourneysWorkspace(NamedTuple):
    """Nopython side of a JourneyGame.

    Attributes
    ----------
    ordered : int
        Whether order counts.
    trie : Trie
        If order counts.
    worths : float64 (n_nodes,), read-only
        Worth of each node's sequence.
    beyond : float64 (n_nodes,), read-only
        Worth of the sequences that leave the trie behind the node.
    tables : float64, read-only
        If order doesn't count: worths of all subsets of each set, the sets one after the other.
    table_starts : int64 (n_sets,), read-only
    weights : float64 (n_sets,), read-only
    needed : int64 (n_sets,), read-only
        Channels without which a sequence is worth nothing to the set: 0, or the size of the set.
    of_starts : int64 (n_channels + 1,), read-only
        Where the sets of each channel begin in `of_sets`.
    of_sets : int64, read-only
    of_bits : int64, read-only
        The channel's bit in that set.
    at : int64 (n_sets,)
        Where the sequence at hand stands for each set: a node, or bits.
    behind : int64 (n_sets,)
        Touches since the trie was left.
    """

    ordered: int
    trie: Trie
    worths: NDArray[np.float64]
    beyond: NDArray[np.float64]
    tables: NDArray[np.float64]
    table_starts: NDArray[np.int64]
    weights: NDArray[np.float64]
    needed: NDArray[np.int64]
    of_starts: NDArray[np.int64]
    of_sets: NDArray[np.int64]
    of_bits: NDArray[np.int64]
    at: NDArray[np.int64]
    behind: NDArray[np.int64]


def make_trie(*arrays: NDArray[np.int64]) -> Trie:
    """Share the arrays of a trie."""
    return Trie(*(_integers(array) for array in arrays))


def make_workspace(
    ordered: int,
    starts: NDArray[np.int64],
    channels: NDArray[np.int64],
    parents: NDArray[np.int64],
    depths: NDArray[np.int64],
    worths: NDArray[np.float64],
    beyond: NDArray[np.float64],
    tables: NDArray[np.float64],
    table_starts: NDArray[np.int64],
    weights: NDArray[np.float64],
    needed: NDArray[np.int64],
    of_starts: NDArray[np.int64],
    of_sets: NDArray[np.int64],
    of_bits: NDArray[np.int64],
) -> JourneysWorkspace:
    """Allocate the workspace of one worker; what is only read is not copied."""
    n_sets = len(weights)
    return JourneysWorkspace(
        int(ordered),
        make_trie(starts, channels, parents, depths),
        _floats(worths),
        _floats(beyond),
        _floats(tables),
        _integers(table_starts),
        _floats(weights),
        _integers(needed),
        _integers(of_starts),
        _integers(of_sets),
        _integers(of_bits),
        np.zeros(n_sets, np.int64),
        np.zeros(n_sets, np.int64),
    )


def _integers(array: NDArray[np.int64]) -> NDArray[np.int64]:
    # Arrays that may be written and those that may not are two types, and each would compile all anew.
    view = np.require(array, np.int64, ["C", "A"]).view()
    view.flags.writeable = False
    return view


def _floats(array: NDArray[np.float64]) -> NDArray[np.float64]:
    view = np.require(array, np.float64, ["C", "A"]).view()
    view.flags.writeable = False
    return view


@kernel()
def find_child(trie: Trie, node: int, channel: int) -> int:
    """Return the node that a channel leads to, -1 if there is none."""
    low, end = trie.starts[node], trie.starts[node + 1]
    high = end
    while low < high:
        middle = (low + high) // 2
        if trie.channels[middle] < channel:
            low = middle + 1
        else:
            high = middle
    return low + 1 if low < end and trie.channels[low] == channel else -1


@kernel(internal=True)
def clear(game: JourneysWorkspace) -> None:
    """Empty the sequence."""
    game.at[:] = 0
    game.behind[:] = 0


@kernel(internal=True)
def place(game: JourneysWorkspace, player: int) -> None:
    """Append a channel to the sequence."""
    for e in range(game.of_starts[player], game.of_starts[player + 1]):
        s = game.of_sets[e]
        if game.ordered == 0:
            game.at[s] ^= game.of_bits[e]
            continue
        child = find_child(game.trie, game.at[s], player) if game.behind[s] == 0 else -1
        if child < 0:
            game.behind[s] += 1
        else:
            game.at[s] = child


@kernel(internal=True)
def remove_last(game: JourneysWorkspace, player: int) -> None:
    """Take the channel that was placed last out of the sequence."""
    for e in range(game.of_starts[player], game.of_starts[player + 1]):
        s = game.of_sets[e]
        if game.ordered == 0:
            game.at[s] ^= game.of_bits[e]
        elif game.behind[s] > 0:
            game.behind[s] -= 1
        else:
            game.at[s] = game.trie.parents[game.at[s]]


@kernel(internal=True)
def utility(game: JourneysWorkspace) -> float:
    """Utility of the sequence as it stands, its sets added up in a fixed order."""
    total = 0.0
    for s in range(game.weights.shape[0]):
        at = game.at[s]
        if game.ordered == 0:
            total += game.weights[s] * game.tables[game.table_starts[s] + at]
        elif game.trie.depths[at] >= game.needed[s]:
            total += game.weights[s] * (game.worths[at] if game.behind[s] == 0 else game.beyond[at])
    return total


@kernel(internal=True)
def has_model(game: JourneysWorkspace) -> bool:
    """Every sequence is worth something, if only 0."""
    return True


@kernel()
def evaluate(game: JourneysWorkspace, sequence: NDArray[np.int64]) -> float:
    """Utility of a sequence."""
    clear(game)
    for player in sequence:
        place(game, player)
    return utility(game)
