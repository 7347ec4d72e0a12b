"""The rules hold here, and each of them can fail."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest

from rules import check_rules as rules


def test_the_project_keeps_its_rules():
    assert rules.breaches() == []


@pytest.mark.parametrize(
    "source",
    [
        "import numba\n\n@numba.njit\ndef f(): ...\n",
        "import numba as nb\n\n@nb.jit(nopython=True)\ndef f(): ...\n",
        "from numba import njit\n",
        "from numba.core.decorators import jit\n",
    ],
)
def test_a_bare_decorator_is_found(tmp_path, source):
    (tmp_path / "kernels/ordinal_shapley_kernels").mkdir(parents=True)
    (tmp_path / rules.DECORATOR_HOME).write_text(source)
    assert list(rules.check_decorator(tmp_path)) == []
    (tmp_path / "kernels/ordinal_shapley_kernels/walk.py").write_text(source)
    assert len(list(rules.check_decorator(tmp_path))) == 1


def test_a_long_module_is_found(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src/fits.py").write_text("x = 1\n" * rules.MAX_LINES)
    assert list(rules.check_length(tmp_path)) == []
    (tmp_path / "src/long.py").write_text("x = 1\n" * (rules.MAX_LINES + 1))
    assert len(list(rules.check_length(tmp_path))) == 1


def test_an_overload_without_flags_is_found(tmp_path):
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels/push.py").write_text(
        "@overload(push, jit_options=flags)\ndef a(): ...\n\n@numba.extending.overload(pop)\ndef b(): ...\n"
    )
    (found,) = rules.check_overload_flags(tmp_path)
    assert found.startswith("kernels/push.py:4")


@pytest.mark.parametrize(
    "line",
    [
        "path.write_text(text)",
        "figure.savefig(path)",
        "frame.to_csv(path)",
        "open(path, 'w')",
        "path.open(mode='ab')",
        "path.open('rb+')",
    ],
)
def test_a_file_that_could_be_left_half_written_is_found(tmp_path, line):
    (tmp_path / "src").mkdir()
    module = tmp_path / "src/write.py"
    module.write_text(f"with replacing(path) as temporary:\n    {line}\n")
    assert list(rules.check_writes(tmp_path)) == []
    module.write_text(f"text = frame.to_csv(index=False)\nopen(path, encoding='ascii')\n{line}\n")
    (found,) = rules.check_writes(tmp_path)
    assert found.startswith("src/write.py:3")


def test_an_exported_kernel_is_found():
    def kernel(): ...

    kernel.__module__ = "ordinal_shapley_kernels.walk"
    assert len(list(rules.check_no_kernel_exported([("kernel", kernel)]))) == 1


def documented(x: int) -> int:
    """Double.

    Parameters
    ----------
    x : int
        A number.

    Returns
    -------
    int
        Its double.

    Examples
    --------
    >>> documented(2)
    4
    """
    return 2 * x


def bare(x: int) -> int:
    """Double."""
    return 2 * x


def test_a_thin_docstring_is_found():
    assert list(rules.check_docstrings([("documented", documented)])) == []
    found = list(rules.check_docstrings([("bare", bare)]))
    assert [line.rsplit(" ", 1)[1] for line in found] == [
        "Examples",
        "Parameters",
        "Returns",
        "example",
    ]


def test_a_name_missing_from_the_page_is_found():
    page = "- `documented(x)` doubles.\n- `datasets.load`: loads.\n"
    assert list(rules.check_api_page([("documented", 0), ("datasets.load", 0)], page)) == []
    assert len(list(rules.check_api_page([("bare", 0), ("load", 0)], page))) == 2


def lint_layers(home):
    """Check the contracts of the source trees under a folder; what was printed, on one line."""
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command as run; run()",
            "--no-cache",
        ],
        cwd=home,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(str(home / top) for top in rules.SOURCES)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.returncode, " ".join(re.sub(r"\x1b\[[\d;]*m", "", done.stdout).split())


@pytest.fixture(scope="module")
def layers(tmp_path_factory):
    """Copy the source trees and the contracts."""
    pytest.importorskip("importlinter")
    home = tmp_path_factory.mktemp("layers")
    shutil.copy(rules.ROOT / "pyproject.toml", home)
    for top in rules.SOURCES:
        shutil.copytree(rules.ROOT / top, home / top, ignore=shutil.ignore_patterns("__pycache__"))
    return home


def test_the_layers_hold(layers):
    code, shown = lint_layers(layers)
    assert code == 0 and " 0 broken" in shown


@pytest.mark.parametrize(
    "module, line, contract",
    [
        (
            "src/ordinal_shapley/games/table.py",
            "import ordinal_shapley.sampling.plan",
            "Layers of the package",
        ),
        (
            "src/ordinal_shapley/sampling/plan.py",
            "def f():\n    from ordinal_shapley.cli import options",
            "Layers of the package",
        ),
        (
            "src/ordinal_shapley/exact/plan.py",
            "import ordinal_shapley.sampling.state",
            "Layers of the package",
        ),
        ("src/ordinal_shapley/plots/_axes.py", "import ordinal_shapley.plots.values", "No circles"),
        ("kernels/ordinal_shapley_kernels/bits.py", "import ordinal_shapley_kernels.table", "No circles"),
        ("kernels/ordinal_shapley_kernels/bits.py", "import ordinal_shapley.vocabulary", "Kernels know"),
        ("kernels/ordinal_shapley_kernels/bits.py", "import pandas", "Kernels know"),
        ("src/ordinal_shapley/report/page.py", "import ordinal_shapley_kernels.bits", "Only games"),
        ("src/ordinal_shapley/report/page.py", "import typer", "Only the command line"),
        ("src/ordinal_shapley/report/page.py", "import ordinal_shapley.valuation.moments", "Layers"),
        ("src/ordinal_shapley/plots/values.py", "import ordinal_shapley.valuation", "Layers"),
        ("src/ordinal_shapley/report/page.py", "from ordinal_shapley import verify", "Public names"),
    ],
)
def test_a_forbidden_import_is_found(layers, module, line, contract):
    path = layers / module
    before = path.read_text()
    path.write_text(f"{before}\n{line}\n")
    try:
        code, shown = lint_layers(layers)
    finally:
        path.write_text(before)
    assert code == 1
    broken = [name.rsplit(" KEPT ", 1)[-1] for name in shown.split(" BROKEN")[:-1]]
    assert any(contract in name for name in broken)
