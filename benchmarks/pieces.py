"""How often a fit needs each of its pieces: a table of docs/performance.md.

Usage: NUMBA_DISABLE_JIT=1 python benchmarks/pieces.py
       python benchmarks/pieces.py --render

Kernels run as plain Python, so that calls can be counted; the numbers depend on no machine's speed.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np

import ordinal_shapley as osv
from bench import children, problems
from bench.record import Record, Script, replaced, surroundings, where
from ordinal_shapley_kernels import certificate, logistic, logistic_factor, logistic_solver
from page.tables import number, table, wrap

PROBLEMS = (problems.wine, problems.wdbc, problems.adult, problems.dense_wide, problems.sparse_wide)
HALF_PASSES, STEPS = "half passes without exponentials", "steps, a full pass each"


def passes(game: Any, n_active: int, from_margins: int) -> tuple[str, int]:
    """What a call of `differentiate` is: a pass of each active model."""
    return (STEPS if from_margins else HALF_PASSES), n_active


# What is called from where, and what it is on the page, or a function of the arguments that says so.
PIECES: tuple[tuple[ModuleType, str, str | Callable[..., tuple[str, int]]], ...] = (
    (logistic_factor, "differentiate", passes),
    (logistic_solver, "differentiate", passes),
    (logistic_factor, "factorise", "new factors"),
    (certificate, "_screen", "comparisons with a snapshot"),
    (certificate, "_take_snapshot", "new snapshots"),
    (certificate, "_decide", "rows scored one by one"),
)
WORDS = (HALF_PASSES, STEPS, *(words for _, _, words in PIECES if isinstance(words, str)))
TEXT = """\
`make bench-pieces` counts this over every prefix of one order that has a model: {where}. For several classes
a fit has that many models."""

TIMES = """\
Each piece once, of one model, in the middle of that order (median CPU time of many in a row):"""


def counted(
    function: Callable[..., Any], piece: str | Callable[..., tuple[str, int]], counts: Counter[str]
) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        words, times = (piece, 1) if isinstance(piece, str) else piece(*arguments)
        counts[words] += times
        return function(*arguments)

    return call


def count(problem: problems.Problem) -> Record:
    """Return how often a fit needs each piece, on average over the prefixes of a random order."""
    game = osv.LogisticGame(problem.X, problem.y, problem.X_valid, problem.y_valid)
    order = np.random.default_rng(0).permutation(len(problem.y))
    counts: Counter[str] = Counter()
    patches = [
        mock.patch.object(module, name, counted(getattr(module, name), piece, counts))
        for module, name, piece in (*PIECES, (logistic, "settle", "fits"))
    ]
    # Kernels that compute with uint64 wrap around on purpose.
    with np.errstate(over="ignore"):
        for patch in patches:
            patch.start()
        game.prefix_utilities(order)
        mock.patch.stopall()
    fits = counts.pop("fits")
    return {
        "size": f"{len(problem.y)} x {problem.X.shape[1]:,}, {problem.n_classes}",
        "fits": fits,
        "a fit": {words: counts[words] / fits for words in WORDS},
    }


def measure() -> Record:
    if os.environ.get("NUMBA_DISABLE_JIT") != "1":
        raise SystemExit("calls between compiled kernels can't be counted: set NUMBA_DISABLE_JIT=1")
    found = {**surroundings("numba", "numpy"), "problems": {}}
    found["nanoseconds"] = children.run("piece_times.py", NUMBA_DISABLE_JIT="0")
    for make in PROBLEMS:
        problem = make()
        found["problems"][problem.name] = count(problem)
        print(problem.name, found["problems"][problem.name], flush=True)
    return found


def pages(record: Record, docs: Path) -> dict[str, str]:
    """Return the page with its table."""
    tried = record["problems"]
    heads = [f"{name}: {one['size']} classes" for name, one in tried.items()]
    rows = [(words, *(number(one["a fit"][words]) for one in tried.values())) for words in WORDS]
    times = record["nanoseconds"]
    costs = [(words, *(number(one[words]) for one in times.values())) for words in next(iter(times.values()))]
    parts = [
        wrap(TEXT.format(where=where(record))),
        table(("in a fit", *heads), rows),
        TIMES,
        table(("nanoseconds", *times), costs),
    ]
    page = "performance.md"
    return {page: replaced((docs / page).read_text(encoding="utf-8"), "pieces", "\n\n".join(parts))}


SCRIPT = Script("pieces", measure, pages)

if __name__ == "__main__":
    SCRIPT.main()
