"""Libraries to compare with, each in an environment of its own under build/rivals.

`make_rivals.py` makes those that are missing, which takes the network; one that cannot be made is
reported and left out, and so are its rows. `running` starts a script of `rival_scripts/` in such an
environment, to be asked for one turn after the other.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bench.problems import Problem

SCRIPTS = Path(__file__).resolve().parent.parent / "rival_scripts"
ROOT = SCRIPTS.parent.parent / "build" / "rivals"
_BUILD_SECONDS = 1_800
# Where there is no wheel of these, the next set of requirements is better than an hour of compiling.
_NEVER_BUILT = "numpy,scipy,scikit-learn,pandas"


class Kind(NamedTuple):
    """A rival: sets of requirements, of which the first that installs is taken, and what to run.

    `newest_python` is the last minor version of Python 3 that the pinned versions run on.
    """

    requirements: tuple[tuple[str, ...], ...]
    script: str
    newest_python: int = 99


KINDS = {
    # The oldest with wheels for the Python at hand. It fits three classes in one call.
    "scikit-learn": Kind(
        (
            ("scikit-learn==1.3.2", "numpy<2"),
            ("scikit-learn==1.4.2", "numpy<2"),
            ("scikit-learn==1.5.2",),
            ("scikit-learn==1.6.1",),
            ("scikit-learn==1.7.2",),
        ),
        "sklearn_refit.py",
    ),
    # scikit-learn as above: newer ones refuse three classes, and spend more time around liblinear.
    "pyDVL": Kind(
        (
            ("pyDVL==0.10.0", "scikit-learn==1.3.2"),
            ("pyDVL==0.10.0", "scikit-learn==1.5.2"),
            ("pyDVL==0.10.0", "scikit-learn==1.7.2"),
        ),
        "pydvl_tmc.py",
    ),
    # The last two are needed to import it, and it does not ask for them.
    "OpenDataVal": Kind(
        (("opendataval==1.3.0", "scikit-learn==1.3.2", "transformers<4.40", "multimethod<2"),),
        "opendataval_tmc.py",
        newest_python=11,
    ),
}


class MissingRivalError(Exception):
    """There is no environment to run a rival in."""


def _python_for(newest: int) -> str | None:
    if sys.version_info[1] <= newest:
        return sys.executable
    names = (f"python3.{minor}" for minor in range(newest, 8, -1))
    return next((found for name in names if (found := shutil.which(name))), None)


def _stamp(name: str) -> Path:
    return ROOT / name / "ready.json"


def _is_ready(name: str) -> bool:
    stamp = _stamp(name)
    if not stamp.exists():
        return False
    return tuple(json.loads(stamp.read_text())) in KINDS[name].requirements


def make(name: str) -> str:
    """Make an environment unless it is there; returns what came of it, in words."""
    if _is_ready(name):
        return "ready"
    kind, folder = KINDS[name], ROOT / name
    python = _python_for(kind.newest_python)
    if python is None:
        return f"left out: no Python 3.9 to 3.{kind.newest_python} on the path"
    error = ""
    for requirements in kind.requirements:
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--retries", "1"]
        try:
            for command in (
                [python, "-m", "venv", str(folder)],
                [*pip, "--only-binary", _NEVER_BUILT, *requirements],
            ):
                subprocess.run(command, check=True, capture_output=True, text=True, timeout=_BUILD_SECONDS)
        except subprocess.CalledProcessError as failed:
            lines = (failed.stderr or failed.stdout or "no output").strip().splitlines()
            error = next((line for line in reversed(lines) if line.startswith("ERROR")), lines[-1])
            continue
        except (OSError, subprocess.TimeoutExpired) as failed:
            error = str(failed)
            continue
        _stamp(name).write_text(json.dumps(requirements))
        return f"made, with {' '.join(requirements)}"
    shutil.rmtree(folder, ignore_errors=True)
    return f"left out: {error}"


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
    if not _is_ready(name):
        raise MissingRivalError(f"{name} has no environment: make bench-rivals makes it or says why not")
    with tempfile.TemporaryDirectory() as scratch:
        rows, log = Path(scratch, "problem.npz"), Path(scratch, "log")
        problem.save(rows)
        threads = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
        # What this process may have been given to find its own packages is not for another environment.
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | threads
        with log.open("w") as stderr:
            process = subprocess.Popen(
                [str(ROOT / name / "bin" / "python"), str(SCRIPTS / KINDS[name].script), rows],
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
