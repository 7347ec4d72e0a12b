"""The truncation rule without bias: a few places are evaluated, and count for those that are not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ordinal_shapley.common import arguments
from ordinal_shapley.sampling.truncation import TruncationRule

if TYPE_CHECKING:
    from ordinal_shapley.sampling.ahead import Ahead
    from ordinal_shapley.sampling.plan import Plan

_MAX_PILOT = 10_000


@dataclass(frozen=True, eq=False, repr=False)
class Roulette(TruncationRule):
    r"""Evaluate few places, drawn at random, and let them count for those that are not: no bias.

    Place k is evaluated with probability :math:`p_k`, and what is found there counts :math:`1 / p_k` times. A
    pilot finds the probabilities at the start of a run: it evaluates some thirty sizes of the prefixes of
    permutations of its own. For the same number of evaluations errors are much smaller than those of full
    permutations: for marginal contributions because most of the noise comes from the first places, where most
    permutations then end; for the ordinal value because the prefixes of one permutation tell much the same,
    so that eight of each are better evaluated in more permutations.

    Parameters
    ----------
    min_probability : float, default 0.05
        With small probabilities a few contributions may count a lot. For marginal contributions no place up
        to the hundredth has a smaller probability, nor has place k one below ``min_probability`` times the
        root of 100 / k. For the ordinal value it is the share of evaluations that are spread as would be best
        if the utilities of all sizes varied alike.
    n_pilot : int, default 20
        Permutations of the pilot; its evaluations are among those that the result counts.

    Raises
    ------
    TypeError, ValueError
        If ``min_probability`` is not a number above 0 and at most 1, or ``n_pilot`` not an integer from 2 to
        10,000.

    Notes
    -----
    For marginal contributions :math:`m_k` probabilities are proportional to the roots of the means of
    :math:`m_k^2 / c_k`, made decreasing, where :math:`c_k` is what a utility costs there: that makes the
    product of variance and cost least. For the ordinal value the utilities :math:`U_s` of prefixes are
    evaluated by systematic sampling with probabilities proportional to the roots of
    :math:`\operatorname{var}(U_s) (1/s + 1/(n - s)) / c_s`. Costs are by formula, for a `LogisticGame` and an
    `EstimatorGame`, and 1 in other games. Between the sizes of the pilot, at equal distances of their
    logarithms, means and variances are interpolated. The players' sum is no longer exactly that of the full
    utilities.

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

    def __post_init__(self) -> None:
        least = arguments.number("min_probability", self.min_probability, above=0.0, max=1.0)
        object.__setattr__(self, "min_probability", least)
        arguments.integer("n_pilot", self.n_pilot, min=2, max=_MAX_PILOT)

    def prepare(self, plan: Plan, ahead: Ahead) -> Plan:
        """Return the plan with inclusion probabilities, after a pilot."""
        return ahead.with_inclusion(plan, int(self.n_pilot), self.min_probability)
