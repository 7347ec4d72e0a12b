"""The loop of a run: shards in order of their index, until the stopping rule stops it."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from ordinal_shapley.common.parallel import Cancellation, n_workers, running, uninterrupted
from ordinal_shapley.common.progress import ProgressBar
from ordinal_shapley.games.base import Game
from ordinal_shapley.sampling.checkpoint import Keeper
from ordinal_shapley.sampling.plan import SHARD_SIZE, Plan
from ordinal_shapley.sampling.shards import fold_of, shard_end, shard_ranges, walk_shard
from ordinal_shapley.sampling.state import State
from ordinal_shapley.sampling.stopping import Check, Progress, StoppingRule

# Number of shards that a worker may be ahead of those that have been added.
_SHARDS_AHEAD = 2


class Clock:
    """Start and deadline of a call, and what its time was spent on, by a monotonic clock."""

    def __init__(self, began: float, max_seconds: float | None) -> None:
        self._began = began
        self._limit = max_seconds
        self._deadline = math.inf if max_seconds is None else began + max_seconds
        self._spent: list[tuple[str, float]] = []
        self.note("compiling kernels or loading them", began)

    @property
    def max_seconds(self) -> float:
        """Seconds after which time is up, infinite if never."""
        return math.inf if self._limit is None else self._limit

    @property
    def time_is_up(self) -> bool:
        """Whether the call should end."""
        return time.monotonic() >= self._deadline

    def cancellation(self) -> Cancellation:
        """Return an object that signals workers when time is up; each piece of work needs its own."""
        return Cancellation(self._deadline)

    def note(self, what: str, began: float) -> None:
        """Record what the time since `began` was spent on."""
        self._spent.append((what, time.monotonic() - began))

    def end(self) -> None:
        """End the time now."""
        self._deadline = -math.inf

    def seconds(self) -> float:
        """Seconds so far; at least the limit if time is up."""
        minimum = self._limit if self._limit is not None and self.time_is_up else 0.0
        return max(time.monotonic() - self._began, minimum)

    def check(self, n_permutations: int) -> None:
        """TimeoutError if time is up without any permutation."""
        if n_permutations == 0 and self.time_is_up:
            total = time.monotonic() - self._began
            rest = total - sum(seconds for _, seconds in self._spent)
            spent: dict[str, float] = {}
            for what, seconds in (*self._spent, ("permutations of which none ended", rest)):
                spent[what] = spent.get(what, 0.0) + seconds
            words = [f"{took:.3g} s went into {what}" for what, took in spent.items() if took >= 0.05 * total]
            raise TimeoutError(
                f"give it more time: MaxSeconds({self._limit:g}) ended the run before its first permutation "
                f"was complete; {', '.join(words)}"
            )


def run_shards(
    games: Sequence[Game],
    plans: Sequence[Plan],
    state: State,
    stopping: StoppingRule,
    average: str,
    first_permutation: int,
    n_jobs: int | None,
    bar: ProgressBar,
    clock: Clock,
    keeper: Keeper,
) -> tuple[State, Check]:
    """Walk shards until the rule stops the run.

    Workers run ahead, but shards are added in order and the rule is checked after fixed rounds, so results do
    not depend on the speed of workers.
    """
    from joblib import delayed

    cap = stopping.max_permutations
    check = stopping.begin()
    check.recall(state.memory, state.moments.n_permutations)
    if state.moments.n_permutations and _says_stop(check, state, stopping, average, clock):
        return state, check
    state = _looked_at(state, check)
    start = first_permutation + state.moments.n_permutations
    end = None if cap is None else first_permutation + cap
    cancellation = clock.cancellation()
    plan = plans[0]  # all have the same shards
    arguments = [
        (cancellation, len(one), *one, *game._payload) for game, one in zip(games, plans, strict=True)
    ]
    tasks = (
        delayed(walk_shard)(games[k]._workspace_maker, *ends, *arguments[k])
        for ends in shard_ranges(start, end, plan)
        for k in [fold_of(ends[0], len(plans))]
    )
    kept = state  # after complete shards only, so that a resumed run is bit-identical
    ahead = _SHARDS_AHEAD * SHARD_SIZE * n_workers(n_jobs)
    cancellation.horizon = start + ahead
    with running(tasks, n_jobs, games[0]._prefer, cancellation) as shards:
        try:
            for (first, stop), shard in zip(shard_ranges(start, end, plan), shards, strict=False):
                if shard.failure is not None:
                    raise shard.failure
                now = first + shard.moments.n_permutations
                with uninterrupted():
                    is_whole = now == shard_end(first, plan)
                    of_fold = plans[fold_of(first, len(plans))]
                    state = state.plus(shard, of_fold, first, keep=not is_whole)
                    kept = state if is_whole else kept
                cancellation.horizon = now + ahead
                if now < stop:  # a worker found that time is up
                    clock.end()
                clock.check(state.moments.n_permutations)
                if _says_stop(check, state, stopping, average, clock):
                    break
                kept = state = _looked_at(state, check)
                keeper.offer(kept, clock.seconds())
                moments = state.moments
                bar.update(moments.n_permutations, moments.n_evaluations, clock.seconds(), check.figure)
        finally:
            keeper.save(kept, clock.seconds())
    return state, check


def _says_stop(check: Check, state: State, stopping: StoppingRule, average: str, clock: Clock) -> bool:
    """Check the rule at the end of a round, and at its limits."""
    moments, limits = state.moments, (stopping.max_permutations, stopping.max_evaluations)
    so_far = (moments.n_permutations, moments.n_evaluations)
    at_limit = any(limit is not None and n >= limit for n, limit in zip(so_far, limits, strict=True))
    if not (state.round_ends or at_limit or clock.time_is_up):
        return False
    values, stderr, _ = moments.estimates(average)
    return check(Progress(values, stderr, *so_far, clock.seconds()))


def _looked_at(state: State, check: Check) -> State:
    return state._replace(round_ends=False, memory=check.memory()) if state.round_ends else state
