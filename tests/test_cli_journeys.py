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
u3,ad,2026-02-01,1
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
    code, shown, err = run("journeys", paths, "--out", out)
    assert (code, err) == (0, "")
    rows = [line.split() for line in shown.splitlines()]
    assert ["B", "40", "66.7", "%", "40", "50"] in rows
    assert shown.index("B  ") < shown.index("A  ") < shown.index("all channels")
    expected = osv.JourneyGame.from_frame(pd.read_csv(paths), non_conversions="non_conversions").credit()
    table = written(out)
    np.testing.assert_array_equal(table[["credit", "share"]], expected)
    assert table["rank"].tolist() == [2, 1]


@pytest.mark.parametrize(
    ("more", "options", "value"),
    [
        (["--value", "ordinal"], {}, "ordinal"),
        (["--value", "classic", "--unseen", "zero"], {"unseen": "zero"}, "classic"),
        (["--unseen", "zero"], {"unseen": "zero"}, "partial_ordinal"),
        (["--worth", "conversions"], {"worth": "conversions"}, "partial_ordinal"),
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
    code, _, _ = run("journeys", touches, "--file-order", "--out", other)
    assert code == 0
    assert written(out)["credit"].tolist() == [0.0, 2.0] and written(other)["credit"].tolist() == [2.0, 0.0]


def test_named_columns_and_times_by_number(run, tmp_path):
    file, out = tmp_path / "t.csv", tmp_path / "credit.csv"
    file.write_text("who,what,when,won\na,x,10,TRUE\na,y,9,true\nb,x,-1.5,No\n")
    names = ["--journey", "who", "--channel", "what", "--time", "when", "--converted", "won"]
    code, _, err = run("journeys", file, *names, "--out", out)
    assert (code, err) == (0, "")
    assert written(out)["credit"].to_dict() == {"x": 1.0, "y": 0.0}


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_picture(run, paths, tmp_path, kind):
    pytest.importorskip("matplotlib")
    pictures = [tmp_path / f"{k}.{kind}" for k in range(2)]
    for picture, more in zip(pictures, ([], ["--by-position"]), strict=True):
        code, _shown, err = run("journeys", paths, "--plot", picture, *more)
        assert (code, err) == (0, "")
        assert picture.stat().st_size > 1_000
    assert pictures[0].read_bytes() != pictures[1].read_bytes()


def test_help_has_examples(run):
    code, shown, _ = run("journeys", "--help")
    assert code == 0
    assert "ordinal-shapley journeys paths.csv" in shown
    assert "--by-position" in shown and "backoff" in shown


BAD = {
    "value": (["--value", "blend"], "--value is 'blend'"),
    "unseen": (["--unseen", "some"], "--unseen is 'some'"),
    "repeats": (["--repeats", "all"], "--repeats is 'all'"),
    "worth": (["--worth", "gold"], "--worth is 'gold'"),
    "unseen of conversions": (
        ["--worth", "conversions", "--unseen", "zero"],
        "--unseen goes with --worth rate",
    ),
    "two forms": (["--path", "path", "--time", "t"], "--path is for paths and --time for touches"),
    "two orders": (["--time", "t", "--file-order"], "--time and --file-order exclude each other"),
    "no such column": (["--path", "way"], "paths.csv: no column 'way', the columns are 'path'"),
    "no such counts": (["--conversions", "won"], "no column 'won'"),
    "touches without": (["--journey", "path"], "no column 'channel'"),
    "empty sep": (["--path-sep", ""], "error: --path-sep is '', expected"),
    "its own input": (["--out", "paths.csv"], "is an input of this run"),
    "no folder": (["--out", "nowhere/x.csv"], "there is no folder 'nowhere'"),
    "no picture": (["--plot", "x.txt"], "must end with a kind of picture"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_it_refuses(run, paths, monkeypatch, what):
    monkeypatch.chdir(paths.parent)
    more, message = BAD[what]
    code, shown, err = run("journeys", "paths.csv", *more)
    assert (code, shown) == (2, "")
    assert err.startswith("error: ") and err.count("\n") == 1
    assert message in err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "x.csv is empty"),
        ("path,conversions\n", "has a header but no rows"),
        ("path,path,conversions\nA,B,1\n", "has more than one column 'path'"),
        ("a,b\n1,2\n", "the columns are 'a', 'b', expected path, or journey and channel"),
        ("path,conversions\nA,1\n ,1\n", "no path in row 2"),
        ("path,conversions\nA,-1\n", "conversions is '-1' in row 1, expected a number of at least 0"),
        ("path,conversions\nA,nan\n", "conversions is 'nan' in row 1"),
        ("path,conversions\nA,many\n", "conversions is 'many' in row 1"),
        ("path,conversions\nA > > B,1\n", "path in row 1 is 'A > > B'"),
        ("path,conversions\nB,1\nA > A,1\n", "x.csv: path in row 2 touches 'A' twice, expected distinct"),
        ("path,conversions\nA > A,1\n", "counts, --repeats first or --repeats last"),
        ("journey,channel,time,converted\n1,A,3,1\n1,B,3,1\n", "give --file-order to take them"),
        ("path,conversions\nA,1,2\n", "can't be read as CSV: its rows have more values than the header"),
        ("path,conversions\nA,1\nA,B,1\n", "put text that holds commas between double quotes"),
        ("path;conversions\nA;1,5\n", "x.csv has semicolons between its columns, expected commas"),
        ("journey,channel,time\n1,A,2\n", "no column 'converted'"),
        ("journey,channel,time,converted\n1,A,1,2\n", "converted is '2' in row 1, expected 1 or 0"),
        ("journey,channel,time,converted\n1,A,1,1\n,B,2,1\n", "no journey in row 2"),
        ("journey,channel,time,converted\n1,,1,1\n", "no channel in row 1"),
        ("journey,channel,time,converted\n1,A,1,1\n1,B,soon,1\n", "time is 'soon' in row 2"),
        (
            "journey,channel,time,converted\n1,A,2026-01-01,1\n1,B,02/03/2026,1\n",
            "time is '02/03/2026' in row 2",
        ),
        ("journey,channel,time,converted\n1,A,2026-01-01,1\n1,B,5,1\n", "time is '5' in row 2"),
        ("journey,channel,time,converted\n1,A,,1\n", "time is '' in row 1"),
        ("journey,channel,time,converted\n1,A,3,1\n1,B,3,1\n", "touches 'A' and 'B' at the same time, 3"),
    ],
)
def test_files_that_cannot_be_read(run, tmp_path, text, message):
    file = tmp_path / "x.csv"
    file.write_text(text)
    code, shown, err = run("journeys", file)
    assert (code, shown) == (2, "")
    assert err.startswith("error: ") and err.count("\n") == 1
    assert message in err


@pytest.mark.parametrize(
    ("path", "sep"),
    [
        ("A->B", "->"),
        ("A => B", "=>"),
        ("A → B", "→"),
        ("A | B", "|"),
        ('"A, B"', ","),
        ("A;B", ";"),
        ("A &gt; B", "&gt;"),
    ],
)
def test_another_separator_is_warned_of(run, tmp_path, path, sep):
    file = tmp_path / "x.csv"
    file.write_text(f"path,conversions,non_conversions\nA,1,0\n{path},2,1\n", encoding="utf-8")
    code, _, err = run("journeys", file)
    assert code == 0
    assert err.startswith("warning: ") and "row 2" in err
    assert f"--path-sep {shlex.quote(sep)}" in err
    code, shown, err = run("journeys", file, "--path-sep", sep, "--json")
    assert (code, err) == (0, "")
    assert json.loads(shown)["data"]["channels"] == 2


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
    assert whole["data"] == {
        "name": "touches.csv",
        "journeys": 3,
        "conversions": 2,
        "paths": 2,
        "channels": 2,
    }
    settings = {"value": "ordinal", "worth": "rate", "unseen": "backoff", "repeats": "error"}
    assert whole["settings"] == settings
    for name in ("channel", "credit", "share", "rank"):
        assert [line[name] for line in whole["channels"]] == table[name].tolist()
    places = [line["by_position"] for line in whole["channels"]]
    np.testing.assert_array_equal(places, table.filter(like="position_"))
    assert {line["channel"]: (line["last_touch"], line["touched"]) for line in whole["channels"]} == {
        "ad": (0, 2),
        "mail": (2, 2),
    }
    assert (whole["written"], whole["warnings"]) == ([str(out)], [])
