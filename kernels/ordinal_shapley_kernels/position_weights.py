"""Weights of rows by their positions in a sequence of m rows."""

from __future__ import annotations

import math

from ordinal_shapley_kernels.abi import entry, symbol
from ordinal_shapley_kernels.elementary import exp, exp_lanes
from ordinal_shapley_kernels.lanes import WIDTH, multiply, ramp, splat, store, subtract
from ordinal_shapley_kernels.workspace import Vector, Workspace

UNIFORM = 0
GAUSSIAN = 1
TABLE = 2


@symbol
def fill_position_weights(kind: int, table: Vector, m: int, out: Vector) -> None:
    """Write the weights of positions 0..m-1 in a sequence of length m into out[:m].

    Gaussian: W_i = m / (sqrt(2 pi) s) exp(-(i - mu)^2 / (2 s^2)) with mu = (m - 1)/2, s = (m - 1)/6
    (the paper's Section 5, with the length of the current sequence for n); a single row has weight 1. Table:
    row m of the packed triangle `table` (lengths 1, 2, ... one after the other).
    """
    if kind == GAUSSIAN and m > 1:
        centre = 0.5 * (m - 1)
        spread = (m - 1) / 6.0
        scale = m / (math.sqrt(2.0 * math.pi) * spread)
        rate = 0.5 / (spread * spread)
        # Symmetric about the centre: half the exponentials.
        half = (m + 1) // 2
        i = 0
        while i < half and i + WIDTH <= m:
            place = subtract(ramp(i), splat(centre))
            store(out, i, multiply(splat(scale), exp_lanes(multiply(splat(-rate), multiply(place, place)))))
            i += WIDTH
        while i < half:
            out[i] = scale * exp(-rate * (i - centre) * (i - centre))
            i += 1
        for i in range(half):
            out[m - 1 - i] = out[i]
    elif kind == TABLE:
        start = m * (m - 1) // 2
        for i in range(m):
            out[i] = table[start + i]
    else:
        for i in range(m):
            out[i] = 1.0


class PositionWeights(Workspace):
    """Weights of one length."""

    kind: int
    table: Vector  # as for `fill_position_weights`
    out: Vector  # (at least m,)


@entry
def weigh_positions(weights: PositionWeights, m: int) -> None:
    """Write the weights of positions 0..m-1 in a sequence of length m into `weights.out`."""
    fill_position_weights(weights.kind, weights.table, m, weights.out)
