"""The models of the command `value`: the games they make, their options, and what does not go together."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest

import ordinal_shapley as osv

pytestmark = pytest.mark.slow

ROWS = 40
N = 20


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(ROWS, 3)), columns=["a", "b", "c"])
    table["price"] = table["a"] - 2 * table["b"] + rng.normal(size=ROWS)
    table["kind"] = np.where(table["price"] > 0, "high", "low")
    return table


@pytest.fixture
def files(tmp_path, frame):
    """Rows to value and to validate, without the target that is not asked for."""

    def write(target: str):
        other = {"price": "kind", "kind": "price"}[target]
        paths = tmp_path / "train.csv", tmp_path / "valid.csv"
        half = len(frame) // 2
        for path, part in zip(paths, (frame[:half], frame[half:]), strict=True):
            part.drop(columns=other).to_csv(path, index=False)
        return paths

    return write


def parts(files, target):
    train, valid = (pd.read_csv(path) for path in files(target))
    return train[["a", "b", "c"]], train[target], valid[["a", "b", "c"]], valid[target]


def valued(run, files, target, *more):
    train, valid = files(target)
    arguments = ("value", train, "--target", target, "--valid", valid, "--permutations", N, "--json", *more)
    code, shown, err = run(*arguments)
    assert (code, err) == (0, "")
    return json.loads(shown)


@pytest.mark.parametrize(
    ("target", "more", "game", "value"),
    [
        ("kind", [], osv.LogisticGame, None),
        (
            "kind",
            ["--model", "multinomial", "--C", 0.5],
            partial(osv.LogisticGame, C=0.5, fit_intercept="free"),
            "classic",
        ),
        ("price", ["--model", "ridge"], osv.RidgeGame, "classic"),
        (
            "price",
            ["--model", "ridge", "--alpha", 0.25, "--scoring", "neg_mean_squared_error"],
            partial(osv.RidgeGame, alpha=0.25, scoring="neg_mean_squared_error"),
            "ordinal",
        ),
        ("kind", ["--model", "neighbors"], osv.NearestNeighborGame, "partial_ordinal"),
        (
            "kind",
            ["--model", "neighbors", "--neighbors", 3, "--scoring", "vote_share"],
            partial(osv.NearestNeighborGame, n_neighbors=3, scoring="vote_share"),
            "classic",
        ),
        (
            "kind",
            ["--C", 0.5, "--scoring", "balanced_accuracy"],
            partial(osv.LogisticGame, C=0.5, scoring="balanced_accuracy"),
            "ordinal",
        ),
    ],
)
def test_values_are_those_of_the_game(run, files, target, more, game, value):
    whole = valued(run, files, target, "--raw", *([] if value is None else ["--value", value]), *more)
    value = value or "classic"
    weight = "uniform" if value == "classic" else "gaussian"
    made = game(*parts(files, target), position_weight=weight)
    expected = osv.sample_values(made, value, n_permutations=N, random_state=0)
    assert [row["value"] for row in whole["rows"]] == expected.values.tolist()
    assert [row["label"] for row in whole["rows"]] == parts(files, target)[1].tolist()
    model = whole["model"]
    assert (model["position_weight"], model["scoring"]) == (weight, made.scoring)
    assert model["name"] in (*more, "logistic")


@pytest.mark.parametrize("whole", [False, True])
def test_rows_of_numbers_are_split_at_random(run, frame, tmp_path, whole):
    path = tmp_path / "train.csv"
    if whole:
        frame["price"] = np.arange(ROWS)
    frame.drop(columns="kind").to_csv(path, index=False)
    shown = []
    for seed in (1, 1, 2):
        options = ("--target", "price", "--model", "ridge", "--permutations", 2, "--seed", seed, "--json")
        code, out, err = run("value", path, *options, "--rows", ROWS - 2, "--valid-fraction", 0.25)
        assert (code, err) == (0, "")
        document = json.loads(out)
        held = round(0.25 * (ROWS - 2))
        assert document["data"]["validation_rows"] == held
        rows = [row["row"] for row in document["rows"]]
        assert rows == sorted(set(rows))
        assert len(rows) == ROWS - 2 - held
        for row in document["rows"]:
            assert row["label"] == pytest.approx(frame["price"][row["row"]], rel=1e-15)
        shown.append(rows)
    assert shown[0] == shown[1] != shown[2]
