"""Checks the package that this Python has installed: its files, its version and a tiny valuation.

Usage: python check_installed.py FILE, the name of the wheel or sdist it was installed from.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path

FILES = (
    "ordinal_shapley/py.typed",
    "ordinal_shapley/datasets/data/SOURCES.md",
    "ordinal_shapley/datasets/data/breast_cancer_ljubljana.csv",
    "ordinal_shapley/report/templates/page.css",
    "ordinal_shapley/report/templates/page.html",
    "ordinal_shapley/report/templates/page.js",
    "ordinal_shapley_kernels/py.typed",
)
TOPS = {"ordinal_shapley", "ordinal_shapley_kernels"}


def ran(*command: str) -> str:
    """Return what a command prints, or end with what it has to complain of."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def main(name: str) -> None:
    """Check everything; the first thing that is wrong ends it."""
    import ordinal_shapley
    import ordinal_shapley_kernels

    version = metadata.version("ordinal-shapley")
    assert ordinal_shapley.__version__ == version, (ordinal_shapley.__version__, version)
    assert f"-{version}." in name or f"-{version}-" in name, (name, version)
    for package in (ordinal_shapley, ordinal_shapley_kernels):
        home = Path(package.__file__).resolve()
        assert Path(sys.prefix).resolve() in home.parents, f"{home} is not the one that was installed"

    files = {str(file) for file in metadata.files("ordinal-shapley") or ()}
    assert not (missing := set(FILES) - files), f"missing: {missing}"
    assert not (large := [file for file in files if file.endswith(".gz")]), f"for the source only: {large}"
    tops = {file.split("/")[0] for file in files if "/" in file and not file.startswith("..")}
    tops = {top for top in tops if not top.endswith(".dist-info")}
    assert tops == TOPS, f"installs {tops}"
    for public in ordinal_shapley.__all__:
        getattr(ordinal_shapley, public)

    for program in (("ordinal-shapley",), (sys.executable, "-m", "ordinal_shapley")):
        assert ran(*program, "--version") == f"ordinal-shapley {version}\n"
    options = ("--dataset", "wine", "--permutations", "2", "--rows", "40", "--json")
    values = json.loads(ran("ordinal-shapley", "value", *options))
    assert len(values["rows"]) == values["data"]["training_rows"] > 20
    assert any(row["value"] for row in values["rows"])
    print(f"{name}: {len(files)} files, version {version}, Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main(sys.argv[1])
