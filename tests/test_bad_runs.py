"""Wrong options of runs and of estimators get an error that names them, before any work."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
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
SHARED = [
    ("value", "shapley", {"value": "shapley"}),
    ("value", "the classic value of an ordered game", {"value": "classic"}),
    ("alpha", "missing", {"value": "blend"}),
    ("alpha", "of another value", {"alpha": 0.5}),
    ("alpha", "too large", {"value": "blend", "alpha": 2}),
    ("alpha", "no number", {"value": "blend", "alpha": NAN}),
    ("alpha", "a text", {"value": "blend", "alpha": "1"}),
    ("order_weight", "missing", {"value": "weighted_ordinal"}),
    ("order_weight", "no function", {"value": "weighted_ordinal", "order_weight": 3}),
    ("order_weight", "of others", {"value": "weighted_ordinal", "order_weight": osv.TableGame(3, {})}),
    ("order_weight", "of another value", {"order_weight": len}),
    ("partition", "without case", {"partition": APART}),
    ("case", "without partition", {"case": "within"}),
    ("partition", "too short", {"partition": [0, 1], "case": "within"}),
    ("case", "unknown", {"partition": APART, "case": "among"}),
    ("partition", "of another value", {"partition": APART, "case": "within", "value": "ordinal"}),
    ("partition", "a set", {"partition": set(range(4)), "case": "within"}),
    ("partition", "a dictionary", {"partition": dict.fromkeys(range(4)), "case": "within"}),
    ("partition", "a gap", {"partition": [0.0] * 3 + [NAN], "case": "within"}),
    ("n_jobs", "none", {"n_jobs": 0}),
    ("n_jobs", "half a one", {"n_jobs": 1.5}),
    ("n_jobs", "too many", {"n_jobs": 10**30}),
]
SAMPLING = [
    ("method", "unknown", {"method": "tcm"}),
    ("class_fraction", "0", {"method": "cmc", "class_fraction": 0.0}),
    ("class_fraction", "above 1", {"method": "ctmc", "class_fraction": 1.5}),
    ("class_fraction", "no number", {"method": "cmc", "class_fraction": NAN}),
    ("average", "unknown", {"average": "mean"}),
    ("n_permutations", "0", {"n_permutations": 0}),
    ("n_permutations", "a half", {"n_permutations": 1.5}),
    ("n_permutations", "too many", {"n_permutations": 2**62 + 1}),
    ("first_permutation", "below 0", {"first_permutation": -1}),
    ("first_permutation", "a half", {"first_permutation": 0.5}),
    ("first_permutation", "within a shard", {"value": "ordinal", "first_permutation": 5}),
    ("first_permutation", "within a block", {"design": "latin", "first_permutation": 6}),
    ("first_permutation", "within a pair", {"design": "antithetic", "first_permutation": 3}),
    ("truncation", "a number", {"method": "tmc", "truncation": 0.05}),
    ("truncation", "a name", {"method": "tmc", "truncation": "roulette"}),
    ("truncation", "where there is none", {"method": "mc", "truncation": osv.PaperTruncation()}),
    ("design", "unknown", {"design": "random"}),
    ("design", "of another method", {"design": "latin", "method": "cmc"}),
    ("estimator", "unknown", {"value": "ordinal", "estimator": "plain"}),
    ("estimator", "of other values", {"value": "ordinal", "estimator": "marginal"}),
    ("estimator", "of ordinal values", {"contribution": "in_out"}),
    ("estimator", "a model", {"estimator": GaussianNB()}),
    ("labels", "a generator", {"method": "cmc", "labels": (i % 2 for i in range(4))}),
    ("labels", "a number", {"method": "cmc", "labels": 3}),
    ("labels", "too few", {"method": "cmc", "labels": np.zeros(3)}),
    ("stopping", "a number", {"stopping": 100}),
    ("random_state", "a text", {"random_state": "seed"}),
    ("random_state", "below 0", {"random_state": -1}),
    ("position_profile", "a number", {"position_profile": 1}),
    ("position_profile", "of another method", {"position_profile": True, "method": "cmc"}),
    ("checkpoint", "a number", {"checkpoint": 3}),
    ("checkpoint", "bytes", {"checkpoint": b"run.npz"}),
]
EXACT = [
    ("by", "of another value", {"by": "orders"}),
    ("max_seconds", "0", {"max_seconds": 0}),
    ("max_seconds", "no number", {"max_seconds": NAN}),
]
VERIFY = [
    ("level", "1", {"level": 1.0}),
    ("level", "a text", {"level": "high"}),
    ("tolerance", "no argument", {"tolerance": 0.1}),
    ("method", "unknown", {"method": "lhs"}),
    ("n_permutations", "0", {"n_permutations": 0}),
    ("truncation", "where there is none", {"truncation": osv.PaperTruncation()}),
    ("max_seconds", "below 0", {"max_seconds": -1}),
]
AXIOMS = [
    ("value", "too short", {"value": [1.0, 2.0]}),
    ("value", "not finite", {"value": [NAN] * 4}),
    ("value", "of texts", {"value": ["a"] * 4}),
    ("alpha", "of values", {"value": np.zeros(4), "alpha": 0.5}),
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
    if options.get("method") in ("cmc", "ctmc"):
        more["labels"] = [0, 0, 1, 1]
    refuses(partial(run, GAME), name, (TypeError, ValueError), **more | options)


@pytest.mark.parametrize("run", [osv.sample_values, osv.exact_values, osv.verify, osv.check_axioms])
def test_what_is_no_game(run):
    refuses(partial(run, X), "game", TypeError)


def test_clients_of_mixed_classes_need_labels():
    mixed = osv.LogisticGame(*PROBLEM, groups=np.arange(12) // 4)
    refuses(partial(osv.sample_values, mixed), "labels", ValueError, method="cmc", n_permutations=2)


# --------------------------------------------------------------------------------------------
# In scikit-learn's style
# --------------------------------------------------------------------------------------------

PARAMETERS = {
    "method": ["gibbs"],
    "C": [-1.0],
    "scoring": ["recall"],
    "position_weight": ["cubic"],
    "class_fraction": [0.0],
    "average": ["median"],
    "design": ["square"],
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
    "labels": [np.zeros(11)],
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
