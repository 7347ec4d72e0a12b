"""Libraries to compare with, each in an environment of its own under build/rivals.

`make_rivals.py` makes those that are missing, which takes the network; one that cannot be made is
reported and left out, and so are its rows. `running` starts a script of `rival_scripts/` in such an
environment, to be asked for one turn after the other.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.environments import EnvironmentFailedError, Recipe, is_ready, make_environment, python_of
from bench.problems import Problem

SCRIPTS = Path(__file__).resolve().parent.parent / "rival_scripts"
ROOT = SCRIPTS.parent.parent / "build" / "rivals"
KINDS = {
    # The oldest with wheels for the Python at hand. It fits three classes in one call.
    "scikit-learn": Recipe(
        (
            ("scikit-learn==1.3.2", "numpy<2"),
            ("scikit-learn==1.4.2", "numpy<2"),
            ("scikit-learn==1.5.2",),
            ("scikit-learn==1.6.1",),
            ("scikit-learn==1.7.2",),
        ),
    ),
    # scikit-learn as above: newer ones refuse three classes, and spend more time around liblinear.
    "pyDVL": Recipe(
        (
            ("pyDVL==0.10.0", "scikit-learn==1.3.2"),
            ("pyDVL==0.10.0", "scikit-learn==1.5.2"),
            ("pyDVL==0.10.0", "scikit-learn==1.7.2"),
        ),
    ),
    # The last two are needed to import it, and it does not ask for them.
    "OpenDataVal": Recipe(
        (("opendataval==1.3.0", "scikit-learn==1.3.2", "transformers<4.40", "multimethod<2"),),
        newest_python=11,
    ),
}
_SCRIPTS = {
    "scikit-learn": "sklearn_refit.py",
    "pyDVL": "pydvl_tmc.py",
    "OpenDataVal": "opendataval_tmc.py",
}


class MissingRivalError(Exception):
    """There is no environment to run a rival in."""


def make(name: str) -> str:
    """Make an environment unless it is there; returns what came of it, in words."""
    try:
        requirements = make_environment(ROOT / name, KINDS[name])
    except EnvironmentFailedError as failed:
        return f"left out: {failed}"
    return "ready" if requirements is None else f"made, with {' '.join(requirements)}"


class Rival:
    """A running rival; call it with a request."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process, self._log = process, log
        self.version: str = self._answer()["version"]

    def __call__(self, **request: Any) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        assert self._process.stdin is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the rival ended: {self._log.read_text()[-2000:]}")
        answer: dict[str, Any] = json.loads(line)
        return answer


@contextlib.contextmanager
def running(name: str, problem: Problem) -> Iterator[Rival]:
    """Start a rival on a problem, with one thread.

    Raises
    ------
    MissingRivalError
        If it has no environment.
    """
    if not is_ready(ROOT / name, KINDS[name]):
        raise MissingRivalError(f"{name} has no environment: make bench-rivals makes it or says why not")
    with tempfile.TemporaryDirectory() as scratch:
        rows, log = Path(scratch, "problem.npz"), Path(scratch, "log")
        problem.save(rows)
        threads = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
        # What this process may have been given to find its own packages is not for another environment.
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | threads
        with log.open("w") as stderr:
            process = subprocess.Popen(
                [str(python_of(ROOT / name)), str(SCRIPTS / _SCRIPTS[name]), rows],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                env=environment,
            )
        with process:
            try:
                yield Rival(process, log)
            finally:
                process.kill()
