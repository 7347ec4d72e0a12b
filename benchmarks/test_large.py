"""Many rows, of Adult and made up: time and memory of whole runs, each in a process of its own.

A run that takes too long is ended, and recorded as such.
"""

from __future__ import annotations

import os
import subprocess

import pytest

from bench import children, problems
from bench.timing import FULL, report

TWO = min(2, os.cpu_count() or 1)


def test_all_of_adult(benchmark):
    n_rows, contributions = (problems.ADULT_ROWS, 20) if FULL else (1_000, 1)
    answers = []

    def run():
        answers.append(children.run("large.py", n_rows, contributions, TWO, OPENBLAS_NUM_THREADS="1"))

    benchmark.pedantic(run, rounds=1)
    assert answers[0]["mean_evaluated"] < n_rows / 2
    report(benchmark, "large", "Adult, all training rows", **answers[0])


class Run:
    """A script with its arguments, and how long it may take."""

    def __init__(self, script, *arguments, timeout=300):
        self.script, self.arguments, self.timeout = script, arguments, timeout
        self.answer = {}

    def __call__(self):
        """Run it; an answer without seconds is one of a script that was ended."""
        try:
            self.answer = children.run(
                self.script, *self.arguments, timeout=self.timeout, OPENBLAS_NUM_THREADS="1"
            )
        except subprocess.TimeoutExpired:
            self.answer = {"seconds": None}


ROWS = 5_000 if FULL else 60
SHAPE = (ROWS, 384, 5) if FULL else (ROWS, 10, 3)
LARGEST = 50 if FULL else 5
FITS = {
    "OrdinalShapley().fit": Run("embedding_fit.py", *SHAPE, TWO),
    f"ClassicShapley, sizes up to {LARGEST}": Run("embedding_fit.py", *SHAPE, TWO, LARGEST),
    "ordinal-shapley value": Run("embedding_fit.py", *SHAPE, TWO, "cli"),
}


@pytest.mark.parametrize("name", FITS)
def test_fit_by_default(benchmark, name):
    run = FITS[name]
    benchmark.pedantic(run, rounds=1)
    n, d, n_classes = SHAPE
    details = {"rows": n, "columns": d, "classes": n_classes, "timeout": run.timeout, "target": 60}
    report(benchmark, "fits", name, **(details | run.answer))


def test_ordinal_values_of_all_of_adult(benchmark):
    n_rows, n_full, most = (problems.ADULT_ROWS, 20, 300.0) if FULL else (200, 1, 5.0)
    run = Run("large_ordinal.py", n_rows, n_full, TWO, most, timeout=500)
    benchmark.pedantic(run, rounds=1)
    details = {
        "rows": n_rows,
        "columns": 108,
        "classes": 2,
        "full_permutations": n_full,
        "timeout": run.timeout,
        "target": 180,
    }
    report(benchmark, "ordinal", "Adult, all training rows", **(details | run.answer))


# Rows, columns, classes, type, permutations, workers, target of the rule, seconds at most.
MEMORY = (
    {
        "10,000 rows": (10_000, 50, 2, "float64", 200, 1, "mean", 300),
        "a million rows": (1_000_000, 50, 2, "float64", 200, 1, "mean", 300),
        "8 threads": (50_000, 512, 10, "float64", 80, 8, "given", 60),
        "8 threads, float32": (50_000, 512, 10, "float32", 80, 8, "given", 60),
    }
    if FULL
    else {
        "few rows": (300, 10, 2, "float64", 20, 1, "mean", 20),
        "8 threads, float32": (300, 10, 3, "float32", 80, 8, "given", 20),
    }
)


@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="memory is read as on Linux")
@pytest.mark.parametrize("name", MEMORY)
def test_memory(benchmark, name):
    arguments = MEMORY[name]
    run = Run("memory.py", *arguments, timeout=500)
    benchmark.pedantic(run, rounds=1)
    target = 512 if "threads" in name else 300
    names = ("rows", "columns", "classes", "dtype", "asked", "workers", "aim", "most_seconds")
    details = dict(zip(names, arguments, strict=True)) | {"timeout": run.timeout, "target": target}
    report(benchmark, "memory", name, **(details | run.answer))
