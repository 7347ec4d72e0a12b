"""How long a run will take whose models are fitted in Python, said before it begins."""

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


def warn_of_long_run(
    game: Game, plan: Plan, rule: TruncationRule | None, stopping: StoppingRule, n_jobs: int | None
) -> None:
    """Warn of a run that may take long by the time of the fits so far, unless time is limited."""
    most = stopping.max_permutations
    if game._seconds_per_fit is None or most is None or stopping.max_seconds is not None:
        return
    n = plan.longest
    costs = game._relative_costs(np.arange(1, n + 1), jump=True)
    pilot, each = 0.0, float(costs.sum())
    if isinstance(rule, Roulette):
        pilot = int(rule.n_pilot) * float(costs[pilot_sizes(pilot_places(plan), plan.in_out < 1.0) - 1].sum())
        each = n_prefixes(n) * float(costs.mean())
    # What a fit of all rows takes tells what others do.
    pace = game._seconds_per_fit / float(game._relative_costs(np.array([game.n_players]), jump=True)[0])
    fits = most * each
    if stopping.max_evaluations is not None:
        fits = min(fits, stopping.max_evaluations * float(costs.mean()))
    seconds = (pilot + fits) * pace / n_workers(n_jobs)
    if seconds > LONG_SECONDS:
        took = game._seconds_per_fit
        a_fit = f"{took:.2g} s" if took >= 1.0 else f"{max(1000.0 * took, 1.0):.0f} ms"
        warnings.warn(
            f"{game.model}; {a_fit} a fit: about {duration(seconds)} if it takes all {most:,} permutations; "
            f"quicker: {ways_to_be_quicker()}",
            UserWarning,
            stacklevel=4,
        )
