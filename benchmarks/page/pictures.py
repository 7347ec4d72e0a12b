"""Pictures of cost against size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.results import entries, seconds_each
from page.large import patience_seconds

_OURS, _BASELINE, _GREY = "#1b6ca8", "#c8553d", "#999999"
_NAMES = {"rows": "training rows", "features": "features", "classes": "classes"}


def _points(run: dict[str, Any], axis: str) -> list[tuple[int, float, float | None]]:
    """Return size, our seconds a unit and liblinear's, by size."""
    found = [entry for entry in entries(run, "scaling") if entry["extra_info"]["axis"] == axis]
    return sorted(
        (
            entry["extra_info"]["size"],
            seconds_each(entry),
            entry["extra_info"]["baselines"].get("liblinear"),
        )
        for entry in found
    )


def _tidy(axes: Any, sizes: list[int], xlabel: str, ylabel: str) -> None:
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes], fontsize=9)
    axes.minorticks_off()
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_cost(run: dict[str, Any], path: Path) -> None:
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter

    figure = Figure(figsize=(11, 3.6), layout="constrained")
    panels = figure.subplots(1, 3, sharey=True)
    for axes, (axis, name) in zip(panels, _NAMES.items(), strict=True):
        points = _points(run, axis)
        sizes = [size for size, _, _ in points]
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.plot(sizes, [1e6 * theirs for _, _, theirs in points if theirs], "s-", color=_BASELINE)
        axes.plot(sizes, [1e6 * ours for _, ours, _ in points], "o-", color=_OURS)
        _tidy(axes, sizes, name, "µs a fit" if axis == "rows" else "")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    panels[0].legend(["liblinear alone", "ordinal-shapley"], frameon=False)
    figure.savefig(path, dpi=120)


def _draw_scale(run: dict[str, Any], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    walks = [
        (entry["extra_info"]["rows"], 1e3 * patience_seconds(entry)) for entry in entries(run, "patience")
    ]
    left.set_xscale("log")
    left.plot([n for n, _ in walks], [cost for _, cost in walks], "o-", color=_OURS)
    _tidy(left, [n for n, _ in walks], "training rows of Adult", "ms a permutation, patience rule")
    left.set_ylim(0, 1.1 * max(cost for _, cost in walks))
    points = _points(run, "workers")
    workers = [size for size, _, _ in points]
    rates = [1.0 / seconds for _, seconds, _ in points]
    right.plot(
        workers, [rates[0] * k / workers[0] for k in workers], "--", color=_GREY, label="in proportion"
    )
    right.plot(workers, rates, "o-", color=_OURS, label="measured")
    _tidy(right, workers, "workers", "permutations a second, WDBC")
    right.set_ylim(0, 1.1 * max(rates[0] * workers[-1] / workers[0], *rates))
    right.legend(frameon=False)
    figure.savefig(path, dpi=120)


def captions(run: dict[str, Any]) -> dict[str, str]:
    """Return the captions of the pictures of a run, by file name."""
    files = {}
    if _points(run, "rows"):
        files["benchmark_cost.png"] = "Microseconds a fit against rows, features and classes"
    if entries(run, "patience") and _points(run, "workers"):
        files["benchmark_scale.png"] = "Cost of a permutation against rows, and permutations against workers"
    return files


def draw(run: dict[str, Any], images: Path) -> None:
    """Draw the pictures of a run."""
    images.mkdir(parents=True, exist_ok=True)
    draws = {"benchmark_cost.png": _draw_cost, "benchmark_scale.png": _draw_scale}
    for name in captions(run):
        draws[name](run, images / name)
