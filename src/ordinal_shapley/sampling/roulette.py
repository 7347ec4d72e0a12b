"""The chances of places for `Truncation.roulette`, from a few full walks ahead of a run."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common.parallel import Cancellation, check_memory
from ordinal_shapley.sampling.plan import Plan
from ordinal_shapley.sampling.shards import numberless, other_stream, walked, weighted_marginals

# In/out: prefixes of a permutation that are evaluated. Fewer would do with fewer utilities still, but a model
# that starts from a prefix far shorter takes longer to fit.
_MOST_PREFIXES = 8


def with_chances(
    plan: Plan, game: Any, n_walks: int, least: float, cancellation: Cancellation
) -> tuple[Plan, int]:
    r"""Give each place a chance of being evaluated, and centres; return the evaluations too.

    If what is evaluated at place k with chance :math:`p_k` adds :math:`v_k / p_k` to a variance, variance
    times evaluations, :math:`\sum v_k / p_k \sum p_k`, is least for :math:`p_k \propto \sqrt{v_k}`.
    """
    n = int(plan.quota.sum())
    check_memory(
        50 * n_walks * n,
        f"{n_walks:,} walks of {n:,} players ahead of the run",
        "give roulette a smaller pilot",
    )
    with numberless():
        run = walked(other_stream(plan), game, 0, n_walks, cancellation)
        utilities, marginals = run.utilities, weighted_marginals(plan, run)
    # Chances don't depend on the unit of the utilities, but squares of some are out of range.
    size = max(np.abs(utilities).max(), np.abs(marginals).max()) or 1.0
    spread = (utilities / size).var(axis=0)
    sizes = np.arange(1, n)
    needed = plan.in_out**2 * np.append(spread[:-1] * (1.0 / sizes + 1.0 / (n - sizes)), spread[-1] / n)
    if plan.in_out < 1.0:
        from sklearn.isotonic import isotonic_regression

        # A marginal contribution needs the utility before, so these chances must not rise.
        needed += (1.0 - plan.in_out) ** 2 * ((marginals / size) ** 2).mean(axis=0)
        needed = isotonic_regression(needed, increasing=False)
    chances = np.ones(n)
    if needed.max() > 0.0:
        chances = np.maximum(np.sqrt(needed / needed.max()), least)
    if plan.in_out == 1.0:
        # Utilities of one permutation tell much the same: a few, and more permutations, tell more.
        chances = _scaled(chances, min(_MOST_PREFIXES, max(2, n // 4)))
    plan = plan._replace(centres=utilities.mean(axis=0), chances=chances)
    return plan, run.evaluations


def _scaled(chances: NDArray[np.float64], total: int) -> NDArray[np.float64]:
    """Multiply chances so that they sum to `total`, none being above 1."""
    capped = np.zeros(len(chances), bool)
    scaled = np.ones(len(chances))
    while not capped.all():
        scaled[~capped] = chances[~capped] * (total - capped.sum()) / chances[~capped].sum()
        if not (scaled > 1.0).any():
            break
        capped |= scaled > 1.0
        scaled[capped] = 1.0
    return scaled
