"""Curves of experiments and of runs: what is drawn, of what, and errors."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402

import ordinal_shapley as osv  # noqa: E402
from ordinal_shapley.plots import (  # noqa: E402
    plot_convergence,
    plot_detection,
    plot_removal,
    plot_stopping,
)
from ordinal_shapley.sampling.stopping import Progress  # noqa: E402

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def lines(ax):
    return {line.get_label(): line.get_xydata() for line in ax.lines}


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


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


def test_runs_are_averaged_and_their_spread_is_a_band():
    runs = [removal(seed) for seed in range(4)]
    ax = plot_removal({"many": runs, "one": removal(9)})
    heights = np.array([run.high_first for run in runs])
    np.testing.assert_allclose(lines(ax)["many"][:, 1], heights.mean(axis=0))
    (band,) = bands(ax)
    mean, spread = heights.mean(axis=0), np.std(heights, axis=0, ddof=1)
    np.testing.assert_allclose(band, np.c_[mean - spread, mean + spread])
    assert ax.get_legend().get_title().get_text() == "mean ± SD of 1 to 4 runs"
    np.testing.assert_allclose(plot_removal(runs).lines[0].get_ydata(), mean)


def test_the_spread_of_many_methods_is_bars_at_their_markers():
    groups = {f"method {k}": [removal(10 * k + run, 21) for run in range(3)] for k in range(5)}
    ax = plot_removal(groups)
    assert not bands(ax)
    assert legend(ax) == list(groups)
    for line, bars in zip(ax.lines, ax.collections, strict=True):
        heights = np.array([run.high_first for run in groups[line.get_label()]])
        mean, spread = heights.mean(axis=0), heights.std(axis=0, ddof=1)
        start, step = line.get_markevery()
        expected = np.c_[mean - spread, mean + spread][start::step]
        np.testing.assert_allclose([segment[:, 1] for segment in bars.get_segments()], expected)


def test_series_differ_without_colours():
    ax = plot_removal({str(k): removal(k) for k in range(20)})
    looks = {(line.get_marker(), str(line._unscaled_dash_pattern), line.get_linestyle()) for line in ax.lines}
    assert len(looks) == 20


def test_results_of_the_experiments_are_taken():
    X, y = RNG.normal(size=(12, 2)), np.arange(12) % 2
    curves = osv.remove_high_value(RNG.normal(size=12), X, y, X, y)
    np.testing.assert_allclose(plot_removal(curves).lines[0].get_ydata(), curves.high_first)


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


def test_detection_over_runs():
    runs = [detection(seed) for seed in range(3)]
    ax = plot_detection(runs)
    label = f"by value, AUC {np.mean([run.auc for run in runs]):.2f}"
    np.testing.assert_allclose(lines(ax)[label][:, 1], 100 * np.mean([run.found for run in runs], axis=0))
    assert ax.get_legend().get_title().get_text() == "mean ± SD of 3 runs"


def test_there_is_no_one_best_for_different_rates():
    ax = plot_detection({"a": detection(0), "b": detection(1, n_noisy=5)})
    assert "best possible" not in lines(ax)


@pytest.mark.parametrize(
    ("plot", "curves", "error", "words"),
    [
        (plot_removal, [], ValueError, "curves is empty"),
        (plot_removal, {}, ValueError, "curves is empty"),
        (plot_removal, {"a": []}, ValueError, "curves is empty"),
        (plot_removal, 3.0, TypeError, "curves holds a float, expected a RemovalCurves"),
        (plot_removal, [detection(0)], TypeError, "curves holds a NoiseDetection"),
        (plot_removal, {"a": [removal(0), removal(0, 7)]}, ValueError, "runs of 'a' have different marks"),
        (plot_detection, {"a": None}, TypeError, "detections holds a NoneType, expected a NoiseD"),
        (plot_detection, [detection(0), detection(0, 21)], ValueError, "the runs have different marks"),
    ],
)
def test_bad_results_are_named(plot, curves, error, words):
    with pytest.raises(error, match=words):
        plot(curves)
    assert not plt.get_fignums()


def test_other_bad_input_of_curves():
    with pytest.raises(ValueError, match="first is 'highest'"):
        plot_removal(removal(0), first="highest")
    with pytest.raises(TypeError, match="ax is a str, expected the Axes"):
        plot_removal(removal(0), ax="here")


def history_of(values, stderr=0.1, rule=None):
    history = osv.History(rule or osv.MaxPermutations(10_000))
    check = history.begin()
    for number, row in enumerate(np.asarray(values, float), start=1):
        check(Progress(row, np.full(row.shape, stderr), 100 * number, number, 0.1))
    return history


def test_convergence_of_few_players():
    values = RNG.normal(size=(5, 3))
    ax = plot_convergence(history_of(values), labels=["a", "b", "c"], level=0.5)
    names = np.array(["a", "b", "c"])[np.argsort(-values[-1])]
    assert legend(ax) == names.tolist()
    for player, name in enumerate("abc"):
        np.testing.assert_allclose(lines(ax)[name], np.c_[100 * np.arange(1, 6), values[:, player]])
    top = values[:, np.argmax(values[-1])]
    np.testing.assert_allclose(bands(ax)[0], np.c_[top - 0.0674489750, top + 0.0674489750])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("permutations", "value")


def test_convergence_of_many_names_the_ends():
    values = np.tile(np.arange(40.0), (4, 1))
    values[:, 39] = np.nan
    ax = plot_convergence(history_of(values))
    assert legend(ax) == ["33 other players", "38", "37", "36", "2", "1", "0"]
    drawn = sorted(line.get_ydata()[-1] for line in ax.lines if len(line.get_ydata()) == 4)
    assert drawn == list(range(39))
    chosen = plot_convergence(history_of(values), players=[3, 20])
    assert legend(chosen) == ["37 other players", "20", "3"]


def test_stopping_is_what_the_rule_measured():
    game = osv.TableGame(3, {(0,): 1.0, (0, 1): 3.0, (2, 1): -1.0})
    history = osv.History(osv.RelativeChange(0.02) | osv.MaxPermutations(2_000))
    osv.sample_values(game, stopping=history, random_state=0)
    ax = plot_stopping(history)
    (name,) = history.readings
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), history.readings[name])
    assert ax.get_ylabel().replace("\n", " ") == name
    assert set(lines(ax)["stops at 0.02"][:, 1]) == {0.02}
    assert ax.get_yscale() == "log"


def test_several_stopping_figures_and_changes_of_0():
    rule = osv.RelativeChange(0.02) & osv.RelativeChange(0.1, window=200)
    ax = plot_stopping(history_of(np.ones((5, 2)), rule=rule))
    assert ax.get_ylabel() == "stopping figure"
    assert "relative change over 200 permutations" in legend(ax)
    assert "stops at 0.1" in legend(ax)
    assert ax.get_yscale() == "linear"


def test_bad_histories_are_named():
    empty = osv.History(osv.MaxPermutations(5))
    for plot in (plot_convergence, plot_stopping):
        with pytest.raises(TypeError, match="history is a list, expected a History"):
            plot([])
        with pytest.raises(ValueError, match="history is empty"):
            plot(empty)
    full = history_of(np.ones((3, 2)))
    with pytest.raises(ValueError, match="no stopping figure"):
        plot_stopping(full)
    with pytest.raises(ValueError, match=r"players names a player outside 0\.\.1"):
        plot_convergence(full, players=[2])
    with pytest.raises(ValueError, match="labels has 3 entries, expected 2"):
        plot_convergence(full, labels=["a", "b", "c"])
    with pytest.raises(ValueError, match=r"level is 1\.5"):
        plot_convergence(full, level=1.5)
    assert not plt.get_fignums()
