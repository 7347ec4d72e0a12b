"""Whether values satisfy the axioms, on one game."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.axioms import checks
from ordinal_shapley.axioms.conditions import check_size, find_conditions, like, sets_in_preorder, tabulate
from ordinal_shapley.axioms.report import AxiomReport
from ordinal_shapley.common import arguments, arrays
from ordinal_shapley.common.compiling import says_when_compiling
from ordinal_shapley.exact.plan import Budget, tabulate_weights
from ordinal_shapley.exact.values import exact_values
from ordinal_shapley.games.base import Game, check_game
from ordinal_shapley.games.table import TableGame
from ordinal_shapley.values import Value, WeightedOrdinal, as_value
from ordinal_shapley.values.base import TOLERANCE
from ordinal_shapley.vocabulary import check_choice

_RANDOM_GAMES = 3
_SEED = 0
# Rounding error of sums of utilities, in units of the last place of the largest.
_ROUNDING = 64 * float(np.finfo(float).eps)
_JOINING = {"end": "joining at the end", "anywhere": "wherever it joins"}


@says_when_compiling
def check_axioms(
    game: Game,
    value: Any = "ordinal",
    *,
    other: Game | None = None,
    insertion: str | None = None,
    tol: float = 1e-9,
    n_jobs: int | None = -1,
    progress: bool = False,
    max_seconds: float | None = None,
) -> AxiomReport:
    r"""Check the axioms of the ordinal values on one game, by evaluating every sequence of players.

    Parameters
    ----------
    game : Game
        For example a `TableGame`, a `FunctionGame` or a `LogisticGame`, of at most 12 players. Each utility
        is evaluated once, in an order-free game once per set of players.
    value : Value, str, callable, array-like or result
        A value of `exact_values`, "ordinal" by default; or your own: a function that takes a
        `TableGame` (``game`` as a table) and returns the value of each player; or the values themselves, as
        an array or as a result such as `Valuation`.
    other : Game, optional
        Another game of the same players, for additivity; by default three random ones from a fixed seed,
        with utilities as widely spread as those of ``game``.
    insertion : {"end", "anywhere"}, optional
        Where players join, in the conditions of the null player and of monotone games. By default "anywhere"
        for `Ordinal` and `Blend`, else "end".
    tol : float, default 1e-9
        Utilities are the same if they differ by at most ``tol`` times the range of utilities, and 64 units in
        the last place of the largest. Values may be off by twice that. For scores that are fitted to a
        tolerance, or values from sampling, give the size of their errors.
    n_jobs, progress, max_seconds
        As in `exact_values`.

    Returns
    -------
    AxiomReport
        For each axiom whether it holds, fails or is vacuous, and a player or pair that shows it.

    Raises
    ------
    TypeError, ValueError, RuntimeError
        As `exact_values` does.

    Notes
    -----
    With :math:`U(\tau)` the utility of a sequence:

    - Null player: if :math:`U(\tau, i) = U(\tau)` for every :math:`\tau` without :math:`i`, then
      :math:`\phi_i = 0`. For the ordinal value, if :math:`i` leaves :math:`U(\tau)` alone at every place.
    - Symmetry: if every :math:`\tau` keeps its utility as :math:`i` and :math:`j` are exchanged in it, then
      :math:`\phi_i = \phi_j`. As printed, the condition asks less of sequences with both players, and the
      partial ordinal value breaks it.
    - Efficiency: the values sum to v(N) - v(empty), with v(N) the mean utility of full permutations (v(empty)
      is 0 in the paper).
    - Additivity: the values of :math:`U + V` are those of :math:`U` plus those of :math:`V`. Of values that
      are given as an array it cannot be checked, and is vacuous.
    - Monotone games (a remark, not an axiom): if no joining lowers the utility, no value is below 0, and
      :math:`\phi_i > 0` exactly when some joining of :math:`i` raises the utility.

    Of all weights of `WeightedOrdinal` only uniform ones make it efficient in all games, and of all size
    weights of `Ordinal` and `Classic` only equal ones: with others null player, symmetry and additivity hold
    and efficiency does not. Where some size has no weight, a player of a monotone game who helps at that size
    alone has value 0. A check on one game can refute a statement about all games, but not prove it.

    References
    ----------
    J. Liu, P. Wang, C. Wu, "Data valuation: The partial ordinal Shapley value for machine learning",
    arXiv:2305.01660, Section 3.1.

    Examples
    --------
    Two players with utility 1 in the order ann, bob. Joining at the end, ann changes nothing, but the ordinal
    value also lets her join in front of bob:

    >>> import ordinal_shapley as osv
    >>> game = osv.TableGame(2, {(0, 1): 1.0}, names=["ann", "bob"])
    >>> print(osv.check_axioms(game, "partial_ordinal"))
    Axioms of partial_ordinal, 2 players, 5 utilities
      null player  holds    value 0: ann
      symmetry     vacuous  no two players can be exchanged in every sequence; ann and bob come nearest:
                            U(ann > bob) = 1, U(bob > ann) = 0
      efficiency   holds    the values sum to 0.5, v(N) - v(empty) is 0.5
      additivity   holds    with each of 3 random games: the values add up
      monotone     holds    monotone; values above 0: bob
    >>> print(osv.check_axioms(game, "ordinal", insertion="end").null_player.detail)
    ann never changes the utility joining at the end, but has value 0.25; it does when joining elsewhere:
    U(ann > bob) = 1, U(bob) = 0

    A rule of your own:

    >>> def leave_one_out(game):
    ...     order = list(range(game.n_players))
    ...     return [game(order) - game([j for j in order if j != i]) for i in order]
    >>> report = osv.check_axioms(game, leave_one_out, insertion="anywhere")
    >>> report.holds, report.efficiency.detail
    (False, 'the values sum to 2, v(N) - v(empty) is 0.5')
    """
    began = time.perf_counter()
    check_game("game", game)
    check_size(game)
    n = game.n_players
    kind = as_value(value) if isinstance(value, str | Value) else None
    own = kind is None and callable(value)
    if kind is not None:
        kind.check(game)
    if insertion is None:
        insertion = "end" if kind is None else kind.insertion
    check_choice("insertion", insertion, tuple(_JOINING))
    tol = arguments.number("tol", tol, min=0.0, below=1.0)
    budget = Budget.of(n_jobs, max_seconds)
    given = None if kind is not None or own else _as_values(value, "value", n)
    if other is not None:
        _check_other(other, n, given is not None, kind is not None and kind.order_free)

    why = _unequal(kind, n)
    weighing = None if kind is None else tabulate_weights(kind, n, budget)
    if weighing is not None:  # evaluated once, not for every game
        why = "" if weighing[1] else "order_weight is not uniform"
        kind = WeightedOrdinal(TableGame.from_array(n, weighing[0]))
    table, to_share, n_evaluations = tabulate(game, budget, progress)

    def rule(game: TableGame) -> NDArray[np.float64]:
        if kind is None:
            try:
                returned = value(game)
            except Exception as error:
                raise RuntimeError(
                    f"value is {_title(value)}, which raised {type(error).__name__} for a game: {error}"
                ) from error
            return _as_values(returned, f"what {_title(value)} returned", n)
        return exact_values(game, kind, n_jobs=n_jobs).values

    values = rule(table) if given is None else given
    conditions = find_conditions(table)
    subject = checks.Subject(
        table,
        values,
        conditions,
        conditions.anywhere if insertion == "anywhere" else conditions.at_end,
        _JOINING[insertion],
        _tolerance(tol, table),
        _ROUNDING * float(np.abs(table.values).max()),
    )
    others: Iterable[TableGame] = ()
    if other is not None:
        another, _, more = tabulate(other, budget, progress)
        n_evaluations += more
        others = [another]
    elif given is None:
        others = _random_games(table)
    gaps, slack = [], 0.0
    for game_2 in others:
        total = like(table, table.values + game_2.values)
        with warnings.catch_warnings():
            # A warning that `game` contradicts the partition has been given; random games always do.
            warnings.filterwarnings("ignore", message="partition and case", category=UserWarning)
            gaps.append(rule(total) - values - rule(game_2))
        slack = max(slack, _tolerance(tol, table, game_2))
    return AxiomReport(
        checks.check_null_player(subject),
        checks.check_symmetry(subject),
        checks.check_efficiency(subject, to_share, why),
        checks.check_additivity(subject, np.array(gaps), slack, other is None),
        checks.check_monotone(subject, why if "no weight" in why else ""),
        values,
        _title(value) if kind is None else ", ".join(filter(None, [kind.name, kind.size_words])),
        insertion,
        subject.tolerance,
        n_evaluations,
        time.perf_counter() - began,
        game.player_names,
    )


def _unequal(kind: Value | None, n: int) -> str:
    """Why a value breaks axioms by its size weights; "" if they are equal."""
    weights = np.zeros(0) if kind is None else kind.by_size(n)
    if not len(weights) or np.ptp(weights) <= TOLERANCE:
        return ""
    return "size_weights are not equal" + ", and some sizes have no weight" * (not weights.all())


def _title(value: Any) -> str:
    """Return the name of a rule, or of values."""
    return str(getattr(value, "__name__", "your rule")) if callable(value) else "your values"


def _as_values(values: Any, name: str, n: int) -> NDArray[np.float64]:
    """Convert one finite number per player."""
    inner = getattr(values, "values", None)
    column = arrays.as_column(values if inner is None or callable(inner) else inner, name, n, "player")
    numbers = arrays.as_numbers(column, name)
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name} holds a number that is not finite, expected a value for each player")
    return numbers


def _check_other(other: Any, n: int, given: bool, classic: bool) -> None:
    check_game("other", other)
    if other.n_players != n:
        raise ValueError(f"other is a game of {other.n_players} players, expected {n} as in game")
    if given:
        raise ValueError("other requires a named value or a function, not the values of one game")
    if classic and not other.order_free:
        raise ValueError("other depends on the order of players, expected an order-free game for 'classic'")


def _tolerance(tol: float, *games: TableGame) -> float:
    """Return by how much sums of utilities of these games may differ and count as the same."""
    spread = sum(float(np.ptp(game.values)) for game in games)
    largest = sum(float(np.abs(game.values).max()) for game in games)
    return tol * spread + _ROUNDING * largest


def _random_games(game: TableGame) -> Iterator[TableGame]:
    """Yield random games with utilities as widely spread as those of `game`, order-free if it is."""
    n = game.n_players
    size = (float(np.ptp(game.values)) or 1.0) / 2.0
    for number in range(_RANDOM_GAMES):
        rng = np.random.default_rng([_SEED, number])
        utilities = rng.uniform(-size, size, 2**n if game.order_free else len(game.values))
        yield like(game, utilities[sets_in_preorder(n)] if game.order_free else utilities)
