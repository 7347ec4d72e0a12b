"""The paper's experiments: docs/reproduction.md, from what ``ordinal-shapley reproduce`` wrote.

Usage: python benchmarks/reproduction.py [--render | the folder that the command wrote]
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from bench.record import DOCS, Record, Script
from ordinal_shapley.reproduction.outputs import FIGURES, page_of


def measure(folder: str) -> Record:
    """Return the record; copies the pictures, which show more than is kept."""
    for picture in Path(folder, "images").glob("*.png"):
        shutil.copy(picture, DOCS / "images")
    found: Record = json.loads(Path(folder, FIGURES).read_text(encoding="utf-8"))
    return found


def pages(record: Record, docs: Path) -> dict[str, str]:
    """Return the page."""
    return {"reproduction.md": page_of(record)}


# So that the page is the one that the command wrote.
SCRIPT = Script("reproduction", measure, pages, exact=True)

if __name__ == "__main__":
    SCRIPT.main()
