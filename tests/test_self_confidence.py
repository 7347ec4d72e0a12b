"""What other rows say of labels: cross-validated probabilities, neighbours, and the rank made of them."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, KFold, RepeatedKFold, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

import ordinal_shapley as osv
from ordinal_shapley.experiments import combined_rank, self_confidence
from problems import JIT, wdbc, wine

X, Y, X_VALID, Y_VALID = wine(True)
NAMES = np.array(["red", "rose", "white"])


def plain(X, y, splits, model, X_more=None, y_more=None):
    """Probabilities of all classes by a loop, summed over the folds of a row."""
    classes = sorted(set(y))
    totals, times = np.zeros((len(y), len(classes))), np.zeros(len(y))
    for train, test in splits:
        rows, labels = X[train], y[train]
        if X_more is not None:
            rows, labels = np.vstack([rows, X_more]), np.concatenate([labels, y_more])
        model.fit(rows, labels)
        for i, row in zip(test, model.predict_proba(X[test]), strict=True):
            for label, p in zip(model.classes_, row, strict=True):
                totals[i, classes.index(label)] += p
            times[i] += 1
    return totals / times[:, None]


@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize(
    "splitter",
    [KFold(4), StratifiedKFold(3, shuffle=True, random_state=1), RepeatedKFold(n_splits=3, random_state=0)],
)
def test_probabilities_are_those_of_a_loop(splitter, trusted):
    noise = osv.corrupt_labels(NAMES[Y], random_state=0)
    y = noise.labels
    more = (X_VALID, NAMES[Y_VALID]) if trusted else ()
    expected = plain(X, y, splitter.split(X, y), GaussianNB(), *more)
    found = self_confidence(X, y, *more, estimator=GaussianNB(), cv=splitter)
    rows = np.arange(len(y))
    np.testing.assert_array_equal(found.given_label, y)
    np.testing.assert_array_equal(found.predicted_label, NAMES[expected.argmax(axis=1)])
    np.testing.assert_allclose(found.predicted_probability, expected.max(axis=1), rtol=1e-12)
    np.testing.assert_allclose(found.self_confidence, expected[rows, np.searchsorted(NAMES, y)], rtol=1e-12)


def test_disputed_labels_are_those_of_confident_learning():
    noise = osv.corrupt_labels(NAMES[Y], random_state=0)
    found = self_confidence(X, noise.labels, estimator=GaussianNB(), cv=3, random_state=0)
    usual = {
        name: np.mean(
            [p for p, label in zip(found.self_confidence, noise.labels, strict=True) if label == name]
        )
        for name in NAMES
    }
    columns = (found.given_label, found.predicted_label, found.predicted_probability)
    expected = [given != other and p >= usual[other] for given, other, p in zip(*columns, strict=True)]
    np.testing.assert_array_equal(found.disputed, expected)
    assert 0 < sum(expected) < np.sum(found.given_label != found.predicted_label)


def test_predictions_that_say_nothing_dispute_nothing():
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = np.arange(200) % 3 == 0
    found = self_confidence(X, y, random_state=0)
    assert found.accuracy <= found.majority == 133 / 200
    assert (found.given_label != found.predicted_label).any() and not found.disputed.any()


def test_folds_of_a_number_are_stratified_and_no_row_predicts_itself():
    # A model that knows its training rows by heart: a row in its own fold would be sure of its label.
    y = np.repeat([0, 1, 2], [50, 9, 3])
    seen = []

    class Memory(GaussianNB):
        def fit(self, X, y):
            seen.append(X[:, 0].astype(int))
            return super().fit(X, y)

    rows = np.arange(len(y), dtype=float)
    self_confidence(np.column_stack([rows, rows % 7]), y, estimator=Memory(), cv=4, random_state=0)
    tested = [np.setdiff1d(np.arange(len(y)), train) for train in seen]
    assert sorted(np.concatenate(tested)) == list(range(len(y)))
    counts = np.array([np.bincount(y[test], minlength=3) for test in tested])
    assert (np.ptp(counts, axis=0) <= 1).all()
    assert np.ptp(counts.sum(axis=1)) <= 1


@pytest.mark.slow
def test_the_default_is_a_forest_with_leaves_of_some_rows():
    splits = list(KFold(3).split(X))
    model = RandomForestClassifier(200, min_samples_leaf=3, random_state=7)
    expected = plain(X, Y, splits, model)[np.arange(len(Y)), Y]
    found = self_confidence(X, Y, cv=splits, random_state=7)
    np.testing.assert_allclose(found.self_confidence, expected, rtol=1e-9)
    frame = self_confidence(pd.DataFrame(X), Y, cv=splits, random_state=7)
    np.testing.assert_array_equal(frame.self_confidence, found.self_confidence)
    thin = self_confidence(sparse.csr_matrix(X), Y, sparse.coo_matrix(X_VALID), Y_VALID, cv=2, random_state=7)
    whole = self_confidence(X, Y, X_VALID, Y_VALID, cv=2, random_state=7)
    np.testing.assert_allclose(thin.self_confidence, whole.self_confidence, rtol=1e-9)
    np.testing.assert_allclose(thin.agreeing_neighbors, whole.agreeing_neighbors)


@pytest.mark.slow
def test_it_finds_wrong_labels():
    for problem in (wine(True), wdbc(True)):
        noise = osv.corrupt_labels(problem.y, random_state=1)
        rows = problem.X, noise.labels, problem.X_valid, problem.y_valid
        found = self_confidence(*rows, random_state=0)
        assert osv.detect_noisy_labels(found.self_confidence, noise).auc > 0.95
        assert osv.detect_noisy_labels(found.agreeing_neighbors, noise).auc > 0.85
        assert (found.self_confidence <= found.predicted_probability).all()
        same = found.given_label == found.predicted_label
        np.testing.assert_array_equal(found.self_confidence[same], found.predicted_probability[same])


def test_a_seed_gives_the_same_folds():
    for model in (None, GaussianNB()):
        runs = [
            self_confidence(X, Y, estimator=model, cv=2, random_state=seed, n_jobs=n_jobs)
            for seed, n_jobs in ((1, None), (1, 2), (2, 1))
        ]
        one, two, other = (run.self_confidence for run in runs)
        np.testing.assert_array_equal(one, two)
        assert (one != other).any()


@pytest.mark.parametrize("sizes", [(20, 3), (20, 1), (4, 3, 3), (1, 1), (2, 2, 2, 1)])
def test_rare_classes(sizes):
    y = np.repeat(np.arange(len(sizes)), sizes)
    rows = np.random.default_rng(0).normal(size=(len(y), 2)) + y[:, None]
    cv = min(5, len(y))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = self_confidence(rows, y, estimator=LogisticRegression(), cv=cv, random_state=0)
        trusted = self_confidence(rows, y, rows, y, estimator=LogisticRegression(), cv=cv, random_state=0)
    for evidence in (found, trusted):
        assert np.isfinite(evidence.self_confidence).all()
        assert np.isfinite(evidence.agreeing_neighbors).all()
    alone = np.isin(y, np.flatnonzero(np.array(sizes) == 1))
    assert (found.self_confidence[alone] == 0).all()
    assert (trusted.self_confidence > 0).all()


def test_frames_of_text_with_a_pipeline():
    frame = pd.DataFrame(
        {"age": [30.0, 41, 25, 60, 33, 52] * 6, "job": ["a", "b", "a", "c", "b", None] * 6},
        index=[f"row {k}" for k in range(36)],
    )
    y = pd.Series(["no", "yes", "no", "yes", "yes", "yes"] * 6, index=frame.index)
    model = make_pipeline(osv.column_pipeline(frame, impute=True), LogisticRegression())
    found = self_confidence(frame.iloc[:30], y[:30], frame.iloc[30:], y[30:], estimator=model, random_state=0)
    assert found.agreeing_neighbors is None
    table = found.to_frame()
    assert list(table.index) == list(frame.index[:30])
    assert list(table.columns) == [
        "given_label",
        "predicted_label",
        "self_confidence",
        "predicted_probability",
    ]
    assert (table["given_label"] == table["predicted_label"]).mean() > 0.9
    with pytest.raises(TypeError, match="X has column 'job'"):
        self_confidence(frame, y)
    numbers = self_confidence(frame[["age"]], y, cv=2).to_frame()
    assert list(numbers.index) == list(frame.index)
    assert numbers["agreeing_neighbors"].between(0, 1).all()


def test_missing_values_are_for_estimators_that_take_them():
    gaps = X.copy()
    gaps[::7, 0] = np.nan
    found = self_confidence(gaps, Y, estimator=RandomForestClassifier(20, random_state=0), random_state=0)
    assert found.agreeing_neighbors is None
    with pytest.raises(ValueError, match=r"X .*missing"):
        self_confidence(gaps, Y)


def test_neighbours_are_the_nearest_other_rows_of_scaled_features():
    rows = np.column_stack([X[:30, 0], 1e6 * X[:30, 1]])
    labels = Y[:30]
    found = self_confidence(rows, labels, estimator=GaussianNB(), n_neighbors=4, cv=3)
    z = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    for i in range(30):
        away = ((z - z[i]) ** 2).sum(axis=1)
        near = [j for j in np.argsort(away) if j != i][:4]
        assert found.agreeing_neighbors[i] == np.mean(labels[near] == labels[i])
    few = self_confidence(rows[:6], [0, 1, 0, 1, 0, 1], estimator=GaussianNB(), n_neighbors=50, cv=2)
    assert few.n_neighbors == 5
    np.testing.assert_allclose(few.agreeing_neighbors, 2 / 5)


def test_splits_that_hold_owners_out():
    owners = np.arange(len(Y)) // 9
    splits = list(GroupKFold(5).split(X, Y, owners))
    found = self_confidence(X, Y, estimator=GaussianNB(), cv=splits)
    again = self_confidence(X, Y, estimator=GaussianNB(), cv=iter(splits))
    np.testing.assert_array_equal(found.self_confidence, again.self_confidence)


def test_an_estimator_that_fails_says_so():
    class Failing(GaussianNB):
        def fit(self, X, y):
            raise ValueError("no luck")

    class Mute(GaussianNB):
        def predict_proba(self, X):
            return np.full((len(X), 3), np.nan)

    with pytest.raises(ValueError, match=r"^estimator.*no luck"):
        self_confidence(X, Y, estimator=Failing())
    with pytest.raises(RuntimeError, match=r"^estimator"):
        self_confidence(X, Y, estimator=Mute())


# --- the rank by values and probabilities


def test_the_rank_follows_each_where_the_other_is_silent():
    values = np.array([3.0, -1, 2, 0, 5])
    by_value = [4, 1, 3, 2, 5]
    assert combined_rank(values, np.full(5, 0.7)).tolist() == by_value
    assert combined_rank(np.full(5, 0.3), [0.9, 0.3, 0.5, 0.1, 0.7]).tolist() == [5, 2, 3, 1, 4]
    assert combined_rank(values * 1e-200, np.full(5, 0.7)).tolist() == by_value
    assert combined_rank(np.full(3, np.nan), [0.9, 0.3, 0.5]).tolist() == [3, 1, 2]
    assert combined_rank([1.0, np.nan, -1.0], [0.5, 0.5, 0.5]).tolist() == [3, 2, 1]
    assert combined_rank([1.0, 1.0], [0.5, 0.5]).tolist() == [1, 2]


def test_the_rank_is_log_odds_and_a_third_of_the_value_in_standard_deviations():
    random = np.random.default_rng(0)
    values, p = random.normal(3, 7, size=40), random.uniform(0.01, 0.99, size=40)
    score = np.log(p / (1 - p)) + (values - values.mean()) / values.std() / 3
    order = np.argsort(score)
    ranks = combined_rank(values, p)
    np.testing.assert_array_equal(ranks[order], np.arange(1, 41))
    np.testing.assert_array_equal(combined_rank(values * 1e-6 + 4, p), ranks)
    # Models that say 0 or 1 leave it to values among such rows.
    assert combined_rank([1.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]).tolist() == [2, 1, 3, 4]


def test_the_rank_takes_results_as_they_are():
    problem = wine(True).first(30)
    fitted = osv.OrdinalShapley(n_permutations=3, random_state=0).fit(*problem)
    evidence = self_confidence(problem.X, problem.y, estimator=GaussianNB(), cv=3)
    expected = combined_rank(fitted.values_, evidence.self_confidence)
    for values in (fitted, fitted.valuation_, pd.Series(fitted.values_)):
        np.testing.assert_array_equal(combined_rank(values, evidence), expected)


@pytest.fixture(scope="module")
def fitted():
    wine = osv.datasets.load_wine()
    noise = osv.corrupt_labels(wine.y, fraction=0.2, random_state=0)
    return osv.OrdinalShapley(n_permutations=200, random_state=0).fit(wine.X, noise.labels), noise


@pytest.mark.skipif(not JIT, reason="forests and fits take minutes")
class TestBesideValues:
    def test_tables_have_both(self, fitted):
        valuation = fitted[0].valuation_
        frame = valuation.to_frame()
        assert frame["given_label"].tolist() == fitted[1].labels.tolist()
        assert frame["combined_rank"].tolist() == combined_rank(valuation, valuation.evidence).tolist()

    def test_suspects_are_those_of_both_by_the_combined_rank(self, fitted):
        valuation, noise = fitted[0].valuation_, fitted[1]
        suspects = valuation.suspects()
        assert suspects["combined_rank"].is_monotonic_increasing
        frame = valuation.to_frame()
        listed = frame["below_zero"] | valuation.evidence.disputed
        assert sorted(suspects.index) == frame.index[listed].tolist()
        assert suspects.index[: len(noise.rows)].isin(noise.rows).mean() > 0.85
        # A false discovery rate is about values: evidence then only orders.
        assert valuation.suspects(fdr=0.1)["below_zero"].all()

    def test_files_keep_it(self, fitted, tmp_path):
        valuation = fitted[0].valuation_
        valuation.save(tmp_path / "v.npz")
        loaded = osv.Valuation.load(tmp_path / "v.npz")
        pd.testing.assert_frame_equal(loaded.to_frame(), valuation.to_frame())
        with np.load(tmp_path / "v.npz") as file:
            arrays = dict(file)
        np.savez(tmp_path / "v.npz", **arrays | {"evidence.self_confidence": np.ones(3)})
        with pytest.raises(ValueError, match="evidence"):
            osv.Valuation.load(tmp_path / "v.npz")

    def test_text_and_missing_values(self):
        rng = np.random.default_rng(0)
        y = np.array(["no", "yes"])[np.arange(60) % 2]
        frame = pd.DataFrame({"a": rng.normal(size=60) + (y == "yes"), "b": np.where(y == "yes", "u", "v")})
        frame.loc[3, "a"] = np.nan
        columns = osv.column_pipeline(frame, impute=True)
        model = make_pipeline(columns, LogisticRegression())
        fitted = osv.OrdinalShapley(model, n_permutations=50, random_state=0).fit(frame, y)
        assert (fitted.valuation_.evidence.self_confidence > 0.5).mean() > 0.8

    def test_without(self):
        wine = osv.datasets.load_wine()
        for options, more in (({"evidence": False}, {}), ({}, {"groups": np.arange(178) % 9})):
            fitted = osv.OrdinalShapley(n_permutations=50, random_state=0, **options)
            assert fitted.fit(wine.X, wine.y, **more).valuation_.evidence is None

    def test_values_are_kept_where_it_fails(self):
        rng = np.random.default_rng(0)
        y = np.arange(40) % 2
        frame = pd.DataFrame({"a": rng.normal(size=40) + y, "when": pd.date_range("2020-01-01", periods=40)})
        numbers = ColumnTransformer([("numbers", "passthrough", ["a"])])
        model = make_pipeline(numbers, LogisticRegression())
        with pytest.warns(UserWarning, match="evidence"):
            fitted = osv.OrdinalShapley(model, n_permutations=50, random_state=0).fit(frame, y)
        assert np.isfinite(fitted.values_).all()
        assert fitted.valuation_.evidence is None
