"""Contribution of each player to an order, in/out, marginal or a blend of the two; and its sums.

In/out is how the ordinal Shapley value is estimated. It is the classic Shapley value of Ubar(S), the mean of
U over the orders of S, and every prefix of a random order is a random order of a random set. With U_s the
utility of the first s of n players, player i's value is the expectation of

    x_i = (U_n - U_0) / n + sum_{s=1}^{n-1} (U_s - c_s) A_s,i,
    A_s,i = 1/s if i is among the first s, else -1/(n - s).

A has mean 0 and sums to 0 over the players, so any c_s that does not depend on this order leaves x_i
unbiased and the x_i sum to U_n - U_0. By position, what i adds as the (k + 1)st player is the expectation of
p_i,k, and x_i is the mean of p_i,k over k = 0..n-1:

    p_i,k = c_{k+1} + (U_{k+1} - c_{k+1}) n / (k + 1) [i among the first k + 1]
            - c_k - (U_k - c_k) n / (n - k) [i not among the first k],    c_0 = U_0, c_n = U_n.

With weights w_k of the sizes k = 0..n-1 in place of 1 / n the value is the sum of w_k p_i,k; g_k being n w_k,

    x_i = (g_{n-1} U_n - g_0 U_0) / n + sum_{s=1}^{n-1} (U_s - c_s) A_s,i + c_s (g_{s-1} - g_s) / n,
    A_s,i = g_{s-1} / s if i is among the first s, else -g_s / (n - s).

A then has the mean (g_{s-1} - g_s) / n over the players, which the last term compensates.
"""

from __future__ import annotations

from ordinal_shapley_kernels.abi import entry, inlined
from ordinal_shapley_kernels.workspace import Cube, IntegerMatrix, Integers, Matrix, Vector, Workspace

# What a cell [i, k] of a profile holds
TOTAL = 0
SQUARES = 1
SAMPLES = 2
N_CELLS = 3


class Record(Workspace):
    """Orders walked, the input of their contributions, and the output arrays."""

    # (n_orders, n_places): players in order; of a sampled set only its players, and n is then their number.
    orders: IntegerMatrix
    baselines: Matrix  # (n_orders, n_places): [t, s - 1] is c_s; in the last column U_n, or its stand-in
    # (n_orders, n_places): [t, s - 1] is U_s - c_s, or its stand-in; the last column is not used.
    centred: Matrix
    # (n_orders, n_places): marginal contribution of the player at each place, times the weight of the
    # sequence before it.
    marginals: Matrix
    # (n_places,): [k] is g_k, n times the weight of size k; 1 if all sizes have the same weight.
    factors: Vector
    # (n_orders, n_places) or (0, 0): written by `write_contributions`: contribution of the player at each
    # place of each order.
    contributions: Matrix
    profile: Cube  # (N_CELLS, n_players, n_places) or (0, 0, 0): added to by `add_profile`
    in_out: float  # share of the in/out contribution; the rest is the marginal one
    empty_value: float  # U_0


@inlined
def _baseline(record: Record, order: int, size: int) -> float:
    return record.baselines[order, size - 1] if size > 0 else record.empty_value


@inlined
def _centred(record: Record, order: int, size: int) -> float:
    """U_size minus its baseline; 0 for no players and for all."""
    return record.centred[order, size - 1] if 0 < size < record.orders.shape[1] else 0.0


@entry
def write_contributions(record: Record) -> None:
    """Write the contribution of the player at each place of each order into `record.contributions`."""
    out, marginals, factors = record.contributions, record.marginals, record.factors
    n_orders, n_places = record.orders.shape
    in_out = record.in_out
    for t in range(n_orders):
        # From the last place to the first: the player is in for s = place.. and out for s = 1..place-1.
        value = factors[n_places - 1] * _baseline(record, t, n_places) - factors[0] * record.empty_value
        value /= n_places
        for s in range(1, n_places):
            if factors[s - 1] != factors[s]:
                value += _baseline(record, t, s) * ((factors[s - 1] - factors[s]) / n_places)
            value -= factors[s] * _centred(record, t, s) / (n_places - s)
        for place in range(n_places, 0, -1):
            if place < n_places:
                centred = _centred(record, t, place)
                value += factors[place - 1] * centred / place + factors[place] * centred / (n_places - place)
            answer = in_out * value
            if in_out < 1.0:
                marginal = factors[place - 1] * marginals[t, place - 1]
                answer += (1.0 - in_out) * marginal
            out[t, place - 1] = answer


@entry
def add_profile(record: Record) -> None:
    """Add the contributions of every order by player and place to `profile`; for orders of all players.

    Marginal contributions fill the cells [i, k] of players i that stood at place k; in/out and blends fill
    every cell. Sizes without weight stay empty.
    """
    profile, orders, marginals, factors = record.profile, record.orders, record.marginals, record.factors
    n_orders, n = orders.shape
    share = record.in_out
    for t in range(n_orders):
        for place in range(n):
            player = orders[t, place]
            first = place if share == 0.0 else 0
            for k in range(first, place + 1 if share == 0.0 else n):
                if factors[k] == 0.0:
                    continue
                cell = 0.0
                if share > 0.0:
                    cell = _baseline(record, t, k + 1) - _baseline(record, t, k)
                    if place <= k:
                        cell += _centred(record, t, k + 1) * n / (k + 1)
                    if place >= k:
                        cell -= _centred(record, t, k) * n / (n - k)
                    cell *= share
                if k == place and share < 1.0:
                    cell += (1.0 if share == 0.0 else (1.0 - share) * n) * marginals[t, place]
                profile[TOTAL, player, k] += cell
                profile[SQUARES, player, k] += cell * cell
                profile[SAMPLES, player, k] += 1.0


class Tally(Workspace):
    """Contributions to orders, their sums by player as in the library's Moments, and scratch."""

    orders: IntegerMatrix  # (n_orders, n_places)
    # (n_orders,): how many players of each order count; the orders of a replicate have the same players.
    n_drawn: Integers
    contributions: Matrix  # (n_orders, n_places): that of the player at each place
    # sums, replicate_sums, replicate_spread (n_players,): 0 at the start; written, as are `chosen` and
    # `replicates`.
    sums: Vector
    replicate_sums: Vector
    replicate_spread: Vector
    # chosen, replicates (n_players,)
    chosen: Integers
    replicates: Integers
    replicate: Vector  # (n_players,): scratch, 0 at the start: sums of the current replicate
    seen: Integers  # (n_players,): scratch, 0 at the start: number of the last replicate added
    # Orders per replicate. An incomplete last replicate adds to `sums` and `chosen` only.
    replicate_size: int
    # Whether orders and replicates count for all players, with 0 for those that are not in them.
    all_count: int


@entry
def add_replicates(tally: Tally) -> None:
    """Add contributions replicate by replicate: consecutive orders of the same players."""
    orders, n_drawn, contributions = tally.orders, tally.n_drawn, tally.contributions
    sums, replicate_sums, replicate_spread = tally.sums, tally.replicate_sums, tally.replicate_spread
    chosen, replicates, replicate, seen = tally.chosen, tally.replicates, tally.replicate, tally.seen
    size, all_count = tally.replicate_size, tally.all_count
    n_orders = orders.shape[0]
    n_replicates = n_orders // size
    number = 0
    for second in range(2):  # the sums first, then the squared distances from their means
        for first in range(0, n_orders, size):
            last = min(first + size, n_orders)
            complete = last == first + size
            number += 1
            for t in range(first, last):
                for j in range(n_drawn[t]):
                    player = orders[t, j]
                    replicate[player] += contributions[t, j]
                    if not second:
                        chosen[player] += 1
            for t in range(first, last):
                for j in range(n_drawn[t]):
                    player = orders[t, j]
                    if seen[player] == number:
                        continue
                    seen[player] = number
                    total = replicate[player]
                    replicate[player] = 0.0
                    if not second:
                        sums[player] += total
                        if complete:
                            replicate_sums[player] += total
                            replicates[player] += 1
                    elif complete:
                        n_samples = n_replicates if all_count else replicates[player]
                        replicate_spread[player] += (total - replicate_sums[player] / n_samples) ** 2
    if all_count:
        for player in range(sums.shape[0]):
            if n_replicates > 0:
                mean = replicate_sums[player] / n_replicates
                replicate_spread[player] += (n_replicates - replicates[player]) * mean * mean
            chosen[player] = n_orders
            replicates[player] = n_replicates
