"""The ridge game against scikit-learn and against least squares."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.linear_model import Ridge

import naive
import ordinal_shapley as osv
from problems import size


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
