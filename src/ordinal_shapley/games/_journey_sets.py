"""Utilities of the journeys of each set of channels, and how their conversions are shared."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common.parallel import check_memory
from ordinal_shapley.games._journey_input import Counted, add_up
from ordinal_shapley_kernels import journey_credit as kernels

# Tables hold every subset of a set.
MAX_TABULATED = 20
# Rounding beyond this share of a set's conversions is an error.
_TOLERANCE = 1e-6


class Utilities(NamedTuple):
    """Utilities of the sequences seen, in a trie of them and their beginnings; see the kernels."""

    starts: NDArray[np.int64]  # where the edges to the children of each node begin
    channels: NDArray[np.int64]  # of each edge
    parents: NDArray[np.int64]
    depths: NDArray[np.int64]
    utilities: NDArray[np.float64]  # of each node's sequence
    beyond: NDArray[np.float64]  # of those that leave the trie behind a node
    gains: NDArray[np.float64]  # what a node adds to the utility of what comes after it


class Sets(NamedTuple):
    """The sets of channels whose journeys converted."""

    starts: NDArray[np.int64]  # where the members of each set begin in `members`
    members: NDArray[np.int64]  # channels in increasing order
    conversions: NDArray[np.float64]
    # Of each touch of each converting sequence: its place in `members`, its channel, its position; and
    # the conversions of its sequence.
    touches: NDArray[np.int64]
    touch_conversions: NDArray[np.float64]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Channels of each set."""
        return np.diff(self.starts)


def pool(counted: Counted) -> Counted:
    """Return the journeys with those of the same channels as one, whatever their order."""
    members = [tuple(sorted(sequence)) for sequence in counted.sequences]
    sequences, (conversions, totals) = add_up(members, np.stack([counted.conversions, counted.totals]))
    return Counted(counted.channels, sequences, conversions.copy(), totals.copy())


def make_utilities(counted: Counted, utility: str, unseen: str | None, ordered: bool = True) -> Utilities:
    """Put sequences into a trie with their utilities; if not `ordered` they are sets."""
    starts, channels, parents, depths, ends = _plant(counted.sequences)
    utilities = np.zeros(len(parents))
    utilities[ends] = counted.conversions
    if utility == "rate":
        utilities[ends] /= counted.totals
    if unseen == "zero" and ordered:
        # Each stands for all orders of its channels, together with the others that were seen.
        members = [tuple(sorted(sequence)) for sequence in counted.sequences]
        seen = Counter(members)
        utilities[ends] *= [math.factorial(len(channels)) / seen[channels] for channels in members]
    beyond, gains = np.zeros(len(parents)), utilities
    if unseen == "backoff":
        known = np.zeros(len(parents), bool)
        known[ends] = True
        for node in np.flatnonzero(~known)[1:].tolist():  # level by level, so that parents come first
            utilities[node] = utilities[parents[node]]
        beyond, gains = utilities, utilities - utilities[parents]
    return Utilities(starts, channels, parents, depths, utilities, beyond, gains)


def _plant(sequences: list[tuple[int, ...]]) -> tuple[NDArray[np.int64], ...]:
    """Make the trie of sorted sequences: the first fields of `Utilities`, and the node of each sequence."""
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
    return starts, edges, above, np.concatenate(depths), at


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
        conversions,
        np.array(touches, np.int64).reshape(-1, 3).T,
        np.repeat(counted.conversions[won], lengths),
    )


def share(
    sets: Sets, known: Utilities, value: str, utility: str, unseen: str | None, n_by_place: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return each set's values as shares of their sum, in the order of its members, and that sum.

    Also the credit of `n_by_place` channels by their place in orders, for the partial ordinal value only.

    For "classic" the sequences of `known` are sets in increasing order, and unseen ones have utility 0.
    """
    most = int(sets.sizes.max(initial=0))
    values, sums = np.zeros(len(sets.members)), np.zeros(len(sets.conversions))
    coefficients = _coefficients(most, value, unseen == "backoff")
    credit = np.zeros((n_by_place, most))
    kernels.share_by_trie(
        kernels.TrieShares(
            trie_starts=known.starts,
            trie_channels=known.channels,
            worths=known.utilities,
            beyond=known.beyond,
            gains=known.gains,
            **coefficients,
            whole=int(utility == "conversions"),
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
            "rounding hides their credit: leave the longest journeys out, or take utility='conversions'"
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
    """Return where the table of each set begins, and the utilities of all subsets of all sets.

    `unseen` is None where a set has its conversions as a whole, and its subsets have none.
    """
    check_tabulated(sets)
    ends = np.cumsum(1 << sets.sizes)
    starts = np.concatenate([[0], ends])[: len(ends)].astype(np.int64)
    tables = np.zeros(int(ends[-1]) if len(ends) else 0)
    if unseen is None:
        tables[ends - 1] = sets.conversions
        return starts, tables
    most = int(sets.sizes.max(initial=0))
    trie_starts, channels, parents, depths, at = _plant(pooled.sequences)
    conversions, totals = np.zeros((2, len(parents)))
    conversions[at], totals[at] = pooled.conversions, pooled.totals
    kernels.fill_tables(
        kernels.Tables(
            trie_starts=trie_starts,
            trie_channels=channels,
            depths=depths,
            conversions=conversions,
            totals=totals,
            pooled=int(unseen == "backoff"),
            starts=sets.starts,
            members=sets.members,
            table_starts=starts,
            scratch=(3, most + 1),
            seen=(2, min(1 << most, len(parents))),
            largest=(1 << most,),
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
    """Return the compiled game's arrays: of `known` sequences, or of `tables` where order plays no part."""
    table_starts, in_tables = (np.zeros(0, np.int64), np.zeros(0)) if tables is None else tables
    if known is None:
        nodes, numbers = np.zeros(0, np.int64), np.zeros(0)
        known = Utilities(nodes, nodes, nodes, nodes, numbers, numbers, numbers)
        means = in_tables[table_starts + (1 << sets.sizes) - 1]
    else:
        means = share(sets, known, "partial_ordinal", utility, unseen)[1]
    order = np.argsort(sets.members, kind="stable")
    counts = np.bincount(sets.members, minlength=n_channels)
    number = np.repeat(np.arange(len(sets.sizes)), sets.sizes)
    places = np.arange(len(sets.members)) - sets.starts[number]
    return {
        "trie_starts": known.starts,
        "trie_channels": known.channels,
        "parents": known.parents,
        "depths": known.depths,
        "worths": known.utilities,
        "beyond": known.beyond,
        "tables": in_tables,
        "table_starts": table_starts,
        "weights": sets.conversions / means,
        "needed": sets.sizes if utility == "conversions" else np.zeros_like(sets.sizes),
        # The sets of each channel, and its bit in each.
        "of_starts": np.concatenate([[0], np.cumsum(counts)]),
        "of_sets": number[order],
        "of_bits": 1 << np.minimum(places, 62)[order],
    }


def sum_up(cells: NDArray[np.int64], numbers: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Sum the numbers of each of n cells."""
    # Of no numbers NumPy counts whole ones.
    return np.bincount(cells, numbers, n).astype(np.float64, copy=False)
