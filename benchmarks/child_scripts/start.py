"""The start of a new process: what loading or compiling the kernels adds to a first run.

Usage: python start.py estimator|game|KIND, KIND one of `kinds`.

Prints JSON: seconds to import, and seconds of the run beyond that. `estimator` fits PartialOrdinalShapley
on Wine; `game` makes a LogisticGame of numbers like Wine's and samples its values, without scikit-learn and
pandas; a kind makes such a game and samples its values.
"""

from __future__ import annotations

import json
import sys
import time

began = time.perf_counter()
import numpy as np  # noqa: E402 (imports are timed)

import ordinal_shapley as osv  # noqa: E402

N_PERMUTATIONS = 20


def rows() -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    y = np.arange(138) % 3
    X = rng.normal(size=(138, 13)) + y[:, None]
    return X[:89], y[:89], X[89:], y[89:]


def numbers() -> tuple[np.ndarray, ...]:
    X, y, X_valid, y_valid = rows()
    return X, y + X[:, 0], X_valid, y_valid + X_valid[:, 0]


def first_come(sequence: np.ndarray) -> float:
    return float(len(sequence) > 0 and sequence[0] == 0)


kinds = {
    "logistic": lambda: osv.LogisticGame(*rows()),
    "ridge": lambda: osv.RidgeGame(*numbers()),
    "neighbors": lambda: osv.NearestNeighborGame(*rows()),
    "table": lambda: osv.TableGame(2, {(0, 1): 1.0}),
    "function": lambda: osv.FunctionGame(first_come, 9),
    "journeys": lambda: osv.JourneyGame.from_paths(["a > b", "b > a", "c"], [3, 2, 1], [1, 2, 3]),
}


def fit() -> tuple[float, float, osv.Valuation]:
    """When the imports and the preparations have ended, and what came out."""
    osv.PartialOrdinalShapley  # noqa: B018 (loaded when used)
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import scale

    imported = time.perf_counter()
    data = osv.datasets.load_wine()
    parts = train_test_split(
        scale(data.X), data.y, train_size=89, test_size=49, stratify=data.y, random_state=0
    )
    X, X_valid, y, y_valid = parts
    start = time.perf_counter()
    return (
        imported,
        start,
        osv.PartialOrdinalShapley(sampler="ctmc", random_state=0).fit(X, y, X_valid, y_valid).valuation_,
    )


def sample(kind: str) -> tuple[float, float, osv.Valuation]:
    imported = time.perf_counter()
    return (
        imported,
        imported,
        osv.sample_values(
            kinds[kind](), "partial_ordinal", "mc", n_permutations=N_PERMUTATIONS, random_state=0
        ),
    )


if __name__ == "__main__":
    what = sys.argv[1]
    imported, start, valuation = (
        fit() if what == "estimator" else sample("logistic" if what == "game" else what)
    )
    ended = time.perf_counter()
    answer = {
        "import_seconds": imported - began,
        "run_seconds": ended - start,
        "n_permutations": valuation.n_permutations,
        "loaded": [name for name in ("sklearn", "pandas") if name in sys.modules],
    }
    print(json.dumps(answer))
