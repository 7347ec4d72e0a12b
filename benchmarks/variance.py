"""How much noise a utility buys: designs of permutations and truncation rules; writes docs/variance.md.

Usage: python benchmarks/variance.py docs/variance.md
"""

from __future__ import annotations

import datetime
import importlib.metadata
import platform
import sys
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import spearmanr

import ordinal_shapley as osv
from bench import problems as data

RUNS = 30
# Utilities a run may take, in walks of full length.
BUDGET = 160
LONG = 40 * BUDGET
VALUES = ("partial_ordinal", "ordinal")
WAYS: tuple[tuple[str, str], ...] = (
    ("full", "independent"),
    ("full", "antithetic"),
    ("full", "latin"),
    ("roulette", "independent"),
    ("roulette", "antithetic"),
    ("roulette", "latin"),
    ("patience", "independent"),
)

PAGE = """\
# Noise for the same number of utilities

`make bench-variance` writes this page. {machine}; Python {python}, {versions}; {date}.

Each line is the mean over {runs} runs with seeds 0 to {last}, of as many permutations as about {budget} n
utilities allow (n training rows; a Latin design takes whole blocks; what a pilot takes is counted).
**variance x utilities**: the squared standard error times the utilities of a run, averaged over rows and
runs, against independent full permutations. **spread**: the same, from the variance of the values over the
runs instead of their standard errors ({runs} runs tell it to within about {spread:.0%} for a single row, and
less for their mean). **rank correlation**: Spearman's, with a run by roulette and Latin squares of {long:,} n
utilities and another seed. **bias**: root mean square over rows of the mean over runs less that long run, in
units of the standard deviation of the long run's values; what noise alone would give is in brackets.
**seconds**: CPU time for the same utilities against independent full permutations, without compilation.

Games: `LogisticGame` with Gaussian weights; Wine 89, Cancer (Ljubljana) 143, WDBC 284, Adult 200 rows.

{tables}
"""


class Way(NamedTuple):
    """What the runs of one way gave."""

    work: float
    spread: float
    correlation: float
    bias: float
    noise: float
    seconds: float
    walk: float


def games() -> dict[str, osv.LogisticGame]:
    problems = (data.wine(), data.cancer(), data.wdbc(), data.adult())
    return {rows.name: osv.LogisticGame(rows.X, rows.y, rows.X_valid, rows.y_valid) for rows in problems}


def sample(game: osv.LogisticGame, value: str, rule: str, design: str, count: int, seed: int) -> Any:
    options: dict[str, Any] = {"method": "mc"}
    if rule != "full":
        options = {"method": "tmc", "truncation": getattr(osv.Truncation, rule)()}
    return osv.sample_values(
        game, value, design=design, n_permutations=count, random_state=seed, n_jobs=1, **options
    )


def permutations_for(game: osv.LogisticGame, value: str, rule: str, design: str, utilities: int) -> int:
    """How many permutations take about so many utilities."""
    few, more = (sample(game, value, rule, "independent", count, 10**6).n_evaluations for count in (20, 60))
    each = (more - few) / 40
    count = int((utilities - (few - 20 * each)) / each)
    if design == "latin":
        count = max(2, round(count / game.n_players)) * game.n_players
    return count


def measure(
    game: osv.LogisticGame, value: str, rule: str, design: str, truth: npt.NDArray[np.float64]
) -> Way:
    count = permutations_for(game, value, rule, design, BUDGET * game.n_players)
    began = time.process_time()
    runs = [sample(game, value, rule, design, count, seed) for seed in range(RUNS)]
    seconds = (time.process_time() - began) / RUNS
    values = np.array([run.values for run in runs])
    utilities = float(np.mean([run.n_evaluations for run in runs]))
    error = np.sqrt(np.mean((values.mean(axis=0) - truth) ** 2))
    noise = np.sqrt(np.mean(values.var(axis=0, ddof=1)) / RUNS)
    return Way(
        float(np.mean([run.stderr**2 for run in runs])) * utilities,
        float(values.var(axis=0, ddof=1).mean()) * utilities,
        float(np.mean([spearmanr(row, truth).statistic for row in values])),
        float(error / truth.std()),
        float(noise / truth.std()),
        seconds / utilities,
        float(np.mean([run.mean_walk_length for run in runs])) / game.n_players,
    )


def table(name: str, game: osv.LogisticGame, value: str) -> str:
    count = permutations_for(game, value, "roulette", "latin", LONG * game.n_players)
    truth = sample(game, value, "roulette", "latin", count, 10**6 + 1).values
    lines = [
        f"## {name}, {value.replace('_', ' ')}",
        "",
        "| walks | design | mean length | variance x utilities | spread | rank correlation | bias "
        "| seconds |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    first: Way | None = None
    for rule, design in WAYS:
        way = measure(game, value, rule, design, truth)
        first = first or way
        lines.append(
            f"| {rule} | {design} | {way.walk:.0%} | {way.work / first.work:.2f} "
            f"| {way.spread / first.spread:.2f} | {way.correlation:.2f} | {way.bias:.2f} ({way.noise:.2f}) "
            f"| {way.seconds / first.seconds:.2f} |"
        )
        print(name, value, lines[-1], flush=True)
    return "\n".join(lines)


def main(destination: str) -> None:
    with warnings.catch_warnings():
        # Patience ends many walks of Cancer early: that is what its bias is.
        warnings.filterwarnings("ignore", message="truncation ended", category=UserWarning)
        tables = [table(name, game, value) for name, game in games().items() for value in VALUES]
    page = PAGE.format(
        machine=f"{platform.system()} on {platform.machine()}",
        python=platform.python_version(),
        versions=", ".join(
            f"{n} {importlib.metadata.version(n)}" for n in ("numba", "numpy", "scikit-learn")
        ),
        date=datetime.date.today().isoformat(),
        runs=RUNS,
        last=RUNS - 1,
        budget=BUDGET,
        long=LONG,
        spread=np.sqrt(2 / (RUNS - 1)),
        tables="\n\n".join(tables),
    )
    Path(destination).write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
