"""Premises of axioms: what each player adds where it joins, and which players can be exchanged.

A table of utilities in preorder (`table.py`) is walked depth first. With every prefix goes the place in the
table of what it is without one of its players, and with two players exchanged; one more player moves each
of these as it moves the prefix itself, so no sequence is ever looked up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley_kernels._jit import kernel
from ordinal_shapley_kernels.bits import count_bits, lowest_bit

# Rows of `Findings.gains` and `Findings.gain_nodes`
AT_END = 0
ANYWHERE = 1


class Prefixes(NamedTuple):
    """The sequence at hand, by the length of its prefixes.

    Attributes
    ----------
    path : int64 (n,)
        Its players.
    unused, open : int64 (n + 1,)
        As bits: the players that are not in a prefix, and those of them that are yet to follow it.
    nodes : int64 (n + 1,)
        Where a prefix lies in the table.
    without : int64 (n + 1, n)
        [length, k]: where it lies without the player at place k.
    exchanged : int64 (n + 1, n, n)
        [length, i, j]: where it lies with players i < j exchanged.
    """

    path: NDArray[np.int64]
    unused: NDArray[np.int64]
    open: NDArray[np.int64]
    nodes: NDArray[np.int64]
    without: NDArray[np.int64]
    exchanged: NDArray[np.int64]


class Findings(NamedTuple):
    """Extremes over all sequences looked at so far, and where the first of each lies in the table.

    Attributes
    ----------
    gains : float64 (2, n, 2)
        [AT_END or ANYWHERE, i]: least and greatest change of the utility as i joins there.
    gain_nodes : int64 (2, n, 2)
        The sequences with i.
    differences : float64 (n, n)
        [i, j], i < j: greatest size of the change of the utility as i and j are exchanged.
    difference_nodes : int64 (n, n)
    """

    gains: NDArray[np.float64]
    gain_nodes: NDArray[np.int64]
    differences: NDArray[np.float64]
    difference_nodes: NDArray[np.int64]


@kernel(internal=True)
def _descend(sizes: NDArray[np.int64], at: Prefixes, depth: int, player: int) -> None:
    """Append a player to the prefix of `depth` players."""
    n = sizes.shape[0] - 1
    unused = at.unused[depth]
    bit = 1 << player
    size = sizes[n - depth - 1]
    at.path[depth] = player
    at.unused[depth + 1] = unused ^ bit
    at.open[depth + 1] = unused ^ bit
    at.nodes[depth + 1] = at.nodes[depth] + 1 + count_bits(unused & (bit - 1)) * size
    for k in range(depth):
        left = unused | (1 << at.path[k])
        at.without[depth + 1, k] = at.without[depth, k] + 1 + count_bits(left & (bit - 1)) * sizes[n - depth]
    at.without[depth + 1, depth] = at.nodes[depth]
    for i in range(n):
        for j in range(i + 1, n):
            left = unused
            if (unused >> i ^ unused >> j) & 1:
                left ^= (1 << i) | (1 << j)
            other = player
            if player == i:
                other = j
            elif player == j:
                other = i
            rank = count_bits(left & ((1 << other) - 1))
            at.exchanged[depth + 1, i, j] = at.exchanged[depth, i, j] + 1 + rank * size


@kernel(internal=True)
def _note_gain(found: Findings, where: int, player: int, gain: float, node: int) -> None:
    if gain < found.gains[where, player, 0]:
        found.gains[where, player, 0] = gain
        found.gain_nodes[where, player, 0] = node
    if gain > found.gains[where, player, 1]:
        found.gains[where, player, 1] = gain
        found.gain_nodes[where, player, 1] = node


@kernel()
def scan(
    values: NDArray[np.float64],
    sizes: NDArray[np.int64],
    root: NDArray[np.int64],
    deepest: int,
    at: Prefixes,
    found: Findings,
) -> None:
    """Look at the sequences of up to `deepest` players that are longer than `root` and begin with it.

    `values` are utilities in preorder, `sizes` the S(k) of `table.py`. Writes `at` and `found`.
    """
    n = sizes.shape[0] - 1
    at.unused[0] = at.open[0] = (1 << n) - 1
    at.nodes[0] = 0
    at.exchanged[0] = 0
    for depth in range(root.shape[0]):
        _descend(sizes, at, depth, root[depth])
    depth = root.shape[0]
    while True:
        left = int(at.open[depth])
        if depth == deepest or left == 0:
            if depth == root.shape[0]:
                return
            depth -= 1
            continue
        player = lowest_bit(left)
        at.open[depth] = left & (left - 1)
        _descend(sizes, at, depth, player)
        depth += 1
        node = at.nodes[depth]
        value = values[node]
        _note_gain(found, AT_END, player, value - values[at.nodes[depth - 1]], node)
        for k in range(depth):
            _note_gain(found, ANYWHERE, at.path[k], value - values[at.without[depth, k]], node)
        for i in range(n):
            for j in range(i + 1, n):
                if (at.unused[depth] >> i & at.unused[depth] >> j) & 1:
                    continue
                difference = abs(value - values[at.exchanged[depth, i, j]])
                if difference > found.differences[i, j]:
                    found.differences[i, j] = difference
                    found.difference_nodes[i, j] = node
