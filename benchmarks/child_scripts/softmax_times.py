"""Nanoseconds of each piece of a softmax fit, compiled; prints JSON by problem."""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from bench import problems
from bench.kernel_access import softmax_nanoseconds
from bench.softmax_problems import SOFTMAX, first_rows, softmax_game


def refit(problem: problems.Problem, m: int, rounds: int = 5) -> float:
    """Median CPU time of scikit-learn's fit to the first m rows, and of its score."""
    seconds = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # lbfgs stops after 100 steps on what is not scaled
        for _ in range(rounds):
            began = time.process_time()
            LogisticRegression().fit(problem.X[:m], problem.y[:m]).score(problem.X_valid, problem.y_valid)
            seconds.append(time.process_time() - began)
    return 1e9 * median(seconds)


if __name__ == "__main__":
    found = {}
    for name, (make, n_rows, _) in SOFTMAX.items():
        problem = make()
        m = n_rows * 3 // 4
        times = softmax_nanoseconds(softmax_game(problem, n_rows), m)
        times["scikit-learn's fit and score"] = refit(first_rows(problem, n_rows), m)
        found[name] = times
    print(json.dumps(found))
