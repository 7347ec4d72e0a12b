"""Runs in hostile surroundings: threads, forks, other processes, interrupts, clocks, failing games."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import joblib
import numba
import pytest

import naive
import ordinal_shapley as osv
from problems import JIT, size, wine
from runs import bits, environment, game_of, sample_with, script


def logistic(n=8):
    return osv.LogisticGame(*wine(True).first(n))


def sampled(game, n_permutations=40, **options):
    return sample_with(game, n_permutations=n_permutations, **{"random_state": 3, **options})


def test_two_threads_at_once(tmp_path):
    games = [logistic(size(12, 6)), game_of(6), osv.TableGame.from_array(3, range(16))]
    alone = [bits(sampled(game)) for game in games]
    found = {}

    def work(k, n_jobs, path):
        for turn in range(3):
            run = sampled(games[k], n_jobs=n_jobs, checkpoint=path.with_suffix(f".{turn}"))
            found.setdefault(k, []).append(bits(run))

    threads = [
        threading.Thread(target=work, args=(k, n_jobs, tmp_path / f"{k}-{n_jobs}"))
        for k in range(3)
        for n_jobs in (1, 2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {k: len(runs) for k, runs in found.items()} == dict.fromkeys(range(3), 6)
    assert all(run == alone[k] for k, runs in found.items() for run in runs)


PRINT_BITS = """
import hashlib, sys
import ordinal_shapley as osv
from problems import wine
from runs import bits, environment, game_of, sample_with, script

def run(n_jobs=2, **options):
    games = [osv.LogisticGame(*wine(True).first(6)), game_of(5)]
    runs = [osv.sample_values(g, n_permutations=25, random_state=3, n_jobs=n_jobs, **options) for g in games]
    return hashlib.sha256(repr([bits(r) for r in runs]).encode()).hexdigest()
"""


def digest_here():
    space = {}
    exec(PRINT_BITS, space)
    return space["run"]()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forked_children_after_use():
    out = script(
        PRINT_BITS
        + textwrap.dedent("""
        import os, warnings
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks where there are threads
        here = run()
        for n_jobs in (1, 2):
            reading, writing = os.pipe()
            child = os.fork()
            if child == 0:
                os.write(writing, run(n_jobs).encode())
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
            assert os.read(reading, 1000).decode() == here
        print(here)
        """)
    )
    assert out.strip() == digest_here()


def test_loky_workers(tmp_path):
    path, game = tmp_path / "run.npz", logistic(6)
    whole = sampled(game, 60)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        sampled(game, 30, checkpoint=path)
        assert bits(sampled(game, 60, checkpoint=path)) == bits(whole)
        late = sample_with(
            game, stopping=osv.MaxSeconds(size(3.0, 6.0)) | osv.MaxPermutations(2_000), random_state=3
        )
        with pytest.raises(RuntimeError, match=r"permutation 0: .*ZeroDivisionError"):
            sampled(osv.FunctionGame(dividing, 5))
    assert bits(late) == bits(sampled(game, late.n_permutations))


def dividing(sequence):
    return 1 / (4 - len(sequence))


def test_workers_that_break_say_where(monkeypatch):
    from ordinal_shapley.sampling import shards

    def broken(*arguments):
        raise MemoryError("no more")

    monkeypatch.setattr(shards, "add_replicates", broken)
    with pytest.raises(RuntimeError, match=r"permutations (0 to 9|10 to 19): MemoryError"):
        sampled(game_of(4), n_jobs=2)


def endless(n):
    """A game whose permutations take hours."""

    def utility(sequence):
        total = 0.0
        for _ in range(1_000):
            for player in sequence:
                total += player
        return total

    return osv.FunctionGame(numba.njit(utility) if JIT else utility, n)


@pytest.mark.skipif(os.name == "nt", reason="signals differ there")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_inside_one_long_permutation(n_jobs, tmp_path):
    """That it comes back at all is the proof: the permutation would take hours."""
    path = tmp_path / "run.npz"

    def strike():
        while not path.exists():  # as it is when the first permutation begins
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=strike, daemon=True).start()
    with pytest.raises(KeyboardInterrupt, match="0 permutations are kept"):
        sample_with(
            endless(size(100_000, 2_000)), n_permutations=20, random_state=3, n_jobs=n_jobs, checkpoint=path
        )
    assert [p.name for p in tmp_path.iterdir()] == ["run.npz"]
    assert osv.Valuation.load(path).n_permutations == 0


ON_WORKERS = """
import os, sys
import joblib
import ordinal_shapley as osv

def utility(sequence):
    if len(sequence) and not hasattr(sys, "told"):
        sys.told = True
        print(os.getpid(), flush=True)
    return float(len(sequence))

with joblib.parallel_config(backend="loky", n_jobs=2):
    osv.sample_values(osv.FunctionGame(utility, 5), n_permutations=10**9, random_state=0)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals differ there")
def test_ctrl_c_leaves_no_worker_behind():
    psutil = pytest.importorskip("psutil")
    command = [sys.executable, "-c", ON_WORKERS]
    run = subprocess.Popen(
        command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while int(run.stdout.readline()) == run.pid:  # not before a worker works
        pass
    workers = psutil.Process(run.pid).children(recursive=True)
    assert len(workers) >= 2
    run.send_signal(signal.SIGINT)
    _, alive = psutil.wait_procs([psutil.Process(run.pid), *workers], timeout=120)
    for process in alive:
        process.kill()
    assert alive == []
    assert "KeyboardInterrupt" in run.communicate()[1]


HOLDING = """
import sys
import ordinal_shapley as osv
from runs import game_of

inner = game_of(4).func

def utility(sequence):
    if len(sequence) == 4:
        print("holding", flush=True)
        sys.stdin.readline()
    return inner(sequence)

osv.sample_values(
    osv.FunctionGame(utility, 4), "partial_ordinal", "mc", n_permutations=3, random_state=3,
    checkpoint=sys.argv[1],
)
"""


def test_two_processes_and_one_checkpoint(tmp_path):
    path = tmp_path / "run.npz"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDING, path], env=environment(),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as other:  # fmt: skip
        assert other.stdout is not None
        assert other.stdout.readline() == "holding\n"
        with pytest.raises(ValueError, match=str(other.pid)):
            sampled(game_of(4), checkpoint=path)
        other.kill()
    # The lock went with the process; what it left is another game's.
    with pytest.raises(ValueError, match="in game"):
        sampled(game_of(4), checkpoint=path)


class Failing:
    """game_of(3), with a fault that goes away."""

    def __init__(self):
        self.calls = 0
        self.fault = None

    def __call__(self, sequence):
        self.calls += 1
        if self.calls == self.fault or self.fault == -1:
            self.fault = -1
            raise ConnectionError("the server is gone")
        return game_of(3).func(sequence)

    def __reduce__(self):  # the fingerprint: a count and a fault are no part of the game
        return Failing, ()


def test_a_game_that_fails_at_permutation_1234(tmp_path):
    func, path = Failing(), tmp_path / "run.npz"
    game = osv.FunctionGame(func, 3)
    func.fault = 1 + 3 * 1_234 + 2  # the empty sequence comes first
    with pytest.raises(RuntimeError) as error:
        sampled(game, 2_000, checkpoint=path)
    order = tuple(naive.permutation(3, 1_234, [[0, 1, 2]], [3]))
    assert "permutation 1234: " in str(error.value)
    assert f"ConnectionError for the sequence {order[:2]}: the server is gone" in str(error.value)
    assert osv.Valuation.load(path).n_permutations == 1_230
    func.fault, func.calls = None, 0
    assert bits(sampled(game, 2_000, checkpoint=path)) == bits(sampled(game_of(3), 2_000))
    assert func.calls >= 3 * 770


@pytest.mark.parametrize("n_jobs", [1, 2, 4])
def test_the_first_failure_is_told_whoever_is_fast(n_jobs, tmp_path):
    bad = (3, 5, 1)

    def utility(sequence):
        if tuple(sequence[:3]) == bad:
            raise ValueError("bad")
        return float(len(sequence))

    path = tmp_path / "run.npz"
    orders = (tuple(naive.permutation(3, t, [list(range(8))], [8])) for t in itertools.count())
    index = next(t for t, order in enumerate(orders) if order[:3] == bad)
    assert index > 100
    with pytest.raises(RuntimeError, match=rf"permutation {index}: .*\(3, 5, 1\)"):
        sampled(osv.FunctionGame(utility, 8), 5_000, n_jobs=n_jobs, checkpoint=path)
    assert osv.Valuation.load(path).n_permutations == index // 10 * 10


# Memory
