"""How many intervals hold what endless validation rows would say: writes a section of docs/variance.md.

Usage: python benchmarks/interval_coverage.py [--render]
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import ordinal_shapley as osv
from bench.evidence import Floats
from bench.record import Record, Script, replaced, surroundings, where
from page.tables import table, wrap

N_TRAIN = 60
N_FOLDED = 100  # rows where each validates in one of five folds
HUGE = 20_000  # validation rows that stand for endless ones
TRUTH_PERMUTATIONS = 3_000
Z = 1.959964

TEXT = """\
`make bench-intervals` writes this section: {where}.

Rows are drawn from two overlapping normal classes, a tenth of the labels flipped. The truth is the value
with {huge:,} validation rows. **Monte Carlo**: how many of the 95 % intervals made of `stderr` hold it, over
all players and {runs} draws of validation rows; **total**: of those made of `stderr_total`.
**Actual / said**: the root mean square of the differences, over that of the total errors. In the lines with
folds all {folded} rows are drawn anew and cross-fitted."""
AFTER = """\
An area under a curve and F1 are no means over validation rows: there is no total error for them."""


class Setting(NamedTuple):
    """What is run many times."""

    scoring: str
    n_valid: int  # 0 for five folds
    n_permutations: int
    n_runs: int


SETTINGS = [
    *(
        Setting(scoring, n_valid, n_permutations, 60)
        for scoring in ("accuracy", "neg_log_loss", "balanced_accuracy")
        for n_valid in (50, 200)
        for n_permutations in (300, 3_000)
    ),
    *(Setting(scoring, 0, 2_000, 10) for scoring in ("accuracy", "neg_log_loss")),
]


def rows(n: int, rng: np.random.Generator, share: float = 0.5) -> tuple[Floats, Any]:
    """Draw rows of two classes, a tenth of them with the other's label."""
    y = (rng.random(n) < share).astype(np.int64)
    X = rng.normal(size=(n, 4))
    X[:, 0] += 1.6 * y
    return X, np.where(rng.random(n) < 0.1, 1 - y, y)


def truth(train: tuple[Floats, Any], valid: tuple[Floats, Any], scoring: str) -> Any:
    """Return values with endless validation rows, and their errors."""
    game = osv.LogisticGame(*train, *valid, scoring=scoring, empty_value=EMPTY[scoring])
    return osv.sample_values(game, n_permutations=TRUTH_PERMUTATIONS, random_state=10**6, n_jobs=-1)


# The same for all validation rows, as a constant prediction's score would depend on them.
EMPTY = {"accuracy": 0.5, "balanced_accuracy": 0.5, "neg_log_loss": -0.6931}


def with_rows_of_their_own(setting: Setting) -> Iterator[tuple[Any, Any]]:
    """Yield results of runs with new validation rows, and the truth."""
    rng = np.random.default_rng(7)
    share = 0.3 if setting.scoring == "balanced_accuracy" else 0.5
    train = rows(N_TRAIN, rng, share)
    known = truth(train, rows(HUGE, rng, share), setting.scoring)
    options = {"scoring": setting.scoring, "empty_value": EMPTY[setting.scoring]}
    for seed in range(setting.n_runs):
        game = osv.LogisticGame(*train, *rows(setting.n_valid, rng, share), **options)
        yield osv.sample_values(game, n_permutations=setting.n_permutations, random_state=seed), known


def cross_fitted(setting: Setting) -> Iterator[tuple[Any, Any]]:
    """Yield results of cross-fitted runs of new rows, and their truth: the same folds, endless validation."""
    rng = np.random.default_rng(8)
    huge = rows(HUGE, rng)
    options = {"scoring": setting.scoring, "empty_value": EMPTY[setting.scoring]}

    def with_endless(X: Any, y: Any, X_valid: Any, y_valid: Any, **more: Any) -> Any:
        return osv.LogisticGame(X, y, *huge, **more)

    for seed in range(setting.n_runs):
        X, y = rows(N_FOLDED, rng)
        game, endless = (
            osv.CrossFitGame(make, X, y, random_state=seed, **options)
            for make in (osv.LogisticGame, with_endless)
        )
        known = osv.sample_values(
            endless, n_permutations=TRUTH_PERMUTATIONS, random_state=10**6 + seed, n_jobs=-1
        )
        yield osv.sample_values(game, n_permutations=setting.n_permutations, random_state=seed), known


def measured(setting: Setting) -> Record:
    """Return how many intervals hold the truth."""
    found = [*(with_rows_of_their_own(setting) if setting.n_valid else cross_fitted(setting))]
    off = np.array([run.values - known.values for run, known in found])
    noise = np.array([known.stderr for _, known in found])
    errors = {name: np.array([getattr(run, name) for run, _ in found]) for name in ("stderr", "stderr_total")}
    held = {name: np.abs(off) <= Z * np.hypot(error, noise) for name, error in errors.items()}
    by_run = held["stderr_total"].mean(axis=1)
    return {
        **setting._asdict(),
        "monte_carlo": held["stderr"].mean(),
        "total": held["stderr_total"].mean(),
        "error": by_run.std(ddof=1) / np.sqrt(len(by_run)),
        "ratio": np.sqrt((off**2).mean() / (errors["stderr_total"] ** 2 + noise**2).mean()),
    }


def measure() -> Record:
    """Run all settings."""
    found = surroundings("numba", "numpy")
    made = []
    for setting in SETTINGS:
        made.append(measured(setting))
        print(made[-1], flush=True)
    return {**found, "settings": made}


def pages(record: Record, docs: Path) -> dict[str, str]:
    """Return the page with its section."""
    lines = [
        (
            found["scoring"].replace("_", " "),
            f"{found['n_valid']:,}" if found["n_valid"] else "five folds",
            f"{found['n_permutations']:,}",
            f"{found['monte_carlo']:.1%}",
            f"{found['total']:.1%} ± {found['error']:.1%}",
            f"{found['ratio']:.2f}",
        )
        for found in record["settings"]
    ]
    heads = ("score", "validation rows", "permutations", "Monte Carlo", "total", "actual / said")
    runs = " or ".join(str(n) for n in sorted({found["n_runs"] for found in record["settings"]}))
    text = wrap(TEXT.format(where=where(record), huge=HUGE, runs=runs, folded=N_FOLDED))
    body = "\n\n".join(["## What intervals cover", text, table(heads, lines), wrap(AFTER)])
    page = (docs / "variance.md").read_text(encoding="utf-8")
    return {"variance.md": replaced(page, "interval coverage", body)}


SCRIPT = Script("interval_coverage", measure, pages)

if __name__ == "__main__":
    SCRIPT.main()
