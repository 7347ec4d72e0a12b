"""Frames and columns as users have them: types that may be missing, Arrow's, and indices in another order."""

from __future__ import annotations

import decimal
import pickle
import warnings
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import ordinal_shapley as osv
from ordinal_shapley.experiments import combined_rank, self_confidence

N = 24


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({"a": rng.normal(size=N), "b": rng.integers(0, 5, N), "c": rng.random(N) > 0.5})


@pytest.fixture
def y(frame) -> pd.Series:
    return frame["a"] + np.random.default_rng(1).normal(0, 0.3, N) > 0


def utility(X, y, kind=osv.LogisticGame, **options):
    game = kind(X, y, X, y, **options)
    return game(range(game.n_players))


@pytest.mark.parametrize("backend", ["numpy_nullable", "pyarrow", "objects", "decimals"])
def test_columns_of_numbers_of_any_type(frame, y, backend):
    if backend == "pyarrow":
        pytest.importorskip("pyarrow")
    if backend == "objects":
        other = frame.astype(object)
    elif backend == "decimals":
        other = frame.assign(a=[decimal.Decimal(repr(number)) for number in frame["a"]])
    else:
        other = frame.convert_dtypes(dtype_backend=backend)
    assert utility(other, y) == utility(frame, y)
    other.loc[3, "b"] = None
    with pytest.raises(ValueError, match=r"X .*row 3, column 'b'"):
        utility(other, y)


@pytest.mark.parametrize("kind", ["boolean", "Int64", "string", "category", "bool[pyarrow]"])
def test_classes_of_any_type(frame, y, kind):
    if "pyarrow" in kind:
        pytest.importorskip("pyarrow")
    classes = y.map({True: "yes", False: "no"}) if kind in ("string", "category") else y
    other = (classes.astype(int) if kind == "Int64" else classes).astype(kind)
    assert utility(frame, other) == utility(frame, y.to_numpy())
    model = osv.OrdinalShapley(cv=None, n_permutations=2, evidence=False, random_state=0)
    values = model.fit(frame, other).values_
    np.testing.assert_array_equal(values, model.fit(frame, y.to_numpy()).values_)
    other.iloc[4] = None
    with pytest.raises(ValueError, match=r"y .*row 4"):
        utility(frame, other)


GAMES = [
    (osv.LogisticGame, {}),
    (osv.NearestNeighborGame, {}),
    (osv.NearestNeighborRegressorGame, {}),
    (osv.RidgeGame, {}),
    (osv.RidgeClassifierGame, {}),
    (osv.EstimatorGame, {"estimator": DecisionTreeClassifier(max_depth=1)}),
]
OF_NUMBERS = (osv.RidgeGame, osv.NearestNeighborRegressorGame)


@pytest.mark.parametrize(("kind", "options"), GAMES)
def test_an_index_in_another_order_is_told_of(frame, y, kind, options):
    y = y.astype(float) if kind in OF_NUMBERS else y
    rows = {"X": frame, "y": y, "X_valid": frame, "y_valid": y, **options}
    for name, of in (("y", "X"), ("y_valid", "X_valid"), ("groups", "X"), ("sample_weight", "X")):
        mixed = pd.Series(np.arange(1.0, N + 1), index=frame.index[::-1]) if name not in rows else y[::-1]
        with pytest.warns(UserWarning, match=f"{name}.*{of}"):
            kind(**rows | {name: mixed})


@pytest.mark.parametrize(("kind", "options"), GAMES)
def test_an_index_with_nothing_in_common_is_told_of(frame, y, kind, options):
    y = y.astype(float) if kind in OF_NUMBERS else y
    patients = frame.set_axis([f"p{i}" for i in range(N)])
    rows = {"X": patients, "y": y.to_numpy(), "X_valid": patients, "y_valid": y.to_numpy(), **options}
    for other in (y.set_axis([f"q{i}" for i in range(N)]), y.set_axis(range(1, N + 1))):
        with pytest.warns(UserWarning, match=r"y\b.*\bX"):
            kind(**rows | {"y": other})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kind(**rows | {"y": y})  # counted from 0, as after reset_index


def test_indices_that_say_nothing_are_not_told_of(frame, y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for other in (
            y,
            y.to_numpy()[::-1],
            y[::-1].reset_index(drop=True),
            y.set_axis(range(100, 100 + N)),
            y.set_axis([0] * N),
        ):
            utility(frame, other)
        utility(frame.to_numpy(), y[::-1])
        utility(frame.set_axis([0] * N), y[::-1])


def test_strata_are_matched_by_index(frame, y):
    named = frame.set_axis([f"p{i}" for i in range(N)])
    owners = np.repeat(np.arange(N // 4), 4)
    strata = pd.Series(y.to_numpy(), index=named.index)
    of_owners = pd.Series([0, 1, 0, 1, 0, 1], index=[f"o{i}" for i in range(N // 4)])

    def values(given, cv=None, **rows):
        sampler = osv.PermutationSampler(class_fraction=0.5, strata=given)
        model = osv.ClassicShapley(cv=cv, n_permutations=30, sampler=sampler, random_state=0, evidence=False)
        return model.fit(named, y.to_numpy(), **rows).values_

    for cv in (None, 3):
        expected = values(strata.to_numpy(), cv)
        assert (expected != values(strata.to_numpy()[::-1], cv)).any()
        for given in (strata, strata[::-1], strata.reset_index(drop=True)):
            np.testing.assert_array_equal(values(given, cv), expected)
        with pytest.raises(ValueError, match=r"strata .*to_numpy"):
            values(strata.set_axis([f"q{i}" for i in range(N)]), cv)
        owned = {"groups": [f"o{i}" for i in owners]}
        expected = values(of_owners.to_numpy(), cv, **owned)
        np.testing.assert_array_equal(values(of_owners[::-1], cv, **owned), expected)


def test_strata_are_matched_by_the_names_of_players():
    game = osv.TableGame(4, {(0, 1): 1.0, (2,): 2.0, (1, 3): 3.0}, names=["a", "b", "c", "d"])
    strata = pd.Series([0, 0, 1, 1], index=["a", "b", "c", "d"])

    def sampled(given):
        sampler = osv.PermutationSampler(class_fraction=0.5, strata=given)
        return osv.sample_values(game, method=sampler, n_permutations=50, random_state=0)

    expected = sampled([0, 0, 1, 1])
    assert (sampled([0, 1, 1, 0]).values != expected.values).any()
    for given in (strata, strata[["d", "b", "a", "c"]]):
        np.testing.assert_array_equal(sampled(given).values, expected.values)
        assert sampled(given).sampler == expected.sampler
    other_order = strata.set_axis([3, 1, 0, 2])  # numbers that no player has for a name
    with pytest.raises(ValueError, match="strata"):
        sampled(other_order)


# --- frames of other libraries, which have no index


def as_polars(frame):
    return pytest.importorskip("polars").DataFrame({name: frame[name].to_numpy() for name in frame})


def as_arrow(frame):
    return pytest.importorskip("pyarrow").Table.from_pandas(frame, preserve_index=False)


LIBRARIES = pytest.mark.parametrize("library", [as_polars, as_arrow])


@LIBRARIES
@pytest.mark.parametrize(("kind", "options"), GAMES)
def test_rows_of_other_libraries(frame, y, kind, options, library):
    y = y.astype(float) if kind in OF_NUMBERS else y
    other = library(frame)
    game = kind(X=other, y=y.to_numpy(), X_valid=other, y_valid=y.to_numpy(), **options)
    assert game(range(N)) == kind(X=frame, y=y, X_valid=frame, y_valid=y, **options)(range(N))
    assert game.player_names is None
    for wrong in (library(frame[["b", "a", "c"]]), library(frame.rename(columns={"a": "z"}))):
        with pytest.raises(ValueError, match="X_valid"):
            kind(X=other, y=y.to_numpy(), X_valid=wrong, y_valid=y.to_numpy(), **options)


@LIBRARIES
def test_dates_and_gaps_of_other_libraries(frame, y, library):
    dated = library(frame.assign(d=pd.date_range("2020-01-01", periods=N)))
    with pytest.raises(TypeError, match="column 'd'"):
        utility(dated, y.to_numpy())
    with pytest.raises(ValueError, match=r"X .*missing.*row 3.*column 'b'"):
        utility(library(frame.assign(b=frame["b"].astype(float).where(frame.index != 3))), y.to_numpy())


@LIBRARIES
def test_models_get_rows_with_their_names(frame, y, library):
    frame = frame.assign(k=["u", "v"] * (N // 2))
    columns = make_column_transformer((StandardScaler(), ["a", "b"]), (OneHotEncoder(), ["k"]))
    model = make_pipeline(columns, DecisionTreeClassifier(max_depth=2, random_state=0))
    for kind in (osv.EstimatorGame, osv.game_for):
        (ours, theirs) = (
            kind(model, rows, y.to_numpy(), rows, y.to_numpy())(range(N)) for rows in (library(frame), frame)
        )
        assert ours == theirs
    evidence = self_confidence(
        library(frame[: N // 2]), y[: N // 2].to_numpy(), library(frame[N // 2 :]), y[N // 2 :].to_numpy(),
        estimator=model, cv=2, random_state=0,
    )  # fmt: skip
    assert len(evidence) == N // 2
    prepared = osv.column_pipeline(library(frame), impute=True)
    expected = osv.column_pipeline(frame, impute=True).fit_transform(frame)
    np.testing.assert_allclose(prepared.fit_transform(library(frame)), expected, atol=1e-12)


def test_estimators_take_frames_of_other_libraries(frame, y):
    model = osv.ClassicShapley(cv=None, n_permutations=2, evidence=False, random_state=0)
    values = model.fit(as_polars(frame), y.to_numpy()).values_
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(values, model.fit(frame, y).values_)


@LIBRARIES
def test_journeys_and_tables_in_frames_of_other_libraries(library):
    days = pd.to_datetime(["2026-01-02", "2026-01-01", "2026-01-03", "2026-01-01"])
    touches = {
        "journey": [1, 1, 2, 2],
        "channel": [*"abba"],
        "time": days,
        "converted": [True, False, False, False],
    }
    paths = pd.DataFrame({"path": ["a > b", "b"], "conversions": [3, 1], "non_conversions": [2, 4]})
    utilities = pd.DataFrame({"sequence": ["", "a", "b > a"], "value": [0.5, 1.0, 3.0]})
    for made, frame in (
        (osv.JourneyGame.from_events, pd.DataFrame(touches)),
        (osv.JourneyGame.from_frame, paths),
        (osv.TableGame.from_frame, utilities),
    ):
        found, expected = made(library(frame)), made(frame)
        assert [*found.player_names] == [*expected.player_names] == ["a", "b"]
        assert [found(some) for some in ([], [0], [1], [0, 1], [1, 0])] == [
            expected(some) for some in ([], [0], [1], [0, 1], [1, 0])
        ]
        with pytest.raises(ValueError, match="frame has no columns"):
            made(library(frame.rename(columns=str.upper)))
    with pytest.raises(ValueError, match=r"converted.* row 2"):
        osv.JourneyGame.from_events(library(pd.DataFrame(touches | {"converted": [True, False, None, True]})))
    with pytest.raises(TypeError, match=r"frame .*Polars"):
        osv.TableGame.from_frame([("a", 1.0)])


def test_a_lazy_frame_has_no_rows_yet(frame, y):
    lazy = as_polars(frame).lazy()
    with pytest.raises(TypeError, match=r"X .*collect"):
        utility(lazy, y)
    with pytest.raises(TypeError, match=r"X .*collect"):
        osv.OrdinalShapley().fit(lazy, y)
    with pytest.raises(TypeError, match=r"frame .*collect"):
        osv.JourneyGame.from_events(lazy)


def test_missing_values_of_pandas_among_objects(frame, y):
    holed = frame.astype(object)
    holed.loc[3, "b"] = pd.NA
    for rows in (holed, holed.to_numpy()):
        with pytest.raises(ValueError, match=r"X .*missing.*row 3"):
            utility(rows, y)
    with pytest.raises(ValueError, match=r"y .*missing.*row 3"):
        osv.RidgeGame(frame, holed["b"], frame, frame["a"])
    filled = osv.column_pipeline(holed, impute=True).fit(holed)
    assert filled.get_feature_names_out().tolist()[:3] == ["a", "b", "b=missing"]


@pytest.mark.parametrize(("names", "error"), [("aab", ValueError), (["a", 1, "b"], TypeError)])
def test_columns_without_names_of_their_own_are_refused_for_models(frame, y, names, error):
    frame, model = frame.set_axis([*names], axis=1), DecisionTreeClassifier()
    for run in (osv.EstimatorGame, osv.game_for):
        with pytest.raises(error, match="X has"):
            run(make_pipeline(StandardScaler(), model), frame, y, frame, y)
    with pytest.raises(error, match="X has"):
        self_confidence(frame, y, estimator=model)
    with pytest.raises(error, match="X has"):
        osv.remove_high_value(np.arange(N), frame, y, frame, y, estimator=model)


# --- results beside rows


def results(index):
    """A valuation of players with such an index, and exact values."""
    X = pd.DataFrame({"a": np.arange(4.0)}, index=index)
    game = osv.NearestNeighborGame(X, [0, 0, 1, 1], [[0.2], [2.8]], [0, 1], n_neighbors=1)
    return osv.sample_values(game, n_permutations=10, random_state=0), osv.exact_values(game)


@pytest.mark.parametrize(
    "index",
    [
        pd.Index([*"wxyz"], name="who"),
        pd.MultiIndex.from_product([[1, 2], ["a", "b"]], names=["site", "who"]),
        pd.MultiIndex.from_product([[1, 2], ["a", "b"]]),
    ],
)
def test_tables_have_the_index_of_the_rows(index, tmp_path):
    valuation, exact = results(index)
    valuation.save(tmp_path / "v.npz")
    found = [valuation, exact, pickle.loads(pickle.dumps(valuation))]
    found += [osv.Valuation.load(tmp_path / "v.npz"), osv.Valuation.merge([valuation])]
    found += [osv.corrupt_labels(pd.Series([0, 1, 0, 1], index=index), 0.5, random_state=0)]
    for result in found:
        pd.testing.assert_index_equal(result.to_frame().index, index)


NOISY = np.array([False, True, False, True])
VALUES = pd.Series([0.4, 0.1, 0.3, 0.2])


@pytest.mark.parametrize("index", [None, [*"wxyz"], [3, 1, 0, 2], [10, 12, 11, 13]])
def test_a_sorted_column_of_values_meets_its_rows(index):
    """Without an index rows count from 0."""
    values = VALUES if index is None else VALUES.set_axis(index)
    labels = values.to_frame("a").assign(y=[0, 0, 1, 1], noisy=NOISY)
    X, y, mask = labels[["a"]], labels["y"], labels["noisy"]
    if index is None:
        X, y, mask = X.to_numpy(), y.to_numpy(), mask.to_numpy()
    noise = osv.corrupt_labels(y, 0.5, random_state=0)
    confidence = np.linspace(0.1, 0.4, 4)
    evidence = confidence if index is None else pd.Series(confidence, values.index)
    for by_row in (
        lambda values: osv.detect_noisy_labels(values, mask).found,
        lambda values: osv.detect_noisy_labels(values, noise).found,
        lambda values: osv.remove_high_value(values, X, y, X, y).high_first,
        lambda values: (
            osv.remove_high_value(values, np.asarray(X), y, np.asarray(X), np.asarray(y)).low_first
        ),
        lambda values: combined_rank(values, evidence),
    ):
        right = by_row(values.to_numpy())
        np.testing.assert_array_equal(by_row(values), right)
        np.testing.assert_array_equal(by_row(values.sort_values()), right)


@pytest.mark.parametrize(
    ("values", "noisy"),
    [
        (VALUES.set_axis([*"wxyz"]), NOISY),  # of rows without an index
        (VALUES.set_axis([*"wxyz"]), [1, 3]),
        (VALUES.set_axis([*"wxyz"]), pd.Series(NOISY, [*"vxyz"])),
        (VALUES.set_axis([0, 0, 1, 1]), pd.Series(NOISY, [1, 1, 0, 0])),
        (VALUES, pd.Series(NOISY, [3, 2, 1, 0])),  # by an index that may be none of its own
        (results(pd.Index([*"wxyz"]))[0], pd.Series(NOISY, [*"vxyz"])),
    ],
)
def test_values_of_other_rows_are_refused(values, noisy):
    with pytest.raises(ValueError, match="values"):
        osv.detect_noisy_labels(values, noisy)


def test_what_stands_beside_results_is_matched_by_name():
    index = pd.Index([*"wxyz"])
    valuation, exact = results(index)
    mixed = [2, 0, 3, 1]
    X = pd.DataFrame({"a": np.arange(4.0)}, index=index)
    y = pd.Series([*"nnyy"], index=index)
    evidence = self_confidence(X, y, estimator=DecisionTreeClassifier(), cv=2, random_state=0)
    whole = replace(valuation, evidence=evidence)
    other = replace(valuation, evidence=evidence.take(np.array(mixed)))
    pd.testing.assert_frame_equal(other.to_frame(), whole.to_frame())
    with pytest.raises(TypeError, match="evidence"):
        replace(valuation, evidence=np.ones(4))
    with pytest.raises(ValueError, match="evidence"):
        replace(valuation, evidence=evidence.take(np.array([0, 1])))
    with pytest.raises(ValueError, match="evidence"):
        replace(results(pd.Index([*"abcd"]))[0], evidence=evidence)
    np.testing.assert_array_equal(combined_rank(whole, evidence.take(np.array(mixed))),
                                  combined_rank(whole, evidence)[mixed])  # fmt: skip

    assert valuation.to_html(X=X.iloc[mixed], y=y.iloc[mixed]) == valuation.to_html(X=X, y=y)
    drawn = [osv.plots.plot_values(valuation, classes=classes) for classes in (y, y.iloc[mixed])]
    drawn += [
        osv.plots.plot_estimates(of, valuation) for of in (exact, exact.to_frame()["value"].iloc[mixed])
    ]
    for one, two in (drawn[:2], drawn[2:]):
        points = [[np.asarray(part.get_offsets()) for part in ax.collections] for ax in (one, two)]
        points += [[line.get_xydata() for line in ax.lines] for ax in (one, two)]
        for first, second in (points[:2], points[2:]):
            for here, there in zip(first, second, strict=True):
                np.testing.assert_array_equal(here, there)
        plt.close(one.figure), plt.close(two.figure)
