"""What a run drew, and from what: classes, rule and the utilities of all sequences, for `expectation`."""

from __future__ import annotations

import time

import numpy as np

from ordinal_shapley.common.progress import ProgressBar
from ordinal_shapley.exact.enumeration import Scope, Wanted, enumerate_game
from ordinal_shapley.exact.plan import Budget, check_cost, tabulate_weights, times_factorials
from ordinal_shapley.games.base import Game
from ordinal_shapley.sampling.ahead import Ahead
from ordinal_shapley.sampling.plan import Plan
from ordinal_shapley.sampling.running import Clock
from ordinal_shapley.valuation.result import Valuation
from ordinal_shapley.values import Value
from ordinal_shapley.verification.expectation import Drawn, Utilities
from ordinal_shapley_kernels import enumeration as kernels

# 10! orders take seconds, and their utilities 80 MB; 11! take minutes and 1 GB.
_MAX_PLAYERS = 10


def drawn_by(game: Game, valuation: Valuation) -> Drawn:
    """Return what a run drew of the game that it evaluated, and how it credited players."""
    sampler, kind = valuation.sampler, valuation.kind
    members, starts, quota = sampler.draw_from(game)
    classes = np.empty(game.n_players, np.int64)
    classes[members] = np.repeat(np.arange(len(quota)), np.diff(starts))
    drawn = Drawn(
        classes,
        quota,
        in_out=kind.in_out(sampler.contribution_to(kind)),
        selected=sampler.average == "selected",
    )
    rule = sampler.rule
    if rule is None or not rule.bias:
        return drawn
    ahead = Ahead(game, rule, 1, Clock(time.monotonic(), None), ProgressBar(enabled=False))
    plan = Plan(members, starts, quota, game.player_sizes, valuation.seed, False, 0.0)
    with game._listening():
        return drawn._replace(rule=rule, target=rule.prepare(plan, ahead).target)


def why_unknown(game: Game, value: Value, scope: Scope, budget: Budget) -> str:
    """Why the expectation of what is sampled is not computed; "" if it is."""
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


def tabulate(game: Game, value: Value, scope: Scope, budget: Budget, progress: bool) -> Utilities:
    """Evaluate all sequences; where order plays no part, one of each set."""
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
