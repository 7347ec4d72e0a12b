"""The truncation rule of the paper's TMC and CTMC algorithms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common import arguments
from ordinal_shapley.sampling.truncation import ENDS_EARLY, TruncationRule, first_end
from ordinal_shapley_kernels.walks import PAPER

if TYPE_CHECKING:
    from ordinal_shapley.sampling.ahead import Ahead
    from ordinal_shapley.sampling.plan import Plan


@dataclass(frozen=True, eq=False, repr=False)
class PaperTruncation(TruncationRule):
    """End a permutation once its utility is close to that of its own full order; biased.

    Players after the end count as 0 in that permutation (for the ordinal value the utility of the full order
    stands in for those that were not evaluated). The rule is not tested before the prefix has a model. It
    costs one evaluation of the full order for each permutation, however early that ends.

    Parameters
    ----------
    tol : float, default 0.05
        The permutation ends when ``|U(full order) - v| < tol``, where ``v`` is the utility so far.

    Raises
    ------
    TypeError, ValueError
        If ``tol`` is not a number of at least 0.

    References
    ----------
    arXiv:2305.01660, the TMC algorithm, and the CTMC algorithm with the sampled set in place of all players.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> osv.PermutationSampler(truncation=osv.PaperTruncation(tol=0.01))
    PermutationSampler(truncation=PaperTruncation(tol=0.01))
    """

    tol: float = 0.05
    name: ClassVar[str] = "paper"
    bias: ClassVar[str] = ENDS_EARLY

    def __post_init__(self) -> None:
        object.__setattr__(self, "tol", arguments.number("tol", self.tol, min=0.0))

    def prepare(self, plan: Plan, ahead: Ahead) -> Plan:
        """Return the plan with the rule in it."""
        return plan._replace(rule=PAPER, tolerance=self.tol)

    def lengths(
        self, utilities: NDArray[np.float64], has_model: NDArray[np.bool_], target: float
    ) -> NDArray[np.intp]:
        """Return how many players of each permutation are evaluated."""
        return first_end(np.abs(utilities[:, -1:] - utilities) < self.tol, has_model)
