"""The ridge game against scikit-learn and against least squares."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn import metrics
from sklearn.linear_model import Ridge, RidgeClassifier

import naive
import ordinal_shapley as osv
from problems import named, random_problem, size, wdbc, wine, words
from runs import sample_with


def problem(n=12, d=3, n_valid=20, seed=0, shift=4.0):
    rng = np.random.default_rng([seed, n, d])
    X = rng.normal(size=(n + n_valid, d)) + shift
    y = X @ rng.normal(size=d) + rng.normal(size=n + n_valid) + 7.0
    return X[:n], y[:n], X[n:], y[n:]


def sklearns(data, rows, alpha, weights):
    X, y = data[:2]
    return Ridge(alpha=alpha).fit(X[rows], y[rows], sample_weight=weights)


@pytest.mark.parametrize(("n", "d"), [(size(40, 14), 5), (size(30, 12), 17), (12, 30), (9, 1), (9, 8)])
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 1e3])
def test_every_prefix_is_scikit_learns(n, d, alpha):
    """Systems by rows and by features, and the step from one to the other."""
    data = problem(n, d)
    X_valid, y_valid = data[2:]
    shares = np.random.default_rng(1).random(n) + 0.1
    games = [
        osv.RidgeGame(*data, alpha=alpha, sample_weight=shares, scoring=scoring)
        for scoring in ("r2", "neg_mean_squared_error")
    ]
    order = np.random.default_rng(2).permutation(n)
    r2, errors = (game.prefix_utilities(order) for game in games)
    for k in range(1, n + 1):
        rows = order[:k]
        model = sklearns(data, rows, alpha, naive.gaussian_weights(k) * shares[rows])
        np.testing.assert_allclose(
            games[0].coefficients(rows), np.append(model.coef_, model.intercept_), rtol=1e-8, atol=1e-8
        )
        error = np.mean((model.predict(X_valid) - y_valid) ** 2)
        assert errors[k - 1] == pytest.approx(-error, rel=1e-8, abs=1e-8)
        assert r2[k - 1] == pytest.approx(model.score(X_valid, y_valid), rel=1e-8, abs=1e-8)
        assert games[0](rows) == r2[k - 1]


@pytest.mark.parametrize("scoring", ["r2", "neg_mean_squared_error"])
@pytest.mark.parametrize(
    ("name", "weights"), [("gaussian", naive.gaussian_weights), ("uniform", naive.uniform_weights)]
)
def test_every_sequence_against_least_squares(name, weights, scoring):
    data = problem(5, 2)
    game = osv.RidgeGame(*data, position_weight=name, alpha=0.3, scoring=scoring)
    U = naive.RidgeUtility(*data, weights=weights, alpha=0.3, scoring=scoring)
    found = [game(S) for S in naive.sequences_of(range(5))]
    np.testing.assert_allclose(found, [U(S) for S in naive.sequences_of(range(5))], rtol=1e-10, atol=1e-10)
    assert game(()) == game.empty_value_
    value = "classic" if name == "uniform" else "ordinal"
    expected = naive.exact_classic(U, 5) if name == "uniform" else naive.exact_ordinal(U, 5)
    np.testing.assert_allclose(osv.exact_values(game, value).values, expected, atol=1e-10)


def test_owners_and_their_rows():
    data = problem(6, 2)
    owners = ["b", "a", "a", "b", "c", "c"]
    game = osv.RidgeGame(*data, groups=owners, position_weight=lambda i, m: 1.0 + i)
    assert game.player_names.tolist() == ["a", "b", "c"]
    rows = [4, 5, 1, 2]
    model = sklearns(data, rows, 1.0, np.arange(1.0, 5.0))
    assert game([2, 0]) == pytest.approx(model.score(*data[2:]), rel=1e-10)


def test_far_from_zero():
    data = problem(10, 3)
    far = (data[0] + 1e6, data[1] + 1e6, data[2] + 1e6, data[3] + 1e6)
    order = np.arange(10)
    near, moved = (osv.RidgeGame(*d).prefix_utilities(order) for d in (data, far))
    np.testing.assert_allclose(moved, near, rtol=1e-6)


def test_rows_without_weight():
    data = problem(4, 2)
    game = osv.RidgeGame(*data, sample_weight=[0.0, 1.0, 1.0, 0.0], empty_value=-5.0)
    assert game([0]) == game([3, 0]) == game(()) == -5.0
    assert game([1]) == osv.RidgeGame(*data)([1])
    for sequence in ([], [0, 3]):
        with pytest.raises(ValueError, match="sequence"):
            game.coefficients(sequence)


def test_frames_sparse_rows_and_copies():
    X, y, X_valid, y_valid = problem(6, 3)
    expected = osv.RidgeGame(X, y, X_valid, y_valid).prefix_utilities(range(6))
    frame = pd.DataFrame(X, columns=["a", "b", "c"], index=list("uvwxyz"))
    held_out = pd.DataFrame(X_valid, columns=["a", "b", "c"])
    game = osv.RidgeGame(frame, y, held_out, y_valid)
    assert game.player_names.tolist() == list("uvwxyz")
    assert game.feature_names == ["a", "b", "c"]
    sparse = osv.RidgeGame(scipy.sparse.csr_array(X), y, scipy.sparse.csr_array(X_valid), y_valid)
    for other in (game, sparse, pickle.loads(pickle.dumps(game))):
        np.testing.assert_array_equal(other.prefix_utilities(range(6)), expected)


def test_classes_are_for_who_gives_strata():
    game = osv.RidgeGame(*problem(6, 2))
    with pytest.raises(ValueError, match="strata"):
        osv.sample_values(game, "partial_ordinal", "cmc", n_permutations=2)
    by_class = osv.PermutationSampler(class_fraction=0.5, strata=[0, 1] * 3)
    run = osv.sample_values(game, "partial_ordinal", by_class, n_permutations=4, random_state=0)
    assert run.n_permutations == 4
    assert repr(game) == (
        "RidgeGame(6 players, 6 rows, 20 validation rows, position_weight='gaussian', alpha=1, scoring='r2')"
    )


# --------------------------------------------------------------------------------------------
# Without an intercept
# --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "d"), [(14, 5), (9, 30), (9, 8)])
def test_without_an_intercept(n, d):
    data = problem(n, d)
    game = osv.RidgeGame(*data, alpha=0.5, fit_intercept=False)
    order = np.random.default_rng(3).permutation(n)
    found = game.prefix_utilities(order)
    for m in range(1, n + 1):
        rows = order[:m]
        model = Ridge(0.5, fit_intercept=False).fit(
            data[0][rows], data[1][rows], sample_weight=naive.gaussian_weights(m)
        )
        np.testing.assert_allclose(game.coefficients(rows), [*model.coef_, 0.0], rtol=1e-8, atol=1e-10)
        assert found[m - 1] == pytest.approx(model.score(*data[2:]), rel=1e-8)
    U = naive.RidgeUtility(*data, alpha=0.5, fit_intercept=False)
    np.testing.assert_allclose(found, [U(order[:m]) for m in range(1, n + 1)], rtol=1e-8)


# --------------------------------------------------------------------------------------------
# Classes
# --------------------------------------------------------------------------------------------

CLASSIFIER_SCORINGS = ["accuracy", "balanced_accuracy", "f1", "roc_auc"]


def classifier(rows, data, weights, **options):
    return RidgeClassifier(**options).fit(data.X[rows], data.y[rows], sample_weight=weights)


def margins(model, X):
    """How far the decisions of a model are from a tie."""
    values = model.decision_function(X)
    if values.ndim == 1:
        return np.abs(values)
    return np.diff(np.sort(values, axis=1)[:, -2:])[:, 0]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"alpha": 0.01, "fit_intercept": False},
        {"alpha": 30.0, "class_weight": "balanced"},
        {"class_weight": {0: 0.2, 1: 3.0}},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["wine", "wine raw", "wdbc", "digits", "adult", "cancer", "words"])
def test_every_decision_is_scikit_learns(name, options):
    data = named(name)
    order = np.random.default_rng(1).permutation(len(data.y))
    lengths = [m for m in range(1, len(order) + 1) if len(np.unique(data.y[order[:m]])) == data.n_classes]
    lengths = lengths[:: size(5, 40)]
    n_decisions = 0
    for m in lengths:
        rows = order[:m]
        model = classifier(rows, data, naive.gaussian_weights(m), **options)
        sure = margins(model, data.X_valid) > 1e-6
        decided = model.predict(data.X_valid)
        game = osv.RidgeClassifierGame(data.X, data.y, data.X_valid[sure], decided[sure], **options)
        assert game(rows) == 1.0
        n_decisions += sure.sum()
    assert n_decisions > 0.9 * len(lengths) * len(data.y_valid)


@pytest.mark.parametrize("scoring", CLASSIFIER_SCORINGS)
@pytest.mark.parametrize("name", ["wine", "wdbc"])
def test_every_prefix_of_a_classifier(name, scoring):
    data = named(name).first(size(60, 20))
    if scoring == "roc_auc" and data.n_classes > 2:
        with pytest.raises(ValueError, match="scoring"):
            osv.RidgeClassifierGame(*data, scoring=scoring)
        return
    shares = np.random.default_rng(0).random(len(data.y))
    options = {"alpha": 2.0, "class_weight": "balanced"}
    game = osv.RidgeClassifierGame(*data, scoring=scoring, sample_weight=shares, **options)
    order = np.random.default_rng(5).permutation(len(data.y))
    found = game.prefix_utilities(order)
    U = naive.RidgeClassifierUtility(*data, scoring=scoring, sample_weight=shares, **options)
    for m in range(1, len(order) + 1):
        rows = order[:m]
        assert found[m - 1] == pytest.approx(U(rows), abs=1e-13)
        assert found[m - 1] == game(rows)
        if not U.has_model(rows):
            assert found[m - 1] == game.empty_value_ == pytest.approx(U.v0)
            continue
        model = classifier(rows, data, naive.gaussian_weights(m) * shares[rows], **options)
        expected = np.column_stack([np.atleast_2d(model.coef_), model.intercept_])
        np.testing.assert_allclose(game.coefficients(rows), expected, rtol=1e-8, atol=1e-8)
        if scoring == "roc_auc":
            ranked = np.round(model.decision_function(data.X_valid), 9)
            assert found[m - 1] == pytest.approx(metrics.roc_auc_score(data.y_valid, ranked), abs=1e-13)


@pytest.mark.parametrize("scoring", CLASSIFIER_SCORINGS)
@pytest.mark.parametrize(
    ("name", "weights"), [("gaussian", naive.gaussian_weights), ("uniform", naive.uniform_weights)]
)
def test_exact_values_of_a_classifier(name, weights, scoring):
    data = random_problem(2, n=5, n_valid=20, seed=1)
    game = osv.RidgeClassifierGame(*data, position_weight=name, scoring=scoring, class_weight={1: 2.5})
    U = naive.RidgeClassifierUtility(*data, weights=weights, scoring=scoring, class_weight={1: 2.5})
    value, expected = (
        ("classic", naive.exact_classic) if game.order_free else ("ordinal", naive.exact_ordinal)
    )
    np.testing.assert_allclose(osv.exact_values(game, value).values, expected(U, 5), atol=1e-12)


def test_the_estimator_game_of_a_classifier_agrees():
    data = wdbc().first(30)
    model = RidgeClassifier(alpha=0.5, class_weight="balanced")
    theirs = osv.EstimatorGame(model, *data)
    ours = osv.RidgeClassifierGame(*data, alpha=0.5, class_weight="balanced")
    order = np.random.default_rng(3).permutation(30)[: size(30, 12)]
    for m in range(len(order) + 1):
        assert ours(order[:m]) == theirs(order[:m])


def test_classes_by_name_and_rows_of_an_owner():
    data = wine().first(20)
    names = np.array(["c", "a", "b"])  # not in the order of their codes
    owners = np.repeat(["x", "y", "z", "w", "v"], 4)
    options = {"class_weight": {"a": 4.0}, "groups": owners}
    game = osv.RidgeClassifierGame(data.X, names[data.y], data.X_valid, names[data.y_valid], **options)
    assert game.classes_.tolist() == ["a", "b", "c"]
    assert game.player_names.tolist() == ["v", "w", "x", "y", "z"]
    rows = [*range(8, 12), *range(4), *range(16, 20)]
    weights = naive.gaussian_weights(12) * np.where(data.y[rows] == 1, 4.0, 1.0)
    model = RidgeClassifier().fit(data.X[rows], names[data.y[rows]], sample_weight=weights)
    assert game([4, 2, 0]) == model.score(data.X_valid, names[data.y_valid])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_row_a_class(n_classes):
    data = random_problem(4, n=n_classes, n_valid=30, n_classes=n_classes)
    game = osv.RidgeClassifierGame(*data, position_weight="uniform")
    model = RidgeClassifier().fit(data.X, data.y)
    assert game(range(n_classes)) == model.score(data.X_valid, data.y_valid)
    assert game(range(n_classes - 1)) == game.empty_value_


def test_a_class_without_weight_has_no_model():
    data = random_problem(2, n=6, n_valid=15)._replace(y=np.array([0, 1, 0, 1, 1, 0]))
    shares = [1.0, 0.0, 1.0, 0.0, 2.0, 1.0]
    for class_weight in (None, "balanced"):
        options = {"class_weight": class_weight, "sample_weight": shares, "empty_value": -3.0}
        game = osv.RidgeClassifierGame(*data, **options)
        assert game([0, 1, 2, 3]) == game([4, 3]) == game([]) == -3.0
        assert game([0, 1, 4]) != -3.0
        for sequence in ([], [0], [0, 1, 2, 3]):
            with pytest.raises(ValueError, match="sequence"):
                game.coefficients(sequence)
    last = osv.RidgeClassifierGame(*data, position_weight=lambda i, m: float(i == m - 1), empty_value=-3.0)
    assert last([0, 1]) == -3.0


@pytest.mark.parametrize("n_classes", [2, 3])
def test_tied_decisions_go_to_the_first_class(n_classes):
    X, y = np.eye(n_classes), np.arange(n_classes)
    for code in range(n_classes):
        game = osv.RidgeClassifierGame(X, y, np.zeros((1, n_classes)), [code], position_weight="uniform")
        assert game(range(n_classes)) == game(range(n_classes)[::-1]) == float(code == 0)


def test_a_checkpoint_of_another_class_weight_is_refused(tmp_path):
    data = random_problem(2, n=7, n_valid=15)
    path = tmp_path / "run.npz"
    options = {"method": "tmc", "random_state": 3, "n_permutations": 10, "checkpoint": path}
    sample_with(osv.RidgeClassifierGame(*data), **options)
    for class_weight in ("balanced", {0: 2.0}):
        with pytest.raises(ValueError, match="class_weight"):
            sample_with(osv.RidgeClassifierGame(*data, class_weight=class_weight), **options)


def test_sparse_rows_and_copies_of_a_classifier():
    data = words().first(30)
    game = osv.RidgeClassifierGame(*data)
    rows = scipy.sparse.csr_array(data.X), data.y, scipy.sparse.csr_array(data.X_valid), data.y_valid
    expected = game.prefix_utilities(range(30))
    for other in (osv.RidgeClassifierGame(*rows), pickle.loads(pickle.dumps(game))):
        np.testing.assert_array_equal(other.prefix_utilities(range(30)), expected)
