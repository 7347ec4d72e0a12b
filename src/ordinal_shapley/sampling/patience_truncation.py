"""A truncation rule that waits until several utilities in a row are close to one full score."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common import arguments
from ordinal_shapley.sampling.truncation import ENDS_EARLY, TruncationRule, first_end
from ordinal_shapley.vocabulary import check_choice
from ordinal_shapley_kernels.walks import PATIENCE

if TYPE_CHECKING:
    from ordinal_shapley.sampling.ahead import Ahead
    from ordinal_shapley.sampling.plan import Plan

_TARGETS = ("mean", "given")


@dataclass(frozen=True, eq=False, repr=False)
class PatienceTruncation(TruncationRule):
    """End a permutation once several utilities in a row are close to one fixed full score; biased.

    The full score ``s`` is computed once, so that the cost of a permutation does not grow with the number of
    players. Players after the end count as 0 (for the ordinal value ``s`` stands in for utilities that were
    not evaluated). The rule is not tested before the prefix has a model.

    Parameters
    ----------
    tol : float, default 0.05
        A utility ``v`` is close when ``|v - s| <= tol * |s|``.
    patience : int, default 6
        How many utilities in a row must be close.
    target : {"mean", "given"}, default "mean"
        ``s``: the mean utility of 20 random full orders, or that of the players as given. Where a full order
        of a `LogisticGame` costs much, by formula, it is the mean of fewer, two at least, if their standard
        error is at most a tenth of ``tol``, relative to ``s``.

    Raises
    ------
    TypeError, ValueError
        If an option cannot be used; the message names it.

    References
    ----------
    A. Ghorbani and J. Zou, "Data Shapley: Equitable Valuation of Data for Machine Learning", ICML 2019,
    Algorithm 1, whose "performance tolerance" this makes precise.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> osv.PermutationSampler(truncation=osv.PatienceTruncation(patience=3))
    PermutationSampler(truncation=PatienceTruncation(patience=3))
    """

    tol: float = 0.05
    patience: int = 6
    target: str = "mean"
    name: ClassVar[str] = "patience"
    bias: ClassVar[str] = ENDS_EARLY
    one_target: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "tol", arguments.number("tol", self.tol, min=0.0))
        arguments.integer("patience", self.patience, max=math.inf)
        check_choice("target", self.target, _TARGETS)

    def prepare(self, plan: Plan, ahead: Ahead) -> Plan:
        """Return the plan with the rule in it, after scoring full orders."""
        target = ahead.score_target(self.target, self.tol, plan.seed)
        patience = min(int(self.patience), 2**62)
        return plan._replace(rule=PATIENCE, tolerance=self.tol, patience=patience, target=target)

    def lengths(
        self, utilities: NDArray[np.float64], has_model: NDArray[np.bool_], target: float
    ) -> NDArray[np.intp]:
        """Return how many players of each permutation are evaluated."""
        close = np.abs(utilities - target) <= self.tol * abs(target)
        ends = np.zeros(utilities.shape, bool)
        calm = np.zeros(len(utilities), np.int64)
        for place in range(1, utilities.shape[1]):
            calm = np.where(close[:, place] & has_model[:, place], calm + 1, 0)
            ends[:, place] = calm >= self.patience
        return first_end(ends, has_model)
