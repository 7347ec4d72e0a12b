"""The commands experiment noise and experiment removal: what they write, show and refuse."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import ordinal_shapley as osv
from ordinal_shapley.cli.data_options import DataOptions
from ordinal_shapley.tables.problem import encode, split
from ordinal_shapley.tables.reading import read_table
from problems import JIT, size

N = size(20, 2)


@pytest.fixture
def people(tmp_path):
    rng = np.random.default_rng(0)
    n = size(60, 30)
    age = rng.integers(20, 70, n)
    frame = pd.DataFrame(
        {
            "age": age,
            "city": rng.choice(["Bonn", "Graz"], n),
            "outcome": np.where(age + rng.normal(0, 5, n) > 45, "old", "young"),
        }
    )
    path = tmp_path / "people.csv"
    frame.to_csv(path, index=False)
    return path


def experiment(run, kind, file, *more):
    return run("experiment", kind, file, "--target", "outcome", "--permutations", N, "--runs", 2, *more)


def lines_of(shown):
    """The lines of the table by their first words, as the numbers in them."""
    table = {}
    for line in shown.splitlines():
        name = next(
            (k for k in ("partial ordinal", "ordinal", "classic", "random") if line.startswith(k)), None
        )
        if name:
            table[name] = line[len(name) :].replace("±", " ").split()
    return table


def test_noise_writes_what_the_library_finds(run, people, tmp_path):
    out = tmp_path / "found.csv"
    code, shown, err = experiment(run, "noise", people, "--seed", 3, "--fraction", 0.25, "--out", out)
    assert code == 0, err
    table = pd.read_csv(out)
    assert list(table.columns) == ["value", "seed", "inspected", "found"]
    assert set(table["value"]) == {"partial_ordinal", "ordinal", "classic", "random"}
    assert set(table["seed"]) == {3, 4}
    areas = []
    for seed in (3, 4):
        problem = DataOptions(people, "outcome").read(seed)
        noise = osv.corrupt_labels(problem.y, 0.25, seed)
        game = osv.LogisticGame(problem.X, noise.labels, problem.X_valid, problem.y_valid)
        valuation = osv.sample_values(
            game,
            value="ordinal",
            method="tmc",
            truncation=osv.Truncation.roulette(),
            n_permutations=N,
            random_state=seed,
        )
        found = osv.detect_noisy_labels(valuation, noise)
        areas.append(found.auc)
        mine = table[(table["value"] == "ordinal") & (table["seed"] == seed)]
        np.testing.assert_allclose(mine["found"], found.found, atol=1e-12)
    numbers = lines_of(shown)
    assert set(numbers) == {"partial ordinal", "ordinal", "classic", "random"}
    assert numbers["ordinal"][:2] == [f"{np.mean(areas):.2f}", f"{np.std(areas, ddof=1):.2f}"]
    assert "To clean labels, prefer the ordinal or the classic value." in shown


def test_removal_writes_what_the_library_finds(run, people, tmp_path):
    out = tmp_path / "curves.csv"
    options = ("--value", "classic", "--method", "mc", "--marks", 4, "--out", out)
    code, shown, err = experiment(run, "removal", people, *options)
    assert (code, err) == (0, "")
    table = pd.read_csv(out)
    assert list(table.columns) == ["value", "seed", "removed", "share", "high_first", "low_first"]
    assert set(lines_of(shown)) == {"classic", "random"}
    read = read_table(people, "outcome")
    rest, held = split(read, 0.3, 1)
    train, valid = split(rest, 0.3, 1)
    problem, test = (encode(train, part, raw=False) for part in (valid, held))
    game = osv.LogisticGame(problem.X, problem.y, problem.X_valid, problem.y_valid, position_weight="uniform")
    valuation = osv.sample_values(
        game,
        value="classic",
        n_permutations=N,
        random_state=1,
    )
    curves = osv.remove_high_value(valuation, problem.X, problem.y, test.X_valid, test.y_valid, marks=4)
    mine = table[(table["value"] == "classic") & (table["seed"] == 1)]
    np.testing.assert_allclose(mine["high_first"], curves.high_first, atol=1e-12)
    np.testing.assert_allclose(mine["low_first"], curves.low_first, atol=1e-12)
    np.testing.assert_array_equal(mine["removed"], curves.removed)


def test_files_of_validation_and_of_rows_held_out(run, people, tmp_path):
    whole = pd.read_csv(people)
    files = [tmp_path / name for name in ("train.csv", "valid.csv", "test.csv")]
    for part, file in zip(np.array_split(np.arange(len(whole)), 3), files, strict=True):
        whole.iloc[part].to_csv(file, index=False)
    train, valid, test = files
    code, shown, err = experiment(
        run, "removal", train, "--valid", valid, "--test", test, "--value", "ordinal", "--method", "mc"
    )
    assert (code, err) == (0, "")
    third = len(whole) // 3
    assert f"{third} training rows of train.csv, {third} validation rows and {third} held out" in shown
    assert "2 runs from seed 0" in shown
    assert "standard deviation over the runs" in shown
    code, shown, err = experiment(
        run, "noise", train, "--valid", valid, "--value", "ordinal", "--method", "mc"
    )
    assert (code, err) == (0, "")


def test_a_seed_gives_the_same_twice_and_pictures_are_drawn(run, people, tmp_path):
    for kind in ("noise", "removal"):
        shown = []
        for name in ("one.png", "two.png"):
            picture = tmp_path / f"{kind}-{name}"
            code, screen, err = experiment(run, kind, people, "--value", "ordinal", "--plot", picture)
            assert (code, err) == (0, "")
            assert picture.stat().st_size > 5_000
            shown.append(screen.replace(str(picture), ""))
        assert shown[0] == shown[1]


def test_data_sets_stand_in_for_files(run):
    code, shown, err = run(
        "experiment", "removal", "--dataset", "wine", "--rows", 40, "--value", "ordinal", "--permutations", N,
        "--runs", 1, "--marks", 3,
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert "1 run from seed 0" in shown
    assert "±" not in shown


@pytest.mark.parametrize("kind", ["noise", "removal"])
@pytest.mark.parametrize(
    "more, message",
    [
        (["--value", "best"], "--value is 'best', expected one of"),
        (["--method", "smc"], "--method is 'smc'"),
        (["--scoring", "luck"], "--scoring is 'luck'"),
        (["--jobs", 0], "--jobs is 0"),
        (["--valid-fraction", 1.5], "--valid-fraction is 1.5, expected a number between 0 and 1"),
        (["--dataset", "wine"], "give either a TRAIN.csv or a --dataset, and not both"),
        (["--valid", "v.csv", "--valid-fraction", 0.2], "give either --valid or --valid-fraction"),
        (["--plot", "curves.txt"], "must end with a kind of picture"),
        (["--value", "ordinal", "--method", "mc", "--tolerance", 0.1], "--tolerance is for tmc and ctmc"),
    ],
)
def test_refusals(run, people, kind, more, message):
    code, shown, err = experiment(run, kind, people, *more)
    assert (code, shown) == (2, "")
    assert message in err


@pytest.mark.parametrize(
    "kind, more, message",
    [
        ("noise", ["--fraction", 1.0], "--fraction is 1.0, expected a number between 0 and 1"),
        ("noise", ["--fraction", 0.001], "training rows is 0; some must be changed and some not"),
        ("removal", ["--test-fraction", 0.0], "--test-fraction is 0.0, expected a number between 0 and 1"),
        ("removal", ["--test", "t.csv", "--test-fraction", 0.2], "give either --test or --test-fraction"),
        ("removal", ["--test", "t.csv"], "there is no file 't.csv'"),
    ],
)
def test_refusals_of_one(run, people, kind, more, message):
    code, shown, err = experiment(run, kind, people, *more)
    assert (code, shown) == (2, "")
    assert message in err


def test_a_class_of_one_row_names_the_option_of_the_rows_held_out(run, people, tmp_path):
    whole = pd.read_csv(people)
    whole.loc[0, "outcome"] = "ancient"
    whole.to_csv(tmp_path / "train.csv", index=False)
    code, shown, err = experiment(run, "removal", tmp_path / "train.csv")
    assert (code, shown) == (2, "")
    assert "--test-fraction: class 'ancient' has a single row" in err
    assert "with --test or" in err


@pytest.mark.parametrize(
    "command",
    [("value",), ("verify",), ("exact",), ("reproduce",), ("experiment", "noise"), ("experiment", "removal")],
)
def test_help_fits_eighty_columns(run, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    code, shown, err = run(*command, "--help")
    assert (code, err) == (0, "")
    assert max(map(len, shown.splitlines())) <= 80
    assert not re.search(r"<=x<=\s*│", shown)  # no range broken in two
    assert not re.search(r"\d{7}", shown)


@pytest.mark.parametrize(
    "arguments, most",
    [
        (("value", "--dataset", "wine", "--seed"), 2**64 - 1),
        (("value", "--dataset", "wine", "--permutations"), 2**62),
        (("verify", "game.json", "--permutations"), 2**62),
        (("reproduce", "wine", "--most-permutations"), 2**40),
        (("experiment", "noise", "--dataset", "wine", "--seed"), 2**63),
    ],
)
def test_numbers_too_large(run, arguments, most):
    code, shown, err = run(*arguments, most + 1)
    assert (code, shown) == (2, "")
    assert err == f"error: {arguments[-1]} is {most + 1}, expected at most {most}\n"


def test_help_says_which_value_cleans_labels(run):
    code, shown, err = run("experiment")
    assert (code, err) == (0, "")
    assert {"noise", "removal"} <= set(shown.split())
    code, shown, err = run("experiment", "noise", "--help")
    assert (code, err) == (0, "")
    assert "To clean labels, prefer the ordinal value, or the classic one" in " ".join(shown.split())


@pytest.mark.skipif(not JIT, reason="a minute uncompiled")
def test_adult_is_cut_to_the_papers_sizes(run):
    code, shown, err = run(
        "experiment", "removal", "--dataset", "adult", "--value", "ordinal", "--method", "mc",
        "--permutations", 2, "--runs", 1, "--marks", 2,
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert "200 training rows of adult, 200 validation rows and 200 held out" in shown
