"""One run of the paper's experiments: a split, every method on it, and what its values are good for."""

from __future__ import annotations

import dataclasses
import warnings
from typing import NamedTuple

from threadpoolctl import threadpool_limits

from ordinal_shapley.experiments.baselines import data_oob
from ordinal_shapley.experiments.detection import NoiseDetection, detect_noisy_labels
from ordinal_shapley.experiments.removal import RemovalCurves, remove_high_value
from ordinal_shapley.reproduction.methods import (
    METHODS,
    MOST_PERMUTATIONS,
    PAPER_METHODS,
    Outcome,
    run_method,
)
from ordinal_shapley.reproduction.sklearn_loop import LEAST_FITS, seconds_per_fit
from ordinal_shapley.reproduction.splits import Split, make_split

# What an empty sequence is worth in the paper, and in its authors' public code.
EMPTY_VALUES: dict[str, str | float] = {"paper": 0.0, "authors": "majority"}


class Task(NamedTuple):
    """What one run needs to know.

    Attributes
    ----------
    dataset : str
        The data set.
    noisy : bool
        Whether labels are changed.
    run, seed : int
        Number of the run, from 1, and its seed.
    stratified : bool
        Whether splits are drawn class by class.
    protocol : str
        "paper" or "authors".
    cap : int
        Most permutations of a method.
    methods : tuple of str
        Which methods.
    loop_fits : int
        How many fits to time scikit-learn on, 0 for none.
    """

    dataset: str
    noisy: bool
    run: int
    seed: int
    stratified: bool = False
    protocol: str = "paper"
    cap: int = MOST_PERMUTATIONS
    methods: tuple[str, ...] = METHODS
    loop_fits: int = LEAST_FITS

    def __str__(self) -> str:
        code = ", as the authors' code" if self.protocol == "authors" else ""
        return f"{self.dataset}, {'noisy' if self.noisy else 'raw'} labels{code}, run {self.run}"


class MethodResult(NamedTuple):
    """What came of one method on one split.

    Attributes
    ----------
    task : Task
        The run.
    outcome : Outcome
        The values and what they took.
    curves : RemovalCurves
        Accuracy as rows are removed by them.
    detection : NoiseDetection or None
        Wrong labels found by them, if there are any.
    loop : tuple of (float, int) or None
        Seconds a fit of a loop over scikit-learn, and the fits timed, for the paper's methods.
    """

    task: Task
    outcome: Outcome
    curves: RemovalCurves
    detection: NoiseDetection | None
    loop: tuple[float, int] | None


def run(task: Task) -> list[MethodResult]:
    """Make the split, value its rows by every method and try the values out; on one core."""
    with threadpool_limits(1):
        split = make_split(
            task.dataset, task.seed, noisy=task.noisy, stratified=task.stratified, protocol=task.protocol
        )
        warm_up(split, task.methods)
        return [
            _try_out(task, split, run_method(method, split, task.cap, EMPTY_VALUES[task.protocol]))
            for method in task.methods
        ]


def _try_out(task: Task, split: Split, outcome: Outcome) -> MethodResult:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        curves = remove_high_value(outcome.values, split.X, split.y, split.X_test, split.y_test)
    said = (*outcome.warnings, *(f"removal: {caution.message}" for caution in caught))
    outcome = dataclasses.replace(outcome, warnings=tuple(dict.fromkeys(said)))
    detection = detect_noisy_labels(outcome.values, split.flipped) if task.noisy else None
    timed = outcome.method in PAPER_METHODS and task.loop_fits > 0
    loop = seconds_per_fit(outcome.method, split, task.loop_fits) if timed else None
    return MethodResult(task, outcome, curves, detection, loop)


def warm_up(split: Split, methods: tuple[str, ...]) -> None:
    """Load what every method needs, compiled kernels above all: the first timed would pay for it."""
    for method in methods:
        if method == "oob":
            data_oob(split.X, split.y, n_estimators=1)
        else:
            run_method(method, split, cap=1)
