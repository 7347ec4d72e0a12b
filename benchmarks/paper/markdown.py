"""Tables and numbers in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

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
    if pd.isna(value):
        return "-"
    return f"{value:{sign},.{digits}f}"


def with_spread(row: Mapping[Any, Any], name: str) -> str:
    """Return "mean ± standard deviation" of a figure, and the mean alone of a single run."""
    spread = row[f"{name}_sd"]
    return number(row[name]) + ("" if pd.isna(spread) else f" ± {number(spread)}")


def listed(words: Sequence[str]) -> str:
    """Return "a, b and c"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
