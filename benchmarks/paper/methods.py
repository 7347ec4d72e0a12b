"""The values that the experiments compare: how each is computed on a split, and what it took."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ordinal_shapley as osv
from ordinal_shapley.experiments import data_oob, knn_shapley, leave_one_out, self_confidence
from paper.splits import Split

TOLERANCE = 0.05
CLASS_FRACTION = 0.8
WINDOW = 100
MAX_PERMUTATIONS = 5_000
TREES = 1_000

_PAPER = osv.PaperTruncation(TOLERANCE)
_TMC = osv.PermutationSampler(truncation=_PAPER)


class _Sampled(NamedTuple):
    """A method that samples: value, sampler and the game; empty_value None is the run's."""

    value: str
    sampler: osv.PermutationSampler
    position_weight: str = "gaussian"
    empty_value: str | float | None = None


_SAMPLED = {
    "tmc": _Sampled("partial_ordinal", _TMC),
    "cmc": _Sampled("partial_ordinal", osv.PermutationSampler(class_fraction=CLASS_FRACTION)),
    "ctmc": _Sampled(
        "partial_ordinal", osv.PermutationSampler(truncation=_PAPER, class_fraction=CLASS_FRACTION)
    ),
    "mc": _Sampled("partial_ordinal", osv.PermutationSampler()),
    "tmc_majority": _Sampled("partial_ordinal", _TMC, empty_value="majority"),
    "ordinal": _Sampled("ordinal", osv.PermutationSampler(truncation=osv.PatienceTruncation(TOLERANCE))),
    "classic": _Sampled("classic", _TMC, "uniform"),
}
PAPER_METHODS = ("tmc", "cmc", "ctmc")
NAMES = {
    "tmc": "TMC",
    "cmc": "CMC",
    "ctmc": "CTMC",
    "mc": "MC",
    "tmc_majority": "TMC, empty: majority",
    "ordinal": "ordinal",
    "classic": "classic TMC",
    "knn": "KNN-Shapley",
    "oob": "Data-OOB",
    "loo": "leave-one-out",
    "logistic": "self-confidence (logistic)",
    "forest": "self-confidence (forest)",
    "random": "random",
}
METHODS = tuple(NAMES)
BASELINES = ("knn", "oob", "loo", "logistic", "forest")


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
    capped: bool
    warnings: tuple[str, ...]


def make_game(split: Split, position_weight: str, empty_value: str | float = 0.0) -> osv.LogisticGame:
    """Return the game of a split; in the paper the empty sequence is worth 0."""
    return osv.LogisticGame(
        split.X,
        split.y,
        split.X_valid,
        split.y_valid,
        position_weight=position_weight,
        empty_value=empty_value,
    )


def run_method(
    method: str, split: Split, cap: int = MAX_PERMUTATIONS, empty_value: str | float = 0.0
) -> Outcome:
    """Value the rows of a split, on one core."""
    permutations, fits, capped = 0, 0, False
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        began = time.perf_counter()
        if method in _SAMPLED:
            sampled = _SAMPLED[method]
            empty = empty_value if sampled.empty_value is None else sampled.empty_value
            valuation = osv.sample_values(
                make_game(split, sampled.position_weight, empty),
                sampled.value,
                sampled.sampler,
                stopping=osv.RelativeChange(TOLERANCE, window=WINDOW) | osv.MaxPermutations(cap),
                random_state=split.values_seed,
                n_jobs=1,
            )
            values, capped = valuation.values, not valuation.converged
            permutations, fits = valuation.n_permutations, valuation.n_evaluations
        elif method == "knn":
            values = knn_shapley(split.X, split.y, split.X_valid, split.y_valid)
        elif method == "oob":
            values = data_oob(split.X, split.y, n_estimators=TREES, random_state=split.values_seed, n_jobs=1)
        elif method == "loo":
            values = leave_one_out(make_game(split, "uniform", empty_value), n_jobs=1)
            fits = len(split.y) + 1
        elif method in ("logistic", "forest"):
            model = None if method == "forest" else make_pipeline(StandardScaler(), LogisticRegression())
            rows = (split.X, split.y, split.X_valid, split.y_valid)
            evidence = self_confidence(*rows, estimator=model, random_state=split.values_seed)
            values = evidence.self_confidence
        else:
            values = np.random.default_rng(split.values_seed).random(len(split.y))
        seconds = time.perf_counter() - began
    said = tuple(dict.fromkeys(str(caution.message) for caution in caught))
    return Outcome(method, values, permutations, fits, seconds, capped, said)


def warm_up(split: Split, methods: tuple[str, ...] = METHODS) -> None:
    """Load what every method needs, compiled kernels above all: the first timed would pay for it."""
    for method in methods:
        if method == "oob":
            data_oob(split.X, split.y, n_estimators=1)
        else:
            run_method(method, split, cap=1)
