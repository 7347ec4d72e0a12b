"""Docstrings and pages list the words that the package takes, all of them and no others."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from pathlib import Path

import pytest

import ordinal_shapley
import ordinal_shapley as osv
from ordinal_shapley import vocabulary
from rules.check_rules import public_objects

LISTED = re.compile(r"^(\w+) : (?:\w+ or )?\{(.+?)\}", re.MULTILINE)
WORDS = {
    "average": [vocabulary.AVERAGES],
    "case": [vocabulary.CASES],
    "design": [vocabulary.DESIGNS],
    "contribution": [vocabulary.CONTRIBUTIONS],
    "method": [vocabulary.METHODS],
    "position_weight": [vocabulary.POSITION_WEIGHTS],
    "repeats": [vocabulary.REPEATS],
    "truncation": [vocabulary.TRUNCATIONS],
    "scoring": [
        vocabulary.SCORINGS,
        vocabulary.REGRESSION_SCORINGS,
        vocabulary.RIDGE_CLASSIFIER_SCORINGS,
        vocabulary.NEIGHBOR_SCORINGS,
    ],
    "unseen": [vocabulary.UNSEEN],
    "value": [vocabulary.VALUES],
    "utility": [vocabulary.UTILITIES],
    "weights": [vocabulary.NEIGHBOR_WEIGHTS],
}


def listed():
    """Where, which argument, and the words that its documentation lists."""
    for name, thing in public_objects(osv):
        members = inspect.getmembers(thing, callable) if inspect.isclass(thing) else []
        own = [(f"{name}.{member}", part) for member, part in members if not member.startswith("_")]
        for place, part in [(name, thing), *own]:
            for argument, words in LISTED.findall(inspect.getdoc(part) or ""):
                yield place, argument, tuple(re.findall(r'"(\w+)"', words))


def test_docstrings_list_all_words():
    found = list(listed())
    assert {argument for _, argument, _ in found} >= set(WORDS)
    wrong = [
        (place, argument, words)
        for place, argument, words in found
        if argument in WORDS and sorted(words) not in map(sorted, WORDS[argument])
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("model", "scorings"),
    [
        ("logistic", vocabulary.SCORINGS),
        ("neighbors", vocabulary.NEIGHBOR_SCORINGS),
        ("ridge", vocabulary.REGRESSION_SCORINGS),
    ],
)
def test_the_page_of_the_command_line_lists_models_and_scores(model, scorings):
    page = (Path(__file__).parents[1] / "docs/command-line.md").read_text(encoding="utf-8")
    (row,) = [line.split("|") for line in page.splitlines() if line.startswith(f"| `{model}`")]
    assert row[4].split(", ") == [f" {scorings[0]}", *scorings[1:-1], f"{scorings[-1]} "]


# Every public name has its docstring on a page of the reference, once


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
    index = PAGES[0].parents[1].joinpath("api.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^reference/(\w+)$", index, re.MULTILINE)) == {page.stem for page in PAGES}
