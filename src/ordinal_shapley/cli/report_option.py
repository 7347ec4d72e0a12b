"""The option ``--report``: a page that explains the result."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ordinal_shapley.cli.options import running_option

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ordinal_shapley.games.base import Game
    from ordinal_shapley.sampling.history import History
    from ordinal_shapley.tables.problem import Problem
    from ordinal_shapley.valuation.result import Valuation

Report = Annotated[
    Path | None,
    running_option("Write a page there that explains the result, with pictures.", metavar="REPORT.html"),
]
_MOST_ROUNDS = 100  # as many points as a picture needs


def recorded(options: dict[str, Any]) -> tuple[dict[str, Any], History]:
    """Return the options of `sample_values` with a rule that keeps the run, and that rule."""
    from ordinal_shapley.sampling.driver import as_rule
    from ordinal_shapley.sampling.history import History

    rule = as_rule(options.get("stopping"), options.get("n_permutations"))
    history = History(rule, _MOST_ROUNDS)
    return {"stopping": history, "n_permutations": None}, history


def write_report(
    path: Path,
    valuation: Valuation,
    problem: Problem,
    game: Game,
    history: History | None,
    settings: Mapping[str, str],
    warnings: Sequence[str],
) -> None:
    """Write the page."""
    targets = "classes" if getattr(game, "classes_", None) is not None else "numbers to predict"
    valuation.to_html(
        path,
        X=problem.frame,
        y=problem.y,
        game=game,
        history=history,
        title=f"{valuation.kind.title} Shapley values of {len(valuation):,} rows of {problem.name}",
        settings={
            "Data": f"{problem.name}, with the {targets} in column {problem.target}",
            **settings,
        },
        warnings=warnings,
    )
