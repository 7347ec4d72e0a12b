"""Standard errors and intervals of credit: against a bootstrap by hand, by seed, and where they end."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import naive
import ordinal_shapley as osv
from problems import size

KINDS = [{"unseen": "backoff"}, {"unseen": "zero"}, {"utility": "conversions"}]
VALUES = ["partial_ordinal", "ordinal", "classic"]
ERRORS = ["stderr", "ci_low", "ci_high", "share_stderr", "share_ci_low", "share_ci_high"]
N_CHANNELS = 4
# More than are worked on side by side.
N_DRAWN = size(70, 66)


def game_of(rows, **options):
    paths, won, lost = zip(*rows, strict=True)
    journeys = [[f"c{channel}" for channel in path] for path in paths]
    return osv.JourneyGame(
        journeys, won, lost, channels=[f"c{channel}" for channel in range(N_CHANNELS)], **options
    )


def rows_of(seed, n_paths, scale):
    """Paths in sorted order with counts so small that resamples lack some, sets of them, and channel 3."""
    rng = np.random.default_rng(seed)
    sequences = [path for path in naive.sequences_of(range(N_CHANNELS)) if 0 < len(path) <= 3]
    chosen = sorted(sequences[k] for k in rng.permutation(len(sequences))[:n_paths])
    return [(path, int(rng.poisson(scale)), int(rng.poisson(3 * scale))) for path in chosen]


def drawn_by_hand(rows, n_drawn, seed):
    """Counts of each resample."""
    means = np.array([won for _, won, _ in rows] + [lost for _, _, lost in rows], float)
    for k in range(n_drawn):
        won, lost = np.split(np.random.default_rng([seed, k]).poisson(means), 2)
        yield [(path, *pair) for (path, _, _), *pair in zip(rows, won.tolist(), lost.tolist(), strict=True)]


def errors_by_hand(credits, conversions):
    """Return the columns from the credits of resamples."""
    columns = {}
    some = conversions > 0
    for prefix, drawn in (("", credits), ("share_", credits[some] / conversions[some, None])):
        ends = np.percentile(drawn, (2.5, 97.5), axis=0)
        numbers = np.array([drawn.std(axis=0, ddof=1), *ends])
        numbers[:, ~drawn.any(axis=0)] = np.nan
        names = [f"{prefix}{name}" for name in ("stderr", "ci_low", "ci_high")]
        columns |= dict(zip(names, numbers, strict=True))
    return pd.DataFrame(columns)


@pytest.mark.parametrize("ordered", [True, False], ids=["ordered", "pooled"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "".join(kind.values()))
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.filterwarnings("ignore:add the journeys")
def test_errors_are_those_of_games_of_resampled_journeys(value, kind, ordered):
    for seed, n_paths, scale in ((0, 12, 0.7), (1, 30, 1.2), (2, 4, 0.3)):
        rows = [row for row in rows_of(seed, n_paths, scale) if row[1] + row[2]]
        found = game_of(rows, ordered=ordered, **kind).credit(value, bootstrap=N_DRAWN, random_state=5)
        of_value = value if ordered else "classic"
        credits, conversions = np.zeros((N_DRAWN, N_CHANNELS)), np.zeros(N_DRAWN)
        for k, again in enumerate(drawn_by_hand(rows, N_DRAWN, 5)):
            conversions[k] = sum(won for _, won, _ in again)
            if conversions[k]:
                seen = [row for row in again if row[1] + row[2]]
                credits[k] = game_of(seen, **kind).credit(of_value)["credit"]
        expected = errors_by_hand(credits, conversions)
        assert np.isnan(expected.to_numpy()).any() == (n_paths == 4)
        np.testing.assert_allclose(found[ERRORS], expected, rtol=1e-9, atol=1e-9)


def test_one_channel_has_the_error_of_a_count():
    game = osv.JourneyGame([["A"]], [400], [10_000])
    found = game.credit(bootstrap=size(2_000, 200), random_state=1).loc["A"]
    assert found["stderr"] == pytest.approx(20.0, rel=size(0.08, 0.25))
    assert found["ci_low"] == pytest.approx(400 - 39.2, abs=size(5, 15))
    assert found["ci_high"] == pytest.approx(400 + 39.2, abs=size(5, 15))
    # Who else could get it?
    assert found[["share_stderr", "share_ci_low", "share_ci_high"]].tolist() == [0.0, 1.0, 1.0]


def test_seeds():
    game = game_of(rows_of(4, 30, 5.0))

    def errors(**options):
        return game.credit(**{"bootstrap": 40, "random_state": 7, **options})

    pd.testing.assert_frame_equal(errors(), errors(), check_exact=True)
    plain = game.credit()
    assert plain.columns.tolist() == ["credit", "share"]
    pd.testing.assert_frame_equal(errors()[["credit", "share"]], plain, check_exact=True)
    assert (errors()["stderr"] != errors(random_state=8)["stderr"]).all()
    assert (errors(random_state=None)["stderr"] != errors(random_state=None)["stderr"]).all()
    streams = [np.random.default_rng(3) for _ in range(2)]
    pd.testing.assert_frame_equal(*[errors(random_state=stream) for stream in streams], check_exact=True)


def test_channels_without_conversions_have_no_errors():
    game = osv.JourneyGame.from_paths(["A", "B", "A > B"], [5, 0, 0], [50, 9, 20], channels=["A", "B", "C"])
    found = game.credit(bootstrap=20, random_state=0)
    assert found.loc["A", ERRORS].notna().all()
    assert found.loc[["B", "C"], ERRORS].isna().all(axis=None)
    never = osv.JourneyGame.from_paths(["A", "B"], [0, 0], [5, 9]).credit(bootstrap=20, random_state=0)
    assert never[ERRORS].isna().all(axis=None)
    assert never["credit"].tolist() == [0.0, 0.0]


def test_shares_leave_resamples_without_conversions_out():
    # Of one expected conversion there is none in a third of the resamples.
    found = osv.JourneyGame.from_paths(["A"], [1], [5]).credit(bootstrap=50, random_state=0).loc["A"]
    assert (found["ci_low"], found["share_ci_low"]) == (0.0, 1.0)


@pytest.mark.parametrize("scale", [1e-3, 0.25, 1e6, 1e25])
def test_weights_are_counts_of_people(scale):
    """Whole or not, and whatever their size."""
    game = osv.JourneyGame.from_paths(["A", "B"], [4e3 * scale, 3e3 * scale], [1e3 * scale, 5e3 * scale])
    found = game.credit(bootstrap=size(1_000, 300), random_state=0)
    if scale > 1e20:  # beyond what numbers show
        assert (found["stderr"] < 1e-8 * found["credit"]).all()
    else:
        np.testing.assert_allclose(found["stderr"], np.sqrt(found["credit"]), rtol=size(0.12, 0.25))


def test_intervals_cover_the_true_credit():
    """By datasets whose truth is known; benchmarks/journey_errors.py has more of them."""
    n_sets, held = size(100, 20), []
    for seed in range(n_sets):
        data = osv.datasets.make_journeys(3_000, 4, random_state=seed)
        found = data.game().credit(bootstrap=size(300, 66), random_state=seed)
        truth = data.true_credit()
        held.append((found["ci_low"] <= truth) & (truth <= found["ci_high"]))
        shares = truth / truth.sum()
        held.append((found["share_ci_low"] <= shares) & (shares <= found["share_ci_high"]))
    assert size(0.90, 0.85) < np.mean(held) < size(0.99, 1.01)
