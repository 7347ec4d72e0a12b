"""The pictures of the page: the paper's Figures 2 and 3, detection, and the comparison of values."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ordinal_shapley.plots import plot_detection, plot_removal
from paper.comparison import VALUES
from paper.markdown import DATASETS
from paper.methods import NAMES
from paper.runs import Results

_MARKERS = {"partial_ordinal": ("s", "white"), "ordinal": ("o", "black"), "classic": ("^", "0.65")}


def draw_all(results: Results, folder: Path) -> None:
    """Draw every picture of the page."""
    pictures = {
        "values": draw_values,
        "removal": draw_removal,
        "noisy": draw_noisy,
        "detection": draw_detection,
    }
    for name, draw in pictures.items():
        draw(results).savefig(folder / f"reproduction-{name}.png", dpi=110)


def _panels(n_rows: int, n_columns: int, size: tuple[float, float]) -> tuple[Figure, Any]:
    """Return a figure, and its axes as a grid."""
    figure = Figure(figsize=(size[0] * n_columns, size[1] * n_rows), layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, squeeze=False)


def _runs_of(
    results: Results, dataset: str, noisy: bool, methods: Sequence[str], what: str
) -> dict[str, Any]:
    """Return curves or detections of each method, a list of runs by its name."""
    found: dict[str, list[Any]] = {NAMES[method]: [] for method in methods}
    for result in results.methods:
        mine = result.task.dataset, result.task.noisy, result.task.protocol
        if mine == (dataset, noisy, "paper") and result.outcome.method in methods:
            found[NAMES[result.outcome.method]].append(getattr(result, what))
    return found


def draw_removal(results: Results) -> Figure:
    """Draw the paper's Figure 2: rows removed from the highest value down, labels as published."""
    figure, panels = _grid(results, (5.0, 3.0))
    methods = ("tmc", "cmc", "ctmc", "ordinal", "random")
    for dataset, ax in panels.items():
        plot_removal(_runs_of(results, dataset, False, methods, "curves"), first="high", ax=ax)
        ax.set_title(DATASETS[dataset])
    return figure


def draw_noisy(results: Results) -> Figure:
    """Draw the paper's Figure 3 under wrong labels beside other values: a row for each data set.

    A panel has one method: rows removed from both ends.
    """
    datasets, methods = results.settings.datasets, ("tmc", "cmc", "ctmc", "ordinal", "classic", "oob")
    figure = Figure(figsize=(10.6, 2.0 * len(datasets)), layout="constrained")
    axes = figure.subplots(len(datasets), len(methods), squeeze=False, sharex=True, sharey="row")
    for row, dataset in zip(axes, datasets, strict=True):
        for ax, method in zip(row, methods, strict=True):
            (runs,) = _runs_of(results, dataset, True, (method,), "curves").values()
            plot_removal(runs, first="both", ax=ax)
            for text in ax.texts:
                text.remove()
            for line in ax.lines:
                line.set_marker("")  # which would hide dashes in so small a panel
            ax.set(title="", xlabel="", ylabel="")
            ax.grid(color="0.92", linewidth=0.6)
        row[0].set_ylabel(DATASETS[dataset])
    for ax, method in zip(axes[0], methods, strict=True):
        ax.set_title(NAMES[method], fontsize="medium")
    figure.supxlabel(
        "training rows removed (%): highest values first (solid), lowest first (dashed)", fontsize="medium"
    )
    figure.supylabel("accuracy on the test set", fontsize="medium")
    return figure


def draw_detection(results: Results) -> Figure:
    """Draw wrong labels found against rows inspected, in the paper's setting."""
    figure, panels = _grid(results, (5.6, 3.4))
    for dataset, ax in panels.items():
        methods = ("tmc", "ordinal", "classic", "oob", "forest")
        plot_detection(_runs_of(results, dataset, True, methods, "detection"), ax=ax)
        ax.set_title(DATASETS[dataset])
    return figure


def draw_values(results: Results) -> Figure:
    """Draw the comparison of values: each run a small mark, their mean a large one."""
    datasets = results.settings.datasets
    figure, axes = _panels(len(datasets), 2, (5.2, 3.2))
    compared = pd.DataFrame(results.compared)
    for dataset, (left, right) in zip(datasets, axes, strict=True):
        for unit, ax in (("permutations", left), ("fits", right)):
            _draw_budgets(ax, compared[(compared["dataset"] == dataset) & (compared["unit"] == unit)])
            ax.set_title(f"{DATASETS[dataset]}: equal {unit if unit == 'permutations' else 'model fits'}")
            ax.sharey(left)
    _one_legend(figure, list(axes.ravel()), len(VALUES))
    return figure


def _draw_budgets(ax: Axes, compared: pd.DataFrame) -> None:
    places = list(dict.fromkeys(zip(compared["budget"], compared["walks"], strict=True)))
    areas = {key: runs["roc_auc"] for key, runs in compared.groupby(["value", "budget", "walks"])}
    for index, value in enumerate(VALUES):
        marker, fill = _MARKERS[value]
        means = []
        for place, (budget, walks) in enumerate(places):
            runs = areas[value, budget, walks]
            at = place + 0.24 * (index - 1)
            beside = at + 0.11 + np.linspace(-0.03, 0.03, len(runs))
            ax.plot(beside, runs, marker, color="0.35", markersize=3, markerfacecolor="none")
            means.append((at, runs.mean()))
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


def _one_legend(figure: Figure, panels: Sequence[Axes], max_columns: int) -> None:
    """Put the legend that the panels share below them, in as many columns as find room."""
    n_columns = min(max_columns, int(figure.get_figwidth() // 1.7))
    lines, names = panels[0].get_legend_handles_labels()
    for ax in panels:
        legend = ax.get_legend()
        if legend is not None:
            legend.remove()
    figure.legend(lines, names, loc="outside lower center", ncols=n_columns, handlelength=3.2, frameon=False)
