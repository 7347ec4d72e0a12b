"""What speaks against the labels of rows: the model of the other rows, and the rows nearest by."""

from __future__ import annotations

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
    predict = None if game is None else game._leave_one_out()
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


def _nearest(game: Game | None, X: Any, n: int) -> Callable[[int], _Rows] | None:
    """A function that gives the rows nearest to one: in the features of the game, or else of `X`."""
    k = n_near(n)
    if k < 1:
        return None
    if game is not None and game._squared_distances(0) is not None:
        return lambda row: _first(np.asarray(game._squared_distances(row)), row, k)
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
