"""The blocks of docs/migration.md that need another library, and that both sides say the same."""

from __future__ import annotations

import importlib
import os
import re
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from interop.libraries import ROOT

PAGE = ROOT / "docs/migration.md"
FENCE = re.compile(r"^```python ?(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_page(folder, monkeypatch, library):
    """Run our blocks and those of a library in order; returns what they leave behind."""
    monkeypatch.chdir(folder)
    text = PAGE.read_text(encoding="utf-8")
    namespace: dict[str, object] = {"__name__": "__main__"}
    with warnings.catch_warnings():
        # Theirs warn a lot; ours run under the rules of the suite in tests/test_docs_blocks.py.
        warnings.simplefilter("ignore")
        for match in FENCE.finditer(text):
            if match[1] in ("", library):
                line = text.count("\n", 0, match.start()) + 1
                exec(compile("\n" * line + match[2], str(PAGE), "exec"), namespace)
    return namespace


def needs(library):
    return pytest.mark.skipif(not find_spec(library), reason=f"needs {library}: make test-interop")


def z_scores(values, errors, others, other_errors):
    return np.abs(values - others) / np.hypot(errors, other_errors)


def banzhaf(game, n_sets=2000):
    """Banzhaf values from random sets, and the errors of a difference of two such estimates."""
    rng = np.random.default_rng(3)
    sets = rng.random((n_sets, game.n_players)) < 0.5
    worth = np.array([game(np.flatnonzero(players)) for players in sets])
    inside, outside = ([worth[mask] for mask in masks.T] for masks in (sets, ~sets))
    values = np.array([a.mean() - b.mean() for a, b in zip(inside, outside, strict=True)])
    squares = [a.var() / len(a) + b.var() / len(b) for a, b in zip(inside, outside, strict=True)]
    return values, np.sqrt(2 * np.array(squares))


@needs("pydvl")
def test_pydvl(tmp_path, monkeypatch):
    page = run_page(tmp_path, monkeypatch, "pydvl")
    theirs, ours = page["their_result"], page["our_result"]
    assert theirs.counts.tolist() == ours.counts.tolist() == [200] * 30
    assert z_scores(theirs.values, theirs.stderr, ours.values, ours.stderr).max() < 4.5
    np.testing.assert_array_equal(page["as_theirs"].values, ours.values)
    osv, game = page["osv"], page["game"]
    free = osv.sample_values(game, "classic", "mc", n_permutations=3000, random_state=1)
    tmc = page["tmc"].result
    assert z_scores(tmc.values, tmc.stderr, free.values, free.stderr).max() < 4.5
    assert z_scores(page["banzhaf"].result.values, 0.0, *banzhaf(game)).max() < 4.5
    partial = page["partial"].result
    same = osv.sample_values(page["ordered"], "partial_ordinal", "mc", n_permutations=3000, random_state=1)
    assert z_scores(partial.values, partial.stderr, same.values, same.stderr).max() < 4.5


@needs("opendataval")
def test_opendataval(tmp_path, monkeypatch):
    page = run_page(tmp_path, monkeypatch, "opendataval")
    theirs, ordinal, classic = page["mediator"].data_evaluators
    assert np.corrcoef(theirs.data_values, classic.data_values)[0, 1] > 0.5
    counts = theirs.sampler.marginal_count
    assert (counts[:, :5] < 1).all() and 0.2 < (counts[:, 5:] < 1).mean() < 0.3
    assert len(set(page["found"].index)) == len(set(page["curves"].index)) == 3
    lowest = np.argsort(ordinal.data_values)[:9]
    # Six wrong labels in thirty rows: 1.8 of them in nine rows by chance.
    assert np.isin(page["fetcher"].noisy_train_indices, lowest).sum() >= 4
    assert page["detected"].auc > 0.7


@pytest.mark.skipif("DATASHAPLEY" not in os.environ, reason="needs DATASHAPLEY, a folder with its code")
def test_datashapley(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(Path(os.environ["DATASHAPLEY"]).resolve())
    # Its networks need version 1, the values of a logistic regression none.
    monkeypatch.setitem(sys.modules, "tensorflow", mock.MagicMock())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        importlib.import_module("DShap")
    page = run_page(tmp_path, monkeypatch, "datashapley")
    dshap, ours = page["dshap"], page["classic"].valuation_
    errors = dshap.mem_tmc.std(axis=0, ddof=1) / np.sqrt(len(dshap.mem_tmc))
    assert z_scores(dshap.vals_tmc, errors, ours.values, ours.stderr).max() < 4.5
    assert len(dshap.mem_tmc) > ours.n_permutations
    # liblinear stops early, so that decisions on the border may differ.
    np.testing.assert_allclose(dshap.vals_loo, page["left_out"], atol=0.02)
    game, rng = page["classic"].game_, np.random.default_rng(1)
    assert dshap.random_score == game(())
    sets = [rng.permutation(30)[: 1 + k % 30] for k in range(120)]
    both = [len(set(page["y"][rows])) == 2 for rows in sets]
    assert 0 < sum(both) < len(sets)
    theirs = [
        dshap.value(dshap.model.fit(page["X"][rows], page["y"][rows])) if fits else dshap.random_score
        for rows, fits in zip(sets, both, strict=True)
    ]
    differences = np.abs(theirs - np.array([game(rows) for rows in sets]))
    assert differences.max() < 0.02 and np.mean(differences > 1e-9) < 0.05


def test_every_block_is_for_a_library_that_is_tested():
    libraries = {match[1] for match in FENCE.finditer(PAGE.read_text(encoding="utf-8"))}
    assert libraries == {"", "pydvl", "opendataval", "datashapley"}
