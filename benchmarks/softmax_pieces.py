"""What fits of softmax models consist of, and how long each piece takes: a table of docs/performance.md.

Usage: NUMBA_DISABLE_JIT=1 python benchmarks/softmax_pieces.py
       python benchmarks/softmax_pieces.py --render

Calls are counted with kernels as plain Python; the numbers depend on no machine's speed.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from unittest import mock

import numpy as np

from bench import children, problems
from bench.record import Record, Script, replaced, surroundings, where
from bench.softmax_problems import SOFTMAX, softmax_game
from ordinal_shapley_kernels import (
    certificate,
    logistic,
    logistic_intercepts,
    logistic_softmax,
)
from page.tables import number, table, wrap
from pieces import counted

GRADIENTS = "gradients, a full pass each"
PRODUCTS = "products with the Hessian, a pass without exponentials each"
PIECES = (
    (logistic_softmax, "_differentiate", GRADIENTS),
    (logistic_softmax, "_apply_hessian", PRODUCTS),
    (logistic_softmax, "_renew_factor", "new factors"),
    (logistic_intercepts, "_intercept_hessian", "Newton steps of the intercepts"),
    (certificate, "_take_snapshot", "new snapshots"),
    (certificate, "_decide", "rows scored one by one"),
)
SCIKIT_LEARN = "scikit-learn's fit and score"
PEAK = "products of one pass"
TEXT = """\
`make bench-softmax` counts what a fit of softmax models with free intercepts takes, over the prefixes of one
order that have a model, all rows weighing the same: {where}."""
TIMES = """\
Each piece once, of all classes, at a prefix (median CPU time of many in a row), and a fit of scikit-learn's
`LogisticRegression()` to the same rows:"""
# How many times as fast as scikit-learn's loop a fit should be.
AIMS = {"Wine, raw": 150, "digits": 150, "embeddings": 50}
LIMIT = """\
{name}: {aim} times as fast as scikit-learn is {left} µs a fit, the time of the products of {passes} passes,
which run at {rate} multiplications and additions a nanosecond."""


def count(problem: problems.Problem, n_rows: int) -> Record:
    """Return how often a fit needs each piece, on average over the prefixes of an order."""
    game = softmax_game(problem, n_rows)
    counts: Counter[str] = Counter()
    patches = [
        mock.patch.object(module, name, counted(getattr(module, name), piece, counts))
        for module, name, piece in (*PIECES, (logistic, "settle_softmax", "fits"))
    ]
    with np.errstate(over="ignore"):  # kernels that compute with uint64 wrap around on purpose
        for patch in patches:
            patch.start()
        game.prefix_utilities(np.arange(game.n_players))
        mock.patch.stopall()
    fits = counts.pop("fits")
    return {
        "size": f"{n_rows} x {problem.X.shape[1]:,}, {problem.n_classes}",
        "fits": fits,
        "a fit": {words: counts[words] / fits for _, _, words in PIECES},
    }


def measure() -> Record:
    if os.environ.get("NUMBA_DISABLE_JIT") != "1":
        raise SystemExit("calls between compiled kernels can't be counted: set NUMBA_DISABLE_JIT=1")
    found = {**surroundings("numba", "numpy", "scikit-learn"), "problems": {}}
    found["nanoseconds"] = children.run("softmax_times.py", NUMBA_DISABLE_JIT="0")
    for name, (make, n_rows, n_counted) in SOFTMAX.items():
        found["problems"][name] = {"timed": n_rows * 3 // 4, **count(make(), n_counted)}
        print(name, found["problems"][name], flush=True)
    return found


def pages(record: Record, docs: Path) -> dict[str, str]:
    """Return the page with its table."""
    tried, times = record["problems"], record["nanoseconds"]
    heads = [f"{name}: {one['size']} classes" for name, one in tried.items()]
    rows = [(words, *(number(one["a fit"][words]) for one in tried.values())) for _, _, words in PIECES]
    names = [words for words in next(iter(times.values())) if words != "products"]
    costs = [(words, *(number(one[words] / 1e3) for one in times.values())) for words in names]
    limits = []
    for name, one in times.items():
        left = one[SCIKIT_LEARN] / AIMS[name]
        passes, rate = left / one[PEAK], one["products"] / one[PEAK]
        limits.append(
            LIMIT.format(
                name=name,
                aim=AIMS[name],
                left=number(left / 1e3),
                passes=number(passes),
                rate=number(rate),
            )
        )
    parts = [
        wrap(TEXT.format(where=where(record))),
        table(("in a fit", *heads), rows),
        TIMES,
        table(("microseconds", *(f"{name}: {one['timed']} rows" for name, one in tried.items())), costs),
        "\n".join("- " + wrap(text).replace("\n", "\n  ") for text in limits),
    ]
    page = "performance.md"
    return {page: replaced((docs / page).read_text(encoding="utf-8"), "softmax", "\n\n".join(parts))}


SCRIPT = Script("softmax_pieces", measure, pages)

if __name__ == "__main__":
    SCRIPT.main()
