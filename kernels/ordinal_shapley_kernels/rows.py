"""Rows of a sequence of players, in order: what games of training rows that keep nothing else share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley_kernels._jit import kernel

# Rows.state
LENGTH = 0
CLASSES_PRESENT = 1


class Rows(NamedTuple):
    """Who brings which rows, and those of the sequence at hand.

    Attributes
    ----------
    player_starts : int64 (n_players + 1,)
        Where each player's rows begin in `player_rows`.
    player_rows : int64 (n_rows,)
        Rows, player after player.
    classes : int64 (n_rows,)
        Class of each row; all 0 where classes play no part.
    class_counts : int64 (n_classes,)
        Rows of each class in the sequence.
    placed : int64 (n_rows,)
        Rows of the sequence, in order.
    state : int64 (2,)
        LENGTH and CLASSES_PRESENT.
    """

    player_starts: NDArray[np.int64]
    player_rows: NDArray[np.int64]
    classes: NDArray[np.int64]
    class_counts: NDArray[np.int64]
    placed: NDArray[np.int64]
    state: NDArray[np.int64]


def make_rows(
    player_starts: NDArray[np.int64],
    player_rows: NDArray[np.int64],
    classes: NDArray[np.int64],
    n_classes: int,
) -> Rows:
    """Allocate the rows of one worker."""
    starts, rows, codes = (
        np.require(array, np.int64, ["C", "A", "W", "O"]) for array in (player_starts, player_rows, classes)
    )
    return Rows(
        starts,
        rows,
        codes,
        np.zeros(n_classes, np.int64),
        np.zeros(len(rows), np.int64),
        np.zeros(2, np.int64),
    )


@kernel(internal=True)
def clear_rows(rows: Rows) -> None:
    """Empty the sequence."""
    rows.class_counts[:] = 0
    rows.state[LENGTH] = 0
    rows.state[CLASSES_PRESENT] = 0


@kernel(internal=True)
def place_rows(rows: Rows, player: int) -> None:
    """Append a player's rows to the sequence."""
    for entry in range(rows.player_starts[player], rows.player_starts[player + 1]):
        row = rows.player_rows[entry]
        code = rows.classes[row]
        if rows.class_counts[code] == 0:
            rows.state[CLASSES_PRESENT] += 1
        rows.class_counts[code] += 1
        rows.placed[rows.state[LENGTH]] = row
        rows.state[LENGTH] += 1


@kernel(internal=True)
def remove_rows(rows: Rows, player: int) -> None:
    """Take the rows of the player that was placed last out of the sequence."""
    for entry in range(rows.player_starts[player], rows.player_starts[player + 1]):
        code = rows.classes[rows.player_rows[entry]]
        rows.class_counts[code] -= 1
        if rows.class_counts[code] == 0:
            rows.state[CLASSES_PRESENT] -= 1
        rows.state[LENGTH] -= 1


@kernel(internal=True)
def has_every_class(rows: Rows) -> bool:
    """Whether the sequence holds a row of every class; of one class, whether it holds a row."""
    return rows.state[CLASSES_PRESENT] == rows.class_counts.shape[0]
