"""All of Adult's training rows: time and memory until every row has 20 contributions."""

from __future__ import annotations

import os

from bench import children, problems
from bench.timing import FULL, report


def test_all_of_adult(benchmark):
    n_rows, contributions = (problems.ADULT_ROWS, 20) if FULL else (1_000, 1)
    answers = []

    def run():
        answers.append(
            children.run(
                "large.py", n_rows, contributions, min(2, os.cpu_count() or 1), OPENBLAS_NUM_THREADS="1"
            )
        )

    benchmark.pedantic(run, rounds=1)
    assert answers[0]["mean_walk_length"] < n_rows / 2
    report(benchmark, "large", "Adult, all training rows", **answers[0])
