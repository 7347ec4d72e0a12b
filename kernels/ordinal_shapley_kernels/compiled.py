"""Games of users' own functions, compiled in each process.

Users' functions take the game and, for push and pop, a player. They see the game's table as a workspace with
their own fields after those of `CompiledWorkspace`, so the defaults here replace functions that are not
given, whatever the fields. Each function that is given is wrapped in a C function that catches exceptions,
because a C function that raises just returns 0. `failed` holds which function raised until the next reset,
and until then there are no utilities; `raised` keeps it afterwards.
"""

from __future__ import annotations

import ctypes
import hashlib
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from ordinal_shapley_kernels.abi import compile_c, entry, stamp, users_own
from ordinal_shapley_kernels.games import FAILED, OK, Game, GameFunctions
from ordinal_shapley_kernels.workspace import COMPILED, Integers, Kind, WorkspaceType, set_fields

# Element types of users' arrays.
DTYPES = ("float64", "int64", "int32", "uint64", "bool")

# `CompiledWorkspace.failed`: which function raised.
RESET, PUSH, POP, IS_DEFINED, EVALUATE = 1, 2, 3, 4, 5
NAMES = {RESET: "reset", PUSH: "push", POP: "pop", IS_DEFINED: "is_defined", EVALUATE: "evaluate"}

_LINE = 64  # bytes


class CompiledWorkspace(Game):
    """First fields of the nopython side of every CompiledGame; users' fields follow, numbers last."""

    placed: Integers  # (n_players,): the current sequence; `sequence`, which users see, is the same memory
    length: int
    failed: int  # which function raised since the last reset, 0 if none did
    raised: int  # which function raised before it
    empty_value: float  # utility of undefined sequences
    has_empty_value: int  # whether the empty sequence is undefined, unless a function decides that
    # state_words, first_state_words: memory of all of the users' state arrays, and their initial content,
    # read-only.
    state_words: Integers
    first_state_words: Integers
    # number_words, first_number_words: memory of all of the users' numbers, and their initial values,
    # read-only.
    number_words: Integers
    first_number_words: Integers

    @property
    def has_raised(self) -> bool:
        """See the base class."""
        return bool(self.raised or self.failed)


@entry
def reset(game: CompiledWorkspace) -> None:
    """Empty the sequence, and restore the initial state and numbers."""
    game.length = 0
    game.raised = max(game.raised, game.failed)
    game.failed = 0
    state, numbers = game.state_words, game.number_words
    first_state, first_numbers = game.first_state_words, game.first_number_words
    for i in range(state.shape[0]):
        state[i] = first_state[i]
    for i in range(numbers.shape[0]):
        numbers[i] = first_numbers[i]


@entry
def push(game: CompiledWorkspace, player: int) -> None:
    """Append a player to the sequence."""
    length = game.length
    game.placed[length] = player
    game.length = length + 1


@entry
def pop(game: CompiledWorkspace, player: int) -> None:
    """Take the player that was pushed last out of the sequence."""
    game.length -= 1


@entry
def is_defined(game: CompiledWorkspace) -> int:
    """Whether the sequence is evaluated."""
    return int(game.length > 0 or game.has_empty_value == 0)


# `link` replaces these functions in the scope of the wrappers below.


def _own(table: Any) -> Any:
    """View a table as the workspace with users' fields."""
    return table


_seen = _own  # without the library's own fields


def _reset(game: Any) -> None:
    """Stands in for users' functions that are not given."""


def _push(game: Any, player: int) -> None:
    """Stands in for users' functions that are not given."""


_pop = _push


def _is_defined(game: Any) -> bool:
    """Stands in for users' functions that are not given."""
    return bool(game.length > 0 or game.has_empty_value == 0)


def _evaluate(game: Any) -> float:
    """Stands in for a user's function."""
    return 0.0


def _c_reset(table: Any) -> None:
    game, seen = _own(table), _seen(table)
    game.length = 0
    game.raised = max(game.raised, game.failed)
    game.failed = 0
    try:
        _reset(seen)
    except Exception:
        game.failed = RESET


def _c_push(table: Any, player: int) -> None:
    game, seen = _own(table), _seen(table)
    length = game.length
    game.placed[length] = player
    game.length = length + 1
    try:
        _push(seen, player)
    except Exception:
        game.failed = PUSH


def _c_pop(table: Any, player: int) -> None:
    game, seen = _own(table), _seen(table)
    try:
        _pop(seen, player)
    except Exception:
        game.failed = POP
    game.length -= 1


def _c_is_defined(table: Any) -> int:
    game, seen = _own(table), _seen(table)
    answer = 1
    try:
        if not _is_defined(seen):
            answer = 0
    except Exception:
        game.failed = IS_DEFINED
    return answer


def _c_evaluate(table: Any) -> int:
    game, seen = _own(table), _seen(table)
    if game.failed != 0:
        return FAILED
    stage = IS_DEFINED
    try:
        if _is_defined(seen):
            stage = EVALUATE
            game.scores[0] = _evaluate(seen) + 0.0
        else:
            game.scores[0] = game.empty_value
    except Exception:
        game.failed = stage
    return FAILED if game.failed != 0 else OK


def _ask(table: Any, players: NDArray[np.int64]) -> float:
    """Push and pop a sequence, and let exceptions through; the game was reset."""
    game, seen = _own(table), _seen(table)
    _reset(seen)
    for player in players:
        game.placed[game.length] = player
        game.length += 1
        _push(seen, player)
    answer = float(_evaluate(game)) if _is_defined(game) else float(game.empty_value)
    for player in players[::-1]:
        _pop(seen, player)
        game.length -= 1
    return answer


class Layout(NamedTuple):
    """The fields that a user adds to a game."""

    # arrays, state (name, element type, dimensions): arrays that are only read, and those of each worker.
    arrays: tuple[tuple[str, str, int], ...]
    state: tuple[tuple[str, str, int], ...]
    numbers: tuple[tuple[str, bool], ...]  # (name, whether it is a float)


_CLASSES: dict[Layout, type[CompiledWorkspace]] = {}


def workspace_class(layout: Layout) -> type[CompiledWorkspace]:
    """Return the class of workspaces with these fields."""
    if layout not in _CLASSES:
        kinds: dict[str, Any] = {name: field.kind for name, field in CompiledWorkspace._fields.items()}
        kinds["sequence"] = Kind("int64", 1, True)
        kinds |= {name: Kind(dtype, ndim, True) for name, dtype, ndim in layout.arrays}
        kinds |= {name: Kind(dtype, ndim) for name, dtype, ndim in layout.state}
        kinds |= {name: float if is_float else int for name, is_float in layout.numbers}
        # Numba considers types with the same name to be the same.
        digest = hashlib.sha256(repr(layout).encode()).hexdigest()[:16]
        made = type(f"CompiledWorkspace_{digest}", (CompiledWorkspace,), {"__doc__": "See the base class."})
        set_fields(made, kinds)
        _CLASSES[layout] = made
    return _CLASSES[layout]


def seen_class(layout: Layout) -> Any:
    """Return the view of a workspace that users' functions get: the sequence, and their own fields."""
    cls = workspace_class(layout)
    names = [name for fields in layout for name, *_ in fields]
    names = ["sequence", "length", *names]
    visible = {name: cls._fields[name] for name in (*names, "has_empty_value")}  # the last for `_is_defined`
    numbers = frozenset(name for name, _ in layout.numbers)
    kind = f"game with {', '.join(names)} ({cls.__name__[-16:]})"
    return type("SeenWorkspace", (), {"_fields": visible, "_settable": numbers, "_type_name": kind})


def reserved_names() -> set[str]:
    """Names that users' fields cannot have."""
    return {*CompiledWorkspace._fields, "sequence", "functions", "address", "self"}


def _block(arrays: list[NDArray[Any]]) -> tuple[NDArray[np.int64], list[int]]:
    """Concatenate arrays in one block, each at the start of a cache line; return it and their places."""
    places, size = [], 0
    for array in arrays:
        places.append(size // 8)
        size += -(-array.nbytes // _LINE) * _LINE
    block = _aligned(size // 8)
    for array, place in zip(arrays, places, strict=True):
        block[place:].view(np.uint8)[: array.nbytes] = np.ravel(array).view(np.uint8)
    return block, places


def _aligned(n_words: int) -> NDArray[np.int64]:
    block = np.zeros(n_words + _LINE // 8, np.int64)
    first = -block.ctypes.data % _LINE // 8
    return block[first : first + n_words]


def make_compiled_workspace(
    layout: Layout,
    functions: GameFunctions,
    n_players: int,
    empty_value: float | None,
    arrays: list[NDArray[Any]],
    state: list[NDArray[Any]],
    numbers: list[float],
) -> CompiledWorkspace:
    """Allocate the workspace of one worker; `arrays` are not copied."""
    cls = workspace_class(layout)
    first_state, places = _block(state)
    own_state = _aligned(len(first_state))
    own_state[:] = first_state
    fields: dict[str, Any] = {}
    for (name, _, _), array in zip(layout.arrays, arrays, strict=True):
        fields[name] = array.view()
        fields[name].flags.writeable = False
    for (name, _, _), array, place in zip(layout.state, state, places, strict=True):
        fields[name] = own_state[place:].view(array.dtype)[: array.size].reshape(array.shape)
    fields |= {name: value for (name, _), value in zip(layout.numbers, numbers, strict=True)}
    placed = np.zeros(n_players, np.int64)
    sequence = placed.view()
    sequence.flags.writeable = False
    n_numbers = len(numbers)
    workspace = cls(
        functions,
        placed=placed,
        sequence=sequence,
        empty_value=0.0 if empty_value is None else empty_value,
        has_empty_value=int(empty_value is not None),
        state_words=own_state,
        first_state_words=first_state,
        number_words=np.zeros(n_numbers, np.int64),
        first_number_words=np.zeros(n_numbers, np.int64),
        **fields,
    )
    own_numbers = workspace._table[cls._n_slots - n_numbers :]
    workspace.first_number_words[:] = own_numbers
    workspace.__dict__["number_words"] = own_numbers
    workspace._table[cls._fields["number_words"].slot] = own_numbers.ctypes.data
    return workspace


class _CFunction:
    """A compiled function that a game's table lists, and that Python can call."""

    def __init__(self, compiled: Any, n_arguments: int, answers: bool) -> None:
        self._compiled = compiled  # its code lives as long as this
        self.address = int(compiled.address)
        kinds = [ctypes.c_int64] * n_arguments
        self._call = ctypes.CFUNCTYPE(ctypes.c_int64 if answers else None, *kinds)(self.address)

    def __call__(self, *arguments: Any) -> Any:
        return self._call(*arguments)


class UserFunctions(NamedTuple):
    """A user's functions, None where they are not given."""

    evaluate: Callable[..., Any]
    push: Callable[..., Any] | None = None
    pop: Callable[..., Any] | None = None
    reset: Callable[..., Any] | None = None
    is_defined: Callable[..., Any] | None = None


class Linked(NamedTuple):
    """A user's functions, as kernels and Python call them."""

    functions: GameFunctions
    ask: Callable[..., float]  # `_ask`, of a workspace and a sequence


def link(layout: Layout, given: UserFunctions, fingerprints: str, cache: str | None) -> Linked:
    """Compile a user's functions for games of this layout.

    Parameters
    ----------
    layout : Layout
    given : UserFunctions
    fingerprints : str
        Differs where the functions do.
    cache : str or None
        Name under which compiled code is cached on disk.

    Raises
    ------
    NumbaError
        If they cannot be compiled; its attribute `function` is the name of the one that cannot.
    """
    cls = workspace_class(layout)
    scope: dict[str, Any] = {**globals(), "_own": _seen_as(cls), "_seen": _seen_as(seen_class(layout))}
    for name, default in _STAND_INS.items():
        func = getattr(given, name)
        scope[f"_{name}"] = users_own(default if func is None else func)
    digest = stamp(f"{layout} {fingerprints} {cache}")
    kept = cache is not None and not _compiled_before(given)
    word = types.int64
    made: dict[str, Any] = {}
    # `is_defined` comes before `evaluate`, which calls it, so that the error names the right one.
    for name in ("reset", "push", "pop", "is_defined", "evaluate"):
        if getattr(given, name) is None:
            made[name] = globals()[name]
            continue
        adapter = _in_scope(globals()[f"_c_{name}"], scope)
        if not COMPILED:
            made[name] = adapter
            continue
        arguments = (word, word) if name in ("push", "pop") else (word,)
        answer = word if name in ("is_defined", "evaluate") else types.none
        try:
            compiled = compile_c(adapter, answer(*arguments), f"osv_game_{name}_{digest}", kept)
        except Exception as error:
            error.function = name  # type: ignore[attr-defined]
            raise
        made[name] = _CFunction(compiled, len(arguments), answer is word)
    ask = users_own(_in_scope(_ask, scope))
    return Linked(
        GameFunctions(**made), lambda game, players: ask(game.address if COMPILED else game, players)
    )


def _compiled_before(given: UserFunctions) -> bool:
    """Whether a jitted function among these, or one that they call, is compiled, perhaps with other data."""
    stack: list[Any] = [func for func in given if func is not None]
    seen: set[int] = set()
    while stack:
        func = stack.pop()
        if id(func) in seen or getattr(func, "__module__", "").startswith(f"{__package__}."):
            continue
        seen.add(id(func))
        if getattr(func, "signatures", None):
            return True
        plain = getattr(func, "py_func", func)
        if isinstance(plain, FunctionType):
            read = [plain.__globals__.get(name) for name in plain.__code__.co_names]
            read += inspect.getclosurevars(plain).nonlocals.values()
            stack += [value for value in read if isinstance(value, FunctionType) or hasattr(value, "py_func")]
    return False


_STAND_INS: dict[str, Callable[..., Any]] = {
    "reset": _reset,
    "push": _push,
    "pop": _pop,
    "is_defined": _is_defined,
    "evaluate": _evaluate,
}


def _in_scope(func: Any, scope: dict[str, Any]) -> Any:
    return FunctionType(func.__code__, scope, func.__name__)


def _seen_as(cls: Any) -> Any:
    if not COMPILED:
        return _own

    @intrinsic
    def own(context, table):  # type: ignore[no-untyped-def]
        return WorkspaceType(cls)(types.int64), lambda context, builder, signature, values: values[0]

    return own
