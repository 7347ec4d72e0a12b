"""Stopping rules of convergence, based on the values or their standard errors."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common import arguments
from ordinal_shapley.sampling.stopping import Check, Memory, Progress, Reading, StoppingRule

Values = NDArray[np.float64]


class _Convergence(StoppingRule):
    """A rule about the values or their errors; all use the same check."""

    def begin(self) -> Check:
        """Return a fresh check, for one run."""
        return _ConvergenceCheck(self)

    @abstractmethod
    def _look(self, progress: Progress, earlier: list[Values]) -> tuple[bool, str, list[Reading]]:
        """Return whether to stop, the figure to show, and the measurements.

        A rule with a ``window`` gets the values at the ends of its rounds.
        """


class _ConvergenceCheck(Check):
    def __init__(self, rule: _Convergence) -> None:
        self._rule = rule
        self._history: list[tuple[int, Values]] = []

    def __call__(self, progress: Progress) -> bool:
        window = getattr(self._rule, "window", None)
        earlier = [] if window is None else self._earlier(progress, int(window))
        self.converged, self.figure, readings = self._rule._look(progress, earlier)
        self.readings = tuple(readings)
        self.fired = type(self._rule).__name__ if self.converged else ""
        return self.converged

    def _earlier(self, progress: Progress, window: int) -> list[Values]:
        """Values of the rounds in the window and of the latest round before it; none if it isn't full.

        Without the latter a last, short round would only be compared over a few permutations and look
        converged.
        """
        now, start = progress.n_permutations, progress.n_permutations - window
        while len(self._history) > 1 and self._history[1][0] <= start:
            del self._history[0]
        full = self._history and self._history[0][0] <= start
        earlier = [values for _, values in self._history] if full else []
        self._history.append((now, np.array(progress.values, dtype=np.float64)))
        return earlier

    def memory(self) -> Memory:
        if not self._history:
            return {}
        rounds, values = zip(*self._history, strict=True)
        return {repr(self._rule): (np.array(rounds, np.int64), np.array(values))}

    def recall(self, memory: Memory, n_permutations: int) -> None:
        if repr(self._rule) in memory:
            rounds, values = memory[repr(self._rule)]
            self._history = list(zip(rounds.tolist(), values, strict=True))


@dataclass(frozen=True)
class RelativeChange(_Convergence):
    r"""Stop when the values have changed little over the last ``window`` permutations.

    With :math:`v` the values now and :math:`v'` those at the end of an earlier round, the change is

    .. math:: \frac{1}{n} \sum_i \frac{|v_i - v'_i|}{\max(|v_i|, \frac{1}{n} \sum_j |v_j|, f)},

    and the rule looks at the largest change against the rounds that ended within the last ``window``
    permutations and the latest round that ended before. Players without a value (NaN) are left out. It never
    stops a run of fewer than ``window`` permutations. Values that did not change at all, such as those of a
    game in which no player adds anything, have a change of 0.

    This detects slow change, not accuracy: ranks can still change. To bound the error use
    `MaxStandardError`.

    Parameters
    ----------
    tol : float, default 0.05
        Stop when the change is below this.
    window : int, default 100
        Number of permutations over which the change is measured.
    floor : float, default 0.0
        Changes of values smaller than this are divided by it.

    Raises
    ------
    TypeError, ValueError
        If ``tol`` is not a positive finite number, ``window`` not an integer of at least 1 or ``floor`` not
        a finite number of at least 0.

    References
    ----------
    A. Ghorbani and J. Zou, "Data Shapley: Equitable Valuation of Data for Machine Learning",
    ICML 2019, whose criterion divides by :math:`|v_i|` alone and so may never be met when some
    values are close to 0.

    Examples
    --------
    >>> from ordinal_shapley import RelativeChange
    >>> RelativeChange(tol=0.01)
    RelativeChange(tol=0.01, window=100, floor=0.0)
    """

    tol: float = 0.05
    window: int = 100
    floor: float = 0.0

    def __post_init__(self) -> None:
        arguments.number("tol", self.tol, above=0.0)
        arguments.integer("window", self.window)
        arguments.number("floor", self.floor, min=0.0)

    def _look(self, progress: Progress, earlier: list[Values]) -> tuple[bool, str, list[Reading]]:
        changes = [_relative_change(progress.values, values, float(self.floor)) for values in earlier]
        change = max(changes, default=math.nan)
        shown = "unknown" if math.isnan(change) else f"{change:.3g}"
        reading = Reading(f"relative change over {self.window} permutations", change, self.tol)
        return change < self.tol, f"relative change {shown} (stop < {self.tol:g})", [reading]


def _relative_change(values: Values, earlier: Values, floor: float) -> float:
    """Return the mean relative change of the values known at both times; inf if there is no scale."""
    known = ~np.isnan(values) & ~np.isnan(earlier)
    size = np.abs(values[known])
    if known.any() and (values[known] == earlier[known]).all():
        return 0.0
    if not known.any() or not (size.any() or floor):
        return math.inf
    with np.errstate(over="ignore"):  # values that fell to almost 0 give inf, like those at 0
        scale = np.maximum(size, max(float(size.mean()), floor))
        return float((np.abs(values[known] - earlier[known]) / scale).mean())


@dataclass(frozen=True)
class MaxStandardError(_Convergence):
    """Stop when every player's standard error is at most a bound.

    The run continues while any player has no standard error. A player that never adds anything has a standard
    error of 0. The errors cover Monte Carlo noise alone, see `Valuation`.

    Parameters
    ----------
    bound : float
        The largest standard error to accept.
    relative : bool, default False
        Whether ``bound`` is a share of the standard deviation of the values over the players.
    min_permutations : int, default 100
        Never stop before this number of permutations: early standard errors are themselves noisy, and 0 where
        a rare event has not occurred yet.

    Raises
    ------
    TypeError, ValueError
        If ``bound`` is not a positive finite number, ``relative`` not a bool or ``min_permutations`` not an
        integer of at least 1.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> game = osv.TableGame(2, {(0, 1): 1.0})
    >>> run = osv.sample_values(game, stopping=osv.MaxStandardError(0.02), random_state=0)
    >>> run.stopped_by, run.n_permutations, float(run.stderr.max()) <= 0.02
    ('MaxStandardError', 200, True)
    """

    bound: float
    relative: bool = False
    min_permutations: int = 100

    def __post_init__(self) -> None:
        arguments.number("bound", self.bound, above=0.0)
        arguments.flag("relative", self.relative)
        arguments.integer("min_permutations", self.min_permutations)

    def _look(self, progress: Progress, earlier: list[Values]) -> tuple[bool, str, list[Reading]]:
        largest = float(progress.stderr.max())  # NaN if any is NaN
        known = progress.values[~np.isnan(progress.values)]
        spread = float(known.std()) if self.relative and len(known) else 1.0
        shown = "unknown"
        if not math.isnan(largest):
            shown = f"{largest / spread:.3g}" if spread else f"{largest:.3g} of no spread"
        what = "largest standard error" + (" of the spread" if self.relative else "")
        ratio = largest / spread if spread else math.nan
        enough = progress.n_permutations >= self.min_permutations
        figure = f"largest standard error {shown}{what[22:]} (stop <= {self.bound:g})"
        return enough and largest <= self.bound * spread, figure, [Reading(what, ratio, self.bound)]


@dataclass(frozen=True)
class RankStability(_Convergence):
    """Stop when the ranking of the players has changed little over the last ``window`` permutations.

    The ranking now is compared with those at the ends of the rounds within the last ``window`` permutations
    and of the latest round before, by Spearman's rank correlation and by how many of the ``k`` highest and
    of the ``k`` lowest players are the same; the worst comparison counts. Players of equal value share their
    rank, so players that add nothing do not disturb it, and rankings that are equal agree fully. Players
    without a value (NaN) are left out.

    Parameters
    ----------
    correlation : float, default 0.99
        Minimum rank correlation, from -1 to 1.
    k : int, optional
        Number of highest and of lowest players to compare; by default a tenth of all players, at least one.
    overlap : float, default 0.9
        Minimum share of the ``k`` that must be the same, from 0 to 1.
    window : int, default 100
        Number of permutations over which rankings are compared; no shorter run stops.

    Raises
    ------
    TypeError, ValueError
        If an argument is not such a number.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> game = osv.TableGame.from_array(3, range(16))
    >>> rule = osv.RankStability(0.95, window=200) | osv.MaxPermutations(5_000)
    >>> osv.sample_values(game, stopping=rule, random_state=0).stopped_by
    'RankStability'
    """

    correlation: float = 0.99
    k: int | None = None
    overlap: float = 0.9
    window: int = 100

    def __post_init__(self) -> None:
        arguments.number("correlation", self.correlation, min=-1.0, max=1.0)
        if self.k is not None:
            arguments.integer("k", self.k)
        arguments.number("overlap", self.overlap, min=0.0, max=1.0)
        arguments.integer("window", self.window)

    def _look(self, progress: Progress, earlier: list[Values]) -> tuple[bool, str, list[Reading]]:
        found = [_agreement(progress.values, values, self.k) for values in earlier]
        correlation = min((pair[0] for pair in found), default=math.nan)
        overlap = min((pair[1] for pair in found), default=math.nan)
        shown = "unknown" if math.isnan(correlation) else f"{correlation:.3f}, {overlap:.0%} of the ends"
        figure = f"rank correlation {shown} (stop >= {self.correlation:g}, {self.overlap:.0%})"
        over = f"over {self.window} permutations"
        readings = [
            Reading(f"rank correlation {over}", correlation, self.correlation),
            Reading(f"share of the ends in common {over}", overlap, self.overlap),
        ]
        return bool(correlation >= self.correlation and overlap >= self.overlap), figure, readings


def _agreement(values: Values, earlier: Values, k: int | None) -> tuple[float, float]:
    """Rank correlation, and share of the k highest and lowest in common; -1 and 0 if nothing is known."""
    known = ~np.isnan(values) & ~np.isnan(earlier)
    now, then = values[known], earlier[known]
    if len(now) == 0:
        return -1.0, 0.0
    k = min(len(now), max(1, len(now) // 10) if k is None else int(k))

    def first(of: Values) -> set[int]:
        return set(np.argsort(of, kind="stable")[:k].tolist())

    overlap = min(len(first(sign * now) & first(sign * then)) for sign in (1.0, -1.0))
    return _correlation(now, then), overlap / k


def _correlation(now: Values, then: Values) -> float:
    """Spearman's correlation; 1 for equal rankings, even if all players have the same rank."""
    from scipy.stats import rankdata

    one, two = rankdata(now), rankdata(then)
    if np.array_equal(one, two):
        return 1.0
    one -= one.mean()
    two -= two.mean()
    scale = math.sqrt(float(one @ one) * float(two @ two))
    return float(one @ two) / scale if scale else 0.0
