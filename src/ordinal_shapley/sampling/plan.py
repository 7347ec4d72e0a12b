"""What a run does, in numbers: which players a permutation holds, and when its walk ends."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common import arguments, arrays
from ordinal_shapley.common.parallel import check_memory
from ordinal_shapley.games.base import Game
from ordinal_shapley.sampling.truncation import Truncation
from ordinal_shapley.value_options import as_weight_game, spot_check_weights
from ordinal_shapley.vocabulary import CLASS_METHODS, DESIGNS, ESTIMATORS, TRUNCATED_METHODS, choose
from ordinal_shapley_kernels.permutations import ANTITHETIC, INDEPENDENT, LATIN
from ordinal_shapley_kernels.walks import NO_RULE, PAPER, PATIENCE

# Permutations a shard. It must never depend on the number of workers: results are added shard by shard.
SHARD_SIZE = 10
# A weight of 1 / |S|! is 0 in double precision from here on.
_MOST_WEIGHTED = 170


class Plan(NamedTuple):
    """Arguments of a shard besides its range and the game.

    Attributes
    ----------
    members : int64 (n_players,)
        Players, stratum after stratum.
    starts : int64 (n_strata + 1,)
        Where each stratum begins in `members`.
    quota : int64 (n_strata,)
        Players that a permutation holds of each stratum.
    sizes : int64 (n_players,)
        Rows of each player.
    seed : int
        Key of the permutation stream.
    keep_chosen : bool
        Whether only the permutations in which a player is drawn count for it.
    empty_value : float
        Utility of the empty sequence.
    design : int
        How permutations hang together, as in the permutations kernel.
    in_out : float
        Share of the in/out contribution, which the utilities of all prefixes make; the rest is marginal.
    profile : bool
        Whether contributions are kept by position.
    centres : float64 (n_places,) or (0,)
        What prefix utilities are centred with; if empty, the mean over others of the shard.
    chances : float64 (n_places,) or (0,)
        Chance of each place of being evaluated; empty for 1.
    weight_game : Game or None
        Weights of sequences among the orders of their players.
    rule, tolerance, patience, target
        The truncation rule, as in the walk kernel.
    """

    members: NDArray[np.int64]
    starts: NDArray[np.int64]
    quota: NDArray[np.int64]
    sizes: NDArray[np.int64]
    seed: int
    keep_chosen: bool
    empty_value: float
    design: int = INDEPENDENT
    in_out: float = 0.0
    profile: bool = False
    centres: NDArray[np.float64] = np.zeros(0)
    chances: NDArray[np.float64] = np.zeros(0)
    weight_game: Game | None = None
    rule: int = NO_RULE
    tolerance: float = 0.0
    patience: int = 0
    target: float = 0.0

    @property
    def unit(self) -> int:
        """Permutations that make an independent unit."""
        return {INDEPENDENT: 1, ANTITHETIC: 2, LATIN: len(self.members)}[self.design]

    @property
    def in_blocks(self) -> bool:
        """Whether shards are counted from the start of a unit, and none reaches into the next."""
        return self.design == LATIN or SHARD_SIZE % self.unit != 0

    @property
    def recorded(self) -> bool:
        """Whether contributions are made of recorded orders; else the walk itself writes them."""
        return self.in_out > 0.0 or self.profile or self.weight_game is not None


def make_strata(
    game: Game, method: str, labels: Any, class_fraction: Any
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Members, starts and quota of the strata: all players in one, or one a class for cmc and ctmc.

    A class of n_c players has a quota of floor(class_fraction n_c), at least 1.
    """
    share = arguments.number("class_fraction", class_fraction, above=0.0, most=1.0)
    n = game.n_players
    if labels is not None:
        named = arrays.as_names(labels, "labels", n, "player")
        classes = arrays.encode(named, "labels")[1]
    elif game.player_classes is not None:
        classes = game.player_classes
    elif method in CLASS_METHODS:
        raise ValueError(
            f"labels is missing: method {method!r} draws players class by class, and this game has players "
            "of no class or of several; give one label a player, or use method 'tmc' or 'mc'"
        )
    if method not in CLASS_METHODS:
        return np.arange(n), np.array([0, n]), np.array([n])
    sizes = np.bincount(classes)
    sizes = sizes[sizes > 0]
    # 0.7 * 90 is 62.99999999999999 in floating point, and 63 was meant.
    quota = np.maximum(1, np.floor(share * sizes + 1e-9)).astype(np.int64)
    members = np.argsort(classes, kind="stable").astype(np.int64)
    return members, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), quota


def in_out_share(value: str, estimator: Any, alpha: float | None) -> float:
    """Share of the in/out estimator: all for the ordinal value, none for others unless asked for."""
    if estimator is not None:
        if hasattr(estimator, "fit"):
            raise TypeError(
                f"estimator is a {type(estimator).__name__}, expected one of 'marginal', 'in_out', ways to "
                "estimate: a model to value rows by goes to EstimatorGame"
            )
        choose("estimator", estimator, ESTIMATORS)
        if value == "ordinal" and estimator == "marginal":
            raise ValueError(
                "estimator='marginal' is for value='partial_ordinal' and 'classic'; value='ordinal' takes "
                "'in_out', for contributions at the end of a sequence say nothing about those within it"
            )
        if value == "blend":
            raise ValueError("estimator goes with other values: value='blend' takes both, by alpha")
        if value != "ordinal" and value != "classic" and estimator == "in_out":
            raise ValueError(f"estimator='in_out' is for value='ordinal' and 'classic', not for {value!r}")
    if alpha is not None:
        return float(alpha)
    return 1.0 if value == "ordinal" or estimator == "in_out" else 0.0


def check_design(design: Any, method: str) -> int:
    """Code of a design in the permutations kernel."""
    choose("design", design, DESIGNS)
    if design == "latin" and method in CLASS_METHODS:
        raise ValueError(
            f"design='latin' puts every player once at every place, and method {method!r} draws some players "
            "only: use design='antithetic' or 'independent', or method 'mc' or 'tmc'"
        )
    return {"independent": INDEPENDENT, "antithetic": ANTITHETIC, "latin": LATIN}[design]


def check_first(first_permutation: Any, plan: Plan) -> int:
    """The first permutation, which begins a unit, and a shard where shards are centred."""
    first = arguments.integer("first_permutation", first_permutation, least=0, most=2**62 - 1)
    step, why = plan.unit, "permutations of this design hang together in blocks of that many"
    if plan.in_out and not plan.in_blocks:
        step, why = SHARD_SIZE, "the ordinal value is estimated in blocks of that many permutations"
    if first % step:
        raise ValueError(f"first_permutation is {first}, expected a multiple of {step}: {why}")
    return first


def check_profile(position_profile: Any, method: str, n_players: int) -> bool:
    """Whether contributions are kept by position."""
    kept = arguments.flag("position_profile", position_profile)
    if kept and method in CLASS_METHODS:
        raise ValueError(
            f"position_profile goes with methods 'mc' and 'tmc': with {method!r} no player stands at the "
            "places beyond the size of the sampled set"
        )
    if kept:
        check_memory(
            100 * n_players**2,
            f"a position profile of {n_players} players",
            "leave position_profile out",
        )
    return kept


def make_weight_game(order_weight: Any, n_players: int) -> Game | None:
    """The weights of sequences, as a game; some of their sums are checked."""
    if order_weight is None:
        return None
    if n_players > _MOST_WEIGHTED + 1:
        raise ValueError(
            f"value='weighted_ordinal' of {n_players} players needs weights below the smallest number, "
            f"1 / {n_players - 1}!: expected at most {_MOST_WEIGHTED + 1} players"
        )
    game = as_weight_game(order_weight, n_players)
    spot_check_weights(game)
    return game


def check_truncation(method: str, truncation: Any) -> Truncation | None:
    """The rule that a method uses: the paper's by default for tmc and ctmc, none for mc and cmc."""
    if truncation is not None and not isinstance(truncation, Truncation):
        raise TypeError(
            f"truncation is {truncation!r}, expected Truncation.paper(), Truncation.patience() or "
            "Truncation.roulette()"
        )
    if method in TRUNCATED_METHODS:
        return truncation or Truncation.paper()
    if truncation is not None:
        raise ValueError(f"truncation goes with methods 'tmc' and 'ctmc', not with {method!r}")
    return None


def rule_code(truncation: Truncation) -> int:
    """Code of a rule in the walk kernel."""
    return {"paper": PAPER, "patience": PATIENCE, "roulette": NO_RULE}[truncation.rule]


def digest(*parts: Any) -> str:
    """Fingerprint of arrays and scalars."""
    total = hashlib.blake2b(digest_size=16)
    for part in parts:
        if isinstance(part, np.ndarray):
            total.update(f"{part.dtype}{part.shape}".encode())
            # No copy: it may be large.
            total.update(np.ascontiguousarray(part).reshape(-1).view(np.uint8).data)
        else:
            total.update(repr(part).encode())
        total.update(b";")
    return total.hexdigest()
