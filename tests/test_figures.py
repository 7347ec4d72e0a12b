"""What is written about measurements is what was measured."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import pieces
from bench import record
from bench.problems import Problem
from ordinal_shapley_kernels import logistic_factor, logistic_solver
from problems import random_problem
from write_pages import SCRIPTS


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_pages_are_what_their_records_give(script):
    for name, text in script.pages(record.load(script.name), record.DOCS).items():
        assert (record.DOCS / name).read_text(encoding="utf-8") == text, f"{name}: make pages writes it again"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_records_say_when_and_where(script):
    found = record.load(script.name)
    assert set(found) >= {"date", "cpu", "cores", "system", "load_before", "python", "versions"}
    assert set(found["versions"]) >= {"numba", "numpy"}


def test_every_record_is_shown_somewhere():
    assert {path.stem for path in record.RESULTS.glob("*.json")} == {script.name for script in SCRIPTS}


def test_numbers_of_a_record():
    found = {1: np.float64(1 / 3), "b": [np.nan, np.int64(3), "text", True], "c": np.array([2e-9 / 3])}
    assert record.plain(found) == {"1": 0.333333, "b": [None, 3, "text", True], "c": [6.66667e-10]}


@pytest.mark.skipif(not numba.config.DISABLE_JIT, reason="calls between compiled kernels can't be counted")
def test_pieces_of_a_fit_are_counted():
    before = logistic_solver.differentiate, logistic_factor.factorise
    problem = Problem("random", *random_problem(2, n=12, n_valid=20, seed=3))
    found = pieces.count(problem)
    order = np.random.default_rng(0).permutation(12)
    first = max(np.flatnonzero(problem.y[order] == label)[0] for label in (0, 1))
    assert found["fits"] == 12 - first
    assert found["size"] == f"12 x {problem.X.shape[1]}, 2"
    assert found["a fit"]["half passes without exponentials"] == 1.0
    # Each fit looks at the row decided last; the first one has no factor yet.
    assert found["a fit"]["rows scored one by one"] >= 1.0
    assert (
        1 <= found["a fit"]["new factors"] * found["fits"] <= found["a fit"]["steps, a full pass each"] * 12
    )
    assert (logistic_solver.differentiate, logistic_factor.factorise) == before


def test_a_block_is_replaced():
    page = "a\n<!-- x -->\nold\n<!-- end of x -->\nb\n"
    new = record.replaced(page, "x", "new\n")
    assert new == "a\n<!-- x -->\n\nnew\n\n<!-- end of x -->\nb\n"
    assert record.replaced(new, "x", "new") == new
    with pytest.raises(ValueError, match="y"):
        record.replaced(page, "y", "new")
