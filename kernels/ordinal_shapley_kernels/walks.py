"""One walk for mc, tmc, cmc and ctmc: random permutations, evaluated place by place until truncated.

The four differ in data only: `cmc` and `ctmc` draw from several strata with quotas, `tmc` and `ctmc` have a
truncation rule or inclusion probabilities (roulette). With these a place is evaluated if its probability is
at least the permutation's uniform draw; or, if marginal contributions are not wanted, if the cumulative
probability plus that draw passes an integer there (systematic sampling, which spreads the places). What is
evaluated counts 1 / probability times, so that the mean is unbiased.

The walk pauses after a number of evaluations and can be resumed, so that a caller can check for an interrupt
or a time limit, or show progress, inside one long permutation.
"""

from __future__ import annotations

import math
import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley_kernels.abi import entry, part
from ordinal_shapley_kernels.games import Game, is_defined, push, reset, utility
from ordinal_shapley_kernels.permutations import (
    PermutationState,
    begin_permutation,
    draw,
    restore,
    uniform_draw,
)
from ordinal_shapley_kernels.workspace import Cube, IntegerMatrix, Integers, Matrix, Vector, Workspace

_LARGE = 2**17  # numbers in an array

# truncation rules
NO_RULE = 0
PAPER = 1
PATIENCE = 2

# status
DONE = 0
PAUSED = 1
FAILED = 2  # the utility of the players drawn so far is not finite

# Walk.place
BEFORE = -2  # the permutation has not begun
MEASURING = -1  # the full permutation is to be evaluated, for the paper's rule


class Walk(Workspace):
    """A run over permutations: its options, progress and results."""

    permutations: PermutationState
    sizes: Integers  # (n_players,): rows of each player
    # (n_permutations, n_places): players of each permutation, in order, as far as they have been drawn.
    orders: IntegerMatrix
    n_drawn: Integers  # (n_permutations,): number of players drawn
    lengths: Integers  # (n_permutations,): players evaluated
    # (n_permutations, n_places): marginal contribution of the player at each place, divided by its inclusion
    # probability; 0 where it is not evaluated.
    marginals: Matrix
    # (n_permutations, n_places) or (0, 0): if it has rows: utility of each prefix. After truncation the full
    # utility, or with inclusion probabilities NaN, stands in for what is not evaluated.
    utilities: Matrix
    # (n_permutations, n_places, n_blocks) or (0, 0, 0): if it has rows: the same by blocks of validation
    # rows, for the prefixes that are evaluated.
    block_utilities: Cube
    # (n_places,) or (0,): probability that each place is evaluated; empty for 1. For marginal contributions
    # it must not increase.
    inclusion: Vector
    cumulated: Vector  # (n_places,) or (0,): for systematic sampling: cumulative probabilities
    uniforms: Vector  # (n_permutations,): uniform draws, if there are inclusion probabilities
    longest: int  # maximum number of players of a permutation that are evaluated
    draw_all: int  # whether the rest of a truncated permutation is drawn, too
    empty_value: float  # utility of the empty sequence
    rule: int  # NO_RULE, PAPER or PATIENCE
    tolerance: float  # absolute for PAPER, a share of |target| for PATIENCE
    patience: int  # consecutive steps within the tolerance after which PATIENCE ends a walk
    target: float  # utility that PATIENCE compares with
    # first, next, stop: index of the first permutation, of the current one, and the end of the range.
    first: int
    next: int
    stop: int
    # Number of players of the current permutation that have been evaluated, or BEFORE or MEASURING.
    place: int
    steps_within: int  # patience rule: consecutive steps within the tolerance
    first_defined: int  # length of the first prefix for which the game is defined, 0 before it
    previous: float  # utility of the sequence before the next place
    full: float  # paper rule: utility of the full permutation
    evaluations: int
    walk_length: int  # rows evaluated, summed over walks
    completed_stops: int  # walks that truncation ended at the first prefix for which the game is defined
    # whole_evaluations, whole_length: `evaluations` and `walk_length` without the current permutation.
    whole_evaluations: int
    whole_length: int


def make_walk(
    permutations: PermutationState,
    sizes: NDArray[np.int64],
    draw_all: bool,
    first: int,
    stop: int,
    empty_value: float,
    inclusion: NDArray[np.float64],
    record: bool = False,
    systematic: bool = False,
    n_blocks: int = 0,
    *,
    longest: int | None = None,
    rule: int = NO_RULE,
    tolerance: float = 0.0,
    patience: int = 0,
    target: float = 0.0,
) -> Walk:
    """Allocate a walk over permutations first..stop-1.

    `permutations` is new, or comes from a finished walk. With `record` the utilities of all prefixes are
    kept, with `n_blocks` those by blocks of validation rows. `systematic` is how places with inclusion
    probabilities are chosen. Prefixes of more than `longest` players are not evaluated, and their utilities
    stay 0.
    """
    n_permutations = stop - first
    shape = (n_permutations, permutations.n_places)
    return Walk(
        permutations=permutations,
        sizes=sizes,
        orders=fresh(shape, np.int64),
        n_drawn=np.zeros(n_permutations, np.int64),
        lengths=(n_permutations,),
        marginals=fresh(shape, np.float64),
        utilities=np.full(shape, math.nan if len(inclusion) else 0.0) if record else (0, 0),
        block_utilities=fresh((*shape, n_blocks), np.float64) if n_blocks else (0, 0, 0),
        inclusion=inclusion,
        cumulated=np.cumsum(inclusion) if systematic else (0,),
        uniforms=(n_permutations,),
        longest=permutations.n_places if longest is None else longest,
        draw_all=draw_all or record,
        empty_value=empty_value,
        rule=rule,
        tolerance=tolerance,
        patience=patience,
        target=target,
        first=first,
        next=first,
        stop=stop,
        place=BEFORE,
    )


def fresh(shape: tuple[int, ...], kind: Any) -> NDArray[Any]:
    """Zeros that take no memory where a truncated walk does not reach.

    Large arrays come from the operating system: an allocator would have to zero reused memory, and fragments
    large blocks that one thread allocates and another frees.
    """
    size = math.prod(shape)
    if size < _LARGE:
        return np.zeros(shape, kind)
    return np.frombuffer(mmap.mmap(-1, 8 * size), kind).reshape(shape)


@part
def _draw_to(run: Walk, row: int, n_drawn: int) -> None:
    """Draw the current permutation up to `n_drawn` players."""
    permutations, orders, drawn = run.permutations, run.orders, run.n_drawn
    for j in range(drawn[row], n_drawn):
        orders[row, j] = draw(permutations, j)
    drawn[row] = max(drawn[row], n_drawn)


@part
def _begin(run: Walk, row: int) -> None:
    if run.inclusion.shape[0] > 0:
        run.uniforms[row] = uniform_draw(run.permutations, run.next)
    begin_permutation(run.permutations, run.next)
    run.place = 0
    run.steps_within = 0
    run.first_defined = 0
    run.previous = run.empty_value


@part
def _end(run: Walk, row: int, n_places: int) -> None:
    """Finish the current permutation and restore the order of the players."""
    place = run.place
    sampled = run.inclusion.shape[0] > 0
    run.lengths[row] = place
    if place < run.longest and place == run.first_defined and not sampled:
        run.completed_stops += 1
    if run.draw_all:
        _draw_to(run, row, n_places)
    utilities = run.utilities
    if utilities.shape[0] > 0 and not sampled:
        # The full utility of the permutation if it is known, else the rule's target.
        full = run.full if run.rule == PAPER else run.target
        for j in range(place, n_places):
            utilities[row, j] = full
    restore(run.permutations, run.n_drawn[row])
    run.whole_evaluations = run.evaluations
    run.whole_length = run.walk_length
    run.next += 1
    run.place = BEFORE


@part
def _is_truncated(run: Walk) -> bool:
    """Whether the walk ends here, provided that the game is defined for the sequence."""
    if run.rule == PAPER:
        return abs(run.full - run.previous) < run.tolerance
    return run.rule == PATIENCE and run.steps_within >= run.patience


@part
def _next_place(run: Walk, row: int, n_places: int) -> int:
    """The next place to evaluate, from the current one on; `n_places` if there is none."""
    j, longest = run.place, run.longest
    inclusion, cumulated = run.inclusion, run.cumulated
    if inclusion.shape[0] > 0:
        uniform = run.uniforms[row]
        if cumulated.shape[0] == 0:
            while j < longest and inclusion[j] < uniform:
                j += 1
        else:
            while j < longest:
                before = cumulated[j - 1] if j > 0 else 0.0
                if math.floor(cumulated[j] + uniform) > math.floor(before + uniform):
                    break
                j += 1
    return j if j < longest else n_places


@part
def _keep_blocks(game: Game, run: Walk, row: int, j: int) -> None:
    """Store the utilities by blocks of the prefix that ends at place `j`."""
    block_utilities, scores = run.block_utilities, game.scores
    if block_utilities.shape[0] > 0:
        for b in range(block_utilities.shape[2]):
            block_utilities[row, j, b] = scores[1 + b]


@part
def _credit(run: Walk, row: int, j: int, value: float, defined: int) -> None:
    """Record the marginal contribution of the player at place `j`, and move on."""
    inclusion, utilities = run.inclusion, run.utilities
    marginal = value - run.previous
    run.marginals[row, j] = marginal / inclusion[j] if inclusion.shape[0] > 0 else marginal
    if utilities.shape[0] > 0:
        utilities[row, j] = value
    run.previous = value
    run.place = j + 1
    run.walk_length += run.sizes[run.orders[row, j]]
    if defined:
        run.evaluations += 1
        if run.first_defined == 0:
            run.first_defined = j + 1
        if abs(value - run.target) <= run.tolerance * abs(run.target):
            run.steps_within += 1
        else:
            run.steps_within = 0


@entry
def walk(game: Game, run: Walk, budget: int) -> int:
    """Walk the remaining permutations, and pause after `budget` utilities.

    The paper's Algorithms 1 to 3. Writes `run` and the game's workspace; returns DONE, PAUSED when there is
    more to do, or FAILED. Results are bit-identical wherever it pauses.
    """
    n_places = run.permutations.n_places
    orders = run.orders
    while run.next < run.stop:
        row = run.next - run.first
        if run.place == BEFORE:
            _begin(run, row)
            reset(game)
            if run.rule == PAPER:
                run.place = MEASURING
        while True:
            place = run.place
            measuring = place == MEASURING
            last = n_places - 1 if measuring else _next_place(run, row, n_places)
            if not measuring and (last == n_places or (_is_truncated(run) and is_defined(game))):
                break
            if budget <= 0:
                return PAUSED
            _draw_to(run, row, last + 1)
            for j in range(0 if measuring else place, last + 1):
                push(game, orders[row, j])
            value = utility(game)
            budget -= 1
            if not math.isfinite(value):
                return FAILED
            if measuring:
                run.full = value
                run.evaluations += 1
                run.place = 0
                reset(game)
            else:
                _keep_blocks(game, run, row, last)
                _credit(run, row, last, value, is_defined(game))
        _end(run, row, n_places)
    return DONE


class Orders(Workspace):
    """Orders whose prefixes are to be evaluated."""

    orders: IntegerMatrix  # (n_orders, n_places)
    lengths: Integers  # (n_orders,): number of prefixes of each order
    # (n_orders, n_places): written: [t, j] is the utility of the first j players of order t.
    utilities: Matrix


@entry
def evaluate_prefixes(game: Game, prefixes: Orders) -> int:
    """Write the utility of the first j players of each order into utilities[t, j], for j < lengths[t].

    Returns DONE, or FAILED at the first that is not finite, and stops there.
    """
    orders, lengths, utilities = prefixes.orders, prefixes.lengths, prefixes.utilities
    for t in range(orders.shape[0]):
        reset(game)
        for j in range(lengths[t]):
            if j > 0:
                push(game, orders[t, j - 1])
            value = utility(game)
            utilities[t, j] = value
            if not math.isfinite(value):
                return FAILED
    return DONE


class Sequence(Workspace):
    """A sequence to be evaluated."""

    players: Integers  # (n,): in order of entry
    # (n,) or (1,): written: [j] is the utility of the first j + 1 players, or [0] that of all.
    utilities: Vector
    every: int  # whether the utilities of all prefixes are wanted


@entry
def evaluate_sequence(game: Game, sequence: Sequence) -> None:
    """Write the utility of a sequence of players, or of each of its prefixes; NaN where there is none."""
    players, utilities, every = sequence.players, sequence.utilities, sequence.every
    n_players = players.shape[0]
    reset(game)
    for j in range(n_players):
        push(game, players[j])
        if every or j == n_players - 1:
            utilities[j if every else 0] = utility(game)


def utilities_of(game: Game, players: NDArray[np.int64], every: bool = False) -> NDArray[np.float64]:
    """Return the utility of a sequence of at least one player; of each of its prefixes with `every`."""
    sequence = Sequence(players=players, utilities=np.empty(len(players) if every else 1), every=every)
    evaluate_sequence(game, sequence)
    return sequence.utilities
