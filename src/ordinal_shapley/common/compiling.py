"""Compiling kernels ahead, and the message while they are compiled."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from ordinal_shapley.common.parallel import check_n_jobs, heeding_interrupts, n_workers
from ordinal_shapley_kernels.abi import all_symbols, compile_all
from ordinal_shapley_kernels.watching import watching
from ordinal_shapley_kernels.workspace import COMPILED

P = ParamSpec("P")
Result = TypeVar("Result")

COMPILING = "compiling kernels, once, about 10 s"


def compile_kernels(n_jobs: int | None = -1) -> int:
    """Compile all kernels that are not compiled yet, and cache them on disk for later processes.

    Optional, because kernels are compiled when they are first used. Use it in container images and continuous
    integration, where the first run should not wait.

    Parameters
    ----------
    n_jobs : int or None, default -1
        Processes that compile: None or 1 for this one alone, -1 for one per core.

    Returns
    -------
    int
        Number of kernels; 0 with ``NUMBA_DISABLE_JIT=1``.

    Raises
    ------
    TypeError, ValueError
        If ``n_jobs`` is not such a number.

    Warns
    -----
    RuntimeWarning
        If they cannot be cached on disk.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> n_kernels = osv.compile_kernels()
    """
    check_n_jobs(n_jobs)
    with heeding_interrupts():
        return compile_all(n_workers(n_jobs))


def kept_kernels() -> tuple[Path | None, int, int]:
    """Return the folder of compiled kernels, how many of them it holds, and how many there are.

    The folder is None where none can be written.
    """
    from numba.core.caching import FunctionCache

    symbols = all_symbols() if COMPILED else []
    try:
        folder = Path(FunctionCache(compile_all).cache_path)
    except RuntimeError:
        return None, 0, len(symbols)
    # "module.name-line.version.nbi"; the name contains digests of the sources and of the flags.
    kept = {file.name.split("-")[0].partition(".")[2] for file in folder.glob("*.nbi")}
    return folder, sum(own.name in kept for own in symbols), len(symbols)


@contextmanager
def compiling_line(enabled: bool = True) -> Iterator[None]:
    """Show a line on stderr while kernels are compiled, if it is a terminal or in a notebook."""
    if not enabled:
        yield
        return

    shown = False

    def report(compiling: bool) -> None:
        nonlocal shown
        with suppress(Exception):  # a closed or broken stderr must not stop the run
            if compiling and _is_watched():
                sys.stderr.write(f"\r{COMPILING}")
                sys.stderr.flush()
                shown = True
            elif shown:
                sys.stderr.write("\r" + " " * len(COMPILING) + "\r")
                sys.stderr.flush()
                shown = False

    with watching(report):
        try:
            yield
        finally:
            report(False)


def _is_watched() -> bool:
    from rich.console import Console

    console = Console(stderr=True)
    return console.is_terminal or console.is_jupyter


def says_when_compiling(function: Callable[P, Result]) -> Callable[P, Result]:
    """Show the line where a function is called with ``progress=True``."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Result:
        progress: Any = kwargs.get("progress", False)
        with compiling_line(progress is True):
            return function(*args, **kwargs)

    return call
