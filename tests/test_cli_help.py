"""The examples of the help screens are commands that run; here with fewer permutations and runs."""

from __future__ import annotations

import re
import shlex

import numpy as np
import pandas as pd
import pytest

from ordinal_shapley.cli import reproduce
from ordinal_shapley.cli.completion import COMPLETION_HELP
from ordinal_shapley.cli.exact import EXACT_HELP
from ordinal_shapley.cli.experiment import _NOISE_HELP, _REMOVAL_HELP
from ordinal_shapley.cli.journeys import JOURNEYS_HELP
from ordinal_shapley.cli.reproduce import REPRODUCE_HELP
from ordinal_shapley.cli.value import VALUE_HELP
from ordinal_shapley.cli.verify import VERIFY_HELP

HELPS = (
    VALUE_HELP,
    EXACT_HELP,
    VERIFY_HELP,
    JOURNEYS_HELP,
    _NOISE_HELP,
    _REMOVAL_HELP,
    REPRODUCE_HELP,
    COMPLETION_HELP,
)
EXAMPLES = [
    example
    for text in HELPS
    for example in re.findall(r"^(?:eval \"\$\()?ordinal-shapley (.*?)(?:\)\")?$", text, re.MULTILINE)
]
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
    game = re.search(r"^\{.*\}$", EXACT_HELP, re.MULTILINE)
    (tmp_path / "game.json").write_text(
        '{"players": ["ann", "bob", "cy", "dee"], "utilities": {"ann > bob": 1.0}}'
    )
    (tmp_path / "example.json").write_text(game[0])
    for file, header in (("paths.csv", "path,"), ("touches.csv", "journey,")):
        rows = re.search(rf"^{header}.*$\n\n(.*)$", JOURNEYS_HELP, re.MULTILINE)
        (tmp_path / file).write_text(rows[0].replace("\n\n", "\n") + "\n")
    return tmp_path


def test_every_command_shows_two_examples_or_one():
    assert len(EXAMPLES) == 2 * (len(HELPS) - 1) + 1


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_run(run, folder, monkeypatch, example):
    words = shlex.split(example)
    if "--plot" in words:
        pytest.importorskip("matplotlib")
    if words[0] == "reproduce":  # takes minutes; what it does is tested elsewhere
        monkeypatch.setattr(reproduce, "_run", lambda *_: None)
    code, _, err = run(*words, *SHORTER.get(words[0], []))
    assert code == 0, err
    for option in ("--out", "--plot"):
        if option in words:
            assert (folder / words[words.index(option) + 1]).exists()


def test_the_game_of_the_help_is_one(run, folder):
    code, shown, err = run("exact", "example.json")
    assert (code, err) == (0, "")
    assert "ann" in shown and "bob" in shown
