"""Results that go to a file or another program, exit codes, and readers that leave."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

import ordinal_shapley as osv
from problems import size
from test_exact import random_table

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
