"""What users' functions raise is reported as it happened, whatever its class, and nothing is called again."""

from __future__ import annotations

import contextlib
import itertools
import math
import pickle
import threading
import traceback

import joblib
import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import ordinal_shapley as osv
from ordinal_shapley.games.base import UtilityError
from runs import sample_with

BACKENDS = [None, "threading", pytest.param("loky", marks=pytest.mark.slow)]


def exceptions():
    """Of classes that no other module knows, so that they are sent by value."""

    class TwoArgumentsError(Exception):
        def __init__(self, place, reason):
            super().__init__(f"{reason} at {place}")

    class HeldError(ValueError):
        def __init__(self, place, reason):
            super().__init__(f"{reason} at {place}")
            self.lock = threading.Lock()

    class SpeechlessError(TypeError):
        def __init__(self, place, reason):
            self.place, self.reason = place, reason

        def __str__(self):
            raise self

    class PlainError(KeyError):
        def __init__(self, *arguments):
            super().__init__("no at 3")

    return {kind.__name__: kind for kind in (TwoArgumentsError, HeldError, SpeechlessError, PlainError)}


def failing(kind, n=5, length=3, worth=float):
    def utility(sequence):
        if len(sequence) == length and sequence[-1] == 0:
            raise kind(3, "no")
        return worth(len(sequence))

    return osv.FunctionGame(utility, n)


def share(length):
    return 1 / math.factorial(length)


@contextlib.contextmanager
def workers(backend):
    with contextlib.nullcontext() if backend is None else joblib.parallel_config(backend=backend, n_jobs=2):
        yield None if backend is None else 2


def exact(game, n_jobs):
    return osv.exact_values(game, "partial_ordinal", n_jobs=n_jobs)


def sampled(game, n_jobs):
    return osv.sample_values(game, "partial_ordinal", "mc", n_permutations=60, random_state=0, n_jobs=n_jobs)


def weighted(game, n_jobs):
    options = {"order_weight": game, "n_permutations": 60, "random_state": 0, "method": "mc"}
    return sample_with(osv.TableGame(7, {(0, 1): 1.0}), "weighted_ordinal", n_jobs=n_jobs, **options)


def causes(error):
    while error is not None:
        yield error
        error = error.__cause__


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("run", [exact, sampled, weighted])
@pytest.mark.parametrize("name", exceptions())
def test_exceptions_of_any_class(name, run, backend):
    kind = exceptions()[name]
    # Weights of small sets are looked at before the run.
    game = failing(kind, 7, 5, share) if run is weighted else failing(kind)
    with workers(backend) as n_jobs, pytest.raises(RuntimeError) as found:
        run(game, n_jobs)
    assert type(found.value) is RuntimeError
    assert name in str(found.value)
    assert "0)" in str(found.value)  # the sequence
    assert ("order_weight" in str(found.value)) == (run is weighted)
    assert ("permutation" in str(found.value)) == (run is not exact)
    if name != "SpeechlessError":
        assert "no at 3" in str(found.value)
    if backend == "loky":
        assert "in utility" in "".join(traceback.format_exception(found.value))
    else:  # where it was raised
        raised = [error for error in causes(found.value) if type(error).__name__ == name]
        assert traceback.extract_tb(raised[0].__traceback__)[-1].name == "utility"


@pytest.mark.parametrize("backend", [None, "threading"])
@pytest.mark.parametrize("run", [exact, sampled])
def test_a_function_that_raises_once_is_called_once(run, backend):
    asked, lock = [], threading.Lock()

    def utility(sequence):
        with lock:
            asked.append(tuple(sequence.tolist()))
            count = len(asked)
        if count == 50:
            raise ArithmeticError("only now")
        return 0.0

    with workers(backend) as n_jobs, pytest.raises(RuntimeError) as found:
        run(osv.FunctionGame(utility, 5), n_jobs)
    assert isinstance(found.value.__cause__, ArithmeticError)
    at_fault = asked[49]
    assert str(at_fault) in str(found.value)
    if run is exact:  # each sequence has one utility
        assert asked.count(at_fault) == 1
    if backend is None:
        assert len(asked) == 50


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), "word", None])
def test_what_is_no_number_is_not_asked_for_again(bad):
    calls = itertools.count(1)
    game = osv.FunctionGame(lambda sequence: bad if next(calls) == 20 else 1.0, 4)
    with pytest.raises((ValueError, TypeError), match="permutation"):
        osv.sample_values(game, "partial_ordinal", "mc", n_permutations=50, random_state=0)
    assert next(calls) == 21


def test_a_model_that_fails_once_is_fitted_once():
    calls = itertools.count(1)

    def score(model, X, y):
        if next(calls) == 30:
            raise ArithmeticError("only now")
        return 0.5

    X, y = np.arange(6.0)[:, None], [0, 1, 0, 1, 0, 1]
    game = osv.EstimatorGame(DecisionTreeClassifier(), X, y, X, y, scoring=score, empty_value=0.0)
    with pytest.raises(RuntimeError) as found:
        osv.exact_values(game, "partial_ordinal", n_jobs=1)
    assert isinstance(found.value.__cause__, ArithmeticError)
    assert next(calls) == 31


def test_an_exception_that_cannot_be_read_elsewhere():
    error = UtilityError((2, 0), RuntimeError("func raised"))
    error.failure.__cause__ = exceptions()["HeldError"](3, "no")
    again = pickle.loads(pickle.dumps(error)).failure
    assert str(again) == "func raised"
    assert "HeldError" in str(again.__cause__)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_what_ends_a_process_ends_the_run(kind):
    def utility(sequence):
        if len(sequence) == 3:
            raise kind
        return 0.0

    for run in (exact, sampled):
        with pytest.raises(kind):
            run(osv.FunctionGame(utility, 4), None)


def test_what_a_compiled_function_raises_behind_the_last_utility():
    def last(game):
        return 1.0 * game.length

    def push(game, player):
        pass

    def pop(game, player):
        if game.length == 1 and player == 2:
            raise ValueError("two is too many")

    with pytest.raises(RuntimeError, match="pop") as found:
        osv.exact_values(osv.CompiledGame(3, last, push, pop), "partial_ordinal")
    assert isinstance(found.value.__cause__, ValueError)


def test_errors_of_arguments_are_of_a_plain_class():
    class OddError(ValueError):
        def __init__(self, one, two):
            super().__init__(one, two)

    class Key(tuple):
        __slots__ = ()

        def __array__(self, *arguments, **options):
            raise OddError(1, 2)

    with pytest.raises(ValueError, match="utilities has the key") as found:
        osv.TableGame(2, {Key((0, 1)): 1.0})
    assert type(found.value) is ValueError
