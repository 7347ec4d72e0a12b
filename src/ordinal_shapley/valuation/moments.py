"""Sums over permutations, from which every value and standard error is made."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.vocabulary import AVERAGES, choose

# Half-open ranges of permutation indices, increasing and disjoint.
Ranges = tuple[tuple[int, int], ...]

# The fields of Moments that are arrays come first.
N_ARRAYS = 6
# What adding up some equal samples makes of their distances from the mean, relative to that.
_NOISE = 16 * float(np.finfo(np.float64).eps)


class Moments(NamedTuple):
    """Sums over a set of permutations; those of disjoint sets can be pooled.

    Standard errors are made of *units*, sets of permutations that are independent of one another: each
    permutation in the independent design, a pair in the antithetic, a block of n in the Latin one.

    Attributes
    ----------
    sums : ndarray of float64, shape (n,)
        Sum of each player's contributions; a permutation in which the player was truncated or not in the
        sampled set adds 0.
    chosen : ndarray of int64, shape (n,)
        Permutations that count for the player: with ``average="selected"`` those in which it is in the
        sampled set, else all.
    unit_sums : ndarray of float64, shape (n,)
        Sum over complete units of the sums over a unit.
    unit_spread : ndarray of float64, shape (n,)
        Sum of the squared distances of the same from their mean over ``units``.
    units : ndarray of int64, shape (n,)
        Complete units that count for the player.
    profile : ndarray of float64, shape (3, n, n) or (3, 0, 0)
        Sums, sums of squares and numbers of the contributions ``[i, k]`` of player i at position k.
    unit_size : int
        Permutations a unit.
    n_units : int
        Complete units.
    n_permutations : int
        Number of permutations summed over.
    n_evaluations : int
        Utilities evaluated, those of full orders included.
    walk_length : int
        Players (with groups: rows) evaluated, summed over the walks.
    completed_stops : int
        Walks that truncation ended at the first prefix that had a model.

    Examples
    --------
    >>> from ordinal_shapley.valuation.moments import Moments
    >>> none = Moments.zeros(3)
    >>> none.plus(none._replace(n_permutations=2)).n_permutations
    2
    """

    sums: NDArray[np.float64]
    chosen: NDArray[np.int64]
    unit_sums: NDArray[np.float64]
    unit_spread: NDArray[np.float64]
    units: NDArray[np.int64]
    profile: NDArray[np.float64]
    unit_size: int
    n_units: int
    n_permutations: int
    n_evaluations: int
    walk_length: int
    completed_stops: int

    @classmethod
    def zeros(cls, n: int, unit_size: int = 1, n_profile: int = 0) -> Moments:
        """Return the moments of no permutation at all, for ``n`` players."""
        return cls(
            np.zeros(n),
            np.zeros(n, dtype=np.int64),
            np.zeros(n),
            np.zeros(n),
            np.zeros(n, dtype=np.int64),
            np.zeros((3, n_profile, n_profile)),
            unit_size,
            *[0] * 5,
        )

    def plus(self, other: Moments) -> Moments:
        """Return the moments of both sets of permutations together, in new arrays."""
        if self.sums.shape != other.sums.shape:
            raise ValueError(
                f"other has {other.sums.size} players, expected {self.sums.size}: "
                "add moments of the same game only"
            )
        if self.unit_size != other.unit_size or self.profile.shape != other.profile.shape:
            raise ValueError(
                f"other has units of {other.unit_size} and a profile of {other.profile.shape}, expected "
                f"{self.unit_size} and {self.profile.shape}: add moments of the same options only"
            )
        total = Moments._make(map(operator.add, self, other))
        spread = _pooled_spread(
            (self.unit_sums, self.unit_spread, self.units), (other.unit_sums, other.unit_spread, other.units)
        )
        return total._replace(unit_size=self.unit_size, unit_spread=spread)

    def copy(self) -> Moments:
        """Return the same moments in new arrays."""
        return Moments._make(np.copy(part) if isinstance(part, np.ndarray) else part for part in self)

    def plus_some(self, other: Moments, players: NDArray[np.int64]) -> Moments:
        """Return the moments of both sets together, if `other` is of some players and the rest were in none.

        The arrays are changed in place.
        """
        ours = (self.unit_sums[players], self.unit_spread[players], self.units[players])
        self.unit_spread[players] = _pooled_spread(ours, (other.unit_sums, other.unit_spread, other.units))
        for name in ("sums", "chosen", "unit_sums", "units"):
            getattr(self, name)[players] += getattr(other, name)
        counts = map(operator.add, self[7:], other[7:])
        return Moments._make([*self[:7], *counts])

    def plus_unit(self, sums: NDArray[np.float64]) -> Moments:
        """Return the moments with one more complete unit, whose permutations have been added before."""
        one = (sums, np.zeros_like(sums), np.ones_like(self.units))
        return self._replace(
            unit_sums=self.unit_sums + sums,
            unit_spread=_pooled_spread((self.unit_sums, self.unit_spread, self.units), one),
            units=self.units + 1,
            n_units=self.n_units + 1,
        )

    def estimates(self, average: str) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """Return the mean contributions, their standard errors and sample sizes.

        Parameters
        ----------
        average : {"all", "selected"}
            Average over all permutations, or for each player over those in which it was chosen.

        Returns
        -------
        values, stderr : ndarray of float64, shape (n,)
            The means, NaN without a sample, and their standard errors, NaN below two complete units.
        counts : ndarray of int64, shape (n,)
            The numbers of samples.

        Raises
        ------
        ValueError
            If ``average`` is unknown.
        """
        choose("average", average, AVERAGES)
        counts, units, spread = self.chosen.astype(np.int64), self.units.astype(np.int64), self.unit_spread
        if average == "all":
            counts[:] = self.n_permutations
            # Units in which the player was not are 0: further values to be spread about the mean.
            absent = (self.unit_sums * 0.0, self.unit_sums * 0.0, self.n_units - units)
            spread = _pooled_spread((self.unit_sums, spread, units), absent)
            units[:] = self.n_units
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            values = self.sums / counts
            means = self.unit_sums / units
            # Below the rounding error of the sums, this is noise about samples that are all equal.
            noise = units * (_NOISE * means) ** 2
            stderr = np.sqrt(np.where(spread <= noise, 0.0, spread) / (units - 1) / units)
        return values, stderr / self.unit_size, counts

    def profile_estimates(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean contribution of each player at each position, and its standard error.

        Returns
        -------
        values, stderr : ndarray of float64, shape (n, n)
            NaN without a sample, and below two.
        """
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
