"""The ordinal Shapley value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.values.base import mean_utility_profile
from ordinal_shapley.values.sizes import SizeWeighted

if TYPE_CHECKING:
    from ordinal_shapley.exact.enumeration import Scope, Totals


@dataclass(frozen=True, eq=False, repr=False)
class Ordinal(SizeWeighted):
    r"""The ordinal Shapley value: what a player adds when it may enter anywhere.

    With :math:`\bar U(S)` the mean utility over the orders of a set, it is the classic value of
    :math:`\bar U`:

    .. math:: \phi_i = \frac1n \sum_{S : i \notin S} \frac{1}{\binom{n-1}{|S|}}
        \left(\bar U(S \cup i) - \bar U(S)\right)

    Parameters
    ----------
    size_weights : SizeWeights or array-like of shape (n_players,), optional
        Weights :math:`w_s` of the number :math:`s = |S|` of others, from 0, in place of :math:`1/n`:
        `beta_weights`, `banzhaf_weights`, `sizes_up_to`, or numbers of at least 0 that sum to 1. The values
        then do not sum to v(N) - v(empty).

    Raises
    ------
    TypeError, ValueError
        If ``size_weights`` cannot be used.

    References
    ----------
    arXiv:2305.01660, Theorem 1.

    Examples
    --------
    Two players with utility 1 in the order ann, bob. Half of all orders have that order, and both players
    share it:

    >>> import ordinal_shapley as osv
    >>> game = osv.TableGame(2, {(0, 1): 1.0}, names=["ann", "bob"])
    >>> osv.exact_values(game, osv.Ordinal()).values
    array([0.25, 0.25])

    Only coalitions of one player count:

    >>> osv.exact_values(game, osv.Ordinal(size_weights=osv.sizes_up_to(1))).values
    array([0., 0.])
    """

    name: ClassVar[str] = "ordinal"
    contributions: ClassVar[tuple[str, ...]] = ("in_out",)
    needs_mean_utilities: ClassVar[bool] = True

    insertion = "anywhere"
    _meaning = (
        "what a {noun} adds to the score on average when it joins those before it at any position, over "
        "random permutations of all {noun}s"
    )

    def profile(self, totals: Totals, scope: Scope) -> NDArray[np.float64]:
        """[i, k]: mean over the sets of k players of what i adds to the mean utility of their orders."""
        return mean_utility_profile(totals, scope.n_players)
