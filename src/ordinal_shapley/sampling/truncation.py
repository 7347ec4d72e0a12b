"""What every truncation rule says of itself: when the evaluation of a permutation may end early."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common.described import Described

if TYPE_CHECKING:
    from ordinal_shapley.games.base import Game
    from ordinal_shapley.sampling.ahead import Ahead
    from ordinal_shapley.sampling.plan import Plan


class TruncationRule(Described, ABC):
    """Says which utilities of a permutation are not evaluated.

    Attributes
    ----------
    name : str
        The word that stands for it with its defaults.
    bias : str
        What it does to estimates, in words; "" if it leaves their expectation alone.
    """

    name: ClassVar[str]
    bias: ClassVar[str] = ""

    @abstractmethod
    def prepare(self, plan: Plan, ahead: Ahead) -> Plan:
        """Return the plan with the rule in it, after evaluating what it must know first."""

    def target_score(self, game: Game, seed: int) -> float | None:
        """Return the one score that stands in for what a run of this seed does not evaluate.

        None if that is the utility of the permutation's own full order.
        """
        return None

    def lengths(
        self, utilities: NDArray[np.float64], has_model: NDArray[np.bool_], target: float | None
    ) -> NDArray[np.intp]:
        """Return how many players of each permutation are evaluated, for its expectation.

        `utilities` and `has_model` have a row for each permutation and a column for each of its prefixes,
        from the empty one. Not asked of a rule without bias.
        """
        raise NotImplementedError


def first_end(ends: NDArray[np.bool_], has_model: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the length of the first prefix with a model at which a rule holds, or the full length."""
    ends = ends & has_model
    ends[:, -1] = True
    return np.asarray(np.argmax(ends, axis=1))
