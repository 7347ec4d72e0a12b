"""A weighted average of the ordinal and the partial ordinal value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common import arguments
from ordinal_shapley.values.base import Value, mean_utility_profile

if TYPE_CHECKING:
    from ordinal_shapley.exact.enumeration import Scope, Totals


@dataclass(frozen=True, eq=False, repr=False)
class Blend(Value):
    """A weighted average: ``alpha`` times the ordinal value plus ``1 - alpha`` times the partial ordinal one.

    Parameters
    ----------
    alpha : float
        Weight of the ordinal value, from 0 to 1.

    Raises
    ------
    TypeError, ValueError
        If ``alpha`` is not such a number.

    References
    ----------
    arXiv:2305.01660, the remarks after Theorem 3.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> game = osv.TableGame(2, {(0, 1): 1.0})
    >>> osv.exact_values(game, osv.Blend(0.5)).values
    array([0.125, 0.375])
    """

    alpha: float
    name: ClassVar[str] = "blend"
    title = "Blended"
    contributions: ClassVar[tuple[str, ...]] = ()
    needs_mean_utilities: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", arguments.number("alpha", self.alpha, min=0.0, max=1.0))

    @property
    def insertion(self) -> str:
        """Where a player joins when the axioms ask what it changes."""
        return "anywhere" if self.alpha else "end"

    @property
    def meaning(self) -> str:
        """What it is, in words."""
        return (
            f"{self.alpha:g} times the ordinal value, what a {{noun}} adds to the score on average when it "
            f"joins at any position, plus {1 - self.alpha:g} times the partial ordinal one, when it joins at "
            "the end"
        )

    def in_out(self, contribution: str) -> float:
        """Return the share of the in/out contribution."""
        return self.alpha

    def profile(self, totals: Totals, scope: Scope) -> NDArray[np.float64]:
        """[i, k]: the same mean of the profiles of both values."""
        ordinal = mean_utility_profile(totals, scope.n_players)
        return self.alpha * ordinal + (1.0 - self.alpha) * super().profile(totals, scope)
