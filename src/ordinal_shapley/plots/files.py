"""Pictures in files: figures without a window, and how they are written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ordinal_shapley.common.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def blank_figure(size: tuple[float, float]) -> Figure:
    """Return an empty figure, without a window, of so many inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save_figure(figure: Figure, path: Path, dpi: int = 150) -> None:
    """Write a picture; for an SVG the same bytes whenever it is drawn."""
    import matplotlib

    metadata = {"Date": None} if path.suffix.lower() == ".svg" else None
    with replacing(path) as temporary, matplotlib.rc_context({"svg.hashsalt": path.stem}):
        figure.savefig(temporary, dpi=dpi, metadata=metadata)
