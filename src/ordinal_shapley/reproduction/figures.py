"""The pictures of a reproduction: the paper's Figures 2 and 3, detection, and the comparison of values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ordinal_shapley.plots import plot_detection, plot_removal
from ordinal_shapley.plots.files import blank_figure, save_figure
from ordinal_shapley.reproduction._markdown import DATASETS
from ordinal_shapley.reproduction.headline import VALUES
from ordinal_shapley.reproduction.methods import NAMES
from ordinal_shapley.reproduction.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS = ("png", "svg")
_MARKERS = {"partial_ordinal": ("s", "white"), "ordinal": ("o", "black"), "classic": ("^", "0.65")}


def draw_all(results: Results, folder: Path) -> list[str]:
    """Draw every picture there is data for, each as PNG and SVG; return their names."""
    pictures: dict[str, Callable[[Results], Figure]] = {
        "reproduction-values": draw_values,
        "reproduction-removal": draw_removal,
        "reproduction-noisy": draw_noisy,
        "reproduction-detection": draw_detection,
    }
    for name, draw in pictures.items():
        figure = draw(results)
        for kind in KINDS:
            save_figure(figure, folder / f"{name}.{kind}", dpi=110)
    return list(pictures)


def _panels(n_rows: int, n_columns: int, size: tuple[float, float]) -> tuple[Figure, Any]:
    """Return a figure, and its axes as a grid."""
    figure = blank_figure((size[0] * n_columns, size[1] * n_rows))
    return figure, figure.subplots(n_rows, n_columns, squeeze=False)


def _runs_of(
    results: Results, dataset: str, noisy: bool, methods: Sequence[str], what: str
) -> dict[str, Any]:
    """Return curves or detections of each method, a list of runs by its name."""
    found: dict[str, list[Any]] = {NAMES[method]: [] for method in methods}
    for result in results.methods:
        if (result.task.dataset, result.task.noisy) == (dataset, noisy) and result.outcome.method in methods:
            found[NAMES[result.outcome.method]].append(getattr(result, what))
    return found


def draw_removal(results: Results) -> Figure:
    """Draw the paper's Figure 2: rows removed from the highest value down, labels as published."""
    figure, panels = _grid(results, (5.0, 3.6))
    methods = ("tmc", "cmc", "ctmc", "ordinal", "random")
    for dataset, ax in panels.items():
        plot_removal(_runs_of(results, dataset, False, methods, "curves"), first="high", ax=ax)
        ax.set_title(DATASETS[dataset])
        ax.set_ylim(0, 1.02)
    _one_legend(figure, list(panels.values()), len(methods))
    return figure


def draw_noisy(results: Results) -> Figure:
    """Draw the paper's Figure 3, rows removed from both ends under wrong labels, beside other values."""
    datasets = results.settings.datasets
    figure, axes = _panels(len(datasets), 2, (5.0, 3.4))
    for column, methods in enumerate((("tmc", "cmc", "ctmc"), ("ordinal", "classic", "oob"))):
        for dataset, ax in zip(datasets, axes[:, column], strict=True):
            plot_removal(_runs_of(results, dataset, True, methods, "curves"), first="both", ax=ax)
            ax.set_title(DATASETS[dataset])
            ax.set_ylim(0, 1.02)
            ax.get_legend().remove()
        axes[-1, column].legend(
            loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, fontsize="small", handlelength=3.2,
            frameon=False,
        )  # fmt: skip
    return figure


def draw_detection(results: Results) -> Figure:
    """Draw wrong labels found against rows inspected, in the paper's setting."""
    figure, panels = _grid(results, (5.0, 4.0))
    for dataset, ax in panels.items():
        methods = ("tmc", "mc", "ordinal", "classic", "oob")
        plot_detection(_runs_of(results, dataset, True, methods, "detection"), ax=ax)
        ax.set_title(DATASETS[dataset])
        ax.set_ylim(-2, 102)
        ax.legend(loc="lower right", fontsize="x-small", handlelength=3.2, framealpha=0.7, edgecolor="none")
    return figure


def draw_values(results: Results) -> Figure:
    """Draw the comparison of values: each run a small mark, their mean a large one."""
    datasets = results.settings.datasets
    figure, axes = _panels(len(datasets), 2, (5.2, 3.2))
    for dataset, (left, right) in zip(datasets, axes, strict=True):
        found = [one for one in results.found if one.dataset == dataset]
        for unit, ax in (("permutations", left), ("fits", right)):
            _draw_budgets(ax, [one for one in found if one.unit == unit])
            ax.set_title(f"{DATASETS[dataset]}: equal {unit if unit == 'permutations' else 'model fits'}")
            ax.sharey(left)
    _one_legend(figure, list(axes.ravel()), len(VALUES))
    return figure


def _draw_budgets(ax: Axes, found: list[Any]) -> None:
    places = list(dict.fromkeys((one.budget, one.walks) for one in found))
    for index, value in enumerate(VALUES):
        marker, fill = _MARKERS[value]
        means = []
        for place, (budget, walks) in enumerate(places):
            areas = [
                one.roc_auc for one in found if (one.value, one.budget, one.walks) == (value, budget, walks)
            ]
            at = place + 0.24 * (index - 1)
            beside = at + 0.11 + np.linspace(-0.03, 0.03, len(areas))
            ax.plot(beside, areas, marker, color="0.35", markersize=3, markerfacecolor="none")
            means.append((at, float(np.mean(areas))))
        ax.plot(
            *np.transpose(means),
            marker,
            color="black",
            markersize=9,
            markerfacecolor=fill,
            label=f"{value.replace('_', ' ')} value, mean of runs",
        )
    ax.axhline(0.5, color="0.4", linewidth=0.9, linestyle=(0, (1, 3)))
    names = [
        f"{budget:,}" if len({w for _, w in places}) == 1 else f"{budget:,}\n{w}" for budget, w in places
    ]
    ax.set_xticks(range(len(places)), names)
    ax.set_xlim(-0.5, len(places) - 0.5)
    ax.set_ylabel("ROC AUC of wrong labels")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def _grid(results: Results, size: tuple[float, float]) -> tuple[Figure, dict[str, Axes]]:
    """Return a figure with axes for each data set, two a row."""
    datasets = results.settings.datasets
    n_columns = min(2, len(datasets))
    figure, axes = _panels(-(-len(datasets) // n_columns), n_columns, size)
    for spare in axes.ravel()[len(datasets) :]:
        spare.remove()
    return figure, dict(zip(datasets, axes.ravel(), strict=False))


def _one_legend(figure: Figure, panels: Sequence[Axes], most_columns: int) -> None:
    """Put the legend that the panels share below them, in as many columns as find room."""
    n_columns = min(most_columns, int(figure.get_figwidth() // 1.7))
    lines, names = panels[0].get_legend_handles_labels()
    for ax in panels:
        legend = ax.get_legend()
        if legend is not None:
            legend.remove()
    figure.legend(lines, names, loc="outside lower center", ncols=n_columns, handlelength=3.2, frameon=False)
