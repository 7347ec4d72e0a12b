"""The examples of the help screens are commands that run; here with fewer permutations and runs."""

from __future__ import annotations

import re
import shlex

import numpy as np
import pandas as pd
import pytest

COMMANDS = ("value", "exact", "verify", "journeys", "experiment noise", "experiment removal")
SHORTER = {
    "value": ["--permutations", "2", "--rows", "40"],
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


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_run(run, folder, command):
    pytest.importorskip("matplotlib")
    code, shown, err = run(*command.split(), "--help")
    assert (code, err) == (0, "")
    examples = re.findall(rf"^[ │]*ordinal-shapley ({command} .*?)[ │]*$", shown, re.MULTILINE)
    assert examples
    for words in map(shlex.split, examples):
        code, _, err = run(*words, *SHORTER.get(words[0], []))
        assert code == 0, err
        for option in ("--out", "--plot"):
            if option in words:
                assert (folder / words[words.index(option) + 1]).exists()


def test_the_game_of_the_help_is_one(run, folder):
    shown = run("exact", "--help")[1]
    (folder / "example.json").write_text(re.search(r'\{"players.*\}', shown)[0])
    assert run("exact", "example.json")[::2] == (0, "")
