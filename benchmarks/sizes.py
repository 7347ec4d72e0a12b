"""Size weights that favour small coalitions against equal ones: writes a section of the tables of the paper.

It is a section of docs/reproduction_tables.md.

Usage: python benchmarks/sizes.py [RUNS], or with --render to write the section again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import ordinal_shapley as osv
from bench import problems
from bench.record import Record, Script, replaced, surroundings, where
from page.tables import table, wrap
from paper.methods import make_game
from paper.page import APPENDIX
from paper.splits import NOISE, make_split

RUNS = 4
FITS = 25_000
# All rows of one run of these are valued in so many seconds by each value.
LARGE, LARGE_VALID, LARGE_SECONDS, LARGE_RUNS = 5_000, 1_000, 20.0, 3
NAMES = {"wine": "Wine", "cancer-wisconsin": "Cancer (Wisconsin)", "adult": "Adult"}
POSITIONS = {"ordinal": "gaussian", "classic": "uniform"}
WEIGHTS = {"equal": "all sizes", "eighth": "up to n/8", "beta": "Beta(16, 1)"}

TEXT = """\
How well values find a fifth of labels that are wrong, when all sizes of coalitions count alike (the Shapley
value), when those of up to an eighth of the rows do (`sizes_up_to`), and by `beta_weights` of 16 and 1: mean
areas under the ROC curve, and how far they are apart from that of the Shapley value within a run, with the
standard error of the mean. **Fits**: from {fits:,} evaluations each. **Seconds**: in the time that these took
the Shapley value, on one core. The pilot counts in both. Adult, {large:,} rows: {seconds:g} s each.

`make bench-sizes` writes this section: {runs} runs, {large_runs} of {large:,} rows, splits and
labels as above, features standardised; {where}."""


class Rows(NamedTuple):
    """Rows of one run: how many are valued, which labels are wrong, the game by position weights, a seed."""

    n: int
    flipped: Any
    game: Callable[[str], Any]
    seed: int


def paper_rows(dataset: str, seed: int) -> Rows:
    split = make_split(dataset, seed, noisy=True, scaled=True)
    return Rows(
        len(split.y), split.flipped, lambda weight: make_game(split, weight, "majority"), split.values_seed
    )


def large_rows(n: int, n_valid: int, seed: int) -> Rows:
    data = problems.adult_all(n_valid)
    kept = np.random.default_rng(seed).permutation(len(data.y))[:n]
    noise = osv.corrupt_labels(data.y[kept], NOISE, seed)

    def game(weight: str) -> Any:
        rows = (data.X[kept], noise.labels, data.X_valid, data.y_valid)
        return osv.LogisticGame(*rows, position_weight=weight)

    return Rows(n, np.flatnonzero(noise.labels != data.y[kept]), game, seed)


def kind_of(value: str, weights: str, n: int) -> Any:
    """The value with size weights of a name, for n rows."""
    made = {"eighth": osv.sizes_up_to(max(1, n // 8)), "beta": osv.beta_weights(16, 1)}.get(weights)
    return (osv.Ordinal if value == "ordinal" else osv.Classic)(size_weights=made)


def valued(rows: Rows, game: Any, value: str, weights: str, rule: Any) -> tuple[float, int, float]:
    """ROC AUC, evaluations and seconds."""
    began = time.perf_counter()
    made = osv.sample_values(
        game,
        kind_of(value, weights, rows.n),
        stopping=rule | osv.MaxPermutations(10**9),
        random_state=rows.seed,
        n_jobs=1,
    )
    seconds = time.perf_counter() - began
    return osv.detect_noisy_labels(made, rows.flipped).auc, made.n_evaluations, seconds


def compared(rows: Rows, fits: int, seconds: float | None) -> Iterator[Record]:
    """Every value by every weights; with equal evaluations and in equal time, or in `seconds` only."""
    for value, position in POSITIONS.items():
        game = rows.game(position)
        for weights in WEIGHTS:  # compiles, and tabulates what the game shares between runs
            valued(rows, game, value, weights, osv.MaxEvaluations(1))
        limits: dict[str, Any] = {}
        if seconds is None:
            limits["fits"] = osv.MaxEvaluations(fits)
        else:
            limits["seconds"] = osv.MaxSeconds(seconds)
        for unit in ("fits", "seconds"):
            for weights in WEIGHTS:
                if unit not in limits:
                    continue
                auc, evaluations, took = valued(rows, game, value, weights, limits[unit])
                yield {
                    "value": value,
                    "weights": weights,
                    "unit": unit,
                    "roc_auc": auc,
                    "fits": evaluations,
                    "seconds": took,
                }
                if unit == "fits" and weights == "equal":
                    limits["seconds"] = osv.MaxSeconds(took)


def measure(runs: str = str(RUNS), fits: int = FITS, large: int = LARGE) -> Record:
    found = surroundings("ordinal-shapley", "numba", "numpy", "scikit-learn")
    rows: list[Record] = []
    for dataset in NAMES:
        for seed in range(int(runs)):
            key = {"data": NAMES[dataset], "run": seed}
            rows += [key | one for one in compared(paper_rows(dataset, seed), fits, None)]
    large_runs = min(LARGE_RUNS, int(runs)) if large else 0
    for seed in range(large_runs):
        key = {"data": f"Adult, {large:,} rows", "run": seed}
        rows += [key | one for one in compared(large_rows(large, LARGE_VALID, seed), 0, LARGE_SECONDS)]
    settings = {
        "runs": int(runs),
        "fits": fits,
        "large": large,
        "large_runs": large_runs,
        "seconds": LARGE_SECONDS,
    }
    return {**found, "settings": settings, "rows": rows}


def lines(record: Record) -> Iterator[list[str]]:
    frame = pd.DataFrame(record["rows"])
    for (data, value, unit), part in frame.groupby(["data", "value", "unit"], sort=False):
        wide = part.pivot(index="run", columns="weights", values="roc_auc")
        shown = [f"{wide[name].mean():.3f}" for name in WEIGHTS]
        for name in list(WEIGHTS)[1:]:
            gaps = wide[name] - wide["equal"]
            shown.append(f"{gaps.mean():+.3f} ± {gaps.std(ddof=1) / len(gaps) ** 0.5:.3f}")
        took = part.groupby("weights")[["fits", "seconds"]].mean()
        other = "seconds" if unit == "fits" else "fits"
        digits = 1 if other == "seconds" else 0
        amounts = [f"{took[other][name]:,.{digits}f} {other if other == 'fits' else 's'}" for name in WEIGHTS]
        yield [data, value, unit, *shown, " / ".join(amounts)]


def section(record: Record) -> str:
    header = ["data", "value", "equal", *WEIGHTS.values()]
    header += [f"{WEIGHTS[name]}, less all sizes" for name in list(WEIGHTS)[1:]]
    settings = record["settings"]
    text = wrap(TEXT.format(where=where(record), **settings))
    return f"{text}\n\n{table([*header, 'which took'], lines(record), words=3)}"


def pages(record: Record, docs: Path) -> dict[str, str]:
    text = (docs / APPENDIX).read_text(encoding="utf-8")
    return {APPENDIX: replaced(text, "sizes", section(record))}


SCRIPT = Script("sizes", measure, pages)

if __name__ == "__main__":
    SCRIPT.main()
