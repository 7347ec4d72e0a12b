"""What a release says of itself: one version, the Pythons it is for, what is in wheel and sdist."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import ordinal_shapley

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def project() -> str:
    return (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_the_version_has_one_source(project):
    assert 'dynamic = ["version"]' in project
    assert 'path = "src/ordinal_shapley/__init__.py"' in project
    assert not re.search(r"^version\s*=", project, re.MULTILINE)
    # The numbering that pip sorts by.
    assert re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?(\.dev\d+)?", ordinal_shapley.__version__)


def test_the_citation_has_the_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.*)$", citation, re.MULTILINE) == [ordinal_shapley.__version__]


def test_pythons_agree(project):
    named = [int(minor) for minor in re.findall(r'"Programming Language :: Python :: 3\.(\d+)"', project)]
    lowest = int(re.search(r'requires-python = ">=3\.(\d+)"', project)[1])
    assert named == list(range(lowest, max(named) + 1))
    assert f'target-version = "py3{lowest}"' in project
    assert f"3, {lowest}" in (ROOT / "Makefile").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8")
    assert f"Python 3.{lowest} to 3.{max(named)}." in page
    assert sys.version_info[:2] >= (3, lowest)


def test_numbas_agree(project):
    lowest, beyond = re.search(r'"numba>=0\.(\d+),<0\.(\d+)"', project).groups()
    page = (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8")
    assert f"Numba 0.{lowest} to 0.{int(beyond) - 1}." in page
    for path in ("docs/migration.md", "src/ordinal_shapley/interop/opendataval.py", "tests/interop/run.py"):
        assert f"numba>=0.{lowest},<0.{beyond}" in (ROOT / path).read_text(encoding="utf-8"), path


def test_packages_say_that_they_are_typed():
    for package in ("src/ordinal_shapley", "kernels/ordinal_shapley_kernels"):
        assert (ROOT / package / "py.typed").is_file()


def test_what_an_extra_is_called_where_one_is_asked_for(project):
    extras = set(
        re.findall(r"^(\w+) = \[", project.split("[project.optional-dependencies]")[1], re.MULTILINE)
    )
    sources = [*(ROOT / "src").rglob("*.py"), *ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    asked = {
        extra
        for path in sources
        for found in re.findall(r"ordinal-shapley\[(\w+(?:,\w+)*)\]", path.read_text(encoding="utf-8"))
        for extra in found.split(",")
    }
    assert asked and asked <= extras
