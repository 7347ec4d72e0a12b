"""Environments of their own for libraries that pin other versions than ours.

Taking one from nothing needs the network; one that is there is left alone.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

_BUILD_SECONDS = 1_800
# Where there is no wheel of these, the next set of requirements is better than an hour of compiling.
_NEVER_BUILT = "numpy,scipy,scikit-learn,pandas,numba,llvmlite"


class Recipe(NamedTuple):
    """Sets of requirements, of which the first that installs is taken.

    `newest_python` is the last minor version of Python 3 that the pinned versions run on.
    """

    requirements: tuple[tuple[str, ...], ...]
    newest_python: int = 99


class EnvironmentFailedError(Exception):
    """An environment could not be made; the message says why."""


def python_of(folder: Path) -> Path:
    """Return the interpreter of an environment."""
    return folder / "bin" / "python"


def is_ready(folder: Path, recipe: Recipe) -> bool:
    """Say whether an environment is there, as one of the recipe's sets has it."""
    stamp = _stamp(folder)
    return stamp.exists() and tuple(json.loads(stamp.read_text())) in recipe.requirements


def make_environment(folder: Path, recipe: Recipe) -> tuple[str, ...] | None:
    """Make an environment and return the requirements it has; None if it was ready."""
    if is_ready(folder, recipe):
        return None
    python = _python_for(recipe.newest_python)
    if python is None:
        raise EnvironmentFailedError(f"no Python 3.9 to 3.{recipe.newest_python} on the path")
    error = ""
    for requirements in recipe.requirements:
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            _run(python, "-m", "venv", str(folder))
            install(folder, "--only-binary", _NEVER_BUILT, *requirements)
        except EnvironmentFailedError as failed:
            error = str(failed)
            continue
        _stamp(folder).write_text(json.dumps(requirements))
        return requirements
    shutil.rmtree(folder, ignore_errors=True)
    raise EnvironmentFailedError(error)


def install(folder: Path, *arguments: str) -> None:
    """Have pip of an environment install something.

    Raises
    ------
    EnvironmentFailedError
        If it cannot.
    """
    _run(str(python_of(folder)), "-m", "pip", "install", "--quiet", "--retries", "1", *arguments)


def _run(*command: str) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=_BUILD_SECONDS)
    except subprocess.CalledProcessError as failed:
        lines = (failed.stderr or failed.stdout or "no output").strip().splitlines()
        error = next((line for line in reversed(lines) if line.startswith("ERROR")), lines[-1])
        raise EnvironmentFailedError(error) from failed
    except (OSError, subprocess.TimeoutExpired) as failed:
        raise EnvironmentFailedError(str(failed)) from failed


def _python_for(newest: int) -> str | None:
    if sys.version_info[1] <= newest:
        return sys.executable
    names = (f"python3.{minor}" for minor in range(newest, 8, -1))
    return next((found for name in names if (found := shutil.which(name))), None)


def _stamp(folder: Path) -> Path:
    return folder / "ready.json"
