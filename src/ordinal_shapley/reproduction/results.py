"""All runs of a reproduction, and what they found as plain tables, one line a measurement."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ordinal_shapley.reproduction.headline import FITS, PERMUTATIONS, Found, HeadlineTask, compare_values
from ordinal_shapley.reproduction.influence import SEQUENCES, Influence
from ordinal_shapley.reproduction.methods import METHODS, MOST_PERMUTATIONS, PAPER_METHODS
from ordinal_shapley.reproduction.runs import MethodResult, Task, run, warm_up
from ordinal_shapley.reproduction.sklearn_loop import LEAST_FITS
from ordinal_shapley.reproduction.splits import make_split

if TYPE_CHECKING:
    import pandas as pd

Report = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Settings:
    """What a reproduction is asked for.

    Attributes
    ----------
    datasets : tuple of str
        The data sets, in the order of the tables.
    runs, seed : int
        Number of runs, and the seed of the first; the others count on from it.
    stratified : bool
        Whether splits are drawn class by class.
    protocol : str
        "paper" or "authors".
    cap : int
        Most permutations of a method.
    jobs : int
        Processes.
    permutations, fits : tuple of int
        Budgets of the comparison of values.
    sequences : int
        How many sequences the influence of a row is measured on.
    loop_fits : int
        How many fits scikit-learn is timed on.
    """

    datasets: tuple[str, ...]
    runs: int = 5
    seed: int = 0
    stratified: bool = False
    protocol: str = "paper"
    cap: int = MOST_PERMUTATIONS
    jobs: int = -1
    permutations: tuple[int, ...] = PERMUTATIONS
    fits: tuple[int, ...] = FITS
    sequences: int = SEQUENCES
    loop_fits: int = LEAST_FITS

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seed of each run."""
        return tuple(range(self.seed, self.seed + self.runs))

    @property
    def processes(self) -> int:
        """Number of processes."""
        from joblib import effective_n_jobs

        return int(effective_n_jobs(self.jobs))


@dataclass(frozen=True, eq=False)
class Results:
    """What all runs found.

    Attributes
    ----------
    settings : Settings
        What was asked for.
    methods : list of MethodResult
        The paper's experiments.
    authors : list of MethodResult
        The paper's three methods once more, as the authors' public code has splits, labels and empty value;
        none if all runs are of that kind.
    found : list of Found
        The comparison of values.
    influences : list of Influence
        What a row contributes, and what of that is a shift of weights.
    seconds : float
        Time in all.
    """

    settings: Settings
    methods: list[MethodResult]
    authors: list[MethodResult]
    found: list[Found]
    influences: list[Influence]
    seconds: float

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return every measurement by the name of its file; times, which no seed repeats, are apart."""
        import pandas as pd

        both = [*self.methods, *self.authors]
        found = pd.DataFrame(self.found)
        headline = ["dataset", "run", "seed", "value", "unit", "budget", "walks"]
        return {
            "runs": pd.DataFrame([_key(result) | _figures(result) for result in both]),
            "curves": pd.concat([_keyed(result, result.curves.to_frame()) for result in both]),
            "detection": pd.concat(
                [_keyed(r, r.detection.to_frame()) for r in both if r.detection is not None]
            ),
            "values_compared": found.drop(columns="seconds"),
            "influence": pd.DataFrame(self.influences),
            "warnings": pd.DataFrame(
                [_key(result) | {"warning": text} for result in both for text in result.outcome.warnings],
                columns=[*_key(both[0]), "warning"],
            ),
            "times": pd.DataFrame([_key(result) | _times(result) for result in both]),
            "values_compared_times": found[[*headline, "seconds"]],
        }


def reproduce(settings: Settings, report: Report | None = None) -> Results:
    """Run everything, a process a core.

    Parameters
    ----------
    settings : Settings
        What to run.
    report : callable, optional
        Called with runs done, runs in all and the name of the one that has ended.

    Returns
    -------
    Results
    """
    import time

    from joblib import Parallel, delayed

    began = time.perf_counter()
    tasks = _tasks(settings)
    # Each process loads the compiled kernels from the cache that this writes, if it has not been.
    warm_up(make_split(settings.datasets[0], settings.seed), METHODS)
    results: list[Any] = [None] * len(tasks)
    with warnings.catch_warnings():
        # That a worker is slow to start is no news to a user.
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs were given")
        done = Parallel(n_jobs=settings.jobs, return_as="generator_unordered")(
            delayed(_numbered)(number, task) for number, task in enumerate(tasks)
        )
        for count, (number, result) in enumerate(done, start=1):
            results[number] = result
            if report is not None:
                report(count, len(tasks), str(tasks[number]))
    pairs = list(zip(tasks, results, strict=True))
    plain = [
        result for task, result in pairs if isinstance(task, Task) and task.protocol == settings.protocol
    ]
    others = [
        result for task, result in pairs if isinstance(task, Task) and task.protocol != settings.protocol
    ]
    compared = [result for task, result in pairs if isinstance(task, HeadlineTask)]
    return Results(
        settings,
        _flat(plain),
        _flat(others),
        _flat(found for found, _ in compared),
        _flat(influences for _, influences in compared),
        time.perf_counter() - began,
    )


def _flat(lists: Iterable[list[Any]]) -> list[Any]:
    return [item for items in lists for item in items]


def _numbered(number: int, task: Task | HeadlineTask) -> tuple[int, Any]:
    return number, run(task) if isinstance(task, Task) else compare_values(task)


def _plain_tasks(settings: Settings) -> list[Task]:
    """Return the runs of the paper's experiments."""
    return [
        Task(
            dataset,
            noisy,
            number,
            seed,
            settings.stratified,
            settings.protocol,
            settings.cap,
            loop_fits=settings.loop_fits,
        )
        for dataset in settings.datasets
        for noisy in (False, True)
        for number, seed in enumerate(settings.seeds, start=1)
    ]


def _tasks(settings: Settings) -> list[Task | HeadlineTask]:
    plain = _plain_tasks(settings)
    # Their code changes labels before the split, draws the rows of Adult from two files, and has another
    # value of the empty sequence.
    others = [
        task._replace(protocol="authors", methods=PAPER_METHODS, loop_fits=0)
        for task in plain
        if settings.protocol == "paper"
    ]
    compared = [
        HeadlineTask(
            dataset,
            number,
            seed,
            settings.stratified,
            settings.protocol,
            settings.permutations,
            settings.fits,
            settings.sequences,
        )
        for dataset in settings.datasets
        for number, seed in enumerate(settings.seeds, start=1)
    ]
    return [*plain, *others, *compared]


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


def _keyed(result: MethodResult, frame: pd.DataFrame) -> pd.DataFrame:
    key = _key(result)
    for place, (name, value) in enumerate(key.items()):
        frame.insert(place, name, value)
    return frame


def _figures(result: MethodResult) -> dict[str, Any]:
    outcome, curves, detection = result.outcome, result.curves, result.detection
    return {
        "permutations": outcome.permutations,
        "fits": outcome.fits,
        "mean_walk": outcome.walk,
        "capped": outcome.capped,
        "half_sum": curves.half_sum,
        "auc_high_first": curves.auc,
        "auc_low_first": curves.auc_low_first,
        "noisy_rows": None if detection is None else detection.n_noisy,
        "roc_auc": None if detection is None else detection.auc,
        "precision": None if detection is None else detection.precision,
    }


def _times(result: MethodResult) -> dict[str, Any]:
    per_fit, timed = result.loop or (float("nan"), 0)
    return {
        "seconds": result.outcome.seconds,
        "loop_seconds_per_fit": per_fit,
        "loop_fits_timed": timed,
        "loop_seconds": per_fit * result.outcome.fits,
    }
