"""The nearest neighbour games' nopython side: for each validation row the nearest rows of the sequence.

The nearest rows change little when a row is pushed; their weights are computed for every sequence. Votes are
added from the nearest row to the furthest, so that they are bit-identical whatever was pushed and popped
before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley_kernels.abi import entry, inlined
from ordinal_shapley_kernels.blocks import (
    add_to_block,
    begin_blocks,
    score_without_model,
    share_right_decisions,
)
from ordinal_shapley_kernels.games import OK, Game, GameFunctions
from ordinal_shapley_kernels.lanes import padded
from ordinal_shapley_kernels.position_weights import fill_position_weights
from ordinal_shapley_kernels.rows import Rows, make_rows, pop_rows, push_rows, reset_rows
from ordinal_shapley_kernels.scoring import NEG_LOG_LOSS, score_decisions
from ordinal_shapley_kernels.workspace import IntegerMatrix, Integers, Matrix, ShortMatrix, Vector

# In addition to the codes in `scoring`.
VOTE_SHARE = NEG_LOG_LOSS + 1

# Votes closer than this share of all votes are tied: the difference may be rounding.
_TIE = 1e-12


class NeighborsWorkspace(Game):
    """Fields that the nearest neighbour games share."""

    rows: Rows  # rows of the current sequence
    # (n_rows, n_valid), read-only: rank of each training row by distance from each validation row; shared by
    # all workers.
    ranks: ShortMatrix
    # (n_rows, n_valid) or (0, 0), read-only: distances from each validation row; empty if they do not affect
    # the weights.
    distances: Matrix
    sample_weights: Vector  # (n_rows,), read-only
    weight_kind: int
    weight_table: Vector  # read-only: as in the position weight kernel
    n_neighbors: int  # number of neighbours that vote; may exceed the number of rows
    empty_value: float  # utility of the empty sequence
    # (n_valid, at most n_neighbors): positions in the sequence of the nearest rows to each validation row,
    # the nearest first.
    nearest: IntegerMatrix
    near_ranks: ShortMatrix  # same shape: their ranks
    weights: Vector  # (n_rows, padded): scratch: weights of the sequence


class NeighborsOfClasses(NeighborsWorkspace):
    """Nopython side of a NearestNeighborGame."""

    truth: Integers  # (n_valid,), read-only: classes of the validation rows
    scoring: int
    votes: Vector  # (n_classes,): scratch
    decisions: Integers  # (n_valid,): scratch
    counts: IntegerMatrix  # (3, n_classes): scratch


class NeighborsOfNumbers(NeighborsWorkspace):
    """Nopython side of a NearestNeighborRegressorGame."""

    targets: Vector  # (n_rows,), read-only
    truth: Vector  # (n_valid,), read-only: targets of the validation rows
    # offset, scale: the utility is `offset` minus `scale` times the sum of squared errors.
    offset: float
    scale: float


def _shared_fields(
    ranks: NDArray[np.int32],
    distances: NDArray[np.float64],
    sample_weights: NDArray[np.float64],
    weight_kind: int,
    weight_table: NDArray[np.float64],
    n_neighbors: int,
    empty_value: float,
) -> dict[str, Any]:
    """Return the fields of a NeighborsWorkspace but `rows`; the ranks are not copied."""
    n_rows, n_valid = ranks.shape
    kept = min(n_neighbors, n_rows)
    return {
        "ranks": ranks,
        "distances": distances,
        "sample_weights": sample_weights,
        "weight_kind": weight_kind,
        "weight_table": weight_table,
        "n_neighbors": n_neighbors,
        "empty_value": empty_value,
        "nearest": (n_valid, kept),
        "near_ranks": (n_valid, kept),
        "weights": (padded(n_rows),),
    }


def make_voters(
    player_starts: NDArray[np.int64],
    player_rows: NDArray[np.int64],
    classes: NDArray[np.int64],
    n_classes: int,
    truth: NDArray[np.int64],
    scoring: int,
    *shared: Any,
) -> NeighborsOfClasses:
    """Allocate the workspace of one worker, for classes; `shared` is for `_shared_fields`."""
    return NeighborsOfClasses(
        VOTING,
        rows=make_rows(player_starts, player_rows, classes, n_classes),
        truth=truth,
        scoring=scoring,
        votes=(n_classes,),
        decisions=(len(truth),),
        counts=(3, n_classes),
        **_shared_fields(*shared),
    )


def make_averagers(
    player_starts: NDArray[np.int64],
    player_rows: NDArray[np.int64],
    targets: NDArray[np.float64],
    truth: NDArray[np.float64],
    offset: float,
    scale: float,
    *shared: Any,
) -> NeighborsOfNumbers:
    """Allocate the workspace of one worker, for numbers; `shared` is for `_shared_fields`."""
    return NeighborsOfNumbers(
        AVERAGING,
        rows=make_rows(player_starts, player_rows, np.zeros(len(targets), np.int64), 1),
        targets=targets,
        truth=truth,
        offset=offset,
        scale=scale,
        **_shared_fields(*shared),
    )


@entry
def reset(game: NeighborsWorkspace) -> None:
    """Empty the sequence."""
    reset_rows(game.rows)


@entry
def push(game: NeighborsWorkspace, player: int) -> None:
    """Append a player's rows to the sequence."""
    rows, all_ranks, nearest, near_ranks = game.rows, game.ranks, game.nearest, game.near_ranks
    placed, first = rows.placed, rows.length
    push_rows(rows, player)
    kept = nearest.shape[1]
    for position in range(first, rows.length):
        ranks = all_ranks[placed[position]]
        for v in range(ranks.shape[0]):
            rank = ranks[v]
            j = min(position, kept)
            if j == kept:
                if near_ranks[v, j - 1] < rank:
                    continue
                j -= 1  # the furthest is dropped
            while j > 0 and near_ranks[v, j - 1] > rank:
                nearest[v, j] = nearest[v, j - 1]
                near_ranks[v, j] = near_ranks[v, j - 1]
                j -= 1
            nearest[v, j] = position
            near_ranks[v, j] = rank


@inlined
def _next_nearest(game: NeighborsWorkspace, v: int, m: int, j: int) -> None:
    """Find the jth nearest row to validation row v among the first m of the sequence."""
    ranks, placed, near_ranks = game.ranks, game.rows.placed, game.near_ranks
    best = -1
    for position in range(m):
        rank = ranks[placed[position], v]
        if j > 0 and rank <= near_ranks[v, j - 1]:
            continue
        if best < 0 or rank < near_ranks[v, j]:
            best = position
            near_ranks[v, j] = rank
    game.nearest[v, j] = best


@entry
def pop(game: NeighborsWorkspace, player: int) -> None:
    """Take the rows of the player that was pushed last out of the sequence."""
    rows, nearest, near_ranks = game.rows, game.nearest, game.near_ranks
    kept = nearest.shape[1]
    last = rows.length
    pop_rows(rows, player)
    for position in range(last - 1, rows.length - 1, -1):
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


@entry
def is_defined(game: NeighborsWorkspace) -> int:
    """Whether the sequence holds a row."""
    return int(game.rows.length > 0)


@inlined
def _weigh(game: Any, m: int) -> int:
    """Write the weights of the m rows of the sequence; return how many of them vote."""
    weights, placed, sample_weights = game.weights, game.rows.placed, game.sample_weights
    fill_position_weights(game.weight_kind, game.weight_table, m, weights)
    for i in range(m):
        weights[i] *= sample_weights[placed[i]]
    return min(m, game.nearest.shape[1])


@inlined
def _vote(game: Any, v: int, position: int) -> float:
    """Weight of the vote on validation row v by the row at that position of the sequence."""
    weight, distances, placed = game.weights[position], game.distances, game.rows.placed
    if distances.shape[0] == 0:
        return float(weight)
    # The inverse of the distance, times the minimum distance: rows at distance 0 take all the weight.
    nearest, own = distances[placed[game.nearest[v, 0]], v], distances[placed[position], v]
    return float(weight if own == nearest else weight * (nearest / own))


@entry
def evaluate_votes(game: NeighborsOfClasses) -> int:
    """Write the score on the validation rows of the votes of their nearest rows."""
    m = game.rows.length
    if m == 0:
        score_without_model(game)
        return OK
    votes, classes, placed, nearest = game.votes, game.rows.classes, game.rows.placed, game.nearest
    truth, decisions, scoring = game.truth, game.decisions, game.scoring
    count = _weigh(game, m)
    filled = count / game.n_neighbors
    n_valid = truth.shape[0]
    shares = 0.0
    in_blocks = begin_blocks(game, 0.0)
    for v in range(n_valid):
        votes[:] = 0.0
        total = 0.0
        for j in range(count):
            position = nearest[v, j]
            vote = _vote(game, v, position)
            votes[classes[placed[position]]] += vote
            total += vote
        if scoring == VOTE_SHARE:
            if total > 0.0:
                share = filled * (votes[truth[v]] / total)
                shares += share
                if in_blocks:
                    add_to_block(game, v, share)
            continue
        max_votes = 0.0
        for c in range(votes.shape[0]):
            max_votes = max(max_votes, votes[c])
        decided = 0
        while votes[decided] < max_votes - _TIE * total:
            decided += 1
        decisions[v] = decided
    if scoring == VOTE_SHARE:
        game.scores[0] = shares / n_valid
    else:
        game.scores[0] = score_decisions(scoring, decisions, truth, game.counts)
        share_right_decisions(game, decisions, truth)
    return OK


@entry
def evaluate_means(game: NeighborsOfNumbers) -> int:
    """Write the score on the validation rows of the weighted means of their nearest rows."""
    m = game.rows.length
    if m == 0:
        score_without_model(game)
        return OK
    targets, truth, placed, nearest = game.targets, game.truth, game.rows.placed, game.nearest
    count = _weigh(game, m)
    squares = 0.0
    n_valid, in_blocks = truth.shape[0], begin_blocks(game, 0.0)
    for v in range(n_valid):
        total = weighted = plain = 0.0
        for j in range(count):
            position = nearest[v, j]
            vote = _vote(game, v, position)
            target = targets[placed[position]]
            total += vote
            weighted += vote * target
            plain += target
        error = truth[v] - (weighted / total if total > 0.0 else plain / count)
        squares += error * error
        if in_blocks:
            add_to_block(game, v, game.offset - game.scale * n_valid * error * error)
    game.scores[0] = game.offset - game.scale * squares
    return OK


VOTING = GameFunctions(reset, push, pop, is_defined, evaluate_votes)
AVERAGING = GameFunctions(reset, push, pop, is_defined, evaluate_means)
