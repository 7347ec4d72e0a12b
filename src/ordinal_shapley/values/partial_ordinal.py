"""The partial ordinal Shapley value, also of games in which only some orders matter."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common import arrays
from ordinal_shapley.games._rearranged import CASE_CODES, RearrangedGame, representative
from ordinal_shapley.values.base import Value, differing
from ordinal_shapley.vocabulary import CASES, check_choice

if TYPE_CHECKING:
    from ordinal_shapley.games.base import Game

_TRIED = 20


@dataclass(frozen=True, eq=False, repr=False)
class PartialOrdinal(Value):
    r"""The partial ordinal Shapley value: what a player adds when it joins the end of a sequence.

    With :math:`\Pi|_S` the orders of a set and :math:`U(\pi, i)` the utility when :math:`i` joins the end of
    :math:`\pi`,

    .. math:: \phi_i = \frac1n \sum_{S : i \notin S} \frac{1}{\binom{n-1}{|S|}\,|S|!}
        \sum_{\pi \in \Pi|_S} (U(\pi, i) - U(\pi))

    Parameters
    ----------
    partition : array-like of shape (n_players,), optional
        Group of each player, for a game in which only some orders matter; then give ``case``.
    case : {"within", "between"}, optional
        "within": order matters inside groups only. "between": it matters across groups only. Of the sequences
        with the same utility only one is evaluated: with "within" the one that has group after group, with
        "between" the one that has each group's players in increasing order.

    Raises
    ------
    TypeError, ValueError
        If an option cannot be used, or only one of them is given.

    References
    ----------
    arXiv:2305.01660, Theorem 2, and the remarks after it for partitions.

    Examples
    --------
    Where only the order inside groups matters, far fewer sequences are enough:

    >>> import ordinal_shapley as osv
    >>> gains = {(0, 1): 2.0, (2, 3): 1.0}
    >>> def pairs(sequence):  # a pair counts if it came in order
    ...     place = {player: k for k, player in enumerate(sequence)}
    ...     return sum(g for (a, b), g in gains.items() if a in place and b in place and place[a] < place[b])
    >>> game = osv.FunctionGame(pairs, n_players=4)
    >>> result = osv.exact_values(game, osv.PartialOrdinal(partition=[0, 0, 1, 1], case="within"))
    >>> result.n_evaluations, result.values
    (25, array([0. , 1. , 0. , 0.5]))
    """

    partition: Any = None
    case: str | None = None
    name: ClassVar[str] = "partial_ordinal"
    meaning = (
        "what a {noun} adds to the score on average when it joins at the end of those before it, over random "
        "permutations of all {noun}s"
    )

    def __post_init__(self) -> None:
        if (self.partition is None) != (self.case is None):
            raise ValueError("partition and case belong together: give both or neither")
        if self.case is not None:
            check_choice("case", self.case, CASES)
            # Its length is checked with the game.
            object.__setattr__(self, "partition", arrays.as_array(self.partition, "partition", "player"))

    def _groups(self, n_players: int) -> NDArray[np.int64]:
        labels = arrays.as_names(self.partition, "partition", n_players, "player")
        return arrays.encode(labels, "partition")[1]

    def check(self, game: Game) -> None:
        """ValueError unless there is a group for each player."""
        if self.partition is not None:
            self._groups(game.n_players)

    def try_game(self, game: Game) -> None:
        """Warn if random sequences differ in utility from their representatives."""
        if self.partition is None:
            return
        groups, code = self._groups(game.n_players), CASE_CODES[str(self.case)]
        found = differing(game, _TRIED, lambda sequence: representative(sequence, groups, code))
        if found is not None:
            sequence, alike, one, two = found
            warnings.warn(
                f"partition and case={self.case!r} do not fit this game: the utility of "
                f"{tuple(sequence.tolist())} is {one}, but that of {tuple(alike.tolist())} is {two}; the "
                "values are computed as if both were the latter",
                UserWarning,
                stacklevel=4,
            )

    def played(self, game: Game) -> Game:
        """Return the game that evaluates representatives."""
        if self.case is None:
            return game
        return RearrangedGame(game, self._groups(game.n_players), CASE_CODES[self.case])

    def enumerated(self, n_players: int) -> tuple[int, NDArray[np.int64]]:
        """Return all sequences, or with a partition the representatives."""
        if self.case is None:
            return super().enumerated(n_players)
        return CASE_CODES[self.case], self._groups(n_players)

    def instead(self, enumerates_all: bool) -> str:
        """Return advice on a cheaper enumeration."""
        return "give partition and case if only some orders matter" if enumerates_all else ""
