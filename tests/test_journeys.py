"""Journeys: what their credit is, against the definition, and what they are read from."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import naive
import ordinal_shapley as osv
from problems import size
from runs import sample_with

# Many games here are as small as can be, and all of their journeys convert.
pytestmark = pytest.mark.filterwarnings("ignore:add the journeys", "ignore:pass exclude")

VALUES = ["partial_ordinal", "ordinal", "classic"]
KINDS = [{"unseen": "backoff"}, {"unseen": "zero"}, {"utility": "conversions"}]
IDS = ["backoff", "zero", "conversions"]
EXACT = {
    "partial_ordinal": naive.exact_partial_ordinal,
    "ordinal": naive.exact_ordinal,
    "classic": naive.exact_classic,
}


def random_rows(rng, n_channels, n_rows, longest=None):
    """Rows of channels, conversions and non-conversions; some never convert, some come twice."""
    rows = []
    for _ in range(n_rows):
        length = rng.integers(1, (longest or n_channels) + 1)
        channels = tuple(rng.permutation(n_channels)[:length].tolist())
        won = int(rng.integers(0, 9)) * int(rng.random() < 0.7)
        rows.append((channels, won, int(rng.integers(0, 20)) + (won == 0)))
    return rows


def names(channels):
    return [f"c{channel}" for channel in channels]


def game_of(rows, n_channels, **options):
    journeys, won, lost = zip(*rows, strict=True)
    return osv.JourneyGame(
        [names(channels) for channels in journeys], won, lost, channels=names(range(n_channels)), **options
    )


def utility_of(rows, n_channels, value="partial_ordinal", utility="rate", unseen="backoff"):
    return naive.JourneyUtility(n_channels, rows, utility, unseen, ordered=value != "classic")


def credits(game, value="partial_ordinal"):
    return game.credit(value)["credit"].to_numpy()


@pytest.mark.parametrize("kind", KINDS, ids=IDS)
@pytest.mark.parametrize("ordered", [True, False], ids=["ordered", "pooled"])
def test_utility_of_every_sequence(kind, ordered):
    for seed in range(3):
        rows = random_rows(np.random.default_rng(seed), 4, 9)
        game = game_of(rows, 4, ordered=ordered, **kind)
        U = utility_of(rows, 4, "ordinal" if ordered else "classic", **kind)
        assert game.order_free == (not ordered)
        for sequence in naive.sequences_of(range(4)):
            assert game(sequence) == pytest.approx(U(sequence), rel=1e-12, abs=1e-12), sequence


@pytest.mark.parametrize("kind", KINDS, ids=IDS)
@pytest.mark.parametrize("value", VALUES)
def test_credit_is_the_value_of_the_game(value, kind):
    for seed in range(4):
        rows = random_rows(np.random.default_rng(10 + seed), 4, 8)
        game = game_of(rows, 4, **kind)
        U = utility_of(rows, 4, value, **kind)
        expected = EXACT[value](U, 4)
        np.testing.assert_allclose(credits(game, value), expected, rtol=1e-10, atol=1e-10)
        played = game_of(rows, 4, ordered=value != "classic", **kind)
        np.testing.assert_allclose(osv.exact_values(played, value).values, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS, ids=IDS)
@pytest.mark.parametrize("value", VALUES)
def test_credit_by_position(value, kind):
    rows = random_rows(np.random.default_rng(5), 4, 10)
    rows[3] = ((2, 0, 3, 1), 5, 1)
    game = game_of(rows, 4, **kind)
    U = utility_of(rows, 4, value, **kind)
    frame = game.credit(value, by_position=True)
    if value == "partial_ordinal":
        expected = naive.journey_credit_by_place(U, 4)
    else:
        expected = naive.journey_credit_by_position(U, rows, lambda func: EXACT[value](func, 4), 4)
    np.testing.assert_allclose(frame, expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(frame.sum(axis=1), credits(game, value), rtol=1e-10, atol=1e-10)
    assert frame.columns.tolist() == [1, 2, 3, 4] and frame.columns.name == "position"
    assert frame.index.tolist() == names(range(4)) and frame.index.name == "channel"


def test_a_pooled_game_has_one_value():
    rows = random_rows(np.random.default_rng(6), 4, 12)
    game = game_of(rows, 4, ordered=False)
    classic = credits(game, "classic")
    for value in VALUES:
        np.testing.assert_array_equal(credits(game, value), classic)
    np.testing.assert_allclose(credits(game_of(rows, 4), "classic"), classic, rtol=1e-12)
    with pytest.raises(ValueError, match="ordered=False"):
        osv.exact_values(game_of(rows, 4), "classic")


def test_a_game_tells_itself_from_others():
    rows = random_rows(np.random.default_rng(3), 4, 8)
    game = game_of(rows, 4)
    first = osv.sample_values(game, "partial_ordinal", "mc", n_permutations=10, random_state=1)

    def more(of):
        return sample_with(of, n_permutations=10, random_state=1, first_permutation=10)

    assert osv.Valuation.merge([first, more(game_of(rows, 4))]).n_permutations == 20
    for other in (game_of(rows, 4, unseen="zero"), game_of([*rows[:-1], ((0,), 99, 1)], 4)):
        with pytest.raises(ValueError, match="game"):
            osv.Valuation.merge([first, more(other)])


def test_order_changes_the_credit():
    def credit(ab, ba, value):
        paths = ["A", "B", "A > B", "B > A"]
        return osv.JourneyGame.from_paths(paths, [10, 10, ab, ba], [90, 90, 100 - ab, 100 - ba]).credit(value)

    # A then B converts 30 %, B then A 10 %: B's touch after A's is what is worth something.
    forth, back = (credit(*counts, "partial_ordinal")["credit"].to_dict() for counts in ((30, 10), (10, 30)))
    assert forth == pytest.approx({"A": 20, "B": 40}) and back == pytest.approx({"A": 40, "B": 20})
    for value in ("ordinal", "classic"):
        assert credit(30, 10, value)["credit"].to_dict() == pytest.approx({"A": 30, "B": 30})


@pytest.mark.parametrize("kind", KINDS, ids=IDS)
@pytest.mark.parametrize("value", VALUES)
def test_non_converting_journeys_alone_give_0(value, kind):
    game = osv.JourneyGame.from_paths(["A > B", "B", "C > A > B"], [0, 0, 0], [5, 3, 1], **kind)
    assert credits(game, value).tolist() == [0.0, 0.0, 0.0]
    assert game.credit(value)["share"].tolist() == [0.0, 0.0, 0.0]
    assert game.credit(value, by_position=True).to_numpy().sum() == 0.0
    for frame in (game.credit(value), game.credit(value, by_position=True), game.touches()):
        assert (frame.dtypes == np.float64).all()
    assert osv.exact_values(game, "partial_ordinal").values.tolist() == [0.0, 0.0, 0.0]
    pooled = osv.JourneyGame.from_paths(["A > B", "B"], [0, 0], [5, 3], ordered=False, **kind)
    assert osv.exact_values(pooled, "classic").values.tolist() == [0.0, 0.0]


def test_sets_have_tables_of_their_own():
    # D and F back off to F, whatever subsets of A, B and C were seen before.
    rows = [((0,), 3, 7), ((0, 1, 2), 8, 2), ((5,), 4, 6), ((3, 4, 5), 9, 1)]
    expected = naive.exact_classic(utility_of(rows, 6, "classic"), 6)
    np.testing.assert_allclose(credits(game_of(rows, 6), "classic"), expected, rtol=1e-10)


@pytest.mark.parametrize("value", VALUES)
def test_conversions_alone_give_last_touch_and_equal_parts(value):
    rows = random_rows(np.random.default_rng(11), 8, 60, longest=5)
    expected = np.zeros(8)
    for channels, won, _ in rows:
        if value == "partial_ordinal":
            expected[channels[-1]] += won
        else:
            expected[list(channels)] += won / len(channels)
    np.testing.assert_allclose(
        credits(game_of(rows, 8, utility="conversions"), value), expected, rtol=1e-12, atol=1e-12
    )


def test_rates_of_one_alone_are_its_own():
    # Every channel converts a share of its own of those that it reaches, whatever else they see.
    rates = np.array([0.1, 0.3, 0.05, 0.2])
    rows = [(s, 1000 * rates[list(s)].sum(), 1000 * (1 - rates[list(s)].sum()))
            for s in naive.sequences_of(range(4)) if s]  # fmt: skip
    reached = np.array([sum(1000 for s, *_ in rows if channel in s) for channel in range(4)])
    for value, unseen in itertools.product(VALUES, ("backoff", "zero")):
        np.testing.assert_allclose(
            credits(game_of(rows, 4, unseen=unseen), value), reached * rates, rtol=1e-10
        )


def test_long_journeys_and_many_channels():
    rng = np.random.default_rng(12)
    rows = [
        (tuple(rng.permutation(3_000)[: rng.integers(1, 30)].tolist()), 3, 4) for _ in range(size(300, 20))
    ]
    rows.append((tuple(range(100)), 1, 0))
    total = sum(won for _, won, _ in rows)
    for kind, value in itertools.product(KINDS, VALUES):
        game = game_of(rows, 3_000, **kind)
        if value == "classic" and kind == {"unseen": "backoff"}:
            with pytest.raises(ValueError, match="100 channels"):
                game.credit(value)
        else:
            assert game.credit(value)["credit"].sum() == pytest.approx(total, rel=1e-10)


JOURNEY = st.lists(st.integers(0, 3), min_size=1, max_size=4, unique=True).map(tuple)
ROWS = st.lists(st.tuples(JOURNEY, st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=size(12, 6))
KIND = st.sampled_from(KINDS)
VALUE = st.sampled_from(VALUES)
hypothesis = settings(
    max_examples=size(100, 20), deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)


@hypothesis
@given(rows=ROWS, kind=KIND, value=VALUE)
def test_efficiency(rows, kind, value):
    game = game_of(rows, 4, **kind)
    total = sum(won for _, won, _ in rows)
    assert game.credit(value)["credit"].sum() == pytest.approx(total, rel=1e-9, abs=1e-9)
    assert game.credit(value, by_position=True).to_numpy().sum() == pytest.approx(total, rel=1e-9, abs=1e-9)


@hypothesis
@given(rows=ROWS, kind=KIND, value=VALUE)
def test_a_channel_that_no_journey_has_gets_nothing(rows, kind, value):
    game = game_of(rows, 6, **kind)
    assert credits(game, value)[4:].tolist() == [0.0, 0.0]
    np.testing.assert_array_equal(credits(game, value)[:4], credits(game_of(rows, 4, **kind), value))


@hypothesis
@given(rates=st.lists(st.integers(1, 9), min_size=16, max_size=16), kind=KIND, value=VALUE)
def test_a_null_channel_gets_nothing(rates, kind, value):
    # Channel 3 changes no rate at whatever place: rates are those of the others' order.
    if kind == {"utility": "conversions"}:
        return  # there credit goes to whoever was there
    orders = {s: rate for s, rate in zip(naive.sequences_of(range(3)), rates, strict=True) if s}
    rows = []
    for sequence in naive.sequences_of(range(4)):
        rest = tuple(channel for channel in sequence if channel != 3)
        if sequence:
            won = orders.get(rest, 0)
            rows.append((sequence, won, 10 - won))
    assert credits(game_of(rows, 4, **kind), value)[3] == pytest.approx(0.0, abs=1e-9)


@hypothesis
@given(rows=ROWS, kind=KIND, value=VALUE)
def test_symmetric_channels_get_the_same(rows, kind, value):
    swap = {0: 1, 1: 0}
    both = rows + [(tuple(swap.get(c, c) for c in channels), won, lost) for channels, won, lost in rows]
    found = credits(game_of(both, 4, **kind), value)
    assert found[0] == pytest.approx(found[1], rel=1e-9, abs=1e-9)


@hypothesis
@given(rows=ROWS, kind=KIND, value=VALUE, new=st.permutations(range(4)))
def test_names_do_not_matter(rows, kind, value, new):
    renamed = [(tuple(new[c] for c in channels), won, lost) for channels, won, lost in rows]
    found = credits(game_of(rows, 4, **kind), value)
    np.testing.assert_allclose(credits(game_of(renamed, 4, **kind), value)[new], found, rtol=1e-9, atol=1e-9)


@hypothesis
@given(rows=ROWS, kind=KIND, value=VALUE, seed=st.integers(0, 99))
def test_rows_twice_are_rows_with_twice_the_counts(rows, kind, value, seed):
    twice = rows + [rows[row] for row in np.random.default_rng(seed).permutation(len(rows))]
    doubled = [(channels, 2 * won, 2 * lost) for channels, won, lost in rows]
    found = game_of(twice, 4, **kind).credit(value)
    pd.testing.assert_frame_equal(found, game_of(doubled, 4, **kind).credit(value), check_exact=True)
    np.testing.assert_allclose(
        found["credit"], 2 * credits(game_of(rows, 4, **kind), value), rtol=1e-9, atol=1e-9
    )


def test_an_error_where_rounding_would_hide_the_credit():
    # Each beginning is worth a lot, each full order next to nothing.
    n, paths, won, lost = 20, [], [], []
    everyone = [f"c{i:02d}" for i in range(n)]
    for a in everyone:
        paths.append(a)
        for b in everyone:
            if a != b:
                paths.append(f"{a}>{b}")
    won = [50.0 if ">" not in path else 1e-9 for path in paths]
    lost = [50.0] * len(paths)
    game = osv.JourneyGame.from_paths([*paths, ">".join(everyone)], [*won, 1e-9], [*lost, 50.0])
    with pytest.raises(ValueError, match="rounding"):
        game.credit()


TRUE_RATES = [0.02, 0.1, 0.05, 0.0]
TRUE_BOOSTS = {(0, 1): 0.3, (1, 2): 0.1, (2, 1): -0.04, (3, 0): 0.05}


def made(n_journeys, seed, **options):
    return osv.datasets.make_journeys(
        n_journeys, 4, **{"rates": TRUE_RATES, "boosts": TRUE_BOOSTS, "random_state": seed, **options}
    )


@pytest.mark.parametrize("value", VALUES)
def test_true_credit_is_that_of_expected_counts(value):
    """Of every path its share of the journeys, converting at its rate."""
    data = made(1_000, 0)
    paths = [path for path in naive.sequences_of(range(4)) if 0 < len(path) <= 3]
    shares = [1000 / 3 / math.perm(4, len(path)) for path in paths]
    named = [["ABCD"[channel] for channel in path] for path in paths]
    rows = []
    for path, share in zip(paths, shares, strict=True):
        rate = sum(TRUE_RATES[i] for i in path)
        rate += sum(TRUE_BOOSTS.get(pair, 0.0) for pair in itertools.combinations(path, 2))
        rows.append((path, share * rate, share * (1 - rate)))
    for path, names_, share in zip(rows, named, shares, strict=True):
        assert data.true_rate(names_) == pytest.approx(path[1] / share)
    U = utility_of(rows, 4, value)
    truth = data.true_credit(value)
    np.testing.assert_allclose(truth, EXACT[value](U, 4), rtol=1e-10, atol=1e-10)
    assert truth.index.tolist() == list("ABCD")
    np.testing.assert_allclose(credits(game_of(rows, 4), value), truth, rtol=1e-10, atol=1e-10)
