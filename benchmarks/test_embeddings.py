"""Made-up embeddings, and digits: single evaluations and walks, against scikit-learn.

One thread each, in turns, CPU time. scikit-learn's liblinear refuses more than two classes, so it fits one
binary model a class. Nothing is asserted about time.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import ordinal_shapley as osv
from bench import problems, refit
from bench.timing import FULL, Baselines, report, rounds

ROWS = 5_000 if FULL else 60
COLUMNS = (64, 256, 512, 1024) if FULL else (16,)
LENGTHS = (20, 50, 200, 1000, 5000) if FULL else (20, 60)
DECAY = 0.7
CELLS = [
    *((0.0, n_classes, d, m) for n_classes in (2, 10) for d in COLUMNS for m in LENGTHS),
    *((DECAY, n_classes, COLUMNS[-2:][0], m) for n_classes in (2, 10) for m in LENGTHS[::2]),
]
# What a game takes to make counts for so many evaluations.
EVALUATIONS_A_GAME = 100
SECONDS = 1.5


def timed_game(problem):
    osv.LogisticGame([[0.0], [1.0]], [0, 1], [[0.5]], [0])  # imports what it needs
    start = time.process_time()
    game = osv.LogisticGame(problem.X, problem.y, problem.X_valid, problem.y_valid)
    return game, time.process_time() - start


@functools.lru_cache(maxsize=1)
def game_of(decay, n_classes, d):
    problem = problems.embeddings(ROWS, d, n_classes, 500 if FULL else 50, decay=decay)
    with threadpool_limits(1):
        return problem, *timed_game(problem)


def random_sequence(y, m, rng):
    """Random rows, a row of every class among the first."""
    order = rng.permutation(y.size)
    leaders = np.unique(y[order], return_index=True)[1]
    return np.concatenate([order[leaders], np.delete(order, leaders)])[:m]


@pytest.mark.benchmark(timer=time.process_time)
@pytest.mark.parametrize(("decay", "n_classes", "d", "m"), CELLS)
def test_one_evaluation(benchmark, decay, n_classes, d, m):
    problem, game, setup_seconds = game_of(decay, n_classes, d)
    rng, baselines, gaps = np.random.default_rng(m), Baselines(), []

    def refit_it():
        sequence = random_sequence(problem.y, m, rng)
        seconds, accuracies = refit.with_sklearn(problem, sequence, native=False, lengths=[m])
        return sequence, seconds, accuracies[-1]

    def evaluate(sequence, expected):
        gaps.append(abs(game(sequence) - expected))

    def theirs():
        sequence, seconds, expected = refit_it()
        baselines.add("scikit-learn", seconds)
        return (sequence, expected), {}

    with threadpool_limits(1):
        sequence, seconds, expected = refit_it()
        evaluate(sequence, expected)  # compiles
        n_rounds = rounds(max(1, min(15, int(SECONDS / seconds))))
        benchmark.pedantic(evaluate, setup=theirs, rounds=n_rounds)
    # liblinear stops at a tolerance, ours when no decision can change.
    assert np.mean(gaps) < 0.02
    report(
        benchmark,
        "evaluations",
        f"{problem.name}, m = {m:,}",
        baselines=baselines,
        targets={"scikit-learn": 12 if 2 * m <= d else 4},
        decay=decay,
        classes=n_classes,
        columns=d,
        length=m,
        rows=ROWS,
        validation_rows=problem.y_valid.size,
        setup_seconds=setup_seconds,
        setup_share=setup_seconds / EVALUATIONS_A_GAME,
        evaluations_a_game=EVALUATIONS_A_GAME,
        gap=float(np.mean(gaps)),
    )


class Walks(NamedTuple):
    """Random orders of so many rows, evenly from the least to the most; prefixes of each to refit."""

    make: Callable[[], problems.Problem]
    n_orders: int
    least: int
    most: int
    n_refitted: int
    target: int = 150


if FULL:
    WALKS = {
        "2,000 x 512, 2 classes": Walks(lambda: problems.embeddings(2_000, 512, 2), 20, 20, 100, 4),
        "5,000 x 512, 10 classes": Walks(lambda: problems.embeddings(5_000, 512, 10), 20, 20, 100, 2),
        "digits": Walks(problems.digits, 2, 1_000, 1_000, 12),
    }
else:
    WALKS = {"small": Walks(lambda: problems.embeddings(60, 16, 3, 50), 3, 10, 20, 2)}


@pytest.mark.benchmark(timer=time.process_time)
@pytest.mark.parametrize("name", WALKS)
def test_walks(benchmark, name):
    case = WALKS[name]
    problem = case.make()
    rng, baselines, gaps = np.random.default_rng(0), Baselines(), []
    lengths = np.linspace(case.least, case.most, case.n_orders).round().astype(int)
    orders = [random_sequence(problem.y, int(m), rng) for m in lengths]
    fitted = [refit.fitted_lengths(problem.y[order], problem.n_classes) for order in orders]
    fits = sum(map(len, fitted))

    def ours():
        return [game.prefix_utilities(order) for order in orders]

    def refit_some():
        seconds = 0.0
        for order, possible, known in zip(orders, fitted, utilities, strict=True):
            chosen = np.unique(np.linspace(possible[0], possible[-1], case.n_refitted).round().astype(int))
            taken, accuracies = refit.with_sklearn(problem, order, native=False, lengths=chosen.tolist())
            seconds += taken / len(chosen) * len(possible)
            gaps.append(np.nanmean(np.abs(known - accuracies)))
        baselines.add("scikit-learn", seconds / fits)

    with threadpool_limits(1):
        game, setup_seconds = timed_game(problem)
        utilities = ours()  # compiles
        benchmark.pedantic(ours, setup=refit_some, rounds=rounds(3))
    assert np.mean(gaps) < 0.02
    report(
        benchmark,
        "walks",
        name,
        units=fits,
        baselines=baselines,
        targets={"scikit-learn": case.target},
        rows=problem.X.shape[0],
        columns=problem.X.shape[1],
        classes=problem.n_classes,
        validation_rows=problem.y_valid.size,
        n_orders=case.n_orders,
        least=case.least,
        most=case.most,
        refitted=case.n_refitted,
        setup_seconds=setup_seconds,
        setup_share=setup_seconds / fits,
        gap=float(np.mean(gaps)),
    )
