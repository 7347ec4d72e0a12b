"""The credit of channels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ordinal_shapley.plots._axes import axes_for, finish, names_of_players

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd
    from matplotlib.axes import Axes

_SHOWN = 30
_POSITIONS = 5  # the other channels together
_HATCHES = ("", "", "///", "", "...", "xx")


def plot_credit(credit: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the credit of each channel as a bar, the highest on top, and its 95 % interval if there is one.

    By position a bar has a part for each position, the first nearest to 0; parts below 0 go to the left. More
    than 30 channels, or more than 5 positions, are put together.

    Parameters
    ----------
    credit : DataFrame
        What `JourneyGame.credit` returns, by position or not, with a bootstrap or without.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure is made.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> game = osv.JourneyGame.from_paths(["ad > mail", "ad"], [30, 10], [70, 90])
    >>> ax = osv.plots.plot_credit(game.credit(by_position=True))
    >>> [name.get_text() for name in ax.get_yticklabels()]
    ['ad', 'mail']
    """
    parts, names, ends = _parts_of(credit)
    ax = axes_for("plot_credit", ax, (6.4, 4.2))
    at = np.arange(len(names))
    left, right = np.zeros((2, len(names)))
    for k, (name, part) in enumerate(parts.items()):
        starts = np.where(part < 0, left, right)
        plain = 0.35 if ends is None else 0.7
        grey = 0.15 + 0.75 * k / max(1, len(parts) - 1) if len(parts) > 1 else plain
        ax.barh(
            at, part, left=starts, height=0.7, color=str(grey), hatch=_HATCHES[k], edgecolor="black",
            linewidth=0.6, label=name,
        )  # fmt: skip
        left += np.minimum(part, 0.0)
        right += np.maximum(part, 0.0)
    total, reached = left + right, right
    if ends is not None:
        known = np.flatnonzero(~np.isnan(ends[0]))
        ax.hlines(known, *ends[:, known], color="black", linewidth=1.2)
        ax.plot(ends[:, known], [known, known], color="black", linestyle="none", marker="|", markersize=7)
        reached = np.fmax(right, ends[1])
    for row, number in enumerate(total.tolist()):
        text = f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.4g}"
        ax.annotate(
            text, (reached[row], row), (4, 0), textcoords="offset points", va="center", fontsize="small"
        )
    ax.axvline(0.0, color="black", linewidth=0.8)
    ax.margins(x=0.12)
    if not left.any() and (ends is None or not (ends < 0.0).any()):
        ax.set_xlim(left=0.0)
    ax.invert_yaxis()
    ax.set_yticks(at, names, fontsize="small")
    ax.set_xlabel("conversions credited" + ", with 95 % CI" * (ends is not None))
    return finish(ax, "lower right" if len(parts) > 1 else None, max_inside=0, title="position")


def _parts_of(
    credit: Any,
) -> tuple[dict[str, npt.NDArray[np.float64]], list[str], npt.NDArray[np.float64] | None]:
    """Return the parts of the bars by name, and the names and intervals of the bars, the highest first."""
    if not hasattr(credit, "columns"):
        raise TypeError(
            f"credit is a {type(credit).__name__}, expected the frame that JourneyGame.credit returns"
        )
    plain = "credit" in credit.columns
    if not len(credit) or not (plain or credit.columns.name == "position"):
        raise ValueError(
            f"credit has {len(credit)} rows and the columns {', '.join(map(str, credit.columns))}, expected "
            "the frame that JourneyGame.credit returns"
        )
    cells = credit[["credit"]].to_numpy() if plain else credit.to_numpy()
    order = np.argsort(-cells.sum(axis=1), kind="stable")
    cells = cells[order]
    names = names_of_players(credit.index, len(credit))
    names = [names[row] for row in order]
    ends = credit[["ci_low", "ci_high"]].to_numpy()[order].T if "ci_low" in credit.columns else None
    if len(names) > _SHOWN:
        rest = len(names) - _SHOWN + 1
        cells = np.vstack([cells[:-rest], cells[-rest:].sum(axis=0)])
        names = [*names[:-rest], f"{rest:,} others"]
        if ends is not None:
            ends = np.column_stack([ends[:, :-rest], [np.nan, np.nan]])
    columns = ["credit"] if plain else [str(position) for position in credit.columns]
    if len(columns) > _POSITIONS + 1:
        cells = np.column_stack([cells[:, :_POSITIONS], cells[:, _POSITIONS:].sum(axis=1)])
        columns = [*columns[:_POSITIONS], f"{columns[_POSITIONS]} to {columns[-1]}"]
    return dict(zip(columns, cells.T, strict=True)), names, ends
