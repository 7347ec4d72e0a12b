"""How kernels are compiled and cached: stamps, flags, odd arrays, and the interpreted twin."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ordinal_shapley as osv
import ordinal_shapley_kernels
from problems import JIT, wine

PACKAGE = Path(ordinal_shapley_kernels.__file__).parent
pytestmark = pytest.mark.skipif(not JIT, reason="about compiled kernels")


def run(code, cwd, **environment):
    """Standard output of a new interpreter that finds a package copy in `cwd` first."""
    settings = {**os.environ, "PYTHONPATH": str(cwd), "NUMBA_DISABLE_JIT": "0", **environment}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=cwd,
        env=settings,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def copy_of_package(folder):
    target = folder / PACKAGE.name
    shutil.copytree(PACKAGE, target, ignore=shutil.ignore_patterns("__pycache__"))
    return target


def dispatchers():
    """Every kernel of the package, by its full name."""
    found = {}
    for module in pkgutil.iter_modules([str(PACKAGE)]):
        loaded = importlib.import_module(f"{PACKAGE.name}.{module.name}")
        for name, value in vars(loaded).items():
            if hasattr(value, "py_func") and value.__module__ == loaded.__name__:
                found[f"{module.name}.{name}"] = value
    return found


# `fill_position_weights` calls `exp`, which lives in another file.
WEIGHTS = """
import numpy as np
from ordinal_shapley_kernels import position_weights as pw
out = np.zeros(3)
pw.fill_position_weights(pw.GAUSSIAN, np.zeros(0), 3, out)
print(out[1], sum(pw.fill_position_weights.stats.cache_hits.values()))
"""
PEAK = 9 / np.sqrt(2 * np.pi)


def test_a_changed_callee_in_another_file_does_not_bring_old_answers_back(tmp_path):
    package = copy_of_package(tmp_path)
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    answer, hits = run(WEIGHTS, tmp_path, **cache).split()
    assert float(answer) == pytest.approx(PEAK)
    assert int(hits) == 0
    answer, hits = run(WEIGHTS, tmp_path, **cache).split()
    assert float(answer) == pytest.approx(PEAK)
    assert int(hits) == 1  # so the cache is in use at all

    callee = package / "elementary.py"
    text = callee.read_text(encoding="utf-8")
    changed = text.replace("return p * _float_of(", "return 2.0 * p * _float_of(")
    assert changed != text
    callee.write_text(changed, encoding="utf-8")
    answer, hits = run(WEIGHTS, tmp_path, **cache).split()
    assert float(answer) == pytest.approx(2 * PEAK)
    assert int(hits) == 0


def test_runs_uncached_where_no_cache_folder_is_writable(tmp_path):
    package = copy_of_package(tmp_path)
    # A file in the place of a folder stops even a superuser.
    (package / "__pycache__").write_text("")
    (tmp_path / "file").write_text("")
    nowhere = str(tmp_path / "file" / "folder")
    answer, hits = run(
        WEIGHTS,
        tmp_path,
        NUMBA_CACHE_DIR=nowhere,
        HOME=nowhere,
        XDG_CACHE_HOME=nowhere,
        PYTHONDONTWRITEBYTECODE="1",
    ).split()
    assert float(answer) == pytest.approx(PEAK)
    assert int(hits) == 0
    assert not list(tmp_path.rglob("*.nbi"))


@pytest.mark.parametrize("keep", [0, 0.5])
@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_a_torn_cache_costs_a_compilation_and_no_more(tmp_path, suffix, keep):
    copy_of_package(tmp_path)
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    run(WEIGHTS, tmp_path, **cache)
    torn = list((tmp_path / "cache").rglob(f"*.{suffix}"))
    assert torn
    for path in torn:
        data = path.read_bytes()
        path.write_bytes(data[: int(keep * len(data))])
    assert float(run(WEIGHTS, tmp_path, **cache).split()[0]) == pytest.approx(PEAK)


# Each line prints the bits of one kernel's result. Which is compiled first decides, for a helper
# without flags of its own, whose flags it gets.
ORDERS = """
import os
import numba
import numpy as np
import ordinal_shapley as osv
from ordinal_shapley_kernels import dense, elementary, logistic_solver, position_weights, scoring
rng = np.random.default_rng(0)
a, b = rng.normal(size=(2, 72))
columns = rng.normal(size=(16, 72))
gram = columns @ columns.T + np.eye(16)

def weights():
    out = np.zeros(67)
    position_weights.fill_position_weights(position_weights.GAUSSIAN, np.zeros(0), 67, out)
    return out

def combined():
    out = np.zeros(72)
    dense.combine_columns(a[:16].copy(), 16, columns, 72, False, out)
    return out

def inverse():
    out = gram.copy()
    dense.invert_factor(out, 16)
    return out

def products():
    out = np.zeros(16)
    dense.row_products(columns, 16, a, 72, dense.FULL, out)
    return out

def slopes():
    out = np.zeros(72)
    logistic_solver.find_slopes(a, np.sign(b), 72, out)
    return out

def added():
    out = b.copy()
    dense.add_multiple(out, 0.3, a, 72)
    return out

@numba.njit
def func(sequence):
    total = 0.1
    for place in range(sequence.size):
        total += np.sqrt(sequence[place] + 1.0) / (place + 3.0)
    return total

games = {
    "table": osv.TableGame.from_array(5, rng.normal(size=326)),
    "function": osv.FunctionGame(func, 5),
}

def sampled(game, value):
    moments = osv.sample_values(game, value, n_permutations=23, random_state=0).moments
    return np.concatenate([moments.sums, moments.unit_spread])

tasks = {
    "exp": lambda: np.array([elementary.exp(x) for x in a]),
    "dot": lambda: np.array(dense.dot(a, b, 72)),
    "added": added,
    "weights": weights,
    "loss": lambda: np.array(scoring.neg_log_loss(columns[:3], np.arange(72) % 3, 3)),
    "combined": combined,
    "products": products,
    "inverse": inverse,
    "slopes": slopes,
}
for name in games:
    for value in ("partial_ordinal", "ordinal"):
        tasks[f"{name}, {value} sampled"] = lambda game=games[name], value=value: sampled(game, value)
        tasks[f"{name}, {value}"] = lambda game=games[name], value=value: osv.exact_values(game, value).values
results = {name: tasks[name]().tobytes().hex() for name in list(tasks)[:: int(os.environ["STEP"])]}
for name in sorted(results):
    print(name, results[name])
"""


def test_bits_do_not_depend_on_compile_order(tmp_path):
    outputs = [
        run(ORDERS, tmp_path, STEP=step, NUMBA_CACHE_DIR=str(tmp_path / f"cache{step}"))
        for step in ("1", "-1")
    ]
    assert len(outputs[0].splitlines()) == 17
    assert outputs[0] == outputs[1]


def test_every_kernel_states_its_flags():
    kernels = dispatchers()
    assert len(kernels) > 10
    for name, kernel in kernels.items():
        options = kernel.targetoptions
        assert options["nogil"] is True, name
        assert options["error_model"] == "numpy", name
        assert set(options["fastmath"]) == {"contract"}, name
        assert options["nopython"] is True, name
        assert type(kernel._cache).__name__ == "_StampedCache", name


# --------------------------------------------------------------------------------------------
# Odd arrays, and the interpreted twin
# --------------------------------------------------------------------------------------------


def test_odd_arrays_compile_nothing_anew():
    import joblib

    problem = wine(True)
    X, y, X_valid, y_valid = problem
    coarse, coarse_valid = np.round(4 * X), np.round(4 * X_valid)

    def use(X, y, X_valid, y_valid, backend="threading"):
        game = osv.LogisticGame(X, y, X_valid, y_valid)
        game(np.arange(89))
        game.coefficients(np.arange(89)[::-1])
        with joblib.parallel_config(backend=backend):
            for method in ("tmc", "cmc"):
                osv.sample_values(game, method=method, n_permutations=2, random_state=0, n_jobs=2)

    def signatures():
        return {name: len(kernel.signatures) for name, kernel in dispatchers().items()}

    use(coarse, y, coarse_valid, y_valid)
    before = signatures()
    assert sum(before.values()) > 0
    frozen = np.asfortranarray(coarse)
    frozen.flags.writeable = False
    shifted = np.frombuffer(b"x" + coarse.tobytes(), dtype=np.uint8)[1:].view(np.float64)
    use(frozen, y, coarse_valid, y_valid)
    use(shifted.reshape(coarse.shape), y, coarse_valid, y_valid)
    use(coarse.astype(np.float32), y.astype(np.int8), coarse_valid.astype(np.float32), y_valid)
    use(coarse.astype(np.int64), y.astype(float), coarse_valid.astype(np.int16), y_valid)
    use(coarse[:, ::-1][:, ::-1], y[::-1][::-1], coarse_valid, y_valid)
    use(frozen, y, coarse_valid, y_valid, backend="loky")
    assert signatures() == before


# Prints integers as they are and floats in full; run with the JIT on and off.
TWIN = """
import json
import numba
import numpy as np
import ordinal_shapley as osv
rng = np.random.default_rng(0)
out = {}
for n_classes, scoring in ((2, "roc_auc"), (3, "accuracy"), (3, "neg_log_loss")):
    y = np.arange(24) % n_classes
    X = rng.normal(size=(24, 3)) + y[:, None]
    game = osv.LogisticGame(X[:12], y[:12], X[12:], y[12:], scoring=scoring)
    out[f"coefficients {n_classes} {scoring}"] = game.coefficients(range(12), tol=1e-11).tolist()
    for method in ("mc", "tmc", "cmc", "ctmc"):
        result = osv.sample_values(game, method=method, n_permutations=4, random_state=1)
        moments = result.moments
        out[f"{method} {n_classes} {scoring}"] = {
            "chosen": moments.chosen.tolist(),
            "counts": [moments.n_evaluations, moments.walk_length, moments.completed_stops],
            "sums": moments.sums.tolist(),
            "squares": moments.unit_spread.tolist(),
        }

@numba.njit
def late(sequence):
    total = 2.3
    for place in range(sequence.size):
        total += np.sqrt(sequence[place] + 1.0) * (place + 3.0) / 100.0
    return total

games = {
    "table": osv.TableGame.from_array(5, 3.0 + rng.normal(size=326) / 10),
    "jitted": osv.FunctionGame(late, 5),
    "plain": osv.FunctionGame(getattr(late, "py_func", late), 5),
}
for kind, game in games.items():
    for value in ("partial_ordinal", "ordinal"):
        exact = osv.exact_values(game, value, position_profile=True)
        out[f"{kind} {value}"] = [exact.values.tolist(), *exact.position_profile.tolist()]
        for method in ("mc", "tmc", "cmc", "ctmc"):
            moments = osv.sample_values(
                game, value, method, labels=[0, 1, 0, 1, 1], n_permutations=12, random_state=1
            ).moments
            out[f"{kind} {value} {method}"] = {
                "chosen": moments.chosen.tolist(),
                "counts": [moments.n_evaluations, moments.walk_length, moments.completed_stops],
                "sums": moments.sums.tolist(),
                "squares": moments.unit_spread.tolist(),
            }
print(json.dumps(out))
"""


def test_the_interpreted_twin_agrees(tmp_path):
    compiled, interpreted = (json.loads(run(TWIN, tmp_path, NUMBA_DISABLE_JIT=off)) for off in ("0", "1"))
    assert compiled.keys() == interpreted.keys()
    for name, one in compiled.items():
        two = interpreted[name]
        if isinstance(one, list):
            np.testing.assert_allclose(one, two, atol=1e-10, err_msg=name)
            continue
        assert one["chosen"] == two["chosen"], name
        assert one["counts"] == two["counts"], name
        np.testing.assert_allclose(one["sums"], two["sums"], atol=1e-10, err_msg=name)
        np.testing.assert_allclose(one["squares"], two["squares"], atol=1e-10, err_msg=name)
