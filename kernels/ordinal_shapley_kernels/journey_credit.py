"""Values of the games that the journeys of each set of channels make, set by set."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley_kernels._jit import kernel
from ordinal_shapley_kernels.journeys import Trie, find_child


class Coefficients(NamedTuple):
    """What a seen sequence of m channels adds to the values of the k channels of a set, times k!.

    Attributes
    ----------
    last, member, other : float64 (most + 1, most + 1)
        By k and m: to the last of the sequence, to each of it, and to each channel that is not in it.
    factorials : float64 (most + 1,)
    """

    last: NDArray[np.float64]
    member: NDArray[np.float64]
    other: NDArray[np.float64]
    factorials: NDArray[np.float64]


@kernel()
def share_by_trie(
    trie: Trie,
    worths: NDArray[np.float64],
    beyond: NDArray[np.float64],
    gains: NDArray[np.float64],
    coefficients: Coefficients,
    whole: bool,
    starts: NDArray[np.int64],
    members: NDArray[np.int64],
    scratch: NDArray[np.int64],
    values: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """Values of all sets' games, and the sums over all full orders of a set that they must have, times k!.

    The trie is searched depth first, set by set, for the sequences of its members. `members` of set s stand
    from starts[s] on, in increasing order, and `values` as they do. A sequence counts by its `gains`; only
    those of all members do if `whole`. Full orders are worth what `worths` says of the sequences seen and
    `beyond` of what the others begin with. `scratch` is (5, most + 1), most the size of the largest set.
    """
    nodes, following, chosen, inside, found = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
    for s in range(starts.shape[0] - 1):
        first, k = starts[s], starts[s + 1] - starts[s]
        values[first : first + k] = 0.0
        sums[s] = 0.0
        inside[:k] = 0
        depth = 0
        nodes[0] = 0
        following[0] = 0
        while True:
            j = following[depth]
            if j == k:
                if depth == 0:
                    break
                if depth == k:
                    sums[s] += worths[nodes[depth]]
                else:
                    rest = k - depth
                    left = coefficients.factorials[rest - 1] * (rest - found[depth])
                    sums[s] += beyond[nodes[depth]] * left
                depth -= 1
                inside[chosen[depth]] = 0
                continue
            following[depth] = j + 1
            if inside[j] == 1:
                continue
            child = find_child(trie, nodes[depth], members[first + j])
            if child < 0:
                continue
            found[depth] += 1
            inside[j] = 1
            chosen[depth] = j
            depth += 1
            nodes[depth] = child
            following[depth] = 0
            found[depth] = 0
            gain = gains[child]
            if gain == 0.0 or (whole and depth < k):
                continue
            for i in range(k):
                part = coefficients.member[k, depth] if inside[i] == 1 else coefficients.other[k, depth]
                values[first + i] += gain * part
            values[first + j] += gain * coefficients.last[k, depth]


@kernel()
def fill_tables(
    trie: Trie,
    conversions: NDArray[np.float64],
    totals: NDArray[np.float64],
    pooled: bool,
    starts: NDArray[np.int64],
    members: NDArray[np.int64],
    table_starts: NDArray[np.int64],
    scratch: NDArray[np.int64],
    seen: NDArray[np.int64],
    largest: NDArray[np.int64],
    tables: NDArray[np.float64],
) -> None:
    """Rates of all subsets of each set, by the bits of its members.

    The trie holds the sets seen, their channels in increasing order; `conversions` and `totals` are those of
    its nodes, 0 where a node is only a beginning. A subset that was not seen is worth 0, or if `pooled` what
    the largest of its subsets that were seen are worth together. `scratch` as above; `seen` is (2, ..), with
    room for the nodes whose channels are all in one set, and `largest` for the largest table.
    """
    nodes, following, chosen = scratch[0], scratch[1], scratch[2]
    for s in range(starts.shape[0] - 1):
        first, k = starts[s], starts[s + 1] - starts[s]
        table = tables[table_starts[s] : table_starts[s] + (1 << k)]
        table[:] = 0.0
        largest[: 1 << k] = 0
        n_seen = 0
        depth = 0
        mask = 0
        nodes[0] = 0
        following[0] = 0
        while True:
            j = following[depth]
            if j == k:
                if depth == 0:
                    break
                depth -= 1
                mask ^= 1 << chosen[depth]
                continue
            following[depth] = j + 1
            child = find_child(trie, nodes[depth], members[first + j])
            if child < 0:
                continue
            chosen[depth] = j
            mask ^= 1 << j
            depth += 1
            nodes[depth] = child
            following[depth] = j + 1
            if totals[child] > 0.0:
                table[mask] = conversions[child] / totals[child]
                largest[mask] = depth
                seen[0, n_seen] = mask
                seen[1, n_seen] = child
                n_seen += 1
        if not pooled:
            continue
        for mask in range(1, 1 << k):
            if largest[mask] > 0:
                continue
            best = 0
            for j in range(k):
                if mask >> j & 1:
                    best = max(best, largest[mask ^ (1 << j)])
            if best == 0:
                continue
            largest[mask] = best
            part, whole = 0.0, 0.0
            for e in range(n_seen):
                child = seen[1, e]
                if trie.depths[child] == best and seen[0, e] & ~mask == 0:
                    part += conversions[child]
                    whole += totals[child]
            table[mask] = part / whole


@kernel()
def share_by_tables(
    starts: NDArray[np.int64],
    table_starts: NDArray[np.int64],
    tables: NDArray[np.float64],
    shares: NDArray[np.float64],
    values: NDArray[np.float64],
) -> None:
    """Classic values of all sets' games; shares[k, m] is the weight of a subset of m of k - 1 others."""
    for s in range(starts.shape[0] - 1):
        first, k = starts[s], starts[s + 1] - starts[s]
        table = tables[table_starts[s] : table_starts[s] + (1 << k)]
        values[first : first + k] = 0.0
        for mask in range(1 << k):
            size = 0
            for j in range(k):
                size += mask >> j & 1
            for j in range(k):
                if mask >> j & 1 == 0:
                    values[first + j] += shares[k, size] * (table[mask | 1 << j] - table[mask])
