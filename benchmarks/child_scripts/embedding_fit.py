"""OrdinalShapley with its defaults on made-up embeddings: seconds, and how much of the values is no noise.

Usage: embedding_fit.py N_ROWS N_COLUMNS N_CLASSES N_JOBS [cli | LARGEST]

With `cli` it is `ordinal-shapley value` on a CSV file of the rows, with its defaults but for
`--value ordinal` and `--valid-fraction 0.3`. A number is that of rows in the largest set that counts, for
classic values.
"""

from __future__ import annotations

import contextlib
import csv
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

import ordinal_shapley as osv
from bench import problems
from ordinal_shapley import cli


def write_csv(X: np.ndarray, y: np.ndarray, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(",".join([*(f"x{k}" for k in range(X.shape[1])), "label"]) + "\n")
        for row, label in zip(X, y, strict=True):
            file.write(",".join(f"{number:.6f}" for number in row) + f",class {label}\n")


def by_command(X: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Seconds, values and standard errors of the command line."""
    with tempfile.TemporaryDirectory() as folder:
        rows, out = Path(folder, "rows.csv"), Path(folder, "values.csv")
        write_csv(X, y, rows)
        arguments = ["value", rows, "--target", "label", "--value", "ordinal", "--out", out]
        arguments += ["--valid-fraction", 0.3]
        start = time.perf_counter()
        # In this process, which ends when it is told to; what a command would import is there already.
        with contextlib.suppress(SystemExit):
            cli.main([str(argument) for argument in arguments])
        seconds = time.perf_counter() - start
        with out.open(encoding="utf-8") as file:
            found = [(float(row["value"]), float(row["stderr"])) for row in csv.DictReader(file)]
    values, stderr = np.array(found).T
    return seconds, values, stderr


def main(n_rows: int, n_columns: int, n_classes: int, n_jobs: int, how: str = "") -> None:
    problem = problems.embeddings(n_rows, n_columns, n_classes, 0)
    small = problems.embeddings(100, 20, n_classes, 0)
    osv.OrdinalShapley(n_permutations=20, random_state=0, cv=None).fit(small.X, small.y)  # compiles
    answer = {"rows": n_rows, "columns": n_columns, "classes": n_classes, "workers": n_jobs}
    if how == "cli":
        seconds, values, stderr = by_command(problem.X, problem.y)
    else:
        start = time.perf_counter()
        run = {"random_state": 0, "n_jobs": n_jobs, "cv": None}
        if how:
            model = osv.ClassicShapley(size_weights=osv.sizes_up_to(int(how)), **run)
        else:
            model = osv.OrdinalShapley(**run)
        model.fit(problem.X, problem.y)
        seconds = time.perf_counter() - start
        valuation = model.valuation_
        values, stderr = valuation.values, valuation.stderr
        answer |= {
            "n_permutations": valuation.n_permutations,
            "n_evaluations": valuation.n_evaluations,
            "converged": valuation.converged,
            "rule": valuation.sampler.words,
        }
    reliability = float(1.0 - np.mean(stderr**2) / np.var(values))
    print(json.dumps(answer | {"seconds": seconds, "valued": len(values), "reliability": reliability}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:5]), *sys.argv[5:])
