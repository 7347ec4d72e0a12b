"""Exact sums: the tree of sequences walked depth first, each sequence evaluated once.

Where only some orders matter, a representative stands for all sequences of its utility, and the tree holds
representatives only. In every case the players that may follow a sequence are those that may follow it
without its last player i, and that are in a set that depends on i alone (`Tree.keep`).
"""

from __future__ import annotations

import math

from ordinal_shapley_kernels.abi import entry, inlined
from ordinal_shapley_kernels.bits import count_bits, lowest_bit
from ordinal_shapley_kernels.games import OK, Game, evaluate, is_defined, pop, push, reset
from ordinal_shapley_kernels.workspace import Flags, Integers, Matrix, Vector, Workspace

# Tally.kind: which orders of a set of players may differ in utility
ALL = 0
WITHIN = 1  # those inside groups: representatives have group after group
BETWEEN = 2  # those across groups: representatives have each group's players in increasing order

# status
DONE = 0
PAUSED = 1
FAILED = 2  # the utility of path[: depth + 1] is not finite

BEFORE = -1  # Tree.depth of a branch that has not begun


class Tree(Workspace):
    """State of a walk over one branch; arrays by depth describe the prefix of that length."""

    keep: Integers  # (n,): bits of the players that may still follow once a player has been pushed
    path: Integers  # (n + 1,): the current sequence; at the start the branch's root
    # used, allowed, open (n + 1,): by depth, as bits: the players of a prefix, those that may follow it, and
    # those of them to try.
    used: Integers
    allowed: Integers
    open: Integers
    values: Vector  # (n + 1,): by depth: utilities
    # (n + 1,): by depth: the weight of a prefix among the orders of its players; for representatives 1 over
    # their number.
    shares: Vector
    singles: Vector  # (n,): utilities of single players, where the branch holds them
    depth: int  # players in the current sequence, or BEFORE
    root: int  # length of the branch's root
    deepest: int  # length of the longest sequences to evaluate
    node: int  # ALL: place of the next sequence in `Tally.utilities` and `Tally.weights`
    stride: int  # ALL: number of sequences that begin with one of the longest to evaluate
    evaluations: int


class Tally(Workspace):
    """The sums; arrays that are not wanted are empty."""

    kind: int  # ALL, WITHIN or BETWEEN
    groups: Integers  # (n,): group of each player
    members: Integers  # (n_groups,): players of each group, as bits
    # ALL: weight q of each sequence of the branch among the orders of its players, in preorder; empty for
    # weights of 1.
    weights: Vector
    marginals: Matrix  # (n, n): [k, i]: weighted sum of what player i adds to sequences of k players
    subset_sums: Vector  # (2^n,): sum of the utilities of all orders of a set
    utilities: Vector  # ALL: utilities of the branch in preorder
    full: float  # sum of the utilities of full permutations


@inlined
def _representative_share(tree: Tree, tally: Tally, depth: int, player: int) -> float:
    """1 over the number of representatives of the set made by `player` at `depth`.

    A set with t_g players in group g has prod t_g! for WITHIN, |T|! / prod t_g! for BETWEEN.
    """
    alike = count_bits(tree.used[depth] & tally.members[tally.groups[player]]) + 1
    if tally.kind == WITHIN:
        return tree.shares[depth] / alike
    return tree.shares[depth] * alike / (depth + 1)


@inlined
def _credit_representative(tree: Tree, tally: Tally, depth: int, used: int, share: float) -> None:
    """Add the utility of a representative for all sequences that it stands for.

    A representative of the set T, `used`, has the utility U; `share` is U times its weight. For a player i
    that is last in one of those sequences, U is the utility after i joined T without i; for a player outside
    T it is the utility before it joins.
    """
    path, marginals, groups, members = tree.path, tally.marginals, tally.groups, tally.members
    n = path.shape[0] - 1
    if depth + 1 < n:
        for i in range(n):
            if not used >> i & 1:
                marginals[depth + 1, i] -= share
    if tally.kind == WITHIN:
        # The last player of each group can be last.
        for j in range(depth + 1):
            i = path[j]
            group = groups[i]
            if j == depth or groups[path[j + 1]] != group:
                marginals[depth, i] += share * count_bits(used & members[group])
    else:
        # Any player of the last one's group can be last.
        alike = used & members[groups[path[depth]]]
        share *= (depth + 1) / count_bits(alike)
        while alike:
            marginals[depth, lowest_bit(alike)] += share
            alike &= alike - 1


@entry
def enumerate_branch(game: Game, tree: Tree, tally: Tally, budget: int) -> int:
    """Evaluate the remaining sequences of a branch, each once; pause after `budget` of them.

    Writes `tree`, `tally` and the game's workspace; returns DONE, PAUSED or FAILED. Results are bit-identical
    wherever it pauses.
    """
    keep, path, used, allowed, open_ = tree.keep, tree.path, tree.used, tree.allowed, tree.open
    values, shares, singles = tree.values, tree.shares, tree.singles
    marginals, weights = tally.marginals, tally.weights
    subset_sums, utilities = tally.subset_sums, tally.utilities
    scores = game.scores
    root, deepest, stride = tree.root, tree.deepest, tree.stride
    n = keep.shape[0]
    every_order = tally.kind == ALL
    weighted = every_order and weights.shape[0] > 0
    with_sums = subset_sums.shape[0] > 0
    with_utilities = utilities.shape[0] > 0
    if tree.depth == BEFORE:
        reset(game)
        for j in range(root):
            push(game, path[j])
        tree.depth = root
    depth, node = tree.depth, tree.node
    evaluated = 0
    status = PAUSED
    # Bounds on depth let the compiler drop the checks for negative indices.
    while evaluated < budget and 0 <= depth < n:
        left = open_[depth]
        if left == 0:
            if depth == root:
                status = DONE
                break
            depth -= 1
            pop(game, path[depth])
            continue
        player = lowest_bit(left)
        open_[depth] = left & (left - 1)
        path[depth] = player
        push(game, player)
        answered = evaluate(game) == OK
        value = scores[0]
        evaluated += 1
        if not (answered and math.isfinite(value)):
            status = FAILED
            break
        players = used[depth] | (1 << player)
        share = 1.0
        if every_order:
            marginals[depth, player] += shares[depth] * (value - values[depth])
            if weighted and depth + 1 < n:
                share = weights[node]
        else:
            share = _representative_share(tree, tally, depth, player)
            _credit_representative(tree, tally, depth, players, share * value)
        if with_utilities:
            utilities[node] = value
        if with_sums:
            subset_sums[players] += value
        if depth == 0:
            singles[player] = value
        if depth + 1 == n:
            tally.full += value
        if depth + 1 < deepest:
            follow = allowed[depth] & keep[player]
            depth += 1
            used[depth] = players
            allowed[depth] = follow
            open_[depth] = follow
            values[depth] = value
            shares[depth] = share
            node += 1
        else:
            pop(game, player)
            node += stride
    tree.depth = depth
    tree.node = node
    tree.evaluations += evaluated
    return status


class Sets(Workspace):
    """Sets of players for which a game is defined."""

    defined: Flags  # (2^n_players,): by set, as bits; written


@entry
def mark_defined(game: Game, sets: Sets, n_players: int) -> None:
    """Write to `sets.defined` for which sets of players the game is defined, in any order.

    Also writes the game's workspace.
    """
    defined = sets.defined
    for players in range(defined.shape[0]):
        reset(game)
        for i in range(n_players):
            if players >> i & 1:
                push(game, i)
        defined[players] = is_defined(game) != 0
