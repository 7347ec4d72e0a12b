"""False discoveries of `suspects(fdr=)`: of values that are not below 0, and of right labels.

Writes a section of docs/variance.md. Usage: python benchmarks/discoveries.py [--render]
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import ordinal_shapley as osv
from bench.problems import wdbc
from bench.record import Record, Script, replaced, surroundings, where
from interval_coverage import rows
from page.tables import table, wrap

RATE = 0.1
FLIPPED = 0.2
N_TRAIN, N_VALID, HUGE = 150, 200, 20_000
N_RUNS = 20
N_PERMUTATIONS = 2_000
ERRORS = ("total", "monte_carlo")

TEXT = """\
`make bench-intervals` writes this section, too: {where}.

Of the rows that `suspects(fdr={rate})` lists, the share whose true value is not below 0, which is what the
rate is about, and the share whose label is right; a fifth of the labels is flipped. By total errors and by
Monte Carlo's alone. Means over {runs} draws of validation rows (normal classes, where {huge:,} validation
rows tell the true values) or splits (WDBC). Rows with right labels can have values below 0: the rate says
nothing of them."""


def flipped(y: Any, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return labels of which a share is the other class, and which these are."""
    wrong = np.zeros(len(y), bool)
    wrong[rng.permutation(len(y))[: round(FLIPPED * len(y))]] = True
    return np.where(wrong, 1 - y, y), wrong


def listed(game: Any, seed: int) -> dict[str, Any]:
    """Return the rows listed, by either error."""
    run = osv.sample_values(game, n_permutations=N_PERMUTATIONS, random_state=seed)
    return {errors: run.suspects(fdr=RATE, errors=errors).index.to_numpy() for errors in ERRORS}


def rates(found: list[dict[str, Any]], false: list[Any]) -> dict[str, float]:
    """Return the mean share of false ones, 0 where nothing is listed."""
    return {
        errors: float(np.mean([bad[of[errors]].mean() if len(of[errors]) else 0.0 for of, bad in
                               zip(found, false, strict=True)]))
        for errors in ERRORS
    }  # fmt: skip


def synthetic() -> Record:
    """Rows whose true values are known."""
    rng = np.random.default_rng(3)
    X, y = rows(N_TRAIN, rng)
    y, wrong = flipped(y, rng)
    known = osv.sample_values(
        osv.LogisticGame(X, y, *rows(HUGE, rng), empty_value=0.5),
        n_permutations=6_000,
        random_state=10**6,
        n_jobs=-1,
    )
    found = [
        listed(osv.LogisticGame(X, y, *rows(N_VALID, rng), empty_value=0.5), seed) for seed in range(N_RUNS)
    ]
    return {
        "data": "normal classes",
        "listed": {errors: float(np.mean([len(of[errors]) for of in found])) for errors in ERRORS},
        "not below 0": rates(found, [known.values >= 0] * N_RUNS),
        "right labels": rates(found, [~wrong] * N_RUNS),
    }


def real() -> Record:
    """Rows of WDBC."""
    problem = wdbc()
    X, y = np.concatenate([problem.X, problem.X_valid]), np.concatenate([problem.y, problem.y_valid])
    found, right = [], []
    for seed in range(N_RUNS):
        rng = np.random.default_rng([4, seed])
        order = rng.permutation(len(y))
        train, valid = order[:N_VALID], order[N_VALID:]
        labels, wrong = flipped(y[train], rng)
        found.append(listed(osv.LogisticGame(X[train], labels, X[valid], y[valid]), seed))
        right.append(~wrong)
    return {
        "data": "WDBC",
        "listed": {errors: float(np.mean([len(of[errors]) for of in found])) for errors in ERRORS},
        "not below 0": None,
        "right labels": rates(found, right),
    }


def measure() -> Record:
    """Run both."""
    return {**surroundings("numba", "numpy"), "cases": [synthetic(), real()]}


def pages(record: Record, docs: Path) -> dict[str, str]:
    """Return the page with its section."""
    lines = [
        (
            case["data"],
            errors.replace("_", " "),
            f"{case['listed'][errors]:.1f}",
            "unknown" if case["not below 0"] is None else f"{case['not below 0'][errors]:.1%}",
            f"{case['right labels'][errors]:.1%}",
        )
        for case in record["cases"]
        for errors in ERRORS
    ]
    heads = ("rows", "errors", "listed", "value not below 0", "right label")
    text = wrap(TEXT.format(where=where(record), rate=RATE, runs=N_RUNS, huge=HUGE))
    body = "\n\n".join(["## False discoveries", text, table(heads, lines, words=2)])
    page = (docs / "variance.md").read_text(encoding="utf-8")
    return {"variance.md": replaced(page, "discoveries", body)}


SCRIPT = Script("discoveries", measure, pages)

if __name__ == "__main__":
    SCRIPT.main()
