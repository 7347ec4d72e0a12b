"""What pictures of values draw: order, intervals, marks, and their errors."""

from __future__ import annotations

import itertools
import sys
from statistics import NormalDist
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import ordinal_shapley as osv
from ordinal_shapley.plots import (
    plot_convergence,
    plot_credit,
    plot_detection,
    plot_estimates,
    plot_profile,
    plot_removal,
    plot_stopping,
    plot_values,
)
from ordinal_shapley.sampling.stopping import Progress
from runs import sample_with

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def valuation(values, stderr=None, player_names=None):
    """What plot_values reads of a Valuation."""
    values = np.asarray(values, dtype=float)
    stderr = np.full(values.shape, 0.1) if stderr is None else np.asarray(stderr, dtype=float)

    def confidence_interval(level=0.95, errors="total"):
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
    assert "1,200" in ax.get_title()


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


# What the picture of credit draws: bars by channel, parts by position, and its errors


def bars(ax):
    """Of each series its label and the ends of its bars, from the top."""
    return {
        series.get_label(): [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in series]
        for series in ax.containers
    }


def names(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def game():
    paths = ["A > B", "B > A", "A", "B", "A > C"]
    return osv.JourneyGame.from_paths(paths, [30, 10, 8, 10, 1], [70, 90, 92, 90, 99])


def test_bars_from_the_highest_down():
    credit = game().credit()
    assert (credit["credit"] < 0).sum() == 1
    ax = plot_credit(credit)
    order = credit["credit"].sort_values(ascending=False)
    assert names(ax) == order.index.tolist()
    assert ax.get_ylim()[0] > ax.get_ylim()[1]
    np.testing.assert_allclose([end for _, end in bars(ax)["credit"]], order)
    assert [text.get_text() for text in ax.texts] == [f"{number:,.4g}" for number in order]
    assert ax.get_legend() is None


@pytest.mark.parametrize("n_more", [0, 40])
def test_bars_have_the_intervals_of_a_bootstrap(n_more):
    frame = game().to_frame()
    more = pd.DataFrame({"path": [f"x{k}" for k in range(n_more)], "conversions": 9, "non_conversions": 1})
    credit = osv.JourneyGame.from_frame(
        pd.concat([frame, more]), non_conversions="non_conversions", channels=[*"ABCD", *more["path"]]
    ).credit(bootstrap=20, random_state=0)
    ax = plot_credit(credit)
    ax.figure.canvas.draw()
    ordered = credit.sort_values("credit", ascending=False, kind="stable")[:29]
    known = ordered[ordered["ci_low"].notna()]
    segments = np.array(ax.collections[0].get_segments())
    np.testing.assert_allclose(segments[:, :, 0], known[["ci_low", "ci_high"]])
    assert (segments[:, 0, 1] == segments[:, 1, 1]).all()
    texts = [text.xy[0] for text in ax.texts]
    assert (np.array(texts[: len(known)]) >= known["ci_high"]).all()


def test_parts_by_position_stand_side_by_side():
    places = game().credit(by_position=True)
    ax = plot_credit(places)
    found = bars(ax)
    assert list(found) == ["1", "2"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["1", "2"]
    for row, name in enumerate(names(ax)):
        (a, b), (c, d) = found["1"][row], found["2"][row]
        assert (b - a, d - c) == pytest.approx(tuple(places.loc[name]))
        assert a == 0.0 and c == pytest.approx(max(b, 0.0) if d >= c else min(b, 0.0))


def test_many_channels_and_positions_are_put_together():
    cells = np.arange(1.0, 401.0).reshape(40, 10)
    places = pd.DataFrame(
        cells, [f"c{k}" for k in range(40)], pd.RangeIndex(1, 11, name="position")
    ).rename_axis("channel")
    ax = plot_credit(places)
    assert names(ax) == [*(f"c{k}" for k in range(39, 10, -1)), "11 others"]
    found = bars(ax)
    assert list(found) == ["1", "2", "3", "4", "5", "6 to 10"]
    assert sum(b - a for series in found.values() for a, b in series) == pytest.approx(cells.sum())


# Curves of experiments and of runs: what is drawn, of what, and errors


RNG = np.random.default_rng(0)


def lines(ax):
    return {line.get_label(): line.get_xydata() for line in ax.lines}


def labels(ax):
    """What stands beside the ends of lines, from the top."""
    texts = sorted(ax.texts, key=lambda text: -text.xyann[1])
    return [text.get_text() for text in texts]


def bands(ax):
    """Low and high ends of each band, in the order of its marks."""
    found = []
    for band in ax.collections:
        if isinstance(band, matplotlib.collections.PolyCollection):
            x, y = band.get_paths()[0].vertices.T
            found.append(np.array([[y[x == at].min(), y[x == at].max()] for at in np.unique(x)]))
    return found


def removal(seed, n_marks=6):
    random = np.random.default_rng(seed)
    share = np.arange(n_marks) / 10
    return SimpleNamespace(share=share, high_first=random.random(n_marks), low_first=random.random(n_marks))


def detection(seed, n=20, n_noisy=4):
    random = np.random.default_rng(seed)
    return osv.detect_noisy_labels(random.normal(size=n), random.permutation(n)[:n_noisy])


def test_removal_of_one_run():
    curves = removal(0)
    ax = plot_removal(curves)
    np.testing.assert_allclose(ax.lines[0].get_xydata(), np.c_[100 * curves.share, curves.high_first])
    assert len(ax.lines) == 1
    assert not ax.collections
    assert ax.get_xlabel() == "training rows removed (%)"
    assert ax.get_ylabel() == "accuracy on the test set"
    low = plot_removal(curves, first="low")
    np.testing.assert_allclose(low.lines[0].get_ydata(), curves.low_first)
    both = lines(plot_removal({"mine": curves}, first="both"))
    np.testing.assert_allclose(both["mine, highest first"][:, 1], curves.high_first)
    np.testing.assert_allclose(both["mine, lowest first"][:, 1], curves.low_first)


def test_curves_of_one_method_share_a_colour_and_sides_a_dash():
    ax = plot_removal({name: removal(seed) for seed, name in enumerate("ab")}, first="both")
    styles = [(line.get_color(), line.get_marker(), line.get_linestyle()) for line in ax.lines]
    for high, low in (styles[:2], styles[2:]):
        assert high[:2] == low[:2] and (high[2], low[2]) == ("-", "--")
    assert styles[0][0] != styles[2][0] and styles[0][1] != styles[2][1]


def test_labels_stand_at_the_ends_of_lines_and_apart():
    curves = [removal(0) for _ in range(4)]
    for run, end in zip(curves, (0.5, 0.5, 0.501, 0.9), strict=True):
        run.high_first[-1] = end
    ax = plot_removal(dict(zip("abcd", curves, strict=True)))
    assert labels(ax) == ["d", "c", "b", "a"]
    assert [text.xy[1] for text in ax.texts] == [0.5, 0.5, 0.501, 0.9]
    ax.figure.canvas.draw()
    boxes = [matplotlib.text.Text.get_window_extent(text) for text in ax.texts]  # without their leaders
    boxes.sort(key=lambda box: box.y0)
    assert all(low.y1 <= high.y0 + 2 for low, high in itertools.pairwise(boxes))
    assert boxes[0].x0 > ax.get_window_extent().x1
    plain = plot_removal(curves[0], ax=plt.subplots()[1])
    assert plain.get_legend() is not None and not plain.texts


def test_runs_are_averaged_and_their_spread_is_a_band():
    runs = [removal(seed) for seed in range(4)]
    ax = plot_removal({"many": runs, "one": removal(9)})
    heights = np.array([run.high_first for run in runs])
    np.testing.assert_allclose(lines(ax)["many"][:, 1], heights.mean(axis=0))
    (band,) = bands(ax)
    mean, spread = heights.mean(axis=0), np.std(heights, axis=0, ddof=1)
    np.testing.assert_allclose(band, np.c_[mean - spread, mean + spread])
    assert "mean ± SD of 1 to 4 runs" in ax.get_title()
    np.testing.assert_allclose(plot_removal(runs).lines[0].get_ydata(), mean)


def test_detection_has_its_curve_chance_and_the_best():
    found = detection(0)
    ax = plot_detection({"mine": found})
    drawn = lines(ax)
    np.testing.assert_allclose(
        drawn[f"mine, AUC {found.auc:.2f}"], 100 * np.c_[found.inspected, found.found], atol=1e-12
    )
    assert drawn["best possible"].tolist() == [[0, 0], [20, 100], [100, 100]]
    assert drawn["at random"].tolist() == [[0, 0], [100, 100]]
    assert (ax.get_xlabel(), ax.get_ylabel()) == (
        "rows inspected, lowest values first (%)",
        "wrong labels found (%)",
    )


def history_of(values, stderr=0.1, rule=None):
    history = osv.History(rule or osv.MaxPermutations(10_000))
    check = history.begin()
    for number, row in enumerate(np.asarray(values, float), start=1):
        check(Progress(row, np.full(row.shape, stderr), 100 * number, number, 0.1))
    return history


def test_convergence_of_few_players():
    values = RNG.normal(size=(5, 3))
    ax = plot_convergence(history_of(values), player_names=["a", "b", "c"], level=0.5)
    names = np.array(["a", "b", "c"])[np.argsort(-values[-1])]
    assert labels(ax) == names.tolist()
    for player, name in enumerate("abc"):
        np.testing.assert_allclose(lines(ax)[name], np.c_[100 * np.arange(1, 6), values[:, player]])
    top = values[:, np.argmax(values[-1])]
    np.testing.assert_allclose(bands(ax)[0], np.c_[top - 0.0674489750, top + 0.0674489750])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("permutations", "value")


def test_convergence_of_many_names_the_ends():
    values = np.tile(np.arange(40.0), (4, 1))
    values[:, 39] = np.nan
    ax = plot_convergence(history_of(values))
    assert labels(ax) == ["38", "37", "36", "33 other players", "2", "1", "0"]
    drawn = sorted(line.get_ydata()[-1] for line in ax.lines if len(line.get_ydata()) == 4)
    assert drawn == list(range(39))
    chosen = plot_convergence(history_of(values), players=[3, 20])
    assert labels(chosen) == ["20", "37 other players", "3"]


def test_stopping_is_what_the_rule_measured():
    game = osv.TableGame(3, {(0,): 1.0, (0, 1): 3.0, (2, 1): -1.0})
    history = osv.History(osv.RelativeChange(0.02) | osv.MaxPermutations(2_000))
    osv.sample_values(game, "partial_ordinal", "mc", stopping=history, random_state=0)
    ax = plot_stopping(history)
    (name,) = history.readings
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), history.readings[name])
    assert ax.get_ylabel().replace("\n", " ") == name
    assert set(lines(ax)["stops at 0.02"][:, 1]) == {0.02}
    assert ax.get_yscale() == "log"
