"""A result in a notebook: how sure it is, its highest and its lowest players."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.valuation.decimals import decimals
from ordinal_shapley.valuation.scores import score_words

if TYPE_CHECKING:
    import pandas as pd

    from ordinal_shapley.valuation.result import Valuation

_ENDS = 5  # players shown at either end
_LONGEST_LABEL = 40
_WIDTH, _HEIGHT = 140, 14  # of the picture of an interval
_CELL = "text-align:right;white-space:nowrap;padding:2px 10px"
_QUIET = "opacity:0.7"


def summary(valuation: Valuation) -> str:
    """Return a table that stands in any page, light or dark: text and lines have the page's colour."""
    frame = valuation.to_frame()
    ranked = frame.iloc[valuation.ranking()]
    kind = valuation.kind.title
    n = len(frame)
    stop = f"stopped by {valuation.stopped_by}, {'' if valuation.converged else 'not '}converged"
    head = (
        f"<p style='margin:0 0 4px'><b>{escape(kind)} Shapley values of {n:,} player{'s' * (n != 1)}</b><br>"
        f"<span style='{_QUIET}'>{escape(valuation.sampler.words)}, {valuation.n_permutations:,} "
        f"permutations, {escape(stop)}</span></p>"
    )
    if scores := score_words(valuation):
        head += f"<p style='margin:0 0 4px'>Score: {escape(scores)}.</p>"
    digits = decimals(frame["stderr"].to_numpy(), frame["value"].to_numpy())
    cut = n > 2 * _ENDS + 1
    shown = [ranked.iloc[:_ENDS], ranked.iloc[-_ENDS:]] if cut else [ranked]
    scale = _scale(shown)
    body = [_rows(part, digits, scale) for part in shown]
    if cut:
        body.insert(
            1,
            f"<tr><td colspan='5' style='text-align:center;{_QUIET}'>{n - 2 * _ENDS:,} more</td></tr>",
        )
    titles = "".join(
        f"<th scope='col' style='{_CELL}'>{title}</th>"
        for title in ("rank", "player", "value ± std. error", "95 % interval", "")
    )
    return (
        f"<div>{head}<p style='margin:0 0 4px'>{_certainty(frame, valuation.reliability)}</p>"
        "<div style='overflow-x:auto'><table style='border-collapse:collapse'>"
        f"<thead><tr>{titles}</tr></thead><tbody>{''.join(body)}</tbody></table></div></div>"
    )


def _certainty(frame: pd.DataFrame, reliability: float) -> str:
    """How many intervals lie below and above 0, and how much is not noise."""
    known = int(frame["stderr"].notna().sum())
    below, above = int((frame["ci_high"] < 0).sum()), int((frame["ci_low"] > 0).sum())
    words = (
        f"95 % intervals: {above:,} above 0, {below:,} below, {known - above - below:,} touch it"
        if known
        else "No player has a standard error yet"
    )
    if 0 < known < len(frame):
        words += f"; {len(frame) - known:,} without one"
    return f"{words}. Reliability {reliability:.2f}." if reliability >= 0.0 else f"{words}."


def _rows(frame: pd.DataFrame, digits: int, scale: tuple[float, float]) -> str:
    lines = []
    for label, row in frame.iterrows():
        name = str(label)
        short = name if len(name) <= _LONGEST_LABEL else name[: _LONGEST_LABEL - 1] + "…"
        low, high = row["ci_low"], row["ci_high"]
        cells = (
            f"{row['rank']:,.0f}",
            f"<span title='{escape(name)}'>{escape(short)}</span>" if short != name else escape(name),
            f"{number(row['value'], digits)} ± {number(row['stderr'], digits, '')}",
            f"{number(low, digits)} to {number(high, digits)}",
            _interval(row["value"], low, high, scale),
        )
        lines.append("<tr>" + "".join(f"<td style='{_CELL}'>{cell}</td>" for cell in cells) + "</tr>")
    return "".join(lines)


def number(value: float, digits: int, sign: str = "+") -> str:
    """Return the number with a real minus sign, and a question mark for one that is not known."""
    return f"{value:{sign}.{digits}f}".replace("-", "\u2212") if math.isfinite(value) else "?"


def _scale(parts: list[pd.DataFrame]) -> tuple[float, float]:
    """Ends of what the pictures show: the intervals and 0."""
    ends: NDArray[Any] = np.concatenate(
        [part[name].to_numpy(np.float64) for part in parts for name in ("value", "ci_low", "ci_high")]
    )
    ends = np.append(ends[np.isfinite(ends)], 0.0)
    return float(ends.min()), float(ends.max())


def _interval(value: float, low: float, high: float, scale: tuple[float, float]) -> str:
    """A dot on a line, beside a stroke at 0."""
    if not math.isfinite(value):
        return ""
    start, width = scale[0], (scale[1] - scale[0]) or 1.0

    def at(x: float) -> str:
        return f"{4 + (x - start) / width * (_WIDTH - 8):.1f}"

    middle = _HEIGHT / 2
    line = (
        f"<path d='M{at(low)} {middle}H{at(high)}' stroke='currentColor' stroke-width='2' opacity='0.45'/>"
        if math.isfinite(low)
        else ""
    )
    return (
        f"<svg width='{_WIDTH}' height='{_HEIGHT}' aria-hidden='true' style='vertical-align:middle'>"
        f"<path d='M{at(0.0)} 0V{_HEIGHT}' stroke='currentColor' opacity='0.35' stroke-dasharray='2 2'/>"
        f"{line}<circle cx='{at(value)}' cy='{middle}' r='3' fill='currentColor'/></svg>"
    )
