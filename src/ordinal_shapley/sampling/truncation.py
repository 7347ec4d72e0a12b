"""What every truncation rule says of itself: when the evaluation of a permutation may end early."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common.described import Described

if TYPE_CHECKING:
    from ordinal_shapley.sampling.ahead import Ahead
    from ordinal_shapley.sampling.plan import Plan

# What rules do that end permutations early.
ENDS_EARLY = "the bias of ending permutations early, which counts players after the end as 0"


class TruncationRule(Described, ABC):
    """Says which utilities of a permutation are not evaluated."""

    name: ClassVar[str]  # the word that stands for it with its defaults
    bias: ClassVar[str] = ""  # what it does to estimates, in words; "" if it leaves their expectation alone
    # Whether the target of the plan stands in for what is not evaluated, not each permutation's own score.
    one_target: ClassVar[bool] = False

    @abstractmethod
    def prepare(self, plan: Plan, ahead: Ahead) -> Plan:
        """Return the plan with the rule in it, after evaluating what it must know first."""

    def lengths(
        self, utilities: NDArray[np.float64], has_model: NDArray[np.bool_], target: float
    ) -> NDArray[np.intp]:
        """Return how many players of each permutation are evaluated; not asked of a rule without bias.

        `utilities` and `has_model` are of each prefix, from the empty one, of shape (n_permutations,
        n_places + 1); `target` is that of the plan.
        """
        raise NotImplementedError


def first_end(ends: NDArray[np.bool_], has_model: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the length of the first prefix with a model at which a rule holds, or the full length."""
    ends = ends & has_model
    ends[:, -1] = True
    return np.asarray(np.argmax(ends, axis=1))
