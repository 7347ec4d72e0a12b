"""Files the command line writes: checked before the work starts."""

from __future__ import annotations

import os
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ordinal_shapley.common.files import replacing

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from ordinal_shapley.valuation.result import Valuation

PICTURES = (".png", ".svg", ".pdf", ".jpg", ".jpeg", ".webp")


def check_outputs(outputs: dict[str, Path | None], inputs: tuple[Path | None, ...]) -> None:
    """Raise unless the files asked for, by option, can be written later, and no two are one."""
    taken: dict[str, str] = {}
    for option, path in outputs.items():
        if path is None:
            continue
        if option == "--plot":
            check_picture(path, option)
        if option == "--report" and find_spec("jinja2") is None:
            raise ValueError(f"{option} needs Jinja2: pip install 'ordinal-shapley[report]'")
        check_writable(path, option, inputs)
        other = taken.setdefault(os.path.realpath(path), option)
        if other != option:
            raise ValueError(f"{other} and {option} both name {str(path)!r}; give two files")


def check_writable(path: Path, option: str, inputs: tuple[Path | None, ...] = ()) -> None:
    """Raise unless the file can be written later and is none of the inputs."""
    if str(path) == "-":
        raise ValueError(f"{option}: '-' is no file name, and the screen is taken; name a file")
    if path.is_dir():
        raise ValueError(f"{option}: {str(path)!r} is a folder; give a file name")
    if path.exists() and not path.is_file():
        raise ValueError(f"{option}: {str(path)!r} is not an ordinary file")
    if path.exists() and _is_screen(path):
        raise ValueError(
            f"{option}: {str(path)!r} is where the screen goes and would be lost; name another file"
        )
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


def _is_screen(path: Path) -> bool:
    """Whether a file is the one that standard output or standard error goes to."""
    for descriptor in (1, 2):
        with suppress(OSError):  # closed
            if os.path.samestat(path.stat(), os.fstat(descriptor)):
                return True
    return False


def check_picture(path: Path, option: str) -> None:
    """Raise unless the picture's kind is known and can be drawn."""
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
    """Draw the values, without a window; targets that are numbers get no marks of their own."""
    from ordinal_shapley.plots import plot_values
    from ordinal_shapley.plots.files import blank_figure, save_figure

    figure = blank_figure((8.0, 4.5))
    plot_values(valuation, ax=figure.subplots(), classes=None if classes.dtype.kind == "f" else classes)
    save_figure(figure, path)
