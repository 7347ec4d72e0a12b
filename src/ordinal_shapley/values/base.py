"""The interface of all values."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common.described import Described
from ordinal_shapley_kernels import enumeration as kernels

if TYPE_CHECKING:
    from ordinal_shapley.exact.enumeration import Scope, Totals
    from ordinal_shapley.games.base import Game

# Tolerance for sums and utilities that should be equal.
TOLERANCE = 1e-9


class Value(Described, ABC):
    """A way to attribute a game's utility to its players."""

    name: ClassVar[str]  # its name without options
    # Contributions that estimate it, the default first: "marginal", what a player adds at the end of those
    # before it, or "in_out", utilities of all prefixes.
    contributions: ClassVar[tuple[str, ...]] = ("marginal",)
    order_free: ClassVar[bool] = False  # whether it is for games in which order does not matter
    needs_mean_utilities: ClassVar[bool] = False  # whether exact values need those over the orders of sets

    @property
    def insertion(self) -> str:
        """Where a player joins when the axioms ask what it changes: at the "end" or "anywhere"."""
        return "end"

    @property
    @abstractmethod
    def meaning(self) -> str:
        """What it is, in words, with "{noun}" for a player."""

    @property
    def title(self) -> str:
        """Its name in a heading."""
        return self.name.replace("_", " ").capitalize()

    def check(self, game: Game) -> None:
        """ValueError unless the value is defined for the game and its options fit."""

    def try_game(self, game: Game) -> None:
        """Warn if a few random sequences contradict what the user declared."""

    @property
    def size_words(self) -> str:
        """Which sizes of coalitions count, in words; "" if all count equally."""
        return ""

    def by_size(self, n_players: int) -> NDArray[np.float64]:
        """Return the weight of each number of players before; empty if all weights are equal."""
        return np.zeros(0)

    def played(self, game: Game) -> Game:
        """Return the game whose sequences are evaluated."""
        return game

    def weight_game(self, n_players: int) -> Game | None:
        """Return the weights of sequences among the orders of their players, as a game; None if uniform."""
        return None

    def in_out(self, contribution: str) -> float:
        """Return the share of the in/out contribution in an estimate; the rest is marginal."""
        return 1.0 if contribution == "in_out" else 0.0

    def enumerated(self, n_players: int) -> tuple[int, NDArray[np.int64]]:
        """Return which sequences are enumerated: the kernel's code, and a group for each player."""
        return kernels.ALL, np.zeros(n_players, np.int64)

    def instead(self, enumerates_all: bool) -> str:
        """Return advice on a cheaper enumeration; "" if there is none."""
        return ""

    def profile(self, totals: Totals, scope: Scope) -> NDArray[np.float64]:
        """Return what players add by position, from the sums of an enumeration.

        [i, k]: mean over the sets of k players of what player i adds to them; the value is the mean over k,
        weighted by `by_size`.
        """
        return marginal_profile(totals, scope, scope.kind != kernels.ALL)


def differing(
    game: Game, n_tried: int, stand_in: Callable[[NDArray[np.int64]], NDArray[np.int64]]
) -> tuple[NDArray[np.int64], NDArray[np.int64], float, float] | None:
    """Return a random sequence and one that should have its utility, with both utilities, if these differ."""
    rng = np.random.default_rng(0)
    n = game.n_players
    for _ in range(n_tried if n > 1 else 0):
        sequence = rng.permutation(n)[: rng.integers(2, n + 1)]
        alike = stand_in(sequence)
        one, two = game(sequence), game(alike)
        if not math.isclose(one, two, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
            return sequence, alike, one, two
    return None


def marginal_profile(totals: Totals, scope: Scope, sums_to_one: bool) -> NDArray[np.float64]:
    """[i, k]: mean over the sets S of k players of what i adds to the orders of S.

    With `sums_to_one` the sums are over orders of a set with weights that sum to 1, else each has weight 1.
    """
    n = scope.n_players
    sets = [math.comb(n - 1, k) if sums_to_one else math.perm(n - 1, k) for k in range(n)]
    return np.asarray(totals.marginals.T / np.array(sets, float))


def mean_utility_profile(totals: Totals, n: int) -> NDArray[np.float64]:
    """[i, k]: mean over the sets S of k players of what i adds to the mean utility of the orders of S."""
    subsets = np.arange(2**n)
    sizes = sum((subsets >> i & 1 for i in range(n)), np.zeros(2**n, np.int64))
    means = totals.subset_sums / np.array([math.factorial(k) for k in range(n + 1)], float)[sizes]
    profile = np.empty((n, n))
    for i in range(n):
        without = subsets[subsets >> i & 1 == 0]
        gains = means[without | 1 << i] - means[without]
        profile[i] = np.bincount(sizes[without], gains, n)
        profile[i] /= [math.comb(n - 1, k) for k in range(n)]
    return profile
