"""Tables and numbers in Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

DATASETS = {
    "wine": "Wine",
    "cancer": "Cancer",
    "cancer-wisconsin": "Cancer (Wisconsin)",
    "adult": "Adult",
}


def table(header: Sequence[str], lines: Iterable[Sequence[str]], text_columns: int = 1) -> str:
    """Return a table whose first columns are text and whose others are numbers."""
    rule = [":--"] * text_columns + ["--:"] * (len(header) - text_columns)
    return "\n".join(f"| {' | '.join(line)} |" for line in (header, rule, *lines))


def number(value: float | None, digits: int = 2, sign: str = "") -> str:
    """Return the number, and a dash where there is none."""
    if value is None or math.isnan(value):
        return "-"
    return f"{value:{sign},.{digits}f}"


def with_spread(mean: float, spread: float, digits: int = 2) -> str:
    """Return "mean ± standard deviation", and the mean alone of a single run."""
    if math.isnan(mean):
        return "-"
    return number(mean, digits) + ("" if math.isnan(spread) else f" ± {number(spread, digits)}")


def listed(words: Sequence[str]) -> str:
    """Return "a, b and c"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
