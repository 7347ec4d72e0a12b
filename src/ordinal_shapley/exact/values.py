"""Exact values by compiled enumeration."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common.compiling import says_when_compiling
from ordinal_shapley.common.parallel import check_n_jobs
from ordinal_shapley.exact.enumeration import MOST_PLAYERS, Scope, Totals, Wanted, enumerate_game
from ordinal_shapley.exact.plan import as_limit, check_cost, make_scope, tabulate_weights
from ordinal_shapley.games.base import Game, UtilityError, check_game
from ordinal_shapley.value_options import check_options, check_order_free, check_symmetry
from ordinal_shapley.vocabulary import EXACT_VALUES, WAYS, choose
from ordinal_shapley_kernels import enumeration as kernels

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class ExactValues:
    """Exact values of all players, and what they took.

    Attributes
    ----------
    values : ndarray of float64, shape (n_players,)
        The value of each player.
    value : str
        Which value it is.
    n_evaluations : int
        Utilities evaluated, that of the empty sequence included.
    seconds : float
        Time it took.
    position_profile : ndarray of float64, shape (n_players, n_players), or None
        ``[i, k]``: expected marginal contribution of player i at position k (from 0); the mean over k is the
        value. Only if it was asked for.
    efficiency_gap : float
        Sum of the values less what there is to share: the mean utility of full orders less that of the empty
        sequence. 0 up to rounding but for "weighted_ordinal".
    uniform_weight : bool or None
        For "weighted_ordinal": whether ``order_weight`` gives all orders of a set one weight.
    labels : ndarray or None
        Names of the players.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> result = osv.exact_values(osv.TableGame(2, {(0, 1): 1.0}, names=["ann", "bob"]))
    >>> result
    ExactValues(2 players, value='partial_ordinal', n_evaluations=5)
    >>> result.to_frame()
         value  rank
    ann    0.0     2
    bob    0.5     1
    """

    values: NDArray[np.float64]
    value: str
    n_evaluations: int
    seconds: float
    position_profile: NDArray[np.float64] | None
    efficiency_gap: float
    uniform_weight: bool | None
    labels: NDArray[Any] | None

    def __len__(self) -> int:
        return len(self.values)

    def ranking(self) -> NDArray[np.intp]:
        """Return the players from the highest value to the lowest, ties in order."""
        return np.argsort(-self.values, kind="stable")

    def to_frame(self) -> pd.DataFrame:
        """Return one row a player, indexed by ``labels``.

        Returns
        -------
        pandas.DataFrame
            With columns value and rank, 1 for the highest value.
        """
        import pandas as pd

        rank = np.empty(len(self), dtype=np.int64)
        rank[self.ranking()] = np.arange(1, len(self) + 1)
        return pd.DataFrame(
            {"value": self.values, "rank": rank}, index=None if self.labels is None else pd.Index(self.labels)
        )

    def __repr__(self) -> str:
        return f"ExactValues({len(self)} players, value={self.value!r}, n_evaluations={self.n_evaluations})"


@says_when_compiling
def exact_values(
    game: Game,
    value: str = "partial_ordinal",
    *,
    partition: Any = None,
    case: str | None = None,
    alpha: float | None = None,
    order_weight: Callable[..., Any] | None = None,
    by: str | None = None,
    position_profile: bool = False,
    n_jobs: int | None = -1,
    progress: bool = False,
    max_seconds: float | None = None,
) -> ExactValues:
    r"""Compute the value of every player exactly, by evaluating every sequence of players once.

    Parameters
    ----------
    game : Game
        For example a `TableGame`, a `FunctionGame` or a `LogisticGame`.
    value : {"partial_ordinal", "ordinal", "classic", "blend", "weighted_ordinal"}
        See Notes; "partial_ordinal" by default. "classic" is for games whose order does not matter.
    partition : array-like of shape (n_players,), optional
        Group of each player, for a game in which only some orders matter; then give ``case``. For
        ``value="partial_ordinal"``.
    case : {"within", "between"}, optional
        "within": order matters inside groups only. "between": it matters across groups only. Only sequences
        that can differ are evaluated: with "within" those that have group after group, with "between" those
        that have each group's players in increasing order.
    alpha : float, optional
        For "blend": the share of the ordinal value.
    order_weight : callable, optional
        For "weighted_ordinal": ``q(sequence)``, called like the function of a `FunctionGame`, the weight of
        a sequence among the orders of its players. The weights of all orders of a set must sum to 1.
    by : {"subsets", "orders"}, optional
        For "classic": from one order of each of the :math:`2^n` subsets (the default), or from all orders.
    position_profile : bool, default False
        Return the expected marginal contribution of each player at each position, too.
    n_jobs : int, optional
        Workers, as in joblib; every core by default, for plain Python functions one. The number does not
        change a bit of the result.
    progress : bool, default False
        Show a progress bar on stderr.
    max_seconds : float, optional
        Refuse to start what a short probe says takes longer; an hour by default, ``inf`` for no limit. The
        probe evaluates some sequences once more; without ``max_seconds`` games of up to 400 sequences go
        without one.

    Returns
    -------
    ExactValues
        The values, and what they took.

    Raises
    ------
    TypeError, ValueError
        If an argument cannot be used, ``order_weight`` does not sum to 1, a utility is not finite (the
        message names the sequence), or the work would take more than ``max_seconds`` or the memory at hand
        (the message says how much, and what would do instead).
    RuntimeError
        If the function of a `FunctionGame` raises or the model of an `EstimatorGame` fails; the message names
        the sequence.

    Warns
    -----
    UserWarning
        If the game turns out to depend on orders that ``partition`` and ``case``, or ``order_free=True`` of a
        `FunctionGame`, say do not matter.

    Notes
    -----
    With :math:`\Pi|_S` the orders of a set :math:`S` and :math:`U(\pi, i)` the utility when :math:`i` joins
    the end of :math:`\pi`, all values are

    .. math:: \phi_i = \frac1n \sum_{S : i \notin S} \frac{1}{\binom{n-1}{|S|}} \Delta_i(S)

    - "partial_ordinal" (second theorem): :math:`\Delta_i(S)` is the mean of
      :math:`U(\pi, i) - U(\pi)` over the orders of S.
    - "ordinal" (first theorem): :math:`i` joins at every place. With :math:`\bar U(S)` the mean utility of
      the orders of a set, :math:`\Delta_i(S) = \bar U(S \cup i) - \bar U(S)`: the classic value of
      :math:`\bar U`.
    - "classic": :math:`\Delta_i(S) = U(S \cup i) - U(S)`.
    - "weighted_ordinal": :math:`\Delta_i(S) = \sum_\pi q(\pi) (U(\pi, i) - U(\pi))`. The values sum to what
      there is to share for all games only if q is uniform, :math:`q(\pi) = 1/|S|!`.
    - "blend": ``alpha`` times "ordinal" plus (1 - ``alpha``) times "partial_ordinal".
    - with ``partition``: "partial_ordinal" from one sequence of each class of those that are worth the same,
      each class with the same weight.

    References
    ----------
    J. Liu, P. Wang, C. Wu, "Data valuation: The partial ordinal Shapley value for machine learning",
    arXiv:2305.01660, Theorems 1 to 3 and the remarks after them.

    Examples
    --------
    Three players, from Nowak and Radzik (1994):

    >>> import ordinal_shapley as osv
    >>> full = {(0, 2, 1): 4, (2, 0, 1): 4, (1, 2, 0): 4, (2, 1, 0): 4, (0, 1, 2): 3, (1, 0, 2): 3}
    >>> game = osv.TableGame(3, {**full, (0, 1): 2, (1, 0): 2, (0, 2): 3, (2, 0): 3})
    >>> 18 * osv.exact_values(game).values
    array([39., 12., 15.])
    >>> 18 * osv.exact_values(game, value="ordinal").values
    array([37., 10., 19.])

    Where only the order inside groups matters, far fewer sequences tell all:

    >>> worth = {(0, 1): 2.0, (2, 3): 1.0}
    >>> def pairs(sequence):  # a pair is worth something if it came in order
    ...     place = {player: k for k, player in enumerate(sequence)}
    ...     return sum(w for (a, b), w in worth.items() if a in place and b in place and place[a] < place[b])
    >>> game = osv.FunctionGame(pairs, n_players=4)
    >>> osv.exact_values(game, partition=[0, 0, 1, 1], case="within")
    ExactValues(4 players, value='partial_ordinal', n_evaluations=25)
    >>> osv.exact_values(game, partition=[0, 0, 1, 1], case="within").values
    array([0. , 1. , 0. , 0.5])
    """
    began = time.perf_counter()
    scope, n_jobs, limit, asked = plan_exact(
        game, value, partition, case, alpha, order_weight, by, n_jobs, max_seconds
    )
    n = game.n_players
    weights, uniform = None, None
    if order_weight is not None:
        weights, uniform = tabulate_weights(order_weight, n, n_jobs, limit, asked)
    if partition is not None:
        check_symmetry(game, scope.groups, str(case))
    if value == "classic":
        check_order_free(game)
    wanted = Wanted(value in ("ordinal", "blend"))
    if weights is not None:
        wanted = wanted._replace(weights=weights)
    totals = enumerate_or_report(game, scope, wanted, n_jobs, progress)
    game._warn_unconverged(totals.unconverged)
    if value == "ordinal":
        profile = _ordinal_profile(totals, n)
    else:
        profile = _marginal_profile(totals, scope, weights is not None)
    if alpha is not None:
        profile = alpha * _ordinal_profile(totals, n) + (1.0 - alpha) * profile
    values = profile.mean(axis=1)
    to_share = totals.full / scope.counts()[n] - game(())
    return ExactValues(
        values,
        value,
        totals.n_evaluations,
        time.perf_counter() - began,
        profile if position_profile else None,
        float(values.sum() - to_share),
        uniform,
        game.player_labels,
    )


class ExactPlan(NamedTuple):
    """How values are enumerated: arguments of `check_cost` and `enumerate_game`."""

    scope: Scope
    n_jobs: int | None
    limit: float
    asked: bool


def plan_exact(
    game: Game,
    value: str,
    partition: Any,
    case: str | None,
    alpha: float | None,
    order_weight: Callable[..., Any] | None,
    by: str | None,
    n_jobs: int | None,
    max_seconds: float | None,
) -> ExactPlan:
    """Check all arguments of `exact_values`, and what it would cost, before any work."""
    check_game("game", game)
    choose("value", value, EXACT_VALUES)
    check_n_jobs(n_jobs)
    check_options(value, partition, case, alpha, order_weight)
    if by is not None:
        choose("by", by, WAYS)
        if value != "classic":
            raise ValueError(f"by goes with value='classic', not with {value!r}")
    if value == "classic":
        game._check_order_free()
    n = game.n_players
    if n > MOST_PLAYERS:
        raise ValueError(
            f"game has {n} players, whose subsets alone are more than 10^{int(n * math.log10(2))}: "
            "estimate the values with sample_values"
        )
    if n_jobs == -1 and not game._runs_in_parallel:
        n_jobs = None
    scope = make_scope(game, value, partition, case, by)
    limit, asked = as_limit(max_seconds), max_seconds is not None
    game._expect_walks()
    try:
        with game._listening():
            check_cost(game, value, scope, n_jobs, limit, asked)
    except UtilityError as error:
        game._report(error)
    return ExactPlan(scope, n_jobs, limit, asked)


def enumerate_or_report(
    game: Game, scope: Scope, wanted: Wanted, n_jobs: int | None, progress: bool
) -> Totals:
    """Walk all sequences of `scope`; an error names the sequence at fault."""
    try:
        with game._listening():
            return enumerate_game(game, scope, wanted, n_jobs, progress)
    except UtilityError as error:
        game._report(error)


def _marginal_profile(totals: Totals, scope: Scope, weighted: bool) -> NDArray[np.float64]:
    """[i, k]: mean over the sets S of k players of what i adds to the orders of S."""
    n = scope.n_players
    orders = weighted or scope.kind != kernels.ALL  # each set's weights sum to 1
    sets = [math.comb(n - 1, k) if orders else math.perm(n - 1, k) for k in range(n)]
    return np.asarray(totals.marginals.T / np.array(sets, float))


def _ordinal_profile(totals: Totals, n: int) -> NDArray[np.float64]:
    """[i, k]: mean over the sets S of k players of what i adds to the mean utility of the orders of S."""
    subsets = np.arange(2**n)
    sizes = sum((subsets >> i & 1 for i in range(n)), np.zeros(2**n, np.int64))
    means = totals.subset_sums / np.array([math.factorial(k) for k in range(n + 1)], float)[sizes]
    profile = np.empty((n, n))
    for i in range(n):
        without = subsets[subsets >> i & 1 == 0]
        gains = means[without | 1 << i] - means[without]
        profile[i] = np.bincount(sizes[without], gains, n)
        profile[i] /= [math.comb(n - 1, k) for k in range(n)]
    return profile
