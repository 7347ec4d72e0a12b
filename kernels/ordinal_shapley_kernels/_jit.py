"""The one decorator every kernel uses.

It fixes what Numba would otherwise leave to chance:

- the fast-math and error-model flags, which a helper without flags of its own inherits from whichever
  caller is compiled first (so its bits would depend on compile order);
- the cache stamp. Numba stamps a cached kernel by its own file only, so a changed callee in another
  file would keep returning old answers. Here every cache carries a digest of all kernel sources;
- a machine without a writable cache folder, where kernels run uncached instead of failing at import.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba import carray, config, types
from numba.core.caching import FunctionCache, IndexDataCacheFile

Function = TypeVar("Function", bound=Callable[..., Any])


def _digest_of_sources() -> str:
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


SOURCE_DIGEST = _digest_of_sources()


class _Index(IndexDataCacheFile):
    """What is in the cache of a function."""

    def _load_index(self) -> dict[Any, str]:
        # One that cannot be read (torn, or with types that are not to be had here) is begun anew.
        try:
            return dict(super()._load_index())
        except Exception:
            return {}


def _is_ours(kind: Any) -> bool:
    """Whether any process can read a type: a workspace from elsewhere would cost others the whole index."""
    if not isinstance(kind, types.BaseNamedTuple):
        return True
    home = kind.instance_class.__module__.split(".")[0]
    return home == __name__.split(".")[0] and all(_is_ours(field) for field in kind)


class _StampedCache(FunctionCache):
    """Numba's file cache, stamped with the digest of all kernel sources."""

    def __init__(self, py_func: Callable[..., Any]) -> None:
        super().__init__(py_func)
        self._cache_file = _Index(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=(self._impl.locator.get_source_stamp(), SOURCE_DIGEST),
        )

    def save_overload(self, sig: Any, data: Any) -> None:
        if all(_is_ours(kind) for kind in data.signature.args):
            super().save_overload(sig, data)

    @contextlib.contextmanager
    def _guard_against_spurious_io_errors(self) -> Iterator[None]:
        # A cache that cannot be read or written (full disk, torn or altered file) costs a compilation.
        with contextlib.suppress(Exception):
            yield


def jit_options() -> dict[str, Any]:
    """Flags of every kernel, also for the `jit_options` of an overload."""
    return {
        "nogil": True,
        "error_model": "numpy",
        # No reference counts: kernels allocate nothing, and counting the fifty arrays of a workspace up and
        # down at every call took most of the time of a fit.
        "_nrt": False,
        # Fused multiply-adds only: sums stay in order, and data may hold infinities or what it likes.
        "fastmath": {"contract"},
    }


def kernel(*, internal: bool = False, inline: bool = False) -> Callable[[Function], Function]:
    """Compile a function in nopython mode, nogil, with explicit flags and a stamped cache.

    Parameters
    ----------
    internal
        Compiled code only calls it. Leaving out the wrapper that Python would call saves a quarter of
        the compile time where a workspace of fifty arrays is an argument.
    inline
        Make it part of its callers, whose flags it takes. For parts of a larger function with one call:
        handing over a workspace of fifty arrays costs more than many of them do, and so does compiling a
        function again at every level of calls.
    """

    def decorate(func: Function) -> Function:
        options = jit_options()
        if internal:
            options |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        if inline:
            options["inline"] = "always"
        dispatcher = numba.njit(**options)(func)
        if not config.DISABLE_JIT:
            try:
                dispatcher._cache = _StampedCache(func)
            except RuntimeError:  # no writable cache folder: run uncached
                pass
        return dispatcher

    return decorate


def c_utility(func: Callable[..., Any]) -> Any:
    """Compile a jitted function of an int64 array into a C function of pointer, length and answer.

    The C function leaves the answer alone if `func` raises. Its `address` is good for as long as it lives.
    """

    def adapter(players, length, answer):  # type: ignore[no-untyped-def]
        try:
            answer[0] = func(carray(players, length))
        except Exception:
            answer[0] = math.nan

    # Flags are the user's own: those of `func`, and Numba's defaults here.
    words, numbers = types.CPointer(types.int64), types.CPointer(types.float64)
    return numba.cfunc(types.void(words, types.int64, numbers))(adapter)
