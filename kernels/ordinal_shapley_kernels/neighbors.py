"""The nearest neighbour game's nopython side: for each validation row the nearest rows of the sequence.

Which rows are the nearest changes little as a row is placed, and what they weigh is read off anew for every
sequence. Votes are added from the nearest row to the furthest, so that they have the same bits whatever the
sequence has been before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley_kernels._jit import kernel
from ordinal_shapley_kernels.lanes import padded
from ordinal_shapley_kernels.position_weights import fill_position_weights
from ordinal_shapley_kernels.rows import LENGTH, Rows, clear_rows, make_rows, place_rows, remove_rows
from ordinal_shapley_kernels.scoring import NEG_LOG_LOSS, score_decisions

# Beside the scores of decisions in `scoring`.
VOTE_SHARE = NEG_LOG_LOSS + 1

# Share of all votes by which a class must lead: less is rounding.
_TIE = 1e-12


class NeighborsWorkspace(NamedTuple):
    """Nopython side of a NearestNeighborGame.

    Attributes
    ----------
    rows : Rows
        Rows of the sequence at hand.
    ranks : int32 (n_rows, n_valid), read-only
        Place of each training row in order of distance from each validation row; shared by all workers.
    sample_weights : float64 (n_rows,)
    weight_kind : int
    weight_table : float64
        As in the position weight kernel.
    truth : int64 (n_valid,)
        Classes of the validation rows.
    n_neighbors : int
        Neighbours that vote; may be more than there are rows.
    scoring : int
    empty_value : float
        Utility of the empty sequence.
    nearest : int64 (n_valid, at most n_neighbors)
        Positions in the sequence of the rows nearest to each validation row, the nearest first.
    near_ranks : int32, same shape
        Their ranks.
    weights : float64 (n_rows, padded)
        Scratch: weights of the sequence.
    votes : float64 (n_classes,)
        Scratch.
    decisions : int64 (n_valid,)
        Scratch.
    counts : int64 (3, n_classes)
        Scratch.
    """

    rows: Rows
    ranks: NDArray[np.int32]
    sample_weights: NDArray[np.float64]
    weight_kind: int
    weight_table: NDArray[np.float64]
    truth: NDArray[np.int64]
    n_neighbors: int
    scoring: int
    empty_value: float
    nearest: NDArray[np.int64]
    near_ranks: NDArray[np.int32]
    weights: NDArray[np.float64]
    votes: NDArray[np.float64]
    decisions: NDArray[np.int64]
    counts: NDArray[np.int64]


def make_workspace(
    ranks: NDArray[np.int32],
    classes: NDArray[np.int64],
    n_classes: int,
    sample_weights: NDArray[np.float64],
    player_starts: NDArray[np.int64],
    player_rows: NDArray[np.int64],
    weight_kind: int,
    weight_table: NDArray[np.float64],
    truth: NDArray[np.int64],
    n_neighbors: int,
    scoring: int,
    empty_value: float,
) -> NeighborsWorkspace:
    """Allocate the workspace of one worker; the ranks are not copied."""
    # Arrays that may be written and those that may not are two types, and each would compile all anew.
    shared = np.require(ranks, np.int32, ["C", "A"]).view()
    shared.flags.writeable = False
    n_rows, n_valid = ranks.shape
    kept = min(n_neighbors, n_rows)
    return NeighborsWorkspace(
        make_rows(player_starts, player_rows, classes, n_classes),
        shared,
        np.require(sample_weights, np.float64, ["C", "A", "W", "O"]),
        int(weight_kind),
        np.require(weight_table, np.float64, ["C", "A", "W", "O"]),
        np.require(truth, np.int64, ["C", "A", "W", "O"]),
        int(n_neighbors),
        int(scoring),
        float(empty_value),
        np.zeros((n_valid, kept), np.int64),
        np.zeros((n_valid, kept), np.int32),
        np.zeros(padded(n_rows)),
        np.zeros(n_classes),
        np.zeros(n_valid, np.int64),
        np.zeros((3, n_classes), np.int64),
    )


@kernel(internal=True)
def clear(game: NeighborsWorkspace) -> None:
    """Empty the sequence."""
    clear_rows(game.rows)


@kernel(internal=True)
def place(game: NeighborsWorkspace, player: int) -> None:
    """Append a player's rows to the sequence."""
    first = game.rows.state[LENGTH]
    place_rows(game.rows, player)
    nearest, near_ranks = game.nearest, game.near_ranks
    kept = nearest.shape[1]
    for position in range(first, game.rows.state[LENGTH]):
        ranks = game.ranks[game.rows.placed[position]]
        for v in range(ranks.shape[0]):
            rank = ranks[v]
            j = min(position, kept)
            if j == kept:
                if near_ranks[v, j - 1] < rank:
                    continue
                j -= 1  # the furthest goes
            while j > 0 and near_ranks[v, j - 1] > rank:
                nearest[v, j] = nearest[v, j - 1]
                near_ranks[v, j] = near_ranks[v, j - 1]
                j -= 1
            nearest[v, j] = position
            near_ranks[v, j] = rank


@kernel(internal=True)
def _next_nearest(game: NeighborsWorkspace, v: int, m: int, j: int) -> None:
    """Fill place j of the rows nearest to validation row v from the first m of the sequence."""
    best = -1
    for position in range(m):
        rank = game.ranks[game.rows.placed[position], v]
        if j > 0 and rank <= game.near_ranks[v, j - 1]:
            continue
        if best < 0 or rank < game.near_ranks[v, j]:
            best = position
            game.near_ranks[v, j] = rank
    game.nearest[v, j] = best


@kernel(internal=True)
def remove_last(game: NeighborsWorkspace, player: int) -> None:
    """Take the rows of the player that was placed last out of the sequence."""
    nearest, near_ranks = game.nearest, game.near_ranks
    kept = nearest.shape[1]
    last = game.rows.state[LENGTH]
    remove_rows(game.rows, player)
    for position in range(last - 1, game.rows.state[LENGTH] - 1, -1):
        count = min(position + 1, kept)
        for v in range(nearest.shape[0]):
            j = 0
            while j < count and nearest[v, j] != position:
                j += 1
            if j == count:
                continue
            for i in range(j, count - 1):
                nearest[v, i] = nearest[v, i + 1]
                near_ranks[v, i] = near_ranks[v, i + 1]
            if position >= kept:
                _next_nearest(game, v, position, kept - 1)


@kernel(internal=True)
def has_model(game: NeighborsWorkspace) -> bool:
    """Whether the sequence holds a row."""
    return game.rows.state[LENGTH] > 0


@kernel(internal=True)
def utility(game: NeighborsWorkspace) -> float:
    """Score on the validation rows of the votes of their nearest rows."""
    m = game.rows.state[LENGTH]
    if m == 0:
        return game.empty_value
    weights, placed, votes = game.weights, game.rows.placed, game.votes
    fill_position_weights(game.weight_kind, game.weight_table, m, weights)
    for i in range(m):
        weights[i] *= game.sample_weights[placed[i]]
    count = min(m, game.nearest.shape[1])
    filled = count / game.n_neighbors
    n_valid = game.truth.shape[0]
    shares = 0.0
    for v in range(n_valid):
        votes[:] = 0.0
        total = 0.0
        for j in range(count):
            position = game.nearest[v, j]
            votes[game.rows.classes[placed[position]]] += weights[position]
            total += weights[position]
        if game.scoring == VOTE_SHARE:
            if total > 0.0:
                shares += filled * (votes[game.truth[v]] / total)
            continue
        most = 0.0
        for c in range(votes.shape[0]):
            most = max(most, votes[c])
        decided = 0
        while votes[decided] < most - _TIE * total:
            decided += 1
        game.decisions[v] = decided
    if game.scoring == VOTE_SHARE:
        return shares / n_valid
    return score_decisions(game.scoring, game.decisions, game.truth, game.counts)
