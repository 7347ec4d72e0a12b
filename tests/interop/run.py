"""Run the tests against pyDVL and OpenDataVal, each in an environment of its own under build/interop.

Usage: PYTHONPATH=benchmarks python tests/interop/run.py [pydvl] [opendataval]

Both run unless named; the exit status is not 0 if a test fails or an environment cannot be made.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from bench.environments import EnvironmentFailedError, Recipe, install, make_environment, python_of

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "build" / "interop"


class Library(NamedTuple):
    """What to install first, how this package then is, and which tests of the suite to run as well."""

    recipe: Recipe
    options: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()


LIBRARIES = {
    # numpy<2, which pyDVL asks for, has no wheels for Python 3.13.
    "pydvl": Library(Recipe((("pyDVL==0.10.0", "pytest>=8.2"),), newest_python=12)),
    # It pins NumPy, pandas and Typer below what this package asks for, so what is missing is installed here
    # and this package without its dependencies; what the bridge rests on is tested with those, too.
    # Without the limits on `transformers` and `multimethod` it cannot be imported.
    "opendataval": Library(
        Recipe(
            (
                (
                    "opendataval==1.3.0",
                    "scikit-learn>=1.4",
                    "transformers<4.40",
                    "multimethod<2",
                    "numba>=0.61,<0.69",
                    "rich>=13",
                    "pytest>=8.2",
                ),
            ),
            newest_python=11,
        ),
        ("--no-deps",),
        ("tests/test_estimators.py",),
    ),
}


def prepare(name: str) -> Path:
    """Make the environment of a library, with this package in it; returns its interpreter."""
    library, folder = LIBRARIES[name], HOME / name
    made = make_environment(folder, library.recipe)
    stamp, settings = folder / "ours", ROOT / "pyproject.toml"
    if made is not None or not stamp.exists() or stamp.stat().st_mtime < settings.stat().st_mtime:
        install(folder, *library.options, "--editable", str(ROOT))
        stamp.touch()
    return python_of(folder)


def run_tests(name: str, python: Path) -> int:
    """Run everything that needs a library; returns pytest's exit status."""
    # What this process may have been given to find its own packages is not for another environment, and
    # kernels compiled by another Numba are not for this one.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    environment |= {"NUMBA_CACHE_DIR": str(HOME / name / "numba"), "MPLBACKEND": "Agg"}
    tests = ["tests/interop", f"src/ordinal_shapley/interop/{name}.py", *LIBRARIES[name].tests]
    return subprocess.run([str(python), "-m", "pytest", "-rs", *tests], cwd=ROOT, env=environment).returncode


def main(names: list[str]) -> int:
    unknown = sorted(set(names) - set(LIBRARIES))
    if unknown:
        print(f"{', '.join(unknown)} is none of {', '.join(LIBRARIES)}", file=sys.stderr)
        return 1
    failed = []
    for name in names or list(LIBRARIES):
        print(f"{name}: {HOME / name}", flush=True)
        try:
            python = prepare(name)
        except EnvironmentFailedError as error:
            print(f"{name}: no environment: {error}", file=sys.stderr)
            failed.append(name)
            continue
        if run_tests(name, python):
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
