"""How long a run will take, said before it begins."""

from __future__ import annotations

import warnings

import numpy as np

from ordinal_shapley.common.parallel import n_workers
from ordinal_shapley.common.progress import LONG_SECONDS, ways_to_be_quicker
from ordinal_shapley.games.base import Game
from ordinal_shapley.report.text import duration
from ordinal_shapley.sampling.pilot import n_prefixes, pilot_places, pilot_sizes
from ordinal_shapley.sampling.plan import Plan
from ordinal_shapley.sampling.stopping import StoppingRule
from ordinal_shapley.sampling.truncation import Roulette, TruncationRule

# Of compiled games, whose progress is worth no word unless the run is really long.
_VERY_LONG_SECONDS = 600.0


def warn_of_long_run(
    game: Game,
    plan: Plan,
    rule: TruncationRule | None,
    stopping: StoppingRule,
    n_jobs: int | None,
    pace: float | None = None,
) -> None:
    """Warn of a run that may take long, unless time is limited.

    `pace` is what a fit of relative cost 1 takes with all workers, by default what the game has timed itself.
    """
    most, took = stopping.max_permutations, game._seconds_per_fit
    if (took is None) == (pace is None) or most is None or stopping.max_seconds is not None:
        return
    n = plan.longest
    costs = game._relative_costs(np.arange(1, n + 1), jump=True)
    whole = float(game._relative_costs(np.array([game.n_players]), jump=True)[0])
    if pace is None:  # what a fit of all rows takes tells what others do
        pace = took / whole / n_workers(n_jobs)  # type: ignore[operator]
    pilot, each = 0.0, float(costs.sum())
    if isinstance(rule, Roulette):
        pilot = int(rule.n_pilot) * float(costs[pilot_sizes(pilot_places(plan), plan.in_out < 1.0) - 1].sum())
        each = n_prefixes(n) * float(costs.mean())
    fits = most * each
    if stopping.max_evaluations is not None:
        fits = min(fits, stopping.max_evaluations * float(costs.mean()))
    seconds = (pilot + fits) * pace
    if seconds > (_VERY_LONG_SECONDS if took is None else LONG_SECONDS):
        a_fit = ""
        if took is not None:
            each_took = f"{took:.2g} s" if took >= 1.0 else f"{max(1000.0 * took, 1.0):.0f} ms"
            a_fit = f" A model fit takes {each_took}: {game.model}"
        warnings.warn(
            f"this run may take about {duration(seconds)}, if it needs all {most:,} permutations; quicker: "
            f"{ways_to_be_quicker()}.{a_fit}",
            UserWarning,
            stacklevel=4,
        )
