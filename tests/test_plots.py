"""What plot_values draws: order, intervals, marks, and its errors."""

from __future__ import annotations

import sys
from statistics import NormalDist
from types import SimpleNamespace

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402

from ordinal_shapley.plots import plot_values  # noqa: E402


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def valuation(values, stderr=None, labels=None):
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
        labels=labels,
        value="partial_ordinal",
        method="ctmc",
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
    assert "Partial ordinal Shapley value, ctmc, 1,200 permutations" in ax.get_title()


def test_level_sets_width_and_legend():
    ax = plot_values(valuation([0.0, 1.0]), level=0.5)
    widths = np.diff(intervals(ax, "50 % interval"), axis=1)
    np.testing.assert_allclose(widths, 0.2 * NormalDist().inv_cdf(0.75))


def test_draws_on_the_axes_given():
    ax = plt.figure().add_subplot()
    assert plot_values(valuation([1.0, 2.0]), ax=ax) is ax


def test_few_players_carry_their_labels_many_do_not():
    ax = plot_values(valuation([0.2, 0.1], labels=np.array(["b", "a"])))
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["a", "b"]
    many = plot_values(valuation(np.arange(100.0)))
    assert "lowest" in many.get_xlabel()


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"highlight": [3]}, "outside 0..2"),
        ({"highlight": [-1]}, "outside 0..2"),
        ({"highlight": [0.5]}, "player indices"),
        ({"classes": [0, 1]}, "one per player"),
        ({"level": 1.0}, "level"),
    ],
)
def test_bad_input_is_named(options, message):
    with pytest.raises(ValueError, match=message):
        plot_values(valuation([0.3, -0.2, 0.1]), **options)


def test_missing_matplotlib_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"ordinal-shapley\[plot\]"):
        plot_values(valuation([1.0]))


@pytest.mark.parametrize("other", [None, [0.1, 0.2]])
def test_other_things(other):
    with pytest.raises(TypeError, match=f"valuation is a {type(other).__name__}, expected a Valuation"):
        plot_values(other)
