"""Games given by a function of the sequence."""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeAlias

import numpy as np
from numba.extending import is_jitted
from numpy.typing import NDArray

from ordinal_shapley.common import arguments
from ordinal_shapley.common.parallel import heeding_interrupts
from ordinal_shapley.games._failures import message_of
from ordinal_shapley.games._fingerprint import fingerprint, full_name
from ordinal_shapley.games.base import Game
from ordinal_shapley_kernels.function import C_UTILITY, c_utility, make_function_workspace
from ordinal_shapley_kernels.workspace import COMPILED

_MAX_PLAYERS = 1_000_000
# Block of each validation row, and its weight there.
Blocks: TypeAlias = tuple[NDArray[np.int64], NDArray[np.float64]]


class Callback:
    """A user's function with an address for kernels; each process makes its own, on first use."""

    def __init__(
        self,
        func: Callable[..., Any],
        n_players: int,
        digest: str | None = None,
        name: str = "func",
        hint: str = "",
    ) -> None:
        # Computed once, and kept by copies, because calls may fill a cache of the function.
        self._fingerprint = fingerprint(func) if digest is None else digest
        self.func = func
        self.n_players = n_players
        self.name, self.hint = name, hint  # for messages: the function's name, and advice
        self.interrupt: BaseException | None = None
        self._failures = threading.local()
        # Blocks of validation rows by the address of a workspace's players; None without blocks.
        self._blocks: dict[int, Blocks | None] = {}
        self._views: dict[int, tuple[NDArray[np.int64], NDArray[np.float64]]] = {}
        self._callable: Any = None

    @property
    def address(self) -> int:
        """Address of a C function, valid as long as this object exists."""
        if self._callable is None:
            self._callable = self._make()
        if isinstance(self._callable, C_UTILITY):
            return int(ctypes.cast(self._callable, ctypes.c_void_p).value or 0)
        return int(self._callable.address)

    def expect(self, pointer: int, blocks: Blocks | None) -> None:
        """Register the memory of a workspace, in which the answer follows the players."""
        self._blocks[pointer] = blocks
        self._views.pop(pointer, None)

    def _in_blocks(self, players: NDArray[np.int64], blocks: Blocks) -> NDArray[np.float64]:
        values: list[NDArray[np.float64]] = []

        def first(sequence: NDArray[np.int64]) -> float:
            values.append(self.func.in_blocks(sequence, *blocks))  # type: ignore[attr-defined]
            return float(values[0][0])

        self.value(players, first)
        return values[0]

    def value(self, players: NDArray[np.int64], func: Callable[..., Any] | None = None) -> float:
        """Return the function's utility of a sequence; its exception becomes the cause of a RuntimeError."""
        try:
            result = (func or self.func)(players.copy())
        except Exception as error:
            problem = f"raised {type(error).__name__} {_of(players)}: {message_of(error)}"
            raise RuntimeError(f"{self.name} {problem}{self.hint}") from error
        try:
            value = float(result)
        except OverflowError:  # an integer
            problem = f"returned a number too large {_of(players)}, expected a finite number"
            raise ValueError(f"{self.name} {problem}") from None
        except Exception:  # the conversion may be a user's method
            raise TypeError(f"{self.name} returned {result!r} {_of(players)}, expected a number") from None
        if not math.isfinite(value):
            raise ValueError(f"{self.name} returned {value} {_of(players)}, expected a finite number")
        return value

    def take_failure(self) -> Exception | None:
        """Return the last exception of `value` in this thread when called by a kernel, and clear it."""
        failure: Exception | None = vars(self._failures).pop("last", None)
        if failure is None and self.interrupt is not None:  # in a process that does not raise it
            failure = RuntimeError(f"{self.name} raised {type(self.interrupt).__name__}")
            failure.__cause__ = self.interrupt
        return failure

    def _make(self) -> Any:
        if is_jitted(self.func) and COMPILED:
            from numba.core.errors import NumbaError

            try:
                return c_utility(self.func)
            except NumbaError as error:
                raise TypeError(
                    f"{self.name} is jitted, but cannot be compiled for an int64 array of players that "
                    f"returns a number: {error}"
                ) from error
        n_players = self.n_players
        # Views of each workspace's memory, because making them takes longer than the call.
        views = self._views

        def call(pointer: int, length: int, _: int) -> None:
            try:
                if self.interrupt is not None:
                    return
                memory, blocks = views.get(pointer), self._blocks.get(pointer)
                if memory is None:
                    n_numbers = 1 if blocks is None else 2 + int(blocks[0].max())
                    words = (ctypes.c_int64 * (n_players + n_numbers)).from_address(pointer)
                    players = np.ctypeslib.as_array(words)
                    memory = views[pointer] = players, players[n_players:].view(np.float64)
                players = memory[0][:length]
                memory[1][:] = self.value(players) if blocks is None else self._in_blocks(players, blocks)
            except Exception as failure:
                self._failures.last = failure
            except BaseException as interrupt:
                self.interrupt = interrupt

        return C_UTILITY(call)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Raise at the end what interrupted the function, such as Ctrl-C, which cannot pass through a kernel.

        It mostly comes at the first line of `call`, before `try`, where ctypes catches it.
        """
        self.interrupt = None
        try:
            with heeding_interrupts():
                yield
        finally:
            if self.interrupt is not None:
                raise self.interrupt

    def __reduce__(self) -> tuple[Any, ...]:
        return Callback, (self.func, self.n_players, self._fingerprint, self.name, self.hint)

    def __repr__(self) -> str:
        # Part of the fingerprint that results to pool must share.
        return f"{full_name(self.func)} {self._fingerprint}"


def _of(players: NDArray[np.int64]) -> str:
    return f"for the sequence {tuple(players.tolist())}"


class FunctionGame(Game):
    """A game given by a Python function of the sequence.

    A function that Numba has compiled (``@numba.njit``) is called from compiled code without the interpreter,
    and no sampling loop is compiled again for it.

    Sampled results can be pooled (`Valuation.merge`) if their functions were the same when the games were
    made: code, defaults, and data in closures, attributes and global variables. For other modules names or
    code are compared.

    Parameters
    ----------
    func : callable
        ``func(sequence)`` takes an int64 array of distinct players in order of entry, which may be empty, and
        returns a finite number. It must depend on the sequence alone; other threads may call it at the same
        time.
    n_players : int
        Players are 0, ..., n_players - 1.
    order_free : bool, default False
        Whether the order of the players does not matter. This is not checked, except that the classic value
        tries a few random sequences and warns if their reverse has another utility.
    names : array-like of shape (n_players,), optional
        Names of the players for tables of results.

    Attributes
    ----------
    n_players, order_free, player_names, player_classes, player_sizes
        See `Game`.

    Raises
    ------
    TypeError, ValueError
        If an argument cannot be used; the message names it.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> gains = [4.0, 2.0, 1.0]
    >>> def halved_at_each_place(sequence):
    ...     return sum(gains[player] / 2**place for place, player in enumerate(sequence))
    >>> game = osv.FunctionGame(halved_at_each_place, n_players=3)
    >>> game([0, 2])
    4.5
    >>> osv.exact_values(game, "partial_ordinal").values  # all places are equally likely: 7/12 of the gains
    array([2.33333333, 1.16666667, 0.58333333])

    The same compiled:

    >>> import numba
    >>> @numba.njit
    ... def first_come(sequence):
    ...     return 1.0 if len(sequence) and sequence[0] == 0 else 0.0
    >>> osv.exact_values(osv.FunctionGame(first_come, n_players=4), "partial_ordinal").values
    array([0.25, 0.  , 0.  , 0.  ])
    """

    _order_on_trust = True

    def __init__(
        self, func: Callable[..., Any], n_players: int, order_free: bool = False, *, names: Any = None
    ) -> None:
        if not callable(func):
            raise TypeError(f"func is {func!r}, expected a function of a sequence of players")
        self._take_players(arguments.integer("n_players", n_players, max=_MAX_PLAYERS), names)
        self.func = func
        self.order_free = arguments.flag("order_free", order_free)
        self._callback = Callback(func, self.n_players)
        self._runs_in_parallel = bool(is_jitted(func))

    _workspace_maker = staticmethod(make_function_workspace)

    @property
    def _payload(self) -> tuple[Any, ...]:
        return (self._callback,)

    def __call__(self, sequence: Sequence[int] | NDArray[np.int64]) -> float:
        """Return the utility of a sequence of distinct players; () is the empty one."""
        return self._callback.value(self._check_sequence(sequence))

    def _listening(self) -> AbstractContextManager[None]:
        return self._callback.listening()

    def __repr__(self) -> str:
        func = getattr(self.func, "py_func", self.func)
        name = getattr(func, "__qualname__", repr(func))
        return f"FunctionGame({name}, {self.n_players} players{', order free' if self.order_free else ''})"
