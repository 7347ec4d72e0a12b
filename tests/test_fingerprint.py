"""Which functions count as the same when results are pooled."""

from __future__ import annotations

import functools
import json
import threading

import numpy as np
import pytest
from numba import njit

import ordinal_shapley as osv
from ordinal_shapley.games._fingerprint import fingerprint
from ordinal_shapley.sampling import driver
from runs import sample_with, script

FACTOR = 2.0
CALLS = 0


def scaled(factor):
    return lambda sequence: float(len(sequence)) * factor


def compiled(factor):
    @njit
    def utility(sequence):
        return len(sequence) * factor

    return utility


def times(sequence, factor):
    return len(sequence) * factor


def of_factor(sequence):
    return len(sequence) * FACTOR


def helped(sequence):
    return of_factor(sequence)


class Scaled:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, sequence):
        return len(sequence) * self.factor

    def again(self, sequence):
        return len(sequence) * self.factor


class Slotted(Scaled):
    __slots__ = ("more",)

    def __init__(self, factor):
        super().__init__(1.0)
        self.more = factor


MAKERS = {
    "closure": scaled,
    "compiled": compiled,
    "default": lambda factor: lambda sequence, factor=factor: len(sequence) * factor,
    "keyword": lambda factor: lambda sequence, *, factor=factor: len(sequence) * factor,
    "partial": lambda factor: functools.partial(times, factor=factor),
    "callable": Scaled,
    "slots": Slotted,
    "bound": lambda factor: Scaled(factor).again,
    "cached": lambda factor: functools.lru_cache(scaled(factor)),
    "array": lambda factor: scaled(np.array([1.0, factor])),
    "dictionary": lambda factor: scaled({"a": [factor], "b": {1, 2, "three"}}),
    "partial of an object": lambda factor: functools.partial(Scaled(factor)),
    "bound of C": lambda factor: np.float64(factor).__add__,
}


def run(func, first):
    game = func if isinstance(func, osv.FunctionGame) else osv.FunctionGame(func, 3)
    return sample_with(game, n_permutations=10, first_permutation=first, random_state=0)


@pytest.mark.parametrize("kind", MAKERS)
def test_data_tells_functions_apart(kind):
    make = MAKERS[kind]
    assert fingerprint(make(2.0)) == fingerprint(make(2.0))
    assert fingerprint(make(2.0)) != fingerprint(make(3.0))


@pytest.mark.parametrize("kind", ["closure", "compiled", "partial", "callable"])
def test_only_results_of_the_same_function_pool(kind):
    make = MAKERS[kind]
    one = run(make(2.0), 0)
    assert osv.Valuation.merge([one, run(make(2.0), 10)]).n_permutations == 20
    with pytest.raises(ValueError, match="differ in"):
        osv.Valuation.merge([one, run(make(3.0), 10)])


def test_only_results_of_one_minor_version_pool(monkeypatch):
    def part(version, first):
        monkeypatch.setattr(driver, "__version__", version)
        return run(osv.TableGame(3, {(0, 1): 1.0}), first)

    assert osv.Valuation.merge([part("1.2.0", 0), part("1.2.3.dev0", 10)]).n_permutations == 20
    for other in ("1.3.0", "2.2.0"):
        with pytest.raises(ValueError, match="differ in"):
            osv.Valuation.merge([part("1.2.0", 0), part(other, 10)])


def test_weights_of_orders_too():
    def part(early, first):
        def weight(sequence):
            return 1.0 if list(sequence) == sorted(sequence, reverse=not early) else 0.0

        game = osv.TableGame(3, {(0, 1): 1.0})
        return sample_with(
            game, osv.WeightedOrdinal(weight), n_permutations=10, first_permutation=first, random_state=0
        )

    assert osv.Valuation.merge([part(True, 0), part(True, 10)]).n_permutations == 20
    with pytest.raises(ValueError, match="differ in"):
        osv.Valuation.merge([part(True, 0), part(False, 10)])


def test_global_variables_count_also_those_of_helpers(monkeypatch):
    before = fingerprint(of_factor), fingerprint(helped), fingerprint(times)
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    after = fingerprint(of_factor), fingerprint(helped), fingerprint(times)
    assert [a == b for a, b in zip(before, after, strict=True)] == [False, False, True]


def test_counting_calls_makes_no_other_function():
    calls = 0

    def utility(sequence):
        global CALLS
        nonlocal calls
        CALLS += 1
        calls += 1
        return float(len(sequence))

    assert osv.Valuation.merge([run(utility, 0), run(utility, 10)]).n_permutations == 20
    assert calls == CALLS > 0


def test_a_memory_that_fills_makes_no_other_game():
    known = {}

    def utility(sequence):
        return known.setdefault(tuple(sequence.tolist()), float(len(sequence)))

    game = osv.FunctionGame(utility, 3)
    assert osv.Valuation.merge([run(game, 0), run(game, 10)]).n_permutations == 20
    assert known


def test_what_refers_to_itself_or_cannot_be_taken_apart():
    def recursive(sequence):
        return recursive(sequence[1:]) if len(sequence) else 0.0

    ring = [1.0]
    ring.append(ring)
    deep = None
    for _ in range(10_000):
        deep = [deep]
    lock = threading.Lock()
    for thing in (recursive, scaled(ring), scaled(lock), scaled(deep), scaled(iter([1])), len, njit):
        assert fingerprint(thing) == fingerprint(thing)
    assert fingerprint(scaled(lock)) == fingerprint(scaled(threading.Lock()))


@pytest.mark.slow
def test_another_process_finds_the_same():
    """With another seed for hashes of strings, which the order of sets depends on."""
    code = (
        "import importlib.util, json, sys\n"
        f"spec = importlib.util.spec_from_file_location({__name__!r}, {__file__!r})\n"
        "there = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(there)\n"
        "print(json.dumps(there.all_fingerprints()))\n"
    )
    assert json.loads(script(code, PYTHONHASHSEED="7")) == all_fingerprints()


def all_fingerprints():
    return {kind: fingerprint(make(2.0)) for kind, make in MAKERS.items()} | {"helped": fingerprint(helped)}
