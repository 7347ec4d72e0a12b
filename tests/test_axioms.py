"""Axioms on games at hand: conditions against brute force, verdicts against the definitions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
import ordinal_shapley as osv
from problems import JIT, size, wine
from runs import axioms_with
from test_exact import table_of as game_of

AXIOMS = ("null_player", "symmetry", "efficiency", "additivity", "monotone")


def random_worth(seed, low=-1.0):
    """A random function of tuples."""
    rng = np.random.default_rng(seed)
    known = {}
    return lambda S: known.setdefault(tuple(S), rng.uniform(low, 1.0))


def without(S, *players):
    return tuple(k for k in S if k not in players)


def null_at_end(n, seed):
    """Player 0 changes nothing as it comes last."""
    U = random_worth(seed)
    return lambda S: U(S[:-1] if S and S[-1] == 0 else S)


def null_anywhere(n, seed):
    U = random_worth(seed)
    return lambda S: U(without(S, 0))


def symmetric(n, seed):
    """Players 0 and 1 can be exchanged."""
    U = random_worth(seed)
    return lambda S: U(S) + U(naive.exchange(S, 0, 1))


def monotone_at_end(n, seed):
    """Nobody lowers the utility at the end; player 0 is null there, half of all others' steps too."""
    step = random_worth(seed)
    return lambda S: sum(max(step(S[: k + 1]), 0.0) for k in range(len(S)) if S[k] != 0)


def monotone_anywhere(n, seed):
    """The best part of a sequence in which player 0 does not matter."""
    U = random_worth(seed, low=0.0)
    parts = lambda S: (part for k in range(len(S) + 1) for part in itertools.combinations(S, k))  # noqa: E731
    return lambda S: max(U(part) for part in parts(without(S, 0)))


def arbitrary(n, seed):
    return random_worth(seed)


def constant(n, seed):
    return lambda S: 0.75


KINDS = [null_at_end, null_anywhere, symmetric, monotone_at_end, monotone_anywhere, arbitrary, constant]


def first_order_only(S):
    """Weights that count one order of each set: far from uniform, and 0 for most."""
    return 1.0 if tuple(S) == tuple(sorted(S)) else 0.0


VALUES = {
    "partial_ordinal": ({}, naive.exact_partial_ordinal, False),
    "ordinal": ({}, naive.exact_ordinal, True),
    "blend": (
        {"alpha": 0.25},
        lambda U, n: 0.25 * naive.exact_ordinal(U, n) + 0.75 * naive.exact_partial_ordinal(U, n),
        True,
    ),
    "weighted_ordinal": (
        {"order_weight": first_order_only},
        lambda U, n: naive.exact_weighted(U, n, first_order_only),
        False,
    ),
}


def judge(U, n, phi, anywhere):
    """Status of every axiom but additivity, and who meets the condition, straight from the definitions."""
    close = 1e-10
    gains = [[gain for gain, _ in naive.gains(U, n, i, anywhere)] for i in range(n)]
    null = [i for i in range(n) if max(map(abs, gains[i])) < close]
    pairs = [(i, j) for i, j in itertools.combinations(range(n), 2) if naive.asymmetry(U, n, i, j) < close]
    share = np.mean([U(pi) for pi in itertools.permutations(range(n))]) - U(())
    found = {
        "null_player": (null, all(abs(phi[i]) < close for i in null)),
        "symmetry": (pairs, all(abs(phi[i] - phi[j]) < close for i, j in pairs)),
        "efficiency": (range(n), abs(sum(phi) - share) < close),
        "monotone": (
            range(n) if min(map(min, gains)) > -close else [],
            all(phi[i] > -close and (phi[i] > close) == (max(gains[i]) > close) for i in range(n)),
        ),
    }
    return {
        name: ("vacuous" if not len(who) else "holds" if right else "fails", tuple(who))
        for name, (who, right) in found.items()
    }


# Conditions and verdicts


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5] if JIT else [1, 3])
def test_verdicts(kind, n, value):
    options, formula, anywhere = VALUES[value]
    for seed in range(size(2, 1)):
        U = kind(n, [seed, n])
        phi = formula(U, n)
        report = axioms_with(game_of(n, U), value, n_jobs=1, **options)
        np.testing.assert_allclose(report.values, phi, atol=1e-12)
        found = {check.name: (check.status, check.players) for check in report}
        assert found.pop("additivity") == ("holds", tuple(range(n)))
        assert found == judge(U, n, phi, anywhere)
        assert report.insertion == ("anywhere" if anywhere else "end")
        assert report.holds is all(status != "fails" for status, _ in found.values())
        if value != "weighted_ordinal":
            assert report.holds


def test_every_verdict_occurs():
    """So the comparison above is one of all three, for each axiom that can have them."""
    seen = {name: set() for name in AXIOMS}
    for kind, (value, (options, _, _)) in itertools.product(KINDS, VALUES.items()):
        for insertion in ("end", "anywhere"):
            game = game_of(3, kind(3, 0))
            for check in axioms_with(game, value, insertion=insertion, n_jobs=1, **options):
                seen[check.name].add(check.status)
    assert seen["null_player"] == seen["monotone"] == {"holds", "fails", "vacuous"}
    assert seen["symmetry"] >= {"holds", "vacuous"}
    assert seen["efficiency"] == {"holds", "fails"}
    assert seen["additivity"] == {"holds"}


tables = st.integers(1, 4).flatmap(
    lambda n: st.lists(st.floats(-100, 100, width=32), min_size=2**n, max_size=2**n)
)


@settings(max_examples=size(60, 10), deadline=None)
@given(tables, st.data())
def test_classic_value(worth, data):
    """An order-free game in which player i is null, and j and k can be exchanged."""
    n = len(worth).bit_length() - 1
    i, j, k = (data.draw(st.integers(0, n - 1)) for _ in range(3))

    def U(S):
        parts = (without(S, i), naive.exchange(without(S, i), j, k) if i not in (j, k) else without(S, i))
        return sum(worth[sum(1 << player for player in part)] for part in parts)

    for value in ("classic", "partial_ordinal", "ordinal"):
        report = osv.check_axioms(game_of(n, U), value, n_jobs=1)
        assert report.holds and report.additivity.status == "holds"
        assert i in report.null_player.players
        if j != k and i not in (j, k):
            assert (min(j, k), max(j, k)) in report.symmetry.players


# What the text says and what is so


def test_null_for_the_partial_value_only():
    """Two players, worth 1 in one order: the values are (0, 1/2) and (1/4, 1/4)."""
    game = osv.TableGame(2, {(0, 1): 1.0})
    partial = osv.check_axioms(game, "partial_ordinal")
    assert (partial.null_player.status, partial.null_player.players) == ("holds", (0,))
    assert osv.check_axioms(game, "ordinal").null_player.status == "vacuous"
    check = osv.check_axioms(game, "ordinal", insertion="end").null_player
    assert (check.status, check.players, check.worst) == ("fails", (0,), (0,))
    assert check.violation == 0.25
    assert check.sequence == (0, 1)


def test_symmetry_as_printed_is_no_theorem():
    """Of all 0/1 games of full orders of three players: those with its condition for players 0 and 1."""
    orders = list(itertools.permutations(range(3)))
    differ = []
    for worths in itertools.product((0.0, 1.0), repeat=6):
        U = naive.TableUtility(3, dict(zip(orders, worths, strict=True)))
        if any(U(S) != U(naive.literal_exchange(S, 0, 1)) for S in naive.sequences_of(range(3))):
            continue
        report = osv.check_axioms(game_of(3, U), "partial_ordinal", n_jobs=1)
        assert report.symmetry.status != "fails"
        if abs(report.values[0] - report.values[1]) > 1e-12:
            differ.append(tuple(S for S in orders if U(S)))
            assert (0, 1) not in report.symmetry.players
            ordinal = naive.exact_ordinal(U, 3)
            assert ordinal[0] == pytest.approx(ordinal[1], abs=1e-15)
    # The one in the documentation is among the smallest.
    assert ((0, 2, 1), (2, 0, 1)) in differ
    assert min(map(len, differ)) == 2


# Rules and values of one's own


def to_share(game):
    return np.mean([game(pi) for pi in itertools.permutations(range(game.n_players))]) - game(())


def equal_shares(game):
    return np.full(game.n_players, to_share(game) / game.n_players)


def all_to_the_first(game):
    return [to_share(game), *[0.0] * (game.n_players - 1)]


def squares(game):
    return osv.exact_values(game, "partial_ordinal", n_jobs=1).values ** 2


def test_a_rule_that_breaks_the_null_player():
    U = monotone_anywhere(3, 0)
    report = osv.check_axioms(game_of(3, U), equal_shares)
    share = to_share(game_of(3, U)) / 3
    assert report.value == "equal_shares"
    for check in (report.null_player, report.monotone):
        assert (check.status, check.worst, check.sequence) == ("fails", (0,), None)
        assert check.violation == pytest.approx(share)
    assert report.monotone.detail.endswith("never raises the utility")
    assert report.efficiency.status == report.additivity.status == "holds"


def test_a_rule_that_breaks_symmetry():
    game = game_of(3, lambda S: float(len(S)), names=["a", "b", "c"])
    check = osv.check_axioms(game, all_to_the_first).symmetry
    assert (check.status, check.worst, check.violation) == ("fails", (0, 1), 3.0)
    assert check.players == ((0, 1), (0, 2), (1, 2))
    assert check.detail.startswith("a and b ") and check.detail.endswith(" 3 and 0")


def test_a_rule_that_breaks_additivity():
    U, V = arbitrary(3, 0), arbitrary(3, 1)
    other = osv.FunctionGame(lambda S: V(tuple(S.tolist())), 3)
    check = osv.check_axioms(game_of(3, U), squares, other=other).additivity
    a, b = naive.exact_partial_ordinal(U, 3), naive.exact_partial_ordinal(V, 3)
    off = np.abs((a + b) ** 2 - a**2 - b**2)
    assert (check.status, check.worst) == ("fails", (int(np.argmax(off)),))
    assert check.violation == pytest.approx(off.max())
    assert "with the other game: player" in check.detail
    assert osv.check_axioms(game_of(3, U), squares).additivity.status == "fails"


def test_values_alone():
    game = game_of(3, arbitrary(3, 0))
    exact = osv.exact_values(game, "partial_ordinal")
    for values in (exact, exact.values, exact.values.tolist(), exact.to_frame()["value"]):
        report = osv.check_axioms(game, values)
        assert report.value == "your values"
        assert report.holds
        check = report.additivity
        assert (check.status, check.players, math.isnan(check.violation)) == ("vacuous", (), True)
    wrong = exact.values + np.array([0.0, 0.0, 1e-6])
    assert osv.check_axioms(game, wrong).efficiency.violation == pytest.approx(1e-6)
    assert not osv.check_axioms(game, wrong).holds
    assert osv.check_axioms(game, wrong, tol=1e-6).holds


# Kinds of games


@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss"])
@pytest.mark.parametrize("weight", ["gaussian", "uniform"])
def test_equal_rows_are_symmetric(weight, scoring):
    n = size(6, 4)
    problem = wine().first(n - 1)
    X, y = np.vstack([problem.X, problem.X[:1]]), np.append(problem.y, problem.y[0])
    game = osv.LogisticGame(X, y, *problem[2:], position_weight=weight, scoring=scoring)
    for value in ("partial_ordinal", "ordinal", *(["classic"] if game.order_free else [])):
        report = osv.check_axioms(game, value)
        assert (0, n - 1) in report.symmetry.players
        assert report.holds
        np.testing.assert_allclose(report.values, osv.exact_values(game, value).values, atol=1e-12)
    expected = 2**n if game.order_free else sum(math.perm(n, k) for k in range(n + 1))
    assert report.n_evaluations == expected


def test_order_free_games_are_asked_by_sets():
    asked = []

    def U(S):
        asked.append(frozenset(S.tolist()))
        return float(len(S)) ** 2 if 2 not in S else 0.0

    game = osv.FunctionGame(U, 4, order_free=True)
    report = osv.check_axioms(game, "classic")
    assert report.holds and report.additivity.status == "holds"
    assert report.n_evaluations == 16
    assert report.symmetry.players == ((0, 1), (0, 3), (1, 3))
    assert [len(asked), len(set(asked))] == [16, 16]
    np.testing.assert_allclose(report.values, osv.exact_values(game, "classic").values, atol=1e-12)
    with pytest.raises(ValueError, match="other"):
        osv.check_axioms(game, "classic", other=game_of(4, arbitrary(4, 0)))
    other = game_of(4, lambda S: 1.0 + (1 in S))
    assert osv.check_axioms(game, "classic", other=other).additivity.status == "holds"


@pytest.mark.parametrize("case", ["within", "between"])
def test_partitions(case):
    groups = (0, 1, 0, 1)
    worth = random_worth(3)

    def U(S):
        if case == "within":
            return worth((*(i for i in S if groups[i] == 0), 9, *(i for i in S if groups[i] == 1)))
        return worth((*(groups[i] for i in S), 9, *sorted(S)))

    report = osv.check_axioms(game_of(4, U), osv.PartialOrdinal(partition=groups, case=case))
    assert report.holds and report.additivity.status == "holds"
    np.testing.assert_allclose(report.values, naive.exact_partial_ordinal(U, 4), atol=1e-12)
    # In a game that is not as said, the values are those of another game, whose utilities some players lack.
    with pytest.warns(UserWarning, match="partition") as told:
        report = osv.check_axioms(
            game_of(4, null_at_end(4, 0)), osv.PartialOrdinal(partition=groups, case=case)
        )
    assert len(told) == 1
    assert report.efficiency.status == "fails"


# Tolerance, workers, limits, results


def test_tolerance():
    U = null_at_end(3, 0)
    spread = np.ptp(game_of(3, U).values)
    for off, status in ((1e-11, "holds"), (1e-6, "vacuous")):
        game = game_of(3, lambda S, off=off: U(S) + off * spread * (S == (1, 0)))
        assert osv.check_axioms(game, "partial_ordinal").null_player.status == status
        assert osv.check_axioms(game, "partial_ordinal", tol=1e-5).null_player.status == "holds"
    # Rounding does not count, however small the differences are beside the utilities.
    large = game_of(3, lambda S: 1e9 + 0.1 * len(without(S, 0)) + 0.2 * (1 in S) - 0.2 * (1 in S))
    assert osv.check_axioms(large, "partial_ordinal", tol=0.0).null_player.players == (0,)
    assert osv.check_axioms(large, "partial_ordinal", tol=0.0).holds


def test_workers_change_nothing():
    game = game_of(5, arbitrary(5, 0))
    one, two = (osv.check_axioms(game, "partial_ordinal", n_jobs=jobs) for jobs in (1, 2))
    assert list(one) == list(two)
    assert one.values.tobytes() == two.values.tobytes()


def test_what_takes_too_much_is_refused(monkeypatch):
    with pytest.raises(ValueError, match="game"):
        osv.check_axioms(osv.FunctionGame(lambda S: 0.0, 13), "partial_ordinal")
    with pytest.raises(ValueError, match="game"):
        osv.check_axioms(osv.FunctionGame(lambda S: 0.0, 1_000_000), "partial_ordinal")
    with pytest.raises(ValueError, match="max_seconds"):
        osv.check_axioms(
            osv.FunctionGame(lambda S: sum(range(2000)) * 0.0, 8), "partial_ordinal", max_seconds=0.01
        )
    monkeypatch.setattr("ordinal_shapley.common.parallel.available_memory", lambda: 100_000)
    with pytest.raises(ValueError, match="8 players"):
        osv.check_axioms(osv.FunctionGame(lambda S: 0.0, 8), "partial_ordinal")
    osv.check_axioms(game_of(3, arbitrary(3, 0)), "partial_ordinal")


def test_a_rule_that_fails_is_named():
    def broken(game):
        return 1 / 0

    game = osv.TableGame(2, {(0, 1): 1.0})
    with pytest.raises(RuntimeError, match="value"):
        osv.check_axioms(game, broken)
    with pytest.raises(TypeError, match="value"):
        osv.check_axioms(game, {0: 1.0, 1: 2.0})
