"""The examples of the help screens are commands that run; here with fewer permutations and runs."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import ordinal_shapley as osv
from ordinal_shapley.cli.output import printable
from ordinal_shapley.datasets import NAMES
from ordinal_shapley.vocabulary import METHODS, NEIGHBOR_SCORINGS, SCORINGS, VALUES
from problems import size
from test_exact import random_table

COMMANDS = ("value", "exact", "verify", "journeys", "experiment noise", "experiment removal")
SHORTER = {
    "value": ["--permutations", "2", "--rows", "40", "--no-evidence"],
    "verify": ["--permutations", "20"],
    "experiment": ["--permutations", "2", "--runs", "1", "--rows", "40"],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where the files lie that the examples name."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    age = rng.integers(20, 80, 60).astype(float)
    outcome = np.where(age + rng.normal(0, 9, 60) > 50, "worse", "better")
    name = [f"person {i}" for i in range(60)]
    frame = pd.DataFrame({"name": name, "age": age, "outcome": outcome})
    frame.to_csv("patients.csv", index=False)
    frame.loc[3, "age"] = np.nan
    frame.to_csv("later.csv", index=False)
    (tmp_path / "game.json").write_text(
        '{"players": ["ann", "bob", "cy", "dee"], "utilities": {"ann > bob": 1.0}}'
    )
    (tmp_path / "paths.csv").write_text("path,conversions,non_conversions\nA > B,30,70\nB > A,10,90\n")
    (tmp_path / "touches.csv").write_text(
        "journey,channel,time,converted\nu1,mail,2026-01-02,1\nu1,ad,2026-01-01,0\nu2,ad,2026-01-01,0\n"
    )
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_examples_run(run, folder, command):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    code, shown, err = run(*command.split(), "--help")
    assert (code, err) == (0, "")
    examples = re.findall(rf"^[ │]*ordinal-shapley ({command} .*?)[ │]*$", shown, re.MULTILINE)
    assert examples
    for words in map(shlex.split, examples):
        code, _, err = run(*words, *SHORTER.get(words[0], []))
        assert code == 0, err
        for option in ("--out", "--plot", "--report"):
            if option in words:
                assert (folder / words[words.index(option) + 1]).exists()


def test_the_game_of_the_help_is_one(run, folder):
    shown = run("exact", "--help")[1]
    (folder / "example.json").write_text(re.search(r'\{"players.*\}', shown)[0])
    assert run("exact", "example.json")[::2] == (0, "")


# Shell completion: what is offered, and scripts that a shell takes


VALUE = ("value",)
NOISE = ("experiment", "noise")
REMOVAL = ("experiment", "removal")


@pytest.fixture
def offered(run, monkeypatch, tmp_path):
    """What Bash is told to offer for the last of the words."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.csv").write_text("outcome,other,age\n1,2,3\n")

    def ask(*words: str) -> list[str]:
        monkeypatch.setenv("_ORDINAL_SHAPLEY_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", " ".join(["ordinal-shapley", *words]))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        code, shown, err = run()
        assert (code, err) == (0, "")
        return shown.split()

    return ask


@pytest.mark.parametrize(
    ("words", "choices"),
    [
        ((*VALUE, "--method", ""), METHODS),
        ((*VALUE, "--value", ""), VALUES),
        ((*VALUE, "--dataset", ""), NAMES),
        ((*VALUE, "--scoring", ""), SCORINGS),
        ((*VALUE, "--model", "neighbors", "--scoring", ""), NEIGHBOR_SCORINGS),
        ((*VALUE, "--dataset", "wine", "--model", "ridge", "--scoring", "n"), ("neg_mean_squared_error",)),
        ((*VALUE, "--method", "c"), ("cmc", "ctmc")),
        ((*NOISE, "--value", "ordinal", "--value", "c"), ("classic",)),
        ((*REMOVAL, "--dataset", "cancer"), ("cancer", "cancer-wisconsin")),
        (("exact", "--value", "b"), ("blend",)),
        (("journeys", "--utility", "c"), ("conversions",)),
        (("experiment", "r"), ("removal",)),
        (("comp",), ("compile",)),
    ],
)
def test_choices_are_offered(offered, words, choices):
    assert offered(*words) == list(choices)


@pytest.mark.parametrize(
    ("words", "columns"),
    [
        (("value", "train.csv", "--target", ""), ["outcome", "other", "age"]),
        ((*NOISE, "train.csv", "--runs", "2", "--target", "o"), ["outcome", "other"]),
        (("value", "train.csv", "--drop", "other", "--drop", "o"), ["outcome", "other"]),
        (("journeys", "train.csv", "--conversions", "o"), ["outcome", "other"]),
        (("value", "--target", ""), []),
        (("value", "none.csv", "--target", ""), []),
    ],
)
def test_columns_of_the_file_are_offered(offered, words, columns):
    assert offered(*words) == columns


# Lines of the command line: errors of usage say what would do, names are no commands to the terminal


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("plain", "plain"),
        ("Ärger 日本 🙂", "Ärger 日本 🙂"),
        ("می‌خواهم", "می‌خواهم"),  # a joiner is part of how it is written
        ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
        ("two\nlines\tand\rback", r"two\nlines\tand\rback"),
        ("\x9b2J", r"\x9b2J"),
        ("a\u2028b\u202ec", r"a\u2028b\u202ec"),
    ],
)
def test_printable(text, written):
    assert printable(text) == written


CLEAR = "\x1b[2J"


def test_labels_and_files(run, tmp_path):
    n = 24
    numbers = np.random.default_rng(0).normal(size=n)
    path = tmp_path / f"ro{CLEAR}ws.csv"
    frame = pd.DataFrame({f"x{CLEAR}": numbers, "t": np.where(numbers > 0, f"yes{CLEAR}", "no\ttab")})
    frame.to_csv(path, index=False)
    out = tmp_path / f"out{CLEAR}.csv"
    code, shown, err = run("value", path, "--target", "t", "--permutations", 3, "--out", out)
    assert code == 0
    assert "\x1b" not in shown + err
    assert r"ro\x1b[2Jws.csv" in shown and r"yes\x1b[2J" in shown and r"no\ttab" in shown
    assert r"out\x1b[2J.csv" in shown.splitlines()[-1]
    assert set(pd.read_csv(out)["label"]) <= set(frame["t"])  # the file has them as they were
    code, shown, err = run("value", path, "--target", f"y{CLEAR}")
    assert code == 2 and "\x1b" not in err and r"\x1b[2J" in err
    code, shown, err = run("value", tmp_path / f"no{CLEAR}.csv", "--target", "t")
    assert code == 2 and "\x1b" not in err


def test_players_and_channels(run, tmp_path):
    game = tmp_path / "game.json"
    players = [f"a{CLEAR}", "[bold]b[/bold]", "c"]
    game.write_text(json.dumps({"players": players, "utilities": {f"{players[0]} > c": 1.0}}))
    for more in (("exact", game, "--profile"), ("verify", game, "--permutations", size(50, 10))):
        code, shown, err = run(*more)
        assert code == 0
        assert "\x1b" not in shown + err
        assert r"a\x1b[2J" in shown and "[bold]b[/bold]" in shown
    paths = tmp_path / "paths.csv"
    pd.DataFrame({"path": [f"A{CLEAR}>B", "B"], "conversions": [2, 1]}).to_csv(paths, index=False)
    code, shown, err = run("journeys", paths, "--by-position")
    assert code == 0
    assert "\x1b" not in shown + err
    assert r"A\x1b[2J" in shown


# Results that go to a file or another program, exit codes, and readers that leave


LONG = "a player whose name is far too long for a screen that is as wide as most of them are"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "game.json"
    names = ["ann", LONG, "cy", "dee"]
    osv.TableGame.from_array(4, random_table(4, seed=3)[0].values, names=names).to_json(path)
    return path


def test_nothing_is_cut_where_there_is_no_terminal(run, file, monkeypatch):
    monkeypatch.delenv("COLUMNS")
    for arguments in (
        ("exact", file, "--profile"),
        ("verify", file, "--method", "tmc", "--tolerance", 0.7, "--permutations", size(300, 30)),
    ):
        code, shown, _ = run(*arguments)
        assert code == 0
        assert "…" not in shown
        assert shown.count(LONG) >= shown.count("cy ") > 0
        assert not re.search("[\x1b─-╿]", shown)  # neither colours nor boxes
    # A sentence is one line, and no column is left out.
    assert max(map(len, shown.splitlines())) > 150
    header = next(line for line in shown.splitlines() if line.startswith("player"))
    assert all(name in header for name in ("exact", "estimate", "std. error", "bias", "noise", "z"))


def closed_pipe(*arguments: object) -> tuple[int, str]:
    """Run with a reader who leaves before there is anything to read."""
    command = [sys.executable, "-m", "ordinal_shapley", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        err = process.stderr.read()
    return process.returncode, err


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="pipes differ there")
@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_reader_who_leaves_is_no_error(file, more):
    assert closed_pipe("exact", file, *more) == (141, "")


@pytest.mark.parametrize(
    ("more", "code"),
    [(["--most-z", 50], 0), (["--most-z", 1e-9], 1), (["--most-z", 50, "--permutations", 1], 1)],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_a_check_that_fails(run, file, more, code, as_json):
    options = ["--json"] if as_json else []
    got, shown, err = run("verify", file, "--permutations", size(300, 30), *more, *options)
    assert (got, err.count("\n")) == (code, code)
    assert json.loads(shown)["command"] == "verify" if as_json else shown
