"""The contribution of players at each position."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ordinal_shapley.plots._axes import axes_for, finish, names_of_players

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LABELLED_PLAYERS = 40  # up to this number each player's name fits beside its row
_WRITTEN_INCHES = 0.75  # a number fits into a cell of this width


def plot_profile(result: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the expected contribution of each player at each position as a grey heat map.

    A row is a player, the one with the highest value on top; a column is a position. Darker is more. Cells
    without data are hatched.

    Parameters
    ----------
    result : Valuation or ExactValues
        Computed with ``position_profile=True``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure is made.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on, beside those of the scale. With many cells the scale ends where one contribution in
        200 lies beyond, which is marked by an arrow.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> game = osv.TableGame(3, {(0,): 1.0, (0, 1): 3.0, (2, 1): -1.0}, names=["ann", "bob", "cy"])
    >>> ax = osv.plots.plot_profile(osv.exact_values(game, position_profile=True))
    >>> [name.get_text() for name in ax.get_yticklabels()]
    ['ann', 'bob', 'cy']
    """
    if not hasattr(result, "position_profile"):
        raise TypeError(f"result is a {type(result).__name__}, expected a Valuation or ExactValues")
    if result.position_profile is None:
        raise ValueError("result has no position profile, expected one computed with position_profile=True")
    order = np.argsort(-np.asarray(result.values), kind="stable")
    cells = np.asarray(result.position_profile)[order]
    n = len(cells)
    known = cells[np.isfinite(cells)]
    if not known.size:
        raise ValueError("result has a position profile without any number, expected more permutations")

    ax = axes_for("plot_profile", ax, (6.4, 5.0))
    from matplotlib.ticker import MaxNLocator

    low, high = float(known.min()), float(known.max())
    extend = "neither"
    if known.size > 1_000:  # otherwise cells with few samples would determine the scale
        ends = np.quantile(known, [0.005, 0.995])
        beyond = (low < ends[0], high > ends[1])
        extend = {(True, True): "both", (True, False): "min", (False, True): "max"}.get(beyond, "neither")
        low, high = map(float, ends)
    image = ax.imshow(np.ma.masked_invalid(cells), cmap="Greys", vmin=low, vmax=high, aspect="auto")
    label = "expected contribution"
    if known.size < cells.size:
        ax.patch.set(facecolor="white", edgecolor="0.5", hatch="xxx")
        label += "\n(hatched: never seen there)"
    scale = ax.figure.colorbar(image, ax=ax, extend=extend, label=label)
    if low < 0 < high:
        scale.ax.axhline(0.0, color="#D55E00", linewidth=1.2)
        scale.ax.axhline(0.0, color="white", linewidth=1.2, linestyle=(0, (2, 2)))
    width = ax.get_window_extent().width / ax.figure.dpi / n
    if width >= _WRITTEN_INCHES:
        middle = (low + high) / 2
        for (row, column), cell in np.ndenumerate(cells):
            if np.isfinite(cell):
                ink = "white" if cell > middle else "black"
                ax.text(column, row, f"{cell:.2g}", ha="center", va="center", color=ink, fontsize="small")
    ax.set_xlabel("position in the order (0 enters first)")
    if n <= _LABELLED_PLAYERS:
        names = names_of_players(result.player_names, n)
        ax.set_yticks(np.arange(n), [names[player] for player in order], fontsize="small")
        ax.set_ylabel("player")
    else:
        ax.set_ylabel("players, the highest value on top")
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    kind = result.kind.title.lower()
    ax.set_title(f"{kind.capitalize()} Shapley value by position", fontsize="medium", wrap=True)
    return finish(ax, "upper right")
