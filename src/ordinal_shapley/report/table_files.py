"""The table of a result as a file."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from os import PathLike
from typing import TYPE_CHECKING

from ordinal_shapley.common.arguments import file_name
from ordinal_shapley.common.files import replacing

if TYPE_CHECKING:
    import pandas as pd

    from ordinal_shapley.valuation.result import Valuation

_INDEX = "player"  # name of the column of player names in a file


def write_csv(valuation: Valuation, path: str | PathLike[str], level: float) -> None:
    """Write the table as CSV, at full precision."""
    file_name("path", path)
    frame = _named_frame(valuation, level)
    with replacing(path) as temporary:
        frame.to_csv(temporary)


def write_parquet(valuation: Valuation, path: str | PathLike[str], level: float) -> None:
    """Write the table as Parquet; names of mixed types become texts."""
    from pandas.api.types import infer_dtype

    file_name("path", path)
    if find_spec("pyarrow") is None:
        raise ImportError("to_parquet needs pyarrow; install it with: pip install 'ordinal-shapley[parquet]'")
    frame = _named_frame(valuation, level)
    names = list(frame.index.names)
    frame = frame.reset_index()
    for name in names:
        labels = frame[name]
        if labels.dtype == object and infer_dtype(labels, skipna=True) in ("mixed", "mixed-integer"):
            warnings.warn("labels of mixed types are written as strings", stacklevel=3)
            frame[name] = labels.map(str)
    with replacing(path) as temporary:
        frame.set_index(names).to_parquet(temporary, engine="pyarrow")


def _named_frame(valuation: Valuation, level: float) -> pd.DataFrame:
    """Return the table with named index columns, several for names that are tuples of one length."""
    frame = valuation.to_frame(level)
    if frame.index.nlevels == 1:
        return frame.rename_axis(_INDEX)
    return frame.rename_axis([f"{_INDEX}_{level}" for level in range(frame.index.nlevels)])
