"""The classic Shapley value."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.values.base import differing
from ordinal_shapley.values.sizes import SizeWeighted
from ordinal_shapley_kernels import enumeration as kernels

if TYPE_CHECKING:
    from ordinal_shapley.games.base import Game

_TRIED = 5


@dataclass(frozen=True, eq=False, repr=False)
class Classic(SizeWeighted):
    r"""The classic Shapley value, of a game in which order does not matter.

    .. math:: \phi_i = \frac1n \sum_{S : i \notin S} \frac{1}{\binom{n-1}{|S|}} (U(S \cup i) - U(S))

    In such a game the ordinal and the partial ordinal value are the same. A game whose utility depends on the
    order is an error.

    Parameters
    ----------
    size_weights : SizeWeights or array-like of shape (n_players,), optional
        Weights of the number of others, as for `Ordinal`: `beta_weights` give Beta Shapley values,
        `banzhaf_weights` the Banzhaf value.

    Raises
    ------
    TypeError, ValueError
        If ``size_weights`` cannot be used.

    References
    ----------
    L. S. Shapley, "A value for n-person games", 1953.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> game = osv.FunctionGame(lambda players: float(len(players)) ** 2, n_players=3, order_free=True)
    >>> osv.exact_values(game, osv.Classic()).values
    array([3., 3., 3.])
    >>> osv.exact_values(game, osv.Classic(size_weights=[1.0, 0.0, 0.0])).values
    array([1., 1., 1.])
    """

    name: ClassVar[str] = "classic"
    contributions: ClassVar[tuple[str, ...]] = ("marginal", "in_out")
    order_free: ClassVar[bool] = True

    _meaning = (
        "what a {noun} adds to the score on average when it joins those before it, over random "
        "permutations of all {noun}s; their order does not matter"
    )

    def check(self, game: Game) -> None:
        """ValueError unless order does not matter in the game, and size weights fit."""
        super().check(game)
        if not game.order_free:
            raise ValueError(
                "value 'classic' is for games in which order does not matter, but in this one it does: "
                f"{game._without_order}, or use value 'ordinal' or 'partial_ordinal'"
            )

    def try_game(self, game: Game) -> None:
        """Warn if the order of some random sequences matters in a game that was declared order-free."""
        if not game._order_on_trust:
            return
        found = differing(game, _TRIED, lambda sequence: sequence[::-1].copy())
        if found is not None:
            sequence, _, one, two = found
            warnings.warn(
                "use value 'ordinal' or 'partial_ordinal': order matters in this game, although it was built "
                f"with order_free=True; the utility of {tuple(sequence.tolist())} is "
                f"{one}, but that of its reverse {two}",
                UserWarning,
                stacklevel=4,
            )

    def enumerated(self, n_players: int) -> tuple[int, NDArray[np.int64]]:
        """Return one sequence of each set of players."""
        return kernels.BETWEEN, np.zeros(n_players, np.int64)
