"""A game in which only some orders matter, made from a game and a partition of its players."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.games.base import Game
from ordinal_shapley_kernels.enumeration import BETWEEN, WITHIN
from ordinal_shapley_kernels.rearranged import RearrangedWorkspace, make_rearranged_workspace

CASE_CODES = {"within": WITHIN, "between": BETWEEN}


def representative(sequence: NDArray[np.int64], groups: NDArray[np.int64], kind: int) -> NDArray[np.int64]:
    """Return the representative of `sequence` among those with the same utility.

    WITHIN: group after group. BETWEEN: each group's players in increasing order, at its places.
    """
    of_player = groups[sequence]
    if kind == WITHIN:
        return sequence[np.argsort(of_player, kind="stable")]
    alike = sequence.copy()
    for group in np.unique(of_player):
        alike[of_player == group] = np.sort(sequence[of_player == group])
    return alike


def make_workspace(kind: int, groups: NDArray[np.int64], make_inner: Any, *inner: Any) -> RearrangedWorkspace:
    """Return the workspace of one worker."""
    return make_rearranged_workspace(int(kind), groups, make_inner(*inner))


class RearrangedGame(Game):
    """A game whose utilities are those of the representatives of its sequences.

    `groups` has the group of each player, from 0; `kind` is WITHIN or BETWEEN.
    """

    def __init__(self, game: Game, groups: NDArray[np.int64], kind: int) -> None:
        self._game, self._groups, self._kind = game, groups, kind
        self.n_players = game.n_players
        self.order_free = game.order_free
        self.player_names = game.player_names
        self.player_classes = game.player_classes
        self.player_sizes = game.player_sizes
        self._runs_in_parallel = game._runs_in_parallel
        self._prefer = game._prefer
        self._much = game._much

    def __call__(self, sequence: Sequence[int] | NDArray[np.int64]) -> float:
        """Return the utility of a sequence of distinct players; () is the empty one."""
        players = self._check_sequence(sequence)
        return self._game(representative(players, self._groups, self._kind))

    _workspace_maker = staticmethod(make_workspace)

    @property
    def _payload(self) -> tuple[Any, ...]:
        return (self._kind, self._groups, self._game._workspace_maker, *self._game._payload)

    def _relative_costs(self, sizes: NDArray[np.int64], jump: bool) -> NDArray[np.float64]:
        return self._game._relative_costs(sizes, jump)

    @property
    def _identity(self) -> tuple[Any, ...]:
        return (*self._game._identity, self._kind, self._groups)

    @property
    def _row_shares(self) -> NDArray[np.float64] | None:
        return self._game._row_shares

    def _listening(self) -> AbstractContextManager[None]:
        return self._game._listening()

    def _failure(self, sequence: tuple[int, ...]) -> Exception:
        alike = representative(np.array(sequence, np.int64), self._groups, self._kind)
        return self._game._failure(tuple(alike.tolist()))
