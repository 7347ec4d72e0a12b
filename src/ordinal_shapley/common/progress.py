"""The bar that shows how far a run is: permutations, sequences or experiments done."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import TYPE_CHECKING

from ordinal_shapley.common.compiling import COMPILING
from ordinal_shapley_kernels.watching import watching

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live
    from rich.progress_bar import ProgressBar as Bar

__all__ = ["ProgressBar"]

_REFRESH_SECONDS = 0.1


class ProgressBar:
    """Show on stderr how far a run is.

    That is: permutations done, fits a second, the time left and what the stopping rule looks at.
    The bar only shows what it is told and never raises, so it can't change or lose a result. It
    writes nothing when it is disabled or when stderr is neither a terminal nor a notebook's.

    Parameters
    ----------
    total : int, optional
        The most permutations the run may take; None when no rule bounds them.
    enabled : bool, default True
        Whether to show anything at all.
    force : bool, default False
        Show the bar even where stderr is not a terminal.
    unit : str, default "permutations"
        What is counted; "sequences" are evaluations themselves.

    Examples
    --------
    >>> from ordinal_shapley.common.progress import ProgressBar
    >>> with ProgressBar(total=200, enabled=False) as bar:
    ...     bar.update(100, 4_000, 0.1, "relative change 0.08 (stop < 0.05)")
    """

    def __init__(
        self,
        total: int | None = None,
        enabled: bool = True,
        force: bool = False,
        unit: str = "permutations",
    ) -> None:
        self.total = total
        self.enabled = enabled
        self.force = force
        self.unit = unit
        self._done = 0
        self._evaluations = 0
        self._seconds = 0.0
        self._first: tuple[int, int, float] | None = None
        self._figure = "starting"
        self._shown_at = 0.0
        self._live: Live | None = None
        self._plain = False
        self._bar: Bar | None = None
        self._notice = ""
        self._told = ExitStack()

    def __enter__(self) -> ProgressBar:
        if self.enabled:
            try:
                self._told.enter_context(watching(self._tell))
                self._open()
            except Exception:  # a display that can't start must not stop the run
                self._live = None
            except KeyboardInterrupt:  # no block is left then, and the cursor would stay hidden
                self._close()
                raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()

    def update(self, n_permutations: int, n_evaluations: int, seconds: float, figure: str = "") -> None:
        """Show new totals.

        Parameters
        ----------
        n_permutations : int
            Permutations done so far.
        n_evaluations : int
            Utilities evaluated so far: for a model, fits.
        seconds : float
            Time the run has taken so far.
        figure : str, optional
            What the stopping rule looks at, and when it stops; an empty text keeps the last one.
        """
        if self._live is None and not self._plain:
            return
        self._done, self._evaluations, self._seconds = n_permutations, n_evaluations, seconds
        if figure or self._first is None:
            self._figure = figure
        if self._first is None:
            self._first = (n_permutations, n_evaluations, seconds)
        if time.monotonic() - self._shown_at < _REFRESH_SECONDS:
            return
        try:
            self._draw()
        except Exception:  # a closed or broken stderr: go on without the bar
            self._live, self._plain = None, False

    def _tell(self, compiling: bool) -> None:
        """Show that kernels are being compiled in place of what the stopping rule looks at."""
        self._notice = COMPILING if compiling else ""
        with suppress(Exception):
            self._draw()

    def _close(self) -> None:
        self._told.close()
        try:
            self._draw()
            if self._live is not None:
                self._live.stop()
            elif self._plain:
                sys.stderr.write("\n")
        except Exception:  # nor may one that can't end, after hours of work
            pass
        self._live, self._plain = None, False

    def _open(self) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.progress_bar import ProgressBar as Bar

        console = Console(stderr=True, force_terminal=True if self.force else None)
        # rich would leave the process when stderr goes away, and close stdout before.
        console.on_broken_pipe = lambda: None  # type: ignore[method-assign]
        if console.is_jupyter:
            # rich needs ipywidgets there; a line that overwrites itself needs nothing.
            self._plain = True
        elif console.is_terminal:
            self._bar = Bar(total=self.total, width=None)
            # No refresh thread: the display moves when the run reports, and not in between.
            self._live = Live(self._render(), console=console, auto_refresh=False, transient=True)
            self._live.start(refresh=True)

    def _draw(self) -> None:
        self._shown_at = time.monotonic()
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
        self._bar.update(self._done, self.total)
        line = Table.grid(padding=(0, 2))
        line.add_column(ratio=1)
        line.add_column(no_wrap=True)
        line.add_column(no_wrap=True)
        line.expand = True
        line.add_row(self._bar, self._counts(), self._rates())
        return Group(line, Text(self._notice or self._figure, style="dim", no_wrap=True, overflow="ellipsis"))

    def _counts(self) -> str:
        limit = "" if self.total is None else f"/{self.total:,}"
        return f"{self._done:,}{limit} {self.unit}"

    def _rates(self) -> str:
        done, evaluations, seconds = self._done, self._evaluations, self._seconds
        # Once there is a second report, rates count from the first: that leaves compiling out.
        if self._first is not None and seconds > self._first[2]:
            done, evaluations = done - self._first[0], evaluations - self._first[1]
            seconds -= self._first[2]
        if seconds <= 0.0:
            return ""
        counted = self.unit == "permutations"
        text = f"{evaluations / seconds:,.0f} {'fits' if counted else self.unit}/s"
        if self.total is not None and done > 0:
            left = max(self.total - self._done, 0) * seconds / done
            # A rule may stop a run over permutations earlier, so this is a bound.
            text += f"  {'at most ' if counted else ''}{_clock(left)} left"
        return text


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
