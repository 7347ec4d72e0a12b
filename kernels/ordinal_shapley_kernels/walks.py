"""One walk for mc, tmc, cmc and ctmc: random permutations, evaluated place by place until truncated.

The four differ in data only: `cmc` and `ctmc` have a deck of several strata with quotas, `tmc` and `ctmc` a
truncation rule. The walk can be left after a number of evaluations and taken up again where it stood, so
that a caller can look for an interrupt, a time limit or show progress inside one long permutation.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley_kernels._jit import kernel
from ordinal_shapley_kernels.games import clear, has_model, place, utility
from ordinal_shapley_kernels.permutations import Deck, draw, restore, seed_deck

# truncation rules
NO_RULE = 0
PAPER = 1
PATIENCE = 2

# status
DONE = 0
PAUSED = 1
FAILED = 2  # the utility of the players drawn so far is not finite

# Walk.state
NEXT = 0  # index of the permutation at hand
STOP = 1  # first index that is not to be walked
PLACE = 2  # players of it that have been evaluated, or BEFORE or MEASURING
DRAWN = 3  # players of it that have been drawn
CALM = 4  # patience rule: steps in a row within the tolerance
FIRST_MODEL = 5  # places evaluated when the sequence first had a model, 0 before
EVALUATIONS = 6
WALK_LENGTH = 7  # rows evaluated, summed over walks
COMPLETED_STOPS = 8  # walks that truncation ended at their first model
FIRST = 9  # index of the first permutation
N_STATE = 10
BEFORE = -2  # the permutation has not begun
MEASURING = -1  # its full order is to be evaluated, for the paper's rule

# Walk.values
PREVIOUS = 0  # utility of the sequence before the next place
FULL = 1  # paper rule: utility of the permutation's own full order
EMPTY = 2  # utility of the empty sequence
N_VALUES = 3


class Rule(NamedTuple):
    """A truncation rule.

    Attributes
    ----------
    kind : int
        NO_RULE, PAPER or PATIENCE.
    tolerance : float
        Absolute for PAPER, a share of |target| for PATIENCE.
    patience : int
        Steps in a row within the tolerance after which PATIENCE stops a walk.
    target : float
        What PATIENCE compares with.
    """

    kind: int
    tolerance: float
    patience: int
    target: float


class Walk(NamedTuple):
    """State and sums of a run over permutations; all written by `walk`.

    Attributes
    ----------
    deck : Deck
    seed : uint64 (1,)
    sizes : int64 (n_players,)
        Rows of each player.
    drawn : int64 (n_players,)
        Players of the permutation at hand, in order.
    sums, square_sums : float64 (n_players,)
        Of marginal contributions and their squares; a player that is not evaluated adds 0.
    chosen : int64 (n_players,)
        Permutations in which the player was drawn, counted when `count_chosen[0]` is 1: then what is
        left of a truncated permutation is drawn as well.
    orders : int64 (n_permutations, n_places) or (0, 0)
        When it has rows: the whole order of each permutation.
    utilities : float64, same shape
        Utility of each prefix of those orders; what truncation leaves out counts as the full utility.
    count_chosen : int64 (1,)
    state : int64 (N_STATE,)
    values : float64 (N_VALUES,)
    """

    deck: Deck
    seed: NDArray[np.uint64]
    sizes: NDArray[np.int64]
    drawn: NDArray[np.int64]
    sums: NDArray[np.float64]
    square_sums: NDArray[np.float64]
    chosen: NDArray[np.int64]
    orders: NDArray[np.int64]
    utilities: NDArray[np.float64]
    count_chosen: NDArray[np.int64]
    state: NDArray[np.int64]
    values: NDArray[np.float64]


def make_walk(
    members: NDArray[np.int64],
    starts: NDArray[np.int64],
    quota: NDArray[np.int64],
    sizes: NDArray[np.int64],
    seed: int,
    count_chosen: bool,
    first: int,
    stop: int,
    empty_value: float,
    record: bool = False,
) -> Walk:
    """Allocate a walk over permutations first..stop-1; `members`, `starts`, `quota` as in `Deck`.

    With `record`, orders and the utilities of their prefixes are kept.
    """
    recorded = (stop - first, int(np.sum(quota))) if record else (0, 0)
    n_players = members.shape[0]
    state = np.zeros(N_STATE, np.int64)
    state[NEXT] = first
    state[STOP] = stop
    state[FIRST] = first
    state[PLACE] = BEFORE
    values = np.zeros(N_VALUES)
    values[EMPTY] = empty_value
    return Walk(
        Deck(
            np.array(members, np.int64),
            np.array(starts, np.int64),
            np.array(quota, np.int64),
            np.zeros(len(quota), np.int64),
            np.zeros((n_players, 2), np.int64),
            np.zeros(1, np.uint64),
        ),
        np.array([seed], np.uint64),
        np.array(sizes, np.int64),
        np.zeros(n_players, np.int64),
        np.zeros(n_players),
        np.zeros(n_players),
        np.zeros(n_players, np.int64),
        np.zeros(recorded, np.int64),
        np.zeros(recorded),
        np.array([count_chosen], np.int64),
        state,
        values,
    )


@kernel(internal=True)
def _draw_to(run: Walk, n_drawn: int, n_places: int) -> None:
    """Draw the permutation at hand until `n_drawn` players of it are known."""
    for j in range(run.state[DRAWN], n_drawn):
        run.drawn[j] = draw(run.deck, j, n_places)
        run.state[DRAWN] = j + 1


@kernel(internal=True)
def _begin(run: Walk) -> None:
    seed_deck(run.deck, run.seed[0], run.state[NEXT])
    run.state[PLACE] = 0
    run.state[DRAWN] = 0
    run.state[CALM] = 0
    run.state[FIRST_MODEL] = 0
    run.values[PREVIOUS] = run.values[EMPTY]


@kernel(internal=True)
def _record_rest(run: Walk, rule: Rule, n_places: int) -> None:
    """Record the order of the permutation at hand, and the full utility for what was not evaluated.

    The full utility is the permutation's own where it is known (PAPER), else the rule's target.
    """
    row = run.state[NEXT] - run.state[FIRST]
    _draw_to(run, n_places, n_places)
    full = run.values[FULL] if rule.kind == PAPER else rule.target
    for j in range(n_places):
        run.orders[row, j] = run.drawn[j]
        if j >= run.state[PLACE]:
            run.utilities[row, j] = full


@kernel(internal=True)
def _end(run: Walk, rule: Rule, n_places: int) -> None:
    """Close the permutation at hand and put the deck back in order."""
    if run.orders.shape[0] > 0:
        _record_rest(run, rule, n_places)
    place_ = run.state[PLACE]
    if place_ < n_places and place_ == run.state[FIRST_MODEL]:
        run.state[COMPLETED_STOPS] += 1
    if run.count_chosen[0]:
        _draw_to(run, n_places, n_places)
        for j in range(n_places):
            run.chosen[run.drawn[j]] += 1
    restore(run.deck, run.state[DRAWN])
    run.state[NEXT] += 1
    run.state[PLACE] = BEFORE


@kernel(internal=True)
def _is_truncated(run: Walk, rule: Rule) -> bool:
    """Whether the walk ends here; never asked of a sequence that has no model."""
    if rule.kind == PAPER:
        return abs(run.values[FULL] - run.values[PREVIOUS]) < rule.tolerance
    return rule.kind == PATIENCE and run.state[CALM] >= rule.patience


@kernel(internal=True)
def _credit(run: Walk, rule: Rule, value: float, modelled: bool) -> None:
    """Credit the player at the present place with its marginal contribution, and move on."""
    j = run.state[PLACE]
    player = run.drawn[j]
    marginal = value - run.values[PREVIOUS]
    run.sums[player] += marginal
    run.square_sums[player] += marginal * marginal
    if run.orders.shape[0] > 0:
        run.utilities[run.state[NEXT] - run.state[FIRST], j] = value
    run.values[PREVIOUS] = value
    run.state[PLACE] = j + 1
    run.state[WALK_LENGTH] += run.sizes[player]
    if modelled:
        run.state[EVALUATIONS] += 1
        if run.state[FIRST_MODEL] == 0:
            run.state[FIRST_MODEL] = j + 1
        if abs(value - rule.target) <= rule.tolerance * abs(rule.target):
            run.state[CALM] += 1
        else:
            run.state[CALM] = 0


@kernel()
def walk(game: Any, run: Walk, rule: Rule, budget: int) -> int:
    """Walk the permutations that are left, and leave after `budget` utilities.

    The paper's Algorithms 1 to 3. Writes `run` and the game's workspace; returns DONE, PAUSED when
    there is more to do, or FAILED. Where it is left does not change a bit of the result. There is one call of
    `utility`, because each would be another copy of the whole model fit to compile.
    """
    state = run.state
    n_places = run.deck.quota.sum()
    while state[NEXT] < state[STOP]:
        if state[PLACE] == BEFORE:
            _begin(run)
            clear(game)
            if rule.kind == PAPER:
                state[PLACE] = MEASURING
        while True:
            measuring = state[PLACE] == MEASURING
            if not measuring and (state[PLACE] == n_places or (has_model(game) and _is_truncated(run, rule))):
                break
            if budget <= 0:
                return PAUSED
            first = 0 if measuring else state[PLACE]
            last = n_places if measuring else first + 1
            _draw_to(run, last, n_places)
            for j in range(first, last):
                place(game, run.drawn[j])
            value = utility(game)
            budget -= 1
            if not math.isfinite(value):
                return FAILED
            if measuring:
                run.values[FULL] = value
                state[EVALUATIONS] += 1
                state[PLACE] = 0
                clear(game)
            else:
                _credit(run, rule, value, has_model(game))
        _end(run, rule, n_places)
    return DONE
