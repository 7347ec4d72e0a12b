"""Utilities of the journeys of each set of channels, and how their conversions are shared."""

from __future__ import annotations

import itertools
import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common.parallel import check_memory
from ordinal_shapley.games._journey_input import Counted, add_up, number_keys
from ordinal_shapley_kernels import journey_credit as kernels

# Maximum size of a set whose subsets are tabulated.
MAX_TABULATED = 20
# Rounding beyond this share of a set's conversions is an error.
_TOLERANCE = 1e-6


class Trie(NamedTuple):
    """Sequences and their prefixes; see the kernels."""

    starts: NDArray[np.int64]  # starts of the edges to the children of each node
    channels: NDArray[np.int64]  # of each edge
    parents: NDArray[np.int64]
    depths: NDArray[np.int64]
    ends: NDArray[np.int64]  # the node of each sequence


class Rule(NamedTuple):
    """Parameters by which conversions are credited; see `JourneyGame`."""

    value: str
    utility: str
    unseen: str | None


class Utilities(NamedTuple):
    """Utilities of the nodes of a trie, a column for each lane of counts."""

    trie: Trie
    utilities: NDArray[np.float64]  # of each node's sequence
    beyond: NDArray[np.float64]  # of those that leave the trie behind a node
    gains: NDArray[np.float64]  # what a node adds to the utility of sequences that pass it


class Paths:
    """The sequences of journeys, sorted. Counts come with each call, one column per lane."""

    def __init__(self, sequences: list[tuple[int, ...]]) -> None:
        self.sequences = sequences

    @cached_property
    def trie(self) -> Trie:
        """The sequences and their prefixes."""
        return _plant(self.sequences)

    @cached_property
    def _pooling(self) -> tuple[Paths, NDArray[np.int64]]:
        distinct, which = number_keys([tuple(sorted(sequence)) for sequence in self.sequences])
        return Paths(distinct), which

    @property
    def pooled(self) -> Paths:
        """The sets of the sequences' channels."""
        return self._pooling[0]

    def pool(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add up the counts of the sequences of each set."""
        return sum_up(self._pooling[1], counts, len(self.pooled.sequences))

    def orders(self, seen: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return how many orders each sequence stands for: those of its set, shared equally by those seen."""
        n_seen = self.pool(seen.astype(np.float64))[self._pooling[1]]
        n_orders = np.array([math.factorial(len(sequence)) for sequence in self.sequences], np.float64)
        return np.asarray(n_orders[:, None] / np.maximum(n_seen, 1.0))


class Sets(NamedTuple):
    """The sets of channels whose journeys converted."""

    starts: NDArray[np.int64]  # starts of the sets in `members`
    members: NDArray[np.int64]  # channels in increasing order
    conversions: NDArray[np.float64]  # (n_sets, n_lanes)
    # For each touch of each converting sequence: its place in `members`, its channel, its position, and the
    # conversions of the sequence.
    touches: NDArray[np.int64]
    touch_conversions: NDArray[np.float64]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Channels of each set."""
        return np.diff(self.starts)

    def lane(self, k: int) -> Sets:
        """Return the sets with a single lane of conversions."""
        return self._replace(conversions=self.conversions[:, k : k + 1])

    def credits(self, shares: NDArray[np.float64], n_channels: int) -> NDArray[np.float64]:
        """Sum the credit of each channel over all sets, given the shares of their members, in each lane."""
        parts = shares * np.repeat(self.conversions, self.sizes, axis=0)
        return sum_up(self.members, parts, n_channels)


def make_utilities(
    paths: Paths,
    conversions: NDArray[np.float64],
    totals: NDArray[np.float64],
    utility: str,
    unseen: str | None,
    ordered: bool = True,
) -> Utilities:
    """Compute utilities from counts (n_sequences, n_lanes) of `paths`; unless `ordered` these are sets."""
    trie, seen = paths.trie, totals > 0.0
    utilities = np.zeros((len(trie.parents), conversions.shape[1]))
    utilities[trie.ends] = conversions
    if utility == "rate":
        utilities[trie.ends] = _ratios(conversions, totals)
    if unseen == "zero" and ordered:
        utilities[trie.ends] *= paths.orders(seen)
    beyond, gains = np.zeros_like(utilities), utilities
    if unseen == "backoff":
        known = np.zeros(utilities.shape, bool)
        known[trie.ends] = seen
        levels = np.searchsorted(trie.depths, np.arange(1, trie.depths[-1] + 2)).tolist()
        for start, end in itertools.pairwise(levels):  # parents precede children
            level = slice(start, end)
            utilities[level] = np.where(known[level], utilities[level], utilities[trie.parents[level]])
        beyond, gains = utilities, utilities - utilities[trie.parents]
    return Utilities(trie, utilities, beyond, gains)


def _ratios(parts: NDArray[np.float64], wholes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ratios, 0 where the denominator is 0."""
    return np.divide(parts, wholes, out=np.zeros(wholes.shape), where=wholes > 0.0)


def _plant(sequences: list[tuple[int, ...]]) -> Trie:
    """Make the trie of sorted sequences."""
    lengths = np.array([len(sequence) for sequence in sequences], np.int64)
    firsts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    touched = np.array([channel for sequence in sequences for channel in sequence], np.int64)
    at = np.zeros(len(sequences), np.int64)
    parents, channels, depths = [np.zeros(1, np.int64)], [], [np.zeros(1, np.int64)]
    n_nodes = 1
    for depth in range(int(lengths.max(initial=0))):
        alive = np.flatnonzero(lengths > depth)
        before, channel = at[alive], touched[firsts[alive] + depth]
        new = np.ones(len(alive), bool)
        new[1:] = (before[1:] != before[:-1]) | (channel[1:] != channel[:-1])
        at[alive] = n_nodes - 1 + np.cumsum(new)
        parents.append(before[new])
        channels.append(channel[new])
        depths.append(np.full(int(new.sum()), depth + 1, np.int64))
        n_nodes += int(new.sum())
    above = np.concatenate(parents)
    starts = np.concatenate([[0], np.cumsum(np.bincount(above[1:], minlength=n_nodes))]).astype(np.int64)
    edges = np.concatenate([*channels, np.zeros(0, np.int64)])
    return Trie(starts, edges, above, np.concatenate(depths), at)


def make_sets(counted: Counted) -> Sets:
    """Find the sets of channels whose journeys converted, and where their touches are."""
    won = np.flatnonzero(counted.conversions > 0.0)
    sequences = [counted.sequences[k] for k in won.tolist()]
    members = [tuple(sorted(sequence)) for sequence in sequences]
    distinct, (conversions,) = add_up(members, counted.conversions[None, won])
    sizes = np.array([len(channels) for channels in distinct], np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    first = dict(zip(distinct, starts.tolist(), strict=False))
    touches = [
        (first[channels] + channels.index(channel), channel, place)
        for sequence, channels in zip(sequences, members, strict=True)
        for place, channel in enumerate(sequence)
    ]
    lengths = [len(sequence) for sequence in sequences]
    return Sets(
        starts,
        np.array([channel for channels in distinct for channel in channels], np.int64),
        conversions[:, None],
        np.array(touches, np.int64).reshape(-1, 3).T,
        np.repeat(counted.conversions[won], lengths),
    )


def shares_of(
    paths: Paths,
    sets: Sets,
    conversions: NDArray[np.float64],
    totals: NDArray[np.float64],
    rule: Rule,
) -> NDArray[np.float64]:
    """Return the value of each member of each set as a share of the set's sum, in each lane of counts."""
    value, utility, unseen = rule
    if value == "classic":
        paths, conversions, totals = paths.pooled, paths.pool(conversions), paths.pool(totals)
        if unseen == "backoff":
            lanes = range(conversions.shape[1])
            tabled = [_share_tables(paths, sets.lane(k), conversions[:, k], totals[:, k]) for k in lanes]
            return np.stack(tabled, axis=1)
    known = make_utilities(paths, conversions, totals, utility, unseen, value != "classic")
    return share(sets, known, value, utility, unseen)[0]


def share(
    sets: Sets, known: Utilities, value: str, utility: str, unseen: str | None, n_by_place: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return each set's values as shares of their sum, in the order of its members, and that sum.

    Also returns the credit of `n_by_place` channels by place, for the partial ordinal value only.

    For "classic" the sequences of `known` are sets in increasing order, and unseen ones have utility 0.
    """
    max_size, n_lanes = int(sets.sizes.max(initial=0)), known.gains.shape[1]
    values, sums = np.zeros((len(sets.members), n_lanes)), np.zeros((len(sets.sizes), n_lanes))
    coefficients = _coefficients(max_size, value, unseen == "backoff")
    credit = np.zeros((n_by_place, max_size))
    kernels.share_by_trie(
        kernels.TrieShares(
            trie_starts=known.trie.starts,
            trie_channels=known.trie.channels,
            utilities=known.utilities,
            beyond=known.beyond,
            gains=known.gains,
            **coefficients,
            whole=int(utility == "conversions"),
            starts=sets.starts,
            members=sets.members,
            scratch=(5, max_size + 1),
            values=values,
            sums=sums,
            conversions=sets.conversions[:, 0],
            places=(max_size, max_size + 1),
            credit=credit,
        )
    )
    factorials = coefficients["factorials"][sets.sizes, None]
    if value == "classic":  # one order represents all
        sums *= factorials
    return _as_shares(sets, values, sums), sums / factorials, credit


def _share_tables(
    pooled: Paths, sets: Sets, conversions: NDArray[np.float64], totals: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return each set's classic values as shares of their sum, if unseen sets back off."""
    table_starts, tables = tabulate(pooled, sets, conversions, totals, "backoff")
    max_size = int(sets.sizes.max(initial=0))
    weights = np.zeros((max_size + 1, max_size + 1))
    for k in range(1, max_size + 1):
        weights[k, :k] = [1.0 / (k * math.comb(k - 1, m)) for m in range(k)]
    values = np.zeros(len(sets.members))
    kernels.share_by_tables(
        kernels.TableShares(
            starts=sets.starts, table_starts=table_starts, tables=tables, shares=weights, values=values
        )
    )
    full = tables[table_starts + (1 << sets.sizes) - 1]
    return _as_shares(sets, values[:, None], full[:, None])[:, 0]


def _as_shares(sets: Sets, values: NDArray[np.float64], sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide values by their sums, in each lane; they are 0 where no journeys of a set converted."""
    found = np.add.reduceat(values, sets.starts[:-1]) if len(sums) else sums
    won = sets.conversions > 0.0
    off = won & (np.abs(found - sums) > _TOLERANCE * sums)
    if off.any():
        n_off = int(off.any(axis=1).sum())
        raise ValueError(
            "leave the longest journeys out, or use utility='conversions': the journeys of "
            f"{n_off} sets of channels convert so rarely compared with their subsets that rounding hides "
            "their credit"
        )
    return _ratios(values, np.repeat(np.where(won, found, 0.0), sets.sizes, axis=0))


def _coefficients(max_size: int, value: str, backs_off: bool) -> dict[str, NDArray[np.float64]]:
    r"""See `TrieShares`; H is the harmonic number.

    A seen sequence counts for itself, or with backoff for all sequences that begin with it. Its m channels
    come first in (k - m)! of the k! orders, and in (k - m - 1)! of those a given other channel is next. The
    orders that begin with it are a share (s - m)! / s! of all orders of a set of s channels.
    """
    factorials = np.array([math.factorial(k) for k in range(max_size + 1)], np.float64)
    last, member, other = np.zeros((3, max_size + 1, max_size + 1))
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, max_size + 1))])
    for k in range(1, max_size + 1):
        m = np.arange(1, k + 1)
        rest = factorials[k - m]
        # With m = k there is no other channel.
        fewer = np.where(m < k, factorials[np.maximum(k - m - 1, 0)], 0.0)
        if value == "partial_ordinal":
            last[k, m] = rest
            other[k, m] = 0.0 if backs_off else -fewer
        elif value == "classic":
            member[k, m] = rest * factorials[m - 1]
            other[k, m] = -fewer * factorials[m]
        elif backs_off:
            member[k, m] = rest * (harmonic[k] - harmonic[m - 1])
            other[k, m] = -m * fewer * (harmonic[k] - harmonic[m])
        else:
            member[k, m] = rest / m
            other[k, m] = -fewer
    return {"last": last, "member": member, "other": other, "factorials": factorials}


def check_tabulated(sets: Sets) -> None:
    """ValueError if a set is too large for a table of its subsets."""
    max_size = int(sets.sizes.max(initial=0))
    if max_size > MAX_TABULATED:
        raise ValueError(
            f"a journey that converted has {max_size} channels, expected at most {MAX_TABULATED} if order "
            "does not matter and unseen='backoff', or in a game with ordered=False"
        )
    size = int((1 << sets.sizes).sum())
    check_memory(8 * size, f"the rates of {size:,} sets of channels", "leave the longest journeys out")


def tabulate(
    pooled: Paths,
    sets: Sets,
    conversions: NDArray[np.float64],
    totals: NDArray[np.float64],
    unseen: str | None,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the start of each set's table, and the utilities of all subsets of all sets.

    `unseen` is None if a complete set has its conversions as utility, and its subsets have none.
    """
    check_tabulated(sets)
    ends = np.cumsum(1 << sets.sizes)
    starts = np.concatenate([[0], ends])[: len(ends)].astype(np.int64)
    tables = np.zeros(int(ends[-1]) if len(ends) else 0)
    if unseen is None:
        tables[ends - 1] = sets.conversions[:, 0]
        return starts, tables
    max_size = int(sets.sizes.max(initial=0))
    trie = pooled.trie
    counts = np.zeros((2, len(trie.parents)))
    counts[:, trie.ends] = conversions, totals
    kernels.fill_tables(
        kernels.Tables(
            trie_starts=trie.starts,
            trie_channels=trie.channels,
            depths=trie.depths,
            conversions=counts[0],
            totals=counts[1],
            pooled=int(unseen == "backoff"),
            starts=sets.starts,
            members=sets.members,
            table_starts=starts,
            scratch=(3, max_size + 1),
            seen=(2, min(1 << max_size, len(trie.parents))),
            largest=(1 << max_size,),
            tables=tables,
        )
    )
    return starts, tables


def game_arrays(
    sets: Sets,
    n_channels: int,
    utility: str,
    unseen: str | None,
    known: Utilities | None,
    tables: tuple[NDArray[np.int64], NDArray[np.float64]] | None,
) -> dict[str, NDArray[Any]]:
    """Return the compiled game's arrays: of `known` sequences, or of `tables` if order does not matter."""
    table_starts, in_tables = (np.zeros(0, np.int64), np.zeros(0)) if tables is None else tables
    if known is None:
        nodes, numbers = np.zeros(0, np.int64), np.zeros((0, 1))
        known = Utilities(Trie(nodes, nodes, nodes, nodes, nodes), numbers, numbers, numbers)
        means = in_tables[table_starts + (1 << sets.sizes) - 1]
    else:
        means = share(sets, known, "partial_ordinal", utility, unseen)[1][:, 0]
    order = np.argsort(sets.members, kind="stable")
    counts = np.bincount(sets.members, minlength=n_channels)
    number = np.repeat(np.arange(len(sets.sizes)), sets.sizes)
    places = np.arange(len(sets.members)) - sets.starts[number]
    return {
        "trie_starts": known.trie.starts,
        "trie_channels": known.trie.channels,
        "parents": known.trie.parents,
        "depths": known.trie.depths,
        "utilities": known.utilities[:, 0],
        "beyond": known.beyond[:, 0],
        "tables": in_tables,
        "table_starts": table_starts,
        "weights": sets.conversions[:, 0] / means,
        "needed": sets.sizes if utility == "conversions" else np.zeros_like(sets.sizes),
        # The sets of each channel, and its bit in each.
        "of_starts": np.concatenate([[0], np.cumsum(counts)]),
        "of_sets": number[order],
        "of_bits": 1 << np.minimum(places, 62)[order],
    }


def sum_up(cells: NDArray[np.int64], numbers: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Sum the numbers, or the rows, that belong to each of n cells."""
    order = np.argsort(cells, kind="stable")
    some, first = np.unique(cells[order], return_index=True)
    sums = np.zeros((n, *numbers.shape[1:]))
    sums[some] = np.add.reduceat(numbers[order], first)
    return sums
