"""A game in which some orders are worth the same, played on another game with one order for all of those.

The players are in groups. WITHIN: the order matters inside groups only, and a sequence is worth what it is
with group after group. BETWEEN: it matters across groups only, and a sequence is worth what it is with each
group's players in increasing order, at the places that the group has in it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley_kernels import games
from ordinal_shapley_kernels._jit import kernel
from ordinal_shapley_kernels.enumeration import WITHIN
from ordinal_shapley_kernels.games import clear as clear_inner
from ordinal_shapley_kernels.games import has_model as inner_has_model
from ordinal_shapley_kernels.games import place as place_inner
from ordinal_shapley_kernels.games import remove_last as remove_inner
from ordinal_shapley_kernels.games import utility as inner_utility

# RearrangedWorkspace.state
LENGTH = 0
INNER_LENGTH = 1


class RearrangedWorkspace(NamedTuple):
    """Nopython side of a rearranged game.

    Attributes
    ----------
    kind : int
        WITHIN or BETWEEN.
    groups : int64 (n_players,)
    arranged : int64 (n_players,)
        The players in the order that stands for theirs.
    placed : int64 (n_players,)
        The sequence of the inner game, which follows when it is asked.
    state : int64 (2,)
        LENGTH and INNER_LENGTH.
    inner
        Workspace of the inner game.
    """

    kind: int
    groups: NDArray[np.int64]
    arranged: NDArray[np.int64]
    placed: NDArray[np.int64]
    state: NDArray[np.int64]
    inner: Any


def make_rearranged_workspace(kind: int, groups: NDArray[np.int64], inner: Any) -> RearrangedWorkspace:
    """Allocate the workspace of one worker."""
    n_players = len(groups)
    return RearrangedWorkspace(
        kind,
        np.array(groups, np.int64),
        np.zeros(n_players, np.int64),
        np.zeros(n_players, np.int64),
        np.zeros(2, np.int64),
        inner,
    )


@kernel(internal=True)
def _follow(game: RearrangedWorkspace) -> None:
    """Give the inner game the arranged sequence, from the first player on that differs."""
    length = game.state[LENGTH]
    same = 0
    while same < min(length, game.state[INNER_LENGTH]) and game.placed[same] == game.arranged[same]:
        same += 1
    for j in range(game.state[INNER_LENGTH] - 1, same - 1, -1):
        remove_inner(game.inner, game.placed[j])
    for j in range(same, length):
        place_inner(game.inner, game.arranged[j])
        game.placed[j] = game.arranged[j]
    game.state[INNER_LENGTH] = length


@kernel(internal=True)
def clear(game: RearrangedWorkspace) -> None:
    """Empty the sequence."""
    game.state[LENGTH] = 0
    game.state[INNER_LENGTH] = 0
    clear_inner(game.inner)


@kernel(internal=True)
def place(game: RearrangedWorkspace, player: int) -> None:
    """Append a player to the sequence: in its place among those that stand for it."""
    group = game.groups[player]
    free = game.state[LENGTH]
    for j in range(game.state[LENGTH] - 1, -1, -1):
        other = game.arranged[j]
        if game.kind == WITHIN:
            if game.groups[other] <= group:
                break
        elif game.groups[other] != group:
            continue
        elif other < player:
            break
        game.arranged[free] = other
        free = j
    game.arranged[free] = player
    game.state[LENGTH] += 1


@kernel(internal=True)
def remove_last(game: RearrangedWorkspace, player: int) -> None:
    """Take the player that was placed last out of the sequence."""
    free = 0
    while game.arranged[free] != player:
        free += 1
    for j in range(free + 1, game.state[LENGTH]):
        if game.kind == WITHIN or game.groups[game.arranged[j]] == game.groups[player]:
            game.arranged[free] = game.arranged[j]
            free = j
    game.state[LENGTH] -= 1


@kernel(internal=True)
def utility(game: RearrangedWorkspace) -> float:
    """What the inner game says of the order that stands for the sequence."""
    _follow(game)
    return inner_utility(game.inner)


@kernel(internal=True)
def has_model(game: RearrangedWorkspace) -> bool:
    """Whether the inner game really evaluates that order."""
    _follow(game)
    return inner_has_model(game.inner)


games.register_game(RearrangedWorkspace, __name__)
