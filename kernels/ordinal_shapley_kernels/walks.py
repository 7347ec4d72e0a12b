"""One walk for mc, tmc, cmc and ctmc: random permutations, evaluated place by place until truncated.

The four differ in data only: `cmc` and `ctmc` have a deck of several strata with quotas, `tmc` and `ctmc` a
truncation rule or chances (roulette). With chances a place is evaluated if its chance is not below the
permutation's lucky number; or, where marginal contributions are not wanted, if the sum of the chances up to
it plus that number passes an integer there (systematic sampling: places lie apart). What is evaluated counts
1 / chance times, so that nothing is missing in the mean.

The walk can be left after a number of evaluations and taken up again where it stood, so that a caller can
look for an interrupt, a time limit or show progress inside one long permutation.
"""

from __future__ import annotations

import math
import mmap
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley_kernels._jit import kernel
from ordinal_shapley_kernels.games import clear, has_model, place, utility
from ordinal_shapley_kernels.permutations import (
    INDEPENDENT,
    Deck,
    draw,
    lucky_number,
    make_deck,
    restore,
    seed_deck,
)

_LARGE = 2**17  # entries of an array

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
CALM = 3  # patience rule: steps in a row within the tolerance
FIRST_MODEL = 4  # places evaluated when the sequence first had a model, 0 before
EVALUATIONS = 5
WALK_LENGTH = 6  # rows evaluated, summed over walks
COMPLETED_STOPS = 7  # walks that truncation ended at their first model
FIRST = 8  # index of the first permutation
WHOLE_EVALUATIONS = 9  # EVALUATIONS and WALK_LENGTH without the permutation at hand
WHOLE_LENGTH = 10
N_STATE = 11
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
    orders : int64 (n_permutations, n_places)
        Players of each permutation, in order, as far as they have been drawn.
    n_drawn : int64 (n_permutations,)
        How far that is.
    lengths : int64 (n_permutations,)
        Players evaluated.
    marginals : float64 (n_permutations, n_places)
        Marginal contribution of the player at each place, over its chance; 0 where it is not evaluated.
    utilities : float64 (n_permutations, n_places) or (0, 0)
        When it has rows: utility of each prefix; what truncation leaves out counts as the full utility, and
        is NaN where there are chances.
    chances : float64 (n_places,) or (0,)
        Chance of each place of being evaluated; empty for 1. For marginal contributions they must not rise.
    reach : float64 (n_places,) or (0,)
        For systematic sampling: sums of the chances up to each place.
    luck : float64 (n_permutations,)
        Lucky numbers, where there are chances.
    draw_all : int64 (1,)
        Whether what is left of a truncated permutation is drawn as well.
    state : int64 (N_STATE,)
    values : float64 (N_VALUES,)
    """

    deck: Deck
    seed: NDArray[np.uint64]
    sizes: NDArray[np.int64]
    orders: NDArray[np.int64]
    n_drawn: NDArray[np.int64]
    lengths: NDArray[np.int64]
    marginals: NDArray[np.float64]
    utilities: NDArray[np.float64]
    chances: NDArray[np.float64]
    reach: NDArray[np.float64]
    luck: NDArray[np.float64]
    draw_all: NDArray[np.int64]
    state: NDArray[np.int64]
    values: NDArray[np.float64]


def make_walk(
    members: NDArray[np.int64],
    starts: NDArray[np.int64],
    quota: NDArray[np.int64],
    sizes: NDArray[np.int64],
    seed: int,
    draw_all: bool,
    first: int,
    stop: int,
    empty_value: float,
    chances: NDArray[np.float64],
    design: int = INDEPENDENT,
    record: bool = False,
    systematic: bool = False,
) -> Walk:
    """Allocate a walk over permutations first..stop-1; `members`, `starts`, `quota`, `design` as for a deck.

    With `record` the utilities of all prefixes are kept. `systematic` is how places with chances are chosen.
    """
    shape = (stop - first, int(np.sum(quota)))
    state = np.zeros(N_STATE, np.int64)
    state[NEXT] = first
    state[STOP] = stop
    state[FIRST] = first
    state[PLACE] = BEFORE
    values = np.zeros(N_VALUES)
    values[EMPTY] = empty_value
    return Walk(
        make_deck(members, starts, quota, design),
        np.array([seed], np.uint64),
        np.array(sizes, np.int64),
        fresh(shape, np.int64),
        np.zeros(stop - first, np.int64),
        np.zeros(stop - first, np.int64),
        fresh(shape, np.float64),
        np.full(shape if record else (0, 0), math.nan if len(chances) else 0.0),
        np.array(chances, np.float64),
        np.cumsum(chances if systematic else np.zeros(0)),
        np.zeros(stop - first),
        np.array([draw_all or record], np.int64),
        state,
        values,
    )


def fresh(shape: tuple[int, int], kind: Any) -> NDArray[Any]:
    """Zeros that take no memory where a truncated walk does not reach.

    Large ones come from the system: what an allocator has used before it must fill with zeros, and memory
    of that size that one thread takes and another gives back it keeps in pieces.
    """
    if shape[0] * shape[1] < _LARGE:
        return np.zeros(shape, kind)
    return np.frombuffer(mmap.mmap(-1, 8 * shape[0] * shape[1]), kind).reshape(shape)


@kernel(internal=True)
def _draw_to(run: Walk, row: int, n_drawn: int, n_places: int) -> None:
    """Draw the permutation at hand until `n_drawn` players of it are known."""
    for j in range(run.n_drawn[row], n_drawn):
        run.orders[row, j] = draw(run.deck, j, n_places)
        run.n_drawn[row] = j + 1


@kernel(internal=True)
def _begin(run: Walk, row: int, n_places: int) -> None:
    if run.chances.shape[0] > 0:
        run.luck[row] = lucky_number(run.deck.state, run.seed[0], run.state[NEXT])
    seed_deck(run.deck, run.seed[0], run.state[NEXT], n_places)
    run.state[PLACE] = 0
    run.state[CALM] = 0
    run.state[FIRST_MODEL] = 0
    run.values[PREVIOUS] = run.values[EMPTY]


@kernel(internal=True)
def _end(run: Walk, rule: Rule, row: int, n_places: int) -> None:
    """Close the permutation at hand and put the deck back in order."""
    place_ = run.state[PLACE]
    run.lengths[row] = place_
    if place_ < n_places and place_ == run.state[FIRST_MODEL] and run.chances.shape[0] == 0:
        run.state[COMPLETED_STOPS] += 1
    if run.draw_all[0]:
        _draw_to(run, row, n_places, n_places)
    if run.utilities.shape[0] > 0 and run.chances.shape[0] == 0:
        # The permutation's own full utility where it is known, else the rule's target.
        full = run.values[FULL] if rule.kind == PAPER else rule.target
        for j in range(place_, n_places):
            run.utilities[row, j] = full
    restore(run.deck, run.n_drawn[row])
    run.state[WHOLE_EVALUATIONS] = run.state[EVALUATIONS]
    run.state[WHOLE_LENGTH] = run.state[WALK_LENGTH]
    run.state[NEXT] += 1
    run.state[PLACE] = BEFORE


@kernel(internal=True)
def _is_truncated(run: Walk, rule: Rule) -> bool:
    """Whether the walk ends here; never asked of a sequence that has no model."""
    if rule.kind == PAPER:
        return abs(run.values[FULL] - run.values[PREVIOUS]) < rule.tolerance
    return rule.kind == PATIENCE and run.state[CALM] >= rule.patience


@kernel(internal=True)
def _is_chosen(run: Walk, row: int, j: int) -> bool:
    if run.reach.shape[0] == 0:
        return run.chances[j] >= run.luck[row]
    before = run.reach[j - 1] if j > 0 else 0.0
    return math.floor(run.reach[j] + run.luck[row]) > math.floor(before + run.luck[row])


@kernel(internal=True)
def _next_place(run: Walk, row: int, n_places: int) -> int:
    """The first place from the present one on that is to be evaluated; `n_places` if none is."""
    j = run.state[PLACE]
    if run.chances.shape[0] > 0:
        while j < n_places and not _is_chosen(run, row, j):
            j += 1
    return j


@kernel(internal=True)
def _credit(run: Walk, rule: Rule, row: int, j: int, value: float, modelled: bool) -> None:
    """Credit the player at place `j` with its marginal contribution, and move on."""
    player = run.orders[row, j]
    marginal = value - run.values[PREVIOUS]
    run.marginals[row, j] = marginal / run.chances[j] if run.chances.shape[0] > 0 else marginal
    if run.utilities.shape[0] > 0:
        run.utilities[row, j] = value
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
        row = state[NEXT] - state[FIRST]
        if state[PLACE] == BEFORE:
            _begin(run, row, n_places)
            clear(game)
            if rule.kind == PAPER:
                state[PLACE] = MEASURING
        while True:
            measuring = state[PLACE] == MEASURING
            last = n_places - 1 if measuring else _next_place(run, row, n_places)
            if not measuring and (last == n_places or (has_model(game) and _is_truncated(run, rule))):
                break
            if budget <= 0:
                return PAUSED
            _draw_to(run, row, last + 1, n_places)
            for j in range(0 if measuring else state[PLACE], last + 1):
                place(game, run.orders[row, j])
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
                _credit(run, rule, row, last, value, has_model(game))
        _end(run, rule, row, n_places)
    return DONE


@kernel()
def evaluate_prefixes(
    game: Any, orders: NDArray[np.int64], lengths: NDArray[np.int64], out: NDArray[np.float64]
) -> int:
    """Write the utility of the first j players of each order into out[t, j], for j < lengths[t].

    Returns DONE, or FAILED at the first that is not finite, after which `out` is not written.
    """
    for t in range(orders.shape[0]):
        clear(game)
        for j in range(lengths[t]):
            if j > 0:
                place(game, orders[t, j - 1])
            out[t, j] = utility(game)
            if not math.isfinite(out[t, j]):
                return FAILED
    return DONE


@kernel()
def evaluate_sequence(game: Any, sequence: NDArray[np.int64], every: bool, out: NDArray[np.float64]) -> None:
    """Utilities of a sequence of players.

    With `every`, out[j] is the utility of the first j + 1 players; else out[0] that of all of them.
    """
    clear(game)
    n_players = sequence.shape[0]
    for j in range(n_players):
        place(game, sequence[j])
        if every or j == n_players - 1:
            out[j if every else 0] = utility(game)
