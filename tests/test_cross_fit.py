"""Cross-fitting: values over folds, how rows are split, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit

import ordinal_shapley as osv
from problems import JIT, size
from runs import bits


def problem(n=12, seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.arange(n) % n_classes
    X[:, 0] += y
    return X, y


def fitted(n=12, cv=4, **options):
    return osv.CrossFitGame(osv.LogisticGame, *problem(n), cv=cv, random_state=0, **options)


def exact(game, value="ordinal"):
    """Return the mean over the folds in which a player trains of its exact values."""
    sums, counts = np.zeros((2, game.n_players))
    for fold, players in zip(game.folds, game.players, strict=True):
        sums[players] += osv.exact_values(fold, value).values
        counts[players] += 1
    return sums / counts


@pytest.fixture(scope="module")
def small():
    return fitted(8)


@pytest.mark.parametrize("value", ["ordinal", "partial_ordinal"])
@pytest.mark.parametrize("method", ["auto", "mc"])
def test_values_are_means_over_folds(small, value, method):
    valuation = osv.sample_values(small, value, method, n_permutations=size(20_000, 400), random_state=1)
    z = (valuation.values - exact(small, value)) / valuation.stderr
    assert np.abs(z).max() < 4.5
    assert valuation.counts.tolist() == [3 * valuation.n_permutations // 4] * 8


@pytest.mark.slow
@pytest.mark.skipif(not JIT, reason="takes many permutations")
def test_errors_are_those_of_many_runs(small):
    runs = [osv.sample_values(small, n_permutations=400, random_state=seed) for seed in range(80)]
    spread = np.std([run.values for run in runs], axis=0, ddof=1)
    said = np.sqrt(np.mean([run.stderr**2 for run in runs], axis=0))
    assert np.abs(np.log(spread / said)).max() < 0.35


@pytest.mark.skipif(not JIT, reason="takes many permutations")
def test_what_values_sum_to(small):
    valuation = osv.sample_values(small, method="mc", n_permutations=4_000, random_state=0)
    gains = [osv.exact_values(fold).values.sum() for fold in small.folds]
    assert valuation.values.sum() == pytest.approx(4 / 3 * np.mean(gains), abs=0.02)


def test_the_same_for_any_number_of_workers_and_after_a_break(small, tmp_path):
    run = osv.sample_values(small, n_permutations=230, random_state=3)
    assert bits(run) == bits(osv.sample_values(small, n_permutations=230, random_state=3, n_jobs=2))
    osv.sample_values(small, n_permutations=110, random_state=3, checkpoint=tmp_path / "run.npz")
    resumed = osv.sample_values(small, n_permutations=230, random_state=3, checkpoint=tmp_path / "run.npz")
    assert bits(run) == bits(resumed)
    run.save(tmp_path / "v.npz")
    assert bits(run) == bits(osv.Valuation.load(tmp_path / "v.npz"))


def test_parts_pool(small):
    run = osv.sample_values(small, n_permutations=200, random_state=3)
    parts = [
        osv.sample_values(small, n_permutations=n, first_permutation=first, random_state=3)
        for first, n in ((70, 130), (0, 70))
    ]
    merged = osv.Valuation.merge(parts)
    np.testing.assert_allclose(merged.values, run.values, rtol=1e-12)
    np.testing.assert_allclose(merged.stderr, run.stderr, rtol=1e-9)


def test_another_split_is_another_game(small, tmp_path):
    osv.sample_values(small, n_permutations=50, random_state=0, checkpoint=tmp_path / "run.npz")
    X, y = problem(8)
    other = osv.CrossFitGame(osv.LogisticGame, X, y, cv=4, random_state=1)
    with pytest.raises(ValueError, match="cv"):
        osv.sample_values(other, n_permutations=50, random_state=0, checkpoint=tmp_path / "run.npz")


def test_a_sequence_is_worth_its_mean_over_the_folds(small):
    sequence = [5, 1, 0, 6]
    worth = [
        fold([int(np.flatnonzero(players == p)[0]) for p in sequence if p in players])
        for fold, players in zip(small.folds, small.players, strict=True)
    ]
    assert small(sequence) == pytest.approx(np.mean(worth))
    assert small(()) == small.baseline_score == pytest.approx(0.5)


def test_too_few_permutations_for_all_folds(small):
    with pytest.warns(UserWarning, match="40"):
        valuation = osv.sample_values(small, n_permutations=30, random_state=0)
    assert np.isfinite(valuation.values).all()


def test_too_few_permutations_for_errors(small):
    method = osv.PermutationSampler(design="antithetic")
    for enough, options in ((32, {}), (34, {"method": method})):
        with pytest.warns(UserWarning, match=f"at least {enough} permutations to get standard errors"):
            osv.sample_values(small, n_permutations=31, random_state=0, **options)
        valuation = osv.sample_values(small, n_permutations=enough, random_state=0, **options)
        assert np.isfinite(valuation.stderr).all()


def test_games_are_checked(small):
    for function in (osv.exact_values, osv.verify):
        with pytest.raises(TypeError, match="game"):
            function(small)
    with pytest.raises(ValueError, match="design"):
        osv.sample_values(small, method=osv.PermutationSampler(design="latin"), n_permutations=40)
    for n in (7, 9):
        sampler = osv.PermutationSampler(class_fraction=0.9, strata=np.arange(n) % 2)
        with pytest.raises(ValueError, match=f"strata has {n} .*8"):
            osv.sample_values(small, method=sampler, n_permutations=40)
    sampler = osv.PermutationSampler(class_fraction=0.9, strata=np.arange(8) % 2)
    assert osv.sample_values(small, method=sampler, n_permutations=40, random_state=0).values.shape == (8,)


class TestSplits:
    def test_each_row_validates_once_class_by_class(self):
        game = fitted(40, cv=5)
        y = problem(40)[1]
        assert np.sort(np.concatenate([valid for _, valid in game.splits])).tolist() == list(range(40))
        for train, valid in game.splits:
            assert np.bincount(y[valid]).tolist() == [4, 4]
            assert np.intersect1d(train, valid).size == 0
            assert len(train) + len(valid) == 40

    def test_the_seed_says_which(self):
        one, same = fitted(40), fitted(40)
        other = osv.CrossFitGame(osv.LogisticGame, *problem(40), cv=4, random_state=1)
        assert all((a[1] == b[1]).all() for a, b in zip(one.splits, same.splits, strict=True))
        assert any(a[1].tolist() != b[1].tolist() for a, b in zip(one.splits, other.splits, strict=True))

    def test_rare_classes_stay_in_training(self):
        X, y = problem(30)
        y = y.copy()
        y[[3, 17]] = 2
        game = osv.CrossFitGame(osv.LogisticGame, X, y, cv=5, random_state=0)
        for train, _ in game.splits:
            assert {3, 17} <= set(train.tolist())
        valuation = osv.sample_values(game, n_permutations=50, random_state=0)
        assert valuation.counts[[3, 17]].tolist() == [50, 50]

    def test_owners_play_in_every_fold(self):
        X, y = problem(60)
        owners = np.array(["a", "b", "c", "d"], object)[np.arange(60) // 2 % 4]
        owners[59] = "alone"
        game = osv.CrossFitGame(osv.LogisticGame, X, y, cv=5, groups=owners, random_state=0)
        assert game.player_names.tolist() == ["a", "alone", "b", "c", "d"]
        assert [players.tolist() for players in game.players] == [[0, 1, 2, 3, 4]] * 5
        assert all(59 in train for train, _ in game.splits)
        for _, valid in game.splits:
            for name in "abcd":
                assert abs((owners[valid] == name).sum() - (owners == name).sum() / 5) < 1
        valuation = osv.sample_values(game, method="mc", n_permutations=size(500, 50), random_state=0)
        gains = [fold(range(5)) - fold(()) for fold in game.folds]
        assert valuation.values.sum() == pytest.approx(np.mean(gains), abs=size(0.03, 0.2))

    def test_groups_that_are_held_out_by_choice(self):
        X, y = problem(40)
        owners = np.arange(40) // 2 % 5
        game = osv.CrossFitGame(osv.LogisticGame, X, y, cv=GroupKFold(5), groups=owners)
        assert sorted(len(players) for players in game.players) == [4] * 5
        assert np.isfinite(osv.sample_values(game, n_permutations=50, random_state=0).values).all()

    def test_numbers_are_dealt_out_by_size(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(50, 2)), np.arange(50)[rng.permutation(50)]
        game = osv.CrossFitGame(osv.RidgeGame, X, y, cv=5, random_state=0)
        for _, valid in game.splits:
            assert np.bincount(y[valid] // 5, minlength=10).tolist() == [1] * 10

    @pytest.mark.parametrize("cv", [KFold(3), [(np.arange(4, 12), np.arange(4)), (range(6), range(6, 12))]])
    def test_splitters_and_pairs(self, cv):
        game = fitted(cv=cv)
        assert np.isfinite(osv.sample_values(game, n_permutations=50, random_state=0).values).all()

    def test_rows_that_never_train_have_no_value(self):
        with pytest.warns(UserWarning, match=r"4 of 12 rows"):
            game = fitted(12, cv=ShuffleSplit(1, test_size=4, random_state=0))
        values = osv.sample_values(game, n_permutations=20, random_state=0).values
        assert np.flatnonzero(np.isnan(values)).tolist() == game.splits[0][1].tolist()

    def test_frames_keep_their_names_and_weights_their_rows(self):
        X, y = problem(20)
        frame = pd.DataFrame(X, columns=["a", "b"], index=[f"r{i}" for i in range(20)])
        weights = np.arange(1.0, 21.0)
        game = osv.CrossFitGame(
            osv.LogisticGame, frame, y, cv=4, sample_weight=weights, C=0.5, random_state=0
        )
        assert game.player_names.tolist() == frame.index.tolist()
        train, valid = game.splits[1]
        alone = osv.LogisticGame(X[train], y[train], X[valid], y[valid], sample_weight=weights[train], C=0.5)
        sequence = np.random.default_rng(0).permutation(len(train))
        assert game.folds[1](sequence) == alone(sequence)


@pytest.mark.parametrize(
    ("changes", "error", "named"),
    [
        ({"cv": 1}, ValueError, "cv"),
        ({"cv": 101}, ValueError, "cv"),
        ({"cv": 5.0}, TypeError, "cv"),
        ({"cv": True}, TypeError, "cv"),
        ({"cv": "loo"}, TypeError, "cv"),
        ({"cv": 8}, ValueError, "cv.*at most 6"),  # of six rows a class
        ({"groups": range(12)}, ValueError, "cv.*validation rows of their own"),
        ({"cv": KFold(20)}, ValueError, "cv"),
        ({"cv": []}, ValueError, "cv"),
        ({"cv": [(range(8), range(6, 12))]}, ValueError, "cv"),
        ({"cv": [(range(8), [12])]}, ValueError, "cv"),
        ({"cv": [(range(8), [])]}, ValueError, "cv"),
        ({"cv": [([0, 1, 2, 6, 7, 7, 8], range(9, 12))]}, ValueError, "cv.*row 7"),  # as of a bootstrap
        ({"cv": [(range(0, 12, 2), range(1, 12, 2))]}, ValueError, "fold 1"),  # classes that never train
        ({"groups": range(5)}, ValueError, "groups"),
        ({"sample_weight": [1.0]}, ValueError, "sample_weight"),
        ({"sample_weight": [*range(11), -1.0]}, ValueError, "^sample_weight.*row 11"),  # of all rows
        ({"C": -1.0}, ValueError, "C"),
        ({"random_state": -1}, ValueError, "random_state"),
    ],
)
def test_bad_input(changes, error, named):
    with pytest.raises(error, match=named):
        osv.CrossFitGame(osv.LogisticGame, *problem(), **({"cv": 4} | changes))


def test_models_of_scikit_learn():
    X, y = problem(40)

    def make(*rows, **options):
        return osv.game_for(LogisticRegression(), *rows, **options)

    game = osv.CrossFitGame(make, X, y, cv=4, random_state=0)
    assert "LogisticRegression()" in game.model
    assert game.model == osv.sample_values(game, n_permutations=40, random_state=0).model
