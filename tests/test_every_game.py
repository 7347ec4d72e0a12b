"""Every kind of game through every exact and every sampled value."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from numba import njit
from sklearn.linear_model import LogisticRegression

import naive
import ordinal_shapley as osv
from problems import random_problem, size
from runs import exact_with, sample_with
from test_ordinal_sampling import check_samples, in_out_samples
from test_sampling import RULES, RUNS, check, transcription

pytestmark = pytest.mark.filterwarnings("ignore:.*truncation ended:UserWarning")

N = 5
CLASSES = np.array([0, 1, 0, 1, 1])
GROUPS = (0, 1, 1, 0, 0)
MODELS = ["logistic", "estimator", "ridge", "ridge classifier", "neighbors", "neighbors regressor"]
KINDS = ["table", "jitted", "plain", "compiled", *MODELS, "journeys"]


@njit
def late(sequence):
    """What comes late counts more; the order of all players matters."""
    total = 2.3
    for place in range(sequence.size):
        total += np.sqrt(sequence[place] + 1.0) * (place + 3.0) / 100.0
    return total


@njit
def together(sequence):
    total = 2.0
    for player in sequence:
        total += (player + 1.0) / 64.0  # no rounding: the same bits for every order
    return total * total


@njit
def in_groups(sequence):
    """Order matters inside the two groups only: each member counts half of the one before."""
    total, seen = 1.0, np.zeros(2)
    for player in sequence:
        group = 1 if player in (1, 2) else 0
        total += (player + 1.0) / 2.0 ** (3.0 + seen[group])
        seen[group] += 1.0
    return total


@njit
def across_groups(sequence):
    """Order matters across the two groups only."""
    total, ones = 1.0, 0.0
    for player in sequence:
        total += (player + 1.0) / 16.0
        if player in (1, 2):
            ones += 1.0
        else:
            total += ones / 8.0
    return total


def plain(jitted):
    return getattr(jitted, "py_func", jitted)


@lru_cache
def played(kind, func=late):
    """A game of that kind, and the same as a plain function of tuples."""
    order_free = func is together
    name = "uniform" if order_free else "gaussian"
    weights = naive.uniform_weights if order_free else naive.gaussian_weights
    if kind in ("logistic", "estimator", "neighbors", "ridge classifier"):
        problem = random_problem(2, n=N, n_valid=20, seed=4)._replace(y=CLASSES)
        if kind == "neighbors":
            game = osv.NearestNeighborGame(*problem, position_weight=name, n_neighbors=3)
            return game, naive.NeighborUtility(*problem, weights=weights, k=3)
        if kind == "ridge classifier":
            options = {"class_weight": "balanced", "alpha": 0.1}
            game = osv.RidgeClassifierGame(*problem, position_weight=name, **options)
            return game, naive.RidgeClassifierUtility(*problem, weights=weights, **options)
        U = naive.LogisticUtility(*problem, weights=weights)
        if kind == "logistic":
            return osv.LogisticGame(*problem, position_weight=name), U
        model = LogisticRegression(solver="liblinear", tol=1e-12, max_iter=10_000)
        return osv.EstimatorGame(model, *problem, position_weight=name), U
    if kind in ("ridge", "neighbors regressor"):
        rng = np.random.default_rng(7)
        X, y = rng.normal(size=(N + 20, 2)), 4 * rng.random(N + 20)
        problem = (X[:N], y[:N], X[N:], y[N:])
        if kind == "neighbors regressor":
            options = {"n_neighbors": 3, "weights": "distance"}
            game = osv.NearestNeighborRegressorGame(*problem, position_weight=name, **options)
            return game, naive.NeighborMeanUtility(*problem, weights=weights, k=3, by="distance")
        return osv.RidgeGame(*problem, position_weight=name), naive.RidgeUtility(*problem, weights=weights)
    if kind == "journeys":
        rng = np.random.default_rng(5)
        rows = [(rng.permutation(N)[:length].tolist(), length + 1, 9) for length in (1, 1, 2, 2, 3, 3, 4)]
        game = osv.JourneyGame(*zip(*rows, strict=True), ordered=not order_free, channels=range(N))
        return game, naive.JourneyUtility(N, rows, ordered=not order_free)
    table = {S: float(plain(func)(np.array(S, dtype=np.int64))) for S in naive.sequences_of(range(N))}
    if kind == "table":
        game = osv.TableGame(N, table)
    elif kind == "compiled":
        game = osv.CompiledGame(N, lambda game: func(game.sequence[: game.length]), order_free=order_free)
    else:
        game = osv.FunctionGame(func if kind == "jitted" else plain(func), N, order_free=order_free)
    return game, naive.TableUtility(N, table)


def jobs(kind):
    """Starting processes takes longer than these games do."""
    return 1 if kind == "estimator" else -1


@pytest.mark.parametrize("kind", KINDS)
def test_exact_values(kind):
    game, U = played(kind)
    partial, ordinal = naive.exact_partial_ordinal(U, N), naive.exact_ordinal(U, N)
    assert not game.order_free
    assert np.abs(partial - ordinal).max() > 1e-3

    def sorted_only(S):
        return 1.0 if list(S) == sorted(S) else 0.0

    def check_values(expected, *arguments, **options):
        result = exact_with(game, *arguments, n_jobs=jobs(kind), **options)
        np.testing.assert_allclose(result.values, expected, atol=1e-12)

    check_values(partial)
    check_values(ordinal, "ordinal")
    check_values(0.3 * ordinal + 0.7 * partial, "blend", alpha=0.3)
    check_values(naive.exact_weighted(U, N, sorted_only), "weighted_ordinal", order_weight=sorted_only)
    check_values(partial, partition=[0] * N, case="within")
    check_values(partial, partition=range(N), case="between")


@pytest.mark.parametrize("kind", KINDS)
def test_exact_classic(kind):
    game, U = played(kind, together)
    assert game.order_free
    result = osv.exact_values(game, "classic", n_jobs=jobs(kind))
    np.testing.assert_allclose(result.values, naive.exact_classic(U, N), atol=1e-12)


@pytest.mark.parametrize(("func", "case"), [(in_groups, "within"), (across_groups, "between")])
@pytest.mark.parametrize("kind", ["table", "jitted", "plain", "compiled"])
def test_exact_partitions(kind, func, case):
    game, U = played(kind, func)
    result = osv.exact_values(game, osv.PartialOrdinal(partition=GROUPS, case=case))
    np.testing.assert_allclose(result.values, naive.exact_partial_ordinal(U, N), atol=1e-12)
    assert result.n_evaluations < osv.exact_values(game, "partial_ordinal").n_evaluations


SAMPLED = [("partial_ordinal", None), ("ordinal", None), ("classic", "marginal"), ("classic", "in_out")]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("method", "rule"), RUNS)
@pytest.mark.parametrize(("value", "estimator"), SAMPLED)
def test_sampled_values(value, estimator, method, rule, kind):
    game, U = played(kind, together if value == "classic" else late)
    truncation = RULES.get(rule)
    result = sample_with(
        game,
        value,
        method,
        contribution=estimator,
        truncation=truncation,
        strata=CLASSES,
        class_fraction=0.9,
        n_permutations=size(40, 12),
        random_state=2,
    )
    walked = transcription(result, U, CLASSES, method, truncation, 0.9)
    (_, _, lengths), sequences = walked
    assert result.mean_evaluated == pytest.approx(lengths.mean())
    if truncation is not None and kind in ("table", "jitted", "plain", "compiled"):
        assert min(lengths) < len(sequences[0]), "nothing was truncated: the test shows nothing"
    if value == "partial_ordinal" or estimator == "marginal":
        check(result, walked, "all")
        return
    filled = []
    for sequence, length in zip(sequences, lengths, strict=True):
        full = U(range(N)) if rule == "patience" else U(sequence)
        filled.append([U(sequence[:s]) if s <= length else full for s in range(len(sequence) + 1)])
    check_samples(result, in_out_samples(U, N, sequences, filled, U(())))
