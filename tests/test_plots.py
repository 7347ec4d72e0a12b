"""What pictures of values draw: order, intervals, marks, and their errors."""

from __future__ import annotations

import sys
from statistics import NormalDist
from types import SimpleNamespace

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402

import ordinal_shapley as osv  # noqa: E402
from ordinal_shapley.plots import plot_estimates, plot_profile, plot_values  # noqa: E402
from runs import sample_with  # noqa: E402


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def valuation(values, stderr=None, player_names=None):
    """What plot_values reads of a Valuation."""
    values = np.asarray(values, dtype=float)
    stderr = np.full(values.shape, 0.1) if stderr is None else np.asarray(stderr, dtype=float)

    def confidence_interval(level=0.95):
        if not 0 < level < 1:
            raise ValueError("level must be between 0 and 1")
        half = NormalDist().inv_cdf(0.5 + level / 2) * stderr
        return values - half, values + half

    return SimpleNamespace(
        values=values,
        confidence_interval=confidence_interval,
        player_names=player_names,
        kind=osv.PartialOrdinal(),
        sampler=osv.PermutationSampler(),
        n_permutations=1200,
    )


def points(ax, label):
    (found,) = (c for c in ax.collections if c.get_label() == label)
    return np.asarray(found.get_offsets())


def intervals(ax, label="95 % interval"):
    (found,) = (c for c in ax.collections if c.get_label() == label)
    return np.array([segment[:, 1] for segment in found.get_segments()])


def test_values_are_sorted_and_carry_their_intervals():
    ax = plot_values(valuation([0.3, -0.2, 0.1], [0.01, 0.02, 0.03]))
    assert points(ax, "value").tolist() == [[1, -0.2], [2, 0.1], [3, 0.3]]
    half = NormalDist().inv_cdf(0.975) * np.array([0.02, 0.03, 0.01])
    np.testing.assert_allclose(np.diff(intervals(ax), axis=1).ravel(), 2 * half)
    assert ax.get_ylabel() == "value"
    assert "Partial ordinal Shapley value, full permutations, 1,200 permutations" in ax.get_title()


def test_players_without_a_value_are_left_out_and_without_an_error_have_no_interval():
    ax = plot_values(valuation([np.nan, 0.5, 0.1], [np.nan, np.nan, 0.1]))
    assert points(ax, "value").tolist() == [[1, 0.1], [2, 0.5]]
    assert len(intervals(ax)) == 1
    alone = plot_values(valuation([0.5, 0.1], [np.nan, np.nan]))
    assert not any("interval" in str(c.get_label()) for c in alone.collections)


def test_highlighted_players_are_ringed_at_their_values():
    ax = plot_values(valuation([0.3, -0.2, 0.1]), highlight=[0])
    assert points(ax, "highlighted").tolist() == [[3, 0.3]]
    plain = plot_values(valuation([0.3, -0.2, 0.1]), highlight=[])
    assert "highlighted" not in [c.get_label() for c in plain.collections]


def test_each_class_has_its_own_marker():
    ax = plot_values(valuation([0.3, -0.2, 0.1]), classes=["x", "y", "x"])
    assert points(ax, "class x").tolist() == [[2, 0.1], [3, 0.3]]
    assert points(ax, "class y").tolist() == [[1, -0.2]]
    shapes = {
        c.get_label(): c.get_paths()[0].vertices.shape
        for c in ax.collections
        if str(c.get_label()).startswith("class")
    }
    assert shapes["class x"] != shapes["class y"]


def test_missing_matplotlib_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"ordinal-shapley\[plot\]"):
        plot_values(valuation([1.0]))


def test_long_names_are_cut_and_stay_different():
    start, end = "Hospital of the Holy Spirit, ", " (intensive care unit)"
    labels = [f"{start}ward {i}{end}" for i in range(3)]
    ax = plot_values(valuation([0.1, 0.2, 0.3], player_names=labels))
    names = [tick.get_text() for tick in ax.get_xticklabels()]
    assert all(f"{i}" in name and len(name) <= 26 for i, name in enumerate(names))
    hidden = ["a" * 60 + "0" + "b" * 60, "a" * 60 + "1" + "b" * 60, "z"]
    ax = plot_values(valuation([0.1, 0.2, 0.3], player_names=hidden))
    assert [tick.get_text()[:3] for tick in ax.get_xticklabels()] == ["0: ", "1: ", "2: "]
    short = plot_values(valuation([0.1, 0.2], player_names=["x" * 50, "ann"]))
    assert short.get_xticklabels()[1].get_text() == "ann"


@pytest.mark.parametrize("n", [4, 40])
def test_names_with_dollar_signs_are_no_formulas(n):
    names = [f"$x_$ {i}" for i in range(n)]
    found = valuation(np.arange(float(n)), player_names=names)
    found.position_profile = np.zeros((n, n))
    journeys = osv.JourneyGame.from_paths(["$x_$ > b", "b"], [3, 2], [4, 8])
    detected = osv.detect_noisy_labels([0.1, 0.2, 0.3], np.array([True, False, False]))
    for drawn in (
        plot_values(found, classes=names[:2] * (n // 2)),
        plot_estimates(found.values, {"$x_$": found, "$y_$": found}),
        plot_profile(found),
        osv.plots.plot_credit(journeys.credit()),
        osv.plots.plot_credit(journeys.credit(by_position=True)),
        osv.plots.plot_detection({"$x_$": detected}),
    ):
        drawn.figure.canvas.draw()
        plt.close(drawn.figure)


def test_estimates_stand_over_exact_values_with_their_intervals():
    exact, estimate = np.array([0.3, -0.2, 0.1]), valuation([0.25, -0.1, np.nan], [0.01, 0.02, 0.03])
    ax = plot_estimates(exact, estimate, level=0.5)
    (drawn,) = (line for line in ax.lines if line.get_label() == "estimate")
    np.testing.assert_array_equal(drawn.get_xydata(), np.c_[exact, estimate.values])
    segments = np.array(ax.collections[0].get_segments())
    half = NormalDist().inv_cdf(0.75) * np.array([0.01, 0.02])
    np.testing.assert_allclose(segments[:, :, 0], np.c_[exact, exact][:2])
    known = estimate.values[:2]
    np.testing.assert_allclose(segments[:, :, 1], np.c_[known - half, known + half])
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["estimate", "estimate = exact value", "50 % interval"]
    assert [text.get_text() for text in ax.texts] == ["0", "1"]


def test_profile_has_the_highest_player_on_top():
    game = osv.TableGame(3, {(1,): 1.0, (1, 0): 3.0, (2, 0): -1.0}, names=["ann", "bob", "cy"])
    exact = osv.exact_values(game, "partial_ordinal", position_profile=True)
    assert exact.ranking().tolist() == [1, 0, 2]
    ax = plot_profile(exact)
    np.testing.assert_array_equal(ax.images[0].get_array(), exact.position_profile[exact.ranking()])
    ticks = [tick.get_text() for tick in ax.get_yticklabels()]
    assert ticks == ["bob", "ann", "cy"]
    written = np.array([float(text.get_text()) for text in ax.texts]).reshape(3, 3)
    np.testing.assert_allclose(written, exact.position_profile[exact.ranking()], rtol=0.05)
    assert ax.patch.get_hatch() is None


def test_profile_of_a_run_with_gaps_and_without_outliers():
    run = sample_with(osv.FunctionGame(len, 3), n_permutations=1, position_profile=True, random_state=0)
    ax = plot_profile(run)
    assert ax.images[0].get_array().mask.sum() == 6
    assert ax.patch.get_hatch()
    assert "hatched" in ax.figure.axes[1].get_ylabel()
    many = valuation(np.zeros(50))
    many.position_profile = np.random.default_rng(0).normal(size=(50, 50))
    many.position_profile[0, 0] = 1e6
    image = plot_profile(many).images[0]
    assert image.get_clim() == pytest.approx(np.quantile(many.position_profile, [0.005, 0.995]))
    assert image.colorbar.extend == "both"
