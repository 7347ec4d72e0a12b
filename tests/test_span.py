"""Sequences of fewer, as many and more rows than columns: the decisions are those of the converged model.

Through the game alone, so that it does not matter where models live. What is right comes from `naive`: a
model whose gradient is g long is within |g| of the optimum, so validation rows that are further than |g| |x|
from a tie are decided, and a game that scores against these decisions must be worth 1.
"""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import naive
import ordinal_shapley as osv
from ordinal_shapley import FunctionGame, LogisticGame, exact_values
from problems import Problem, size
from runs import sample_with

TIE = 1e-7
WEIGHTS = {"gaussian": naive.gaussian_weights, "uniform": naive.uniform_weights}


def clusters(n, d, n_classes=2, *, n_valid=25, seed=0, spread=1.5):
    """Normal classes about random centres, every class among the first rows of both parts."""
    rng = np.random.default_rng([seed, n, d, n_classes])
    y = np.concatenate([np.arange(n) % n_classes, np.arange(n_valid) % n_classes])
    X = rng.normal(size=(n + n_valid, d)) + spread / np.sqrt(d) * rng.normal(size=(n_classes, d))[y]
    return Problem(X[:n], y[:n], X[n:], y[n:])


def order_of(problem, rng, n_rows=None):
    """A random order of all rows, or of some, that begins with a row of every class."""
    y = problem.y
    leaders = np.array([rng.choice(np.flatnonzero(y == label)) for label in np.unique(y)])
    others = rng.permutation(np.setdiff1d(np.arange(len(y)), leaders))
    return np.concatenate([rng.permutation(leaders), others])[:n_rows]


def decided(problem, sequence, rng, solver=naive.newton, **options):
    """Validation rows that are no ties, and their classes by the converged model.

    Beside each of the problem one near the boundary of its two best classes, which shows a small error.
    """
    utility = naive.LogisticUtility(*problem, **options)
    X, y, cost = utility.problem(sequence)
    models = naive.coefficients(X, y, problem.n_classes, cost, solver)
    signs = naive.one_vs_rest(y, problem.n_classes)
    errors = [naive.gradient_norm(w, X, sign, cost) for w, sign in zip(models, signs, strict=True)]
    if len(models) == 1:
        models = np.vstack([0 * models, models])  # class 0 is what is left
    rows = problem.X_valid
    values = naive.decision_values(models, rows).astype(np.float64)
    best = np.argsort(values, axis=1)[:, -2:]
    normals = (models[best[:, 1]] - models[best[:, 0]])[:, :-1].astype(np.float64)
    gaps = np.sort(values, axis=1)
    wanted = 10.0 ** rng.uniform(-6, -1, len(rows)) * rng.choice([-1.0, 1.0], len(rows))
    squares = np.maximum(np.einsum("ij,ij->i", normals, normals), 1e-300)
    near = rows - ((gaps[:, -1] - gaps[:, -2] - wanted) / squares)[:, None] * normals
    rows = np.vstack([rows, near])
    values = naive.decision_values(models, rows).astype(np.float64)
    gaps = np.sort(values, axis=1)
    lengths = np.linalg.norm(naive.with_intercept(rows), axis=1)
    # What a weak penalty lets through is a tie, too; what is far out says nothing of the rows at hand.
    bound = TIE + (2 * max(errors) + 1e-9 * np.linalg.norm(models.astype(np.float64))) * lengths
    clear = (gaps[:, -1] - gaps[:, -2] > bound) & (lengths < 1e6)
    return rows[clear], values.argmax(axis=1)[clear]


def check(problem, sequences, solver=naive.newton, weights="gaussian", **options):
    """Compare decisions, of each sequence by itself and at the end of its walk; returns how many."""
    rng, compared = np.random.default_rng(99), 0
    costs = options.get("sample_weight", np.ones(len(problem.y)))
    for sequence in sequences:
        sequence = np.asarray(sequence)
        if len(set(problem.y[sequence[costs[sequence] > 0]])) < len(set(problem.y[sequence])):
            continue  # no model
        rows, classes = decided(problem, sequence, rng, solver, weights=WEIGHTS[weights], **options)
        if not len(rows):
            continue
        game = LogisticGame(
            problem.X, problem.y, rows, classes, position_weight=weights, empty_value=-1.0, **options
        )
        assert game(sequence) == 1.0, (problem.X.shape, len(sequence))
        assert game.prefix_utilities(sequence)[-1] == 1.0, (problem.X.shape, len(sequence))
        compared += len(rows)
    return compared


def lengths_around(d, n, n_classes):
    """Far below the number of columns, around it, and far above."""
    wanted = [n_classes, d // 4, d // 2, *range(d - 2, d + 4), 2 * d, n]
    return sorted({m for m in wanted if n_classes <= m <= n})


# Decisions


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("d", size([*range(1, 10), 12, 15, 16, 17, 20, 33, 40], [1, 3, 8, 9]))
def test_lengths_around_the_number_of_columns(d, n_classes):
    problem = clusters(max(3 * d, 12) if size(True, False) else d + 4, d, n_classes)
    rng = np.random.default_rng(d)
    lengths = lengths_around(d, len(problem.y), n_classes)
    orders = [order_of(problem, rng, m) for m in lengths]
    assert check(problem, orders) > 15 * len(lengths)


@pytest.mark.parametrize("d", size([3, 16, 37], [6]))
def test_ten_classes(d):
    problem = clusters(size(60, 13), d, 10, spread=3.0)
    rng = np.random.default_rng(d)
    orders = [order_of(problem, rng, m) for m in size([10, 11, 20, 36, 37, 38, 60], [11, 13])]
    assert check(problem, orders) > 20 * len(orders)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_many_columns(n_classes):
    problem = clusters(*size((230, 150), (8, 30)), n_classes, seed=2)
    rng = np.random.default_rng(n_classes)
    lengths = size([5, 20, 75, 148, 150, 152, 230], [5, 8])
    assert check(problem, [order_of(problem, rng, m) for m in lengths]) > 20 * len(lengths)


@pytest.mark.parametrize("d", size([5, 20, 60], [7]))
@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_decisions_are_those_of_liblinear(n_classes, d):
    problem = clusters(*size((90, d), (12, d)), n_classes, seed=3, spread=2.0)
    rng = np.random.default_rng(d)
    lengths = size([n_classes, 15, 25, 45, 62, 90], [11])
    orders = [order_of(problem, rng, m) for m in lengths]
    assert check(problem, orders, naive.liblinear) > 15 * len(orders)


def near_twins(gap):
    def twins(X, rng):
        half = len(X) // 2
        X[half : 2 * half] = X[:half] + gap * rng.normal(size=(half, X.shape[1]))

    return twins


def few_directions(X, rng):
    X[:] = X[:, :4] @ rng.normal(size=(4, X.shape[1]))


def equal_columns(X, rng):
    X[:, ::3] = X[:, :1]


def constant_columns(X, rng):
    X[:, 1::4] = np.resize([3.0, 0.0, -7.0, 1.0, 2.0], X[:, 1::4].shape[1])


def some_rows_zero(X, rng):
    X[::3] = 0.0


def unequal_columns(X, rng):
    X *= 10.0 ** rng.uniform(-2, 2, X.shape[1])


def decaying_columns(X, rng):
    rotation = np.linalg.qr(rng.normal(size=(X.shape[1], X.shape[1])))[0]
    X[:] = (X * np.arange(1.0, X.shape[1] + 1) ** -0.7) @ rotation


def far_from_zero(X, rng):
    X += 1e3


def one_column_far_from_zero(X, rng):
    X[:, 2] = X[:, 2] * 50 + 1e3


AWKWARD = {
    "duplicates": near_twins(0.0),
    **{f"rows {gap:g} apart": near_twins(gap) for gap in (1e-12, 1e-9, 1e-6, 1e-3)},
    **{
        shape.__name__: shape
        for shape in (
            few_directions,
            equal_columns,
            constant_columns,
            some_rows_zero,
            unequal_columns,
            decaying_columns,
            far_from_zero,
            one_column_far_from_zero,
        )
    },
}


def awkward(name, n, d, n_classes, seed=0):
    problem = clusters(n, d, n_classes, seed=seed)
    X = np.vstack([problem.X, problem.X_valid])
    AWKWARD[name](X, np.random.default_rng([seed, d]))
    return problem._replace(X=X[:n], X_valid=X[n:])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_rows(name, n_classes):
    d = size(20, 6)
    problem = awkward(name, size(52, 10), d, n_classes)
    rng = np.random.default_rng(4)
    lengths = size([4, 10, 18, 19, 20, 21, 22, 24, 40, 52], [4, 7])
    assert check(problem, [order_of(problem, rng, m) for m in lengths]) > 10 * len(lengths)


@pytest.mark.parametrize("weights", ["gaussian", "uniform"])
@pytest.mark.parametrize("C", [1e-4, 1e-2, 1.0, 1e2, 1e4, 1e6])
def test_weak_and_strong_penalties(C, weights):
    d = size(20, 5)
    problem = clusters(size(60, 9), d, 2, seed=5)
    rng = np.random.default_rng(5)
    lengths = size([2, 5, 10, 18, 20, 21, 23, 40, 60], [4, 7])
    compared = check(problem, [order_of(problem, rng, m) for m in lengths], C=C, weights=weights)
    assert compared > 10 * len(lengths)


@pytest.mark.parametrize("weights", ["gaussian", "uniform"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_sample_weights_with_zeros(n_classes, weights):
    problem = clusters(size(60, 10), size(20, 6), n_classes, seed=6)
    rng = np.random.default_rng(6)
    sample_weight = rng.choice([0.0, 0.3, 1.0, 20.0], size=len(problem.y))
    lengths = size([4, 10, 19, 20, 21, 30, 60], [5, 8])
    orders = [order_of(problem, rng, m) for m in lengths]
    assert check(problem, orders, sample_weight=sample_weight, weights=weights) > 10 * len(lengths)


@settings(max_examples=size(150, 15), deadline=None)
@given(
    d=st.integers(1, size(26, 7)),
    n_more=st.integers(-6, size(40, 4)),
    n_classes=st.integers(2, 5),
    log_cost=st.floats(-4, 6),
    log_scale=st.floats(-2, 2),
    shape=st.sampled_from([None, *AWKWARD]),
    weights=st.sampled_from(sorted(WEIGHTS)),
    seed=st.integers(0, 2**32 - 1),
    data=st.data(),
)
def test_any_shape(d, n_more, n_classes, log_cost, log_scale, shape, weights, seed, data):
    n = max(d + n_more, n_classes + 1)
    problem = clusters(n, d, n_classes, seed=seed, n_valid=12)
    if shape is not None and d > 3:
        problem = awkward(shape, n, d, n_classes, seed)
    problem = problem._replace(X=problem.X * 10**log_scale, X_valid=problem.X_valid * 10**log_scale)
    rng = np.random.default_rng(seed)
    order = order_of(problem, rng, data.draw(st.integers(n_classes, n)))
    options = {"C": 10**log_cost, "weights": weights}
    if data.draw(st.booleans()):
        options["sample_weight"] = rng.choice([0.0, 0.1, 1.0, 5.0], size=n)
    with warnings.catch_warnings():
        # What double precision cannot settle is said, and then nothing is promised.
        warnings.filterwarnings("error", ".*did not converge", RuntimeWarning)
        try:
            check(problem, [order], **options)
        except RuntimeWarning:
            assert 10**log_cost * np.max(problem.X**2) * d > 1e4


# Walks, jumps, and ways back

METRICS = ["accuracy", "balanced_accuracy", "f1"]


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("scoring", METRICS)
def test_walks_are_worth_what_their_prefixes_are(scoring, n_classes):
    n, d = size((48, 20), (12, 6))
    problem = clusters(n, d, n_classes, seed=8)
    game = LogisticGame(*problem, scoring=scoring)
    order = np.random.default_rng(8).permutation(n)
    along = game.prefix_utilities(order)
    single = [game(order[:m]) for m in range(1, n + 1)]
    np.testing.assert_array_equal(along, single)
    assert game((*order.tolist(),)) == along[-1]


def play(game, rng, n_moves):
    """Enter and take out players at random, looking now and then: sequences and their utilities.

    A game's functions are what a walk calls, so jumps and enumerations are such plays.
    """
    workspace = game._make_workspace()
    functions = workspace.functions
    functions.reset(workspace)
    sequence = []
    for _ in range(n_moves):
        absent = np.setdiff1d(np.arange(game.n_players), sequence)
        # Long runs of one or the other, so that sequences grow past the columns and shrink again.
        n_steps = int(rng.integers(1, game.n_players))
        if rng.random() < 0.5 and len(absent):
            for player in rng.permutation(absent)[:n_steps].tolist():
                functions.push(workspace, player)
                sequence.append(player)
        elif rng.random() < 0.2:
            functions.reset(workspace)
            sequence.clear()
        else:
            for _ in range(min(n_steps, len(sequence))):
                functions.pop(workspace, sequence.pop())
        if functions.is_defined(workspace):
            functions.evaluate(workspace)
            yield tuple(sequence), float(workspace.scores[0])
    assert workspace.unconverged == 0


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("shape", size([(30, 12), (30, 45), (80, 24), (12, 30)], [(9, 4), (6, 9)]))
def test_jumps_and_ways_back_are_worth_what_the_sequence_is(shape, n_classes):
    problem = clusters(*shape, n_classes, seed=10)
    game = LogisticGame(*problem)
    seen = 0
    for seed in range(size(4, 1)):
        for sequence, found in play(game, np.random.default_rng([10, seed]), size(60, 12)):
            assert found == game(sequence), len(sequence)
            seen += 1
    assert seen > size(60, 2)


@pytest.mark.parametrize("groups", [None, size(5, 3)])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_enumerations_take_rows_out_again(n_classes, groups):
    # Six players of a row each, or of so many that the sequences grow past the 20 columns.
    n_players, d = size((6, 20), (4, 5))
    n = n_players * (groups or 1)
    problem = clusters(n, d, n_classes, seed=11)
    owners = None if groups is None else np.arange(n) % n_players
    game = LogisticGame(*problem, groups=owners)
    alone = functools.cache(lambda sequence: game(sequence))
    for value in ("partial_ordinal", "ordinal"):
        expected = getattr(naive, f"exact_{value}")(lambda sequence: alone(tuple(sequence)), n_players)
        np.testing.assert_allclose(exact_values(game, value).values, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("shape", size([(40, 15), (30, 60)], [(8, 5)]))
def test_what_was_evaluated_before_changes_nothing(shape):
    problem = clusters(*shape, 3, seed=12)
    rng = np.random.default_rng(12)
    sequences = [order_of(problem, rng, int(m)) for m in rng.integers(3, shape[0] + 1, size=size(12, 4))]
    game = LogisticGame(*problem)
    expected = [LogisticGame(*problem)(sequence) for sequence in sequences]
    assert [game(sequence) for sequence in sequences[::-1]][::-1] == expected
    game.prefix_utilities(sequences[0])
    assert [game(sequence) for sequence in sequences] == expected
    # In one workspace, one after the other.
    for part in (sequences, sequences[::-1], sequences[:1] * 2 + sequences[1:2] + sequences[:1]):
        alone = [LogisticGame(*problem)(one) for one in part]
        assert [game(one) for one in part] == alone


@pytest.mark.parametrize(
    "options",
    [
        {"method": "mc"},
        {
            "method": "ctmc",
            "truncation": osv.PatienceTruncation(0.1, 3, target="given"),
            "class_fraction": 0.5,
        },
        {"value": "ordinal", "method": "mc"},
        {"value": "ordinal", "method": "cmc"},
    ],
    ids=["full", "truncated", "ordinal", "ordinal of subsets"],
)
@pytest.mark.parametrize("shape", size([(40, 16), (24, 50)], [(7, 4)]))
def test_samples_are_those_of_single_evaluations(shape, options):
    problem = clusters(*shape, 3, seed=13)
    game = LogisticGame(*problem)
    # The same permutations of a game that knows nothing of the ones before.
    plain = FunctionGame(lambda sequence: game(sequence), game.n_players)
    labels = problem.y if options["method"].startswith("c") else None
    of_game, of_plain = (
        sample_with(one, n_permutations=size(20, 2), random_state=3, strata=labels, **options)
        for one in (game, plain)
    )
    np.testing.assert_allclose(of_game.values, of_plain.values, rtol=0, atol=1e-12)


# Scores and kinds of input


@pytest.mark.parametrize(
    ("scoring", "n_classes"),
    [
        ("balanced_accuracy", 3),
        ("f1", 2),
        ("f1", 3),
        ("roc_auc", 2),
        ("neg_log_loss", 2),
        ("neg_log_loss", 3),
        ("neg_log_loss", 10),
    ],
)
@pytest.mark.parametrize("shape", size([(45, 16), (30, 50)], [(12, 5)]))
def test_every_score(shape, scoring, n_classes):
    problem = clusters(*shape, n_classes, seed=14)
    # Validation rows twice, once under another label: values that tie.
    twice = {
        "X_valid": np.vstack([problem.X_valid, problem.X_valid[:10]]),
        "y_valid": np.append(problem.y_valid, (problem.y_valid[:10] + 1) % n_classes),
    }
    problem = problem._replace(**twice)
    game = LogisticGame(*problem, scoring=scoring)
    utility = naive.LogisticUtility(*problem, scoring=scoring)
    rng = np.random.default_rng(14)
    lengths = lengths_around(shape[1], shape[0], n_classes) if size(True, False) else [n_classes, shape[0]]
    for m in lengths:
        order = order_of(problem, rng, m)
        assert game(order) == pytest.approx(utility(order), rel=0, abs=1e-8)


KINDS = {
    "float32": lambda X: X.astype(np.float32),
    "float32, by columns": lambda X: np.asfortranarray(X.astype(np.float32)),
    "every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "int64": lambda X: X.astype(np.int64),
    "int8": lambda X: X.astype(np.int8),
    "bool": lambda X: X > 0,
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
    "csr of float32": lambda X: sparse.csr_array(X.astype(np.float32)),
    "csr of integers": lambda X: sparse.csr_array(X.astype(np.int32)),
    "lists": lambda X: X.tolist(),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", size([(40, 16), (30, 70)], [(9, 5), (6, 9)]))
def test_the_same_numbers_in_another_form(shape, kind):
    problem = clusters(*shape, 3, seed=15)
    # Whole numbers, many of them 0, which every form can hold.
    X, X_valid = (np.trunc(2 * rows) for rows in (problem.X, problem.X_valid))
    if kind == "bool":
        X, X_valid = (rows > 0 for rows in (X, X_valid))
    make = KINDS[kind]
    as_float = LogisticGame(
        np.asarray(X, np.float64), problem.y, np.asarray(X_valid, np.float64), problem.y_valid
    )
    game = LogisticGame(make(X), problem.y, make(X_valid), problem.y_valid)
    mixed = LogisticGame(make(X), problem.y, np.asarray(X_valid, np.float64), problem.y_valid)
    order = order_of(problem, np.random.default_rng(15))
    expected = as_float.prefix_utilities(order)
    for one in (game, mixed):
        np.testing.assert_array_equal(one.prefix_utilities(order), expected)
        np.testing.assert_allclose(one.coefficients(order), as_float.coefficients(order), rtol=0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("C", [1.0, 1e3, 1e5])
@pytest.mark.parametrize("seed", range(size(6, 1)))
def test_fewer_directions_than_rows_among_more_columns(seed, C):
    # Inner products of such rows have no pivots left but rounding; no fit may pass for one that converged.
    rng = np.random.default_rng(seed)
    n, d = size((60, 63), (8, 10))
    problem = clusters(n, d, 3, seed=seed)
    X = np.vstack([problem.X, problem.X_valid])
    equal_columns(X, rng)
    if seed % 2:
        near_twins(0.0)(X[:n], rng)
    unequal_columns(X, rng)
    problem = problem._replace(X=X[:n], X_valid=X[n:])
    for m in size([20, 41, 42, 44, 60], [7]):
        with warnings.catch_warnings():
            warnings.filterwarnings("error", ".*did not converge", RuntimeWarning)
            try:
                check(problem, [order_of(problem, rng, m)], C=C)
            except RuntimeWarning:
                assert C > 1.0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["few_directions", "equal_columns", "constant_columns", "duplicates"])
@pytest.mark.parametrize("n_classes", size([2, 7], [2]))
def test_more_rows_than_directions_but_fewer_than_columns(name, n_classes):
    # The span of these rows grows no more while they do, and pivots are rounding.
    n, d = size((70, 64), (10, 8))
    rng = np.random.default_rng(18)
    for seed in range(size(2, 1)):
        problem = awkward(name, n, d, n_classes, seed)
        if name == "duplicates":  # each row twice, in turn
            twice = np.repeat(np.arange(n // 2), 2)
            problem = problem._replace(X=problem.X[twice], y=np.arange(n) % n_classes)
        lengths = size([30, 43, 49, 58, 64, 70], [5, 7])
        orders = [order_of(problem, rng, m) for m in lengths]
        assert check(problem, orders) > 10 * len(orders)
        game = LogisticGame(*problem)
        order = rng.permutation(n)
        single = [game(order[:m]) for m in range(1, n + 1)]
        np.testing.assert_array_equal(game.prefix_utilities(order), single)
