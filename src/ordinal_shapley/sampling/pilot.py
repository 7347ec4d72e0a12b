"""The pilot of `Roulette` looks at some sizes of a few permutations, and gives inclusion probabilities."""

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

# In/out: prefixes of a permutation that are evaluated. Fewer would do with fewer utilities still, but a model
# that starts from a prefix far shorter takes longer to fit.
_MAX_PREFIXES = 8
# Sizes that the pilot looks at; of twice as many places it looks at all.
_GRID = 30
# Marginal contributions shrink with the place, and probabilities beyond this one may do so, too.
_MIN_TO = 100
# Of larger prefixes the weight is so small altogether that a guess of how they vary will do.
_LITTLE = 1e-3
_SCORES = 0x5DEECE66D  # makes a key of its own, so that scores are independent of the run


class Look(NamedTuple):
    """What one permutation tells of the sizes looked at."""

    utilities: NDArray[np.float64]  # of its prefixes
    marginals: NDArray[np.float64]  # above the size looked at before, times the weight of the players before
    evaluations: int
    block_utilities: NDArray[np.float64]  # by blocks of validation rows, of shape (n_sizes, n_blocks)
    seconds: float = 0.0  # that it took


def pilot_plan(plan: Plan, sizes: NDArray[np.int64]) -> Plan:
    """Return a plan that evaluates these sizes, of permutations that are independent of the plan's own."""
    return _at_sizes(other_stream(plan), sizes)


def pilot_places(plan: Plan) -> int:
    """Return the size of the largest prefix that the pilot evaluates."""
    if not len(plan.factors):
        return plan.n_places
    beyond = np.cumsum(plan.factors[::-1])[::-1] / plan.n_places
    return int(np.flatnonzero(beyond > _LITTLE)[-1]) + 1


def score_plan(game: Game, seed: int) -> Plan:
    """Return a plan that evaluates random orders of all players."""
    n = game.n_players
    strata = (np.arange(n), np.array([0, n]), np.array([n]))
    return _at_sizes(Plan(*strata, game.player_sizes, seed ^ _SCORES, False, 0.0), np.array([n]))


def _at_sizes(plan: Plan, sizes: NDArray[np.int64]) -> Plan:
    # Systematic sampling with probabilities of 1 and 0 leaves nothing to chance.
    inclusion = np.zeros(plan.n_places)
    inclusion[sizes - 1] = 1.0
    return plan._replace(in_out=1.0, inclusion=inclusion)


def look(
    make_workspace: Callable[..., Any], index: int, cancellation: Cancellation, n_plan: int, *arguments: Any
) -> Look | UtilityError | None:
    """Evaluate the sizes of a plan in permutation `index`; None if there was no time.

    As for a shard, the arrays of plan and game are direct arguments. A failure is handed in.
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
        error.permutation = None  # a number in another stream tells nobody anything
        return error


def pilot_sizes(n_places: int, pairs: bool) -> NDArray[np.int64]:
    """Return the sizes of prefixes that the pilot evaluates, from 1 to all places.

    About thirty however many places there are, at equal distances of their logarithms. With `pairs` the size
    before each is there, too: marginal contributions are differences of neighbours.
    """
    if n_places <= 2 * _GRID:
        return np.arange(1, n_places + 1)
    sizes = np.rint(np.geomspace(1, n_places, _GRID)).astype(np.int64)
    return np.unique(np.concatenate([sizes, sizes - 1]) if pairs else sizes)[int(pairs) :]


def with_probabilities(plan: Plan, game: Game, looks: Sequence[Look], min_probability: float) -> Plan:
    r"""Give each place a probability of being evaluated, and a control variate.

    If what is evaluated at place k, at a cost :math:`c_k`, with probability :math:`p_k` adds :math:`v_k /
    p_k` to a variance, variance times cost, :math:`\sum v_k / p_k \sum c_k p_k`, is least for :math:`p_k
    \propto \sqrt{v_k / c_k}`. Between the sizes that were looked at :math:`v_k` is interpolated: that is as
    good as any guess, for no probability makes a bias.
    """
    n = plan.n_places
    seen = pilot_sizes(pilot_places(plan), plan.in_out < 1.0)
    # Some permutations stop short of the largest sizes.
    utilities, marginals = np.full((2, len(looks), len(seen)), np.nan)
    for t, look in enumerate(looks):
        utilities[t, : len(look.utilities)] = look.utilities
        marginals[t, : len(look.marginals)] = look.marginals
    # Probabilities don't depend on the unit of the utilities, but squares of some are out of range.
    unit = max(np.nanmax(np.abs(utilities)), np.nanmax(np.abs(marginals))) or 1.0
    sizes = np.arange(1, n + 1)
    costs = game._relative_costs(sizes, jump=plan.in_out == 1.0)
    squares = plan.size_factors**2
    weights = np.append(squares[:-1] / sizes[:-1] + squares[1:] / (n - sizes[:-1]), squares[-1] / n)
    needed = plan.in_out**2 * _between(seen, np.nanvar(utilities / unit, axis=0), n) * weights
    if plan.in_out < 1.0:
        # The size before must have been looked at; that before the first is known.
        follows = np.diff(seen, prepend=0) == 1
        found = np.nanmean((marginals[:, follows] / unit) ** 2, axis=0)
        needed += (1.0 - plan.in_out) ** 2 * _between(seen[follows], found, n) * squares
        # What no larger size exceeds, relative to the largest of all.
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
    """Mean utilities by blocks of validation rows, at all sizes."""
    utilities = np.full((len(looks), len(seen), plan.n_blocks), np.nan)
    for t, look in enumerate(looks):
        utilities[t, : len(look.utilities)] = look.block_utilities
    means = np.nanmean(utilities, axis=0)
    return np.array([_between(seen, means[:, b], n) for b in range(plan.n_blocks)]).reshape(-1, n).T.copy()


def _between(seen: NDArray[np.int64], found: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """What was found at some sizes, at all sizes from 1 to n."""
    return np.interp(np.log(np.arange(1, n + 1)), np.log(seen), found)


def _falling(
    needed: NDArray[np.float64], costs: NDArray[np.float64], min_probability: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Probabilities of marginal contributions: each needs the utility before, so these must not rise."""
    from sklearn.isotonic import isotonic_regression

    a_cost = isotonic_regression(needed / costs, sample_weight=costs, increasing=False)
    if not a_cost.max() > 0.0:
        return np.ones(len(needed))
    places = np.arange(1, len(needed) + 1)
    floor = min_probability * np.minimum(1.0, np.sqrt(_MIN_TO / places))
    return np.asarray(np.maximum(np.sqrt(a_cost / a_cost.max()), floor))


def _spread(
    needed: NDArray[np.float64],
    weights: NDArray[np.float64],
    costs: NDArray[np.float64],
    min_probability: float,
) -> NDArray[np.float64]:
    """Probabilities of prefixes: few of each permutation, for they tell much the same."""
    # What would be best if utilities of all sizes varied alike, and is never far from it.
    safe = np.sqrt(weights / costs)
    best = np.sqrt(needed / costs)
    if not best.max() > 0.0:
        best = safe
    probabilities = (1.0 - min_probability) * best / best.sum() + min_probability * safe / safe.sum()
    used, scaled = weights > 0.0, np.zeros(len(weights))
    scaled[used] = _scaled(probabilities[used], n_prefixes(int(used.sum())))
    return scaled


def n_prefixes(n_places: int) -> int:
    """Return how many prefixes of a permutation are evaluated on average."""
    return min(_MAX_PREFIXES, max(2, n_places // 4))


def _scaled(probabilities: NDArray[np.float64], total: int) -> NDArray[np.float64]:
    """Multiply probabilities so that they sum to `total`, none being above 1."""
    capped = np.zeros(len(probabilities), bool)
    scaled = np.ones(len(probabilities))
    while not capped.all():
        scaled[~capped] = probabilities[~capped] * (total - capped.sum()) / probabilities[~capped].sum()
        if not (scaled > 1.0).any():
            break
        capped |= scaled > 1.0
        scaled[capped] = 1.0
    return scaled
