"""The checked input of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ordinal_shapley.common import arrays, frames
from ordinal_shapley.common.names import names_of
from ordinal_shapley.games.base import Game
from ordinal_shapley.report.rows import MAX_COLUMNS

if TYPE_CHECKING:
    import pandas as pd

    from ordinal_shapley.sampling.history import History
    from ordinal_shapley.valuation.result import Valuation

_MAX_KINDS = 20  # floats with more distinct values are not classes


class Given(NamedTuple):
    """The input of a report."""

    valuation: Valuation
    X: pd.DataFrame | None  # the players' own columns
    labels: npt.NDArray[Any] | None
    classes: bool  # whether labels are classes, and not measurements
    game: Game | None
    history: History | None
    noun: str  # noun for the players: "row" or "player"
    level: float  # of the intervals
    names: list[str]  # short names, for pictures


def read(valuation: Valuation, X: Any, y: Any, game: Any, history: Any, level: float) -> Given:
    """Check the input, and look up the rows' labels in the game."""
    n = len(valuation)
    if n == 0:
        raise ValueError("there are no values, expected those of one player at least")
    valuation.confidence_interval(level)  # checks the level
    if game is not None:
        if not isinstance(game, Game):
            raise TypeError(f"game is a {type(game).__name__}, expected the game that was played")
        if game.n_players != n:
            raise ValueError(f"game has {game.n_players:,} players, expected that of these {n:,} values")
    if history is not None:
        if not hasattr(history, "readings"):
            raise TypeError(f"history is a {type(history).__name__}, expected a History that the run used")
        if len(history.n_permutations) and history.values.shape[1] != n:
            raise ValueError(
                f"history is of {history.values.shape[1]:,} players, expected that of these {n:,} values"
            )
    frame = None if X is None else _frame(X, n, valuation)
    labels = None if y is None else arrays.as_column(y, "y", n, "player")
    order = frames.order_like(y, valuation, "y", "valuation")
    labels = labels if labels is None or order is None else labels[order]
    rows = game is not None and game._players_are_rows
    if labels is None and rows:
        labels = game._row_labels()
    noun = "row" if rows or frame is not None or labels is not None else "player"
    classes = labels is not None and (labels.dtype.kind != "f" or len(np.unique(labels)) <= _MAX_KINDS)
    classes = classes and not (game is not None and game._predicts_numbers)
    names = names_of(valuation.player_names, n)
    return Given(valuation, frame, labels, classes, game, history, noun, level, names)


def _frame(X: Any, n: int, valuation: Valuation) -> pd.DataFrame:
    import pandas as pd

    X = arrays.indexable(X, "X")
    if X.shape[0] != n:
        raise ValueError(
            f"X has {X.shape[0]:,} rows, expected {n:,}, one per player: those that were valued, in order"
        )
    order = frames.order_like(X, valuation, "X", "valuation")
    X = frames.as_pandas(X, "X")
    if isinstance(X, pd.DataFrame):
        return X if order is None else X.iloc[order]
    if hasattr(X, "iloc"):
        raise TypeError(f"X is a {type(X).__name__}, expected a DataFrame of pandas, an array or a matrix")
    if arrays.is_sparse(X):
        shown = pd.DataFrame(X[:, :MAX_COLUMNS].toarray())
        return shown.reindex(columns=range(X.shape[1]))
    return pd.DataFrame(X, columns=[f"column {k}" for k in range(X.shape[1])])


def texts(labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return labels as text to print."""
    return np.array([str(label) for label in labels.tolist()], dtype=object)
