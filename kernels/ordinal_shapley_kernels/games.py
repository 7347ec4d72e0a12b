"""The interface of every game, called through the game's table.

A game is a workspace that begins with the addresses of five functions and the memory for their answer. A walk
calls them through the table, so it is compiled once for all games, those of users included.

`reset(game)` empties the sequence and forgets all solver state; `push(game, player)` appends a player without
evaluating; `pop(game, player)` removes the player pushed last; `is_defined(game)` returns whether the
sequence is really evaluated, or has a constant utility by rule; `evaluate(game)` writes the utility to
`scores[0]`, and the utilities by blocks of validation rows behind it if there are any. They are bit-identical
for the same sequence, whatever was pushed and popped before.

A kind of game may have further functions in its table, for what only some games of the kind do. Kernels also
call these through the table (`through_table`), so that other games need not compile them.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from ordinal_shapley_kernels.abi import inlined, prepare
from ordinal_shapley_kernels.workspace import COMPILED, Integers, Vector, Workspace, WorkspaceType, numba_type

# What `evaluate` returns
OK = 0
FAILED = 1  # there is no utility, and `scores` is not to be read


class GameFunctions(NamedTuple):
    """The functions of a kind of game, made by `entry`: of the game and, for `push` and `pop`, a player.

    `is_defined` and `evaluate` return an integer.
    """

    reset: Any
    push: Any
    pop: Any
    is_defined: Any
    evaluate: Any


class Game(Workspace):
    """The first fields of every game's workspace.

    Parameters
    ----------
    functions : GameFunctions, or a NamedTuple that begins like it
        None for functions that the game does not need.
    **fields
        See `Workspace`.
    """

    # reset_address, push_address, pop_address, is_defined_address, evaluate_address: addresses of the
    # functions; with the JIT off they are in `functions`.
    reset_address: int
    push_address: int
    pop_address: int
    is_defined_address: int
    evaluate_address: int
    scores: Vector  # (1 + n_blocks,): written by `evaluate`
    block_of: Integers  # (n_valid,) or (0,): block of each validation row, from 0
    block_weights: Vector  # (n_valid,) or (0,): its weight in the block
    unconverged: int  # model fits of `evaluate` so far that did not converge

    def __init__(self, functions: Any, **fields: Any) -> None:
        self.functions = functions
        for name, size in (("scores", 1), ("block_of", 0), ("block_weights", 0)):
            fields.setdefault(name, (size,))
        if COMPILED:
            prepare(*functions)
            for name, function in functions._asdict().items():
                fields[f"{name}_address"] = 0 if function is None else function.address
        super().__init__(**fields)

    def score_in_blocks(self, block_of: NDArray[np.int64], block_weights: NDArray[np.float64]) -> None:
        """Have `evaluate` also write utilities by blocks of validation rows."""
        if self.block_of is not block_of:
            self.share("block_of", block_of)
            self.share("block_weights", block_weights)
            self._make_room(1 + int(block_of.max()))

    def _make_room(self, n_blocks: int) -> None:
        self.share("scores", np.zeros(1 + n_blocks))

    def failure(self) -> Exception | None:
        """Return the exception of the last `evaluate` that failed in this thread, if Python saw one."""
        return None

    @property
    def has_raised(self) -> bool:
        """Whether a function raised, even if no utility was evaluated afterwards."""
        return False


def through_table(name: str, answer: Any, n_numbers: int = 0) -> Any:
    """Make a function of a game, and of up to two integers, that calls a function in the game's table.

    `answer` is the type that it returns, `int` or None.
    """
    if not COMPILED:

        def ask(game: Any, *numbers: int) -> Any:
            answered = getattr(game.functions, name)(game, *numbers)
            return None if answer is None else answer(answered)

        return ask

    kind = numba_type(answer)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        field = signature.args[0].layout._fields[f"{name}_address"]
        word = ir.IntType(64)
        function_type = ir.FunctionType(context.get_value_type(kind), [word] * len(values))
        slot = builder.add(values[0], ir.Constant(word, 8 * field.slot))
        function = builder.load(builder.inttoptr(slot, word.as_pointer()))
        return builder.call(builder.inttoptr(function, function_type.as_pointer()), values)

    def check(game: Any) -> Any:
        if not isinstance(game, WorkspaceType):
            raise TypeError(f"{name} takes a game, not {game}")
        return game

    def call(typing_context: Any, game: Any) -> Any:
        return kind(check(game)), generate

    def call_with_one(typing_context: Any, game: Any, number: Any) -> Any:
        return kind(check(game), types.int64), generate

    def call_with_two(typing_context: Any, game: Any, number: Any, other: Any) -> Any:
        return kind(check(game), types.int64, types.int64), generate

    chosen: Any = (call, call_with_one, call_with_two)[n_numbers]
    chosen.__name__ = name
    return intrinsic(chosen)


reset = through_table("reset", None)
push = through_table("push", None, 1)
pop = through_table("pop", None, 1)
is_defined = through_table("is_defined", int)
evaluate = through_table("evaluate", int)


@inlined
def utility(game: Any) -> float:
    """Utility of the current sequence; NaN if there is none."""
    status = evaluate(game)
    return game.scores[0] if status == OK else math.nan
