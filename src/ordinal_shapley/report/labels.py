"""What speaks against the labels of rows: the model of the other rows, and the rows nearest by."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Callable

    from ordinal_shapley.games.base import Game

N_NEIGHBORS = 5

_Rows = npt.NDArray[np.intp]
_Numbers = npt.NDArray[np.float64]


class Witness(NamedTuple):
    """What is known against the label of one row.

    Attributes
    ----------
    predicted : str or None
        Class that the model of all other rows gives it; None if there is no such model.
    agreeing : int or None
        How many of its nearest neighbours have its label; None if it is not known who they are.
    commonest : str or None
        The commonest label among these; that of the row itself if it is among the commonest.
    """

    predicted: str | None
    agreeing: int | None
    commonest: str | None


def witnesses(game: Game | None, X: Any, labels: npt.NDArray[Any], rows: _Rows) -> list[Witness]:
    """Return what is known of each of `rows`; nothing if that can't be.

    `labels` are texts, as are those of the answer.
    """
    predict = _leave_one_out(game)
    nearest = _nearest(game, X, len(labels))
    if predict is None and nearest is None:
        return []
    return [_witness(predict, nearest, labels, int(row)) for row in rows]


def _witness(predict: Any, nearest: Any, labels: npt.NDArray[Any], row: int) -> Witness:
    predicted = None if predict is None else predict(row)
    predicted = None if predicted is None else str(predicted)
    if nearest is None:
        return Witness(predicted, None, None)
    near = labels[nearest(row)]
    kinds, counts = np.unique(near, return_counts=True)
    own = int((near == labels[row]).sum())
    commonest = labels[row] if own == counts.max() else kinds[counts.argmax()]
    return Witness(predicted, own, commonest)


def n_near(n_rows: int) -> int:
    """How many neighbours are asked."""
    return min(N_NEIGHBORS, n_rows - 1)


def _leave_one_out(game: Game | None) -> Callable[[int], Any] | None:
    """A function that gives a row's class by the model of all others, each of which weighs the same."""
    from ordinal_shapley.games.estimator import EstimatorGame
    from ordinal_shapley.games.logistic import LogisticGame

    # Where players bring several rows, or rows were put in the order of their owners, a player is no row.
    if game is None or game.n_players < 2:
        return None
    if isinstance(game, LogisticGame) and _are_rows(game):
        return _of_logistic(game)
    if isinstance(game, EstimatorGame) and _are_rows(game) and game.classes_ is not None:
        return _of_estimator(game)
    return None


def _are_rows(game: Any) -> bool:
    return bool(np.array_equal(game._player_rows, np.arange(game.n_players)))


def _of_logistic(game: Any) -> Callable[[int], Any]:
    twin = copy.copy(game)
    twin._read_position_weight("uniform")
    everyone = np.arange(game.n_players)

    def predict(row: int) -> Any:
        others = np.delete(everyone, row)
        if len(np.unique(game._codes[others])) < len(game.classes_):
            return None  # it is the only one of its class
        decisions = twin.coefficients(others) @ game._features.row(row)
        code = int(decisions[0] > 0) if len(game.classes_) == 2 else int(decisions.argmax())
        return game.classes_[code]

    return predict


def _of_estimator(game: Any) -> Callable[[int], Any]:
    from sklearn.base import clone

    from ordinal_shapley.common.arrays import take
    from ordinal_shapley.games._trainer import quiet

    X, y = game._trainer.rows[:2]
    everyone = np.arange(game.n_players)

    def predict(row: int) -> Any:
        others = np.delete(everyone, row)
        if y[row] not in y[others]:
            return None
        try:
            with quiet():
                model = clone(game.estimator).fit(take(X, others), y[others])
                return model.predict(take(X, everyone[[row]]))[0]
        except Exception:  # whatever a model of the user's makes of the other rows: then it says nothing
            return None

    return predict


def _nearest(game: Game | None, X: Any, n: int) -> Callable[[int], _Rows] | None:
    """A function that gives the rows nearest to one: in the features of the game, or else of `X`."""
    from ordinal_shapley.games.logistic import LogisticGame

    k = n_near(n)
    if k < 1:
        return None
    if isinstance(game, LogisticGame) and _are_rows(game):
        features = game._features
        return lambda row: _first(features.squared_distances(row), row, k)
    numbers = _as_numbers(X)
    if numbers is None:
        return None
    return lambda row: _first(((numbers - numbers[row]) ** 2).sum(axis=1), row, k)


def _first(distances: _Numbers, row: int, k: int) -> _Rows:
    distances = distances.copy()
    distances[row] = np.inf
    return np.argsort(distances, kind="stable")[:k]


def _as_numbers(X: Any) -> _Numbers | None:
    """Return a table of numbers, each column by its standard deviation; None if it is none."""
    if X is None or any(getattr(dtype, "kind", "O") not in "biuf" for dtype in X.dtypes):
        return None
    numbers: _Numbers = X.to_numpy(dtype=np.float64, na_value=np.nan)
    if not np.isfinite(numbers).all():
        return None
    spread = numbers.std(axis=0)
    return numbers / np.where(spread > 0, spread, 1.0)
