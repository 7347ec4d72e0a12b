"""Exact expectation of estimates: the mean contribution over everything that can be drawn.

Every ordered selection with the quotas of the classes is equally likely. So the expectation is the mean over
all of them of the contributions to one. It uses numpy, not the kernels that sample, so that each is a check
of the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.sampling.plan import Plan
from ordinal_shapley.sampling.truncation import TruncationRule
from ordinal_shapley_kernels.table import subtree_sizes

# Selections processed together.
_CHUNK = 20_000

Floats = NDArray[np.float64]


class Utilities(NamedTuple):
    """Utilities of all sequences of n players."""

    values: Floats  # by sequence, in preorder; or by set of players, as bits, if order does not matter
    models: NDArray[np.bool_]  # which sets of players, as bits, have a model
    weights: Floats  # factors of marginal contributions to a sequence, in preorder; empty for 1

    @property
    def by_set(self) -> bool:
        """Whether there is one utility for each set of players."""
        return len(self.values) == len(self.models)


def expectation(utilities: Utilities, plan: Plan, rule: TruncationRule | None) -> Floats:
    """Return the expected estimate of each player, for a plan whose permutations a rule may end early."""
    n = len(plan.members)
    classes = np.empty(n, np.int64)
    classes[plan.members] = np.repeat(np.arange(len(plan.quota)), np.diff(plan.starts))
    sums, drawn = np.zeros((2, n))
    count = 0
    for orders in ordered_selections(classes, plan.quota):
        reached, models, factors = _along(orders, utilities, n)
        full = reached[:, -1]
        lengths: NDArray[np.intp] = np.full(len(orders), orders.shape[1])
        if rule is not None:
            lengths = rule.lengths(reached, models, plan.target)
            if rule.one_target:  # the walk kernel replaces the rest by the target of the rule
                full = np.full(len(orders), plan.target)
        credits = _credits(reached, lengths, full, factors, plan.in_out)
        players = orders.ravel()
        sums += np.bincount(players, credits.ravel(), n)
        drawn += np.bincount(players, minlength=n)
        count += len(orders)
    return sums / (drawn if plan.keep_chosen else count)


def ordered_selections(
    classes: NDArray[np.int64], quota: NDArray[np.int64], chunk: int = _CHUNK
) -> Iterator[NDArray[np.int8]]:
    """Yield all ordered selections with `quota[c]` players of class c, as rows, up to `chunk` at a time."""
    n, n_places = len(classes), int(quota.sum())
    parts = [np.zeros((1, 0), np.int8)]
    while parts:
        part = parts.pop()
        length = part.shape[1]
        if length == n_places:
            yield part
            continue
        open_ = np.ones((len(part), n), bool)
        np.put_along_axis(open_, part.astype(np.intp), False, axis=1)
        left = np.stack([(classes[part] == c).sum(axis=1) for c in range(len(quota))], axis=1) < quota
        rows, players = np.nonzero(open_ & left[:, classes])
        longer = np.column_stack([part[rows], players.astype(np.int8)])
        parts += [longer[start : start + chunk] for start in range(0, len(longer), chunk)]


def _along(
    orders: NDArray[np.int8], utilities: Utilities, n: int
) -> tuple[Floats, NDArray[np.bool_], Floats]:
    """Utilities and models of the prefixes of each row, from the empty one; factors of its marginals."""
    count, n_places = orders.shape
    sets = np.zeros((count, n_places + 1), np.int64)
    sets[:, 1:] = np.cumsum(1 << orders.astype(np.int64), axis=1)
    factors = np.ones((count, n_places))
    if utilities.by_set:
        return utilities.values[sets], utilities.models[sets], factors
    places = _nodes(orders, n)
    if len(utilities.weights):
        factors = utilities.weights[places[:, :-1]]
    return utilities.values[places], utilities.models[sets], factors


def _nodes(orders: NDArray[np.int8], n: int) -> NDArray[np.int64]:
    """Places of the prefixes of each row in the preorder of the sequences of n players."""
    sizes = subtree_sizes(n)
    nodes = np.zeros((len(orders), orders.shape[1] + 1), np.int64)
    for place in range(orders.shape[1]):
        player = orders[:, place]
        rank = player - (orders[:, :place] < player[:, None]).sum(axis=1)
        nodes[:, place + 1] = nodes[:, place] + 1 + rank * sizes[n - 1 - place]
    return nodes


def _credits(
    reached: Floats, lengths: NDArray[np.intp], full: Floats, factors: Floats, in_out: float
) -> Floats:
    """Contribution of the player at each place of each row, if walks end after `lengths` players."""
    n_places = reached.shape[1] - 1
    evaluated = np.arange(1, n_places + 1) <= lengths[:, None]
    credits = np.zeros(evaluated.shape)
    if in_out < 1:
        credits += (1 - in_out) * np.where(evaluated, np.diff(reached, axis=1) * factors, 0.0)
    if in_out > 0:
        filled = np.where(evaluated, reached[:, 1:], full[:, None])
        sizes = np.arange(1, n_places)
        # A player at place p is among the first s for s >= p, and not among them for s < p.
        inside = np.zeros(evaluated.shape)
        inside[:, :-1] = np.cumsum((filled[:, :-1] / sizes)[:, ::-1], axis=1)[:, ::-1]
        outside = np.zeros(evaluated.shape)
        outside[:, 1:] = np.cumsum(filled[:, :-1] / (n_places - sizes), axis=1)
        share = (filled[:, -1:] - reached[:, :1]) / n_places
        credits += in_out * (share + inside - outside)
    return credits
