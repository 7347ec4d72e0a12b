"""The commands `exact` and `verify`: what they compute, write and show, and how they refuse."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import ordinal_shapley as osv
from problems import size
from runs import exact_with, verify_with
from test_exact import random_table

NAMES = ["ann", "bob", "cy", "dee"]


@pytest.fixture
def game():
    return osv.TableGame.from_array(4, random_table(4, seed=3)[0].values, names=NAMES)


@pytest.fixture
def file(tmp_path, game):
    path = tmp_path / "game.json"
    game.to_json(path)
    return path


def verified(run, file, *more, permutations=None):
    return run("verify", file, "--permutations", permutations or size(400, 40), *more)


# --------------------------------------------------------------------------------------------
# exact
# --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "options"),
    [
        ([], {}),
        (["--value", "ordinal"], {"value": "ordinal"}),
        (["--value", "blend", "--alpha", "0.3"], {"value": "blend", "alpha": 0.3}),
        (["--partition", "1,1, 2,2", "--case", "within"], {"partition": [1, 1, 2, 2], "case": "within"}),
        (["--partition", "x,y,x,y", "--case", "between"], {"partition": [0, 1, 0, 1], "case": "between"}),
        (["--max-seconds", "100", "--jobs", "1", "--no-progress"], {}),
    ],
)
@pytest.mark.filterwarnings("ignore:the game is not as partition")
def test_exact_values_are_those_of_the_library(run, file, game, tmp_path, more, options):
    out = tmp_path / "values.csv"
    code, shown, _ = run("exact", file, "--out", out, *more)
    assert code == 0
    table = pd.read_csv(out, index_col="player")
    assert table.index.tolist() == NAMES
    expected = exact_with(game, **options)
    np.testing.assert_allclose(table["value"], expected.values, rtol=1e-15)
    assert table["rank"].tolist() == expected.to_frame()["rank"].tolist()
    # Highest first.
    places = [shown.index(f"  {name} ") for name in expected.to_frame().sort_values("rank").index]
    assert places == sorted(places)


@pytest.mark.parametrize("by", ["subsets", "orders"])
def test_classic(run, tmp_path, by):
    path = tmp_path / "game.json"
    path.write_text('{"players": 2, "utilities": {"0": 1, "1": 2, "0 > 1": 5, "1 > 0": 5}}')
    code, shown, _ = run("exact", path, "--value", "classic", "--by", by)
    assert code == 0
    assert "+2.000" in shown and "+3.000" in shown
    assert ("4 sequences" if by == "subsets" else "5 sequences") in shown


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_game_in_a_csv(run, tmp_path, end):
    path, out = tmp_path / "game.CSV", tmp_path / "values.csv"
    rows = ["note,sequence,value", "x,NA > bob,1.5", "y,,0.25", '"z, z"," bob ",1e-1']
    path.write_bytes(end.join(rows).encode("utf-8-sig"))
    code, _, err = run("exact", path, "--out", out)
    assert (code, err) == (0, "")
    expected = osv.exact_values(osv.TableGame(2, {(0, 1): 1.5, (): 0.25, (1,): 0.1}), "partial_ordinal")
    table = pd.read_csv(out, keep_default_na=False)
    assert table["player"].tolist() == ["NA", "bob"]
    np.testing.assert_allclose(table["value"], expected.values, rtol=1e-15)


# --------------------------------------------------------------------------------------------
# verify
# --------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:truncation ended:UserWarning", "ignore:the game is not as partition")
@pytest.mark.parametrize(
    ("more", "options"),
    [
        ([], {}),
        (["--value", "ordinal"], {"value": "ordinal"}),
        (["--method", "tmc"], {"method": "tmc"}),
        (
            ["--method", "tmc", "--tolerance", "0.7", "--seed", "4"],
            {"method": "tmc", "truncation": osv.PaperTruncation(0.7), "random_state": 4},
        ),
        (
            ["--method", "tmc", "--value", "ordinal"],
            {"method": "tmc", "value": "ordinal", "truncation": osv.Roulette()},
        ),
        (
            ["--method", "tmc", "--truncation", "patience", "--tolerance", "0.9"],
            {"method": "tmc", "truncation": osv.PatienceTruncation(0.9)},
        ),
        (["--method", "cmc", "--labels", "x,x,y,y"], {"method": "cmc", "labels": [0, 0, 1, 1]}),
        (
            ["--value", "blend", "--alpha", "0.3", "--design", "latin"],
            {"value": "blend", "alpha": 0.3, "design": "latin"},
        ),
        (
            ["--method", "tmc", "--partition", "a,a,b,b", "--case", "between"],
            {"method": "tmc", "partition": [0, 0, 1, 1], "case": "between"},
        ),
        (
            ["--method", "ctmc", "--labels", "a, b,a,b", "--class-fraction", "0.5", "--average", "selected"],
            {"method": "ctmc", "labels": [0, 1, 0, 1], "class_fraction": 0.5, "average": "selected"},
        ),
    ],
)
def test_verification_is_that_of_the_library(run, file, game, tmp_path, more, options):
    out = tmp_path / "table.csv"
    code, _shown, _ = verified(run, file, "--out", out, *more)
    assert code == 0
    table = pd.read_csv(out, index_col="player")
    options = {"n_permutations": size(400, 40), "random_state": 0, **options}
    expected = verify_with(game, **options)
    assert table.index.tolist() == NAMES
    assert list(table.columns) == list(expected.to_frame().columns)
    for column in ("exact", "expected", "estimate", "stderr", "bias", "noise", "z"):
        np.testing.assert_allclose(table[column], getattr(expected, column), rtol=1e-12, atol=1e-15)


def test_a_constant_game_and_a_single_player(run, tmp_path):
    for players in (["a", "b", "c"], ["solo"]):
        path = tmp_path / "game.json"
        path.write_text(json.dumps({"players": players, "utilities": {}, "default": 0.1}))
        for method in ("mc", "tmc"):
            code, shown, _ = verified(run, path, "--method", method)
            assert code == 0
            assert "-0.0" not in shown
        assert run("exact", path, "--profile")[0] == 0


def test_warnings_are_lines(run, tmp_path):
    path = tmp_path / "game.json"
    path.write_text('{"players": 3, "utilities": {}}')
    code, _, err = verified(run, path, "--method", "tmc")
    assert code == 0
    assert err.startswith("warning: truncation ended") and err.count("\n") == 1


# --------------------------------------------------------------------------------------------
# Bad input
# --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["exact", "nothing.json"], "there is no file 'nothing.json'"),
        (["verify", "nothing.json"], "there is no file 'nothing.json'"),
        (["exact", "."], "'.' is a folder, not a game's file"),
        (["exact"], "Missing argument 'GAME.json'"),
        (["exact", "FILE", "--value", "weighted_ordinal"], "--value is 'weighted_ordinal', expected one of"),
        (
            ["exact", "FILE", "--value", "classic"],
            "--value: classic is for games whose order does not matter",
        ),
        (["exact", "FILE", "--value", "blend"], "alpha is missing"),
        (["exact", "FILE", "--alpha", "0.5"], "alpha goes with value='blend'"),
        (
            ["exact", "FILE", "--value", "blend", "--alpha", "2"],
            "alpha is 2.0, expected a number from 0 to 1",
        ),
        (["exact", "FILE", "--by", "orders"], "by goes with value='classic'"),
        (["exact", "FILE", "--by", "size"], "--by is 'size', expected one of"),
        (["exact", "FILE", "--case", "within"], "--partition and --case belong together"),
        (["verify", "FILE", "--partition", "a,a,b,b"], "--partition and --case belong together"),
        (["verify", "FILE", "--design", "sobol"], "--design is 'sobol'"),
        (["verify", "FILE", "--value", "blend"], "alpha is missing"),
        (
            ["verify", "FILE", "--method", "cmc", "--labels", "a,a,b,b", "--design", "latin"],
            "--design latin is for mc and tmc; --method is cmc",
        ),
        (["exact", "FILE", "--case", "near"], "--case is 'near'"),
        (["exact", "FILE", "--partition", "a,b", "--case", "within"], "partition has 2 entries, expected 4"),
        (["exact", "FILE", "--partition", "a,,b,b", "--case", "within"], "--partition is 'a,,b,b', expected"),
        (["exact", "FILE", "--max-seconds", "0"], "max_seconds is 0.0"),
        (["exact", "FILE", "--max-seconds", "1e-12"], "more than max_seconds"),
        (["exact", "FILE", "--jobs", "0"], "--jobs is 0, expected a number of workers"),
        (["exact", "FILE", "--out", "FILE"], "is an input of this run"),
        (["exact", "FILE", "--out", "."], "is a folder"),
        (["verify", "FILE", "--method", "lhs"], "--method is 'lhs'"),
        (["verify", "FILE", "--value", "banzhaf"], "--value is 'banzhaf'"),
        (["verify", "FILE", "--value", "classic"], "--value: classic is for games"),
        (["verify", "FILE", "--method", "cmc"], "--labels is needed for cmc: a class for each player"),
        (["verify", "FILE", "--method", "ctmc", "--labels", "a,b"], "labels has 2 entries, expected 4"),
        (["verify", "FILE", "--method", "cmc", "--labels", ","], "--labels is ',', expected names"),
        (["verify", "FILE", "--labels", "a,a,b,b"], "--labels is for cmc and ctmc; --method is mc"),
        (["verify", "FILE", "--average", "all"], "--average is for cmc and ctmc; --method is mc"),
        (
            ["verify", "FILE", "--method", "cmc", "--labels", "a,a,b,b", "--average", "one"],
            "--average is 'one'",
        ),
        (["verify", "FILE", "--class-fraction", "0.5"], "--class-fraction is for cmc and ctmc"),
        (["verify", "FILE", "--tolerance", "0.5"], "--tolerance is for tmc and ctmc"),
        (["verify", "FILE", "--method", "tmc", "--truncation", "never"], "--truncation is 'never'"),
        (
            ["verify", "FILE", "--method", "tmc", "--tolerance", "-1"],
            "--tolerance is -1.0, expected",
        ),
        (["verify", "FILE", "--permutations", "0"], "--permutations is "),
        (["verify", "FILE", "--permutations", "few"], "--permutations is "),
        (["verify", "FILE", "--seed", "-1"], "--seed is -1, expected at least 0"),
        (["verify", "FILE", "--jobs", "0"], "--jobs is 0"),
        (["verify", "FILE", "--max-seconds", "1e-12"], "more than max_seconds"),
        (["verify", "FILE", "--out", "FILE"], "is an input of this run"),
    ],
)
def test_bad_options(run, file, monkeypatch, tmp_path, arguments, words):
    monkeypatch.chdir(tmp_path)
    code, shown, err = run(*[file if argument == "FILE" else argument for argument in arguments])
    assert (code, shown) == (2, "")
    assert err.startswith("error: ") and err.count("\n") == 1
    assert words in err


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("game.json", "", "game.json is not JSON"),
        ("game.txt", "sequence,value\na,1\n", "game.txt is not JSON"),
        ("game.json", "[]", "game.json holds no game"),
        ("game.json", '{"players": 40, "utilities": {}}', "players is 40, expected an integer from 1 to 12"),
        (
            "game.json",
            '{"players": ["a"], "utilities": {"b": 1}}',
            "sequence 'b' has 'b', expected players a",
        ),
        ("game.json", '{"players": ["a"], "utilities": {"a": NaN}}', "is nan, expected a finite number"),
        ("game.csv", "", "game.csv is empty"),
        ("game.csv", "sequence,value\n", "game.csv has a header but no rows"),
        ("game.csv", "a,b\n1,2\n", "game.csv: frame has no column 'sequence'"),
        ("game.csv", "sequence,value,value\na,1,2\n", "game.csv has more than one column 'value'"),
        ("game.csv", "sequence,value\na,one\n", "game.csv: the value of 'a' is 'one', expected a number"),
        ("game.csv", "sequence,value\na,\n", "game.csv: the value of 'a' is '', expected a number"),
        ("game.csv", "sequence,value\na,inf\n", "is inf, expected a finite number"),
        ("game.csv", "sequence,value\na,1\na,2\n", "game.csv: sequence 'a' is listed twice"),
        ("game.csv", "sequence,value\na,1,5\nb,2\n", "game.csv can't be read as CSV"),
        ("game.csv", "sequence;value\na;1,5\n", "game.csv has semicolons between its columns"),
        ("game.csv", "sequence,value\n" + " > ".join("abcdefghijklm") + ",1\n", "holds 13 names of players"),
        ("game.csv", "sequence,value\na > a,1\n", "game.csv: sequence 'a > a' holds a player twice"),
        ("game.csv", "sequence,value\na > b,inf\n", "game.csv: the utility of 'a > b' is inf"),
        (
            "game.json",
            '{"players": ["a"], "utilities": {"a > a": 1}}',
            "sequence 'a > a' holds a player twice",
        ),
        ("game.json", '{"players": ["a"], "utilities": {"a": "x"}}', "the utility of 'a' is 'x'"),
        (
            "game.json",
            json.dumps({"players": list("abcdefghijklm"), "utilities": {}}),
            "players holds 13 names, expected 1 to 12",
        ),
    ],
)
@pytest.mark.parametrize("command", ["exact", "verify"])
def test_bad_files(run, tmp_path, command, name, content, words):
    path = tmp_path / name
    path.write_text(content)
    code, shown, err = run(command, path)
    assert (code, shown) == (2, "")
    assert err.startswith("error: ") and err.count("\n") == 1
    assert words in err


def test_files_that_are_no_text(run, tmp_path):
    for name in ("game.csv", "game.json"):
        path = tmp_path / name
        path.write_bytes(b"\xff\xfe\x00")
        code, _, err = run("exact", path)
        assert code == 2
        assert err.startswith(f"error: {name} ") and err.count("\n") == 1


def test_nothing_is_written_when_it_fails(run, file, tmp_path):
    out = tmp_path / "values.csv"
    assert run("exact", file, "--out", out, "--value", "classic")[0] == 2
    assert not out.exists()


def test_interrupt(run, file, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("ordinal_shapley.exact.exact_values", interrupted)
    code, _, err = run("exact", file)
    assert (code, err) == (130, "interrupted\n")
