"""What every game offers to what walks sequences, called through the game's table.

A game is a workspace that begins with the addresses of five functions and the place for their answer. A walk
calls them through the table, so it is compiled once for all games, those of users included.

`reset(game)` empties the sequence and forgets all solver state; `push(game, player)` appends a player without
evaluating; `pop(game, player)` takes the player pushed last out again; `is_defined(game)` says whether the
sequence is one that the game really evaluates, not one that is worth a constant by rule; `evaluate(game)`
writes the utility to `scores[0]`, and the utilities by blocks of validation rows to what follows if there
are any. What it writes depends on the sequence alone, to the bit, whatever was pushed and popped before.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ordinal_shapley_kernels.abi import inlined, prepare
from ordinal_shapley_kernels.workspace import COMPILED, Vector, Workspace, WorkspaceType

# What `evaluate` returns
OK = 0
FAILED = 1  # there is no utility; `scores` says nothing


class GameFunctions(NamedTuple):
    """The functions of a kind of game: entries, of the game and for `push` and `pop` a player.

    `is_defined` and `evaluate` return an integer.
    """

    reset: Any
    push: Any
    pop: Any
    is_defined: Any
    evaluate: Any


class Game(Workspace):
    """What the workspace of every game begins with.

    Attributes
    ----------
    reset_address, push_address, pop_address, is_defined_address, evaluate_address : int
        Of the functions; with the JIT off they are in `functions`.
    scores : float64 (1 + n_blocks,)
        Written by `evaluate`.
    unconverged : int
        Model fits of `evaluate` so far that could not be brought to convergence.
    """

    reset_address: int
    push_address: int
    pop_address: int
    is_defined_address: int
    evaluate_address: int
    scores: Vector
    unconverged: int

    def __init__(self, functions: GameFunctions, **fields: Any) -> None:
        self.functions = functions
        fields.setdefault("scores", (1,))
        if COMPILED:
            prepare(*functions)
            for name, function in zip(functions._fields, functions, strict=True):
                fields[f"{name}_address"] = function.address
        super().__init__(**fields)


if not COMPILED:

    def reset(game: Any) -> None:
        """Empty the sequence and forget all solver state."""
        game.functions.reset(game)

    def push(game: Any, player: int) -> None:
        """Append a player to the sequence without evaluating it."""
        game.functions.push(game, player)

    def pop(game: Any, player: int) -> None:
        """Take the player that was pushed last, `player`, out of the sequence again."""
        game.functions.pop(game, player)

    def is_defined(game: Any) -> int:
        """Whether the sequence is one that the game really evaluates."""
        return int(game.functions.is_defined(game))

    def evaluate(game: Any) -> int:
        """Write the utility of the sequence to the game's `scores`; returns a status."""
        return int(game.functions.evaluate(game))

else:

    def _through_table(name: str, answer: Any) -> Any:
        """Function of a game, and of a player, that calls what stands in the game's table."""
        with_player = name in ("push", "pop")

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            field = signature.args[0].layout._fields[f"{name}_address"]
            word = ir.IntType(64)
            kind = ir.FunctionType(context.get_value_type(answer), [word] * len(values))
            slot = builder.add(values[0], ir.Constant(word, 8 * field.slot))
            function = builder.load(builder.inttoptr(slot, word.as_pointer()))
            return builder.call(builder.inttoptr(function, kind.as_pointer()), values)

        def check(game: Any) -> Any:
            if not isinstance(game, WorkspaceType):
                raise TypeError(f"{name} takes a game, not {game}")
            return game

        if with_player:

            def call(typing_context: Any, game: Any, player: Any) -> Any:
                return answer(check(game), types.int64), generate

        else:

            def call(typing_context: Any, game: Any) -> Any:  # type: ignore[misc]
                return answer(check(game)), generate

        call.__name__ = name
        return intrinsic(call)

    reset = _through_table("reset", types.none)
    push = _through_table("push", types.none)
    pop = _through_table("pop", types.none)
    is_defined = _through_table("is_defined", types.int64)
    evaluate = _through_table("evaluate", types.int64)


@inlined
def utility(game: Any) -> float:
    """Utility of the sequence as it stands; NaN if there is none."""
    status = evaluate(game)
    return game.scores[0] if status == OK else math.nan
