"""Pictures in files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ordinal_shapley.common.files import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def write_picture(path: Path, size: tuple[float, float], draw: Callable[[Axes], Any]) -> None:
    """Write the picture of `draw`, without a window; the bytes of an SVG are reproducible."""
    import matplotlib
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    draw(figure.subplots())
    metadata = {"Date": None} if path.suffix.lower() == ".svg" else None
    with replacing(path) as temporary, matplotlib.rc_context({"svg.hashsalt": path.stem}):
        figure.savefig(temporary, dpi=150, metadata=metadata)
