"""Exact values by compiled enumeration."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common.compiling import says_when_compiling
from ordinal_shapley.common.frames import as_index
from ordinal_shapley.exact.enumeration import Wanted, enumerate_game
from ordinal_shapley.exact.plan import plan_exact, tabulate_weights
from ordinal_shapley.games.base import Game, check_game
from ordinal_shapley.values import Value, as_value

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class ExactValues:
    """Exact values of all players.

    Attributes
    ----------
    values : ndarray of float64, shape (n_players,)
        The value of each player.
    kind : Value
        Which value it is, such as `Ordinal`.
    n_evaluations : int
        Utilities evaluated, that of the empty sequence included.
    seconds : float
        Time taken.
    position_profile : ndarray of float64, shape (n_players, n_players), or None
        ``[i, k]``: expected marginal contribution of player i at position k (from 0); the mean over k,
        weighted by size weights if there are any, is the value. Only with ``position_profile=True``.
    efficiency_gap : float
        Sum of the values minus v(N) - v(empty), with v(N) the mean utility of full permutations. 0 up to
        rounding, except for `WeightedOrdinal` and size weights.
    uniform_weight : bool or None
        For `WeightedOrdinal`: whether ``order_weight`` gives all orders of a set the same weight.
    player_names : ndarray or None
        Names of the players.
    model : str or None
        In words, the model that was fitted and whether it is compiled; None for games without one.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> result = osv.exact_values(osv.TableGame(2, {(0, 1): 1.0}, names=["ann", "bob"]))
    >>> result
    ExactValues(2 players, kind=Ordinal(), n_evaluations=5)
    >>> result.to_frame()
         value  rank
    ann   0.25     1
    bob   0.25     2
    """

    values: NDArray[np.float64]
    kind: Value
    n_evaluations: int
    seconds: float
    position_profile: NDArray[np.float64] | None
    efficiency_gap: float
    uniform_weight: bool | None
    player_names: NDArray[Any] | None
    model: str | None

    def __len__(self) -> int:
        return len(self.values)

    def ranking(self) -> NDArray[np.intp]:
        """Return the players from the highest value to the lowest, ties in order."""
        return np.argsort(-self.values, kind="stable")

    def to_frame(self) -> pd.DataFrame:
        """Return one row per player, indexed by ``player_names``.

        Returns
        -------
        pandas.DataFrame
            With columns value and rank, 1 for the highest value.
        """
        import pandas as pd

        columns = {"value": self.values, "rank": np.argsort(self.ranking()) + 1}
        return pd.DataFrame(columns, index=as_index(self.player_names))

    def __repr__(self) -> str:
        model = "" if self.model is None else f", model={self.model!r}"
        return (
            f"ExactValues({len(self)} players, kind={self.kind!r}, n_evaluations={self.n_evaluations}{model})"
        )


@says_when_compiling
def exact_values(
    game: Game,
    value: Value | str = "ordinal",
    *,
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
    value : Value or {"ordinal", "partial_ordinal", "classic"}, default "ordinal"
        Which value: `Ordinal`, `PartialOrdinal`, `Classic` (for games in which order does not matter: one
        sequence of each set of players is evaluated), `Blend` or `WeightedOrdinal`.
    position_profile : bool, default False
        Also return the expected marginal contribution of each player at each position.
    n_jobs : int, optional
        Workers, as in joblib; every core by default, for plain Python functions one. Results are
        bit-identical for any number.
    progress : bool, default False
        Show a progress bar on stderr.
    max_seconds : float, optional
        Refuse to start if a short probe predicts a longer time; an hour by default, ``inf`` for no limit. The
        probe evaluates some sequences once more; without ``max_seconds`` games of up to 400 sequences have
        none.

    Returns
    -------
    ExactValues
        The values, with the number of evaluations and the time.

    Raises
    ------
    TypeError, ValueError
        If an argument cannot be used, the weights of `WeightedOrdinal` do not sum to 1, a utility is not
        finite, or the work would take longer than ``max_seconds`` or more memory than available (the message
        says how much, and what to do instead).
    RuntimeError
        If the function of a `FunctionGame` raises or the model of an `EstimatorGame` fails. The message names
        the sequence.

    Warns
    -----
    UserWarning
        If the game depends on orders that do not matter according to the partition of `PartialOrdinal`, or
        ``order_free=True`` of a `FunctionGame`.

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
    array([37., 10., 19.])
    >>> 18 * osv.exact_values(game, "partial_ordinal").values
    array([39., 12., 15.])
    """
    began = time.perf_counter()
    check_game("game", game)
    kind = as_value(value)
    scope, budget = plan_exact(game, kind, n_jobs, max_seconds)
    n = game.n_players
    weighing = tabulate_weights(kind, n, budget)
    kind.try_game(game)
    wanted = Wanted(kind.needs_mean_utilities)
    if weighing is not None:
        wanted = wanted._replace(weights=weighing[0])
    totals = enumerate_game(game, scope, wanted, budget.n_jobs, progress)
    game._warn_unconverged(totals.unconverged)
    profile = kind.profile(totals, scope)
    weights = kind.by_size(n)
    values = profile @ weights if len(weights) else profile.mean(axis=1)
    to_share = totals.full / scope.counts()[n] - game(())
    return ExactValues(
        values,
        kind,
        totals.n_evaluations,
        time.perf_counter() - began,
        profile if position_profile else None,
        float(values.sum() - to_share),
        None if weighing is None else weighing[1],
        game.player_names,
        game.model,
    )
