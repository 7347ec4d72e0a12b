"""The code blocks of the README and the documentation run as printed.

``python`` blocks of a page run in order in one namespace, and ``bash`` blocks as commands with the
environment's own executables, all in an empty directory. A ``text`` block after one that runs is what it
prints. ``sh`` blocks set a machine up; of those only the make targets are looked up, and of ``py`` blocks,
which need other machines, what they ask of the package. A page's other fences (data) are not run.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import inspect
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import ordinal_shapley as osv

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[int, str, str]]:
    """Line, language and text of each fenced block."""
    text = page.read_text(encoding="utf-8")
    return [(text.count("\n", 0, m.start()) + 2, m[1], m[2]) for m in FENCE.finditer(text)]


def is_output(shown: str, printed: str) -> bool:
    """Whether a page shows what its code printed, blanks apart; ``...`` leaves something out."""
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    return doctest.OutputChecker().check_output(shown, printed, flags)


RUNNABLE = [page for page in PAGES if {"python", "bash"} & {kind for _, kind, _ in blocks(page)}]


@pytest.mark.slow
@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="the pages value real data, minutes uncompiled")
@pytest.mark.parametrize(
    "page",
    RUNNABLE,
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)  # a page may import what it has written
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    namespace: dict[str, object] = {"__name__": "__main__"}
    printed = ""
    for line, kind, text in blocks(page):
        if kind == "python":
            with contextlib.redirect_stdout(io.StringIO()) as stdout:
                exec(compile("\n" * (line - 1) + text, str(page), "exec"), namespace)
            printed = stdout.getvalue()
        elif kind == "text":
            assert is_output(text, printed), (
                f"{page.name}:{line} shows\n{text}\nbut what is printed is\n{printed}"
            )
        elif kind == "bash":
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", text], capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, f"{page.name}:{line}\n{text}\n{done.stderr}"
            printed = done.stdout


def test_blocks_for_other_machines_ask_for_what_there_is():
    found = [text for page in PAGES for _, kind, text in blocks(page) if kind == "py"]
    calls = [
        (node.func.attr, [keyword.arg for keyword in node.keywords])
        for text in found
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("osv.")
    ]
    assert len(calls) >= len(found) > 0
    for name, keywords in calls:
        assert set(keywords) <= set(inspect.signature(getattr(osv, name)).parameters)


def test_make_targets_named_exist():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        target
        for page in PAGES
        for _, kind, text in blocks(page)
        if kind == "sh"
        for target in re.findall(r"^make (?:\w+=\S+ )*([\w-]+)", text, re.MULTILINE)
    }
    assert named <= targets
