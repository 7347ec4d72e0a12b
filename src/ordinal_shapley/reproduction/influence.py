"""Why a row that comes last tells little: what of its contribution is the row, what the shift of weights.

A row that joins changes the score in two ways: it is learnt from, and it moves every other row to another
weight. A ghost, a row of weight 0 in its place, does the second only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ordinal_shapley.games import LogisticGame
from ordinal_shapley.reproduction.splits import Split

SEQUENCES = 500


class Influence(NamedTuple):
    """Mean sizes of changes of the accuracy, over random sequences and rows that join them.

    Attributes
    ----------
    dataset : str
        The data set.
    run, seed : int
        Number and seed of the run.
    place : str
        Where the row joins: "last" or "anywhere".
    total : float
        Mean absolute change.
    shift : float
        That made by a ghost.
    own : float
        Mean absolute difference between row and ghost.
    correlation : float
        Between the changes that row and ghost make.
    """

    dataset: str
    run: int
    seed: int
    place: str
    total: float
    shift: float
    own: float
    correlation: float


def influence(split: Split, run: int, n_sequences: int = SEQUENCES) -> list[Influence]:
    """Measure both on random sequences that hold every class before the row joins."""
    n = len(split.y)
    game = LogisticGame(
        np.concatenate([split.X, split.X]),
        np.concatenate([split.y, split.y]),
        split.X_valid,
        split.y_valid,
        sample_weight=np.repeat([1.0, 0.0], n),
    )
    random = np.random.default_rng(split.values_seed)
    changes: dict[str, list[tuple[float, float]]] = {"last": [], "anywhere": []}
    n_classes = len(np.unique(split.y))
    while len(changes["last"]) < n_sequences:
        order = random.permutation(n)
        before, row = order[: random.integers(1, n)], int(order[-1])
        if len(np.unique(split.y[before])) < n_classes:
            continue
        score = game(before)
        for place, at in (("last", len(before)), ("anywhere", int(random.integers(len(before) + 1)))):
            joined, ghost = (game(np.insert(before, at, player)) for player in (row, n + row))
            changes[place].append((joined - score, ghost - score))
    found = []
    for place, pairs in changes.items():
        total, shift = np.array(pairs).T
        correlation = (
            float(np.corrcoef(total, shift)[0, 1]) if total.std() * shift.std() > 0 else float("nan")
        )
        size, moved, own = (float(np.abs(change).mean()) for change in (total, shift, total - shift))
        found.append(Influence(split.dataset, run, split.seed, place, size, moved, own, correlation))
    return found
