"""The picture of cost against size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.results import entries, seconds_each

NAME = "benchmark_cost.png"
CAPTION = "Microseconds per fit against rows, features and classes"
_OURS, _BASELINE = "#1b6ca8", "#c8553d"
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


def draw(run: dict[str, Any], images: Path) -> None:
    """Draw the picture, if the run has its points."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter

    if not _points(run, "rows"):
        return
    images.mkdir(parents=True, exist_ok=True)
    figure = Figure(figsize=(11, 3.6), layout="constrained", facecolor="white")
    panels = figure.subplots(1, 3, sharey=True)
    for axes, (axis, name) in zip(panels, _NAMES.items(), strict=True):
        points = _points(run, axis)
        sizes = [size for size, _, _ in points]
        axes.set(xscale="log", yscale="log", xlabel=name)
        lines = {
            "liblinear alone": ([theirs for _, _, theirs in points], "s-", _BASELINE),
            "ordinal-shapley": ([ours for _, ours, _ in points], "o-", _OURS),
        }
        for label, (seconds, style, colour) in lines.items():
            known = [(size, 1e6 * cost) for size, cost in zip(sizes, seconds, strict=True) if cost]
            axes.plot(*zip(*known, strict=True), style, color=colour)
            if axes is panels[0]:
                at = known[len(known) // 2]
                axes.annotate(label, at, (0, -18), textcoords="offset points", ha="center", color=colour)
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes], fontsize=9)
        axes.minorticks_off()
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    panels[0].set_ylabel("µs per fit")
    figure.savefig(images / NAME, dpi=120)
