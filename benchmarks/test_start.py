"""The start of a new process: nothing compiled, all in the cache, and a further kind of game."""

from __future__ import annotations

from statistics import median

import pytest

from bench import children
from bench.timing import FULL, report

KINDS = ("ridge", "neighbors", "table", "function", "journeys")


def test_first_fit(benchmark, tmp_path):
    if not FULL:
        pytest.skip("compiles every kernel anew; BENCH_FULL=1 runs it")
    cold = [children.run("start.py", "estimator", NUMBA_CACHE_DIR=str(tmp_path / str(i))) for i in range(3)]
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "0")}
    warm = benchmark.pedantic(lambda: children.run("start.py", "estimator", **cache), rounds=5)
    assert cold[0]["n_permutations"] == warm["n_permutations"]
    report(
        benchmark,
        "start",
        "Wine",
        cold_seconds=median(one["run_seconds"] for one in cold),
        warm_seconds=warm["run_seconds"],
        import_seconds=warm["import_seconds"],
        n_permutations=warm["n_permutations"],
    )


def test_new_process(benchmark, tmp_path):
    if not FULL:
        pytest.skip("compiles every kernel anew; BENCH_FULL=1 runs it")
    cache = {"NUMBA_CACHE_DIR": str(tmp_path)}
    children.run("start.py", "game", **cache)
    kinds = {kind: children.run("start.py", kind, **cache)["run_seconds"] for kind in KINDS}
    warm = [children.run("start.py", "game", **cache) for _ in range(5)]
    benchmark.pedantic(lambda: children.run("start.py", "game", **cache), rounds=5)
    assert warm[0]["loaded"] == []
    report(
        benchmark,
        "start",
        "game",
        seconds=median(one["import_seconds"] + one["run_seconds"] for one in warm),
        kinds=kinds,
        n_permutations=warm[0]["n_permutations"],
    )
