"""Games of any scikit-learn model, against plain loops and the compiled logistic game."""

from __future__ import annotations

import itertools
import pickle
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn
from sklearn import metrics
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_info, threadpool_limits

import naive
import ordinal_shapley as osv
from problems import random_problem, size, wine
from runs import sample_with

pytestmark = pytest.mark.filterwarnings("ignore:.*truncation ended:UserWarning")

PROBLEM = random_problem(2, n=6, n_valid=20, seed=1)
TREE = DecisionTreeClassifier(max_depth=2, random_state=0)


def game(estimator=TREE, problem=PROBLEM, **options):
    return osv.EstimatorGame(estimator, *problem, **options)


def regression(n=6, n_valid=15, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + n_valid, 2))
    y = X @ [2.0, -1.0] + 0.3 * rng.normal(size=n + n_valid) + 5.0
    return X[:n], y[:n], X[n:], y[n:]


def refitted(estimator, problem, sequence, score, weights=naive.gaussian_weights):
    X, y, X_valid, y_valid = problem
    rows = list(sequence)
    options = {} if weights is None else {"sample_weight": weights(len(rows))}
    return score(y_valid, clone(estimator).fit(X[rows], y[rows], **options).predict(X_valid))


class Watched(ClassifierMixin, BaseEstimator):
    """Predicts the commonest class; can fail and warn."""

    fits = 0

    def __init__(self, fails_at=None, warns=False):
        self.fails_at = fails_at
        self.warns = warns

    def fit(self, X, y, sample_weight=None):
        Watched.fits += 1
        if self.fails_at == len(y):
            raise ArithmeticError(f"cannot do {len(y)} rows")
        if self.warns:
            warnings.warn("this is odd", UserWarning, stacklevel=2)
        self.classes_ = np.unique(y)
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        masses = [weights[y == c].sum() for c in self.classes_]
        self.answer_ = self.classes_[int(np.argmax(masses))]
        return self

    def predict(self, X):
        return np.full(len(X), self.answer_)


# Utilities


@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy", "f1", "roc_auc", "neg_log_loss"])
@pytest.mark.parametrize("weight", ["gaussian", "uniform", lambda i, m: 1.0 + i / m])
def test_liblinear_is_the_compiled_game_prefix_by_prefix(scoring, weight):
    problem = wine()
    train, valid = problem.y < 2, problem.y_valid < 2
    problem = (problem.X[train], problem.y[train], problem.X_valid[valid], problem.y_valid[valid])
    model = LogisticRegression(solver="liblinear", tol=1e-12, max_iter=10_000)
    options = {"position_weight": weight, "scoring": scoring}
    ours = osv.EstimatorGame(model, *problem, **options)
    compiled = osv.LogisticGame(*problem, **options)
    assert ours.order_free == compiled.order_free
    assert ours.empty_value_ == compiled.empty_value_
    order = np.random.default_rng(3).permutation(compiled.n_players)[: size(60, 12)]
    found = [ours(order[:k]) for k in range(1, len(order) + 1)]
    expected = compiled.prefix_utilities(order)
    if scoring == "neg_log_loss":
        np.testing.assert_allclose(found, expected, atol=1e-7)
    elif scoring == "roc_auc":
        np.testing.assert_allclose(found, expected, rtol=1e-14)
    else:
        np.testing.assert_array_equal(found, expected)
    assert len(set(found)) > 3


@pytest.mark.parametrize("estimator", [TREE, make_pipeline(StandardScaler(), LogisticRegression())])
def test_classifiers_against_a_plain_loop(estimator):
    played = game(estimator)
    target = estimator
    if isinstance(estimator, Pipeline):
        target = PipelineAsOne(estimator)
    for sequence in naive.sequences_of(range(4)):
        expected = played.empty_value_
        if len(set(PROBLEM.y[list(sequence)])) == 2:
            expected = refitted(target, PROBLEM, sequence, metrics.accuracy_score)
        assert played(sequence) == expected, sequence


class PipelineAsOne(BaseEstimator):
    def __init__(self, pipeline):
        self.pipeline = pipeline

    def fit(self, X, y, sample_weight):
        self.fitted_ = clone(self.pipeline).fit(X, y, logisticregression__sample_weight=sample_weight)
        return self

    def predict(self, X):
        return self.fitted_.predict(X)


@pytest.mark.parametrize("scoring", [None, "r2", "neg_mean_squared_error"])
def test_regressors_against_a_plain_loop(scoring):
    problem = regression()
    played = osv.EstimatorGame(Ridge(alpha=0.5), *problem, scoring=scoring)
    score = metrics.r2_score
    if scoring == "neg_mean_squared_error":

        def score(truth, predicted):
            return -metrics.mean_squared_error(truth, predicted)

    for sequence in naive.sequences_of(range(4)):
        if sequence:
            expected = refitted(Ridge(alpha=0.5), problem, sequence, score)
            assert played(sequence) == pytest.approx(expected, rel=1e-12)
    constant = score(problem[3], np.full(len(problem[3]), problem[3].mean()))
    assert played(()) == played.empty_value_ == pytest.approx(constant, abs=1e-12)
    assert played.classes_ is None
    assert played.player_classes is None


def test_any_name_and_any_function_may_score():
    problem = PROBLEM

    def share_of_ones(model, X, y):
        return model.predict(X).mean() + y.mean()

    sequence = [0, 1, 2, 3]
    found = game(scoring=share_of_ones, empty_value=0.5)(sequence)
    model = clone(TREE).fit(problem.X[:4], problem.y[:4], sample_weight=naive.gaussian_weights(4))
    assert found == model.predict(problem.X_valid).mean() + problem.y_valid.mean()
    found = game(scoring="jaccard")
    assert found(sequence) == metrics.jaccard_score(problem.y_valid, model.predict(problem.X_valid))
    commonest = np.bincount(problem.y_valid).argmax()
    assert found(()) == metrics.jaccard_score(problem.y_valid, np.full(20, commonest), zero_division=0.0)


@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy", "f1", "neg_log_loss"])
def test_scores_of_three_classes_and_of_words(scoring):
    problem = random_problem(3, n=12, n_valid=30, n_classes=3, seed=2)
    words = np.array(["x", "y", "z"])
    named = problem._replace(y=words[problem.y], y_valid=words[problem.y_valid])
    sequence = np.arange(12)
    model = GaussianNB().fit(problem.X, problem.y, sample_weight=naive.gaussian_weights(12))
    if scoring == "neg_log_loss":
        probabilities = model.predict_proba(problem.X_valid)
        expected = -metrics.log_loss(problem.y_valid, probabilities)
    else:
        decided = model.predict(problem.X_valid)
        expected = naive.score_labels(problem.y_valid, decided, scoring, 3)
    objects = problem._replace(y=problem.y.astype(object), y_valid=problem.y_valid.astype(object))
    for data in (problem, named, objects):
        played = osv.EstimatorGame(GaussianNB(), *data, scoring=scoring)
        assert played(sequence) == pytest.approx(expected, abs=1e-12)
        assert played.empty_value_ == pytest.approx(naive.majority_score(problem.y_valid, scoring, 3))


def test_groups_and_sample_weights():
    owners = ["b", "a", "a", "b", "c", "c"]
    weights = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.0])
    played = game(GaussianNB(), groups=owners, sample_weight=weights)
    assert played.player_names.tolist() == ["a", "b", "c"]
    rows = [0, 3, 4, 5, 1, 2]  # b, c, a
    model = GaussianNB().fit(
        PROBLEM.X[rows], PROBLEM.y[rows], sample_weight=naive.gaussian_weights(6) * weights[rows]
    )
    assert played([1, 2, 0]) == model.score(PROBLEM.X_valid, PROBLEM.y_valid)
    assert game(GaussianNB(), sample_weight=weights, position_weight="uniform").order_free


def test_tables_as_they_are():
    """Words, missing values and sparse rows go to the model untouched."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"size": rng.normal(size=40), "colour": rng.choice(["red", "blue"], 40)},
        index=[f"row {i}" for i in range(40)],
    )
    y = np.where((frame["colour"] == "red") ^ (frame["size"] > 0.5), "in", "out")
    frame.iloc[::7, 0] = np.nan
    prepare = make_column_transformer((SimpleImputer(), ["size"]), (OneHotEncoder(), ["colour"]))
    model = make_pipeline(prepare, DecisionTreeClassifier(random_state=0))
    played = osv.EstimatorGame(model, frame[:20], y[:20], frame[20:], y[20:])
    assert played.player_names.tolist() == [f"row {i}" for i in range(20)]
    fitted = clone(model).fit(
        frame[:20], y[:20], decisiontreeclassifier__sample_weight=naive.gaussian_weights(20)
    )
    assert played(range(20)) == fitted.score(frame[20:], y[20:])
    sparse = scipy.sparse.coo_array(PROBLEM.X)
    played = osv.EstimatorGame(TREE, sparse, PROBLEM.y, PROBLEM.X_valid, PROBLEM.y_valid)
    assert played([3, 1, 0, 2]) == game()([3, 1, 0, 2])


# Sample weights


@pytest.mark.parametrize(
    "estimator",
    [
        GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9]}, cv=2),
        VotingClassifier([("a", GaussianNB()), ("b", GaussianNB())], voting="soft"),
        Pipeline([("all", Pipeline([("clf", GaussianNB())]))]),
    ],
)
def test_weights_reach_the_model_inside(estimator):
    problem = random_problem(2, n=30, n_valid=200, seed=5)
    order = np.argsort(problem.X[:, 0])  # so that weights by position move the model
    plain, inside = game(GaussianNB(), problem), game(estimator, problem)
    assert inside(order) == plain(order)
    assert plain(order) != game(GaussianNB(), problem, position_weight="uniform")(order)


def test_metadata_routing():
    with sklearn.config_context(enable_metadata_routing=True):
        model = make_pipeline(StandardScaler(), GaussianNB().set_fit_request(sample_weight=True))
        model[0].set_fit_request(sample_weight=False)
        found = game(model)([0, 3, 1, 2, 4])
        with pytest.raises(RuntimeError, match=r"failed on all rows .*set_fit_request"):
            osv.exact_values(game(make_pipeline(StandardScaler(), GaussianNB())), "partial_ordinal")
    assert found == game(make_pipeline(StandardScaler(), GaussianNB()))([0, 3, 1, 2, 4])


def test_models_without_weights():
    near = KNeighborsClassifier(1)
    with pytest.raises(ValueError, match="sample_weight"):
        game(near)
    with pytest.raises(ValueError, match="position_weight"):
        game(make_pipeline(StandardScaler(), near))
    with pytest.raises(ValueError, match="sample_weight"):
        game(near, position_weight="uniform", sample_weight=np.ones(6))
    played = game(near, position_weight="uniform")
    assert played.order_free
    assert played([4, 0, 1]) == refitted(near, PROBLEM, [0, 1, 4], metrics.accuracy_score, weights=None)
    values = osv.exact_values(played, "classic", n_jobs=1)
    assert abs(values.efficiency_gap) < 1e-12


def test_a_name_for_weights_may_be_given():
    class Own(GaussianNB):
        def fit(self, X, y, **weights):
            return super().fit(X, y, sample_weight=weights["importance"])

    played = game(Own(), weight_name="importance")
    assert played([0, 1, 2, 3]) == game(GaussianNB())([0, 1, 2, 3])
    with pytest.raises(ValueError, match="weight_name"):
        game(Own())


def test_order_of_rows_alone_can_matter():
    problem = random_problem(2, n=12, n_valid=60, seed=8)
    learner = SGDClassifier(shuffle=False, max_iter=1, tol=None)
    free = game(learner, problem, position_weight="uniform")
    ordered = game(learner, problem, position_weight="uniform", order_free=False)
    orders = [np.random.default_rng(k).permutation(12) for k in range(8)]
    assert len({free(order) for order in orders}) == 1
    assert len({ordered(order) for order in orders}) > 1
    with pytest.raises(ValueError, match="order_free"):
        game(learner, problem, order_free=True)


# Chance, memory, failures, warnings


def test_seeds():
    forest = make_pipeline(RandomForestClassifier(3, random_state=None))
    problem = random_problem(3, n=14, n_valid=60, seed=1)
    orders = [np.random.default_rng(k).permutation(14) for k in range(4)]
    found = [[game(forest, problem)(order) for order in orders] for _ in range(2)]
    assert found[0] == found[1]
    assert forest[0].random_state is None
    assert found[0] != [game(forest, problem, random_state=7)(order) for order in orders]
    fixed = RandomForestClassifier(3, random_state=5)
    assert game(fixed, problem).estimator.random_state == 5


@pytest.mark.slow
@pytest.mark.parametrize("run", [osv.exact_values, partial(osv.sample_values, n_permutations=2)])
def test_a_model_left_to_chance_is_reported(run):
    answers = itertools.chain([1.0, 0.0], itertools.repeat(0.5))  # the first of two fits of all rows
    left = game(scoring=lambda model, X, y: next(answers), empty_value=0.0)
    with pytest.warns(UserWarning, match="DecisionTreeClassifier"):
        run(left, n_jobs=1)


def fits_of(action):
    before = Watched.fits
    action()
    return Watched.fits - before


def test_nothing_is_fitted_before_it_is_used():
    made = []
    assert fits_of(lambda: made.append(game(Watched()))) == 0
    assert fits_of(lambda: made[0]([0, 1, 2])) == 1


NAMED = ["balanced_accuracy", "f1_macro", "jaccard_weighted", "roc_auc_ovr", "matthews_corrcoef"]


@pytest.mark.parametrize("scoring", NAMED)
def test_empty_value_of_any_score_is_that_of_a_dummy(scoring):
    X, y, X_valid, y_valid = problem = random_problem(2, n=8, n_classes=3)
    assert set(y) == set(y_valid) == {0, 1, 2}
    dummy = DummyClassifier(strategy="constant", constant=np.bincount(y_valid).argmax()).fit(X, y)
    assert game(TREE, problem, scoring=scoring).empty_value_ == metrics.get_scorer(scoring)(
        dummy, X_valid, y_valid
    )


@pytest.mark.parametrize(
    "scoring", ["neg_mean_absolute_error", "explained_variance", "neg_median_absolute_error"]
)
def test_empty_value_of_a_regressor_is_that_of_a_dummy(scoring):
    X, y, X_valid, y_valid = problem = regression()
    dummy = DummyRegressor(strategy="constant", constant=y_valid.mean()).fit(X, y)
    ours = game(Ridge(), problem, scoring=scoring).empty_value_
    assert ours == metrics.get_scorer(scoring)(dummy, X_valid, y_valid)


def test_each_sequence_is_fitted_once():
    played = game(Watched())
    orders = [[0, 1, 2], [2, 1, 0], [0, 1, 2, 3]]
    assert len(set(PROBLEM.y[[0, 1]])) == 2
    assert fits_of(lambda: [played(order) for order in orders * 3]) == 3
    assert fits_of(lambda: osv.exact_values(played, "partial_ordinal", n_jobs=1)) > 1000
    assert fits_of(lambda: osv.exact_values(played, "partial_ordinal", n_jobs=1)) == 0
    free = game(Watched(), position_weight="uniform")
    assert fits_of(lambda: [free(order) for order in orders * 3]) == 2
    subsets = [S for S in range(2**6) if len({PROBLEM.y[i] for i in range(6) if S >> i & 1}) == 2]
    free = game(Watched(), position_weight="uniform")
    assert (
        fits_of(lambda: osv.exact_values(free, "partial_ordinal", n_jobs=1)) == len(subsets) + 1
    )  # all rows twice


def test_memory_is_bounded():
    played = game(Watched(), cache_size=2)
    first, second, third = [0, 1], [1, 0], [0, 1, 2]
    assert fits_of(lambda: [played(S) for S in (first, second, first, third, first)]) == 3
    assert fits_of(lambda: played(second)) == 1
    without = game(Watched(), cache_size=0)
    assert fits_of(lambda: [without(first) for _ in range(3)]) == 3


def test_copies_in_a_process_share_what_they_know():
    played = game(Watched())
    sent = pickle.dumps(played)
    copies = [pickle.loads(sent) for _ in range(2)]
    assert fits_of(lambda: [copy([0, 1, 2]) for copy in copies]) == 1
    assert fits_of(lambda: played([0, 1, 2])) == 1


def test_failures_name_the_sequence():
    played = game(Watched(fails_at=4))
    with pytest.raises(RuntimeError, match=r"\(0, 1, 2, 3\)"):
        played([0, 1, 2, 3])
    with pytest.raises(RuntimeError, match=r"permutation 0: .*error_score"):
        osv.sample_values(played, "partial_ordinal", "mc", n_permutations=2, random_state=0)
    with pytest.raises(RuntimeError, match="for the sequence"):
        osv.exact_values(played, "partial_ordinal", n_jobs=1)
    failing = game(Watched(fails_at=6), error_score=0.0)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="Watched"):
            osv.exact_values(failing, "partial_ordinal", n_jobs=1)


def test_failures_may_have_a_score():
    played = game(Watched(fails_at=4), error_score=-3)
    assert played([0, 1, 2, 3]) == -3.0
    whole = game(Watched())
    assert played([0, 1, 2]) == whole([0, 1, 2])
    table = {S: whole(S) if len(S) != 4 else -3.0 for S in naive.sequences_of(range(6))}
    for S in table:
        if len(set(PROBLEM.y[list(S)])) < 2:
            table[S] = whole.empty_value_
    expected = naive.exact_partial_ordinal(naive.TableUtility(6, table), 6)
    np.testing.assert_allclose(
        osv.exact_values(played, "partial_ordinal", n_jobs=1).values, expected, atol=1e-12
    )


def not_finite(model, X, y):
    return float("nan")


def test_scores_must_be_numbers():
    with pytest.raises(RuntimeError, match="nan"):
        osv.exact_values(game(scoring=not_finite, empty_value=0.0), "partial_ordinal")
    with pytest.raises(RuntimeError, match="NaN"):
        sample_with(game(GaussianNB(), PROBLEM._replace(X=PROBLEM.X + np.nan)), n_permutations=2)
    with pytest.raises(ValueError, match="nan"):
        game(scoring=not_finite)
    with pytest.raises(ValueError, match="scoring"):
        game(scoring=lambda model, X, y: model.tree_.node_count)
    with pytest.raises(RuntimeError, match=r"scoring returned array"):
        game(scoring=lambda model, X, y: model.predict(X) == y, empty_value=0.0)((0, 1, 2))
    # What is called with the wrong arguments is told as such, and how it is made a score.
    for metric in (metrics.f1_score, lambda truth, predicted: 1.0):
        with pytest.raises(ValueError, match=r"scoring .*make_scorer"):
            game(scoring=metric, empty_value=0.0)


# Runs


@pytest.mark.slow
def test_any_number_of_processes_gives_the_same_bits():
    problem = random_problem(3, n=9, n_valid=40, seed=6)
    played = game(make_pipeline(StandardScaler(), LogisticRegression()), problem, scoring="neg_log_loss")
    options = {"n_permutations": 25, "random_state": 1}
    alone, both = (sample_with(played, n_jobs=n, **options) for n in (1, 2))
    np.testing.assert_array_equal(alone.values, both.values)
    np.testing.assert_array_equal(alone.stderr, both.stderr)
    fewer = PROBLEM._replace(X=PROBLEM.X[:5], y=PROBLEM.y[:5])
    small = game(make_pipeline(StandardScaler(), LogisticRegression()), fewer, scoring="neg_log_loss")
    exact = [osv.exact_values(small, "ordinal", n_jobs=n).values for n in (1, 2)]
    np.testing.assert_array_equal(*exact)
    failing = game(Watched(fails_at=4, warns=False))
    with pytest.raises(RuntimeError, match=r"permutation 0: .*Watched"):
        osv.sample_values(failing, "partial_ordinal", "mc", n_permutations=30, random_state=0, n_jobs=2)


def test_a_fit_has_one_thread_so_that_sums_have_one_order():
    seen = []

    def scorer(model, X, y):
        seen.extend(library["num_threads"] for library in threadpool_info())
        return 0.5

    with threadpool_limits(2):
        assert {library["num_threads"] for library in threadpool_info()} == {2}
        osv.sample_values(game(scoring=scorer, empty_value=0.0), "partial_ordinal", "mc", n_permutations=2)
    assert set(seen) == {1}


def test_runs_go_on_and_know_their_game(tmp_path):
    options = {"random_state": 4, "method": "tmc"}
    whole = sample_with(game(), n_permutations=30, **options)
    path = tmp_path / "run.npz"
    sample_with(game(), n_permutations=10, checkpoint=path, **options)
    resumed = sample_with(game(), n_permutations=30, checkpoint=path, **options)
    np.testing.assert_array_equal(resumed.values, whole.values)
    assert resumed.settings.digest == whole.settings.digest
    deeper = DecisionTreeClassifier(max_depth=3, random_state=0)
    for other, name in [
        (game(deeper), "estimator"),
        (game(problem=PROBLEM._replace(X=PROBLEM.X + 1)), "X"),
        (game(scoring="f1"), "scoring"),
        (game(error_score=0.0), "error_score"),
        (game(problem=PROBLEM._replace(y_valid=1 - PROBLEM.y_valid)), "y"),
    ]:
        with pytest.raises(ValueError, match=name):
            sample_with(other, n_permutations=30, checkpoint=path, **options)
    parts = [sample_with(game(), n_permutations=10, first_permutation=k, random_state=4) for k in (0, 10)]
    assert osv.Valuation.merge(parts).n_permutations == 20


# In scikit-learn's style


@pytest.mark.parametrize(
    ("style", "value", "weight"),
    [
        (osv.PartialOrdinalShapley, "partial_ordinal", "gaussian"),
        (osv.OrdinalShapley, "ordinal", "gaussian"),
        (osv.ClassicShapley, "classic", "uniform"),
    ],
)
def test_estimators_take_any_model(style, value, weight):
    model = make_pipeline(StandardScaler(), GaussianNB())
    shared = {"scoring": "balanced_accuracy", "empty_value": 0.25}
    options = {"fit_transformers": "each", "sampler": "mc", "n_permutations": 4, "random_state": 3}
    fitted = style(model, **options, **shared).fit(*PROBLEM)
    played = osv.EstimatorGame(model, *PROBLEM, position_weight=weight, **shared)
    expected = osv.sample_values(played, value, "mc", n_permutations=4, random_state=3)
    np.testing.assert_array_equal(fitted.values_, expected.values)
    assert fitted.valuation_.settings.digest == expected.settings.digest
    assert fitted.classes_.tolist() == [0, 1]
    nested = clone(fitted).set_params(estimator__gaussiannb__var_smoothing=0.1)
    assert nested.estimator[-1].var_smoothing == 0.1


def test_regressors_are_split_and_valued():
    X, y, _, _ = regression(n=20)
    fitted = osv.PartialOrdinalShapley(
        sampler="tmc", estimator=Ridge(), cv=None, n_permutations=3, random_state=0
    ).fit(X, y)
    assert fitted.values_.shape == (14,)
    assert fitted.classes_ is None
    assert fitted.game_.scoring == "r2"
    train, valid = fitted.train_indices_, fitted.valid_indices_
    played = osv.RidgeGame(X[train], y[train], X[valid], y[valid])
    expected = osv.sample_values(played, "partial_ordinal", "tmc", n_permutations=3, random_state=0)
    np.testing.assert_array_equal(fitted.values_, expected.values)
    fitted = osv.ClassicShapley(estimator=Ridge(), cv=None, n_permutations=2, random_state=0)
    owners = np.arange(20) // 4
    assert fitted.fit(X, y, groups=owners).values_.shape == (3,)
    with pytest.raises(ValueError, match="strata"):
        osv.PartialOrdinalShapley(sampler="ctmc", estimator=Ridge()).fit(X, y)
