"""Exact sums: the tree of sequences walked depth first, each sequence evaluated once.

Where only some orders matter, one sequence stands for all that are worth the same, and the tree holds the
representatives only. In every case the players that may follow a sequence are those that may follow it
without its last player i, less a set of players that depends on i alone (`Tree.keep`).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley_kernels._jit import kernel
from ordinal_shapley_kernels.bits import count_bits, lowest_bit
from ordinal_shapley_kernels.games import clear, has_model, place, remove_last, utility

# Tally.kind: which orders of a set of players may differ in utility
ALL = 0
WITHIN = 1  # those inside groups: representatives have group after group
BETWEEN = 2  # those across groups: representatives have each group's players in increasing order

# status
DONE = 0
PAUSED = 1
FAILED = 2  # the utility of path[: state[DEPTH] + 1] is not finite

# Tree.state
DEPTH = 0  # players in the sequence at hand, or BEFORE
ROOT = 1  # length of the branch's root
DEEPEST = 2  # longest sequences to evaluate
NODE = 3  # ALL: place of the next sequence in `Tally.utilities` and `Tally.weights`
STRIDE = 4  # ALL: sequences that begin with one of the longest to evaluate
EVALUATIONS = 5
N_STATE = 6
BEFORE = -1


class Tree(NamedTuple):
    """State of a walk over one branch; arrays by depth hold what is so of each prefix.

    Attributes
    ----------
    keep : int64 (n,)
        Bits of the players that may still follow once a player has been placed.
    path : int64 (n + 1,)
        The sequence at hand; on entry the branch's root.
    used, allowed, open : int64 (n + 1,)
        By depth, as bits: the players of a prefix, those that may follow it, those of these that are yet
        to be tried.
    values : float64 (n + 1,)
        By depth: utilities.
    shares : float64 (n + 1,)
        By depth: the weight of a prefix among the orders of its players; of representatives 1 over their
        number.
    singles : float64 (n,)
        Utilities of single players, where the branch holds them.
    state : int64 (N_STATE,)
    """

    keep: NDArray[np.int64]
    path: NDArray[np.int64]
    used: NDArray[np.int64]
    allowed: NDArray[np.int64]
    open: NDArray[np.int64]
    values: NDArray[np.float64]
    shares: NDArray[np.float64]
    singles: NDArray[np.float64]
    state: NDArray[np.int64]


class Tally(NamedTuple):
    """What is added up; arrays that are not wanted are empty.

    Attributes
    ----------
    kind : int
        ALL, WITHIN or BETWEEN.
    groups : int64 (n,)
        Group of each player.
    members : int64 (n_groups,)
        Players of each group, as bits.
    weights : float64
        ALL: weight q of each sequence of the branch among the orders of its players, in preorder; empty
        for weights of 1.
    marginals : float64 (n, n)
        [k, i]: weighted sum of what player i adds to sequences of k players.
    subset_sums : float64 (2^n,)
        Sum of the utilities of all orders of a set.
    utilities : float64
        ALL: utilities of the branch in preorder.
    full : float64 (1,)
        Sum of the utilities of full orders.
    """

    kind: int
    groups: NDArray[np.int64]
    members: NDArray[np.int64]
    weights: NDArray[np.float64]
    marginals: NDArray[np.float64]
    subset_sums: NDArray[np.float64]
    utilities: NDArray[np.float64]
    full: NDArray[np.float64]


@kernel(internal=True)
def _descend(tree: Tree, depth: int, player: int, value: float, share: float) -> None:
    """Make the sequence with `player` at `depth` the one at hand."""
    allowed = tree.allowed[depth] & tree.keep[player]
    tree.path[depth] = player
    tree.used[depth + 1] = tree.used[depth] | (1 << player)
    tree.allowed[depth + 1] = allowed
    tree.open[depth + 1] = allowed
    tree.values[depth + 1] = value
    tree.shares[depth + 1] = share


@kernel(internal=True)
def _representative_share(tree: Tree, tally: Tally, depth: int, player: int) -> float:
    """1 over the number of representatives of the set made by `player` at `depth`.

    Of a set with t_g players in group g there are prod t_g! for WITHIN, |T|! / prod t_g! for BETWEEN.
    """
    alike = count_bits(tree.used[depth] & tally.members[tally.groups[player]]) + 1
    if tally.kind == WITHIN:
        return tree.shares[depth] / alike
    return tree.shares[depth] * alike / (depth + 1)


@kernel(internal=True)
def _credit_representative(tree: Tree, tally: Tally, depth: int, value: float) -> None:
    """Add what a representative's utility tells of all the sequences that it stands for.

    The representative of a set T is worth U. For every player i that is last in some sequence it stands for,
    U is the utility after i joined T without i; for every player outside T it is the one before.
    """
    n = tree.keep.shape[0]
    used = tree.used[depth + 1]
    share = tree.shares[depth + 1] * value
    if depth + 1 < n:
        for i in range(n):
            if not used >> i & 1:
                tally.marginals[depth + 1, i] -= share
    if tally.kind == WITHIN:
        # The last player of each group may be last of all.
        for j in range(depth + 1):
            i = tree.path[j]
            group = tally.groups[i]
            if j == depth or tally.groups[tree.path[j + 1]] != group:
                tally.marginals[depth, i] += share * count_bits(used & tally.members[group])
    else:
        # Any player of the last one's group may be.
        alike = used & tally.members[tally.groups[tree.path[depth]]]
        share *= (depth + 1) / count_bits(alike)
        while alike:
            tally.marginals[depth, lowest_bit(alike)] += share
            alike &= alike - 1


@kernel()
def enumerate_branch(game: Any, tree: Tree, tally: Tally, budget: int) -> int:
    """Evaluate the sequences of a branch that are left, and leave after `budget` of them.

    Writes `tree`, `tally` and the game's workspace; returns DONE, PAUSED or FAILED. Where it is left does not
    change a bit of the result. Each sequence is evaluated once; there is one call of `utility`, because each
    would be another copy of the whole model fit to compile.
    """
    state = tree.state
    root = state[ROOT]
    if state[DEPTH] == BEFORE:
        clear(game)
        for j in range(root):
            place(game, tree.path[j])
        state[DEPTH] = root
    n = tree.keep.shape[0]
    deepest = state[DEEPEST]
    stride = state[STRIDE]
    depth = state[DEPTH]
    node = state[NODE]
    evaluated = 0
    status = PAUSED
    while evaluated < budget:
        left = tree.open[depth]
        if left == 0:
            if depth == root:
                status = DONE
                break
            depth -= 1
            remove_last(game, tree.path[depth])
            continue
        player = lowest_bit(left)
        tree.open[depth] = left & (left - 1)
        place(game, player)
        value = utility(game)
        evaluated += 1
        if not math.isfinite(value):
            tree.path[depth] = player
            status = FAILED
            break
        share = 1.0
        if tally.kind == ALL:
            tally.marginals[depth, player] += tree.shares[depth] * (value - tree.values[depth])
            if tally.weights.shape[0] > 0 and depth + 1 < n:
                share = tally.weights[node]
        else:
            share = _representative_share(tree, tally, depth, player)
        _descend(tree, depth, player, value, share)
        if tally.kind != ALL:
            _credit_representative(tree, tally, depth, value)
        if tally.utilities.shape[0] > 0:
            tally.utilities[node] = value
        if tally.subset_sums.shape[0] > 0:
            tally.subset_sums[tree.used[depth + 1]] += value
        if depth == 0:
            tree.singles[player] = value
        if depth + 1 == n:
            tally.full[0] += value
        if depth + 1 < deepest:
            depth += 1
            node += 1
        else:
            remove_last(game, player)
            node += stride
    state[DEPTH] = depth
    state[NODE] = node
    state[EVALUATIONS] += evaluated
    return status


@kernel()
def mark_models(game: Any, n_players: int, out: NDArray[np.bool_]) -> None:
    """Write to `out` (2^n_players,) which sets of players, as bits, have a model.

    Whether a sequence has one does not depend on its order. Writes the game's workspace, too.
    """
    for players in range(out.shape[0]):
        clear(game)
        for i in range(n_players):
            if players >> i & 1:
                place(game, i)
        out[players] = has_model(game)
