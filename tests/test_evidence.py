"""What docs/variance.md says of thousands of players, and docs/how_long.md of permutations, is sound."""

from __future__ import annotations

import numpy as np
import pytest

import how_long
import naive
import ordinal_error
import ordinal_shapley as osv
import unbiased
import write_pages
from bench import record
from bench.evidence import Reference, agreement, coverage, from_definition, z_scores
from problems import random_problem, size


def noisy(rng, n_runs, n=200, shift=0.0):
    """Runs whose players hang together, with standard errors of 1 / sqrt(n_runs)."""
    common = rng.normal(size=(n_runs, 1)) * np.sign(np.arange(n) - n / 2 + 0.5)
    return 0.2 * common + 0.96**0.5 * rng.normal(size=(n_runs, n)) + shift


@pytest.mark.parametrize("n_batches", [0, 20])
def test_chance_is_what_it_says(n_batches):
    """p is uniform without a bias, also where players hang together, and small with one."""
    rng = np.random.default_rng(0)
    truth, n_runs, found = np.zeros(200), 31, []
    for shift in [0.0] * 60 + [0.25]:
        runs = noisy(rng, n_runs, shift=shift * np.sign(rng.normal(size=200)))
        reference = Reference.exact(truth)
        if n_batches:
            batches = noisy(rng, n_batches)
            reference = Reference(batches.mean(axis=0), np.full(200, n_batches**-0.5), batches)
        found.append(agreement(runs, reference, np.full(200, n_runs**-0.5)))
    *honest, biased = found
    p = np.array([one.p for one in honest])
    assert 0.35 < p.mean() < 0.65 and 0.2 < p.std() < 0.4
    assert np.sqrt(np.mean([one.sd**2 for one in honest])) == pytest.approx(1.0, abs=0.05)
    assert biased.p < 1e-3


def test_coverage_counts_intervals_with_the_error_of_the_reference():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=4_000)
    values, stderr = truth + rng.normal(size=(20, 4_000)), np.ones((20, 4_000))
    assert coverage(values, stderr, Reference.exact(truth)).mean() == pytest.approx(0.95, abs=0.005)
    assert coverage(values, stderr / 2, Reference.exact(truth)).mean() == pytest.approx(0.673, abs=0.01)
    off = Reference(truth + rng.normal(size=4_000), np.ones(4_000), np.empty((0, 4_000)))
    assert coverage(values, stderr, off).mean() == pytest.approx(0.95, abs=0.01)


def test_the_definition_has_no_bias():
    game = osv.TableGame.from_array(5, np.random.default_rng(0).normal(size=326))
    exact = Reference.exact(osv.exact_values(game, "ordinal").values)
    runs = [from_definition(game, np.random.default_rng(k), 20, 4, 4) for k in range(size(400, 40))]
    assert np.abs(z_scores(np.array(runs), exact)).max() < 3.5


@pytest.mark.parametrize("ordered", [True, False])
def test_values_of_the_formula_are_exact(monkeypatch, ordered):
    monkeypatch.setattr(unbiased, "N_FEW", 2)
    case = unbiased.rare_players(size(7, 6), ordered=ordered)
    values = case.reference(case.game).values
    np.testing.assert_allclose(osv.exact_values(case.game, "ordinal").values, values, atol=1e-15)
    assert case.game.order_free != ordered
    assert values.min() > 0.0


# The comparison of estimators in docs/variance.md counts what it says it counts


def tiny(n=8, walks=(30, 60)):
    rows = random_problem(2, n=n, n_valid=25, seed=4)
    game = osv.LogisticGame(*rows)
    truth = osv.sample_values(game, "ordinal", "mc", n_permutations=size(500, 50), random_state=1).values
    costs = ordinal_error.HasEveryClass(rows.y)
    return ordinal_error.Problem("tiny", f"{n} rows", game, costs, truth, walks, 2, truncated=True)


def test_budgets():
    problem = tiny()
    runs = ordinal_error.all_runs(problem, 3)
    assert set(runs) == {"in/out", "in/out, patience", "in/out, roulette", "insertion"}
    budgets, _ = runs["in/out"]
    n = problem.game.n_players
    result = osv.sample_values(problem.game, "ordinal", "mc", n_permutations=30, random_state=1003)
    orders = [naive.permutation(result.seed, t, [list(range(n))], [n]) for t in range(30)]
    prefixes = [tuple(order[:s]) for order in orders for s in range(1, n + 1)]
    assert budgets[0] == result.n_evaluations == sum(map(problem.costs, prefixes))
    for name, (used, values) in runs.items():
        assert not any(u > b for u, b in zip(used, budgets, strict=True)), name
        assert np.shape(values) == (2, n)
    assert all(b - u < 2 for u, b in zip(runs["insertion"][0], budgets, strict=True))
    assert runs["in/out, patience"][0][1] > budgets[0] / 2
    assert runs["in/out, roulette"][0][1] > budgets[1] / 2


@pytest.mark.slow
def test_insertion_in_the_comparison_is_unbiased():
    problem = tiny(n=5)
    exact = osv.exact_values(problem.game, "ordinal").values
    runs = [ordinal_error.insertion_run(problem, run, [200])[1][0] for run in range(size(100, 20))]
    errors = np.std(runs, axis=0, ddof=1) / np.sqrt(len(runs))
    assert np.abs((np.mean(runs, axis=0) - exact) / errors).max() < 4.5


@pytest.mark.parametrize(
    ("sequence", "gains"),
    [((), 0), ((0, 4), 6), ((4, 0), 0), ((1, 0, 7, 5, 4), 3 + 4), ((3, 7), 0), ((3, 2, 6, 4), 2 + 3)],
)
def test_gains_from_trade(sequence, gains):
    assert ordinal_error.gains_from_trade(np.array(sequence, dtype=np.int64)) == gains


# Those of docs/how_long.md predict what they say they predict


def test_the_rule_of_thumb_for_permutations():
    runs = record.load("how_long")["runs"]
    assert max(map(how_long.off_by, runs)) < 2.5
    reached = [run["0.9"]["reliability"] for run in runs if "0.9" in run]
    assert len(reached) >= 15 and all(0.85 < reliability < 0.95 for reliability in reached)


def test_a_trial_run_predicts_reliability():
    game = osv.FunctionGame(lambda s: float(np.sin(s @ np.arange(1, s.size + 1)) + s.sum() / 10), 8)
    trial, longer = (
        osv.sample_values(game, "partial_ordinal", "mc", n_permutations=n, random_state=0) for n in (100, 800)
    )
    needed = how_long.permutations_for(trial.reliability, 100, longer.reliability)
    assert 800 / 1.7 < needed < 800 * 1.7


@pytest.mark.parametrize("script", write_pages.SCRIPTS, ids=lambda script: script.name)
def test_pages_show_their_records(script):
    """Pages are what `make pages` writes of the records."""
    for page, text in script.pages(record.load(script.name), record.DOCS).items():
        assert text == (record.DOCS / page).read_text(encoding="utf-8"), f"make pages writes {page} anew"
