"""The result of a check of the axioms."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.games._sequences import join_names

if TYPE_CHECKING:
    import pandas as pd

_WIDTH = 100
# Keeps U(ann > bob) = 1 on one line.
_UTILITY = re.compile(r"U\(.*?\) = \S+")


@dataclass(frozen=True)
class AxiomCheck:
    """The result for one axiom.

    Attributes
    ----------
    name : str
        "null_player", "symmetry", "efficiency", "additivity" or "monotone", the remark on monotone games.
    status : {"holds", "fails", "vacuous"}
        "vacuous": no player meets the condition, so the axiom does not apply to this game.
    players : tuple of int, or of pairs of int for "symmetry"
        The players or pairs that meet the condition.
    worst : tuple of int
        The player or pair that violates the axiom most, of ``players``; where it is vacuous, the one nearest
        to the condition (of "monotone": the furthest). Empty for "efficiency".
    violation : float
        How far ``worst`` is off: a value or a difference of values; of "monotone", the gain in utility of a
        player whose value is not above 0. Where the axiom is vacuous, how far the condition is from being
        met: a change of the utility. NaN where there is nothing to measure.
    sequence : tuple of int, or None
        A sequence that shows it: the one whose utility changes most as ``worst`` joins it (and then is in it)
        or is exchanged. None where no sequence shows why values are wrong, or none is.
    detail : str
        The same in words.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> game = osv.TableGame(2, {(0, 1): 1.0})
    >>> check = osv.check_axioms(game).symmetry
    >>> check.status, check.worst, check.violation, check.sequence
    ('vacuous', (0, 1), 1.0, (0, 1))
    >>> print(check.detail)
    no two players can be exchanged in every sequence; players 0 and 1 come nearest:
    U(0 > 1) = 1, U(1 > 0) = 0
    """

    name: str
    status: str
    players: tuple[Any, ...]
    worst: tuple[int, ...]
    violation: float
    sequence: tuple[int, ...] | None
    detail: str


@dataclass(frozen=True, eq=False)
class AxiomReport:
    """The results for all axioms; iterating over it yields the five checks.

    Attributes
    ----------
    null_player, symmetry, efficiency, additivity, monotone : AxiomCheck
        One each.
    values : ndarray of float64, shape (n_players,)
        The values that were checked.
    value : str
        Which value it is.
    insertion : {"end", "anywhere"}
        Where players join in the conditions of "null_player" and "monotone".
    tolerance : float
        Difference up to which utilities count as the same; for values, twice that.
    n_evaluations : int
        Utilities evaluated, of ``game`` and of ``other``.
    seconds : float
        Time it took.
    player_names : ndarray or None
        Names of the players.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> game = osv.TableGame(2, {(0, 1): 1.0}, names=["ann", "bob"])
    >>> report = osv.check_axioms(game, "partial_ordinal")
    >>> report.holds
    True
    >>> report.to_frame()[["status", "players", "sequence"]]
                  status   players   sequence
    axiom
    null_player    holds       ann
    symmetry     vacuous            ann > bob
    efficiency     holds  ann, bob
    additivity     holds  ann, bob
    monotone       holds  ann, bob
    """

    null_player: AxiomCheck
    symmetry: AxiomCheck
    efficiency: AxiomCheck
    additivity: AxiomCheck
    monotone: AxiomCheck
    values: NDArray[np.float64]
    value: str
    insertion: str
    tolerance: float
    n_evaluations: int
    seconds: float
    player_names: NDArray[Any] | None

    @property
    def holds(self) -> bool:
        """Whether no axiom fails."""
        return all(check.status != "fails" for check in self)

    def __iter__(self) -> Iterator[AxiomCheck]:
        return iter((self.null_player, self.symmetry, self.efficiency, self.additivity, self.monotone))

    def __len__(self) -> int:
        return 5

    def _name(self, player: int) -> str:
        return str(player if self.player_names is None else self.player_names[player])

    def to_frame(self) -> pd.DataFrame:
        """Return one row per axiom, players by name.

        Returns
        -------
        pandas.DataFrame
            With columns status, players, worst, violation, sequence and detail; empty text for none.
        """
        import pandas as pd

        def text(players: tuple[Any, ...], joint: str) -> str:
            return joint.join(
                text(who, " and ") if isinstance(who, tuple) else self._name(who) for who in players
            )

        rows = {
            check.name: {
                "status": check.status,
                "players": text(check.players, ", "),
                "worst": text(check.worst, " and "),
                "violation": check.violation,
                "sequence": join_names(map(self._name, check.sequence or ())),
                "detail": check.detail,
            }
            for check in self
        }
        return pd.DataFrame([*rows.values()], index=pd.Index(rows, name="axiom"))

    def __str__(self) -> str:
        players = f"{len(self.values)} player{'s' if len(self.values) > 1 else ''}"
        lines = [f"Axioms of {self.value}, {players}, {self.n_evaluations:,} utilities"]
        wrap = textwrap.TextWrapper(_WIDTH, break_long_words=False, break_on_hyphens=False)
        for check in self:
            head = f"  {check.name.replace('_', ' '):<12} {check.status:<8} "
            wrap.subsequent_indent = " " * len(head)
            lines += wrap.wrap(head + _UTILITY.sub(lambda u: u[0].replace(" ", "\0"), check.detail))
        return "\n".join(lines).replace("\0", " ")

    def __repr__(self) -> str:
        found = ", ".join(f"{check.name} {check.status}" for check in self)
        return f"AxiomReport({len(self.values)} players, value={self.value!r}: {found})"
