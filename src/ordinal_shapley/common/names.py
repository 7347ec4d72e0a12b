"""Names: short distinct names of players to show, and names that may mean the same."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from ordinal_shapley.common import arrays

_LONGEST = 24
_MAX_GROUPS = 5


def shorten(name: Any, longest: int = _LONGEST) -> str:
    """Text of a name, without its middle if it is long."""
    text = str(name)
    if len(text) <= longest:
        return text
    half = (longest - 1) // 2
    return f"{text[:half]}…{text[-half:]}"


def names_of(labels: Any, n: int, longest: int = _LONGEST) -> list[str]:
    """Names to print for n players: short, and distinct if the players' names are."""
    if labels is None:
        return [str(player) for player in range(n)]
    full = [str(label) for label in arrays.as_column(labels, "labels", n, "player")]
    short = [shorten(name, longest) for name in full]
    if len(set(short)) < len(set(full)):  # they differ in the middle
        start = max(0, _shared(full) - 6)
        end = max(0, _shared([name[::-1] for name in full]) - 6)
        cores = [shorten(name[start : len(name) - end].strip(), longest) for name in full]
        short = [f"{'…' * (start > 0)}{core}{'…' * (end > 0)}" for core in cores]
    if len(set(short)) < len(set(full)):
        short = [f"{player}: {name}" for player, name in enumerate(short)]
    return short


def _shared(names: list[str]) -> int:
    """Length of the longest common beginning."""
    count = 0
    while all(len(name) > count and name[count] == names[0][count] for name in names):
        count += 1
    return count


def find_alike(names: Iterable[Any]) -> list[list[str]]:
    """Return the groups of texts that differ in spaces or case only."""
    groups: dict[str, list[str]] = {}
    for name in sorted({str(name) for name in names if isinstance(name, str)}):
        groups.setdefault("".join(name.split()).casefold(), []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def warn_of_alike(names: Iterable[Any], what: str, stacklevel: int = 3) -> None:
    """Warn of texts that differ in spaces or case only; `what` is the plural of what they name."""
    groups = find_alike(names)
    if not groups:
        return
    listed = "; ".join(", ".join(map(repr, group)) for group in groups[:_MAX_GROUPS])
    listed += f"; and {len(groups) - _MAX_GROUPS:,} more" * (len(groups) > _MAX_GROUPS)
    warnings.warn(
        f"write {what} alike if they are one: those that differ in spaces or case only count as different "
        f"ones: {listed}",
        stacklevel=stacklevel,
    )
