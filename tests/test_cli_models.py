"""The models of the command `value`: the games they make, their options, and what does not go together."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import ordinal_shapley as osv
from ordinal_shapley import sampling

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
    ("target", "more", "game", "sampling"),
    [
        ("price", ["--model", "ridge"], (osv.RidgeGame, {"alpha": 1.0, "scoring": "r2"}), {"method": "tmc"}),
        (
            "price",
            ["--model", "ridge", "--alpha", 0.25, "--scoring", "neg_mean_squared_error", "--method", "mc"],
            (osv.RidgeGame, {"alpha": 0.25, "scoring": "neg_mean_squared_error"}),
            {"method": "mc"},
        ),
        (
            "kind",
            ["--model", "neighbors"],
            (osv.NearestNeighborGame, {"n_neighbors": 5, "scoring": "accuracy"}),
            {"method": "ctmc"},
        ),
        (
            "kind",
            ["--model", "neighbors", "--neighbors", 3, "--scoring", "vote_share", "--value", "classic"],
            (
                osv.NearestNeighborGame,
                {"n_neighbors": 3, "scoring": "vote_share", "position_weight": "uniform"},
            ),
            {"method": "tmc", "value": "classic", "truncation": osv.Truncation.roulette()},
        ),
        (
            "kind",
            ["--model", "logistic", "--C", 0.5, "--scoring", "balanced_accuracy"],
            (osv.LogisticGame, {"C": 0.5, "scoring": "balanced_accuracy"}),
            {"method": "ctmc"},
        ),
    ],
)
def test_values_are_those_of_the_game(run, files, target, more, game, sampling):
    whole = valued(run, files, target, "--raw", *more)
    kind, options = game
    made = kind(*parts(files, target), **options)
    expected = osv.sample_values(made, n_permutations=N, random_state=0, **sampling)
    assert [row["value"] for row in whole["rows"]] == expected.values.tolist()
    assert [row["label"] for row in whole["rows"]] == parts(files, target)[1].tolist()
    settings = whole["settings"]
    assert settings["method"] == sampling["method"]
    for name, given in options.items():
        assert settings[name] == given
    assert settings["model"] in more


def test_what_the_screen_says(run, files, tmp_path):
    train, valid = files("price")
    options = ("--target", "price", "--valid", valid, "--permutations", N)
    code, shown, err = run("value", train, *options, "--model", "ridge")
    assert (code, err) == (0, "")
    assert "ridge regression, tmc, paper truncation, gaussian weights, r2, seed 0" in shown
    assert "  label  " in shown
    train, valid = files("kind")
    options = ("--target", "kind", "--valid", valid, "--permutations", N)
    shown = run("value", train, *options, "--model", "neighbors", "--neighbors", 2)[1]
    assert "2 nearest neighbours, ctmc, paper truncation, class fraction 0.8" in shown
    assert "  label  " in shown


def test_a_picture_of_numbers(run, files, tmp_path):
    pytest.importorskip("matplotlib")
    valued(run, files, "price", "--model", "ridge", "--plot", tmp_path / "v.png")
    assert (tmp_path / "v.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("target", "model", "words"),
    [
        ("price", "ridge", "train.csv, with the numbers to predict in column price"),
        ("kind", "neighbors", "train.csv, with the classes in column kind"),
    ],
)
def test_a_report(run, files, tmp_path, target, model, words):
    pytest.importorskip("jinja2")
    page = tmp_path / "page.html"
    whole = valued(run, files, target, "--model", model, "--report", page)
    assert whole["written"] == [str(page)]
    assert words in page.read_text(encoding="utf-8")


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


@pytest.fixture
def refused(run, files, monkeypatch):
    def no_fit(*_: object, **__: object) -> None:
        raise AssertionError("the work has started")

    def call(target: str, *more: object) -> str:
        train = files(target)[0]
        with monkeypatch.context() as patch:
            patch.setattr(sampling, "sample_values", no_fit)
            code, shown, err = run("value", train, "--target", target, *more)
        assert (code, shown) == (2, "")
        assert err.count("\n") == 1
        return err

    return call


@pytest.mark.parametrize(
    ("target", "more", "words"),
    [
        ("kind", ["--model", "tree"], "--model is 'tree', expected one of 'logistic', 'ridge', 'neighbors'"),
        ("kind", ["--alpha", 1], "--alpha is for --model ridge; --model is logistic"),
        ("kind", ["--neighbors", 3], "--neighbors is for --model neighbors; --model is logistic"),
        ("price", ["--model", "ridge", "--C", 1], "--C is for --model logistic; --model is ridge"),
        ("kind", ["--model", "neighbors", "--alpha", 1], "--alpha is for --model ridge; --model is neigh"),
        ("price", ["--model", "ridge", "--alpha", 0], "--alpha is 0.0, expected a finite number above 0"),
        ("price", ["--model", "ridge", "--alpha", "nan"], "--alpha is nan, expected a finite number above 0"),
        ("kind", ["--model", "neighbors", "--neighbors", 0], "--neighbors"),
        (
            "price",
            ["--model", "ridge", "--alpha", 1e-40],
            "alpha is 1e-40, expected a finite number of at least 1e-30",
        ),
        (
            "price",
            ["--model", "ridge", "--scoring", "accuracy"],
            "--scoring for --model ridge is 'accuracy', expected one of 'r2', 'neg_mean_squared_error'",
        ),
        ("kind", ["--scoring", "r2"], "--scoring is 'r2', expected one of 'accuracy'"),
        (
            "kind",
            ["--model", "neighbors", "--scoring", "roc_auc"],
            "--scoring for --model neighbors is 'roc_auc'",
        ),
        (
            "price",
            ["--model", "ridge", "--method", "ctmc"],
            "--method ctmc draws rows class by class, and --model ridge has no classes: use mc or tmc",
        ),
        (
            "price",
            ["--model", "ridge", "--value", "classic", "--position-weight", "gaussian"],
            "--position-weight: the classic value needs uniform weights",
        ),
        (
            "kind",
            ["--model", "ridge"],
            "--model ridge predicts numbers: row 0 (line 2 of train.csv), column 'kind' holds ",
        ),
        ("price", ["--model", "ridge", "--valid-fraction", 0.001], "--valid-fraction: of "),
        (
            "price",
            ["--model", "ridge", "--rows", 1000],
            f"--rows: train.csv has {ROWS // 2} rows, 1,000 were",
        ),
    ],
)
def test_refusals(refused, target, more, words):
    assert words in refused(target, *more)


def test_data_sets_have_classes(run):
    code, shown, err = run("value", "--dataset", "wine", "--model", "ridge")
    assert (code, shown) == (2, "")
    assert "--model ridge predicts numbers, and --dataset wine has classes" in err


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("", "row 1 (line 3 of train.csv), column 'y': missing target"),
        ("inf", "row 1 (line 3 of train.csv), column 'y': the target is infinite"),
        ("12 kg", "row 1 (line 3 of train.csv), column 'y' holds '12 kg'"),
    ],
)
def test_targets_that_are_no_numbers(run, tmp_path, entry, words):
    path = tmp_path / "train.csv"
    path.write_text(f"x,y\n1,2.5\n2,{entry}\n3,4\n4,5\n5,6\n")
    code, shown, err = run("value", path, "--target", "y", "--model", "ridge", "--impute")
    assert (code, shown) == (2, "")
    assert words in err


def test_truth_is_no_number(run, tmp_path):
    path = tmp_path / "train.csv"
    path.write_text("x,y\n1,True\n2,False\n3,True\n4,False\n")
    code, _, err = run("value", path, "--target", "y", "--model", "ridge")
    assert code == 2
    assert "column 'y' holds 'True'; for classes use --model logistic or neighbors" in err


def test_numbers_asked_for_as_classes(run, frame, tmp_path):
    path = tmp_path / "train.csv"
    frame.assign(price=np.arange(ROWS) * 10 + 3).drop(columns="kind").to_csv(path, index=False)
    code, _, err = run("value", path, "--target", "price")
    assert code == 2
    expected = "looks like regression" if ROWS > 20 else "has a single row"
    assert expected in err
    if ROWS > 20:
        assert "ask `ordinal-shapley value` for --model ridge" in err
