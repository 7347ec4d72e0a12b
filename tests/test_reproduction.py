"""The paper's experiments, benchmarks/paper: splits, methods, tables, claims, and all of it in small."""

from __future__ import annotations

import dataclasses
import json
import re

import numpy as np
import pandas as pd
import pytest

import naive
import sizes
from bench.record import plain
from ordinal_shapley import datasets
from paper import (
    claims,
    comparison,
    influence,
    methods,
    page,
    sklearn_loop,
    splits,
    tables,
)
from paper.markdown import with_spread
from paper.run import columns_and_rows, measure
from paper.runs import Settings, run_all
from problems import JIT, size

compiled = pytest.mark.skipif(not JIT, reason="whole experiments take minutes uncompiled")

# --- splits


@pytest.mark.parametrize(
    "name, held", [("wine", 40), ("cancer", 100), ("cancer-wisconsin", 100), ("adult", 48_442)]
)
def test_sizes_are_the_papers(name, held):
    split = splits.make_split(name, 0)
    n, n_valid, _ = splits.SIZES[name]
    assert (len(split.X), len(split.X_valid), len(split.X_test)) == (n, n_valid, held)
    assert (len(split.y), len(split.y_valid), len(split.y_test)) == (n, n_valid, held)
    assert not len(split.flipped)


def rows_of(split, data):
    """The rows of the data set that make up the parts of a split; Wine's rows all differ."""
    where = {row.tobytes(): number for number, row in enumerate(data.X)}
    return [[where[row.tobytes()] for row in part] for part in (split.X, split.X_valid, split.X_test)]


def test_parts_are_disjoint_and_labels_are_their_rows():
    data = datasets.load("wine")
    split = splits.make_split("wine", 3, noisy=True)
    parts = rows_of(split, data)
    assert len(set().union(*parts)) == 178
    np.testing.assert_array_equal(split.y_valid, data.y[parts[1]])
    np.testing.assert_array_equal(split.y_test, data.y[parts[2]])
    np.testing.assert_array_equal(np.flatnonzero(split.y != data.y[parts[0]]), split.flipped)
    assert len(split.flipped) == 18
    raw = splits.make_split("wine", 3)
    assert rows_of(raw, data) == parts
    np.testing.assert_array_equal(raw.y, data.y[parts[0]])


def test_the_authors_way_changes_all_labels_but_adults():
    data = datasets.load("wine")
    split = splits.make_split("wine", 0, noisy=True, protocol="authors")
    changed = [
        np.count_nonzero(labels != data.y[rows])
        for labels, rows in zip((split.y, split.y_valid, split.y_test), rows_of(split, data), strict=True)
    ]
    assert sum(changed) == 36
    assert min(changed) > 0
    assert len(split.flipped) == changed[0]


def test_scaling_is_by_the_rows_valued():
    split = splits.make_split("wine", 0, scaled=True)
    np.testing.assert_allclose(split.X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(split.X.std(axis=0), 1, rtol=1e-12)
    assert splits.make_split("wine", 0).X.max() > 100


@pytest.fixture
def small(monkeypatch):
    """Splits, runs and budgets of a size for tests."""
    monkeypatch.setitem(splits.SIZES, "wine", (size(40, 16), size(30, 12), 20))
    monkeypatch.setattr(methods, "TREES", 20)
    monkeypatch.setattr(comparison, "PILOT", (10, 30))
    return size(60, 2)


def test_every_method_values_every_row(small):
    split = splits.make_split("wine", 0, noisy=True)
    for method in methods.METHODS:
        outcome = methods.run_method(method, split, cap=small)
        assert outcome.values.shape == split.y.shape
        assert np.isfinite(outcome.values).all()
        again = methods.run_method(method, split, cap=small)
        np.testing.assert_array_equal(outcome.values, again.values)
        sampled = method not in (*methods.BASELINES, "random")
        assert (outcome.permutations == small) == sampled == outcome.capped
        assert (outcome.fits > 0) == (sampled or method == "loo")


def test_the_papers_game_is_worth_0_without_rows():
    split = splits.make_split("wine", 0)
    assert methods.make_game(split, "gaussian")(()) == 0
    lone = np.flatnonzero(split.y == split.y[0])
    assert methods.make_game(split, "gaussian")(lone) == 0


def test_the_loop_over_scikit_learn_computes_the_papers_utility():
    for m in (1, 2, 7, 30):
        np.testing.assert_allclose(sklearn_loop.gaussian_weights(m), naive.gaussian_weights(m), rtol=1e-12)
    split = splits.make_split("wine", 0, scaled=True)
    game = methods.make_game(split, "gaussian")
    random = np.random.default_rng(0)
    for _ in range(size(10, 2)):
        order = random.permutation(89)[:40]
        assert sklearn_loop.accuracy(split, order, np.unique(split.y)) == pytest.approx(
            game(order), abs=1e-12
        )


def test_influence_sums_up_its_changes(small):
    split = splits.make_split("wine", 0, scaled=True)
    last, anywhere = influence.influence(split, n_sequences=size(60, 4))
    assert (last["place"], anywhere["place"]) == ("last", "anywhere")
    for found in (last, anywhere):
        assert found["own"] <= found["total"] + found["shift"] + 1e-12
    if JIT:
        assert last["correlation"] > anywhere["correlation"]


def test_paired_differences():
    gap = tables.paired([0.9, 0.8, 0.7], [0.6, 0.7, 0.8])
    assert gap["mean"] == pytest.approx(0.1, abs=1e-12)
    assert gap["sd"] == pytest.approx(0.2, abs=1e-12)
    assert gap["stderr"] == pytest.approx(0.2 / 3**0.5, abs=1e-12)
    assert (gap["above_zero"], gap["below_zero"], gap["runs"]) == (2, 1, 3)
    assert gap["each"] == "+0.300 +0.100 -0.100"
    low, high = claims.interval(gap)
    assert (low + high) / 2 == pytest.approx(0.1, abs=1e-12)
    assert (high - low) / 2 == pytest.approx(4.302652729911275 * 0.2 / 3**0.5, rel=1e-9)
    assert np.isnan(claims.interval(tables.paired([1.0], [0.5]))).all()


def made_up(fits, half_sums=(9.0, 9.0, 9.0), noise_factor=2.0, drop=1.0):
    """Two runs of TMC, CMC and CTMC on Wine."""
    lines = []
    for labels in ("raw", "noisy"):
        for number in (1, 2):
            for method, fit, half in zip(methods.PAPER_METHODS, fits, half_sums, strict=True):
                key = {"dataset": "wine", "labels": labels, "protocol": "paper", "run": number}
                key |= {"seed": number - 1, "method": method}
                noisy = labels == "noisy"
                key |= {"permutations": 100, "capped": False, "loop_fits_timed": 60}
                key |= {"fits": fit * (noise_factor if noisy else 1)}
                key |= {"half_sum": half - drop * noisy + 0.01 * number}
                key |= {"roc_auc": 0.6 + 0.01 * number if noisy else None}
                lines.append(key | {"seconds": fit / 1e4, "loop_seconds": fit / 1e2})
    return pd.DataFrame(lines)


def test_table_1_stands_beside_the_papers():
    runs = made_up((100, 300, 80), half_sums=(9.0, 8.0, 7.0))
    theirs = runs[runs["labels"] == "noisy"].assign(protocol="authors", half_sum=5.0)
    table = tables.table_1(pd.concat([runs, theirs])).set_index(["labels", "method"])
    assert table.loc[("raw", "tmc"), "paper"] == 8.51
    assert table.loc[("noisy", "ctmc"), "paper"] == 6.32
    assert table.loc[("raw", "cmc"), "ours"] == pytest.approx(8.015, abs=1e-12)
    assert table.loc[("raw", "cmc"), "ours_sd"] == pytest.approx(0.01 / 2**0.5, abs=1e-12)
    assert table.loc[("noisy", "cmc"), "authors"] == 5
    assert np.isnan(table.loc[("raw", "cmc"), "authors"])


def test_table_2_stands_beside_the_papers():
    table = tables.table_2(made_up((100, 300, 80)))
    row = table.set_index(["labels", "method"]).loc[("noisy", "tmc")]
    assert row["paper_seconds"] == 376.62
    assert (row["fits"], row["permutations"], row["loop_fits_timed"]) == (200, 100, 120)
    assert row["seconds"] == pytest.approx(0.01, rel=1e-12)
    assert row["ratio"] == pytest.approx(100, rel=1e-12)
    less = tables.reductions(table).set_index("labels")
    assert less.loc["raw", "fits"] == pytest.approx(20, rel=1e-12)
    assert less.loc["raw", "paper_seconds"] == pytest.approx(11.86, abs=0.005)  # as the paper prints it
    assert less.loc["noisy", "paper_seconds"] == pytest.approx(17.28, abs=0.005)


def curves_of(low_first, luck):
    return pd.DataFrame(
        [
            ("wine", "noisy", "paper", method, 4 * mark, height)
            for method in (*methods.PAPER_METHODS, "random")
            for mark, height in enumerate(luck if method == "random" else low_first)
        ],
        columns=["dataset", "labels", "protocol", "method", "removed", "low_first"],
    )


def verdicts(runs, curves):
    table = tables.table_2(runs)
    found = claims.check_claims(
        {"runs": runs, "curves": curves}, {"table2": table, "reductions": tables.reductions(table)}
    )
    return {claim.claim: claim.verdict for claim in found}


def test_claims_hold_where_figures_say_so():
    runs = made_up((100, 300, 80))
    said = verdicts(runs, curves_of([0.8, 0.9, 0.3], luck=[0.8, 0.89, 0.5]))
    assert "4 of 4" in said.pop("The three do equally well at removal.")
    assert "2 of 2" in said.pop("The three find noisy labels equally well.")
    assert sum(verdict.startswith("holds") for verdict in said.values()) >= 5
    assert any("deleting" in claim and verdict.startswith("holds") for claim, verdict in said.items())


def test_claims_do_not_hold_where_figures_say_otherwise():
    runs = made_up((100, 50, 120), half_sums=(9.0, 8.5, 9.0), noise_factor=0.5, drop=-1.0)
    said = verdicts(runs, curves_of([0.9, 0.8, 0.3], luck=[0.9, 0.8, 0.3]))
    assert "2 of 4" in said["The three do equally well at removal."]
    assert sum(verdict.startswith("does not hold") for verdict in said.values()) >= 6
    lucky = verdicts(runs, curves_of([0.8, 0.9, 0.3], luck=[0.8, 0.91, 0.3]))
    for found in (said, lucky):
        assert any("deleting" in claim and verdict.startswith("does not") for claim, verdict in found.items())


def settings_of(cap, **more):
    budgets = {"permutations": (20,), "fits": (800,), "sequences": 10}
    return Settings(("wine",), jobs=1, cap=cap, **budgets, **more)


@pytest.mark.slow
@compiled
def test_a_seed_gives_the_same_tables_twice(small, tmp_path):
    settings = settings_of(small, runs=2, loop_fits=2)
    found = measure(settings, tmp_path, "python benchmarks/paper/run.py wine")
    again = run_all(settings).tables()
    again |= tables.summarise(again)
    for name in ("table1", "headline", "differences", "baselines", "influence", "warnings"):
        assert found["tables"][name] == columns_and_rows(again[name])
    check_page(found, tmp_path)


def check_page(found, folder):
    written = {name: (folder / name).read_text(encoding="utf-8") for name in (page.SUMMARY, page.APPENDIX)}
    text = "".join(written.values())
    pictures = re.findall(r"\]\((images/[^)]+)\)", text)
    assert len(pictures) == 4
    assert all((folder / picture).stat().st_size > 5_000 for picture in pictures)
    assert "nan" not in text.lower().replace("finance", "")
    for anchor in re.findall(r"\]\([\w.]*#([^)]+)\)", text.replace("theory.md#", "")):
        headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
        assert anchor in {re.sub(r"[^\w\- ]", "", line).lower().replace(" ", "-") for line in headings}
    assert page.pages_of(json.loads(json.dumps(found, allow_nan=False))) == written
    assert found["command"] in text
    assert found["settings"]["seeds"] == [0, 1]
    runs = pd.read_csv(folder / "data/runs.csv")
    mine = runs[(runs["protocol"] == "paper") & (runs["labels"] == "noisy") & (runs["method"] == "ordinal")]
    mean = {"roc_auc": mine["roc_auc"].mean(), "roc_auc_sd": mine["roc_auc"].std()}
    row = next(line for line in text.splitlines() if line.startswith("| Wine | noisy | ordinal |"))
    assert with_spread(mean, "roc_auc") in row


@pytest.mark.slow
@compiled
@pytest.mark.filterwarnings("ignore:A worker stopped while some jobs were given")  # one slow to start
def test_tables_do_not_depend_on_processes():
    one = settings_of(20, runs=1, loop_fits=0, methods=("tmc", "random"))
    frames = [run_all(settings).tables() for settings in (one, dataclasses.replace(one, jobs=2))]
    for name in ("curves", "influence", "warnings"):
        pd.testing.assert_frame_equal(frames[0][name], frames[1][name])
    one, two = (frame["compared"].drop(columns="seconds") for frame in frames)
    pd.testing.assert_frame_equal(one, two)


# --- sizes of coalitions


@compiled
def test_size_weights_are_compared(monkeypatch):
    monkeypatch.setattr(sizes, "NAMES", {"wine": "Wine"})
    record = plain(sizes.measure("2", fits=2_000, large=0))
    found = pd.DataFrame(record["rows"])
    assert len(found) == 2 * 2 * 2 * 3
    by_fits = found[found["unit"] == "fits"]
    assert by_fits["fits"].between(2_000, 2_400).all()
    assert ((found["roc_auc"] >= 0) & (found["roc_auc"] <= 1)).all()
    text = sizes.section(record)
    lines = [line for line in text.splitlines() if line.startswith("| Wine |")]
    assert [line.split(" | ")[1:3] for line in lines] == [
        [value, unit] for value in ("ordinal", "classic") for unit in ("fits", "seconds")
    ]
    mean = by_fits[(by_fits["value"] == "ordinal") & (by_fits["weights"] == "eighth")]["roc_auc"].mean()
    assert f"{mean:.3f}" in lines[0]
    assert "nan" not in text
