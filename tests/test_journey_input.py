"""What journeys are read from, and how odd input is refused."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fuzzing
import ordinal_shapley as osv
from problems import size
from test_journeys import VALUES

# Many games here are as small as can be, and all of their journeys convert.
pytestmark = pytest.mark.filterwarnings("ignore:add the journeys", "ignore:pass exclude")

# What journeys are read from


def counts_of(game):
    frame = game.to_frame()
    rows = frame[["path", "conversions", "non_conversions"]].itertuples(index=False)
    return {path: (won, lost) for path, won, lost in rows}


FORMS = {"A > B": (2.0, 1.0), "B": (0.0, 1.0), "B > A": (1.0, 0.0)}
LISTS = [["A", "B"], ["B"], ["A", "B"], ["B", "A"], ["A", "B"]]
CONVERTED = [1, 0, 0, 1, 1]


def as_events(journeys, converted):
    return pd.DataFrame(
        [
            (f"j{number}", channel, place, flag)
            for number, (journey, flag) in enumerate(zip(journeys, converted, strict=True))
            for place, channel in enumerate(journey)
        ],
        columns=["journey", "channel", "time", "converted"],
    )


def test_every_form_gives_the_same_game():
    events = as_events(LISTS, CONVERTED)
    shuffled = events.sample(frac=1.0, random_state=0)
    days = pd.to_datetime(shuffled["time"], unit="D", utc=True)
    frame = pd.DataFrame({"path": FORMS, "x": 1}).rename_axis("which").reset_index()
    frame["path"] = frame["which"]
    frame["won"], frame["lost"] = zip(*FORMS.values(), strict=True)
    games = [
        osv.JourneyGame(LISTS, CONVERTED, 1 - np.array(CONVERTED)),
        osv.JourneyGame.from_journeys(LISTS, np.array(CONVERTED, bool)),
        osv.JourneyGame.from_journeys(pd.Series([tuple(journey) for journey in LISTS]), pd.Series(CONVERTED)),
        osv.JourneyGame.from_paths(list(FORMS), *zip(*FORMS.values(), strict=True)),
        osv.JourneyGame.from_paths(pd.Series(["A|B", "B", " A | B", "B|A ", "A| B"]), CONVERTED,
                                   1 - np.array(CONVERTED), sep="|"),
        osv.JourneyGame.from_frame(frame, conversions="won", non_conversions="lost"),
        osv.JourneyGame.from_events(events),
        osv.JourneyGame.from_events(shuffled),
        osv.JourneyGame.from_events(shuffled.assign(time=days)),
        osv.JourneyGame.from_events(shuffled.assign(time=shuffled["time"] / 7 - 1)),
        osv.JourneyGame.from_events(events.drop(columns="time"), time=None),
        osv.JourneyGame.from_events(events.astype({"channel": "category", "journey": "category"})),
    ]  # fmt: skip
    for game in games:
        assert counts_of(game) == FORMS
    # As in the command, a column of this name is read without asking.
    assert counts_of(osv.JourneyGame.from_frame(games[0].to_frame())) == FORMS


@pytest.mark.parametrize(
    ("repeats", "expected"), [("first", {"A > B > C": (5, 2)}), ("last", {"B > A > C": (5, 2)})]
)
def test_repeats(repeats, expected):
    journey = ["A", "B", "A", "A", "C", "C"]
    events = pd.concat([as_events([journey], [won]).assign(journey=k)
                        for k, won in enumerate([1] * 5 + [0] * 2)], ignore_index=True)  # fmt: skip
    for game in (
        osv.JourneyGame([journey], [5], [2], repeats=repeats),
        osv.JourneyGame.from_journeys([journey] * 7, [1] * 5 + [0] * 2, repeats=repeats),
        osv.JourneyGame.from_paths([">".join(journey)], [5], [2], repeats=repeats),
        osv.JourneyGame.from_events(events, repeats=repeats),
    ):
        assert counts_of(game) == expected
        assert f"repeats={repeats!r}" in repr(game)
    assert "3 channels, 1 journey, 1 conversion, " in repr(osv.JourneyGame([["A", "B", "C"]], [1]))
    assert "1 channel, 2 journeys, 0 conversions, " in repr(osv.JourneyGame([["A"]], [0], [2]))
    with pytest.raises(ValueError, match=r"journeys\[0\] .*'A'"):
        osv.JourneyGame([journey], [5], [2])


LATE = pd.DataFrame(
    [
        *[("u1", "A", 1, 0), ("u1", "B", 2, 1), ("u1", "C", 3, 0), ("u2", "A", 1, 0)],
        *[("u3", "B", 1, 1), ("u3", "A", 2, 0), ("u3", "C", 3, 1), ("u4", "C", 1, 1)],
    ],
    columns=["journey", "channel", "time", "converted"],
)


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4, 5, 6, 7], [6, 2, 4, 7, 0, 3, 5, 1]])
@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ("cut", {"A > B": (1, 0), "A": (0, 1), "B": (1, 0), "C": (1, 0)}),
        ("split", {"A > B": (1, 0), "A": (0, 1), "B": (1, 0), "C": (1, 1), "A > C": (1, 0)}),
        ("keep", {"A > B > C": (1, 0), "A": (0, 1), "B > A > C": (1, 0), "C": (1, 0)}),
    ],
)
def test_touches_after_a_conversion(after, expected, order):
    game = osv.JourneyGame.from_events(LATE.iloc[order], after_conversion=after)
    assert counts_of(game) == expected
    if after == "cut":
        with pytest.warns(UserWarning, match=r"\b3 .*\b2 of 4 journeys, with 1 "):
            assert counts_of(osv.JourneyGame.from_events(LATE.iloc[order])) == expected


def test_a_conversion_comes_after_the_touches_of_its_time():
    events = pd.DataFrame({"journey": 1, "channel": "A", "time": 1, "converted": [1, 0]})
    split = osv.JourneyGame.from_events(events, repeats="first", after_conversion="split")
    assert counts_of(split) == {"A": (1, 0)}


def test_the_order_of_touches_that_are_left_out_does_not_matter():
    rows = [("u", "A", 1, 0), ("u", "B", 2, 1), ("u", "C", 3, 0), ("u", "A", 3, 0), ("v", "B", 1, 0)]
    events = pd.DataFrame(rows, columns=LATE.columns)
    assert counts_of(osv.JourneyGame.from_events(events, after_conversion="cut")) == {
        "A > B": (1, 0),
        "B": (0, 1),
    }
    with pytest.raises(ValueError, match="same time"):
        osv.JourneyGame.from_events(events, after_conversion="keep", repeats="first")
    both = events.assign(converted=[0, 1, 0, 0, 0], time=[1, 2, 2, 4, 1])  # which of B and C was first?
    with pytest.raises(ValueError, match="same time"):
        osv.JourneyGame.from_events(both, after_conversion="cut")


def test_where_rows_say_the_same_of_a_journey_all_of_its_touches_count():
    assert counts_of(osv.JourneyGame.from_events(as_events([["A", "B"], ["A"]], [1, 0])))["A > B"] == (1, 0)


@pytest.mark.parametrize("repeats", ["first", "last"])
def test_touches_are_counted_before_repeated_ones_are_left_out(repeats):
    game = osv.JourneyGame.from_paths(["A > B > A", "B > A > B", "B"], [10, 5, 1], [7, 8, 9], repeats=repeats)
    touches = game.touches()
    assert touches.loc["A"].tolist() == [15, 10, 10] and touches.loc["B"].tolist() == [16, 6, 6]


def test_journeys_of_excluded_channels_only_are_left_out():
    make = osv.JourneyGame.from_paths
    with pytest.warns(UserWarning, match=r"exclude .* 3 of 12 "):
        game = make(["s > A", "s", "A > s", "s > B"], [4, 3, 5, 0], [1, 2, 0, 9], exclude=["s"])
    assert counts_of(game) == {"A": (9, 1), "B": (0, 9)}
    assert game.n_conversions == 9 and game.touches()["last_touch"].to_dict() == {"A": 9, "B": 0}
    assert counts_of(make(["s", "A"], [0, 1], [5, 1], exclude=["s"])) == {"A": (1, 1)}  # without a warning
    # What comes after a conversion is not a journey if it is excluded.
    split = LATE.replace({"channel": {"C": "s"}})
    game = osv.JourneyGame.from_events(split[:4], after_conversion="split", exclude=["s"])
    assert counts_of(game) == {"A > B": (1, 0), "A": (0, 1)}


@pytest.mark.parametrize(
    ("paths", "won", "lost", "marks"),
    [
        (["s > A > c", "s > B > c", "s > A", "s > B"], [9, 5, 0, 0], [0, 0, 4, 3], ["s", "c"]),
        (["A > c", "B > c", "c", "A > n", "B > n"], [9, 5, 2, 0, 0], [0, 0, 0, 4, 3], ["c", "n"]),
        (["A > e", "B > e", "A > B > e"], [9, 5, 1], None, ["e"]),
        (["A", "A > B", "A > B > C"], [5, 20, 30], [95, 80, 70], []),
        (["A > C", "B > C", "A", "C"], [5, 20, 0, 0], [0, 0, 70, 1], []),
        (["A > B", "A"], [5, 0], [0, 3], []),
        # Some of the journeys that converted have the mark.
        (["A > c", "B > c", "A > B", "A", "B"], [9, 5, 3, 2, 0], [0, 0, 5, 40, 40], ["c"]),
        (["o > A", "o > B", "A > B", "A", "B"], [9, 5, 3, 2, 0], [0, 0, 5, 40, 40], ["o"]),
        (["A > C", "B > C", "A > B", "A", "B"], [9, 5, 3, 2, 0], [0, 1, 5, 40, 40], []),
        (["A > C", "B > C", "C > B", "A", "B"], [9, 5, 3, 2, 0], [0, 0, 5, 40, 40], []),
        (["A > C", "B > C", "A > B", "A", "B"], [9, 5, 90, 80, 0], [0, 0, 5, 400, 400], []),
        (["A > C", "B > C", "A > B", "A", "B"], [2, 1, 3, 2, 0], [0, 0, 5, 40, 40], []),
        (["C", "A > B", "A", "B"], [14, 3, 2, 0], [0, 5, 40, 40], []),
    ],
)
def test_channels_that_mark_beginnings_and_outcomes_are_named(paths, won, lost, marks):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        osv.JourneyGame.from_paths(paths, won, lost)
    named = [str(one.message) for one in caught if str(one.message).startswith("pass exclude")]
    assert len(named) == bool(marks)
    for mark in marks:
        assert f"{mark!r} begins " in named[0] or f"{mark!r} ends " in named[0]


def test_outcomes_that_are_all_counted_as_conversions_are_named():
    paths = ["a > b > conv", "a > null", "b > a > null", "c > conv"]
    with pytest.warns(UserWarning, match=r"non_conversions.*\['conv', 'null'\]"):
        osv.JourneyGame.from_paths(paths, [3, 9, 4, 1])
    for others in ([*paths[:3], "conv > c"], ["a > b", "a > c", "b > d", "c > a"]):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            osv.JourneyGame.from_paths(others, [3, 9, 4, 1])
        assert not any("exclude=[" in str(one.message) for one in caught)


@pytest.mark.parametrize("rates", [0.05, 0.3, [1.0, 0.0, 0.0, 0.0]])
def test_synthetic_journeys_have_no_marks(rates):
    for seed in range(5):
        data = osv.datasets.make_journeys(500, rates=rates, boosts={}, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            data.game()


@pytest.mark.parametrize(
    "make",
    [
        lambda names: osv.JourneyGame([[name] for name in names], [1] * 4, [1] * 4),
        lambda names: osv.TableGame.from_frame(pd.DataFrame({"sequence": names, "value": 1.0})),
        lambda names: osv.LogisticGame(np.eye(4), [0, 1, 0, 1], np.eye(4), [0, 1, 0, 1], groups=names),
        lambda names: osv.NearestNeighborGame(np.eye(4), names, np.eye(4), names),
    ],
    ids=["channels", "players", "groups", "classes"],
)
def test_names_that_differ_in_spaces_or_case_only_are_warned_of(make):
    with pytest.warns(UserWarning, match="'B b', 'bB'"):
        make(["a", "B b", "bB", "c"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make(["a", "B b", "b", "c"])


def test_counts_add_up_over_texts_of_one_path():
    game = osv.JourneyGame.from_paths(["A>B", " A  >B ", "A > B"], [0.5, 1, 0], [0, 0.25, 0])
    assert counts_of(game) == {"A > B": (1.5, 0.25)}
    assert (game.n_conversions, game.n_journeys) == (1.5, 1.75)
    # Rows without any journey say nothing, but their channels are there.
    empty = osv.JourneyGame.from_paths(["A", "B > C"], [1, 0], [1, 0])
    assert counts_of(empty) == {"A": (1, 1)} and empty.n_players == 3
    nobody = osv.JourneyGame.from_paths(["A"], [0], [0])
    assert nobody.credit()["credit"].tolist() == [0.0] and nobody([0]) == 0.0


def test_games_in_which_every_journey_converts_are_warned_of():
    for make in (
        lambda **more: osv.JourneyGame([["A"], ["B", "A"]], [3, 1], **more),
        lambda **more: osv.JourneyGame.from_paths(["A", "B > A"], [3, 1], **more),
        lambda **more: osv.JourneyGame.from_journeys([["A"], ["B", "A"]], [True, True], **more),
        lambda **more: osv.JourneyGame.from_events(as_events([["A"], ["B", "A"]], [1, 1]), **more),
    ):
        with pytest.warns(UserWarning, match="convert"):
            make()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            make(utility="conversions")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        osv.JourneyGame.from_paths(["A", "B > A"], [3, 1], [0, 1])


def test_channels_can_be_numbers_and_have_a_given_order():
    game = osv.JourneyGame([[3, 1], [np.int64(2)]], [1, 1], channels=[1, 2, 3, 4])
    assert game.player_names.tolist() == ["1", "2", "3", "4"]
    assert counts_of(game) == {"3 > 1": (1, 0), "2": (1, 0)}


NAME = fuzzing.mostly(st.sampled_from(["A", "B", "C", "D", " A", "A ", 1, 2]))
COUNT = st.one_of(
    st.integers(0, 5), fuzzing.mostly(st.sampled_from([0.5, 1e30, 1e-30, 0.0]), fuzzing.NUMBERS)
)


@given(st.data())
def odd_journeys(data):
    draw = data.draw
    n = draw(st.integers(1, 6))
    rows = draw(fuzzing.mostly(st.lists(fuzzing.mostly(st.lists(NAME, max_size=5)), min_size=n, max_size=n)))
    counts = fuzzing.mostly(st.lists(COUNT, min_size=n, max_size=n))
    won, lost = draw(counts), draw(st.one_of(st.none(), counts))
    words = {
        "repeats": fuzzing.mostly(st.sampled_from(["first", "last", "first", "error"])),
        "unseen": fuzzing.mostly(st.sampled_from([None, None, "backoff", "zero"])),
        "utility": fuzzing.mostly(st.sampled_from(["rate", "rate", "conversions"])),
        "ordered": fuzzing.mostly(st.booleans()),
    }
    options = draw(fuzzing.some(words))
    form = draw(st.sampled_from(["lists", "paths", "events"]))
    value = draw(fuzzing.mostly(st.sampled_from(VALUES)))

    listed = rows if isinstance(rows, list) else []
    paths = [">".join(map(str, row)) if isinstance(row, list) else row for row in listed]
    flags = won if isinstance(won, list) else []
    touches = [(k, name, place, flag)
               for k, (row, flag) in enumerate(zip(listed, flags, strict=False))
               for place, name in enumerate(row if isinstance(row, list) else ())]  # fmt: skip

    def work():
        if form == "lists":
            game = osv.JourneyGame(rows, won, lost, **options)
        elif form == "paths":
            game = osv.JourneyGame.from_paths(paths if listed else rows, won, lost, **options)
        else:
            columns = ["journey", "channel", "time", "converted"]
            game = osv.JourneyGame.from_events(pd.DataFrame(touches, columns=columns), **options)
        for frame in (game.credit(value)[["credit"]], game.credit(value, by_position=True)):
            cells = frame.to_numpy()
            fuzzing.require(np.isfinite(cells).all(), f"credit {cells}")
            gap = abs(cells.sum() - game.n_conversions)
            size_of = max(np.abs(cells).sum(), game.n_conversions)
            fuzzing.require(gap <= 1e-6 * size_of, f"credit {cells} of {game.n_conversions}")
        fuzzing.require(math.isfinite(game(range(game.n_players))), "utility")

    return fuzzing.outcome(work)


def test_odd_journeys():
    assert set(fuzzing.fuzz(odd_journeys, size(400, 100))) == {"answer", "error"}
