"""When a walk along a permutation may stop early and count the players left as 0."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ordinal_shapley.common import arguments
from ordinal_shapley.vocabulary import TRUNCATIONS, choose

_MOST_PILOT = 10_000
_TARGETS = {"paper": ("own",), "patience": ("mean", "given"), "roulette": ("none",)}


@dataclass(frozen=True)
class Truncation:
    """A truncation rule; make one with `Truncation.paper`, `Truncation.patience` or `Truncation.roulette`.

    The first two are tested along the walk, but never while the sequence has no model. Once the rule holds,
    the walk ends and the players not yet evaluated count as 0 in that permutation, which is a bias. (For
    the ordinal value the full score stands in for the utilities that were not evaluated.) "roulette" draws
    in advance where a walk ends, and makes up for it: it has no bias.

    Parameters
    ----------
    rule : {"paper", "patience", "roulette"}
        Which rule.
    tol : float, default 0.05
        Distance below which the utility counts as that of the full order: absolute for "paper",
        relative to the full score for "patience". For "roulette" the argument ``least``.
    repeats : int, default 1
        How many sequences in a row must be that close (the argument ``patience`` of
        `Truncation.patience`); always 1 for "paper". For "roulette" the argument ``pilot``.
    target : {"own", "mean", "given", "none"}, default "own"
        The full score: that of the permutation at hand ("own", for "paper"), the mean over
        random full orders ("mean") or that of the players in their given order ("given"). "none" for
        "roulette".

    Raises
    ------
    TypeError
        If ``tol`` or ``repeats`` is not a number.
    ValueError
        If an argument is out of range, or ``repeats`` or ``target`` does not go with ``rule``.

    Examples
    --------
    >>> from ordinal_shapley import Truncation
    >>> Truncation.paper()
    Truncation(rule='paper', tol=0.05, repeats=1, target='own')
    """

    rule: str
    tol: float = 0.05
    repeats: int = 1
    target: str = "own"

    def __post_init__(self) -> None:
        choose("rule", self.rule, TRUNCATIONS)
        arguments.number("tol", self.tol, least=0.0)
        if self.rule == "paper" and self.repeats != 1:
            raise ValueError(
                f"repeats is {self.repeats!r}, rule 'paper' stops at the first sequence that is "
                "close: use Truncation.patience() to wait longer"
            )
        arguments.integer("repeats", self.repeats, most=math.inf)
        if self.rule == "roulette":
            _check_roulette(self.tol, self.repeats)
        choose("target", self.target, _TARGETS[self.rule])

    @classmethod
    def paper(cls, tol: float = 0.05) -> Truncation:
        """Stop once the utility is within ``tol`` of that of the permutation's own full order.

        It costs one evaluation of the full order a permutation, so that its cost grows with the
        number of players however early the walk ends.

        Parameters
        ----------
        tol : float, default 0.05
            Stop when ``|U(full order) - v| < tol``, where ``v`` is the utility so far.

        Returns
        -------
        Truncation
            The rule.

        References
        ----------
        arXiv:2305.01660, the TMC algorithm, and the CTMC algorithm with the sampled set in place of
        all players.

        Examples
        --------
        >>> from ordinal_shapley import Truncation
        >>> Truncation.paper(tol=0.01).tol
        0.01
        """
        return cls("paper", tol)

    @classmethod
    def patience(cls, tol: float = 0.05, patience: int = 6, target: str = "mean") -> Truncation:
        """Stop once ``patience`` utilities in a row are close to one fixed full score.

        The full score ``s`` is computed once, so that the cost of a walk does not grow with the
        number of players.

        Parameters
        ----------
        tol : float, default 0.05
            A utility ``v`` is close when ``|v - s| <= tol * |s|``.
        patience : int, default 6
            How many utilities in a row must be close.
        target : {"mean", "given"}, default "mean"
            ``s``: the mean utility of 20 random full orders, or that of the players as given. Where a full
            order of a `LogisticGame` costs much, by formula, it is the mean of fewer, two at least, if their
            standard error is at most a tenth of ``tol``, relative to ``s``.

        Returns
        -------
        Truncation
            The rule.

        References
        ----------
        A. Ghorbani and J. Zou, "Data Shapley: Equitable Valuation of Data for Machine Learning",
        ICML 2019, Algorithm 1, whose "performance tolerance" this makes precise.

        Examples
        --------
        >>> from ordinal_shapley import Truncation
        >>> Truncation.patience(patience=3)
        Truncation(rule='patience', tol=0.05, repeats=3, target='mean')
        """
        arguments.integer("patience", patience, most=math.inf)
        return cls("patience", tol, patience, target)

    @classmethod
    def roulette(cls, least: float = 0.05, pilot: int = 20) -> Truncation:
        r"""Evaluate few places, drawn at random, and count them for those that are not: no bias.

        Place k is evaluated with a chance p_k, and what is found there counts 1 / p_k times. Chances are the
        larger the more a place adds to the noise, and the less its utility costs. A pilot tells at the start
        of a run: it evaluates some thirty sizes, at equal distances of their logarithms, of the prefixes of
        permutations of its own. For the same number of utilities errors are much smaller than those of full
        walks: for marginal contributions because most of the noise comes from the first places, where most
        walks then end; for the ordinal value because the prefixes of one permutation tell much the same, so
        that eight of each are better evaluated in more permutations.

        Parameters
        ----------
        least : float, default 0.05
            With small chances a few contributions may count a lot. For marginal contributions no place up to
            the hundredth has a smaller chance, nor has place k one below ``least`` times the root of 100 / k.
            In/out, it is the share of evaluations that go by what would be best if the utilities of all sizes
            varied alike.
        pilot : int, default 20
            Permutations of the pilot; its utilities are among those that the result counts.

        Returns
        -------
        Truncation
            The rule.

        Raises
        ------
        TypeError, ValueError
            If ``least`` is not a number above 0 and at most 1, or ``pilot`` not an integer from 2 to
            10,000.

        Notes
        -----
        For marginal contributions :math:`m_k`, chances are proportional to the roots of the means of
        :math:`m_k^2 / c_k`, made decreasing, where :math:`c_k` is what a utility costs there: that makes the
        product of variance and cost least. In/out, the utilities :math:`U_s` of prefixes are evaluated by
        systematic sampling with chances proportional to the roots of
        :math:`\operatorname{var}(U_s) (1/s + 1/(n - s)) / c_s`. Costs are by formula, for a `LogisticGame`
        and an `EstimatorGame`, and 1 in other games. Between the sizes of the pilot means and variances are
        interpolated over the logarithm of the size. The players' sum is no longer exactly that of the full
        utilities.

        References
        ----------
        The device is known as Russian roulette in particle transport, and as the single-term estimator of
        randomised truncation: C. Rhee and P. Glynn, "Unbiased estimation with square root convergence for
        SDE models", Operations Research 63 (2015).

        Examples
        --------
        >>> from ordinal_shapley import Truncation
        >>> Truncation.roulette()
        Truncation(rule='roulette', tol=0.05, repeats=20, target='none')
        """
        _check_roulette(least, pilot, "least", "pilot")
        return cls("roulette", least, pilot, "none")


def _check_roulette(least: object, pilot: object, first: str = "tol", second: str = "repeats") -> None:
    arguments.number(first, least, above=0.0, most=1.0)
    arguments.integer(second, pilot, least=2, most=_MOST_PILOT)
