"""The function game's nopython side: a user's function of a sequence, called by its address.

The address is a number like any other, so a walk is compiled once for all functions and found in the
cache. Behind it is a C function `void (int64 *players, int64 length, double *answer)`: machine code for a
function that Numba has compiled, a callback into the interpreter for any other. The answer is NaN until
either has written it, so whatever goes wrong on the way (the function raises, or Ctrl-C comes between two
lines of a callback, where nothing can catch it) leaves NaN.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from ordinal_shapley_kernels._jit import jit_options, kernel

C_UTILITY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)


class FunctionWorkspace(NamedTuple):
    """Nopython side of a FunctionGame.

    Attributes
    ----------
    address : int
        Of a C function as above, kept alive by the caller.
    sequence : int64 (n_players,)
        The sequence at hand.
    handed : int64 (n_players,)
        A copy for the function, which may sort it or do what it likes.
    answer : float64 (1,)
        Written by the function; its memory follows that of `handed`.
    length : int64 (1,)
    """

    address: int
    sequence: NDArray[np.int64]
    handed: NDArray[np.int64]
    answer: NDArray[np.float64]
    length: NDArray[np.int64]


def make_function_workspace(address: int, n_players: int) -> FunctionWorkspace:
    """Allocate the workspace of one worker."""
    shared = np.zeros(n_players + 1, np.int64)
    return FunctionWorkspace(
        address,
        np.zeros(n_players, np.int64),
        shared[:n_players],
        shared[n_players:].view(np.float64),
        np.zeros(1, np.int64),
    )


def call_address(address: int, players: NDArray[np.int64], length: int, answer: NDArray[np.float64]) -> None:
    """Call a C function with the first `length` players and the place for its answer."""
    C_UTILITY(int(address))(players.ctypes.data, int(length), answer.ctypes.data)


if not config.DISABLE_JIT:

    @intrinsic
    def _call(context, address, pointer, length, answer):  # type: ignore[no-untyped-def]
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            word = ir.IntType(64)
            kind = ir.FunctionType(ir.VoidType(), [word, word, word])
            function = builder.inttoptr(arguments[0], kind.as_pointer())
            builder.call(function, arguments[1:])
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64, types.int64), generate

    @overload(call_address, jit_options=jit_options())
    def _call_address(address, players, length, answer):  # type: ignore[no-untyped-def]
        return lambda address, players, length, answer: _call(
            address, players.ctypes.data, length, answer.ctypes.data
        )


@kernel(internal=True)
def clear(game: FunctionWorkspace) -> None:
    """Empty the sequence."""
    game.length[0] = 0


@kernel(internal=True)
def place(game: FunctionWorkspace, player: int) -> None:
    """Append a player to the sequence."""
    game.sequence[game.length[0]] = player
    game.length[0] += 1


@kernel(internal=True)
def remove_last(game: FunctionWorkspace, player: int) -> None:
    """Take the player that was placed last out of the sequence."""
    game.length[0] -= 1


@kernel(internal=True)
def utility(game: FunctionWorkspace) -> float:
    """What the function says of the sequence as it stands; NaN if it does not say."""
    length = game.length[0]
    for j in range(length):
        game.handed[j] = game.sequence[j]
    game.answer[0] = math.nan
    call_address(game.address, game.handed, length, game.answer)
    return game.answer[0]


@kernel(internal=True)
def has_model(game: FunctionWorkspace) -> bool:
    """Every sequence is evaluated."""
    return True
