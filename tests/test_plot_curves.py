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
    osv.sample_values(game, "partial_ordinal", "mc", stopping=history, random_state=0)
    ax = plot_stopping(history)
    (name,) = history.readings
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), history.readings[name])
    assert ax.get_ylabel().replace("\n", " ") == name
    assert set(lines(ax)["stops at 0.02"][:, 1]) == {0.02}
    assert ax.get_yscale() == "log"
