"""Partial ordinal values of many rows under the patience rule: time, and memory beside the rows themselves.

Usage: memory.py N_ROWS N_COLUMNS N_CLASSES DTYPE N_PERMUTATIONS N_JOBS TARGET MAX_SECONDS

The peak is that of the process once the rows are there and kernels are loaded. It is the system's own
(VmHWM), set back before the game is made, for ru_maxrss begins with what the parent had.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

import ordinal_shapley as osv
from bench import problems

N_VALID = 1_000


def status(field: str) -> float:
    """A figure of /proc/self/status, in MiB."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    (line,) = (line for line in lines if line.startswith(f"{field}:"))
    return int(line.split()[1]) / 1024


def main(
    n_rows: int,
    n_columns: int,
    n_classes: int,
    dtype: str,
    n_permutations: int,
    n_jobs: int,
    target: str,
    max_seconds: float,
) -> None:
    def sample(problem: problems.Problem, n_permutations: int) -> osv.Valuation:
        game = osv.LogisticGame(problem.X, problem.y, problem.X_valid, problem.y_valid)
        return osv.sample_values(
            game,
            "partial_ordinal",
            osv.PermutationSampler(truncation=osv.PatienceTruncation(target=target), class_fraction=0.8),
            n_permutations=n_permutations,
            stopping=osv.MaxSeconds(max_seconds),
            random_state=0,
            n_jobs=n_jobs,
        )

    sample(problems.embeddings(200, 10, n_classes, 50), 20)  # compiles
    problem = problems.embeddings(n_rows, n_columns, n_classes, N_VALID, dtype=np.dtype(dtype).type)
    before = status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    start = time.perf_counter()
    answer = {
        "rows": n_rows,
        "columns": n_columns,
        "classes": n_classes,
        "dtype": dtype,
        "workers": n_jobs,
        "validation_rows": N_VALID,
        "data_mib": (problem.X.nbytes + problem.X_valid.nbytes) / 2**20,
        "asked": n_permutations,
    }
    try:
        valuation = sample(problem, n_permutations)
        answer["n_permutations"] = valuation.n_permutations
        answer["mean_evaluated"] = valuation.mean_evaluated
    except TimeoutError:
        answer["n_permutations"] = 0
    answer["seconds"] = time.perf_counter() - start
    answer["above_mib"] = status("VmHWM") - before
    print(json.dumps(answer))


if __name__ == "__main__":
    sizes = [int(word) for word in sys.argv[1:4]]
    main(*sizes, sys.argv[4], int(sys.argv[5]), int(sys.argv[6]), sys.argv[7], float(sys.argv[8]))
