"""The command line: what it writes, what it shows, and how it refuses."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ordinal_shapley
import ordinal_shapley.estimators  # before `sample_values` is patched, which it takes over
from ordinal_shapley import datasets, sampling

COLUMNS = ["row", "label", "value", "stderr", "ci_low", "ci_high", "rank", "below_zero"]


@pytest.fixture
def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    n = 40
    age = rng.integers(20, 70, n)
    return pd.DataFrame(
        {
            "age": age,
            "city": rng.choice(["Bonn", "Graz", "Lyon"], n),
            "member": rng.random(n) < 0.5,
            "outcome": np.where(age + rng.normal(0, 10, n) > 45, "old", "young"),
        }
    )


@pytest.fixture
def train(tmp_path, people) -> Path:
    path = tmp_path / "train.csv"
    people.to_csv(path, index=False)
    return path


def value(run, train: Path, *more: object, target: str = "outcome", permutations: int = 20):
    return run("value", train, "--target", target, "--permutations", permutations, *more)


# --- what it writes and shows


def test_values_of_a_file(run, train, people, tmp_path):
    out = tmp_path / "values.csv"
    code, _shown, err = value(run, train, "--out", out)
    assert (code, err) == (0, "")
    table = pd.read_csv(out)
    assert list(table.columns) == COLUMNS
    assert len(table) == 28
    # The rows keep the file's order and numbers, and their classes go with them.
    assert table["row"].is_monotonic_increasing
    assert table["label"].tolist() == people["outcome"].iloc[table["row"]].tolist()
    assert sorted(table["rank"]) == list(range(1, 29))
    assert table["value"].iloc[table["rank"].argmin()] == table["value"].max()
    low, high = table["ci_low"], table["ci_high"]
    np.testing.assert_allclose((low + high) / 2, table["value"], atol=1e-12)
    np.testing.assert_allclose(high - low, 2 * 1.959963985 * table["stderr"], rtol=1e-8)
    np.testing.assert_array_equal(table["below_zero"], high < 0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.csv", "values.csv"]


def test_values_are_those_of_the_library(run, tmp_path):
    out = tmp_path / "values.csv"
    run("value", "--dataset", "wine", "--permutations", 4, "--seed", 3, "--out", out, "--raw")
    table = pd.read_csv(out)
    data = datasets.load("wine")
    rows = table["row"].to_numpy()
    assert len(rows) == 124
    others = np.setdiff1d(np.arange(178), rows)
    game = ordinal_shapley.LogisticGame(data.X[rows], data.y[rows], data.X[others], data.y[others])
    expected = ordinal_shapley.sample_values(
        game, "partial_ordinal", "ctmc", n_permutations=4, random_state=3
    )
    np.testing.assert_array_equal(table["value"], expected.values)
    np.testing.assert_array_equal(table["stderr"], expected.stderr)


def test_a_run_goes_on_from_its_checkpoint(run, train, tmp_path):
    kept, outs = tmp_path / "run.npz", [tmp_path / f"{i}.csv" for i in range(2)]
    assert value(run, train, "--checkpoint", kept, permutations=13)[0] == 0
    assert value(run, train, "--checkpoint", kept, "--out", outs[0], "--jobs", 1, permutations=30)[0] == 0
    assert value(run, train, "--out", outs[1], permutations=30)[0] == 0
    assert outs[0].read_bytes() == outs[1].read_bytes()
    code, _, err = value(run, train, "--checkpoint", kept, "--seed", 1, "--C", 2)
    assert code == 2
    assert err.startswith("error: ") and "random_state" in err
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
        ["--position-weight", "uniform", "--raw"],
        ["--truncation", "patience", "--tolerance", "0.1"],
        ["--class-fraction", "0.5"],
        ["--design", "antithetic"],
        ["--seed", "5000000000"],
        ["--valid-fraction", "0.5", "--rows", "30"],
    ],
)
def test_every_option(run, train, more):
    code, _, err = value(run, train, *more, permutations=5)
    assert (code, err) == (0, "")


@pytest.mark.parametrize(
    ("name", "more", "rows"),
    [
        ("wine", [], 124),
        ("cancer", [], 200),
        ("cancer-wisconsin", ["--valid-fraction", "0.5"], 284),
        ("adult", ["--rows", "60"], 30),
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


def test_version(run):
    assert run("--version") == (0, f"ordinal-shapley {ordinal_shapley.__version__}\n", "")


@pytest.mark.parametrize("arguments", [[], ["--help"], ["value", "--help"]])
def test_help(run, arguments):
    code, shown, err = run(*arguments)
    assert (code, err) == (0, "")
    assert "Usage: ordinal-shapley" in shown


# --- how it refuses


@pytest.fixture
def refused(run, monkeypatch):
    """Run, and expect one line on stderr, exit code 2 and not a single fit."""

    def no_fit(*_: object, **__: object) -> None:
        raise AssertionError("the work has started")

    def call(*arguments: object) -> str:
        with monkeypatch.context() as patch:
            patch.setattr(sampling, "sample_values", no_fit)
            code, shown, err = run("value", *arguments)
        assert (code, shown) == (2, "")
        assert err.startswith("error: ")
        assert err.count("\n") == 1
        assert err.endswith("\n")
        return err

    return call


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--method", "tcm"], "--method is 'tcm', expected one of 'mc', 'tmc', 'cmc', 'ctmc'"),
        (["--value", "ordinary"], "expected one of 'partial_ordinal', 'ordinal', 'classic'"),
        (["--scoring", "auc"], "expected one of 'accuracy'"),
        (["--position-weight", "flat"], "expected one of 'gaussian', 'uniform'"),
        (["--value", "classic", "--position-weight", "gaussian"], "--position-weight: the classic"),
        (["--truncation", "never"], "expected one of 'paper', 'patience'"),
        (["--method", "mc", "--truncation", "paper"], "--truncation is for tmc and ctmc"),
        (["--method", "cmc", "--tolerance", "0.1"], "--tolerance is for tmc and ctmc"),
        (["--tolerance", "-1"], "--tolerance is"),
        (["--tolerance", "nan"], "--tolerance is"),
        (["--class-fraction", "0"], "--class-fraction is 0.0, expected a number above 0 and at most 1"),
        (["--class-fraction", "1.5"], "--class-fraction is 1.5, expected a number above 0 and at most 1"),
        (["--class-fraction", "nan"], "--class-fraction is nan"),
        (["--method", "mc", "--class-fraction", "0.5"], "--class-fraction is for cmc and ctmc"),
        (
            ["--design", "square"],
            f"--design is 'square', expected one of {', '.join(map(repr, DESIGNS))}",
        ),
        (["--design", "latin"], "--design latin is for mc and tmc; --method is ctmc"),
        (["--C", "0"], "--C is 0.0, expected a finite number above 0"),
        (["--C", "-1"], "--C is"),
        (["--C", "nan"], "--C is"),
        (["--C", "inf"], "--C is"),
        (["--valid-fraction", "0"], "--valid-fraction is 0.0, expected a number between 0 and 1"),
        (["--valid-fraction", "1"], "--valid-fraction is 1.0, expected a number between 0 and 1"),
        (["--valid-fraction", "0.001"], "--valid-fraction: 40 rows in 2 classes are too few"),
        (["--permutations", "0"], "--permutations"),
        (["--permutations", "many"], "--permutations"),
        (["--seed", "-1"], "--seed"),
        (["--seed", "18446744073709551616"], "--seed"),
        (["--jobs", "0"], "--jobs is 0, expected a number of workers"),
        (["--jobs", "10000000"], "--jobs"),
        (["--out", "-"], "--out: '-' is no file name"),
        (["--out", "o.png", "--plot", "./o.png"], "--out and --plot both name 'o.png'"),
        (["--out", "o.npz", "--checkpoint", "./o.npz"], "--out and --checkpoint both name 'o.npz'"),
        (["--checkpoint", "."], "--checkpoint: '.' is a folder"),
        (["--checkpoint", "no/run.npz"], "--checkpoint: there is no folder 'no'"),
        (["--minutes", "0"], "--minutes is 0.0, expected a finite number above 0"),
        (["--minutes", "inf"], "--minutes is inf"),
        (["--standard-error", "-1"], "--standard-error is -1.0, expected a finite number above 0"),
        (["--rows", "41"], "--rows: train.csv has 40 rows, 41 were asked for"),
        (["--rows", "1"], "--rows"),
        (["--dataset", "wine"], "give either a TRAIN.csv or a --dataset, and not both"),
        (["--no-such-option"], "No such option"),
        (["--plot", "values.xyz"], "--plot: 'values.xyz' must end with a kind of picture: .png"),
        (["--plot", "values"], "--plot: 'values' must end with a kind of picture"),
    ],
)
def test_bad_options(refused, train, options, words):
    assert words in refused(train, "--target", "outcome", *options)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "give either a TRAIN.csv or a --dataset"),
        (["no.csv", "--target", "y"], "there is no file 'no.csv'"),
        ([".", "--target", "y"], "'.' is a folder"),
        (["--dataset", "iris"], "expected one of 'wine', 'cancer', 'cancer-wisconsin', 'adult'"),
        (["--dataset", "wine", "--target", "y"], "--target goes with a TRAIN.csv"),
        (["--dataset", "wine", "--valid", "v.csv"], "--valid goes with a TRAIN.csv"),
        (["--dataset", "wine", "--scoring", "roc_auc"], "roc_auc"),
        (["--dataset", "adult", "--rows", "50000"], "--rows: adult has 48,842 rows"),
    ],
)
def test_bad_sources(refused, arguments, words):
    assert words in refused(*arguments)


def test_target_is_needed(refused, train):
    assert "--target is needed" in refused(train)


def test_unknown_target_suggests_close_names(refused, train):
    assert "--target: train.csv has no column 'outcomes'; did you mean 'outcome'?" in refused(
        train, "--target", "outcomes"
    )
    assert "its columns are age, city, member, outcome" in refused(train, "--target", "zzz")


def test_valid_excludes_valid_fraction(refused, train):
    words = refused(train, "--target", "outcome", "--valid", train, "--valid-fraction", 0.3)
    assert "--valid or --valid-fraction, and not both" in words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "train.csv is empty"),
        ("\n \nx,y\n1,a\n\n  \n,b\n2,a\n", "row 1 (line 7 of train.csv), column 'x': missing v"),
        ("x,y\n1,a\n2,null\n", "missing class (NA, None and null in a file are"),
        (f"x,t,y\n1,{'t' * 200_000},a\n,b,b\n", "row 1 (line 3 of train.csv), column 'x': missing"),
        ("a\0,b,y\n1,1,a\n2,2,b\n", "train.csv holds NUL characters"),
        ("x,x=1,y\nb,1,a\n1,2,b\n", "'x=1' would name two encoded columns"),
        ("y,\na,1\nb,\n", "row 1 (line 3 of train.csv), column 'Unnamed: 1': missing value"),
        ("\n", "train.csv is empty"),
        ("x,y\n", "train.csv has a header but no rows"),
        ("x,y\n1,a\n,b\n2,a\n", "row 1 (line 3 of train.csv), column 'x': missing value"),
        ("x,y\n1,a\n\nnan,b\n", "row 1 (line 4 of train.csv), column 'x': missing value"),
        ('x,y\n"a\nb",a\n,b\n', "row 1 (line 4 of train.csv), column 'x': missing value"),
        ("x,y\n1,a\n2,b\ninf,a\n", "row 2 (line 4 of train.csv), column 'x': the number is inf"),
        ("x,y\n1,a\n2,\n", "row 1 (line 3 of train.csv), column 'y': missing class"),
        ("x,y\n1,a\n2,  \n", "row 1 (line 3 of train.csv), column 'y': missing class"),
        ("x,y\n1,a\n2,a\n", "--target: column 'y' of train.csv has only one class, 'a'"),
        ("x,x,y\n1,1,a\n2,2,b\n", "train.csv has more than one column 'x'"),
        ("x,y\n1,a\n2,b,c\n", "train.csv can't be read as CSV: Expected 2 fields in line 3, saw 3; put text"),
        ("x,y\n1,a,c\n2,b,c\n", "CSV: its rows have more values than the header has names; put text that"),
        ("x;y\n1;a\n2;b\n", "train.csv has semicolons between its columns: give --sep ';', and --decimal ,"),
        ("x;y\n1,5;a\n2;b\n", "semicolons between its columns: give --sep ';'"),
        ("x\ty\n1\ta\n2\tb\n", "train.csv has tabs between its columns: give --sep tab"),
        ("y\na\nb\n", "the table has no feature columns"),
    ],
)
def test_bad_training_file(refused, tmp_path, text, words):
    path, valid = tmp_path / "train.csv", tmp_path / "valid.csv"
    path.write_text(text)
    valid.write_text("x,y\n1,a\n2,b\n" if "b" in text else "x,y\n1,a\n")
    assert words in refused(path, "--target", "y", "--valid", valid)


def test_not_utf8(refused, tmp_path):
    path = tmp_path / "train.csv"
    path.write_bytes(b"x,y\n\xe9,a\n")
    words = refused(path, "--target", "y")
    assert "train.csv is not UTF-8 text: invalid continuation byte; save it as UTF-8" in words


def test_regression_targets(refused, tmp_path):
    path = tmp_path / "train.csv"
    frame = pd.DataFrame({"x": np.arange(300.0), "price": np.linspace(0, 1, 300), "id": range(300)})
    frame.to_csv(path, index=False)
    words = refused(path, "--target", "price")
    assert "--target: column 'price' holds 300 different numbers, which looks like regr" in words
    assert "--target: column 'id' holds 300 different numbers" in refused(path, "--target", "id")
    frame.astype({"id": str}).assign(id=[f"n{i}" for i in range(300)]).to_csv(path, index=False)
    assert "--target: column 'id' has 300 different labels" in refused(path, "--target", "id")


def test_a_class_of_one_row_cannot_be_split(refused, people, tmp_path):
    path = tmp_path / "train.csv"
    people.loc[0, "outcome"] = "ancient"
    people.to_csv(path, index=False)
    words = refused(path, "--target", "outcome")
    assert "--valid-fraction: class 'ancient' has a single row" in words


def test_a_class_is_called_as_in_the_data(refused):
    words = refused("--dataset", "wine", "--rows", "3")
    assert "--valid-fraction: class 0 has a single row" in words


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"outcome": "ancient"}, "row 0 (line 2 of valid.csv): the validation class 'ancient' nev"),
        ({"age": "many"}, "row 0 (line 2 of valid.csv), column 'age': 'many' is not a number"),
        ({"age": np.inf}, "row 0 (line 2 of valid.csv), column 'age': the number is infinite"),
        ({"city": None}, "row 0 (line 2 of valid.csv), column 'city': missing value"),
        ({"height": 1.8}, "has 'height', unknown in training"),
    ],
)
def test_bad_validation_file(refused, train, people, tmp_path, change, words):
    valid = tmp_path / "valid.csv"
    people.head(5).assign(**change).to_csv(valid, index=False)
    assert words in refused(train, "--target", "outcome", "--valid", valid)


def test_validation_file_without_the_target(refused, train, people, tmp_path):
    valid = tmp_path / "valid.csv"
    people.drop(columns="outcome").to_csv(valid, index=False)
    words = refused(train, "--target", "outcome", "--valid", valid)
    assert "--target: valid.csv has no column 'outcome'" in words


@pytest.mark.parametrize("option", ["--out", "--plot"])
def test_unwritable_outputs(refused, train, tmp_path, option):
    suffix = ".csv" if option == "--out" else ".png"
    folder, missing = tmp_path / f"folder{suffix}", tmp_path / "none" / f"v{suffix}"
    folder.mkdir()
    for path, words in ((folder, "is a folder"), (missing, "there is no folder")):
        text = refused(train, "--target", "outcome", option, path)
        assert text.startswith(f"error: {option}: ")
        assert words in text


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_links_that_lead_nowhere(refused, train, tmp_path):
    for option, name in (("--out", "loop.csv"), ("--plot", "loop.png")):
        (tmp_path / name).symlink_to(tmp_path / name)
        words = refused(train, "--target", "outcome", option, tmp_path / name)
        assert words.startswith(f"error: {option}: can't write")


@pytest.mark.skipif(os.name == "nt", reason="no device files there")
def test_devices_hold_no_rows(refused):
    assert "is empty" in refused(os.devnull, "--target", "y")


def test_outputs_never_replace_inputs(refused, train):
    before = train.read_bytes()
    words = refused(train, "--target", "outcome", "--out", train)
    assert "--out: " in words
    assert "is an input of this run" in words
    assert train.read_bytes() == before


def test_a_folder_without_permission(refused, train, monkeypatch, tmp_path):
    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", denied)
    words = refused(train, "--target", "outcome", "--out", tmp_path / "v.csv")
    assert "--out: can't write" in words
    assert "Permission denied" in words


def test_a_failed_run_leaves_the_earlier_result(run, train, tmp_path, monkeypatch):
    out = tmp_path / "values.csv"
    out.write_text("old")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_csv", full)
    assert value(run, train, "--out", out, permutations=2)[0] == 2
    assert out.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.csv", "values.csv"]


def test_interrupt(run, train, monkeypatch):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sampling, "sample_values", interrupted)
    assert value(run, train) == (130, "", "interrupted\n")


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


def test_a_target_without_a_name_is_kept(run, people, tmp_path):
    path = tmp_path / "train.csv"
    people.set_index("outcome").rename_axis("").to_csv(path)
    assert value(run, path, target="Unnamed: 0")[::2] == (0, "")


@pytest.mark.parametrize(("name", "start"), [("number", 5), ("id", 0), ("Index", 1)])
def test_a_row_id_is_warned_of(run, people, train, tmp_path, name, start):
    path = tmp_path / "numbered.csv"
    people.assign(**{name: range(start, start + 40)}).to_csv(path, index=False)
    code, _, err = value(run, path)
    assert code == 0
    assert err == (
        f"warning: column '{name}' looks like a row ID, and is used as a feature; leave it "
        f"out with --drop {name}, or name the rows by it: --id {name}\n"
    )


def test_ids_in_any_order_are_warned_of(run, people, tmp_path):
    path = tmp_path / "train.csv"
    people.assign(id=np.random.default_rng(0).permutation(10_000)[:40]).to_csv(path, index=False)
    assert "warning: column 'id' looks like a row ID" in value(run, path)[2]
    people.assign(id=people["age"] // 10).to_csv(path, index=False)
    assert value(run, path)[2] == ""


# --- as a process


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
        done = subprocess.run(
            [*command, "--out", "screen.txt"],
            cwd=tmp_path,
            stdout=screen,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert "--out: 'screen.txt' is where the screen goes" in done.stderr


def test_as_a_process(tmp_path):
    run = process("value", "--dataset", "wine", "--permutations", "3", "--out", "v.csv", cwd=tmp_path)
    _shown, err = run.communicate()
    assert (run.returncode, err) == (0, "")
    assert len(pd.read_csv(tmp_path / "v.csv")) == 124


def test_a_terminal_that_lacks_the_letters(people, tmp_path):
    people["outcome"] = people["outcome"].map({"old": "漢字", "young": "y"})
    people.to_csv(tmp_path / "train.csv", index=False)
    run = process(
        "value", "train.csv", "--target", "outcome", "--permutations", "2",
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
    kept = f"interrupted: {held:,} permutations are kept in 'run.npz'; run the same again to go on from there"
    assert err.endswith(f"{kept}\n")
    assert "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["run.npz"]


def test_help_loads_no_heavy_module():
    code = (
        "import sys; from ordinal_shapley.cli import main\n"
        "try: main(['value', '--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'pandas', 'sklearn', 'scipy', 'numba', 'matplotlib', 'joblib'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stderr.strip() == "[]"


def test_defaults_are_those_of_the_estimators(run, tmp_path):
    """Without --method and --truncation each value is estimated as by its estimator class."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60)})
    frame["y"] = (frame["a"] + rng.normal(size=60) > 0).astype(int)
    train, valid = frame[:30], frame[30:]
    train.to_csv(tmp_path / "train.csv", index=False)
    valid.to_csv(tmp_path / "valid.csv", index=False)
    scaled = [
        (part[["a", "b"]] - train[["a", "b"]].mean()) / train[["a", "b"]].std(ddof=0)
        for part in (train, valid)
    ]
    for kind, name in [
        (ordinal_shapley.PartialOrdinalShapley, "partial_ordinal"),
        (ordinal_shapley.OrdinalShapley, "ordinal"),
        (ordinal_shapley.ClassicShapley, "classic"),
    ]:
        out = tmp_path / f"{name}.csv"
        files = (tmp_path / "train.csv", "--valid", tmp_path / "valid.csv", "--out", out)
        code, _, _ = run("value", *files, "--target", "y", "--value", name, "--permutations", 30)
        assert code == 0
        model = kind(n_permutations=30, random_state=0).fit(scaled[0], train["y"], scaled[1], valid["y"])
        np.testing.assert_allclose(pd.read_csv(out)["value"], model.values_, atol=1e-12)
