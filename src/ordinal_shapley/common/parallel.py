"""Helpers for runs on several workers."""

from __future__ import annotations

import itertools
import math
import os
import signal
import socket
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, ClassVar, Literal

import numpy as np

from ordinal_shapley_kernels.watching import reporting_interrupts_to

# Ctrl-C cannot stop a kernel, so each call does about this much work.
_SECONDS_PER_CALL = 0.2
_SECONDS_OF_WAITING = 0.002
_SECONDS_PER_BATCH = 2.0

# joblib's name for the workers that shards run on by default.
Prefer = Literal["threads", "processes"]
_MAX_JOBS = 2**16


class Cancellation:
    """Signals the workers of a run that their results are no longer wanted, or when to return what they have.

    Threads share it. A copy in another process does not get a cancellation, and that process finishes its
    task. It knows the deadline: by the clock that the processes of a machine share, and on another machine by
    the time left when the copy was made.
    """

    # Of the last run that sent work to this process. Shared memory stays mapped as long.
    _kept: ClassVar[tuple[str, threading.local]] = ("", threading.local())

    def __init__(self, deadline: float = math.inf) -> None:
        self.token = uuid.uuid4().hex  # identifies copies of this object
        self.requested = False  # results are no longer wanted
        self.deadline = deadline  # of `time.monotonic`
        self.budget = 1  # recent amount of work in `_SECONDS_PER_CALL`, with which the next worker begins
        # Work from this number on waits, so that unused results do not pile up; except if its worker also has
        # to return earlier work.
        self.horizon, self.waits = math.inf, False
        # What a thread keeps from one piece of work to the next. In another process, which gets a copy with
        # each piece, the copies share it.
        self.scratch = threading.local()

    def workspace(self, make: Callable[..., Any], payload: tuple[Any, ...], number: int = 0) -> Any:
        """The workspace of this thread for the tasks of one piece of work, made on first use.

        All tasks of one `number` have equal payloads.
        """
        made: dict[int, Any] = vars(self.scratch).setdefault("workspaces", {})
        if number not in made:
            made[number] = make(*payload)
        made[number].unconverged = 0
        return made[number]

    @property
    def time_is_up(self) -> bool:
        """Whether the deadline has passed."""
        return time.monotonic() >= self.deadline

    def __getstate__(self) -> tuple[str, str, float, float, int]:
        return self.token, socket.gethostname(), self.deadline, self.deadline - time.monotonic(), self.budget

    def __setstate__(self, state: tuple[str, str, float, float, int]) -> None:
        self.token, home, deadline, left, self.budget = state
        self.deadline = deadline if home == socket.gethostname() else time.monotonic() + left
        self.requested = False
        self.horizon, self.waits = math.inf, False  # nothing will change it
        token, scratch = Cancellation._kept
        if token != self.token:
            scratch = threading.local()
            Cancellation._kept = self.token, scratch
        self.scratch = scratch

    def await_turn(self, number: int) -> None:
        """Wait until work of this number may begin."""
        while self.waits and number >= self.horizon and not (self.requested or self.time_is_up):
            time.sleep(_SECONDS_OF_WAITING)


class _Lost:  # an interrupt that came where it could not be raised
    interrupted = False


@contextmanager
def heeding_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt soon, or at the end, if Ctrl-C comes inside a callback from compiled code."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread gets signals
        yield
        return

    def note() -> None:
        _Lost.interrupted = True

    _Lost.interrupted = False
    try:
        with reporting_interrupts_to(note):
            yield
    finally:
        interrupted, _Lost.interrupted = _Lost.interrupted, False
        if interrupted:
            raise KeyboardInterrupt


def run_in_steps(step: Callable[[int], int], paused: int, cancellation: Cancellation) -> int:
    """Call a resumable kernel with small budgets until it returns another status than `paused`.

    Returns `paused` if time is up, or if the work was cancelled and its results are not wanted.
    """
    while not (cancellation.requested or cancellation.time_is_up):
        if _Lost.interrupted:
            raise KeyboardInterrupt
        began, budget = time.perf_counter(), cancellation.budget
        status = step(budget)
        if status != paused:
            return status
        share = _SECONDS_PER_CALL / max(time.perf_counter() - began, 1e-6)
        cancellation.budget = max(1, min(int(budget * min(share, 8.0)), 2**40))
    return paused


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C until the end of a block that must not be left half done."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield  # no Python handler runs here
        return
    held: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: held.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if held:
            handler(*held[0])


def check_n_jobs(n_jobs: Any) -> None:
    """TypeError or ValueError unless `n_jobs` is one that joblib takes."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer)):
        raise TypeError(f"n_jobs is {n_jobs!r}, expected None or an integer")
    if n_jobs == 0:
        raise ValueError("n_jobs is 0, expected at least 1, or -1 for every core")
    if n_jobs is not None and abs(int(n_jobs)) > _MAX_JOBS:
        raise ValueError(f"n_jobs is {n_jobs}, expected at most {_MAX_JOBS:,}")


def n_workers(n_jobs: int | None) -> int:
    """Return the number of workers that joblib would use."""
    from joblib import effective_n_jobs

    return int(effective_n_jobs(n_jobs))  # type: ignore[arg-type]


@contextmanager
def running(
    tasks: Iterator[Any], n_jobs: int | None, prefer: Prefer, cancellation: Cancellation
) -> Iterator[Iterator[Any]]:
    """Yield the results of tasks in order, and cancel those that run ahead when the block is left.

    Without joblib's warning about that, and also if Ctrl-C comes at the start. A backend that the user chose
    overrides `prefer`.
    """
    results = None
    try:
        with uninterrupted():
            results = _results(tasks, n_jobs, prefer, cancellation)
        yield results
    finally:
        cancellation.requested = True
        if results is not None:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message=".*tasks", module="joblib")
                results.close()


def _results(tasks: Iterator[Any], n_jobs: int | None, prefer: Prefer, cancellation: Cancellation) -> Any:
    from joblib.parallel import Parallel, ThreadingBackend, get_active_backend

    try:
        parallel = Parallel(n_jobs=n_jobs, prefer=prefer, return_as="generator")
    except ValueError:  # a backend that returns lists only, such as Ray's
        return _in_batches(tasks, n_jobs, prefer)
    # Other backends return batches of tasks, or do not know that they should wait.
    cancellation.waits = type(get_active_backend(prefer=prefer)[0]) is ThreadingBackend
    return parallel(tasks)


def _in_batches(tasks: Iterator[Any], n_jobs: int | None, prefer: Prefer) -> Iterator[Any]:
    """Run tasks in batches, which grow until one takes a while."""
    from joblib import Parallel

    size = 2 * n_workers(n_jobs)
    with Parallel(n_jobs=n_jobs, prefer=prefer) as parallel:
        while batch := list(itertools.islice(tasks, size)):
            began = time.monotonic()
            yield from parallel(batch)
            if time.monotonic() - began < _SECONDS_PER_BATCH:
                size *= 2


@contextmanager
def one_thread() -> Iterator[None]:
    """Let BLAS run on one thread: the order of sums, and so their bits, depend on the number of threads."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield


def available_memory() -> int | None:
    """Return the bytes of available memory, None if the system does not report it."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return 1024 * int(line.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def check_memory(needed: int, purpose: str, instead: str) -> None:
    """ValueError if `purpose` requires more memory than available; it says what to do `instead`."""
    at_hand = available_memory()
    if at_hand is not None and needed > at_hand:
        raise ValueError(
            f"{purpose} takes {needed / 2**30:.1f} GiB, but {at_hand / 2**30:.1f} GiB are available: "
            f"{instead}"
        )
