"""Frames and columns as users have them: types that may be missing, Arrow's, and indices in another order."""

from __future__ import annotations

import decimal
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import ordinal_shapley as osv

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
    model = osv.OrdinalShapley(cv=None, n_permutations=2, random_state=0)
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
        with pytest.warns(UserWarning, match="y and X"):
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
