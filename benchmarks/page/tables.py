"""Markdown tables, and numbers in them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

MISSING = "-"


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], words: int = 1) -> str:
    """Return a table; all columns but the first `words` hold numbers and stand to the right."""
    lines = [columns, ["---" if i < words else "---:" for i in range(len(columns))], *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def number(value: float | None) -> str:
    """Return a number to three digits or so, with thousands separated."""
    if value is None:
        return MISSING
    size = abs(value)
    return f"{value:,.0f}" if size >= 100 else f"{value:.1f}" if size >= 10 else f"{value:.2f}"


def wrap(text: str, width: int = 106) -> str:
    """Return paragraphs and lists with lines of one length, whatever was filled in."""
    lines: list[str] = []
    for paragraph in text.strip().split("\n\n"):
        items = paragraph.split("\n- ") if paragraph.startswith("- ") else [paragraph]
        for k, item in enumerate(items):
            words = " ".join((f"- {item}" if k else item).split())
            indent = "  " if words.startswith("- ") else ""
            lines += textwrap.wrap(
                words, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
            )
        lines.append("")
    return "\n".join(lines[:-1])


def section(title: str, text: str, body: str | None) -> str:
    """Return a section, and none where nothing was measured."""
    return f"## {title}\n\n{wrap(text)}\n\n{body}\n\n" if body else ""
