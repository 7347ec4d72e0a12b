"""What `make bench` measured: the record made of a pytest-benchmark run, and the ratios in it.

A record has its benchmarks by name, each with `stats` (seconds of a round) and `extra_info` (see
`bench.timing.report`).
"""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path
from typing import Any

from bench.record import Record

Entry = dict[str, Any]

PACKAGES = ("numba", "numpy", "scikit-learn")


def read(path: str | Path) -> Record:
    """Return the record of a run that has just ended, in this environment."""
    run = json.loads(Path(path).read_text(encoding="utf-8"))
    machine = run["machine_info"]
    # A benchmark that failed after its rounds has said nothing and belongs to no table.
    benchmarks = {
        entry["name"]: {
            "stats": {key: entry["stats"][key] for key in ("min", "median", "max", "rounds")},
            "extra_info": entry["extra_info"],
        }
        for entry in run["benchmarks"]
        if "table" in entry["extra_info"]
    }
    record = {
        "date": run["datetime"][:10],
        "cpu": machine["cpu"].get("brand_raw", machine["machine"]),
        "cores": machine["cpu"].get("count"),
        "system": machine["system"],
        "load_before": machine.get("load_before"),
        "python": machine["python_version"],
        "versions": {name: importlib.metadata.version(name) for name in PACKAGES},
        "full": bool(benchmarks) and all(entry["extra_info"]["full"] for entry in benchmarks.values()),
        "benchmarks": benchmarks,
    }
    return {**record, "ratios": ratios(record)}


def entries(run: Record, table: str) -> list[Entry]:
    """Return what was measured for one table, in the order of the run."""
    return [entry for entry in run["benchmarks"].values() if entry["extra_info"]["table"] == table]


def seconds_each(entry: Entry) -> float:
    """Return our seconds a unit of work, the median over rounds, with its share of what all of them need."""
    info = entry["extra_info"]
    return float(entry["stats"]["median"]) / float(info["units"]) + float(info.get("setup_share", 0.0))


def ratio(entry: Entry, baseline: str) -> float | None:
    """Return how many times faster we are than a baseline; None if it was not measured."""
    seconds = entry["extra_info"]["baselines"].get(baseline)
    return None if seconds is None else float(seconds) / seconds_each(entry)


def ratios(run: Record) -> dict[str, float]:
    """Return every ratio of a run, by table, work and baseline."""
    found = {}
    for entry in run["benchmarks"].values():
        info = entry["extra_info"]
        for name in info["baselines"]:
            found[f"{info['table']}: {info['work']}, against {name}"] = ratio(entry, name)
    return {key: value for key, value in found.items() if value is not None}
