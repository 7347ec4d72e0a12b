"""What every run on several workers needs."""

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

# Ctrl-C cannot stop a kernel, so a call of it does about this much work.
_SECONDS_A_CALL = 0.2
_SECONDS_OF_WAITING = 0.002
_SECONDS_A_LIST = 2.0

# Where shards run best, as joblib calls it.
Prefer = Literal["threads", "processes"]
_MAX_JOBS = 2**16


class Cancellation:
    """Tells the workers of a run that their results are no longer wanted, or when to hand in what they have.

    Threads share it. A copy that was sent to another process never hears of a request, and that process
    finishes its task. It does know the deadline: by the clock that processes of a machine share, and on
    another machine by the time that was left when the copy was made.
    """

    # Of the last run that this process was sent work of. Memory that others share stays mapped so long.
    _kept: ClassVar[tuple[str, threading.local]] = ("", threading.local())

    def __init__(self, deadline: float = math.inf) -> None:
        self.token = uuid.uuid4().hex  # tells copies of this one from others
        self.requested = False  # results are no longer wanted
        self.deadline = deadline  # of `time.monotonic`
        self.budget = 1  # work that took `_SECONDS_A_CALL` lately: what the next worker begins with
        # Work from this number on waits, so that results do not pile up before they are used; not where the
        # worker is somebody who is to hand in earlier work, too.
        self.horizon, self.waits = math.inf, False
        # What a thread keeps from one piece of work to the next. In another process, to which a copy comes
        # with each, copies share it.
        self.scratch = threading.local()

    def workspace(self, make: Callable[..., Any], payload: tuple[Any, ...], number: int = 0) -> Any:
        """The workspace of this thread for the tasks of one piece of work, made when first asked for.

        All tasks of one `number` have the same `payload`, if only copies of it.
        """
        made: dict[int, Any] = vars(self.scratch).setdefault("workspaces", {})
        if number not in made:
            made[number] = make(*payload)
        made[number].unconverged = 0
        return made[number]

    @property
    def time_is_up(self) -> bool:
        """Whether the deadline is over."""
        return time.monotonic() >= self.deadline

    def __getstate__(self) -> tuple[str, str, float, float, int]:
        return self.token, socket.gethostname(), self.deadline, self.deadline - time.monotonic(), self.budget

    def __setstate__(self, state: tuple[str, str, float, float, int]) -> None:
        self.token, home, deadline, left, self.budget = state
        self.deadline = deadline if home == socket.gethostname() else time.monotonic() + left
        self.requested = False
        self.horizon, self.waits = math.inf, False  # nobody will move it
        token, scratch = Cancellation._kept
        if token != self.token:
            scratch = threading.local()
            Cancellation._kept = self.token, scratch
        self.scratch = scratch

    def await_turn(self, number: int) -> None:
        """Wait while work of this number would come too early."""
        while self.waits and number >= self.horizon and not (self.requested or self.time_is_up):
            time.sleep(_SECONDS_OF_WAITING)


class _Lost:  # an interrupt that came where nobody could raise it
    interrupted = False


@contextmanager
def heeding_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt soon, or at the end, if Ctrl-C comes inside a callback from compiled code."""
    if threading.current_thread() is not threading.main_thread():  # signals come nowhere else
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
    """Call a resumable kernel with budgets of short work until it says something else than `paused`.

    Returns `paused` when the work was cancelled, and what it did is then for nobody; or when time is up.
    """
    while not (cancellation.requested or cancellation.time_is_up):
        if _Lost.interrupted:
            raise KeyboardInterrupt
        began, budget = time.perf_counter(), cancellation.budget
        status = step(budget)
        if status != paused:
            return status
        share = _SECONDS_A_CALL / max(time.perf_counter() - began, 1e-6)
        cancellation.budget = max(1, min(int(budget * min(share, 8.0)), 2**40))
    return paused


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold back Ctrl-C until the end of a block that must not be left half done."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield  # no handler of Python's can strike here
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
    """Return how many workers joblib would use."""
    from joblib import effective_n_jobs

    return int(effective_n_jobs(n_jobs))  # type: ignore[arg-type]


@contextmanager
def running(
    tasks: Iterator[Any], n_jobs: int | None, prefer: Prefer, cancellation: Cancellation
) -> Iterator[Iterator[Any]]:
    """Give the results of tasks in their order; end what runs ahead when the block is left.

    That is without joblib's warning that it did, and also if Ctrl-C strikes while it starts. A backend that
    the user chose overrides `prefer`.
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
    except ValueError:  # a backend that gives back lists only, such as Ray's
        return _in_lists(tasks, n_jobs, prefer)
    # Others hand in batches of tasks, or do not know that they should wait.
    cancellation.waits = type(get_active_backend(prefer=prefer)[0]) is ThreadingBackend
    return parallel(tasks)


def _in_lists(tasks: Iterator[Any], n_jobs: int | None, prefer: Prefer) -> Iterator[Any]:
    """Run some tasks after others, as many at a time as take a while."""
    from joblib import Parallel

    size = 2 * n_workers(n_jobs)
    with Parallel(n_jobs=n_jobs, prefer=prefer) as parallel:
        while batch := list(itertools.islice(tasks, size)):
            began = time.monotonic()
            yield from parallel(batch)
            if time.monotonic() - began < _SECONDS_A_LIST:
                size *= 2


@contextmanager
def one_thread() -> Iterator[None]:
    """Let BLAS run on one thread: with more, sums are in another order, and bits depend on how many."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield


def available_memory() -> int | None:
    """Return the bytes of memory at hand, None where the system does not say."""
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
    """ValueError if `purpose` takes more memory than there is at hand; it says what to do `instead`."""
    at_hand = available_memory()
    if at_hand is not None and needed > at_hand:
        raise ValueError(
            f"{purpose} takes {needed / 2**30:.1f} GiB, but {at_hand / 2**30:.1f} GiB are available: "
            f"{instead}"
        )
