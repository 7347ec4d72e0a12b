"""What readers get of a result: suspects, pictures, tables in files and in notebooks."""

from __future__ import annotations

import csv
import dataclasses
import math
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from test_valuation import by_hand, make, moments_of

HOSTILE = [
    "<script>alert(1)</script>",
    "'\"&\" onload='x'",
    "long " * 60,
    "Ünïcödé 漢字 \u202e",
    None,
    math.nan,
    "a\nb",
]


def of_hostile():
    values = np.linspace(-1, 1, len(HOSTILE))
    return by_hand(values, np.full(len(HOSTILE), 0.1), player_names=np.array(HOSTILE, dtype=object))


class Cells(HTMLParser):
    """The texts of the cells of a table, row by row, and every tag met."""

    def __init__(self, html):
        super().__init__()
        self.rows, self.tags = [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data):
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


class TestReliability:
    def test_it_is_the_squared_correlation_with_the_truth(self):
        rng = np.random.default_rng(0)
        truth, errors = rng.normal(0, 1, 5_000), rng.uniform(0.1, 1, 5_000)
        result = by_hand(truth + rng.normal(0, errors), errors)
        assert result.reliability == pytest.approx(np.corrcoef(truth, result.values)[0, 1] ** 2, abs=0.03)
        assert result.reliability == 1 - np.mean(errors**2) / np.var(result.values, ddof=1)

    def test_unknown_and_clipped(self):
        nan = math.nan
        assert math.isnan(by_hand([1.0, 1.0], [0.1, 0.1]).reliability)
        assert math.isnan(by_hand([1.0, 2.0], [0.1, nan]).reliability)
        assert math.isnan(by_hand([], []).reliability)
        assert by_hand([1.0, 2.0], [0.0, 0.0]).reliability == 1.0
        assert by_hand([1.0, 2.0], [5.0, 5.0]).reliability == 0.0
        known = by_hand([1.0, 2.0], [0.1, 0.2]).reliability
        assert by_hand([1.0, 2.0, 7.0, nan], [0.1, 0.2, nan, nan]).reliability == known
        assert by_hand([1e150, 2e150], [1e149, 2e149]).reliability == pytest.approx(known)


class TestSuspects:
    @pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
    def test_intervals_below_zero_lowest_first(self, level):
        rng = np.random.default_rng(0)
        values, errors = rng.normal(0, 1, 200), rng.uniform(0.1, 1, 200)
        found = by_hand(values, errors).suspects(level)
        below = np.flatnonzero(stats.norm.ppf(0.5 + level / 2, values, errors) < 0)
        assert 0 < len(below) < 200
        assert found.index.tolist() == below[np.argsort(values[below])].tolist()
        np.testing.assert_allclose(found["value"], np.sort(values[below]))
        names = ["value", "stderr", "stderr_total", "ci_low", "ci_high", "rank", "count"]
        assert list(found.columns) == names

    def test_without_an_error_nobody_is_suspect(self):
        assert make(moments_of([[-1.0, -2.0]])).suspects().empty
        assert make(moments_of([[-1.0, -2.0]])).suspects(fdr=0.5).empty
        assert by_hand([], []).suspects(fdr=0.5).empty

    def test_without_noise_the_value_decides(self):
        result = by_hand([0.0, -1e-9], [0.0, 0.0])
        assert result.suspects().index.tolist() == result.suspects(fdr=0.5).index.tolist() == [1]

    @pytest.mark.parametrize("fdr", [0.01, 0.2, 0.7])
    def test_false_discovery_rate_is_that_of_scipy(self, fdr):
        rng = np.random.default_rng(1)
        values, errors = rng.normal(0.3, 1, 200), rng.uniform(0.1, 1, 200)
        values[:3] = np.nan
        found = by_hand(values, errors).suspects(fdr=fdr)
        known = ~np.isnan(values)
        adjusted = stats.false_discovery_control(stats.norm.cdf(values[known] / errors[known]))
        expected = np.flatnonzero(known)[adjusted <= fdr]
        assert 0 < len(expected) < 197
        assert found.index.tolist() == expected[np.argsort(values[expected])].tolist()

    def test_false_discoveries_are_as_rare_as_asked_for(self):
        rng = np.random.default_rng(2)
        truth = np.where(np.arange(400) < 300, 0.0, -0.5)
        rates = []
        for _ in range(100):
            found = by_hand(truth + rng.normal(0, 0.2, 400), np.full(400, 0.2)).suspects(fdr=0.2)
            rates.append(np.mean(truth[found.index] >= 0) if len(found) else 0.0)
        # With three quarters of the values at 0, Benjamini and Hochberg's rate is 0.75 * 0.2.
        assert np.mean(rates) == pytest.approx(0.15, abs=0.02)

    @pytest.mark.parametrize(
        "bad", [{"level": 0.9, "fdr": 0.1}, {"fdr": 0.0}, {"fdr": 1.0}, {"fdr": -1}, {"errors": "noise"}]
    )
    def test_bad_input(self, bad):
        with pytest.raises(ValueError, match=[*bad][-1]):
            by_hand([0.0], [1.0]).suspects(**bad)


class TestTotalErrors:
    """Everything that shows errors takes the total ones where they are known, and Monte Carlo's if asked."""

    result = dataclasses.replace(by_hand([-0.3, 0.5], [0.1, 0.2]), stderr_total=np.array([0.2, 0.25]))

    @pytest.mark.parametrize(("errors", "sizes"), [("total", [0.2, 0.25]), ("monte_carlo", [0.1, 0.2])])
    def test_intervals_and_probabilities(self, errors, sizes):
        low, high = self.result.confidence_interval(0.9, errors=errors)
        np.testing.assert_allclose(
            [low, high], stats.norm.interval(0.9, self.result.values, sizes), rtol=1e-12
        )
        below = self.result.probability_below(0.1, errors=errors)
        np.testing.assert_allclose(below, stats.norm.cdf(0.1, self.result.values, sizes), rtol=1e-12)
        frame = self.result.to_frame(0.9, errors=errors)
        assert frame["ci_low"].tolist() == low.tolist()
        assert frame["stderr"].tolist() == [0.1, 0.2]
        assert frame["stderr_total"].tolist() == [0.2, 0.25]

    def test_suspects(self):
        assert self.result.suspects().empty
        assert self.result.suspects(errors="monte_carlo").index.tolist() == [0]
        assert self.result.suspects(fdr=0.1).empty
        assert self.result.suspects(fdr=0.1, errors="monte_carlo").index.tolist() == [0]

    def test_others_have_none(self):
        other = by_hand([-0.3, 0.5], [0.1, 0.2])
        assert np.array_equal(other.confidence_interval(), other.confidence_interval(errors="monte_carlo"))
        assert other.to_frame()["stderr_total"].isna().all()

    def test_reliability_is_that_of_monte_carlo(self):
        assert self.result.reliability == by_hand([-0.3, 0.5], [0.1, 0.2]).reliability

    def test_notebook(self):
        rows = Cells(self.result._repr_html_()).rows
        assert [row[2].split()[-1] for row in rows[1:]] == ["0.25", "0.20"]


def test_plot_is_that_of_the_plots(monkeypatch):
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib.figure import Figure

    valuation = by_hand([0.5, -0.1, 0.2], [0.1, 0.1, 0.1], player_names=["a", "b", "c"])
    ax = valuation.plot(ax=Figure().subplots(), level=0.8, classes=["x", "y", "x"])
    assert [text.get_text() for text in ax.get_xticklabels()] == ["b", "c", "a"]
    assert "80 % interval" in ax.get_legend_handles_labels()[1]
    with pytest.raises(ValueError, match="classes has 1"):
        valuation.plot(ax=Figure().subplots(), classes=["x"])


class TestFiles:
    def test_csv(self, tmp_path):
        labels = np.array(["b, \"'", "a\nc", "ü"], dtype=object)
        valuation = by_hand([0.1, 1 / 3, -0.2], [0.2, 0.01, 1e-7], player_names=labels)
        valuation.to_csv(tmp_path / "v.csv", level=0.8)
        with open(tmp_path / "v.csv", encoding="utf-8", newline="") as stream:
            read = list(csv.DictReader(stream))
        frame = valuation.to_frame(0.8)
        assert [row["player"] for row in read] == labels.tolist()
        for name in ("value", "stderr", "ci_low", "ci_high", "rank", "count"):
            assert [float(row[name]) for row in read] == frame[name].tolist()
        assert [row["below_zero"] for row in read] == ["False", "False", "True"]
        assert [path.name for path in tmp_path.iterdir()] == ["v.csv"]

    def test_parquet(self, tmp_path):
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
        for labels in (None, ["a", "b"], [3, 5], np.array(["2020-01-01", "2021-01-01"], "datetime64[ns]")):
            valuation = by_hand([0.1, 1 / 3], [0.2, 0.01], player_names=labels)
            valuation.to_parquet(tmp_path / "v.parquet")
            read = pd.read_parquet(tmp_path / "v.parquet")
            assert read.index.name == "player"
            pd.testing.assert_frame_equal(
                read, valuation.to_frame(), check_names=False, check_exact=True, check_index_type=False
            )
        assert [path.name for path in tmp_path.iterdir()] == ["v.parquet"]


class TestNotebook:
    def test_ends_of_the_ranking(self):
        values = np.arange(30.0) - 10
        html = by_hand(values, np.full(30, 0.5), player_names=[f"row {i}" for i in range(30)])._repr_html_()
        rows = Cells(html).rows
        assert [row[1] for row in rows[1:6]] == [f"row {i}" for i in range(29, 24, -1)]
        assert rows[6] == ["20 more"]
        assert [row[1] for row in rows[7:]] == [f"row {i}" for i in range(4, -1, -1)]
        assert [row[0] for row in rows[7:]] == ["26", "27", "28", "29", "30"]
        assert rows[-1][2] == "−10.00 ± 0.50"  # noqa: RUF001
        low = -10 - 0.5 * stats.norm.ppf(0.975)
        assert rows[-1][3].startswith(f"−{-low:.2f} to")  # noqa: RUF001
        # 11, ..., 19 are above; 9, 10 and 11 (values -1, 0, 1): 0.98 either side of them
        line = re.search(r"CIs: [^<]*", html)[0]
        assert re.findall(r"\b\d+(?= (?:entirely|contain))", line) == ["19", "10", "1"]

    def test_hostile_labels(self):
        html = of_hostile()._repr_html_()
        cells = Cells(html)
        table = {"table", "thead", "tbody", "tr", "th", "td"}
        assert set(cells.tags) == table | {"div", "p", "b", "br", "span", "svg", "path", "circle"}
        names = [row[1] for row in cells.rows[1:]]
        assert HOSTILE[0] in names
        assert HOSTILE[1] in names
        assert max(map(len, names)) <= 40
