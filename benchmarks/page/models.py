"""Models of scikit-learn in their compiled games."""

from __future__ import annotations

from typing import Any

from bench.results import entries, ratio, seconds_each
from page.tables import number, section, table

TEXT = """\
`game_for(model, ...)` with the model's defaults and uniform position weights, every prefix of an order of the
rows fitted and scored on the validation rows, against a loop that clones, fits and scores some of the same
prefixes with scikit-learn. Times are CPU times on one thread, medians of {rounds} rounds in turns. Where
prefixes begin with many rows, the first of them enter together, as a jump does."""


def write(run: dict[str, Any]) -> str:
    """Return the section."""
    found = entries(run, "models")
    rows = []
    for entry in found:
        info = entry["extra_info"]
        rows.append(
            (
                info["work"],
                info["rows"],
                number(1e3 * info["baselines"]["scikit-learn"]),
                number(1e6 * seconds_each(entry)),
                number(ratio(entry, "scikit-learn")),
                info["targets"].get("scikit-learn", ""),
            )
        )
    columns = ("work", "rows of a prefix", "scikit-learn ms/fit", "ours µs/fit", "ratio", "target")
    rounds = " or ".join(sorted({str(entry["stats"]["rounds"]) for entry in found}))
    text = TEXT.format(rounds=rounds or "several")
    return section("scikit-learn's models, compiled", text, table(columns, rows, words=2) if rows else None)
