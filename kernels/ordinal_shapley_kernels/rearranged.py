"""A game in which some orders have equal utilities: another game evaluates one representative of them.

The players are in groups. WITHIN: order matters inside groups only, and the representative has one group
after the other. BETWEEN: order matters across groups only, and the representative has each group's players in
increasing order, at the places of the group in the sequence.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley_kernels import games
from ordinal_shapley_kernels.abi import entry, inlined
from ordinal_shapley_kernels.enumeration import WITHIN
from ordinal_shapley_kernels.games import Game, GameFunctions
from ordinal_shapley_kernels.workspace import Integers

# The functions of this module have the same names.
_reset_inner, _push_inner, _pop_inner = games.reset, games.push, games.pop
_is_inner_defined, _evaluate_inner = games.is_defined, games.evaluate


class RearrangedWorkspace(Game):
    """Nopython side of a rearranged game."""

    inner: Game  # workspace of the game that evaluates representatives
    groups: Integers  # (n_players,)
    arranged: Integers  # (n_players,): the representative of the current sequence
    pushed: Integers  # (n_players,): the sequence of the inner game, which is updated on demand
    kind: int  # WITHIN or BETWEEN
    length: int
    inner_length: int

    def failure(self) -> Exception | None:
        """See the base class."""
        return self.inner.failure()

    def score_in_blocks(self, block_of: NDArray[np.int64], block_weights: NDArray[np.float64]) -> None:
        """See the base class."""
        self.inner.score_in_blocks(block_of, block_weights)
        super().score_in_blocks(block_of, block_weights)

    @property
    def has_raised(self) -> bool:
        """See the base class."""
        return self.inner.has_raised


def make_rearranged_workspace(kind: int, groups: NDArray[np.int64], inner: Game) -> RearrangedWorkspace:
    """Allocate the workspace of one worker."""
    n_players = len(groups)
    return RearrangedWorkspace(
        FUNCTIONS,
        scores=inner.scores.shape,
        inner=inner,
        groups=groups,
        arranged=(n_players,),
        pushed=(n_players,),
        kind=kind,
    )


@inlined
def _follow(game: RearrangedWorkspace) -> None:
    """Give the inner game the representative, from the first player on that differs."""
    inner, arranged, pushed = game.inner, game.arranged, game.pushed
    length, inner_length = game.length, game.inner_length
    same = 0
    while same < min(length, inner_length) and pushed[same] == arranged[same]:
        same += 1
    for j in range(inner_length - 1, same - 1, -1):
        _pop_inner(inner, pushed[j])
    for j in range(same, length):
        _push_inner(inner, arranged[j])
        pushed[j] = arranged[j]
    game.inner_length = length


@entry
def reset(game: RearrangedWorkspace) -> None:
    """Empty the sequence."""
    game.length = 0
    game.inner_length = 0
    _reset_inner(game.inner)


@entry
def push(game: RearrangedWorkspace, player: int) -> None:
    """Append a player to the sequence, at its place in the representative."""
    groups, arranged, kind, length = game.groups, game.arranged, game.kind, game.length
    group = groups[player]
    free = length
    for j in range(length - 1, -1, -1):
        other = arranged[j]
        if kind == WITHIN:
            if groups[other] <= group:
                break
        elif groups[other] != group:
            continue
        elif other < player:
            break
        arranged[free] = other
        free = j
    arranged[free] = player
    game.length = length + 1


@entry
def pop(game: RearrangedWorkspace, player: int) -> None:
    """Take the player that was pushed last out of the sequence."""
    groups, arranged, kind, length = game.groups, game.arranged, game.kind, game.length
    free = 0
    while arranged[free] != player:
        free += 1
    for j in range(free + 1, length):
        if kind == WITHIN or groups[arranged[j]] == groups[player]:
            arranged[free] = arranged[j]
            free = j
    game.length = length - 1


@entry
def is_defined(game: RearrangedWorkspace) -> int:
    """Whether the representative is defined in the inner game."""
    _follow(game)
    return _is_inner_defined(game.inner)


@entry
def evaluate(game: RearrangedWorkspace) -> int:
    """Write the utility of the representative in the inner game."""
    _follow(game)
    inner = game.inner
    status = _evaluate_inner(inner)
    scores, inner_scores = game.scores, inner.scores
    for k in range(scores.shape[0]):
        scores[k] = inner_scores[k]
    game.unconverged = inner.unconverged
    return status


FUNCTIONS = GameFunctions(reset, push, pop, is_defined, evaluate)
