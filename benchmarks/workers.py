"""Runs on 1 and 2 workers, and what 1,000 would do: a section of docs/distributed.md with a picture.

Usage: python benchmarks/workers.py [--render]

Shards are measured one by one, in CPU time, and so is what a task costs the client and the scheduler of a
Dask cluster of this machine, which are one process there. The simulation hands shards of measured lengths out
as joblib's Dask backend does: a client that spends its time for each batch of shards, workers that take the
next batch when they are free.
"""

from __future__ import annotations

import heapq
import time
import warnings
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt

import ordinal_shapley as osv
from bench import problems
from bench.record import Record, Script, replaced, surroundings, where
from ordinal_shapley.sampling import running
from ordinal_shapley.sampling.plan import SHARD_SIZE
from page.tables import number, table, wrap

N_SHARDS = 60
WORKERS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
# joblib makes batches about this long.
BATCH_SECONDS = 0.2
SIMULATED_SHARDS = 20_000

TEXT = """\
`make bench-workers` measures this: {where}. Permutations of Adult (200 rows, method "mc") in shards of ten;
a shard takes {shard:.0f} ms (from {least:.0f} to {most:.0f}) of CPU time, and client and scheduler of a
Dask cluster {overhead:.1f} ms for each task (found with tasks that do nothing). Rates are wall time, the
best of three."""
SIMULATION = """\
The lines are simulations with the measured shard times: each task, a batch of shards that takes about
0.2 s, costs the client its overhead, one after the other, and the worker its shards. For a run of
{simulated:,} permutations 1,000 workers are {speed:.0f} times as fast as one with shards as they are
({ideal:.0f} if tasks cost nothing), and {speed_long:.0f} times with a game whose shards take 100 times as
long."""


def measured(game: osv.LogisticGame) -> npt.NDArray[np.float64]:
    """Seconds of each of some shards, one after the other on one thread."""
    seconds: list[float] = []
    real = running.walk_shard

    def timed(*arguments: Any) -> Any:
        began = time.thread_time()
        shard = real(*arguments)
        seconds.append(time.thread_time() - began)
        return shard

    running.walk_shard = timed
    try:
        osv.sample_values(
            game, "partial_ordinal", "mc", n_permutations=N_SHARDS * SHARD_SIZE, random_state=0, n_jobs=1
        )
    finally:
        running.walk_shard = real
    return np.array(seconds)


def rate(game: osv.LogisticGame, n_jobs: int) -> float:
    """Permutations a second, the best of three runs."""
    n_permutations, seconds = N_SHARDS * SHARD_SIZE, []
    for _ in range(3):
        began = time.perf_counter()
        osv.sample_values(
            game, "partial_ordinal", "mc", n_permutations=n_permutations, random_state=0, n_jobs=n_jobs
        )
        seconds.append(time.perf_counter() - began)
    return n_permutations / min(seconds)


def nothing(k: int) -> int:
    return k


def task_overhead(n_tasks: int = 1_000) -> float:
    """CPU seconds that a task costs this process, client and scheduler, with no batching."""
    parallel = joblib.Parallel(batch_size=1, pre_dispatch="all")
    parallel(joblib.delayed(nothing)(k) for k in range(20))
    began = time.process_time()
    parallel(joblib.delayed(nothing)(k) for k in range(n_tasks))
    return (time.process_time() - began) / n_tasks


def simulated(shards: npt.NDArray[np.float64], n_shards: int, n_workers: int, overhead: float) -> float:
    """Seconds that a run takes whose shards have the measured lengths in turn."""
    size = max(1, min(int(BATCH_SECONDS / shards.mean()), n_shards // n_workers))
    free = [0.0] * n_workers
    client = last = 0.0
    for first in range(0, n_shards, size):
        work = sum(shards[k % len(shards)] for k in range(first, min(first + size, n_shards)))
        # A task leaves the client when it has been prepared, and there is a worker for it.
        client = max(client + overhead, free[0])
        done = client + work
        heapq.heapreplace(free, done)
        last = max(last, done)
    return last


def measure() -> Record:
    from distributed import Client, LocalCluster

    found = surroundings("joblib", "distributed", "numba", "numpy")
    problem = problems.adult()
    game = osv.LogisticGame(problem.X, problem.y, problem.X_valid, problem.y_valid)
    osv.sample_values(game, "partial_ordinal", "mc", n_permutations=1, random_state=0)
    shards = measured(game)
    threads = {n: rate(game, n) for n in (1, 2)}
    dask = {}
    for n in (1, 2):
        with (
            LocalCluster(
                n_workers=n, threads_per_worker=1, dashboard_address=None, silence_logs=50
            ) as cluster,
            Client(cluster),
            joblib.parallel_config(backend="dask"),
        ):
            dask[n] = rate(game, n)
            overhead = task_overhead()
    alone = simulated(shards, SIMULATED_SHARDS, 1, 0.0)
    ways = {"free": (1.0, 0.0), "as_is": (1.0, overhead), "long": (100.0, overhead)}
    speeds = {
        way: {n: alone / simulated(shards * longer, SIMULATED_SHARDS, n, cost) * longer for n in WORKERS}
        for way, (longer, cost) in ways.items()
    }
    return {
        **found,
        "shard_ms": 1e3 * shards,
        "task_overhead_ms": 1e3 * overhead,
        "permutations_a_second": {"threads": threads, "Dask processes": dask},
        "simulated_permutations": SIMULATED_SHARDS * SHARD_SIZE,
        "simulated_times_faster": speeds,
    }


def draw(record: Record, docs: Path) -> None:
    """Draw permutations a second against workers, on logarithmic axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    lines = {
        "free": ("no overhead", ":"),
        "as_is": (f"{record['task_overhead_ms']:.1f} ms per task", "-"),
        "long": ("the same, shards 100 times as long", "--"),
    }
    for way, (label, style) in lines.items():
        speeds = record["simulated_times_faster"][way]
        axes.plot([int(n) for n in speeds], list(speeds.values()), style, label=label)
    found = record["permutations_a_second"]
    for (name, rates), marker in zip(found.items(), "os", strict=True):
        speeds = [rate / found["threads"]["1"] for rate in rates.values()]
        workers = [int(n) for n in rates]
        axes.plot(workers, speeds, marker, label=f"{name}, measured", markersize=6, fillstyle="none")
    axes.set(xscale="log", yscale="log", xlabel="workers", ylabel="times as fast as one worker")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:,g}")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(docs / "images" / "scaling.png", dpi=130)


def pages(record: Record, docs: Path) -> dict[str, str]:
    rows = [
        (f"{name}, permutations per second", *map(number, rates.values()), number(rates["2"] / rates["1"]))
        for name, rates in record["permutations_a_second"].items()
    ]
    speeds = {way: found["1000"] for way, found in record["simulated_times_faster"].items()}
    shards = record["shard_ms"]
    overhead = record["task_overhead_ms"]
    parts = [
        wrap(
            TEXT.format(
                where=where(record),
                shard=np.mean(shards),
                least=min(shards),
                most=max(shards),
                overhead=overhead,
            )
        ),
        table(("", "1 worker", "2 workers", "times faster"), rows),
        "![Speed against workers](images/scaling.png)",
        wrap(
            SIMULATION.format(
                simulated=record["simulated_permutations"],
                speed=speeds["as_is"],
                ideal=speeds["free"],
                speed_long=speeds["long"],
            )
        ),
    ]
    page = "distributed.md"
    return {page: replaced((docs / page).read_text(encoding="utf-8"), "workers", "\n\n".join(parts))}


SCRIPT = Script("workers", measure, pages, draw)

if __name__ == "__main__":
    warnings.filterwarnings("ignore", category=UserWarning)
    SCRIPT.main()
