"""How values converged during a run."""

from __future__ import annotations

import textwrap
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ordinal_shapley.common.arguments import number
from ordinal_shapley.plots._axes import FAINT, axes_for, label_ends, line_style, names_of_players, player_mask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from ordinal_shapley.sampling.history import History

_MAX_NAMED = 6  # maximum number of lines with distinct styles


def plot_convergence(
    history: History,
    *,
    ax: Axes | None = None,
    players: Sequence[int] | npt.NDArray[np.integer[Any]] | None = None,
    player_names: Sequence[Any] | npt.NDArray[Any] | None = None,
    level: float = 0.95,
) -> Axes:
    """Draw the value of every player against the number of permutations.

    Parameters
    ----------
    history : History
        What the run kept: pass it as ``stopping`` to `sample_values` or to an estimator.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure is made.
    players : sequence of int, optional
        Players to draw with a line style, an interval and a name of their own; the others are thin grey
        lines. By default all of up to six players, else the three highest and the three lowest at the end.
    player_names : sequence, optional
        Names of all players, such as ``valuation.player_names``.
    level : float, default 0.95
        Level of the intervals, of Monte Carlo noise.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> wine = osv.datasets.load_wine()
    >>> history = osv.History(osv.MaxPermutations(300))
    >>> model = osv.OrdinalShapley(stopping=history, random_state=0).fit(wine.X, wine.y)
    >>> ax = osv.plots.plot_convergence(history, player_names=model.valuation_.player_names)
    >>> ax.get_xlabel()
    'permutations'
    """
    _check_history(history)
    values, stderr, at = history.values, history.stderr, history.n_permutations
    n = values.shape[1]
    names = names_of_players(player_names, n)
    half = NormalDist().inv_cdf(0.5 + number("level", level, above=0.0, below=1.0) / 2) * stderr
    if players is None:
        order = np.argsort(-values[-1], kind="stable")
        order = order[np.isfinite(values[-1][order])]
        few = len(order) <= _MAX_NAMED
        chosen = order if few else order[np.r_[0 : _MAX_NAMED // 2, -(_MAX_NAMED // 2) : 0]]
    else:
        chosen = np.flatnonzero(player_mask(players, n, "players"))
        chosen = chosen[np.argsort(-values[-1][chosen], kind="stable")]
    ax = axes_for("plot_convergence", ax)
    others = np.setdiff1d(np.flatnonzero(np.isfinite(values).any(axis=0)), chosen)
    if others.size:
        width = float(np.clip(60 / others.size, 0.3, 0.8))
        lines = ax.plot(at, values[:, others], color=FAINT, linewidth=width, zorder=1)
        middle = np.argsort(values[-1, others])[np.isfinite(values[-1, others]).sum() // 2]
        lines[middle].set_label(f"{len(others):,} other player{'s' if len(others) > 1 else ''}")
    ax.axhline(0.0, color="black", linewidth=0.8, linestyle="--", zorder=1.5)
    for index, player in enumerate(chosen):
        style = line_style(index, len(at))
        low, high = (values[:, player] + sign * half[:, player] for sign in (-1, 1))
        ax.fill_between(at, low, high, color=style["color"], alpha=0.1, linewidth=0, zorder=2)
        ax.plot(at, values[:, player], label=names[player], zorder=3, **style)
    ax.set_xlabel("permutations")
    ax.set_ylabel("value")
    ax.set_title(
        f"Values as the run went on\n({100 * level:g} % intervals of Monte Carlo noise)", fontsize="medium"
    )
    return label_ends(ax)


def plot_stopping(history: History, *, ax: Axes | None = None) -> Axes:
    """Draw what the stopping rule of a run measured, and the limit at which it stops.

    Parameters
    ----------
    history : History
        What the run kept: pass it as ``stopping`` to `sample_values` or to an estimator.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure is made.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on; their scale is logarithmic where all that was measured is above 0.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> wine = osv.datasets.load_wine()
    >>> history = osv.History(osv.RelativeChange(0.05) | osv.MaxPermutations(500))
    >>> model = osv.OrdinalShapley(stopping=history, random_state=0).fit(wine.X, wine.y)
    >>> ax = osv.plots.plot_stopping(history)
    >>> ax.get_yscale()
    'log'
    """
    _check_history(history)
    at, limits = history.n_permutations, history.limits
    known = {name: np.where(np.isfinite(r), r, np.nan) for name, r in history.readings.items()}
    known = {name: reading for name, reading in known.items() if np.isfinite(reading).any()}
    if not known:
        raise ValueError(
            "history holds no stopping figure: expected a rule that measures one, such as "
            "RelativeChange, and a run longer than its window"
        )
    ax = axes_for("plot_stopping", ax)
    from matplotlib.ticker import LogLocator

    for index, (name, reading) in enumerate(known.items()):
        style = line_style(index, len(at))
        ax.plot(at, reading, label=name if len(known) > 1 else None, zorder=3, **style)
        ax.plot(
            at[[0, -1]], [limits[name]] * 2, color=style["color"], linewidth=0.9, linestyle=(0, (1, 3)),
            zorder=2, label=f"stops at {limits[name]:g}",
        )  # fmt: skip
    smallest = min(np.nanmin(reading) for reading in known.values())
    if smallest > 0 and min(limits[name] for name in known) > 0:
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_locator(LogLocator(subs=(2, 5)))
        ax.yaxis.set_minor_formatter("{x:g}")
    ax.set_xlabel("permutations")
    ax.set_ylabel(textwrap.fill(next(iter(known)), 24) if len(known) == 1 else "stopping figure")
    ax.set_title("What the stopping rule looked at", fontsize="medium")
    return label_ends(ax)


def _check_history(history: Any) -> None:
    if not hasattr(history, "readings"):
        raise TypeError(f"history is a {type(history).__name__}, expected a History that a run has used")
    if not len(history.n_permutations):
        raise ValueError("history is empty, expected one that was the stopping rule of a run")
