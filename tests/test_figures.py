"""What is written about measurements is what was measured."""

from __future__ import annotations

import numpy as np
import pytest

from bench import record
from write_pages import SCRIPTS

WRITTEN = [script for script in SCRIPTS if (record.RESULTS / f"{script.name}.json").exists()]


@pytest.mark.parametrize("script", WRITTEN, ids=lambda script: script.name)
def test_pages_are_what_their_records_give(script):
    for name, text in script.pages(record.load(script.name), record.DOCS).items():
        assert (record.DOCS / name).read_text(encoding="utf-8") == text, f"{name}: make pages writes it again"


@pytest.mark.parametrize("script", WRITTEN, ids=lambda script: script.name)
def test_records_say_when_and_where(script):
    found = record.load(script.name)
    # The paper's experiments are written by a command, in its own way.
    machine = {"cpu", "cores", "system", "load_before", "python"} if "machine" not in found else {"machine"}
    assert set(found) >= {"date", "versions"} | machine
    assert set(found["versions"]) >= {"numba", "numpy"}


def test_numbers_of_a_record():
    found = {1: np.float64(1 / 3), "b": [np.nan, np.int64(3), "text", True], "c": np.array([2e-9 / 3])}
    assert record.plain(found) == {"1": 0.333333, "b": [None, 3, "text", True], "c": [6.66667e-10]}


def test_a_block_is_replaced():
    page = "a\n<!-- x -->\nold\n<!-- end of x -->\nb\n"
    new = record.replaced(page, "x", "new\n")
    assert new == "a\n<!-- x -->\n\nnew\n\n<!-- end of x -->\nb\n"
    assert record.replaced(new, "x", "new") == new
    with pytest.raises(ValueError, match="the page needs <!-- y --> and <!-- end of y -->, once each"):
        record.replaced(page, "y", "new")
