"""The table of speeds in README.md."""

from __future__ import annotations

from bench.record import Record
from bench.results import entries, ratio, seconds_each
from page.tables import number, table

PROBLEMS = ("Wine", "WDBC", "Adult, one-hot", "dense, made up", "sparse, made up")


def write(run: Record) -> str:
    """Return the table, how long whole runs take and, in a line, where it was measured."""
    truncated = {entry["extra_info"]["work"]: ratio(entry, "pyDVL") for entry in entries(run, "tmc")}
    rows, old = [], ""
    for entry in entries(run, "refit"):
        info = entry["extra_info"]
        if info["work"] in PROBLEMS:
            old = info["versions"]["old scikit-learn"]
            rows.append(
                (
                    f"{info['work'].split(',')[0]}, {info['rows']} x {info['columns']:,}",
                    number(1.0 / seconds_each(entry)),
                    *(number(ratio(entry, name)) for name in ("scikit-learn", "old scikit-learn")),
                    number(truncated.get(info["work"])),
                )
            )
    columns = (
        "rows x columns",
        "model fits per second",
        f"scikit-learn {run['versions']['scikit-learn']} loop",
        f"scikit-learn {old} loop",
        "pyDVL, TMC",
    )
    more = "[all benchmarks](docs/benchmarks.md), slower cases among them."
    return f"{table(columns, rows)}\n\nOne core of an {run['cpu']}, {run['date']}; {more}"
