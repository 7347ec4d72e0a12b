"""Running exact enumerations: the sequences, their cost, and the branches on all workers."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common.parallel import Cancellation, run_in_steps, running
from ordinal_shapley.games.base import Game, UtilityError
from ordinal_shapley_kernels import enumeration as kernels
from ordinal_shapley_kernels.table import subtree_sizes

# From this number of players on, sequences are split into branches by their first two players. This must
# never depend on the number of workers, as results are added branch by branch.
_SPLIT_FROM = 5
# Sets of players are bits of an int64.
MAX_PLAYERS = 62
_PROBE_SECONDS = 0.005
_NONE = np.zeros(0)


class Scope(NamedTuple):
    """The sequences to walk."""

    kind: int  # ALL, WITHIN or BETWEEN of the kernel
    groups: NDArray[np.int64]  # group of each player, from 0; all in one for ALL
    members: NDArray[np.int64]  # players of each group, as bits
    keep: NDArray[np.int64]  # by player, as bits: players that may still follow it
    deepest: int  # length of the longest sequences

    @classmethod
    def of(cls, kind: int, groups: NDArray[np.int64], deepest: int) -> Scope:
        """Return the sequences of up to `deepest` players."""
        number = np.arange(len(groups))
        groups = groups.astype(np.int64)
        gone = number[:, None] == number
        if kind == kernels.WITHIN:
            gone |= groups[:, None] > groups
        elif kind == kernels.BETWEEN:
            gone |= (groups[:, None] == groups) & (number[:, None] > number)
        names = np.arange(groups.max() + 1)
        return cls(kind, groups, _as_bits(names[:, None] == groups), _as_bits(~gone), deepest)

    @property
    def n_players(self) -> int:
        """Number of players."""
        return len(self.groups)

    def counts(self) -> list[int]:
        """Number of sequences of each length from 0 to n."""
        lengths = [1]
        for size in np.bincount(self.groups).tolist():
            before, lengths = lengths, [0] * (len(lengths) + size)
            for a, sequences in enumerate(before):
                for k in range(size + 1):
                    orders = math.comb(size, k)
                    if self.kind != kernels.BETWEEN:
                        orders *= math.factorial(k)
                    if self.kind != kernels.WITHIN:
                        orders *= math.comb(a + k, k)
                    lengths[a + k] += sequences * orders
        return lengths[: self.deepest + 1]


def _as_bits(rows: NDArray[np.bool_]) -> NDArray[np.int64]:
    return np.array([sum(1 << j for j in np.flatnonzero(row).tolist()) for row in rows], np.int64)


class Wanted(NamedTuple):
    """Sums besides marginal contributions; all but the first for ALL only."""

    subset_sums: bool = False  # of utilities over the orders of each set
    utilities: bool = False  # all utilities, in preorder
    weights: NDArray[np.float64] = _NONE  # of sequences among the orders of their players; empty for 1


class Branch(NamedTuple):
    """A part of the tree of sequences: those of a scope that begin with `root` and a player of `first`."""

    root: tuple[int, ...]  # at most one player
    first: int  # as bits
    deepest: int
    value: float  # utility of `root`
    share: float  # its weight
    node: int  # place of the first sequence in `weights` and among the branch's utilities
    n_utilities: int  # 0 if they are not wanted, as below
    n_subsets: int
    weights: NDArray[np.float64]  # of the branch


class Totals(NamedTuple):
    """Sums over a branch, or over all of them; see the kernel's Tally."""

    marginals: NDArray[np.float64]
    subset_sums: NDArray[np.float64]
    utilities: NDArray[np.float64]
    singles: NDArray[np.float64]
    full: float
    n_evaluations: int
    unconverged: int


def _begin(scope: Scope, branch: Branch) -> tuple[kernels.Tree, kernels.Tally]:
    n = scope.n_players
    root = len(branch.root)
    path, used, allowed, open_ = np.zeros((4, n + 1), np.int64)
    values, shares = np.zeros((2, n + 1))
    allowed[0] = (1 << n) - 1
    for depth, player in enumerate(branch.root):
        path[depth] = player
        used[depth + 1] = used[depth] | 1 << player
        allowed[depth + 1] = allowed[depth] & scope.keep[player]
    open_[root] = branch.first
    values[root], shares[root] = branch.value, branch.share
    tree = kernels.Tree(
        keep=scope.keep,
        path=path,
        used=used,
        allowed=allowed,
        open=open_,
        values=values,
        shares=shares,
        singles=np.zeros(n),
        depth=kernels.BEFORE,
        root=root,
        deepest=branch.deepest,
        node=branch.node,
        # With 21 players it would exceed an int64; only ALL reads it, for fewer players.
        stride=subtree_sizes(n - branch.deepest)[-1] if scope.kind == kernels.ALL else 0,
    )
    tally = kernels.Tally(
        kind=scope.kind,
        groups=scope.groups,
        members=scope.members,
        weights=branch.weights,
        marginals=np.zeros((n, n)),
        subset_sums=np.zeros(branch.n_subsets),
        utilities=np.zeros(branch.n_utilities),
    )
    return tree, tally


def walk_branch(
    make_workspace: Callable[..., Any],
    cancellation: Cancellation,
    n_scope: int,
    n_branch: int,
    *arguments: Any,
) -> Totals:
    """Walk a branch: `n_scope` fields of a Scope, `n_branch` of a Branch, then the game's payload."""
    scope = Scope(*arguments[:n_scope])
    tree, tally = _begin(scope, Branch(*arguments[n_scope : n_scope + n_branch]))
    game = cancellation.workspace(make_workspace, arguments[n_scope + n_branch :])
    status = run_in_steps(
        lambda budget: int(kernels.enumerate_branch(game, tree, tally, budget)), kernels.PAUSED, cancellation
    )
    _check(status, tree, game)
    return Totals(
        tally.marginals,
        tally.subset_sums,
        tally.utilities,
        tree.singles,
        tally.full,
        tree.evaluations,
        game.unconverged,
    )


def _check(status: int, tree: kernels.Tree, game: Any) -> None:
    if status == kernels.FAILED or game.has_raised:
        raise UtilityError(tree.path[: tree.depth + 1].tolist(), game.failure())


def _whole(scope: Scope, wanted: Wanted, empty_value: float, deepest: int) -> Branch:
    """Return all sequences, as one branch."""
    n = scope.n_players
    return Branch(
        (),
        (1 << n) - 1,
        deepest,
        empty_value,
        1.0,
        1,
        subtree_sizes(n)[-1] if wanted.utilities else 0,
        2**n if wanted.subset_sums else 0,
        wanted.weights,
    )


def _branches(scope: Scope, wanted: Wanted, singles: NDArray[np.float64]) -> Iterator[Branch]:
    """Yield the branches after single players, by the first two players, in preorder."""
    n = scope.n_players
    sizes = subtree_sizes(n)
    weighted = len(wanted.weights) > 0
    everyone = (1 << n) - 1
    for i in range(n):
        node = 1 + i * sizes[n - 1]
        left = everyone & int(scope.keep[i])
        for j in range(n):
            if not left >> j & 1:
                continue
            start = node + 1 + (j - (j > i)) * sizes[n - 2]
            yield Branch(
                (i,),
                1 << j,
                scope.deepest,
                float(singles[i]),
                float(wanted.weights[node]) if weighted else 1.0,
                0,
                sizes[n - 2] if wanted.utilities else 0,
                2**n if wanted.subset_sums else 0,
                wanted.weights[start : start + sizes[n - 2]] if weighted else _NONE,
            )


@contextmanager
def reporting(game: Game) -> Iterator[None]:
    """Raise an error that names the utility that kernels could not use, and the reason."""
    try:
        with game._listening():
            yield
    except UtilityError as error:
        game._report(error)


def enumerate_game(game: Game, scope: Scope, wanted: Wanted, n_jobs: int | None, progress: bool) -> Totals:
    """Walk all sequences of `scope`, each once; errors name the sequence."""
    from joblib import delayed

    from ordinal_shapley.common.progress import ProgressBar

    began = time.perf_counter()
    n = scope.n_players
    split = n >= _SPLIT_FROM and scope.deepest > 1
    cancellation = Cancellation()

    def task(branch: Branch) -> tuple[Any, ...]:
        return (game._workspace_maker, cancellation, len(scope), len(branch), *scope, *branch, *game._payload)

    count = sum(scope.counts())
    with reporting(game), ProgressBar(total=count, enabled=progress, unit="sequences") as bar:
        empty_value = game(())
        whole = _whole(scope, wanted, empty_value, 1 if split else scope.deepest)
        if scope.deepest == 0:
            total = Totals(
                np.zeros((n, n)), np.zeros(whole.n_subsets), np.zeros(whole.n_utilities), _NONE, 0.0, 0, 0
            )
        else:
            total = walk_branch(*task(whole))
        total = total._replace(n_evaluations=total.n_evaluations + 1)
        if wanted.subset_sums:
            total.subset_sums[0] = empty_value
        if wanted.utilities:
            total.utilities[0] = empty_value
        if scope.kind != kernels.ALL:
            total.marginals[0] -= empty_value
        if not split:
            return total
        tasks = (delayed(walk_branch)(*task(branch)) for branch in _branches(scope, wanted, total.singles))
        step = subtree_sizes(n)[n - 2]
        with running(tasks, n_jobs, game._prefer, cancellation) as parts:
            for number, part in enumerate(parts):
                total.marginals[:] += part.marginals
                total.subset_sums[:] += part.subset_sums
                total = total._replace(
                    full=total.full + part.full,
                    n_evaluations=total.n_evaluations + part.n_evaluations,
                    unconverged=total.unconverged + part.unconverged,
                )
                if wanted.utilities:  # with ALL every player is followed by n - 1 others
                    start = 1 + number * step + number // (n - 1) + 1
                    total.utilities[start : start + step] = part.utilities
                bar.update(total.n_evaluations, total.n_evaluations, time.perf_counter() - began)
    return total


def seconds_per_evaluation(game: Game, scope: Scope) -> float:
    """Measure it on the first sequences, without compilation."""
    tree, tally = _begin(scope, _whole(scope, Wanted(), 0.0, scope.deepest))
    workspace = game._make_workspace()
    status = kernels.enumerate_branch(workspace, tree, tally, 1)
    budget = 1
    spent = 0.0
    while status == kernels.PAUSED and spent < _PROBE_SECONDS:
        began = time.perf_counter()
        status = kernels.enumerate_branch(workspace, tree, tally, budget)
        spent += time.perf_counter() - began
        budget *= 2
    _check(status, tree, workspace)
    return spent / max(1, tree.evaluations - 1)
