"""Exact values."""

from __future__ import annotations

from typing import Any

from bench.results import entries, ratio, seconds_each
from page.tables import number, section, table

TEXT = """\
`exact_values(game, ...)` in all, for games of n players, against a loop over `itertools.permutations` in
plain Python (logistic game: scikit-learn refitted; classic value: shapiq's `ExactComputer`), on smaller
games where it would take too long. What is compared is distinct sequences a second (subsets for the
classic value, fits for the logistic baseline); a loop over permutations evaluates a sequence many times.
Wall times, medians of {rounds} rounds in turns."""


def write(run: dict[str, Any]) -> str:
    """Return the section."""
    found = entries(run, "exact")
    rows = []
    for entry in found:
        info = entry["extra_info"]
        (name,) = info["baselines"]
        rows.append(
            (
                info["work"],
                name,
                info["players"],
                "all" if info["workers"] == -1 else info["workers"],
                number(1.0 / seconds_each(entry)),
                f"{number(1.0 / info['baselines'][name])} ({info['baseline_players']})",
                number(ratio(entry, name)),
                info["aim"],
            )
        )
    columns = (
        "work",
        "baseline",
        "n",
        "workers",
        "ours a second",
        "baseline a second (n)",
        "ratio",
        "target",
    )
    rounds = " or ".join(sorted({str(entry["stats"]["rounds"]) for entry in found}))
    text = TEXT.format(rounds=rounds or "several")
    return section("Exact values", text, table(columns, rows, words=2) if rows else None)
