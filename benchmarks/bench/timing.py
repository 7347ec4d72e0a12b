"""What all benchmarks share: how long to measure, and what a measurement has to say."""

from __future__ import annotations

import os
from statistics import median
from typing import Any

# `make bench` has minutes; elsewhere one round of a smaller problem shows that a benchmark still runs.
FULL = os.environ.get("BENCH_FULL", "") == "1"


def rounds(full: int = 7) -> int:
    return full if FULL else 1


class Baselines:
    """Seconds a unit of work of each baseline, one entry a round."""

    def __init__(self) -> None:
        self._seconds: dict[str, list[float]] = {}

    def add(self, name: str, seconds: float) -> None:
        """Note a round of one baseline."""
        self._seconds.setdefault(name, []).append(seconds)

    def medians(self) -> dict[str, float]:
        """Return the median of every baseline."""
        return {name: median(values) for name, values in self._seconds.items()}


def report(
    benchmark: Any,
    table: str,
    work: str,
    *,
    units: float = 1.0,
    baselines: Baselines | None = None,
    targets: dict[str, float] | None = None,
    **details: Any,
) -> None:
    """Say what was measured, for the page and for the regression check.

    A round of ours did `units` of work. `baselines` holds seconds a unit; `targets` the ratios aimed at,
    by baseline. `details` go to the page of the table.
    """
    benchmark.extra_info.update(
        table=table,
        work=work,
        units=units,
        baselines=baselines.medians() if baselines else {},
        targets=targets or {},
        full=FULL,
        **details,
    )
