"""The commands experiment noise and experiment removal: what they write, show and refuse."""

from __future__ import annotations

import json
import os

import numpy as np
import pandas as pd
import pytest

import ordinal_shapley as osv
import problems
from ordinal_shapley.cli.data import DataOptions
from ordinal_shapley.experiments import self_confidence
from ordinal_shapley.tables.problem import encode, split
from ordinal_shapley.tables.reading import read_table
from problems import size

pytestmark = pytest.mark.slow

N = size(20, 2)


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    problems.people(size(60, 30), 5.0).to_csv(path, index=False)
    return path


def experiment(run, kind, file, *more):
    return run("experiment", kind, file, "--target", "outcome", "--permutations", N, "--runs", 2, *more)


def test_noise_writes_what_the_library_finds(run, people, tmp_path):
    out = tmp_path / "found.csv"
    code, shown, err = experiment(run, "noise", people, "--seed", 3, "--fraction", 0.25, "--out", out)
    assert code == 0, err
    table = pd.read_csv(out)
    assert list(table.columns) == ["value", "seed", "inspected", "found"]
    assert set(table["value"]) == {"partial_ordinal", "ordinal", "classic", "self_confidence", "random"}
    assert set(table["seed"]) == {3, 4}
    areas = []
    for seed in (3, 4):
        ((problem,),) = DataOptions(people, "outcome").read([seed])
        noise = osv.corrupt_labels(problem.y, 0.25, seed)
        game = osv.LogisticGame(problem.X, noise.labels, problem.X_valid, problem.y_valid)
        valuation = osv.sample_values(game, n_permutations=N, random_state=seed)
        found = osv.detect_noisy_labels(valuation, noise)
        areas.append(found.auc)
        evidence = self_confidence(
            problem.X, noise.labels, problem.X_valid, problem.y_valid, random_state=seed
        )
        confident = osv.detect_noisy_labels(evidence.self_confidence, noise)
        for name, detection in (("ordinal", found), ("self_confidence", confident)):
            mine = table[(table["value"] == name) & (table["seed"] == seed)]
            np.testing.assert_allclose(mine["found"], detection.found, atol=1e-12)
    assert f"{np.mean(areas):.2f}" in shown and f"{np.std(areas, ddof=1):.2f}" in shown


def test_removal_writes_what_the_library_finds(run, people, tmp_path):
    out = tmp_path / "curves.csv"
    options = ("--value", "classic", "--method", "mc", "--marks", 4, "--out", out)
    code, _, err = experiment(run, "removal", people, *options)
    assert (code, err) == (0, "")
    table = pd.read_csv(out)
    assert list(table.columns) == ["value", "seed", "removed", "share", "high_first", "low_first"]
    rest, held = split(read_table(people, "outcome"), 0.3, 1)
    train, valid = split(rest, 0.3, 1)
    problem, test = (encode(train, part, raw=False) for part in (valid, held))
    game = osv.LogisticGame(problem.X, problem.y, problem.X_valid, problem.y_valid, position_weight="uniform")
    valuation = osv.sample_values(game, "classic", "mc", n_permutations=N, random_state=1)
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
    for kind, more in (("removal", ("--test", test)), ("noise", ())):
        options = ("--valid", valid, *more, "--value", "ordinal", "--method", "mc")
        assert experiment(run, kind, train, *options)[::2] == (0, "")


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="a pipe has no name here")
def test_a_pipe_is_read_once_for_all_runs(run, people):
    shown = []
    given, end = os.pipe()
    os.write(end, people.read_bytes())
    os.close(end)
    try:
        for file in (people, f"/dev/fd/{given}"):
            code, screen, err = experiment(run, "noise", file, "--value", "ordinal", "--json")
            assert (code, err) == (0, "")
            shown.append(json.loads(screen)["values"])
    finally:
        os.close(given)
    assert shown[0] == shown[1]


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
