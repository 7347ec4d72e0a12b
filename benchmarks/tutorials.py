"""Execute the tutorials in place, each in an empty folder: ``make notebooks``.

What is stored with a notebook is what its cells printed and drew, a digest of the code that did it (so that a
test can tell that the code has changed since), and nothing of the machine or the time.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "tutorials"


def code_digest(notebook: Any) -> str:
    """Digest of the code cells, in order."""
    code = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return hashlib.sha256("\0".join(code).encode()).hexdigest()


def execute(path: Path) -> None:
    """Run all cells of a notebook and write it again with what they gave."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as scratch:
        NotebookClient(
            notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": scratch}}
        ).execute()
    for cell in notebook.cells:
        cell.metadata.clear()  # when each cell ran
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
            "code_digest": code_digest(notebook),
        }
    )
    nbformat.write(notebook, path)


if __name__ == "__main__":
    for found in [Path(name) for name in sys.argv[1:]] or sorted(FOLDER.glob("*.ipynb")):
        print(found.name, flush=True)
        execute(found)
