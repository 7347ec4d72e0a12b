"""The ordinal Shapley value from prefixes of random orders: the in/out estimator.

The ordinal Shapley value of U is the classic Shapley value of Ubar(S), the mean of U over the orders of S,
and every prefix of a random order is a random order of a random set. With U_s the utility of the first s of
n players, player i's value is the expectation of

    x_i = (U_n - U_0) / n + sum_{s=1}^{n-1} (U_s - c_s) A_s,i,
    A_s,i = 1/s if i is among the first s, else -1/(n - s).

A has mean 0 and sums to 0 over the players, so any c_s that does not depend on this order leaves x_i
unbiased and the x_i sum to U_n - U_0. c_s is the mean of U_s over the *other* orders of the shard.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley_kernels._jit import kernel


@kernel()
def add_in_out(
    orders: NDArray[np.int64],
    utilities: NDArray[np.float64],
    empty_value: float,
    totals: NDArray[np.float64],
    sums: NDArray[np.float64],
    square_sums: NDArray[np.float64],
) -> None:
    """Add every order's x_i and their squares to `sums` and `square_sums`, in place.

    Parameters
    ----------
    orders : int64 (n_orders, n_places)
        Players in order; of a sampled set, only its players, whose number stands for n.
    utilities : float64 (n_orders, n_places)
        utilities[t, s - 1] is U_s of order t.
    empty_value : float
        U_0.
    totals : float64 (n_places,)
        Scratch: sums of utilities over the orders.
    sums, square_sums : float64 (n_players,)
        Written.
    """
    n_orders, n_places = orders.shape
    for s in range(n_places):
        totals[s] = 0.0
        for t in range(n_orders):
            totals[s] += utilities[t, s]
    for t in range(n_orders):
        # From the last place to the first: being in for s = place.. and out for s = 1..place-1.
        value = (utilities[t, n_places - 1] - empty_value) / n_places
        for s in range(1, n_places):
            value -= _centred(totals, utilities, t, s) / (n_places - s)
        for place in range(n_places, 0, -1):
            if place < n_places:
                centred = _centred(totals, utilities, t, place)
                value += centred / place + centred / (n_places - place)
            player = orders[t, place - 1]
            sums[player] += value
            square_sums[player] += value * value


@kernel()
def _centred(totals: NDArray[np.float64], utilities: NDArray[np.float64], order: int, size: int) -> float:
    """U_size of an order less its mean over the other orders; as it is if there are none."""
    own = utilities[order, size - 1]
    n_orders = utilities.shape[0]
    if n_orders == 1:
        return own
    return own - (totals[size - 1] - own) / (n_orders - 1)
