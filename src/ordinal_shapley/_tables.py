"""What the command line values: tables read, checked, split and encoded."""

from __future__ import annotations

import csv
import difflib
import warnings
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

# More classes than this, or floats with more distinct values than the second, is no classification.
_MOST_CLASSES = 100
_MOST_FLOATS = 20


@dataclass(frozen=True, eq=False)
class Table:
    """Features and classes, with what is needed to name a row in an error.

    Attributes
    ----------
    name : str
        The file's or the data set's name.
    frame : pandas.DataFrame
        The features; the index is what the result calls the rows by.
    target : pandas.Series
        The classes, on the same index.
    path : Path or None
        The file, if there is one.
    """

    name: str
    frame: pd.DataFrame
    target: pd.Series
    path: Path | None = None

    def name_row(self, label: Hashable) -> str:
        """Return the words for a row: its index and, for a file, its line."""
        if self.path is None:
            return f"row {label}"
        return f"row {label} (line {_line(self.path, label)} of {self.name})"

    def take(self, rows: npt.NDArray[np.intp]) -> Table:
        """Return the rows at these positions."""
        return Table(self.name, self.frame.iloc[rows], self.target.iloc[rows], self.path)


@dataclass(frozen=True, eq=False)
class Problem:
    """What a `LogisticGame` takes; the index of `X` is what the result calls the rows by."""

    name: str
    X: pd.DataFrame
    y: npt.NDArray[Any]
    X_valid: pd.DataFrame
    y_valid: npt.NDArray[Any]


def read_csv(path: Path, target: str, text: tuple[str, ...] = ()) -> Table:
    """Read a training or validation file; the columns in `text` are read as text."""
    if not path.exists():
        raise ValueError(f"there is no file {str(path)!r}")
    if path.is_dir():
        raise ValueError(f"{str(path)!r} is a folder, not a CSV file")

    import pandas as pd

    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            header = next(csv.reader(stream), [])
        if not header:
            raise ValueError(f"{path.name} is empty")
        repeated = sorted({name for name in header if header.count(name) > 1})
        if repeated:
            raise ValueError(f"{path.name} has more than one column {repeated[0]!r}")
        with warnings.catch_warnings():
            # Rows longer than the header would silently lose their last entries.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            whole = pd.read_csv(
                path,
                encoding="utf-8-sig",
                index_col=False,
                low_memory=False,
                dtype={name: str for name in text if name in header},
            )
    except (pd.errors.ParserError, pd.errors.ParserWarning, csv.Error) as error:
        reason = str(error).strip().splitlines()[0]
        raise ValueError(f"{path.name} can't be read as CSV: {reason}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path.name} is not UTF-8 text: {error.reason}") from error
    if target not in whole.columns:
        close = difflib.get_close_matches(target, list(whole.columns), n=3, cutoff=0.5)
        hint = " or ".join(repr(name) for name in close)
        columns = ", ".join(map(str, whole.columns[:12])) + ", ..." * (whole.shape[1] > 12)
        raise ValueError(
            f"--target: {path.name} has no column {target!r}; "
            + (f"did you mean {hint}?" if close else f"its columns are {columns}")
        )
    if not len(whole):
        raise ValueError(f"{path.name} has a header but no rows")
    return Table(path.name, whole.drop(columns=target), whole[target], path)


def check_classes(table: Table) -> Table:
    """Return the table with classes that are text or integers, or say why they are no classes."""
    from pandas.api import types

    target = table.target
    absent = target.isna().to_numpy()
    if absent.any():
        row = table.name_row(target.index[int(absent.argmax())])
        raise ValueError(f"{row}, column {target.name!r}: the class is missing")
    distinct = target.nunique()
    numeric = types.is_numeric_dtype(target.dtype) and not types.is_bool_dtype(target.dtype)
    whole = numeric and bool((target == target.round()).all())
    if numeric and distinct > (_MOST_CLASSES if whole else _MOST_FLOATS):
        raise ValueError(
            f"--target: column {target.name!r} holds {distinct:,} different numbers, which looks "
            "like regression; values are for classification, so name a column of classes"
        )
    if distinct > max(_MOST_CLASSES, len(target) // 2):
        raise ValueError(
            f"--target: column {target.name!r} has {distinct:,} different labels in "
            f"{len(target):,} rows; name a column of classes"
        )
    if whole and np.isfinite(target.to_numpy(dtype=float)).all():
        return Table(table.name, table.frame, target.astype(np.int64), table.path)
    return Table(table.name, table.frame, target.astype(str), table.path)


def draw(table: Table, rows: int, seed: int) -> Table:
    """Return that many rows, each class in proportion, in the order of the table."""
    if rows > len(table.frame):
        raise ValueError(f"--rows: {table.name} has {len(table.frame):,} rows, {rows:,} were asked for")
    if rows == len(table.frame):
        return table
    return split(table, 1.0 - rows / len(table.frame), seed, option="--rows", kept=rows)[0]


def split(
    table: Table,
    fraction: float,
    seed: int,
    *,
    option: str = "--valid-fraction",
    kept: int | None = None,
) -> tuple[Table, Table]:
    """Split off a stratified fraction; both parts stay in the order of the table."""
    from sklearn.model_selection import train_test_split

    counts = table.target.value_counts()
    if counts.min() < 2:
        raise ValueError(
            f"{option}: class {counts.idxmin()!r} has a single row, so no split has every class on "
            "both sides; give validation rows with --valid or leave that class out"
        )
    try:
        parts = train_test_split(
            np.arange(len(table.target)),
            train_size=kept,
            test_size=None if kept else fraction,
            stratify=table.target,
            random_state=seed % 2**32,  # scikit-learn takes no more bits
        )
    except ValueError as error:
        raise ValueError(
            f"{option}: {len(table.target):,} rows in {len(counts)} classes are too few for this "
            "split with every class on both sides"
        ) from error
    first, second = (table.take(np.sort(part)) for part in parts)
    return first, second


def encode(train: Table, valid: Table, *, raw: bool) -> Problem:
    """Encode both tables with what the training table teaches, after the last checks."""
    import pandas as pd

    from ordinal_shapley.encoding import Encoder

    classes = set(train.target)
    if len(classes) < 2:
        raise ValueError(
            f"--target: column {train.target.name!r} of {train.name} has only one class, "
            f"{next(iter(classes))!r}; at least two are needed"
        )
    y, y_valid = (np.asarray(table.target) for table in (train, valid))
    if y.dtype.kind != "i" or y_valid.dtype.kind != "i":
        y, y_valid = y.astype(np.str_), y_valid.astype(np.str_)
    unknown = ~np.isin(y_valid, y)
    if unknown.any():
        first = int(unknown.argmax())
        raise ValueError(
            f"{valid.name_row(valid.target.index[first])}: the validation class "
            f"{y_valid[first].item()!r} never occurs in training"
        )
    encoder = Encoder(raw=raw).fit(train.frame, name_row=train.name_row)
    X, X_valid = (
        pd.DataFrame(
            encoder.transform(table.frame, name_row=table.name_row),
            index=table.frame.index,
            columns=encoder.feature_names_out(),
        )
        for table in (train, valid)
    )
    return Problem(train.name, X, y, X_valid, y_valid)


def text_columns(table: Table) -> tuple[str, ...]:
    """Return the columns that hold text: a validation file must not read them as numbers."""
    from pandas.api import types

    columns = {**{str(name): table.frame[name] for name in table.frame}}
    columns[str(table.target.name)] = table.target
    return tuple(name for name, column in columns.items() if not types.is_numeric_dtype(column.dtype))


def _line(path: Path, position: Hashable) -> int | str:
    """Return the first line of a record: quoted line breaks and blank lines make them differ."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        reader = csv.reader(stream)
        start, record = 1, -1
        for fields in reader:
            if fields:
                if record == position:
                    return start
                record += 1
            start = reader.line_num + 1
    return "?"
