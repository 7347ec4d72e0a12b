"""Odd inputs and injected faults, counted: writes docs/reliability.md.

Usage: PYTHONPATH=tests python benchmarks/reliability.py [--render | share of the work, 1 by default]

It fails at the first input with neither a right answer nor a clear error, and at the first run that a fault
made lose or change anything.
"""

from __future__ import annotations

import errno
import itertools
import os
import random
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import joblib

import fuzzing
import ordinal_shapley as osv
from bench import record
from ordinal_shapley.common import parallel
from ordinal_shapley.sampling import checkpoint, running
from page.tables import table, wrap
from runs import SAMPLED, bits, game_of

INPUTS = {
    "logistic_values": 6_000,
    "table_values": 6_000,
    "function_values": 4_000,
    "estimators": 3_000,
    "rules": 4_000,
}
FAULTS = {"kills": 120, "interrupts": 600, "writes": 300, "damages": 3_000, "limits": 600, "workers": 5}

INTRO = """\
`make reliability` writes this page: {where}. It stops at the first input or fault that is not as it should
be, so the last column is what it is only if all went well.{share}"""
ODD = """\
Made by Hypothesis: wrong types and shapes, constant features, duplicate rows, scales from 5e-324 to 1e300,
NaN and infinity, one row, one validation row, one class, classes of one row. An input ends well with an
answer (finite values that add up, the same when asked again, no warning of another library) or with an
error that the library itself raises. A crash, a hang of {seconds} s (the first inputs, which compile, have
more), a value that is no number or an error
of somebody else do not count as that. The generators are in `tests/fuzzing.py`."""
FAULTY = """\
Each run with a fault is begun again afterwards; its result must be that of a run that nothing happened to,
bit for bit, and its checkpoint must never hold less than before. Runs are small, of all methods and
designs in turn."""
OUTRO = """\
Tests of the suite inject them too: `tests/test_checkpoint.py`, `tests/test_surroundings.py`,
`tests/test_distributed.py`."""

PERMUTATIONS = 60


def run(path: Path | None, options: dict[str, Any], game: osv.FunctionGame | None = None) -> Any:
    """Return the bits of a run of all permutations."""
    call = {"n_permutations": PERMUTATIONS, "random_state": 3, "checkpoint": path, **options}
    return bits(osv.sample_values(game or game_of(5), **call))


def held(path: Path) -> int:
    """Permutations in a checkpoint; an error if it is damaged."""
    return int(osv.Valuation.load(path).n_permutations) if path.exists() else 0


def ways() -> Iterator[tuple[dict[str, Any], Any]]:
    """Options of all kinds in turn, with the bits of an undisturbed run."""
    return itertools.cycle([(options, run(None, options)) for options in SAMPLED.values()])


class Struck:
    """The utility of game_of(5), which sends a signal at one of its calls."""

    def __init__(self) -> None:
        self.func = game_of(5).func
        self.strike, self.calls, self.number = 0, 0, signal.SIGINT

    def __call__(self, sequence: Any) -> float:
        """Return the utility."""
        self.calls += 1
        if self.calls == self.strike:
            os.kill(os.getpid(), self.number)
        return float(self.func(sequence))

    def __reduce__(self) -> tuple[Any, ...]:  # for the fingerprint: a count is no part of the game
        return Struck, ()


@contextmanager
def patched(thing: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(thing, name)
    setattr(thing, name, value)
    try:
        yield
    finally:
        setattr(thing, name, before)


def until_whole(
    path: Path, options: dict[str, Any], whole: Any, strike: Callable[[osv.FunctionGame], bool]
) -> int:
    """Run into faults until there are three or the run is through; then it must have the right bits."""
    path.unlink(missing_ok=True)
    before = n_faults = 0
    for _ in range(3):
        n_faults += strike(osv.FunctionGame(Struck(), 5))
        now = held(path)
        assert now >= before, (options, now, before)
        before = now
    assert run(path, options, osv.FunctionGame(Struck(), 5)) == whole, options
    left = [name for name in os.listdir(path.parent) if name != path.name]
    assert not left, left
    return n_faults


def kills(path: Path, number: int) -> int:
    """Children that are killed at a random call of the utility."""
    done = 0
    for options, _ in ways():
        whole = run(None, options, osv.FunctionGame(Struck(), 5))

        def strike(game: osv.FunctionGame, options: dict[str, Any] = options) -> bool:
            child = os.fork()
            if child == 0:
                game.func.strike, game.func.number = random.randint(2, 400), signal.SIGKILL
                run(path, options, game)
                os._exit(0)
            return os.WIFSIGNALED(os.waitpid(child, 0)[1])

        done += until_whole(path, options, whole, strike)
        if done >= number:
            return done
    return done


def interrupts(path: Path, number: int) -> int:
    """Ctrl-C at a random call of the utility."""
    done = 0
    for options, _ in ways():
        whole = run(None, options, osv.FunctionGame(Struck(), 5))

        def strike(game: osv.FunctionGame, options: dict[str, Any] = options) -> bool:
            game.func.strike = random.randint(2, 400)
            try:
                run(path, {**options, "n_jobs": random.choice([1, 2])}, game)
            except KeyboardInterrupt:
                return True
            return False

        done += until_whole(path, options, whole, strike)
        if done >= number:
            return done
    return done


def writes(path: Path, number: int) -> int:
    """Disks that are full at some writes, which stop in the middle."""
    done = 0
    real = Path.write_bytes
    for options, whole in ways():
        path.unlink(missing_ok=True)
        full = set(random.sample(range(2, 8), 3))
        calls = itertools.count(1)

        def failing(self: Path, data: Any, full: set[int] = full, calls: Iterator[int] = calls) -> int:
            if next(calls) in full:
                real(self, bytes(data)[: random.randrange(len(data))])
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(self, data)

        with patched(Path, "write_bytes", failing):
            assert run(path, options) == whole, options
        held(path)
        assert run(path, options) == whole, options
        done += len(full)
        if done >= number:
            return done
    return done


def damages(path: Path, number: int) -> int:
    """Files that are cut off, or of which a byte is another."""
    path.unlink(missing_ok=True)
    options = {"position_profile": True, "n_permutations": 30}
    run(path, options)
    good, whole = path.read_bytes(), run(None, {**options, "n_permutations": 40})
    for k in range(number):
        place = random.randrange(len(good))
        flipped = good[:place] + bytes([good[place] ^ random.randint(1, 255)]) + good[place + 1 :]
        path.write_bytes(flipped if k % 2 else good[:place])
        try:
            assert run(path, {**options, "n_permutations": 40}) == whole
        except ValueError as error:
            if "cannot be used" not in str(error):
                raise
    return number


class Out(parallel.Cancellation):
    """Time is up after some looks at the clock."""

    looks = 0

    @property
    def time_is_up(self) -> bool:
        """Whether there have been enough looks."""
        Out.looks -= 1
        return Out.looks < 0 or self.deadline < 0


def limits(path: Path, number: int) -> int:
    """Time limits that strike anywhere: the result is that of a run of as many permutations."""
    with patched(running, "Cancellation", Out), patched(parallel, "_SECONDS_A_CALL", 0.0):
        for k, options in zip(range(number), itertools.cycle(SAMPLED.values()), strict=False):
            Out.looks = 150 + 7 * k % 401
            call = {"random_state": 3, **options}
            cut = osv.sample_values(game_of(5), stopping=osv.MaxSeconds(1e9), **call)
            Out.looks = 10**12
            whole = osv.sample_values(game_of(5), n_permutations=cut.n_permutations, **call)
            assert bits(cut) == bits(whole), options
    return number


def workers(path: Path, number: int) -> int:
    """Workers of a Dask cluster that are killed while they work."""
    from distributed import Client, LocalCluster

    game = osv.FunctionGame(Slow(), 5)
    whole = bits(osv.sample_values(game, "partial_ordinal", "mc", n_permutations=300, random_state=3))
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
        Client(cluster) as client,
    ):
        for _ in range(number):
            client.wait_for_workers(2, timeout=300)
            victim = random.choice(list(client.run(os.getpid).values()))
            killer = threading.Timer(random.uniform(0.3, 1.0), os.kill, (victim, signal.SIGKILL))
            killer.start()
            with joblib.parallel_config(backend="dask"):
                assert (
                    bits(osv.sample_values(game, "partial_ordinal", "mc", n_permutations=300, random_state=3))
                    == whole
                )
            killer.join()
    return number


class Slow:
    """The utility of game_of(5), which takes a while."""

    def __call__(self, sequence: Any) -> float:
        """Return the utility."""
        time.sleep(0.002)
        return float(game_of(5).func(sequence))


WORDS = {
    kills: "kill -9 at a random utility",
    interrupts: "Ctrl-C at a random utility, one worker or two",
    writes: "writes that fail in the middle (disk full)",
    damages: "files cut off, or with a byte changed: refused or right",
    limits: "time limits at a random moment",
    workers: "Dask workers killed while they work",
}


def measure(share: str = "1") -> record.Record:
    """Count; what has been counted is written after each kind, so that an end in between costs one."""
    warnings.simplefilter("ignore")
    random.seed(0)
    checkpoint._SPACING = 0.0
    found = {
        **record.surroundings("numba", "numpy", "hypothesis", "distributed"),
        "share": float(share),
        "hang_seconds": fuzzing.SECONDS,
        "faults": {},
        "inputs": {},
    }
    with tempfile.TemporaryDirectory() as folder:
        for inject, words in WORDS.items():
            began = time.monotonic()
            count = inject(Path(folder) / "run.npz", max(1, int(float(share) * FAULTS[inject.__name__])))
            print(f"{words}: {count} in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
            found["faults"][words] = count
            record.save("reliability", found)
    for target in fuzzing.TARGETS:
        name, began = target.__name__, time.monotonic()
        counts = fuzzing.fuzz(target, max(1, int(float(share) * INPUTS[name])))
        print(f"{name}: {dict(counts)} in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        found["inputs"][str(target.__doc__).rstrip(".")] = {
            "all": counts.total(),
            "answer": counts["answer"],
            "error": counts["error"],
        }
        record.save("reliability", found)
    return found


def pages(found: record.Record, docs: Path) -> dict[str, str]:
    """Return the page."""
    share = "" if found["share"] == 1.0 else f" This was {found['share']:.0%} of the full work, `SHARE=1`."
    inputs = [
        (words, *(f"{counts[kind]:,}" for kind in ("all", "answer", "error")), 0)
        for words, counts in found["inputs"].items()
    ]
    faults = [(words, f"{count:,}", 0) for words, count in found["faults"].items()]
    parts = [
        "# Reliability",
        wrap(INTRO.format(where=record.where(found), share=share)),
        "## Odd inputs",
        wrap(ODD.format(seconds=found["hang_seconds"])),
        table(("what", "inputs", "answers", "clear errors", "neither"), inputs),
        "## Faults",
        wrap(FAULTY),
        table(("fault", "injected", "results lost or changed"), faults),
        wrap(OUTRO),
    ]
    return {"reliability.md": "\n\n".join(parts) + "\n"}


SCRIPT = record.Script("reliability", measure, pages)

if __name__ == "__main__":
    SCRIPT.main()
