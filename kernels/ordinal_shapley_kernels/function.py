"""The function game's nopython side: a user's function of a sequence, called by its address.

The address is just a number, so a walk is compiled once for all functions and found in the cache. It is that
of a C function `void (int64 *players, int64 length, double *answer)`: machine code for a function that Numba
has compiled, a callback into the interpreter for any other. The answer is NaN until one of them writes it, so
it stays NaN whatever goes wrong (the function raises, or Ctrl-C comes between two lines of a callback, where
nothing can catch it).
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, types
from numba.extending import intrinsic

from ordinal_shapley_kernels.abi import compile_c, entry
from ordinal_shapley_kernels.games import FAILED, OK, Game, GameFunctions
from ordinal_shapley_kernels.workspace import COMPILED, Integers

C_UTILITY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)


def c_utility(func: Callable[..., Any]) -> Any:
    """Compile a jitted function of an int64 array into a C function of pointer, length and answer.

    The C function answers NaN if `func` raises. Its `address` is valid as long as the object exists.
    """

    def adapter(players, length, answer):  # type: ignore[no-untyped-def]
        try:
            answer[0] = func(carray(players, length))
        except Exception:
            answer[0] = math.nan

    # Flags are the user's own: those of `func`, and Numba's defaults here.
    words, numbers = types.CPointer(types.int64), types.CPointer(types.float64)
    return compile_c(adapter, types.void(words, types.int64, numbers), "c_utility", False)


class FunctionWorkspace(Game):
    """Nopython side of a FunctionGame."""

    function_address: int  # address of a C function as above
    sequence: Integers  # (n_players,): the current sequence
    # (n_players,): a copy for the function, which may change it; the memory of `scores` follows.
    handed: Integers
    length: int

    _callback: Any

    def failure(self) -> Exception | None:
        """See the base class."""
        failure: Exception | None = self._callback.take_failure()
        return failure

    def _make_room(self, n_blocks: int) -> None:
        n_players = len(self.sequence)
        shared = np.zeros(n_players + 1 + n_blocks, np.int64)
        self.share("handed", shared[:n_players])
        self.share("scores", shared[n_players:].view(np.float64))
        self._callback.expect(shared.ctypes.data, (self.block_of, self.block_weights) if n_blocks else None)


def make_function_workspace(callback: Any) -> FunctionWorkspace:
    """Allocate the workspace of one worker, for the function behind `callback.address`.

    `callback.expect(address, blocks)` gets the address of the players of a workspace, which the answer
    follows, and the blocks of validation rows if there are any. `callback.take_failure()` returns the
    exception of a failed call in this thread, if it is known.
    """
    workspace = FunctionWorkspace(
        FUNCTIONS,
        function_address=int(callback.address),
        sequence=(callback.n_players,),
        handed=(0,),
    )
    workspace._callback = callback
    workspace._make_room(0)
    return workspace


if COMPILED:

    @intrinsic
    def _call(context, address, players, length, answer):  # type: ignore[no-untyped-def]
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            word = ir.IntType(64)
            kind = ir.FunctionType(ir.VoidType(), [word, word, word])
            function = builder.inttoptr(arguments[0], kind.as_pointer())
            builder.call(function, arguments[1:])
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64, types.int64), generate

else:

    def _call(address: int, players: int, length: int, answer: int) -> None:
        C_UTILITY(address)(players, length, answer)


@entry
def reset(game: FunctionWorkspace) -> None:
    """Empty the sequence."""
    game.length = 0


@entry
def push(game: FunctionWorkspace, player: int) -> None:
    """Append a player to the sequence."""
    length = game.length
    game.sequence[length] = player
    game.length = length + 1


@entry
def pop(game: FunctionWorkspace, player: int) -> None:
    """Take the player that was pushed last out of the sequence."""
    game.length -= 1


@entry
def is_defined(game: FunctionWorkspace) -> int:
    """Every sequence is evaluated."""
    return 1


@entry
def evaluate(game: FunctionWorkspace) -> int:
    """Write the function's utility of the current sequence."""
    sequence, handed, answer, length = game.sequence, game.handed, game.scores, game.length
    for j in range(length):
        handed[j] = sequence[j]
    answer[0] = math.nan
    _call(game.function_address, handed.ctypes.data, length, answer.ctypes.data)
    return FAILED if math.isnan(answer[0]) else OK


FUNCTIONS = GameFunctions(reset, push, pop, is_defined, evaluate)
