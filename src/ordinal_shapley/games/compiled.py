"""Games of user-defined compiled functions."""

from __future__ import annotations

import inspect
import keyword
import math
import unicodedata
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from numbers import Integral
from types import FunctionType
from typing import Any

import numpy as np
from numba.extending import is_jitted
from numpy.typing import NDArray

from ordinal_shapley.common import arguments
from ordinal_shapley.games._fingerprint import fingerprint, full_name
from ordinal_shapley.games.base import Game
from ordinal_shapley_kernels.compiled import (
    DTYPES,
    NAMES,
    CompiledWorkspace,
    Layout,
    Linked,
    UserFunctions,
    link,
    make_compiled_workspace,
    reserved_names,
)
from ordinal_shapley_kernels.games import OK
from ordinal_shapley_kernels.watching import hearing_interrupts

_MAX_PLAYERS = 1_000_000
_MAX_DIMENSIONS = 3
_MAX_LINKED = 100
_ORDERS_BACK = 20  # number tried to find an error in `pop`


@dataclass(frozen=True, repr=False)
class Compiled:
    """A user's functions with their fields, compiled once in every process that needs them."""

    token: str
    given: UserFunctions = field(compare=False)
    layout: Layout = field(compare=False)
    cache: str | None = field(compare=False)
    digests: tuple[str, ...] = field(compare=False)

    @cached_property
    def linked(self) -> Linked:
        """The functions that kernels and Python call, with the data that they hold at this time."""
        with hearing_interrupts():
            return _link(self)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "linked"}

    def __repr__(self) -> str:
        # Part of the fingerprint that results to pool must share.
        return f"{self.layout} {' '.join(self.digests)}"


@lru_cache(maxsize=_MAX_LINKED)
def _link(compiled: Compiled) -> Linked:
    return link(compiled.layout, compiled.given, " ".join(compiled.digests), compiled.cache)


@lru_cache(maxsize=_MAX_LINKED)
def _token(given: UserFunctions, layout: Layout, cache: str | None, digests: tuple[str, ...]) -> str:
    """Return a unique token for these functions with the data that they hold now."""
    return uuid.uuid4().hex


def make_workspace(
    compiled: Compiled, n_players: int, empty_value: float | None, *fields: Any
) -> CompiledWorkspace:
    """Allocate the workspace of one worker; `fields` are arrays, state and numbers."""
    n_arrays, n_state = len(compiled.layout.arrays), len(compiled.layout.state)
    return make_compiled_workspace(
        compiled.layout,
        compiled.linked.functions,
        n_players,
        empty_value,
        [*fields[:n_arrays]],
        [*fields[n_arrays : n_arrays + n_state]],
        [*fields[n_arrays + n_state :]],
    )


class CompiledGame(Game):
    """A user-defined game at full speed: Python functions on arrays, compiled by Numba.

    Each function takes ``game``, whose attributes are the arrays and numbers that you give, under their
    names, and the current sequence of players, ``game.sequence[:game.length]``. Numba compiles them in each
    process that needs them, those jitted already (``@numba.njit``) with their own options. Data in closures
    and global variables become part of what is compiled: don't change them, or give them as ``arrays``.
    Indices out of bounds are not detected (set ``NUMBA_BOUNDSCHECK=1`` to try a new game, or
    ``NUMBA_DISABLE_JIT=1``).

    Parameters
    ----------
    n_players : int
        Players are 0, ..., n_players - 1.
    evaluate : function
        ``evaluate(game)`` returns the utility of the current sequence, a finite number. It must be
        bit-identical for the same sequence, whatever was pushed and popped before.
    push, pop : function, optional
        ``push(game, player)`` is called when a player has been appended to the sequence, and
        ``pop(game, player)`` before the last one is taken out again, to keep ``state`` and ``numbers`` up to
        date. Both or neither.
    reset : function, optional
        ``reset(game)`` is called when the sequence is emptied, in place of the default, by which all state
        and numbers become what they were at the start.
    is_defined : function, optional
        ``is_defined(game)`` says whether the sequence is evaluated; if not, its utility is ``empty_value``.
    arrays : dict of str to array, optional
        Arrays that functions only read. All workers share them, and they are not copied: don't change them.
    state : dict of str to array, optional
        Arrays that functions may write, as they are for the empty sequence; each worker has its own.
    numbers : dict of str to int or float, optional
        Numbers that functions may set, ``game.count += 1``, as they are for the empty sequence; each worker
        has its own. An int stays one: begin with ``0.0`` for a float.
    order_free : bool, default False
        Whether the order of the players does not matter.
    names : array-like of shape (n_players,), optional
        Names of the players for tables of results.
    empty_value : float, optional
        Utility of the sequences that are not defined; without ``is_defined`` that is the empty one. They are
        not evaluated, and truncation does not end a permutation at one. By default all are evaluated.
    cache : str, optional
        Keep compiled code on disk under this name, so that the next process need not compile it. Change the
        name when functions imported from other modules change. If a function calls one that was compiled
        before, nothing is cached.

    Attributes
    ----------
    n_players, order_free, player_names, player_classes, player_sizes
        See `Game`.
    empty_value : float or None

    Raises
    ------
    TypeError, ValueError
        If an argument cannot be used, or a function cannot be compiled; the message names it.

    See Also
    --------
    FunctionGame : A function of the sequence, without arrays and state; no need to know Numba.

    Notes
    -----
    Arrays have 1 to 3 dimensions, and float64, int64, int32, uint64 or bool elements; others become float64
    or int64.

    An exception in a function ends the run with an error that names the sequence.

    Examples
    --------
    How many distinct colours the players have, each a half of the one before:

    >>> import numpy as np
    >>> import ordinal_shapley as osv
    >>> def push(game, player):
    ...     game.seen[game.colours[player]] += 1
    >>> def pop(game, player):
    ...     game.seen[game.colours[player]] -= 1
    >>> def evaluate(game):
    ...     n_colours = np.sum(game.seen > 0)
    ...     return 2.0 - 0.5 ** (n_colours - 1)
    >>> game = osv.CompiledGame(
    ...     4,
    ...     evaluate,
    ...     push,
    ...     pop,
    ...     arrays={"colours": [0, 0, 0, 1]},
    ...     state={"seen": np.zeros(2, int)},
    ...     empty_value=0.0,
    ... )
    >>> game([0, 1]), game([0, 1, 3])
    (1.0, 1.5)
    >>> osv.exact_values(game).values
    array([0.29166667, 0.29166667, 0.29166667, 0.625     ])
    """

    def __init__(
        self,
        n_players: int,
        evaluate: Callable[..., Any],
        push: Callable[..., Any] | None = None,
        pop: Callable[..., Any] | None = None,
        reset: Callable[..., Any] | None = None,
        is_defined: Callable[..., Any] | None = None,
        *,
        arrays: Mapping[str, Any] | None = None,
        state: Mapping[str, Any] | None = None,
        numbers: Mapping[str, Any] | None = None,
        order_free: bool = False,
        names: Any = None,
        empty_value: float | None = None,
        cache: str | None = None,
    ) -> None:
        self._take_players(arguments.integer("n_players", n_players, max=_MAX_PLAYERS), names)
        given = UserFunctions(evaluate, push, pop, reset, is_defined)
        _check_functions(given)
        _check_fields(arrays=arrays, state=state, numbers=numbers)
        self._arrays = {name: _as_array(f"arrays[{name!r}]", a) for name, a in (arrays or {}).items()}
        self._state = {name: _as_array(f"state[{name!r}]", a).copy() for name, a in (state or {}).items()}
        self._numbers = {name: _as_number(f"numbers[{name!r}]", n) for name, n in (numbers or {}).items()}
        self.order_free = arguments.flag("order_free", order_free)
        self.empty_value = None if empty_value is None else arguments.number("empty_value", empty_value)
        if is_defined is not None and empty_value is None:
            raise ValueError("is_defined requires empty_value, the utility of sequences that are not defined")
        if cache is not None and not isinstance(cache, str):
            raise TypeError(f"cache is {cache!r}, expected a name or None")
        layout = Layout(
            tuple((name, str(array.dtype), array.ndim) for name, array in self._arrays.items()),
            tuple((name, str(array.dtype), array.ndim) for name, array in self._state.items()),
            tuple((name, isinstance(number, float)) for name, number in self._numbers.items()),
        )
        digests = tuple("none" if f is None else f"{full_name(f)} {fingerprint(f)}" for f in given)
        self._compiled = Compiled(_token(given, layout, cache, digests), given, layout, cache, digests)
        try:
            self._compiled.linked  # noqa: B018
        except Exception as error:
            name = getattr(error, "function", "evaluate")
            raise TypeError(f"{name} cannot be compiled: {error}") from error

    _workspace_maker = staticmethod(make_workspace)

    @property
    def _payload(self) -> tuple[Any, ...]:
        fields = (*self._arrays.values(), *self._state.values(), *self._numbers.values())
        return (self._compiled, self.n_players, self.empty_value, *fields)

    @property
    def _settings(self) -> dict[str, Any]:
        functions = zip(UserFunctions._fields, self._compiled.digests, strict=True)
        return {
            "game": "CompiledGame",
            "n_players": self.n_players,
            **{name: (text,) for name, text in functions},
            **{f"arrays[{name!r}]": (array,) for name, array in self._arrays.items()},
            **{f"state[{name!r}]": (array,) for name, array in self._state.items()},
            **{f"numbers[{name!r}]": number for name, number in self._numbers.items()},
            "empty_value": self.empty_value,
        }

    def __call__(self, sequence: Sequence[int] | NDArray[np.int64]) -> float:
        """Return the utility of a sequence of distinct players; () is the empty one."""
        players = self._check_sequence(sequence)
        workspace = self._spare_workspace()
        functions = workspace.functions
        functions.reset(workspace)
        for player in players.tolist():
            functions.push(workspace, player)
        if functions.evaluate(workspace) != OK:
            name = NAMES[workspace.failed]
            self._ask(name, players)
            raise RuntimeError(
                f"{name} raised {_of(players)}, but not when called again: expected a result that "
                "depends on the sequence alone"
            )
        value = float(workspace.scores[0])
        if not math.isfinite(value):
            raise ValueError(f"evaluate returned {value} {_of(players)}, expected a finite number")
        return value

    def _ask(self, name: str, players: NDArray[np.int64]) -> None:
        """Push and pop a sequence, and raise the exception of the function `name`."""
        workspace = self._make_workspace()
        workspace.functions.reset(workspace)
        try:
            self._compiled.linked.ask(workspace, players)
        except Exception as error:
            raise RuntimeError(f"{name} raised {type(error).__name__} {_of(players)}: {error}") from error

    def _failure(self, sequence: tuple[int, ...]) -> Exception:
        players = np.array(sequence, np.int64)
        try:
            self(players)
            if self._compiled.given.pop is not None:  # it may have raised after another sequence
                self._ask("pop", players)
                for seed in range(_ORDERS_BACK):
                    self._ask("pop", np.random.default_rng(seed).permutation(self.n_players))
        except (RuntimeError, TypeError, ValueError) as error:
            return error
        return super()._failure(sequence)

    def __repr__(self) -> str:
        func = getattr(self._compiled.given.evaluate, "py_func", self._compiled.given.evaluate)
        return f"CompiledGame({func.__qualname__}, {self.n_players} players)"


def _of(players: NDArray[np.int64]) -> str:
    return f"for the sequence {tuple(players.tolist())}"


def _check_functions(given: UserFunctions) -> None:
    functions: dict[str, Any] = given._asdict()
    for name, func in functions.items():
        if func is None and name != "evaluate":
            continue
        if not (isinstance(func, FunctionType) or is_jitted(func)):
            raise TypeError(f"{name} is {func!r}, expected a function that Numba can compile")
        expected = ("game", "player") if name in ("push", "pop") else ("game",)
        signature = inspect.signature(getattr(func, "py_func", func))
        kinds = [parameter.kind for parameter in signature.parameters.values()]
        if kinds != [inspect.Parameter.POSITIONAL_OR_KEYWORD] * len(expected):
            raise TypeError(f"{name} takes {signature}, expected ({', '.join(expected)})")
    if (given.push is None) != (given.pop is None):
        here, missing = ("push", "pop") if given.pop is None else ("pop", "push")
        raise ValueError(f"{here} is given without {missing}, expected both or neither")


def _check_fields(**given: Any) -> None:
    """Check the names of arrays, state and numbers, which share one namespace."""
    taken = set(reserved_names())
    for argument, fields in given.items():
        if fields is not None and not isinstance(fields, Mapping):
            raise TypeError(f"{argument} is a {type(fields).__name__}, expected a dict of names")
        for name in fields or ():
            usable = isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name)
            if not usable or name.startswith("_") or name != unicodedata.normalize("NFKC", name):
                raise ValueError(f"{argument} holds the name {name!r}, expected one for an attribute of game")
            if name in taken:
                raise ValueError(f"{argument} holds the name {name!r}, which is taken: expected another")
            taken.add(name)


def _as_array(shown: str, values: Any) -> NDArray[Any]:
    """Convert to an array of an element type that kernels support."""
    if np.ma.isMaskedArray(values):
        raise TypeError(f"{shown} is masked, expected an array without a mask: fill in its missing values")
    try:
        array = np.asarray(values)
    except ValueError:  # ragged
        raise TypeError(f"{shown} is not an array of numbers") from None
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise TypeError(f"{shown} has elements of type {array.dtype}, expected numbers or booleans")
    if not 1 <= array.ndim <= _MAX_DIMENSIONS:
        where = "; numbers=... takes numbers" if array.ndim == 0 else ""
        raise TypeError(f"{shown} has {array.ndim} dimensions, expected 1 to {_MAX_DIMENSIONS}{where}")
    dtype = str(array.dtype)
    if dtype not in DTYPES:
        dtype = "float64" if array.dtype.kind == "f" else "int64"
    return np.require(array, dtype, ["C", "A"])


def _as_number(shown: str, value: Any) -> int | float:
    if isinstance(value, Integral) and not isinstance(value, bool):
        return arguments.integer(shown, value, min=-(2**63))
    return arguments.number(shown, value)
