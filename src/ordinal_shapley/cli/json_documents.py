"""What ``--json`` prints: one document that says all that the screen would."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ordinal_shapley.cli.options import running_option

if TYPE_CHECKING:
    import pandas as pd

    from ordinal_shapley.sampling.sampler import PermutationSampler
    from ordinal_shapley.valuation.result import Valuation

Json = Annotated[bool, running_option("Print one JSON document in place of tables.", flag="--json")]
Warned = Callable[[], list[str]]


def print_document(command: str, parts: Mapping[str, Any], warned: Warned) -> None:
    """Print a document: command and version, the parts, and what was warned of.

    Lists of objects stand one object a line, so that ``grep`` and ``head`` are of use.
    """
    from ordinal_shapley import __version__

    whole = {"command": command, "version": __version__, **parts, "warnings": warned()}
    lines = [f"  {json.dumps(name)}: {_text(_plain(part))}" for name, part in whole.items()]
    typer.echo("{\n" + ",\n".join(lines) + "\n}")
    sys.stdout.flush()


def _text(part: Any) -> str:
    if isinstance(part, list) and any(isinstance(item, dict) for item in part):
        return "[\n" + ",\n".join(f"    {_text(item)}" for item in part) + "\n  ]"
    return json.dumps(part, allow_nan=False)


def _plain(part: Any) -> Any:
    """Return what JSON knows; numbers that are not finite become null."""
    if isinstance(part, Mapping):
        return {str(name): _plain(item) for name, item in part.items()}
    if isinstance(part, (list, tuple, range)):
        return [_plain(item) for item in part]
    if isinstance(part, Path):
        return str(part)
    if hasattr(part, "tolist"):  # NumPy's arrays and scalars
        return _plain(part.tolist())
    if isinstance(part, float) and not math.isfinite(part):
        return None
    return part


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table, each with the name that its index has."""
    names = (str(frame.index.name), *frame.columns)
    return [dict(zip(names, row, strict=True)) for row in frame.itertuples(name=None)]


def written(*paths: Path | None) -> list[str]:
    """Return the files that were asked for."""
    return [str(path) for path in paths if path is not None]


def sampler_settings(sampler: PermutationSampler) -> dict[str, Any]:
    """Return how permutations are drawn and evaluated, in the words of the command line."""
    rule = sampler.rule
    return {
        "truncation": None if rule is None else rule.name,
        "tolerance": getattr(rule, "tol", None),
        "class_fraction": sampler.class_fraction,
        "average": sampler.average,
        "design": sampler.design,
        "biased": bool(sampler.biases),
    }


def run_summary(valuation: Valuation) -> dict[str, Any]:
    """Return what a run of sampling took, and why it ended."""
    return {
        "permutations": valuation.n_permutations,
        "evaluations": valuation.n_evaluations,
        "seconds": valuation.seconds,
        "evaluations_per_second": (
            valuation.n_evaluations / valuation.seconds if valuation.seconds > 0 else math.nan
        ),
        "mean_walk_length": valuation.mean_walk_length,
        "stopped_by": valuation.stopped_by,
        "converged": valuation.converged,
        "reliability": valuation.reliability,
    }
