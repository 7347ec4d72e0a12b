"""What a result says of the model of all rows, and of guessing on the same validation rows."""

from __future__ import annotations

import dataclasses
import json
import time
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import get_scorer
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import ordinal_shapley as osv
from ordinal_shapley.report.text import baseline_of, is_better, score_words
from ordinal_shapley.sampling import ahead
from ordinal_shapley.sampling.ahead import target_score
from ordinal_shapley.sampling.shards import random_orders
from problems import size, wine


def value(game, **options):
    options = {"n_permutations": 2, "random_state": 0} | options
    return osv.sample_values(game, **options)


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
        osv.EstimatorGame(
            DecisionTreeClassifier(max_depth=1), X, y, X_valid, y_valid, scoring=scoring, empty_value=-1.0
        ),
    ):
        assert value(game).guess_score == pytest.approx(expected, rel=1e-14)


def test_guessing_where_decisions_are_not_all():
    problem = rows(classes=2)
    assert value(osv.LogisticGame(*problem, scoring="roc_auc", empty_value=0.0)).guess_score == 0.5
    game = osv.LogisticGame(*problem, scoring="neg_log_loss", empty_value=-3.0)
    assert value(game).guess_score == pytest.approx(np.log(0.5))


@pytest.mark.parametrize("scoring", ["r2", "neg_mean_squared_error"])
def test_guessing_numbers_is_the_mean(scoring):
    X, _, X_valid, _ = rows()
    y, y_valid = X[:, 0] + 0.1 * X[:, 1], X_valid[:, 0] + 0.1 * X_valid[:, 1]
    result = value(osv.RidgeGame(X[:, 1:], y, X_valid[:, 1:], y_valid, scoring=scoring, empty_value=-5.0))
    dummy = DummyRegressor().fit(X_valid, y_valid)
    expected = get_scorer(scoring)(dummy, X_valid, y_valid)
    assert result.guess_score == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_a_score_of_ones_own_is_not_asked_what_guessing_does():
    def depth(model, X, y):
        return float(model.get_depth())

    game = osv.EstimatorGame(
        DecisionTreeClassifier(max_depth=1),
        *rows(),
        scoring=depth,
        empty_value=0.0,
        position_weight="uniform",
    )
    result = value(game)
    assert (result.full_score, result.guess_score) == (1.0, None)
    assert is_better(result) is None
    assert score_words(result) == "1 by the model of all rows"


def test_a_score_that_is_for_no_constant_prediction():
    # Counts that are all 0 have a mean that this score refuses.
    X, _, X_valid, _ = rows()
    options = {"scoring": "neg_mean_poisson_deviance", "empty_value": -9.0, "position_weight": "uniform"}
    counts = np.exp(X[:, 0]), np.zeros(len(X_valid))
    game = osv.EstimatorGame(DecisionTreeRegressor(max_depth=1), X, counts[0], X_valid, counts[1], **options)
    result = value(game)
    assert result.full_score == game(range(40)) < 0
    assert result.guess_score is None


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
    assert result.guess_score == game.guess_score
    if refuses:
        assert (result.full_score, is_better(result), score_words(result, game)) == (None, None, "")
    else:
        assert result.full_score == game(random_orders(40, 1, 1)[0])


def test_its_time_counts(monkeypatch):
    def slow(*arguments):
        time.sleep(0.2)
        return [SimpleNamespace(utilities=[1.0])] * 10

    monkeypatch.setattr(ahead, "looks", slow)
    X, _, X_valid, _ = rows(n=12)
    game = osv.RidgeGame(X[:, 1:], X[:, 0], X_valid[:, 1:], X_valid[:, 0])
    assert value(game).seconds >= 0.2
    with pytest.raises(TimeoutError, match=r"0\.\d+ s went into the score of the model of all rows; give"):
        value(game, stopping=osv.MaxSeconds(0.1))


def test_players_without_rows_have_none():
    result = value(osv.TableGame(2, {(0, 1): 1.0}))
    assert (result.full_score, result.guess_score, score_words(result)) == (None, None, "")
    assert "full_score" not in repr(result)


def test_its_fits_are_not_counted():
    X, _, X_valid, _ = rows(n=12)
    game = osv.RidgeGame(X[:, 1:], X[:, 0], X_valid[:, 1:], X_valid[:, 0])
    result = value(game, n_permutations=3)
    assert result.n_evaluations == 3 * 12


def test_any_number_of_workers_gives_the_same_score():
    game = osv.LogisticGame(*rows())
    expected = np.mean([game(order) for order in random_orders(40, 0, 10)])
    assert [value(game, n_jobs=k).full_score for k in (1, 2)] == [expected] * 2


def test_words_say_when_the_model_is_no_better():
    result = value(osv.LogisticGame(*rows()))
    good, equal, bad = (
        dataclasses.replace(result, full_score=full, guess_score=0.5) for full in (0.75, 0.5, 0.25)
    )
    assert [is_better(r) for r in (good, equal, bad)] == [True, False, False]
    assert score_words(good) == "0.75 by the model of all rows, 0.5 by a constant prediction"
    game = SimpleNamespace(scoring="roc_auc", order_free=False, scored_orders=10)
    assert score_words(bad, game) == (
        "0.25 by the model of all rows (the mean over random orders), 0.5 by a constant prediction: no "
        "better, so these values say little"
    )
    game.scored_orders = 1
    assert "all rows (in a random order), 0.5" in score_words(bad, game)
    assert "no better" in score_words(equal)
    assert repr(good).endswith("full_score=0.75, guess_score=0.5)")
    # Rounding makes no model better: r2 of a mean is 0 to some digits only.
    assert is_better(dataclasses.replace(result, full_score=0.1 + 0.2, guess_score=0.3)) is False


@pytest.mark.parametrize(
    ("scoring", "classes", "words"),
    [
        ("accuracy", True, "the majority-class baseline"),
        ("roc_auc", True, "a constant prediction"),
        ("neg_log_loss", True, "a constant prediction"),
        ("r2", False, "always predicting the mean"),
        (lambda model, X, y: 0.0, True, "the majority-class baseline"),
    ],
)
def test_what_guessing_is_called(scoring, classes, words):
    # Games of numbers lack the attribute, or have none.
    numbers = [SimpleNamespace(scoring=scoring), SimpleNamespace(scoring=scoring, classes_=None)]
    for game in [SimpleNamespace(scoring=scoring, classes_=["no", "yes"])] if classes else numbers:
        assert baseline_of(game) == words


def test_files_keep_it_and_older_ones_lack_it(tmp_path):
    game = osv.LogisticGame(*rows())
    result, path = value(game), tmp_path / "values.npz"
    result.save(path)
    back = osv.Valuation.load(path)
    assert (back.full_score, back.guess_score) == (result.full_score, result.guess_score)

    with np.load(path) as file:
        parts = dict(file)
    header = json.loads(str(parts["header"]))
    del header["optional"]
    np.savez(path, **parts | {"header": np.array(json.dumps(header))})
    older = osv.Valuation.load(path)
    assert (older.full_score, older.guess_score) == (None, None)
    assert np.array_equal(older.values, result.values)

    # Pooled with one that knows, it is known.
    more = value(game, first_permutation=2)
    for parts in ([older, more], [more, older]):
        pooled = osv.Valuation.merge(parts)
        assert (pooled.full_score, pooled.guess_score) == (result.full_score, result.guess_score)


@pytest.fixture
def noise(tmp_path):
    rng = np.random.default_rng(0)
    n = 60
    frame = pd.DataFrame({"a": rng.normal(size=n), "t": np.where(np.arange(n) % 3, "no", "yes")})
    frame.to_csv(tmp_path / "noise.csv", index=False)
    return tmp_path / "noise.csv"


def test_the_command_says_it(run, noise):
    arguments = ("value", noise, "--target", "t", "--permutations", 10)
    code, shown, _ = run(*arguments)
    assert code == 0
    line = next(line for line in shown.splitlines() if line.startswith("score"))
    assert "by the model of all rows (the mean over random orders), 0.6667 by the majority" in line
    assert line.rstrip().endswith("no better, so these values say little")
    score = json.loads(run(*arguments, "--json")[1])["score"]
    assert score["guessing"] == pytest.approx(2 / 3)
    assert score["all_rows"] <= 2 / 3
    assert score["better_than_guessing"] is False


def test_a_good_model_is_not_complained_of(run):
    arguments = ("value", "--dataset", "wine", "--value", "classic", "--permutations", 2)
    code, shown, _ = run(*arguments)
    assert code == 0
    assert "no better" not in shown
    assert "of all rows, 0.3889 by the majority-class baseline" in shown
    assert json.loads(run(*arguments, "--json")[1])["score"]["better_than_guessing"] is True


def test_page_and_notebook_say_it():
    result = value(osv.LogisticGame(*rows()))
    sentence = "The model of all rows is no better than the baseline"
    poor = dataclasses.replace(result, full_score=0.3, guess_score=0.4)
    assert sentence not in result.to_html()
    page = poor.to_html()
    assert sentence in page
    assert "0.3 by the model of all rows, 0.4 by a constant prediction: no better" in page
    assert "0.3 by the model of all rows, 0.4 by a constant prediction: no better" in poor._repr_html_()


def dear(game):
    """The same game, whose models of all rows take long, it says."""
    game._much = 0.0
    return game


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_of_dear_models_two_are_enough_if_they_agree(n_jobs):
    which = set()
    for seed in range(6):
        game = osv.LogisticGame(*rows())
        scores = np.array([game(order) for order in random_orders(40, seed, 10)])
        agree = np.std(scores[:2], ddof=1) / np.sqrt(2) <= 0.005 * scores[:2].mean()
        which.add(bool(agree))
        found = value(dear(game), n_permutations=1, random_state=seed, n_jobs=n_jobs).full_score
        assert found == np.mean(scores[:2] if agree else scores)
    assert which == {True, False}


@pytest.mark.parametrize(("tol", "orders"), [(10.0, 2), (0.0, 20)])
def test_what_patience_compares_with_takes_few_dear_models(tol, orders):
    rule = osv.Truncation.patience(tol=tol)
    options = {"method": "tmc", "truncation": rule, "n_permutations": 3}
    game = osv.LogisticGame(*rows())
    scores = [game(order) for order in random_orders(40, 0, 20)]
    assert len(set(scores[:2])) == 2
    usual = value(game, **options)
    few = value(dear(game), **options)
    # With one tolerance all walks end at once, with the other the target is the same.
    assert usual.n_evaluations - few.n_evaluations == 20 - orders
    assert target_score(game, rule, 0) == np.mean(scores[:orders])


def test_where_order_plays_no_part_one_dear_model_is_enough():
    game = dear(osv.LogisticGame(*rows(), position_weight="uniform"))
    rule = osv.Truncation.patience(tol=0.01)
    result = value(game, method="tmc", truncation=rule, n_permutations=1)
    usual = value(
        osv.LogisticGame(*rows(), position_weight="uniform"), method="tmc", truncation=rule, n_permutations=1
    )
    assert usual.n_evaluations - result.n_evaluations == 19
    assert result.full_score == usual.full_score == game(range(40))
