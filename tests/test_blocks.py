"""Errors that cover the choice of validation rows, by blocks of these."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

import ordinal_shapley as osv
from problems import JIT, size
from runs import bits

N_VALID = 15  # so few that each row is a block, whatever the seed


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(6 + N_VALID, 2))
    y = (X[:, 0] + 0.8 * rng.normal(size=len(X)) > 0).astype(int)
    y[:6] = [0, 1, 0, 1, 0, 1]
    return X[:6], y[:6], X[6:], y[6:]


def single_rows(make, rows, **options):
    """Return the exact values of the games in which one row validates."""
    X, y, X_valid, y_valid = rows
    games = [make(X, y, X_valid[[v]], y_valid[[v]], **options) for v in range(N_VALID)]
    return games


GAMES = {
    "logistic": (osv.LogisticGame, {}),
    "log loss": (osv.LogisticGame, {"scoring": "neg_log_loss"}),
    "softmax": (osv.LogisticGame, {"multi_class": "multinomial", "fit_intercept": "free"}),
    "ridge classifier": (osv.RidgeClassifierGame, {}),
    "votes": (osv.NearestNeighborGame, {"n_neighbors": 2}),
    "vote share": (osv.NearestNeighborGame, {"n_neighbors": 2, "scoring": "vote_share"}),
    "ridge": (osv.RidgeGame, {"scoring": "neg_mean_squared_error"}),
    "means": (osv.NearestNeighborRegressorGame, {"scoring": "neg_mean_squared_error"}),
}


ESTIMATES = [("ordinal", "auto"), ("partial_ordinal", "auto")]
MORE = [("ordinal", "mc"), ("partial_ordinal", "mc"), (osv.Blend(0.5), "auto"), (osv.Blend(0.5), "mc")]


@pytest.mark.skipif(not JIT, reason="takes many permutations")
@pytest.mark.parametrize(
    ("name", "value", "method"),
    [(name, *how) for name in GAMES for how in ESTIMATES] + [("logistic", *how) for how in MORE],
)
def test_between_rows_as_the_exact_values_of_single_rows(rows, name, value, method):
    make, options = GAMES[name]
    options = {**options, "empty_value": 0.25}
    if name == "softmax":
        rows = (rows[0], [0, 1, 2, 0, 1, 2], rows[2], np.arange(N_VALID) % 3)
    exact = np.array([osv.exact_values(game, value).values for game in single_rows(make, rows, **options)])
    game = make(*rows, **options)
    runs = [
        osv.sample_values(game, value, method, n_permutations=200, random_state=seed) for seed in range(25)
    ]
    assert np.abs(z_scores(runs, exact)).max() < 5


def z_scores(runs, exact):
    """Compare variances that the choice of rows adds with those of exact values, by player."""
    found = np.array([run.stderr_total**2 - run.stderr**2 for run in runs])
    expected = exact.var(axis=0, ddof=1) / N_VALID
    return (found.mean(axis=0) - expected) / (found.std(axis=0, ddof=1) / np.sqrt(len(runs)) + 1e-9)


@pytest.mark.slow
@pytest.mark.skipif(not JIT, reason="takes many permutations")
@pytest.mark.parametrize("value", ["ordinal", "partial_ordinal"])
def test_noise_of_few_permutations_does_not_count_as_a_choice_of_rows(rows, value):
    game = osv.LogisticGame(*rows, empty_value=0.5)
    exact = np.array(
        [osv.exact_values(one, value).values for one in single_rows(osv.LogisticGame, rows, empty_value=0.5)]
    )
    runs = [osv.sample_values(game, value, n_permutations=100, random_state=seed) for seed in range(100)]
    assert np.abs(z_scores(runs, exact)).max() < 5


@pytest.mark.slow
@pytest.mark.skipif(not JIT, reason="takes many permutations")
@pytest.mark.parametrize("design", ["antithetic", "latin"])
def test_designs_have_them_too(rows, design):
    exact = np.array(
        [osv.exact_values(one).values for one in single_rows(osv.LogisticGame, rows, empty_value=0.5)]
    )
    sampler = osv.PermutationSampler(design=design)
    run = osv.sample_values(
        osv.LogisticGame(*rows, empty_value=0.5), "ordinal", sampler, n_permutations=30_000, random_state=0
    )
    between = run.stderr_total**2 - run.stderr**2
    np.testing.assert_allclose(between, exact.var(axis=0, ddof=1) / N_VALID, rtol=0.1)


@pytest.mark.skipif(not JIT, reason="takes many permutations")
def test_balanced_accuracy_weighs_classes_alike(rows):
    _X, _y, _X_valid, _y_valid = rows
    game = osv.LogisticGame(*rows, scoring="balanced_accuracy", empty_value=0.5)
    run = osv.sample_values(game, n_permutations=10_000, random_state=0)
    # By blocks of one row that weigh differently: their plain mean is that of the rows.
    plain = osv.sample_values(osv.LogisticGame(*rows, empty_value=0.5), n_permutations=10_000, random_state=0)
    between, other = (one.stderr_total**2 - one.stderr**2 for one in (run, plain))
    np.testing.assert_allclose(between, other, rtol=0.1)


@pytest.mark.parametrize("name", GAMES)
def test_blocks_are_means_over_their_rows(rows, name):
    make, options = GAMES[name]
    if name == "softmax":
        rows = (rows[0], [0, 1, 2, 0, 1, 2], rows[2], np.arange(N_VALID) % 3)
    game = make(*rows, **options)
    singles = single_rows(make, rows, empty_value=game.empty_value_, **options)
    workspace = game._make_workspace()
    workspace.score_in_blocks(np.arange(N_VALID), np.ones(N_VALID))
    functions = workspace.functions
    functions.reset(workspace)
    for m, player in enumerate([4, 1, 0, 5], 1):
        functions.push(workspace, player)
        functions.evaluate(workspace)
        expected = [one([4, 1, 0, 5][:m]) for one in singles]
        np.testing.assert_allclose(workspace.scores[1:], expected, atol=1e-6)
        assert workspace.scores[0] == pytest.approx(np.mean(expected))


def test_where_there_are_none(rows):
    X, y, X_valid, y_valid = rows
    few = osv.LogisticGame(X, y, X_valid[:9], y_valid[:9])
    for game, method in [
        (few, "auto"),
        (osv.LogisticGame(*rows, scoring="roc_auc"), "auto"),
        (osv.LogisticGame(*rows), "tmc"),
        (osv.LogisticGame(*rows), "cmc"),
        (osv.TableGame(2, {(0, 1): 1.0}), "auto"),
    ]:
        assert osv.sample_values(game, method=method, n_permutations=20, random_state=0).stderr_total is None


def test_workers_files_and_merging_change_nothing(rows, tmp_path):
    game = osv.LogisticGame(*rows)
    run = osv.sample_values(game, n_permutations=200, random_state=3)
    assert not run.stderr_total.flags.writeable
    again = osv.sample_values(game, n_permutations=200, random_state=3, n_jobs=2)
    np.testing.assert_array_equal(run.stderr_total, again.stderr_total)
    run.save(tmp_path / "v.npz")
    np.testing.assert_array_equal(osv.Valuation.load(tmp_path / "v.npz").stderr_total, run.stderr_total)
    parts = [
        osv.sample_values(game, n_permutations=n, first_permutation=first, random_state=3)
        for first, n in ((50, 150), (0, 50))
    ]
    np.testing.assert_allclose(osv.Valuation.merge(parts).stderr_total, run.stderr_total, rtol=1e-9)
    checkpoint = tmp_path / "run.npz"
    osv.sample_values(game, n_permutations=70, random_state=3, checkpoint=checkpoint)
    resumed = osv.sample_values(game, n_permutations=200, random_state=3, checkpoint=checkpoint)
    np.testing.assert_array_equal(resumed.stderr_total, run.stderr_total)


@pytest.mark.slow
@pytest.mark.skipif(not JIT, reason="takes many permutations")
@pytest.mark.parametrize(
    ("value", "method"), [*ESTIMATES[:1], ("classic", "auto"), ("classic", "mc"), *MORE[:1]]
)
def test_size_weights(rows, value, method):
    weights = osv.beta_weights(4, 1)
    kind = osv.Classic(weights) if value == "classic" else osv.Ordinal(weights)
    options = {"empty_value": 0.25, "position_weight": "uniform" if value == "classic" else "gaussian"}
    exact = [osv.exact_values(one, kind).values for one in single_rows(osv.LogisticGame, rows, **options)]
    game = osv.LogisticGame(*rows, **options)
    runs = [osv.sample_values(game, kind, method, n_permutations=200, random_state=s) for s in range(25)]
    assert np.abs(z_scores(runs, np.array(exact))).max() < 5


ESTIMATORS = {
    "accuracy": (LogisticRegression(), {}),
    "balanced": (LogisticRegression(), {"scoring": "balanced_accuracy"}),
    "log loss": (LogisticRegression(tol=1e-10), {"scoring": "neg_log_loss"}),
    "r2": (Ridge(), {"scoring": "r2"}),
    "squares": (Ridge(), {}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ESTIMATORS)
def test_models_in_python_have_those_of_compiled_ones(name):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 2
    X[:, 0] += y
    model, options = ESTIMATORS[name]
    one, two = (
        osv.sample_values(
            osv.game_for(model, X[:8], y[:8], X[8:], y[8:], compiled=compiled, **options),
            method="mc",  # pilots tell by costs, which differ
            n_permutations=size(60, 20),
            random_state=0,
        )
        for compiled in (True, False)
    )
    np.testing.assert_allclose(two.values, one.values, atol=1e-6)
    np.testing.assert_allclose(two.stderr_total, one.stderr_total, rtol=1e-4)
    game = osv.game_for(model, X[:8], y[:8], X[8:], y[8:], compiled=False, **options)
    again = osv.sample_values(game, method="mc", n_permutations=size(60, 20), random_state=0, n_jobs=2)
    assert bits(again) == bits(two)
    # Another seed has other blocks, whatever the game remembers.
    other = osv.sample_values(game, n_permutations=size(60, 20), random_state=1)
    fresh = osv.game_for(model, X[:8], y[:8], X[8:], y[8:], compiled=False, **options)
    assert bits(other) == bits(osv.sample_values(fresh, n_permutations=size(60, 20), random_state=1))
