"""How long values take, and how many permutations they need: a section of docs/how_long.md.

Usage: python benchmarks/how_long.py [--render]

CPU time of one thread, so a busy machine changes little; compilation is not in it.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler

import ordinal_shapley as osv
from bench.record import Record, Script, replaced, surroundings, where
from page.tables import table, wrap

# Rows of the table, columns, classes.
SIZES = (
    (100, 10, 2),
    (300, 10, 2),
    (1_000, 10, 2),
    (3_000, 10, 2),
    (10_000, 10, 2),
    (1_000, 30, 2),
    (1_000, 100, 2),
    (2_000, 384, 2),
    (1_000, 10, 3),
    (1_000, 10, 10),
)
VALUES = {"classic": osv.ClassicShapley, "ordinal": osv.OrdinalShapley}
ROUGH, GOOD = 0.5, 0.9  # reliabilities aimed at
FIRST = 100  # permutations of the trial run
READABLE = 0.3  # a reliability below this says little about how many permutations are needed
PER_ROW = {"classic": 1 / 3, "ordinal": 1.0}  # the rule of thumb: permutations per row for ROUGH
PATIENCE = 90.0  # a run that would take more seconds is left out

TEXT = """\
`make bench-how-long` measures this: {where}. Tables are synthetic (`make_classification`, one label in ten
drawn at random), with scaled columns; `ClassicShapley(cv=None, evidence=False)`, and `OrdinalShapley`
likewise, set three tenths of the rows aside for validation and value the others by logistic regression.
A trial run of {first} permutations, or four times as many while its
reliability is below {readable}, predicts how many permutations give a reliability of {rough} and of {good},
and runs of that many are in the table; those of more than {patience:.0f} seconds were not done. The columns:
*fits*, model fits in one permutation; *for {rough}* and *for {good}*, permutations; *s*, seconds of CPU time
on one core, without compilation.

In every line the rule of thumb above gives the permutations to within a factor of {factor:.1f}, and runs of
as many as predicted for {good} have reliabilities from {low:.2f} to {high:.2f}."""


def permutations_for(reliability: float, n_permutations: int, wanted: float = GOOD) -> int:
    """Return how many permutations give the wanted reliability: Spearman and Brown's rule."""
    ratio = wanted / (1 - wanted) * (1 - reliability) / reliability
    return int(np.ceil(n_permutations * ratio))


def off_by(each: Record) -> float:
    """Return the factor by which the rule of thumb is off."""
    ratio = each[str(ROUGH)]["permutations"] / (PER_ROW[each["value"]] * each["size"][0])
    return float(max(ratio, 1 / ratio))


def rows_of(n_rows: int, n_columns: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(
        n_rows,
        n_columns,
        n_informative=min(n_columns, 10) - 2,
        n_redundant=2,
        n_classes=n_classes,
        flip_y=0.1,
        random_state=0,
    )
    return StandardScaler().fit_transform(X), y


def run(value: str, X: np.ndarray, y: np.ndarray, n_permutations: int) -> Record:
    began = time.process_time()
    model = VALUES[value](
        cv=None, evidence=False, n_permutations=n_permutations, n_jobs=1, random_state=0
    ).fit(X, y)
    valuation = model.valuation_
    return {
        "permutations": n_permutations,
        "reliability": valuation.reliability,
        "evaluations": valuation.n_evaluations,
        "seconds": time.process_time() - began,
    }


def measure() -> Record:
    found = surroundings("numba", "numpy", "scikit-learn")
    for value in VALUES:  # compile
        run(value, *rows_of(60, 10, 2), 20)
    runs = []
    for size in SIZES:
        X, y = rows_of(*size)
        for value in VALUES:
            trial = run(value, X, y, FIRST)
            while trial["reliability"] < READABLE:
                trial = run(value, X, y, 4 * trial["permutations"])
            each = {"size": size, "value": value, "trial": trial}
            for wanted in (ROUGH, GOOD):
                needed = permutations_for(trial["reliability"], trial["permutations"], wanted)
                if needed * trial["seconds"] / trial["permutations"] < PATIENCE:
                    each[str(wanted)] = run(value, X, y, needed)
            runs.append(each)
            print(each, flush=True)
    return {**found, "runs": runs}


def cells(found: Record | None) -> tuple[str, ...]:
    """Return permutations and seconds of a run."""
    if found is None:
        return "", ""
    seconds = float(f"{found['seconds']:.2g}")
    return f"{found['permutations']:,}", f"{seconds:g}"


def pages(record: Record, docs: Path) -> dict[str, str]:
    """Return the page with its section."""
    lines = [
        (
            each["value"],
            *(f"{number:,}" for number in each["size"]),
            f"{each['trial']['evaluations'] / each['trial']['permutations']:.0f}",
            *cells(each.get(str(ROUGH))),
            *cells(each.get(str(GOOD))),
        )
        for each in record["runs"]
    ]
    head = ("value", "rows", "columns", "classes", "fits")
    head += (f"for {ROUGH}", "s", f"for {GOOD}", "s")
    reached = [each[str(GOOD)]["reliability"] for each in record["runs"] if str(GOOD) in each]
    text = TEXT.format(
        where=where(record),
        first=FIRST,
        readable=READABLE,
        rough=ROUGH,
        good=GOOD,
        patience=PATIENCE,
        factor=max(map(off_by, record["runs"])),
        low=min(reached),
        high=max(reached),
    )
    page = (docs / "how_long.md").read_text(encoding="utf-8")
    body = "\n\n".join([wrap(text), table(head, lines)])
    return {"how_long.md": replaced(page, "how long", body)}


SCRIPT = Script("how_long", measure, pages)

if __name__ == "__main__":
    SCRIPT.main()
