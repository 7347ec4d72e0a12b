"""What a run drew, and from what: classes, rule and the utilities of all sequences, for `expectation`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ordinal_shapley.exact.enumeration import Scope, Wanted
from ordinal_shapley.exact.plan import check_cost, tabulate_weights, times_factorials
from ordinal_shapley.exact.values import ExactPlan, enumerate_or_report
from ordinal_shapley.games._rearranged import CASE_CODES, RearrangedGame
from ordinal_shapley.games.base import Game
from ordinal_shapley.sampling.ahead import target_score
from ordinal_shapley.sampling.plan import check_truncation, in_out_share, make_strata
from ordinal_shapley.valuation.result import Valuation
from ordinal_shapley.value_options import encode_partition
from ordinal_shapley.verification.expectation import Sampler, Utilities
from ordinal_shapley.vocabulary import CLASS_METHODS
from ordinal_shapley_kernels import enumeration as kernels

# 10! orders take seconds, and their utilities 80 MB; 11! take minutes and 1 GB.
_MOST_PLAYERS = 10


def played_game(game: Game, partition: Any, case: str | None) -> Game:
    """Return the game that is sampled: with a partition every sequence is worth what stands for it."""
    if partition is None:
        return game
    return RearrangedGame(game, encode_partition(partition, game.n_players), CASE_CODES[str(case)])


def sampler_of(game: Game, valuation: Valuation, alpha: float | None, options: dict[str, Any]) -> Sampler:
    """Return what a run drew, and how it credited players."""
    method = valuation.method
    members, starts, quota = make_strata(game, method, options["labels"], options["class_fraction"])
    classes = np.empty(game.n_players, np.int64)
    classes[members] = np.repeat(np.arange(len(quota)), np.diff(starts))
    rule = check_truncation(method, options["truncation"])
    if rule is not None and rule.rule == "roulette":
        rule = None  # it changes nothing in the mean
    return Sampler(
        classes,
        quota,
        rule,
        0.0 if rule is None else target_score(game, rule, valuation.seed),
        in_out_share(valuation.value, options["estimator"], alpha),
        valuation.average == "selected" and method in CLASS_METHODS,
    )


def why_unknown(game: Game, value: str, partition: Any, plan: ExactPlan) -> str:
    """Why the expectation of what is sampled is not computed; "" if it is."""
    n = game.n_players
    if n > _MOST_PLAYERS:
        return f"the orders of {n} players are too many to go through all of them (up to {_MOST_PLAYERS} are)"
    if partition is not None:  # the exact values need far fewer sequences
        try:
            check_cost(game, value, _all_sequences(n), plan.n_jobs, plan.limit, plan.asked)
        except ValueError as error:
            return str(error)
    return ""


def _all_sequences(n: int) -> Scope:
    return Scope.of(kernels.ALL, np.zeros(n, np.int64), n)


def tabulate(
    game: Game, value: str, order_weight: Callable[..., Any] | None, plan: ExactPlan, progress: bool
) -> Utilities:
    """Evaluate all sequences; for the classic value, one of each set."""
    n = game.n_players
    classic = value == "classic"
    scope = plan.scope if classic else _all_sequences(n)
    totals = enumerate_or_report(game, scope, Wanted(classic, not classic), plan.n_jobs, progress)
    game._warn_unconverged(totals.unconverged)
    defined = np.ones(2**n, bool)
    kernels.mark_defined(game._make_workspace(), kernels.Sets(defined=defined), n)
    weights = np.zeros(0)
    if order_weight is not None:
        q, _ = tabulate_weights(order_weight, n, plan.n_jobs, plan.limit, plan.asked)
        weights = times_factorials(q, n)
    return Utilities(totals.subset_sums if classic else totals.utilities, defined, weights)
