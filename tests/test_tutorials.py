"""The tutorials run as they stand, and what is stored with them is what this code gave, and nothing else."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numba
import pytest

from tutorials import FOLDER, code_digest

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
# Folders of the machine that executed them.
_PATHS = re.compile(r"/(?:home|root|tmp|usr|opt|work|Users|private|var)/|[A-Z]:\\")


def read(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def code_cells(notebook: dict) -> list[dict]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def stored_text(notebook: dict) -> str:
    """What the notebook holds besides code and pictures."""
    kept = []
    for cell in code_cells(notebook):
        for output in cell["outputs"]:
            texts = {kind: text for kind, text in output.get("data", {}).items() if kind != "image/png"}
            kept.append(json.dumps([texts, output.get("text", [])]))
    return "\n".join([*kept, json.dumps(notebook["metadata"])])


def test_there_are_tutorials():
    assert len(NOTEBOOKS) >= 3


@pytest.mark.slow
@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="they value real data, minutes uncompiled")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_run(path, tmp_path, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    plt.switch_backend("agg")
    namespace: dict[str, object] = {"__name__": "__main__"}
    known = set(sys.modules)
    try:
        with plt.rc_context():
            for number, cell in enumerate(code_cells(read(path)), start=1):
                exec(compile("".join(cell["source"]), f"{path.name}[{number}]", "exec"), namespace)
    finally:
        plt.close("all")
        for name in set(sys.modules) - known:
            if str(getattr(sys.modules[name], "__file__", None)).startswith(str(tmp_path)):
                del sys.modules[name]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_stored(path):
    notebook = read(path)
    cells = code_cells(notebook)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell["outputs"]]
    kinds = {output["output_type"] for output in outputs}
    assert kinds <= {"stream", "display_data", "execute_result"}  # no error
    assert not [output for output in outputs if output.get("name") == "stderr"]
    assert sum("image/png" in output.get("data", {}) for output in outputs) >= 3
    assert not _PATHS.search(stored_text(notebook))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_those_of_the_code(path):
    notebook = read(path)
    assert notebook["metadata"]["code_digest"] == code_digest(notebook), "changed since: make notebooks"
    changed = json.loads(json.dumps(notebook))
    code_cells(changed)[0]["source"] = ["import this\n"]
    assert code_digest(changed) != code_digest(notebook)
