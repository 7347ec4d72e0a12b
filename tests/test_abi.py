"""How kernels are compiled, cached and called: names, flags, odd arrays, and builds of the same source."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import ordinal_shapley as osv
import ordinal_shapley_kernels
from ordinal_shapley_kernels import abi
from problems import JIT, wine

PACKAGE = Path(ordinal_shapley_kernels.__file__).parent
pytestmark = pytest.mark.skipif(not JIT, reason="about compiled kernels")


def run(code, cwd, **environment):
    """Standard output of a new interpreter that finds a package copy in `cwd` first."""
    settings = {**os.environ, "PYTHONPATH": str(cwd), "NUMBA_DISABLE_JIT": "0", **environment}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=cwd, env=settings, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def copy_of_package(folder):
    target = folder / PACKAGE.name
    shutil.copytree(PACKAGE, target, ignore=shutil.ignore_patterns("__pycache__"))
    return target


def kernel_modules():
    return [importlib.import_module(f"{PACKAGE.name}.{m.name}") for m in pkgutil.iter_modules([str(PACKAGE)])]


# `weigh_positions` calls `fill_position_weights`, which calls `exp`, which lives in another file.
WEIGHTS = """
import numpy as np
from ordinal_shapley_kernels import position_weights as pw
weights = pw.PositionWeights(kind=pw.GAUSSIAN, table=np.zeros(0), out=(3,))
pw.weigh_positions(weights, 3)
symbols = [pw.weigh_positions.symbol, *pw.weigh_positions.symbol.callees()]
print(weights.out[1], sum(symbol.cache_hits for symbol in symbols))
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
    assert int(hits) == 2  # so the cache is in use at all

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
    folders = dict.fromkeys(("NUMBA_CACHE_DIR", "HOME", "XDG_CACHE_HOME"), nowhere)
    answer, hits = run(WEIGHTS, tmp_path, PYTHONDONTWRITEBYTECODE="1", **folders).split()
    assert float(answer) == pytest.approx(PEAK)
    assert int(hits) == 0
    assert not list(tmp_path.rglob("*.nbi"))


def test_a_full_disk_costs_the_cache_and_says_what_to_do(tmp_path):
    copy_of_package(tmp_path)
    full = """
import numba
compile = numba.cfunc
def cfunc(*arguments, cache=False, **options):
    if cache:
        raise OSError(28, "No space left on device")
    return compile(*arguments, **options)
numba.cfunc = cfunc
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
"""
    body = "\n".join("    " + line for line in WEIGHTS.splitlines())
    answer, hits, *told = run(
        f"{full}{body}\nprint(*[w.message for w in caught], sep=chr(10))", tmp_path
    ).split()
    assert float(answer) == pytest.approx(PEAK)
    assert int(hits) == 0
    assert " ".join(told).count("set NUMBA_CACHE_DIR") == 1


@pytest.mark.slow
@pytest.mark.parametrize("keep", [0, 0.5])
@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_a_torn_cache_costs_one_compilation(tmp_path, suffix, keep):
    copy_of_package(tmp_path)
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    run(WEIGHTS, tmp_path, **cache)
    torn = list((tmp_path / "cache").rglob(f"*.{suffix}"))
    assert torn
    for path in torn:
        data = path.read_bytes()
        path.write_bytes(data[: int(keep * len(data))])
    answer, hits = run(WEIGHTS, tmp_path, **cache).split()
    assert (float(answer), int(hits)) == (pytest.approx(PEAK), 0)
    answer, hits = run(WEIGHTS, tmp_path, **cache).split()
    assert (float(answer), int(hits)) == (pytest.approx(PEAK), 2)


@pytest.mark.slow
def test_two_processes_may_compile_at_once(tmp_path):
    copy_of_package(tmp_path)
    settings = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    both = [
        subprocess.Popen([sys.executable, "-c", WEIGHTS], env=settings, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    answers = [process.communicate(timeout=600)[0].split() for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert [float(answer[0]) for answer in answers] == pytest.approx([PEAK, PEAK])
    assert run(WEIGHTS, tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache")).split()[1] == "2"


def test_a_name_that_numba_has_lost_costs_the_compiler_and_a_warning(tmp_path):
    copy_of_package(tmp_path)
    code = """
import warnings
import numba.core.base
del numba.core.base.BaseContext.populate_array
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import numpy as np
    from ordinal_shapley_kernels import position_weights as pw
weights = pw.PositionWeights(kind=pw.GAUSSIAN, table=np.zeros(0), out=(3,))
pw.weigh_positions(weights, 3)
print(weights.out[1])
print(*[f"{w.category.__name__} {w.message}" for w in caught], sep=chr(10))
"""
    answer, *told = run(code, tmp_path).splitlines()
    assert float(answer) == pytest.approx(PEAK)
    assert len(told) == 1
    assert re.match("RuntimeWarning install a version of Numba .*populate_array", told[0])


# `make test-bounds` runs the tests of kernels like this.
BEYOND = """
import pytest
from ordinal_shapley_kernels.abi import entry, inlined, symbol
from ordinal_shapley_kernels.workspace import Vector, Workspace

class Three(Workspace):
    numbers: Vector

@inlined
def own(numbers, i):
    return numbers[i]

@symbol
def of_another(numbers: Vector, i: int) -> float:
    return own(numbers, i)

@entry
def read(work: Three, i: int) -> float:
    return work.numbers[i]

@entry
def ask(work: Three, i: int) -> float:
    return of_another(work.numbers, i)

@entry
def write(work: Three, i: int) -> None:
    work.numbers[i] = 1.0

@pytest.mark.parametrize("i", [2, 3])
@pytest.mark.parametrize("kernel", [read, ask, write])
def test_an_index(kernel, i):
    kernel(Three(numbers=(3,)), i)
"""


def test_an_index_out_of_bounds_fails_a_run_that_checks_them(tmp_path):
    (tmp_path / "test_beyond.py").write_text(BEYOND, encoding="utf-8")
    settings = Path(__file__).parents[1] / "pyproject.toml"
    arguments = ["-q", "-c", str(settings), "--rootdir", ".", "test_beyond.py"]
    told = run(
        f"import pytest; print(pytest.main({arguments}))",
        tmp_path,
        NUMBA_CACHE_DIR=str(tmp_path / "cache"),
        NUMBA_BOUNDSCHECK="1",
    )
    assert "3 failed, 3 passed" in told
    assert told.count("FAILED test_beyond.py::test_an_index") == 3
    assert "PytestUnraisableExceptionWarning" in told


# Names, flags and signatures


def test_an_interrupt_while_kernels_compile_leaves_none_unregistered(tmp_path):
    # A caller that names a symbol which is not registered would end the process.
    code = """
from ordinal_shapley_kernels import position_weights as pw, watching
import numpy as np
def interrupt(compiling):
    if compiling:
        raise KeyboardInterrupt
weights = pw.PositionWeights(kind=pw.GAUSSIAN, table=np.zeros(0), out=(3,))
try:
    with watching.watching(interrupt):
        pw.weigh_positions(weights, 3)
except KeyboardInterrupt:
    pw.weigh_positions(weights, 3)
    print(weights.out[1])
"""
    copy_of_package(tmp_path)
    assert float(run(code, tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache"))) == pytest.approx(PEAK)


@pytest.mark.slow
def test_every_callee_is_known_before_its_caller_is_loaded():
    # One that is not would end the process.
    found = 0
    for symbol in abi.all_symbols():
        if symbol.func.__module__.split(".")[-1] not in (
            "logistic",
            "logistic_solver",
            "certificate",
            "ridge",
        ):
            continue
        symbol.address  # noqa: B018
        compiled = numba.cfunc(symbol.signature, nopython=True, **abi.FLAGS)(symbol.func)
        called = set(re.findall(r"@(osv_\w+)\(", compiled.inspect_llvm()))
        assert called <= {callee.name for callee in symbol.callees()}, symbol.name
        found += len(called)
    assert found > 20


def test_every_kernel_states_its_flags():
    n_inlined = 0
    for module in kernel_modules():
        for name, value in vars(module).items():
            if hasattr(value, "py_func") and value.__module__ == module.__name__:
                n_inlined += 1
                options = dict(value.targetoptions)
                assert {key: options[key] for key in abi.FLAGS} == abi.FLAGS, name
    assert n_inlined > 10
    assert abi.FLAGS["error_model"] == "numpy"
    assert abi.FLAGS["fastmath"] == {"contract"}


# Odd arrays, and the interpreted twin


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
                osv.sample_values(game, "partial_ordinal", method, n_permutations=2, random_state=0, n_jobs=2)

    def compiled():
        symbols = {symbol.name for symbol in abi.all_symbols() if symbol.is_compiled}
        helpers = {
            f"{module.__name__}.{name}": len(value.signatures)
            for module in kernel_modules()
            for name, value in vars(module).items()
            if hasattr(value, "signatures")
        }
        return symbols, helpers

    use(coarse, y, coarse_valid, y_valid)
    before = compiled()
    assert len(before[0]) > 20
    frozen = np.asfortranarray(coarse)
    frozen.flags.writeable = False
    shifted = np.frombuffer(b"x" + coarse.tobytes(), dtype=np.uint8)[1:].view(np.float64)
    use(frozen, y, coarse_valid, y_valid)
    use(shifted.reshape(coarse.shape), y, coarse_valid, y_valid)
    use(coarse.astype(np.float32), y.astype(np.int8), coarse_valid.astype(np.float32), y_valid)
    use(coarse.astype(np.int64), y.astype(float), coarse_valid.astype(np.int16), y_valid)
    use(coarse[:, ::-1][:, ::-1], y[::-1][::-1], coarse_valid, y_valid)
    use(frozen, y, coarse_valid, y_valid, backend="loky")
    assert compiled() == before


# Prints integers as they are and floats in full; run with the JIT on and off, and without vectors.
TWIN = """
import json
import numba
import numpy as np
import ordinal_shapley as osv
rng = np.random.default_rng(0)
out = {}

def keep(name, *arguments, **options):
    moments = osv.sample_values(*arguments, random_state=1, **options).moments
    counts = [moments.n_evaluations, moments.walk_length, moments.completed_stops]
    out[f"{name}, integers"] = [moments.chosen.tolist(), counts]
    out[name] = [moments.sums.tolist(), moments.replicate_spread.tolist()]

for n_classes, scoring in ((2, "roc_auc"), (3, "accuracy"), (3, "neg_log_loss")):
    y = np.arange(24) % n_classes
    X = rng.normal(size=(24, 3)) + y[:, None]
    game = osv.LogisticGame(X[:12], y[:12], X[12:], y[12:], scoring=scoring)
    out[f"coefficients {n_classes} {scoring}"] = game.coefficients(range(12), tol=1e-11).tolist()
    for method in ("mc", "tmc", "cmc", "ctmc"):
        keep(f"{method} {n_classes} {scoring}", game, "partial_ordinal", method, n_permutations=4)

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
        by_class = {"class_fraction": 0.8, "strata": [0, 1, 0, 1, 1]}
        for name, sampler in {
            "mc": "mc",
            "tmc": "tmc",
            "cmc": osv.PermutationSampler(**by_class),
            "ctmc": osv.PermutationSampler(truncation="paper", **by_class),
        }.items():
            keep(f"{kind} {value} {name}", game, value, sampler, n_permutations=12)
print(json.dumps(out))
"""


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    return json.loads(run(TWIN, tmp_path_factory.mktemp("vectors")))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("build", "tolerance"),
    [
        ({"NUMBA_DISABLE_JIT": "1"}, 1e-10),
        ({"ORDINAL_SHAPLEY_SCALAR": "1"}, 1e-12),
    ],
)
def test_builds_of_the_same_source_agree(tmp_path, vectors, build, tolerance):
    other = json.loads(run(TWIN, tmp_path, **build))
    assert vectors.keys() == other.keys()
    for name, one in vectors.items():
        if name.endswith("integers"):
            assert one == other[name], name
        else:
            np.testing.assert_allclose(one, other[name], atol=tolerance, err_msg=name)
