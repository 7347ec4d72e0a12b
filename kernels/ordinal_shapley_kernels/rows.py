"""Rows of a sequence of players, in order, for games of training rows that keep no other state."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley_kernels.abi import inlined
from ordinal_shapley_kernels.workspace import Integers, Workspace


class Rows(Workspace):
    """Which rows each player owns, and the rows of the current sequence."""

    player_starts: Integers  # (n_players + 1,): where each player's rows begin in `player_rows`
    player_rows: Integers  # (n_rows,): rows, player after player
    classes: Integers  # (n_rows,): class of each row; all 0 if there are no classes
    class_counts: Integers  # (n_classes,): rows of each class in the sequence
    placed: Integers  # (n_rows,): rows of the sequence, in order
    length: int  # their number
    classes_present: int


def make_rows(
    player_starts: NDArray[np.int64],
    player_rows: NDArray[np.int64],
    classes: NDArray[np.int64],
    n_classes: int,
) -> Rows:
    """Allocate the rows of one worker."""
    return Rows(
        player_starts=player_starts,
        player_rows=player_rows,
        classes=classes,
        class_counts=(n_classes,),
        placed=(len(player_rows),),
    )


@inlined
def reset_rows(rows: Rows) -> None:
    """Empty the sequence."""
    rows.class_counts[:] = 0
    rows.length = 0
    rows.classes_present = 0


@inlined
def push_rows(rows: Rows, player: int) -> None:
    """Append a player's rows to the sequence."""
    starts, player_rows, classes = rows.player_starts, rows.player_rows, rows.classes
    counts, placed = rows.class_counts, rows.placed
    for entry in range(starts[player], starts[player + 1]):
        row = player_rows[entry]
        code = classes[row]
        if counts[code] == 0:
            rows.classes_present += 1
        counts[code] += 1
        placed[rows.length] = row
        rows.length += 1


@inlined
def pop_rows(rows: Rows, player: int) -> None:
    """Take the rows of the player that was pushed last out of the sequence."""
    starts, player_rows, classes, counts = (
        rows.player_starts,
        rows.player_rows,
        rows.classes,
        rows.class_counts,
    )
    for entry in range(starts[player], starts[player + 1]):
        code = classes[player_rows[entry]]
        counts[code] -= 1
        if counts[code] == 0:
            rows.classes_present -= 1
        rows.length -= 1


@inlined
def has_every_class(rows: Rows) -> bool:
    """Whether the sequence holds a row of every class; without classes, whether it holds a row."""
    return rows.classes_present == rows.class_counts.shape[0]
