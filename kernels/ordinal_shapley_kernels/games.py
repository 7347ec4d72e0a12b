"""What every game offers to a walk, picked by the type of the game's workspace.

A walk is compiled once for each kind of game and cached: the workspace's type says which functions to
call, so no jitted function is ever passed as an argument (that would defeat the cache). A new kind of game
is a NamedTuple of arrays, a module with the five functions, and a line in `_HOMES`; a game that is played on
another (`rearranged`) enters itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from numba import config, types
from numba.extending import overload

from ordinal_shapley_kernels import estimator, function, journeys, logistic, neighbors, ridge, table
from ordinal_shapley_kernels._jit import jit_options
from ordinal_shapley_kernels.logistic_workspace import LogisticWorkspace

_HOMES: dict[type, ModuleType] = {
    LogisticWorkspace: logistic,
    table.TableWorkspace: table,
    function.FunctionWorkspace: function,
    estimator.EstimatorWorkspace: estimator,
    ridge.RidgeWorkspace: ridge,
    neighbors.NeighborsWorkspace: neighbors,
    journeys.JourneysWorkspace: journeys,
}


_WITH_PLAYER = ("place", "remove_last")


def register_game(workspace: type, module: str) -> None:
    """Let walks use a kind of game whose module needs this one: a game that is played on another."""
    _HOMES[workspace] = sys.modules[module]


def clear(game: Any) -> None:
    """Empty the game's sequence and forget all solver state."""
    _HOMES[type(game)].clear(game)


def place(game: Any, player: int) -> None:
    """Append a player to the sequence without evaluating it."""
    _HOMES[type(game)].place(game, player)


def remove_last(game: Any, player: int) -> None:
    """Take the player that was placed last, `player`, out of the sequence again."""
    _HOMES[type(game)].remove_last(game, player)


def utility(game: Any) -> float:
    """Utility of the sequence as it stands."""
    return _HOMES[type(game)].utility(game)


def has_model(game: Any) -> bool:
    """Whether the sequence is one that the game really evaluates; its utility is a constant if not."""
    return _HOMES[type(game)].has_model(game)


def _module_of(game: Any) -> ModuleType | None:
    # A NamedTuple whose fields share one type is typed as a NamedUniTuple; both have the class.
    if isinstance(game, types.BaseNamedTuple):
        return _HOMES.get(game.instance_class)
    return None


def _implementation(name: str, game: Any) -> Callable[..., Any] | None:
    kernel = getattr(_module_of(game), name, None)
    if kernel is None:
        return None
    # The function itself, not a call to its kernel: every level of calls costs seconds of compilation.
    # Numba compares signatures and wants no annotations.
    source = kernel.py_func
    return FunctionType(source.__code__, source.__globals__, source.__name__)


def _register(operation: Callable[..., Any]) -> None:
    """Let compiled code call `operation`, too."""
    name = operation.__name__

    def alone(game):  # type: ignore[no-untyped-def]
        return _implementation(name, game)

    def with_player(game, player):  # type: ignore[no-untyped-def]
        return _implementation(name, game)

    overload(operation, jit_options=jit_options())(with_player if name in _WITH_PLAYER else alone)


if not config.DISABLE_JIT:
    for _function in (clear, place, remove_last, utility, has_model):
        _register(_function)
