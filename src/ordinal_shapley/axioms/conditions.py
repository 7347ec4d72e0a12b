"""What axioms ask of a game: the utility of every sequence, and how near each condition is to being met."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common.parallel import check_memory
from ordinal_shapley.exact.enumeration import Wanted, enumerate_game
from ordinal_shapley.exact.plan import check_time, make_scope
from ordinal_shapley.games.base import Game, UtilityError
from ordinal_shapley.games.table import TableGame
from ordinal_shapley.values import Classic, Ordinal
from ordinal_shapley_kernels import conditions as kernels
from ordinal_shapley_kernels.table import subtree_sizes

MAX_PLAYERS = 12
# The utilities, those of another game and of the sum of both, and what is passed from hand to hand.
_BYTES_A_SEQUENCE = 5 * 8


class Tabulated(NamedTuple):
    """A game as a table.

    Attributes
    ----------
    game : TableGame
    to_share : float
        Mean utility of the full orders less that of the empty sequence.
    n_evaluations : int
        Utilities it took: of an order-free game one for each set of players.
    """

    game: TableGame
    to_share: float
    n_evaluations: int


class Gains(NamedTuple):
    """Least and greatest changes of the utility as a player joins, and the sequences with it.

    Attributes
    ----------
    least, greatest : float64 (n,)
    least_at, greatest_at : list of tuple of int
    """

    least: NDArray[np.float64]
    greatest: NDArray[np.float64]
    least_at: list[tuple[int, ...]]
    greatest_at: list[tuple[int, ...]]

    @property
    def sizes(self) -> NDArray[np.float64]:
        """The largest size of a change, by player."""
        return np.maximum(np.abs(self.least), np.abs(self.greatest))

    def largest_at(self, player: int) -> tuple[int, ...]:
        """Return where a change of that size is."""
        down = abs(self.least[player]) > abs(self.greatest[player])
        return self.least_at[player] if down else self.greatest_at[player]


class Conditions(NamedTuple):
    """How near each condition of a game is to being met.

    Attributes
    ----------
    at_end, anywhere : Gains
        Of players who join there.
    pairs : list of tuple of int
        All pairs of players.
    differences : float64 (n_pairs,)
        Largest change of the utility of a sequence as the two are exchanged.
    differences_at : list of tuple of int
        The sequences.
    """

    at_end: Gains
    anywhere: Gains
    pairs: list[tuple[int, ...]]
    differences: NDArray[np.float64]
    differences_at: list[tuple[int, ...]]


def check_size(game: Game) -> None:
    """ValueError if there are too many sequences for this machine."""
    n = game.n_players
    if n > MAX_PLAYERS:
        raise ValueError(
            f"game has {n} players, expected at most {MAX_PLAYERS}: axioms are about all sequences of them, "
            "so check a game of some of the players"
        )
    needed = _BYTES_A_SEQUENCE * subtree_sizes(n)[n]
    check_memory(needed, f"checking all sequences of {n} players", "check a game of fewer players")


def tabulate(game: Game, n_jobs: int | None, limit: float, asked: bool, progress: bool) -> Tabulated:
    """Evaluate all sequences."""
    n = game.n_players
    if n_jobs == -1 and not game._runs_in_parallel:
        n_jobs = None
    scope = make_scope(game, Classic() if game.order_free else Ordinal())
    instead = "check a game of fewer players, or raise max_seconds"
    try:
        with game._listening():
            check_time(game, scope, n_jobs, limit, asked, f"checking {n} players", instead)
            wanted = Wanted(subset_sums=game.order_free, utilities=not game.order_free)
            totals = enumerate_game(game, scope, wanted, n_jobs, progress)
    except UtilityError as error:
        game._report(error)
    game._warn_unconverged(totals.unconverged)
    utilities = totals.subset_sums[sets_in_preorder(n)] if game.order_free else totals.utilities
    table = TableGame.from_array(n, utilities)
    table.player_names = game.player_names
    table.player_classes = game.player_classes
    to_share = totals.full / scope.counts()[n] - table.values[0]
    return Tabulated(table, float(to_share), totals.n_evaluations)


def sets_in_preorder(n: int) -> NDArray[np.int32]:
    """Players of every sequence as bits, in preorder."""
    sets = np.zeros(1, np.int32)
    for k in range(1, n + 1):
        # After player p the sets of one player less follow, with those from p on moved up by one.
        parts = [1 << p | sets >> p << p + 1 | sets & (1 << p) - 1 for p in range(k)]
        sets = np.concatenate([np.zeros(1, np.int32), *parts]).astype(np.int32)
    return sets


def find_conditions(game: TableGame) -> Conditions:
    """Look at all sequences."""
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

    # Piece by piece, because Ctrl-C cannot stop a kernel.
    split = min(n, 2)
    scan((), split)
    for root in itertools.permutations(range(n), split):
        scan(root, n)

    def gains(where: int) -> Gains:
        least, greatest = found.gains[where].T
        at_least, at_greatest = (
            [game._sequence(node) for node in side.tolist()] for side in found.gain_nodes[where].T
        )
        return Gains(least, greatest, at_least, at_greatest)

    pairs: list[tuple[int, ...]] = list(itertools.combinations(range(n), 2))
    return Conditions(
        gains(kernels.AT_END),
        gains(kernels.ANYWHERE),
        pairs,
        np.array([found.differences[pair] for pair in pairs]),
        [game._sequence(int(found.difference_nodes[pair])) for pair in pairs],
    )
