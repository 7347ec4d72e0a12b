"""Draw the pictures of docs/gallery.md by running its blocks in docs/images."""

from __future__ import annotations

import os
import re

import matplotlib

from bench.record import DOCS


def main() -> None:
    """Run the page's blocks in one namespace, where its pictures belong."""
    matplotlib.use("Agg")
    page = (DOCS / "gallery.md").read_text(encoding="utf-8")
    os.chdir(DOCS / "images")
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        exec(compile(block, "gallery.md", "exec"), namespace)


if __name__ == "__main__":
    main()
