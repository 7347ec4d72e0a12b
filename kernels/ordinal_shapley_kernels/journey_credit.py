"""Values of the game that each set of channels has by its journeys."""

from __future__ import annotations

from ordinal_shapley_kernels.abi import entry
from ordinal_shapley_kernels.journeys import find_child
from ordinal_shapley_kernels.workspace import IntegerMatrix, Integers, Matrix, Vector, Workspace


class TrieShares(Workspace):
    """Values of all sets' games by the sequences seen, in lanes: for several counts of journeys side by side.

    `max_size` is the size of the largest set. `last`, `member` and `other` say what a seen sequence of m
    channels adds to the values of the k channels of a set, times k!.
    """

    trie_starts: Integers  # (n_nodes + 1,), read-only
    trie_channels: Integers  # (n_nodes - 1,), read-only: see `journeys`
    # utilities, beyond (n_nodes, n_lanes), read-only: utilities of full permutations: of the sequences seen,
    # and of those that leave the trie behind a node.
    utilities: Matrix
    beyond: Matrix
    # (n_nodes, n_lanes), read-only: what a node adds to the utility of the sequences that pass it.
    gains: Matrix
    # last, member, other (max_size + 1, max_size + 1), read-only: by k and m: for the last channel of the
    # sequence, each of its channels, and each other channel.
    last: Matrix
    member: Matrix
    other: Matrix
    factorials: Vector  # (max_size + 1,), read-only
    whole: int  # whether only sequences of all members of a set count
    starts: Integers  # (n_sets + 1,), read-only: where the members of each set begin in `members`
    members: Integers  # read-only: channels in increasing order
    scratch: IntegerMatrix  # (5, max_size + 1)
    values: Matrix  # (like `members`, n_lanes): times k!
    # (n_sets, n_lanes): sums of utilities over all full permutations of a set, which its values must have,
    # times k!.
    sums: Matrix
    conversions: Vector  # (n_sets,), read-only
    places: Matrix  # (max_size, max_size + 1): scratch
    # (n_channels, max_size): unless it is empty, the credit of each channel at each place of an order is
    # added, by the first lane; requires the coefficients of the partial ordinal value.
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
    """

    # trie_starts, trie_channels, depths read-only: see `journeys`.
    trie_starts: Integers
    trie_channels: Integers
    depths: Integers
    # conversions, totals (n_nodes,), read-only: counts of its nodes, 0 where a node is only a prefix.
    conversions: Vector
    totals: Vector
    # Whether a subset that was not seen has the pooled rate of the largest of its subsets that were seen;
    # else its rate is 0.
    pooled: int
    # starts, members read-only: as in `TrieShares`.
    starts: Integers
    members: Integers
    table_starts: Integers  # (n_sets,), read-only: where the table of each set begins in `tables`
    scratch: IntegerMatrix  # (3, max_size + 1)
    seen: IntegerMatrix  # (2, ..): scratch, with room for the nodes whose channels are all in one set
    largest: Integers  # scratch, with room for the largest table
    tables: Vector  # by the bits of each set's members, the sets one after the other


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
    """Classic values of all sets' games by tables."""

    # starts, table_starts, tables: as in `Tables`, read-only.
    starts: Integers
    table_starts: Integers
    tables: Vector
    # (max_size + 1, max_size + 1), read-only: [k, m]: the weight of a subset of m of k - 1 others.
    shares: Matrix
    values: Vector  # like the members of the sets


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
