"""How kernels are compiled, cached and called.

A kernel is a C symbol: compiled once, called by its name from other kernels and by its address from Python.
It works on a `Workspace` (see `workspace`): a table of addresses, sizes and numbers. So no kernel is compiled
again for another game, function or kind of array.

- `inlined`: a small function that becomes part of the kernels that call it.
- `part`: the same, for a piece of a larger function that is called once or twice.
- `symbol`: a function that takes a microsecond or more, or is called from several places. Other kernels call
  it by its name.
- `entry`: a symbol that Python calls or a game's table lists.

Symbols are compiled on first use, callees first, and kept for the life of the process. Their names hold a
digest of all kernel sources and of the signature, because Numba looks up compiled code on disk by file and
name alone: it would miss a changed callee in another file, and a symbol of another signature would return
garbage. With the JIT off, a symbol is its Python function.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib
import inspect
import os
import pkgutil
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, TypeVar, get_type_hints

import llvmlite.binding as llvm
import numba
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

from ordinal_shapley_kernels.watching import Watcher, hearing_interrupts
from ordinal_shapley_kernels.workspace import COMPILED, SCALAR, numba_type

Function = TypeVar("Function", bound=Callable[..., Any])

# Flags of every kernel. A helper without flags inherits those of the caller that is compiled first, so its
# bits would depend on compile order. Fused multiply-adds are the only fast-math: sums stay in order, and data
# may be infinite or NaN.
FLAGS: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract"}}

# Names to try in turn: the cached file of one may be unreadable.
_CACHE_NAMES = 3

# From this many symbols on a second process saves time; it takes as long to start as one symbol to compile.
_MIN_SHARED = 8
_MAX_SECONDS = 60  # to wait for it when this process has finished

_LOCK = threading.RLock()


def _renew_lock() -> None:
    # The thread that held it does not exist in a forked process.
    global _LOCK
    _LOCK = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)

_SYMBOLS: dict[int, Symbol] = {}  # by the identity of what kernels see


def _digest_of_sources() -> str:
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


SOURCE_DIGEST = _digest_of_sources()


# Settings of Numba that change the compiled code but that its cache ignores.
_OPTIONS = ("BOUNDSCHECK", "OPT", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "SLP_VECTORIZE")


def stamp(text: str) -> str:
    """Return a digest for names, which differs where the sources, the build options or `text` differ."""
    options = (FLAGS, SCALAR, *(getattr(config, name, None) for name in _OPTIONS))
    build = f"{SOURCE_DIGEST} {options}"
    return hashlib.sha256(f"{build} {text}".encode()).hexdigest()[:16]


class _Cache:
    """Whether symbols are loaded from disk and saved there."""

    usable = True

    @classmethod
    def give_up(cls, error: Exception) -> None:
        """Run uncached from here on, with one warning."""
        if cls.usable:
            warnings.warn(
                "set NUMBA_CACHE_DIR to a folder that can be written and has room: compiled kernels can't be "
                f"kept on disk, so every process compiles them again ({error})",
                RuntimeWarning,
                stacklevel=2,
            )
        cls.usable = False


def compile_c(func: Callable[..., Any], signature: Any, name: str, cached: bool, **flags: Any) -> Any:
    """Compile a function into a C function whose cached code is found by `name`.

    Parameters
    ----------
    func : function
        Compiled code sees its globals.
    signature : Numba signature
    name : str
        Must differ wherever the compiled code would.
    cached : bool
        Whether to load it from disk, or save it there.

    Returns
    -------
    CFunc
        Its `address` is valid as long as the object exists.
    """
    named = FunctionType(func.__code__, func.__globals__, func.__name__, func.__defaults__, func.__closure__)
    named.__module__ = func.__module__
    for attempt in range(_CACHE_NAMES if cached else 0):
        if not _Cache.usable:
            break
        named.__qualname__ = f"{name}_{attempt}" if attempt else name
        try:
            return numba.cfunc(signature, nopython=True, cache=True, **flags)(named)
        except numba.core.errors.NumbaError:
            raise
        except RuntimeError as error:
            if "cannot cache" not in str(error):
                raise
            _Cache.give_up(error)  # no folder is writable
        except OSError as error:
            _Cache.give_up(error)
        except Exception:  # truncated or altered files
            continue
    named.__qualname__ = name
    return numba.cfunc(signature, nopython=True, **flags)(named)


class Symbol:
    """A function with a C name and signature, compiled when first needed."""

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func
        hints = get_type_hints(func, include_extras=True)
        parameters = inspect.signature(func).parameters
        self.signature = numba_type(hints["return"])(*(numba_type(hints[name]) for name in parameters))
        self.name = f"osv_{func.__module__.split('.')[-1]}_{func.__name__}_{stamp(str(self.signature))}"
        self.caller: Any = None  # the object that sources call; kept so that its id is not used again
        self._compiled: Any = None
        self._begun = False

    def _read(self) -> tuple[list[Symbol], int]:
        """The symbols that it calls, and the size of its bytecode with that of the functions it inlines."""
        seen: set[int] = set()
        stack: list[Any] = [self.func]
        called, size = [], 0
        while stack:
            func = stack.pop()
            size += len(func.__code__.co_code)
            for name in _names(func.__code__):
                value = func.__globals__.get(name)
                if value is None or id(value) in seen:
                    continue
                seen.add(id(value))
                if id(value) in _SYMBOLS:
                    called.append(_SYMBOLS[id(value)])
                elif hasattr(value, "py_func"):
                    stack.append(value.py_func)
        return called, size

    def callees(self) -> list[Symbol]:
        """Return the symbols that it calls."""
        return self._read()[0]

    @property
    def size(self) -> int:
        """About how long it takes to compile, relative to others."""
        return self._read()[1]

    @property
    def address(self) -> int:
        """Of the C function; compiles it, and what it calls, if need be."""
        if self._compiled is None:
            prepare(self.caller)
        return int(self._compiled.address)

    @property
    def is_compiled(self) -> bool:
        """Whether it has been compiled or loaded in this process."""
        return self._compiled is not None

    @property
    def cache_hits(self) -> int:
        """1 if it came from disk."""
        return 0 if self._compiled is None else int(self._compiled.cache_hits)

    def lacking(self, before: list[Symbol]) -> list[Symbol]:
        """Append this symbol and its callees to `before` unless they are compiled, callees first."""
        if self._compiled is None and self not in before:
            if self._begun:
                raise RuntimeError(f"{self.name} calls itself, or an attribute has the name of what calls it")
            self._begun = True
            try:
                for callee in self.callees():
                    callee.lacking(before)
            finally:
                self._begun = False
            before.append(self)
        return before

    def make(self) -> None:
        """Compile or load this symbol, and register it for its callers."""
        compiled = self.compile()
        # Register it first of all: loading a caller of a name that is not registered would end the process,
        # and Ctrl-C may come at any line.
        llvm.add_symbol(self.name, compiled.address)
        self._compiled = compiled
        if compiled.cache_hits == 0:
            Watcher.report(True)

    def compile(self) -> Any:
        """Return the compiled function, from disk if it is there; its callees must be registered."""
        return compile_c(self.func, self.signature, self.name, True, **FLAGS)


def prepare(*entries: Any) -> None:
    """Compile several symbols at once, which is faster than one after the other; ignore everything else."""
    found = (_SYMBOLS.get(id(made)) for made in entries)
    symbols = [own for own in found if own is not None and not own.is_compiled]
    if not symbols:
        return
    with hearing_interrupts(), _LOCK:
        lacking: list[Symbol] = []
        for own in symbols:
            own.lacking(lacking)
        _make_together(lacking)
        Watcher.report(False)


def _make_together(lacking: list[Symbol]) -> None:
    """Compile symbols, callees first; on several cores a second process compiles some of them meanwhile.

    It saves them on disk; what it did not finish is compiled here.
    """
    if not lacking:
        return
    lacking[0].make()
    worth_it = lacking[0].cache_hits == 0 and len(lacking) >= _MIN_SHARED and _Cache.usable
    with _second_process(_share(lacking[1:]) if worth_it else []) as elsewhere:
        for own in lacking[1:]:
            if own not in elsewhere:
                own.make()
    for own in lacking[1:]:
        if not own.is_compiled:
            own.make()


def _share(symbols: list[Symbol]) -> list[Symbol]:
    """Pick half of the work: symbols that none of the others calls, so that neither process has to wait."""
    sizes = {own: own.size for own in symbols}
    taken: list[Symbol] = []
    called: set[Symbol] = set()
    left = sum(sizes.values()) / 2
    for own in reversed(symbols):
        if own not in called and sizes[own] <= left:
            taken.append(own)
            left -= sizes[own]
        else:
            called.update(own.callees())
    return taken


@contextmanager
def _second_process(symbols: list[Symbol]) -> Iterator[list[Symbol]]:
    """Compile symbols in another process while the block runs; yield those that it compiles."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        cores = os.cpu_count() or 1
    process = None
    if symbols and cores > 1:
        with suppress(OSError):
            process = _python(f"compile_named({[own.name for own in symbols]!r})")
    try:
        yield symbols if process is not None else []
        if process is not None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_MAX_SECONDS)
    finally:
        if process is not None:
            process.kill()
            process.wait()


def _python(call: str) -> subprocess.Popen[bytes]:
    """Start a process that calls a function of this module."""
    paths = [str(Path(__file__).parent.parent), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    code = f"from {__name__} import compile_named; {call}"
    return subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def _names(code: CodeType) -> Iterator[str]:
    """Names of the globals that code reads, and of attributes: separating them would take too long."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def inlined(func: Function) -> Function:
    """Compile a function as a part of each kernel that calls it."""
    return numba.njit(**FLAGS)(func) if COMPILED else func


def users_own(func: Callable[..., Any]) -> Any:
    """Let kernels call a user's function, with its own flags or, if it is not jitted, Numba's defaults."""
    if not COMPILED:
        return getattr(func, "py_func", func)
    return func if hasattr(func, "py_func") else numba.njit(func)


def part(func: Function) -> Function:
    """Merge a function into the few kernels that call it, before they are compiled.

    This saves compiling it separately, and passing arguments at each call.
    """
    return numba.njit(inline="always", **FLAGS)(func) if COMPILED else func


def symbol(func: Function) -> Function:
    """Compile a function as a C symbol that kernels call by its name.

    Annotations give the types of arguments and result: workspaces, arrays, int, float, bool.
    """
    if not COMPILED:
        return func
    own = Symbol(func)

    def call(typing_context: Any, *arguments: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            kinds = [context.get_value_type(kind) for kind in signature.args]
            function_type = ir.FunctionType(context.get_value_type(signature.return_type), kinds)
            callee = builder.module.globals.get(own.name)
            if callee is None:
                callee = ir.Function(builder.module, function_type, own.name)
            return builder.call(callee, values)

        return own.signature, generate

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    names = ("typing_context", *inspect.signature(func).parameters)
    call.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])  # type: ignore[attr-defined]
    call.__name__, call.__doc__ = func.__name__, func.__doc__
    own.caller = caller = intrinsic(call)
    _SYMBOLS[id(caller)] = own
    return caller


def all_symbols() -> list[Symbol]:
    """Return every symbol of the package, the slowest to compile first."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        importlib.import_module(f"{__package__}.{module.name}")
    return sorted(_SYMBOLS.values(), key=lambda own: (-own.size, own.name))


def compile_named(names: list[str]) -> None:
    """Compile symbols and save them on disk.

    For processes that do nothing else: callees are not compiled, so these symbols must not be called.
    """
    symbols = all_symbols()
    nowhere = ctypes.cast(ctypes.pythonapi.Py_IncRef, ctypes.c_void_p).value
    for own in symbols:
        llvm.add_symbol(own.name, nowhere)
    for own in symbols:
        if own.name in names:
            own.compile()


def compile_all(n_processes: int) -> int:
    """Compile all kernels of the package in several processes, load them, and return their number."""
    if not COMPILED:
        return 0
    symbols = all_symbols()
    symbols[-1].address  # noqa: B018 (shows whether kernels can be cached)
    if n_processes > 1 and _Cache.usable:
        names = [own.name for own in symbols if not own.is_compiled]
        workers = [_python(f"compile_named({names[i::n_processes]!r})") for i in range(n_processes)]
        try:
            for worker in workers:
                worker.wait()
        finally:
            for worker in workers:
                worker.kill()
    for own in symbols:
        own.address  # noqa: B018
    return len(symbols)


_C_TYPES = {types.int64: ctypes.c_int64, types.float64: ctypes.c_double, types.none: None}


class Entry:
    """A symbol that Python can call, and whose address a table can hold.

    It takes workspaces, integers and floats.
    """

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func
        self.__name__, self.__doc__, self.__module__ = func.__name__, func.__doc__, func.__module__
        self.symbol = Symbol(func)
        self._call: Any = None

    def __reduce__(self) -> str:
        # By name, for pickle, and for fingerprints, which must not depend on earlier calls.
        return self.__name__

    @property
    def address(self) -> int:
        """Of the C function; compiles it, and what it calls, if need be."""
        return self.symbol.address

    def __call__(self, *arguments: Any) -> Any:
        """Call the C function without holding the GIL."""
        if self._call is None:
            signature = self.symbol.signature
            kinds: list[Any] = [_C_TYPES.get(kind, ctypes.c_int64) for kind in signature.args]
            self._call = ctypes.CFUNCTYPE(_C_TYPES[signature.return_type], *kinds)(self.address)
        return self._call(*arguments)


def entry(func: Function) -> Function:
    """Compile a function as a C symbol that Python calls or a game's table lists."""
    if not COMPILED:
        return func
    made = Entry(func)
    made.symbol.caller = made
    _SYMBOLS[id(made)] = made.symbol
    return made  # type: ignore[return-value]


def callable_from_python(caller: Any) -> Any:
    """Return a function of arrays and numbers that calls a symbol: for tests and measurements."""
    if not COMPILED or isinstance(caller, Entry) or hasattr(caller, "py_func"):
        return caller
    own = _SYMBOLS[id(caller)]
    own.address  # noqa: B018
    names = ", ".join(inspect.signature(own.func).parameters)
    scope: dict[str, Any] = {"caller": caller}
    exec(f"def call({names}):\n    return caller({names})", scope)
    return numba.njit(**FLAGS)(scope["call"])
