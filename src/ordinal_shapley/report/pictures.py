"""The pictures of a report: distribution of values, convergence of the run, effect of removal."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ordinal_shapley.report.drawing import Chart, Picture
from ordinal_shapley.report.text import number
from ordinal_shapley.vocabulary import count

if TYPE_CHECKING:
    from ordinal_shapley.report.removal import Removal
    from ordinal_shapley.sampling.history import History
    from ordinal_shapley.valuation.result import Valuation

_MAX_BARS = 40
_FOLLOWED = 3  # number of players at either end
_EARLY = 0.1  # share of a run, at its start, that is not drawn
_MAX_LINES = 25  # maximum rows of numbers below a picture

_Numbers = npt.NDArray[np.float64]


def histogram(valuation: Valuation, noun: str, level: float) -> Picture | None:
    """Distribution of the values, with a typical interval for scale; None if no value is known."""
    values = valuation.values[np.isfinite(valuation.values)]
    if not values.size:
        return None
    edges = _edges(values)
    counts = np.histogram(values, edges)[0]
    bars = [*zip(edges[:-1], edges[1:], counts.tolist(), strict=True)]
    low, high = valuation.confidence_interval(level)
    widths = (high - low)[np.isfinite(high - low)]
    width = float(np.median(widths)) if widths.size else 0.0
    top = float(counts.max())
    middle = (edges[0] + edges[-1]) / 2
    half = max(edges[-1] - edges[0], 1.05 * width) / 2
    x = min(edges[0], middle - half), max(edges[-1], middle + half)
    chart = Chart(x, (0.0, 1.18 * top), ("value", f"{noun}s"), whole_y=True)
    for start, end, height in bars:
        if height:
            chart.bar(start, end, float(height), "below" if end <= 0 else "above")
    chart.upright(0.0, "zero")
    legend = [("bar below", "values below 0")] * bool(values.min() < 0)
    legend += [("bar above", "values of 0 or more")] * bool(values.max() >= 0)
    if width > 0:
        chart.span(middle - width / 2, middle + width / 2, 1.1 * top, "strong")
        legend.append(("rule strong", f"width of a {100 * level:g} % CI (median)"))
    reach = f"From {number(values.min())} to {number(values.max())}"
    return chart.picture(
        ("spread", f"Values of {count(values.size, noun)}", f"{reach}, median {number(np.median(values))}."),
        legend,
        ["from", "to", f"{noun}s"],
        [[number(start), number(end), f"{height:,}"] for start, end, height in bars],
    )


def _edges(values: _Numbers) -> _Numbers:
    """Edges of bars, including 0 if it is in range."""
    low, high = float(values.min()), float(values.max())
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        half = 0.05 * (abs(low) or 1.0)
        return np.array([low - half, low + half]) if low else np.array([0.0, half])
    n_bars = int(np.clip(len(np.histogram_bin_edges(values, "auto")) - 1, 5, _MAX_BARS))
    width = (high - low) / n_bars
    first, last = np.floor(low / width + 1e-9), np.ceil(high / width - 1e-9)
    edges: _Numbers = width * np.arange(first, last + 1)
    edges[0], edges[-1] = min(edges[0], low), max(edges[-1], high)  # against rounding
    return edges


def convergence(history: History | None, names: list[str], level: float) -> list[Picture]:
    """How the values of some players went, the errors of all, and what the stopping rule saw."""
    if history is None or not len(history.n_permutations) or not np.isfinite(history.values[-1]).any():
        return []
    return [_courses(history, names, level), *_errors(history), *_readings(history)]


def _courses(history: History, names: list[str], level: float) -> Picture:
    values, at = history.values, history.n_permutations
    half = NormalDist().inv_cdf(0.5 + level / 2) * history.stderr
    order = np.argsort(-values[-1], kind="stable")
    order = order[np.isfinite(values[-1][order])]
    few = len(order) <= 2 * _FOLLOWED
    chosen = order if few else np.concatenate([order[:_FOLLOWED], order[-_FOLLOWED:]])
    # Early values are noise whose scale would hide everything else.
    late = at >= _EARLY * at[-1]
    at, values, half = at[late], values[late], half[late]
    shown = np.concatenate([(values + sign * np.nan_to_num(half))[:, chosen].ravel() for sign in (-1, 1)])
    shown = np.append(shown[np.isfinite(shown)], 0.0)
    room = 0.05 * (shown.max() - shown.min())
    chart = Chart(_span(at), (shown.min() - room, shown.max() + room), ("permutations", "value"))
    chart.across(0.0, "zero")
    for k, player in enumerate(chosen):
        course, error = values[:, player], half[:, player]
        chart.band(at, course - error, course + error, f"s{k}")
    for k, player in enumerate(chosen):
        chart.line(at, values[:, player], f"s{k}")
    caption = f"Shaded: {100 * level:g} % CIs of Monte Carlo noise. "
    caption += "Where lines drift or bands overlap, ranks are not final."
    which = "All values" if few else f"The {_FOLLOWED} highest and the {_FOLLOWED} lowest values"
    return chart.picture(
        ("courses", f"{which} during the run", caption),
        [(f"line s{k}", names[player]) for k, player in enumerate(chosen)],
        ["permutations", *(names[player] for player in chosen)],
        [[f"{at[t]:,}", *(number(values[t, player]) for player in chosen)] for t in _some(len(at))],
    )


def _errors(history: History) -> list[Picture]:
    known = np.isfinite(history.stderr).any(axis=1)
    if not known.any():
        return []
    at, stderr = history.n_permutations[known], history.stderr[known]
    middle, largest = np.nanmedian(stderr, axis=1), np.nanmax(stderr, axis=1)
    both = np.concatenate([middle, largest])
    log = bool((both > 0).all())
    reach = (0.9 * float(both.min()) if log else 0.0, 1.1 * float(both.max()))
    chart = Chart(_span(at), reach, ("permutations", "standard error"), log=(len(at) > 1, log))
    chart.line(at, largest, "s1")
    chart.line(at, middle, "s0")
    picture = chart.picture(
        ("errors", "Monte Carlo errors during the run", "Four times as many permutations halve them."),
        [("line s1", "largest"), ("line s0", "median")],
        ["permutations", "median", "largest"],
        [[f"{at[t]:,}", number(middle[t]), number(largest[t])] for t in _some(len(at))],
    )
    return [picture]


def _readings(history: History) -> list[Picture]:
    pictures: list[Picture] = []
    for name, reading in history.readings.items():
        known = np.isfinite(reading)
        if not known.any():
            continue
        at, reading, limit = history.n_permutations[known], reading[known], history.limits[name]
        both = np.append(reading, limit)
        log = bool((both > 0).all())
        low = 0.9 * float(both.min()) if log else min(0.0, float(both.min()))
        reach = (low, float(both.max()) + 0.1 * abs(float(both.max())))
        chart = Chart(_span(at), reach, ("permutations", "stopping figure"), log=(False, log))
        chart.across(limit, "stop")
        chart.line(at, reading, "s0")
        picture = chart.picture(
            (f"rule{len(pictures)}", "What the stopping rule measured", f"{name[:1].upper()}{name[1:]}."),
            [("line s0", "measured"), ("rule stop", f"stops at {number(limit)}")],
            ["permutations", name],
            [[f"{at[t]:,}", number(reading[t])] for t in _some(len(at))],
        )
        pictures.append(picture)
    return pictures


def removal(curves: Removal, score: str, noun: str) -> Picture:
    """The score as players are removed."""
    share = 100 * curves.removed / curves.n_players
    lines = (curves.high, curves.low, curves.random.mean(axis=0))
    every = np.concatenate([*lines, curves.random.ravel()])
    room = 0.05 * (float(np.ptp(every)) or 0.02)
    chart = Chart((0.0, 100.0), (every.min() - room, every.max() + room), (f"{noun}s removed (%)", score))
    chart.band(share, curves.random.min(axis=0), curves.random.max(axis=0), "s2")
    for style, line in zip(("s0", "s1", "s2"), lines, strict=True):
        chart.line(share, line, style)
    high, low, random = (number(float(line.mean()), 3) for line in lines)
    caption = (
        f"Mean over the marks: {high} with the highest values removed first, {random} at random, {low} with "
        "the lowest removed first."
    )
    return chart.picture(
        ("removal", f"{score.capitalize()} as {noun}s are removed", caption),
        [
            ("line s0", "highest values first"),
            ("line s1", "lowest values first"),
            ("line s2", f"at random: mean and range of {len(curves.random)} runs"),
        ],
        [f"{noun}s removed", "highest first", "lowest first", "at random"],
        [
            [f"{k:,}", *(number(float(line[mark]), 4) for line in lines)]
            for mark, k in enumerate(curves.removed)
        ],
    )


def _span(at: npt.NDArray[np.int64]) -> tuple[float, float]:
    return float(at[0]), float(at[-1])


def _some(n: int) -> npt.NDArray[np.intp]:
    """Indices of some of n lines, evenly spaced, including the last."""
    return np.unique(np.linspace(0, n - 1, min(n, _MAX_LINES)).round().astype(np.intp))
