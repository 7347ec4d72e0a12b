"""What `--json` prints: one document that says what screen and CSV say, and nothing beside it."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest

import ordinal_shapley as osv
from problems import people, size
from test_exact import random_table

NAMES = ["ann", "bob", "cy", "dee"]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "game.json"
    osv.TableGame.from_array(4, random_table(4, seed=3)[0].values, names=NAMES).to_json(path)
    return path


@pytest.fixture
def train(tmp_path):
    path = tmp_path / "train.csv"
    people().replace("old", "alt — old").to_csv(path, index=False)
    return path


def document(run, *arguments, err=""):
    code, shown, told = run(*arguments, "--json")
    assert (code, told) == (0, err)

    def no_constant(name):
        raise AssertionError(f"{name} is no JSON")

    whole = json.loads(shown, parse_constant=no_constant)
    assert shown.isascii()  # so that no terminal's letters matter
    assert whole["version"] == osv.__version__
    return whole


def read(path):
    """A CSV to the last digit; newer pandas do that anyway, and warn where they are asked for it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The 'float_precision' argument is deprecated")
        return pd.read_csv(path, float_precision="round_trip")


def same(mine, frame, names):
    """Whether a list of objects is a table that was read from a CSV, to the last digit."""
    for name in names:
        column = pd.Series([line[name] for line in mine], dtype=frame[name].dtype)
        pd.testing.assert_series_equal(column, frame[name], check_names=False, check_exact=True)


def test_value(run, train, tmp_path):
    out = tmp_path / "values.csv"
    options = ("--target", "outcome", "--permutations", 9, "--seed", 5, "--C", 0.5, "--valid-fraction", 0.3)
    whole = document(run, "value", train, *options, "--out", out)
    assert whole["command"] == "value"
    table = read(out).astype({"verdict": object}).fillna({"verdict": ""})
    assert list(whole["rows"][0]) == list(table.columns)
    same(whole["rows"], table, table.columns)
    data = whole["data"]
    assert (data["name"], data["training_rows"], data["validation_rows"]) == ("train.csv", 28, 12)
    assert (data["target"], data["valid_fraction"], data["rows"]) == ("outcome", 0.3, None)
    assert (data["cv"], whole["sum_means"]) == (None, None)
    assert whole["sum"] == pytest.approx(table["value"].sum(), rel=1e-12)
    assert whole["errors"] == {"total": True, "why_not": None}
    settings = whole["settings"]
    assert (settings["value"]["class"], settings["seed"], settings["biases"]) == ("Classic", 5, [])
    assert settings["sampler"] == osv.PermutationSampler(truncation="roulette").settings()
    assert (whole["model"]["name"], whole["model"]["C"]) == ("logistic", 0.5)
    assert whole["model"]["fitted"] == "LogisticRegression(C=0.5, solver='liblinear'), compiled"
    assert (whole["model"]["position_weight"], whole["model"]["scoring"]) == ("uniform", "accuracy")
    took = whole["run"]
    assert (took["permutations"], took["stopped_by"], took["converged"]) == (9, "MaxPermutations", False)
    assert took["evaluations"] > 0 and took["seconds"] > 0 and took["mean_evaluated_per_permutation"] > 1
    assert whole["written"] == [str(out)]
    assert whole["warnings"] == []


def test_value_of_every_row(run, train):
    options = ("--target", "outcome", "--permutations", 30, "--cv", 3, "--method", "mc")
    whole = document(run, "value", train, *options, "--scoring", "roc_auc")
    data = whole["data"]
    assert (data["training_rows"], data["validation_rows"], data["cv"]) == (40, 40, 3)
    assert "roc" in whole["errors"]["why_not"]
    assert {line["stderr_total"] for line in whole["rows"]} == {None}
    # Each row is valued in two of three folds.
    gain = whole["score"]["all_rows"] - whole["score"]["baseline"]
    assert whole["sum"] == pytest.approx(1.5 * gain)
    assert "1.5" in whole["sum_means"]


def test_what_is_not_known_is_null_and_warnings_are_told_twice(run, train):
    options = ("--target", "outcome", "--method", "tmc", "--design", "latin", "--valid-fraction", 0.3)
    code, shown, err = run("value", train, *options, "--permutations", 5, "--json")
    assert code == 0
    whole = json.loads(shown)
    assert {line["stderr"] for line in whole["rows"]} == {None}
    assert {line["ci_low"] for line in whole["rows"]} == {None}
    assert all(isinstance(line["value"], float) for line in whole["rows"])
    assert len(whole["settings"]["biases"]) == 1
    assert any("--design latin" in text for text in whole["warnings"])
    assert err == "".join(f"warning: {text}\n" for text in whole["warnings"])


def test_exact(run, file, tmp_path):
    out = tmp_path / "values.csv"
    whole = document(run, "exact", file, "--value", "blend", "--alpha", 0.25, "--profile", "--out", out)
    table = read(out)
    same(whole["players"], table, ["player", "value", "rank"])
    profile = [player["by_position"] for player in whole["players"]]
    np.testing.assert_array_equal(profile, table[[f"position_{k}" for k in range(1, 5)]])
    assert whole["settings"]["value"] == osv.Blend(0.25).settings()
    assert whole["data"] == {"name": "game.json", "players": 4}
    assert whole["sum"] == pytest.approx(table["value"].sum(), rel=1e-12)
    assert whole["run"]["evaluations"] == 65
    assert "by_position" not in document(run, "exact", file)["players"][0]


def test_verify(run, file, tmp_path):
    out = tmp_path / "table.csv"
    n = size(300, 30)
    options = ("--method", "ctmc", "--strata", "x,x,y,y", "--average", "selected", "--permutations", n)
    whole = document(run, "verify", file, *options, "--out", out)
    table = read(out)
    same(whole["players"], table, table.columns)
    sampler = whole["settings"]["sampler"]
    assert (sampler["strata"], sampler["average"]) == (["x", "x", "y", "y"], "selected")
    assert whole["run"]["permutations"] == n
    summary = whole["summary"]
    assert summary["largest_z"] == table["z"].abs().max()
    assert summary["largest_bias"] == table["bias"].abs().max()
    assert summary["holding_exact"] == table["holds_exact"].sum()
    assert summary["coverage"] == table["holds_expected"].mean()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["noise", "removal"])
def test_experiments(run, train, tmp_path, kind):
    out = tmp_path / "curves.csv"
    options = ("--target", "outcome", "--permutations", 3, "--runs", 2, "--seed", 4, "--value", "ordinal")
    whole = document(run, "experiment", kind, train, *options, "--out", out)
    assert whole["command"] == f"experiment {kind}"
    baselines = ["self_confidence", "random"] if kind == "noise" else ["random"]
    assert [line["value"] for line in whole["values"]] == ["ordinal", *baselines]
    for line in whole["values"]:
        for figure in [figure for name, figure in line.items() if name != "value"]:
            assert figure["mean"] == np.mean(figure["runs"])
            assert figure["std"] == np.std(figure["runs"], ddof=1)
    table = read(out)
    mine = table[(table["value"] == "ordinal") & (table["seed"] == 5)]
    figures = whole["values"][0]
    if kind == "noise":
        half = np.interp(0.5, mine["inspected"], mine["found"])
        assert figures["found_in_lowest_half"]["runs"][1] == pytest.approx(half, abs=1e-12)
    else:
        assert figures["all_rows"]["runs"][1] == mine["high_first"].iloc[0]
    assert (whole["settings"]["values"], whole["settings"]["biases"]) == (["ordinal"], [])
    assert (whole["settings"]["runs"], whole["settings"]["seed"]) == (2, 4)
    assert whole["written"] == [str(out)]
