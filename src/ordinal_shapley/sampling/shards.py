"""A shard: a fixed range of permutations, walked by one worker and returned as sums."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import config
from numpy.typing import NDArray

from ordinal_shapley.common.parallel import Cancellation, run_in_steps
from ordinal_shapley.games.base import Game, UtilityError
from ordinal_shapley.sampling.designs import design_of
from ordinal_shapley.sampling.plan import SHARD_SIZE, Plan
from ordinal_shapley.valuation.moments import Moments
from ordinal_shapley_kernels.abi import prepare
from ordinal_shapley_kernels.blocks import BlockTally, add_block_contributions
from ordinal_shapley_kernels.contributions import (
    N_CELLS,
    SQUARES,
    Record,
    Tally,
    add_profile,
    add_replicates,
    write_contributions,
)
from ordinal_shapley_kernels.permutations import draw_many, make_permutation_state
from ordinal_shapley_kernels.walks import (
    DONE,
    FAILED,
    MEASURING,
    PAUSED,
    Orders,
    Walk,
    evaluate_prefixes,
    evaluate_sequence,
    fresh,
    make_walk,
    walk,
)

# Shards only have sums for players that they draw if all players are this many times as many as places.
_FEW = 4
_OTHER = 0x2545F4914F6CDD1D  # derives another stream of permutations from a seed


class WeightError(UtilityError):
    """A weight that could not be used."""


class Credits(NamedTuple):
    """Input of the contributions to some orders, by order and place, as in the kernel's Record."""

    orders: NDArray[np.int64]
    baselines: NDArray[np.float64]
    centred: NDArray[np.float64]
    marginals: NDArray[np.float64]
    factors: NDArray[np.float64]
    in_out: float
    empty_value: float


class Shard(NamedTuple):
    """The result of a worker."""

    moments: Moments  # over the permutations, fewer than requested if time was up
    unconverged: int = 0
    players: NDArray[np.int64] | None = None  # the players of the sums, None for all; others were not drawn
    # For the position profile, because a profile for each shard would take too much memory.
    record: Credits | None = None
    failure: UtilityError | None = None  # returned, not raised, so that earlier shards count


def prepare_kernels(game: Game) -> None:
    """Compile the kernels that a run will need, all at once."""
    prepare(walk, evaluate_sequence, draw_many, add_replicates, add_block_contributions, *game._entries)


def shard_end(first: int, plan: Plan) -> int:
    """Return the end of the shard that begins at permutation `first`: a multiple of the shard size.

    If that would split replicates, shards are counted from the start of each replicate and end with it.
    """
    start = first - first % plan.replicate_size if plan.in_blocks else 0
    stop = start + ((first - start) // SHARD_SIZE + 1) * SHARD_SIZE
    return min(stop, start + plan.replicate_size) if plan.in_blocks else stop


def fold_of(permutation: int, n_folds: int) -> int:
    """Return the fold whose game walks a permutation: shard by shard in turn."""
    return permutation // SHARD_SIZE % n_folds


def shard_ranges(first: int, end: int | None, plan: Plan) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the shards from `first` on; the last is cut off at `end`."""
    while end is None or first < end:
        stop = shard_end(first, plan)
        stop = stop if end is None else min(stop, end)
        yield first, stop
        first = stop


def walk_shard(
    make_workspace: Callable[..., Any],
    first: int,
    stop: int,
    cancellation: Cancellation,
    n_plan: int,
    *arguments: Any,
) -> Shard:
    """Walk permutations first..stop-1, or as many as there is time for.

    The arrays of plan and game are direct arguments (`n_plan` entries of a Plan, then the game's payload),
    so that a backend that sends arrays separately from tasks finds them.
    """
    plan = Plan(*arguments[:n_plan])
    cancellation.await_turn(first)
    try:
        game = workspace_of(plan, cancellation, make_workspace, arguments[n_plan:])
        return _walk_shard(plan, game, first, stop, cancellation)
    except UtilityError as error:
        return Shard(_nothing(plan), failure=error)
    except Exception as error:
        raise RuntimeError(f"permutations {first} to {stop - 1}: {type(error).__name__}: {error}") from error


def workspace_of(
    plan: Plan, cancellation: Cancellation, make_workspace: Callable[..., Any], payload: tuple[Any, ...]
) -> Any:
    """Return this thread's workspace of the plan's game."""
    game = cancellation.workspace(make_workspace, payload, plan.fold)
    if len(plan.block_of):
        game.score_in_blocks(plan.block_of, plan.block_weights)
    return game


def _nothing(plan: Plan) -> Moments:
    return Moments.zeros(len(plan.members), plan.replicate_size, n_blocks=plan.n_blocks)


def _walk_shard(plan: Plan, game: Any, first: int, stop: int, cancellation: Cancellation) -> Shard:
    evaluations = 0
    if _needs_baselines(plan, stop - first):
        plan, evaluations = with_baselines(plan, game, first, first + 1, cancellation)
    run = walked(plan, game, first, stop, cancellation)
    n_permutations = run.next - first
    # A run of so few permutations would need baselines, for which there is no time.
    if n_permutations == 0 or _needs_baselines(plan, n_permutations):
        return Shard(_nothing(plan))
    walks = Walks(run.first, *(getattr(run, name)[:n_permutations] for name in Walks._fields[1:]))
    weights = order_weights(plan, walks)
    block_sums, block_spread = _sums_by_block(plan, walks, weights)
    record, credited = None, walks.marginals
    if plan.recorded:
        record, credited = _record(plan, walks, weights), np.empty_like(walks.marginals)
        write_contributions(Record(**record._asdict(), contributions=credited, profile=(0, 0, 0)))
    elif len(plan.factors):
        longest = int(walks.lengths.max())
        credited[:, :longest] *= plan.factors[:longest]
    players, orders, credited = _those_drawn(plan, walks, credited)
    n_players = len(plan.members) if players is None else len(players)
    sums, replicate_sums, replicate_spread, replicate = fresh((4, n_players), np.float64)
    chosen, replicates, seen = fresh((3, n_players), np.int64)
    add_replicates(
        Tally(
            orders=orders,
            n_drawn=walks.n_drawn,
            contributions=credited,
            sums=sums,
            replicate_sums=replicate_sums,
            replicate_spread=replicate_spread,
            chosen=chosen,
            replicates=replicates,
            replicate=replicate,
            seen=seen,
            replicate_size=plan.replicate_size,
            all_count=not plan.keep_chosen and players is None,
        )
    )
    moments = Moments(
        sums=sums,
        chosen=chosen,
        replicate_sums=replicate_sums,
        replicate_spread=replicate_spread,
        replicates=replicates,
        profile=np.zeros((N_CELLS, 0, 0)),
        block_sums=block_sums,
        block_spread=block_spread,
        replicate_size=plan.replicate_size,
        n_replicates=n_permutations // plan.replicate_size,
        n_permutations=n_permutations,
        n_evaluations=evaluations + run.whole_evaluations,
        walk_length=run.whole_length,
        completed_stops=run.completed_stops,
    )
    return Shard(moments, game.unconverged, players, record if plan.profile else None)


def _those_drawn(
    plan: Plan, walks: Walks, credited: NDArray[np.float64]
) -> tuple[NDArray[np.int64] | None, NDArray[np.int64], NDArray[np.float64]]:
    """The players drawn, if they are few, and the orders and contributions with their indices.

    A walk may end after some hundreds of a million players: sums should take no time for the others.
    """
    longest = int(walks.n_drawn.max())
    if plan.in_blocks or plan.n_blocks or _FEW * len(walks.orders) * longest > len(plan.members):
        return None, walks.orders, credited
    drawn = np.arange(longest) < walks.n_drawn[:, None]
    players, numbers = np.unique(walks.orders[:, :longest][drawn], return_inverse=True)
    orders = np.zeros(drawn.shape, np.int64)
    orders[drawn] = numbers
    return players, orders, credited[:, :longest].copy()


def _needs_baselines(plan: Plan, n_permutations: int) -> bool:
    """Whether a shard of so many permutations has no other control variates."""
    return bool(plan.in_out) and not len(plan.baselines) and n_permutations <= plan.replicate_size


class Walks(NamedTuple):
    """Completed permutations, as in the kernel's Walk, by permutation and place."""

    first: int
    orders: NDArray[np.int64]
    n_drawn: NDArray[np.int64]
    lengths: NDArray[np.int64]
    marginals: NDArray[np.float64]
    utilities: NDArray[np.float64]
    block_utilities: NDArray[np.float64]


def add_to_profile(plan: Plan, record: Credits, profile: NDArray[np.float64]) -> None:
    """Add a shard's contributions by player and position; `profile` is that of Moments."""
    add_profile(Record(**record._asdict(), contributions=(0, 0), profile=profile))
    # No sums of squares where a cell has several contributions of one replicate.
    if plan.replicate_size > 1 and plan.in_out:
        profile[SQUARES] = math.nan
    elif plan.design.shares_places and profile.shape[1] % 2:
        profile[SQUARES, :, profile.shape[1] // 2] = math.nan  # the middle of an order and of its reverse


def other_stream(plan: Plan) -> Plan:
    """Return the same plan for independent permutations, with a record of all utilities."""
    return plan._replace(seed=plan.seed ^ _OTHER, design=design_of("independent"), profile=True)


def with_baselines(
    plan: Plan, game: Any, first: int, stop: int, cancellation: Cancellation
) -> tuple[Plan, int]:
    """Return the plan with control variates from permutations of another stream, and the evaluations."""
    try:
        run = walked(other_stream(plan), game, first, stop, cancellation)
    except UtilityError as error:
        error.permutation = None  # its index in another stream is meaningless
        raise
    by_block = run.block_utilities.mean(axis=0) if plan.n_blocks else plan.block_baselines
    return plan._replace(baselines=run.utilities.mean(axis=0), block_baselines=by_block), run.evaluations


def _numbered(error: UtilityError, permutation: int) -> UtilityError:
    error.permutation = permutation
    return error


def walked(plan: Plan, game: Any, first: int, stop: int, cancellation: Cancellation) -> Walk:
    """Walk permutations first..stop-1, or as far as there is time; UtilityError at one that is not finite."""
    # Its size is the number of players, so the shards of a thread share it.
    held, key = vars(cancellation.scratch), f"{plan.seed} {plan.design.code} {plan.fold}"
    permutations = held.pop(key, None) or make_permutation_state(
        plan.members, plan.starts, plan.quota, plan.seed, plan.design.code
    )
    run = make_walk(
        permutations,
        plan.sizes,
        plan.keep_chosen,
        first,
        stop,
        plan.empty_value,
        plan.inclusion,
        plan.recorded,
        plan.in_out == 1.0,
        plan.n_blocks,
        longest=plan.longest,
        rule=plan.rule,
        tolerance=plan.tolerance,
        patience=plan.patience,
        target=plan.target,
    )
    # Without the JIT numpy does the random stream's arithmetic, and warns of overflow.
    with np.errstate(over="ignore" if config.DISABLE_JIT else "warn"):
        status = run_in_steps(lambda budget: walk(game, run, budget), PAUSED, cancellation)
    if status == FAILED:
        length = plan.quota.sum() if run.place == MEASURING else run.place + 1
        index = run.next
        raise _numbered(UtilityError(run.orders[index - first, :length].tolist(), game.failure()), index)
    if game.has_raised:  # if no utility was evaluated after it
        raise UtilityError(run.orders[-1, : run.lengths[-1]].tolist())
    if status == DONE:  # else the order of its players is not restored
        held[key] = permutations
    return run


def _record(plan: Plan, walks: Walks, weights: NDArray[np.float64]) -> Credits:
    """Return the input of the contributions to the orders of walks, whose utilities are overwritten."""
    utilities = walks.utilities
    if len(plan.baselines):
        baselines = np.tile(plan.baselines, (len(utilities), 1))
    else:
        baselines = _baselines_of(utilities, plan.replicate_size)
    whole = utilities[:, -1].copy()
    centred = np.subtract(utilities, baselines, out=utilities)  # in place, as they are large for many players
    if len(plan.inclusion):
        centred /= plan.inclusion
        centred[np.isnan(centred)] = 0.0
        baselines[:, -1] += centred[:, -1]
    else:
        baselines[:, -1] = whole
    return Credits(
        walks.orders,
        baselines,
        centred,
        walks.marginals * weights,
        plan.size_factors,
        float(plan.in_out),
        float(plan.empty_value),
    )


def _sums_by_block(
    plan: Plan, walks: Walks, weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sums of contributions by blocks of validation rows, and their spread; see Moments."""
    n_blocks, n = plan.n_blocks, len(plan.members)
    sums, spread = np.zeros((n, n_blocks)), np.zeros(n if n_blocks else 0)
    if not n_blocks:
        return sums, spread
    utilities = walks.block_utilities
    evaluated = np.ones((1, 1), np.int64)
    if plan.in_out:
        evaluated = np.isfinite(walks.utilities).astype(np.int64)
        baselines = plan.block_baselines[None]
        if not baselines.size:
            flat = _baselines_of(utilities.reshape(len(utilities), -1), plan.replicate_size)
            baselines = flat.reshape(utilities.shape)
    else:
        baselines = np.zeros((1, 1, n_blocks))
    add_block_contributions(
        BlockTally(
            orders=walks.orders,
            n_drawn=walks.n_drawn,
            lengths=walks.lengths,
            utilities=utilities,
            evaluated=evaluated,
            baselines=baselines,
            inclusion=plan.inclusion,
            order_weights=weights if weights.size > 1 else (0, 0),
            factors=plan.size_factors,
            in_out=float(plan.in_out),
            empty_value=float(plan.empty_value),
            values=(n_blocks,),
            added=(n_blocks,),
            sums=sums,
            spread=spread,
        )
    )
    return sums, spread


def _baselines_of(utilities: NDArray[np.float64], replicate_size: int) -> NDArray[np.float64]:
    """[t, s - 1]: mean utility of the first s players in the other replicates; 0 if there are none."""
    starts = np.arange(0, len(utilities), replicate_size)
    sizes = np.diff(np.append(starts, len(utilities)))
    means = np.add.reduceat(utilities, starts, axis=0)
    np.subtract(means.sum(axis=0), means, out=means)
    means /= np.maximum(len(utilities) - sizes, 1)[:, None]
    return means if replicate_size == 1 else np.repeat(means, sizes, axis=0)


def order_weights(plan: Plan, walks: Walk | Walks) -> NDArray[np.float64]:
    """Factors of marginal contributions: j! times the weight of the j players before, else 1."""
    if plan.weight_game is None:
        return np.ones((1, 1))
    weights = np.ones_like(walks.marginals)
    prefixes = Orders(orders=walks.orders, lengths=walks.lengths, utilities=weights)
    game = plan.weight_game._spare_workspace()
    if evaluate_prefixes(game, prefixes) == FAILED:
        t, j = divmod(int(np.argmin(np.isfinite(weights))), weights.shape[1])
        raise _numbered(WeightError(walks.orders[t, :j].tolist(), game.failure()), walks.first + t)
    factorials = [float(math.factorial(j)) for j in range(weights.shape[1])]
    return np.asarray(weights * factorials)
