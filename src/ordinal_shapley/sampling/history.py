"""The course of a run: values and errors at the end of each round."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common import arguments
from ordinal_shapley.sampling.stopping import Check, Memory, Progress, Reading, StoppingRule

_MAX_ROUNDS = 1_000_000


class _Round(NamedTuple):
    number: int
    progress: Progress
    readings: tuple[Reading, ...]


class History(StoppingRule):
    """Stop when another rule does, and keep the values at the end of each round of the run.

    Other runs keep none, because they take memory: the number of players times the number of rounds. Unlike
    other rules this one holds the state of its latest run, so use a new one for each run. Of a run that
    resumes a checkpoint it keeps the rounds from there.

    Parameters
    ----------
    rule : StoppingRule
        The rule that stops the run.
    max_rounds : int, default 500
        If there are more rounds than this, every other one is dropped, repeatedly if necessary; the last one
        is always kept.

    Raises
    ------
    TypeError, ValueError
        If an argument cannot be used; the message names it.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> history = osv.History(osv.RelativeChange(0.05) | osv.MaxPermutations(1_000))
    >>> game = osv.TableGame(2, {(0,): 1.0, (0, 1): 3.0})
    >>> valuation = osv.sample_values(game, stopping=history, random_state=0)
    >>> history.n_permutations
    array([100, 200, 300, 400, 500])
    >>> bool((history.values[-1] == valuation.values).all())
    True
    >>> history.readings["relative change over 100 permutations"].round(2)
    array([ nan, 0.12, 0.08, 0.05, 0.02])
    """

    def __init__(self, rule: StoppingRule, max_rounds: int = 500) -> None:
        if not isinstance(rule, StoppingRule):
            raise TypeError(f"rule is {rule!r}, expected a rule such as RelativeChange(0.05)")
        self.rule = rule
        self.max_rounds = arguments.integer("max_rounds", max_rounds, max=_MAX_ROUNDS)
        self._rounds: list[_Round] = []
        self._every = 1
        self.taken_up_at = 0  # permutations of the checkpoint that the run resumed

    def begin(self) -> Check:
        """Forget the last run, and return a fresh check."""
        self._rounds, self._every, self.taken_up_at = [], 1, 0
        return _HistoryCheck(self)

    def _limit(self, name: str) -> Any:
        return getattr(self.rule, name)

    def _add(self, progress: Progress, readings: tuple[Reading, ...]) -> None:
        number = self._rounds[-1].number + 1 if self._rounds else 1
        self._rounds = [kept for kept in self._rounds if kept.number % self._every == 0]
        copies = progress._replace(values=np.array(progress.values), stderr=np.array(progress.stderr))
        self._rounds.append(_Round(number, copies, readings))
        if len(self._rounds) > self.max_rounds:
            self._every *= 2

    def _column(self, name: str, kind: type) -> NDArray[Any]:
        return np.array([getattr(kept.progress, name) for kept in self._rounds], kind)

    @property
    def n_permutations(self) -> NDArray[np.int64]:
        """Permutations by the end of each round."""
        return self._column("n_permutations", np.int64)

    @property
    def n_evaluations(self) -> NDArray[np.int64]:
        """Utility evaluations by the end of each round."""
        return self._column("n_evaluations", np.int64)

    @property
    def seconds(self) -> NDArray[np.float64]:
        """Seconds by the end of each round."""
        return self._column("seconds", np.float64)

    @property
    def values(self) -> NDArray[np.float64]:
        """Estimates at the end of each round, of shape (n_rounds, n_players)."""
        return self._column("values", np.float64)

    @property
    def stderr(self) -> NDArray[np.float64]:
        """Their standard errors; NaN for players with too few permutations."""
        return self._column("stderr", np.float64)

    @property
    def readings(self) -> dict[str, NDArray[np.float64]]:
        """What ``rule`` measured at the end of each round, by name; NaN where it was not known yet."""
        found: dict[str, NDArray[np.float64]] = {}
        for at, kept in enumerate(self._rounds):
            for reading in kept.readings:
                column = found.setdefault(reading.name, np.full(len(self._rounds), np.nan))
                column[at] = reading.value
        return found

    @property
    def limits(self) -> dict[str, float]:
        """The limits of ``readings`` at which ``rule`` stops the run."""
        return {reading.name: reading.limit for kept in self._rounds for reading in kept.readings}

    def __repr__(self) -> str:
        return f"History({self.rule!r}, {len(self._rounds)} rounds)"


class _HistoryCheck(Check):
    def __init__(self, history: History) -> None:
        self._history = history
        self._check = history.rule.begin()

    def __call__(self, progress: Progress) -> bool:
        stop = self._check(progress)
        for name in ("figure", "fired", "converged", "readings"):
            setattr(self, name, getattr(self._check, name))
        self._history._add(progress, self.readings)
        return stop

    def memory(self) -> Memory:
        return self._check.memory()

    def recall(self, memory: Memory, n_permutations: int) -> None:
        self._check.recall(memory, n_permutations)
        self._history.taken_up_at = n_permutations
