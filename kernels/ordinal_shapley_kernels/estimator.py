"""The estimator game's nopython side: which sequences have a model; those are worth what a function says."""

from __future__ import annotations

from typing import NamedTuple

from ordinal_shapley_kernels import function
from ordinal_shapley_kernels._jit import kernel
from ordinal_shapley_kernels.function import FunctionWorkspace
from ordinal_shapley_kernels.rows import Rows, clear_rows, has_every_class, place_rows, remove_rows


class EstimatorWorkspace(NamedTuple):
    """Nopython side of an EstimatorGame.

    Attributes
    ----------
    rows : Rows
        Rows of the sequence at hand.
    inner : FunctionWorkspace
        What trains and scores a model.
    empty_value : float
        Utility of a sequence without a model.
    """

    rows: Rows
    inner: FunctionWorkspace
    empty_value: float


@kernel(internal=True)
def clear(game: EstimatorWorkspace) -> None:
    """Empty the sequence."""
    clear_rows(game.rows)
    function.clear(game.inner)


@kernel(internal=True)
def place(game: EstimatorWorkspace, player: int) -> None:
    """Append a player to the sequence."""
    place_rows(game.rows, player)
    function.place(game.inner, player)


@kernel(internal=True)
def remove_last(game: EstimatorWorkspace, player: int) -> None:
    """Take the player that was placed last out of the sequence."""
    remove_rows(game.rows, player)
    function.remove_last(game.inner, player)


@kernel(internal=True)
def has_model(game: EstimatorWorkspace) -> bool:
    """Whether the sequence holds a row of every class."""
    return has_every_class(game.rows)


@kernel(internal=True)
def utility(game: EstimatorWorkspace) -> float:
    """What the function says of the sequence as it stands; NaN if it does not say."""
    if not has_every_class(game.rows):
        return game.empty_value
    return function.utility(game.inner)
