"""Small charts as inline SVG in the colours of the page, for light and dark mode."""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ordinal_shapley.report.text import number

WIDTH, HEIGHT = 420, 264
_LEFT, _RIGHT, _TOP, _BOTTOM = 54, 22, 12, 42
_MAX_TICKS = 6
_NARROW = 1e-12

_Points = npt.NDArray[Any]


class Picture(NamedTuple):
    """A chart with its text and its numbers."""

    key: str  # its id in the page
    title: str
    caption: str
    svg: str  # markup
    legend: list[tuple[str, str]]  # CSS class and text of each entry of the legend
    header: list[str]
    rows: list[list[str]]  # the numbers drawn, for readers who can't see the chart


class Axis:
    """Map numbers from `low` to `high` to positions from `start` to `end`.

    Logarithmic if it is `log`; ticks are integers if it is `whole`.
    """

    def __init__(
        self, low: float, high: float, start: float, end: float, log: bool = False, whole: bool = False
    ) -> None:
        if log:
            low, high = math.log10(low), math.log10(high)
        if high - low <= _NARROW * max(abs(low), abs(high), _NARROW):
            low, high = low - (abs(low) or 1.0) * 0.5, high + (abs(high) or 1.0) * 0.5
        self.low, self.high, self.start, self.end = low, high, start, end
        self.log, self.whole = log, whole

    def __call__(self, value: float) -> float:
        """Return the position of a number."""
        if self.log:
            value = math.log10(value)
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self) -> list[tuple[float, str]]:
        """Return round numbers in range, and their format."""
        if self.log:
            powers = range(math.floor(self.low), math.ceil(self.high) + 1)
            for factors in ((1, 2, 5), (1, 3), (1,)):
                at = [f * 10.0**p for p in powers for f in factors]
                at = [x for x in at if self.low <= math.log10(x) <= self.high]
                if len(at) <= _MAX_TICKS + 1:
                    break
            at = at[:: max(1, math.ceil(len(at) / _MAX_TICKS))]
            return [(x, f"{x:,.0f}" if x >= 1 else f"{x:g}") for x in at]
        step = _step((self.high - self.low) / _MAX_TICKS)
        step = max(step, 1.0) if self.whole else step
        digits = max(0, -math.floor(math.log10(step) + 1e-9))
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [(k * step, number(k * step + 0.0, digits)) for k in range(first, last + 1)]


def _step(min_step: float) -> float:
    """Round up to 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(min_step))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= min_step * (1 - 1e-9))


class Chart:
    """A chart to draw on; `x` and `y` are the ranges of its axes."""

    def __init__(
        self,
        x: tuple[float, float],
        y: tuple[float, float],
        titles: tuple[str, str],
        *,
        log: tuple[bool, bool] = (False, False),
        whole_y: bool = False,
    ) -> None:
        self.x = Axis(*x, _LEFT, WIDTH - _RIGHT, log[0])
        self.y = Axis(*y, HEIGHT - _BOTTOM, _TOP, log[1], whole_y)
        self._titles = titles
        self._parts: list[str] = []

    def line(self, at: _Points, heights: _Points, style: str) -> None:
        """Draw a line through the known points, or a dot if there is only one."""
        known = np.isfinite(at) & np.isfinite(heights)
        if known.sum() == 1:
            x, y = self.x(float(at[known][0])), self.y(float(heights[known][0]))
            self._parts.append(f'<circle class="dot {style}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>')
            return
        self._parts.append(
            f'<polyline class="line {style}" points="{self._points(at[known], heights[known])}"/>'
        )

    def band(self, at: _Points, low: _Points, high: _Points, style: str) -> None:
        """Fill the area between two lines."""
        known = np.isfinite(low) & np.isfinite(high)
        if known.sum() > 1:
            around = np.concatenate([at[known], at[known][::-1]])
            points = self._points(around, np.concatenate([low[known], high[known][::-1]]))
            self._parts.append(f'<polygon class="band {style}" points="{points}"/>')

    def bar(self, start: float, end: float, height: float, style: str) -> None:
        """Draw a bar from 0 up."""
        left, right, top, foot = self.x(start), self.x(end), self.y(height), self.y(0.0)
        self._parts.append(
            f'<rect class="bar {style}" x="{left:.1f}" y="{top:.1f}" '
            f'width="{max(right - left - 1, 0.5):.1f}" height="{foot - top:.1f}"/>'
        )

    def across(self, height: float, style: str) -> None:
        """Draw a horizontal line over the whole width."""
        y = self.y(height)
        self._parts.append(f'<path class="rule {style}" d="M{_LEFT} {y:.1f}H{WIDTH - _RIGHT}"/>')

    def upright(self, at: float, style: str) -> None:
        """Draw a vertical line over the whole height."""
        self._parts.append(f'<path class="rule {style}" d="M{self.x(at):.1f} {_TOP}V{HEIGHT - _BOTTOM}"/>')

    def span(self, start: float, end: float, height: float, style: str) -> None:
        """Draw a line with a tick at either end."""
        left, right, y = self.x(start), self.x(end), self.y(height)
        self._parts.append(
            f'<path class="rule {style}" d="M{left:.1f} {y:.1f}H{right:.1f}'
            f'M{left:.1f} {y - 4:.1f}v8M{right:.1f} {y - 4:.1f}v8"/>'
        )

    def picture(
        self,
        words: tuple[str, str, str],
        legend: list[tuple[str, str]],
        header: list[str],
        rows: list[list[str]],
    ) -> Picture:
        """Return the drawing with its id, title and caption, and its numbers."""
        key, title, _ = words
        left, right, foot = _LEFT, WIDTH - _RIGHT, HEIGHT - _BOTTOM
        axes = [
            *(self._x_tick(*tick) for tick in self.x.ticks()),
            *(self._y_tick(*tick) for tick in self.y.ticks()),
            f'<text class="axis" text-anchor="middle" x="{(left + right) / 2}" y="{HEIGHT - 6}">'
            f"{escape(self._titles[0])}</text>",
            '<text class="axis" text-anchor="middle" '
            f'transform="translate(12 {(_TOP + foot) / 2}) rotate(-90)">'
            f"{escape(self._titles[1])}</text>",
        ]
        frame = f'x="{left}" y="{_TOP}" width="{right - left}" height="{foot - _TOP}"'
        svg = (
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="{key}-name">'
            f'<title id="{key}-name">{escape(title)}</title>'
            f'<clipPath id="{key}-clip"><rect {frame}/></clipPath>'
            f'{"".join(axes)}<g clip-path="url(#{key}-clip)">{"".join(self._parts)}</g></svg>'
        )
        return Picture(*words, svg, legend, header, rows)

    def _points(self, at: Iterable[Any], heights: Iterable[Any]) -> str:
        return " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in zip(at, heights, strict=True))

    def _x_tick(self, value: float, text: str) -> str:
        x, y = self.x(value), HEIGHT - _BOTTOM
        return (
            f'<path class="grid" d="M{x:.1f} {_TOP}V{y}"/>'
            f'<text class="tick" text-anchor="middle" x="{x:.1f}" y="{y + 15}">{text}</text>'
        )

    def _y_tick(self, value: float, text: str) -> str:
        y = self.y(value)
        return (
            f'<path class="grid" d="M{_LEFT} {y:.1f}H{WIDTH - _RIGHT}"/>'
            f'<text class="tick" text-anchor="end" x="{_LEFT - 5}" y="{y + 4:.1f}">{text}</text>'
        )
