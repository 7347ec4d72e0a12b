"""Nanoseconds of each piece of a fit, compiled; prints JSON by problem."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import ordinal_shapley as osv
from bench import problems
from bench.kernel_access import piece_nanoseconds

if __name__ == "__main__":
    found = {}
    for make in (problems.wine, problems.wdbc, problems.adult):
        problem = make()
        game = osv.LogisticGame(problem.X, problem.y, problem.X_valid, problem.y_valid)
        found[problem.name] = piece_nanoseconds(game)
    print(json.dumps(found))
