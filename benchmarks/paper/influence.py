"""Why a row that comes last tells little: what of its contribution is the row, what the shift of weights.

A row that joins changes the score in two ways: it is learnt from, and it moves every other row to another
weight. A ghost, a row of weight 0 in its place, does the second only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import ordinal_shapley as osv
from paper.splits import Split


def influence(split: Split, n_sequences: int) -> list[dict[str, Any]]:
    """Measure both on random sequences that hold every class before the row joins, last or anywhere.

    Returns
    -------
    list of dict
        For each place the mean absolute change of the accuracy ("total"), that made by a ghost ("shift"),
        that between row and ghost ("own"), and the correlation of the changes that row and ghost make.
    """
    n = len(split.y)
    game = osv.LogisticGame(
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
        varies = total.std() * shift.std() > 0
        correlation = float(np.corrcoef(total, shift)[0, 1]) if varies else float("nan")
        sizes = {"total": total, "shift": shift, "own": total - shift}
        means = {name: float(np.abs(change).mean()) for name, change in sizes.items()}
        found.append({"place": place, **means, "correlation": correlation})
    return found
