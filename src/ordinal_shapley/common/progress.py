"""The progress bar of a run: permutations, sequences or experiments done."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

from ordinal_shapley.common.compiling import COMPILING
from ordinal_shapley_kernels.watching import watching

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live
    from rich.progress_bar import ProgressBar as Bar


_REFRESH_SECONDS = 0.1
_TICK_SECONDS = 0.5
# If the time left is longer than this, a line says what would be quicker, once rates are reliable.
LONG_SECONDS = 60.0
_SURE_SECONDS = 1.0

# What makes a run of permutations quicker, in the words of whoever started it.
QUICKER: ContextVar[str] = ContextVar(
    "QUICKER",
    default="fewer permutations (n_permutations=), small sets only (size_weights=sizes_up_to(50)), a limit "
    "(MaxSeconds(600)), workers (n_jobs=-1)",
)


@contextmanager
def quicker(words: str) -> Iterator[None]:
    """Say what makes a run of permutations quicker in these words while the block lasts."""
    token = QUICKER.set(words)
    try:
        yield
    finally:
        QUICKER.reset(token)


class _Report(NamedTuple):
    done: int = 0
    evaluations: int = 0
    seconds: float = 0.0  # duration of the run so far


class ProgressBar:
    """Show the progress of a run on stderr.

    It shows the count done, the `total` if it is known, fits per second, the time left and the stopping
    rule's figure. If permutations will take more than a minute, a line above says what would be quicker. The
    bar never raises, so it can't change or lose a result. It writes nothing unless it is `enabled` and stderr
    is a terminal or in a notebook, or `force` is set. Each of "sequences" is an evaluation.
    """

    def __init__(
        self, total: int | None = None, enabled: bool = True, force: bool = False, unit: str = "permutations"
    ) -> None:
        self.total, self.unit = total, unit
        self._enabled, self._force = enabled, force
        self._rated = "fits" if unit == "permutations" else unit
        self._now = self._start = _Report()  # rates count from the start
        self._first: _Report | None = None
        self._expected: float | None = None
        self._max_seconds = math.inf
        self._told_at = time.monotonic()
        self._advised = False
        self._figure, self._notice = "starting", ""
        self._shown_at = 0.0
        self._live: Live | None = None
        self._plain = False
        self._bar: Bar | None = None
        self._told = ExitStack()
        self._lock = threading.RLock()
        self._closing = threading.Event()

    def __enter__(self) -> ProgressBar:
        if self._enabled:
            try:
                self._told.enter_context(watching(self._tell))
                self._open()
                if self._live is not None or self._plain:
                    threading.Thread(target=self._tick, daemon=True).start()
            except Exception:  # a display that fails to start must not stop the run
                self._live = None
            except KeyboardInterrupt:  # there is no block to leave then, and the cursor would stay hidden
                self._close()
                raise
        return self

    def __exit__(self, *error: object) -> None:
        self._close()

    def begin(
        self,
        unit: str,
        total: int | None,
        figure: str,
        *,
        done: int = 0,
        evaluations: int = 0,
        seconds: float = 0.0,
        expected: float | None = None,
        max_seconds: float = math.inf,
    ) -> None:
        """Count something else from now on, starting at `done`.

        `figure` is the activity, `expected` a first estimate of its total seconds; the run ends after
        `max_seconds` in any case.
        """
        with self._lock:
            self.unit, self.total, self._figure, self._rated = unit, total, figure, "fits"
            self._now = self._start = _Report(done, evaluations, seconds)
            self._first = None
            self._expected, self._max_seconds = expected, max_seconds
            self._told_at = time.monotonic()
        self._show()

    def update(self, n_done: int, n_evaluations: int, seconds: float, figure: str = "") -> None:
        """Show new totals and the stopping rule's figure; an empty text keeps the last one."""
        if self._live is None and not self._plain:
            return
        with self._lock:
            # After the second report rates count from the first one, to leave out compiling.
            if self._first is not None and seconds > self._first.seconds:
                self._start = self._first
            self._now = _Report(n_done, n_evaluations, seconds)
            self._first = self._first or self._now
            self._figure = figure or self._figure
            self._told_at = time.monotonic()
        if time.monotonic() - self._shown_at >= _REFRESH_SECONDS:
            self._show()

    def _tick(self) -> None:
        """Update the time on the display while nothing is reported."""
        while not self._closing.wait(_TICK_SECONDS):
            self._show()

    def _show(self) -> None:
        try:
            with self._lock:
                self._draw()
        except Exception:  # a closed or broken stderr: go on without the bar
            self._live, self._plain = None, False

    def _tell(self, compiling: bool) -> None:
        """Show that kernels are being compiled instead of the stopping rule's figure."""
        self._notice = COMPILING if compiling else ""
        with suppress(Exception), self._lock:
            self._draw()

    def _close(self) -> None:
        self._told.close()
        self._closing.set()
        with self._lock:
            with suppress(Exception):  # failing to end must not stop it, either
                self._draw()
                if self._live is not None:
                    self._live.stop()
                elif self._plain:
                    sys.stderr.write("\n")
            self._live, self._plain = None, False

    def _open(self) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.progress_bar import ProgressBar as Bar

        console = Console(stderr=True, force_terminal=True if self._force else None)
        # rich would close stdout and exit the process if stderr is closed.
        console.on_broken_pipe = lambda: None  # type: ignore[method-assign]
        if console.is_jupyter:
            # rich requires ipywidgets there; a line that overwrites itself requires nothing.
            self._plain = True
        elif console.is_terminal:
            self._bar = Bar(total=self.total, width=None)
            # Without rich's refresh thread, which would draw ten times per second.
            self._live = Live(self._render(), console=console, auto_refresh=False, transient=True)
            self._live.start(refresh=True)

    def _draw(self) -> None:
        self._shown_at = time.monotonic()
        self._advise()
        if self._live is not None:
            self._live.update(self._render(), refresh=True)
        elif self._plain:
            line = "  ".join((self._counts(), self._rates(), self._notice or self._figure))
            sys.stderr.write("\r" + line.ljust(110))
            sys.stderr.flush()

    def _render(self) -> RenderableType:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        assert self._bar is not None
        self._bar.update(self._now.done, self.total)
        line = Table.grid(padding=(0, 2), expand=True)
        line.add_column(ratio=1)
        line.add_column(no_wrap=True)
        line.add_column(no_wrap=True)
        line.add_row(self._bar, self._counts(), self._rates())
        return Group(line, Text(self._notice or self._figure, style="dim", no_wrap=True, overflow="ellipsis"))

    def _advise(self) -> None:
        """Report once what would be quicker, if the run will take long without a time limit."""
        left = self._left()
        if self._advised or self.unit != "permutations" or left is None or left <= LONG_SECONDS:
            return
        if math.isfinite(self._max_seconds) or (self._now.done and self._took() < _SURE_SECONDS):
            return
        line = f"up to {_clock(left)} left, if it needs all {self.total:,} permutations; quicker: "
        line += QUICKER.get()
        self._advised = True
        if self._live is not None:
            self._live.console.print(line, highlight=False, markup=False)
        elif self._plain:
            sys.stderr.write("\r" + line.ljust(110) + "\n")

    def _took(self) -> float:
        """Seconds since the report at which rates begin."""
        return self._now.seconds - self._start.seconds

    def _left(self) -> float | None:
        """Seconds left, None if unknown."""
        since = time.monotonic() - self._told_at
        left = math.inf
        done = self._now.done - self._start.done
        if self.total is not None and done > 0 and self._took() > 0.0:
            left = max(self.total - self._now.done, 0) * self._took() / done - since
        elif self._expected is not None:
            left = self._expected - self._took() - since
        left = min(left, self._max_seconds - self._now.seconds - since)
        return max(left, 0.0) if math.isfinite(left) else None

    def _counts(self) -> str:
        limit = "" if self.total is None else f"/{self.total:,}"
        return f"{self._now.done:,}{limit} {self.unit}"

    def _rates(self) -> str:
        words = []
        if self._took() > 0.0 and self._now.evaluations > self._start.evaluations:
            rate = (self._now.evaluations - self._start.evaluations) / self._took()
            words.append(f"{rate:,.0f} {self._rated}/s")
        left = self._left()
        if left is not None:
            # A rule may stop a run over permutations earlier, so this is a bound.
            words.append(f"{'at most ' if self.unit == 'permutations' else ''}{_clock(left)} left")
        return "  ".join(words)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
