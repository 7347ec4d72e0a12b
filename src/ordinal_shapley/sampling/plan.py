"""What a run does, in numbers: which players a permutation holds, and when its walk ends."""

from __future__ import annotations

import hashlib
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.games import _inputs
from ordinal_shapley.games.base import Game
from ordinal_shapley.sampling.truncation import Truncation
from ordinal_shapley.vocabulary import CLASS_METHODS, ESTIMATORS, TRUNCATED_METHODS, choose
from ordinal_shapley_kernels.walks import NO_RULE, PAPER, PATIENCE


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
    count_chosen : bool
        Whether to count how often each player is drawn.
    empty_value : float
        Utility of the empty sequence.
    in_out : bool
        Whether contributions are estimated in/out, from the utilities of all prefixes, or are marginal.
    rule, tolerance, patience, target
        The truncation rule, as in the walk kernel's Rule.
    """

    members: NDArray[np.int64]
    starts: NDArray[np.int64]
    quota: NDArray[np.int64]
    sizes: NDArray[np.int64]
    seed: int
    count_chosen: bool
    empty_value: float
    in_out: bool = False
    rule: int = NO_RULE
    tolerance: float = 0.0
    patience: int = 0
    target: float = 0.0


def make_strata(
    game: Game, method: str, labels: Any, class_fraction: Any
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Members, starts and quota of the strata: all players in one, or one a class for cmc and ctmc.

    A class of n_c players has a quota of floor(class_fraction n_c), at least 1.
    """
    if isinstance(class_fraction, bool) or not isinstance(class_fraction, Real):
        raise TypeError(f"class_fraction is {class_fraction!r}, expected a number above 0 and at most 1")
    if not 0 < float(class_fraction) <= 1:
        raise ValueError(f"class_fraction is {class_fraction!r}, expected a number above 0 and at most 1")
    n = game.n_players
    if labels is not None:
        named = _inputs.as_names(labels, "labels", n, "player")
        classes = _inputs.encode(named, "labels")[1]
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
    quota = np.maximum(1, np.floor(float(class_fraction) * sizes + 1e-9)).astype(np.int64)
    members = np.argsort(classes, kind="stable").astype(np.int64)
    return members, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), quota


def choose_estimator(value: str, estimator: Any) -> str:
    """The estimator to use: in/out for the ordinal value, marginal contributions by default for others."""
    if estimator is None:
        return "in_out" if value == "ordinal" else "marginal"
    choose("estimator", estimator, ESTIMATORS)
    if value == "ordinal" and estimator == "marginal":
        raise ValueError(
            "estimator='marginal' is for value='partial_ordinal' and 'classic'; value='ordinal' takes "
            "'in_out', for contributions at the end of a sequence say nothing about those within it"
        )
    if value == "partial_ordinal" and estimator == "in_out":
        raise ValueError("estimator='in_out' is for value='ordinal' and 'classic', not for 'partial_ordinal'")
    return str(estimator)


def check_truncation(method: str, truncation: Any) -> Truncation | None:
    """The rule that a method uses: the paper's by default for tmc and ctmc, none for mc and cmc."""
    if truncation is not None and not isinstance(truncation, Truncation):
        raise TypeError(f"truncation is {truncation!r}, expected Truncation.paper() or Truncation.patience()")
    if method in TRUNCATED_METHODS:
        return truncation or Truncation.paper()
    if truncation is not None:
        raise ValueError(f"truncation goes with methods 'tmc' and 'ctmc', not with {method!r}")
    return None


def rule_code(truncation: Truncation) -> int:
    """Code of a rule in the walk kernel."""
    return {"paper": PAPER, "patience": PATIENCE}[truncation.rule]


def seed_of(random_state: Any) -> int:
    """Key of the permutation stream for what users give as `random_state`."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(0, 2**64, dtype=np.uint64))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(0, 2**64, dtype=np.uint64))
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer):
        raise TypeError(
            f"random_state is {random_state!r}, expected None, an integer, a numpy Generator or a RandomState"
        )
    if not 0 <= random_state < 2**64:
        raise ValueError(f"random_state is {random_state}, expected an integer of at least 0, below 2**64")
    return int(random_state)


def digest(*parts: Any) -> str:
    """Fingerprint of arrays and scalars."""
    total = hashlib.blake2b(digest_size=16)
    for part in parts:
        if isinstance(part, np.ndarray):
            total.update(f"{part.dtype}{part.shape}".encode())
            total.update(np.ascontiguousarray(part).tobytes())
        else:
            total.update(repr(part).encode())
        total.update(b";")
    return total.hexdigest()
