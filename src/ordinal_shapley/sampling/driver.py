"""The Monte Carlo driver: plan, shards, stopping rule, result."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from os import PathLike
from typing import Any

import numpy as np

from ordinal_shapley import __version__
from ordinal_shapley.common.compiling import says_when_compiling
from ordinal_shapley.common.described import digest, text_of
from ordinal_shapley.common.parallel import check_n_jobs
from ordinal_shapley.common.progress import ProgressBar
from ordinal_shapley.common.seeds import seed_of
from ordinal_shapley.games.base import Game, UtilityError, check_game
from ordinal_shapley.sampling.ahead import Ahead
from ordinal_shapley.sampling.blocks import with_blocks
from ordinal_shapley.sampling.checkpoint import keeping
from ordinal_shapley.sampling.convergence import RelativeChange
from ordinal_shapley.sampling.forecast import warn_of_long_compiled_run, warn_of_long_model_fits
from ordinal_shapley.sampling.plan import SHARD_SIZE, Plan, check_first, make_plan, make_weight_game
from ordinal_shapley.sampling.running import Clock, run_shards
from ordinal_shapley.sampling.sampler import PermutationSampler, as_sampler
from ordinal_shapley.sampling.shards import WeightError, fold_of, prepare_kernels
from ordinal_shapley.sampling.state import State
from ordinal_shapley.sampling.stopping import MaxPermutations, StoppingRule
from ordinal_shapley.valuation.moments import Folds, Moments
from ordinal_shapley.valuation.result import Valuation
from ordinal_shapley.valuation.settings import Settings, in_short
from ordinal_shapley.values import Value, as_value


@says_when_compiling
def sample_values(
    game: Game,
    value: Value | str = "ordinal",
    method: PermutationSampler | str = "auto",
    *,
    stopping: StoppingRule | None = None,
    n_permutations: int | None = None,
    first_permutation: int = 0,
    position_profile: bool = False,
    random_state: Any = None,
    n_jobs: int | None = None,
    checkpoint: str | PathLike[str] | None = None,
    progress: bool = False,
) -> Valuation:
    r"""Estimate the value of every player from random permutations.

    With the defaults the estimate is unbiased, and its standard errors measure the remaining noise.

    Parameters
    ----------
    game : Game
        For example a `LogisticGame`, a `TableGame` or a `FunctionGame`.
    value : Value or {"ordinal", "partial_ordinal", "classic"}, default "ordinal"
        What to estimate: `Ordinal`, `PartialOrdinal`, `Classic` (for a game in which order does not matter,
        where all three agree), `Blend` or `WeightedOrdinal`.
    method : PermutationSampler or {"auto", "mc", "tmc", "cmc", "ctmc"}, default "auto"
        How to sample. "auto" is ``PermutationSampler(truncation=Roulette())``: it evaluates a few prefixes of
        each permutation, without bias. The paper's algorithms are "mc", full permutations; "tmc",
        permutations that end early (`PaperTruncation`); "cmc", permutations of 0.8 of each class; "ctmc",
        both. All but "auto" and "mc" are biased.
    stopping : StoppingRule, optional
        When to stop: `RelativeChange`, `MaxStandardError`, `RankStability`, `MaxPermutations`,
        `MaxEvaluations`, `MaxSeconds`, or several combined by ``|`` and ``&``. Rules of convergence are
        checked every 100 permutations. By default ``RelativeChange(0.05, window=100) |
        MaxPermutations(10_000)``, with a window of 100 for each fold of a `CrossFitGame`, unless
        ``n_permutations`` is given.
    n_permutations : int, optional
        Number of permutations; with ``stopping`` given as well, either ends the run.
    first_permutation : int, default 0
        Index of the first permutation. Runs of the same seed over disjoint ranges can be pooled by
        `Valuation.merge`. For the ordinal value, a multiple of 10; with design "antithetic" of 2, with
        "latin" of n_players.
    position_profile : bool, default False
        Also estimate the expected contribution of each player at each position; not with ``class_fraction``.
    random_state : None, int, numpy Generator or RandomState
        The same number gives bit-identical results for any ``n_jobs``.
    n_jobs : int, optional
        Workers, as in joblib: None is 1 unless `joblib.parallel_config` says otherwise, -1 is every core.
        They are threads, for an `EstimatorGame` processes.
    checkpoint : path-like, optional
        File to save the run in, in shards of ten permutations. The same call resumes it, however the run
        ended, with results bit-identical to those of a run that was never stopped; with ``random_state=None``
        the seed is that of the file. ``stopping``, ``n_permutations`` and ``n_jobs`` may differ, but all
        permutations in the file count, and a rule of convergence that is new to the file starts at its end.
        `Valuation.load` reads the file.
    progress : bool, default False
        Show a progress bar on stderr, with the time left. If that is more than a minute, a line says what
        would be quicker.

    Returns
    -------
    Valuation
        Values, standard errors and the settings of the run.

    Raises
    ------
    TypeError, ValueError
        If an argument cannot be used; the message names it, before anything is computed. Or if a utility or
        weight is not a finite number.
    RuntimeError
        If the function of a `FunctionGame` or ``order_weight`` raises, or the model of an `EstimatorGame`
        fails; the message names the permutation and the sequence.
    KeyboardInterrupt
        At Ctrl-C, within a second (but for a Python function that takes longer), after the checkpoint was
        written.
    OSError
        If the checkpoint cannot be made. Later failures to write it are warnings.
    TimeoutError
        If `MaxSeconds` ends the run before its first permutation is complete; the message says what took
        the time.

    Warns
    -----
    UserWarning
        Of a run that may take long, unless a rule limits the time: more than a minute for a model in Python,
        before it begins; more than ten minutes for a compiled game, after its first fits. If
        truncation ended most permutations at the first row that completes the classes (in other games: at the
        first player), so that the values mean little. If the game depends on
        orders that do not matter according to `PartialOrdinal`'s partition, or ``order_free=True`` of a
        `FunctionGame`. If there are no standard errors because a design has fewer than two complete
        replicates.
    RuntimeWarning
        If model fits did not converge, or the checkpoint could not be written.

    Notes
    -----
    Standard errors measure Monte Carlo noise only. They do not cover the bias of truncation (players after
    the end of a permutation count as 0) or of class sampling (no subset is larger than the share drawn), and
    more permutations do not reduce that bias. They are computed from independent replicates: permutations,
    the pairs of an antithetic design, or the complete blocks of a Latin one (permutations of an incomplete
    last block count in the values only).

    With :math:`U_s` the utility of the first :math:`s` of :math:`n` players, the ordinal value is estimated
    ("in_out") by the mean of

    .. math:: \tfrac1n (U_n - U_0) + \sum_{s=1}^{n-1} (U_s - c_s) A_{s,i}, \qquad
        A_{s,i} = \tfrac1s \text{ if } i \text{ is among the first } s \text{, else } -\tfrac1{n-s},

    with :math:`c_s` a mean of :math:`U_s` over other permutations. It is unbiased, and the values sum to the
    mean of :math:`U_n - U_0` exactly. In a truncated permutation the full utility (its own, or the target of
    `PatienceTruncation`) replaces what was not evaluated. Other values average marginal contributions;
    `WeightedOrdinal` :math:`|S|!\,q(S)` times the one after the sequence :math:`S`, for an order of :math:`S`
    is drawn with probability :math:`1/|S|!`.

    With size weights :math:`w_s` the first term is
    :math:`w_{n-1} U_n - w_0 U_0 + \sum_s c_s (w_{s-1} - w_s)`, and :math:`A_{s,i}` is
    :math:`w_{s-1} n / s` or :math:`-w_s n / (n-s)`; a marginal contribution after :math:`s` others counts
    :math:`n w_s` times. No prefix is evaluated that is larger than counts, and the values do not sum to
    :math:`U_n - U_0`. Samplers with a bias are refused.

    References
    ----------
    J. Liu, P. Wang, C. Wu, "Data valuation: The partial ordinal Shapley value for machine learning",
    arXiv:2305.01660, Algorithms 1 to 3, and the first theorem for the ordinal value, whose approximation it
    leaves open.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> game = osv.LogisticGame([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1], [[0.5], [3.5]], [0, 1])
    >>> valuation = osv.sample_values(game, n_permutations=200, random_state=0)
    >>> valuation.sampler, valuation.values.shape
    (PermutationSampler(truncation=Roulette()), (4,))
    """
    began = time.monotonic()
    check_game("game", game)
    kind, sampler = as_value(value), as_sampler(method).matched(game, "the game")
    folds, players = zip(*game._folds, strict=True)
    samplers = [sampler if some is None else sampler.of_players(some, game.n_players) for some in players]
    plans = [
        make_plan(part, kind, one, position_profile)._replace(fold=k)
        for k, (part, one) in enumerate(zip(folds, samplers, strict=True))
    ]
    stop_rule = as_rule(stopping, n_permutations, len(folds))
    check_n_jobs(n_jobs)
    first = check_first(first_permutation, plans[0])
    seed = None if random_state is None else seed_of(random_state)
    prepare_kernels(folds[0])
    clock = Clock(began, stop_rule.max_seconds)
    bar = ProgressBar(enabled=progress)
    for part in folds:
        part._expect_walks()
    warn_of_long_model_fits(folds[0], plans[0], sampler.rule, stop_rule, n_jobs)
    with keeping(checkpoint) as keeper, bar:
        if seed is None:
            seed = seed_of(None) if keeper.seed is None else keeper.seed
        short = {name: in_short(option) for name, option in game._settings.items()}
        settings = Settings(kind, sampler, seed, plans[0].profile, short, __version__)
        keeper.begin(settings, game.player_names, first)
        kind.try_game(folds[0])
        played = [kind.played(part) for part in folds]
        plans = [_of_run(plan, part, kind, sampler, seed) for plan, part in zip(plans, played, strict=True)]
        pilots = [Ahead(part, sampler.rule, n_jobs, clock, bar, len(folds)) for part in played]
        recalled = keeper.recall(plans)
        if recalled is None:
            found = [ahead.scores(part, seed) for ahead, part in _scored(pilots, folds)]
            scores = _mean([full for full, _ in found]), _mean([baseline for _, baseline in found])
        else:
            plans, scores = recalled
        for k, ahead in enumerate(pilots):
            with _reporting(played[k : k + 1], plans):
                plans[k] = ahead.plan(plans[k])
        expected = pilots[0].expected(plans[0], stop_rule.max_permutations)
        if recalled is None:
            warn_of_long_compiled_run(folds[0], expected, stop_rule)
        with _reporting(played, plans):
            keeper.remember(plans, scores)
            settings = settings._replace(digest=_digest(settings, plans, played))
            evaluations = [ahead.evaluations for ahead in pilots]
            before = State.before(plans, evaluations, players, game.n_players)
            state = keeper.state(before, settings.digest)
            clock.check(state.moments.n_permutations)
            played = [ahead.prepared(plan) for ahead, plan in zip(pilots, plans, strict=True)]
            bar.begin(
                "permutations",
                stop_rule.max_permutations,
                "starting",
                done=state.moments.n_permutations,
                evaluations=state.moments.n_evaluations,
                seconds=clock.seconds(),
                expected=expected,
                max_seconds=clock.max_seconds,
            )
            sampled = time.monotonic()
            state, check = run_shards(
                played, plans, state, stop_rule, sampler.average, first, n_jobs, bar, clock, keeper
            )
            seconds = state.seconds + time.monotonic() - began
            sampling_seconds = state.seconds + time.monotonic() - sampled
    moments = state.moments
    game._warn_unconverged(state.unconverged)
    _warn_of(moments, plans[0], game)
    return Valuation.from_moments(
        moments,
        settings,
        ((first, first + moments.n_permutations),),
        converged=check.converged,
        stopped_by=check.fired,
        seconds=seconds,
        player_names=game.player_names,
        full_score=scores[0],
        baseline_score=scores[1],
        sampling_seconds=sampling_seconds,
        model=game.model,
    )


def _of_run(plan: Plan, game: Game, kind: Value, sampler: PermutationSampler, seed: int) -> Plan:
    """Return the plan with its seed, weights of sequences, utility of the empty sequence and blocks."""
    plan = plan._replace(seed=seed, weight_game=make_weight_game(kind, game.n_players), empty_value=game(()))
    return with_blocks(plan, game, sampler)


def _scored(pilots: Sequence[Ahead], folds: Sequence[Game]) -> list[tuple[Ahead, Game]]:
    """Return the folds whose models of all rows are scored: two are enough if that takes long."""
    cost = folds[0]._relative_costs(np.array([folds[0].n_players]), jump=True)[0]
    n_scored = len(folds) if cost * len(folds) <= folds[0]._much else 2
    return [*zip(pilots, folds, strict=True)][:n_scored]


def _mean(scores: list[float | None]) -> float | None:
    """Return the mean score of the folds, None if one is missing."""
    known = [score for score in scores if score is not None]
    return None if len(known) < len(scores) else float(np.mean(known))


def _warn_of(moments: Moments | Folds, plan: Plan, game: Game) -> None:
    """Warn where values or standard errors mean little."""
    idle = sum(not part.n_permutations for part in moments.parts)
    if idle:
        warnings.warn(
            f"use at least {SHARD_SIZE * len(moments.parts)} permutations, or fewer folds: {idle} of "
            f"{len(moments.parts)} folds have no permutation",
            UserWarning,
            stacklevel=3,
        )
    if moments.completed_stops > 0.5 * moments.n_permutations:
        first_row = "the first row that completed the classes"
        where = first_row if game._awaits_classes else "the first player or before it"
        advice = "use a smaller tolerance or method 'auto', which has no bias"
        nothing = not any(part.sums.any() for part in moments.parts)
        if nothing and game(np.arange(game.n_players)) == game(()):
            advice = "all utilities are equal, so no tolerance is small enough"
        warnings.warn(
            f"{advice}: truncation ended {moments.completed_stops} of {moments.n_permutations} permutations "
            f"at {where}, so the values mean little",
            UserWarning,
            stacklevel=3,
        )
    n_folds, fewest = len(moments.parts), min(part.n_replicates for part in moments.parts)
    if not idle and fewest < 2 and (plan.replicate_size > 1 or n_folds > 1):
        each = "" if n_folds == 1 else ", two in each fold"
        warnings.warn(
            f"use at least {SHARD_SIZE * (n_folds - 1) + 2 * plan.replicate_size} permutations to get "
            f"standard errors: design={plan.design.name!r} computes them from complete blocks of "
            f"{plan.replicate_size}{each}, and {moments.n_permutations} permutations hold {fewest}",
            UserWarning,
            stacklevel=3,
        )


@contextmanager
def _reporting(games: Sequence[Game], plans: Sequence[Plan]) -> Iterator[None]:
    """Raise an error that names the utility or weight that kernels could not use, and the reason."""
    with ExitStack() as stack:
        weight_game = plans[0].weight_game
        try:
            for game in (*games, *(() if weight_game is None else (weight_game,))):
                stack.enter_context(game._listening())
            yield
        except WeightError as error:
            assert weight_game is not None
            weight_game._report(error, "order_weight: ")
        except UtilityError as error:
            fold = 0 if error.permutation is None else fold_of(error.permutation, len(games))
            games[fold]._report(error)


def _digest(settings: Settings, plans: Sequence[Plan], played: Sequence[Game]) -> str:
    """Fingerprint of game, options and minor version."""
    # Another minor version may draw other permutations by the same seed, which must not be pooled.
    minor = settings.version.split(".")[:2]
    parts: list[Any] = []
    for plan, game in zip(plans, played, strict=True):
        parts += plan._replace(weight_game=None, design=plan.design.name)  # type: ignore[arg-type]
        parts += game._identity
    return digest(minor, text_of(settings.kind.settings()), *parts)


def as_rule(stopping: Any, n_permutations: Any, n_folds: int = 1) -> StoppingRule:
    """Return the stopping rule for these arguments and this number of folds."""
    if stopping is not None and not isinstance(stopping, StoppingRule):
        raise TypeError(f"stopping is {stopping!r}, expected a rule such as RelativeChange(0.05)")
    if n_permutations is None:
        return stopping or RelativeChange(0.05, window=100 * n_folds) | MaxPermutations(10_000)
    cap = MaxPermutations(n_permutations)
    return cap if stopping is None else stopping | cap
