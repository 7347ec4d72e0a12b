"""Columns of a file: missing values, columns that are hardly features, columns left out."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from ordinal_shapley.cli.data_options import DataOptions
from ordinal_shapley.tables.column_warnings import find_alike
from pages import Page

N = 30


@pytest.fixture
def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age = rng.integers(20, 70, N)
    return pd.DataFrame(
        {
            "age": age,
            "weight": rng.normal(70, 9, N),  # every entry another one, like a measurement
            "city": rng.choice(["Bonn", "Graz"], N),
            "outcome": np.where(age + rng.normal(0, 5, N) > 45, "old", "young"),
        }
    )


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
        return run("value", path, "--target", "outcome", "--permutations", 2, *more)

    return call


def problem(tmp_path, frame, seed=0, **more):
    path = tmp_path / "train.csv"
    frame.to_csv(path, index=False)
    return DataOptions(path, "outcome", raw=True, **more).read(seed)


# --- missing values


def test_the_error_names_columns_counts_and_the_way_out(value, gaps):
    code, shown, err = value(gaps)
    assert (code, shown) == (2, "")
    assert err.count("\n") == 1
    for words in (
        "row 3 (line 5 of train.csv), column 'age': missing value",
        "in 30 rows 3 of 'age', 2 of 'city' are missing.",
        "--impute: medians of the training rows for numbers, a category 'missing' for text",
        "--drop",
    ):
        assert words in err


def test_many_columns_are_not_all_named(value, people):
    for i in range(8):
        people[f"x{i}"] = np.where(people.index == 2, np.nan, 1.0)
    err = value(people)[2]
    assert "1 of 'x4', some of 3 other columns" in err
    assert "'x5'" not in err


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
                    pd.testing.assert_series_equal(
                        told, gaps[feature].isna().loc[table.index], check_names=False
                    )


def test_value_and_experiments_impute(run, value, gaps, tmp_path):
    code, _shown, err = value(gaps, "--impute")
    assert (code, err) == (0, "")
    train = tmp_path / "train.csv"
    for kind in ("noise", "removal"):
        options = ("--target", "outcome", "--permutations", 2, "--runs", 1, "--value", "ordinal")
        assert run("experiment", kind, train, *options)[0] == 2
        code, _, err = run("experiment", kind, train, *options, "--impute")
        assert (code, err) == (0, "")


def test_a_report_shows_what_was_read(value, gaps, tmp_path):
    pytest.importorskip("jinja2")
    page = tmp_path / "page.html"
    code, _, err = value(gaps, "--impute", "--report", page)
    assert (code, err) == (0, "")
    assert "city" in page.read_text(encoding="utf-8")


def test_a_report_has_the_warnings_and_what_was_left_out(value, gaps, tmp_path):
    pytest.importorskip("jinja2")
    gaps.insert(0, "name", [f"person {i}" for i in range(N)])
    gaps["number"] = range(N)
    html = tmp_path / "report.html"
    code, shown, err = value(gaps, "--impute", "--drop", "name", "--report", html)
    assert code == 0
    page = Page(html.read_text(encoding="utf-8"))
    warned = err.strip().split("\n")
    assert any("'number' looks like a row ID" in line for line in warned)
    for line in warned:
        assert line.removeprefix("warning: ") in page.texts["warnings"]
    # Who a row is stands there, though nothing is learned from it.
    assert "name" in [column["title"] for column in page.data["columns"]]
    assert any("person 29" in row for row in page.tables["rows"])
    assert page.facts["Columns left out"] == "name"
    assert page.facts["Missing values"].startswith("filled in: numbers with the median")
    kept = "9, kept out of training to score it: they get no value, and their labels are taken for right"
    assert page.facts["Validation rows"] == f"{kept}; so few that each is 11 % of them"
    assert kept in " ".join(shown.split())


def test_a_report_without_a_warning_has_no_box(value, people, tmp_path):
    pytest.importorskip("jinja2")
    html, valid = tmp_path / "report.html", tmp_path / "later.csv"
    later(people).to_csv(valid, index=False)
    code, _, err = value(people, "--valid", valid, "--value", "classic", "--report", html)
    assert (code, err) == (0, "")
    assert "warnings" not in Page(html.read_text(encoding="utf-8")).texts
    value(people.iloc[:29], "--valid", valid, "--report", html)
    told = Page(html.read_text(encoding="utf-8")).texts["warnings"]
    assert "poor at finding label errors" in told
    assert "validation rows" not in told
    later(people).iloc[:29].to_csv(valid, index=False)
    value(people, "--valid", valid, "--report", html)
    assert (
        "only 29 validation rows: each is 3.4 % of"
        in Page(html.read_text(encoding="utf-8")).texts["warnings"]
    )


def test_rows_of_a_file_that_validate_are_named_by_it(value, people, tmp_path):
    people.to_csv(tmp_path / "later.csv", index=False)
    shown = " ".join(value(people, "--valid", tmp_path / "later.csv")[1].split())
    assert "validation 30 of later.csv score" in shown


def test_other_files_are_filled_in_too(value, people, gaps, tmp_path):
    valid = tmp_path / "valid.csv"
    gaps.iloc[:12].to_csv(valid, index=False)
    complete = later(gaps.dropna())
    code, _, err = value(complete, "--valid", valid)
    assert code == 2
    assert "row 3 (line 5 of valid.csv), column 'age': missing value; in 12 rows" in err
    assert value(complete, "--valid", valid, "--impute")[::2] == (0, "")


def test_a_column_without_values(value, people):
    people["empty"] = np.nan
    code, _, err = value(people, "--impute")
    assert code == 2
    assert "column 'empty' has no value in the training rows" in err
    assert "--drop empty" in err
    assert value(people, "--drop", "empty")[0] == 0


def test_classes_are_never_filled_in(value, people):
    people.loc[5, "outcome"] = None
    code, _, err = value(people, "--impute")
    assert code == 2
    assert "row 5 (line 7 of train.csv), column 'outcome': missing class" in err
    assert "in 1 row of 30; leave them out: classes are never filled in" in err


def test_imputing_what_is_complete_changes_no_value(value, people, tmp_path):
    outs = [tmp_path / f"{i}.csv" for i in range(2)]
    assert value(people, "--out", outs[0])[0] == 0
    assert value(people, "--out", outs[1], "--impute")[0] == 0
    assert outs[0].read_bytes() == outs[1].read_bytes()


# --- columns that are no features


def warned(name: str, *, start: str) -> str:
    return f"warning: column '{name}' {start}"


ROW_ID = "looks like a row ID, and is used as a feature; leave it out with --drop"
TEXTS = (
    "holds text that differs in every row, like a name or an identifier, and is used as a feature; leave it"
)
DATES = "dates as text, which become as many columns: turn it into numbers, or leave it out with --drop"
COMMAS = "numbers with commas as text, which become as many columns: give --decimal , if they are decimals"
SHUFFLED = np.random.default_rng(1).permutation(N)


@pytest.mark.parametrize(
    ("name", "column", "words"),
    [
        ("count", np.arange(N) + 7, ROW_ID),
        ("count", np.arange(N)[::-1], ROW_ID),
        ("count", SHUFFLED + 1000, ROW_ID),
        ("ID", SHUFFLED * 17, ROW_ID),
        ("patient_id", SHUFFLED * 17, ROW_ID),
        ("customerId", SHUFFLED * 17, ROW_ID),
        ("row", SHUFFLED * 17, ROW_ID),
        ("key", [f"k{i * i}" for i in range(N)], TEXTS),
        ("who", [f"person {i}" for i in range(N)], TEXTS),
        ("seen", pd.date_range("2020-01-30", periods=N).strftime("%Y-%m-%d"), f"holds {N} {DATES}"),
        ("seen", pd.date_range("2020-01-30", periods=N).strftime("%d.%m.%Y"), f"holds {N} {DATES}"),
        ("seen", pd.date_range("2020-01-30", periods=N).strftime("%m/%d/%y"), f"holds {N} {DATES}"),
        ("seen", pd.date_range("2020-01-30", periods=N).strftime("%d %b %Y"), f"holds {N} {DATES}"),
        ("seen", pd.date_range("2020-01-30", periods=N).strftime("%B %d, %Y"), f"holds {N} {DATES}"),
        (
            "seen",
            pd.date_range("2020-01-30", periods=N, freq="7h").strftime("%Y-%m-%dT%H:%M:%SZ"),
            f"holds {N} {DATES}",
        ),
        ("seen", [f"2020-01-{1 + i % 10:02d}" for i in range(N)], f"holds 10 {DATES}"),
        ("pay", [f"{i},{i % 7}5" for i in range(N)], f"holds {N} {COMMAS}"),
        ("pay", [f"{i},500" if i % 2 else "7" for i in range(N)], f"holds {N // 2 + 1} {COMMAS}"),
        ("pay", [f"1.{i:03d},25" for i in range(N)], f"holds {N} {COMMAS}"),
        (
            "dose",
            [f"{i // 1.2:.0f} mg" for i in range(N)],
            f"different texts in {N} rows, which become as many",
        ),
        ("a b", np.arange(N), f"{ROW_ID} 'a b', or name the rows by it: --id 'a b'\n"),
        (
            "zip",
            [f"Z{i % 21}" for i in range(N)],
            f"holds 21 different texts in {N} rows, which become as many",
        ),
    ],
)
def test_each_is_warned_of_in_one_line(value, people, name, column, words):
    code, _, err = value(people.assign(**{name: column}))
    assert code == 0
    assert err.startswith(f"warning: column '{name}' ")
    assert err.count("\n") == 1
    assert words in err
    assert "--drop" in err
    assert value(people.assign(**{name: column}), "--drop", name)[::2] == (0, "")


def test_a_row_id_with_a_gap_is_one_too(value, people):
    column = np.where(np.arange(N) == 4, np.nan, SHUFFLED * 17)
    code, _, err = value(people.assign(patient_id=column), "--impute")
    assert code == 0
    assert f"'patient_id' {ROW_ID} patient_id\n" in err  # rows can't be called by it
    assert value(people.assign(share=column / 4), "--impute")[::2] == (0, "")
    column[7] = np.inf
    assert "column 'patient_id': " in value(people.assign(patient_id=column), "--impute")[2]


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("x", np.random.default_rng(0).normal(size=N)),
        ("x", np.arange(N) + 0.5),
        ("id", np.random.default_rng(0).normal(size=N)),
        ("id", np.arange(N) // 2),
        ("income", SHUFFLED * 17),
        ("grid", SHUFFLED * 17),
        ("paid", SHUFFLED * 17),
        ("wave", ["2020-01-01", "2021-01-01"] * (N // 2)),
        ("code", [f"c{i % 12}" for i in range(N)]),
        ("size", [f"{i % 3},5" for i in range(N)]),
        ("version", [f"1.{i % 8}.0" for i in range(N)]),
    ],
)
def test_features_are_not_warned_of(value, people, name, column):
    assert value(people.assign(**{name: column}))[::2] == (0, "")


def test_an_error_for_missing_entries_names_what_is_no_feature_either(value, gaps):
    _, _, err = value(gaps.assign(name=[f"person {i}" for i in range(N)], number=range(N)))
    ways = "dropped, turned into numbers or made the names of the rows (--id)"
    assert err.endswith(f" Hardly features, and better {ways}: 'name', 'number'.\n")
    assert err.count("\n") == 1
    dates = gaps.assign(seen=pd.date_range("2020-01-30", periods=N).strftime("%Y-%m-%d"))
    assert " Hardly a feature, and better dropped or turned into numbers: 'seen'." in value(dates)[2]
    assert "Hardly" not in value(gaps)[2]


def test_the_other_file_is_not_looked_through_for_them(value, people, gaps, tmp_path):
    few = gaps.assign(city=[f"c{i}" for i in range(N)])
    few.to_csv(tmp_path / "valid.csv", index=False)
    complete = later(people.dropna())
    code, _, err = value(complete, "--valid", tmp_path / "valid.csv")
    assert (code, "missing value" in err, "Hardly" in err) == (2, True, False)


def test_experiments_warn_once_for_all_runs(run, people, tmp_path):
    path = tmp_path / "train.csv"
    people.assign(who=[f"person {i}" for i in range(N)]).to_csv(path, index=False)
    options = ("--target", "outcome", "--permutations", 2, "--runs", size(3, 2), "--value", "ordinal")
    code, _, err = run("experiment", "noise", path, *options)
    assert code == 0
    assert err.count("\n") == 1
    assert "column 'who' holds text that differs in every row" in err


# --- columns left out


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


# --- the column that names the rows


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
    document = json.loads(value(named, "--id", "who", "--json")[1])
    assert [row["row"] for row in document["rows"]] == called["row"].tolist()
    assert document["settings"]["id"] == "who"


def test_a_column_that_names_rows_is_no_feature(run, people, tmp_path):
    train, valid = tmp_path / "train.csv", tmp_path / "valid.csv"
    people.assign(who=range(N)).to_csv(train, index=False)
    later(people).to_csv(valid, index=False)  # need not have it
    read = [DataOptions(train, "outcome", raw=True, id="who", valid=file).read(0) for file in (None, valid)]
    for got in read:
        assert "who" not in [*got.X, *got.frame]
        assert got.X.index.equals(got.frame.index)
    assert read[1].X.index.tolist() == [str(i) for i in range(N)]
    options = ("--target", "outcome", "--permutations", 2, "--runs", 1, "--value", "ordinal")
    assert run("experiment", "noise", train, *options, "--id", "who")[::2] == (0, "")


@pytest.mark.parametrize(
    ("names", "more", "words"),
    [
        (["x"] * N, "who", "--id: row 1 (line 3 of train.csv), column 'who': 'x' occurs already; each"),
        (
            ["x", " "] * (N // 2),
            "who",
            "--id: row 1 (line 3 of train.csv), column 'who': missing value",
        ),
        (
            ["x", None] * (N // 2),
            "who",
            "--id: row 1 (line 3 of train.csv), column 'who': missing value",
        ),
        (range(N), "whom", "--id: train.csv has no column 'whom'; did you mean 'who'?"),
        (range(N), "outcome", "--id: 'outcome' is the column of --target"),
    ],
)
def test_columns_that_cannot_name_rows(value, people, names, more, words):
    code, shown, err = value(people.assign(who=names), "--id", more)
    assert (code, shown) == (2, "")
    assert err.startswith(f"error: {words}")


def test_na_is_a_name(value, people, tmp_path):
    named = people.assign(who=[f"c{i}" for i in range(N)])
    named.loc[:2, "who"] = ["NA", "None", "nan"]
    valid, out = tmp_path / "valid.csv", tmp_path / "out.csv"
    later(people).to_csv(valid, index=False)
    assert value(named, "--id", "who", "--valid", valid, "--out", out)[::2] == (0, "")
    assert pd.read_csv(out, keep_default_na=False)["row"].tolist()[:3] == ["NA", "None", "nan"]


@pytest.mark.parametrize("header", ["", "Unnamed: 0"])
def test_an_index_without_a_name_can_name_rows(run, people, tmp_path, header):
    train, out = tmp_path / "train.csv", tmp_path / "out.csv"
    people.set_axis(range(100, 100 + N)).rename_axis(header).to_csv(train)
    options = ("value", train, "--target", "outcome", "--permutations", 2)
    code, _, err = run(*options)
    assert (code, err.count("\n")) == (0, 1)
    assert run(*options, "--id", "Unnamed: 0", "--out", out)[::2] == (0, "")
    assert pd.read_csv(out)["row"].between(100, 100 + N).all()
    assert run(*options, "--drop", "Unnamed: 0")[0] == 0


# --- rows that train and score


def test_copies_on_both_sides_are_warned_of(value, people, tmp_path):
    valid = tmp_path / "valid.csv"
    mixed = pd.concat([people.iloc[:10], later(people).iloc[10:]])
    mixed.to_csv(valid, index=False)
    _, _, err = value(people, "--valid", valid)
    assert err.startswith(f"warning: 10 of the {N} validation rows are copies of training rows")
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
    DataOptions(dataset=dataset).read(0)  # warnings are errors here


# --- labels that hardly are classes of their own


def test_labels_that_differ_in_blanks_or_case_only_are_told_of(value, people):
    people.loc[[0, 1, 2, 3, 4], "outcome"] = " Old"
    people.loc[[5, 6, 7, 8, 9], "outcome"] = "old "
    code, _, err = value(people)
    assert code == 0
    assert err == (
        "warning: labels ' Old', 'old', 'old ' of column 'outcome' differ in spaces or case only, and count "
        "as classes of their own; write them alike if they are one\n"
    )


def test_a_lone_label_that_differs_in_case_only(value, people):
    people.loc[0, "outcome"] = "YOUNG"
    code, _, err = value(people)
    assert code == 2
    assert "class 'YOUNG' has a single row" in err
    assert err.endswith("; 'YOUNG' and 'young' differ in spaces or case only\n")


def test_alike_is_what_differs_in_blanks_or_case_only():
    assert find_alike(["yes", "no", "yes"]) == []
    assert find_alike(["new york", "New  York", "newyork", "x"]) == [["New  York", "new york"]]
    assert find_alike(["Straße", "STRASSE", "a", "A "]) == [["A ", "a"], ["STRASSE", "Straße"]]


# --- other marks between columns, and in numbers


@pytest.mark.parametrize(
    ("sep", "mark", "decimal"), [(";", ";", ","), ("tab", "\t", "."), ("|", "|", ","), (",", ",", ",")]
)
def test_files_with_other_marks_give_the_same(tmp_path, people, sep, mark, decimal):
    people["weight"] = people["weight"].round(3)
    people["city"] = people["city"].replace({"Graz": "Graz; Ost, am\tFluss|1"})
    expected = problem(tmp_path, people)
    people.to_csv(tmp_path / "other.csv", sep=mark, decimal=decimal, index=False)
    options = DataOptions(tmp_path / "other.csv", "outcome", raw=True, sep=sep, decimal=decimal)
    got = options.read(0)
    pd.testing.assert_frame_equal(got.X, expected.X)
    pd.testing.assert_frame_equal(got.X_valid, expected.X_valid)
    assert got.y.tolist() == expected.y.tolist()
    # The validation file is read the same way.
    with pytest.warns(UserWarning, match=f"{N} of the {N} validation rows are copies"):
        both = DataOptions(
            tmp_path / "other.csv",
            "outcome",
            valid=tmp_path / "other.csv",
            sep=sep,
            decimal=decimal,
            raw=True,
        ).read(0)
    pd.testing.assert_frame_equal(both.X, both.X_valid)


def test_errors_name_lines_with_other_marks_too(run, tmp_path):
    path = tmp_path / "train.csv"
    path.write_text('x;y;t\n1,5;"a\nb";no\n;c;yes\n')
    code, _, err = run("value", path, "--target", "t", "--sep", ";", "--decimal", ",")
    assert code == 2
    assert err.startswith("error: row 1 (line 4 of train.csv), column 'x': missing value")
    path.write_text("x;t\n1,5;a\n2,5;b;c\n")
    code, _, err = run("value", path, "--target", "t", "--sep", ";")
    assert (code, "put text that holds semicolons between double quotes" in err) == (2, True)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--sep", ":"), "--sep is ':', expected one of ',', ';', '|', 'tab'"),
        (("--decimal", ";"), "--decimal is ';', expected one of '.', ','"),
        (("--sep", ";"), "train.csv has commas between its columns: give --sep ,\n"),
    ],
)
def test_marks_that_are_none(value, people, more, words):
    code, shown, err = value(people, *more)
    assert (code, shown) == (2, "")
    assert words in err


def test_marks_are_for_files(run):
    code, _, err = run("value", "--dataset", "wine", "--sep", ";")
    assert (code, err) == (2, "error: --sep and --decimal go with a TRAIN.csv, not with --dataset\n")


def test_decimal_commas_in_text_are_told_of(value, people):
    people["weight"] = [f"{number:.3f}".replace(".", ",") for number in people["weight"]]
    code, _, err = value(people)
    assert code == 0
    assert "numbers with commas as text" in err
    assert "give --decimal , if they are decimals, write them as in 1234.5, or leave it out" in err
    assert value(people, "--decimal", ",")[0::2] == (0, "")
