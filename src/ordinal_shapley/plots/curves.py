"""Curves of experiments: accuracy as rows are removed, label errors found as rows are inspected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ordinal_shapley.common.names import shorten
from ordinal_shapley.plots._axes import axes_for, drawn, finish, has_room, label_ends, line_style, named
from ordinal_shapley.vocabulary import check_choice

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MAX_BANDS = 3  # more curves cannot be distinguished

_Points = npt.NDArray[np.float64]


def plot_removal(curves: Any, *, first: str = "high", ax: Axes | None = None) -> Axes:
    """Draw the accuracy on a test set as training rows are removed by their values.

    Parameters
    ----------
    curves : RemovalCurves, list of RemovalCurves, or dict of str to either
        What `remove_high_value` returns. A list holds runs of one method, over different splits or seeds: the
        mean is drawn, with one standard deviation to both sides: as a band, or for many curves as bars at the
        markers. A dictionary holds methods by name.
    first : {"high", "low", "both"}, default "high"
        Which rows are removed first: those with the highest values (solid lines), the lowest (dashed), or a
        curve for each.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure is made.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> curves = osv.remove_high_value([0.1, 0.4, 0.3, 0.2], X, y, [[0.5], [2.5]], [0, 1])
    >>> ax = osv.plots.plot_removal({"my values": curves}, first="both")
    >>> ax.get_xlabel()
    'training rows removed (%)'
    """
    check_choice("first", first, ("high", "low", "both"))
    groups = named(curves, "curves", "RemovalCurves", "high_first")
    sides = ("high", "low") if first == "both" else (first,)
    ax, n_curves = axes_for("plot_removal", ax), len(groups) * len(sides)
    for index, (name, group) in enumerate(groups.items()):
        for side in sides:
            at, runs = _runs(name, group, "share", f"{side}_first")
            label = _label(name, f"{side}est first" if first == "both" or not name else "")
            style = line_style(index, len(at), dash=("high", "low").index(side))
            _draw(ax, label, at, runs, style, n_curves)
    ax.set_xlabel("training rows removed (%)")
    ax.set_ylabel("accuracy on the test set")
    order = " by their values" if first == "both" else f", {first}est values first"
    ax.set_title(f"Rows removed{order}{_spread_of(groups)}", fontsize="medium")
    return label_ends(ax)


def plot_detection(detections: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the share of label errors found as rows are inspected from the lowest value up.

    For comparison: the mean of inspection in random order, and the best possible curve.

    Parameters
    ----------
    detections : NoiseDetection, list of NoiseDetection, or dict of str to either
        What `detect_noisy_labels` returns. A list holds runs of one method, over different splits or seeds:
        the mean is drawn, with one standard deviation to both sides: as a band, or for many curves as bars
        at the markers. A dictionary holds methods by name.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure is made.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on. The legend gives the mean area under the ROC curve of each method.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> found = osv.detect_noisy_labels([0.3, -0.2, 0.1, 0.2], [1])
    >>> ax = osv.plots.plot_detection(found)
    >>> ax.get_ylabel()
    'wrong labels found (%)'
    """
    groups = named(detections, "detections", "NoiseDetection", "found")
    ax = axes_for("plot_detection", ax)
    areas = {name: np.mean([detection.auc for detection in group]) for name, group in groups.items()}
    for name in sorted(groups, key=lambda name: -areas[name]):  # the legend is in the order of the curves
        at, runs = _runs(name, groups[name], "inspected", "found")
        label = _label(name or "by value", f"AUC {areas[name]:.2f}")
        _draw(ax, label, at, 100 * runs, line_style([*groups].index(name), len(at)), len(groups))
    shares = {d.n_noisy / (len(d.inspected) - 1) for group in groups.values() for d in group}
    if len(shares) == 1:
        rate = 100 * shares.pop()
        ax.plot([0, rate, 100], [0, 100, 100], color="0.4", linewidth=0.9, label="best possible")
    ax.plot([0, 100], [0, 100], color="0.4", linewidth=0.9, linestyle=(0, (1, 3)), label="at random")
    ax.set_xlabel("rows inspected, lowest values first (%)")
    ax.set_ylabel("wrong labels found (%)")
    ax.set_title(f"Wrong labels found{_spread_of(groups)}", fontsize="medium")
    return finish(ax, "lower right", 0 if has_room(ax) else 4)


def _label(name: str, more: str) -> str:
    return ", ".join(part for part in (drawn(shorten(name)) if name else "", more) if part)


def _spread_of(groups: Mapping[str, list[Any]]) -> str:
    """Description of the runs for the title."""
    sizes = {len(group) for group in groups.values()}
    if sizes == {1}:
        return ""
    runs = f"{min(sizes)} to {max(sizes)}" if len(sizes) > 1 else str(max(sizes))
    return f" (mean ± SD of {runs} runs)"


def _runs(name: str, group: list[Any], x: str, y: str) -> tuple[_Points, _Points]:
    """Marks in percent, and one row per run."""
    marks = [np.asarray(getattr(run, x), np.float64) for run in group]
    if not all(np.array_equal(other, marks[0]) for other in marks[1:]):
        of = f" of {name!r}" if name else ""
        raise ValueError(f"the runs{of} have different marks, expected the same {x} for all")
    return 100 * marks[0], np.array([getattr(run, y) for run in group], np.float64)


def _draw(ax: Axes, label: str, at: _Points, runs: _Points, style: dict[str, Any], n_curves: int) -> None:
    mean = runs.mean(axis=0)
    if len(runs) > 1:
        spread = runs.std(axis=0, ddof=1)
        low, high = mean - spread, mean + spread
        if n_curves <= _MAX_BANDS:
            ax.fill_between(at, low, high, color=style["color"], alpha=0.12, linewidth=0)
        else:  # bars at the markers
            start, step = style["markevery"]
            some = slice(start, None, step)
            ax.vlines(at[some], low[some], high[some], color=style["color"], alpha=0.5, linewidth=0.8)
    ax.plot(at, mean, label=label, zorder=3, **style)
