"""State of a run: everything needed to resume it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.sampling.plan import SHARD_SIZE, Plan
from ordinal_shapley.sampling.shards import Shard, add_to_profile
from ordinal_shapley.sampling.stopping import Memory
from ordinal_shapley.valuation.moments import Folds, Moments

# Permutations between checks of stopping rules, a multiple of the shard size.
ROUND_SIZE = 100


class State(NamedTuple):
    """State of a run after some shards."""

    moments: Moments | Folds
    block: NDArray[np.float64]  # sums over the current replicate, if it is longer than a shard
    unconverged: int = 0
    seconds: float = 0.0  # time of earlier calls
    round_ends: bool = False  # whether a round ends here that the stopping rule has not checked
    memory: Memory = {}  # noqa: RUF012 - never changed

    @classmethod
    def before(
        cls, plans: Sequence[Plan], n_evaluations: Sequence[int], players: Sequence[Any], n_players: int
    ) -> State:
        """Return the state before the first permutation, given the evaluations so far by fold."""
        parts = []
        for plan, evaluations in zip(plans, n_evaluations, strict=True):
            n = len(plan.members)
            moments = Moments.zeros(n, plan.replicate_size, n if plan.profile else 0, plan.n_blocks)
            parts.append(moments._replace(n_evaluations=evaluations))
        if players[0] is None:
            return cls(parts[0], np.zeros(n_players))
        return cls(Folds(tuple(parts), tuple(players), n_players), np.zeros(n_players))

    def plus(self, shard: Shard, plan: Plan, first: int, *, keep: bool) -> State:
        """Return the state after one more shard, which began at permutation `first`.

        Large arrays, the profile and sums over many players of which few change, are changed in place unless
        this state is kept as well.
        """
        before = self.moments.parts[plan.fold]
        if shard.players is not None:
            moments = before.copy() if keep else before
            moments = moments.plus_some(shard.moments, shard.players)
            return self._after(shard, moments, self.block, plan, first)
        profile = before.profile
        if shard.record is not None:
            if keep:
                profile = profile.copy()
            add_to_profile(plan, shard.record, profile)
        flat = before._replace(profile=shard.moments.profile)
        moments = flat.plus(shard.moments)._replace(profile=profile)
        now = first + shard.moments.n_permutations
        block = self.block
        if plan.replicate_size > SHARD_SIZE:
            block = block + shard.moments.sums
            if now % plan.replicate_size == 0:
                moments = moments.plus_replicate(block)
                block = np.zeros_like(block)
        return self._after(shard, moments, block, plan, first)

    def _after(
        self, shard: Shard, moments: Moments, block: NDArray[np.float64], plan: Plan, first: int
    ) -> State:
        now = first + shard.moments.n_permutations
        return self._replace(
            moments=self.moments.with_part(plan.fold, moments),
            block=block,
            unconverged=self.unconverged + shard.unconverged,
            round_ends=now // ROUND_SIZE > first // ROUND_SIZE,
        )
