"""Sums over permutations, from which values and standard errors are computed."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Half-open ranges of permutation indices, increasing and disjoint.
Ranges = tuple[tuple[int, int], ...]

# The fields of Moments that are arrays come first.
N_ARRAYS = 8
# Rounding error of a sum of equal samples, relative to it.
_NOISE = 16 * float(np.finfo(np.float64).eps)


class Moments(NamedTuple):
    """Sums over a set of permutations; those of disjoint sets can be pooled.

    Standard errors are based on *replicates*, sets of permutations that are independent of one another: each
    permutation in the independent design, a pair in the antithetic, a block of n in the Latin one. The first
    five arrays have shape (n,).

    The same sums by blocks of validation rows estimate the effect of other validation rows.
    """

    # Of contributions; a permutation in which the player was truncated or not in the sampled set adds 0.
    sums: NDArray[np.float64]
    # Number of permutations that count: with average="selected" those that draw the player, else all.
    chosen: NDArray[np.int64]
    replicate_sums: NDArray[np.float64]  # over complete replicates
    replicate_spread: NDArray[np.float64]  # sum of squared distances of the replicates' sums from their mean
    replicates: NDArray[np.int64]  # number of complete replicates that count for the player
    # Sums, sums of squares and counts of the contributions [i, k] of player i at position k: (3, n, n), or
    # (3, 0, 0).
    profile: NDArray[np.float64]
    block_sums: NDArray[np.float64]  # `sums` by block, (n, n_blocks)
    # `replicate_spread` summed over blocks if each permutation is a replicate, else 0; (n,), or (0,) without
    # blocks.
    block_spread: NDArray[np.float64]
    replicate_size: int  # permutations per replicate
    n_replicates: int  # number of complete replicates
    n_permutations: int
    n_evaluations: int  # including those of full permutations
    walk_length: int  # players (with groups: rows) evaluated, over all walks
    completed_stops: int  # walks that truncation ended at the first prefix with a model

    @classmethod
    def zeros(cls, n: int, replicate_size: int = 1, n_profile: int = 0, n_blocks: int = 0) -> Moments:
        """Return the moments of zero permutations, for ``n`` players."""
        return cls(
            np.zeros(n),
            np.zeros(n, dtype=np.int64),
            np.zeros(n),
            np.zeros(n),
            np.zeros(n, dtype=np.int64),
            np.zeros((3, n_profile, n_profile)),
            np.zeros((n, n_blocks)),
            np.zeros(n if n_blocks else 0),
            replicate_size,
            *[0] * 5,
        )

    def plus(self, other: Moments) -> Moments:
        """Return the moments of both sets of permutations of one run combined, in new arrays."""
        total = Moments._make(map(operator.add, self, other))
        spread = _pooled_spread(
            (self.replicate_sums, self.replicate_spread, self.replicates),
            (other.replicate_sums, other.replicate_spread, other.replicates),
        )
        total = total._replace(replicate_size=self.replicate_size, replicate_spread=spread)
        return total._replace(block_spread=self._block_spread(other))

    def _block_spread(self, other: Moments) -> NDArray[np.float64]:
        n_1, n_2 = self.n_permutations, other.n_permutations
        spread = self.block_spread + other.block_spread
        if not (n_1 and n_2 and self.n_blocks) or self.replicate_size > 1:
            return spread
        apart = self.block_sums / n_1 - other.block_sums / n_2
        return np.asarray(spread + (apart**2).sum(axis=1) * (n_1 / (n_1 + n_2) * n_2))

    @property
    def n_blocks(self) -> int:
        """Blocks of validation rows."""
        return int(self.block_sums.shape[1])

    @property
    def n_players(self) -> int:
        """Number of players in the sums."""
        return len(self.sums)

    @property
    def parts(self) -> tuple[Moments, ...]:
        """The moments of each fold, here of the only one."""
        return (self,)

    def with_part(self, fold: int, part: Moments) -> Moments:
        """Return the same with the moments of a fold replaced."""
        return part

    def copy(self) -> Moments:
        """Return the same moments in new arrays."""
        return Moments._make(np.copy(part) if isinstance(part, np.ndarray) else part for part in self)

    def plus_some(self, other: Moments, players: NDArray[np.int64]) -> Moments:
        """Return the moments of both sets combined, if `other` has sums for some players and 0 for the rest.

        The arrays are changed in place.
        """
        ours = (self.replicate_sums[players], self.replicate_spread[players], self.replicates[players])
        self.replicate_spread[players] = _pooled_spread(
            ours, (other.replicate_sums, other.replicate_spread, other.replicates)
        )
        for name in ("sums", "chosen", "replicate_sums", "replicates"):
            getattr(self, name)[players] += getattr(other, name)
        first = N_ARRAYS + 1
        counts = map(operator.add, self[first:], other[first:])
        return Moments._make([*self[:first], *counts])

    def plus_replicate(self, sums: NDArray[np.float64]) -> Moments:
        """Return the moments with one more complete replicate, whose permutations are already included."""
        one = (sums, np.zeros_like(sums), np.ones_like(self.replicates))
        return self._replace(
            replicate_sums=self.replicate_sums + sums,
            replicate_spread=_pooled_spread(
                (self.replicate_sums, self.replicate_spread, self.replicates), one
            ),
            replicates=self.replicates + 1,
            n_replicates=self.n_replicates + 1,
        )

    def estimates(self, average: str) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """Return the mean contributions, their standard errors and how many permutations count for each.

        The means are over all permutations or, with `average` "selected", over those in which the player was
        chosen. Values are NaN without a permutation, errors with fewer than two complete replicates.
        """
        counts, replicates = self.chosen.astype(np.int64), self.replicates.astype(np.int64)
        spread = self.replicate_spread
        if average == "all":
            counts[:] = self.n_permutations
            # Replicates without the player count as values of 0.
            absent = (self.replicate_sums * 0.0, self.replicate_sums * 0.0, self.n_replicates - replicates)
            spread = _pooled_spread((self.replicate_sums, spread, replicates), absent)
            replicates[:] = self.n_replicates
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            values = self.sums / counts
            means = self.replicate_sums / replicates
            # A spread below the rounding error of the sums means that all samples are equal.
            noise = replicates * (_NOISE * means) ** 2
            stderr = np.sqrt(np.where(spread <= noise, 0.0, spread) / (replicates - 1) / replicates)
        return values, stderr / self.replicate_size, counts

    def stderr_total(self, average: str) -> NDArray[np.float64] | None:
        """Return standard errors that also cover the choice of validation rows; None without blocks.

        A jackknife over the blocks, which have nearly equal sizes (Efron and Stein, "The jackknife estimate
        of variance", 1981): the variance of the blocks' estimates divided by their number, minus the part due
        to Monte Carlo noise, is added to the variance of the values.
        """
        n, n_blocks = self.n_permutations, self.n_blocks
        if not n_blocks:
            return None
        _, stderr, _ = self.estimates(average)
        if n < 2:
            return np.full_like(stderr, np.nan)
        within = stderr**2
        between = np.var(self.block_sums / n, axis=1, ddof=1) / n_blocks
        # Noise that blocks do not share also makes them differ.
        own = self.block_spread / (n - 1) / n / n_blocks
        apart = np.maximum(own - within, 0.0) / (n_blocks - 1) if self.replicate_size == 1 else 0.0
        return np.asarray(np.sqrt(within + np.maximum(between - apart, 0.0)))

    def profile_estimates(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean contribution of each player at each position, and its standard error, or NaN."""
        sums, squares, counts = self.profile
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            values = sums / counts
            spread = squares - sums * values
            # A spread below the rounding error of the sums means that all samples are equal.
            spread[spread <= counts * np.finfo(np.float64).eps * squares] = 0.0
            return values, np.sqrt(spread / (counts - 1) / counts)  # 0 / 0 with fewer than two samples


class Folds(NamedTuple):
    """The moments of a cross-fitted game: of each fold, for the players of that fold."""

    parts: tuple[Moments, ...]
    players: tuple[NDArray[np.int64], ...]  # the players of each fold, increasing
    n_players: int

    def plus(self, other: Folds) -> Folds:
        """Return the moments of both sets of permutations of one run combined."""
        return self._replace(parts=tuple(map(Moments.plus, self.parts, other.parts)))

    def with_part(self, fold: int, part: Moments) -> Folds:
        """Return the same with the moments of a fold replaced."""
        return self._replace(parts=(*self.parts[:fold], part, *self.parts[fold + 1 :]))

    def _total(self, name: str) -> int:
        return sum(getattr(part, name) for part in self.parts)

    @property
    def n_permutations(self) -> int:
        """Permutations of all folds."""
        return self._total("n_permutations")

    @property
    def n_evaluations(self) -> int:
        """Evaluations of all folds."""
        return self._total("n_evaluations")

    @property
    def walk_length(self) -> int:
        """Players evaluated, summed over all walks."""
        return self._total("walk_length")

    @property
    def completed_stops(self) -> int:
        """Walks that truncation ended at the first prefix with a model."""
        return self._total("completed_stops")

    @property
    def n_replicates(self) -> int:
        """Number of complete replicates if every fold has some, else 0."""
        fewest = min(part.n_replicates for part in self.parts)
        return self._total("n_replicates") if fewest else 0

    def estimates(self, average: str) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """Return the means over the folds in which a player trained, standard errors and counts.

        Folds without a permutation are left out.
        """
        sums, squares = np.zeros((2, self.n_players))
        counts, n_folds = np.zeros((2, self.n_players), np.int64)
        for part, players in zip(self.parts, self.players, strict=True):
            if part.n_permutations:
                values, stderr, counted = part.estimates(average)
                sums[players] += values
                squares[players] += stderr**2
                counts[players] += counted
                n_folds[players] += 1
        with np.errstate(invalid="ignore", divide="ignore"):
            return sums / n_folds, np.where(n_folds > 0, np.sqrt(squares) / n_folds, np.nan), counts

    def stderr_total(self, average: str) -> NDArray[np.float64] | None:
        """Return standard errors that also cover the choice of validation rows in each fold, or None."""
        squares, n_folds = np.zeros((2, self.n_players))
        for part, players in zip(self.parts, self.players, strict=True):
            if part.n_permutations:
                total = part.stderr_total(average)
                if total is None:
                    return None
                squares[players] += total**2
                n_folds[players] += 1
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.sqrt(squares) / n_folds)


_Part = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]


def _pooled_spread(one: _Part, two: _Part) -> NDArray[np.float64]:
    """Sum of squared distances from the common mean, given sums, spreads and sizes of two sets.

    Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances"
    (1982): unlike a difference of sums of squares it loses no precision if the mean is large.
    """
    (sums_1, spread_1, n_1), (sums_2, spread_2, n_2) = one, two
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        apart = sums_1 / n_1 - sums_2 / n_2
        between = apart**2 * (n_1 / (n_1 + n_2) * n_2)
    return spread_1 + spread_2 + np.where((n_1 > 0) & (n_2 > 0), between, 0.0)


def join_ranges(parts: Iterable[Ranges]) -> Ranges:
    """Return the sorted ranges, with neighbours joined and without empty ones; ValueError on overlap."""
    ranges = sorted((start, stop) for part in parts for start, stop in part if start < stop)
    joined = ranges[:1]
    for (_, before), (start, stop) in pairwise(ranges):
        if start < before:
            a, b = joined[-1][0], before - 1
            raise ValueError(
                f"valuations share permutations {start}..{min(before, stop) - 1} (ranges {a}..{b} "
                f"and {start}..{stop - 1}): pool disjoint ranges"
            )
        if start == before:
            joined[-1] = (joined[-1][0], stop)
        else:
            joined.append((start, stop))
    return tuple(joined)
