"""The Monte Carlo driver: plan, shards, stopping rule, result."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Any

import numpy as np

from ordinal_shapley import __version__
from ordinal_shapley.common.compiling import says_when_compiling
from ordinal_shapley.common.parallel import check_n_jobs
from ordinal_shapley.common.progress import ProgressBar
from ordinal_shapley.common.seeds import seed_of
from ordinal_shapley.games._rearranged import CASE_CODES, RearrangedGame
from ordinal_shapley.games.base import Game, UtilityError, check_game
from ordinal_shapley.sampling.ahead import Ahead
from ordinal_shapley.sampling.checkpoint import keeping
from ordinal_shapley.sampling.convergence import RelativeChange
from ordinal_shapley.sampling.plan import (
    Plan,
    check_design,
    check_first,
    check_profile,
    check_truncation,
    digest,
    in_out_share,
    make_strata,
    make_weight_game,
)
from ordinal_shapley.sampling.running import Clock, run_shards
from ordinal_shapley.sampling.shards import WeightError, prepare_kernels
from ordinal_shapley.sampling.state import State
from ordinal_shapley.sampling.stopping import MaxPermutations, StoppingRule
from ordinal_shapley.sampling.truncation import Truncation
from ordinal_shapley.valuation.moments import Moments
from ordinal_shapley.valuation.result import Valuation
from ordinal_shapley.value_options import check_options, check_order_free, check_symmetry, encode_partition
from ordinal_shapley.vocabulary import AVERAGES, CLASS_METHODS, EXACT_VALUES, METHODS, choose


@says_when_compiling
def sample_values(
    game: Game,
    value: str = "partial_ordinal",
    method: str = "mc",
    *,
    estimator: str | None = None,
    truncation: Truncation | None = None,
    labels: Any = None,
    class_fraction: float = 0.8,
    average: str = "all",
    design: str = "independent",
    partition: Any = None,
    case: str | None = None,
    alpha: float | None = None,
    order_weight: Callable[..., Any] | None = None,
    position_profile: bool = False,
    stopping: StoppingRule | None = None,
    n_permutations: int | None = None,
    first_permutation: int = 0,
    random_state: Any = None,
    n_jobs: int | None = None,
    checkpoint: str | PathLike[str] | None = None,
    progress: bool = False,
) -> Valuation:
    r"""Estimate the value of every player from random permutations.

    The partial ordinal Shapley value of player :math:`i` is the mean, over all orders of the players, of what
    :math:`i` adds when it joins the end of the sequence of those before it. It is estimated by the mean over
    random orders. The ordinal Shapley value lets :math:`i` enter at every place of that sequence; it is
    estimated from the utilities of the prefixes of the same random orders (see Notes).

    Parameters
    ----------
    game : Game
        For example a `LogisticGame`, a `TableGame` or a `FunctionGame`.
    value : {"partial_ordinal", "ordinal", "classic", "blend", "weighted_ordinal"}
        As for `exact_values`; "partial_ordinal" by default. "classic" is for a game whose order does not
        matter, where it agrees with the first two; it is refused for others.
    method : {"mc", "tmc", "cmc", "ctmc"}, default "mc"
        "mc": full random orders. "tmc": each walk ends when ``truncation`` says that little is left to gain;
        the players after it count 0. "cmc": random orders of a random subset with the share
        ``class_fraction`` of every class. "ctmc": both. All but "mc" are biased, see Notes; not so "tmc" with
        `Truncation.roulette`, which also is the best buy where the bias of others is not wanted.
    estimator : {"marginal", "in_out"}, optional
        "marginal": the mean marginal contribution, for "partial_ordinal" and "classic". "in_out": every
        prefix informs every player, for "ordinal" (its only estimator) and "classic". "blend" takes both.
    truncation : Truncation, optional
        For "tmc" and "ctmc"; `Truncation.paper` by default.
    labels : array-like of shape (n_players,), optional
        Class of each player for "cmc" and "ctmc"; by default what the game says.
    class_fraction : float, default 0.8
        For "cmc" and "ctmc": of a class of :math:`n_c` players,
        :math:`\max(1, \lfloor q n_c \rfloor)` are drawn.
    average : {"all", "selected"}, default "all"
        For "cmc" and "ctmc": the mean over all permutations, players not drawn counting 0, or for each player
        over those in which it was drawn. They differ by a factor that is the same within a class.
    design : {"independent", "antithetic", "latin"}, default "independent"
        How the permutations hang together. "antithetic": each is followed by its reverse. "latin": of each
        block of n_players permutations every player stands once at every place; for "mc" and "tmc". Each
        permutation by itself is as random as before, so nothing changes in what is estimated.
    partition : array-like of shape (n_players,), optional
        Group of each player, for a game in which only some orders matter; then give ``case``. For
        ``value="partial_ordinal"``.
    case : {"within", "between"}, optional
        "within": order matters inside groups only. "between": it matters across groups only. Every sequence
        is evaluated as the one that stands for it, see `exact_values`.
    alpha : float, optional
        For "blend": the share of the ordinal value.
    order_weight : callable, optional
        For "weighted_ordinal": ``q(sequence)``, as for `exact_values`; up to 171 players. That the weights of
        all orders of a set sum to 1 is checked for some small sets only. Weights far from uniform make
        standard errors large.
    position_profile : bool, default False
        Estimate the expected contribution of each player at each position, too; for "mc" and "tmc".
    stopping : StoppingRule, optional
        When to stop: `RelativeChange`, `MaxStandardError`, `RankStability`, `MaxPermutations`,
        `MaxEvaluations`, `MaxSeconds`, or some joined by ``|`` and ``&``. Rules of convergence are looked at
        where the index of a permutation passes a multiple of 100. With neither it nor ``n_permutations``:
        ``RelativeChange(0.05, window=100) | MaxPermutations(10_000)``.
    n_permutations : int, optional
        Number of permutations; with ``stopping`` given as well, either ends the run.
    first_permutation : int, default 0
        Index of the first permutation. Runs of the same seed over disjoint ranges can be pooled by
        `Valuation.merge`. With "in_out", a multiple of 10; with design "antithetic" of 2, with "latin" of
        n_players.
    random_state : None, int, numpy Generator or RandomState
        The same number gives the same bits for any ``n_jobs``.
    n_jobs : int, optional
        Workers, as in joblib: None is 1 unless `joblib.parallel_config` says otherwise, -1 is every core.
        They are threads, for an `EstimatorGame` processes.
    checkpoint : path-like, optional
        File to keep the run in. The same call goes on from there, however the run was ended, and comes to the
        bits of one that was never stopped. ``stopping``, ``n_permutations`` and ``n_jobs`` may be others: a
        run of 100 permutations goes on to 200. All that the file holds counts, also if it is more than
        ``n_permutations``; a rule of convergence that it was not written with looks back no further than to
        its end. With ``random_state=None`` the seed is that of the file. What is kept are shards of ten
        permutations; it can be read by `Valuation.load`.
    progress : bool, default False
        Show a bar on stderr: what is being done, how far it is and how long it will take. Where that is more
        than a minute, a line says what would be quicker.

    Returns
    -------
    Valuation
        Values, standard errors and how they came about.

    Raises
    ------
    TypeError, ValueError
        If an argument cannot be used; the message names it, and nothing has been computed by then. Or if a
        utility or weight is no finite number; the message names the permutation and the sequence.
    RuntimeError
        If the function of a `FunctionGame` or ``order_weight`` raises, or the model of an `EstimatorGame`
        fails; the message names the permutation and the sequence.
    KeyboardInterrupt
        At Ctrl-C, within a second (but for a Python function that takes longer), after the checkpoint was
        written.
    OSError
        If the checkpoint cannot be made. Later failures to write it are warnings.
    TimeoutError
        If `MaxSeconds` ends the run before its first permutation is complete; the message says what took the
        time.

    Warns
    -----
    UserWarning
        If truncation ended most walks at the first row that completes the classes (in other games: at the
        first player): the values then say little, and a smaller tolerance is called for. If the game turns
        out to depend on orders that ``partition`` and ``case``, or ``order_free=True`` of a
        `FunctionGame`, say do not matter. If there are no standard errors because a Latin design has fewer
        than two complete blocks.
    RuntimeWarning
        If models could not be brought to convergence, or the checkpoint could not be written.

    Notes
    -----
    Standard errors measure Monte Carlo noise about what the method samples. The bias of truncation (players
    after the end of a walk count 0) and of class sampling (no subset is larger than the share drawn) comes on
    top and does not shrink with more permutations.

    The ordinal Shapley value is the classic value of :math:`\bar U(S)`, the mean utility over the orders of
    :math:`S`, and a prefix of a random order is a random order of a random set. With :math:`U_s` the utility
    of the first :math:`s` of :math:`n` players, "in_out" averages

    .. math:: \tfrac1n (U_n - U_0) + \sum_{s=1}^{n-1} (U_s - c_s) A_{s,i}, \qquad
        A_{s,i} = \tfrac1s \text{ if } i \text{ is among the first } s \text{, else } -\tfrac1{n-s},

    with :math:`c_s` the mean of :math:`U_s` over the other permutations of a fixed set of ten (but for the
    reverse of this one; where there are no others, or they depend on this one as in a Latin design, over
    permutations of their own). It is unbiased, and the values sum to the mean of :math:`U_n - U_0` exactly.
    In a truncated walk the full utility (the permutation's own, or the target of `Truncation.patience`)
    stands in for what was not evaluated, so the bias is that of calling those utilities equal.

    "weighted_ordinal" averages :math:`|S|!\,q(S)` times the marginal contribution after the sequence
    :math:`S`, for an order of :math:`S` is drawn with probability :math:`1/|S|!`.

    A standard error is made of what is independent: of permutations, of pairs of an antithetic design, of the
    complete blocks of a Latin one (permutations of an incomplete last block count in the values only).

    References
    ----------
    J. Liu, P. Wang, C. Wu, "Data valuation: The partial ordinal Shapley value for machine learning",
    arXiv:2305.01660, Algorithms 1 to 3, and the first theorem for the ordinal value, whose approximation it
    leaves open.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> game = osv.LogisticGame([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1], [[0.5], [3.5]], [0, 1])
    >>> valuation = osv.sample_values(game, method="mc", n_permutations=200, random_state=0)
    >>> valuation.n_permutations, valuation.values.shape
    (200, (4,))
    """
    began = time.monotonic()
    check_game("game", game)
    prepare_kernels(game)
    choose("value", value, EXACT_VALUES)
    choose("method", method, METHODS)
    choose("average", average, AVERAGES)
    check_options(value, partition, case, alpha, order_weight)
    if value == "classic":
        game._check_order_free()
    n = game.n_players
    members, starts, quota = make_strata(game, method, labels, class_fraction)
    plan = Plan(
        members,
        starts,
        quota,
        game.player_sizes,
        seed=0,
        keep_chosen=average == "selected" and method in CLASS_METHODS,
        empty_value=0.0,
        design=check_design(design, method),
        in_out=in_out_share(value, estimator, alpha),
        profile=check_profile(position_profile, method, n),
    )
    rule = check_truncation(method, truncation)
    stop_rule = as_rule(stopping, n_permutations)
    check_n_jobs(n_jobs)
    first = check_first(first_permutation, plan)
    seed = None if random_state is None else seed_of(random_state)
    groups = None if partition is None else encode_partition(partition, n)
    clock = Clock(began, stop_rule)
    bar = ProgressBar(enabled=progress)
    game._expect_walks()
    with keeping(checkpoint) as keeper, bar:
        if seed is None:
            seed = seed_of(None) if keeper.seed is None else keeper.seed
        plan = plan._replace(seed=seed, weight_game=make_weight_game(order_weight, n))
        settings = {
            "version of ordinal-shapley": __version__,
            "random_state": seed,
            "first_permutation": first,
            "value": value,
            "method": method,
            "estimator or alpha": plan.in_out,
            "average": average,
            "design": design,
            "class_fraction or labels": (members, starts, quota),
            "truncation": repr(rule),
            "position_profile": plan.profile,
            "case": case,
            "partition": (groups,),
            "order_weight": () if plan.weight_game is None else plan.weight_game._identity,
            **game._settings,
        }
        described: dict[str, Any] = {
            "value": value,
            "method": method,
            "average": average,
            "design": design,
            "seed": seed,
        }
        keeper.begin(settings, game.player_labels, first, described)
        played = game
        if groups is not None:
            played = RearrangedGame(game, groups, CASE_CODES[str(case)])
            check_symmetry(game, groups, str(case))
        if value == "classic":
            check_order_free(game)
        plan = plan._replace(empty_value=played(()))
        ahead = Ahead(played, rule, n_jobs, clock, bar)
        plan, scores = keeper.recall(plan) or (plan, None)
        scores = scores or ahead.scores(game, seed)
        with _reporting(played, plan.weight_game):
            plan = ahead.plan(plan)
            keeper.remember(plan, scores)
            made = _digest(value, plan, played)
            state = keeper.state(State.before(plan, ahead.evaluations), made)
            clock.check(state.moments.n_permutations)
            played = ahead.prepared(plan)
            bar.begin(
                "permutations",
                stop_rule.max_permutations,
                "starting",
                done=state.moments.n_permutations,
                evaluations=state.moments.n_evaluations,
                seconds=clock.seconds(),
                expected=ahead.expected(plan, stop_rule.max_permutations),
                most_seconds=clock.most_seconds,
            )
            sampled = time.monotonic()
            state, check = run_shards(
                played, plan, state, stop_rule, average, first, n_jobs, bar, clock, keeper
            )
            seconds = state.seconds + time.monotonic() - began
            sampling_seconds = state.seconds + time.monotonic() - sampled
    moments = state.moments
    game._warn_unconverged(state.unconverged)
    _warn_of(moments, plan, game, design)
    return Valuation.from_moments(
        moments,
        **described,
        first_permutation=first,
        converged=check.converged,
        stopped_by=check.fired,
        seconds=seconds,
        labels=game.player_labels,
        digest=made,
        truncation=None if rule is None else rule.rule,
        full_score=scores[0],
        guess_score=scores[1],
        sampling_seconds=sampling_seconds,
    )


def _warn_of(moments: Moments, plan: Plan, game: Game, design: str) -> None:
    """Say where values or standard errors tell little."""
    if moments.completed_stops > 0.5 * moments.n_permutations:
        first_row = "the first row that completed the classes"
        where = first_row if game._awaits_classes else "the first player or before it"
        advice = "use a smaller tolerance or Truncation.patience()"
        if not moments.sums.any() and game(np.arange(game.n_players)) == plan.empty_value:
            advice = "no utility differed from that of all players, for which no tolerance is small enough"
        warnings.warn(
            f"truncation ended {moments.completed_stops} of {moments.n_permutations} walks at {where}: the "
            f"values say little; {advice}",
            UserWarning,
            stacklevel=3,
        )
    if plan.unit > 1 and moments.n_units < 2:
        warnings.warn(
            f"no standard errors: design={design!r} takes them over complete blocks of {plan.unit} "
            f"permutations, and {moments.n_permutations} permutations hold {moments.n_units}; ask for at "
            f"least {2 * plan.unit}",
            UserWarning,
            stacklevel=3,
        )


@contextmanager
def _reporting(game: Game, weight_game: Game | None) -> Iterator[None]:
    """Say which utility or weight the kernels could not use, and why."""
    try:
        with game._listening():
            if weight_game is None:
                yield
            else:
                with weight_game._listening():
                    yield
    except WeightError as error:
        assert weight_game is not None
        weight_game._report(error, "order_weight: ")
    except UtilityError as error:
        game._report(error)


def _digest(value: str, plan: Plan, played: Game) -> str:
    """Fingerprint of game, options and minor version."""
    # Another minor version may draw other permutations of the same seed: they don't pool.
    minor = __version__.split(".")[:2]
    parts: list[Any] = [minor, value, *plan._replace(weight_game=None), *played._identity]
    if plan.weight_game is not None:
        parts += plan.weight_game._identity
    return digest(*parts)


def as_rule(stopping: Any, n_permutations: Any) -> StoppingRule:
    """Return the rule that stops a run with these arguments."""
    if stopping is not None and not isinstance(stopping, StoppingRule):
        raise TypeError(f"stopping is {stopping!r}, expected a rule such as RelativeChange(0.05)")
    if n_permutations is None:
        return stopping or RelativeChange(0.05, window=100) | MaxPermutations(10_000)
    cap = MaxPermutations(n_permutations)
    return cap if stopping is None else stopping | cap
