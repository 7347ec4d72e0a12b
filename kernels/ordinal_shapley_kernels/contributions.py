"""What each player contributes to an order: in/out, marginally, or a blend of the two; and its sums.

In/out is how the ordinal Shapley value is estimated. It is the classic Shapley value of Ubar(S), the mean of
U over the orders of S, and every prefix of a random order is a random order of a random set. With U_s the
utility of the first s of n players, player i's value is the expectation of

    x_i = (U_n - U_0) / n + sum_{s=1}^{n-1} (U_s - c_s) A_s,i,
    A_s,i = 1/s if i is among the first s, else -1/(n - s).

A has mean 0 and sums to 0 over the players, so any c_s that does not depend on this order leaves x_i
unbiased and the x_i sum to U_n - U_0. Place by place, what i adds as the (k + 1)st player is the expectation
of p_i,k below, and x_i is the mean of p_i,k over k = 0..n-1:

    p_i,k = c_{k+1} + (U_{k+1} - c_{k+1}) n / (k + 1) [i among the first k + 1]
            - c_k - (U_k - c_k) n / (n - k) [i not among the first k],    c_0 = U_0, c_n = U_n.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley_kernels._jit import kernel

# Profile: what a cell [i, k] holds
TOTAL = 0
SQUARES = 1
SAMPLES = 2
N_CELLS = 3


class Record(NamedTuple):
    """Orders that were walked, and what the contributions to them are made of.

    Attributes
    ----------
    orders : int64 (n_orders, n_places)
        Players in order; of a sampled set, only its players, whose number stands for n.
    centres : float64 (n_orders, n_places)
        [t, s - 1] is c_s; in the last column U_n, or what stands for it.
    centred : float64 (n_orders, n_places)
        [t, s - 1] is U_s - c_s, or what stands for it; the last column is not used.
    marginals : float64 (n_orders, n_places)
        Marginal contribution of the player at each place, times the weight of the sequence before it.
    in_out : float64 (1,)
        Share of the in/out contribution; the rest is the marginal one.
    empty_value : float64 (1,)
        U_0.
    """

    orders: NDArray[np.int64]
    centres: NDArray[np.float64]
    centred: NDArray[np.float64]
    marginals: NDArray[np.float64]
    in_out: NDArray[np.float64]
    empty_value: NDArray[np.float64]


@kernel(internal=True)
def _centre(record: Record, order: int, size: int) -> float:
    return record.centres[order, size - 1] if size > 0 else record.empty_value[0]


@kernel(internal=True)
def _centred(record: Record, order: int, size: int) -> float:
    """U_size less its centre; 0 for nobody and for everybody."""
    return record.centred[order, size - 1] if 0 < size < record.orders.shape[1] else 0.0


@kernel()
def contributions(record: Record, out: NDArray[np.float64]) -> None:
    """Write the contribution of the player at each place of each order into `out` (n_orders, n_places)."""
    n_orders, n_places = record.orders.shape
    in_out = record.in_out[0]
    for t in range(n_orders):
        # From the last place to the first: being in for s = place.. and out for s = 1..place-1.
        value = (_centre(record, t, n_places) - record.empty_value[0]) / n_places
        for s in range(1, n_places):
            value -= _centred(record, t, s) / (n_places - s)
        for place in range(n_places, 0, -1):
            if place < n_places:
                centred = _centred(record, t, place)
                value += centred / place + centred / (n_places - place)
            answer = in_out * value
            if in_out < 1.0:
                answer += (1.0 - in_out) * record.marginals[t, place - 1]
            out[t, place - 1] = answer


@kernel()
def add_profile(record: Record, profile: NDArray[np.float64]) -> None:
    """Add what every order says of each player at each place; for orders of all players.

    `profile` is (N_CELLS, n_players, n_places). Marginal contributions alone tell of the cells [i, k] in
    which player i did stand at place k; in/out, and a blend with it, of every cell.
    """
    n_orders, n = record.orders.shape
    share = record.in_out[0]
    for t in range(n_orders):
        for place in range(n):
            player = record.orders[t, place]
            first = place if share == 0.0 else 0
            for k in range(first, place + 1 if share == 0.0 else n):
                cell = 0.0
                if share > 0.0:
                    cell = _centre(record, t, k + 1) - _centre(record, t, k)
                    if place <= k:
                        cell += _centred(record, t, k + 1) * n / (k + 1)
                    if place >= k:
                        cell -= _centred(record, t, k) * n / (n - k)
                    cell *= share
                if k == place and share < 1.0:
                    cell += (1.0 if share == 0.0 else (1.0 - share) * n) * record.marginals[t, place]
                profile[TOTAL, player, k] += cell
                profile[SQUARES, player, k] += cell * cell
                profile[SAMPLES, player, k] += 1.0


class Tally(NamedTuple):
    """Sums of contributions by player, as in the library's Moments; and scratch.

    Attributes
    ----------
    sums, unit_sums, unit_spread : float64 (n_players,)
    chosen, units : int64 (n_players,)
    unit : float64 (n_players,)
        Scratch, all 0: the sums of the unit at hand.
    seen : int64 (n_players,)
        Scratch, all 0: number of the unit that was added last.
    """

    sums: NDArray[np.float64]
    unit_sums: NDArray[np.float64]
    unit_spread: NDArray[np.float64]
    chosen: NDArray[np.int64]
    units: NDArray[np.int64]
    unit: NDArray[np.float64]
    seen: NDArray[np.int64]


@kernel()
def add_units(
    orders: NDArray[np.int64],
    n_drawn: NDArray[np.int64],
    samples: NDArray[np.float64],
    unit_size: int,
    all_count: bool,
    tally: Tally,
) -> None:
    """Add contributions, unit after unit of `unit_size` orders with the same players.

    Parameters
    ----------
    orders : int64 (n_orders, n_places)
    n_drawn : int64 (n_orders,)
        How many players of each order count; those of several orders a unit are the same.
    samples : float64 (n_orders, n_places)
        Contribution of the player at each place.
    unit_size : int
        An incomplete last unit adds to `sums` and `chosen` only.
    all_count : bool
        Whether orders and units count for all players, those that are not in them with 0.
    tally : Tally
        All 0; written.
    """
    n_orders = orders.shape[0]
    n_units = n_orders // unit_size
    number = 0
    for second in range(2):  # first the sums, then the distances from their means
        for first in range(0, n_orders, unit_size):
            last = min(first + unit_size, n_orders)
            complete = last == first + unit_size
            number += 1
            for t in range(first, last):
                for j in range(n_drawn[t]):
                    player = orders[t, j]
                    tally.unit[player] += samples[t, j]
                    if not second:
                        tally.chosen[player] += 1
            for t in range(first, last):
                for j in range(n_drawn[t]):
                    player = orders[t, j]
                    if tally.seen[player] == number:
                        continue
                    tally.seen[player] = number
                    total = tally.unit[player]
                    tally.unit[player] = 0.0
                    if not second:
                        tally.sums[player] += total
                        if complete:
                            tally.unit_sums[player] += total
                            tally.units[player] += 1
                    elif complete:
                        n_samples = n_units if all_count else tally.units[player]
                        tally.unit_spread[player] += (total - tally.unit_sums[player] / n_samples) ** 2
    if all_count:
        for player in range(tally.sums.shape[0]):
            if n_units > 0:
                mean = tally.unit_sums[player] / n_units
                tally.unit_spread[player] += (n_units - tally.units[player]) * mean * mean
            tally.chosen[player] = n_orders
            tally.units[player] = n_units
