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
APART = np.arange(4)
OBJECTS = [
    ("alpha", partial(osv.Blend, 2)),
    ("alpha", partial(osv.Blend, NAN)),
    ("alpha", partial(osv.Blend, "1")),
    ("order_weight", partial(osv.WeightedOrdinal, 3)),
    ("partition", partial(osv.PartialOrdinal, APART)),
    ("case", partial(osv.PartialOrdinal, case="within")),
    ("case", partial(osv.PartialOrdinal, APART, "among")),
    ("tol", partial(osv.PaperTruncation, -0.1)),
    ("tol", partial(osv.PaperTruncation, NAN)),
    ("tol", partial(osv.PaperTruncation, "0.1")),
    ("tol", partial(osv.PaperTruncation, True)),
    ("tol", partial(osv.PatienceTruncation, np.inf)),
    ("patience", partial(osv.PatienceTruncation, patience=0)),
    ("patience", partial(osv.PatienceTruncation, patience=1.5)),
    ("target", partial(osv.PatienceTruncation, target="own")),
    ("min_probability", partial(osv.Roulette, 0.0)),
    ("min_probability", partial(osv.Roulette, 1.5)),
    ("n_pilot", partial(osv.Roulette, n_pilot=1)),
    ("n_pilot", partial(osv.Roulette, n_pilot=10_001)),
    ("n_pilot", partial(osv.Roulette, n_pilot=2.5)),
    ("truncation", partial(osv.PermutationSampler, 0.05)),
    ("truncation", partial(osv.PermutationSampler, "russian")),
    ("truncation", partial(osv.PermutationSampler, osv.PaperTruncation)),
    ("design", partial(osv.PermutationSampler, design="random")),
    ("design", partial(osv.PermutationSampler, design="latin", class_fraction=0.5)),
    ("class_fraction", partial(osv.PermutationSampler, class_fraction=0.0)),
    ("class_fraction", partial(osv.PermutationSampler, class_fraction=1.5)),
    ("class_fraction", partial(osv.PermutationSampler, class_fraction=NAN)),
    ("average", partial(osv.PermutationSampler, average="mean")),
    ("average", partial(osv.PermutationSampler, average="selected")),
    ("strata", partial(osv.PermutationSampler, strata=APART)),
    ("contribution", partial(osv.PermutationSampler, contribution="plain")),
]
SHARED = [
    ("value", "unknown", {"value": "shapley"}),
    ("value", "a name of options", {"value": "blend"}),
    ("value", "the classic value of an ordered game", {"value": "classic"}),
    ("order_weight", "of others", {"value": osv.WeightedOrdinal(osv.TableGame(3, {}))}),
    ("partition", "too short", {"value": osv.PartialOrdinal([0, 1], "within")}),
    ("partition", "a set", {"value": osv.PartialOrdinal(set(range(4)), "within")}),
    ("partition", "a dictionary", {"value": osv.PartialOrdinal(dict.fromkeys(range(4)), "within")}),
    ("partition", "a gap", {"value": osv.PartialOrdinal([0.0] * 3 + [NAN], "within")}),
    ("n_jobs", "none", {"n_jobs": 0}),
    ("n_jobs", "half a one", {"n_jobs": 1.5}),
    ("n_jobs", "too many", {"n_jobs": 10**30}),
]
CLASSES = osv.PermutationSampler(class_fraction=0.5, strata=[0, 0, 1, 1])
SAMPLING = [
    ("value", "a number", {"value": 3}),
    ("method", "unknown", {"method": "tcm"}),
    ("method", "a rule", {"method": osv.Roulette()}),
    ("n_permutations", "0", {"n_permutations": 0}),
    ("n_permutations", "a half", {"n_permutations": 1.5}),
    ("n_permutations", "too many", {"n_permutations": 2**62 + 1}),
    ("first_permutation", "below 0", {"first_permutation": -1}),
    ("first_permutation", "a half", {"first_permutation": 0.5}),
    ("first_permutation", "within a shard", {"first_permutation": 5}),
    (
        "first_permutation",
        "within a block",
        {"method": osv.PermutationSampler(design="latin"), "first_permutation": 6},
    ),
    (
        "first_permutation",
        "within a pair",
        {
            "value": "partial_ordinal",
            "method": osv.PermutationSampler(design="antithetic"),
            "first_permutation": 3,
        },
    ),
    ("contribution", "of other values", {"method": osv.PermutationSampler(contribution="marginal")}),
    (
        "contribution",
        "of ordinal values",
        {"value": "partial_ordinal", "method": osv.PermutationSampler(contribution="in_out")},
    ),
    ("strata", "missing", {"method": "cmc"}),
    (
        "strata",
        "a generator",
        {"method": osv.PermutationSampler(class_fraction=0.5, strata=(i % 2 for i in range(4)))},
    ),
    ("strata", "a number", {"method": osv.PermutationSampler(class_fraction=0.5, strata=3)}),
    ("strata", "too few", {"method": osv.PermutationSampler(class_fraction=0.5, strata=np.zeros(3))}),
    ("stopping", "a number", {"stopping": 100}),
    ("random_state", "a text", {"random_state": "seed"}),
    ("random_state", "below 0", {"random_state": -1}),
    ("position_profile", "a number", {"position_profile": 1}),
    ("position_profile", "of a part of the players", {"position_profile": True, "method": CLASSES}),
    ("checkpoint", "a number", {"checkpoint": 3}),
    ("checkpoint", "bytes", {"checkpoint": b"run.npz"}),
]
EXACT = [("max_seconds", "0", {"max_seconds": 0}), ("max_seconds", "no number", {"max_seconds": NAN})]
VERIFY = [
    ("level", "1", {"level": 1.0}),
    ("level", "a text", {"level": "high"}),
    ("method", "unknown", {"method": "lhs"}),
    ("n_permutations", "0", {"n_permutations": 0}),
    ("max_seconds", "below 0", {"max_seconds": -1}),
]
AXIOMS = [
    ("value", "too short", {"value": [1.0, 2.0]}),
    ("value", "not finite", {"value": [NAN] * 4}),
    ("value", "of texts", {"value": ["a"] * 4}),
    ("insertion", "unknown", {"insertion": "front"}),
    ("tol", "below 0", {"tol": -1.0}),
    ("tol", "no number", {"tol": NAN}),
    ("tol", "a text", {"tol": "small"}),
    ("max_seconds", "0", {"max_seconds": 0}),
    ("other", "of others", {"other": osv.TableGame(2, {})}),
    ("other", "of values", {"other": osv.TableGame(4, {}), "value": np.zeros(4)}),
    ("other", "no game", {"other": {}}),
]
RUNS = [
    *((osv.sample_values, *case) for case in SHARED + SAMPLING),
    *((osv.exact_values, *case) for case in SHARED + EXACT),
    *((osv.verify, *case) for case in SHARED + VERIFY),
    *((osv.check_axioms, *case) for case in SHARED + AXIOMS),
]


@pytest.mark.parametrize(
    ("run", "name", "what", "options"),
    RUNS,
    ids=[f"{named(run)}-{name}-{what}" for run, name, what, _ in RUNS],
)
def test_runs(run, name, what, options):
    more = {"n_permutations": 2, "random_state": 0} if run is osv.sample_values else {}
    refuses(partial(run, GAME), name, (TypeError, ValueError), **more | options)


@pytest.mark.parametrize(("name", "make"), OBJECTS)
def test_objects(name, make):
    refuses(make, name, (TypeError, ValueError))


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
    "valid_fraction": [0, 1, -0.5, 1.5, 10, "0.3", None, 0.01, 0.99],
    "estimator": ["tree", "in_out", StandardScaler()],
    "error_score": [0.5],
}
ARRAYS = {
    "X": [FLAT, EMPTY, RAGGED, X * NAN],
    "y": [
        Y[:-1],
        np.column_stack([Y, Y]),
        np.ones(12, int),
        np.arange(12.0) + 0.5,
        [7, *([0, 1] * 6)[1:]],
        np.array(["a", 1] * 6, object),
    ],
    "groups": [np.zeros(11), np.zeros((12, 2)), np.array([*range(11), "x"], object), [NAN] * 12],
    "sample_weight": [np.zeros(11), np.zeros((12, 2))],
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters(name):
    for value in PARAMETERS[name]:
        model = osv.PartialOrdinalShapley(**{"n_permutations": 2, "random_state": 0, name: value})
        refuses(model.fit, name, (TypeError, ValueError), X=X, y=np.arange(12) % 2)


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays(name):
    model = osv.PartialOrdinalShapley(n_permutations=2, random_state=0)
    for value in ARRAYS[name]:
        refuses(model.fit, name, (TypeError, ValueError), **{"X": X, "y": np.arange(12) % 2, name: value})


@pytest.mark.parametrize("missing", ["X_valid", "y_valid"])
def test_half_a_validation_set(missing):
    valid = {"X_valid": X_VALID, "y_valid": Y_VALID} | {missing: None}
    refuses(osv.PartialOrdinalShapley().fit, missing, ValueError, X=X, y=Y, **valid)
