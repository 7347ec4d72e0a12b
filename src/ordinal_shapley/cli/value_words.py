"""What the command ``value`` says of what it was asked for, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ordinal_shapley.cli.model_options import ModelOptions
    from ordinal_shapley.tables.problem import Problem
    from ordinal_shapley.valuation.result import Valuation

_MOST_CLASSES = 6  # whose names and rows go on a line


def settings(models: ModelOptions, valuation: Valuation, asked: dict[str, Any]) -> str:
    """Return method and options."""
    words = [*models.words(), valuation.sampler.words]
    words += [f"{asked['position_weight']} weights", asked["scoring"].replace("_", " ")]
    return ", ".join([*words, f"seed {asked['seed']}"])


def labels(problem: Problem) -> str:
    """Return what is predicted, so that nobody takes numbers for classes without seeing it."""
    import numpy as np

    column, y = f"column {problem.target}", problem.y
    if y.dtype.kind == "f":
        return f"{column}: numbers from {y.min():g} to {y.max():g}"
    names, counts = np.unique(y, return_counts=True)
    words = f"{column}: {len(names):,} classes"
    if len(names) <= _MOST_CLASSES:
        parts = [
            f"{name} ({count:,} row{'s' * bool(count != 1)})"
            for name, count in zip(names, counts, strict=True)
        ]
        return f"{words}, {', '.join(parts)}"
    return f"{words} of {counts.min():,} to {counts.max():,} rows"


def uncovered(valuation: Valuation) -> str:
    """Return what the standard errors don't cover."""
    biases = valuation.sampler.biases
    return (
        "".join(f"{bias}, " for bias in biases) + ("nor " if biases else "") + "the choice of validation rows"
    )
