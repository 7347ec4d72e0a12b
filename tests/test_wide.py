"""Many columns: models in the span of the prefix, from inner products of rows, while it is short."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_info, threadpool_limits

import naive
from ordinal_shapley import LogisticGame, RidgeGame
from ordinal_shapley_kernels import walks
from ordinal_shapley_kernels.abi import entry
from ordinal_shapley_kernels.logistic_workspace import LogisticWorkspace, complete
from ordinal_shapley_kernels.span import complete_all
from problems import Problem, size
from test_trainer import check_coefficients, check_decisions

N_ROWS, N_COLUMNS = size(40, 10), size(100, 49)


def wide(n=N_ROWS, d=N_COLUMNS, n_classes=2, seed=0, n_valid=25):
    """Rows along a few directions, and noise."""
    rng = np.random.default_rng([seed, n, d])
    directions = rng.normal(size=(5, d))
    X = rng.normal(size=(n + n_valid, 5)) @ directions + 0.5 * rng.normal(size=(n + n_valid, d))
    y = np.argmax(X @ rng.normal(size=(d, n_classes)) + 5 * rng.normal(size=(n + n_valid, n_classes)), axis=1)
    y[:n_classes] = y[n : n + n_classes] = np.arange(n_classes)
    return Problem(X[:n], y[:n], X[n:], y[n:])


def workspace_of(game, order, every=True):
    """The workspace after every prefix of an order has been evaluated, or the whole of it at once."""
    workspace = game._workspace_maker(*game._payload)
    walks.utilities_of(workspace, np.asarray(order), every)
    return workspace


def leaders_first(y, seed=0):
    """A random order that begins with a row of every class."""
    order = np.random.default_rng(seed).permutation(len(y))
    first = np.array([order[np.flatnonzero(y[order] == label)[0]] for label in np.unique(y)])
    return np.concatenate([first, order[~np.isin(order, first)]])


@entry
def complete_some(game: LogisticWorkspace) -> None:
    """Bring every third validation row into the span, and then the others together."""
    for v in range(0, game.validation.known.shape[0], 3):
        complete(game, v)
    complete_all(game)


@pytest.mark.parametrize("every", [True, False])
def test_a_prefix_that_outgrows_its_span_goes_over_to_the_columns(every):
    problem = wide(n=N_COLUMNS + 10)
    game = LogisticGame(*problem)
    order = leaders_first(problem.y)
    limit = game._features.span_limit
    assert limit == N_COLUMNS + 1  # the intercept is one of them
    for m, triangular in ((limit - 1, 1), (limit, 1), (limit + 1, 0)):
        workspace = workspace_of(game, order[:m], every)
        assert workspace.triangular == triangular
        if not triangular:
            assert workspace.dimension == -(-limit // 8) * 8
            columns = workspace.prefix.columns[: workspace.dimension, :m]
            np.testing.assert_array_equal(columns[: limit - 1].T, problem.X[order[:m]])
            assert (columns[limit - 1] == 1.0).all()
            assert not columns[limit:].any()
    # And back, once it is empty.
    walks.utilities_of(workspace, order[:9], every)
    assert (workspace.dimension, workspace.triangular) == (16, 1)


@pytest.mark.parametrize("every", [True, False])
def test_a_prefix_of_dependent_rows_goes_over_to_the_columns(every):
    problem = wide(n=N_COLUMNS + 10)
    X = problem.X.copy()
    X[5:7] = X[3]
    X[7] = X[0] + X[1] - X[2]  # all have the 1 of the intercept
    problem = problem._replace(X=X)
    game = LogisticGame(*problem)
    assert set(problem.y[:5]) == {0, 1}
    for m in range(6, 8):
        workspace = workspace_of(game, np.arange(m), every)
        assert (workspace.triangular, workspace.n_dependent) == (1, m - 5)
    assert workspace_of(game, np.arange(8), every).triangular == 0
    rng = np.random.default_rng(1)
    assert check_decisions(problem, [rng.permutation(20) for _ in range(size(5, 1))]) > size(60, 5)


@pytest.mark.parametrize("every", [True, False])
@pytest.mark.parametrize("n", [N_ROWS, N_COLUMNS + 10])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_coordinates_have_the_rows_inner_products(n_classes, n, every):
    problem = wide(n=n, n_classes=n_classes)
    game = LogisticGame(*problem)
    order = leaders_first(problem.y)
    for m in size((n_classes, 7, 8, 9, 17, N_ROWS), (n_classes, 8, 9)):
        workspace = workspace_of(game, order[:m], every)
        complete_some(workspace)
        d, validation = workspace.dimension, workspace.validation
        assert (d, workspace.known_of_all) == (-(-m // 8) * 8, m)
        rows = workspace.prefix.columns[:d, :m].T
        X, V = problem.X[order[:m]], problem.X_valid
        np.testing.assert_allclose(rows @ rows.T, X @ X.T + 1, rtol=0, atol=1e-10)
        np.testing.assert_array_equal(rows[:, :m], workspace.prefix.triangle[:m, :m])
        coordinates = validation.coordinates[:, :d]
        np.testing.assert_allclose(coordinates @ rows.T, V @ X.T + 1, rtol=0, atol=1e-10)
        np.testing.assert_allclose(
            validation.coordinate_columns[:m, : len(V)], coordinates[:, :m].T, rtol=0, atol=1e-10
        )
        np.testing.assert_allclose(validation.norms, np.linalg.norm(coordinates, axis=1), rtol=1e-12)
        assert not np.triu(rows, 1).any()


def test_features_do_not_depend_on_the_number_of_threads():
    problem, long = wide(n=150, d=400), wide(n=300, d=100)
    moved = problem._replace(X=problem.X + 1e5, X_valid=problem.X_valid + 1e5)
    y, y_valid = (labels.astype(float) for labels in (problem.y, problem.y_valid))
    games = [
        lambda: LogisticGame(*problem, scoring="neg_log_loss"),
        lambda: LogisticGame(*moved, scoring="neg_log_loss"),
        lambda: LogisticGame(*long, scoring="neg_log_loss"),
        lambda: RidgeGame(problem.X, y, problem.X_valid, y_valid),
    ]
    for make in games:
        found = []
        for n_threads in (1, 2):
            with threadpool_limits(n_threads):
                found.append(make().prefix_utilities(np.arange(60)))
                assert {library["num_threads"] for library in threadpool_info()} == {n_threads}
        np.testing.assert_array_equal(*found)


def test_inner_products_that_do_not_fit_are_refused(monkeypatch):
    problem = texts()
    monkeypatch.setattr("ordinal_shapley.common.parallel.available_memory", lambda: 1_000)
    with pytest.raises(ValueError, match=f"{N_ROWS} rows"):
        LogisticGame(
            sparse.csr_array(problem.X), problem.y, sparse.csr_array(problem.X_valid), problem.y_valid
        )
    LogisticGame(*problem)  # dense rows do without a table of them


@pytest.mark.slow
def test_rows_far_from_the_origin_keep_their_differences():
    # Inner products of 1e12 would leave 1e-4 of what tells the rows apart.
    problem = wide(seed=6)
    problem = problem._replace(X=problem.X + 1e5, X_valid=problem.X_valid + 1e5)
    assert LogisticGame(*problem)._features.span_limit == 0
    rng = np.random.default_rng(3)
    assert check_decisions(problem, [rng.permutation(len(problem.y))]) > size(20, 2)


def test_rows_that_nearly_coincide_under_a_weak_penalty():
    # As inner products nearly all of these games have fits that do not converge.
    rng = np.random.default_rng(0)
    problem = wide(n=24, d=60, seed=7)
    X = 300 * (np.repeat(problem.X[:12], 2, axis=0) + 1e-5 * rng.normal(size=(24, 60)))
    problem = problem._replace(X=X, X_valid=300 * problem.X_valid)
    game = LogisticGame(*problem, C=100.0)
    assert game._features.span_limit == 0
    order = rng.permutation(24)
    assert workspace_of(game, order[: size(24, 8)]).unconverged == 0
    # Under a strong penalty it is their pivots that must be more than rounding.
    assert LogisticGame(*problem, C=1e-6)._features.span_limit == 0
    X[1::2] = X[::2] + 300 * 1e-4 * rng.normal(size=(12, 60))
    problem = problem._replace(X=X)
    assert LogisticGame(*problem, C=1e-6)._features.span_limit == 24


@pytest.mark.parametrize(
    ("seed", "m", "decay"), size([(8, 8, 1.5), (8, 48, 0.3), (160, 20, 1.0), (213, 8, 1.5)], [(8, 8, 1.5)])
)
def test_near_duplicates_among_rows_of_a_decaying_spectrum(seed, m, decay):
    # What tells three rows apart is 1e-6 of their length, far more than rounding, and others have coordinates
    # of their own size along it.
    rng = np.random.default_rng(seed)
    d = 50
    spread = np.arange(1.0, d + 1) ** -decay
    X, V = rng.normal(size=(80, d)) * spread, rng.normal(size=(200, d)) * spread
    X[1:3] = X[0] + 1e-6 * rng.normal(size=(2, d)) * spread
    y = rng.permutation(np.arange(80) % 2)
    order = np.concatenate([[0, 1, 2], 3 + rng.permutation(77)])[:m]
    problem = Problem(X, y, V, np.arange(200) % 2)
    check_coefficients(problem, [order], tol=1e-8)
    check_decisions(problem, [order])


@pytest.mark.parametrize("seed", range(size(40, 3)))
def test_decisions_are_right_or_the_fit_is_counted_as_unconverged(seed):
    rng = np.random.default_rng(seed)
    problem = wide(n=24, d=60, n_classes=int(rng.integers(2, 5)), seed=seed)
    scale = 10.0 ** rng.uniform(-3, 3, 60) if seed % 2 else 10.0 ** rng.uniform(-4, 4)
    problem = problem._replace(X=problem.X * scale, X_valid=problem.X_valid * scale)
    options = {"C": 10.0 ** rng.uniform(-3, 3), "sample_weight": 10.0 ** rng.uniform(-3, 3, 24)}
    game, utility = LogisticGame(*problem, **options), naive.LogisticUtility(*problem, **options)
    order = rng.permutation(24)
    for m in size([6, 10, 16, 24], [8]):
        if utility.has_model(order[:m]):
            workspace = workspace_of(game, order[:m])
            expected = naive.predict(utility.coefficients(order[:m]), problem.X_valid)
            right = np.array_equal(workspace.validation.decisions, expected)
            assert right or workspace.unconverged > 0


def texts(n=N_ROWS, d=400, n_valid=30, seed=0):
    """Counts of a few words in each row."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.03, size=(n + n_valid, d)).astype(float)
    y = (X @ rng.normal(size=d) > 0).astype(int)
    y[:2] = y[n : n + 2] = 0, 1
    return Problem(X[:n], y[:n], X[n:], y[n:])


def test_sparse_rows_are_never_made_dense():
    # Dense they would take 16 GB.
    rng = np.random.default_rng(0)
    d = 50_000_000
    X = sparse.random_array((40, d), density=2e-6, format="csr", rng=rng)
    y = np.arange(40) % 2
    X = sparse.hstack([X, sparse.csr_array((2.0 * y - 1)[:, None])], format="csr")
    game = LogisticGame(X, y, X, y)
    assert (game._features.n_features, game._features.products.shape) == (0, (40, 40))
    assert game(rng.permutation(40)) == 1.0


def test_sparse_rows_of_few_columns_in_use_are_made_dense_in_these():
    # With all of their columns they would take 16 GB.
    used = np.array([3, 2_000_000, 39_999_999])
    rng = np.random.default_rng(0)
    X, X_valid, y, y_valid = rng.normal(size=(50, 3)), rng.normal(size=(9, 3)), np.arange(50) % 2, [0] * 9
    among_many = [
        sparse.csr_array(
            (x.ravel(), np.tile(used, len(x)), np.arange(0, x.size + 1, 3)), (len(x), 40_000_000)
        )
        for x in (X, X_valid)
    ]
    game = LogisticGame(among_many[0], y, among_many[1], y_valid, scoring="neg_log_loss")
    dense = LogisticGame(X, y, X_valid, y_valid, scoring="neg_log_loss")
    order = rng.permutation(50)
    np.testing.assert_allclose(game.prefix_utilities(order), dense.prefix_utilities(order), rtol=0, atol=1e-8)
