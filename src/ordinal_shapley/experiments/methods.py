"""The values that the experiments compare: how each is computed on a split, and what it took."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.experiments.baselines import data_oob, knn_shapley, leave_one_out
from ordinal_shapley.experiments.splits import Split
from ordinal_shapley.games import LogisticGame
from ordinal_shapley.sampling import MaxPermutations, RelativeChange, Truncation, sample_values

TOLERANCE = 0.05
CLASS_FRACTION = 0.8
WINDOW = 100
MOST_PERMUTATIONS = 5_000

# Weights of positions and arguments of `sample_values`; the first three are the paper's.
_SAMPLED: dict[str, tuple[str, dict[str, Any]]] = {
    "tmc": ("gaussian", {"method": "tmc", "truncation": Truncation.paper(TOLERANCE)}),
    "cmc": ("gaussian", {"method": "cmc", "class_fraction": CLASS_FRACTION}),
    "ctmc": (
        "gaussian",
        {"method": "ctmc", "truncation": Truncation.paper(TOLERANCE), "class_fraction": CLASS_FRACTION},
    ),
    "mc": ("gaussian", {"method": "mc"}),
    "ordinal": (
        "gaussian",
        {"value": "ordinal", "method": "tmc", "truncation": Truncation.patience(TOLERANCE)},
    ),
    "classic": ("uniform", {"value": "classic", "method": "tmc", "truncation": Truncation.paper(TOLERANCE)}),
}
PAPER_METHODS = ("tmc", "cmc", "ctmc")
METHODS = (*_SAMPLED, "knn", "oob", "loo", "random")
NAMES = {
    "tmc": "TMC",
    "cmc": "CMC",
    "ctmc": "CTMC",
    "mc": "MC, no truncation",
    "ordinal": "ordinal",
    "classic": "classic TMC, no positions",
    "knn": "KNN-Shapley",
    "oob": "Data-OOB",
    "loo": "leave-one-out",
    "random": "random",
}


@dataclass(frozen=True, eq=False)
class Outcome:
    """Values of the rows of one split by one method.

    ``permutations`` and ``fits`` are 0 where a method draws none; ``fits`` of leave-one-out are those of the
    logistic model, and 0 for methods that train other models. ``capped``: it was the cap that stopped it.
    """

    method: str
    values: NDArray[np.float64]
    permutations: int
    fits: int
    seconds: float
    walk: float
    capped: bool
    warnings: tuple[str, ...]


def make_game(split: Split, position_weight: str, empty_value: str | float = 0.0) -> LogisticGame:
    """Return the paper's game of a split; there the empty sequence is worth 0."""
    return LogisticGame(
        split.X,
        split.y,
        split.X_valid,
        split.y_valid,
        position_weight=position_weight,
        empty_value=empty_value,
    )


def run_method(method: str, split: Split, cap: int = MOST_PERMUTATIONS) -> Outcome:
    """Value the rows of a split, on one core."""
    permutations, fits, walk, capped = 0, 0, float("nan"), False
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        began = time.perf_counter()
        if method in _SAMPLED:
            weight, options = _SAMPLED[method]
            valuation = sample_values(
                make_game(split, weight),
                stopping=RelativeChange(TOLERANCE, window=WINDOW) | MaxPermutations(cap),
                random_state=split.values_seed,
                n_jobs=1,
                **options,
            )
            values, walk = valuation.values, valuation.mean_walk_length
            permutations, fits = valuation.n_permutations, valuation.n_evaluations
            capped = not valuation.converged
        elif method == "knn":
            values = knn_shapley(split.X, split.y, split.X_valid, split.y_valid)
        elif method == "oob":
            values = data_oob(split.X, split.y, random_state=split.values_seed, n_jobs=1)
        elif method == "loo":
            values = leave_one_out(make_game(split, "uniform"), n_jobs=1)
            fits = len(split.y) + 1
        else:
            values = np.random.default_rng(split.values_seed).random(len(split.y))
        seconds = time.perf_counter() - began
    said = tuple(dict.fromkeys(str(caution.message) for caution in caught))
    return Outcome(method, values, permutations, fits, seconds, walk, capped, said)
