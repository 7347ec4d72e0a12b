r"""Bounds on the error of an estimate: the paper's tail bounds, where they hold, and their inverse.

Each tail bounds :math:`P(|\phi - \hat\phi| \ge \epsilon)` from the ranges of marginal contributions and the
number :math:`T` of independent permutations, whatever else the game is. It is a number up to 1, and 1 where
:math:`\epsilon` is at most the bias. Utilities, values, ranges and errors are all in the unit of the utility.

Where the form printed in the paper (arXiv:2305.01660, "Error analysis of TMC and CMC" and the appendix)
differs from the one that holds, ``printed=True`` gives the printed one, to compare. Every function raises
TypeError for an argument of another kind than described, and ValueError for one that is out of range or
contradicts others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_shapley.common.arguments import integer, number
from ordinal_shapley.common.arrays import intervals, per_position
from ordinal_shapley.values.sizes import as_size_weights, weights_of

__all__ = ["cmc_tail", "lp_tail", "permutations_needed", "position_ranges", "tmc_tail"]


def position_ranges(
    a: ArrayLike,
    b: ArrayLike,
    *,
    empty_value: float = 0.0,
    nonnegative: bool = False,
    size_weights: Any = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Return bounds on the marginal contribution at each position, from bounds on the utility at each size.

    If :math:`a_k k \le U(\tau) \le b_k k` for every sequence :math:`\tau` of :math:`k` players, the player
    who joins as number :math:`k+1` contributes at least :math:`(k+1) a_{k+1} - k b_k` and at most
    :math:`(k+1) b_{k+1} - k a_k`. The width of this range is the paper's

    .. math:: r_{k+1} = (b_{k+1} - a_k) k + b_{k+1} - (a_{k+1} - b_k) k - a_{k+1}.

    Parameters
    ----------
    a, b : array_like of shape (n,)
        ``a[k - 1] * k`` and ``b[k - 1] * k`` bound the utility of every sequence of ``k`` players.
    empty_value : float, default 0.0
        Utility of the empty sequence; the paper takes 0.
    nonnegative : bool, default False
        Whether no player ever lowers the utility, so that no contribution is below 0 (the paper's
        :math:`c_{k+1}`).
    size_weights : SizeWeights or array-like of shape (n,), optional
        Of a `Classic` value with such weights :math:`w_k`: the ranges are then those of
        :math:`n w_k` times the marginal contribution at position :math:`k + 1`, whose plain average the value
        is, so that `tmc_tail` and `permutations_needed` hold for it as they do for the plain value. There is
        no bound on in/out contributions, by which `Ordinal` is estimated.

    Returns
    -------
    low, high : ndarray of float64, shape (n,)
        Bounds on the marginal contribution at positions 1 to n, as `tmc_tail` takes them.

    References
    ----------
    arXiv:2305.01660, appendix, remark after the TMC bound, equation ``tmcerrorstrata``.

    Examples
    --------
    >>> from ordinal_shapley import bounds
    >>> low, high = bounds.position_ranges([0.0, 0.2, 0.3], [0.6, 0.4, 0.3])
    >>> low.round(3)
    array([ 0. , -0.2,  0.1])
    >>> high.round(3)
    array([0.6, 0.8, 0.5])
    >>> import ordinal_shapley as osv
    >>> bounds.position_ranges([0.0, 0.2, 0.3], [0.6, 0.4, 0.3], size_weights=osv.sizes_up_to(2))[1].round(3)
    array([0.9, 1.2, 0. ])
    """
    lower, upper = intervals("a", a, "b", b)
    start = number("empty_value", empty_value)
    sizes = np.arange(1, lower.size + 1)
    low = sizes * lower - np.concatenate([[start], (sizes * upper)[:-1]])
    high = sizes * upper - np.concatenate([[start], (sizes * lower)[:-1]])
    if nonnegative:
        if (high < 0).any():
            at = int(np.argmax(high < 0)) + 1
            raise ValueError(
                f"nonnegative is True, but a and b leave only negative contributions at position {at}"
            )
        low = np.maximum(low, 0.0)
    if size_weights is not None:
        factors = low.size * weights_of(as_size_weights(size_weights), low.size)
        low, high = factors * low, factors * high
    return low, high


def tmc_tail(
    eps: float,
    low: ArrayLike,
    high: ArrayLike,
    *,
    n_permutations: int | None = None,
    counts: ArrayLike | None = None,
    k: int | None = None,
    bias: float | None = None,
    printed: bool = False,
) -> float:
    r"""Bound the probability that a TMC estimate of one player's value is off by ``eps`` or more.

    Truncation leaves out what the player contributes beyond position :math:`k`: a bias of at most
    :math:`\epsilon_k` :math:`\le \frac1n \sum_{j>k} \max |\text{marginal at } j|`. Hoeffding's inequality
    bounds the rest.

    *Plain average* (``n_permutations``), what `sample_values` returns: the mean of :math:`T` independent
    terms, each the marginal contribution at the position that the player happens to have, or 0 beyond
    :math:`k`. With :math:`R` the width of the range of 0 and all marginals at positions up to :math:`k`,

    .. math:: P(|\phi - \hat\phi| \ge \epsilon) \le 2 \exp(-2 T (\epsilon - \epsilon_k)^2 / R^2).

    *Stratified average* (``counts``), what the paper analyses:
    :math:`\hat\phi = \frac1n \sum_{j \le k} \hat\mu_j`, :math:`\hat\mu_j` the mean of :math:`m_j` marginals
    at position :math:`j`, whose range has width :math:`r_j`. An error above :math:`\epsilon - \epsilon_k`
    needs one position with :math:`|\hat\mu_j - \mu_j| \ge n (\epsilon - \epsilon_k) / k`, so

    .. math:: P(|\phi - \hat\phi| \ge \epsilon)
        \le \sum_{j \le k} 2 \exp(-2 m_j n^2 (\epsilon - \epsilon_k)^2 / (k^2 r_j^2)).

    Parameters
    ----------
    eps : float
        Size of the error, above 0.
    low, high : array_like of shape (n,)
        Bounds on the player's marginal contribution at positions 1 to n. For the plain average without ``k``
        a number is enough: one range for all positions.
    n_permutations : int, optional
        :math:`T`, independent permutations of the plain average. Give it or ``counts``.
    counts : array_like of int, shape (k,), optional
        :math:`m_j`, samples of each position 1 to k of the stratified average, all at least 1.
    k : int, optional
        Last position evaluated in the plain average; by default none is left out.
    bias : float, optional
        :math:`\epsilon_k`, if a better bound is known than that from the ranges beyond ``k``. A truncation
        rule may stop well before any fixed position; then ``low`` and ``high`` are those of all positions and
        ``bias`` is the largest bias of the rule for this player.
    printed : bool, default False
        The printed form, whose exponent lacks :math:`n^2`; it needs ``counts``. For the stratified average
        it is true but weaker, for the plain average it is false.

    Returns
    -------
    float
        The bound.

    References
    ----------
    arXiv:2305.01660, equation ``tmcerror`` (second line; equal ranges give the third, with ``r_max,k``).
    W. Hoeffding, "Probability inequalities for sums of bounded random variables", 1963.

    Examples
    --------
    >>> from ordinal_shapley import bounds
    >>> round(bounds.tmc_tail(0.05, -0.2, 0.6, n_permutations=1_000), 5)
    0.00081
    >>> low, high = [0.0, -0.2, -0.1], [0.6, 0.2, 0.1]
    >>> round(bounds.tmc_tail(0.1, low, high, n_permutations=300, k=2), 4)
    0.031
    >>> round(bounds.tmc_tail(0.1, low, high, counts=[100, 100]), 4)
    0.0077
    """
    eps = number("eps", eps, above=0)
    lows, highs = intervals("low", low, "high", high)
    if (n_permutations is None) == (counts is None):
        raise ValueError(
            "give n_permutations, for the plain average, or counts, for the stratified one, and not both"
        )
    if n_permutations is not None:
        if printed:
            raise ValueError(
                "printed=True needs counts: the printed bound is one in samples of each position"
            )
        n_permutations = integer("n_permutations", n_permutations)
        rate = _average_rate(eps, lows, highs, k, bias)
        return _tail(2, n_permutations * rate)
    if k is not None:
        raise ValueError("k requires n_permutations; with counts it is the length of counts")
    m = per_position("counts", counts, "iu", "integers")
    if m.size > lows.size:
        raise ValueError(f"counts has {m.size} values, but low and high have {lows.size} positions")
    if (m < 1).any():
        raise ValueError("counts has a value below 1; the stratified average needs a sample of each position")
    gap = eps - _truncation_bias(lows, highs, m.size, bias)
    if gap <= 0:
        return 1.0
    share = (1 if printed else lows.size) * gap / m.size
    strata = zip(m.tolist(), lows.tolist(), highs.tolist(), strict=False)
    return min(1.0, sum(_tail(2, m_j * _square_ratio(share, upper - lower)) for m_j, lower, upper in strata))


def cmc_tail(
    eps: float,
    low: ArrayLike,
    high: ArrayLike,
    *,
    n_permutations: int,
    q: float,
    bias: float = 0.0,
    printed: bool = False,
) -> float:
    r"""Bound the probability that a CMC estimate is off by ``eps`` or more from its expectation.

    With ``average="all"`` that is :math:`q\, E[\text{marginal} \mid \text{chosen}]`, the mean over
    permutations, 0 for those without the player. It is not the value :math:`\phi`: no sequence longer than
    the sampled set is ever seen. Each of the :math:`T` terms is 0 with probability :math:`1 - q` and else a
    marginal in :math:`[L, H]`, so it is within :math:`\delta = \max(H, 0) - \min(L, 0)` of its mean, and its
    variance is at most its mean square, so at most :math:`v = q \max(L^2, H^2)`. Bennett's inequality, on
    either side, gives

    .. math:: P(|q E[\cdot \mid \text{chosen}] - \hat\phi| \ge \epsilon)
        \le 2 \exp\Bigl(-\frac{T v}{\delta^2} h\bigl(\frac{\delta \epsilon}{v}\bigr)\Bigr),
        \qquad h(x) = (1 + x) \ln(1 + x) - x.

    Parameters
    ----------
    eps : float
        Size of the error, above 0.
    low, high : array_like
        :math:`L` and :math:`H`, bounds on the player's marginal contribution when chosen: numbers, or one
        for each position, of which the widest count.
    n_permutations : int
        :math:`T`, independent permutations.
    q : float
        Probability that a permutation holds the player, in (0, 1]:
        :math:`\max(1, \lfloor q n_c \rfloor) / n_c` in a class of :math:`n_c` players.
    bias : float, default 0.0
        Largest difference between :math:`q E[\cdot \mid \text{chosen}]` and the value of interest, if known.
    printed : bool, default False
        The printed form: one-sided, with the variance :math:`(2q - q^2) \delta^2`, which is true but
        larger. It is false without the factor 2. Its range of the marginal contributions is read as
        :math:`\delta`.

    Returns
    -------
    float
        The bound.

    References
    ----------
    arXiv:2305.01660, the CMC bound and the last two equations of the appendix.
    G. Bennett, "Probability inequalities for the sum of independent random variables", 1962.

    Examples
    --------
    >>> from ordinal_shapley import bounds
    >>> round(bounds.cmc_tail(0.02, -0.1, 0.3, n_permutations=2_000, q=0.5), 6)
    0.000448
    >>> round(bounds.cmc_tail(0.5, -0.5, 0.5, n_permutations=1, q=1.0, printed=True), 3)
    0.897
    """
    eps = number("eps", eps, above=0)
    lows, highs = intervals("low", low, "high", high)
    n_permutations = integer("n_permutations", n_permutations)
    rate = _sampled_rate(eps, lows, highs, q, bias, printed)
    return _tail(1 if printed else 2, n_permutations * rate)


def lp_tail(eps: float, tails: Sequence[Callable[[float], float]], p: float = 2.0) -> float:
    r"""Bound the probability that the vector of all values is off by ``eps`` or more in the :math:`l^p` norm.

    If every value is within :math:`\epsilon / n^{1/p}` (:math:`\epsilon` for :math:`p = \infty`), the
    vector is within :math:`\epsilon`. So the probability that it is not is at most the sum of the players'
    own, whether or not they are estimated from the same permutations. The printed form is right.

    Parameters
    ----------
    eps : float
        Size of the error, above 0, in the :math:`l^p` norm.
    tails : sequence of n callables
        For each player, a function of the size of the error that bounds its probability.
    p : float, default 2.0
        The norm: at least 1, ``math.inf`` for the largest error of all.

    Returns
    -------
    float
        The bound.

    References
    ----------
    arXiv:2305.01660, remark in "Error analysis of TMC and CMC".

    Examples
    --------
    >>> import math
    >>> from ordinal_shapley import bounds
    >>> def tail(eps):
    ...     return bounds.tmc_tail(eps, -0.2, 0.6, n_permutations=2_000)
    >>> round(bounds.lp_tail(0.05, [tail] * 10, p=math.inf), 7)
    3.3e-06
    >>> round(bounds.lp_tail(0.1, [tail] * 10, p=2), 4)
    0.0386
    """
    eps = number("eps", eps, above=0)
    p = _norm(p)
    given: object = tails
    if not isinstance(given, Sequence) or not all(callable(tail) for tail in given):
        raise TypeError("tails must be a sequence of functions, one per player, such as [tail] * n_players")
    if len(tails) == 0:
        raise ValueError("tails is empty, expected one function per player")
    each = eps / len(tails) ** (1 / p)
    return min(1.0, sum(number(f"tails[{i}](eps)", tail(each), min=0) for i, tail in enumerate(tails)))


def permutations_needed(
    eps: float,
    failure: float,
    low: ArrayLike,
    high: ArrayLike,
    *,
    q: float | None = None,
    k: int | None = None,
    bias: float | None = None,
    n_players: int = 1,
    p: float = math.inf,
) -> int:
    r"""Return the fewest permutations whose bound on an error of ``eps`` or more is at most ``failure``.

    It inverts `tmc_tail` for the plain average or, with ``q``, `cmc_tail`; with ``n_players`` it does so
    under `lp_tail` with the same ranges for all. All three are :math:`c\, e^{-T \lambda}` in the number of
    permutations :math:`T`, so :math:`T = \lceil \ln(c / \text{failure}) / \lambda \rceil`.

    Parameters
    ----------
    eps : float
        Size of the error, above 0, in the :math:`l^p` norm. ValueError if it is at most the bias.
    failure : float
        Probability of such an error that is allowed, in (0, 1).
    low, high : array_like
        Bounds on marginal contributions, as in `tmc_tail` and `cmc_tail`.
    q : float, optional
        Probability that a permutation of CMC holds a player; by default TMC, or plain Monte Carlo.
    k, bias : int and float, optional
        As in `tmc_tail`; with ``q`` as in `cmc_tail`, which has no ``k``.
    n_players : int, default 1
        Number of values that must be right at the same time; 1 is a single player.
    p : float, default inf
        Norm of their error; ``inf`` asks that every value be within ``eps``.

    Returns
    -------
    int
        The number of permutations, at least 1.

    Examples
    --------
    >>> from ordinal_shapley import bounds
    >>> bounds.permutations_needed(0.05, 0.05, -0.2, 0.6)
    473
    >>> bounds.permutations_needed(0.05, 0.05, -0.2, 0.6, n_players=100)
    1062
    >>> bounds.permutations_needed(0.05, 0.05, -0.1, 0.3, q=0.2)
    71
    """
    eps = number("eps", eps, above=0)
    failure = number("failure", failure, above=0, below=1)
    lows, highs = intervals("low", low, "high", high)
    n_players, p = integer("n_players", n_players), _norm(p)
    each = eps / n_players ** (1 / p)
    if q is None:
        rate = _average_rate(each, lows, highs, k, bias)
    else:
        if k is not None:
            raise ValueError("k is for TMC only: leave out k or q")
        rate = _sampled_rate(each, lows, highs, q, 0.0 if bias is None else bias)
    exponent = math.log(2 * n_players / failure)
    if rate * 2**53 < exponent:  # also at rate 0
        raise ValueError(
            f"eps is too small: it leaves each player an error of {each:g}, at most the bias or barely above "
            "it, which no number of permutations can reach"
        )

    def enough(t: int) -> bool:
        return n_players * _tail(2, t * rate) <= failure

    needed = max(1, math.ceil(exponent / rate))
    # Rounding can put the quotient on the wrong side of an integer.
    if not enough(needed):
        return needed + 1
    return needed - 1 if needed > 1 and enough(needed - 1) else needed


def _tail(factor: int, exponent: float) -> float:
    return min(1.0, factor * math.exp(-exponent))


def _square_ratio(gap: float, width: float) -> float:
    """Return the exponent of Hoeffding's inequality for one sample: 2 (gap / width)^2."""
    ratio = gap / width if width > 0 else math.inf
    return 2 * ratio * ratio


def _average_rate(
    eps: float, low: NDArray[np.float64], high: NDArray[np.float64], k: int | None, bias: float | None
) -> float:
    """Return what one permutation adds to the exponent of the plain average's bound; 0 if none helps."""
    last = low.size
    if k is not None:
        last = integer("k", k)
        if last > low.size:
            raise ValueError(f"k is {last}, but low and high have {low.size} positions")
    gap = eps - _truncation_bias(low, high, last, bias)
    width = max(0.0, float(high[:last].max())) - min(0.0, float(low[:last].min()))
    return _square_ratio(gap, width) if gap > 0 else 0.0


def _truncation_bias(
    low: NDArray[np.float64], high: NDArray[np.float64], last: int, bias: float | None
) -> float:
    if bias is not None:
        return number("bias", bias, min=0)
    return float(np.maximum(np.abs(low[last:]), np.abs(high[last:])).sum()) / low.size


def _sampled_rate(
    eps: float,
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    q: float,
    bias: float,
    printed: bool = False,
) -> float:
    """Return what one permutation adds to the exponent of the CMC bound; 0 if none helps."""
    q = number("q", q, above=0, max=1)
    gap = eps - number("bias", bias, min=0)
    bottom, top = min(0.0, float(low.min())), max(0.0, float(high.max()))
    delta = top - bottom
    if gap <= 0:
        return 0.0
    if delta == 0:
        return math.inf
    # Everything in units of delta: the larger side is then at least 1/2, so nothing underflows.
    side = max(-bottom, top) / delta
    variance = 2 * q - q * q if printed else q * side * side
    x = gap / delta / variance
    # h(x); the second term (Bernstein's) is always below it and takes over where the first cancels.
    return variance * max((1 + x) * math.log1p(x) - x, x / (2 / x + 2 / 3) if x > 0 else 0.0)


def _norm(p: object) -> float:
    return math.inf if isinstance(p, float) and p == math.inf else number("p", p, min=1)
