"""Wrong input gets one clear error that names the argument, before any fit."""

from __future__ import annotations

import numpy as np
import pytest

import ordinal_shapley as osv
from problems import random_problem

PROBLEM = random_problem(3, n=12, n_valid=8)
THREE = random_problem(3, n=12, n_valid=8, n_classes=3)


def spoil(array, index, value):
    array = np.array(array, dtype=float)
    array[index] = value
    return array


def game(problem=PROBLEM, **changes):
    arguments = {**problem._asdict(), **changes}
    return osv.LogisticGame(
        arguments.pop("X"),
        arguments.pop("y"),
        arguments.pop("X_valid"),
        arguments.pop("y_valid"),
        **arguments,
    )


X, Y, X_VALID, Y_VALID = PROBLEM

# name: (changed arguments, error, patterns that the message must hold)
GAMES = {
    "NaN in X": (
        {"X": spoil(X, (4, 2), np.nan)},
        ValueError,
        ["X", "row 4", "column 2", "(?i)nan"],
    ),
    "inf in X": ({"X": spoil(X, (7, 0), np.inf)}, ValueError, ["X", "row 7", "column 0", "inf"]),
    "NaN in X_valid": (
        {"X_valid": spoil(X_VALID, (1, 1), np.nan)},
        ValueError,
        ["X_valid", "row 1", "column 1"],
    ),
    "inf in X_valid": (
        {"X_valid": spoil(X_VALID, (0, 2), -np.inf)},
        ValueError,
        ["X_valid", "row 0", "column 2"],
    ),
    "X not numeric": ({"X": X.astype(str).astype(object) + "a"}, (TypeError, ValueError), ["X"]),
    "X complex": ({"X": X + 1j}, (TypeError, ValueError), ["X"]),
    "X one-dimensional": ({"X": X[:, 0]}, ValueError, ["X"]),
    "X without columns": ({"X": X[:, :0], "X_valid": X_VALID[:, :0]}, ValueError, ["X"]),
    "X and y of different lengths": ({"y": Y[:-1]}, ValueError, ["y", "11", "12"]),
    "X_valid and y_valid of different lengths": (
        {"y_valid": Y_VALID[:-1]},
        ValueError,
        ["y_valid", "7", "8"],
    ),
    "different numbers of features": (
        {"X_valid": X_VALID[:, :2]},
        ValueError,
        ["X_valid", "2", "3"],
    ),
    "a label that never occurs in training": (
        {"y_valid": np.where(np.arange(8) == 2, 9, Y_VALID)},
        ValueError,
        ["y_valid", "9"],
    ),
    "labels of another type": (
        {"y_valid": Y_VALID.astype(str)},
        (TypeError, ValueError),
        ["y_valid"],
    ),
    "one class": (
        {"y": np.zeros(12, int), "y_valid": np.zeros(8, int)},
        ValueError,
        ["y", "class"],
    ),
    "no training rows": ({"X": X[:0], "y": Y[:0]}, ValueError, ["X"]),
    "no validation rows": (
        {"X_valid": X_VALID[:0], "y_valid": Y_VALID[:0]},
        ValueError,
        ["X_valid"],
    ),
    "NaN in y": ({"y": spoil(Y, 3, np.nan)}, ValueError, ["y"]),
    "None in y": (
        {"y": np.array([None, *Y[1:]], dtype=object)},
        (TypeError, ValueError),
        ["y"],
    ),
    "y two-dimensional": ({"y": np.column_stack([Y, Y])}, ValueError, ["y"]),
    "negative weight": (
        {"sample_weight": spoil(np.ones(12), 5, -1)},
        ValueError,
        ["sample_weight", "5"],
    ),
    "NaN weight": ({"sample_weight": spoil(np.ones(12), 5, np.nan)}, ValueError, ["sample_weight"]),
    "infinite weight": (
        {"sample_weight": spoil(np.ones(12), 5, np.inf)},
        ValueError,
        ["sample_weight"],
    ),
    "weights of the wrong length": (
        {"sample_weight": np.ones(11)},
        ValueError,
        ["sample_weight", "11", "12"],
    ),
    "C of 0": ({"C": 0}, ValueError, [r"\bC\b"]),
    "negative C": ({"C": -1.0}, ValueError, [r"\bC\b"]),
    "C not a number": ({"C": np.nan}, ValueError, [r"\bC\b"]),
    "infinite C": ({"C": np.inf}, ValueError, [r"\bC\b"]),
    "C a string": ({"C": "1"}, TypeError, [r"\bC\b"]),
    "unknown metric": ({"scoring": "acuracy"}, ValueError, ["scoring", "acuracy", "'accuracy'"]),
    "metric not a string": ({"scoring": None}, (TypeError, ValueError), ["scoring"]),
    "unknown position weight": (
        {"position_weight": "gauss"},
        ValueError,
        ["position_weight", "gauss", "'gaussian'"],
    ),
    "position weights of the wrong length": (
        {"position_weight": lambda m: np.ones(m + 1)},
        ValueError,
        ["position_weight"],
    ),
    "negative position weights": (
        {"position_weight": lambda position, m: -1.0},
        ValueError,
        ["position_weight"],
    ),
    "position weights not numbers": (
        {"position_weight": lambda position, m: np.nan},
        ValueError,
        ["position_weight"],
    ),
    "position weight of three arguments": (
        {"position_weight": lambda a, b, c: 1.0},
        TypeError,
        ["position_weight"],
    ),
    "f1 without its class in validation": (
        {"scoring": "f1", "y_valid": np.zeros(8, int)},
        ValueError,
        ["f1", "y_valid"],
    ),
    "X of dates": ({"X": np.full((12, 3), np.datetime64("2020-01-01"))}, TypeError, ["X"]),
    "roc_auc without both classes in validation": (
        {"scoring": "roc_auc", "y_valid": np.ones(8, int)},
        ValueError,
        ["roc_auc"],
    ),
    "groups of the wrong length": ({"groups": np.arange(11)}, ValueError, ["groups", "11", "12"]),
    "missing group": (
        {"groups": np.array(["a"] * 11 + [None], dtype=object)},
        (TypeError, ValueError),
        ["groups"],
    ),
    "labels of the wrong length": ({"labels": np.zeros(5)}, ValueError, ["labels"]),
    "unknown empty value": ({"empty_value": "zero"}, ValueError, ["empty_value", "majority"]),
    "empty value not a number": ({"empty_value": np.nan}, ValueError, ["empty_value"]),
}


def match(error, patterns):
    import re

    text = str(error.value)
    assert "\n" not in text.strip()
    for pattern in patterns:
        assert re.search(pattern, text), f"{pattern!r} not in {text!r}"


@pytest.mark.parametrize("case", GAMES)
def test_game(case):
    changes, kind, patterns = GAMES[case]
    with pytest.raises(kind) as error:
        game(**changes)
    match(error, patterns)


def test_roc_auc_of_three_classes():
    with pytest.raises(ValueError, match=r"scoring.*roc_auc"):
        game(THREE, scoring="roc_auc")


def test_a_frame_names_its_row_and_column():
    import pandas as pd

    frame = pd.DataFrame(
        spoil(X, (4, 2), np.nan), columns=["age", "height", "weight"], index=list("abcdefghijkl")
    )
    with pytest.raises(ValueError, match="X") as error:
        game(X=frame)
    match(error, ["weight", r"\b(4|e)\b"])


def test_missing_labels_of_a_frame():
    import pandas as pd

    for dtype in ("Int64", "string", "object", "category"):
        labels = pd.Series([None, *(["0", "1"] * 6)[1:]]).astype("float" if dtype == "Int64" else "object")
        with pytest.raises((TypeError, ValueError), match=r"^y "):
            game(y=labels.astype(dtype), y_valid=["0"] * 8)


def test_a_sparse_matrix_names_its_row_and_column():
    from scipy import sparse

    with pytest.raises(ValueError, match="X") as error:
        game(X=sparse.csr_array(spoil(X, (4, 2), np.nan)))
    match(error, ["row 4", "column 2"])


def test_frames_with_different_columns():
    import pandas as pd

    with pytest.raises(ValueError, match="X_valid"):
        game(
            X=pd.DataFrame(X, columns=["a", "b", "c"]),
            X_valid=pd.DataFrame(X_VALID, columns=["a", "b", "d"]),
        )


def test_a_target_of_many_floats_looks_like_regression():
    rng = np.random.default_rng(0)
    y = rng.normal(size=400)
    with pytest.raises(ValueError, match="looks like regression"):
        osv.LogisticGame(rng.normal(size=(400, 2)), y, rng.normal(size=(5, 2)), y[:5])
    # Few distinct floats are class labels.
    osv.LogisticGame(rng.normal(size=(400, 2)), (y > 0).astype(float), rng.normal(size=(5, 2)), [0.0] * 5)


@pytest.mark.parametrize(
    ("sequence", "kind"),
    [
        ([0, 0], ValueError),
        ([12], ValueError),
        ([-1], ValueError),
        ([0.5], (TypeError, ValueError)),
        (["a"], (TypeError, ValueError)),
        ([[0, 1]], (TypeError, ValueError)),
        (3, (TypeError, ValueError)),
    ],
)
def test_sequences(sequence, kind):
    with pytest.raises(kind, match="sequence"):
        game()(sequence)


def test_features_that_defeat_the_arithmetic_are_told_of():
    huge = PROBLEM._replace(X=X * 1e15, X_valid=X_VALID * 1e15)
    with pytest.warns(RuntimeWarning, match="standardise"):
        game(huge).prefix_utilities(np.arange(12))
    with pytest.warns(RuntimeWarning, match="standardise"):
        osv.sample_values(game(huge), n_permutations=2, random_state=0)


# name: (arguments of sample_values, error, patterns)
SAMPLES = {
    "unknown method": ({"method": "tcm"}, ValueError, ["method", "tcm", "'tmc'"]),
    "unknown value": ({"value": "shapley"}, ValueError, ["value", "shapley", "'partial_ordinal'"]),
    "classic value of an ordered game": (
        {"value": "classic"},
        ValueError,
        ["classic", "position_weight=.uniform", "value=.ordinal"],
    ),
    "class fraction of 0": (
        {"method": "cmc", "class_fraction": 0.0},
        ValueError,
        ["class_fraction", "0"],
    ),
    "class fraction above 1": (
        {"method": "ctmc", "class_fraction": 1.5},
        ValueError,
        ["class_fraction", "1.5"],
    ),
    "class fraction not a number": (
        {"method": "cmc", "class_fraction": np.nan},
        ValueError,
        ["class_fraction"],
    ),
    "unknown average": ({"average": "mean"}, ValueError, ["average", "mean", "'all'"]),
    "no permutations": ({"n_permutations": 0}, ValueError, ["n_permutations"]),
    "half a permutation": ({"n_permutations": 1.5}, (TypeError, ValueError), ["n_permutations"]),
    "truncation not a rule": ({"method": "tmc", "truncation": 0.05}, TypeError, ["truncation"]),
    "truncation by name": (
        {"method": "tmc", "truncation": "roulette"},
        TypeError,
        ["truncation is 'roulette'", r"Truncation\.roulette\(\)"],
    ),
    "more permutations than there are numbers": (
        {"n_permutations": 2**62 + 1},
        ValueError,
        ["n_permutations is 4611686018427387905", r"at most 2\*\*62"],
    ),
    "labels from a generator": (
        {"method": "cmc", "labels": (i % 2 for i in range(12))},
        TypeError,
        ["labels is a generator", "one entry for each player"],
    ),
    "groups in a set": (
        {"partition": set(range(12)), "case": "within"},
        TypeError,
        ["partition is a set", "one entry for each player"],
    ),
    "groups in a dictionary": (
        {"partition": dict.fromkeys(range(12)), "case": "within"},
        TypeError,
        ["partition is a dict"],
    ),
    "a number for labels": ({"method": "cmc", "labels": 3}, TypeError, ["labels is 3"]),
    "a player without a group": (
        {"partition": [0.0] * 11 + [np.nan], "case": "within"},
        ValueError,
        ["partition has a missing label at player 11: expected one for each player"],
    ),
    "truncation where there is none": (
        {"method": "mc", "truncation": osv.Truncation.paper()},
        ValueError,
        ["truncation", "mc"],
    ),
    "stopping not a rule": ({"stopping": 100}, TypeError, ["stopping"]),
    "labels of the wrong length": (
        {"method": "cmc", "labels": np.zeros(3)},
        ValueError,
        ["labels", "3", "12"],
    ),
    "random state a string": (
        {"random_state": "seed"},
        (TypeError, ValueError),
        ["random_state"],
    ),
    "negative random state": ({"random_state": -1}, ValueError, ["random_state"]),
    "no jobs": ({"n_jobs": 0}, ValueError, ["n_jobs"]),
    "half a job": ({"n_jobs": 1.5}, (TypeError, ValueError), ["n_jobs"]),
}


@pytest.fixture
def no_work(monkeypatch):
    """Fail when any shard of work is started."""
    import joblib

    def fail(*_args, **_kwargs):
        raise AssertionError("the work has started")

    monkeypatch.setattr(joblib.Parallel, "__call__", fail)


@pytest.mark.parametrize("case", SAMPLES)
@pytest.mark.usefixtures("no_work")
def test_sampling(case):
    changes, kind, patterns = SAMPLES[case]
    arguments = {"n_permutations": 2, "random_state": 0, **changes}
    with pytest.raises(kind) as error:
        osv.sample_values(game(), **arguments)
    match(error, patterns)


@pytest.mark.usefixtures("no_work")
def test_clients_of_mixed_classes_need_labels():
    mixed = game(groups=np.arange(12) // 4)
    with pytest.raises(ValueError, match="labels"):
        osv.sample_values(mixed, method="cmc", n_permutations=2, random_state=0)


@pytest.mark.usefixtures("no_work")
def test_not_a_game():
    with pytest.raises(TypeError, match="game"):
        osv.sample_values(X, n_permutations=2)
