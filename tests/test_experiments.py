"""Label noise, removal curves and detection, against plain recomputation."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn.datasets import load_wine
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import naive
import ordinal_shapley as osv
from ordinal_shapley.experiments.baselines import data_oob, knn_shapley, leave_one_out
from problems import cancer, size, wdbc, wine

# --- label noise


@pytest.mark.parametrize("fraction, changed", [(0, 0), (0.2, 18), (0.5, 45), (1, 89), (0.005, 0), (0.006, 1)])
def test_noise_changes_as_many_rows_as_asked(fraction, changed):
    y = wine().y
    noise = osv.corrupt_labels(y, fraction, random_state=0)
    assert len(noise.rows) == noise.mask.sum() == changed
    np.testing.assert_array_equal(np.flatnonzero(noise.labels != y), noise.rows)
    assert set(noise.labels) <= set(y)
    np.testing.assert_array_equal(noise.original, y)


@pytest.mark.parametrize(
    "y",
    [
        ["a", "b", "c", "a"] * 5,
        np.array(["a", "b"] * 10, dtype=object),
        np.array([True, False] * 10),
        pd.Series(["x", "y"] * 10, index=range(5, 25)),
    ],
)
def test_noise_leaves_its_input_alone_and_keeps_no_label(y):
    before = list(y)
    noise = osv.corrupt_labels(y, 1.0, random_state=3)
    assert list(y) == before
    assert not np.shares_memory(noise.original, np.asarray(y))
    assert (noise.labels != np.asarray(before)).all()


def test_new_labels_are_uniform_over_the_other_classes():
    labels = osv.corrupt_labels(np.repeat([0, 1, 2, 3], 3_000), 1.0, random_state=0).labels
    counts = np.array([np.bincount(part, minlength=4) for part in labels.reshape(4, 3_000)])
    assert (np.diag(counts) == 0).all()
    # Six standard deviations of a binomial count.
    assert (abs(counts[~np.eye(4, dtype=bool)] - 1_000) < 6 * np.sqrt(3_000 * 2 / 9)).all()


def test_noise_repeats_with_its_seed():
    y = wine().y
    one, two, other = (osv.corrupt_labels(y, random_state=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(one.labels, two.labels)
    assert (one.labels != other.labels).any()
    frame = one.to_frame()
    assert frame["changed"].sum() == 18
    assert (frame["label"] != frame["original"]).equals(frame["changed"])


# --- removal


def plain_accuracy(X, y, X_test, y_test, rows):
    """Accuracy of scikit-learn's liblinear on some rows, one against the rest."""
    model = LogisticRegression(solver="liblinear", tol=1e-10, max_iter=100_000, random_state=0)
    if len(np.unique(y[rows])) > 2:
        model = OneVsRestClassifier(model)
    return model.fit(X[rows], y[rows]).score(X_test, y_test)


@pytest.mark.parametrize("problem", [wine(), wdbc(), cancer()], ids=["wine", "wdbc", "cancer"])
def test_curves_are_those_of_scikit_learn_at_three_marks(problem):
    X, y, X_test, y_test = problem
    n = len(y)
    values = np.random.default_rng(0).normal(size=n)
    curves = osv.remove_high_value(values, *problem)
    high = sorted(range(n), key=lambda row: -values[row])
    assert len(curves.removed) == 20
    for mark in (0, 7, 15):
        k = mark * (n // 20)
        assert curves.removed[mark] == k
        for order, heights in ((high, curves.high_first), (high[::-1], curves.low_first)):
            assert heights[mark] == pytest.approx(plain_accuracy(X, y, X_test, y_test, order[k:]), abs=1e-12)


def test_curves_of_any_estimator_and_any_table():
    X, y = load_wine(return_X_y=True, as_frame=True)
    y = y.map({0: "red", 1: "white", 2: "rose"})
    estimator = make_pipeline(StandardScaler(), DecisionTreeClassifier(random_state=0))
    rows, labels, held, truth = X.iloc[::2], y.iloc[::2], X.iloc[1::2], y.iloc[1::2]
    values = np.arange(len(rows))[::-1]  # the first rows are worth most
    curves = osv.remove_high_value(values, rows, labels, held, truth, estimator=estimator, marks=10)
    for mark in (0, 3, 9):
        k = mark * (len(rows) // 10)
        fitted = estimator.fit(rows.iloc[k:], labels.iloc[k:])
        assert curves.high_first[mark] == pytest.approx(fitted.score(held, truth), abs=1e-12)
        fitted = estimator.fit(rows.iloc[: len(rows) - k], labels.iloc[: len(rows) - k])
        assert curves.low_first[mark] == pytest.approx(fitted.score(held, truth), abs=1e-12)


def test_curves_where_classes_run_out():
    problem = wine()
    X, y, X_test, y_test = problem
    curves = osv.remove_high_value(-y, *problem, marks=89)  # class 0 goes first, then class 1
    kept = np.argsort(y, kind="stable")
    sizes = np.bincount(y)
    two, one = sizes[0] + 3, sizes[0] + sizes[1] + 3
    assert curves.high_first[two] == pytest.approx(
        plain_accuracy(X, y, X_test, y_test, kept[two:]), abs=1e-12
    )
    assert curves.high_first[one] == pytest.approx(np.mean(y_test == 2), abs=1e-12)
    forest = osv.remove_high_value(-y, *problem, marks=89, estimator=DecisionTreeClassifier(random_state=0))
    assert forest.high_first[one] == curves.high_first[one]


def test_areas_are_what_they_say():
    curves = osv.remove_high_value(np.arange(89) % 7, *wine())
    high, low = curves.high_first, curves.low_first
    assert curves.half_sum == pytest.approx(sum(high[:10]), abs=1e-12)
    assert curves.auc == pytest.approx((sum(high) - (high[0] + high[-1]) / 2) / 19, abs=1e-12)
    assert curves.auc_low_first == pytest.approx((sum(low) - (low[0] + low[-1]) / 2) / 19, abs=1e-12)
    frame = curves.to_frame()
    assert list(frame.columns) == ["removed", "share", "high_first", "low_first"]
    np.testing.assert_array_equal(frame["share"], frame["removed"] / 89)


def test_rows_of_equal_value_go_in_their_order():
    problem = wine()
    tied, counted = np.zeros(89), np.arange(89)
    curves = osv.remove_high_value(tied, *problem)
    np.testing.assert_array_equal(curves.high_first, osv.remove_high_value(-counted, *problem).high_first)
    np.testing.assert_array_equal(curves.low_first, osv.remove_high_value(counted, *problem).low_first)


def test_values_come_in_many_forms():
    problem = wine().first(20)
    game = osv.LogisticGame(*problem)
    valuation = osv.sample_values(game, "partial_ordinal", "mc", n_permutations=size(20, 3), random_state=0)
    run = {"sampler": "mc", "n_permutations": size(20, 3), "random_state": 0}
    fitted = osv.PartialOrdinalShapley(evidence=False, **run).fit(*problem)
    expected = osv.remove_high_value(valuation.values, *problem, marks=4)
    mask = np.arange(20) % 5 == 0
    found = osv.detect_noisy_labels(valuation.values, mask)
    for values in (valuation, fitted, pd.Series(valuation.values), valuation.values.tolist()):
        curves = osv.remove_high_value(values, *problem, marks=4)
        np.testing.assert_array_equal(curves.high_first, expected.high_first)
        assert osv.detect_noisy_labels(values, mask).auc == found.auc
    table = sparse.csr_matrix(problem.X), problem.y, sparse.coo_matrix(problem.X_valid), problem.y_valid
    curves = osv.remove_high_value(valuation, *table, marks=4)
    np.testing.assert_array_equal(curves.low_first, expected.low_first)


# --- detection


def test_detection_is_a_plain_count_at_three_marks():
    values = np.random.default_rng(1).normal(size=89)
    noise = osv.corrupt_labels(wine().y, random_state=1)
    result = osv.detect_noisy_labels(values, noise)
    order = sorted(range(89), key=lambda row: values[row])
    for k in (0, 18, 60):
        hits = len(set(order[:k]) & set(noise.rows.tolist()))
        assert result.inspected[k] == k / 89
        assert result.found[k] == pytest.approx(hits / 18, abs=1e-12)
        assert result.found_at(k / 89) == pytest.approx(hits / 18, abs=1e-12)
    assert result.precision == pytest.approx(len(set(order[:18]) & set(noise.rows.tolist())) / 18, abs=1e-12)
    assert result.auc == pytest.approx(roc_auc_score(noise.mask, -values), abs=1e-12)
    assert result.n_noisy == 18
    assert result.to_frame()["found"].iloc[-1] == 1


def test_ties_are_means_over_their_orders():
    values, noisy = np.array([1.0, 1.0, 0.0, 1.0, 2.0]), np.array([True, False, True, False, False])
    result = osv.detect_noisy_labels(values, noisy)
    curves = []
    for tie in itertools.permutations([0, 1, 3]):
        order = [2, *tie, 4]
        curves.append([sum(noisy[order[:k]]) / 2 for k in range(6)])
    np.testing.assert_allclose(result.found, np.mean(curves, axis=0), atol=1e-12)
    assert result.auc == pytest.approx(roc_auc_score(noisy, -values), abs=1e-12)
    assert result.precision == pytest.approx(np.mean(curves, axis=0)[2], abs=1e-12)


def test_rows_and_masks_mean_the_same():
    values = np.arange(6.0)
    mask = np.array([True, False, False, True, False, False])
    assert osv.detect_noisy_labels(values, mask).auc == osv.detect_noisy_labels(values, [3, 0]).auc
    with pytest.raises(ValueError, match=r"share is 1\.5"):
        osv.detect_noisy_labels(values, mask).found_at(1.5)


# Baselines against brute force and plain loops


RNG = np.random.default_rng(0)
X, X_VALID = RNG.normal(size=(7, 2)), RNG.normal(size=(6, 2))
Y, Y_VALID = np.array(["c", "a", "b", "a", "c", "b", "a"]), np.array(["a", "c", "b", "b", "a", "c"])


def neighbour_utility(X, y, X_valid, y_valid, k):
    """Mean share of the right class among the k nearest of a set of rows; nearer by distance, then index."""

    def utility(players):
        total = 0.0
        for point, truth in zip(X_valid, y_valid, strict=True):
            near = sorted(
                players, key=lambda i: (sum((a - b) ** 2 for a, b in zip(X[i], point, strict=True)), i)
            )
            total += sum(y[i] == truth for i in near[:k]) / k
        return total / len(y_valid)

    return utility


@pytest.mark.parametrize("k", [1, 2, 3, 6, 7, 8, 20])
def test_knn_shapley_is_the_classic_value_of_its_utility(k):
    expected = naive.exact_classic(neighbour_utility(X, Y, X_VALID, Y_VALID, k), len(X))
    np.testing.assert_allclose(knn_shapley(X, Y, X_VALID, Y_VALID, k), expected, atol=1e-14)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_knn_shapley_with_equal_rows_and_equal_distances(k):
    rows = np.array([[2.0, 0], [0, 0], [0, 0], [0, 2], [2, 2], [1, 1]])
    labels = np.array([1, 0, 1, 1, 0, 0])
    points, truth = np.array([[1.0, 1], [0, 0], [1, 0]]), np.array([1, 0, 1])
    expected = naive.exact_classic(neighbour_utility(rows, labels, points, truth, k), len(rows))
    found = knn_shapley(rows, labels, points, truth, n_neighbors=k)
    np.testing.assert_allclose(found, expected, atol=1e-14)
    # The order of rows at one distance matters here, so the test sees it.
    other = knn_shapley(rows[::-1], labels[::-1], points, truth, n_neighbors=k)[::-1]
    assert np.abs(other - expected).max() > 0.01


@pytest.mark.parametrize("labels", [[0, 1], ["no", "yes"]])
def test_data_oob_against_a_loop(labels):
    n = 30
    X = RNG.normal(size=(n, 3))
    y = np.array(labels)[(X[:, 0] + RNG.normal(size=n) > 0).astype(int)]
    bag = BaggingClassifier(n_estimators=12, random_state=5).fit(X, y)
    votes = [[] for _ in range(n)]
    for fitted, seen in zip(bag.estimators_, bag.estimators_samples_, strict=True):
        tree = DecisionTreeClassifier(random_state=fitted.random_state)
        tree.fit(X, y, sample_weight=np.bincount(seen, minlength=n))
        for i in set(range(n)) - set(seen):
            votes[i].append(tree.predict(X[[i]])[0] == y[i])
    expected = [np.mean(v) for v in votes]
    np.testing.assert_allclose(data_oob(X, y, n_estimators=12, random_state=5), expected, rtol=1e-14)


def test_data_oob_of_rows_that_every_tree_has_seen():
    X, y = np.arange(20.0)[:, None], np.arange(20) % 2
    seen = BaggingClassifier(n_estimators=1, random_state=0).fit(X, y).estimators_samples_[0]
    values = data_oob(X, y, n_estimators=1, random_state=0)
    assert set(np.flatnonzero(np.isnan(values))) == set(seen)


def test_data_oob_is_reproducible_and_independent_of_workers():
    values = data_oob(X, Y, n_estimators=30, random_state=3)
    with parallel_config("threading"):  # processes take long to start
        np.testing.assert_array_equal(data_oob(X, Y, n_estimators=30, random_state=3, n_jobs=2), values)
    assert (data_oob(X, Y, n_estimators=30, random_state=4) != values).any()
    generators = [np.random.default_rng(1), np.random.default_rng(1), np.random.RandomState(1)]
    first, again, _ = (data_oob(X, Y, n_estimators=30, random_state=state) for state in generators)
    np.testing.assert_array_equal(first, again)


def first_come(sequence):
    """Order matters: a player adds its number over its place."""
    return sum((player + 1) ** 2 / (place + 1) for place, player in enumerate(sequence))


@pytest.mark.parametrize(
    "game",
    [
        osv.TableGame(3, {(0,): 1.0, (0, 1): 2.0, (0, 2): -1.0, (1, 2): 4.0, (0, 1, 2): 0.5}),
        osv.FunctionGame(first_come, 6),
        osv.FunctionGame(len, 1),
        osv.LogisticGame(X, Y, X_VALID, Y_VALID),
        osv.LogisticGame(X, Y, X_VALID, Y_VALID, groups=[0, 1, 0, 2, 3, 3, 2]),
    ],
    ids=lambda game: type(game).__name__,
)
def test_leave_one_out(game):
    n = game.n_players
    full = game(list(range(n)))
    expected = [full - game([j for j in range(n) if j != i]) for i in range(n)]
    np.testing.assert_array_equal(leave_one_out(game), expected)
    np.testing.assert_array_equal(leave_one_out(game, n_jobs=2), expected)


def test_leave_one_out_against_refits():
    codes, truth = (np.searchsorted(["a", "b", "c"], labels) for labels in (Y, Y_VALID))
    utility = naive.LogisticUtility(X, codes, X_VALID, truth)
    expected = [utility(range(7)) - utility([j for j in range(7) if j != i]) for i in range(7)]
    np.testing.assert_allclose(leave_one_out(osv.LogisticGame(X, Y, X_VALID, Y_VALID)), expected, atol=1e-14)
