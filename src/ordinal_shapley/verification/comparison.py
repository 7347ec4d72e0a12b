"""Estimates against exact values: the bias of the sampling method, and noise."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common.arguments import number
from ordinal_shapley.common.compiling import says_when_compiling
from ordinal_shapley.common.frames import as_index
from ordinal_shapley.common.progress import ProgressBar
from ordinal_shapley.exact.enumeration import Scope, Wanted, enumerate_game
from ordinal_shapley.exact.plan import Budget, check_cost, plan_exact, tabulate_weights, times_factorials
from ordinal_shapley.exact.values import ExactValues, exact_values
from ordinal_shapley.games.base import Game, check_game
from ordinal_shapley.games.table import TableGame
from ordinal_shapley.sampling.ahead import Ahead
from ordinal_shapley.sampling.driver import sample_values
from ordinal_shapley.sampling.plan import Plan, make_plan
from ordinal_shapley.sampling.running import Clock
from ordinal_shapley.sampling.sampler import PermutationSampler
from ordinal_shapley.sampling.stopping import StoppingRule
from ordinal_shapley.sampling.truncation import TruncationRule
from ordinal_shapley.valuation.result import Valuation
from ordinal_shapley.values import Value, as_value
from ordinal_shapley.verification.expectation import Utilities, expectation
from ordinal_shapley_kernels import enumeration as kernels

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_PERMUTATIONS = 5_000
# 10! orders take seconds, and their utilities 80 MB; 11! take minutes and 1 GB.
_MAX_PLAYERS = 10
# Differences of values below this share of the largest are rounding errors.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class Verification:
    """Exact values and estimates, with the error of each estimate split into bias and noise.

    The *bias* is the expectation of the estimate minus the exact value; more permutations do not reduce it.
    The *noise* is the rest, due to the permutations that were drawn; the standard error is its expected size.
    All arrays have one number for each player.

    Attributes
    ----------
    exact_values : ExactValues
        The exact values, with the number of evaluations and the time.
    valuation : Valuation
        The estimate, with the settings of the run.
    expected : ndarray of float64, shape (n_players,)
        The exact expectation of the estimate. NaN if it is not known.
    class_bias, truncation_bias : ndarray of float64, shape (n_players,)
        The two parts of the bias: from drawing only a share of each class, and from ending permutations
        early.
    level : float
        Level of the confidence intervals.
    note : str
        Why ``expected`` is not known; "" if it is.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> game = osv.TableGame(2, {(0,): 1.0, (0, 1): 1.0, (1,): 0.5, (1, 0): 2.0})
    >>> result = osv.verify(game, "partial_ordinal", n_permutations=1000, random_state=0)
    >>> result.exact, result.bias
    (array([1.25, 0.25]), array([0., 0.]))
    >>> bool(abs(result.z).max() < 3)
    True
    """

    exact_values: ExactValues
    valuation: Valuation
    expected: NDArray[np.float64]
    class_bias: NDArray[np.float64]
    truncation_bias: NDArray[np.float64]
    level: float
    note: str

    @property
    def exact(self) -> NDArray[np.float64]:
        """The exact values."""
        return self.exact_values.values

    @property
    def estimate(self) -> NDArray[np.float64]:
        """The estimates."""
        return self.valuation.values

    @property
    def stderr(self) -> NDArray[np.float64]:
        """Standard errors of the estimates."""
        return self.valuation.stderr

    @property
    def error(self) -> NDArray[np.float64]:
        """Estimates minus exact values: bias plus noise."""
        return self.estimate - self.exact

    @property
    def bias(self) -> NDArray[np.float64]:
        """The expectation of the estimates minus exact values."""
        return self.expected - self.exact

    @property
    def noise(self) -> NDArray[np.float64]:
        """Estimates minus their expectation."""
        return self.estimate - self.expected

    @property
    def z(self) -> NDArray[np.float64]:
        """Noise divided by standard error, about normal if standard errors are right.

        Without noise 0, infinite where there is noise but the standard error is 0.
        """
        noise = np.where(np.abs(self.noise) <= self._rounding, 0.0, self.noise)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where((noise == 0) & (self.stderr == 0), 0.0, noise / self.stderr)

    @property
    def holds_expected(self) -> NDArray[np.bool_]:
        """Whether each CI contains the expectation of the estimate; False where there is none."""
        return self._holds(self.expected)

    @property
    def holds_exact(self) -> NDArray[np.bool_]:
        """Whether each CI contains the exact value; False where there is none."""
        return self._holds(self.exact)

    @property
    def coverage(self) -> float:
        """Share of the CIs that contain the expectation of the estimate; NaN if either is unknown."""
        known = ~np.isnan(self.stderr) & ~np.isnan(self.expected)
        return float(self.holds_expected[known].mean()) if known.any() else math.nan

    @property
    def coverage_of_exact(self) -> float:
        """Share of the CIs that contain the exact value; NaN if there are none."""
        known = ~np.isnan(self.stderr)
        return float(self.holds_exact[known].mean()) if known.any() else math.nan

    @property
    def rank_correlation(self) -> float:
        """Spearman's, of estimates and exact values, mean ranks for ties; NaN if either are all equal."""
        known = np.isfinite(self.estimate)
        ranks = [_ranks(values[known], self._rounding) for values in (self.exact, self.estimate)]
        if any(len(np.unique(one)) < 2 for one in ranks):
            return math.nan
        return float(np.asarray(np.corrcoef(ranks))[0, 1])

    @property
    def _rounding(self) -> float:
        """Difference that may be due to rounding."""
        return _rounding(self.exact, self.estimate)

    def _holds(self, centre: NDArray[np.float64]) -> NDArray[np.bool_]:
        low, high = self.valuation.confidence_interval(self.level, errors="monte_carlo")
        return (low - self._rounding <= centre) & (centre <= high + self._rounding)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per player, indexed by name.

        Returns
        -------
        pandas.DataFrame
            With columns exact, expected, estimate, stderr, ci_low, ci_high, error, bias, class_bias,
            truncation_bias, noise, z, holds_expected and holds_exact.
        """
        import pandas as pd

        low, high = self.valuation.confidence_interval(self.level, errors="monte_carlo")
        names = ["exact", "expected", "estimate", "stderr", "error", "bias", "class_bias", "truncation_bias"]
        names += ["noise", "z", "holds_expected", "holds_exact"]
        index = as_index(self.valuation.player_names)
        frame = pd.DataFrame({name: getattr(self, name) for name in names}, index=index)
        frame.insert(4, "ci_low", low)
        frame.insert(5, "ci_high", high)
        return frame

    def __len__(self) -> int:
        return len(self.exact)

    def __repr__(self) -> str:
        valuation = self.valuation
        bias, z = (_largest(values) for values in (self.bias, self.z))
        return (
            f"Verification({len(self)} players, kind={valuation.kind!r}, sampler={valuation.sampler!r}, "
            f"n_permutations={valuation.n_permutations}, largest bias {bias:.3g}, largest z {z:.3g}, "
            f"coverage {self.coverage:.3g}, rank correlation {self.rank_correlation:.3g})"
        )


@says_when_compiling
def verify(
    game: Game,
    value: Value | str = "ordinal",
    method: PermutationSampler | str = "auto",
    *,
    stopping: StoppingRule | None = None,
    n_permutations: int | None = None,
    first_permutation: int = 0,
    random_state: Any = None,
    level: float = 0.95,
    n_jobs: int | None = -1,
    progress: bool = False,
    max_seconds: float | None = None,
) -> Verification:
    r"""Estimate the values of a small game and compare them with the exact ones.

    Parameters
    ----------
    game : Game
        For example a `TableGame`; small enough for `exact_values`.
    value, method, first_permutation, random_state
        As in `sample_values`.
    stopping : StoppingRule, optional
        As in `sample_values`. With a rule that depends on the estimate, noise differs a little from the
        standard errors.
    n_permutations : int, optional
        Number of permutations; 5,000 by default, without ``stopping``.
    level : float, default 0.95
        Level of the confidence intervals.
    n_jobs, progress, max_seconds
        As in `exact_values`.

    Returns
    -------
    Verification
        Exact values and estimates, with the error of each split into bias and noise.

    Raises
    ------
    TypeError, ValueError, RuntimeError
        As in `exact_values` and `sample_values`, which also list the warnings.

    Notes
    -----
    "auto" and "mc" are unbiased, also with size weights: the expectation of their estimates is the exact
    value. For other samplers the expectation is the mean over all ordered selections of players that can be
    drawn, at most :math:`n!`, each truncated by the rule. The mean target of `PatienceTruncation` depends on
    the seed; it is that of the run.

    This needs the utility of every sequence (for the classic value: of every set), and is done for up to 10
    players. For more, or if it would take longer than ``max_seconds``, expectation, bias and noise are NaN
    and ``note`` says why.

    With class sampling and ``average="all"`` a player counts as 0 when it is not drawn, so most of the bias
    is a factor, the share of its class that is drawn. With ``average="selected"`` the other part remains:
    sets of players that are too large are never drawn.

    Examples
    --------
    Three players who each add a fixed amount. A permutation that begins with the first one has reached the
    utility of all three at once, and ends: in a third of the permutations the other two count 0.

    >>> import ordinal_shapley as osv
    >>> added = [1.0, 3.0, -3.0]
    >>> game = osv.FunctionGame(lambda sequence: sum(added[i] for i in sequence), n_players=3)
    >>> result = osv.verify(game, "partial_ordinal", "tmc", n_permutations=500, random_state=0)
    >>> result.to_frame()[["exact", "expected", "bias"]].round(6)
       exact  expected  bias
    0    1.0       1.0   0.0
    1    3.0       2.0  -1.0
    2   -3.0      -2.0   1.0
    >>> bool(abs(result.z).max() < 3)
    True
    """
    level = number("level", level, above=0, below=1)
    if n_permutations is None and stopping is None:
        n_permutations = DEFAULT_PERMUTATIONS
    check_game("game", game)
    kind = as_value(value)
    scope, budget = plan_exact(game, kind, n_jobs, max_seconds)
    valuation = sample_values(
        game,
        kind,
        method,
        stopping=stopping,
        n_permutations=n_permutations,
        first_permutation=first_permutation,
        random_state=random_state,
        n_jobs=budget.n_jobs,
        progress=progress,
    )

    played = kind.played(game)
    plan, rule = _drawn_by(played, valuation)
    everyone = bool(plan.quota.sum() == game.n_players)
    unbiased = everyone and rule is None
    note = "" if unbiased else _why_unknown(played, kind, scope, budget)
    began = time.perf_counter()
    utilities, enumerated = None, game
    if not unbiased and not note:
        utilities = _tabulate(played, kind, scope, budget, progress)
        if not utilities.by_set and played is game:
            enumerated = TableGame.from_array(game.n_players, utilities.values)
    exact = exact_values(
        enumerated,
        kind,
        n_jobs=budget.n_jobs,
        progress=progress and enumerated is game,
        max_seconds=math.inf,
    )
    exact = replace(exact, player_names=game.player_names, seconds=time.perf_counter() - began)
    # Expectations without and with truncation; exact values where full permutations are sampled.
    whole = np.full(len(exact), math.nan) if note else exact.values
    if utilities is not None and not everyone:
        whole = _settle(expectation(utilities, plan, None), exact.values)
    expected = whole
    if utilities is not None and rule is not None:
        expected = _settle(expectation(utilities, plan, rule), exact.values)
    return Verification(exact, valuation, expected, whole - exact.values, expected - whole, level, note)


def _drawn_by(game: Game, valuation: Valuation) -> tuple[Plan, TruncationRule | None]:
    """Return the plan of the run of this game, and its truncation rule if that is biased."""
    sampler = valuation.sampler
    plan = make_plan(game, valuation.kind, sampler, False)._replace(seed=valuation.seed)
    rule = sampler.rule
    if rule is None or not rule.bias:
        return plan, None
    ahead = Ahead(game, rule, 1, Clock(time.monotonic(), None), ProgressBar(enabled=False))
    with game._listening():
        return rule.prepare(plan, ahead), rule


def _why_unknown(game: Game, value: Value, scope: Scope, budget: Budget) -> str:
    """Why the expectation of the estimate is not computed; "" if it is."""
    n = game.n_players
    if n > _MAX_PLAYERS:
        return f"the orders of {n} players are too many to go through all of them (up to {_MAX_PLAYERS} are)"
    if scope.kind != kernels.ALL and not value.order_free:  # the exact values need far fewer sequences
        try:
            check_cost(game, value, _all_sequences(n), budget)
        except ValueError as error:
            return str(error)
    return ""


def _all_sequences(n: int) -> Scope:
    return Scope.of(kernels.ALL, np.zeros(n, np.int64), n)


def _tabulate(game: Game, value: Value, scope: Scope, budget: Budget, progress: bool) -> Utilities:
    """Evaluate all sequences; if order does not matter, one of each set."""
    n = game.n_players
    by_set = value.order_free
    if not by_set:
        scope = _all_sequences(n)
    totals = enumerate_game(game, scope, Wanted(by_set, not by_set), budget.n_jobs, progress)
    game._warn_unconverged(totals.unconverged)
    defined = np.ones(2**n, bool)
    kernels.mark_defined(game._make_workspace(), kernels.Sets(defined=defined), n)
    weights = np.zeros(0)
    weighing = tabulate_weights(value, n, budget)
    if weighing is not None:
        weights = times_factorials(weighing[0], n)
    return Utilities(totals.subset_sums if by_set else totals.utilities, defined, weights)


def _settle(expected: NDArray[np.float64], exact: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return expectations, replaced by the exact values where only rounding separates them."""
    return np.where(np.abs(expected - exact) <= _rounding(exact, expected), exact, expected)


def _rounding(*values: NDArray[np.float64]) -> float:
    sizes = np.abs(np.concatenate(values))
    return _ROUNDING * float(np.max(sizes[~np.isnan(sizes)]))


def _ranks(values: NDArray[np.float64], rounding: float) -> NDArray[np.float64]:
    """Return ranks from 1, the mean rank for values that are equal within rounding."""
    from scipy.stats import rankdata

    order = np.argsort(values)
    steps = np.zeros(len(values), np.int64)
    steps[order[1:]] = np.cumsum(np.diff(values[order]) > rounding)
    return np.asarray(rankdata(steps), np.float64)


def _largest(values: NDArray[np.float64]) -> float:
    """Return the number with the largest absolute value; NaN if there is none."""
    known = values[~np.isnan(values)]
    return float(known[np.argmax(np.abs(known))]) if known.size else math.nan
