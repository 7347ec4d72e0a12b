"""Random permutations keyed by (seed, index), drawn lazily.

The stream, exactly (all arithmetic modulo 2**64):

- `mix(z)`: z ^= z >> 30; z *= 0xBF58476D1CE4E5B9; z ^= z >> 27; z *= 0x94D049BB133111EB; z ^= z >> 31
  (the finaliser of splitmix64, Steele, Lea and Flood 2014);
- the state of permutation `index` starts as
  `mix(mix(seed) ^ (index * 0xD1B54A32D192ED03 + 0x9E3779B97F4A7C15))`;
- each draw adds 0x9E3779B97F4A7C15 to the state and returns `mix(state)`;
- an integer below n (n < 2**32) takes the upper 32 bits x of a draw and forms x * n: the result is its
  upper 32 bits, and while its lower 32 bits are below (2**32 - n) % n the draw is repeated (Lemire 2019),
  so every result is exactly equally likely.

A permutation is drawn place by place. Players are kept in strata (one stratum for mc and tmc, one per class
for cmc and ctmc), each with a quota. For the next place an integer t below the total quota left picks the
stratum (the first with a cumulative quota left above t; no draw if there is one stratum), then an integer
below the number of unused members picks the member, which is swapped behind the used ones (Fisher-Yates).
Every ordered selection with those quotas is equally likely, and the cost of a walk that stops early does not
depend on the number of players.

That is the design INDEPENDENT. In the others each permutation has the same distribution, but some depend on
others:

- ANTITHETIC: permutation 2 k is as above, 2 k + 1 is the reverse of it;
- LATIN, for one stratum of n players: permutations n k, ..., n k + n - 1 are the rows of a random Latin
  square, so every player stands once at every place. The stream of index k shuffles, from the last element
  down (an integer below i + 1 is the place to swap with i), three arrays: the players as listed, 0..n-1 and
  0..n-1 again. With these p, r and c, row t has player p[(r[t] + c[j]) mod n] at place j.

The uniform draw of a permutation is (x + 1) / 2**53, x the upper 53 bits of the first draw of the stream of
its index whose seed is seed ^ 0x9FB21C651E98DF25.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley_kernels.abi import entry, inlined, part, symbol
from ordinal_shapley_kernels.workspace import IntegerMatrix, Integers, Words, Workspace

GAMMA = np.uint64(0x9E3779B97F4A7C15)
_INDEX_FACTOR = np.uint64(0xD1B54A32D192ED03)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_LOW_32 = np.uint64(0xFFFFFFFF)
_TWO_32 = np.uint64(0x100000000)
_UNIFORM = np.uint64(0x9FB21C651E98DF25)  # a different stream from that of the permutations

# Designs. Files identify runs by these numbers, so a new one gets the next.
INDEPENDENT = 0
ANTITHETIC = 1
LATIN = 2


class PermutationState(Workspace):
    """Players in strata, and how many the current permutation has drawn."""

    # (n_players,): players, stratum after stratum; the first `used[s]` of stratum s are drawn. Written by
    # `draw`, restored to its original order by `restore`.
    members: Integers
    starts: Integers  # (n_strata + 1,): where each stratum begins in `members`
    quota: Integers  # (n_strata,): how many players of each stratum a permutation holds
    # (n_strata,): how many the current permutation has drawn. Written by `draw`.
    used: Integers
    # (n_players, 2): positions swapped so far, so that `restore` costs no more than the walk.
    swaps: IntegerMatrix
    order: Integers  # (n_players,): the current permutation, if the design determines all of it at once
    square: IntegerMatrix  # (3, n_players) or (3, 0): LATIN: p, r and c of the current block
    seed: Words  # (1,): key of the stream of permutations
    random: Words  # (1,): random state of the current permutation
    n_places: int  # players that a permutation holds
    design: int
    ready: int  # whether `order` holds the current permutation
    block: int  # LATIN: the block of `square`, or -1


def make_permutation_state(
    members: NDArray[np.int64],
    starts: NDArray[np.int64],
    quota: NDArray[np.int64],
    seed: int,
    design: int = INDEPENDENT,
) -> PermutationState:
    """Allocate the state of a stream of permutations; arrays as in `PermutationState`."""
    n_players = len(members)
    return PermutationState(
        members=np.array(members, np.int64),
        starts=starts,
        quota=quota,
        used=(len(quota),),
        swaps=(n_players, 2),
        order=(n_players,),
        square=(3, n_players if design == LATIN else 0),
        seed=np.array([seed], np.uint64),
        random=(1,),
        n_places=int(np.sum(quota)),
        design=int(design),
        block=-1,
    )


@inlined
def _mix(z: np.uint64) -> np.uint64:
    z = (z ^ (z >> np.uint64(30))) * _MIX_1
    z = (z ^ (z >> np.uint64(27))) * _MIX_2
    return z ^ (z >> np.uint64(31))


@inlined
def _next(random: NDArray[np.uint64]) -> np.uint64:
    """Advance `random` in place and return 64 random bits."""
    random[0] = random[0] + GAMMA
    return _mix(random[0])


@inlined
def _seed(random: NDArray[np.uint64], seed: np.uint64, index: int) -> None:
    """Start stream `index` of `seed`; writes `random`."""
    random[0] = _mix(_mix(seed) ^ (np.uint64(index) * _INDEX_FACTOR + GAMMA))


@inlined
def integer_below(random: NDArray[np.uint64], n: int) -> np.int64:
    """Uniform integer in 0..n-1, for 1 <= n < 2**32; writes `random`."""
    bound = np.uint64(n)
    product = (_next(random) >> np.uint64(32)) * bound
    if (product & _LOW_32) < bound:
        threshold = (_TWO_32 - bound) % bound
        while (product & _LOW_32) < threshold:
            product = (_next(random) >> np.uint64(32)) * bound
    return np.int64(product >> np.uint64(32))


@symbol
def _draw_next(state: PermutationState, place: int) -> int:
    """Draw the player at `place`; places come in order from 0."""
    members, starts, quota, used, swaps = state.members, state.starts, state.quota, state.used, state.swaps
    random = state.random
    stratum = 0
    if quota.shape[0] > 1:
        left = integer_below(random, state.n_places - place)
        while left >= quota[stratum] - used[stratum]:
            left -= quota[stratum] - used[stratum]
            stratum += 1
    first = starts[stratum] + used[stratum]
    chosen = first + integer_below(random, starts[stratum + 1] - first)
    player = members[chosen]
    members[chosen] = members[first]
    members[first] = player
    swaps[place, 0] = first
    swaps[place, 1] = chosen
    used[stratum] += 1
    return player


@inlined
def restore(state: PermutationState, n_drawn: int) -> None:
    """Undo the `n_drawn` draws of the current permutation; writes `members` and `used`."""
    members, swaps, used = state.members, state.swaps, state.used
    for k in range(n_drawn):
        place = n_drawn - 1 - k
        a = swaps[place, 0]
        b = swaps[place, 1]
        player = members[a]
        members[a] = members[b]
        members[b] = player
    for stratum in range(used.shape[0]):
        used[stratum] = 0


@part
def _read_square(state: PermutationState, index: int) -> None:
    """Write the row `index` of the Latin squares into `state.order`."""
    members, square, order, random = state.members, state.square, state.order, state.random
    n = members.shape[0]
    block = index // n
    if state.block != block:
        _seed(random, state.seed[0], block)
        for i in range(n):
            square[0, i] = members[i]
            square[1, i] = i
            square[2, i] = i
        for shuffled in range(3):
            for i in range(n - 1, 0, -1):
                j = integer_below(random, i + 1)
                player = square[shuffled, i]
                square[shuffled, i] = square[shuffled, j]
                square[shuffled, j] = player
        state.block = block
    shift = square[1, index - block * n]
    for place in range(n):
        order[place] = square[0, (shift + square[2, place]) % n]


@symbol
def begin_permutation(state: PermutationState, index: int) -> None:
    """Start permutation `index` of the stream; writes `state`."""
    state.ready = 0
    if state.design == LATIN:
        _read_square(state, index)
        state.ready = 1
    elif state.design == ANTITHETIC and index % 2 == 1:
        order, n_places = state.order, state.n_places
        _seed(state.random, state.seed[0], index - 1)
        for place in range(n_places):
            order[n_places - 1 - place] = _draw_next(state, place)
        restore(state, n_places)
        state.ready = 1
    else:
        _seed(state.random, state.seed[0], index)


@inlined
def draw(state: PermutationState, place: int) -> int:
    """Player at `place` of the current permutation; places come in order from 0."""
    if state.ready:
        swaps = state.swaps
        swaps[place, 0] = 0  # `restore` has nothing to undo
        swaps[place, 1] = 0
        return state.order[place]
    return _draw_next(state, place)


@inlined
def uniform_draw(state: PermutationState, index: int) -> float:
    """Uniform draw of permutation `index`, above 0 and at most 1; writes `state.random`."""
    random = state.random
    _seed(random, state.seed[0] ^ _UNIFORM, index)
    return (float(_next(random) >> np.uint64(11)) + 1.0) * 2.0**-53


class Drawing(Workspace):
    """Permutations to be drawn."""

    state: PermutationState
    orders: IntegerMatrix  # (n_permutations, n_places): written by `draw_many`


@entry
def draw_many(drawing: Drawing, first: int) -> None:
    """Write permutations first, first + 1, ... into the rows of `drawing.orders`."""
    state, orders = drawing.state, drawing.orders
    for row in range(orders.shape[0]):
        begin_permutation(state, first + row)
        for place in range(orders.shape[1]):
            orders[row, place] = draw(state, place)
        restore(state, orders.shape[1])
