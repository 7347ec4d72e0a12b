"""Models of scikit-learn in their compiled games, against a loop that fits each prefix with scikit-learn.

Both take turns, one thread each; times are CPU times. The loop fits some of the prefixes, ours all of them.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_limits

import ordinal_shapley as osv
from bench import problems
from bench.timing import FULL, Baselines, report, rounds


class Case(NamedTuple):
    """A problem, a model, the prefixes that ours fits and those that the loop fits, and the ratio aimed at.

    With `block` the first so many rows enter together, untimed.
    """

    make: Callable[[], problems.Problem]
    model: Any
    last: int
    fitted: range
    target: int | None = None
    block: int = 0
    is_long: bool = False


def embeddings() -> problems.Problem:
    return problems.embeddings(5_000, 512, 10, decay=0.7)


CASES = {
    "wine-raw": Case(problems.wine_raw, LogisticRegression(), 89, range(14, 90, 15), 150),
    "wdbc": Case(problems.wdbc, LogisticRegression(), 284, range(34, 285, 50), 150),
    "digits": Case(problems.digits, LogisticRegression(), 300, range(50, 301, 50), 150),
    "digits-ridge": Case(problems.digits, RidgeClassifier(), 300, range(50, 301, 50)),
    "digits-neighbors": Case(problems.digits, KNeighborsClassifier(), 300, range(50, 301, 50)),
    "embeddings-100": Case(embeddings, LogisticRegression(), 100, range(40, 101, 20), 50, is_long=True),
    "embeddings-2500": Case(
        embeddings, LogisticRegression(), 2_510, range(2_505, 2_506), 8, block=2_500, is_long=True
    ),
}


@pytest.mark.benchmark(timer=time.process_time)
@pytest.mark.parametrize("name", CASES)
def test_model(benchmark, name):
    case = CASES[name]
    if case.is_long and not FULL:
        pytest.skip("takes minutes; BENCH_FULL=1 runs it")
    problem = case.make()
    rows = np.random.default_rng(0).permutation(len(problem.y))[: case.last]
    X, y = problem.X[rows], problem.y[rows]
    owners = np.maximum(np.arange(len(y)) - case.block + 1, 0) if case.block else np.arange(len(y))
    game = osv.game_for(case.model, X, y, problem.X_valid, problem.y_valid, groups=owners, compiled=True)
    order = np.arange(game.n_players)
    game.prefix_utilities(order[:2] if case.block else order)  # compiles, and makes what walks share
    baselines = Baselines()

    def refit():
        start, n_fits = time.process_time(), 0
        for m in case.fitted if FULL else case.fitted[-1:]:
            if len(set(y[:m])) == problem.n_classes:
                clone(case.model).fit(X[:m], y[:m]).score(problem.X_valid, problem.y_valid)
                n_fits += 1
        baselines.add("scikit-learn", (time.process_time() - start) / max(n_fits, 1))
        if case.block:
            game(order[:1])
        return (), {}

    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # lbfgs stops after 100 steps on what is not scaled
        benchmark.pedantic(lambda: game.prefix_utilities(order), setup=refit, rounds=rounds(3))
    report(
        benchmark,
        "models",
        f"{problem.name}: {type(case.model).__name__}",
        units=len(order),
        baselines=baselines,
        targets={"scikit-learn": case.target} if case.target else {},
        rows=f"{case.block + 1:,} to {case.last:,}",
    )
