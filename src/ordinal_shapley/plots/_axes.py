"""Helpers for all pictures: axes, line styles, names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ordinal_shapley.common.names import names_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FAINT = "0.75"
MARKERS = "o^sDvPX<>p"  # distinct shapes, alternately filled and open
_COLOURS = ("black", "#0072B2", "#D55E00", "#009E73", "#7F3C8D", "#8C6D00")
_LABEL_POINTS = 11  # line spacing of small text
_DASHES = ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (6, 2, 1.5, 2)))


def axes_for(function: str, ax: Axes | None, size: tuple[float, float] = (6.4, 4.2)) -> Axes:
    """Return the axes given, or those of a new figure."""
    try:
        import matplotlib.pyplot as plt
        from matplotlib.axes import Axes
    except ImportError as error:
        raise ImportError(
            f"{function} needs Matplotlib; install it with: pip install 'ordinal-shapley[plot]'"
        ) from error
    if ax is None:
        return plt.subplots(figsize=size, layout="constrained")[1]
    if not isinstance(ax, Axes):
        raise TypeError(f"ax is a {type(ax).__name__}, expected the Axes of a Matplotlib figure")
    return ax


def line_style(index: int, n_points: int = 0, dash: int | None = None) -> dict[str, Any]:
    """Dashes, marker, filling and colour of a series, with markers staggered between series."""
    step = max(1, n_points // 8)
    colour = _COLOURS[index % len(_COLOURS)]
    dash = index if dash is None else dash
    return {
        "color": colour,
        "linestyle": _DASHES[dash % len(_DASHES)],
        "linewidth": 1.4,
        "marker": MARKERS[index % len(MARKERS)],
        "markersize": 4.5,
        "markerfacecolor": colour if dash % 2 == 0 else "white",
        "markevery": (index * max(1, step // 3) % step, step),
    }


def drawn(name: str) -> str:
    """Escape a name so that Matplotlib draws it unchanged, without formulas, and shows it in legends."""
    return f"{' ' * name.startswith('_')}{name}".replace("$", r"\$")


def names_of_players(names: Any, n: int) -> list[str]:
    """Names to draw for n players: short, and distinct if the players' names are."""
    return [drawn(name) for name in names_of(names, n)]


def player_mask(players: Any, n: int, name: str) -> npt.NDArray[np.bool_]:
    """Mask of n players that are given by index; all False for None."""
    mask = np.zeros(n, dtype=np.bool_)
    if players is None:
        return mask
    index = np.asarray(players)
    if index.size == 0:
        return mask
    if index.dtype.kind not in "iu" or index.ndim != 1:
        raise ValueError(f"{name} must be a one-dimensional sequence of player indices")
    if index.min() < 0 or index.max() >= n:
        raise ValueError(f"{name} names a player outside 0..{n - 1}")
    mask[index] = True
    return mask


def named(results: Any, name: str, kind: str, needed: str) -> dict[str, list[Any]]:
    """Lists of results by name, from one result, several runs, or a mapping of names to either."""
    groups = results if isinstance(results, Mapping) else {"": results}
    found = {str(key): list(group) if isinstance(group, list | tuple) else [group]
             for key, group in groups.items()}  # fmt: skip
    if not found or not all(found.values()):
        raise ValueError(f"{name} is empty, expected at least one {kind}")
    for group in found.values():
        for result in group:
            if not hasattr(result, needed):
                raise TypeError(
                    f"{name} holds a {type(result).__name__}, expected a {kind}, a list of them (runs, "
                    "which are averaged), or a dictionary of names to either"
                )
    return found


def has_room(ax: Axes) -> bool:
    """Whether the figure's layout makes room beside the axes."""
    return ax.figure.get_layout_engine() is not None


def finish(ax: Axes, place: str | None, max_inside: int = 4, title: str | None = None) -> Axes:
    """Remove the box, and put the legend, if any, at a place inside, or beside the axes if it is long."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    n_lines = len(ax.get_legend_handles_labels()[1])
    if place and n_lines:
        where: dict[str, Any] = {"loc": place}
        if n_lines > max_inside:
            where = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
        ax.legend(
            title=title, title_fontsize="small", fontsize="small", handlelength=3.2,
            framealpha=0.7, edgecolor="none", **where,
        )  # fmt: skip
    return ax


def label_ends(ax: Axes) -> Axes:
    """Finish axes with each line's name at its right end, or with a legend inside if there is no room."""
    if not has_room(ax):
        return finish(ax, "best", max_inside=len(ax.lines))
    lines: list[Any] = ax.get_legend_handles_labels()[0]
    ax.get_ylim()  # the limits may be older than the lines
    ends = [line.get_xydata()[np.isfinite(line.get_ydata())][-1] for line in lines]
    heights = (ax.transScale + ax.transLimits).transform(np.reshape(ends, (-1, 2)))[:, 1]
    gap = _LABEL_POINTS / (72 * ax.get_window_extent().height / ax.figure.dpi)
    for line, end, height in zip(lines, ends, _apart(heights, gap), strict=True):
        colour = "0.45" if line.get_color() == FAINT else line.get_color()
        leader = {"arrowstyle": "-", "color": colour, "linewidth": 0.6, "shrinkA": 1, "shrinkB": 4}
        ax.annotate(
            str(line.get_label()), end, (1.03, height), textcoords="axes fraction", va="center",
            fontsize="small", color=colour, arrowprops=leader, annotation_clip=False,
        )  # fmt: skip
    return finish(ax, None)


def _apart(heights: npt.NDArray[np.float64], gap: float) -> npt.NDArray[np.float64]:
    """Move heights as little as possible so that they are a gap apart, by isotonic regression."""
    order, steps = np.argsort(heights, kind="stable"), gap * np.arange(len(heights))
    wanted, n = heights[order] - steps, len(heights)
    moved = np.empty(n)
    moved[order] = steps + [
        max(min(wanted[j:k].mean() for k in range(i + 1, n + 1)) for j in range(i + 1)) for i in range(n)
    ]
    return moved
