"""Sequences of named players as text: "a > b > c"."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ordinal_shapley.common.arguments import number

ARROW = ">"


def join_names(names: Iterable[str]) -> str:
    """Return the text of a sequence, empty for the empty one."""
    return f" {ARROW} ".join(names)


def split_names(text: str) -> list[str]:
    """Return the names in a text such as 'a > b'."""
    return [name.strip() for name in text.split(ARROW)] if text.strip() else []


def read_sequences(rows: Iterable[tuple[str, Any]], names: list[str]) -> dict[tuple[int, ...], float]:
    """Utilities by sequence of player indices, from texts such as 'a > b'."""
    numbers = {name: number for number, name in enumerate(names)}
    table: dict[tuple[int, ...], float] = {}
    for text, value in rows:
        unknown = [name for name in split_names(text) if name not in numbers]
        if unknown:
            raise ValueError(f"sequence {text!r} has {unknown[0]!r}, expected players {', '.join(names)}")
        key = tuple(numbers[name] for name in split_names(text))
        if len(set(key)) < len(key):
            raise ValueError(f"sequence {text!r} holds a player twice, expected distinct players")
        if key in table:
            raise ValueError(f"sequence {text!r} is listed twice")
        table[key] = number(f"the utility of {text!r}", value)
    return table


def check_names(names: list[str]) -> list[str]:
    """ValueError unless the names are unambiguous in a text."""
    for name in names:
        if ARROW in name or name != name.strip() or not name or names.count(name) > 1:
            raise ValueError(
                f"names holds {name!r}, which is ambiguous in a sequence like 'a > b': expected "
                f"distinct names without {ARROW!r} and without spaces around them"
            )
    return names
