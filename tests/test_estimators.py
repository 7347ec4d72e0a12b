"""The scikit-learn style front: parameters, the split it makes, and that it adds nothing else."""

from __future__ import annotations

import copy
import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import train_test_split
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

import ordinal_shapley as osv
from ordinal_shapley import (
    ClassicShapley,
    LogisticGame,
    MaxPermutations,
    OrdinalShapley,
    PartialOrdinalShapley,
    sample_values,
)
from problems import wine
from runs import sampler_of

# On data this small, most walks end as soon as they may, which the library warns of.
pytestmark = pytest.mark.filterwarnings("ignore:.*truncation ended")

BOTH = pytest.mark.parametrize("estimator", [PartialOrdinalShapley, ClassicShapley])


def data(n=24, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    rng.shuffle(y)
    X = rng.normal(size=(n, 3))
    X[:, 0] += y
    return X, y


def small(estimator=PartialOrdinalShapley, **changes):
    """An estimator that holds rows out, which takes fewer permutations than folds do."""
    return estimator(**{"n_permutations": 4, "random_state": 3, "cv": None, "evidence": False} | changes)


def assert_same_fit(a, b):
    np.testing.assert_array_equal(a.values_, b.values_)
    np.testing.assert_array_equal(a.valuation_.stderr, b.valuation_.stderr)
    np.testing.assert_array_equal(a.valuation_.counts, b.valuation_.counts)


class TestParameters:
    @BOTH
    def test_init_only_stores(self, estimator):
        odd = {name: object() for name in estimator().get_params(deep=False)}
        model = estimator(**odd)
        assert {name: getattr(model, name) for name in odd} == odd
        assert model.get_params(deep=False) == odd
        assert not [name for name in vars(model) if name.endswith("_")]

    @BOTH
    def test_before_fit(self, estimator):
        model = estimator()
        for name in ("values_", "valuation_", "game_", "classes_", "n_features_in_"):
            with pytest.raises(NotFittedError, match=name):
                getattr(model, name)
            assert not hasattr(model, name)  # it is an AttributeError as well
        with pytest.raises(NotFittedError):
            check_is_fitted(model)
        with pytest.raises(AttributeError, match="no attribute 'value_'") as caught:
            model.value_  # noqa: B018
        assert not isinstance(caught.value, NotFittedError)
        for copied in (copy.copy(model), pickle.loads(pickle.dumps(model))):
            assert copied.get_params() == model.get_params()

    def test_signatures_differ_in_position_and_size_weights_only(self):
        partial, classic = (
            dict(inspect.signature(e).parameters) for e in (PartialOrdinalShapley, ClassicShapley)
        )
        assert partial.pop("position_weight").default == "gaussian"
        assert classic.pop("size_weights").default is None
        assert {n: p.default for n, p in partial.items()} == {n: p.default for n, p in classic.items()}
        with pytest.raises(ValueError, match="position_weight"):
            ClassicShapley().set_params(position_weight="gaussian")


# What scikit-learn checks and is otherwise here.
OTHERWISE = {
    "check_complex_data": "the message has expected real numbers for scikit-learn's not supported",
    "check_all_zero_sample_weights_error": "the message has a 0 for scikit-learn's zero",
    "check_estimators_empty_data_messages": "the message has no for scikit-learn's 0",
    "check_fit2d_1sample": "the message is about rows that cannot be both valued and held out",
}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        kind(n_permutations=2, evidence=False, random_state=0)
        for kind in (ClassicShapley, OrdinalShapley, PartialOrdinalShapley)
    ],
    expected_failed_checks=lambda _: OTHERWISE,
)
def test_scikit_learn_s_own_checks(estimator, check):
    check(estimator)


class TestGivenValidation:
    @pytest.mark.parametrize("method", ["mc", "tmc", "cmc", "ctmc"])
    @pytest.mark.parametrize(
        ("estimator", "value", "weight"),
        [(PartialOrdinalShapley, "partial_ordinal", "gaussian"), (ClassicShapley, "classic", "uniform")],
    )
    def test_equals_game_and_run(self, estimator, value, weight, method):
        X, y = data(20, classes=3)
        X_valid, y_valid = data(12, classes=3, seed=1)
        truncation = osv.PatienceTruncation(0.2, 2, "given") if "tmc" in method else None
        sampler = sampler_of(method, class_fraction=0.6, truncation=truncation, design="antithetic")
        options = {"C": 0.5, "scoring": "balanced_accuracy", "empty_value": 0.25}
        run = {"stopping": MaxPermutations(5), "random_state": 5}
        model = estimator(sampler=sampler, **options, **run).fit(X, y, X_valid, y_valid)
        game = LogisticGame(X, y, X_valid, y_valid, position_weight=weight, **options)
        expected = sample_values(game, value, sampler, **run)
        np.testing.assert_array_equal(model.values_, expected.values)
        np.testing.assert_array_equal(model.valuation_.stderr, expected.stderr)
        assert model.valuation_.n_permutations == 5
        assert model.valuation_.stopped_by == "MaxPermutations"
        assert model.valuation_.kind.name == value
        assert model.game_.empty_value_ == 0.25
        assert model.train_indices_ is None
        assert model.valid_indices_ is None


class TestOwnSplit:
    def test_is_scikit_learns_stratified_split(self):
        X, y = data(40, classes=3)
        model = small(random_state=11, valid_fraction=0.4).fit(X, y)
        train, valid = train_test_split(np.arange(40), test_size=0.4, stratify=y, random_state=11)
        np.testing.assert_array_equal(model.train_indices_, np.sort(train))
        np.testing.assert_array_equal(model.valid_indices_, np.sort(valid))

    @BOTH
    def test_equals_the_fit_on_its_parts(self, estimator):
        X, y = data(30)
        model = small(estimator).fit(X, y)
        train, valid = model.train_indices_, model.valid_indices_
        assert_same_fit(model, small(estimator).fit(X[train], y[train], X[valid], y[valid]))
        assert np.unique(np.r_[train, valid]).tolist() == list(range(30))
        assert len(model.values_) == len(train) == 21

    def test_input_is_left_alone(self):
        X, y = data()
        weights, groups = np.ones(24), np.arange(24) // 2 * 2 + y
        kept = [a.copy() for a in (X, y, weights, groups)]
        for a in (X, y, weights, groups):
            a.flags.writeable = False
        small().fit(X, y, sample_weight=weights, groups=groups)
        for before, after in zip(kept, (X, y, weights, groups), strict=True):
            np.testing.assert_array_equal(before, after)


class TestCrossFitting:
    def test_equals_game_and_run(self):
        X, y = data(36)
        options = {"sample_weight": np.linspace(1, 2, 36), "groups": np.arange(36) % 12}
        run = {"n_permutations": 40, "random_state": 2}
        model = ClassicShapley(cv=4, sampler="mc", **run).fit(X, y, **options)

        def make(*rows, **more):
            return LogisticGame(*rows, position_weight="uniform", **more)

        game = osv.CrossFitGame(make, X, y, cv=4, random_state=2, **options)
        expected = sample_values(game, "classic", "mc", **run)
        np.testing.assert_array_equal(model.values_, expected.values)
        np.testing.assert_array_equal(model.valuation_.player_names, np.arange(12))
        assert model.train_indices_ is model.valid_indices_ is None

    def test_every_row_keeps_its_name(self):
        X, y = data()
        frame = pd.DataFrame(X, index=[f"patient {i}" for i in range(24)])
        model = small(cv=2, n_permutations=20).fit(frame, y)
        assert model.valuation_.to_frame().index.tolist() == frame.index.tolist()
        assert np.isfinite(model.values_).all()


class TestRandomState:
    @pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
    def test_generators(self, make):
        X, y = data()
        one, two = small(random_state=make(1)), small(random_state=make(1))
        assert_same_fit(one.fit(X, y), two.fit(X, y))
        first = one.train_indices_
        assert one.fit(X, y).train_indices_.tolist() != first.tolist(), "the generator moves on"


class TestFrames:
    def frame(self):
        X, y = data()
        index = [f"patient {i}" for i in range(24)][::-1]
        return pd.DataFrame(X, index=index, columns=["a", "b", "c"]), y

    def test_rows_keep_their_names(self):
        X, y = self.frame()
        model = small().fit(X, y)
        names = X.index[model.train_indices_].tolist()
        assert model.valuation_.to_frame().index.tolist() == names
        assert_same_fit(model, small().fit(X.to_numpy(), y))

    def test_series_go_by_position(self):
        X, y = self.frame()
        shuffled = np.random.default_rng(0).permutation(24)
        weights = np.linspace(1, 2, 24)
        with pytest.warns(UserWarning, match="index"):
            model = small().fit(
                X, pd.Series(y, index=shuffled), sample_weight=pd.Series(weights, index=shuffled)
            )
        assert_same_fit(model, small().fit(X, y, sample_weight=weights))

    def test_feature_names(self):
        X, y = self.frame()
        model = small().fit(X, y)
        assert model.feature_names_in_.tolist() == ["a", "b", "c"]
        model.fit(X.to_numpy(), y)
        assert not hasattr(model, "feature_names_in_")
        model.fit(X.set_axis([0, 1, 2], axis=1), y)
        assert not hasattr(model, "feature_names_in_")


class TestSparse:
    @pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil"])
    @pytest.mark.parametrize("make", ["array", "matrix"])
    def test_equals_dense(self, kind, make):
        X, y = data()
        X[np.abs(X) < 0.5] = 0.0
        sparse = getattr(scipy.sparse, f"{kind}_{make}")(X)
        assert_same_fit(small().fit(sparse, y), small().fit(X, y))


class TestWhatFollowsTheSplit:
    def test_sample_weight(self):
        X, y = data()
        weights = np.random.default_rng(1).uniform(0.1, 10, 24)
        model = small(sampler="mc").fit(X, y, sample_weight=weights)
        t, v = model.train_indices_, model.valid_indices_
        by_hand = small(sampler="mc").fit(X[t], y[t], X[v], y[v], sample_weight=weights[t])
        assert_same_fit(model, by_hand)
        assert not np.array_equal(model.values_, small(sampler="mc").fit(X, y).values_)

    def test_strata(self):
        X, y = data()
        labels = np.arange(24) % 3
        options = {"class_fraction": 0.5, "average": "selected"}
        model = small(sampler=osv.PermutationSampler(strata=labels, **options)).fit(X, y)
        t, v = model.train_indices_, model.valid_indices_
        by_hand = small(sampler=osv.PermutationSampler(strata=labels[t], **options))
        by_hand.fit(X[t], y[t], X[v], y[v])
        assert_same_fit(model, by_hand)
        sampled = np.bincount(labels[t], weights=model.valuation_.counts)
        expected = 4 * np.floor(0.5 * np.bincount(labels[t]))
        np.testing.assert_array_equal(sampled, expected)

    def test_groups_stay_whole(self):
        X, y = data(36)
        groups = np.arange(36) % 12
        y = np.array([0, 1])[groups % 2]
        for seed in range(5):
            model = small(random_state=seed).fit(X, y, groups=groups)
            t, v = model.train_indices_, model.valid_indices_
            assert not set(groups[t]) & set(groups[v])
            assert len(model.values_) == len(set(groups[t])) == 8
            assert np.bincount(y[t]).tolist() == [12, 12], "whole groups, class by class"
            assert set(model.valuation_.player_names) == set(groups[t])
            by_hand = clone(model).fit(X[t], y[t], X[v], y[v], groups=groups[t])
            assert_same_fit(model, by_hand)


class TestTime:
    def fitted(self, **options):
        problem = wine().first(30)
        model = OrdinalShapley(random_state=0, **options)
        return model.fit(problem.X, problem.y, problem.X_valid, problem.y_valid).valuation_

    def test_none_left(self):
        with pytest.raises(TimeoutError, match="s went into"):
            self.fitted(max_seconds=1e-9)
