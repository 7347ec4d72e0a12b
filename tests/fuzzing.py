"""Odd inputs for the public functions, and what may come of them: a right answer or a clear error.

`tests/test_fuzz.py` tries a few and `benchmarks/reliability.py` thousands.
"""

from __future__ import annotations

import itertools
import math
import signal
import traceback
import warnings
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

import ordinal_shapley as osv
from runs import exact_with, sample_with

HOME = str(Path(osv.__file__).parent)
SECONDS = 60
# The first inputs of a target may compile what it calls, which is no hang.
FIRST, FIRST_SECONDS = 30, 900
_seconds = SECONDS
# Part of each warning of the library.
OWN_WARNINGS = (
    "truncation ended", "standard errors", "partition and case", "did not converge", "labels of type",
    "did not convert", "no evidence", "pass exclude", "write ",
)  # fmt: skip


class NonsenseError(AssertionError):
    """Neither a right answer nor a clear error."""


@contextmanager
def time_limit(seconds):
    """A hang is a failure."""

    def late(*_):
        raise NonsenseError(f"no answer within {seconds} s")

    if not hasattr(signal, "SIGALRM"):
        yield
        return
    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def outcome(work):
    """Do some work; "answer", or "error" for one that the library raised itself in plain words."""
    with warnings.catch_warnings(record=True) as caught, time_limit(_seconds):
        warnings.simplefilter("always")
        try:
            work()
            result = "answer"
        except NonsenseError:
            raise
        except (TypeError, ValueError, TimeoutError) as error:
            frames = traceback.extract_tb(error.__traceback__)
            if not frames[-1].filename.startswith(HOME):
                raise NonsenseError(f"an error of somebody else's: {error!r}") from error
            if len(str(error)) < 15:
                raise NonsenseError(f"an error that says little: {error!r}") from error
            result = "error"
        except Exception as error:
            if type(error).__module__.startswith("hypothesis"):
                raise
            raise NonsenseError(f"{type(error).__name__}: {error}") from error
    for warning in caught:
        text = str(warning.message)
        if not any(part in text for part in OWN_WARNINGS):
            raise NonsenseError(f"a warning of somebody else's: {text}")
    return result


def require(condition, what):
    if not condition:
        raise NonsenseError(what)


# Inputs

SCALES = (1.0, 1e-300, 1e300, 1e150, 1e-150, 1e8, 5e-324, 1e16)
NUMBERS = st.one_of(
    st.floats(-3, 3),
    st.sampled_from([0.0, -0.0, 1.0, 1e300, -1e300, 1e-300, 5e-324, 1e16, math.nan, math.inf]),
)
WRONG = st.sampled_from([None, "x", b"x", [], {}, object(), math.nan, -1, 0, 1.5, 10**30, True, 1j])


@st.composite
def tables(draw, n_rows, n_columns):
    """Features: plain, constant, duplicate, huge, tiny, of any kind."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = rng.normal(size=(n_rows, n_columns))
    for change in draw(st.lists(st.sampled_from("cdrsgoz"), max_size=3)):
        if change == "c":  # a constant column
            X[:, 0] = draw(st.sampled_from([0.0, 1.0, 1e300]))
        elif change == "d":  # duplicate rows
            X[:] = X[rng.integers(0, n_rows, n_rows)]
        elif change == "r":
            X = np.round(X)
        elif change == "s":
            with np.errstate(over="ignore"):
                X = X * draw(st.sampled_from(SCALES))
        elif change == "g":  # columns of very different scales
            with np.errstate(over="ignore"):
                X = X * 10.0 ** rng.integers(-150, 150, n_columns)
        elif change == "z":
            X = X * 0.0
    dtype = draw(st.sampled_from(["f8"] * 12 + ["f4", "f2", "i8", "u1", "?", "O", "c16", "U8", "M8[s]"]))
    with np.errstate(all="ignore"):
        X = X.astype("i8").astype(dtype) if dtype == "M8[s]" else X.astype(dtype)
    layout = draw(st.sampled_from(["C"] * 6 + ["F", "list", "1d", "3d", "readonly", "strided", "one number"]))
    if layout == "F":
        return np.asfortranarray(X)
    if layout == "list":
        return X.tolist()
    if layout == "1d" and draw(st.booleans()):
        return X[:, 0]
    if layout == "3d" and draw(st.booleans()):
        return X[None]
    if layout == "readonly":
        X.flags.writeable = False
    if layout == "strided":
        return np.repeat(X, 2, axis=1)[:, ::2]
    if layout == "one number" and X.dtype.kind == "f":
        X = X.copy()
        with np.errstate(over="ignore"):
            X[0, 0] = draw(NUMBERS)
    return X


@st.composite
def classes(draw, n):
    kind = draw(st.sampled_from(["two"] * 6 + ["three"] * 3 + ["one", "alone", "distinct", "odd"]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    y = {
        "two": lambda: np.arange(n) % 2,
        "three": lambda: np.arange(n) % 3,
        "one": lambda: np.zeros(n, int),
        "alone": lambda: np.arange(n) == 0,
        "distinct": lambda: np.arange(n),
        "odd": lambda: np.array(["b", "a", None, math.nan, 3], dtype=object)[rng.integers(0, 5, n)],
    }[kind]()
    y = rng.permutation(y)
    return y if kind == "odd" else y.astype(draw(st.sampled_from(["i8"] * 8 + ["f8", "O", "U4"])))


def mostly(usual, odd=WRONG):
    """A usual value but for one time in thirty."""
    return st.integers(0, 29).flatmap(lambda k: odd if k == 17 else usual)


OPTIONS = {
    "position_weight": mostly(st.sampled_from(["gaussian", "uniform"])),
    "C": mostly(st.sampled_from([1.0, 1e-3, 1e3, 1e-300, 1e300, 1e12])),
    "scoring": mostly(st.sampled_from(["accuracy", "balanced_accuracy", "f1", "roc_auc", "neg_log_loss"])),
    "empty_value": mostly(st.sampled_from(["majority", 0.0, -1e300, 1e-300])),
}
SAMPLING = {
    "method": mostly(st.sampled_from(["mc", "tmc", "cmc", "ctmc"])),
    "design": mostly(st.sampled_from(["independent", "antithetic", "latin"])),
    "average": mostly(st.sampled_from(["all", "selected"])),
    "class_fraction": mostly(st.sampled_from([0.8, 1.0, 1e-300, 0.5])),
    "n_permutations": mostly(st.integers(1, 25)),
    "first_permutation": mostly(st.sampled_from([0, 0, 30, 2**40])),
    "random_state": mostly(st.integers(0, 2**64 - 1)),
    "position_profile": mostly(st.booleans()),
    "n_jobs": mostly(st.sampled_from([1, 2, None])),
}


PLAIN = {"n_permutations": 12, "random_state": 0}


def some(options):
    """Any of the options, each there or not."""
    return st.fixed_dictionaries({}, optional=options)


# Targets


def check_run(game, run, options, scale):
    """What any estimate must be like, of a game with utilities up to `scale`."""
    require(np.isfinite(run.values[run.counts > 0]).all(), f"values {run.values}")
    require((run.counts[~np.isfinite(run.values)] == 0).all(), "a value that is no number")
    known = run.stderr[~np.isnan(run.stderr)]
    # Squares of utilities from 1e154 on are too large for a number, and the error is then infinite.
    require((known >= 0).all() and (np.isfinite(known).all() or scale > 1e150), f"errors {run.stderr}")
    # Every permutation hands out what its players are worth together.
    if game.order_free and options.get("method", "mc") == "mc":
        gap = game(range(game.n_players)) - game(())
        size = max(np.abs(run.values).sum(), abs(gap), scale)
        # Below the smallest normal number there are few numbers left: half of the least of all is 0.
        require(
            abs(run.values.sum() - gap) <= 1e-9 * size + np.finfo(float).tiny,
            f"sum {run.values.sum()}, expected {gap}",
        )


SIZES = st.sampled_from([2, 3, 4, 5, 6, 7, 1])


@st.composite
def logistic_inputs(draw):
    n, d, m = draw(SIZES), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    arguments = [draw(tables(n, d)), draw(classes(n)), draw(tables(m, d)), draw(classes(m))]
    if draw(st.integers(0, 29)) == 17:
        arguments[draw(st.integers(0, 3))] = draw(WRONG)
    options = draw(some(OPTIONS))
    for name in ("groups", "sample_weight"):
        if draw(st.integers(0, 9)) == 7:
            options[name] = draw(
                st.one_of(classes(n), st.lists(NUMBERS, min_size=n, max_size=n), st.just(np.ones(n)), WRONG)
            )
    return arguments, options


@given(logistic_inputs(), some(SAMPLING), mostly(st.sampled_from(["partial_ordinal", "ordinal", "classic"])))
def logistic_values(inputs, options, value):
    """LogisticGame and sample_values."""
    arguments, game_options = inputs

    def work():
        game = osv.LogisticGame(*arguments, **game_options)
        full = game(range(game.n_players))
        require(math.isfinite(full), f"a utility of {full}")
        if game.scoring != "neg_log_loss" and "empty_value" not in game_options:
            require(0.0 <= full <= 1.0, f"a score of {full}")
        run = sample_with(game, value, **{**PLAIN, **options})
        check_run(game, run, options, 1.0)
        again = sample_with(game, value, **{**PLAIN, **options, "random_state": run.seed})
        require(np.array_equal(run.values, again.values, equal_nan=True), "another answer the second time")

    return outcome(work)


@given(
    st.integers(1, 5),
    st.data(),
    some({**SAMPLING, "partition": mostly(st.sampled_from([[0, 0, 1, 1, 2], list("aabbc")])),
          "case": st.sampled_from(["within", "between"]), "alpha": mostly(st.floats(0, 1))}),
    mostly(st.sampled_from(["partial_ordinal", "ordinal", "classic", "blend"])),
)  # fmt: skip
def table_values(n, data, options, value):
    """TableGame, exact_values and sample_values."""
    size = sum(math.perm(n, k) for k in range(n + 1))
    utilities = data.draw(st.lists(NUMBERS, min_size=0 if n > 3 else size, max_size=size))

    def work():
        if n > 3 or len(utilities) % 2:
            game = osv.TableGame(n, dict(zip(sequences(n), utilities, strict=False)))
        else:
            game = osv.TableGame.from_array(n, utilities)
        taken = {"blend": ("alpha",), "partial_ordinal": ("partition", "case")}.get(value, ())
        for name in ("partition", "case", "alpha"):
            if name not in taken:
                options.pop(name, None)
        shared = {name: options[name] for name in taken if name in options}
        if "partition" in shared and isinstance(shared["partition"], list):
            shared["partition"] = options["partition"] = shared["partition"][:n]
        exact = exact_with(game, value, **shared)
        require(np.isfinite(exact.values).all(), f"exact values {exact.values}")
        run = sample_with(game, value, **{**PLAIN, **options})
        check_run(game, run, options, np.abs(game.values).max())

    return outcome(work)


def sequences(n):
    return [s for k in range(n + 1) for s in itertools.permutations(range(n), k)]


@given(SIZES, st.one_of(NUMBERS, WRONG), st.booleans(), some(SAMPLING))
def function_values(n, result, order_free, options):
    """FunctionGame of a function that returns odd things, and sample_values."""

    def work():
        game = osv.FunctionGame(lambda S: result if len(S) == n else float(len(S)), n, order_free)
        check_run(game, sample_with(game, **{**PLAIN, **options}), options, n)

    return outcome(work)


@given(st.integers(2, 12), st.data(), mostly(st.sampled_from([0.3, 0.5, 1e-300, 1 - 1e-16])))
def estimators(n, data, valid_fraction):
    """The estimators' fit, with a split of its own or validation rows."""
    cv = data.draw(st.sampled_from([None, 2]))
    kind = data.draw(st.sampled_from([osv.PartialOrdinalShapley, osv.OrdinalShapley, osv.ClassicShapley]))
    d = data.draw(st.integers(1, 3))
    arguments = [data.draw(tables(n, d)), data.draw(classes(n))]
    if data.draw(st.booleans()):
        m = data.draw(st.integers(1, 3))
        arguments += [data.draw(tables(m, d)), data.draw(classes(m))]
    options = data.draw(
        some({"sampler": SAMPLING["method"], "C": OPTIONS["C"], "scoring": OPTIONS["scoring"]})
    )

    def work():
        # Folds share permutations out, ten at a time.
        options.update(cv=cv, n_permutations=5 if cv is None else 20)
        evidence = n % 8 == 0  # takes longer than all else
        model = kind(random_state=0, valid_fraction=valid_fraction, evidence=evidence, **options)
        values = model.fit(*arguments).values_
        require(np.isfinite(values).all(), f"values {values}")

    return outcome(work)


@given(st.data())
def rules(data):
    """Stopping rules, truncation and the bounds."""
    number = mostly(st.one_of(st.floats(0, 1), st.integers(1, 500), NUMBERS, st.integers(-2, 10**20)))
    draw = data.draw
    calls = [
        lambda: osv.RelativeChange(draw(number), draw(number), draw(number)),
        lambda: osv.MaxStandardError(draw(number), draw(st.one_of(st.booleans(), WRONG)), draw(number)),
        lambda: osv.RankStability(draw(number), draw(number), draw(number), draw(number)),
        lambda: osv.MaxSeconds(draw(number)) | osv.MaxEvaluations(draw(number)),
        lambda: osv.PatienceTruncation(draw(number), draw(number)),
        lambda: osv.PaperTruncation(draw(number)),
        lambda: osv.bounds.tmc_tail(draw(number), draw(number), draw(number), n_permutations=draw(number)),
        lambda: osv.bounds.permutations_needed(draw(number), draw(number), draw(number), draw(number)),
        lambda: osv.bounds.cmc_tail(
            draw(number), draw(number), draw(number), q=draw(number), n_permutations=draw(number)
        ),
    ]
    call = calls[draw(st.integers(0, len(calls) - 1))]

    def work():
        made = call()
        if isinstance(made, float | int):
            require(not math.isnan(made), "a bound that is no number")
        elif hasattr(made, "begin"):
            rule = made | osv.MaxPermutations(300)
            sample_with(osv.TableGame(2, {(0, 1): 1.0}), stopping=rule, random_state=0)

    return outcome(work)


TARGETS = (logistic_values, table_values, function_values, estimators, rules)


def fuzz(target, n_inputs, start=0):
    """Try a target with so many inputs; how many gave an answer, and how many an error."""
    counts = Counter()
    inner = target.hypothesis.inner_test

    def counted(*arguments, **more):
        global _seconds
        _seconds = FIRST_SECONDS if counts.total() < FIRST else SECONDS
        counts[inner(*arguments, **more)] += 1

    target.hypothesis.inner_test = counted
    try:
        configured = settings(
            max_examples=n_inputs, deadline=None, database=None, suppress_health_check=list(HealthCheck)
        )(seed(start)(target))
        configured()
    finally:
        target.hypothesis.inner_test = inner
    return counts
