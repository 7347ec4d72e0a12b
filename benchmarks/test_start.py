"""The first fit in a new process, with no kernel compiled before and with all of them in the cache."""

from __future__ import annotations

import pytest

from bench import children
from bench.timing import FULL, report


def test_first_fit(benchmark, tmp_path):
    if not FULL:
        pytest.skip("compiles every kernel anew; BENCH_FULL=1 runs it")
    cache = {"NUMBA_CACHE_DIR": str(tmp_path)}
    cold = children.run("start.py", **cache)
    warm = benchmark.pedantic(lambda: children.run("start.py", **cache), rounds=3)
    assert cold["n_permutations"] == warm["n_permutations"]
    report(
        benchmark,
        "start",
        "Wine",
        cold_seconds=cold["fit_seconds"],
        warm_seconds=warm["fit_seconds"],
        import_seconds=warm["import_seconds"],
        n_permutations=warm["n_permutations"],
    )
