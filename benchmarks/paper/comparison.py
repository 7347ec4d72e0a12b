"""Which value finds wrong labels: ordinal, partial ordinal or classic, from the same permutations or fits.

Here features are standardised and an empty sequence is worth the score of the commonest label, as is usual
in the library, so that what differs is the value alone.
"""

from __future__ import annotations

from typing import Any

import ordinal_shapley as osv
from paper.methods import BASELINES, make_game, run_method
from paper.splits import Split

PERMUTATIONS = (300, 2_000)
FITS = (25_000, 100_000)
# Each value with the weights of positions it is of.
VALUES = {"partial_ordinal": "gaussian", "ordinal": "gaussian", "classic": "uniform"}
WALKS = {
    "full": osv.PermutationSampler(),
    "truncated": osv.PermutationSampler(truncation="patience"),
    "roulette": osv.PermutationSampler(truncation="roulette"),
}
PILOT = (10, 60)
_TRIALS = 4
_CLOSE = 0.05
_MAX_WALKS = 1_000  # fits for more full walks than that tell nothing that permutations don't


def compare_values(
    split: Split, permutations: tuple[int, ...], fits: tuple[int, ...]
) -> list[dict[str, Any]]:
    """Return what each value finds of the wrong labels of one split, for each budget and kind of walks."""
    runs = [("permutations", "full", budget) for budget in permutations]
    runs += [("fits", walks, n) for n in fits if n <= _MAX_WALKS * len(split.y) for walks in WALKS]
    found = []
    for value, weight in VALUES.items():
        game = make_game(split, weight, empty_value="majority")
        for unit, walks, budget in runs:
            options = {"value": value, "method": WALKS[walks], "random_state": split.values_seed, "n_jobs": 1}
            if unit == "permutations":
                valuation = osv.sample_values(game, n_permutations=budget, **options)
            else:
                valuation = sample_fits(game, budget, options)
            detection = osv.detect_noisy_labels(valuation, split.flipped)
            found.append(
                {
                    "value": value,
                    "unit": unit,
                    "budget": budget,
                    "walks": walks,
                    "permutations": valuation.n_permutations,
                    "fits": valuation.n_evaluations,
                    "roc_auc": detection.auc,
                    "precision": detection.precision,
                    "seconds": valuation.seconds,
                }
            )
    return found


def compare_baselines(split: Split) -> list[dict[str, Any]]:
    """Return what scores that are no sampled values find of the wrong labels of one split."""
    found = []
    for method in BASELINES:
        outcome = run_method(method, split, empty_value="majority")
        detection = osv.detect_noisy_labels(outcome.values, split.flipped)
        found.append({"method": method, "roc_auc": detection.auc, "precision": detection.precision})
    return found


def sample_fits(game: Any, fits: int, options: dict[str, Any]) -> osv.Valuation:
    """Sample as many permutations as take about so many fits.

    How many that is shows in trial runs, whose fits are not counted: the run begins anew.
    """
    few, more = (osv.sample_values(game, n_permutations=n, **options).n_evaluations for n in PILOT)
    each = (more - few) / (PILOT[1] - PILOT[0])
    once = few - PILOT[0] * each
    for _ in range(_TRIALS):
        number = max(1, round((fits - once) / each))
        valuation = osv.sample_values(game, n_permutations=number, **options)
        if abs(valuation.n_evaluations - fits) <= _CLOSE * fits:
            break
        each = (valuation.n_evaluations - once) / number
    return valuation
