"""The random streams: bitwise as documented, uniform, lazy, independent across indices."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import naive
from ordinal_shapley_kernels import permutations
from ordinal_shapley_kernels.abi import entry
from ordinal_shapley_kernels.permutations import PermutationState
from problems import size

DESIGNS = {
    "independent": permutations.INDEPENDENT,
    "antithetic": permutations.ANTITHETIC,
    "latin": permutations.LATIN,
}


def state_of(strata, quota, seed, design="independent"):
    members = np.array([p for players in strata for p in players], dtype=np.int64)
    starts = np.cumsum([0] + [len(players) for players in strata])
    return permutations.make_permutation_state(members, starts, np.array(quota), seed, DESIGNS[design])


def drawn(strata, quota, seed, first, count, design="independent"):
    state = state_of(strata, quota, seed, design)
    orders = np.empty((count, state.n_places), np.int64)
    with warnings.catch_warnings(), np.errstate(over="ignore"):
        permutations.draw_many(permutations.Drawing(state=state, orders=orders), first)
    return orders


@settings(max_examples=size(100, 20), deadline=None)
@given(
    sizes=st.lists(st.integers(1, 7), min_size=1, max_size=4),
    seed=st.integers(0, 2**64 - 1),
    first=st.integers(0, 2**40),
    data=st.data(),
)
def test_stream_is_the_documented_one(sizes, seed, first, data):
    players = iter(data.draw(st.permutations(range(sum(sizes)))))
    strata = [[next(players) for _ in range(n)] for n in sizes]
    quota = [data.draw(st.integers(1, n)) for n in sizes]
    for design in ("independent", "antithetic"):
        expected = [naive.permutation(seed, first + k, strata, quota, design) for k in range(3)]
        np.testing.assert_array_equal(drawn(strata, quota, seed, first, 3, design), expected)
    whole = [len(strata[0])]
    expected = [naive.permutation(seed, first + k, strata[:1], whole, "latin") for k in range(9)]
    np.testing.assert_array_equal(drawn(strata[:1], whole, seed, first, 9, "latin"), expected)


def test_first_numbers_of_the_stream():
    # splitmix64 from state 0, as printed by the reference implementation of Steele, Lea and Flood.
    stream = naive.Stream(0, 0)
    stream.state = 0
    assert [hex(stream.bits()) for _ in range(2)] == ["0xe220a8397b1dcdaf", "0x6e789e6aa1b965f4"]


@pytest.mark.parametrize("n", [1, 2, 3, 6, 1000, 2**31 + 1, 2**32 - 1])
def test_integers_below_match_and_cover(n):
    stream = naive.Stream(5, 9)
    state = np.array([stream.state], dtype=np.uint64)
    with np.errstate(over="ignore"):
        got = [int(permutations.integer_below(state, n)) for _ in range(200)]
    assert got == [stream.below(n) for _ in range(200)]
    assert all(0 <= x < n for x in got)
    assert int(state[0]) == stream.state


@pytest.mark.parametrize("design", DESIGNS)
def test_every_order_is_equally_likely(design):
    count = size(48_000, 2_400)
    # One of each unit: the others of a unit are no further evidence.
    step = {"independent": 1, "antithetic": 2, "latin": 4}[design]
    for offset in {0, step - 1}:
        rows = drawn([[0, 1, 2, 3]], [4], seed=3, first=0, count=count, design=design)[offset::step]
        check_uniform(codes_of(rows, itertools.permutations(range(4))), 24)


def codes_of(rows, orders):
    codes = {order: k for k, order in enumerate(orders)}
    return np.array([codes[tuple(row)] for row in rows.tolist()])


def check_uniform(codes, n_codes):
    assert stats.chisquare(np.bincount(codes, minlength=n_codes)).pvalue > 1e-3


def test_latin_blocks_are_latin_squares():
    n = 7
    rows = drawn([[4, 2, 0, 1, 3, 6, 5]], [n], seed=8, first=0, count=5 * n, design="latin")
    for block in rows.reshape(5, n, n):
        for square in (block, block.T):
            np.testing.assert_array_equal(np.sort(square, axis=1), np.tile(np.arange(n), (n, 1)))
    assert not np.array_equal(rows[:n], rows[n : 2 * n])
    # A range that begins inside a block is the same permutations.
    np.testing.assert_array_equal(
        drawn([[4, 2, 0, 1, 3, 6, 5]], [n], seed=8, first=10, count=9, design="latin"), rows[10:19]
    )


def test_every_selection_with_quotas_is_equally_likely():
    strata, quota = [[0, 1, 2], [3, 4]], [2, 1]
    legal = [
        order for order in itertools.permutations(range(5), 3) if sum(player < 3 for player in order) == 2
    ]
    assert len(legal) == 36
    check_uniform(codes_of(drawn(strata, quota, seed=11, first=7, count=size(72_000, 3_600)), legal), 36)


@pytest.mark.parametrize("lag", [1, 2, 64])
def test_permutations_of_different_indices_are_independent(lag):
    count = size(30_000, 1_500)
    rows = drawn([[0, 1, 2]], [3], seed=2, first=0, count=count + lag)
    code = codes_of(rows, itertools.permutations(range(3)))
    check_uniform(6 * code[:-lag] + code[lag:], 36)


def test_seeds_are_independent():
    count = size(200, 40)
    rows = np.concatenate([drawn([[0, 1, 2]], [3], seed, 0, 30) for seed in range(count)])
    check_uniform(codes_of(rows, itertools.permutations(range(3))), 6)
    # A shift of the seed is not a shift of the index.
    assert not np.array_equal(drawn([list(range(8))], [8], 0, 1, 9), drawn([list(range(8))], [8], 1, 0, 9))


@entry
def draw_some(state: PermutationState, index: int, count: int) -> None:
    permutations.begin_permutation(state, index)
    for place in range(count):
        permutations.draw(state, place)


@entry
def put_back(state: PermutationState, count: int) -> None:
    permutations.restore(state, count)


def test_drawing_is_lazy_and_undone():
    # Three draws of a million players touch three places, and restoring puts them back.
    n = 1_000_000
    state = state_of([range(n)], [n], 4)
    stream = naive.Stream(4, 2)
    with np.errstate(over="ignore"):
        draw_some(state, 2, 3)
    for place in range(3):
        stream.below(n - place)
    assert int(state.random[0]) == stream.state  # no number drawn ahead
    assert np.count_nonzero(state.members != np.arange(n)) <= 6
    put_back(state, 3)
    np.testing.assert_array_equal(state.members, np.arange(n))
    assert state.used.tolist() == [0]
