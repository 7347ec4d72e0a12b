"""Conditions of axioms: what each player adds where it joins, and which players can be exchanged.

A table of utilities in preorder (`table.py`) is walked depth first. Each prefix keeps the places in the table
of the same sequence without one of its players, and with two of them exchanged. Another player moves these
places as it moves the prefix, so no sequence is ever looked up.
"""

from __future__ import annotations

from ordinal_shapley_kernels.abi import entry, inlined
from ordinal_shapley_kernels.bits import count_bits, lowest_bit
from ordinal_shapley_kernels.workspace import (
    Cube,
    IntegerCube,
    IntegerMatrix,
    Integers,
    Matrix,
    Vector,
    Workspace,
)

# Rows of `Findings.gains` and `Findings.gain_nodes`
AT_END = 0
ANYWHERE = 1


class Prefixes(Workspace):
    """The current sequence, by the length of its prefixes."""

    path: Integers  # (n,): its players
    # unused, open (n + 1,): as bits: the players that are not in a prefix, and those of them still to be
    # appended to it.
    unused: Integers
    open: Integers
    nodes: Integers  # (n + 1,): where a prefix lies in the table
    without: IntegerMatrix  # (n + 1, n): [length, k]: where it lies without the player at place k
    exchanged: IntegerCube  # (n + 1, n, n): [length, i, j]: where it lies with players i < j exchanged


class Findings(Workspace):
    """Extremes over the sequences visited so far, and where the first of each lies in the table."""

    # (2, n, 2): [AT_END or ANYWHERE, i]: lowest and highest change of the utility as i joins there.
    gains: Cube
    gain_nodes: IntegerCube  # (2, n, 2): the sequences with i
    # (n, n): [i, j], i < j: largest absolute change of the utility as i and j are exchanged.
    differences: Matrix
    difference_nodes: IntegerMatrix  # (n, n)


class Utilities(Workspace):
    """A table of utilities, and which of its sequences to visit."""

    values: Vector  # (S(n),): utilities in preorder
    sizes: Integers  # (n + 1,): S(0), ..., S(n), as in `table.py`
    root: Integers  # number of players that they all begin with


@inlined
def _descend(table: Utilities, at: Prefixes, depth: int, player: int) -> None:
    """Append a player to the prefix of `depth` players."""
    sizes, path, nodes = table.sizes, at.path, at.nodes
    without, exchanged = at.without, at.exchanged
    n = sizes.shape[0] - 1
    unused = at.unused[depth]
    bit = 1 << player
    size = sizes[n - depth - 1]
    path[depth] = player
    at.unused[depth + 1] = unused ^ bit
    at.open[depth + 1] = unused ^ bit
    nodes[depth + 1] = nodes[depth] + 1 + count_bits(unused & (bit - 1)) * size
    for k in range(depth):
        left = unused | (1 << path[k])
        without[depth + 1, k] = without[depth, k] + 1 + count_bits(left & (bit - 1)) * sizes[n - depth]
    without[depth + 1, depth] = nodes[depth]
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
            exchanged[depth + 1, i, j] = exchanged[depth, i, j] + 1 + rank * size


@inlined
def _note_gain(found: Findings, where: int, player: int, gain: float, node: int) -> None:
    gains, nodes = found.gains, found.gain_nodes
    if gain < gains[where, player, 0]:
        gains[where, player, 0] = gain
        nodes[where, player, 0] = node
    if gain > gains[where, player, 1]:
        gains[where, player, 1] = gain
        nodes[where, player, 1] = node


@entry
def scan(table: Utilities, at: Prefixes, found: Findings, deepest: int) -> None:
    """Visit the sequences of up to `deepest` players that begin with the table's root, except the root.

    Writes `at` and `found`.
    """
    values, root = table.values, table.root
    path, unused, open_, nodes = at.path, at.unused, at.open, at.nodes
    without, exchanged = at.without, at.exchanged
    differences, difference_nodes = found.differences, found.difference_nodes
    n = table.sizes.shape[0] - 1
    unused[0] = open_[0] = (1 << n) - 1
    nodes[0] = 0
    exchanged[0] = 0
    for depth in range(root.shape[0]):
        _descend(table, at, depth, root[depth])
    depth = root.shape[0]
    while True:
        left = int(open_[depth])
        if depth == deepest or left == 0:
            if depth == root.shape[0]:
                return
            depth -= 1
            continue
        player = lowest_bit(left)
        open_[depth] = left & (left - 1)
        _descend(table, at, depth, player)
        depth += 1
        node = nodes[depth]
        value = values[node]
        _note_gain(found, AT_END, player, value - values[nodes[depth - 1]], node)
        for k in range(depth):
            _note_gain(found, ANYWHERE, path[k], value - values[without[depth, k]], node)
        for i in range(n):
            for j in range(i + 1, n):
                if (unused[depth] >> i & unused[depth] >> j) & 1:
                    continue
                difference = abs(value - values[exchanged[depth, i, j]])
                if difference > differences[i, j]:
                    differences[i, j] = difference
                    difference_nodes[i, j] = node
