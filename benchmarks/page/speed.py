"""The table of speeds in README.md."""

from __future__ import annotations

from bench.record import Record
from bench.results import entries, ratio, seconds_each
from page.tables import number, table, wrap

PROBLEMS = ("Wine", "WDBC", "Adult, one-hot", "dense, made up", "sparse, made up")


def write(run: Record) -> str:
    """Return the table, how long whole runs take and, in a line, where it was measured."""
    truncated = {
        entry["extra_info"]["work"]: ratio(entry, "pyDVL")
        for entry in entries(run, "tmc")
        if "pyDVL" in entry["extra_info"]["baselines"]
    }
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
        f"times faster than scikit-learn {run['versions']['scikit-learn']}",
        f"than scikit-learn {old}",
        "than pyDVL (TMC)",
    )
    where = f"One core, {run['cpu']}, {run['date']}. [All benchmarks](docs/benchmarks.md), slow ones too."
    return "\n\n".join((table(columns, rows), wrap(where), wrap(_whole_runs(run))))


def _whole_runs(run: Record) -> str:
    """Return how long values of whole data sets take."""
    warm = next(info["warm_seconds"] for info in _infos(run, "start") if "warm_seconds" in info)
    parts = [f"Wine {number(warm)} s"]
    parts += [
        f"all {info['rows']:,} rows of Adult {number(info['seconds'])} s" for info in _infos(run, "ordinal")
    ]
    for info in _infos(run, "fits"):
        if info["work"].startswith("ordinal-shapley"):
            continue  # the same by the command
        took = f"more than {info['timeout']} s" if info["seconds"] is None else f"{number(info['seconds'])} s"
        parts.append(f"{info['rows']:,} x {info['columns']} embeddings {took} (`{info['work']}`)")
    return f"Whole runs with kernels compiled, on two cores: {'; '.join(parts)}."


def _infos(run: Record, name: str) -> list[Record]:
    return [entry["extra_info"] for entry in entries(run, name)]
