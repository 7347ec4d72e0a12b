"""A result in a notebook: how certain it is, and its highest and lowest players."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from ordinal_shapley.report.facts import stop_words
from ordinal_shapley.report.text import covered, decimals, number, score_words, short, shown_errors, sum_words
from ordinal_shapley.vocabulary import count

if TYPE_CHECKING:
    import pandas as pd

    from ordinal_shapley.valuation.result import Valuation

_ENDS = 5  # number of players shown at either end
_MAX_LABEL = 40
_WIDTH, _HEIGHT = 140, 14  # width of the picture of an interval
_CELL = "text-align:right;white-space:nowrap;padding:2px 10px"
_QUIET = "opacity:0.7"
_LINE = "<p style='margin:0 0 4px'>"


def summary(valuation: Valuation) -> str:
    """Return a table for any page, light or dark: text and lines have the page's colour."""
    frame = valuation.to_frame().assign(error=shown_errors(valuation))
    ranked = frame.iloc[valuation.ranking()]
    n = len(frame)
    stop = f"stopped because {stop_words(valuation)}"
    scores, sums = score_words(valuation), sum_words(valuation, "player")
    digits = decimals(frame["error"].to_numpy(), frame["value"].to_numpy())
    cut = n > 2 * _ENDS + 1
    shown = [ranked.iloc[:_ENDS], ranked.iloc[-_ENDS:]] if cut else [ranked]
    ends = np.concatenate(
        [part[["value", "ci_low", "ci_high"]].to_numpy(np.float64).ravel() for part in shown]
    )
    ends = np.append(ends[np.isfinite(ends)], 0.0)
    rows = [_rows(part, digits, float(ends.min()), float(ends.max())) for part in shown]
    gap = f"<tr><td colspan='5' style='text-align:center;{_QUIET}'>{n - 2 * _ENDS:,} more</td></tr>"
    titles = "".join(
        f"<th scope='col' style='{_CELL}'>{title}</th>"
        for title in ("rank", "player", "value ± std. error", "95 % CI", "")
    )
    return (
        f"<div>{_LINE}<b>{escape(valuation.kind.title)} Shapley values of {count(n, 'player')}</b><br>"
        f"<span style='{_QUIET}'>{escape(valuation.sampler.words)}, {valuation.n_permutations:,} "
        f"permutations, {escape(stop)}</span></p>"
        + (f"{_LINE}Model: {escape(valuation.model)}.</p>" if valuation.model else "")
        + (f"{_LINE}Score: {escape(scores)}.</p>" if scores else "")
        + (f"{_LINE}Values sum to {sums}.</p>" if sums else "")
        + f"{_LINE}{_certainty(frame, valuation.reliability)} {covered(valuation)}</p>"
        "<div style='overflow-x:auto'><table style='border-collapse:collapse'>"
        f"<thead><tr>{titles}</tr></thead><tbody>{(gap * cut).join(rows)}</tbody></table></div></div>"
    )


def _certainty(frame: pd.DataFrame, reliability: float) -> str:
    """Numbers of CIs entirely below and above 0, and the reliability of the values."""
    known = int(frame["error"].notna().sum())
    below, above = int((frame["ci_high"] < 0).sum()), int((frame["ci_low"] > 0).sum())
    words = "No player has a standard error yet"
    if known:
        words = f"95 % CIs: {above:,} entirely above 0, {below:,} entirely below 0, "
        words += f"{known - above - below:,} contain 0"
    if 0 < known < len(frame):
        words += f"; {len(frame) - known:,} without one"
    return f"{words}. Reliability {reliability:.2f}." if reliability >= 0.0 else f"{words}."


def _rows(frame: pd.DataFrame, digits: int, start: float, end: float) -> str:
    lines = []
    for label, row in frame.iterrows():
        name, cut = str(label), short(str(label), _MAX_LABEL)
        low, high = row["ci_low"], row["ci_high"]
        cells = (
            f"{row['rank']:,.0f}",
            f"<span title='{escape(name)}'>{escape(cut)}</span>" if cut != name else escape(name),
            f"{number(row['value'], digits, '+')} ± {number(row['error'], digits)}",
            f"{number(low, digits, '+')} to {number(high, digits, '+')}",
            _interval(row["value"], low, high, start, (end - start) or 1.0),
        )
        lines.append("<tr>" + "".join(f"<td style='{_CELL}'>{cell}</td>" for cell in cells) + "</tr>")
    return "".join(lines)


def _interval(value: float, low: float, high: float, start: float, width: float) -> str:
    """A dot on a line, with a tick at 0."""
    if not math.isfinite(value):
        return ""

    def at(x: float) -> str:
        return f"{4 + (x - start) / width * (_WIDTH - 8):.1f}"

    middle, line = _HEIGHT / 2, ""
    if math.isfinite(low):
        style = "stroke='currentColor' stroke-width='2' opacity='0.45'"
        line = f"<path d='M{at(low)} {middle}H{at(high)}' {style}/>"
    return (
        f"<svg width='{_WIDTH}' height='{_HEIGHT}' aria-hidden='true' style='vertical-align:middle'>"
        f"<path d='M{at(0.0)} 0V{_HEIGHT}' stroke='currentColor' opacity='0.35' stroke-dasharray='2 2'/>"
        f"{line}<circle cx='{at(value)}' cy='{middle}' r='3' fill='currentColor'/></svg>"
    )
