"""Evaluations before the first permutation of a run: models of all rows, a pilot, targets of rules."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import numpy as np

from ordinal_shapley.common.parallel import n_workers, running
from ordinal_shapley.common.progress import ProgressBar
from ordinal_shapley.games.base import Game, UtilityError
from ordinal_shapley.sampling.checkpoint import Scores
from ordinal_shapley.sampling.pilot import (
    Look,
    look,
    pilot_places,
    pilot_plan,
    pilot_sizes,
    score_plan,
    with_probabilities,
)
from ordinal_shapley.sampling.plan import Plan
from ordinal_shapley.sampling.running import Clock
from ordinal_shapley.sampling.shards import with_baselines, workspace_of
from ordinal_shapley.sampling.truncation import TruncationRule
from ordinal_shapley_kernels.walks import NO_RULE

_BASELINE_ORDERS = 10
_TARGET_ORDERS = 20
# A mean over expensive full permutations may have a standard error of this share of it, and the target of a
# rule one of this share of its tolerance.
_NEAR_SCORE = 0.005
_NEAR_TARGET = 0.1
_FEW = 6  # permutations of a pilot that evaluate all sizes
_DEAR = 20.0  # the others leave out sizes that cost more than the maximum divided by this
# Shorter times are unreliable for a forecast.
_MIN_TIMED = 0.1


class Ahead:
    """Evaluates what a run needs first, within its time and with progress, and measures the time of fits."""

    def __init__(
        self,
        game: Game,
        rule: TruncationRule | None,
        n_jobs: int | None,
        clock: Clock,
        bar: ProgressBar,
        n_folds: int = 1,
    ) -> None:
        self._game, self._rule = game, rule
        self._n_folds = n_folds  # number of folds that share a pilot
        self._n_jobs, self._clock, self._bar = n_jobs, clock, bar
        self.evaluations = 0  # counted in the run's total
        # Seconds per unit of the game's relative costs, with all workers; None while unknown.
        self.pace: float | None = None
        self._full: dict[int, list[float]] = {}  # utilities of random full permutations, by game

    @contextmanager
    def _phase(self, what: str, unit: str, total: int, figure: str) -> Iterator[Callable[[int, int], None]]:
        """Show a piece of work, and raise if time is up at its end; yields a function to report progress."""
        clock, bar, began = self._clock, self._bar, time.monotonic()
        done = 0
        self._show(unit, total, figure)

        def tick(n_done: int, n_evaluations: int) -> None:
            nonlocal done
            done = n_done
            bar.update(n_done, self.evaluations + n_evaluations, clock.seconds())

        yield tick
        clock.note(what if done == total else f"{what}, {done} of {total} done", began)
        clock.check(0)

    def _show(self, unit: str, total: int, figure: str) -> None:
        clock = self._clock
        self._bar.begin(
            unit,
            total,
            figure,
            evaluations=self.evaluations,
            seconds=clock.seconds(),
            max_seconds=clock.max_seconds,
        )

    def _looks(self, plan: Plan, game: Game, indices: range, tick: Callable[[int, int], None]) -> list[Look]:
        """Look at permutations, with all workers; if fewer are returned, time is up.

        `tick` gets the index of the next one and the evaluations so far.
        """
        from joblib import delayed

        cancellation = self._clock.cancellation()
        arguments = (cancellation, len(plan), *plan, *game._payload)
        tasks = (delayed(look)(game._workspace_maker, index, *arguments) for index in indices)
        made: list[Look] = []
        evaluations = 0
        with running(tasks, self._n_jobs, game._prefer, cancellation) as results:
            for result in results:
                if isinstance(result, UtilityError):
                    raise result
                if result is None:
                    self._clock.end()
                    break
                made.append(result)
                evaluations += result.evaluations
                tick(indices.start + len(made), evaluations)
        seen = np.flatnonzero(plan.inclusion) + 1
        follows = np.diff(seen, prepend=-1) == 1
        costs = np.where(follows, game._relative_costs(seen, False), game._relative_costs(seen, True))
        seconds = sorted(one.seconds for one in made)
        if len(made) > 1 and sum(seconds) > _MIN_TIMED:
            # The quickest, for kernels may be compiled in the first.
            self.pace = seconds[0] / (n_workers(self._n_jobs) * float(costs.sum()))
        return made

    def scores(self, game: Game, seed: int) -> Scores:
        """Return the scores of the model of all rows and of the baseline; None if players own no rows."""
        count, score = -(-game.scored_orders // self._n_folds), None
        if not count:
            return None, None
        what = "the score of the model of all rows"
        with self._phase(what, "models", count, "scoring the model of all rows") as tick:
            # In random orders, as the given order may be sorted. A model that fails here need not fail in the
            # run.
            with suppress(RuntimeError, UtilityError), game._listening():
                made = self._full_utilities(game, seed, count, _NEAR_SCORE, lambda done: tick(done, 0))
                score = float(np.mean(made)) if made else None
            tick(count, 0)
        return score, game.baseline_score

    def _full_utilities(
        self, game: Game, seed: int, max_count: int, tolerance: float, tick: Callable[[int], None]
    ) -> list[float]:
        """Return utilities of random full permutations, which are independent of the run's.

        There are `max_count`, or fewer if they are expensive and the relative standard error of their mean is
        within `tolerance`. Fewer still if time is up.
        """
        found = self._full.setdefault(id(game), [])
        cost = float(game._relative_costs(np.array([game.n_players]), jump=True)[0])
        few = max(1 if game.order_free or self._n_folds > 1 else 2, int(min(max_count, game._much / cost)))
        for count in (min(max_count, few), max_count):
            start, plan = len(found), score_plan(game, seed)
            if start < count:
                made = self._looks(plan, game, range(start, count), lambda done, _: tick(done))
                found += [float(one.utilities[-1]) for one in made]
            scored = found[:count]
            error = float(np.std(scored, ddof=1)) / math.sqrt(count) if len(scored) > 1 else 0.0
            if len(scored) < count or error <= tolerance * abs(float(np.mean(scored))):
                break
        return scored

    def plan(self, plan: Plan) -> Plan:
        """Add the target of the truncation rule and control variates to a plan."""
        if self._rule is not None:
            plan = self._rule.prepare(plan, self)
        if plan.in_out and plan.design.own_baselines and not len(plan.baselines):
            # Rows of a Latin square depend on one another, so they cannot provide control variates.
            figure = "scoring full permutations for control variates"
            with self._phase("control variates", "orders", _BASELINE_ORDERS, figure) as tick:
                cancellation = self._clock.cancellation()
                make_workspace, payload = self._game._workspace_maker, self._game._payload
                workspace = workspace_of(plan, cancellation, make_workspace, payload)
                plan, more = with_baselines(plan, workspace, 0, _BASELINE_ORDERS, cancellation)
                tick(0 if cancellation.time_is_up else _BASELINE_ORDERS, more)
            self.evaluations += more
        return plan

    def prepared(self, plan: Plan) -> Game:
        """Return the game, with starting points for fits if the plan evaluates distant prefixes."""
        clock, bar = self._clock, self._bar
        if plan.in_out < 1.0 or not len(plan.inclusion):
            return self._game

        def tick(done: int, total: int) -> bool:
            if done == 0:
                self._show("models", total, "fitting starting points for other model fits")
            bar.update(done, self.evaluations, clock.seconds())
            return not clock.time_is_up

        return self._game._for_jumps(tick, pilot_places(plan) if len(plan.factors) else None)

    def with_inclusion(self, plan: Plan, count: int, min_probability: float) -> Plan:
        """Give a plan inclusion probabilities, after a pilot of `count` permutations."""
        if len(plan.inclusion):  # from a checkpoint
            return plan
        game = self._game
        count = min(count, max(_FEW, -(-count // self._n_folds)))
        sizes = pilot_sizes(pilot_places(plan), plan.in_out < 1.0)
        figure = f"pilot: choosing inclusion probabilities by {len(sizes)} sizes of {count:,} permutations"
        # The largest sizes can take most of the time, and a few permutations of them are enough.
        costs = game._relative_costs(sizes, jump=plan.in_out == 1.0)
        few, cheap = min(_FEW, count), int((costs <= costs.max() / _DEAR).sum()) or len(sizes)
        with self._phase("the pilot", "pilot orders", count, figure) as tick:
            made = self._looks(pilot_plan(plan, sizes), game, range(few), tick)
            if len(made) == few:
                so_far = sum(one.evaluations for one in made)
                made += self._looks(
                    pilot_plan(plan, sizes[:cheap]),
                    game,
                    range(few, count),
                    lambda done, evaluations: tick(done, so_far + evaluations),
                )
        self.evaluations += sum(one.evaluations for one in made)
        return with_probabilities(plan, game, made, min_probability)

    def score_target(self, target: str, tol: float, seed: int) -> float:
        """Return the full score for a rule with this tolerance."""
        game = self._game
        count = 1 if target == "given" else _TARGET_ORDERS
        figure = "scoring full permutations for the truncation rule"
        with self._phase("the full score for the truncation rule", "orders", count, figure) as tick:
            if target == "given":
                scored = [game(np.arange(game.n_players))]
            else:
                near = _NEAR_TARGET * tol
                scored = self._full_utilities(game, seed, count, near, lambda done: tick(done, done))
            if not self._clock.time_is_up:
                tick(count, len(scored))
        self.evaluations += len(scored)
        return float(np.mean(scored))

    def expected(self, plan: Plan, n_permutations: int | None) -> float | None:
        """Return the approximate seconds for a number of permutations, None if unknown."""
        if self.pace is None or n_permutations is None or plan.rule != NO_RULE:
            return None
        sizes = np.arange(1, plan.longest + 1)
        systematic = plan.in_out == 1.0 and bool(len(plan.inclusion))
        costs = self._game._relative_costs(sizes, systematic)
        cost = float((costs * plan.inclusion[: plan.longest]).sum() if len(plan.inclusion) else costs.sum())
        return self.pace * cost * n_permutations
