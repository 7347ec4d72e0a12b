"""What the picture of credit draws: bars by channel, parts by position, and its errors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402

import ordinal_shapley as osv  # noqa: E402
from ordinal_shapley.plots import plot_credit  # noqa: E402


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


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
