"""Problems of several classes on which the pieces of softmax fits are counted and timed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import ordinal_shapley as osv
from bench import problems


def embeddings() -> problems.Problem:
    """Embeddings of ten classes, of more columns than the prefixes have rows."""
    return problems.embeddings(5_000, 512, 10, decay=0.7)


# What makes each problem; how many of its rows enter; and how many where kernels are plain Python.
SOFTMAX: dict[str, tuple[Callable[[], problems.Problem], int, int]] = {
    "Wine, raw": (problems.wine_raw, 89, 89),
    "digits": (problems.digits, 300, 110),
    "embeddings": (embeddings, 100, 60),
}


def first_rows(problem: problems.Problem, n_rows: int) -> problems.Problem:
    """Return the problem with some of its rows, in a random order."""
    rows = np.random.default_rng(0).permutation(len(problem.y))[:n_rows]
    return problem._replace(X=problem.X[rows], y=problem.y[rows])


def softmax_game(problem: problems.Problem, n_rows: int) -> osv.LogisticGame:
    """Return the game of scikit-learn's LogisticRegression on these rows."""
    part = first_rows(problem, n_rows)
    return osv.LogisticGame(
        part.X,
        part.y,
        part.X_valid,
        part.y_valid,
        position_weight="uniform",
        multi_class="multinomial",
        fit_intercept="free",
    )
