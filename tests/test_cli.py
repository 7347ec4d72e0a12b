"""The command line: what it writes, what it shows, and how it refuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ordinal_shapley
import problems
from ordinal_shapley import datasets

COLUMNS = ["row", "label", "value", "stderr", "stderr_total", "ci_low", "ci_high", "rank", "below_zero"]
EVIDENCE = [
    "predicted_label",
    "self_confidence",
    "predicted_probability",
    "agreeing_neighbors",
    "combined_rank",
    "verdict",
]


@pytest.fixture
def people() -> pd.DataFrame:
    return problems.people().assign(member=np.random.default_rng(1).random(40) < 0.5)


@pytest.fixture
def train(tmp_path, people) -> Path:
    path = tmp_path / "train.csv"
    people.to_csv(path, index=False)
    return path


def value(run, train: Path, *more: object, target: str = "outcome", permutations: int = 20):
    # Without a pilot, which takes long where nothing is compiled.
    options = [] if "--truncation" in more else ["--method", "mc"]
    # Without folds, which take longer.
    options += [] if {"--valid", "--valid-fraction", "--cv"} & set(more) else ["--valid-fraction", 0.3]
    options += [] if "--evidence" in more else ["--no-evidence"]
    return run("value", train, "--target", target, "--permutations", permutations, *options, *more)


@pytest.mark.parametrize(
    ("more", "rows"), [(["--valid-fraction", 0.3], 28), (["--cv", 2], 40), (["--cv", 3, "--rows", 35], 35)]
)
def test_values_of_a_file(run, train, people, tmp_path, more, rows):
    out = tmp_path / "values.csv"
    code, _shown, err = value(run, train, "--evidence", "--out", out, *more, permutations=40)
    assert (code, err) == (0, "")
    table = pd.read_csv(out)
    assert list(table.columns) == [*COLUMNS, *EVIDENCE]
    assert len(table) == rows
    # The rows keep the file's order and numbers, and their classes go with them.
    assert table["row"].is_monotonic_increasing
    assert table["label"].tolist() == people["outcome"].iloc[table["row"]].tolist()
    assert sorted(table["rank"]) == list(range(1, rows + 1))
    assert table["value"].iloc[table["rank"].argmin()] == table["value"].max()
    low, high = table["ci_low"], table["ci_high"]
    np.testing.assert_allclose((low + high) / 2, table["value"], atol=1e-12)
    np.testing.assert_allclose(high - low, 2 * 1.959963985 * table["stderr_total"], rtol=1e-8)
    assert (table["stderr_total"] >= table["stderr"]).all()
    np.testing.assert_array_equal(table["below_zero"], high < 0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.csv", "values.csv"]


def test_cross_fitted_values_are_those_of_the_estimator(run, people, tmp_path):
    frame = people[["age"]].assign(outcome=people["outcome"])
    frame.to_csv(tmp_path / "numbers.csv", index=False)
    out = tmp_path / "values.csv"
    assert value(run, tmp_path / "numbers.csv", "--cv", 3, "--raw", "--out", out, permutations=30)[0] == 0
    table = pd.read_csv(out)
    run_of = {"sampler": "mc", "n_permutations": 30, "random_state": 0, "evidence": False}
    model = ordinal_shapley.ClassicShapley(cv=3, **run_of)
    expected = model.fit(frame[["age"]], frame["outcome"]).valuation_
    np.testing.assert_array_equal(table["value"], expected.values)
    np.testing.assert_array_equal(table["stderr_total"], expected.stderr_total)


def test_a_rare_class_stays_in_training(run, people, tmp_path):
    people.loc[:1, "outcome"] = "ancient"
    people.to_csv(tmp_path / "train.csv", index=False)
    options = ("--cv", 3, "--json")
    code, shown, _ = value(run, tmp_path / "train.csv", *options, permutations=30)
    document = json.loads(shown)
    assert (code, document["data"]["training_rows"], document["data"]["validation_rows"]) == (0, 40, 38)
    assert all(isinstance(row["value"], float) for row in document["rows"])


def test_a_run_goes_on_from_its_checkpoint(run, train, tmp_path):
    kept, outs = tmp_path / "run.npz", [tmp_path / f"{i}.csv" for i in range(2)]
    assert value(run, train, "--checkpoint", kept, permutations=13)[0] == 0
    assert value(run, train, "--checkpoint", kept, "--out", outs[0], "--jobs", 1, permutations=30)[0] == 0
    assert value(run, train, "--out", outs[1], permutations=30)[0] == 0
    assert outs[0].read_bytes() == outs[1].read_bytes()
    code, _, err = value(run, train, "--checkpoint", kept, "--seed", 1, "--C", 2)
    assert code == 2
    assert err.startswith("error: ") and "seed" in err
    assert err.count("\n") == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["0.csv", "1.csv", "run.npz", "train.csv"]


def test_the_same_seed_gives_the_same_file(run, train, tmp_path):
    outs = [tmp_path / f"{i}.csv" for i in range(3)]
    for out, more in zip(outs, (["--jobs", 1], ["--jobs", 2], ["--seed", 1]), strict=True):
        assert value(run, train, "--out", out, *more)[0] == 0
    first, second, third = (out.read_bytes() for out in outs)
    assert first == second
    assert first != third


def test_a_validation_file_keeps_every_training_row(run, train, people, tmp_path):
    valid, out = tmp_path / "valid.csv", tmp_path / "values.csv"
    people.head(15)[["outcome", "city", "member", "age"]].to_csv(valid, index=False)
    code, _shown, _ = value(run, train, "--valid", valid, "--out", out)
    assert code == 0
    assert pd.read_csv(out)["row"].tolist() == list(range(40))


@pytest.mark.parametrize("kind", ["integers", "floats", "booleans"])
def test_classes_of_other_kinds(run, people, tmp_path, kind):
    path, out = tmp_path / "train.csv", tmp_path / "values.csv"
    old = people["outcome"] == "old"
    people["outcome"] = {"integers": old + 1, "floats": old * 1.0, "booleans": old}[kind]
    people.to_csv(path, index=False)
    assert value(run, path, "--out", out)[0] == 0
    expected = {"integers": {1, 2}, "floats": {0, 1}, "booleans": {True, False}}[kind]
    assert set(pd.read_csv(out)["label"]) == expected


@pytest.mark.parametrize(
    "more",
    [
        ["--scoring", "f1", "--C", "0.5"],
        ["--value", "classic", "--method", "tmc"],
        ["--value", "ordinal", "--position-weight", "uniform", "--raw"],
        ["--value", "partial_ordinal", "--truncation", "patience", "--tolerance", "0.1"],
        ["--value", "partial_ordinal", "--method", "ctmc", "--tolerance", "0", "--class-fraction", "0.5"],
        ["--design", "antithetic"],
        ["--sizes", "10"],
        ["--value", "ordinal", "--sizes", "beta:16,1"],
        ["--sizes", "banzhaf", "--method", "mc"],
        ["--seed", "5000000000"],
        ["--valid-fraction", "0.5", "--rows", "30"],
    ],
)
def test_every_option(run, train, more):
    code, _, err = value(run, train, *more, permutations=5)
    assert (code, err) == (0, "")


def test_sizes_are_those_of_the_library(run, train, tmp_path):
    out = tmp_path / "values.csv"
    code, shown, _ = value(run, train, "--sizes", "beta:16,1", "--json", "--out", out)
    assert code == 0
    kind = json.loads(shown)["settings"]["value"]
    assert kind["size_weights"] == ordinal_shapley.beta_weights(16, 1).settings()
    plain = tmp_path / "plain.csv"
    assert value(run, train, "--out", plain)[0] == 0
    assert not np.array_equal(pd.read_csv(plain)["value"], pd.read_csv(out)["value"])
    assert "Beta(16, 1)" in value(run, train, "--sizes", "beta:16,1")[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "more", "rows"),
    [
        ("wine", [], 178),
        ("cancer", ["--valid-fraction", "0.3"], 200),
        ("cancer-wisconsin", ["--valid-fraction", "0.5"], 284),
    ],
)
def test_bundled_data(run, tmp_path, name, more, rows):
    out = tmp_path / "values.csv"
    options = ("--permutations", 2, "--method", "tmc", "--out", out, *more)
    assert run("value", "--dataset", name, *options)[0] == 0
    table = pd.read_csv(out)
    assert len(table) == rows
    data = datasets.load(name)
    np.testing.assert_array_equal(table["label"], data.y[table["row"]])


def test_markup_in_classes_is_text(run, people, tmp_path):
    path = tmp_path / "train.csv"
    people["outcome"] = people["outcome"].map({"old": "[bold]x", "young": "[/y]"})
    people.to_csv(path, index=False)
    code, shown, _ = value(run, path)
    assert code == 0
    assert "[bold]x" in shown
    assert "[/y]" in shown


@pytest.mark.parametrize("as_json", [False, True])
def test_info(run, as_json):
    code, shown, err = run("info", *["--json"] * as_json)
    assert (code, err) == (0, "")
    assert ordinal_shapley.__version__ in shown and np.__version__ in shown
    if as_json:
        found = json.loads(shown)
        assert 0 <= found["kernels"]["compiled"] <= found["kernels"]["all"]
        assert found["cpu"] and found["cores"] >= 1 and all(n >= 1 for n in found["threads"].values())


def test_version(run):
    assert run("--version") == (0, f"ordinal-shapley {ordinal_shapley.__version__}\n", "")


@pytest.mark.parametrize("as_json", [False, True])
def test_a_file_that_fails_costs_only_itself(run, train, tmp_path, monkeypatch, as_json):
    pytest.importorskip("matplotlib")
    out, plot, html = tmp_path / "values.csv", tmp_path / "values.png", tmp_path / "values.html"
    out.write_text("old")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    def broken(*_: object, **__: object) -> None:
        raise ValueError("no such font")

    monkeypatch.setattr(pd.DataFrame, "to_csv", full)
    monkeypatch.setattr(ordinal_shapley.plots, "plot_values", broken)
    files = ("--out", out, "--plot", plot, "--report", html, *(["--json"] if as_json else []))
    code, shown, err = value(run, train, *files, permutations=2)
    assert code == 2
    of_disk, of_font = sorted(err.splitlines())
    assert "No space left on device" in of_disk and str(out) in of_disk
    assert of_font == "error: no such font"
    if as_json:
        document = json.loads(shown)
        assert (len(document["rows"]), document["written"]) == (28, [str(html)])
    else:
        assert "lowest" in shown and shown.count("Written: ") == 1
    assert out.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.csv", "values.csv", "values.html"]


def labels_written(run, frame: pd.DataFrame, tmp_path, *more: object) -> pd.Series:
    path, out = tmp_path / "train.csv", tmp_path / "values.csv"
    frame.to_csv(path, index=False)
    assert value(run, path, "--out", out, *more, permutations=2)[0] == 0
    return pd.read_csv(out, dtype={"label": str})["label"]


@pytest.mark.parametrize("first", [2**63 - 1, 2**63, 2**64 - 1, 2**64])
def test_classes_too_large_for_64_bits(run, people, tmp_path, first):
    people["outcome"] = [str(first) if label == "old" else "3" for label in people["outcome"]]
    assert set(labels_written(run, people, tmp_path)) == {str(first), "3"}


@pytest.mark.parametrize("rows", [39, 38, 37, 36, 25, 4])
def test_rows_are_drawn_in_proportion(run, people, tmp_path, rows):
    people["outcome"] = ["a"] * 29 + ["b"] * 10 + ["c"]
    people.to_csv(tmp_path / "valid.csv", index=False)
    labels = labels_written(run, people, tmp_path, "--rows", rows, "--valid", tmp_path / "valid.csv")
    assert len(labels) == rows
    counts = labels.value_counts()
    assert counts["c"] == 1
    assert abs(counts["b"] - 10 * rows / 40) < 1


def test_the_index_of_a_file_is_no_feature(run, people, train, tmp_path):
    outs = [tmp_path / f"{i}.csv" for i in range(4)]
    value(run, train, "--out", outs[0])
    paths = [tmp_path / f"indexed{i}.csv" for i in range(3)]
    people.to_csv(paths[0])
    pd.read_csv(paths[0]).to_csv(paths[1], index=False)  # "Unnamed: 0"
    pd.read_csv(paths[0]).set_axis([f"n{i}" for i in people.index]).to_csv(paths[2])
    for path, out in zip(paths, outs[1:], strict=True):
        code, _, err = value(run, path, "--out", out)
        assert code == 0
        assert err.startswith("warning: ")
        assert err.count("\n") == 1
        assert out.read_bytes() == outs[0].read_bytes()


def process(*arguments: str, **options: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "ordinal_shapley", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def test_the_file_of_the_screen_is_not_written_over(tmp_path):
    command = [sys.executable, "-m", "ordinal_shapley", "value", "--dataset", "wine", "--permutations", "1"]
    with open(tmp_path / "screen.txt", "w") as screen:
        command += ["--out", "screen.txt"]
        done = subprocess.run(command, cwd=tmp_path, stdout=screen, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert "--out" in done.stderr and "screen.txt" in done.stderr


@pytest.mark.slow
def test_a_terminal_that_lacks_the_letters(people, tmp_path):
    people["outcome"] = people["outcome"].map({"old": "漢字", "young": "y"})
    people.to_csv(tmp_path / "train.csv", index=False)
    run = process(
        "value", "train.csv", "--target", "outcome", "--permutations", "2", "--valid-fraction", "0.3",
        cwd=tmp_path, env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    shown, err = run.communicate()
    assert (run.returncode, err) == (0, "")
    assert "??" in shown


@pytest.mark.parametrize("module", ["typer", "ordinal_shapley.datasets"])
def test_ctrl_c_while_the_command_loads(module):
    code = f"""
import runpy, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
runpy.run_module("ordinal_shapley", run_name="__main__")
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (run.returncode, run.stdout, run.stderr) == (130, "", "interrupted\n")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals differ there")
@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_in_a_process(tmp_path, jobs):
    run = process(
        "value", "--dataset", "cancer", "--method", "mc", "--permutations", "100000000", "--jobs", str(jobs),
        "--out", "v.csv", "--checkpoint", "run.npz", cwd=tmp_path, env={**os.environ, "FORCE_COLOR": "1"},
    )  # fmt: skip
    # Once there are permutations; before that, an interrupt would test what comes before them.
    assert run.stderr is not None
    seen = ""
    while "fits/s" not in seen:
        seen += run.stderr.read(1) or pytest.fail(seen)
    run.send_signal(signal.SIGINT)
    shown, err = run.communicate()
    assert (run.returncode, shown) == (130, "")
    held = ordinal_shapley.Valuation.load(tmp_path / "run.npz").n_permutations
    assert f"interrupted: {held:,} " in err and "run.npz" in err
    assert "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["run.npz"]
