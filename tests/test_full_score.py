"""What a result says of the model of all rows, and of guessing on the same validation rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import get_scorer
from sklearn.tree import DecisionTreeClassifier

import naive
import ordinal_shapley as osv
from ordinal_shapley.report.text import is_better, score_words
from problems import size, wine
from runs import sample_with

STUMP = DecisionTreeClassifier(max_depth=1)


def value(game, **options):
    options = {"n_permutations": 2, "random_state": 0} | options
    return sample_with(game, **options)


def rows(n=40, seed=0, classes=3):
    """The classes of Wine, or its first class against the rest."""
    problem = wine()
    keep = np.random.default_rng(seed).permutation(len(problem.y))[:n]
    y, y_valid = (np.minimum(codes, classes - 1) for codes in (problem.y, problem.y_valid))
    return problem.X[keep][:, :4], y[keep], problem.X_valid[:, :4], y_valid


@pytest.mark.parametrize("seed", [0, 1])
def test_where_order_plays_no_part_it_is_the_utility_of_all(seed):
    games = [
        osv.LogisticGame(*rows(seed=seed), position_weight="uniform"),
        osv.NearestNeighborGame(*rows(seed=seed), position_weight="uniform"),
        osv.EstimatorGame(DecisionTreeClassifier(max_depth=2), *rows(seed=seed), position_weight="uniform"),
    ]
    for game in games:
        assert value(game).full_score == game(range(40))


def test_where_order_matters_it_is_the_mean_over_random_orders():
    game = osv.LogisticGame(*rows())
    rng = np.random.default_rng(0)
    scores = np.array([game(rng.permutation(40)) for _ in range(size(400, 60))])
    assert scores.std() > 0
    results = [value(game, n_permutations=1, random_state=seed).full_score for seed in range(size(20, 4))]
    assert len(set(results)) > 1
    # Means of ten, each of other orders.
    assert np.mean(results) == pytest.approx(scores.mean(), abs=5 * scores.std() / np.sqrt(10 * len(results)))


@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy"])
@pytest.mark.parametrize("classes", [2, 3])
def test_guessing_is_the_majority_class(scoring, classes):
    X, y, X_valid, y_valid = rows(classes=classes)
    dummy = DummyClassifier(strategy="most_frequent").fit(X_valid, y_valid)
    expected = get_scorer(scoring)(dummy, X_valid, y_valid)
    for game in (
        osv.LogisticGame(X, y, X_valid, y_valid, scoring=scoring),
        osv.NearestNeighborGame(X, y, X_valid, y_valid, scoring=scoring, empty_value=0.0),
        osv.EstimatorGame(STUMP, X, y, X_valid, y_valid, scoring=scoring, empty_value=-1.0),
    ):
        assert value(game).baseline_score == pytest.approx(expected, rel=1e-14)


def test_guessing_where_decisions_are_not_all():
    problem = rows(classes=2)
    assert value(osv.LogisticGame(*problem, scoring="roc_auc", empty_value=0.0)).baseline_score == 0.5
    game = osv.LogisticGame(*problem, scoring="neg_log_loss", empty_value=-3.0)
    assert value(game).baseline_score == pytest.approx(np.log(0.5))


@pytest.mark.parametrize("scoring", ["r2", "neg_mean_squared_error"])
def test_guessing_numbers_is_the_mean(scoring):
    X, _, X_valid, _ = rows()
    y, y_valid = X[:, 0] + 0.1 * X[:, 1], X_valid[:, 0] + 0.1 * X_valid[:, 1]
    result = value(osv.RidgeGame(X[:, 1:], y, X_valid[:, 1:], y_valid, scoring=scoring, empty_value=-5.0))
    dummy = DummyRegressor().fit(X_valid, y_valid)
    expected = get_scorer(scoring)(dummy, X_valid, y_valid)
    assert result.baseline_score == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_a_score_of_ones_own_is_not_asked_what_guessing_does():
    def depth(model, X, y):
        return float(model.get_depth())

    game = osv.EstimatorGame(STUMP, *rows(), scoring=depth, empty_value=0.0, position_weight="uniform")
    result = value(game)
    assert (result.full_score, result.baseline_score, is_better(result)) == (1.0, None, None)


class Picky(DecisionTreeClassifier):
    """Counts the fits to all rows, and refuses them in any but the given order if told to."""

    fits = 0
    refuses = False

    def fit(self, X, y, sample_weight=None):
        if len(X) == 40:
            Picky.fits += 1
            if Picky.refuses and not np.array_equal(X, rows()[0]):
                raise ValueError("too picky")
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("refuses", [False, True])
def test_a_model_outside_of_kernels_is_fitted_to_all_rows_once(monkeypatch, refuses):
    monkeypatch.setattr(Picky, "refuses", refuses)
    game = osv.EstimatorGame(Picky(max_depth=2, random_state=0), *rows())
    value(game, method="cmc", n_permutations=1)  # which begins with the rows in their given order
    monkeypatch.setattr(Picky, "fits", 0)
    # Random orders of a part of each class: no walk takes all rows.
    result = value(game, method="cmc", n_permutations=1, random_state=1)
    assert Picky.fits == 1
    assert result.values.any()
    assert result.baseline_score == game.baseline_score
    if refuses:
        assert (result.full_score, is_better(result), score_words(result, game)) == (None, None, "")
    else:
        assert result.full_score == game(naive.permutation(1 ^ 0x5DEECE66D, 0, [list(range(40))], [40]))


def test_players_without_rows_have_none():
    result = value(osv.TableGame(2, {(0, 1): 1.0}))
    assert (result.full_score, result.baseline_score, score_words(result)) == (None, None, "")
    assert "full_score" not in repr(result)


def test_its_fits_are_not_counted():
    X, _, X_valid, _ = rows(n=12)
    game = osv.RidgeGame(X[:, 1:], X[:, 0], X_valid[:, 1:], X_valid[:, 0])
    result = value(game, n_permutations=3)
    assert result.n_evaluations == 3 * 12


def test_files_keep_it(tmp_path):
    game = osv.LogisticGame(*rows())
    result, path = value(game), tmp_path / "values.npz"
    result.save(path)
    back = osv.Valuation.load(path)
    assert (back.full_score, back.baseline_score) == (result.full_score, result.baseline_score)
