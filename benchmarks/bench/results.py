"""Reading the JSON of a run: entries by table, and the ratios in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Entry = dict[str, Any]


def load(path: str | Path) -> dict[str, Any]:
    run: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
    return run


def entries(run: dict[str, Any], table: str) -> list[Entry]:
    """Return what was measured for one table, in the order of the run."""
    return [entry for entry in run["benchmarks"] if entry["extra_info"].get("table") == table]


def is_full(run: dict[str, Any]) -> bool:
    """Return whether all that was measured was measured in full."""
    # A benchmark that failed after its rounds has said nothing and belongs to no table.
    said = [entry["extra_info"] for entry in run["benchmarks"] if "table" in entry["extra_info"]]
    return bool(said) and all(info["full"] for info in said)


def seconds_each(entry: Entry) -> float:
    """Return our seconds a unit of work, the median over rounds."""
    return float(entry["stats"]["median"]) / float(entry["extra_info"]["units"])


def ratio(entry: Entry, baseline: str) -> float | None:
    """Return how many times faster we are than a baseline; None if it was not measured."""
    seconds = entry["extra_info"]["baselines"].get(baseline)
    return None if seconds is None else float(seconds) / seconds_each(entry)


def ratios(run: dict[str, Any]) -> dict[str, float]:
    """Return every ratio of a run, by table, work and baseline."""
    found = {}
    for entry in run["benchmarks"]:
        info = entry["extra_info"]
        for name in info.get("baselines", ()):
            found[f"{info['table']}: {info['work']}, against {name}"] = ratio(entry, name)
    return {key: value for key, value in found.items() if value is not None}
