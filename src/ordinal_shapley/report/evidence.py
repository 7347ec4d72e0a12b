"""Evidence against the labels of rows: the leave-one-out prediction, and the rows nearest by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Callable

    from ordinal_shapley.games.base import Game

_MAX_NEAR = 5


class Evidence(NamedTuple):
    """What is known of the label of one row.

    Attributes
    ----------
    predicted : str or None
        Class that the model of all other rows predicts; None if there is no such model.
    agreeing : int or None
        How many of its nearest neighbours have its label; None if it is not known who they are.
    majority : str or None
        The label that most of these have; that of the row itself if no other has more.
    """

    predicted: str | None
    agreeing: int | None
    majority: str | None

    def verdict(self, own: str, near: int) -> str:
        """Say what prediction and neighbours, of whom there are `near`, mean for the label `own`."""
        against = []
        if self.predicted is not None:
            against.append(self.predicted != own)
        if self.agreeing is not None:
            against.append(2 * self.agreeing < near)
        if not against:
            return "nothing known"
        if all(against):
            return "against the label"
        return "divided" if any(against) else "for the label"


def find_evidence(
    game: Game | None, X: Any, labels: npt.NDArray[Any], rows: npt.NDArray[np.intp]
) -> list[Evidence]:
    """Return what is known of each of `rows`, as texts like `labels`; nothing if that can't be."""
    predict = None if game is None or len(labels) < 2 else game._leave_one_out()
    distances = None if len(labels) < 2 else _distances(game, X)
    if predict is None and distances is None:
        return []
    return [_evidence(predict, distances, labels, int(row)) for row in rows]


def n_near(n_rows: int) -> int:
    """How many neighbours are asked."""
    return min(_MAX_NEAR, n_rows - 1)


def _evidence(predict: Any, distances: Any, labels: npt.NDArray[Any], row: int) -> Evidence:
    predicted = None if predict is None else predict(row)
    predicted = None if predicted is None else str(predicted)
    if distances is None:
        return Evidence(predicted, None, None)
    from_here = np.array(distances(row), np.float64)
    from_here[row] = np.inf
    near = labels[np.argsort(from_here, kind="stable")[: n_near(len(labels))]]
    kinds, counts = np.unique(near, return_counts=True)
    agreeing = int((near == labels[row]).sum())
    majority = labels[row] if agreeing == counts.max() else kinds[counts.argmax()]
    return Evidence(predicted, agreeing, majority)


def _distances(game: Game | None, X: Any) -> Callable[[int], npt.NDArray[np.float64] | None] | None:
    """A function of a row that gives squared distances: in the features of the game, or else of `X`."""
    if game is not None and game._squared_distances(0) is not None:
        return game._squared_distances
    if X is None or any(getattr(dtype, "kind", "O") not in "biuf" for dtype in X.dtypes):
        return None
    numbers = X.to_numpy(dtype=np.float64, na_value=np.nan)
    if not np.isfinite(numbers).all():
        return None
    spread = numbers.std(axis=0)
    numbers = numbers / np.where(spread > 0, spread, 1.0)
    return lambda row: np.asarray(((numbers - numbers[row]) ** 2).sum(axis=1))
