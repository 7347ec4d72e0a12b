"""The commands `exact` and `verify`: what they compute, write and show, and how they refuse."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pandas as pd
import pytest

import ordinal_shapley as osv
from problems import size
from runs import verify_with
from test_exact import random_table

NAMES = ["ann", "bob", "cy", "dee"]
GROUPS = ["--value", "partial_ordinal", "--partition"]


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


@pytest.mark.parametrize(
    ("more", "value"),
    [
        ([], "ordinal"),
        (["--value", "blend", "--alpha", "0.3"], osv.Blend(0.3)),
        (["--sizes", "beta:4,1"], osv.Ordinal(size_weights=osv.beta_weights(4, 1))),
        ([*GROUPS, "1,1, 2,2", "--case", "within"], osv.PartialOrdinal([1, 1, 2, 2], "within")),
        ([*GROUPS, "x,y,x,y", "--case", "between"], osv.PartialOrdinal([0, 1, 0, 1], "between")),
        (["--max-seconds", "100", "--jobs", "1", "--no-progress"], "ordinal"),
    ],
)
@pytest.mark.filterwarnings("ignore:partition and case")
def test_exact_values_are_those_of_the_library(run, file, game, tmp_path, more, value):
    out = tmp_path / "values.csv"
    code, shown, _ = run("exact", file, "--out", out, *more)
    assert code == 0
    table = pd.read_csv(out, index_col="player")
    assert table.index.tolist() == NAMES
    expected = osv.exact_values(game, value)
    np.testing.assert_allclose(table["value"], expected.values, rtol=1e-15)
    assert table["rank"].tolist() == expected.to_frame()["rank"].tolist()
    # Highest first.
    places = [shown.index(f"  {name} ") for name in expected.to_frame().sort_values("rank").index]
    assert places == sorted(places)


def test_classic(run, tmp_path):
    path = tmp_path / "game.json"
    path.write_text('{"players": 2, "utilities": {"0": 1, "1": 2, "0 > 1": 5, "1 > 0": 5}}')
    code, shown, _ = run("exact", path, "--value", "classic")
    assert code == 0
    assert "+2.000" in shown and "+3.000" in shown
    assert "4 sequences" in shown


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_game_in_a_csv(run, tmp_path, end):
    path, out = tmp_path / "game.CSV", tmp_path / "values.csv"
    rows = ["note,sequence,value", "x,NA > bob,1.5", "y,,0.25", '"z, z"," bob ",1e-1']
    path.write_bytes(end.join(rows).encode("utf-8-sig"))
    code, _, err = run("exact", path, "--out", out)
    assert (code, err) == (0, "")
    expected = osv.exact_values(osv.TableGame(2, {(0, 1): 1.5, (): 0.25, (1,): 0.1}))
    table = pd.read_csv(out, keep_default_na=False)
    assert table["player"].tolist() == ["NA", "bob"]
    np.testing.assert_allclose(table["value"], expected.values, rtol=1e-15)


SETS = "sequence,value\na,0\nb,0\nc,0\na > b,1\nc > a,2\nb > c,2.5\na > b > c,4\n"


def test_sets_listed_in_one_order(run, tmp_path):
    path = tmp_path / "sets.csv"
    path.write_text(SETS)
    code, shown, err = run("exact", path, "--json")
    assert (code, round(json.loads(shown)["sum"], 4)) == (0, round(4 / 6, 4))
    assert err.startswith("warning: ") and "--order-free" in err and err.count("\n") == 1
    # What the warning advises; in a file with other marks the same.
    path.write_text(SETS.replace(".", ";").replace(",", "\t").replace(";", ","))
    code, shown, err = run("exact", path, "--order-free", "--sep", "tab", "--decimal", ",", "--json")
    assert (code, err, json.loads(shown)["sum"]) == (0, "", 4)
    sets = {"a": 0, "b": 0, "c": 0, "ab": 1, "ac": 2, "bc": 2.5, "abc": 4}
    game = osv.FunctionGame(
        lambda players: sets.get("".join("abc"[i] for i in sorted(players)), 0.0), 3, order_free=True
    )
    got = [player["value"] for player in json.loads(shown)["players"]]
    np.testing.assert_allclose(got, osv.exact_values(game, "classic").values)
    assert run("exact", path, "--sep", "tab", "--decimal", ",", "--value", "classic", "--order-free")[0] == 0
    assert verified(run, path, "--order-free", "--sep", "tab", "--decimal", ",", permutations=20)[::2] == (
        0,
        "",
    )


def test_sets_with_two_utilities(run, tmp_path):
    path = tmp_path / "game.json"
    path.write_text('{"players": ["a", "b"], "utilities": {"a > b": 1, "b > a": 2}}')
    code, _, err = run("exact", path, "--order-free")
    assert code == 2 and "game.json" in err and "order" in err
    path.write_text('{"players": ["a", "b", "c"], "utilities": {"a > b": 1, "b > a": 1}}')
    assert run("exact", path, "--order-free")[::2] == (0, "")


@pytest.mark.filterwarnings("ignore:.*truncation ended:UserWarning", "ignore:partition and case")
@pytest.mark.parametrize(
    ("more", "value", "options"),
    [
        ("", "ordinal", {"method": "auto"}),
        ("--method tmc --tolerance 0.7", "ordinal", {"truncation": osv.PaperTruncation(0.7)}),
        ("--truncation patience --tolerance 0.9", "ordinal", {"truncation": osv.PatienceTruncation(0.9)}),
        ("--value blend --alpha 0.3 --design latin --method mc", osv.Blend(0.3), {"design": "latin"}),
        (
            "--value partial_ordinal --partition a,a,b,b --case between --method tmc",
            osv.PartialOrdinal([0, 0, 1, 1], "between"),
            {"method": "tmc"},
        ),
        (
            "--method ctmc --strata 'a, b,a,b' --class-fraction 0.5 --average selected",
            "ordinal",
            {"method": "ctmc", "class_fraction": 0.5, "strata": [0, 1, 0, 1], "average": "selected"},
        ),
    ],
)
def test_verification_is_that_of_the_library(run, file, game, tmp_path, more, value, options):
    out = tmp_path / "table.csv"
    code, _shown, _ = verified(run, file, "--out", out, "--seed", 4, *shlex.split(more))
    assert code == 0
    table = pd.read_csv(out, index_col="player")
    expected = verify_with(game, value, n_permutations=size(400, 40), random_state=4, **options)
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
