"""Values of the game that each set of channels has by its journeys."""

from __future__ import annotations

from ordinal_shapley_kernels.abi import entry
from ordinal_shapley_kernels.journeys import find_child
from ordinal_shapley_kernels.workspace import IntegerMatrix, Integers, Matrix, Vector, Workspace


class TrieShares(Workspace):
    """Values of all sets' games by the sequences seen, in lanes: for several counts of journeys side by side.

    `max_size` is the size of the largest set. `last`, `member` and `other` say what a seen sequence of m
    channels adds to the values of the k channels of a set, times k!.

    Attributes
    ----------
    trie_starts : int64 (n_nodes + 1,), read-only
    trie_channels : int64 (n_nodes - 1,), read-only
        See `journeys`.
    utilities, beyond : float64 (n_nodes, n_lanes), read-only
        Utilities of full permutations: of the sequences seen, and of those that leave the trie behind a node.
    gains : float64 (n_nodes, n_lanes), read-only
        What a node adds to the utility of the sequences that pass it.
    last, member, other : float64 (max_size + 1, max_size + 1), read-only
        By k and m: for the last channel of the sequence, each of its channels, and each other channel.
    factorials : float64 (max_size + 1,), read-only
    whole : int
        Whether only sequences of all members of a set count.
    starts : int64 (n_sets + 1,), read-only
        Where the members of each set begin in `members`.
    members : int64, read-only
        Channels in increasing order.
    scratch : int64 (5, max_size + 1)
    values : float64 (like `members`, n_lanes)
        Times k!.
    sums : float64 (n_sets, n_lanes)
        Sums of utilities over all full permutations of a set, which its values must have, times k!.
    conversions : float64 (n_sets,), read-only
    places : float64 (max_size, max_size + 1)
        Scratch.
    credit : float64 (n_channels, max_size)
        Unless it is empty, the credit of each channel at each place of an order is added, by the first lane;
        requires the coefficients of the partial ordinal value.
    """

    trie_starts: Integers
    trie_channels: Integers
    utilities: Matrix
    beyond: Matrix
    gains: Matrix
    last: Matrix
    member: Matrix
    other: Matrix
    factorials: Vector
    whole: int
    starts: Integers
    members: Integers
    scratch: IntegerMatrix
    values: Matrix
    sums: Matrix
    conversions: Vector
    places: Matrix
    credit: Matrix


@entry
def share_by_trie(shares: TrieShares) -> None:
    """Write `values` and `sums`, and add to `credit`.

    The trie is searched depth first, set by set, for the sequences of its members.
    """
    trie_starts, trie_channels = shares.trie_starts, shares.trie_channels
    utilities, beyond, gains, factorials = shares.utilities, shares.beyond, shares.gains, shares.factorials
    to_last, to_member, to_other, whole = shares.last, shares.member, shares.other, shares.whole != 0
    starts, members, scratch = shares.starts, shares.members, shares.scratch
    values, sums, conversions = shares.values, shares.sums, shares.conversions
    places, credit = shares.places, shares.credit
    by_place, n_lanes = credit.shape[0] > 0, gains.shape[1]
    nodes, following, chosen, inside, found = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
    for s in range(starts.shape[0] - 1):
        first, k = starts[s], starts[s + 1] - starts[s]
        values[first : first + k] = 0.0
        sums[s] = 0.0
        if by_place:
            places[:k, : k + 1] = 0.0
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
                    for lane in range(n_lanes):
                        sums[s, lane] += utilities[nodes[depth], lane]
                else:
                    rest = k - depth
                    left = factorials[rest - 1] * (rest - found[depth])
                    for lane in range(n_lanes):
                        sums[s, lane] += beyond[nodes[depth], lane] * left
                depth -= 1
                inside[chosen[depth]] = 0
                continue
            following[depth] = j + 1
            if inside[j] == 1:
                continue
            child = find_child(trie_starts, trie_channels, nodes[depth], members[first + j])
            if child < 0:
                continue
            found[depth] += 1
            inside[j] = 1
            chosen[depth] = j
            depth += 1
            nodes[depth] = child
            following[depth] = 0
            found[depth] = 0
            if whole and depth < k:
                continue
            for i in range(k):
                part = to_member[k, depth] if inside[i] == 1 else to_other[k, depth]
                if i == j:
                    part += to_last[k, depth]
                if part != 0.0:
                    for lane in range(n_lanes):
                        values[first + i, lane] += gains[child, lane] * part
            if by_place:
                gain = gains[child, 0]
                # It is the last one, or another comes next.
                places[j, depth - 1] += gain * to_last[k, depth]
                for i in range(k):
                    if inside[i] == 0:
                        places[i, depth] += gain * to_other[k, depth]
        if by_place:
            total = 0.0
            for i in range(k):
                total += values[first + i, 0]
            for i in range(k):
                for place in range(k):
                    credit[members[first + i], place] += places[i, place] * (conversions[s] / total)


class Tables(Workspace):
    """Rates of all subsets of each set.

    The trie holds the sets seen, their channels in increasing order.

    Attributes
    ----------
    trie_starts, trie_channels, depths : int64, read-only
        See `journeys`.
    conversions, totals : float64 (n_nodes,), read-only
        Counts of its nodes, 0 where a node is only a prefix.
    pooled : int
        Whether a subset that was not seen has the pooled rate of the largest of its subsets that were seen;
        else its rate is 0.
    starts, members : int64, read-only
        As in `TrieShares`.
    table_starts : int64 (n_sets,), read-only
        Where the table of each set begins in `tables`.
    scratch : int64 (3, max_size + 1)
    seen : int64 (2, ..)
        Scratch, with room for the nodes whose channels are all in one set.
    largest : int64
        Scratch, with room for the largest table.
    tables : float64
        By the bits of each set's members, the sets one after the other.
    """

    trie_starts: Integers
    trie_channels: Integers
    depths: Integers
    conversions: Vector
    totals: Vector
    pooled: int
    starts: Integers
    members: Integers
    table_starts: Integers
    scratch: IntegerMatrix
    seen: IntegerMatrix
    largest: Integers
    tables: Vector


@entry
def fill_tables(rates: Tables) -> None:
    """Write `tables`."""
    trie_starts, trie_channels, depths = rates.trie_starts, rates.trie_channels, rates.depths
    conversions, totals, pooled = rates.conversions, rates.totals, rates.pooled != 0
    starts, members, table_starts, scratch = rates.starts, rates.members, rates.table_starts, rates.scratch
    seen, largest, tables = rates.seen, rates.largest, rates.tables
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
            child = find_child(trie_starts, trie_channels, nodes[depth], members[first + j])
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
                if depths[child] == best and seen[0, e] & ~mask == 0:
                    part += conversions[child]
                    whole += totals[child]
            table[mask] = part / whole


class TableShares(Workspace):
    """Classic values of all sets' games by tables.

    Attributes
    ----------
    starts, table_starts, tables
        As in `Tables`, read-only.
    shares : float64 (max_size + 1, max_size + 1), read-only
        [k, m]: the weight of a subset of m of k - 1 others.
    values : float64, like the members of the sets
    """

    starts: Integers
    table_starts: Integers
    tables: Vector
    shares: Matrix
    values: Vector


@entry
def share_by_tables(job: TableShares) -> None:
    """Write `values`."""
    starts, table_starts, tables, shares, values = (
        job.starts,
        job.table_starts,
        job.tables,
        job.shares,
        job.values,
    )
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
