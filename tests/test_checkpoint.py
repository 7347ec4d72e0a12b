"""Runs that end in any way and go on: to the bits of one that never ended, or to an error that says why."""

from __future__ import annotations

import errno
import itertools
import math
import os
import re
import signal
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import ordinal_shapley as osv
from ordinal_shapley.sampling import checkpoint as module
from problems import wine
from runs import SAMPLED, bits, game_of, sample_with, script


def sampled(path, n_permutations=70, game=None, **options):
    options = {"random_state": 3, "checkpoint": path, "n_permutations": n_permutations, **options}
    return sample_with(game_of(5) if game is None else game, **options)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.npz"


@pytest.fixture(autouse=True)
def _write_often(monkeypatch):
    """Where the clock stands still no write takes time, and every shard is written."""
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: 0.0))


# Going on


@pytest.mark.filterwarnings("ignore:.*standard errors", "ignore:partition and case")
@pytest.mark.filterwarnings("ignore:.*truncation ended")
@pytest.mark.parametrize("name", SAMPLED)
def test_a_longer_run_goes_on_to_the_same_bits(name, path):
    options = SAMPLED[name]
    whole = sampled(None, **options)
    for n, n_jobs in ((7, 1), (23, 2), (40, 1), (70, 2)):
        short = sampled(path, n, n_jobs=n_jobs, **options)
        assert short.n_permutations == n
        assert bits(short) == bits(sampled(None, n, **options))
    assert bits(short) == bits(whole)
    assert (short.settings.digest, short.stopped_by) == (whole.settings.digest, whole.stopped_by)


def test_the_same_call_again_gives_the_result_at_once(path):
    one, two = struck(4), struck(4)
    first, again = sampled(path, game=one), sampled(path, game=two)
    assert (one.func.calls, two.func.calls) == (70 * 4 + 1, 1)
    assert bits(first) == bits(again)
    assert again.stopped_by == "MaxPermutations"


def test_seeds_that_nobody_chose_are_kept(path):
    first = sampled(path, 30, random_state=None)
    second = sampled(path, 60, random_state=None)
    assert second.seed == first.seed
    assert bits(second) == bits(sampled(None, 60, random_state=first.seed))
    assert bits(sampled(path, 60, random_state=first.seed)) == bits(second)


@pytest.mark.parametrize(
    "rule",
    [
        osv.RelativeChange(0.25, window=200),
        osv.RankStability(0.85, overlap=0.5, window=300),
        osv.RelativeChange(0.25) & osv.RankStability(0.85, overlap=0.5) | osv.MaxPermutations(3_000),
        osv.MaxStandardError(0.07),
    ],
    ids=["change", "ranks", "both", "errors"],
)
def test_rules_remember(rule, path):
    game = game_of(4)
    whole = osv.sample_values(game, "partial_ordinal", "mc", stopping=rule, random_state=5)
    assert whole.converged
    for strike in (1, 90, 405, 410, 480):
        path.unlink(missing_ok=True)
        with pytest.raises(KeyboardInterrupt):
            sample_with(
                struck(4, strike), stopping=rule | osv.MaxPermutations(123), random_state=5, checkpoint=path
            )
        for extra in (150, 200, 200, 210):  # breaks at ends of rounds and elsewhere, and twice at the same
            sample_with(struck(4), stopping=rule, n_permutations=extra, random_state=5, checkpoint=path)
        run = sample_with(struck(4), stopping=rule, random_state=5, checkpoint=path)
        assert run.n_permutations == whole.n_permutations
        assert bits(run) == bits(whole)
        assert (run.stopped_by, run.converged) == (whole.stopped_by, True)


def test_time_begins_anew_with_each_call(path, monkeypatch):
    monkeypatch.setattr(time, "monotonic", itertools.count().__next__)  # each look at the clock is a second
    for _ in range(3):
        run = sample_with(game_of(4), stopping=osv.MaxSeconds(200), random_state=3, checkpoint=path)
        assert run.stopped_by == "MaxSeconds"
    assert bits(run) == bits(sampled(None, run.n_permutations, game_of(4)))


def test_a_checkpoint_is_a_result_so_far(path):
    game = osv.FunctionGame(game_of(3).func, 3, names=["a", "b", "c"])
    sampled(path, 30, game)
    held = osv.Valuation.load(path)
    assert (held.stopped_by, held.converged) == ("checkpoint", False)
    assert held.player_names.tolist() == ["a", "b", "c"]
    rest = sampled(None, 20, game, first_permutation=30)
    pooled = osv.Valuation.merge([held, rest])
    np.testing.assert_allclose(pooled.values, sampled(None, 50, game).values, rtol=0, atol=1e-12)


# Interrupts and kills


class Struck:
    """The utility of game_of(n), interrupted at one of its calls."""

    def __init__(self, n):
        self.func = game_of(n).func
        self.strike = math.inf
        self.calls = 0

    def __call__(self, sequence):
        self.calls += 1
        if self.calls == self.strike:
            signal.raise_signal(signal.SIGINT)
        return self.func(sequence)

    def __reduce__(self):  # the fingerprint: the count is no part of the game
        return Struck, (4,)


def struck(n, strike=math.inf):
    func = Struck(n)
    func.strike = strike
    return osv.FunctionGame(func, n)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("strike", [2, 3, 31, 41, 42, 155, 279])
def test_ctrl_c_saves(strike, n_jobs, path):
    whole = sampled(None, game=struck(4))
    with pytest.raises(KeyboardInterrupt) as interrupt:
        sampled(path, game=struck(4, strike), n_jobs=n_jobs)
    held = osv.Valuation.load(path).n_permutations
    assert str(held) in str(interrupt.value) and repr(str(path)) in str(interrupt.value)
    if n_jobs == 1:
        assert held == (strike - 2) // 40 * 10  # whole shards
    assert bits(sampled(path, game=struck(4))) == bits(whole)
    assert [p.name for p in path.parent.iterdir()] == ["run.npz"]


def test_ctrl_c_waits_for_what_must_not_be_half_done(path, monkeypatch):
    """It strikes within an addition to the profile, and within a write."""
    from ordinal_shapley.sampling import state

    whole = sampled(None, position_profile=True)
    real_add, real_write = state.add_to_profile, module.write_file
    for target, name, real in ((state, "add_to_profile", real_add), (module, "write_file", real_write)):
        for strike in (1, 3, 6):
            path.unlink(missing_ok=True)
            calls = itertools.count(1)

            def struck(*arguments, real=real, calls=calls, strike=strike):
                real(*arguments)
                if next(calls) == strike:
                    signal.raise_signal(signal.SIGINT)

            with monkeypatch.context() as patch:
                patch.setattr(target, name, struck)
                with pytest.raises(KeyboardInterrupt):
                    sampled(path, position_profile=True)
            held = osv.Valuation.load(path).n_permutations
            assert held == 10 * (strike if target is state else strike - 1)
            assert bits(sampled(path, position_profile=True)) == bits(whole)


KILLED = """
import itertools, os, pathlib, signal, sys, time, warnings
import numpy as np
from types import SimpleNamespace
import ordinal_shapley as osv
from ordinal_shapley.sampling import checkpoint
from runs import bits, game_of

warnings.simplefilter("ignore", DeprecationWarning)  # of forks where there are threads
checkpoint.time = SimpleNamespace(monotonic=lambda: 0.0)
path = sys.argv[1]
options = {"n_permutations": 60, "random_state": 3, "checkpoint": path, "position_profile": True}
whole = bits(osv.sample_values(game_of(5), **{**options, "checkpoint": None}))


def forked(work):
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    return os.waitpid(child, 0)[1]


def dying(module, name, strike, before):
    real, calls = getattr(module, name), itertools.count(1)

    def call(*arguments, **more):
        now = next(calls) == strike
        if now and before:
            if name == "write_bytes":
                real(arguments[0], bytes(arguments[1])[:100])  # half a file
            os.kill(os.getpid(), signal.SIGKILL)
        answer = real(*arguments, **more)
        if now:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    def work():
        setattr(module, name, call)
        osv.sample_values(game_of(5), **options)

    return work


killed = 0
for module, name in (
    (pathlib.Path, "write_bytes"), (os, "fsync"), (pathlib.Path, "replace"), (os, "open"), (os, "ftruncate")
):
    for before in (True, False):
        pathlib.Path(path).unlink(missing_ok=True)
        held = 0
        for strike in (1, 2, 4):
            status = forked(dying(module, name, strike, before))
            killed += os.WIFSIGNALED(status)
            if pathlib.Path(path).exists():
                now = osv.Valuation.load(path).n_permutations
                assert now >= held, (name, before, strike, now, held)
                held = now
        assert bits(osv.sample_values(game_of(5), **options)) == whole, (name, before)
        left = sorted(p.name for p in pathlib.Path(path).parent.iterdir())
        assert left == ["run.npz"], left
print("killed", killed)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_kill_9_within_a_write(path):
    assert int(script(KILLED, path).split()[1]) >= 24


# Files that cannot be used


def changed(**changes):
    problem = wine(True).first(8)
    arguments = {**problem._asdict(), **changes}
    return osv.LogisticGame(**arguments)


OTHERS = {
    "X": lambda p: {"X": p.X + 1e-12},
    "y": lambda p: {"y": np.roll(p.y, 1)},
    "X_valid": lambda p: {"X_valid": p.X_valid * 2},
    "y_valid": lambda p: {"y_valid": np.roll(p.y_valid, 1)},
    "C, sample_weight or class_weight": lambda p: {"C": 2.0},
    "multi_class": lambda p: {"multi_class": "multinomial"},
    "fit_intercept": lambda p: {"fit_intercept": "free"},
    "class_weight": lambda p: {"class_weight": "balanced"},
    "groups": lambda p: {"groups": [0, 0, 1, 1, 2, 2, 3, 3]},
    "position_weight": lambda p: {"position_weight": "uniform"},
    "scoring": lambda p: {"scoring": "balanced_accuracy"},
    "empty_value": lambda p: {"empty_value": 0.25},
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_data_are_refused(name, path):
    problem = wine(True).first(8)
    sampled(path, 1, changed(), method="tmc")
    content = path.read_bytes()
    with pytest.raises(ValueError, match=name):
        sampled(path, 2, changed(**OTHERS[name](problem)), method="tmc")
    assert path.read_bytes() == content
    assert sampled(path, 1, changed(), method="tmc").n_permutations == 1


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"value": "ordinal"}, r"value .*\bOrdinal"),
        ({"method": "tmc"}, "method .*PaperTruncation"),
        ({"design": "latin"}, "method .*latin"),
        ({"random_state": 4}, "random_state .*3.*4"),
        ({"first_permutation": 10}, "first_permutation .*10"),
        ({"position_profile": True}, "position_profile"),
        ({"partition": [0, 0, 1, 1, 2], "case": "within"}, "value .*within"),
        ({"value": "blend", "alpha": 0.25}, "value .*Blend"),
        ({"method": "cmc", "strata": [0, 0, 0, 1, 1]}, "method .*strata"),
        ({"game": osv.TableGame(5, {})}, "game"),
    ],
)
def test_other_settings_are_refused(options, named, path):
    sampled(path, 10)
    with pytest.raises(ValueError, match=named) as error:
        sampled(path, 10, **options)
    assert repr(str(path)) in str(error.value)


def test_utilities_that_changed_are_refused(path):
    """The target of the patience rule comes from utilities: another one says that these are others."""
    hidden = threading.local()  # cannot be taken apart, so it is no part of a fingerprint
    hidden.worth = 1.0

    def utility(sequence):
        return hidden.worth * len(sequence)

    options = {"method": "tmc", "truncation": osv.PatienceTruncation(0.01, 9)}
    sampled(path, 10, osv.FunctionGame(utility, 4), **options)
    hidden.worth = 1.0 + 1e-15
    with pytest.raises(ValueError, match="game"):
        sampled(path, 20, osv.FunctionGame(utility, 4), **options)


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04", b"{}", None])
def test_other_files_are_refused_and_left_alone(content, path):
    if content is None:  # a result is no checkpoint
        sampled(None, 10).save(path)
        content = path.read_bytes()
    path.write_bytes(content)
    with pytest.raises(ValueError, match="checkpoint"):
        sampled(path)
    assert path.read_bytes() == content
    assert [p.name for p in path.parent.iterdir()] == ["run.npz"]


def test_damaged_files_are_refused_or_right(path):
    sampled(path, 30, position_profile=True)
    whole = bits(sampled(None, 40, position_profile=True))
    good = path.read_bytes()
    step = len(good) // 60
    for end in range(0, len(good), step):
        path.write_bytes(good[:end])
        with pytest.raises(ValueError, match="cannot be used"):
            sampled(path, 40, position_profile=True)
    refused = right = 0
    for place in range(0, len(good), step):
        path.write_bytes(good[:place] + bytes([good[place] ^ 0x55]) + good[place + 1 :])
        try:
            right += bits(sampled(path, 40, position_profile=True)) == whole
        except ValueError as error:
            refused += "cannot be used" in str(error)
    assert refused + right == len(range(0, len(good), step))
    assert refused > 30


def test_places_that_are_none(tmp_path):
    with pytest.raises(ValueError, match="checkpoint"):
        sampled(tmp_path)
    with pytest.raises(OSError, match=r"none/run.npz"):
        sampled(tmp_path / "none" / "run.npz")


def test_a_full_disk_at_the_start(path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match=r"run.npz"):
        sampled(path)
    assert list(path.parent.iterdir()) == []


def test_a_disk_that_fills_up(path, monkeypatch):
    whole = sampled(None)
    real, calls = Path.write_bytes, itertools.count(1)

    def filling(self, data):
        if next(calls) in (4, 5, 6, 8):
            real(self, bytes(data)[:50])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(self, data)

    monkeypatch.setattr(Path, "write_bytes", filling)
    with pytest.warns(RuntimeWarning) as caught:
        run = sampled(path)
    # Nothing is lost but the writes: the next ones make up for them. The last one failed as well.
    assert bits(run) == bits(whole)
    held = [re.search(r"\d+ permutations", str(warning.message))[0] for warning in caught]
    assert held == ["20 permutations", "60 permutations"]
    assert osv.Valuation.load(path).n_permutations == 60
    assert bits(sampled(path)) == bits(whole)
    assert [p.name for p in path.parent.iterdir()] == ["run.npz"]


# Two runs, one file


def test_a_lock_that_was_left_behind_is_no_obstacle(path):
    lock = path.with_name(".run.npz.lock")
    lock.write_text("process 1 on another machine")
    assert sampled(path, 10).n_permutations == 10
    assert not lock.exists()


def test_file_systems_without_locks(path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def no_locks(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with pytest.warns(UserWarning, match="lock"):
        assert sampled(path, 10).n_permutations == 10


# Estimators


def test_estimators_go_on(path):
    problem = wine(True).first(9)
    options = {"sampler": "tmc", "random_state": 1, "evidence": False}

    def fit(n, checkpoint):
        model = osv.PartialOrdinalShapley(n_permutations=n, checkpoint=checkpoint, **options)
        return model.fit(problem.X, problem.y, problem.X_valid, problem.y_valid).valuation_

    fit(10, path)
    assert bits(fit(20, path)) == bits(fit(20, None))
    with pytest.raises(ValueError, match="random_state"):  # a split must come again
        osv.ClassicShapley(checkpoint=path).fit(problem.X, problem.y)
