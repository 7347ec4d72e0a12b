"""Utilities and contributions by blocks of validation rows: how values depend on the validation set.

A game whose score is a weighted mean over validation rows also writes the mean over each block to
`scores[1:]` on request. `Game.block_of` has the block of each row, `Game.block_weights` its weight there;
weights sum to 1 in each block. Contributions by block are computed from the utilities of the block as those
of `contributions` from the utility.
"""

from __future__ import annotations

from typing import Any

from ordinal_shapley_kernels.abi import entry, inlined
from ordinal_shapley_kernels.workspace import Cube, IntegerMatrix, Integers, Matrix, Vector, Workspace


@inlined
def begin_blocks(game: Any, score: float) -> bool:
    """Give every block the same score to begin with; return whether there are any."""
    scores = game.scores
    for b in range(1, scores.shape[0]):
        scores[b] = score
    return bool(scores.shape[0] > 1)


@inlined
def add_to_block(game: Any, row: int, score: float) -> None:
    """Add the score of a validation row to its block."""
    game.scores[1 + game.block_of[row]] += game.block_weights[row] * score


@inlined
def score_without_model(game: Any) -> None:
    """Write the utility of a sequence that has no model, the same for all blocks."""
    scores = game.scores
    for b in range(scores.shape[0]):
        scores[b] = game.empty_value


@inlined
def share_right_decisions(game: Any, decisions: Any, truth: Any) -> None:
    """Write the share of right decisions in each block, if there are blocks."""
    if begin_blocks(game, 1.0):
        for v in range(truth.shape[0]):
            if decisions[v] != truth[v]:  # fewer, mostly
                add_to_block(game, v, -1.0)


class BlockTally(Workspace):
    """Orders walked, their utilities by block, and sums of contributions by player."""

    orders: IntegerMatrix  # (n_orders, n_places)
    # n_drawn, lengths (n_orders,): how many players of each order are known, and how many were evaluated.
    n_drawn: Integers
    lengths: Integers
    utilities: Cube  # (n_orders, n_places, n_blocks): of each prefix
    # (n_orders, n_places): whether it is known; where it is not, the baseline stands in.
    evaluated: IntegerMatrix
    baselines: Cube  # (1 or n_orders, n_places, n_blocks): as in a Record
    inclusion: Vector  # (n_places,) or (0,): probability of each place of being evaluated; empty for 1
    order_weights: Matrix  # (n_orders, n_places) or (0, 0): factors of marginal contributions; empty for 1
    factors: Vector  # (n_places,): as those of a Record
    in_out: float
    empty_value: float
    values: Vector  # (n_blocks,): scratch, as is `added`
    added: Vector  # (n_blocks,)
    sums: Matrix  # (n_players, n_blocks): 0 at the start; written, as is `spread`
    # (n_players,): squared distances of contributions from the mean of their block, summed over the blocks.
    spread: Vector


@inlined
def _inclusion_of(tally: Any, place: int) -> float:
    inclusion = tally.inclusion
    return float(inclusion[place]) if inclusion.shape[0] > 0 else 1.0


@inlined
def _begin_in_out(tally: Any, t: int) -> None:
    """Write the contribution of a player behind all others in an order into `values`."""
    utilities, evaluated, baselines, values = tally.utilities, tally.evaluated, tally.baselines, tally.values
    n_places, own, factors = evaluated.shape[1], t % baselines.shape[0], tally.factors
    last = n_places - 1
    for b in range(values.shape[0]):
        whole = baselines[own, last, b]
        if evaluated[t, last]:
            whole += (utilities[t, last, b] - whole) / _inclusion_of(tally, last)
        values[b] = (factors[last] * whole - factors[0] * tally.empty_value) / n_places
    for j in range(last):
        if factors[j] != factors[j + 1]:
            for b in range(values.shape[0]):
                values[b] += baselines[own, j, b] * ((factors[j] - factors[j + 1]) / n_places)
        if evaluated[t, j]:
            factor = factors[j + 1] / (_inclusion_of(tally, j) * (n_places - 1 - j))
            for b in range(values.shape[0]):
                values[b] -= (utilities[t, j, b] - baselines[own, j, b]) * factor


@inlined
def _move_in(tally: Any, t: int, j: int) -> bool:
    """Update `values` for the player at place j, inside the prefix that ends there; whether they changed."""
    utilities, evaluated, baselines, values = tally.utilities, tally.evaluated, tally.baselines, tally.values
    n_places, own, factors = evaluated.shape[1], t % baselines.shape[0], tally.factors
    if j == n_places - 1 or not evaluated[t, j]:
        return False
    factor = (factors[j] / (j + 1) + factors[j + 1] / (n_places - 1 - j)) / _inclusion_of(tally, j)
    for b in range(values.shape[0]):
        values[b] += (utilities[t, j, b] - baselines[own, j, b]) * factor
    return True


@inlined
def _add_marginals(tally: Any, t: int, j: int) -> None:
    """Write the contribution of the player at place j, marginal or blended, into `added`."""
    utilities, values, added = tally.utilities, tally.values, tally.added
    in_out, weights = tally.in_out, tally.order_weights
    factor = tally.factors[j] * (1.0 - in_out) / _inclusion_of(tally, j)
    if weights.shape[0] > 0:
        factor *= weights[t, j]
    for b in range(values.shape[0]):
        before = utilities[t, j - 1, b] if j > 0 else tally.empty_value
        added[b] = in_out * values[b] + factor * (utilities[t, j, b] - before)


@inlined
def _sum_of_squares(values: Any) -> float:
    total = 0.0
    for b in range(values.shape[0]):
        total += values[b] * values[b]
    return total


@entry
def add_block_contributions(tally: BlockTally) -> None:
    """Add the contributions to all orders by block; players that are not in an order count as 0."""
    orders, lengths, values, added = tally.orders, tally.lengths, tally.values, tally.added
    sums, spread, in_out = tally.sums, tally.spread, tally.in_out
    n_blocks = values.shape[0]
    for t in range(orders.shape[0]):
        values[:] = 0.0
        if in_out > 0.0:
            _begin_in_out(tally, t)
        squares = _sum_of_squares(values)
        for j in range(tally.n_drawn[t] - 1, -1, -1):
            player = orders[t, j]
            if in_out > 0.0 and _move_in(tally, t, j):
                squares = _sum_of_squares(values)
            if in_out < 1.0 and j < lengths[t]:
                _add_marginals(tally, t, j)
                spread[player] += _sum_of_squares(added)
                for b in range(n_blocks):
                    sums[player, b] += added[b]
            elif in_out > 0.0:
                spread[player] += in_out * in_out * squares
                for b in range(n_blocks):
                    sums[player, b] += in_out * values[b]
    for player in range(spread.shape[0]):
        # If all contributions are equal, rounding can make this negative.
        rest = spread[player] - _sum_of_squares(sums[player]) / orders.shape[0]
        spread[player] = max(rest, 0.0)
