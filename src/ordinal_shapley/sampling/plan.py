"""What a run does, in numbers: which players a permutation holds, and which of its prefixes are evaluated."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common import arguments
from ordinal_shapley.common.parallel import check_memory
from ordinal_shapley.games.base import Game
from ordinal_shapley.sampling.designs import Design, design_of
from ordinal_shapley.sampling.sampler import PermutationSampler
from ordinal_shapley.values.base import Value
from ordinal_shapley.values.weighted_ordinal import check_small_sets
from ordinal_shapley_kernels.walks import NO_RULE

# Permutations a shard. It must never depend on the number of workers: results are added shard by shard.
SHARD_SIZE = 10
# A weight of 1 / |S|! is 0 in double precision from here on.
_MAX_WEIGHTED = 170


class Plan(NamedTuple):
    """Arguments of a shard besides its range and the game."""

    members: NDArray[np.int64]  # players, stratum after stratum
    starts: NDArray[np.int64]  # where each stratum begins in `members`, and the end
    quota: NDArray[np.int64]  # players that a permutation holds of each stratum
    sizes: NDArray[np.int64]  # rows of each player
    seed: int  # key of the permutation stream
    keep_chosen: bool  # whether only the permutations in which a player is drawn count for it
    empty_value: float
    design: Design = design_of("independent")
    in_out: float = 0.0  # share of the in/out contribution; the rest is marginal
    profile: bool = False  # whether contributions are kept by position
    # Control variates of prefix utilities by place; if empty, the means over others of the shard.
    baselines: NDArray[np.float64] = np.zeros(0)
    inclusion: NDArray[np.float64] = np.zeros(0)  # each place's probability of being evaluated; empty for 1
    # n times the weight of each size of what is before a player; empty where all weigh alike.
    factors: NDArray[np.float64] = np.zeros(0)
    # Block of each validation row and what it weighs there; empty without blocks.
    block_of: NDArray[np.int64] = np.zeros(0, np.int64)
    block_weights: NDArray[np.float64] = np.zeros(0)
    block_baselines: NDArray[np.float64] = np.zeros((0, 0))  # as `baselines`, by block
    fold: int = 0  # number of the game among those of a cross-fitted one
    weight_game: Game | None = None  # weights of sequences among the orders of their players
    # The truncation rule, as in the walk kernel.
    rule: int = NO_RULE
    tolerance: float = 0.0
    patience: int = 0
    target: float = 0.0

    @property
    def replicate_size(self) -> int:
        """Permutations that make an independent replicate."""
        return self.design.replicate_size(len(self.members))

    @property
    def n_blocks(self) -> int:
        """Blocks of validation rows."""
        return int(self.block_of.max()) + 1 if len(self.block_of) else 0

    @property
    def in_blocks(self) -> bool:
        """Whether shards are counted from the start of a replicate, and none reaches into the next."""
        return self.design.permutations is None or SHARD_SIZE % self.replicate_size != 0

    @property
    def n_places(self) -> int:
        """Players of a permutation."""
        return int(self.quota.sum())

    @property
    def longest(self) -> int:
        """Players of the largest prefix that tells anything."""
        return int(np.flatnonzero(self.factors)[-1]) + 1 if len(self.factors) else self.n_places

    @property
    def size_factors(self) -> NDArray[np.float64]:
        """The factors; 1 where all sizes weigh alike."""
        return self.factors if len(self.factors) else np.ones(self.n_places)

    @property
    def recorded(self) -> bool:
        """Whether contributions are made of recorded orders; else the walk itself writes them."""
        return self.in_out > 0.0 or self.profile or self.weight_game is not None


def make_plan(game: Game, value: Value, sampler: PermutationSampler, position_profile: bool) -> Plan:
    """Return what a run does, but for its seed, utilities and what its truncation rule must know.

    ValueError if game, value and sampler do not go together.
    """
    value.check(game)
    profile = arguments.flag("position_profile", position_profile)
    if profile:
        if sampler.draws_classes:
            raise ValueError(
                "leave out position_profile or class_fraction: a profile needs permutations of all players, "
                "but class_fraction draws some"
            )
        n = game.n_players
        check_memory(100 * n**2, f"a position profile of {n} players", "leave position_profile out")
    factors = value.by_size(game.n_players) * game.n_players
    if len(factors):
        _check_whole(sampler)
    return Plan(
        *sampler.draw_from(game),
        game.player_sizes,
        seed=0,
        keep_chosen=sampler.average == "selected",
        empty_value=0.0,
        design=design_of(sampler.design),
        in_out=value.in_out(sampler.contribution_to(value)),
        profile=profile,
        factors=factors,
    )


def _check_whole(sampler: PermutationSampler) -> None:
    """ValueError if a sampler estimates something else than what size weights say."""
    if sampler.draws_classes:
        raise ValueError(
            "use method 'auto' or 'mc': size_weights need permutations of all players, but class_fraction "
            "draws some"
        )
    if sampler.biases:
        raise ValueError(
            "use method 'auto' or 'mc': size_weights would also weigh the bias of truncation "
            f"{sampler.truncation.name!r}"
        )


def check_first(first_permutation: Any, plan: Plan) -> int:
    """The first permutation, which begins a replicate, and a shard where shards share control variates."""
    first = arguments.integer("first_permutation", first_permutation, min=0, max=2**62 - 1)
    step, why = plan.replicate_size, "permutations of this design depend on one another in such blocks"
    if plan.in_out and not plan.in_blocks:
        step, why = SHARD_SIZE, "the ordinal value is estimated in blocks of that many permutations"
    if first % step:
        raise ValueError(f"first_permutation is {first}, expected a multiple of {step}: {why}")
    return first


def make_weight_game(value: Value, n_players: int) -> Game | None:
    """The weights of sequences, as a game; some of their sums are checked."""
    game = value.weight_game(n_players)
    if game is None:
        return None
    if n_players > _MAX_WEIGHTED + 1:
        raise ValueError(
            f"value {value.name!r} of {n_players} players needs weights below the smallest number, "
            f"1 / {n_players - 1}!: expected at most {_MAX_WEIGHTED + 1} players"
        )
    check_small_sets(game)
    return game
