"""Lines of the command line: errors of usage say what would do, names are no commands to the terminal."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from ordinal_shapley.cli.output import printable
from problems import size


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
