"""When a sampling run has enough permutations: rules that compose with ``|`` and ``&``."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Permutations are numbered by int64, with room for a first one.
_MOST_PERMUTATIONS = 2**62


class Progress(NamedTuple):
    """How far a run has come, as a rule sees it at the end of a round.

    Attributes
    ----------
    values, stderr : ndarray of float64, shape (n,)
        The estimate so far and its standard error; NaN for players with too few permutations.
    n_permutations, n_evaluations : int
        Permutations and utility evaluations so far.
    seconds : float
        Time spent so far.
    """

    values: NDArray[np.float64]
    stderr: NDArray[np.float64]
    n_permutations: int
    n_evaluations: int
    seconds: float


class Reading(NamedTuple):
    """What a rule measures, as a number.

    Attributes
    ----------
    name : str
        What it is, for people to read.
    value : float
        What it is now; NaN while it is unknown.
    limit : float
        Where the rule says stop.
    """

    name: str
    value: float
    limit: float


class Check(ABC):
    """The running state of one rule in one run; call it at the end of every round.

    Attributes
    ----------
    figure : str
        What the rule looks at, for people to read; "" if it has nothing to say.
    fired : str
        The rule, or rules, that said stop at the last call; "" if none did.
    converged : bool
        Whether a rule that said stop at the last call is one of convergence.
    readings : tuple of Reading
        The same as ``figure``, as numbers.
    """

    figure: str = ""
    fired: str = ""
    converged: bool = False
    readings: tuple[Reading, ...] = ()

    @abstractmethod
    def __call__(self, progress: Progress) -> bool:
        """Take in the state at the end of a round, and say whether to stop."""


class StoppingRule(ABC):
    """A rule that says when a sampling run stops; combine rules with ``|`` and ``&``.

    Rules hold no state. The state of a run lives in the `Check` that `begin` returns, so that one
    rule can serve many runs, also at the same time.

    Examples
    --------
    >>> from ordinal_shapley import MaxPermutations, RelativeChange
    >>> rule = RelativeChange(tol=0.01) & MaxPermutations(500) | MaxPermutations(20_000)
    >>> rule.max_permutations
    20000
    """

    @abstractmethod
    def begin(self) -> Check:
        """Return a fresh check, for one run."""

    @property
    def max_permutations(self) -> int | None:
        """Number of permutations after which the rule stops for certain, None if there is none."""
        return None

    def __or__(self, other: object) -> StoppingRule:
        """Stop when either rule does."""
        return _Either(self, other) if isinstance(other, StoppingRule) else NotImplemented

    def __and__(self, other: object) -> StoppingRule:
        """Stop when both rules say so at the end of the same round."""
        return _Both(self, other) if isinstance(other, StoppingRule) else NotImplemented


@dataclass(frozen=True)
class MaxPermutations(StoppingRule):
    """Stop after so many permutations, converged or not.

    Parameters
    ----------
    n_permutations : int
        The number of permutations.

    Raises
    ------
    TypeError, ValueError
        If ``n_permutations`` is not an integer from 1 to 2**62.

    Examples
    --------
    >>> from ordinal_shapley import MaxPermutations
    >>> MaxPermutations(1_000).max_permutations
    1000
    """

    n_permutations: int

    def __post_init__(self) -> None:
        _check_count("n_permutations", self.n_permutations)
        if int(self.n_permutations) > _MOST_PERMUTATIONS:
            raise ValueError(f"n_permutations is {self.n_permutations}, expected at most 2**62")

    def begin(self) -> Check:
        """Return a fresh check, for one run."""
        return _MaxPermutationsCheck(self)

    @property
    def max_permutations(self) -> int | None:
        """The number of permutations."""
        return int(self.n_permutations)


class _MaxPermutationsCheck(Check):
    def __init__(self, rule: MaxPermutations) -> None:
        self._rule = rule

    def __call__(self, progress: Progress) -> bool:
        # No figure: a progress bar shows permutations against the cap already.
        stop = progress.n_permutations >= self._rule.n_permutations
        self.fired = "MaxPermutations" if stop else ""
        return stop


@dataclass(frozen=True)
class RelativeChange(StoppingRule):
    r"""Stop when the values have hardly moved over the last ``window`` permutations.

    With :math:`v` the values now and :math:`v'` those at the end of an earlier round, the change is

    .. math:: \frac{1}{n} \sum_i \frac{|v_i - v'_i|}{\max(|v_i|, \frac{1}{n} \sum_j |v_j|)},

    and the rule looks at the largest change against the rounds that ended within the last
    ``window`` permutations and the latest round that ended before. Players without a value (NaN)
    are left out. It never stops a run whose values are all 0, nor one that cannot yet look back
    over ``window`` permutations.

    It bounds the recent movement, not the error: use the standard errors for that.

    Parameters
    ----------
    tol : float, default 0.05
        Stop when the change is below this.
    window : int, default 100
        Number of permutations to look back over.

    Raises
    ------
    TypeError, ValueError
        If ``tol`` is not a positive finite number or ``window`` not an integer of at least 1.

    References
    ----------
    A. Ghorbani and J. Zou, "Data Shapley: Equitable Valuation of Data for Machine Learning",
    ICML 2019, whose criterion divides by :math:`|v_i|` alone and so may never be met when some
    values are close to 0.

    Examples
    --------
    >>> from ordinal_shapley import RelativeChange
    >>> RelativeChange(tol=0.01)
    RelativeChange(tol=0.01, window=100)
    """

    tol: float = 0.05
    window: int = 100

    def __post_init__(self) -> None:
        if not isinstance(self.tol, Real) or isinstance(self.tol, bool):
            raise TypeError(f"tol is {self.tol!r}, expected a number such as 0.05")
        if not (math.isfinite(self.tol) and self.tol > 0):
            raise ValueError(f"tol is {self.tol!r}, expected a finite number above 0")
        _check_count("window", self.window)

    def begin(self) -> Check:
        """Return a fresh check, for one run."""
        return _RelativeChangeCheck(self)


class _RelativeChangeCheck(Check):
    def __init__(self, rule: RelativeChange) -> None:
        self._rule = rule
        self._history: list[tuple[int, NDArray[np.float64]]] = []

    def __call__(self, progress: Progress) -> bool:
        now, values = progress.n_permutations, np.array(progress.values, dtype=np.float64)
        start = now - self._rule.window
        # Keep one round end at or before the window's start: without it a last, short round would
        # be compared over a few permutations only and look converged.
        while len(self._history) > 1 and self._history[1][0] <= start:
            del self._history[0]
        change = math.nan
        if self._history and self._history[0][0] <= start:
            change = max(_relative_change(values, earlier) for _, earlier in self._history)
        self._history.append((now, values))
        shown = "unknown" if math.isnan(change) else f"{change:.3g}"
        self.figure = f"relative change {shown} (stop < {self._rule.tol:g})"
        name = f"relative change over {self._rule.window} permutations"
        self.readings = (Reading(name, change, self._rule.tol),)
        self.converged = change < self._rule.tol
        self.fired = "RelativeChange" if self.converged else ""
        return self.converged


def _relative_change(values: NDArray[np.float64], earlier: NDArray[np.float64]) -> float:
    """Return the mean relative change of the values known at both times; inf when all are 0."""
    known = ~np.isnan(values) & ~np.isnan(earlier)
    size = np.abs(values[known])
    if not size.any():
        return math.inf
    with np.errstate(over="ignore"):  # values that fell to almost 0 give inf, as those at 0 do
        change = np.abs(values[known] - earlier[known]) / np.maximum(size, size.mean())
        return float(change.mean())


@dataclass(frozen=True, repr=False)
class _Pair(StoppingRule):
    left: StoppingRule
    right: StoppingRule

    def _caps(self) -> list[int]:
        caps = (self.left.max_permutations, self.right.max_permutations)
        return [cap for cap in caps if cap is not None]


class _Either(_Pair):
    def begin(self) -> Check:
        return _PairCheck(self.left.begin(), self.right.begin(), need_both=False)

    @property
    def max_permutations(self) -> int | None:
        return min(self._caps(), default=None)

    def __repr__(self) -> str:
        return f"{self.left!r} | {self.right!r}"


class _Both(_Pair):
    def begin(self) -> Check:
        return _PairCheck(self.left.begin(), self.right.begin(), need_both=True)

    @property
    def max_permutations(self) -> int | None:
        caps = self._caps()
        return max(caps) if len(caps) == 2 else None

    def __repr__(self) -> str:
        sides = (self.left, self.right)
        return " & ".join(f"({s!r})" if isinstance(s, _Either) else repr(s) for s in sides)


class _PairCheck(Check):
    def __init__(self, left: Check, right: Check, *, need_both: bool) -> None:
        self._checks = (left, right)
        self._need_both = need_both

    def __call__(self, progress: Progress) -> bool:
        # Every check sees every round: a rule that looks back must not miss one.
        said = [check(progress) for check in self._checks]
        stop = all(said) if self._need_both else any(said)
        fired = [check for check, yes in zip(self._checks, said, strict=True) if yes and stop]
        self.figure = "; ".join(check.figure for check in self._checks if check.figure)
        self.readings = tuple(reading for check in self._checks for reading in check.readings)
        self.converged = any(check.converged for check in fired)
        if not self._need_both and self.converged:
            # Converged and at the cap in one round: it is convergence that counts.
            fired = [check for check in fired if check.converged]
        self.fired = (" & " if self._need_both else " | ").join(check.fired for check in fired)
        return stop


def _check_count(name: str, value: object) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}, expected an integer")
    if int(value) < 1:
        raise ValueError(f"{name} is {value}, expected at least 1")
