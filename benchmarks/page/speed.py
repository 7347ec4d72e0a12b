"""The table of speeds in README.md."""

from __future__ import annotations

from bench.record import Record
from bench.results import entries, ratio, seconds_each
from page.tables import number, table

PROBLEMS = ("Wine", "WDBC", "Adult, one-hot", "dense, made up", "sparse, made up")


def write(run: Record) -> str:
    """Return the table and, in a line, where it was measured."""
    rows = []
    for entry in entries(run, "refit"):
        info = entry["extra_info"]
        if info["work"] in PROBLEMS:
            rows.append(
                (
                    f"{info['work'].split(',')[0]}, {info['rows']} x {info['columns']:,}",
                    number(1.0 / info["baselines"]["scikit-learn"]),
                    number(1.0 / seconds_each(entry)),
                    number(ratio(entry, "scikit-learn")),
                    number(ratio(entry, "liblinear")),
                )
            )
    version = run["versions"]["scikit-learn"]
    columns = (
        "data, rows x columns",
        f"scikit-learn {version}",
        "ordinal-shapley",
        "times faster",
        "than liblinear alone",
    )
    more = "[all benchmarks](docs/benchmarks.md), with other baselines and what each row is."
    machine = f"{run['cpu']}, {run['date']}; {more}"
    return f"{table(columns, rows)}\n\n{machine}"
