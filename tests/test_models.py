"""Logistic models as scikit-learn's LogisticRegression has them: softmax, free intercepts, class weights."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

import naive
import ordinal_shapley as osv
from problems import JIT, Problem, named, random_problem, size

MODELS = {
    "binary": (2, {"fit_intercept": "free"}),
    "binary without intercept": (2, {"fit_intercept": "none"}),
    "binary, balanced": (2, {"fit_intercept": "free", "class_weight": "balanced"}),
    "one-vs-rest": (3, {"fit_intercept": "free"}),
    "softmax": (3, {"fit_intercept": "free", "multi_class": "multinomial"}),
    "softmax without intercept": (4, {"fit_intercept": "none", "multi_class": "multinomial"}),
    "softmax, penalised": (3, {"fit_intercept": "penalized", "multi_class": "multinomial"}),
    "softmax, balanced": (
        3,
        {"fit_intercept": "free", "multi_class": "multinomial", "class_weight": "balanced"},
    ),
    "softmax, weighted": (
        3,
        {"fit_intercept": "free", "multi_class": "multinomial", "class_weight": {1: 2.5}},
    ),
    "two-class softmax": (2, {"fit_intercept": "free", "multi_class": "multinomial"}),
    "penalised, balanced": (2, {"class_weight": "balanced"}),
}
# Columns: fewer than rows, and so many that models are looked for in the span of the rows.
WIDTHS = size([3, 20, 60], [3])


def centred(coef, n_classes):
    """Coefficients of which softmax models, that may share any shift of the intercepts, have one form."""
    if len(coef) == n_classes and n_classes > 2:
        coef = coef.copy()
        coef[:, -1] -= coef[:, -1].mean()
    return coef


def sequences_of(utility, lengths, rng):
    orders = (rng.permutation(utility.n_players)[:m] for m in lengths)
    return [order for order in orders if utility.has_model(order)]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("weight", ["gaussian", "uniform"])
@pytest.mark.parametrize("model", MODELS)
def test_coefficients_are_those_of_the_definition(model, weight, width):
    n_classes, options = MODELS[model]
    problem = random_problem(width, n=40, n_classes=n_classes)
    weights = naive.gaussian_weights if weight == "gaussian" else np.ones
    game = osv.LogisticGame(*problem, position_weight=weight, C=0.8, **options)
    utility = naive.LogisticUtility(*problem, weights=weights, C=0.8, **options)
    softmax = options.get("multi_class") == "multinomial"
    for order in sequences_of(utility, size([6, 13, 25, 40], [13]), np.random.default_rng(width)):
        expected = utility.coefficients(order).astype(float)
        found = game.coefficients(order, tol=1e-11)
        if softmax and options["fit_intercept"] == "free":
            found, expected = centred(found, n_classes), centred(expected, n_classes)
        np.testing.assert_allclose(found, expected, atol=1e-8 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("model", MODELS)
def test_utilities_of_prefixes_and_jumps(model, width, scoring):
    n_classes, options = MODELS[model]
    problem = random_problem(width, n=30, n_classes=n_classes)
    game = osv.LogisticGame(*problem, scoring=scoring, **options)
    utility = naive.LogisticUtility(*problem, scoring=scoring, **options)
    rng = np.random.default_rng(width)
    order = rng.permutation(30)[: size(30, 12)]
    utilities = game.prefix_utilities(order)
    for m in range(1, len(order) + 1, 4):
        assert utilities[m - 1] == pytest.approx(utility(order[:m]), abs=1e-7)
        assert game(order[:m]) == pytest.approx(utility(order[:m]), abs=1e-7)


def separable():
    rng = np.random.default_rng(3)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 4)) + 8.0 * np.eye(3, 4)[y]
    return Problem(X[:60], y[:60], X[60:], y[60:])


@pytest.mark.skipif(not JIT, reason="takes minutes uncompiled")
@pytest.mark.parametrize(
    "name",
    [
        "wine",
        "wine raw",
        "wdbc raw",
        "cancer",
        "adult",
        "words",
        "separable",
        pytest.param("digits", marks=pytest.mark.slow),
    ],
)
def test_decisions_are_scikit_learns(name):
    problem = separable() if name == "separable" else named(name)
    several, wide = problem.n_classes > 2, problem.X.shape[1] > 100
    X, X_valid = (csr_matrix(x) if name == "words" else x for x in (problem.X, problem.X_valid))
    multi_class = "multinomial" if several else "ovr"
    game = osv.LogisticGame(
        X,
        problem.y,
        X_valid,
        problem.y_valid,
        position_weight="uniform",
        fit_intercept=True,
        multi_class=multi_class,
    )
    n = game.n_players
    order = np.random.default_rng(0).permutation(n)
    utilities = game.prefix_utilities(order)
    reference = LogisticRegression(
        solver="lbfgs" if wide or name == "digits" else "newton-cholesky", tol=1e-10, max_iter=20_000
    )
    checked = 0
    for m in range(5, n + 1, max(11, n // 8)):
        rows = order[:m]
        if len(set(problem.y[rows])) < problem.n_classes:
            continue
        model = reference.fit(X[rows], problem.y[rows])
        values = model.decision_function(X_valid).reshape(len(problem.y_valid), -1)
        gaps = np.diff(np.sort(values, axis=1)[:, -2:])[:, 0] if several else np.abs(values[:, 0])
        # Rows near a tie, where scikit-learn's own error decides, may go either way.
        clear = gaps > 1e-5
        right = model.predict(X_valid) == problem.y_valid
        low = right[clear].sum()
        assert low - 1e-9 <= utilities[m - 1] * len(right) <= low + (~clear).sum() + 1e-9
        checked += clear.sum()
    assert checked > 100


@pytest.mark.parametrize("model", ["binary", "one-vs-rest", "softmax"])
def test_a_shifted_column_changes_nothing_if_the_intercept_is_free(model):
    n_classes, options = MODELS[model]
    problem = random_problem(4, n=30, n_classes=n_classes)
    shift = np.array([3.0, 0.0, -20.0, 0.0])
    shifted = problem._replace(X=problem.X + shift, X_valid=problem.X_valid + shift)
    order = np.random.default_rng(0).permutation(30)[: size(30, 12)]
    first, second = (osv.LogisticGame(*p, **options).prefix_utilities(order) for p in (problem, shifted))
    assert first.tolist() == second.tolist()
    penalised = [osv.LogisticGame(*p).coefficients(order)[0, 0] for p in (problem, shifted)]
    assert abs(penalised[0] - penalised[1]) > 1e-3


def test_two_softmax_classes_are_the_binary_model_with_twice_the_cost():
    problem = random_problem(4, n=30)
    order = np.random.default_rng(0).permutation(30)
    softmax = osv.LogisticGame(*problem, C=0.6, multi_class="multinomial", fit_intercept="free")
    binary = osv.LogisticGame(*problem, C=1.2, fit_intercept="free")
    np.testing.assert_array_equal(softmax.coefficients(order), binary.coefficients(order))


@pytest.mark.parametrize("options", [{}, {"fit_intercept": "free"}, MODELS["softmax"][1]])
def test_a_class_without_weight_is_a_class_that_lacks(options):
    n_classes = 3 if "multi_class" in options else 2
    problem = random_problem(3, n=12, n_classes=n_classes)
    sample_weight = np.where(problem.y == 1, 0.0, 1.0)
    sample_weight[np.flatnonzero(problem.y == 1)[-1]] = 2.0
    game = osv.LogisticGame(*problem, sample_weight=sample_weight, empty_value=-1.0, **options)
    order = np.argsort(sample_weight == 2.0, kind="stable")
    utilities = game.prefix_utilities(order)
    assert (utilities[:-1] == -1.0).all() and utilities[-1] >= 0.0

    def first_counts_nothing(position, m):
        return float(position > 0 or m < 3)

    game = osv.LogisticGame(*problem, position_weight=first_counts_nothing, empty_value=-1.0, **options)
    leaders = [int(np.flatnonzero(problem.y == k)[0]) for k in range(n_classes)]
    others = np.flatnonzero(problem.y == 0)[1:3].tolist()
    assert game([*leaders[::-1], *others]) == -1.0  # the only row of the last class stands first
    assert game([*others, *leaders[::-1]]) >= 0.0


def test_one_row_a_class():
    problem = named("wine")
    leaders = [int(np.flatnonzero(problem.y == k)[0]) for k in range(3)]
    for _, options in (MODELS["softmax"], MODELS["one-vs-rest"]):
        utility = naive.LogisticUtility(*problem, **options)
        game = osv.LogisticGame(*problem, **options)
        assert game(leaders) == pytest.approx(utility(leaders), abs=1e-12)


def test_sparse_rows_of_more_columns_than_rows():
    from scipy import sparse

    rng = np.random.default_rng(0)
    X = sparse.random(70, 90, density=0.1, random_state=0, format="csr")
    y = rng.permutation(np.arange(70) % 3)
    dense = X.toarray()
    for options in (MODELS["softmax"][1], MODELS["one-vs-rest"][1], {"fit_intercept": "none"}):
        game = osv.LogisticGame(X[:40], y[:40], X[40:], y[40:], **options)
        utility = naive.LogisticUtility(dense[:40], y[:40], dense[40:], y[40:], **options)
        for m in size([9, 25, 40], [9]):
            order = rng.permutation(40)[:m]
            if utility.has_model(order):
                found, expected = (centred(g.coefficients(order), 3) for g in (game, utility))
                np.testing.assert_allclose(found, expected.astype(float), atol=1e-8)


def test_sampled_values_are_those_of_exact_enumeration():
    n = size(5, 4)
    problem = random_problem(3, n=n, n_classes=3)
    for _, options in (MODELS["softmax"], MODELS["softmax, balanced"]):
        game = osv.LogisticGame(*problem, **options)
        exact = osv.exact_values(game)
        utility = naive.LogisticUtility(*problem, **options)
        np.testing.assert_allclose(exact.values, naive.exact_ordinal(utility, n), atol=1e-12)
        sampled = osv.sample_values(game, n_permutations=size(400, 20), random_state=1)
        assert (np.abs(sampled.values - exact.values) <= 5 * sampled.stderr + 1e-12).all()
