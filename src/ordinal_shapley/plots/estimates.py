"""Estimates against exact values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common import arrays, frames
from ordinal_shapley.common.names import shorten
from ordinal_shapley.plots._axes import axes_for, drawn, finish, line_style, named, names_of_players

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MAX_NAMED = 8  # maximum number of players whose names fit beside their points


def plot_estimates(exact: Any, estimates: Any, *, ax: Axes | None = None, level: float = 0.95) -> Axes:
    """Draw estimates, with their intervals, against exact values.

    Good estimates lie on the diagonal, and about a share ``level`` of unbiased ones have intervals that cross
    it.

    Parameters
    ----------
    exact : ExactValues, Valuation or array-like of shape (n_players,)
        The values to compare with: exact ones, or those of a much longer run. Players with names are matched
        by these.
    estimates : Valuation or dict of str to Valuation
        One estimate, or several by name.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure is made.
    level : float, default 0.95
        Level of the intervals.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on. Players without a value (NaN) are left out.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> game = osv.TableGame(3, {(0,): 1.0, (0, 1): 3.0, (2, 1): -1.0}, names=["ann", "bob", "cy"])
    >>> exact = osv.exact_values(game)
    >>> ax = osv.plots.plot_estimates(exact, osv.sample_values(game, n_permutations=200, random_state=0))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('exact value', 'estimate')
    """
    if isinstance(estimates, Mapping) and any(isinstance(one, list | tuple) for one in estimates.values()):
        raise TypeError("estimates holds a list, expected a Valuation, or a dictionary of names to them")
    groups = named(estimates, "estimates", "Valuation", "confidence_interval")
    x = arrays.as_numbers(arrays.as_array(getattr(exact, "values", exact), "exact"), "exact")
    if x.ndim != 1 or x.size == 0:
        raise ValueError(f"exact has shape {x.shape}, expected one value for each player")
    exact_by: dict[str, NDArray[np.float64]] = {}  # in the order of each estimate's players
    for name, (valuation, *more) in groups.items():
        if more:
            raise TypeError("estimates is a list, expected a Valuation, or a dictionary of names to them")
        if len(valuation.values) != len(x):
            raise ValueError(
                f"estimates has {len(valuation.values)} players, expected {len(x)}, as exact has"
            )
        order = frames.order_like(exact, valuation, "exact", "estimates")
        exact_by[name] = x if order is None else x[order]
    # Monte Carlo errors, because exact values are for the same validation rows.
    intervals = {
        name: group[0].confidence_interval(level, errors="monte_carlo") for name, group in groups.items()
    }

    ax = axes_for("plot_estimates", ax, (5.2, 4.6))
    size = float(np.clip(60 / np.sqrt(len(x)), 2.5, 6.0))
    for index, (name, (valuation,)) in enumerate(groups.items()):
        style, x = line_style(index), exact_by[name]
        low, high = intervals[name]
        known = np.isfinite(low) & np.isfinite(x)
        ax.vlines(
            x[known], low[known], high[known], color=style["color"], alpha=0.35, zorder=2,
            linewidth=float(np.clip(40 / len(x), 0.6, 1.6)),
        )  # fmt: skip
        ax.plot(
            x, valuation.values, linestyle="none", marker=style["marker"], markersize=size, zorder=3,
            color=style["color"], markerfacecolor=style["markerfacecolor"], markeredgewidth=0.8,
            label=drawn(shorten(name)) if name else "estimate",
        )  # fmt: skip
    ax.axline((float(np.nanmean(x)),) * 2, slope=1.0, color="black", linewidth=0.9, linestyle="--", zorder=1)
    few = len(x) <= _MAX_NAMED
    if few:
        key, (first,) = next(iter(groups.items()))
        x = exact_by[key]
        middle = (np.nanmin(x) + np.nanmax(x)) / 2
        for player, name in enumerate(names_of_players(first.player_names, len(x))):
            if np.isfinite(x[player]) and np.isfinite(first.values[player]):
                left = x[player] <= middle
                ax.annotate(
                    name, (x[player], first.values[player]), xytext=(7, -3) if left else (-7, -3),
                    textcoords="offset points", ha="left" if left else "right", fontsize="small",
                )  # fmt: skip
    ax.plot([], [], color="black", linewidth=0.9, linestyle="--", label="estimate = exact value")
    ax.vlines([], 0, 0, color="0.6", linewidth=1.6, label=f"{100 * level:g} % interval")
    ax.locator_params(axis="x", nbins=6)
    ax.set_xlabel("exact value")
    ax.set_ylabel("estimate")
    ax.set_title("Estimates against exact values", fontsize="medium")
    return finish(ax, "best" if few else "upper left")
