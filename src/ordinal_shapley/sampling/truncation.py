"""When a walk along a permutation may stop early and count the players left as 0."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real

_TARGETS = {"paper": ("own",), "patience": ("mean", "given")}


@dataclass(frozen=True)
class Truncation:
    """A truncation rule; make one with `Truncation.paper` or `Truncation.patience`.

    The rule is tested along the walk, but never while the sequence has no model. Once it holds, the
    walk ends and the players not yet evaluated count as 0 in that permutation. (For the ordinal value
    the full score stands in for the utilities that were not evaluated.)

    Parameters
    ----------
    rule : {"paper", "patience"}
        Which rule.
    tol : float, default 0.05
        Distance below which the utility counts as that of the full order: absolute for "paper",
        relative to the full score for "patience".
    repeats : int, default 1
        How many sequences in a row must be that close (the argument ``patience`` of
        `Truncation.patience`); always 1 for "paper".
    target : {"own", "mean", "given"}, default "own"
        The full score: that of the permutation at hand ("own", for "paper"), the mean over 20
        random full orders ("mean") or that of the players in their given order ("given").

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
        if self.rule not in _TARGETS:
            raise ValueError(f"rule is {self.rule!r}, expected 'paper' or 'patience'")
        if not isinstance(self.tol, Real) or isinstance(self.tol, bool):
            raise TypeError(f"tol is {self.tol!r}, expected a number such as 0.05")
        if not (math.isfinite(self.tol) and self.tol >= 0):
            raise ValueError(f"tol is {self.tol!r}, expected a finite number of at least 0")
        if self.rule == "paper" and self.repeats != 1:
            raise ValueError(
                f"repeats is {self.repeats!r}, rule 'paper' stops at the first sequence that is "
                "close: use Truncation.patience() to wait longer"
            )
        _check_patience("repeats", self.repeats)
        if self.target not in _TARGETS[self.rule]:
            allowed = " or ".join(map(repr, _TARGETS[self.rule]))
            raise ValueError(f"target is {self.target!r}, rule {self.rule!r} takes {allowed}")

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
            ``s``: the mean utility of 20 random full orders, or that of the players as given.

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
        _check_patience("patience", patience)
        return cls("patience", tol, patience, target)


def _check_patience(name: str, value: object) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}, expected an integer such as 6")
    if int(value) < 1:
        raise ValueError(f"{name} is {value}, expected at least 1")
