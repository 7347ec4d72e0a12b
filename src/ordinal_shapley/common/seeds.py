"""``random_state`` as the seed of a stream, or as scikit-learn takes it."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from ordinal_shapley.common.arguments import integer


def seed_of(random_state: Any) -> int:
    """Key of the permutation stream for a `random_state`."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(0, 2**64, dtype=np.uint64))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(0, 2**64, dtype=np.uint64))
    if isinstance(random_state, bool) or not isinstance(random_state, Integral):
        raise TypeError(
            f"random_state is {random_state!r}, expected None, an integer, a numpy Generator or a RandomState"
        )
    return integer("random_state", random_state, min=0, max=2**64 - 1)


def sklearn_state(random_state: Any) -> Any:
    """Return `random_state` for scikit-learn: the same integer, up to 32 bits."""
    if random_state is None or isinstance(random_state, np.random.RandomState):
        return random_state
    return seed_of(random_state) % 2**32
