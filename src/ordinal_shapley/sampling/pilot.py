"""A few full walks ahead of a run, on permutations of their own: what to centre with, where to evaluate."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley._parallel import Cancellation
from ordinal_shapley.sampling.plan import Plan
from ordinal_shapley.sampling.shards import walked, weighted_marginals
from ordinal_shapley_kernels.permutations import INDEPENDENT
from ordinal_shapley_kernels.walks import EVALUATIONS

_KEY = 0x2545F4914F6CDD1D  # makes another stream of permutations of the seed
_N_CENTRING = 10


def with_centres(plan: Plan, game: Any) -> tuple[Plan, int]:
    """Centre prefix utilities with means over other permutations; return the evaluations too."""
    utilities, _, evaluations = _walk(plan, game, _N_CENTRING)
    return plan._replace(centres=utilities.mean(axis=0)), evaluations


def with_chances(plan: Plan, game: Any, n_walks: int, least: float) -> tuple[Plan, int]:
    r"""Give each place a chance of being evaluated, and centres; return the evaluations too.

    With what place k adds to the variance of an estimate, :math:`v_k / p_k` if it is evaluated with chance
    :math:`p_k`, variance times evaluations, :math:`\sum v_k / p_k \sum p_k`, is least for
    :math:`p_k \propto \sqrt{v_k}`. Marginal contributions need the utility before, so chances must not rise:
    then :math:`v` is replaced by its decreasing regression.
    """
    utilities, marginals, evaluations = _walk(plan, game, n_walks)
    share = plan.in_out
    n = utilities.shape[1]
    spread = utilities.var(axis=0)
    sizes = np.arange(1, n)
    needed = (1.0 - share) ** 2 * (marginals**2).mean(axis=0)
    needed[:-1] += share**2 * spread[:-1] * (1.0 / sizes + 1.0 / (n - sizes))
    needed[-1] += share**2 * spread[-1] / n
    if share < 1.0:
        from sklearn.isotonic import isotonic_regression

        needed = isotonic_regression(needed, increasing=False)
    chances = np.ones(n)
    if needed.max() > 0.0:
        chances = np.maximum(np.sqrt(needed / needed.max()), least)
    return plan._replace(centres=utilities.mean(axis=0), chances=chances), evaluations


def _walk(plan: Plan, game: Any, n_walks: int) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Utilities and marginal contributions by place, and the evaluations."""
    other = plan._replace(
        seed=plan.seed ^ _KEY, design=INDEPENDENT, profile=True
    )  # a record of all utilities
    run = walked(other, game, 0, n_walks, Cancellation())
    return run.utilities, weighted_marginals(plan, run), int(run.state[EVALUATIONS])
