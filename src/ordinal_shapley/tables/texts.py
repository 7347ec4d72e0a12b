"""CSV files whose entries are taken as texts, to be read by the command that knows what they mean."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ordinal_shapley.tables.csv_faults import check_commas, check_file, describe_fault

if TYPE_CHECKING:
    import pandas as pd


def read_texts(path: Path, what: str) -> pd.DataFrame:
    """Read all columns of a CSV file as texts, and at least one row; `what` says of what it is."""
    check_file(path, what)
    import pandas as pd

    content = io.BytesIO(path.read_bytes())  # a pipe is read only once
    options: dict[str, Any] = {"dtype": str, "keep_default_na": False, "encoding": "utf-8-sig"}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            names = pd.read_csv(content, header=None, nrows=1, **options).iloc[0].tolist()
            check_commas(path.name, names)
            content.seek(0)
            frame: pd.DataFrame = pd.read_csv(content, index_col=False, **options)
    except (
        pd.errors.EmptyDataError,
        pd.errors.ParserError,
        pd.errors.ParserWarning,
        UnicodeDecodeError,
    ) as error:
        raise ValueError(describe_fault(path.name, error)) from error
    # Pandas gives the second another name. Columns without one are what a spreadsheet leaves behind.
    twice = [name for k, name in enumerate(names) if name and name in names[:k]]
    if twice:
        raise ValueError(f"{path.name} has more than one column {twice[0]!r}")
    if not len(frame):
        raise ValueError(f"{path.name} has a header but no rows")
    return frame
