"""Noise at equal evaluations: permutation schemes and truncation rules; writes docs/variance.md.

All but the sections of other scripts.

Usage: python benchmarks/variance.py [--render]
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import spearmanr

import ordinal_shapley as osv
from bench import problems as data
from bench.record import Record, Script, surroundings, where
from page.tables import table, wrap

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

TEXT = """\
How much noise is left after the same number of evaluations, by truncation rule and permutation scheme.
`make bench-variance` writes this page: {where}.

Each line is the mean over {runs} runs with seeds 0 to {last}, of as many permutations as about {budget} n
evaluations allow (n training rows; a Latin design takes whole blocks; the evaluations of a pilot are
counted). "Full" evaluates every prefix; "roulette", the default, draws few and has no bias; "patience" ends
permutations early and is biased.

- **variance x evaluations**: the squared standard error times the evaluations of a run, averaged over rows
  and runs, relative to independent full permutations.
- **spread**: the same, from the variance of the values over the runs instead of their standard errors
  ({runs} runs estimate it to within about {spread:.0%} for a single row, and less for their mean).
- **rank correlation**: Spearman's, with a run by roulette and Latin squares of {long:,} n evaluations and
  another seed.
- **bias**: root mean square over rows of the mean over runs minus that long run, in units of the standard
  deviation of the long run's values; in brackets what noise alone would give.
- **seconds**: CPU time for the same evaluations relative to independent full permutations, without
  compilation.
- **variance x seconds**: the product of the two, the cost of noise. The project aims at 0.20 for the ordinal
  value of Wine and 0.15 for that of the others by roulette.

Games: `LogisticGame` with Gaussian weights; {games} rows."""


class Way(NamedTuple):
    """What the runs of one way gave; `work`, `spread` and `seconds` for one utility."""

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
    sampler = osv.PermutationSampler(truncation=None if rule == "full" else rule, design=design)
    return osv.sample_values(game, value, sampler, n_permutations=count, random_state=seed, n_jobs=1)


def permutations_for(game: osv.LogisticGame, value: str, rule: str, design: str, utilities: int) -> int:
    """How many permutations take about so many utilities."""
    few, more = (sample(game, value, rule, "independent", count, 10**6).n_evaluations for count in (20, 60))
    each = (more - few) / 40
    count = int((utilities - (few - 20 * each)) / each)
    if design == "latin":
        count = max(2, round(count / game.n_players)) * game.n_players
    return count


def measure_way(
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
        float(np.mean([run.mean_evaluated for run in runs])) / game.n_players,
    )


def compare(name: str, game: osv.LogisticGame, value: str) -> Record:
    """Measure all ways of one game and value."""
    count = permutations_for(game, value, "roulette", "latin", LONG * game.n_players)
    truth = sample(game, value, "roulette", "latin", count, 10**6 + 1).values
    ways = {}
    for rule, design in WAYS:
        ways[f"{rule}, {design}"] = measure_way(game, value, rule, design, truth)._asdict()
        print(name, value, rule, design, ways[f"{rule}, {design}"], flush=True)
    return ways


def measure() -> Record:
    found = surroundings("numba", "numpy", "scikit-learn")
    tried = games()
    with warnings.catch_warnings():
        # Patience ends many walks of Cancer early: that is what its bias is.
        warnings.filterwarnings("ignore", message=".*truncation ended", category=UserWarning)
        compared = {
            f"{name}, {value.replace('_', ' ')}": compare(name, game, value)
            for name, game in tried.items()
            for value in VALUES
        }
    rows = {name: game.n_players for name, game in tried.items()}
    return {**found, "runs": RUNS, "budget": BUDGET, "long": LONG, "rows": rows, "compared": compared}


def lines(title: str, ways: Record) -> list[tuple[str, ...]]:
    """Return the lines of a game and value: what a way costs, against the first."""
    first = next(iter(ways.values()))
    return [
        (
            title,
            *name.split(", "),
            f"{way['walk']:.0%}",
            *(f"{way[what] / first[what]:.2f}" for what in ("work", "spread")),
            f"{way['correlation']:.2f}",
            f"{way['bias']:.2f} ({way['noise']:.2f})",
            f"{way['seconds'] / first['seconds']:.2f}",
            f"{way['work'] * way['seconds'] / first['work'] / first['seconds']:.2f}",
        )
        for name, way in ways.items()
    ]


def pages(record: Record, docs: Path) -> dict[str, str]:
    """Return the page, but for the sections that other scripts write."""
    written = (docs / "variance.md").read_text(encoding="utf-8")
    text = TEXT.format(
        where=where(record),
        runs=record["runs"],
        last=record["runs"] - 1,
        budget=record["budget"],
        long=record["long"],
        spread=np.sqrt(2 / (record["runs"] - 1)),
        games=", ".join(f"{name} {n}" for name, n in record["rows"].items()),
    )
    columns = ("game, value", "truncation", "scheme", "mean length", "variance x evaluations", "spread")
    columns += ("rank correlation", "bias", "seconds", "variance x seconds")
    compared = [line for title, ways in record["compared"].items() for line in lines(title, ways)]
    parts = [
        "# Noise for the same number of evaluations",
        wrap(text),
        table(columns, compared, words=3),
        written[written.index("<!-- ") :],
    ]
    return {"variance.md": "\n\n".join(parts)}


SCRIPT = Script("variance", measure, pages)

if __name__ == "__main__":
    SCRIPT.main()
