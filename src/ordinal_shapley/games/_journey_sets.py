"""What the journeys of each set of channels are worth, and how their conversions are shared."""

from __future__ import annotations

import math
from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common.parallel import check_memory
from ordinal_shapley.games._journey_input import Counted
from ordinal_shapley_kernels import journey_credit as kernels

# Tables hold every subset of a set.
MAX_TABULATED = 20
# Rounding beyond this share of a set's conversions is an error.
_TOLERANCE = 1e-6


class Trie(NamedTuple):
    """Sequences seen, and their beginnings; see the kernels.

    Attributes
    ----------
    starts : int64 (n_nodes + 1,)
        Where the edges to the children of each node begin in `channels`.
    channels : int64 (n_nodes - 1,)
        Channel of each edge.
    parents, depths : int64 (n_nodes,)
    """

    starts: NDArray[np.int64]
    channels: NDArray[np.int64]
    parents: NDArray[np.int64]
    depths: NDArray[np.int64]


class Worths(NamedTuple):
    """What sequences are worth, in a trie.

    Attributes
    ----------
    trie : Trie
    worths, beyond : float64 (n_nodes,)
        Of the sequence of a node, and of those that leave the trie behind it.
    gains : float64 (n_nodes,)
        What a node adds to the worth of what comes after it.
    ends : int64 (n_sequences,)
        The node of each sequence.
    """

    trie: Trie
    worths: NDArray[np.float64]
    beyond: NDArray[np.float64]
    gains: NDArray[np.float64]
    ends: NDArray[np.int64]


class Sets(NamedTuple):
    """The sets of channels whose journeys converted.

    Attributes
    ----------
    starts : int64 (n_sets + 1,)
        Where the members of each set begin in `members`.
    members : int64
        Channels in increasing order.
    conversions : float64 (n_sets,)
    touches : int64 (3, n_touches)
        Of each touch of each converting sequence: its place in `members`, its channel, its position.
    touch_conversions : float64 (n_touches,)
        Conversions of the touch's sequence.
    """

    starts: NDArray[np.int64]
    members: NDArray[np.int64]
    conversions: NDArray[np.float64]
    touches: NDArray[np.int64]
    touch_conversions: NDArray[np.float64]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Channels of each set."""
        return np.diff(self.starts)


def pool(counted: Counted) -> Counted:
    """Return the journeys with those of the same channels as one, whatever their order."""
    sums: dict[tuple[int, ...], list[float]] = {}
    for sequence, *pair in zip(
        counted.sequences, counted.conversions.tolist(), counted.totals.tolist(), strict=True
    ):
        total = sums.setdefault(tuple(sorted(sequence)), [0.0, 0.0])
        total[0] += pair[0]
        total[1] += pair[1]
    sequences = sorted(sums)
    pairs = np.array([sums[sequence] for sequence in sequences], np.float64).reshape(-1, 2)
    return Counted(counted.channels, sequences, pairs[:, 0].copy(), pairs[:, 1].copy())


def make_worths(counted: Counted, worth: str, unseen: str | None, ordered: bool = True) -> Worths:
    """Put sequences into a trie, with what each is worth; if not `ordered` they are sets."""
    trie, ends = _plant(counted.sequences)
    n_nodes = len(trie.parents)
    worths = np.zeros(n_nodes)
    worths[ends] = counted.conversions
    if worth == "rate":
        worths[ends] /= counted.totals
    if unseen == "zero" and ordered:
        worths[ends] *= _orders_for_each(counted.sequences)
    if unseen != "backoff":
        return Worths(trie, worths, np.zeros(n_nodes), worths, ends)
    known = np.zeros(n_nodes, bool)
    known[ends] = True
    for node in np.flatnonzero(~known)[1:].tolist():  # level by level, so that parents come first
        worths[node] = worths[trie.parents[node]]
    return Worths(trie, worths, worths, worths - worths[trie.parents], ends)


def _orders_for_each(sequences: list[tuple[int, ...]]) -> NDArray[np.float64]:
    """Return how many orders of its channels each sequence stands for: all, by those that were seen."""
    members = [tuple(sorted(sequence)) for sequence in sequences]
    seen = Counter(members)
    return np.array([math.factorial(len(channels)) / seen[channels] for channels in members], np.float64)


def _plant(sequences: list[tuple[int, ...]]) -> tuple[Trie, NDArray[np.int64]]:
    """Make the trie of sorted sequences, and say at which node each ends."""
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
    return Trie(starts, edges, above, np.concatenate(depths)), at


def make_sets(counted: Counted) -> Sets:
    """Find the sets of channels whose journeys converted, and where their touches are."""
    won = [
        (sequence, conversions)
        for sequence, conversions in zip(counted.sequences, counted.conversions.tolist(), strict=True)
        if conversions > 0.0
    ]
    number = {
        members: s for s, members in enumerate(sorted({tuple(sorted(sequence)) for sequence, _ in won}))
    }
    sizes = np.array([len(members) for members in number], np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    conversions = np.zeros(len(number))
    touches: list[tuple[int, int, int]] = []
    of_touch: list[float] = []
    for sequence, count in won:
        members = tuple(sorted(sequence))
        s = number[members]
        conversions[s] += count
        rank = {channel: r for r, channel in enumerate(members)}
        first = int(starts[s])
        touches += [(first + rank[channel], channel, place) for place, channel in enumerate(sequence)]
        of_touch += [count] * len(sequence)
    flat = [channel for members in number for channel in members]
    return Sets(
        starts,
        np.array(flat, np.int64),
        conversions,
        np.array(touches, np.int64).reshape(-1, 3).T,
        np.array(of_touch),
    )


def share(
    sets: Sets, worths: Worths, value: str, worth: str, unseen: str | None, n_by_place: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return each set's values as shares of their sum, in the order of its members, and that sum.

    Also the credit of `n_by_place` channels by their place in orders, for the partial ordinal value only.

    For "classic" the sequences of `worths` are sets in increasing order, and unseen ones are worth 0.
    """
    most = int(sets.sizes.max(initial=0))
    values, sums = np.zeros(len(sets.members)), np.zeros(len(sets.conversions))
    coefficients = _coefficients(most, value, unseen == "backoff")
    credit = np.zeros((n_by_place, most))
    kernels.share_by_trie(
        kernels.TrieShares(
            trie_starts=worths.trie.starts,
            trie_channels=worths.trie.channels,
            worths=worths.worths,
            beyond=worths.beyond,
            gains=worths.gains,
            **coefficients,
            whole=int(worth == "conversions"),
            starts=sets.starts,
            members=sets.members,
            scratch=(5, most + 1),
            values=values,
            sums=sums,
            conversions=sets.conversions,
            places=(most, most + 1),
            credit=credit,
        )
    )
    factorials = coefficients["factorials"][sets.sizes]
    if value == "classic":  # one order stands for all
        sums *= factorials
    return _as_shares(sets, values, sums), sums / factorials, credit


def share_tables(
    sets: Sets, table_starts: NDArray[np.int64], tables: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return each set's classic values as shares of their sum."""
    most = int(sets.sizes.max(initial=0))
    weights = np.zeros((most + 1, most + 1))
    for k in range(1, most + 1):
        weights[k, :k] = [1.0 / (k * math.comb(k - 1, m)) for m in range(k)]
    values = np.zeros(len(sets.members))
    kernels.share_by_tables(
        kernels.TableShares(
            starts=sets.starts, table_starts=table_starts, tables=tables, shares=weights, values=values
        )
    )
    full = tables[table_starts + (1 << sets.sizes) - 1]
    return _as_shares(sets, values, full)


def _as_shares(sets: Sets, values: NDArray[np.float64], sums: NDArray[np.float64]) -> NDArray[np.float64]:
    found = np.add.reduceat(values, sets.starts[:-1]) if len(sums) else sums
    off = np.abs(found - sums) > _TOLERANCE * sums
    if off.any():
        raise ValueError(
            f"the journeys of {int(off.sum())} sets of channels convert so rarely beside their parts that "
            "rounding hides their credit: leave the longest journeys out, or take worth='conversions'"
        )
    return np.asarray(values / np.repeat(found, sets.sizes))


def _coefficients(most: int, value: str, backs_off: bool) -> dict[str, NDArray[np.float64]]:
    r"""See `TrieShares`; H is the harmonic number.

    A sequence that was seen counts for itself, or if journeys back off for all sequences that begin with it.
    Its m channels come first in (k - m)! of the k! orders, and in (k - m - 1)! of those one other is next.
    Order-averaged, those that begin with it are a share (s - m)! / s! of the orders of s channels with it.
    """
    factorials = np.array([math.factorial(k) for k in range(most + 1)], np.float64)
    last, member, other = np.zeros((3, most + 1, most + 1))
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, most + 1))])
    for k in range(1, most + 1):
        m = np.arange(1, k + 1)
        rest = factorials[k - m]
        # With nobody left there is no other.
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
    most = int(sets.sizes.max(initial=0))
    if most > MAX_TABULATED:
        raise ValueError(
            f"a journey that converted has {most} channels, expected at most {MAX_TABULATED} where order "
            "does not count and unseen sets back off, or in a game with ordered=False"
        )
    size = int((1 << sets.sizes).sum())
    check_memory(8 * size, f"the rates of {size:,} sets of channels", "leave the longest journeys out")


def tabulate(
    pooled: Counted, sets: Sets, unseen: str | None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return where the table of each set begins, and what all subsets of all sets are worth.

    `unseen` is None where a set is worth its conversions, to itself alone.
    """
    check_tabulated(sets)
    ends = np.cumsum(1 << sets.sizes)
    starts = np.concatenate([[0], ends])[: len(ends)].astype(np.int64)
    tables = np.zeros(int(ends[-1]) if len(ends) else 0)
    if unseen is None:
        tables[ends - 1] = sets.conversions
        return starts, tables
    most = int(sets.sizes.max(initial=0))
    trie, at = _plant(pooled.sequences)
    conversions, totals = np.zeros((2, len(trie.parents)))
    conversions[at], totals[at] = pooled.conversions, pooled.totals
    kernels.fill_tables(
        kernels.Tables(
            trie_starts=trie.starts,
            trie_channels=trie.channels,
            depths=trie.depths,
            conversions=conversions,
            totals=totals,
            pooled=int(unseen == "backoff"),
            starts=sets.starts,
            members=sets.members,
            table_starts=starts,
            scratch=(3, most + 1),
            seen=(2, min(1 << most, len(trie.parents))),
            largest=(1 << most,),
            tables=tables,
        )
    )
    return starts, tables


def sets_of_channels(
    sets: Sets, n_channels: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return where the sets of each channel begin, these sets, and the channel's bit in each."""
    order = np.argsort(sets.members, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(sets.members, minlength=n_channels))])
    number = np.repeat(np.arange(len(sets.sizes)), sets.sizes)
    places = np.arange(len(sets.members)) - sets.starts[number]
    return starts, number[order], 1 << np.minimum(places, 62)[order]
