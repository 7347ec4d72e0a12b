"""Fingerprints of functions: equal in all processes, and different if a function holds different data."""

from __future__ import annotations

import dis
import functools
import hashlib
from collections.abc import Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
from numba.extending import is_jitted

from ordinal_shapley.common.arrays import is_sparse
from ordinal_shapley.common.frames import as_pandas

_PLAIN = (type(None), bool, int, float, complex, str, bytes, bytearray, type(Ellipsis))
# Attributes of a class that count with their values.
_OF_A_CLASS = (*_PLAIN, tuple, list, dict, set, frozenset, np.ndarray, FunctionType)
# Attributes that represent some objects; builtins are methods of C types and functions of C modules.
_COUNTED: dict[type, tuple[str, ...]] = {
    ModuleType: ("__name__",),
    BuiltinFunctionType: ("__name__", "__self__"),
    MethodType: ("__func__", "__self__"),
    functools.partial: ("func", "args", "keywords"),
    property: ("fget", "fset"),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
}
_WRITES = ("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_DEREF", "DELETE_DEREF")


def fingerprint(func: Any, home: str | None = None) -> str:
    """Hash a function's code with its defaults and all data it holds or names, or any object's state.

    Functions and classes of its module, or of the module called `home`, are read completely.

    Modules, and classes and functions of other modules, count by name or code alone: otherwise whole
    libraries would have to be read. The same holds for opaque objects, such as a lock. An outside variable
    that the function itself assigns, such as a count of its calls, is its own state and does not count.
    """
    return _Reader(home or _module(func)).digest(func).hex()


def fingerprint_of_rows(X: Any) -> str:
    """Hash rows as `indexable` returns them, without row names."""
    X = as_pandas(X, "X")
    if hasattr(X, "iloc"):
        import pandas as pd

        try:
            content: Any = pd.util.hash_pandas_object(X, index=False).to_numpy()
        except TypeError:  # for unhashable values
            content = X.to_numpy(dtype=object)
        return fingerprint(([*map(str, X.columns)], [*map(str, X.dtypes)], content))
    return fingerprint((X.shape, X.data, X.indices, X.indptr) if is_sparse(X) else X)


def full_name(thing: Any) -> str:
    """Full name of a function or a class, with its module."""
    return f"{_module(thing)}.{getattr(thing, '__qualname__', type(thing).__qualname__)}"


def _module(func: Any) -> str:
    """Name of the module of a function, or else of an object's class."""
    while (inner := _inner(func)) is not None:
        func = inner
    module = getattr(func, "__module__", None)
    name = str(module if isinstance(module, str) else type(func).__module__)
    return "__main__" if name == "__mp_main__" else name  # the name in a worker


def _inner(func: Any) -> Any:
    """The function that a wrapper wraps, None for anything else."""
    if isinstance(func, functools.partial):
        return func.func
    if isinstance(func, MethodType):
        return func.__func__
    if is_jitted(func):
        return func.py_func
    if isinstance(func, functools._lru_cache_wrapper):  # whatever it has cached
        return func.__wrapped__
    return None


class _Reader:
    """One reading of a function; functions and classes of module `home` are read completely."""

    def __init__(self, home: str) -> None:
        self.home = home
        self.known: dict[int, tuple[bytes, Any]] = {}  # with the thing, so that its id is not used again
        self.path: dict[int, int] = {}

    def digest(self, thing: Any) -> bytes:
        kind = type(thing)
        if kind in _PLAIN:
            return _hash(kind.__name__, repr(thing).encode())
        mark = id(thing)
        if mark in self.path:
            return _hash("above", str(len(self.path) - self.path[mark]).encode())
        if mark not in self.known:
            self.path[mark] = len(self.path)
            try:
                found = _hash(kind.__qualname__, *self._parts(thing))
            except Exception:  # opaque objects may raise anything
                found = _hash("closed", kind.__qualname__.encode())
            del self.path[mark]
            self.known[mark] = found, thing
        return self.known[mark][0]

    def _parts(self, thing: Any) -> Iterator[bytes]:
        for kind, names in _COUNTED.items():
            if isinstance(thing, kind):
                yield from (self.digest(getattr(thing, name)) for name in names)
                return
        if type(thing) in (np.ndarray, np.memmap):
            yield f"{thing.dtype}{thing.shape}".encode()
            yield self.digest(thing.tolist()) if thing.dtype.hasobject else thing.tobytes()
        elif isinstance(thing, CodeType):
            yield from self._code(thing)
        elif isinstance(thing, FunctionType):
            yield from self._function(thing)
        elif isinstance(thing, type):
            yield from self._class(thing)
        elif _inner(thing) is not None:
            yield self.digest(_inner(thing))
            if is_jitted(thing):  # options change the compiled code, and some of them results
                yield repr(sorted((name, str(value)) for name, value in thing.targetoptions.items())).encode()
        elif type(thing) in (tuple, list):
            yield from map(self.digest, thing)
        elif type(thing) in (set, frozenset):
            yield from sorted(map(self.digest, thing))
        elif type(thing) is dict:
            yield from sorted(self.digest(key) + self.digest(value) for key, value in thing.items())
        else:
            yield from self._object(thing)

    def _code(self, code: CodeType) -> Iterator[bytes]:
        # Without line numbers and the file's name.
        yield code.co_code
        yield getattr(code, "co_exceptiontable", b"")
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        yield repr((names, counts)).encode()
        yield from map(self.digest, code.co_consts)

    def _function(self, func: FunctionType) -> Iterator[bytes]:
        yield self.digest(func.__code__)
        yield self.digest(func.__defaults__)
        yield self.digest(func.__kwdefaults__)
        read, written = _outside(func.__code__)
        for name, cell in zip(func.__code__.co_freevars, func.__closure__ or (), strict=True):
            if name not in written:
                try:
                    yield _hash(name, self.digest(cell.cell_contents))
                except ValueError:  # still empty
                    yield _hash(name, b"empty")
        yield self.digest({key: value for key, value in vars(func).items() if key != "__wrapped__"})
        if _module(func) == self.home:
            for name in sorted(read - written):
                if name in func.__globals__:
                    yield _hash(name, self.digest(func.__globals__[name]))

    def _class(self, cls: type) -> Iterator[bytes]:
        yield full_name(cls).encode()
        if _module(cls) != self.home:
            return
        yield from map(self.digest, cls.__bases__)
        for name, value in sorted(vars(cls).items()):
            is_function = isinstance(value, FunctionType | staticmethod | classmethod | property)
            if is_function or (isinstance(value, _OF_A_CLASS) and not name.startswith("__")):
                yield _hash(name, self.digest(value))

    def _object(self, thing: Any) -> Iterator[bytes]:
        reduced = thing.__reduce_ex__(4)
        yield self.digest(type(thing))
        if isinstance(reduced, str):  # its name in its module
            yield reduced.encode()
            return
        for part in reduced[:3]:
            yield self.digest(part)
        for items in reduced[3:5]:
            yield self.digest(None if items is None else list(items))


def _outside(code: CodeType) -> tuple[set[str], set[str]]:
    """Names of outside variables that a function reads, and of those that it assigns."""
    read: set[str] = set()
    written: set[str] = set()
    for step in dis.get_instructions(code):
        if step.opname == "LOAD_GLOBAL":
            read.add(str(step.argval))
        elif step.opname in _WRITES and step.argval not in code.co_cellvars:
            written.add(str(step.argval))
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            more, changed = _outside(inner)
            read |= more
            written |= changed - {*code.co_cellvars}
    return read, written


def _hash(kind: str, *parts: bytes) -> bytes:
    total = hashlib.blake2b(kind.encode(), digest_size=16)
    for part in parts:
        total.update(len(part).to_bytes(8, "little") + part)
    return total.digest()
