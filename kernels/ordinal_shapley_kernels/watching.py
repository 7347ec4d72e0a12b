"""Callbacks while kernels are compiled, and for Ctrl-C meanwhile."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar


class Watcher:
    """Reports to the last callback registered whether kernels are being compiled."""

    callbacks: ClassVar[list[Callable[[bool], None]]] = []
    last_report = False

    @classmethod
    def report(cls, compiling: bool) -> None:
        """Report it, unless that was the last report."""
        if cls.callbacks and cls.last_report != compiling:
            cls.last_report = compiling
            cls.callbacks[-1](compiling)


@contextmanager
def watching(callback: Callable[[bool], None]) -> Iterator[None]:
    """Call `callback(True)` when compilation (not loading) of kernels begins, `callback(False)` after it."""
    Watcher.callbacks.append(callback)
    try:
        yield
    finally:
        Watcher.callbacks.remove(callback)
        Watcher.last_report = False


@contextmanager
def reporting_interrupts_to(callback: Callable[[], None]) -> Iterator[None]:
    """Call back if Ctrl-C comes where it cannot be raised: in a callback from compiled code.

    Compilation is full of such callbacks, whose exceptions only reach `sys.unraisablehook`.
    """
    if threading.current_thread() is not threading.main_thread():  # only the main thread gets signals
        yield
        return
    before = sys.unraisablehook

    def hook(unraisable: Any) -> None:
        if isinstance(unraisable.exc_value, KeyboardInterrupt):
            callback()
        else:
            before(unraisable)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


@contextmanager
def hearing_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt at the end if Ctrl-C came during compilation."""
    came = []
    with reporting_interrupts_to(lambda: came.append(True)):
        yield
    if came:
        raise KeyboardInterrupt
