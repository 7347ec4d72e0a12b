"""Whether runs of an estimator agree in the mean with a reference, and whether their intervals hold it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import norm, t

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Draws that tell what chance does.
N_DRAWS = 2_000
_AT_ONCE = 100


class Reference(NamedTuple):
    """Values to compare with.

    values, error : float64 (n,)
        Means over the batches and their standard errors; or exact values, and 0.
    batches : float64 (n_batches, n)
        Independent estimates; none if the values are exact.
    freedom : float
        Degrees of freedom of the errors: few if they are estimated from the batches.
    """

    values: Floats
    error: Floats
    batches: Floats
    freedom: float = math.inf

    @classmethod
    def mean(cls, batches: Floats) -> Reference:
        """Return the mean over batches, with errors estimated from them."""
        return cls(batches.mean(axis=0), error_of(batches), batches, len(batches) - 1)

    @classmethod
    def exact(cls, values: Floats) -> Reference:
        """Return one without error."""
        return cls(values, np.zeros(len(values)), np.empty((0, len(values))))

    def of(self, players: npt.NDArray[np.bool_]) -> Reference:
        """Return that of some of the players."""
        return Reference(self.values[players], self.error[players], self.batches[:, players], self.freedom)

    def sums(self, members: Floats) -> Reference:
        """Return sums over groups of players; `members` (n, n_groups) is 1 where a player is in one."""
        return (
            Reference.mean(self.batches @ members) if len(self.batches) else self.exact(self.values @ members)
        )


class Agreement(NamedTuple):
    """How far means over runs are from a reference, in standard errors of the difference.

    mean, sd, largest : float
        Of the z-scores: the mean, the root of the mean square, the largest size.
    bound : float
        What the largest of as many normal numbers exceeds one time in twenty.
    p : float
        How often chance gives z-scores as large, by the sum of their squares.
    """

    mean: float
    sd: float
    largest: float
    bound: float
    p: float


def error_of(batches: Floats) -> Floats:
    """Return the standard error of the mean over independent estimates, for each player."""
    return np.asarray(batches.std(axis=0, ddof=1) / np.sqrt(len(batches)))


def z_scores(runs: Floats, reference: Reference, error: Floats | None = None) -> Floats:
    """Return how far the means over independent runs (n_runs, n) are from a reference.

    Their standard errors are given, or estimated from the runs. Where errors are estimated from few, a
    z-score is the normal number that is as unlikely as Student's (Welch's, for runs and reference together).
    """
    found = error_of(runs) if error is None else error
    total = np.sqrt(found**2 + reference.error**2)
    z = np.asarray((runs.mean(axis=0) - reference.values) / total)
    spread = reference.error**4 / reference.freedom
    if error is None:
        spread += found**4 / (len(runs) - 1)
    known = np.copysign(norm.isf(t.sf(np.abs(z), total**4 / np.where(spread > 0.0, spread, 1.0))), z)
    return np.where(spread > 0.0, known, z)


def halves_turned(rng: np.random.Generator, part: Floats, n_draws: int) -> Floats:
    """Return sums over runs, half of them negative, that vary as the mean over all runs does."""
    even = len(part) // 2 * 2
    signs = rng.permuted(np.tile([1.0, -1.0], (n_draws, even // 2)), axis=1)
    return np.asarray(signs @ part[:even] / np.sqrt(even * len(part)))


def agreement(runs: Floats, reference: Reference, error: Floats | None = None) -> Agreement:
    """Compare runs with a reference.

    z-scores of players hang together, for players share permutations. So what chance does is taken from the
    runs: their mean with half of them, drawn at random, turned negative, less the same of the batches.
    """
    z = z_scores(runs, reference, error)
    total = np.hypot(error_of(runs) if error is None else error, reference.error)
    parts = [part / total for part in (runs, reference.batches) if len(part)]
    rng = np.random.default_rng(0)
    squares: list[float] = []
    for _ in range(N_DRAWS // _AT_ONCE):
        drawn = np.sum([halves_turned(rng, part, _AT_ONCE) for part in parts], axis=0)
        squares += (drawn**2).sum(axis=1).tolist()
    p = (1 + np.sum(np.array(squares) >= (z**2).sum())) / (1 + len(squares))
    return Agreement(
        float(z.mean()),
        float(np.sqrt((z**2).mean())),
        float(np.abs(z).max()),
        float(norm.isf(0.025 / len(z))),
        float(p),
    )


def coverage(values: Floats, stderr: Floats, reference: Reference, level: float = 0.95) -> Floats:
    """Return for each player the share of the runs whose interval holds the reference.

    Intervals are those of `Valuation.confidence_interval`, wider by what the reference may be off.
    """
    half = norm.ppf(0.5 + level / 2) * np.sqrt(stderr**2 + reference.error**2)
    return np.asarray((np.abs(values - reference.values) <= half).mean(axis=0))


def from_definition(
    game: Any,
    rng: np.random.Generator,
    n_sizes: int,
    n_orders: int,
    n_full: int,
) -> Floats:
    r"""Estimate ordinal values from utilities of single sequences, with nothing of the library's sampling.

    The value of player i is (E U_n - U_0) / n plus the sum over sizes s of the covariance of U_s, the utility
    of a random sequence of s players, and A_s,i: 1 / s if i is in it, else -1 / (n - s). Here sizes are drawn
    with fixed probabilities, and the covariance is that of a few sequences of the size.
    """
    n = game.n_players
    sizes = np.arange(1, n)
    step = 1.0 / sizes + 1.0 / (n - sizes)
    # Utilities of large sizes vary less, and cost more.
    chances = 1.0 / sizes + 0.1 / (n - sizes)
    chances /= chances.sum()
    total = np.zeros(n)
    for s in rng.choice(sizes, n_sizes, p=chances):
        sequences = [rng.permutation(n)[:s] for _ in range(n_orders)]
        utilities = np.array([game(sequence) for sequence in sequences])
        weight = step[s - 1] / chances[s - 1] / (n_orders - 1) / n_sizes
        for sequence, deviation in zip(sequences, utilities - utilities.mean(), strict=True):
            total[sequence] += weight * deviation
    full = np.mean([game(rng.permutation(n)) for _ in range(n_full)])
    return np.asarray(total + (full - game(())) / n)
