"""Sums over permutations, from which every value and standard error is made."""

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
N_ARRAYS = 6
# What adding up some equal samples makes of their distances from the mean, relative to that.
_NOISE = 16 * float(np.finfo(np.float64).eps)


class Moments(NamedTuple):
    """Sums over a set of permutations; those of disjoint sets can be pooled.

    Standard errors are made of *replicates*, sets of permutations that are independent of one another: each
    permutation in the independent design, a pair in the antithetic, a block of n in the Latin one. The first
    five arrays have shape (n,).
    """

    # Of contributions; a permutation in which the player was truncated or not in the sampled set adds 0.
    sums: NDArray[np.float64]
    # Permutations that count: with average="selected" those with the player in the sampled set, else all.
    chosen: NDArray[np.int64]
    replicate_sums: NDArray[np.float64]  # over complete replicates, of the sums over a replicate
    replicate_spread: NDArray[np.float64]  # squared distances of the same from their mean over `replicates`
    replicates: NDArray[np.int64]  # complete ones that count for the player
    # Sums, sums of squares and numbers of the contributions [i, k] of player i at position k: (3, n, n), or
    # (3, 0, 0).
    profile: NDArray[np.float64]
    replicate_size: int  # permutations of a replicate
    n_replicates: int  # complete ones
    n_permutations: int
    n_evaluations: int  # those of full orders included
    walk_length: int  # players (with groups: rows) evaluated, summed over the walks
    completed_stops: int  # walks that truncation ended at the first prefix that had a model

    @classmethod
    def zeros(cls, n: int, replicate_size: int = 1, n_profile: int = 0) -> Moments:
        """Return the moments of no permutation at all, for ``n`` players."""
        return cls(
            np.zeros(n),
            np.zeros(n, dtype=np.int64),
            np.zeros(n),
            np.zeros(n),
            np.zeros(n, dtype=np.int64),
            np.zeros((3, n_profile, n_profile)),
            replicate_size,
            *[0] * 5,
        )

    def plus(self, other: Moments) -> Moments:
        """Return the moments of both sets of permutations of one run together, in new arrays."""
        total = Moments._make(map(operator.add, self, other))
        spread = _pooled_spread(
            (self.replicate_sums, self.replicate_spread, self.replicates),
            (other.replicate_sums, other.replicate_spread, other.replicates),
        )
        return total._replace(replicate_size=self.replicate_size, replicate_spread=spread)

    def copy(self) -> Moments:
        """Return the same moments in new arrays."""
        return Moments._make(np.copy(part) if isinstance(part, np.ndarray) else part for part in self)

    def plus_some(self, other: Moments, players: NDArray[np.int64]) -> Moments:
        """Return the moments of both sets together, if `other` is of some players and the rest were in none.

        The arrays are changed in place.
        """
        ours = (self.replicate_sums[players], self.replicate_spread[players], self.replicates[players])
        self.replicate_spread[players] = _pooled_spread(
            ours, (other.replicate_sums, other.replicate_spread, other.replicates)
        )
        for name in ("sums", "chosen", "replicate_sums", "replicates"):
            getattr(self, name)[players] += getattr(other, name)
        counts = map(operator.add, self[7:], other[7:])
        return Moments._make([*self[:7], *counts])

    def plus_replicate(self, sums: NDArray[np.float64]) -> Moments:
        """Return the moments with one more complete replicate, whose permutations have been added before."""
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
        chosen. They are NaN without a permutation, standard errors below two complete replicates.
        """
        counts, replicates = self.chosen.astype(np.int64), self.replicates.astype(np.int64)
        spread = self.replicate_spread
        if average == "all":
            counts[:] = self.n_permutations
            # Replicates in which the player was not are 0: further values to be spread about the mean.
            absent = (self.replicate_sums * 0.0, self.replicate_sums * 0.0, self.n_replicates - replicates)
            spread = _pooled_spread((self.replicate_sums, spread, replicates), absent)
            replicates[:] = self.n_replicates
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            values = self.sums / counts
            means = self.replicate_sums / replicates
            # Below the rounding error of the sums, this is noise about samples that are all equal.
            noise = replicates * (_NOISE * means) ** 2
            stderr = np.sqrt(np.where(spread <= noise, 0.0, spread) / (replicates - 1) / replicates)
        return values, stderr / self.replicate_size, counts

    def profile_estimates(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean contribution of each player at each position, and its standard error, or NaN."""
        sums, squares, counts = self.profile
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            values = sums / counts
            spread = squares - sums * values
            # Below the rounding error of the sums, this is noise about samples that are all equal.
            spread[spread <= counts * np.finfo(np.float64).eps * squares] = 0.0
            return values, np.sqrt(spread / (counts - 1) / counts)  # 0 / 0 below two samples


_Part = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]


def _pooled_spread(one: _Part, two: _Part) -> NDArray[np.float64]:
    """Sum of squared distances from the common mean, of two sets with their sums, spreads and numbers.

    Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances"
    (1982): unlike a difference of sums of squares it loses nothing where the mean is large.
    """
    (sums_1, spread_1, n_1), (sums_2, spread_2, n_2) = one, two
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        apart = sums_1 / n_1 - sums_2 / n_2
        between = apart**2 * (n_1 / (n_1 + n_2) * n_2)
    return spread_1 + spread_2 + np.where((n_1 > 0) & (n_2 > 0), between, 0.0)


def join_ranges(parts: Iterable[Ranges]) -> Ranges:
    """Return the ranges in order, neighbours joined, empty ones dropped; ValueError on overlap."""
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
