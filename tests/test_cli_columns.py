"""Columns of a file: entries that are missing, columns that are no features, columns left out."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pandas as pd
import pytest

import problems
from ordinal_shapley.cli.data import DataOptions
from pages import Page

N = 30


@pytest.fixture
def people() -> pd.DataFrame:
    weight = np.random.default_rng(1).normal(70, 9, N)  # every entry another one, like a measurement
    return problems.people(N, 5.0).assign(weight=weight)


def later(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows that are no copies of these."""
    return frame.assign(weight=frame["weight"] + 1)


@pytest.fixture
def gaps(people) -> pd.DataFrame:
    people["age"] = people["age"].mask(people.index.isin([3, 8, 9]))
    people["city"] = people["city"].mask(people.index.isin([4, 9]))
    return people


@pytest.fixture
def value(run, tmp_path):
    def call(frame: pd.DataFrame, *more: object) -> tuple[int, str, str]:
        path = tmp_path / "train.csv"
        frame.to_csv(path, index=False)
        options = ("--target", "outcome", "--method", "mc", "--permutations", 2, "--no-evidence")
        return run("value", path, *options, *(() if "--valid" in more else ("--valid-fraction", 0.3)), *more)

    return call


def problem(tmp_path, frame, seed=0, **more):
    path = tmp_path / "train.csv"
    frame.to_csv(path, index=False)
    (read,) = next(DataOptions(path, "outcome", raw=True, **more).read([seed]))
    return read


def test_they_are_filled_in_from_the_training_rows(gaps, tmp_path):
    gaps.loc[29, "age"] = 1e6
    problems = [problem(tmp_path, gaps, seed, impute=True) for seed in range(6)]
    held = [29 in part.X_valid.index for part in problems]
    assert {True, False} == set(held)
    for part in problems:
        known = gaps["age"].loc[part.X.index].dropna()
        absent = gaps["age"].isna()
        for table in (part.X, part.X_valid):
            rows = table.index[absent.loc[table.index]]
            assert (table.loc[rows, "age"] == known.median()).all()
            for feature in ("age", "city"):
                if f"{feature}=missing" in table:
                    told = table[f"{feature}=missing"] == 1
                    assert told.equals(gaps[feature].isna().loc[table.index])


SHUFFLED = np.random.default_rng(1).permutation(N)


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("x", np.arange(N) + 0.5),
        ("id", np.random.default_rng(0).normal(size=N)),
        ("id", np.arange(N) // 2),
        ("paid", SHUFFLED * 17),
        ("wave", ["2020-01-01", "2021-01-01"] * (N // 2)),
        ("code", [f"c{i % 12}" for i in range(N)]),
        ("size", [f"{i % 3},5" for i in range(N)]),
    ],
)
def test_features_are_not_warned_of(value, people, name, column):
    assert value(people.assign(**{name: column}))[::2] == (0, "")


def test_columns_left_out_are_as_if_they_had_not_been_there(value, people, tmp_path):
    outs = [tmp_path / f"{i}.csv" for i in range(2)]
    valid, fewer = tmp_path / "valid.csv", tmp_path / "fewer.csv"
    later(people).assign(who="x", when=range(N)).to_csv(valid, index=False)
    later(people).to_csv(fewer, index=False)
    assert value(people, "--valid", fewer, "--out", outs[0])[0] == 0
    more = people.assign(when=range(N), who=[f"p{i}" for i in range(N)])
    for file in (valid, fewer):  # the other file may lack them
        code, _, err = value(more, "--drop", "who", "--drop", "when", "--valid", file, "--out", outs[1])
        assert (code, err) == (0, "")
        assert outs[0].read_bytes() == outs[1].read_bytes()


def test_results_call_the_rows_by_a_column(value, people, tmp_path):
    pytest.importorskip("jinja2")
    names = [f"{i:03d}" for i in SHUFFLED]
    named = people.assign(who=names)
    outs = [tmp_path / f"{i}.csv" for i in range(2)]
    html = tmp_path / "report.html"
    assert value(people, "--out", outs[0])[::2] == (0, "")
    code, _shown, err = value(named, "--id", "who", "--drop", "who", "--out", outs[1], "--report", html)
    assert (code, err) == (0, "")
    plain, called = (pd.read_csv(out, dtype={"row": str}) for out in outs)
    assert called["row"].tolist() == [names[int(row)] for row in plain["row"]]  # leading zeros stay
    pd.testing.assert_frame_equal(called.drop(columns="row"), plain.drop(columns="row"))
    page = Page(html.read_text(encoding="utf-8"))
    columns = {column["title"]: column["cells"] for column in page.data["columns"]}
    assert columns["row"] == called["row"].tolist()
    assert "who" not in columns
    assert {"Data", "Order", "Validation rows"} <= set(page.facts)
    document = json.loads(value(named, "--id", "who", "--json")[1])
    assert [row["row"] for row in document["rows"]] == called["row"].tolist()
    assert document["data"]["id"] == "who"


def test_a_column_that_names_rows_is_no_feature(run, people, tmp_path):
    train, valid = tmp_path / "train.csv", tmp_path / "valid.csv"
    people.assign(who=range(N)).to_csv(train, index=False)
    later(people).to_csv(valid, index=False)  # need not have it
    read = [
        *next(DataOptions(train, "outcome", raw=True, id="who").read([0])),
        *next(DataOptions(train, "outcome", raw=True, id="who", valid=valid).read([0])),
    ]
    for got in read:
        assert "who" not in [*got.X, *got.frame]
        assert got.X.index.equals(got.frame.index)
    assert read[1].X.index.tolist() == [str(i) for i in range(N)]
    options = shlex.split("--target outcome --method mc --permutations 2 --runs 1 --value ordinal --id who")
    assert run("experiment", "noise", train, *options)[::2] == (0, "")


@pytest.mark.parametrize("header", ["", "Unnamed: 0"])
def test_an_index_without_a_name_can_name_rows(run, people, tmp_path, header):
    train, out = tmp_path / "train.csv", tmp_path / "out.csv"
    people.set_axis(range(100, 100 + N)).rename_axis(header).to_csv(train)
    options = (
        "value",
        train,
        "--target",
        "outcome",
        "--permutations",
        2,
        "--valid-fraction",
        0.3,
        "--no-evidence",
    )
    code, _, err = run(*options)
    assert (code, err.count("\n")) == (0, 1)
    assert run(*options, "--id", "Unnamed: 0", "--out", out)[::2] == (0, "")
    assert pd.read_csv(out)["row"].between(100, 100 + N).all()
    assert run(*options, "--drop", "Unnamed: 0")[0] == 0


def test_copies_on_both_sides_are_warned_of(value, people, tmp_path):
    valid = tmp_path / "valid.csv"
    mixed = pd.concat([people.iloc[:10], later(people).iloc[10:]])
    mixed.to_csv(valid, index=False)
    _, _, err = value(people, "--valid", valid)
    assert f"10 of the {N} " in err
    assert err.count("\n") == 1
    mixed.iloc[1:].to_csv(valid, index=False)  # few may be alike by chance
    assert value(people, "--valid", valid)[::2] == (0, "")
    other = people["outcome"].map({"old": "young", "young": "old"})
    mixed.assign(outcome=other).to_csv(valid, index=False)  # another label is another row
    assert value(people, "--valid", valid)[::2] == (0, "")
    mixed.to_csv(valid, index=False)  # one training row in three has a twin, and so many copies are no wonder
    twins = pd.concat([people, people.iloc[-3:], later(people).iloc[:6], later(people).iloc[:6]])
    assert value(twins, "--valid", valid)[::2] == (0, "")


@pytest.mark.parametrize("dataset", ["wine", "cancer", "cancer-wisconsin", "adult"])
def test_data_sets_are_not_warned_of(dataset):
    next(DataOptions(dataset=dataset).read([0]))  # warnings are errors here


def test_labels_that_differ_in_blanks_or_case_only_are_told_of(value, people):
    people.loc[[0, 1, 2, 3, 4], "outcome"] = " Old"
    people.loc[[5, 6, 7, 8, 9], "outcome"] = "old "
    code, _, err = value(people)
    assert code == 0
    assert all(repr(label) in err for label in (" Old", "old", "old ", "outcome"))
    assert err.count("\n") == 1


def test_categories_that_differ_in_spaces_or_case_only_are_warned_of(tmp_path, people):
    people.loc[0, "city"] = "graz "
    people.to_csv(tmp_path / "people.csv", index=False)
    with pytest.warns(UserWarning, match="column 'city' .*'Graz', 'graz '"):
        next(DataOptions(train=tmp_path / "people.csv", target="outcome").read([0]))


@pytest.mark.parametrize(
    ("sep", "mark", "decimal"), [(";", ";", ","), ("tab", "\t", "."), ("|", "|", ","), (",", ",", ",")]
)
def test_files_with_other_marks_give_the_same(tmp_path, people, sep, mark, decimal):
    people["weight"] = people["weight"].round(3)
    people["city"] = people["city"].replace({"Graz": "Graz; Ost, am\tFluss|1"})
    expected = problem(tmp_path, people)
    people.to_csv(tmp_path / "other.csv", sep=mark, decimal=decimal, index=False)
    other = tmp_path / "other.csv"
    options = {"raw": True, "sep": sep, "decimal": decimal}
    (got,) = next(DataOptions(other, "outcome", **options).read([0]))
    pd.testing.assert_frame_equal(got.X, expected.X)
    pd.testing.assert_frame_equal(got.X_valid, expected.X_valid)
    assert got.y.tolist() == expected.y.tolist()
    # The validation file is read the same way.
    with pytest.warns(UserWarning, match=str(N)):
        (both,) = next(DataOptions(other, "outcome", valid=other, **options).read([0]))
    pd.testing.assert_frame_equal(both.X, both.X_valid)


def with_lines(*lines: str):
    def write(frame, path):
        path.write_text("\n".join([*lines, frame.to_csv(index=False)]))

    return write


def to_excel(frame, path):
    pytest.importorskip("openpyxl")
    frame.to_excel(path, index=False)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("a.csv.gz", lambda frame, path: frame.to_csv(path, index=False)),
        ("a.csv.xz", lambda frame, path: frame.to_csv(path, index=False)),
        ("a.CSV.zip", lambda frame, path: frame.to_csv(path, index=False, compression="zip")),
        ("a.parquet", lambda frame, path: frame.to_parquet(path)),
        ("a.xlsx", to_excel),
        ("a.csv", with_lines("# made by x, y and z", "", "# in 2026")),
        ("a.csv", with_lines("\ufeffsep=,")),
        ("a.csv", lambda frame, path: with_lines("sep=;")(frame, path) or _semicolons(path)),
    ],
)
def test_files_of_other_kinds_give_the_same(tmp_path, people, name, write):
    people["age"] = people["age"].mask(people.index == 3)
    people = people.assign(who=[f"{i:03d}" for i in range(N)])
    expected = problem(tmp_path, people, id="who", impute=True)
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    write(people, tmp_path / name)
    options = {"raw": True, "id": "who", "impute": True}
    (got,) = next(DataOptions(tmp_path / name, "outcome", **options).read([0]))
    pd.testing.assert_frame_equal(got.X, expected.X)
    pd.testing.assert_frame_equal(got.X_valid, expected.X_valid)
    with pytest.warns(UserWarning, match=str(N)):  # text stays text in the other file
        (both,) = next(DataOptions(tmp_path / name, "outcome", valid=tmp_path / name, **options).read([0]))
    pd.testing.assert_frame_equal(both.X.reset_index(drop=True), both.X_valid, check_dtype=False)


def _semicolons(path):
    path.write_text(path.read_text().replace(",", ";"))


def test_a_comment_moves_no_line(run, tmp_path):
    (tmp_path / "a.csv").write_text("# a comment\n\n# another\nx,y\n1,a\n,b\n2,a\n")
    assert "line 6 " in run("value", tmp_path / "a.csv", "--target", "y")[2]
    (tmp_path / "a.csv").write_text("#x,y\n1,a\n2,\n")  # a header that begins like a comment
    assert "column 'y'" in run("value", tmp_path / "a.csv", "--target", "y")[2]


@pytest.mark.parametrize("decimal", [".", ","])
def test_marks_among_numbers_are_missing_values(tmp_path, people, decimal):
    absent = people.index.isin([3, 8])
    tall = people.assign(age=people["age"] + 0.5)
    expected = problem(tmp_path, tall.assign(age=tall["age"].mask(absent)), impute=True)
    path = tmp_path / "marked.csv"
    texts = tall["age"].astype(str).str.replace(".", decimal).mask(absent, "?")
    tall.assign(age=texts).to_csv(path, index=False, sep=";", decimal=decimal)
    options = {"raw": True, "impute": True, "sep": ";", "decimal": decimal}
    with pytest.warns(UserWarning, match="'age'.* 2 rows"):
        (got,) = next(DataOptions(path, "outcome", **options).read([0]))
    pd.testing.assert_frame_equal(got.X, expected.X)
    # Also where the training rows have none of them.
    tall.to_csv(tmp_path / "train.csv", index=False, sep=";", decimal=decimal)
    with pytest.warns(UserWarning, match="copies|'age'"):
        (got,) = next(DataOptions(tmp_path / "train.csv", "outcome", valid=path, **options).read([0]))
    assert (got.X_valid["age"][absent] == tall["age"].median()).all()


@pytest.mark.parametrize("values", [[1, 2, 3, 4, 5, "?"], ["1", "2", "3", "4", "5", "6", "A", "B", "C", "D"]])
def test_codes_stay_categories(tmp_path, people, values):
    read = problem(tmp_path, people.assign(code=np.resize(np.array(values, object), N)))
    assert "code" not in read.X
    assert {"code=5", "code=B"} & set(read.X)
