"""Cost of an exact value: sequences, weights, time and memory."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common import arguments
from ordinal_shapley.common.arguments import errors_begin_with
from ordinal_shapley.common.parallel import check_memory, check_n_jobs, n_workers
from ordinal_shapley.exact.enumeration import (
    MAX_PLAYERS,
    Scope,
    Wanted,
    enumerate_game,
    reporting,
    seconds_per_evaluation,
)
from ordinal_shapley.games.base import Game
from ordinal_shapley.report.text import duration
from ordinal_shapley.values.base import TOLERANCE, Value
from ordinal_shapley.values.weighted_ordinal import WeightedOrdinal, check_sum
from ordinal_shapley_kernels import enumeration as kernels
from ordinal_shapley_kernels.table import subtree_sizes

# Up to this number of utilities no time is estimated.
_FREE_EVALUATIONS = 400
_MAX_SECONDS = 3600.0


class Budget(NamedTuple):
    """Workers and time that an enumeration may use."""

    n_jobs: int | None
    limit: float  # seconds
    given: bool  # whether the limit was given

    @classmethod
    def of(cls, n_jobs: Any, max_seconds: Any) -> Budget:
        """Check the arguments; the default is an hour."""
        check_n_jobs(n_jobs)
        if max_seconds is None:
            return cls(n_jobs, _MAX_SECONDS, False)
        if max_seconds != math.inf:
            max_seconds = arguments.number("max_seconds", max_seconds, above=0.0)
        return cls(n_jobs, max_seconds, True)

    def on(self, game: Game) -> Budget:
        """Return one that uses every core only if the game benefits."""
        return self if self.n_jobs != -1 or game._runs_in_parallel else self._replace(n_jobs=None)


def plan_exact(game: Game, value: Value, n_jobs: Any, max_seconds: Any) -> tuple[Scope, Budget]:
    """Check all arguments of `exact_values`, and the cost, before any work."""
    budget = Budget.of(n_jobs, max_seconds).on(game)
    value.check(game)
    n = game.n_players
    if n > MAX_PLAYERS:
        raise ValueError(
            f"game has {n} players, whose subsets alone are more than 10^{int(n * math.log10(2))}: "
            "estimate the values with sample_values"
        )
    scope = Scope.of(*value.enumerated(n), n)
    game._expect_walks()
    with reporting(game):
        check_cost(game, value, scope, budget)
    return scope, budget


def check_cost(game: Game, value: Value, scope: Scope, budget: Budget) -> None:
    """ValueError if the enumeration exceeds the time limit or the available memory."""
    n = game.n_players
    count = sum(scope.counts())
    instead = _instead(game, value, scope, count)
    if value.needs_mean_utilities:
        sets = 8 * 2**n * (2 * n_workers(budget.n_jobs) + 1)
        check_memory(sets, f"adding up the orders of {2**n:,} subsets", instead)
    if isinstance(value, WeightedOrdinal):
        # The table, and arrays for checking it.
        check_memory(32 * subtree_sizes(n)[n], f"the weights of {count:,} sequences", instead)
    check_time(game, scope, budget, f"the {value.name} value of {n} players", instead)


def check_time(game: Game, scope: Scope, budget: Budget, purpose: str, instead: str) -> None:
    """ValueError if walking `scope` would exceed the time limit; it says what to do `instead`."""
    n, count = game.n_players, sum(scope.counts())
    if count <= _FREE_EVALUATIONS and not budget.given:
        return
    pace = seconds_per_evaluation(game, scope)
    workers = max(1, min(n_workers(budget.n_jobs), n * (n - 1)))
    seconds = pace * count / workers
    if seconds > budget.limit:
        raise ValueError(
            f"{purpose} takes {_shown(count)} utilities, about {duration(seconds)} at "
            f"{pace:.2g} s each on {workers} worker{'s' if workers > 1 else ''}, more than max_seconds "
            f"({budget.limit:g}): {instead}"
        )


def _instead(game: Game, value: Value, scope: Scope, count: int) -> str:
    options = []
    n = game.n_players
    if game.order_free and 2**n < count:
        options.append(f"use value 'classic', because order does not matter ({2**n:,} utilities)")
    elif cheaper := value.instead(scope.kind == kernels.ALL):
        options.append(cheaper)
    options += ["estimate it with sample_values", "or raise max_seconds"]
    return ", ".join(options)


def _shown(count: int) -> str:
    return f"{count:,}" if count < 10**12 else f"about 10^{len(str(count)) - 1}"


def tabulate_weights(value: Value, n: int, budget: Budget) -> tuple[NDArray[np.float64], bool] | None:
    """Weights of all sequences of fewer than n players, in preorder, and whether they are uniform.

    None if the value has no weights.
    """
    game = value.weight_game(n)
    if game is None:
        return None
    if not game._runs_in_parallel:
        budget = budget._replace(n_jobs=None)
    scope = Scope.of(kernels.ALL, np.zeros(n, np.int64), n - 1)
    with errors_begin_with("order_weight: "):
        if n > 1:
            with reporting(game):
                check_cost(game, value, scope, budget)
        totals = enumerate_game(game, scope, Wanted(True, True), budget.n_jobs, False)
    worst = int(np.argmax(np.abs(totals.subset_sums[:-1] - 1.0)))
    check_sum(float(totals.subset_sums[worst]), tuple(i for i in range(n) if worst >> i & 1))
    scaled = times_factorials(totals.utilities, n)
    uniform = bool(np.all(np.abs(scaled[_lengths(n) < n] - 1.0) <= TOLERANCE))
    return totals.utilities, uniform


def times_factorials(weights: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Return |S|! q(S) for weights q of sequences in preorder: 1 for equal weights of all orders."""
    factorials = np.array([math.factorial(k) for k in range(n + 1)], np.float64)
    return np.asarray(weights * factorials[_lengths(n)])


def _lengths(n: int) -> NDArray[np.int8]:
    """Length of each sequence, in preorder."""
    lengths = np.zeros(1, np.int8)
    for k in range(1, n + 1):
        lengths = np.concatenate([np.zeros(1, np.int8), np.tile(lengths + np.int8(1), k)])
    return lengths
