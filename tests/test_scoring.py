"""Metric kernels against scikit-learn's functions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

import naive
from ordinal_shapley_kernels import elementary, position_weights, scoring
from ordinal_shapley_kernels.abi import callable_from_python
from problems import size

score_decisions = callable_from_python(scoring.score_decisions)
roc_auc = callable_from_python(scoring.roc_auc)
neg_log_loss = callable_from_python(scoring.neg_log_loss)
fill_position_weights = callable_from_python(position_weights.fill_position_weights)

CODES = {"accuracy": scoring.ACCURACY, "balanced_accuracy": scoring.BALANCED_ACCURACY, "f1": scoring.F1}


@settings(max_examples=size(200, 100), deadline=None)
@given(n_classes=st.integers(2, 5), n=st.integers(1, 30), seed=st.integers(0, 2**32), data=st.data())
def test_scores_of_decisions(n_classes, n, seed, data):
    # Few rows and many classes, so that classes are missing from the truth, the decisions or both.
    name = data.draw(st.sampled_from(sorted(CODES)))
    rng = np.random.default_rng(seed)
    truth, decisions = rng.integers(n_classes, size=(2, n))
    counts = np.full((3, n_classes), 7, dtype=np.int64)
    got = score_decisions(CODES[name], decisions, truth, counts)
    assert got == pytest.approx(naive.score_labels(truth, decisions, name, n_classes), abs=1e-14)


@settings(max_examples=size(200, 100), deadline=None)
@given(n=st.integers(2, 40), levels=st.integers(1, 12), seed=st.integers(0, 2**32))
def test_roc_auc_with_ties(n, levels, seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(-levels, levels + 1, size=n) * 0.25
    truth = rng.integers(2, size=n)
    truth[:2] = [0, 1]
    got = roc_auc(values, truth, np.zeros(n, dtype=np.int64), 1e-9)
    assert got == pytest.approx(metrics.roc_auc_score(truth, values), abs=1e-14)


def test_roc_auc_counts_close_values_as_tied():
    truth, order = np.array([0, 1]), np.zeros(2, dtype=np.int64)
    assert roc_auc(np.array([1.0, 1.0 + 1e-12]), truth, order, 1e-10) == 0.5
    assert roc_auc(np.array([1.0, 1.0 + 1e-8]), truth, order, 1e-10) == 1.0


@settings(max_examples=size(100, 50), deadline=None)
@given(n_classes=st.integers(2, 5), n=st.integers(1, 30), seed=st.integers(0, 2**32))
def test_neg_log_loss(n_classes, n, seed):
    rng = np.random.default_rng(seed)
    n_models = 1 if n_classes == 2 else n_classes
    values = 4 * rng.normal(size=(n_models, n))
    truth = rng.integers(n_classes, size=n)
    identity = np.column_stack([np.eye(n_models), np.zeros(n_models)])
    expected = naive.score(truth, identity, values.T, "neg_log_loss", n_classes)
    assert neg_log_loss(values, truth, n_classes, 0, np.zeros(0)) == pytest.approx(expected, rel=1e-12)


def test_neg_log_loss_of_certain_decisions():
    # The least probability is 2**-52, as in scikit-learn; sigmoids that are all 0 are normalised.
    far = np.array([[-800.0, 1.0]])
    assert neg_log_loss(far, np.array([1, 1]), 2, 0, np.zeros(0)) == pytest.approx(
        -(52 * np.log(2) + np.log1p(np.exp(-1))) / 2
    )
    three = np.array([[-800.0], [-810.0], [-1000.0]])
    assert neg_log_loss(three, np.array([0]), 3, 0, np.zeros(0)) == pytest.approx(-np.exp(-10), rel=1e-4)
    assert neg_log_loss(three, np.array([1]), 3, 0, np.zeros(0)) == pytest.approx(-10, rel=1e-4)
    assert neg_log_loss(three, np.array([2]), 3, 0, np.zeros(0)) == pytest.approx(-52 * np.log(2))


@pytest.mark.parametrize("m", [1, 2, 3, 5, 17, 89, 400])
def test_gaussian_weights(m):
    out = np.zeros(m + 1)
    fill_position_weights(position_weights.GAUSSIAN, np.zeros(0), m, out)
    np.testing.assert_allclose(out[:m], naive.gaussian_weights(m), rtol=1e-14)
    assert out[m] == 0


def test_table_weights():
    table = np.array([5.0, 1.0, 2.0, 3.0, 4.0, 6.0])
    out = np.zeros(3)
    fill_position_weights(position_weights.TABLE, table, 3, out)
    np.testing.assert_array_equal(out, [3.0, 4.0, 6.0])


# The vectorisable exponential against the C library's


def test_exp_to_about_one_unit_in_the_last_place():
    rng = np.random.default_rng(0)
    points = np.concatenate(
        [
            rng.uniform(-708, 708, size(20_000, 1_000)),
            rng.normal(size=size(20_000, 1_000)),
            [0.0, -0.0, 1.0, -1.0, 708.0, -708.0, 1e-300, -1e-17],
            # next to the folds of the range reduction
            (np.arange(-1000, 1001)[:: size(1, 20)] + 0.5) * math.log(2) * 0.99,
        ]
    )
    points = points[np.abs(points) <= 708]
    got = np.array([elementary.exp(x) for x in points])
    exact = np.exp(points.astype(np.longdouble))
    error = np.abs((got - exact) / exact).astype(np.float64)
    assert error.max() < 3 * 2.0**-53


@pytest.mark.parametrize(
    ("x", "bound"), [(1e4, 708.0), (-1e4, -708.0), (math.inf, 708.0), (-math.inf, -708.0)]
)
def test_exp_is_clipped(x, bound):
    assert elementary.exp(x) == elementary.exp(bound)
    assert 0 < elementary.exp(x) < math.inf
