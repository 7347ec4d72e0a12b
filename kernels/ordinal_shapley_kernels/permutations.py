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

A permutation is drawn place by place. Players are kept in strata (one stratum for mc and tmc, one a class
for cmc and ctmc) with a quota each. For the next place an integer t below the total quota left picks the
stratum (the first whose quota left, summed up, exceeds t; no draw when there is one stratum), then an
integer below the number of unused members picks the member, which is swapped behind the used ones
(Fisher-Yates). Every ordered selection with those quotas is equally likely, and the cost of a walk that
stops early does not depend on the number of players.

That is the design INDEPENDENT. In the others a permutation is as likely as in it, but some hang together:

- ANTITHETIC: permutation 2 k is as above, 2 k + 1 is the reverse of it;
- LATIN, for one stratum of n players: permutations n k, ..., n k + n - 1 are the rows of a random Latin
  square, so every player stands once at every place. The stream of index k shuffles, from the last entry
  down (an integer below i + 1 says what goes to i), three arrays: the players as listed, 0..n-1 and 0..n-1
  again. With these p, r and c, row t has player p[(r[t] + c[j]) mod n] at place j.

The lucky number of a permutation is (x + 1) / 2**53, x the upper 53 bits of the first draw of the stream of
its index whose seed is seed ^ 0x9FB21C651E98DF25.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley_kernels._jit import kernel

GAMMA = np.uint64(0x9E3779B97F4A7C15)
_INDEX_FACTOR = np.uint64(0xD1B54A32D192ED03)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_LOW_32 = np.uint64(0xFFFFFFFF)
_TWO_32 = np.uint64(0x100000000)
_LUCK = np.uint64(0x9FB21C651E98DF25)  # another stream than the permutations'

# designs; runs are told apart by these numbers, so a new one gets the next
INDEPENDENT = 0
ANTITHETIC = 1
LATIN = 2

# Deck.plan
DESIGN = 0
READY = 1  # whether `order` holds the current permutation
BLOCK = 2  # LATIN: the block whose square is at hand, or -1


class Deck(NamedTuple):
    """Players in strata, and how far the current permutation has drawn on them.

    Attributes
    ----------
    members : int64 (n_players,)
        Players, stratum after stratum; the first `used[s]` of stratum s are drawn. Written by `draw`,
        put back in its first order by `restore`.
    starts : int64 (n_strata + 1,)
        Where each stratum begins in `members`.
    quota : int64 (n_strata,)
        How many players of each stratum a permutation holds.
    used : int64 (n_strata,)
        How many the current permutation has drawn. Written by `draw`.
    swaps : int64 (n_players, 2)
        Positions exchanged so far, so that `restore` costs no more than the walk did.
    state : uint64 (1,)
        Random state of the current permutation.
    plan : int64 (3,)
        DESIGN, READY and BLOCK.
    order : int64 (n_players,)
        The current permutation, where the design tells all of it at once.
    square : int64 (3, n_players) or (3, 0)
        LATIN: p, r and c of the block at hand.
    """

    members: NDArray[np.int64]
    starts: NDArray[np.int64]
    quota: NDArray[np.int64]
    used: NDArray[np.int64]
    swaps: NDArray[np.int64]
    state: NDArray[np.uint64]
    plan: NDArray[np.int64]
    order: NDArray[np.int64]
    square: NDArray[np.int64]


def make_deck(
    members: NDArray[np.int64], starts: NDArray[np.int64], quota: NDArray[np.int64], design: int = INDEPENDENT
) -> Deck:
    """Allocate a deck; `members`, `starts` and `quota` as in `Deck`."""
    n_players = len(members)
    return Deck(
        np.array(members, np.int64),
        np.array(starts, np.int64),
        np.array(quota, np.int64),
        np.zeros(len(quota), np.int64),
        np.zeros((n_players, 2), np.int64),
        np.zeros(1, np.uint64),
        np.array([design, 0, -1], np.int64),
        np.zeros(n_players, np.int64),
        np.zeros((3, n_players if design == LATIN else 0), np.int64),
    )


@kernel()
def _mix(z: np.uint64) -> np.uint64:
    z = (z ^ (z >> np.uint64(30))) * _MIX_1
    z = (z ^ (z >> np.uint64(27))) * _MIX_2
    return z ^ (z >> np.uint64(31))


@kernel()
def _next(state: NDArray[np.uint64]) -> np.uint64:
    """Advance `state` in place and return 64 random bits."""
    state[0] = state[0] + GAMMA
    return _mix(state[0])


@kernel()
def _seed(state: NDArray[np.uint64], seed: np.uint64, index: int) -> None:
    """Start stream `index` of `seed`; writes `state`."""
    state[0] = _mix(_mix(seed) ^ (np.uint64(index) * _INDEX_FACTOR + GAMMA))


@kernel()
def integer_below(state: NDArray[np.uint64], n: int) -> np.int64:
    """Uniform integer in 0..n-1, for 1 <= n < 2**32; writes `state`."""
    bound = np.uint64(n)
    product = (_next(state) >> np.uint64(32)) * bound
    if (product & _LOW_32) < bound:
        threshold = (_TWO_32 - bound) % bound
        while (product & _LOW_32) < threshold:
            product = (_next(state) >> np.uint64(32)) * bound
    return np.int64(product >> np.uint64(32))


@kernel()
def _draw_next(deck: Deck, place: int, n_places: int) -> int:
    """Draw the player at `place`; places come in order from 0."""
    stratum = 0
    if deck.quota.shape[0] > 1:
        left = integer_below(deck.state, n_places - place)
        while left >= deck.quota[stratum] - deck.used[stratum]:
            left -= deck.quota[stratum] - deck.used[stratum]
            stratum += 1
    first = deck.starts[stratum] + deck.used[stratum]
    chosen = first + integer_below(deck.state, deck.starts[stratum + 1] - first)
    player = deck.members[chosen]
    deck.members[chosen] = deck.members[first]
    deck.members[first] = player
    deck.swaps[place, 0] = first
    deck.swaps[place, 1] = chosen
    deck.used[stratum] += 1
    return player


@kernel()
def restore(deck: Deck, n_drawn: int) -> None:
    """Undo the `n_drawn` draws of the current permutation; writes `members` and `used`."""
    for k in range(n_drawn):
        place = n_drawn - 1 - k
        a = deck.swaps[place, 0]
        b = deck.swaps[place, 1]
        player = deck.members[a]
        deck.members[a] = deck.members[b]
        deck.members[b] = player
    deck.used[:] = 0


@kernel()
def _shuffle(state: NDArray[np.uint64], entries: NDArray[np.int64]) -> None:
    for i in range(entries.shape[0] - 1, 0, -1):
        j = integer_below(state, i + 1)
        entry = entries[i]
        entries[i] = entries[j]
        entries[j] = entry


@kernel()
def _read_square(deck: Deck, seed: np.uint64, index: int) -> None:
    """Write the row `index` of the Latin squares into `deck.order`."""
    n = deck.members.shape[0]
    block = index // n
    square = deck.square
    if deck.plan[BLOCK] != block:
        _seed(deck.state, seed, block)
        for i in range(n):
            square[0, i] = deck.members[i]
            square[1, i] = i
            square[2, i] = i
        for part in range(3):
            _shuffle(deck.state, square[part])
        deck.plan[BLOCK] = block
    shift = square[1, index - block * n]
    for j in range(n):
        deck.order[j] = square[0, (shift + square[2, j]) % n]


@kernel()
def seed_deck(deck: Deck, seed: np.uint64, index: int, n_places: int) -> None:
    """Start permutation `index` of the stream `seed`, which has `n_places`; writes `deck`."""
    deck.plan[READY] = 0
    if deck.plan[DESIGN] == LATIN:
        _read_square(deck, seed, index)
        deck.plan[READY] = 1
    elif deck.plan[DESIGN] == ANTITHETIC and index % 2 == 1:
        _seed(deck.state, seed, index - 1)
        for place in range(n_places):
            deck.order[n_places - 1 - place] = _draw_next(deck, place, n_places)
        restore(deck, n_places)
        deck.plan[READY] = 1
    else:
        _seed(deck.state, seed, index)


@kernel()
def draw(deck: Deck, place: int, n_places: int) -> int:
    """Player at `place` of the current permutation, which has `n_places`; places come in order from 0."""
    if deck.plan[READY]:
        deck.swaps[place, 0] = 0  # nothing for `restore` to undo
        deck.swaps[place, 1] = 0
        return deck.order[place]
    return _draw_next(deck, place, n_places)


@kernel()
def lucky_number(state: NDArray[np.uint64], seed: np.uint64, index: int) -> float:
    """Uniform number above 0 and up to 1 that goes with permutation `index`; writes `state`."""
    _seed(state, seed ^ _LUCK, index)
    return (float(_next(state) >> np.uint64(11)) + 1.0) * 2.0**-53


@kernel()
def draw_many(deck: Deck, seed: np.uint64, first: int, n_places: int, out: NDArray[np.int64]) -> None:
    """Write permutations first, first + 1, ... into the rows of `out` (n_permutations, n_places)."""
    for row in range(out.shape[0]):
        seed_deck(deck, seed, first + row, n_places)
        for place in range(n_places):
            out[row, place] = draw(deck, place, n_places)
        restore(deck, n_places)
