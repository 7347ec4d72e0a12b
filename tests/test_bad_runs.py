"""Wrong options of runs and of estimators get an error that names them, before any work."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

import ordinal_shapley as osv
from test_bad_input import EMPTY, FLAT, NAN, PROBLEM, RAGGED, X_VALID, Y_VALID, X, Y, named, no_work, refuses

pytestmark = pytest.mark.usefixtures("no_work")
__all__ = ["no_work"]


# --------------------------------------------------------------------------------------------
# Runs
# --------------------------------------------------------------------------------------------


def utility(sequence):
    if len(sequence):
        raise AssertionError("the work has started")
    return 0.0


GAME = osv.FunctionGame(utility, 4)
APART, CLASSES = np.arange(4), osv.PermutationSampler(class_fraction=0.5, strata=[0, 0, 1, 1])
WITHIN = partial(osv.PartialOrdinal, case="within")
SAMPLER = partial(osv.PermutationSampler, class_fraction=0.5)
# What makes an object, the argument at fault, and values of it that are wrong.
OBJECTS = [
    (osv.Blend, "alpha", [2, NAN, "1"]),
    (osv.WeightedOrdinal, "order_weight", [3]),
    (osv.PartialOrdinal, "partition", [APART]),
    (osv.PartialOrdinal, "case", ["within"]),
    (partial(osv.PartialOrdinal, APART), "case", ["among"]),
    (osv.PaperTruncation, "tol", [-0.1, NAN, "0.1", True]),
    (osv.PatienceTruncation, "tol", [np.inf]),
    (osv.PatienceTruncation, "patience", [0, 1.5]),
    (osv.PatienceTruncation, "target", ["own"]),
    (osv.Roulette, "min_probability", [0.0, 1.5]),
    (osv.Roulette, "n_pilot", [1, 10_001, 2.5]),
    (osv.PermutationSampler, "truncation", [0.05, "russian", osv.PaperTruncation]),
    (osv.PermutationSampler, "design", ["random"]),
    (SAMPLER, "design", ["latin"]),
    (osv.PermutationSampler, "class_fraction", [0.0, 1.5, NAN]),
    (osv.PermutationSampler, "average", ["mean", "selected"]),
    (osv.PermutationSampler, "strata", [APART]),
    (osv.PermutationSampler, "contribution", ["plain"]),
]
# The argument at fault, and values of it that are wrong; a dictionary is of several arguments.
SHARED = [
    ("value", "shapley", "blend", "classic"),
    ("order_weight", {"value": osv.WeightedOrdinal(osv.TableGame(3, {}))}),
    ("partition", {"value": WITHIN([0, 1])}, {"value": WITHIN(set(range(4)))}),
    ("partition", {"value": WITHIN(dict.fromkeys(range(4)))}, {"value": WITHIN([0.0] * 3 + [NAN])}),
    ("n_jobs", 0, 1.5, 10**30),
]
SAMPLING = [
    ("value", 3),
    ("method", "tcm", osv.Roulette()),
    ("n_permutations", 0, 1.5, 2**62 + 1),
    ("first_permutation", -1, 0.5, 5),
    ("first_permutation", {"method": osv.PermutationSampler(design="latin"), "first_permutation": 6}),
    ("first_permutation", {"method": osv.PermutationSampler(design="antithetic"), "first_permutation": 3}),
    ("contribution", {"method": osv.PermutationSampler(contribution="marginal")}),
    (
        "contribution",
        {"value": "partial_ordinal", "method": osv.PermutationSampler(contribution="in_out")},
    ),
    ("strata", {"method": "cmc"}, {"method": SAMPLER(strata=(i % 2 for i in range(4)))}),
    ("strata", {"method": SAMPLER(strata=3)}, {"method": SAMPLER(strata=np.zeros(3))}),
    ("stopping", 100),
    ("random_state", "seed", -1),
    ("position_profile", 1, {"position_profile": True, "method": CLASSES}),
    ("checkpoint", 3, b"run.npz"),
]
EXACT = [("max_seconds", 0, NAN)]
VERIFY = [("level", 1.0, "high"), ("method", "lhs"), ("n_permutations", 0), ("max_seconds", -1)]
AXIOMS = [
    ("value", [1.0, 2.0], [NAN] * 4, ["a"] * 4),
    ("insertion", "front"),
    ("tol", -1.0, NAN, "small"),
    ("max_seconds", 0),
    ("other", osv.TableGame(2, {}), {"other": osv.TableGame(4, {}), "value": np.zeros(4)}, [{}]),
]
RUNS = [
    (run, name, values)
    for run, cases in (
        (osv.sample_values, SHARED + SAMPLING),
        (osv.exact_values, SHARED + EXACT),
        (osv.verify, SHARED + VERIFY),
        (osv.check_axioms, SHARED + AXIOMS),
    )
    for name, *values in cases
]


@pytest.mark.parametrize(("run", "name", "values"), RUNS, ids=named)
def test_runs(run, name, values):
    more = {"n_permutations": 2, "random_state": 0} if run is osv.sample_values else {}
    for value in values:
        options = value if isinstance(value, dict) else {name: value}
        refuses(partial(run, GAME), name, (TypeError, ValueError), **more | options)


@pytest.mark.parametrize(("make", "name", "values"), OBJECTS, ids=named)
def test_objects(make, name, values):
    for value in values:
        refuses(make, name, (TypeError, ValueError), **{name: value})


@pytest.mark.parametrize("run", [osv.sample_values, osv.exact_values, osv.verify, osv.check_axioms])
def test_what_is_no_game(run):
    refuses(partial(run, X), "game", TypeError)


def test_clients_of_mixed_classes_need_strata():
    mixed = osv.LogisticGame(*PROBLEM, groups=np.arange(12) // 4)
    refuses(partial(osv.sample_values, mixed), "strata", ValueError, method="cmc", n_permutations=2)


# --------------------------------------------------------------------------------------------
# In scikit-learn's style
# --------------------------------------------------------------------------------------------

PARAMETERS = {
    "sampler": ["gibbs", 3],
    "C": [-1.0],
    "scoring": ["recall"],
    "position_weight": ["cubic"],
    "empty_value": ["mean"],
    "n_permutations": [0],
    "random_state": [-1, "seed", 1.5],
    "max_seconds": [0, -1, NAN, "1"],
    "cv": [-1, 0, 1, 13, 101, True, "5", 2.5, [(X[:0], X[:0])]],
    "valid_fraction": [0, 1, -0.5, 1.5, 10, "0.3", None, 0.01, 0.99],
    "estimator": ["tree", "in_out", StandardScaler()],
    "error_score": [0.5],
    "compiled": [True, False, "yes"],
    "fit_transformers": ["each"],
}
ARRAYS = {
    "X": [FLAT, EMPTY, RAGGED, X * NAN],
    "y": [
        Y[:-1],
        np.column_stack([Y, Y]),
        np.ones(12, int),
        np.arange(12.0) + 0.5,
        np.array(["a", 1] * 6, object),
    ],
    "groups": [np.zeros(11), np.zeros((12, 2)), np.array([*range(11), "x"], object), [NAN] * 12],
    "sample_weight": [np.zeros(11), np.zeros((12, 2))],
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters(name):
    for value in PARAMETERS[name]:
        options = {"n_permutations": 2, "random_state": 0, "cv": None if name == "valid_fraction" else 4}
        model = osv.PartialOrdinalShapley(**options | {name: value})
        refuses(model.fit, name, (TypeError, ValueError), X=X, y=np.arange(12) % 2)


@pytest.mark.parametrize("cv", [None, 4])
@pytest.mark.parametrize("name", ARRAYS)
def test_arrays(name, cv):
    model = osv.PartialOrdinalShapley(n_permutations=2, random_state=0, cv=cv)
    for value in ARRAYS[name]:
        refuses(model.fit, name, (TypeError, ValueError), **{"X": X, "y": np.arange(12) % 2, name: value})


def test_the_only_row_of_a_class_cannot_be_held_out():
    model = osv.PartialOrdinalShapley(n_permutations=2, random_state=0, cv=None)
    refuses(model.fit, "y", ValueError, X=X, y=[7, *([0, 1] * 6)[1:]])


@pytest.mark.parametrize("missing", ["X_valid", "y_valid"])
def test_half_a_validation_set(missing):
    valid = {"X_valid": X_VALID, "y_valid": Y_VALID} | {missing: None}
    refuses(osv.PartialOrdinalShapley().fit, missing, ValueError, X=X, y=Y, **valid)
