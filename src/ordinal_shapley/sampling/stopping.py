"""When a sampling run ends: rules that compose with ``|`` and ``&``, and those that set a limit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common import arguments

# Permutations have int64 indices, with room for a first one.
_MAX_PERMUTATIONS = 2**62

# Memory of checks for resuming a run: by rule (its repr), the numbers of permutations at the ends of rounds
# and the values there.
Memory: TypeAlias = dict[str, tuple[NDArray[np.int64], NDArray[np.float64]]]


class Progress(NamedTuple):
    """Progress of a run at the end of a round, as rules see it."""

    values: NDArray[np.float64]  # the estimate so far
    stderr: NDArray[np.float64]  # its standard error; both NaN for players with too few permutations
    n_permutations: int
    n_evaluations: int
    seconds: float  # by this call


class Reading(NamedTuple):
    """A measurement of a rule."""

    name: str  # readable name
    value: float  # NaN while it is unknown
    limit: float  # at which the rule stops the run


class Check(ABC):
    """The running state of one rule in one run; call it at the end of every round."""

    figure: str = ""  # readable form of `readings`; "" if there are none
    fired: str = ""  # the rule, or rules, that wanted to stop at the last call; "" if none
    converged: bool = False  # whether one of these is a rule of convergence
    readings: tuple[Reading, ...] = ()  # measurements as numbers

    @abstractmethod
    def __call__(self, progress: Progress) -> bool:
        """Return whether to stop, given the state at the end of a round."""

    def memory(self) -> Memory:
        """Return what a check of the same rule needs to continue in a resumed run."""
        return {}

    def recall(self, memory: Memory, n_permutations: int) -> None:  # noqa: B027 - most rules remember nothing
        """Continue from the memory of a check; start afresh if it has nothing for this rule."""


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

    def _limit(self, name: str) -> Any:
        """Return the limit that a property is about."""
        return None

    @property
    def max_permutations(self) -> int | None:
        """Number of permutations after which the rule stops for certain, None if there is none."""
        limit: int | None = self._limit("max_permutations")
        return limit

    @property
    def max_evaluations(self) -> int | None:
        """Number of utilities after which the rule stops for certain, None if there is none."""
        limit: int | None = self._limit("max_evaluations")
        return limit

    @property
    def max_seconds(self) -> float | None:
        """Seconds after which the rule stops for certain, None if there are none."""
        limit: float | None = self._limit("max_seconds")
        return limit

    def __or__(self, other: object) -> StoppingRule:
        """Stop when either rule does."""
        return _Pair(self, other, need_both=False) if isinstance(other, StoppingRule) else NotImplemented

    def __and__(self, other: object) -> StoppingRule:
        """Stop when both rules say so at the end of the same round."""
        return _Pair(self, other, need_both=True) if isinstance(other, StoppingRule) else NotImplemented


@dataclass(frozen=True)
class _Limit(StoppingRule):
    """A rule that sets a limit, its only field."""

    def begin(self) -> Check:
        """Return a fresh check, for one run."""
        (field,) = fields(self)
        return _LimitCheck(type(self).__name__, field.name, getattr(self, field.name))

    def _limit(self, name: str) -> Any:
        (field,) = fields(self)
        limit = getattr(self, field.name)
        if name != f"max_{field.name.removeprefix('n_')}":
            return None
        return float(limit) if name == "max_seconds" else int(limit)


@dataclass(frozen=True)
class MaxPermutations(_Limit):
    """Stop after a number of permutations, converged or not.

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
        arguments.integer("n_permutations", self.n_permutations)
        if int(self.n_permutations) > _MAX_PERMUTATIONS:
            raise ValueError(f"n_permutations is {self.n_permutations}, expected at most 2**62")


@dataclass(frozen=True)
class MaxEvaluations(_Limit):
    """Stop after a number of evaluations, converged or not.

    It is checked every ten permutations (in a Latin design of fewer players, every block), so a run can
    exceed it by the evaluations in between.

    Parameters
    ----------
    n_evaluations : int
        The number of utilities, those of full permutations included.

    Raises
    ------
    TypeError, ValueError
        If ``n_evaluations`` is not an integer from 1 to 2**63 - 1.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> game = osv.TableGame(2, {(0, 1): 1.0})
    >>> run = osv.sample_values(game, stopping=osv.MaxEvaluations(1_000), random_state=0)
    >>> run.n_evaluations, run.stopped_by
    (1000, 'MaxEvaluations')
    """

    n_evaluations: int

    def __post_init__(self) -> None:
        arguments.integer("n_evaluations", self.n_evaluations)


@dataclass(frozen=True)
class MaxSeconds(_Limit):
    """Stop after a number of seconds, to within a second, converged or not.

    The limit is for one call of `ordinal_shapley.sample_values`, compiling included; a call that resumes a
    checkpoint has the full time again. The result is bit-identical to that of a run of as many permutations
    as were complete (`MaxPermutations`); their number depends on the machine. The run waits for a single
    utility that takes longer than a second, and for workers on other machines until they learn of the limit,
    which they do with each piece of work.

    Parameters
    ----------
    seconds : float
        The number of seconds.

    Raises
    ------
    TypeError, ValueError
        If ``seconds`` is not a finite number above 0.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> osv.RelativeChange(0.01) | osv.MaxSeconds(3600)
    RelativeChange(tol=0.01, window=100, floor=0.0) | MaxSeconds(seconds=3600)
    """

    seconds: float

    def __post_init__(self) -> None:
        arguments.number("seconds", self.seconds, above=0.0)


class _LimitCheck(Check):
    # No figure: a progress bar shows permutations, utilities and time already.
    def __init__(self, name: str, field: str, limit: float) -> None:
        self._name, self._field, self._limit = name, field, limit

    def __call__(self, progress: Progress) -> bool:
        stop = bool(getattr(progress, self._field) >= self._limit)
        self.fired = self._name if stop else ""
        return stop


@dataclass(frozen=True, repr=False)
class _Pair(StoppingRule):
    left: StoppingRule
    right: StoppingRule
    need_both: bool

    def begin(self) -> Check:
        return _PairCheck(self.left.begin(), self.right.begin(), self.need_both)

    def _limit(self, name: str) -> Any:
        limits = [getattr(rule, name) for rule in (self.left, self.right)]
        if self.need_both:
            return None if None in limits else max(limits)
        return min((limit for limit in limits if limit is not None), default=None)

    def __repr__(self) -> str:
        if not self.need_both:
            return f"{self.left!r} | {self.right!r}"
        sides = (self.left, self.right)
        return " & ".join(f"({s!r})" if isinstance(s, _Pair) and not s.need_both else repr(s) for s in sides)


class _PairCheck(Check):
    def __init__(self, left: Check, right: Check, need_both: bool) -> None:
        self._checks = (left, right)
        self._need_both = need_both

    def __call__(self, progress: Progress) -> bool:
        # Every check must see every round, as some rules look back.
        answers = [check(progress) for check in self._checks]
        stop = all(answers) if self._need_both else any(answers)
        fired = [check for check, yes in zip(self._checks, answers, strict=True) if yes and stop]
        self.figure = "; ".join(check.figure for check in self._checks if check.figure)
        self.readings = tuple(reading for check in self._checks for reading in check.readings)
        self.converged = any(check.converged for check in fired)
        if not self._need_both and self.converged:
            # If a run converges and reaches a limit in the same round, it counts as converged.
            fired = [check for check in fired if check.converged]
        self.fired = (" & " if self._need_both else " | ").join(check.fired for check in fired)
        return stop

    def memory(self) -> Memory:
        first, second = self._checks
        return first.memory() | second.memory()

    def recall(self, memory: Memory, n_permutations: int) -> None:
        for check in self._checks:
            check.recall(memory, n_permutations)
