"""Who is told that kernels are being compiled, and of Ctrl-C meanwhile."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar


class Watcher:
    """Who wants to know when kernels are being compiled: the last who came."""

    callbacks: ClassVar[list[Callable[[bool], None]]] = []
    told = False

    @classmethod
    def tell(cls, compiling: bool) -> None:
        """Tell, unless that is what was told last."""
        if cls.callbacks and cls.told != compiling:
            cls.told = compiling
            cls.callbacks[-1](compiling)


@contextmanager
def watching(callback: Callable[[bool], None]) -> Iterator[None]:
    """Call `callback(True)` when kernels begin to be compiled, not loaded; `callback(False)` at the end."""
    Watcher.callbacks.append(callback)
    try:
        yield
    finally:
        Watcher.callbacks.remove(callback)
        Watcher.told = False


@contextmanager
def interrupts_told_to(callback: Callable[[], None]) -> Iterator[None]:
    """Call back if Ctrl-C comes where nobody can raise it: in a callback from compiled code.

    Compilation is full of them, and what is raised there only reaches the hook for such exceptions.
    """
    if threading.current_thread() is not threading.main_thread():  # signals come nowhere else
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
    """Raise KeyboardInterrupt at the end if Ctrl-C came while something was compiled."""
    came = []
    with interrupts_told_to(lambda: came.append(True)):
        yield
    if came:
        raise KeyboardInterrupt
