"""The command `journeys`: what it reads, writes and shows, and how it refuses."""

from __future__ import annotations

import json
import os
import shlex

import numpy as np
import pandas as pd
import pytest

import ordinal_shapley as osv

PATHS = "path,conversions,non_conversions\nA,10,90\nB,10,90\nA > B,30,70\nB > A,10,90\n"
TOUCHES = """journey,channel,time,converted
u1,mail,2026-01-02,1
u1,ad,2026-01-01 12:00,0
u2,ad,2026-01-01,0
u3,mail,2026-03-01,1
u3,ad,2026-02-01,0
"""


@pytest.fixture
def paths(tmp_path):
    file = tmp_path / "paths.csv"
    file.write_text(PATHS)
    return file


@pytest.fixture
def touches(tmp_path):
    file = tmp_path / "touches.csv"
    file.write_text(TOUCHES)
    return file


def written(path):
    return pd.read_csv(path, index_col="channel", keep_default_na=False)


def test_credit_of_paths(run, paths, tmp_path):
    out = tmp_path / "credit.csv"
    code, shown, err = run("journeys", paths, "--out", out, "--bootstrap", 0)
    assert (code, err) == (0, "")
    rows = [line.split() for line in shown.splitlines()]
    assert ["B", "40", "66.7", "%", "40", "50"] in rows
    assert shown.index("B  ") < shown.index("A  ") < shown.index("all channels")
    expected = osv.JourneyGame.from_frame(pd.read_csv(paths)).credit()
    table = written(out)
    np.testing.assert_array_equal(table[["credit", "share"]], expected)
    assert table["rank"].tolist() == [2, 1]


@pytest.mark.parametrize(
    ("more", "options", "value"),
    [
        (["--value", "ordinal"], {}, "ordinal"),
        (["--value", "classic", "--unseen", "zero"], {"unseen": "zero"}, "classic"),
        (["--unseen", "zero"], {"unseen": "zero"}, "partial_ordinal"),
        (["--utility", "conversions"], {"utility": "conversions"}, "partial_ordinal"),
        (["--repeats", "last", "--path-sep", "|"], {"repeats": "last", "sep": "|"}, "partial_ordinal"),
    ],
)
def test_credit_is_that_of_the_library(run, tmp_path, more, options, value):
    sep = options.get("sep", ">")
    texts = ["A", "B", f"A {sep} B", f"C {sep} A {sep} B"]
    if options.get("repeats"):
        texts[2] = f"A {sep} B {sep} A"
    frame = pd.DataFrame({"way": texts, "won": [1.5, 2, 8, 4], "lost": [50, 40, 30, 9]})
    file, out = tmp_path / "x.csv", tmp_path / "credit.csv"
    frame.to_csv(file, index=False)
    columns = ["--path", "way", "--conversions", "won", "--non-conversions", "lost"]
    code, _, err = run("journeys", file, *columns, "--out", out, "--by-position", *more)
    assert (code, err) == (0, "")
    game = osv.JourneyGame.from_frame(frame, "way", "won", "lost", **options)
    places = game.credit(value, by_position=True)
    table = written(out)
    np.testing.assert_allclose(table["credit"], game.credit(value)["credit"], rtol=1e-14)
    np.testing.assert_allclose(table[[f"position_{k}" for k in places.columns]], places, rtol=1e-14)


def test_credit_of_touches(run, touches, tmp_path):
    out = tmp_path / "credit.csv"
    code, _shown, err = run("journeys", touches, "--out", out)
    assert (code, err) == (0, "")
    # In the order of the file mail comes first.
    other = tmp_path / "other.csv"
    code, _, err = run("journeys", touches, "--file-order", "--after-conversion", "keep", "--out", other)
    assert (code, err) == (0, "")
    assert written(out)["credit"].tolist() == [0.0, 2.0] and written(other)["credit"].tolist() == [2.0, 0.0]


def test_what_the_screen_says_of_touches_and_journeys(run, touches):
    flat = TOUCHES.replace("12:00,0", "12:00,1").replace("02-01,0", "02-01,1")
    for text, options, said in (
        (TOUCHES, (), ""),
        (flat, (), "all touches"),
        (TOUCHES, ("--after-conversion", "split"), "several journeys per person"),
    ):
        touches.write_text(text)
        code, shown, err = run("journeys", touches, *options)
        assert (code, err) == (0, "")
        assert said in shown
        for other in {"all touches", "several journeys per person"} - {said}:
            assert other not in shown


def test_channels_of_credit_below_zero(run, tmp_path):
    file = tmp_path / "paths.csv"
    for scale, sure in ((1, False), (100, True)):
        counts = {"A": (4, 16), "C": (0, 9), "A > C": (1, 19)}
        rows = (f"{path},{scale * won},{scale * lost}\n" for path, (won, lost) in counts.items())
        file.write_text("path,conversions,non_conversions\n" + "".join(rows))
        code, shown, _ = run("journeys", file)
        assert code == 0
        assert ("fewer conversions" in shown) == sure and ("may be chance" in shown) != sure
        code, shown, _ = run("journeys", file, "--bootstrap", 0)
        assert code == 0 and "fewer conversions" not in shown


def test_advice_about_touches_after_a_conversion(run, touches):
    code, _, err = run("journeys", touches, "--file-order")
    assert code == 0 and "2 of 3 journeys" in err
    for advice in ("cut", "split", "keep"):
        assert f"--after-conversion {advice}" in err
        code, _, silent = run("journeys", touches, "--file-order", "--after-conversion", advice)
        assert (code, silent) == (0, "")


@pytest.mark.parametrize("flagged", ["conv", "shop"])
def test_advice_about_marks(run, tmp_path, flagged):
    """The journeys are those of the touches, whether or not the row of a mark has the flag."""
    plain, marked = tmp_path / "plain.csv", tmp_path / "marked.csv"
    won, lost = [["ad", "shop"], ["shop"]] * 3, [["ad"], ["mail", "ad"], ["shop"]]
    for file in (plain, marked):
        text = "journey,channel,time,converted\n"
        for journey, touched in enumerate(won + lost):
            wins = journey < len(won)
            row, last = [(name, place) for place, name in enumerate(touched)], touched[-1]
            if file == marked:  # marks have the times of the touches beside them
                row, last = [("start", 0), *row, *[("conv", row[-1][1])] * wins], flagged
            text += "".join(f"{journey},{name},{time},{int(wins and name == last)}\n" for name, time in row)
        file.write_text(text)
    code, _, err = run("journeys", marked, "--file-order", "--after-conversion", "keep")
    assert code == 0
    advised = shlex.split(err[err.index("--exclude ") : err.index(" if ")])
    assert sorted(advised[1::2]) == ["conv", "start"]
    code, shown, err = run("journeys", marked, *advised, "--json")
    assert (code, err) == (0, "")
    expected = json.loads(run("journeys", plain, "--json")[1])
    assert json.loads(shown)["channels"] == expected["channels"]


def test_last_touch_is_that_of_the_journeys_whatever_repeats_leaves_out(run, tmp_path):
    file = tmp_path / "paths.csv"
    file.write_text("path,conversions,non_conversions\nads > shop > ads,10,5\nads > shop,0,7\n")
    code, shown, err = run("journeys", file, "--repeats", "first", "--json")
    assert (code, err) == (0, "")
    whole = json.loads(shown)
    assert {line["channel"]: line["last_touch"] for line in whole["channels"]} == {"ads": 10, "shop": 0}
    assert whole["data"]["paths"] == 2
    code, shown, _ = run("journeys", file, "--repeats", "first")
    assert code == 0 and "in 15 journeys" in shown


def test_other_marks_between_columns_and_in_numbers(run, paths, tmp_path):
    text = PATHS.replace(",", ";").replace("30", "30,5")
    file, out = tmp_path / "x.csv", tmp_path / "credit.csv"
    file.write_text(text)
    code, _, err = run("journeys", file)
    advised = shlex.split(err[err.index("--sep ") :])[1].rstrip(",")
    assert code == 2
    code, _, err = run("journeys", file, "--sep", advised)
    assert code == 2 and "'30,5' in line 4" in err and "--decimal ," in err
    code, _, err = run("journeys", file, "--sep", advised, "--decimal", ",", "--out", out, "--bootstrap", 0)
    assert (code, err) == (0, "")
    file.write_text(PATHS.replace("30", "30.5"))
    expected = osv.JourneyGame.from_frame(pd.read_csv(file)).credit()
    np.testing.assert_array_equal(written(out)[["credit", "share"]], expected)
    code, _, err = run("journeys", file, "--decimal", ",")  # a point may be a thousand's
    assert code == 2 and "'30.5' in line 4" in err


def test_named_columns_and_times_by_number(run, tmp_path):
    file, out = tmp_path / "t.csv", tmp_path / "credit.csv"
    file.write_text("who,what,when,won\na,x,10,TRUE\na,y,9,true\nb,x,-1.5,No\n")
    names = ["--journey", "who", "--channel", "what", "--time", "when", "--converted", "won"]
    code, _, err = run("journeys", file, *names, "--out", out)
    assert (code, err) == (0, "")
    assert written(out)["credit"].to_dict() == {"x": 1.0, "y": 0.0}


@pytest.mark.parametrize("value", ["partial_ordinal", "classic"])
def test_errors(run, paths, tmp_path, value):
    with paths.open("a") as file:
        file.write("C,0,9\n")
    out = tmp_path / "credit.csv"
    options = ("--value", value, "--bootstrap", 20, "--seed", 3, "--out", out)
    code, shown, err = run("journeys", paths, *options)
    assert (code, err) == (0, "")
    game = osv.JourneyGame.from_frame(pd.read_csv(paths))
    expected = game.credit(value, bootstrap=20, random_state=3)
    table = pd.read_csv(out, index_col="channel")
    np.testing.assert_array_equal(table[expected.columns], expected)
    row = next(line for line in shown.splitlines() if line.startswith("A "))
    for number in expected.loc["A", ["credit", "stderr", "ci_low", "ci_high"]]:
        assert f"{number:.1f}" in row
    assert "?" in next(line for line in shown.splitlines() if line.startswith("C "))
    code, shown, err = run("journeys", paths, *options, "--json")
    assert (code, err) == (0, "")
    lines = json.loads(shown)["channels"]
    assert [line["ci_high"] for line in lines] == [*expected["ci_high"][:2], None]


def test_errors_on_request_only(run, paths, tmp_path):
    out = tmp_path / "credit.csv"
    code, shown, err = run("journeys", paths, "--bootstrap", 0, "--out", out)
    assert (code, err) == (0, "")
    assert written(out).columns.tolist() == ["credit", "share", "rank"] and "CI" not in shown
    with paths.open("a") as file:
        file.write(" > ".join(map(str, range(30))) + ",1,0\n")
    code, shown, err = run("journeys", paths, "--out", out)
    assert (code, err) == (0, "")
    assert written(out).columns.tolist() == ["credit", "share", "rank"] and "--bootstrap" in shown
    code, _shown, err = run("journeys", paths, "--bootstrap", 2, "--out", out)
    assert (code, err) == (0, "")
    assert "stderr" in written(out).columns


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_picture(run, paths, tmp_path, kind):
    pytest.importorskip("matplotlib")
    pictures = [tmp_path / f"{k}.{kind}" for k in range(2)]
    for picture, more in zip(pictures, ([], ["--by-position"]), strict=True):
        code, _shown, err = run("journeys", paths, "--plot", picture, *more)
        assert (code, err) == (0, "")
        assert picture.stat().st_size > 1_000
    assert pictures[0].read_bytes() != pictures[1].read_bytes()


@pytest.mark.parametrize(
    ("path", "sep"), [("A->B", "->"), ("A => B", "=>"), ("A → B", "→"), ('"A, B"', ","), ("A &gt; B", "&gt;")]
)
def test_another_separator_is_warned_of(run, tmp_path, path, sep):
    file = tmp_path / "x.csv"
    file.write_text(f"path,conversions,non_conversions\nA,1,0\n{path},2,1\n", encoding="utf-8")
    code, _, err = run("journeys", file)
    assert code == 0
    assert err.startswith("warning: ") and "line 3" in err
    assert f"--path-sep {shlex.quote(sep)}" in err
    code, shown, err = run("journeys", file, "--path-sep", sep, "--json")
    assert (code, err) == (0, "")
    assert json.loads(shown)["data"]["channels"] == 2


def test_dates_with_full_stops_begin_with_the_day(run, touches):
    _, expected, _ = run("journeys", touches, "--json")
    text = touches.read_text()
    for date in ("2026-01-02", "2026-01-01", "2026-03-01", "2026-02-01"):
        text = text.replace(date, ".".join(date.split("-")[::-1]))
    touches.write_text(text)
    code, shown, err = run("journeys", touches, "--json")
    assert (code, err) == (0, "")
    assert json.loads(shown) == json.loads(expected)


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="a pipe has no name here")
def test_a_pipe_and_what_a_spreadsheet_leaves_behind(run):
    given, end = os.pipe()
    os.write(end, b"path,conversions,non_conversions,,\nA,3,0,,\nA > B,1,1,,\n")
    os.close(end)
    try:
        code, shown, err = run("journeys", f"/dev/fd/{given}", "--json")
    finally:
        os.close(given)
    assert (code, err) == (0, "")
    assert json.loads(shown)["data"]["conversions"] == 4


def test_json_says_what_csv_and_screen_say(run, touches, tmp_path):
    out = tmp_path / "credit.csv"
    code, shown, err = run("journeys", touches, "--by-position", "--value", "ordinal", "--out", out, "--json")
    assert (code, err) == (0, "")
    whole = json.loads(shown)
    table = written(out).reset_index()
    assert whole["command"] == "journeys"
    counts = {"journeys": 3, "conversions": 2, "paths": 2, "channels": 2}
    assert whole["data"] == {"name": "touches.csv", **counts}
    settings = {"value": "ordinal", "utility": "rate", "unseen": "backoff", "repeats": "error"}
    settings |= {"bootstrap": 1000, "seed": 0, "after_conversion": None, "sep": ",", "decimal": "."}
    settings["exclude"] = None
    assert whole["settings"] == settings
    for name in ("channel", "credit", "share", "stderr", "ci_low", "share_stderr", "share_ci_high", "rank"):
        assert [line[name] for line in whole["channels"]] == table[name].tolist()
    places = [line["by_position"] for line in whole["channels"]]
    np.testing.assert_array_equal(places, table.filter(like="position_"))
    touches = {line["channel"]: (line["last_touch"], line["touched"]) for line in whole["channels"]}
    assert touches == {"ad": (0, 2), "mail": (2, 2)}
    assert (whole["written"], whole["warnings"]) == ([str(out)], [])
