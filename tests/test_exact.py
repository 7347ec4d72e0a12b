"""Exact values against the formulas written out, closed forms, and the axioms."""

from __future__ import annotations

import itertools
import math
import signal
import threading
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

import naive
import ordinal_shapley as osv
from ordinal_shapley.exact import enumeration
from ordinal_shapley_kernels.table import subtree_sizes
from ordinal_shapley_kernels.watching import watching
from problems import JIT, random_problem, size
from runs import exact_with
from test_golden import CASES as GOLDEN

VALUES = {"partial_ordinal": naive.exact_partial_ordinal, "ordinal": naive.exact_ordinal}


def random_table(n, seed=0):
    """A random game, and the same as a plain function of tuples."""
    values = np.random.default_rng([seed, n]).normal(size=subtree_sizes(n)[n])
    game = osv.TableGame.from_array(n, values)
    return game, naive.TableUtility(n, {S: game(S) for S in naive.sequences_of(range(n))})


def table_of(n, U, **options):
    """The table game of a function of tuples."""
    return osv.TableGame(n, {S: float(U(S)) for S in naive.sequences_of(range(n))}, **options)


# The formulas


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_values(name):
    n, table, partial, ordinal = GOLDEN[name]
    game = osv.TableGame(n, {tuple(i - 1 for i in sequence): value for sequence, value in table.items()})
    for value, expected in (("partial_ordinal", partial), ("ordinal", ordinal)):
        result = osv.exact_values(game, value)
        np.testing.assert_allclose(result.values, expected, atol=1e-12)
        assert abs(result.efficiency_gap) < 1e-12


@pytest.mark.parametrize("seed", range(size(6, 2)))
@pytest.mark.parametrize(
    "n", [1, 2, 3, 4, 5, pytest.param(6, marks=pytest.mark.skipif(not JIT, reason="slow"))]
)
def test_random_tables(n, seed):
    game, U = random_table(n, seed)
    partial = osv.exact_values(game, "partial_ordinal", position_profile=True)
    np.testing.assert_allclose(partial.values, naive.exact_partial_ordinal(U, n), atol=1e-12)
    np.testing.assert_allclose(partial.values, naive.exact_partial_ordinal_by_subsets(U, n), atol=1e-12)
    np.testing.assert_allclose(partial.position_profile, naive.exact_position_profile(U, n), atol=1e-12)
    np.testing.assert_allclose(partial.position_profile.mean(axis=1), partial.values, atol=1e-12)
    ordinal = osv.exact_values(game, "ordinal", position_profile=True)
    np.testing.assert_allclose(ordinal.values, naive.exact_ordinal(U, n), atol=1e-12)
    blend = osv.exact_values(game, osv.Blend(0.3))
    np.testing.assert_allclose(blend.values, 0.3 * ordinal.values + 0.7 * partial.values, atol=1e-12)
    share = np.mean([U(pi) for pi in itertools.permutations(range(n))]) - U(())
    for result in (partial, ordinal, blend):
        assert result.n_evaluations == len(game.values)
        assert result.values.sum() == pytest.approx(share, abs=1e-12)
        assert abs(result.efficiency_gap) < 1e-12


@pytest.mark.parametrize("n", [2, 4, 5])
def test_ordinal_is_the_classic_value_of_the_order_averaged_game(n):
    game, U = random_table(n)

    def averaged(S):
        return np.mean([U(pi) for pi in itertools.permutations(S)])

    mean_game = osv.FunctionGame(lambda S: averaged(tuple(sorted(S.tolist()))), n, order_free=True)
    expected = osv.exact_values(game, "ordinal", position_profile=True)
    classic = osv.exact_values(mean_game, "classic", position_profile=True)
    np.testing.assert_allclose(classic.values, expected.values, atol=1e-12)
    np.testing.assert_allclose(classic.position_profile, expected.position_profile, atol=1e-12)


@pytest.mark.parametrize("n", [1, 3, 5])
def test_classic_takes_one_sequence_of_each_set(n):
    worth = np.random.default_rng(n).normal(size=2**n)
    U = naive.TableUtility(n, {S: worth[sum(1 << i for i in S)] for S in naive.sequences_of(range(n))})
    game = table_of(n, U)
    assert game.order_free
    expected = naive.exact_classic(U, n)
    by_subsets = osv.exact_values(game, "classic")
    assert by_subsets.n_evaluations == 2**n
    for result in (by_subsets, osv.exact_values(game, "partial_ordinal"), osv.exact_values(game, "ordinal")):
        np.testing.assert_allclose(result.values, expected, atol=1e-12)


def random_weights(n, seed):
    """Weights that sum to 1 over the orders of each set, some negative."""
    rng = np.random.default_rng(seed)
    q = {}
    for k in range(n + 1):
        for S in itertools.combinations(range(n), k):
            orders = list(itertools.permutations(S))
            weights = rng.normal(size=len(orders))
            weights += (1 - weights.sum()) / len(orders)
            q.update(zip(orders, weights, strict=True))
    return q


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6] if JIT else [1, 2, 4, 5])
def test_weighted_ordinal(n):
    game, U = random_table(n)
    q = random_weights(n, n)
    result = osv.exact_values(game, osv.WeightedOrdinal(lambda S: q[tuple(S.tolist())]))
    expected = naive.exact_weighted(U, n, lambda S: q[S])
    np.testing.assert_allclose(result.values, expected, atol=1e-12)
    share = np.mean([U(pi) for pi in itertools.permutations(range(n))]) - U(())
    assert result.efficiency_gap == pytest.approx(expected.sum() - share, abs=1e-12)
    assert result.uniform_weight is (n < 3)
    if n > 2:
        assert abs(result.efficiency_gap) > 1e-3
    uniform = osv.exact_values(game, osv.WeightedOrdinal(lambda S: 1 / math.factorial(len(S))))
    assert uniform.uniform_weight is True
    np.testing.assert_allclose(uniform.values, osv.exact_values(game, "partial_ordinal").values, atol=1e-12)


# Partitions


def class_of(S, groups, case):
    """What a game of that case may depend on."""
    if case == "within":
        return tuple(tuple(i for i in S if groups[i] == g) for g in sorted(set(groups)))
    return tuple(groups[i] for i in S), frozenset(S)


def symmetric_game(n, groups, case, seed=0):
    """A random game of that case, and how many classes of sequences it has."""
    rng = np.random.default_rng([seed, n])
    worth = {}
    table = {}
    for S in naive.sequences_of(range(n)):
        table[S] = worth.setdefault(class_of(S, groups, case), rng.normal())
    return osv.TableGame(n, table), naive.TableUtility(n, table), len(worth)


PARTITIONS = [
    (0,),
    (0, 1),
    (0, 1, 0),
    (1, 0, 0, 1),
    (0, 0, 1, 2),
    (0, 1, 2, 0, 1),
    (1, 1, 1, 0, 0),
    (0, 1, 0, 1, 0, 1),
    (2, 0, 0, 0, 1, 2),
    (0, 0, 0, 0, 0),
    (0, 1, 2, 3, 4),
]


@pytest.mark.parametrize("case", ["within", "between"])
@pytest.mark.parametrize("groups", PARTITIONS if JIT else PARTITIONS[:6])
def test_special_cases(groups, case):
    n = len(groups)
    game, U, n_classes = symmetric_game(n, groups, case)
    result = osv.exact_values(game, osv.PartialOrdinal(partition=groups, case=case), position_profile=True)
    np.testing.assert_allclose(result.values, naive.exact_special_case(U, n, groups, case), atol=1e-12)
    full = osv.exact_values(game, "partial_ordinal", position_profile=True)
    np.testing.assert_allclose(result.values, full.values, atol=1e-12)
    np.testing.assert_allclose(result.position_profile, full.position_profile, atol=1e-12)
    assert abs(result.efficiency_gap) < 1e-12
    assert result.n_evaluations == n_classes


@pytest.mark.parametrize("case", ["within", "between"])
def test_a_game_without_the_symmetry_is_told(case):
    n, groups = 5, (0, 1, 0, 1, 1)
    game, U = random_table(n)
    with pytest.warns(UserWarning, match=case):
        result = osv.exact_values(game, osv.PartialOrdinal(partition=groups, case=case))

    def represented(S):
        if case == "within":
            return U(tuple(sorted(S, key=lambda i: groups[i])))
        members = {g: iter(sorted(i for i in S if groups[i] == g)) for g in groups}
        return U(tuple(next(members[groups[i]]) for i in S))

    expected = naive.exact_partial_ordinal(represented, n)
    np.testing.assert_allclose(result.values, expected, atol=1e-12)


# Closed forms

WORTH = np.array([5.0, 3.0, -2.0, 0.5, 1.0])


def test_position_discounted_additive_game():
    """U(S) = sum_k d^k w(S_k), k from 0.

    Joining at the end at place k adds d^k w_i and changes nothing before it, and i stands at each of the n
    places equally often: phi_i = w_i (1 + d + ... + d^(n-1)) / n.

    Ordinal: in the mean over the orders of a set of s players every member stands equally often at each of s
    places, so Ubar(S) = c_s sum_{i in S} w_i with c_s = (1 + ... + d^(s-1)) / s. Joining T of t players adds
    c_{t+1} w_i + (c_{t+1} - c_t) w(T), and T has a given j with probability t / (n - 1):
    phi_i = (1/n) sum_t [c_{t+1} w_i + (c_{t+1} - c_t) (t / (n - 1)) (w(N) - w_i)].
    """
    d, n = 0.6, len(WORTH)
    game = osv.FunctionGame(lambda S: sum(d**k * WORTH[i] for k, i in enumerate(S)), n)
    result = osv.exact_values(game, "partial_ordinal", position_profile=True)
    np.testing.assert_allclose(result.values, WORTH * sum(d**k for k in range(n)) / n, atol=1e-12)
    np.testing.assert_allclose(result.position_profile, np.outer(WORTH, d ** np.arange(n)), atol=1e-12)
    c = [0.0, *(sum(d**k for k in range(s)) / s for s in range(1, n + 1))]
    expected = [
        sum(c[t + 1] * w + (c[t + 1] - c[t]) * t / (n - 1) * (WORTH.sum() - w) for t in range(n)) / n
        for w in WORTH
    ]
    np.testing.assert_allclose(osv.exact_values(game, "ordinal").values, expected, atol=1e-12)


def test_games_of_the_first_and_of_the_last_touch():
    """U(S) = w of the first player, or of the last, and 0 for (); m_i is the mean of the others' w.

    First touch: only the first to come adds anything, phi_i = w_i / n. Last touch: who comes last takes the
    place of the one before, who is equally often any other, phi_i = [w_i + (n - 1) (w_i - m_i)] / n.

    Ordinal, of both: Ubar(S) = mean of w over S. Joining the empty set adds w_i, joining T of t >= 1 players
    adds (w_i - mean of T) / (t + 1), and the mean over T without i of the mean of T is m_i:
    phi_i = [w_i + (H_n - 1) (w_i - m_i)] / n, with H_n = 1 + 1/2 + ... + 1/n.
    """
    n = len(WORTH)
    others = (WORTH.sum() - WORTH) / (n - 1)
    ordinal = (WORTH + (sum(1 / k for k in range(1, n + 1)) - 1) * (WORTH - others)) / n
    for place, partial in ((0, WORTH / n), (-1, (WORTH + (n - 1) * (WORTH - others)) / n)):
        game = osv.FunctionGame(lambda S, place=place: WORTH[S[place]] if len(S) else 0.0, n)
        np.testing.assert_allclose(osv.exact_values(game, "partial_ordinal").values, partial, atol=1e-12)
        np.testing.assert_allclose(osv.exact_values(game, "ordinal").values, ordinal, atol=1e-12)


# Axioms

tables = st.integers(1, 4).flatmap(
    lambda n: st.lists(
        st.floats(-100, 100, width=32), min_size=subtree_sizes(n)[n], max_size=subtree_sizes(n)[n]
    ).map(lambda values: osv.TableGame.from_array(n, np.array(values)))
)
few = settings(max_examples=size(60, 10), deadline=None)


def both(game):
    return [osv.exact_values(game, value, n_jobs=1).values for value in VALUES]


@few
@given(tables, st.data())
def test_null_players(game, data):
    """A player whose joining, at the end or anywhere, never changes the utility is worth nothing."""
    n = game.n_players
    i = data.draw(st.integers(0, n - 1))
    at_end = table_of(n, lambda S: game(S[:-1] if S and S[-1] == i else S))
    partial, _ = both(at_end)
    assert abs(partial[i]) < 1e-9
    anywhere = table_of(n, lambda S: game([j for j in S if j != i]))
    for values in both(anywhere):
        assert abs(values[i]) < 1e-9


@few
@given(tables, st.data())
def test_symmetry_and_relabelling(game, data):
    n = game.n_players
    to = data.draw(st.permutations(range(n)))
    renamed = table_of(n, lambda S: game([to[i] for i in S]))
    for values, others in zip(both(game), both(renamed), strict=True):
        np.testing.assert_allclose(others, values[to], atol=1e-9)
    i, j = data.draw(st.integers(0, n - 1)), data.draw(st.integers(0, n - 1))
    swap = {i: j, j: i}
    alike = table_of(n, lambda S: game(S) + game([swap.get(k, k) for k in S]))
    for values in both(alike):
        assert values[i] == pytest.approx(values[j], abs=1e-9)


@few
@given(tables, st.integers(0, 2**32), st.floats(-3, 3))
def test_additivity(game, seed, factor):
    other, _ = random_table(game.n_players, seed)
    total = osv.TableGame.from_array(game.n_players, game.values + factor * other.values)
    for a, b, c in zip(both(game), both(other), both(total), strict=True):
        np.testing.assert_allclose(a + factor * b, c, atol=1e-9)


# Other games, workers, and what is refused


def test_logistic_game_of_owners():
    """Popping a player takes all its rows, of whatever class."""
    X, y, X_valid, y_valid = random_problem(3, n=12, n_valid=30, n_classes=3, seed=4)
    owners = np.arange(12) % 4
    U = naive.LogisticUtility(
        X, y, X_valid, y_valid, members=[np.flatnonzero(owners == g).tolist() for g in range(4)]
    )
    game = osv.LogisticGame(X, y, X_valid, y_valid, groups=owners)
    np.testing.assert_allclose(
        osv.exact_values(game, "partial_ordinal").values, naive.exact_partial_ordinal(U, 4), atol=1e-12
    )


@pytest.mark.parametrize("n", [4, 6] if JIT else [4, 5])
@pytest.mark.parametrize("value", ["partial_ordinal", "ordinal", "weighted_ordinal", "within"])
def test_the_same_bits_for_any_number_of_workers(n, value):
    game, _ = random_table(n)
    options = {"value": value}
    if value == "within":
        groups = np.arange(n) % 2
        game = symmetric_game(n, tuple(groups.tolist()), "within")[0]
        options = {"partition": groups, "case": "within"}
    if value == "weighted_ordinal":
        options["order_weight"] = lambda S: 1 / math.factorial(len(S))
    one, two = (exact_with(game, n_jobs=jobs, **options) for jobs in (1, 2))
    assert one.values.tobytes() == two.values.tobytes()
    assert one.n_evaluations == two.n_evaluations


@pytest.mark.parametrize("budget", [1, 7])
def test_where_it_is_left_changes_nothing(monkeypatch, budget):
    game, _ = random_table(5)
    whole = osv.exact_values(game, "ordinal")

    def crawl(step, paused, cancellation):
        while (status := step(budget)) == paused:
            pass
        return status

    monkeypatch.setattr(enumeration, "run_in_steps", crawl)
    assert osv.exact_values(game, "ordinal", n_jobs=1).values.tobytes() == whole.values.tobytes()


def test_each_sequence_is_asked_for_once():
    asked = []

    def U(sequence):
        asked.append(tuple(sequence.tolist()))
        return float(len(sequence))

    osv.exact_values(osv.FunctionGame(U, 5), "partial_ordinal")
    walked = [S for S in asked if S]
    assert sorted(walked) == sorted(S for S in naive.sequences_of(range(5)) if S)


def test_bad_weights():
    game, _ = random_table(3)

    def q(S):
        return 0.5 if tuple(S) == (2, 0) else 0.75 if len(S) == 2 else 1.0

    with pytest.raises(ValueError, match="order_weight"):
        osv.exact_values(game, osv.WeightedOrdinal(q))
    with pytest.raises(RuntimeError, match=r"order_weight.*\(0,\)"):
        osv.exact_values(game, osv.WeightedOrdinal(lambda S: 1 / 0 if len(S) else 1.0))
    with pytest.raises(RuntimeError, match=r"order_weight.*\(\)"):
        osv.exact_values(game, osv.WeightedOrdinal(lambda S: 1 / len(S)))
    with pytest.raises(ValueError, match=r"order_weight.*\(\)"):
        osv.exact_values(game, osv.WeightedOrdinal(lambda s: float("nan")))
    with pytest.raises(ValueError, match="order_weight"):
        osv.exact_values(game, osv.WeightedOrdinal(random_table(4)[0]))


@pytest.mark.skipif(not JIT, reason="about compiled kernels")
def test_one_compilation_for_all_arguments():
    osv.exact_values(random_table(3)[0], "partial_ordinal")
    compiling = []
    with watching(compiling.append):
        osv.exact_values(random_table(5)[0], "ordinal")
        frozen = np.zeros(16)
        frozen.flags.writeable = False
        game = osv.TableGame.from_array(3, frozen)
        osv.exact_values(game, "classic")
        osv.exact_values(game, osv.WeightedOrdinal(game_of_uniform_weights(3)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            osv.exact_values(game, osv.PartialOrdinal(partition=[0, 0, 1], case="between"))
    assert not compiling


def game_of_uniform_weights(n):
    return table_of(n, lambda S: 1 / math.factorial(len(S)))


@pytest.mark.skipif(not JIT, reason="about compiled kernels")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_compiled_enumeration_can_be_interrupted(monkeypatch, n_jobs):
    """n = 14 would take hours; how long it takes to stop is not looked at."""
    game = osv.FunctionGame(number_of_players, 14)
    sent = threading.Event()

    def run_in_steps(step, paused, cancellation):
        while not cancellation.requested and (status := step(100_000)) == paused:
            if not sent.is_set():
                sent.set()
                signal.raise_signal(signal.SIGINT)
        return paused if cancellation.requested else status

    monkeypatch.setattr(enumeration, "run_in_steps", run_in_steps)
    with pytest.raises(KeyboardInterrupt):
        osv.exact_values(game, "partial_ordinal", n_jobs=n_jobs, max_seconds=math.inf)


@njit
def number_of_players(sequence):
    return float(sequence.size)


# What exact values cost, as it is told before the work: time, pace and memory


def test_what_takes_too_long_is_refused():
    game = osv.FunctionGame(lambda S: 0.0, 11)
    with pytest.raises(ValueError, match=r"108,505,112.*max_seconds"):
        osv.exact_values(game, "partial_ordinal", max_seconds=1)
    osv.exact_values(osv.FunctionGame(lambda S: 0.0, 5), "partial_ordinal", max_seconds=math.inf)
    game = osv.FunctionGame(lambda S: 0.0, 30, order_free=True)
    with pytest.raises(ValueError, match=r"10\^32"):
        osv.exact_values(game, "partial_ordinal")
    game = osv.FunctionGame(lambda S: 0.0, 1000)
    with pytest.raises(ValueError, match=r"1000 players"):
        osv.exact_values(game, "partial_ordinal")


def test_sets_of_more_than_twenty_players_are_evaluated():
    # There are more sequences of 25 players than an int64 counts, which no such game is asked for.
    seen = []

    def first_two_hundred(players):
        if len(seen) == 200:
            raise StopIteration
        seen.append(len(players))
        return 0.0

    game = osv.FunctionGame(first_two_hundred, 25, order_free=True)
    with pytest.raises(RuntimeError, match="StopIteration"):
        osv.exact_values(game, "classic", n_jobs=1, max_seconds=math.inf)


def test_what_takes_too_much_memory_is_refused(monkeypatch):
    monkeypatch.setattr("ordinal_shapley.common.parallel.available_memory", lambda: 100_000)
    game, _ = random_table(5)
    osv.exact_values(game, "ordinal")
    with pytest.raises(ValueError, match="GiB"):
        osv.exact_values(osv.FunctionGame(lambda S: 0.0, 8), osv.WeightedOrdinal(lambda S: 1.0))
    with pytest.raises(ValueError, match="8 players"):
        osv.TableGame(8, {})
