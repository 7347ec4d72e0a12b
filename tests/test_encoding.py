"""Tables into arrays, and tables that can't be."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import ordinal_shapley as osv
from ordinal_shapley.tables.encoding import Encoder


@pytest.fixture
def train() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "colour": ["red", "blue", "red", "green"],
            "size": [1.0, 2.0, 3.0, 6.0],
            "old": [True, False, True, True],
            "count": [1, 1, 2, 4],
        },
        index=[10, 11, 12, 13],
    )


def test_numbers_first_then_categories_in_column_order(train):
    encoder = Encoder().fit(train)
    colours = ["colour=blue", "colour=green", "colour=red"]
    assert encoder.feature_names_out() == ["size", "count", *colours, "old=False", "old=True"]
    encoded = encoder.transform(train)
    assert encoded.dtype == np.float64
    assert encoded.flags.c_contiguous
    assert encoded.flags.writeable
    np.testing.assert_allclose(encoded[:, :2].mean(axis=0), 0.0, atol=1e-15)
    np.testing.assert_allclose(encoded[:, :2].std(axis=0), 1.0)
    np.testing.assert_array_equal(encoded[0, 2:], [0, 0, 1, 0, 1])


def test_unknown_category_is_zeros(train):
    encoder = Encoder().fit(train)
    encoded = encoder.transform(train.head(1).assign(colour="violet"))
    np.testing.assert_array_equal(encoded[0, 2:5], 0.0)


@pytest.mark.parametrize("constant", [0.0, 0.1, 7.3e8, -3.0])
def test_constant_column_becomes_zeros(constant):
    frame = pd.DataFrame({"same": np.full(7, constant), "x": np.arange(7.0)})
    encoded = Encoder().fit_transform(frame)[:, 0]
    np.testing.assert_allclose(encoded, 0.0, atol=1e-15 * max(1.0, abs(constant)))


@pytest.mark.parametrize("size", [5e-324, 1e-300, 1e-200, 1e200, 1e307])
def test_tiny_and_huge_numbers_are_standardised(size):
    numbers = np.array([1.0, 4.0, 9.0, 10.0])
    encoded = Encoder().fit_transform(pd.DataFrame({"x": size * numbers}))
    np.testing.assert_allclose(encoded[:, 0], (numbers - 6) / numbers.std(), rtol=1e-12)


def test_scales_change_no_bit(train):
    from sklearn.preprocessing import StandardScaler

    # Column by column, as the encoder has it: sums may depend on how numbers lie in memory.
    frame = pd.DataFrame(dict(enumerate(np.random.default_rng(0).lognormal(0, 5, (4, 50)))))
    np.testing.assert_array_equal(Encoder().fit_transform(frame), StandardScaler().fit_transform(frame))
    assert Encoder(raw=True).fit_transform(frame).tolist() == frame.to_numpy().tolist()


@pytest.mark.parametrize("train", [[1e-200, 2e-200], [1.0, 1.0 + 1e-12]])
def test_numbers_far_beyond_those_of_training(train):
    encoder = Encoder().fit(pd.DataFrame({"x": train}))
    with pytest.raises(ValueError, match="'x'"):
        encoder.transform(pd.DataFrame({"x": [1e300]}))


@pytest.mark.parametrize("dtype", ["category", "object", "string"])
def test_text_of_any_dtype_is_categorical(train, dtype):
    plain = Encoder().fit_transform(train)
    np.testing.assert_array_equal(Encoder().fit_transform(train.astype({"colour": dtype})), plain)


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "object", "float32", "int8"])
def test_numbers_of_any_dtype_are_numeric(train, dtype):
    frame = train.astype({"count": dtype})
    np.testing.assert_allclose(Encoder().fit_transform(frame), Encoder().fit_transform(train), atol=1e-12)


@pytest.mark.parametrize(
    ("column", "entry"),
    [
        ("size", np.nan),
        ("size", np.inf),
        ("size", -np.inf),
        pytest.param("size", -(10**400), id="beyond floats"),
        ("colour", None),
        ("colour", np.nan),
    ],
)
def test_missing_and_infinite_entries_are_named(train, column, entry):
    encoder = Encoder().fit(train)
    if isinstance(entry, int):
        train[column] = train[column].astype(object)
    train.loc[12, column] = entry
    for attempt in (Encoder().fit, encoder.transform):
        with pytest.raises(ValueError, match=f"row 12, column '{column}'"):
            attempt(train)


def test_different_columns_are_named(train):
    encoder = Encoder().fit(train)
    for table, named in (
        (train[["colour", "size"]], "'old', 'count'"),
        (train.assign(weight=1.0), "'weight'"),
        (train.rename(columns={"size": "Size"}), "'Size'"),
    ):
        with pytest.raises(ValueError, match=named):
            encoder.transform(table)


def test_text_where_training_had_numbers_is_named(train):
    encoder = Encoder().fit(train)
    bad = train.astype({"size": object})
    bad.loc[11, "size"] = "large"
    with pytest.raises(ValueError, match="row 11, column 'size'"):
        encoder.transform(bad)


def test_numbers_where_training_had_text_are_categories():
    encoder = Encoder().fit(pd.DataFrame({"code": ["1", "2", "x"]}))
    np.testing.assert_array_equal(encoder.transform(pd.DataFrame({"code": [2, 1]})), [[0, 1, 0], [1, 0, 0]])


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pd.DataFrame({"x": []}), "rows"),
        (pd.DataFrame(index=[0, 1]), "columns"),
        (pd.DataFrame([[1.0, 2.0]], columns=["x", "x"]), "'x'"),
        (pd.DataFrame({"t": pd.to_datetime(["2020-01-01"])}), "'t'"),
        (pd.DataFrame({"z": [1j]}), "'z'"),
        (pd.DataFrame({"x": ["1", "2"], "x=1": [3.0, 4.0]}), "'x=1'"),
        (pd.DataFrame({"a": ["b=c"], "a=b": ["c"]}), "'a=b=c'"),
        (pd.DataFrame({"x": ["1", "2", "3", "4", "5", "?", "6"]}), "row 5, column 'x': '\\?'"),
        (pd.DataFrame({"x": [1, 2, 3, 4, 5, "6 kg", 7]}), "row 5, column 'x': '6 kg'"),
    ],
)
def test_tables_that_cannot_be_features(frame, words):
    with pytest.raises(ValueError, match=words):
        Encoder().fit_transform(frame)


def test_a_column_of_nearly_unique_texts_is_warned_of():
    frame = pd.DataFrame({"dose": [*(f"{i} of many" for i in range(1, 31)), "1 of many"]})
    with pytest.warns(UserWarning, match="'dose'"):
        Encoder().fit(frame)


@pytest.mark.parametrize("written", ["{} mg", "{}%", "$ {}", "1,{}"])
def test_numbers_in_other_notations_are_warned_of(written):
    frame = pd.DataFrame({"dose": [written.format(i % 7) for i in range(60)]})
    with pytest.warns(UserWarning, match="'dose' holds 7 numbers"):
        Encoder().fit(frame)


@pytest.fixture
def gaps() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "colour": ["red", None, "red", "blue", np.nan],
            "size": [1.0, np.nan, 3.0, 6.0, np.nan],
            "count": [1, 1, 2, 4, 9],
            "old": [True, None, False, True, True],
        }
    )


NAMES = ["size", "count", "size=missing", "colour=blue", "colour=missing", "colour=red"]
NAMES += ["old=False", "old=True", "old=missing"]


def test_missing_entries_are_filled_in(gaps):
    encoder = Encoder(raw=True, impute=True).fit(gaps)
    assert encoder.feature_names_out() == NAMES
    encoded = pd.DataFrame(encoder.transform(gaps), columns=NAMES)
    assert encoded["size"].tolist() == [1, 3, 3, 6, 3]
    assert encoded["size=missing"].tolist() == [0, 1, 0, 0, 1]
    assert encoded["colour=missing"].tolist() == [0, 1, 0, 0, 1]
    assert encoded["old=missing"].tolist() == [0, 1, 0, 0, 0]
    assert encoded[["colour=blue", "colour=missing", "colour=red"]].to_numpy().sum() == 5


def test_filling_in_is_that_of_scikit_learn(gaps):
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(0)
    train = pd.DataFrame(rng.lognormal(0, 3, (51, 3)), columns=list("abc"))
    train = train.mask(rng.random(train.shape) < [0.3, 0.1, 0.0])
    valid = pd.DataFrame(rng.normal(size=(20, 3)), columns=list("abc")).mask(rng.random((20, 3)) < 0.3)
    encoder = Encoder(impute=True).fit(train)
    imputer = SimpleImputer(strategy="median", add_indicator=True).fit(train)
    scaler = StandardScaler().fit(imputer.transform(train)[:, :3])
    for table in (train, valid):
        filled = imputer.transform(table)
        expected = np.hstack([scaler.transform(filled[:, :3]), filled[:, 3:]])
        np.testing.assert_allclose(encoder.transform(table), expected, rtol=1e-12, atol=1e-12)
    assert encoder.feature_names_out() == ["a", "b", "c", "a=missing", "b=missing"]


def test_without_gaps_imputing_changes_nothing(train):
    np.testing.assert_array_equal(Encoder(impute=True).fit_transform(train), Encoder().fit_transform(train))


@pytest.mark.parametrize(
    ("frame", "named"),
    [
        ({"x": [np.nan, np.nan], "z": [1, 2]}, "column 'x'"),
        ({"x": [None, None], "z": [1, 2]}, "column 'x'"),
        ({"x": [np.nan, 1.0], "x=missing": [1, 2]}, "'x=missing'"),
        ({"x": [np.nan, np.inf, 1.0]}, "row 1, column 'x'"),
    ],
)
def test_what_cannot_be_filled_in(frame, named):
    with pytest.raises(ValueError, match=named):
        Encoder(impute=True).fit(pd.DataFrame(frame))


# --- the same for users


@pytest.mark.parametrize("raw", [False, True])
def test_a_pipeline_of_users_prepares_columns_alike(gaps, raw):
    columns = osv.column_pipeline(gaps, raw=raw, impute=True)
    encoder = Encoder(raw=raw, impute=True).fit(gaps)
    for made in (columns, clone(columns), pickle.loads(pickle.dumps(columns))):
        np.testing.assert_allclose(made.fit(gaps).transform(gaps), encoder.transform(gaps), atol=1e-12)
        assert made.get_feature_names_out().tolist() == NAMES
        other = gaps.assign(colour="violet", old=False)[["old", "count", "size", "colour"]]
        np.testing.assert_allclose(made.transform(other), encoder.transform(other), atol=1e-12)


def test_a_pipeline_leaves_the_table_as_it_is(train):
    before = train.copy()
    osv.column_pipeline(train).fit_transform(train)
    pd.testing.assert_frame_equal(train, before)
