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

## Exact values

`exact_values(game, ...)` in all, for games of n players, against a loop over
`itertools.permutations` in plain Python (logistic game: scikit-learn refitted; classic value:
shapiq's exact computer), on smaller games where it would take too long. What is compared is
distinct sequences a second (subsets for the classic value, fits for the logistic baseline); a loop
over permutations evaluates a sequence many times. Wall times, medians of {exact_rounds} rounds in turns.

| work | n | workers | ours | baseline (n) | ratio | target |
|---|---:|---:|---:|---:|---:|---|
{exact_rows}
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


def exact_row(entry: dict[str, Any]) -> str:
    info = entry["extra_info"]
    ours = info["n_evaluations"] / entry["stats"]["median"]
    baseline = 1.0 / info["baseline_seconds_each"]
    workers = "all" if info["workers"] == -1 else info["workers"]
    return (
        f"| {info['work']} | {info['players']} | {workers} | {ours:,.0f} "
        f"| {baseline:,.0f} ({info['baseline_players']}) | {ours / baseline:,.1f} | {info['target']} |"
    )


def main(source: str, destination: str) -> None:
    run = json.loads(Path(source).read_text(encoding="utf-8"))
    exact = [entry for entry in run["benchmarks"] if entry["extra_info"].get("table") == "exact"]
    entries = [entry for entry in run["benchmarks"] if "fits_a_permutation" in entry["extra_info"]]
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
        exact_rounds=exact[0]["stats"]["rounds"],
        exact_rows="\n".join(exact_row(entry) for entry in exact),
        first=", ".join(
            f"{entry['extra_info']['work']} {entry['extra_info']['first_call_seconds']:.1f} s"
            for entry in entries
        ),
    )
    Path(destination).write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main(*sys.argv[1:])
