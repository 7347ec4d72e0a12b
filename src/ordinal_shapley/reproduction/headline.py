"""Which value finds wrong labels: ordinal, partial ordinal or classic, from the same permutations or fits.

Here features are standardised and an empty sequence is worth the score of the commonest label, as is usual
in the library, so that what differs is the value alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

from ordinal_shapley.experiments.detection import detect_noisy_labels
from ordinal_shapley.games.base import Game
from ordinal_shapley.reproduction.influence import SEQUENCES, Influence, influence
from ordinal_shapley.reproduction.methods import make_game
from ordinal_shapley.reproduction.splits import Split, make_split
from ordinal_shapley.sampling import Truncation, sample_values
from ordinal_shapley.valuation.result import Valuation

PERMUTATIONS = (300, 2_000)
FITS = (25_000, 100_000)
# Each value with the weights of positions it is of.
VALUES = {"partial_ordinal": "gaussian", "ordinal": "gaussian", "classic": "uniform"}
WALKS: dict[str, dict[str, Any]] = {
    "full": {"method": "mc"},
    "truncated": {"method": "tmc", "truncation": Truncation.patience()},
    "roulette": {"method": "tmc", "truncation": Truncation.roulette()},
}
_PILOT = (10, 60)
_TRIALS = 4
_CLOSE = 0.05
_MOST_WALKS = 1_000  # fits for more full walks than that tell nothing that permutations don't


class HeadlineTask(NamedTuple):
    """What one comparison needs to know: as `runs.Task`, and the budgets."""

    dataset: str
    run: int
    seed: int
    stratified: bool = False
    protocol: str = "paper"
    permutations: tuple[int, ...] = PERMUTATIONS
    fits: tuple[int, ...] = FITS
    sequences: int = SEQUENCES

    def __str__(self) -> str:
        return f"{self.dataset}, values compared, run {self.run}"


class Found(NamedTuple):
    """What one value found of the wrong labels of one split, by walks of a kind, within a budget.

    Attributes
    ----------
    dataset : str
        The data set.
    run, seed : int
        Number and seed of the run.
    value : str
        "partial_ordinal", "ordinal" or "classic".
    unit : str
        What the budget counts: "permutations" or "fits".
    budget : int
        The budget.
    walks : str
        "full", "truncated" or "roulette".
    permutations, fits : int
        What was spent.
    roc_auc, precision : float
        As in `NoiseDetection`.
    seconds : float
        Time on one core.
    """

    dataset: str
    run: int
    seed: int
    value: str
    unit: str
    budget: int
    walks: str
    permutations: int
    fits: int
    roc_auc: float
    precision: float
    seconds: float


def compare_values(task: HeadlineTask) -> tuple[list[Found], list[Influence]]:
    """Return what each value finds of the wrong labels of one split, and why; on one core."""
    with threadpool_limits(1):
        split = make_split(
            task.dataset,
            task.seed,
            noisy=True,
            scaled=True,
            stratified=task.stratified,
            protocol=task.protocol,
        )
        return _compare(task, split), influence(split, task.run, task.sequences)


def _compare(task: HeadlineTask, split: Split) -> list[Found]:
    found: list[Found] = []
    for value, weight in VALUES.items():
        game = make_game(split, weight, empty_value="majority")
        runs = [("permutations", "full", budget) for budget in task.permutations]
        fits = [budget for budget in task.fits if budget <= _MOST_WALKS * len(split.y)]
        runs += [("fits", walks, budget) for budget in fits for walks in WALKS]
        for unit, walks, budget in runs:
            options = {"value": value, "random_state": split.values_seed, "n_jobs": 1, **WALKS[walks]}
            if unit == "permutations":
                valuation = sample_values(game, n_permutations=budget, **options)
            else:
                valuation = sample_fits(game, budget, options)
            detection = detect_noisy_labels(valuation, split.flipped)
            found.append(
                Found(
                    task.dataset,
                    task.run,
                    task.seed,
                    value,
                    unit,
                    budget,
                    walks,
                    valuation.n_permutations,
                    valuation.n_evaluations,
                    detection.auc,
                    detection.precision,
                    valuation.seconds,
                )
            )
    return found


def sample_fits(game: Game, fits: int, options: dict[str, Any]) -> Valuation:
    """Sample as many permutations as take about so many fits.

    How many that is shows in trial runs, whose fits are not counted: the run begins anew.
    """
    few, more = (sample_values(game, n_permutations=n, **options).n_evaluations for n in _PILOT)
    each = (more - few) / (_PILOT[1] - _PILOT[0])
    once = few - _PILOT[0] * each
    for _ in range(_TRIALS):
        number = max(1, round((fits - once) / each))
        valuation = sample_values(game, n_permutations=number, **options)
        if abs(valuation.n_evaluations - fits) <= _CLOSE * fits:
            break
        each = (valuation.n_evaluations - once) / number
    return valuation
