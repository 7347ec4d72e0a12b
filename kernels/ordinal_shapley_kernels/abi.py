"""How kernels are compiled, cached and called.

A kernel is a C symbol: compiled once, called by its name from other kernels and by its address from Python.
What it works on is a `Workspace` (see `workspace`), a table of addresses, sizes and numbers, so no kernel is
compiled again for another game, another function or an array of another kind.

- `inlined`: a small function that becomes part of the kernels that call it.
- `part`: the same for a part of a larger function, with one call or two.
- `symbol`: a function that takes a microsecond or more, or is called from several places. Other kernels call
  it by its name.
- `entry`: a symbol that Python calls, or that stands in a game's table.

Symbols are made on first use, those they call first, and kept for the life of the process. A name carries the
digest of all kernel sources and of the signature: Numba finds compiled code on disk by the function's own
file and name, so a changed callee in another file would go unnoticed, and a symbol of another signature would
return garbage. With the JIT off a symbol is its Python function.
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

# Flags of every kernel. A helper without flags of its own inherits those of whichever caller is compiled
# first, so its bits would depend on compile order. Of fast-math fused multiply-adds only: sums stay in order,
# and data may hold infinities or what it likes.
FLAGS: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract"}}

# What has settled in the cache under one name can be unreadable; then the next name is used.
_CACHE_NAMES = 3

# So many symbols are worth a second process, which takes about as long to start as one to compile.
_MIN_SHARED = 8
_MAX_SECONDS = 60  # that it is waited for, once there is nothing else to do

_LOCK = threading.RLock()


def _renew_lock() -> None:
    # A thread that held it does not live on in a forked process.
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


# Settings of Numba that change what is compiled, and that its cache does not look at.
_OPTIONS = ("BOUNDSCHECK", "OPT", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "SLP_VECTORIZE")


def stamp(text: str) -> str:
    """Return what a name needs to differ where the sources, the way they are built or `text` do."""
    options = (FLAGS, SCALAR, *(getattr(config, name, None) for name in _OPTIONS))
    build = f"{SOURCE_DIGEST} {options}"
    return hashlib.sha256(f"{build} {text}".encode()).hexdigest()[:16]


class _Cache:
    """Whether symbols are looked for, and kept, on disk."""

    usable = True

    @classmethod
    def give_up(cls, error: Exception) -> None:
        """Run uncached from here on, and say so once."""
        if cls.usable:
            warnings.warn(
                "set NUMBA_CACHE_DIR to a folder that can be written and has room: compiled kernels can't be "
                f"kept on disk, so every process compiles them again ({error})",
                RuntimeWarning,
                stacklevel=2,
            )
        cls.usable = False


def compile_c(func: Callable[..., Any], signature: Any, name: str, cached: bool, **flags: Any) -> Any:
    """Compile a function into a C function, under a name that its cached code is found by.

    Parameters
    ----------
    func : function
        Its globals are what compiled code sees.
    signature : Numba signature
    name : str
        Must differ wherever the compiled code would.
    cached : bool
        Whether to look on disk, and to keep it there.

    Returns
    -------
    CFunc
        Its `address` is good for as long as it lives.
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
            _Cache.give_up(error)  # no folder can be written
        except OSError as error:
            _Cache.give_up(error)
        except Exception:  # torn or altered files
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
        self.caller: Any = None  # what stands for it in sources, kept so that its identity stays its own
        self._compiled: Any = None
        self._begun = False

    def _read(self) -> tuple[list[Symbol], int]:
        """What compiled code of this one calls, and bytes of the code that becomes part of it."""
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
        """Return the symbols that compiled code of this one calls."""
        return self._read()[0]

    @property
    def size(self) -> int:
        """About how long it takes to compile, in units of its own."""
        return self._read()[1]

    @property
    def address(self) -> int:
        """Of the C function; compiles it, and what it calls, if need be."""
        if self._compiled is None:
            prepare(self.caller)
        return int(self._compiled.address)

    @property
    def is_compiled(self) -> bool:
        """Whether it has been compiled, or loaded, in this process."""
        return self._compiled is not None

    @property
    def cache_hits(self) -> int:
        """1 if it came from disk."""
        return 0 if self._compiled is None else int(self._compiled.cache_hits)

    def lacking(self, before: list[Symbol]) -> list[Symbol]:
        """Add to those `before` what is not compiled of this symbol and its callees, callees first."""
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
        """Compile this symbol, or load it, and let others call it."""
        compiled = self.compile()
        # Only now can callers be loaded: a name that is not registered would end the process. So it is the
        # first thing that is done, and nothing that Ctrl-C could come between counts before.
        llvm.add_symbol(self.name, compiled.address)
        self._compiled = compiled
        if compiled.cache_hits == 0:
            Watcher.tell(True)

    def compile(self) -> Any:
        """Return the compiled function, from disk if it is there; all that it calls must be registered."""
        return compile_c(self.func, self.signature, self.name, True, **FLAGS)


def prepare(*entries: Any) -> None:
    """Compile several symbols at once, which is faster than one after the other; others are left alone."""
    found = (_SYMBOLS.get(id(made)) for made in entries)
    symbols = [own for own in found if own is not None and not own.is_compiled]
    if not symbols:
        return
    with hearing_interrupts(), _LOCK:
        lacking: list[Symbol] = []
        for own in symbols:
            own.lacking(lacking)
        _make_together(lacking)
        Watcher.tell(False)


def _make_together(lacking: list[Symbol]) -> None:
    """Make symbols, callees first; on several cores a second process compiles some of them meanwhile.

    It leaves them on disk; those that are not there in the end are compiled here.
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
    """Half of the work: of symbols in order, callees first, some that no other calls, so none has to wait."""
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
    """Compile symbols in another process while the block runs; give those that it works on."""
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
    """Names of globals that code reads, and of attributes, which telling apart would take too long."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def inlined(func: Function) -> Function:
    """Compile a function as a part of each kernel that calls it."""
    return numba.njit(**FLAGS)(func) if COMPILED else func


def users_own(func: Callable[..., Any]) -> Any:
    """Let kernels call a user's function: with flags of its own, those of Numba if it is not jitted."""
    if not COMPILED:
        return getattr(func, "py_func", func)
    return func if hasattr(func, "py_func") else numba.njit(func)


def part(func: Function) -> Function:
    """Make a function part of the one kernel, or the few, that call it, before they are compiled.

    It saves what compiling a function apart costs, and handing over its arguments, at each of its calls.
    """
    return numba.njit(inline="always", **FLAGS)(func) if COMPILED else func


def symbol(func: Function) -> Function:
    """Compile a function as a C symbol that kernels call by its name.

    Arguments and the answer are what annotations say: workspaces, arrays, int, float, bool.
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
    """Every symbol of the package, those that take longest to compile first."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        importlib.import_module(f"{__package__}.{module.name}")
    return sorted(_SYMBOLS.values(), key=lambda own: (-own.size, own.name))


def compile_named(names: list[str]) -> None:
    """Compile symbols and leave them on disk.

    For processes that do nothing else: what these symbols call is not compiled, and must not be called.
    """
    symbols = all_symbols()
    nowhere = ctypes.cast(ctypes.pythonapi.Py_IncRef, ctypes.c_void_p).value
    for own in symbols:
        llvm.add_symbol(own.name, nowhere)
    for own in symbols:
        if own.name in names:
            own.compile()


def compile_all(n_processes: int) -> int:
    """Compile all kernels of the package in several processes, and load them; returns how many there are."""
    if not COMPILED:
        return 0
    symbols = all_symbols()
    symbols[-1].address  # noqa: B018 (tells whether kernels can be kept)
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
    """A symbol that Python can call, and whose address can stand in a table.

    It takes workspaces, integers and floats.
    """

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func
        self.__name__, self.__doc__, self.__module__ = func.__name__, func.__doc__, func.__module__
        self.symbol = Symbol(func)
        self._call: Any = None

    def __reduce__(self) -> str:
        # A name in its module, for pickle, and for fingerprints that must not tell what was called before.
        return self.__name__

    @property
    def address(self) -> int:
        """Of the C function; compiles it, and what it calls, if need be."""
        return self.symbol.address

    def __call__(self, *arguments: Any) -> Any:
        """Call the C function, without holding the interpreter."""
        if self._call is None:
            signature = self.symbol.signature
            kinds: list[Any] = [_C_TYPES.get(kind, ctypes.c_int64) for kind in signature.args]
            self._call = ctypes.CFUNCTYPE(_C_TYPES[signature.return_type], *kinds)(self.address)
        return self._call(*arguments)


def entry(func: Function) -> Function:
    """Compile a function as a C symbol that Python calls, or that stands in a game's table."""
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
