"""Shell completion: what is offered, and scripts that a shell takes."""

from __future__ import annotations

import pytest

from ordinal_shapley.datasets import NAMES
from ordinal_shapley.vocabulary import METHODS, NEIGHBOR_SCORINGS, SCORINGS, VALUES

VALUE = ("value",)
NOISE = ("experiment", "noise")
REMOVAL = ("experiment", "removal")


@pytest.fixture
def offered(run, monkeypatch, tmp_path):
    """What Bash is told to offer for the last of the words."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.csv").write_text("outcome,other,age\n1,2,3\n")

    def ask(*words: str) -> list[str]:
        monkeypatch.setenv("_ORDINAL_SHAPLEY_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", " ".join(["ordinal-shapley", *words]))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        code, shown, err = run()
        assert (code, err) == (0, "")
        return shown.split()

    return ask


@pytest.mark.parametrize(
    ("words", "choices"),
    [
        ((*VALUE, "--method", ""), METHODS),
        ((*VALUE, "--value", ""), VALUES),
        ((*VALUE, "--dataset", ""), NAMES),
        ((*VALUE, "--scoring", ""), SCORINGS),
        ((*VALUE, "--model", "neighbors", "--scoring", ""), NEIGHBOR_SCORINGS),
        ((*VALUE, "--dataset", "wine", "--model", "ridge", "--scoring", "n"), ("neg_mean_squared_error",)),
        ((*VALUE, "--method", "c"), ("cmc", "ctmc")),
        ((*NOISE, "--value", "ordinal", "--value", "c"), ("classic",)),
        ((*REMOVAL, "--dataset", "cancer"), ("cancer", "cancer-wisconsin")),
        (("exact", "--value", "b"), ("blend",)),
        (("journeys", "--utility", "c"), ("conversions",)),
        (("experiment", "r"), ("removal",)),
        (("comp",), ("compile",)),
    ],
)
def test_choices_are_offered(offered, words, choices):
    assert offered(*words) == list(choices)


@pytest.mark.parametrize(
    ("words", "columns"),
    [
        (("value", "train.csv", "--target", ""), ["outcome", "other", "age"]),
        ((*NOISE, "train.csv", "--runs", "2", "--target", "o"), ["outcome", "other"]),
        (("value", "train.csv", "--drop", "other", "--drop", "o"), ["outcome", "other"]),
        (("journeys", "train.csv", "--conversions", "o"), ["outcome", "other"]),
        (("value", "--target", ""), []),
        (("value", "none.csv", "--target", ""), []),
    ],
)
def test_columns_of_the_file_are_offered(offered, words, columns):
    assert offered(*words) == columns
