"""Figures in the text: what must be true for them to stand, or that they are no measurements.

Words are as they stand on the page, whatever the breaks of its lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple


class Measured(NamedTuple):
    """Words of a page about a measurement.

    page, words : str
        The page, and its words around the figure.
    record : str
        The record in `benchmarks/results`, without its suffix.
    holds : callable
        Whether the record says so.
    """

    page: str
    words: str
    record: str
    holds: Callable[[Any], bool]


def _nanoseconds(run: Any, *names: str) -> list[float]:
    """Return our median time for a unit of work of benchmarks."""
    chosen = [run["benchmarks"][name] for name in names]
    return [1e9 * one["stats"]["median"] / one["extra_info"]["units"] for one in chosen]


def _logistic(run: Any) -> Iterator[float]:
    """Yield nanoseconds a fit, of every problem and size."""
    for name in run["benchmarks"]:
        if name.startswith(("test_full_permutations", "test_cost_a_fit")):
            yield from _nanoseconds(run, name)


def _refits(run: Any) -> Iterator[float]:
    """Yield seconds of a fit by scikit-learn."""
    for name, one in run["benchmarks"].items():
        if name.startswith("test_full_permutations"):
            yield one["extra_info"]["baselines"]["scikit-learn"]


def _walks(run: Any, rule: str) -> Iterator[float]:
    """Yield mean lengths of walks, shares of full ones."""
    for ways in run["compared"].values():
        yield from (way["walk"] for name, way in ways.items() if name.startswith(f"{rule},"))


def _insertion_needs(run: Any, game: str) -> list[float]:
    estimators = run["games"][game]["estimators"]
    pairs = zip(estimators["insertion"]["error"], estimators["in/out"]["error"], strict=True)
    return [(insertion / in_out) ** 2 for insertion, in_out in pairs]


def _ahead(run: Any, other: str) -> tuple[int, int]:
    """Return in how many runs of equal permutations the ordinal value was ahead, and of how many."""
    table = run["tables"]["differences"]
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    rows = [row for row in rows if row["unit"] == "permutations" and row["less"] == other]
    return sum(row["above_zero"] for row in rows), sum(row["runs"] for row in rows)


def _found_wrong(run: Any) -> dict[str, dict[str, float]]:
    """Return how well each method found wrong labels (ROC AUC), by data set."""
    table = run["tables"]["methods"]
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        if row["labels"] == "noisy":
            found.setdefault(row["dataset"], {})[row["method"]] = row["roc_auc"]
    return found


COMPILED = ("test_table[partial_ordinal]", "test_table[ordinal]", "test_jitted_function[1]")

MEASURED = [
    Measured(
        "docs/exact.md",
        "A utility in a table or in a compiled function takes some tens of nanoseconds",
        "bench",
        lambda run: all(10 <= each < 100 for each in _nanoseconds(run, *COMPILED)),
    ),
    Measured(
        "docs/exact.md",
        "so ten players (9.9 million sequences) take well under a second",
        "bench",
        lambda run: all(
            run["benchmarks"][name]["stats"]["median"] < 0.6
            and run["benchmarks"][name]["extra_info"]["players"] == 10
            for name in COMPILED
        ),
    ),
    Measured(
        "docs/which_value.md",
        "| `TableGame` | tens of nanoseconds",
        "bench",
        lambda run: all(10 <= each < 100 for each in _nanoseconds(run, *COMPILED)),
    ),
    Measured(
        "docs/which_value.md",
        "| `LogisticGame` | some microseconds to some hundreds |",
        "bench",
        lambda run: 2e3 < min(_logistic(run)) < 1e4 and 1e5 < max(_logistic(run)) < 5e5,
    ),
    Measured(
        "docs/which_value.md",
        "| `EstimatorGame` | what its `fit` takes, often milliseconds |",
        "bench",
        lambda run: min(_refits(run)) > 1e-3,
    ),
    Measured(
        "docs/which_value.md",
        "3 to 16 % of n [where tried](variance.md)",
        "variance",
        lambda run: (
            (round(100 * min(_walks(run, "roulette"))), round(100 * max(_walks(run, "roulette")))) == (3, 16)
        ),
    ),
    Measured(
        "docs/which_value.md",
        "in each of 40 comparisons",
        "reproduction",
        lambda run: _ahead(run, "partial_ordinal") == (40, 40),
    ),
    Measured(
        "docs/which_value.md",
        "one of them at least found them [as well as the ordinal value or better]",
        "reproduction",
        lambda run: all(
            max(areas["knn"], areas["oob"]) >= areas["ordinal"] for areas in _found_wrong(run).values()
        ),
    ),
    Measured(
        "docs/ordinal.md",
        "it gets by with about two thirds of the evaluations",
        "ordinal_error",
        lambda run: all(0.55 < needs < 0.75 for needs in _insertion_needs(run, "Market")),
    ),
    Measured(
        "docs/ordinal.md",
        "ends a walk after some twenty or thirty rows",
        "variance",
        lambda run: all(
            15 < run["compared"][f"{name}, ordinal"]["patience, independent"]["walk"] * run["rows"][name] < 35
            for name in ("Wine", "WDBC")
        ),
    ),
]

# Levels of intervals, versions of Python, and what is no measurement anywhere.
EVERYWHERE = ("95 %", "Python 3.10", "arXiv:2305.01660", "CC BY 4.0")

# Settings, definitions, examples, and what follows from them; of tutorials, what their own cells show.
GIVEN = {
    "CONTRIBUTING.md": ["dropped by more than 30 %", "for a tenth"],
    "docs/axioms.md": ["values may be off by twice that"],
    "docs/bounds.md": [
        "one-sided, so half of the bound",
        "adds or takes away 0.5, each as often",
        "the error is 0.5 for certain",
    ],
    "docs/compatibility.md": ["Python 3.10 to 3.13", "Numba 0.61 to 0.68"],
    "docs/distributed.md": ["so many seconds of this call", "at most a twentieth of its time on writing"],
    "docs/exact.md": ["Above `max_seconds`, an hour by default"],
    "docs/guides/check_approximation.md": ["With a hundred times the permutations it would"],
    "docs/guides/clean_labels.md": ["with a fifth of the training labels changed on purpose"],
    "docs/guides/price_data.md": ["four times the permutations halve it"],
    "docs/migration.md": [
        "its burn-in of 40 % of the rows",
        "a quarter of all after 40 walks over 30 rows",
        "scikit-learn 1.9",
        "NumPy below 1.26",
        "Python 3.10 or 3.11",
        "Python 3.12 at most",
    ],
    "docs/ordinal.md": ["says how many times the evaluations insertion would take"],
    "docs/performance.md": [
        "half a pass",
        "half of them 0",
        "less than a thousandth of their squared length",
        "closer than a thousandth of their length",
        "if they take no more than 256 MiB",
        "fit in 256 MiB when made dense",
    ],
    "docs/quickstart.md": ["change by less than 5 %", "a fifth of Wine's training labels is changed"],
    "docs/theory.md": ["bounds one direction only, so twice that"],
    "docs/tutorials/clean_labels.ipynb": [
        "15 % of the training labels are changed",
        "After a quarter of the rows most wrong labels are gone",
    ],
    "docs/tutorials/long_runs.ipynb": ["stops when both are content, or after an hour"],
    "docs/tutorials/ordered_games.ipynb": [
        "works twice as well",
        "A hundred times the permutations, a tenth of the error",
    ],
    "docs/verify.md": ["Player 2 loses 2 of 5"],
    "docs/which_value.md": [
        "0.5 is what throwing dice gives",
        "0.9 for a model that never finds the rare class of 10 %",
        "while noise is ten times as large",
    ],
}
