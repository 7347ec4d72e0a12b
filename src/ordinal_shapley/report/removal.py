"""The score as players are removed by their values, or at random."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from ordinal_shapley.games.base import Game
    from ordinal_shapley.valuation.result import Valuation

_MARKS = 20
_MAX_ORDERS, _MAX_RANDOM = 5, 5
_MIN_ORDERS, _MIN_RANDOM = 2, 3  # even for games that fit models in Python, which takes long
_ROWS = 20_000  # with more players there are fewer orders


class Removal(NamedTuple):
    """Scores of the remaining players, at each mark."""

    n_players: int
    removed: npt.NDArray[np.int64]  # (n_marks,), from 0
    high: npt.NDArray[np.float64]  # (n_marks,) with the highest values removed
    low: npt.NDArray[np.float64]
    random: npt.NDArray[np.float64]  # (n_runs, n_marks) with random players removed
    n_orders: int  # of the remaining players, over which scores are means; 1 if order is irrelevant


def removal_curves(game: Game, valuation: Valuation) -> Removal:
    """Evaluate the remaining players, in the same random orders for all curves if order matters.

    Players without a value are removed last. The seed is fixed, so the same result gives the same page.
    """
    n = game.n_players
    generator = np.random.default_rng(0)
    affordable = 0 if game._is_slow else _ROWS // n
    n_random = int(np.clip(affordable, _MIN_RANDOM, _MAX_RANDOM))
    n_orders = 1 if game.order_free else int(np.clip(affordable, _MIN_ORDERS, _MAX_ORDERS))
    orders = [np.arange(n)] if game.order_free else [generator.permutation(n) for _ in range(n_orders)]
    removed = np.unique(np.linspace(0, n, min(_MARKS, n) + 1).astype(np.int64)[:-1])

    def score(gone: npt.NDArray[Any]) -> float:
        left = np.ones(n, np.bool_)
        left[gone] = False
        return float(np.mean([game(order[left[order]]) for order in orders]))

    high_first = valuation.ranking()
    known = np.isfinite(valuation.values[high_first])
    low_first = np.concatenate([high_first[known][::-1], high_first[~known]])
    whole = score(removed[:0])

    def curve(first: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
        return np.array([whole, *(score(first[:k]) for k in removed[1:])])

    random = np.array([curve(generator.permutation(n)) for _ in range(n_random)])
    return Removal(n, removed, curve(high_first), curve(low_first), random, n_orders)
