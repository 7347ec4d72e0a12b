"""All runs of the experiments, and what they found as plain tables, one line a measurement."""

from __future__ import annotations

import dataclasses
import time
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

import ordinal_shapley as osv
from paper.comparison import FITS, PERMUTATIONS, compare_baselines, compare_values
from paper.influence import influence
from paper.methods import MAX_PERMUTATIONS, METHODS, PAPER_METHODS, Outcome, run_method, warm_up
from paper.sklearn_loop import MIN_FITS, seconds_per_fit
from paper.splits import Split, make_split

# What an empty sequence is worth in the paper, and in its authors' public code.
EMPTY_VALUES: dict[str, str | float] = {"paper": 0.0, "authors": "majority"}


@dataclass(frozen=True)
class Settings:
    """What is run; all but the first four are smaller in tests only.

    Attributes
    ----------
    datasets : tuple of str
        The data sets, in the order of the tables.
    runs, seed : int
        Number of runs, and the seed of the first; the others count on from it.
    jobs : int
        Processes.
    methods : tuple of str
        Which methods.
    cap : int
        Most permutations of a method.
    permutations, fits : tuple of int
        Budgets of the comparison of values.
    sequences : int
        How many sequences the influence of a row is measured on.
    loop_fits : int
        How many fits scikit-learn is timed on, 0 for none.
    """

    datasets: tuple[str, ...]
    runs: int = 5
    seed: int = 0
    jobs: int = -1
    methods: tuple[str, ...] = METHODS
    cap: int = MAX_PERMUTATIONS
    permutations: tuple[int, ...] = PERMUTATIONS
    fits: tuple[int, ...] = FITS
    sequences: int = 500
    loop_fits: int = MIN_FITS

    @property
    def seeds(self) -> list[int]:
        """The seed of each run."""
        return list(range(self.seed, self.seed + self.runs))


class Task(NamedTuple):
    """One run: its number, from 1, its seed, whether labels are changed, and by the paper's text or code."""

    dataset: str
    noisy: bool
    run: int
    seed: int
    protocol: str = "paper"


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
    loop : tuple of (float, int)
        Seconds a fit of a loop over scikit-learn, and the fits timed, for the paper's methods.
    """

    task: Task
    outcome: Outcome
    curves: osv.RemovalCurves
    detection: osv.NoiseDetection | None
    loop: tuple[float, int]


class Results(NamedTuple):
    """What all runs found: the paper's experiments, values compared, influences, baselines, the time in all.

    The paper's three methods are there once more, as the authors' code has splits, labels and empty value.
    """

    settings: Settings
    methods: list[MethodResult]
    compared: list[dict[str, Any]]
    influences: list[dict[str, Any]]
    baselines: list[dict[str, Any]]
    seconds: float

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return every measurement by the name of its file."""
        said = [
            _key(result) | {"warning": text} for result in self.methods for text in result.outcome.warnings
        ]
        return {
            "runs": pd.DataFrame([_key(result) | _figures(result) for result in self.methods]),
            "curves": pd.concat([result.curves.to_frame().assign(**_key(result)) for result in self.methods]),
            "compared": pd.DataFrame(self.compared),
            "influence": pd.DataFrame(self.influences),
            "baselines": pd.DataFrame(self.baselines),
            "warnings": pd.DataFrame(said, columns=[*_key(self.methods[0]), "warning"]),
        }


def run_all(settings: Settings) -> Results:
    """Run everything, a process a core."""
    began = time.perf_counter()
    paper = [
        Task(dataset, noisy, number, seed)
        for dataset in settings.datasets
        for noisy in (False, True)
        for number, seed in enumerate(settings.seeds, start=1)
    ]
    # Their code changes labels before the split, draws the rows of Adult from two files, and has another
    # value of the empty sequence.
    tasks = paper + [task._replace(protocol="authors") for task in paper]
    # Each process loads the compiled kernels from the cache that this writes, if it has not been.
    warm_up(make_split(settings.datasets[0], settings.seed))
    found = Parallel(n_jobs=settings.jobs, verbose=10)(
        [delayed(run_methods)(task, settings) for task in tasks]
        + [delayed(run_comparison)(task, settings) for task in paper if task.noisy]
    )
    results, comparisons = found[: len(tasks)], found[len(tasks) :]
    return Results(
        settings,
        [result for run in results for result in run],
        *([row for comparison in comparisons for row in comparison[part]] for part in range(3)),
        time.perf_counter() - began,
    )


def run_methods(task: Task, settings: Settings) -> list[MethodResult]:
    """Make the split, value its rows by every method and try the values out; on one core."""
    authors = task.protocol == "authors"
    methods = tuple(method for method in settings.methods if method in PAPER_METHODS or not authors)
    with threadpool_limits(1):
        split = make_split(task.dataset, task.seed, noisy=task.noisy, protocol=task.protocol)
        warm_up(split, methods)
        return [
            _try_out(
                task,
                split,
                run_method(method, split, settings.cap, EMPTY_VALUES[task.protocol]),
                0 if authors else settings.loop_fits,
            )
            for method in methods
        ]


def run_comparison(task: Task, settings: Settings) -> tuple[list[dict[str, Any]], ...]:
    """Return what each value finds of the wrong labels of one split, why, and what baselines find."""
    key = {"dataset": task.dataset, "run": task.run, "seed": task.seed}
    with threadpool_limits(1):
        split = make_split(task.dataset, task.seed, noisy=True, scaled=True)
        found = (
            compare_values(split, settings.permutations, settings.fits),
            influence(split, settings.sequences),
            compare_baselines(split),
        )
        return tuple([key | row for row in part] for part in found)


def _try_out(task: Task, split: Split, outcome: Outcome, loop_fits: int) -> MethodResult:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        curves = osv.remove_high_value(outcome.values, split.X, split.y, split.X_test, split.y_test)
    said = (*outcome.warnings, *(f"removal: {caution.message}" for caution in caught))
    outcome = dataclasses.replace(outcome, warnings=tuple(dict.fromkeys(said)))
    detection = osv.detect_noisy_labels(outcome.values, split.flipped) if task.noisy else None
    loop = float("nan"), 0
    if outcome.method in PAPER_METHODS and loop_fits:
        loop = seconds_per_fit(outcome.method, split, loop_fits)
    return MethodResult(task, outcome, curves, detection, loop)


def _key(result: MethodResult) -> dict[str, Any]:
    task = result.task
    return {
        "dataset": task.dataset,
        "labels": "noisy" if task.noisy else "raw",
        "protocol": task.protocol,
        "run": task.run,
        "seed": task.seed,
        "method": result.outcome.method,
    }


def _figures(result: MethodResult) -> dict[str, Any]:
    outcome, curves, detection = result.outcome, result.curves, result.detection
    return {
        "permutations": outcome.permutations,
        "fits": outcome.fits,
        "capped": outcome.capped,
        "half_sum": curves.half_sum,
        "auc_high_first": curves.auc,
        "auc_low_first": curves.auc_low_first,
        "roc_auc": None if detection is None else detection.auc,
        "precision": None if detection is None else detection.precision,
        "seconds": outcome.seconds,
        "loop_seconds": result.loop[0] * outcome.fits,
        "loop_fits_timed": result.loop[1],
    }
