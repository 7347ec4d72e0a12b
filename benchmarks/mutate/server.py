"""Runs tests of a copy of the repository, in forks of a process that has loaded what they import.

Of the project itself nothing is imported before the fork, so each fork takes the source as it stands then.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

MEMORY = 6 * 2**30
STEP = 0.01  # seconds between looks whether a fork has ended
LOADED = (
    "hypothesis",
    "joblib.externals.loky",
    "numba",
    "numba.extending",
    "numpy.testing",
    "pandas",
    "scipy.optimize",
    "scipy.special",
    "scipy.stats",
    "sklearn.datasets",
    "sklearn.ensemble",
    "sklearn.linear_model",
    "sklearn.metrics",
    "sklearn.model_selection",
    "sklearn.neighbors",
    "sklearn.pipeline",
    "sklearn.preprocessing",
    "sklearn.svm",
    "sklearn.tree",
    "threadpoolctl",
)
Answer = dict[str, Any]


def _deterministic() -> None:
    from hypothesis import settings

    settings.register_profile("mutation", derandomize=True, database=None, deadline=None)
    settings.load_profile("mutation")


def _pytest(tests: list[str], plugin: object) -> int:
    quiet = ["-q", "-x", "--tb=no", "-p", "no:cacheprovider", "-o", "addopts="]
    return int(pytest.main([*quiet, "--import-mode=importlib", *tests], plugins=[plugin]))


class _First:
    """Notes the test that fails first."""

    def __init__(self) -> None:
        self.failed = ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed = self.failed or report.nodeid

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.failed = self.failed or f"{report.nodeid} (cannot be collected)"


def attempt(request: Answer) -> Answer:
    """Run tests until one fails."""
    first = _First()
    code = _pytest(request["tests"], first)
    return {"code": code, "failed": first.failed}


class _Measured:
    """Notes the time of every test that passes in time, and the lines that it reaches."""

    def __init__(self, coverage: Any, limit: float, whole: float) -> None:
        self.coverage, self.limit, self.whole = coverage, limit, whole
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        # The first arguments of every test, then the second ones: the time for the file may not be enough.
        turns: Counter[str] = Counter()
        order = {}
        for item in items:
            name = item.nodeid.split("[")[0]
            order[item] = turns[name]
            turns[name] += 1
        items.sort(key=order.__getitem__)

    def pytest_runtest_setup(self) -> None:
        if sum(self.seconds.values()) > self.whole:
            pytest.skip("enough of this file")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        self.coverage.switch_context(item.nodeid)
        began = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, self.limit)
        try:
            return (yield)  # type: ignore[return-value]
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            self.seconds[item.nodeid] = time.process_time() - began
            self.coverage.switch_context("")

    def pytest_runtest_logreport(self, report: Any) -> None:
        if not report.passed:
            self.failed.add(report.nodeid)


def _too_slow(*_: object) -> None:
    raise pytest.fail.Exception("too slow", pytrace=False)


def reach(request: Answer) -> Answer:
    """Run a file of tests, and note the lines that each of them reaches."""
    from coverage import Coverage

    coverage = Coverage(data_file=None, include=request["include"], config_file=False)
    signal.signal(signal.SIGPROF, _too_slow)
    measured = _Measured(coverage, request["limit"], request["whole"])
    coverage.start()
    quiet = ["-q", "--tb=no", "-p", "no:cacheprovider", "-o", "addopts="]
    code = pytest.main([*quiet, "--import-mode=importlib", request["file"]], plugins=[measured])
    coverage.stop()
    data = coverage.get_data()
    good = {name: second for name, second in measured.seconds.items() if name not in measured.failed}
    lines: dict[str, dict[int, list[str]]] = {}
    for path in data.measured_files():
        name = Path(path).relative_to(Path.cwd()).as_posix()
        lines[name] = {
            line: [context for context in contexts if context in good]
            for line, contexts in data.contexts_by_lineno(path).items()
        }
    left_out = sorted(set(measured.seconds) - set(good))
    return {"code": int(code), "seconds": good, "lines": lines, "left_out": left_out}


def _waits(process: int) -> bool:
    """Whether no thread of a process runs or could run."""
    for task in Path(f"/proc/{process}/task").glob("*/stat"):
        with contextlib.suppress(OSError):
            if task.read_text().rpartition(")")[2].split()[0] in "RDT":
                return False
    return True


def in_fork(work: Callable[[Answer], Answer], request: Answer) -> Answer:
    """Work in a fork, which is ended when its processor time is over, or when it has only waited as long."""
    with tempfile.NamedTemporaryFile() as answer:
        child = os.fork()
        if child == 0:
            try:
                os.setsid()
                sink = os.open(
                    os.environ.get("MUTATION_LOG", os.devnull), os.O_WRONLY | os.O_CREAT | os.O_APPEND
                )
                for stream in (1, 2):
                    os.dup2(sink, stream)
                limit = int(request["cpu"]) + 1
                resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
                _deterministic()
                Path(answer.name).write_text(json.dumps(work(request)))
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(0)
        ended = False
        waited = 0.0
        while waited < 60.0 + request["cpu"]:  # no clock: on a busy machine a fork may not get to run
            time.sleep(STEP)
            waited += STEP if _waits(child) else 0.0
            ended = os.waitpid(child, os.WNOHANG)[0] == child
            if ended:
                break
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        if not ended:
            os.waitpid(child, 0)
        text = Path(answer.name).read_text()
        return json.loads(text) if text else {"code": -1, "failed": ""}


def load() -> None:
    """Import what tests import, but for the project, with the compiler off and one thread."""
    os.environ |= {
        "NUMBA_DISABLE_JIT": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    for name in LOADED:
        importlib.import_module(name)


def serve(requests: Connection, folder: Path) -> None:
    """Answer requests of one copy of the repository until there are no more."""
    os.chdir(folder)
    paths = [str(folder / name) for name in ("src", "kernels", "tests", "benchmarks")]
    sys.path[:0] = paths
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    while (request := requests.recv()) is not None:
        requests.send(in_fork({"attempt": attempt, "reach": reach}[request["work"]], request))
