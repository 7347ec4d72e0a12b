"""The weighted ordinal value."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common.arguments import errors_begin_with
from ordinal_shapley.common.described import NotStored, digest
from ordinal_shapley.games._fingerprint import fingerprint
from ordinal_shapley.games.base import Game
from ordinal_shapley.games.function import FunctionGame
from ordinal_shapley.values.base import TOLERANCE, Value, marginal_profile

if TYPE_CHECKING:
    from ordinal_shapley.exact.enumeration import Scope, Totals

_CHECKED_SETS = 10  # number of sets of each size
_MAX_CHECKED = 4


@dataclass(frozen=True, eq=False, repr=False)
class WeightedOrdinal(Value):
    r"""A value with weights for the orders of the players before.

    .. math:: \phi_i = \frac1n \sum_{S : i \notin S} \frac{1}{\binom{n-1}{|S|}}
        \sum_{\pi \in \Pi|_S} q(\pi) (U(\pi, i) - U(\pi))

    With :math:`q(\pi) = 1/|S|!` it is the partial ordinal value; with other weights values do not sum to v(N)
    - v(empty) in all games.

    Parameters
    ----------
    order_weight : callable or Game
        ``q(sequence)``, called like the function of a `FunctionGame`: the weight of a sequence among the
        orders of its players. The weights of all orders of a set must sum to 1; when values are sampled that
        is checked for some small sets only. Weights far from uniform make standard errors large.

    Raises
    ------
    TypeError
        If ``order_weight`` cannot be called.

    References
    ----------
    arXiv:2305.01660, Theorem 3.

    Examples
    --------
    All weight on the increasing order of those who came before:

    >>> import ordinal_shapley as osv
    >>> increasing = osv.WeightedOrdinal(lambda sequence: float(list(sequence) == sorted(sequence)))
    >>> game = osv.TableGame(3, {(0, 1, 2): 6.0})
    >>> osv.exact_values(game, increasing).values
    array([0., 0., 2.])
    """

    order_weight: Any
    name: ClassVar[str] = "weighted_ordinal"
    meaning = "what a {noun} adds to the score on average, over orders weighted by order_weight"

    def __post_init__(self) -> None:
        if not (callable(self.order_weight) or isinstance(self.order_weight, NotStored)):
            raise TypeError(
                f"order_weight is {self.order_weight!r}, expected a function of a sequence of players"
            )

    def _stored(self, name: str) -> Any:
        weight = self.order_weight
        if isinstance(weight, NotStored):
            return {"digest": weight.digest}
        return {"digest": digest(*weight._identity) if isinstance(weight, Game) else fingerprint(weight)}

    def weight_game(self, n_players: int) -> Game:
        """Return `order_weight` as a game, whose utilities are the weights."""
        if isinstance(self.order_weight, Game):
            game = self.order_weight
        else:
            game = FunctionGame(self.order_weight, n_players)
            game._callback.name = "it"  # prefixes messages with "order_weight: "
        if game.n_players != n_players:
            raise ValueError(f"order_weight is a game of {game.n_players} players, expected {n_players}")
        return game

    def profile(self, totals: Totals, scope: Scope) -> NDArray[np.float64]:
        """[i, k]: mean over the sets of k players of what i adds to their orders, weighted."""
        return marginal_profile(totals, scope, True)


def check_sum(total: float, players: tuple[int, ...]) -> None:
    """ValueError unless the weights of all orders of a set sum to 1."""
    if abs(total - 1.0) > TOLERANCE:
        raise ValueError(
            f"order_weight sums to {total:.12g} over the orders of {{{', '.join(map(str, players))}}}, "
            "expected 1 for every set of players"
        )


def check_small_sets(game: Game) -> None:
    """ValueError if the weights of some small sets, drawn at random, do not sum to 1.

    Checking all sets would be as much work as an exact value.
    """
    rng = np.random.default_rng(0)
    n = game.n_players
    for size in range(min(_MAX_CHECKED, n - 1) + 1):
        for _ in range(_CHECKED_SETS):
            players = tuple(sorted(rng.choice(n, size, replace=False).tolist()))
            with errors_begin_with("order_weight: "):
                total = math.fsum(game(order) for order in itertools.permutations(players))
            check_sum(total, players)
