"""The plan of a run: players of its permutations, and which of their prefixes are evaluated."""

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

# Permutations per shard. It must never depend on the number of workers, as results are added by shard.
SHARD_SIZE = 10
# With more players a weight of 1 / |S|! is 0 in double precision.
_MAX_WEIGHTED = 170


class Plan(NamedTuple):
    """Arguments of a shard besides its range and the game."""

    members: NDArray[np.int64]  # players, stratum after stratum
    starts: NDArray[np.int64]  # starts of the strata in `members`, and the end
    quota: NDArray[np.int64]  # number of players of each stratum in a permutation
    sizes: NDArray[np.int64]  # rows of each player
    seed: int  # key of the permutation stream
    keep_chosen: bool  # whether only permutations in which a player is drawn count for it
    empty_value: float
    design: Design = design_of("independent")
    in_out: float = 0.0  # share of the in/out contribution; the rest is marginal
    profile: bool = False  # whether contributions are recorded by position
    # Control variates of prefix utilities by place; if empty, the means over the rest of the shard.
    baselines: NDArray[np.float64] = np.zeros(0)
    inclusion: NDArray[np.float64] = np.zeros(0)  # inclusion probability of each place; empty for 1
    # n times the weight of each number of players before; empty if all weights are equal.
    factors: NDArray[np.float64] = np.zeros(0)
    # Block of each validation row and its weight there; empty without blocks.
    block_of: NDArray[np.int64] = np.zeros(0, np.int64)
    block_weights: NDArray[np.float64] = np.zeros(0)
    block_baselines: NDArray[np.float64] = np.zeros((0, 0))  # as `baselines`, by block
    fold: int = 0  # index of the fold in a cross-fitted game
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
        """Whether shards are counted from the start of each replicate, so that none crosses into the next."""
        return self.design.permutations is None or SHARD_SIZE % self.replicate_size != 0

    @property
    def n_places(self) -> int:
        """Players of a permutation."""
        return int(self.quota.sum())

    @property
    def longest(self) -> int:
        """Number of players in the largest prefix with weight."""
        return int(np.flatnonzero(self.factors)[-1]) + 1 if len(self.factors) else self.n_places

    @property
    def size_factors(self) -> NDArray[np.float64]:
        """The factors; 1 if all sizes have equal weights."""
        return self.factors if len(self.factors) else np.ones(self.n_places)

    @property
    def recorded(self) -> bool:
        """Whether contributions are computed from recorded orders; else the walk itself writes them."""
        return self.in_out > 0.0 or self.profile or self.weight_game is not None


def make_plan(game: Game, value: Value, sampler: PermutationSampler, position_profile: bool) -> Plan:
    """Return the plan of a run, without its seed, utilities and the target of its truncation rule.

    ValueError if game, value and sampler do not fit together.
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
    """ValueError if a sampler cannot estimate a value with size weights."""
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
    """Check that the first permutation begins a replicate, or a shard if shards have control variates."""
    first = arguments.integer("first_permutation", first_permutation, min=0, max=2**62 - 1)
    step, why = plan.replicate_size, "permutations of this design depend on one another in such blocks"
    if plan.in_out and not plan.in_blocks:
        step, why = SHARD_SIZE, "the ordinal value is estimated in blocks of that many permutations"
    if first % step:
        raise ValueError(f"first_permutation is {first}, expected a multiple of {step}: {why}")
    return first


def make_weight_game(value: Value, n_players: int) -> Game | None:
    """Return the weights of sequences as a game, after checking some of their sums."""
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
