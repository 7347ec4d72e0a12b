"""Check of each axiom: which players meet its condition, and how far its conclusion is violated."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.axioms.conditions import Conditions, Gains
from ordinal_shapley.axioms.report import AxiomCheck
from ordinal_shapley.games._sequences import join_names
from ordinal_shapley.games.table import TableGame

HOLDS, FAILS, VACUOUS = "holds", "fails", "vacuous"
_MAX_NAMES = 8


class Subject(NamedTuple):
    """The game and the values to check."""

    game: TableGame
    values: NDArray[np.float64]
    conditions: Conditions
    gains: Gains  # by players joining where the value lets them
    joining: str  # where that is, in words
    tolerance: float  # by how much utilities may differ and count as the same; values by twice that
    rounding: float  # by how much a value may differ from 0 by rounding alone

    @property
    def everyone(self) -> tuple[int, ...]:
        """All players."""
        return tuple(range(len(self.values)))

    def names(self, *players: int) -> str:
        """Return the names of some players, or of the first of many."""
        return self._listed([self._name(player) for player in players])

    def pairs(self, pairs: list[tuple[int, ...]]) -> str:
        """Return the names of some pairs of players, or of the first of many."""
        return self._listed([" and ".join(map(self._name, pair)) for pair in pairs])

    def _name(self, player: int) -> str:
        labels = self.game.player_names
        return str(player if labels is None else labels[player])

    def _listed(self, names: list[str]) -> str:
        shown = ", ".join(names[:_MAX_NAMES])
        if len(names) > _MAX_NAMES:
            shown += f", ... ({len(names)} in all)"
        if self.game.player_names is not None:
            return shown
        return f"player{'s' if len(names) > 1 or ' ' in shown else ''} {shown}"

    def utility(self, sequence: Iterable[int]) -> str:
        """Return the utility of a sequence, as an equation."""
        sequence = tuple(sequence)
        return f"U({join_names(map(self._name, sequence))}) = {self.game(sequence):.6g}"

    def joined(self, player: int, sequence: tuple[int, ...]) -> str:
        """Return the utility of a sequence with and without the player."""
        return f"{self.utility(sequence)}, {self.utility(i for i in sequence if i != player)}"

    def exchanged(self, pair: tuple[int, ...], sequence: tuple[int, ...]) -> str:
        """Return the utility of a sequence as it is and with two players exchanged."""
        i, j = pair
        swap = {i: j, j: i}
        return f"{self.utility(sequence)}, {self.utility(swap.get(k, k) for k in sequence)}"


def check_null_player(subject: Subject) -> AxiomCheck:
    """A player whose joining never changes the utility has value 0."""
    sizes = subject.gains.sizes
    met = np.flatnonzero(sizes <= subject.tolerance)
    if not len(met):
        nearest = int(np.argmin(sizes))
        at: Any = subject.gains.largest_at(nearest)
        detail = (
            f"every player changes the utility {subject.joining}; {subject.names(nearest)} the least: "
            f"{subject.joined(nearest, at)}"
        )
        return AxiomCheck("null_player", VACUOUS, (), (nearest,), float(sizes[nearest]), at, detail)
    players = tuple(met.tolist())
    worst = int(met[np.argmax(np.abs(subject.values[met]))])
    violation = float(abs(subject.values[worst]))
    if violation <= 2 * subject.tolerance:
        detail = f"value 0: {subject.names(*players)}"
        return AxiomCheck("null_player", HOLDS, players, (worst,), violation, None, detail)
    detail = (
        f"{subject.names(worst)} never changes the utility {subject.joining}, "
        f"but has value {subject.values[worst]:.6g}"
    )
    # It may have its value for joining elsewhere.
    elsewhere, at = subject.conditions.anywhere, None
    if elsewhere.sizes[worst] > subject.tolerance:
        at = elsewhere.largest_at(worst)
        detail += f"; it does when joining elsewhere: {subject.joined(worst, at)}"
    return AxiomCheck("null_player", FAILS, players, (worst,), violation, at, detail)


def check_symmetry(subject: Subject) -> AxiomCheck:
    """Two players whose exchange never changes the utility have equal values."""
    pairs, differences = subject.conditions.pairs, subject.conditions.differences
    if not pairs:
        return AxiomCheck("symmetry", VACUOUS, (), (), float("nan"), None, "there is only one player")
    met = [pair for pair, size in zip(pairs, differences, strict=True) if size <= subject.tolerance]
    if not met:
        k = int(np.argmin(differences))
        at = subject.conditions.differences_at[k]
        detail = (
            "no two players can be exchanged in every sequence; "
            f"{subject.pairs([pairs[k]])} come nearest: {subject.exchanged(pairs[k], at)}"
        )
        return AxiomCheck("symmetry", VACUOUS, (), pairs[k], float(differences[k]), at, detail)
    gaps = [abs(float(subject.values[i] - subject.values[j])) for i, j in met]
    worst = met[int(np.argmax(gaps))]
    fails = max(gaps) > 2 * subject.tolerance
    detail = f"equal values: {subject.pairs(met)}"
    if fails:
        one, two = (f"{subject.values[i]:.6g}" for i in worst)
        who = subject.pairs([worst])
        detail = f"{who} can be exchanged in every sequence, but have values {one} and {two}"
    return AxiomCheck("symmetry", FAILS if fails else HOLDS, tuple(met), worst, max(gaps), None, detail)


def check_efficiency(subject: Subject, to_share: float, why: str) -> AxiomCheck:
    """The values sum to v(N) - v(empty), with v(N) the mean utility of full permutations.

    `why` says in words what makes it fail, if it does.
    """
    total = float(subject.values.sum())
    violation = abs(total - to_share)
    fails = violation > 2 * subject.tolerance
    detail = f"the values sum to {total:.6g}, v(N) - v(empty) is {to_share:.6g}"
    if fails and why:
        detail += f"; {why}"
    return AxiomCheck("efficiency", FAILS if fails else HOLDS, subject.everyone, (), violation, None, detail)


def check_additivity(
    subject: Subject, differences: NDArray[np.float64], tolerance: float, random: bool
) -> AxiomCheck:
    """The values of the sum of two games are the sums of their values; `differences` has one row per game."""
    if not len(differences):
        detail = "give the name of a value or a function: given values do not cover other games"
        return AxiomCheck("additivity", VACUOUS, (), (), float("nan"), None, detail)
    sizes = np.abs(differences).max(axis=0)
    worst = int(np.argmax(sizes))
    violation = float(sizes[worst])
    fails = violation > 2 * tolerance
    others = f"each of {len(differences)} random games" if random else "the other game"
    found = f"{subject.names(worst)}'s value is off by {violation:.6g}" if fails else "the values add up"
    status = FAILS if fails else HOLDS
    return AxiomCheck(
        "additivity", status, subject.everyone, (worst,), violation, None, f"with {others}: {found}"
    )


def check_monotone(subject: Subject, why: str) -> AxiomCheck:
    """In a monotone game no value is below 0, and players whose joining can raise the utility are above 0.

    `why` says in words what makes it fail, if it does.
    """
    gains, values, tolerance = subject.gains, subject.values, subject.tolerance
    lowest = int(np.argmin(gains.lowest))
    if gains.lowest[lowest] < -tolerance:
        at: Any = gains.lowest_at[lowest]
        detail = f"not monotone, {subject.names(lowest)} lowers the utility: {subject.joined(lowest, at)}"
        return AxiomCheck("monotone", VACUOUS, (), (lowest,), float(-gains.lowest[lowest]), at, detail)
    raising = gains.highest > tolerance
    # Gains below 0 within the tolerance can lower a value by as much.
    unpaid = raising & (values <= subject.rounding + np.minimum(gains.lowest, 0.0))
    violations = np.where(raising, np.where(unpaid, gains.highest, 0.0), np.abs(values))
    breach = unpaid | ~raising & (np.abs(values) > 2 * tolerance)
    worst = int(np.argmax(np.where(breach, violations, -1.0) if breach.any() else violations))
    violation = float(violations[worst])
    if not breach.any():
        raisers = np.flatnonzero(raising).tolist()
        paid = f"values above 0: {subject.names(*raisers)}" if raisers else "all values 0"
        return AxiomCheck("monotone", HOLDS, subject.everyone, (worst,), violation, None, f"monotone; {paid}")
    at = gains.highest_at[worst] if raising[worst] else None
    detail = f"monotone, but {subject.names(worst)} has value {values[worst]:.6g} and "
    detail += f"raises the utility: {subject.joined(worst, at)}" if at else "never raises the utility"
    if why:
        detail += f"; {why}"
    return AxiomCheck("monotone", FAILS, subject.everyone, (worst,), violation, at, detail)
