"""Games of users' compiled functions: against plain Python, and what goes wrong in them."""

from __future__ import annotations

import os
import subprocess
import sys

import joblib
import numpy as np
import pytest
from numba import njit

import naive
import ordinal_shapley as osv
from problems import JIT, random_problem, size
from runs import sample_with

compiled_only = pytest.mark.skipif(not JIT, reason="about compiled code")
pytestmark = pytest.mark.filterwarnings("ignore:.*truncation ended:UserWarning")

N = 6
RATE = 0.25


def push_centroid(game, player):
    now, label = game.length, game.y[player]
    game.centroids[now], game.seen[now] = game.centroids[now - 1], game.seen[now - 1]
    pull = game.pull if game.seen[now, label] else 1.0
    game.seen[now, label] = True
    for j in range(game.X.shape[1]):
        game.centroids[now, label, j] += pull * (game.X[player, j] - game.centroids[now, label, j])


def pop_centroid(game, player):
    pass


def nearest_score(game):
    n_right = 0
    for v in range(game.X_valid.shape[0]):
        best, nearest = np.inf, -1
        for label in range(game.seen.shape[1]):
            distance = 0.0
            for j in range(game.X.shape[1]):
                distance += (game.X_valid[v, j] - game.centroids[game.length, label, j]) ** 2
            if game.seen[game.length, label] and distance < best:
                best, nearest = distance, label
        n_right += nearest == game.y_valid[v]
    return n_right / game.X_valid.shape[0]


PROBLEM = random_problem(3, n=N, n_valid=20, seed=1)._replace(y=np.array([0, 1, 2, 0, 1, 1]))


def centroid_game(problem=PROBLEM, **options):
    n, n_classes = len(problem.y), problem.n_classes
    return osv.CompiledGame(
        n,
        nearest_score,
        push_centroid,
        pop_centroid,
        arrays=problem._asdict(),
        state={
            "centroids": np.zeros((n + 1, n_classes, problem.X.shape[1])),
            "seen": np.zeros((n + 1, n_classes), bool),
        },
        numbers={"pull": RATE},
        **options,
    )


def centroid_utility(sequence, problem=PROBLEM):
    """The same from the definition."""
    centroids = {}
    for row in sequence:
        before = centroids.get(problem.y[row], problem.X[row])
        centroids[problem.y[row]] = before + RATE * (problem.X[row] - before)
    if not centroids:
        return 0.0
    labels = sorted(centroids)
    distances = [[((centroids[k] - x) ** 2).sum() for k in labels] for x in problem.X_valid]
    return float(np.mean(np.take(labels, np.argmin(distances, axis=1)) == problem.y_valid))


PLAIN = osv.FunctionGame(centroid_utility, N)


def test_utilities():
    game = centroid_game()
    assert (game.n_players, game.order_free, game.empty_value) == (N, False, None)
    assert game.player_names is game.player_classes is None
    assert game.player_sizes.tolist() == [1] * N
    assert repr(game) == "CompiledGame(nearest_score, 6 players)"
    found = {S: game(S) for S in naive.sequences_of(range(4))}
    assert found == pytest.approx({S: centroid_utility(S) for S in found}, abs=1e-14)
    assert len(set(found.values())) > 5
    assert any(found[S] != found[S[::-1]] for S in found)


@pytest.mark.parametrize("value", ["partial_ordinal", "ordinal"])
def test_exact_values(value):
    got = osv.exact_values(centroid_game(), value)
    np.testing.assert_allclose(got.values, osv.exact_values(PLAIN, value).values, atol=1e-13)


@pytest.mark.parametrize("method", ["mc", "tmc", "cmc", "ctmc"])
@pytest.mark.parametrize("value", ["partial_ordinal", "ordinal"])
def test_sampled_values(value, method):
    options = {"n_permutations": size(40, 12), "random_state": 3, "strata": PROBLEM.y}
    got, expected = (sample_with(game, value, method, **options) for game in (centroid_game(), PLAIN))
    np.testing.assert_allclose(got.values, expected.values, atol=1e-13)
    np.testing.assert_allclose(got.stderr, expected.stderr, atol=1e-13)


@pytest.mark.slow
def test_workers():
    game = centroid_game()
    one = osv.exact_values(game, "partial_ordinal", n_jobs=1).values.tobytes()
    assert osv.exact_values(game, "partial_ordinal", n_jobs=2).values.tobytes() == one
    with joblib.parallel_config(backend="loky"):
        assert osv.exact_values(game, "partial_ordinal", n_jobs=2).values.tobytes() == one


def test_runs_pool_of_the_same_functions_and_data_only(tmp_path):
    def run(game, first):
        return sample_with(game, n_permutations=10, first_permutation=first, random_state=0)

    first = run(centroid_game(), 0)
    assert osv.Valuation.merge([first, run(centroid_game(), 10)]).n_permutations == 20
    other = PROBLEM._replace(X=PROBLEM.X + 1)
    for game in (centroid_game(other), centroid_game(empty_value=0.25)):
        with pytest.raises(ValueError):
            osv.Valuation.merge([first, run(game, 10)])
    checkpoint = tmp_path / "run.npz"
    sample_with(centroid_game(), n_permutations=10, random_state=0, checkpoint=checkpoint)
    with pytest.raises(ValueError, match=r"arrays\['X'\]"):
        sample_with(centroid_game(other), n_permutations=10, random_state=0, checkpoint=checkpoint)


SCRIPT = """
import numpy as np
import ordinal_shapley as osv
from ordinal_shapley_kernels import abi

compiling = []
def push(game, player):
    game.total += game.worth[player] / game.length
    game.trace[game.length] = game.total
def pop(game, player):
    game.total = game.trace[game.length - 1]
def evaluate(game):
    return game.total
options = dict(arrays={"worth": np.arange(1.0, 6)}, state={"trace": np.zeros(6)}, numbers={"total": 0.0})
compile_c = abi.compile_c
def counting(*arguments, **flags):
    made = compile_c(*arguments, **flags)
    compiling.append(made.cache_hits == 0)
    return made
from ordinal_shapley_kernels import compiled
compiled.compile_c = counting
game = osv.CompiledGame(5, evaluate, push, pop, **options, cache=CACHE)
print(osv.exact_values(game, "ordinal").values.tobytes().hex(), sum(compiling), len(compiling))
"""


def outside(tmp_path, cache=None, script=SCRIPT, **environment):
    path = tmp_path / "script.py"
    path.write_text(script.replace("CACHE", repr(cache)))
    settings = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), **environment}
    made = subprocess.run(
        [sys.executable, str(path)], env=settings, capture_output=True, text=True, check=True
    )
    values, *counts = made.stdout.split()
    return np.frombuffer(bytes.fromhex(values)), *map(int, counts)


@pytest.mark.slow
@compiled_only
def test_processes_that_follow_find_compiled_code(tmp_path):
    off, _, n_compiled = outside(tmp_path, NUMBA_DISABLE_JIT="1")
    assert n_compiled == 0
    for cache, counts in ((None, (3, 3)), ("fading", (3, 3)), ("fading", (0, 3))):
        values, *found = outside(tmp_path, cache)
        assert tuple(found) == counts
        np.testing.assert_allclose(values, off, rtol=1e-14)
    changed = SCRIPT.replace("return game.total", "return 2 * game.total")
    values, *found = outside(tmp_path, "fading", changed)
    assert found == [3, 3]  # all names change: cheap, and safe
    np.testing.assert_allclose(values, 2 * off, rtol=1e-14)


def last_of(game):
    return game.marks[game.sequence[game.length - 1]] if game.length else 0.0


def has_zero(game):
    return 0 in game.sequence[: game.length]


def test_sequences_that_are_not_defined():
    game = osv.CompiledGame(3, last_of, is_defined=has_zero, arrays={"marks": [1, 2, 4]}, empty_value=-1.5)
    assert [game(S) for S in ((), (1,), (0, 2), (2, 0))] == [-1.5, -1.5, 4.0, 1.0]
    alone = osv.CompiledGame(3, last_of, arrays={"marks": [1, 2, 4]}, empty_value=7)
    assert [alone(()), alone([0])] == [7.0, 1.0]


def sum_of_all(game):
    return game.a.sum() + game.b.sum() + game.c.sum() + game.length


@pytest.mark.slow
@pytest.mark.parametrize(
    "kinds",
    [
        [np.arange(4).astype(dtype) for dtype in ("i4", "u8", "?")],
        [np.arange(4).astype(dtype) for dtype in ("i1", "u2", "f4")],
        [np.arange(4).astype(">f8"), [1, 2], np.zeros(0)],
        [np.arange(12.0).reshape(3, 4).T, np.arange(24.0).reshape(2, 3, 4), [1.0]],
    ],
)
def test_kinds_of_arrays(kinds):
    a, b, c = kinds
    read = osv.CompiledGame(2, sum_of_all, arrays={"a": a, "b": b, "c": c})
    own = osv.CompiledGame(2, sum_of_all, arrays={"c": c}, state={"a": a, "b": b})
    for game in (read, own):
        assert game([1]) == sum(np.sum(kind) for kind in kinds) + 1


def test_arrays_that_are_read_only():
    frozen = np.arange(4.0)
    frozen.flags.writeable = False
    game = osv.CompiledGame(3, last_of, arrays={"marks": frozen})
    assert game([2]) == 2.0

    def scribble(game):
        game.marks[0] += 1
        return game.marks[0]

    mine = osv.CompiledGame(3, scribble, state={"marks": frozen})
    assert (mine([]), mine([]), frozen[0]) == (1.0, 1.0, 0.0)
    if JIT:
        with pytest.raises(TypeError, match=r"^evaluate "):
            osv.CompiledGame(3, scribble, arrays={"marks": frozen})
    else:
        with pytest.raises(RuntimeError, match=r"evaluate .*\(\)"):
            osv.CompiledGame(3, scribble, arrays={"marks": frozen})([])


def raise_at(where):
    """A game whose function of that name raises once two players are there, 2 among them."""

    def bad(game):
        if game.length == 2 and 2 in game.sequence[:2]:
            raise ValueError("two is too many")

    bad = njit(bad)

    def evaluate(game):
        if where == "evaluate":
            bad(game)
        return float(game.length)

    def push(game, player):
        if where == "push":
            bad(game)

    def pop(game, player):
        if where == "pop":
            bad(game)

    def is_defined(game):
        if where == "is_defined":
            bad(game)
        return True

    return osv.CompiledGame(3, evaluate, push, pop, is_defined=is_defined, empty_value=0.0)


@pytest.mark.parametrize("where", ["evaluate", "push", "is_defined"])
def test_what_a_function_raises(where):
    game = raise_at(where)
    assert game([1, 0]) == 2.0
    message = rf"^{where} raised ValueError for the sequence \(0, 2\): two is too many$"
    with pytest.raises(RuntimeError, match=message) as found:
        game([0, 2])
    assert isinstance(found.value.__cause__, ValueError)
    for n_jobs in (1, 2):
        with pytest.raises(RuntimeError, match=rf"{where} .*\(0, 2"):
            osv.exact_values(game, "partial_ordinal", n_jobs=n_jobs)
        with pytest.raises(RuntimeError, match=where):
            osv.sample_values(game, "partial_ordinal", "mc", n_permutations=20, random_state=0, n_jobs=n_jobs)
    with joblib.parallel_config(backend="loky"), pytest.raises(RuntimeError, match="two is too many"):
        osv.exact_values(game, "partial_ordinal", n_jobs=2)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_utilities_that_are_not_finite(bad):
    def evaluate(game):
        return bad if game.length == 2 else 1.0

    game = osv.CompiledGame(3, evaluate)
    for act in (lambda: game([0, 1]), lambda: osv.exact_values(game, "partial_ordinal")):
        with pytest.raises(ValueError, match=rf"evaluate .*{bad} .*\(0, 1\)"):
            act()


def of_a_name(game):
    return game.nothing


def with_a_player(game, player):
    game.marks[player] = game.nothing


@compiled_only
@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ({"evaluate": of_a_name}, "evaluate [^$]*'nothing'"),
        ({"evaluate": lambda game: "a"}, "evaluate "),
        ({"evaluate": lambda game: None}, "evaluate "),
        ({"push": with_a_player, "pop": pop_centroid}, "push [^$]*'nothing'"),
        ({"push": pop_centroid, "pop": with_a_player}, "pop [^$]*'nothing'"),
        ({"reset": of_a_name}, "reset [^$]*'nothing'"),
        ({"is_defined": of_a_name, "empty_value": 0}, "is_defined [^$]*'nothing'"),
    ],
)
def test_what_does_not_compile(functions, message):
    with pytest.raises(TypeError, match=f"^{message}"):
        osv.CompiledGame(3, **{"evaluate": last_of, "arrays": {"marks": [1, 2, 4]}, **functions})
