"""Truncation rules: which prefixes of a permutation are not evaluated."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common import arguments
from ordinal_shapley.common.described import Described
from ordinal_shapley.vocabulary import check_choice
from ordinal_shapley_kernels.walks import PAPER, PATIENCE

if TYPE_CHECKING:
    from ordinal_shapley.sampling.ahead import Ahead
    from ordinal_shapley.sampling.plan import Plan

_MAX_PILOT = 10_000
_TARGETS = ("mean", "given")
# Bias of rules that end permutations early.
_ENDS_EARLY = "the bias of ending permutations early, which counts players after the end as 0"


class TruncationRule(Described, ABC):
    """Decides which prefixes of a permutation are not evaluated."""

    name: ClassVar[str]  # name of the rule with its defaults
    words: ClassVar[str]  # short description
    bias: ClassVar[str] = ""  # description of the bias of estimates; "" if unbiased
    # Whether the plan's target replaces what is not evaluated, not each permutation's own score.
    one_target: ClassVar[bool] = False

    @abstractmethod
    def prepare(self, plan: Plan, ahead: Ahead) -> Plan:
        """Return the plan with the rule in it, after evaluating what the rule needs."""

    def lengths(
        self, utilities: NDArray[np.float64], has_model: NDArray[np.bool_], target: float
    ) -> NDArray[np.intp]:
        """Return how many players of each permutation are evaluated; for biased rules only.

        `utilities` and `has_model` are by prefix, from the empty one, of shape (n_permutations, n_places +
        1); `target` is that of the plan.
        """
        raise NotImplementedError


def _first_end(ends: NDArray[np.bool_], has_model: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the length of the first prefix with a model at which the rule ends, or the full length."""
    ends = ends & has_model
    ends[:, -1] = True
    return np.asarray(np.argmax(ends, axis=1))


@dataclass(frozen=True, eq=False, repr=False)
class Roulette(TruncationRule):
    r"""Evaluate a few positions of each permutation, drawn at random and reweighted, without bias.

    Position k is evaluated with probability :math:`p_k`, and its contribution counts :math:`1 / p_k` times. A
    pilot finds these inclusion probabilities at the start of a run: it evaluates about thirty prefix sizes in
    permutations of its own. For the same number of evaluations the errors are much smaller than those of full
    permutations. For marginal contributions most of the noise comes from the first positions, where most
    permutations then end. For the ordinal value the prefixes of one permutation are highly correlated, so
    eight prefixes of each are better evaluated in more permutations.

    Parameters
    ----------
    min_probability : float, default 0.05
        Smallest inclusion probability; with small ones a few contributions may count a lot. For marginal
        contributions it holds for the first 100 positions, and ``min_probability`` times the root of 100 / k
        for a later position k. For the ordinal value it is the share of evaluations that are allocated as if
        the utilities of all sizes had the same variance.
    n_pilot : int, default 20
        Permutations of the pilot; the result's count of evaluations includes those of the pilot.

    Raises
    ------
    TypeError, ValueError
        If ``min_probability`` is not a number above 0 and at most 1, or ``n_pilot`` not an integer from 2 to
        10,000.

    Notes
    -----
    For marginal contributions :math:`m_k` probabilities are proportional to the roots of the means of
    :math:`m_k^2 / c_k`, made decreasing, where :math:`c_k` is what a utility costs there: this minimises
    variance times cost. For the ordinal value the utilities :math:`U_s` of prefixes are evaluated by
    systematic sampling with probabilities proportional to the roots of :math:`\operatorname{var}(U_s) (1/s +
    1/(n - s)) / c_s`, with size weights :math:`w_s` those of :math:`\operatorname{var}(U_s) n^2 (w_{s-1}^2/s
    + w_s^2/(n - s)) / c_s`; marginal contributions count :math:`n w_k` times. Costs are by formula, for a
    `LogisticGame` and an `EstimatorGame`, and 1 in other games. Between the sizes of the pilot, at equal
    distances of their logarithms, means and variances are interpolated. The players' sum is no longer exactly
    that of the full utilities.

    References
    ----------
    The device is known as Russian roulette in particle transport, and as the single-term estimator of
    randomised truncation: C. Rhee and P. Glynn, "Unbiased estimation with square root convergence for SDE
    models", Operations Research 63 (2015).

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> osv.PermutationSampler(truncation=osv.Roulette())
    PermutationSampler(truncation=Roulette())
    """

    min_probability: float = 0.05
    n_pilot: int = 20
    name: ClassVar[str] = "roulette"
    words: ClassVar[str] = "positions drawn at random, unbiased (roulette truncation)"

    def __post_init__(self) -> None:
        probability = arguments.number("min_probability", self.min_probability, above=0.0, max=1.0)
        object.__setattr__(self, "min_probability", probability)
        arguments.integer("n_pilot", self.n_pilot, min=2, max=_MAX_PILOT)

    def prepare(self, plan: Plan, ahead: Ahead) -> Plan:
        """Return the plan with inclusion probabilities, after a pilot."""
        return ahead.with_inclusion(plan, int(self.n_pilot), self.min_probability)


@dataclass(frozen=True, eq=False, repr=False)
class PaperTruncation(TruncationRule):
    """End a permutation once its utility is close to that of the full permutation; biased.

    Players after the end count as 0 in that permutation (for the ordinal value the utility of the full
    permutation replaces those that were not evaluated). The rule is not tested before the prefix has a model.
    It costs one evaluation of the full permutation, however early the permutation ends.

    Parameters
    ----------
    tol : float, default 0.05
        The permutation ends when ``|U(full permutation) - v| < tol``, where ``v`` is the utility so far.

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
    words: ClassVar[str] = "permutations end early, biased (paper truncation)"
    bias: ClassVar[str] = _ENDS_EARLY

    def __post_init__(self) -> None:
        object.__setattr__(self, "tol", arguments.number("tol", self.tol, min=0.0))

    def prepare(self, plan: Plan, ahead: Ahead) -> Plan:
        """Return the plan with the rule in it."""
        return plan._replace(rule=PAPER, tolerance=self.tol)

    def lengths(
        self, utilities: NDArray[np.float64], has_model: NDArray[np.bool_], target: float
    ) -> NDArray[np.intp]:
        """Return how many players of each permutation are evaluated."""
        return _first_end(np.abs(utilities[:, -1:] - utilities) < self.tol, has_model)


@dataclass(frozen=True, eq=False, repr=False)
class PatienceTruncation(TruncationRule):
    """End a permutation once several utilities in a row are close to one fixed full score; biased.

    The full score ``s`` is computed once, so that the cost of a permutation does not grow with the number of
    players. Players after the end count as 0 (for the ordinal value ``s`` replaces utilities that were not
    evaluated). The rule is not tested before the prefix has a model.

    Parameters
    ----------
    tol : float, default 0.05
        A utility ``v`` is close when ``|v - s| <= tol * |s|``.
    patience : int, default 6
        How many utilities in a row must be close.
    target : {"mean", "given"}, default "mean"
        ``s``: the mean utility of 20 random full permutations, or that of the players in the order given.
        Where a full permutation of a `LogisticGame` is expensive, by formula, the mean is over fewer (at
        least two), if their standard error is at most a tenth of ``tol``, relative to ``s``.

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
    words: ClassVar[str] = "permutations end early, biased (patience truncation)"
    bias: ClassVar[str] = _ENDS_EARLY
    one_target: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "tol", arguments.number("tol", self.tol, min=0.0))
        arguments.integer("patience", self.patience, max=math.inf)
        check_choice("target", self.target, _TARGETS)

    def prepare(self, plan: Plan, ahead: Ahead) -> Plan:
        """Return the plan with the rule in it, after scoring full permutations."""
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
        return _first_end(ends, has_model)
