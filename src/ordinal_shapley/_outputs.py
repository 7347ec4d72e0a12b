"""Files the command line writes: checked before the work starts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from ordinal_shapley._files import replacing

if TYPE_CHECKING:
    import pandas as pd

    from ordinal_shapley.valuation import Valuation

PICTURES = (".png", ".svg", ".pdf", ".jpg", ".jpeg", ".webp")


def check_writable(path: Path, option: str, inputs: tuple[Path | None, ...] = ()) -> None:
    """Raise unless the file can be written later and is none of the inputs."""
    if str(path) == "-":
        raise ValueError(f"{option}: '-' is no file name, and the screen is taken; name a file")
    if path.is_dir():
        raise ValueError(f"{option}: {str(path)!r} is a folder; give a file name")
    if path.exists() and not path.is_file():
        raise ValueError(f"{option}: {str(path)!r} is not an ordinary file")
    target = Path(os.path.realpath(path))
    if any(given is not None and Path(os.path.realpath(given)) == target for given in inputs):
        raise ValueError(f"{option}: {str(path)!r} is an input of this run and would be lost")
    if not target.parent.is_dir():
        raise ValueError(f"{option}: there is no folder {str(path.parent)!r}")
    try:
        # Trying is the only sure way: permissions don't tell about read-only or full disks.
        with replacing(path, keep=False):
            pass
    except OSError as error:
        reason = error.strerror or str(error)
        raise ValueError(f"{option}: can't write {str(path)!r}: {reason}") from error


def check_picture(path: Path, option: str) -> None:
    """Raise unless the picture's kind is known and can be drawn."""
    from importlib.util import find_spec

    if path.suffix.lower() not in PICTURES:
        raise ValueError(f"{option}: {path.name!r} must end with a kind of picture: {', '.join(PICTURES)}")
    if find_spec("matplotlib") is None:
        raise ValueError(f"{option} needs Matplotlib: pip install 'ordinal-shapley[plot]'")


def result_frame(valuation: Valuation, classes: npt.NDArray[Any]) -> pd.DataFrame:
    """Return the table of the CSV: the training rows in their order, with their classes."""
    frame = valuation.to_frame().rename_axis("row").drop(columns="count")
    frame.insert(0, "label", classes)
    return frame


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """Write the values, at full precision."""
    with replacing(path) as temporary:
        frame.to_csv(temporary)


def write_picture(valuation: Valuation, classes: npt.NDArray[Any], path: Path) -> None:
    """Draw the values, without a window."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from ordinal_shapley.plots import plot_values

    figure = Figure(figsize=(8.0, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    plot_values(valuation, ax=figure.subplots(), classes=classes)
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=150)
