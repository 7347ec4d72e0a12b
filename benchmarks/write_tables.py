"""Write docs/benchmarks.md from the JSON of a pytest-benchmark run.

Usage: python benchmarks/write_tables.py build/benchmarks.json docs/benchmarks.md
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
from pathlib import Path
from typing import Any

PACKAGES = ("numba", "numpy", "scikit-learn")

PAGE = """\
# Benchmarks

`make bench` writes this page. Machine: {cpu}, {cores} cores, of which one is used; Python {python},
{versions}; {date}.

## Every prefix of a permutation, against refitting

A logistic regression is fitted to every prefix of a random order of the training rows, with
Gaussian position weights, and scored on the validation rows. No truncation. The baseline is
scikit-learn's `LogisticRegression(solver="liblinear")` with its defaults, one `fit` a prefix (for
three classes: three binary fits and the largest decision). Ours is
`sample_values(game, method="mc", n_jobs=1)` in all, checks and summing included. Both run in one
process, in turns ({rounds} rounds of one permutation of the baseline and {permutations} of ours),
with one thread each; the figures are medians of CPU time. Prefixes that lack a class have no model
and are not counted as fits. The size is rows / columns / classes / validation rows.

| work | size | baseline µs/fit | ours µs/fit | ratio | target |
|---|---|---:|---:|---:|---:|
{rows}

Compilation is not in these figures. The first permutation took, with compiling or with loading
kernels compiled before: {first}.
"""


def row(entry: dict[str, Any]) -> str:
    info = entry["extra_info"]
    fits = info["fits_a_permutation"]
    ours = 1e6 * entry["stats"]["median"] / (info["n_permutations"] * fits)
    baseline = 1e6 * info["baseline_seconds"] / fits
    size = f"{info['rows']} / {info['columns']} / {info['classes']} / {info['validation_rows']}"
    return (
        f"| {info['work']} | {size} | {baseline:,.0f} | {ours:,.1f} "
        f"| {baseline / ours:,.0f} | {info['target']} |"
    )


def main(source: str, destination: str) -> None:
    run = json.loads(Path(source).read_text(encoding="utf-8"))
    entries = run["benchmarks"]
    machine = run["machine_info"]
    page = PAGE.format(
        cpu=machine["cpu"].get("brand_raw", machine["processor"]),
        cores=machine["cpu"].get("count", "?"),
        python=machine["python_version"],
        versions=", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES),
        date=run["datetime"][:10],
        rounds=entries[0]["stats"]["rounds"],
        permutations=", ".join(str(entry["extra_info"]["n_permutations"]) for entry in entries),
        rows="\n".join(row(entry) for entry in entries),
        first=", ".join(
            f"{entry['extra_info']['work']} {entry['extra_info']['first_call_seconds']:.1f} s"
            for entry in entries
        ),
    )
    Path(destination).write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main(*sys.argv[1:])
