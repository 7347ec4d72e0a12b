"""Table and function games: what they are worth, how they are read, and that every walk takes them."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numba import njit

import naive
import ordinal_shapley as osv
from ordinal_shapley_kernels.table import subtree_sizes
from ordinal_shapley_kernels.watching import watching
from problems import JIT
from runs import sample_with

compiled_only = pytest.mark.skipif(not JIT, reason="about compiled kernels")
pytestmark = pytest.mark.filterwarnings("ignore:.*truncation ended:UserWarning")


def all_values(n, seed=0):
    return np.random.default_rng([seed, n]).normal(size=subtree_sizes(n)[n])


def preorder(players, prefix=()):
    """Sequences in the documented order."""
    yield prefix
    for i in players:
        yield from preorder([j for j in players if j != i], (*prefix, i))


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_preorder(n):
    values = all_values(n)
    game = osv.TableGame.from_array(n, values)
    sequences = list(preorder(range(n)))
    assert len(sequences) == len(values)
    assert [game(S) for S in sequences] == values.tolist()
    assert osv.TableGame(n, dict(zip(sequences, values, strict=True))).values.tolist() == values.tolist()


def test_whether_order_matters_is_read_from_the_table():
    n = 4
    worth = {S: float(sum(S)) for S in naive.sequences_of(range(n))}
    assert osv.TableGame(n, worth).order_free
    assert osv.TableGame(n, {}).order_free
    for S in worth:
        alone = len(S) < 2
        assert osv.TableGame(n, {**worth, S: 0.125}).order_free is alone


def test_json_and_back(tmp_path):
    path = tmp_path / "game.json"
    values = np.round(all_values(3), 1)
    for names in (None, ["Zoë", "b c", "d"]):
        game = osv.TableGame.from_array(3, values, names=names)
        game.to_json(path)
        again = osv.TableGame.from_json(path)
        assert again.values.tolist() == values.tolist()
        assert (again.player_names is None) == (names is None)
        if names is not None:
            assert again.player_names.tolist() == names
    # Bits survive.
    game = osv.TableGame.from_array(4, all_values(4))
    game.to_json(path)
    assert osv.TableGame.from_json(str(path)).values.tobytes() == game.values.tobytes()


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("[" * 100_000, "game.json"),
        ('{"players": 2, "utilities": {"0": 1, "0": 2}}', "'0'"),
        ('{"players": 2, "utilities": {"0": 1' + "0" * 400 + "}}", "inf"),
        ('{"players": ["a", null], "utilities": {}}', "players"),
        ('{"players": 2}', "game.json"),
        ('{"players": 2, "utilities": {}, "defualt": 1}', "'defualt'"),
        ('{"players": 2, "utilities": []}', "utilities"),
        ('{"players": 0, "utilities": {}}', "players"),
        ('{"players": "ab", "utilities": {}}', "players"),
        ('{"players": [], "utilities": {}}', "players"),
        ('{"players": ["a", "a"], "utilities": {}}', "names"),
        ('{"players": ["a > b", "a"], "utilities": {}}', "names"),
        ('{"players": ["a", "b"], "utilities": {"a>b": 1, "a > b": 2}}', "twice"),
        ('{"players": 1, "utilities": {}, "default": null}', "default"),
    ],
)
def test_bad_files(tmp_path, content, named):
    path = tmp_path / "game.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=named):
        osv.TableGame.from_json(path)


def test_frames():
    frame = pd.DataFrame({"how": ["b > a", "", "c>a > b"], "much": [1, 2, 3.5]}, index=[7, 8, 9])
    game = osv.TableGame.from_frame(frame, "how", "much", default=-1)
    assert game.player_names.tolist() == ["a", "b", "c"]
    assert (game([1, 0]), game(()), game([2, 0, 1]), game([0])) == (1.0, 2.0, 3.5, -1.0)
    game = osv.TableGame.from_frame(frame, "how", "much", players=["c", "b", "a", "d"])
    assert game.n_players == 4
    assert game([0, 2, 1]) == 3.5
    for bad, named in (
        (frame.rename(columns={"how": "who"}), "'how'"),
        (frame.assign(how=[1, "", "a"]), "row 7"),
        (frame.assign(how=["a", np.nan, "b"]), "row 8"),
        (frame.assign(much=[1, 2, np.nan]), "nan"),
        (frame.assign(how="a"), "twice"),
    ):
        with pytest.raises((TypeError, ValueError), match=named):
            osv.TableGame.from_frame(bad, "how", "much")
    with pytest.raises(ValueError, match="'c'"):
        osv.TableGame.from_frame(frame, "how", "much", players=["a", "b"])


@njit
def first_of_all(sequence):
    return 1.0 / (1.0 + sequence[0]) if sequence.size else 0.0


@njit
def weighted_places(sequence):
    total = 0.0
    for place, player in enumerate(sequence):
        total += np.sqrt(player + 1.0) / (place + 1.0)
    return total


def plain(jitted):
    return getattr(jitted, "py_func", jitted)


@compiled_only
def test_another_function_compiles_no_walk_again():
    osv.exact_values(osv.FunctionGame(first_of_all, 4), "partial_ordinal")
    sample_with(osv.FunctionGame(first_of_all, 4), n_permutations=10, random_state=0)
    compiling = []
    with watching(compiling.append):
        for func in (weighted_places, lambda S: float(len(S)), njit(lambda S: 1.0 * S.sum())):
            osv.exact_values(osv.FunctionGame(func, 5), "partial_ordinal")
            sample_with(osv.FunctionGame(func, 4), n_permutations=10, random_state=0)
    assert not compiling


@pytest.mark.parametrize("jit", [True, False])
def test_the_function_may_spoil_its_argument(jit):
    def spoil(sequence):
        total = float(sequence[0]) if sequence.size else 0.0
        sequence[:] = -1
        return total

    game = osv.FunctionGame(njit(spoil) if jit else spoil, 4)
    given = np.array([3, 1])
    game(given)
    assert given.tolist() == [3, 1]
    np.testing.assert_allclose(osv.exact_values(game, "partial_ordinal").values, np.arange(4) / 4, atol=1e-12)


@pytest.mark.parametrize("jit", [True, False])
@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), None])
def test_a_bad_utility_is_reported_with_its_sequence(jit, wrong):
    bad = 3 if wrong is None else wrong

    def U(sequence):
        if sequence.size == 3 and sequence[0] == 2 and sequence[2] == 0:
            if bad == 3:
                raise ZeroDivisionError("no way")
            return bad
        return 1.0

    game = osv.FunctionGame(njit(U) if jit else U, 4)
    error, named = (ValueError, f"func .*{wrong} .*")
    if wrong is None:
        error, named = RuntimeError, "func .*ZeroDivisionError .*"
    for run in (
        lambda: osv.exact_values(game, "partial_ordinal", n_jobs=1),
        lambda: osv.exact_values(game, "ordinal", n_jobs=2),
        lambda: osv.sample_values(game, "partial_ordinal", "mc", n_permutations=100, random_state=0),
        lambda: sample_with(game, n_permutations=100, random_state=0, n_jobs=2),
    ):
        with pytest.raises(error, match=named + r"\(2, [13], 0\)"):
            run()


def test_a_bad_full_order_is_reported():
    """The paper's rule evaluates full orders before anything else."""
    game = osv.FunctionGame(lambda S: np.nan if len(S) == 4 else 1.0, 4)
    with pytest.raises(ValueError, match=r"func .*\((\d, ){3}\d\)"):
        osv.sample_values(game, "partial_ordinal", "tmc", n_permutations=10, random_state=0)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("kind", ["raised", "pending"])
def test_ctrl_c_is_never_lost(kind, n_jobs):
    """A signal that is pending when a callback begins strikes before its first line, outside of its `try`."""
    import _thread

    for strike in range(1, 60, 7):
        calls = itertools.count()

        def U(sequence, strike=strike, calls=calls):
            if len(sequence) and next(calls) == strike:
                if kind == "raised":
                    raise KeyboardInterrupt
                _thread.interrupt_main()
            return float(len(sequence))

        with pytest.raises(KeyboardInterrupt):
            osv.exact_values(osv.FunctionGame(U, 5), "partial_ordinal", n_jobs=n_jobs)
    assert osv.exact_values(
        osv.FunctionGame(lambda S: 1.0 * len(S), 3), "partial_ordinal"
    ).values.tolist() == [1.0, 1.0, 1.0]


@compiled_only
def test_a_jitted_function_that_does_not_fit(monkeypatch):
    game = osv.FunctionGame(njit(lambda S: S.nothing), 3)
    monkeypatch.setattr(osv.FunctionGame, "__call__", lambda self, S: 0.0)  # of the empty sequence
    with pytest.raises(TypeError, match="func"):
        osv.exact_values(game, "partial_ordinal")


def test_integers_that_no_float_holds():
    game = osv.FunctionGame(lambda s: 10**400 if len(s) == 2 else 0, 3)
    for act in (
        lambda: game([0, 1]),
        lambda: osv.sample_values(game, "partial_ordinal", "mc", n_permutations=2, random_state=0),
    ):
        with pytest.raises(ValueError, match=r"func .*\(\d, \d\)"):
            act()


def sum_of_players(sequence):
    return float(sequence.sum())


@pytest.mark.slow
@pytest.mark.parametrize("func", [weighted_places, sum_of_players])
def test_other_processes(func):
    import joblib

    game = osv.FunctionGame(func, 5)
    one = osv.exact_values(game, "partial_ordinal", n_jobs=1)
    with joblib.parallel_config(backend="loky"):
        two = osv.exact_values(game, "partial_ordinal", n_jobs=2)
    assert one.values.tobytes() == two.values.tobytes()


@pytest.mark.parametrize("run", [osv.exact_values, partial(osv.sample_values, n_permutations=10)])
def test_an_order_that_was_said_not_to_matter_is_told_of(run):
    wrong = osv.FunctionGame(lambda s: float(len(s) > 0 and s[0] == 0), 3, order_free=True)
    with pytest.warns(UserWarning, match="order_free"):
        run(wrong, "classic")
    run(osv.FunctionGame(lambda s: float(0 in s), 3, order_free=True), "classic")  # a warning is an error
