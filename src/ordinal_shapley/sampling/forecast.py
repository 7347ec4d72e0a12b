"""Forecast of the time of a run before it begins."""

from __future__ import annotations

import warnings

import numpy as np

from ordinal_shapley.common.parallel import n_workers
from ordinal_shapley.common.progress import LONG_SECONDS, QUICKER
from ordinal_shapley.games.base import Game
from ordinal_shapley.report.text import duration
from ordinal_shapley.sampling.pilot import n_prefixes, pilot_places, pilot_sizes
from ordinal_shapley.sampling.plan import Plan
from ordinal_shapley.sampling.stopping import StoppingRule
from ordinal_shapley.sampling.truncation import Roulette, TruncationRule

# For compiled games, for which only really long runs are reported.
_VERY_LONG_SECONDS = 600.0


def warn_of_long_model_fits(
    game: Game, plan: Plan, rule: TruncationRule | None, stopping: StoppingRule, n_jobs: int | None
) -> None:
    """Warn of a run of models in Python that may take long, by the fits that the game has timed."""
    most, took = stopping.max_permutations, game._seconds_per_fit
    if took is None or most is None:
        return
    n = plan.longest
    costs = game._relative_costs(np.arange(1, n + 1), jump=True)
    whole = float(game._relative_costs(np.array([game.n_players]), jump=True)[0])
    pilot, each = 0.0, float(costs.sum())
    if isinstance(rule, Roulette):
        pilot = int(rule.n_pilot) * float(costs[pilot_sizes(pilot_places(plan), plan.in_out < 1.0) - 1].sum())
        each = n_prefixes(n) * float(costs.mean())
    fits = most * each
    if stopping.max_evaluations is not None:
        fits = min(fits, stopping.max_evaluations * float(costs.mean()))
    each_took = f"{took:.2g} s" if took >= 1.0 else f"{max(1000.0 * took, 1.0):.0f} ms"
    a_fit = f" A model fit takes {each_took}: {game.model}"
    bound = "about" if rule is None or isinstance(rule, Roulette) else "up to"
    # What a fit of all rows takes tells what others do.
    _warn(bound, (pilot + fits) * took / whole / n_workers(n_jobs), LONG_SECONDS, stopping, a_fit)


def warn_of_long_compiled_run(game: Game, seconds: float | None, stopping: StoppingRule) -> None:
    """Warn of a run of a compiled game that will take about so many seconds, if anything tells."""
    if game._seconds_per_fit is None and seconds is not None and stopping.max_evaluations is None:
        _warn("about", seconds, _VERY_LONG_SECONDS, stopping)


def _warn(bound: str, seconds: float, limit: float, stopping: StoppingRule, a_fit: str = "") -> None:
    """Warn of more seconds than the limit, unless time is limited."""
    if seconds > limit and stopping.max_seconds is None:
        warnings.warn(
            f"this run may take {bound} {duration(seconds)}, if it needs all {stopping.max_permutations:,} "
            f"permutations; quicker: {QUICKER.get()}.{a_fit}",
            UserWarning,
            stacklevel=5,
        )
