"""Every public name has its docstring on a page of the reference, once."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import ordinal_shapley

PAGES = sorted((Path(__file__).resolve().parents[1] / "docs" / "reference").glob("*.rst"))
DIRECTIVE = re.compile(r"^\.\. (auto\w+|currentmodule):: (\S+)$", re.MULTILINE)


def documented(text: str) -> list[str]:
    """Names that a page documents, dotted; a module stands for its public names, too."""
    names, module = [], ""
    for directive, name in DIRECTIVE.findall(text):
        if directive == "currentmodule":
            module = f"{name}."
            continue
        names.append(name if directive == "automodule" else module + name)
    return names


def test_the_reference_is_complete():
    found = Counter(name for page in PAGES for name in documented(page.read_text(encoding="utf-8")))
    public = {name for name in ordinal_shapley.__all__ if name != "__version__"}
    public |= {"interop.pydvl", "interop.opendataval"}  # imported by name: they need other packages
    assert found == Counter(f"ordinal_shapley.{name}" for name in public)


def test_every_page_is_listed():
    index = PAGES[0].parents[1].joinpath("reference.rst").read_text(encoding="utf-8")
    assert re.findall(r"^   reference/(\w+)$", index, re.MULTILINE)
    assert set(re.findall(r"^   reference/(\w+)$", index, re.MULTILINE)) == {page.stem for page in PAGES}
