"""Sums over permutations, from which every value and standard error is made."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Half-open ranges of permutation indices, increasing and disjoint.
Ranges = tuple[tuple[int, int], ...]

# The fields of Moments that are arrays come first.
N_ARRAYS = 6


class Moments(NamedTuple):
    """Pure sums over a set of permutations; sums of disjoint sets add elementwise.

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
    unit_sums, unit_squares : ndarray of float64, shape (n,)
        Over complete units: sum of the sums over a unit, and of their squares.
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
    >>> from ordinal_shapley.moments import Moments
    >>> none = Moments.zeros(3)
    >>> none.plus(none._replace(n_permutations=2)).n_permutations
    2
    """

    sums: NDArray[np.float64]
    chosen: NDArray[np.int64]
    unit_sums: NDArray[np.float64]
    unit_squares: NDArray[np.float64]
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
        total = map(operator.add, self, other)
        return Moments._make(total)._replace(unit_size=self.unit_size)

    def plus_unit(self, sums: NDArray[np.float64]) -> Moments:
        """Return the moments with one more complete unit, whose permutations have been added before."""
        return self._replace(
            unit_sums=self.unit_sums + sums,
            unit_squares=self.unit_squares + sums * sums,
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
        if average not in ("all", "selected"):
            raise ValueError(f"average is {average!r}, expected 'all' or 'selected'")
        counts, units = self.chosen.astype(np.int64), self.units.astype(np.int64)
        if average == "all":
            counts[:] = self.n_permutations
            units[:] = self.n_units
        with np.errstate(invalid="ignore", divide="ignore"):
            values = self.sums / counts
        stderr = _standard_error(self.unit_sums, self.unit_squares, units) / self.unit_size
        return values, stderr, counts

    def profile_estimates(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean contribution of each player at each position, and its standard error.

        Returns
        -------
        values, stderr : ndarray of float64, shape (n, n)
            NaN without a sample, and below two.
        """
        sums, squares, counts = self.profile
        with np.errstate(invalid="ignore", divide="ignore"):
            values = sums / counts
        return values, _standard_error(sums, squares, counts)


def _standard_error(
    sums: NDArray[np.float64], squares: NDArray[np.float64], counts: NDArray[Any]
) -> NDArray[np.float64]:
    """Standard error of the mean of `counts` samples."""
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = squares - sums * (sums / counts)
        # Below the rounding error of the sums, this is noise about samples that are all equal.
        spread[spread <= counts * np.finfo(np.float64).eps * squares] = 0.0
        return np.asarray(np.sqrt(spread / (counts - 1) / counts))  # 0 / 0 below two samples


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
