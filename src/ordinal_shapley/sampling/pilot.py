"""The pilot of `Roulette` evaluates some sizes of a few permutations, for inclusion probabilities."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common.parallel import Cancellation
from ordinal_shapley.games.base import Game, UtilityError
from ordinal_shapley.sampling.plan import Plan
from ordinal_shapley.sampling.shards import order_weights, other_stream, walked, workspace_of

# In/out: maximum number of prefixes evaluated per permutation. Fewer would take even fewer utilities, but a
# model that starts from a far shorter prefix takes longer to fit.
_MAX_PREFIXES = 8
# Number of sizes that the pilot evaluates; up to twice as many places it evaluates all.
_GRID = 30
# Marginal contributions shrink with the place, and minimum probabilities do so beyond this place.
_MIN_TO = 100
# Larger prefixes have less total weight than this, so their variance need not be measured.
_LITTLE = 1e-3
_SCORES = 0x5DEECE66D  # derives a separate key, so that scores are independent of the run


class Look(NamedTuple):
    """Results of one permutation at the sizes of the pilot."""

    utilities: NDArray[np.float64]  # of its prefixes
    marginals: NDArray[np.float64]  # over the previous size, times the weight of the players before
    evaluations: int
    block_utilities: NDArray[np.float64]  # by blocks of validation rows, of shape (n_sizes, n_blocks)
    seconds: float = 0.0  # that it took


def pilot_plan(plan: Plan, sizes: NDArray[np.int64]) -> Plan:
    """Return a plan that evaluates these sizes in permutations that are independent of the run's."""
    return _at_sizes(other_stream(plan), sizes)


def pilot_places(plan: Plan) -> int:
    """Return the size of the largest prefix that the pilot evaluates."""
    if not len(plan.factors):
        return plan.n_places
    beyond = np.cumsum(plan.factors[::-1])[::-1] / plan.n_places
    return int(np.flatnonzero(beyond > _LITTLE)[-1]) + 1


def score_plan(game: Game, seed: int) -> Plan:
    """Return a plan that evaluates random full permutations."""
    n = game.n_players
    strata = (np.arange(n), np.array([0, n]), np.array([n]))
    return _at_sizes(Plan(*strata, game.player_sizes, seed ^ _SCORES, False, 0.0), np.array([n]))


def _at_sizes(plan: Plan, sizes: NDArray[np.int64]) -> Plan:
    # Systematic sampling with probabilities of 1 and 0 is deterministic.
    inclusion = np.zeros(plan.n_places)
    inclusion[sizes - 1] = 1.0
    return plan._replace(in_out=1.0, inclusion=inclusion)


def look(
    make_workspace: Callable[..., Any], index: int, cancellation: Cancellation, n_plan: int, *arguments: Any
) -> Look | UtilityError | None:
    """Evaluate the sizes of a plan in permutation `index`; None if there was no time.

    As for a shard, the arrays of plan and game are direct arguments. A failure is returned.
    """
    plan, began = Plan(*arguments[:n_plan]), time.monotonic()
    try:
        game = workspace_of(plan, cancellation, make_workspace, arguments[n_plan:])
        run = walked(plan, game, index, index + 1, cancellation)
        if run.next == index:
            return None
        seen = np.flatnonzero(plan.inclusion)
        marginals = run.marginals * order_weights(plan, run)
        by_block = run.block_utilities[0, seen] if plan.n_blocks else np.zeros((len(seen), 0))
        took = time.monotonic() - began
        return Look(run.utilities[0, seen], marginals[0, seen], run.evaluations, by_block, took)
    except UtilityError as error:
        error.permutation = None  # its index in another stream is meaningless
        return error


def pilot_sizes(n_places: int, pairs: bool) -> NDArray[np.int64]:
    """Return the sizes of prefixes that the pilot evaluates, from 1 to all places.

    About thirty for any number of places, equally spaced on a log scale. With `pairs` also the size before
    each, as marginal contributions are differences of neighbours.
    """
    if n_places <= 2 * _GRID:
        return np.arange(1, n_places + 1)
    sizes = np.rint(np.geomspace(1, n_places, _GRID)).astype(np.int64)
    return np.unique(np.concatenate([sizes, sizes - 1]) if pairs else sizes)[int(pairs) :]


def with_probabilities(plan: Plan, game: Game, looks: Sequence[Look], min_probability: float) -> Plan:
    r"""Give each place a probability of being evaluated, and a control variate.

    If evaluating place k with probability :math:`p_k` costs :math:`c_k` each time and adds :math:`v_k / p_k`
    to a variance, variance times cost, :math:`\sum v_k / p_k \sum c_k p_k`, is minimal for :math:`p_k \propto
    \sqrt{v_k / c_k}`. Between the sizes of the pilot :math:`v_k` is interpolated, which is good enough
    because no probabilities cause a bias.
    """
    n = plan.n_places
    seen = pilot_sizes(pilot_places(plan), plan.in_out < 1.0)
    # Some permutations do not reach the largest sizes.
    utilities, marginals = np.full((2, len(looks), len(seen)), np.nan)
    for t, look in enumerate(looks):
        utilities[t, : len(look.utilities)] = look.utilities
        marginals[t, : len(look.marginals)] = look.marginals
    # Probabilities don't depend on the scale of the utilities, but squares of some would overflow.
    unit = max(np.nanmax(np.abs(utilities)), np.nanmax(np.abs(marginals))) or 1.0
    sizes = np.arange(1, n + 1)
    costs = game._relative_costs(sizes, jump=plan.in_out == 1.0)
    squares = plan.size_factors**2
    weights = np.append(squares[:-1] / sizes[:-1] + squares[1:] / (n - sizes[:-1]), squares[-1] / n)
    needed = plan.in_out**2 * _between(seen, np.nanvar(utilities / unit, axis=0), n) * weights
    if plan.in_out < 1.0:
        # The size before must have been evaluated; before the first it is the empty sequence.
        follows = np.diff(seen, prepend=0) == 1
        found = np.nanmean((marginals[:, follows] / unit) ** 2, axis=0)
        needed += (1.0 - plan.in_out) ** 2 * _between(seen[follows], found, n) * squares
        # The maximum over larger sizes, relative to the overall maximum.
        ceiling = np.sqrt(np.maximum.accumulate(squares[::-1])[::-1] / squares.max())
        probabilities = _falling(needed, costs, min_probability * ceiling)
    else:
        probabilities = _spread(needed, weights, costs, min_probability)
    return plan._replace(
        baselines=_between(seen, np.nanmean(utilities, axis=0), n),
        inclusion=probabilities,
        block_baselines=_block_baselines(plan, looks, seen, n),
    )


def _block_baselines(
    plan: Plan, looks: Sequence[Look], seen: NDArray[np.int64], n: int
) -> NDArray[np.float64]:
    """Mean utilities by block of validation rows, at all sizes."""
    utilities = np.full((len(looks), len(seen), plan.n_blocks), np.nan)
    for t, look in enumerate(looks):
        utilities[t, : len(look.utilities)] = look.block_utilities
    means = np.nanmean(utilities, axis=0)
    return np.array([_between(seen, means[:, b], n) for b in range(plan.n_blocks)]).reshape(-1, n).T.copy()


def _between(seen: NDArray[np.int64], found: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Interpolate results at some sizes to all sizes from 1 to n."""
    return np.interp(np.log(np.arange(1, n + 1)), np.log(seen), found)


def _falling(
    needed: NDArray[np.float64], costs: NDArray[np.float64], min_probability: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Probabilities for marginal contributions: each needs the utility before, so they must not increase."""
    from sklearn.isotonic import isotonic_regression

    per_cost = isotonic_regression(needed / costs, sample_weight=costs, increasing=False)
    if not per_cost.max() > 0.0:
        return np.ones(len(needed))
    places = np.arange(1, len(needed) + 1)
    floor = min_probability * np.minimum(1.0, np.sqrt(_MIN_TO / places))
    return np.asarray(np.maximum(np.sqrt(per_cost / per_cost.max()), floor))


def _spread(
    needed: NDArray[np.float64],
    weights: NDArray[np.float64],
    costs: NDArray[np.float64],
    min_probability: float,
) -> NDArray[np.float64]:
    """Probabilities for prefixes: few of each permutation, because they are highly correlated."""
    # Optimal if utilities of all sizes had the same variance, and never far from optimal.
    safe = np.sqrt(weights / costs)
    best = np.sqrt(needed / costs)
    if not best.max() > 0.0:
        best = safe
    probabilities = (1.0 - min_probability) * best / best.sum() + min_probability * safe / safe.sum()
    used, scaled = weights > 0.0, np.zeros(len(weights))
    scaled[used] = _scaled(probabilities[used], n_prefixes(int(used.sum())))
    return scaled


def n_prefixes(n_places: int) -> int:
    """Return the mean number of prefixes evaluated per permutation."""
    return min(_MAX_PREFIXES, max(2, n_places // 4))


def _scaled(probabilities: NDArray[np.float64], total: int) -> NDArray[np.float64]:
    """Scale probabilities so that they sum to `total` and none is above 1."""
    capped = np.zeros(len(probabilities), bool)
    scaled = np.ones(len(probabilities))
    while not capped.all():
        scaled[~capped] = probabilities[~capped] * (total - capped.sum()) / probabilities[~capped].sum()
        if not (scaled > 1.0).any():
            break
        capped |= scaled > 1.0
        scaled[capped] = 1.0
    return scaled
