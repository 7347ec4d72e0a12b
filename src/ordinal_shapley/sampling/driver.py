"""The Monte Carlo driver: plan, shards, stopping rule, result."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from ordinal_shapley._parallel import Cancellation, check_n_jobs, closing
from ordinal_shapley.games.base import Game, UtilityError
from ordinal_shapley.games.logistic import LogisticGame, warn_unconverged
from ordinal_shapley.moments import Moments
from ordinal_shapley.sampling.plan import (
    Plan,
    check_truncation,
    choose_estimator,
    digest,
    make_strata,
    rule_code,
    seed_of,
)
from ordinal_shapley.sampling.shards import SHARD_SIZE, random_orders, walk_shard
from ordinal_shapley.sampling.stopping import MaxPermutations, Progress, RelativeChange, StoppingRule
from ordinal_shapley.sampling.truncation import Truncation
from ordinal_shapley.valuation import Valuation
from ordinal_shapley.vocabulary import AVERAGES, CLASS_METHODS, METHODS, VALUES, choose

# Stopping rules look at the values every so many permutations, a multiple of the shard size.
ROUND_SIZE = 100
_TARGET_ORDERS = 20
_MOST_PERMUTATIONS = 2**62


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
    stopping: StoppingRule | None = None,
    n_permutations: int | None = None,
    first_permutation: int = 0,
    random_state: Any = None,
    n_jobs: int | None = None,
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
    value : {"partial_ordinal", "ordinal", "classic"}, default "partial_ordinal"
        "classic" is for a game whose order does not matter, where all three agree; it is refused for others.
    method : {"mc", "tmc", "cmc", "ctmc"}, default "mc"
        "mc": full random orders. "tmc": each walk ends when ``truncation`` says that little is left to gain;
        the players after it count 0. "cmc": random orders of a random subset with the share
        ``class_fraction`` of every class. "ctmc": both. All but "mc" are biased: see Notes.
    estimator : {"marginal", "in_out"}, optional
        "marginal": the mean marginal contribution, for "partial_ordinal" and "classic". "in_out": every
        prefix informs every player, for "ordinal" (its only estimator) and "classic".
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
    stopping : StoppingRule, optional
        Looked at every 100 permutations. With neither it nor ``n_permutations``:
        ``RelativeChange(0.05, window=100) | MaxPermutations(10_000)``.
    n_permutations : int, optional
        Number of permutations; with ``stopping`` given as well, either ends the run.
    first_permutation : int, default 0
        Index of the first permutation. Runs of the same seed over disjoint ranges can be pooled by
        `Valuation.merge`. With "in_out", a multiple of 10.
    random_state : None, int, numpy Generator or RandomState
        The same number gives the same bits for any ``n_jobs``.
    n_jobs : int, optional
        Workers, as in joblib: None is 1 unless `joblib.parallel_config` says otherwise, -1 is every core.
    progress : bool, default False
        Show a progress bar on stderr.

    Returns
    -------
    Valuation
        Values, standard errors and how they came about.

    Raises
    ------
    TypeError, ValueError
        If an argument cannot be used; the message names it, and nothing has been computed by then. Or if a
        utility is no finite number; the message names the sequence.
    RuntimeError
        If the function of a `FunctionGame` raises; the message names the sequence.

    Warns
    -----
    UserWarning
        If truncation ended most walks at the first row that completes the classes (in other games: at the
        first player): the values then say little, and a smaller tolerance is called for.
    RuntimeWarning
        If models could not be brought to convergence.

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

    with :math:`c_s` the mean of :math:`U_s` over the other nine permutations of a fixed block of ten. It is
    unbiased, and the values sum to the mean of :math:`U_n - U_0` exactly. In a truncated walk the full
    utility (the permutation's own, or the target of `Truncation.patience`) stands in for what was not
    evaluated, so the bias is that of calling those utilities equal.

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
    began = time.perf_counter()
    if not isinstance(game, Game):
        raise TypeError(f"game is a {type(game).__name__}, expected a game such as LogisticGame")
    choose("value", value, VALUES)
    choose("method", method, METHODS)
    choose("average", average, AVERAGES)
    if value == "classic":
        game._check_order_free()
    in_out = choose_estimator(value, estimator) == "in_out"
    rule = check_truncation(method, truncation)
    members, starts, quota = make_strata(game, method, labels, class_fraction)
    stop_rule = _stopping(stopping, n_permutations)
    check_n_jobs(n_jobs)
    if isinstance(first_permutation, bool) or not isinstance(first_permutation, int | np.integer):
        raise TypeError(f"first_permutation is {first_permutation!r}, expected an integer of at least 0")
    if not 0 <= first_permutation < _MOST_PERMUTATIONS:
        raise ValueError(f"first_permutation is {first_permutation}, expected an integer from 0, below 2**62")
    if in_out and first_permutation % SHARD_SIZE:
        raise ValueError(
            f"first_permutation is {first_permutation}, expected a multiple of {SHARD_SIZE}: the ordinal "
            "value is estimated in blocks of that many permutations"
        )
    seed = seed_of(random_state)

    empty_value = game(())
    plan = Plan(
        members,
        starts,
        quota,
        game.player_sizes,
        seed,
        average == "selected" and method in CLASS_METHODS,
        empty_value,
        in_out,
    )
    target_evaluations = 0
    if rule is not None:
        target = 0.0
        if rule.rule == "patience":
            orders = np.arange(game.n_players)[None]
            if rule.target == "mean":
                orders = random_orders(game.n_players, seed, _TARGET_ORDERS)
            target = float(np.mean([game(order) for order in orders]))
            target_evaluations = len(orders)
        plan = plan._replace(
            rule=rule_code(rule),
            tolerance=float(rule.tol),
            patience=min(int(rule.repeats), 2**62),
            target=target,
        )

    moments = Moments.zeros(game.n_players)
    moments = moments._replace(n_evaluations=target_evaluations)
    try:
        with game._listening():
            moments, unconverged, fired, converged = _run(
                game, plan, moments, stop_rule, average, int(first_permutation), n_jobs, progress, began
            )
    except UtilityError as error:
        game._report(error)
    if unconverged:
        warn_unconverged(unconverged)
    if moments.completed_stops > 0.5 * moments.n_permutations:
        has_classes = isinstance(game, LogisticGame)
        where = "the first row that completed the classes" if has_classes else "the first player or before it"
        warnings.warn(
            f"truncation ended {moments.completed_stops} of {moments.n_permutations} walks at {where}: the "
            "values say little; use a smaller tolerance or Truncation.patience()",
            UserWarning,
            stacklevel=2,
        )
    return Valuation.from_moments(
        moments,
        value=value,
        method=method,
        average=average,
        seed=seed,
        first_permutation=int(first_permutation),
        converged=converged,
        stopped_by=fired,
        seconds=time.perf_counter() - began,
        labels=game.player_labels,
        digest=digest(value, *plan, *game._payload),
    )


def _stopping(stopping: Any, n_permutations: Any) -> StoppingRule:
    if stopping is not None and not isinstance(stopping, StoppingRule):
        raise TypeError(f"stopping is {stopping!r}, expected a rule such as RelativeChange(0.05)")
    if n_permutations is None:
        return stopping or RelativeChange(0.05, window=100) | MaxPermutations(10_000)
    cap = MaxPermutations(n_permutations)
    return cap if stopping is None else stopping | cap


def _run(
    game: Game,
    plan: Plan,
    moments: Moments,
    stopping: StoppingRule,
    average: str,
    first_permutation: int,
    n_jobs: int | None,
    progress: bool,
    began: float,
) -> tuple[Moments, int, str, bool]:
    """Walk shards in order of their index until the rule says stop.

    Shards run ahead on the workers, but are added up in order and the rule is looked at between fixed rounds,
    so what comes out does not depend on who was fast.
    """
    from joblib import Parallel, delayed

    from ordinal_shapley.progress import ProgressBar

    cap = stopping.max_permutations
    end = None if cap is None else first_permutation + cap
    check = stopping.begin()
    unconverged = 0
    cancellation = Cancellation()
    arguments = (cancellation, len(plan), *plan, *game._payload)
    tasks = (
        delayed(walk_shard)(game._workspace_maker, first, stop, *arguments)
        for first, stop in _shard_ranges(first_permutation, end)
    )
    shards = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(tasks)
    with ProgressBar(total=cap, enabled=progress) as bar, closing(shards, cancellation):
        for part, n_unconverged in shards:
            moments = moments.plus(part)
            unconverged += n_unconverged
            seconds = time.perf_counter() - began
            done = moments.n_permutations
            if (first_permutation + done) % ROUND_SIZE == 0 or done == cap:
                values, stderr, _ = moments.estimates(average)
                if check(Progress(values, stderr, done, moments.n_evaluations, seconds)):
                    break
            bar.update(done, moments.n_evaluations, seconds, check.figure)
    return moments, unconverged, check.fired, check.converged


def _shard_ranges(first: int, end: int | None) -> Iterator[tuple[int, int]]:
    """Yield the ranges of shards, which begin and end at multiples of the shard size where they can."""
    while end is None or first < end:
        stop = (first // SHARD_SIZE + 1) * SHARD_SIZE
        stop = stop if end is None else min(stop, end)
        yield first, stop
        first = stop
