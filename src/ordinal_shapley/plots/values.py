"""Values with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ordinal_shapley.common import arrays, frames
from ordinal_shapley.plots._axes import MARKERS, axes_for, drawn, finish, names_of_players, player_mask

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    from matplotlib.axes import Axes

    from ordinal_shapley.valuation.result import Valuation

_LABELLED_PLAYERS = 30  # up to this number each player's label fits under its point
_NAMED = 5  # with more players, as far as there is room
_ROOM = 50  # characters


def plot_values(
    valuation: Valuation,
    *,
    ax: Axes | None = None,
    level: float = 0.95,
    highlight: Sequence[int] | npt.NDArray[np.integer[Any]] | None = None,
    classes: Sequence[Any] | npt.NDArray[Any] | None = None,
) -> Axes:
    """Draw the values from the lowest to the highest, each with its confidence interval.

    The drawing uses greys and shapes only, so it survives a black and white printer. Players
    without a value (NaN, never sampled) are left out.

    Parameters
    ----------
    valuation : Valuation
        The values to draw.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure is made.
    level : float, default 0.95
        Level of the intervals.
    highlight : sequence of int, optional
        Player indices to ring, for instance rows known to be mislabelled.
    classes : sequence, optional
        One class per player; each class gets a marker of its own, unless there are more than 10. A Series is
        matched with the names of the players by its index.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on; ``ax.figure.savefig(path)`` writes the picture.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> wine = osv.datasets.load_wine()
    >>> model = osv.PartialOrdinalShapley(n_permutations=50, random_state=0).fit(wine.X, wine.y)
    >>> ax = osv.plots.plot_values(model.valuation_, classes=wine.y)
    >>> ax.get_ylabel()
    'value'
    """
    if not hasattr(valuation, "confidence_interval"):
        raise TypeError(
            f"valuation is a {type(valuation).__name__}, expected a Valuation, such as sample_values "
            "returns and a fitted estimator keeps as valuation_"
        )
    values = np.asarray(valuation.values)
    n = values.size
    ringed = player_mask(highlight, n, "highlight")
    if classes is not None and len(classes) != n:
        raise ValueError(f"classes has {len(classes)} values, expected one per player, {n}")
    by_name = None if classes is None else frames.order_like(classes, valuation, "classes", "valuation")
    low, high = valuation.confidence_interval(level)

    order = np.argsort(values, kind="stable")
    order = order[np.isfinite(values[order])]
    at = np.arange(1, order.size + 1)
    ax = axes_for("plot_values", ax, (8.0, 4.5))
    ax.axhline(0.0, color="black", linewidth=0.8, linestyle="--", zorder=2.5)
    known = np.isfinite(low[order]) & np.isfinite(high[order])
    if known.any():
        rows = order[known]
        width = float(np.clip(240 / max(order.size, 1), 0.5, 3.0))
        label = f"{100 * level:g} % interval"
        ax.vlines(at[known], low[rows], high[rows], color="0.72", linewidth=width, zorder=2, label=label)
    size = float(np.clip(2400 / max(order.size, 1), 7.0, 36.0))
    style: dict[str, Any] = {"s": size, "edgecolors": "black", "linewidths": 0.8, "zorder": 3}
    kinds, codes = arrays.encode(np.asarray([] if classes is None else classes), "classes")
    codes = codes if by_name is None else codes[by_name]
    if not 0 < len(kinds) <= len(MARKERS):
        ax.scatter(at, values[order], marker="o", facecolors="black", label="value", **style)
    else:
        for code, kind in enumerate(kinds):
            mine = codes[order] == code
            ax.scatter(
                at[mine], values[order][mine], marker=MARKERS[code], label=drawn(f"class {kind}"),
                facecolors="black" if code % 2 == 0 else "white", **style,
            )  # fmt: skip
    if ringed[order].any():
        marked = ringed[order]
        ax.scatter(
            at[marked], values[order][marked], marker="o", s=6 * size, facecolors="none", edgecolors="black",
            linewidths=1.2, zorder=4, label="highlighted",
        )  # fmt: skip
    ax.set_ylabel("value")
    ax.set_title(
        f"{valuation.kind.title} Shapley values from {valuation.n_permutations:,} permutations",
        fontsize="medium",
        wrap=True,
    )
    ax.margins(x=0.02)
    every = names_of_players(valuation.player_names, n)
    names = [every[player] for player in order]
    if order.size <= _LABELLED_PLAYERS:
        ax.set_xticks(at, names, rotation=90, fontsize="small")
        ax.set_xlabel("player")
    else:
        # Where to find the first of them in a table.
        ends = np.cumsum([len(name) + 2 for name in names[:_NAMED]])
        shown = ", ".join(names[: max(1, int((ends <= _ROOM).sum()))])
        ax.set_xlabel(f"players, lowest value first: {shown} … {names[-1]}")
    return finish(ax, "upper left", max_inside=8)
