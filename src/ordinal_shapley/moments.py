"""Sums over permutations, from which every value and standard error is made."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Half-open ranges of permutation indices, increasing and disjoint.
Ranges = tuple[tuple[int, int], ...]


class Moments(NamedTuple):
    """Pure sums over a set of permutations; sums of disjoint sets add elementwise.

    Attributes
    ----------
    sums : ndarray of float64, shape (n,)
        Sum of each player's marginal contributions; a permutation in which the player was truncated
        or not in the sampled set adds 0.
    square_sums : ndarray of float64, shape (n,)
        Sum of the squares of the same.
    chosen : ndarray of int64, shape (n,)
        Permutations in which the player was in the sampled set: all of them for mc and tmc; counted
        for cmc and ctmc with ``average="selected"`` only, and 0 where it is not.
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
    square_sums: NDArray[np.float64]
    chosen: NDArray[np.int64]
    n_permutations: int
    n_evaluations: int
    walk_length: int
    completed_stops: int

    @classmethod
    def zeros(cls, n: int) -> Moments:
        """Return the moments of no permutation at all, for ``n`` players."""
        return cls(np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.int64), 0, 0, 0, 0)

    def plus(self, other: Moments) -> Moments:
        """Return the moments of both sets of permutations together, in new arrays."""
        if self.sums.shape != other.sums.shape:
            raise ValueError(
                f"other has {other.sums.size} players, expected {self.sums.size}: "
                "add moments of the same game only"
            )
        return Moments(
            self.sums + other.sums,
            self.square_sums + other.square_sums,
            self.chosen + other.chosen,
            self.n_permutations + other.n_permutations,
            self.n_evaluations + other.n_evaluations,
            self.walk_length + other.walk_length,
            self.completed_stops + other.completed_stops,
        )

    def estimates(self, average: str) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """Return the mean marginal contributions, their standard errors and sample sizes.

        Parameters
        ----------
        average : {"all", "selected"}
            Average over all permutations, or for each player over those in which it was chosen.

        Returns
        -------
        values, stderr : ndarray of float64, shape (n,)
            The means, NaN without a sample, and their standard errors, NaN below two samples.
        counts : ndarray of int64, shape (n,)
            The numbers of samples.

        Raises
        ------
        ValueError
            If ``average`` is unknown.
        """
        if average not in ("all", "selected"):
            raise ValueError(f"average is {average!r}, expected 'all' or 'selected'")
        counts = self.chosen.astype(np.int64)
        if average == "all":
            counts[:] = self.n_permutations
        with np.errstate(invalid="ignore", divide="ignore"):
            values = self.sums / counts
            spread = self.square_sums - self.sums * values
            # Below the rounding error of the sums, this is noise about samples that are all equal.
            spread[spread <= counts * np.finfo(np.float64).eps * self.square_sums] = 0.0
            stderr = np.sqrt(spread / (counts - 1) / counts)  # 0 / 0 below two samples
        return values, stderr, counts


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
