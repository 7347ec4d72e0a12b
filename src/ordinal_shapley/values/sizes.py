"""Weights of coalition sizes: contributions to sets of some sizes count more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common import arguments, arrays
from ordinal_shapley.common.described import Described
from ordinal_shapley.values.base import TOLERANCE, Value

if TYPE_CHECKING:
    from ordinal_shapley.games.base import Game


@dataclass(frozen=True, eq=False, repr=False)
class SizeWeights(Described):
    """Weights of coalition sizes for any number of players.

    `beta_weights`, `banzhaf_weights` and `sizes_up_to` make them; `Ordinal` and `Classic` take them.

    Attributes
    ----------
    family : {"beta", "banzhaf", "up_to"}
        Which they are.
    a, b : float or None
        The parameters of Beta weights.
    largest : int or None
        The largest coalition that counts, for `sizes_up_to`.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> osv.sizes_up_to(2).of(4)
    array([0.5, 0.5, 0. , 0. ])
    """

    family: str
    a: float | None = None
    b: float | None = None
    largest: int | None = None

    def of(self, n_players: int) -> NDArray[np.float64]:
        """Return the weight of each number of others, 0 to ``n_players - 1``; they sum to 1."""
        n = arguments.integer("n_players", n_players)
        if self.family == "up_to":
            largest = min(n, self.largest or n)
            return np.where(np.arange(n) < largest, 1.0 / largest, 0.0)
        # In logarithms, because the weights and their factors soon overflow or underflow.
        s = np.arange(n - 1.0)
        ratios = (n - 1 - s) / (s + 1)
        if self.family == "beta":
            a, b = self.a or 1.0, self.b or 1.0
            ratios *= (s + b) / (n - 2 - s + a)
        logs = np.concatenate([[0.0], np.cumsum(np.log(ratios))])
        weights = np.exp(logs - logs.max())
        return np.asarray(weights / weights.sum())

    @property
    def words(self) -> str:
        """A short description."""
        if self.family == "beta":
            return f"Beta({self.a:g}, {self.b:g}) weights"
        return "Banzhaf weights" if self.family == "banzhaf" else f"sizes up to {self.largest:,}"

    def __repr__(self) -> str:
        if self.family == "beta":
            return f"beta_weights({self.a:g}, {self.b:g})"
        return "banzhaf_weights()" if self.family == "banzhaf" else f"sizes_up_to({self.largest})"


def beta_weights(a: float, b: float) -> SizeWeights:
    r"""Return the size weights of Beta Shapley.

    With :math:`s` others before a player, :math:`w_s = \binom{n-1}{s} B(s + b, n - 1 - s + a) / B(a, b)`.
    ``beta_weights(1, 1)`` gives all sizes equal weights, which is the Shapley value. The larger ``a`` is
    compared with ``b``, the more small coalitions count: ``beta_weights(16, 1)`` finds label errors by
    coalitions of about a seventeenth of the players.

    Parameters
    ----------
    a, b : float
        The parameters, above 0.

    Returns
    -------
    SizeWeights
        The weights, for any number of players.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not a number above 0.

    References
    ----------
    Y. Kwon and J. Zou, "Beta Shapley: a Unified and Noise-reduced Data Valuation Framework for Machine
    Learning", AISTATS 2022.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> osv.beta_weights(16, 1).of(3).round(3)
    array([0.889, 0.105, 0.007])
    """
    a, b = (arguments.number(name, value, above=0.0) for name, value in (("a", a), ("b", b)))
    return SizeWeights("beta", a=a, b=b)


def banzhaf_weights() -> SizeWeights:
    r"""Return the size weights of the Banzhaf value, in which all coalitions count alike.

    With :math:`s` others before a player, :math:`w_s = \binom{n-1}{s} / 2^{n-1}`: nearly all weight is on
    coalitions of about half the players.

    Returns
    -------
    SizeWeights
        The weights, for any number of players.

    References
    ----------
    J. Wang and R. Jia, "Data Banzhaf: A Robust Data Valuation Framework for Machine Learning", AISTATS 2023.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> osv.banzhaf_weights().of(3)
    array([0.25, 0.5 , 0.25])
    """
    return SizeWeights("banzhaf")


def sizes_up_to(largest: int) -> SizeWeights:
    """Return size weights that are equal for coalitions of up to ``largest`` players, and 0 beyond.

    No larger coalition is evaluated when values are sampled. With ``largest`` or fewer players it is the
    Shapley value.

    Parameters
    ----------
    largest : int
        Number of players in the largest coalition, the valued one included.

    Returns
    -------
    SizeWeights
        The weights, for any number of players.

    Raises
    ------
    TypeError, ValueError
        If ``largest`` is not an integer of at least 1.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> osv.Ordinal(size_weights=osv.sizes_up_to(50))
    Ordinal(size_weights=sizes_up_to(50))
    """
    return SizeWeights("up_to", largest=arguments.integer("largest", largest))


def as_size_weights(weights: Any) -> SizeWeights | NDArray[np.float64]:
    """Return size weights as a value keeps them; the length of an array is checked with the game."""
    if isinstance(weights, SizeWeights):
        return weights
    if isinstance(weights, str):
        raise TypeError(
            f"size_weights is {weights!r}, expected weights such as beta_weights(16, 1), or an array with a "
            "weight for each number of others"
        )
    given = arrays.as_numbers(arrays.as_array(weights, "size_weights", "size"), "size_weights")
    if given.ndim != 1 or not given.size:
        raise ValueError(
            f"size_weights has shape {given.shape}, expected a weight for each number of others, 0 to "
            "n_players - 1"
        )
    if not np.isfinite(given).all() or given.min() < 0.0:
        raise ValueError("size_weights holds a number that is negative or not finite, expected weights")
    if abs(given.sum() - 1.0) > TOLERANCE:
        raise ValueError(f"size_weights sums to {given.sum():.12g}, expected 1")
    return given


def weights_of(weights: SizeWeights | NDArray[np.float64], n_players: int) -> NDArray[np.float64]:
    """Return size weights for a number of players; ValueError if they are for another number."""
    if isinstance(weights, SizeWeights):
        return weights.of(n_players)
    if len(weights) != n_players:
        raise ValueError(
            f"size_weights has {len(weights)} weights, expected {n_players}, one for each number of others "
            "that train with a player (cross-fitted: in its fold); beta_weights, banzhaf_weights and "
            "sizes_up_to work for any number"
        )
    return weights


@dataclass(frozen=True, eq=False, repr=False)
class SizeWeighted(Value):
    """Base of values with size weights."""

    size_weights: Any = None
    _meaning: ClassVar[str] = ""

    def __post_init__(self) -> None:
        if self.size_weights is not None:
            object.__setattr__(self, "size_weights", as_size_weights(self.size_weights))

    @property
    def meaning(self) -> str:
        """What it is, in words."""
        if self.size_weights is None:
            return self._meaning
        return f"{self._meaning}; weighted by the number of {{noun}}s before it: {self.size_words}"

    @property
    def title(self) -> str:
        """Its name in a heading."""
        return super().title if self.size_weights is None else f"Size-weighted {self.name}"

    @property
    def size_words(self) -> str:
        """Which sizes count, in words; "" if all count equally."""
        if isinstance(self.size_weights, SizeWeights):
            return self.size_weights.words
        return "" if self.size_weights is None else f"{len(self.size_weights):,} given weights"

    def check(self, game: Game) -> None:
        """ValueError unless there is a weight for each size."""
        self.by_size(game.n_players)

    def by_size(self, n_players: int) -> NDArray[np.float64]:
        """Return the weight of each number of players before; empty if all weights are equal."""
        return np.zeros(0) if self.size_weights is None else weights_of(self.size_weights, n_players)
