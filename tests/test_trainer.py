"""The logistic trainer: coefficients against liblinear, decisions against converged models."""

from __future__ import annotations

import numpy as np
import pytest

import naive
from ordinal_shapley import LogisticGame
from ordinal_shapley_kernels import walks
from problems import JIT, NAMED, Problem, cancer, named, random_problem, size, twins, wdbc, wine

EPS = np.finfo(float).eps


def prefixes(problem, lengths, rng):
    """Random sequences of these lengths in which no class is missing."""
    for m in lengths:
        sequence = rng.permutation(len(problem.y))[:m]
        if len(set(problem.y[sequence])) == problem.n_classes:
            yield sequence


def check_coefficients(problem, sequences, tol, norm_wise=None, sample_weight=None):
    """Gradient, objective, distance to the optimum and (`norm_wise`) to liblinear's."""
    game = LogisticGame(*problem, sample_weight=sample_weight)
    utility = naive.LogisticUtility(*problem, sample_weight=sample_weight)
    checked = 0
    for sequence in filter(utility.has_model, sequences):
        X, y, cost = utility.problem(sequence)
        ours = game.coefficients(sequence, tol=tol)
        signs = naive.one_vs_rest(y, problem.n_classes)
        assert ours.shape == (len(signs), X.shape[1] + 1)
        for w, sign in zip(ours, signs, strict=True):
            assert naive.gradient_norm(w, X, sign, cost) <= tol
            optimum = naive.newton(X, sign, cost)
            # By strong convexity a model is no further from the optimum than its gradient is long.
            assert np.linalg.norm((w - optimum).astype(float)) <= tol
            if norm_wise is not None:
                theirs = naive.liblinear(X, sign, cost)
                assert np.linalg.norm(w - theirs) <= norm_wise * np.linalg.norm(theirs)
                objective = naive.objective(w, X, sign, cost)
                # Strong convexity: within tol^2 / 2 of the optimum, and long sums round.
                slack = tol**2 / 2 + 4 * EPS * abs(objective)
                assert objective <= naive.objective(theirs, X, sign, cost) + slack
            checked += 1
    assert checked > 0


@pytest.mark.parametrize("name", NAMED)
def test_coefficients_agree_with_liblinear(name):
    problem = named(name)
    raw = "raw" in name
    lengths = size([2, 3, 5, 8, 13, 21, 34, 55, 89, 140, len(problem.y)], [5, 21])
    rng = np.random.default_rng(1)
    # On raw data liblinear is the one that is off, and the gradient's own rounding is 1e-8.
    check_coefficients(
        problem, prefixes(problem, lengths, rng), tol=1e-6 if raw else 1e-9, norm_wise=1e-3 if raw else 1e-6
    )


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("d", size([*range(1, 41), 64, 100, 150], [1, 2, 5, 17]))
def test_coefficients_on_random_data_of_any_dimension(d, n_classes):
    # Every d up to some, because loops run in blocks of four features and of sixteen rows.
    problem = random_problem(d, n=40, n_classes=n_classes)
    lengths = (5, 15 + d % 18) if n_classes == 2 else (12 + d % 18, 40)
    check_coefficients(
        problem, prefixes(problem, lengths, np.random.default_rng(d)), tol=1e-9, norm_wise=1e-6
    )


@pytest.mark.parametrize("tol", [1e-2, 1e-5, 1e-8, 1e-11])
def test_gradient_is_below_the_tolerance_asked_for(tol):
    problem = random_problem(6, n=30)
    check_coefficients(problem, [np.arange(30), np.arange(7)], tol=tol)


def test_sample_weight_and_c_multiply_the_position_weights():
    problem = random_problem(4, n=25)
    sample_weight = np.random.default_rng(0).uniform(0.1, 3, 25)
    sequence = np.random.default_rng(1).permutation(25)[:20]
    game = LogisticGame(*problem, sample_weight=sample_weight, C=0.7, position_weight="uniform")
    cost = 0.7 * sample_weight[sequence]
    expected = naive.newton(problem.X[sequence], naive.one_vs_rest(problem.y[sequence], 2)[0], cost)
    np.testing.assert_allclose(game.coefficients(sequence, tol=1e-10)[0], expected.astype(float), atol=1e-9)


NASTY = {
    "separable": lambda p, rng: (random_problem(5, n=30, noise=0.0), None),
    "weights over ten orders": lambda p, rng: (p, 10.0 ** rng.uniform(-5, 5, len(p.y))),
    "separable, weights over ten orders": lambda p, rng: (
        random_problem(5, n=30, noise=0.0),
        10.0 ** rng.uniform(-5, 5, 30),
    ),
    "some weights zero": lambda p, rng: (p, rng.integers(2, size=len(p.y)).astype(float)),
    "duplicates": lambda p, rng: (p._replace(X=np.tile(p.X[:10], (3, 1))), None),
    "all rows equal": lambda p, rng: (p._replace(X=np.tile(p.X[:1], (30, 1))), None),
    "constant and zero features": lambda p, rng: (
        p._replace(X=p.X * [1, 0, 1, 0, 1] + [0, 7, 0, 0, 0]),
        None,
    ),
    "equal features": lambda p, rng: (p._replace(X=p.X[:, [0, 0, 0, 1, 1]]), None),
    "tiny": lambda p, rng: (p._replace(X=p.X * 1e-8), None),
    "vanishing": lambda p, rng: (p._replace(X=p.X * 1e-200), None),
    "far from the origin": lambda p, rng: (p._replace(X=p.X + 1000), None),
}


@pytest.mark.parametrize("case", NASTY)
def test_coefficients_on_awkward_data(case):
    rng = np.random.default_rng(5)
    problem, sample_weight = NASTY[case](random_problem(5, n=30), rng)
    sequences = list(prefixes(problem, size([2, 3, 5, 9, 17, 30] * 3, [2, 5, 17]), rng))
    far = case == "far from the origin"
    check_coefficients(problem, sequences, tol=1e-6 if far else 1e-8, sample_weight=sample_weight)


def test_a_single_row_a_class():
    problem = wine(True)
    leaders = [int(np.flatnonzero(problem.y == k)[0]) for k in range(3)]
    check_coefficients(problem, [leaders, leaders[::-1]], tol=1e-10, norm_wise=1e-6)


@pytest.mark.parametrize("scale", [1e4, 1e6])
def test_huge_features_converge_to_rounding(scale):
    base = random_problem(5, n=30)
    problem = base._replace(X=base.X * scale)
    rng = np.random.default_rng(2)
    for sequence in prefixes(problem, size([5, 9, 17, 30], [9]), rng):
        X, y, cost = naive.LogisticUtility(*problem).problem(sequence)
        sign = naive.one_vs_rest(y, 2)[0]
        optimum = naive.newton(X, sign, cost).astype(float)
        # Asked for more than rounding allows, it gives what it can.
        ours = LogisticGame(*problem).coefficients(sequence, tol=1e-30)[0]
        assert np.linalg.norm(ours - optimum) <= 1e-6 * np.linalg.norm(optimum)


def test_a_sequence_without_a_class_has_no_coefficients():
    problem = wine(True)
    game = LogisticGame(*problem)
    with pytest.raises(ValueError, match="class"):
        game.coefficients(np.flatnonzero(problem.y != 1)[:10])
    with pytest.raises(ValueError, match="class"):
        game.coefficients([])


def decisions_along(game, order):
    """Certified decisions at every prefix of `order`, each warm-started along it."""
    workspace = game._workspace_maker(*game._payload)
    for m in range(1, len(order) + 1):
        walks.utilities_of(workspace, np.asarray(order[:m], dtype=np.int64), True)
        assert workspace.unconverged == 0
        yield workspace.validation.decisions.copy()


def check_decisions(problem, orders, game_options=None, naive_options=None):
    game = LogisticGame(*problem, **(game_options or {}))
    utility = naive.LogisticUtility(*problem, **(naive_options or {}))
    compared = 0
    for order in orders:
        converged = None
        for m, decisions in enumerate(decisions_along(game, order), start=1):
            if utility.has_model(order[:m]):
                converged = utility.coefficients(order[:m], start=converged)
                expected = naive.predict(converged, problem.X_valid)
                np.testing.assert_array_equal(decisions, expected, err_msg=f"{order[:m]}")
                compared += 1
    return compared


@pytest.mark.parametrize("name", NAMED)
def test_decisions_are_those_of_the_converged_model(name):
    problem = named(name)
    rng = np.random.default_rng(7)
    orders = [rng.permutation(len(problem.y))[: size(100, 8)] for _ in range(size(4, 2))]
    assert check_decisions(problem, orders) > size(300, 3)


def test_exact_ties_decide_for_class_0():
    problem, pairs = cancer(), twins()
    assert len(pairs) >= 4
    game, utility = LogisticGame(*problem), naive.LogisticUtility(*problem)
    zeros = np.mean(problem.y_valid == 0)
    for pair in pairs:
        assert np.abs(utility.coefficients(pair)).max() < 1e-15  # a tie at every validation row
        assert game(pair) == utility(pair) == zeros


def test_ties_do_not_depend_on_the_warm_start():
    # (a, c, d, b) with a, b and c, d twins is symmetric, so its model is 0 again after that of the
    # three rows before was not.
    problem, pairs = cancer(), twins()
    orders = [(a, c, d, b) for a, b in pairs for c, d in pairs if len({a, b, c, d}) == 4]
    assert len(orders) >= 8
    orders = orders[:: size(1, 6)]
    assert check_decisions(problem, [np.array(order) for order in orders]) >= 2 * len(orders)


def test_ties_with_more_features_than_rows():
    # Rows are then expressed in a basis of their span, where twins are twins to rounding only.
    pairs, base = twins(), cancer()
    rows = np.array(sorted({i for pair in pairs for i in pair}))
    where = {row: k for k, row in enumerate(rows.tolist())}
    problem = base._replace(X=base.X[rows], y=base.y[rows])
    assert problem.X.shape[0] < problem.X.shape[1]
    orders = [(a, c, d, b) for a, b in pairs for c, d in pairs if len({a, b, c, d}) == 4]
    orders = orders[:: size(1, 6)]
    check_decisions(problem, [np.array([where[i] for i in order]) for order in orders])


@pytest.mark.parametrize("scaled", [True, False])
def test_more_features_than_rows(scaled):
    problem = wdbc(scaled).first(25)
    rng = np.random.default_rng(3)
    check_coefficients(
        problem,
        list(prefixes(problem, [5, 12, 25], rng)),
        tol=1e-9 if scaled else 1e-5,
        norm_wise=1e-6 if scaled else 1e-3,
    )
    assert check_decisions(problem, [rng.permutation(25) for _ in range(size(10, 1))]) > 10


@pytest.mark.parametrize("n_classes", [2, 3])
def test_decisions_with_many_columns(n_classes):
    # Every new row dominates the Hessian in its direction.
    problem = random_problem(size(150, 60), n=size(40, 10), n_valid=30, n_classes=n_classes, noise=0.3)
    rng = np.random.default_rng(6)
    orders = [rng.permutation(len(problem.y)) for _ in range(size(3, 1))]
    assert check_decisions(problem, orders) > size(90, 3)


def test_ties_of_three_classes_go_to_the_lowest():
    # Equal rows with every label twice: classes with equally many rows so far have equal models, which
    # the warm start reaches from different sides.
    rng = np.random.default_rng(0)
    y = np.array([0, 0, 1, 1, 2, 2])
    X_valid = rng.normal(size=(12, 2))
    problem = Problem(np.tile([[1.0, 2.0]], (6, 1)), y, X_valid, np.arange(12) % 3)
    orders = [rng.permutation(6) for _ in range(size(40, 10))]
    uniform = {"position_weight": "uniform"}, {"weights": naive.uniform_weights}
    assert check_decisions(problem, orders, *uniform) > len(orders)
    game = LogisticGame(*problem, position_weight="uniform")
    for order in orders:
        assert game(order) == game.prefix_utilities(order)[-1] == pytest.approx(1 / 3)


@pytest.mark.parametrize("size_of_one_column", [1e3, 1e5])
def test_decisions_with_one_large_raw_column(size_of_one_column):
    # An income or a date among standardised features: the rounding bound must not call all a tie.
    rng = np.random.default_rng(3)
    base = wine(True)

    def widen(X):
        return np.column_stack([X, size_of_one_column * np.exp(rng.normal(size=len(X)))])

    problem = base._replace(X=widen(base.X), X_valid=widen(base.X_valid))
    orders = [rng.permutation(89)[: size(60, 8)] for _ in range(size(5, 1))]
    assert check_decisions(problem, orders) > size(200, 1)


@pytest.mark.slow
@pytest.mark.skipif(not JIT, reason="same code, only slower")
def test_decisions_on_raw_adult():
    from ordinal_shapley import datasets
    from problems import split

    data = datasets.load_adult(split="train")
    problem = split(np.asarray(data.X, dtype=np.float64)[:2000], data.y[:2000], 200, 100)
    rng = np.random.default_rng(4)
    assert check_decisions(problem, [rng.permutation(200)[:60] for _ in range(3)]) > 150


@pytest.mark.parametrize("seed", range(size(60, 3)))
def test_decisions_are_right_or_the_fit_is_counted_as_unconverged(seed):
    # Columns over nine orders of magnitude, offsets, weights and C at once: some fits are beyond double
    # precision, and none of those may pass for a result.
    rng = np.random.default_rng(seed)
    n_classes, d = int(rng.integers(2, 5)), int(rng.integers(1, 25))
    problem = random_problem(d, n=30, n_valid=30, n_classes=n_classes, seed=seed, noise=0.3)
    scale = 10.0 ** rng.uniform(-4, 5, d) if seed % 2 else 1.0
    offset = 0.0 if seed % 2 else 10.0 ** rng.uniform(0, 4)
    problem = problem._replace(X=problem.X * scale + offset, X_valid=problem.X_valid * scale + offset)
    options = {"C": 10.0 ** rng.uniform(-3, 4), "sample_weight": 10.0 ** rng.uniform(-4, 4, 30)}
    game, utility = LogisticGame(*problem, **options), naive.LogisticUtility(*problem, **options)
    order = rng.permutation(30)
    for m in size([4, 8, 12, 16, 20, 25, 30], [8]):
        if utility.has_model(order[:m]):
            workspace = game._workspace_maker(*game._payload)
            walks.utilities_of(workspace, order[:m], True)
            expected = naive.predict(utility.coefficients(order[:m]), problem.X_valid)
            right = np.array_equal(workspace.validation.decisions, expected)
            assert right or workspace.unconverged > 0


def test_columns_without_training_values_change_nothing():
    """Their coefficients are 0, whatever the validation rows hold there."""
    problem = random_problem(3, n=30, n_valid=20, n_classes=3, seed=2)
    idle = np.zeros((30, 4)), np.random.default_rng(0).normal(size=(20, 4))
    wide = problem._replace(
        X=np.hstack([idle[0], problem.X, idle[0]]), X_valid=np.hstack([idle[1], problem.X_valid, idle[1]])
    )
    order = np.arange(30)
    narrow_game, wide_game = LogisticGame(*problem), LogisticGame(*wide)
    d = problem.X.shape[1]
    expected = np.zeros((3, d + 9))
    expected[:, [*range(4, 4 + d), -1]] = narrow_game.coefficients(order)
    np.testing.assert_allclose(wide_game.coefficients(order), expected, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(wide_game.prefix_utilities(order), narrow_game.prefix_utilities(order))
