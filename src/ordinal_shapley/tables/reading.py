"""What the command line values: tables read, checked, split and encoded."""

from __future__ import annotations

import csv
import difflib
import re
import shlex
import warnings
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ordinal_shapley.tables.cautions import find_numberings, find_odd_texts
from ordinal_shapley.tables.csv_faults import check_commas, describe_fault
from ordinal_shapley.tables.encoding import Encoder
from ordinal_shapley.vocabulary import MISSING

if TYPE_CHECKING:
    import pandas as pd

# More classes than this, or floats with more distinct values than the second, is no classification.
_MOST_CLASSES = 100
_MOST_FLOATS = 20


@dataclass(frozen=True, eq=False)
class Table:
    """Features and targets, with what is needed to name a row in an error.

    Attributes
    ----------
    name : str
        The file's or the data set's name.
    frame : pandas.DataFrame
        The features; the index is what the result calls the rows by.
    target : pandas.Series
        The classes, or floats where numbers are to be predicted, on the same index.
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
    """What a game of training rows takes; the index of `X` is what the result calls the rows by.

    `frame` holds the training rows as they were read, `target` is the name of the column that says what is
    predicted.
    """

    name: str
    X: pd.DataFrame
    y: npt.NDArray[Any]
    X_valid: pd.DataFrame
    y_valid: npt.NDArray[Any]
    frame: pd.DataFrame
    target: str


def read_csv(
    path: Path,
    target: str,
    text: tuple[str, ...] = (),
    *,
    drop: Sequence[str] = (),
    training: bool = True,
) -> Table:
    """Read a file of rows; the columns in `text` are read as text, those in `drop` are left out.

    A training file must have the columns to drop, and is looked through for odd ones.
    """
    if not path.exists():
        raise ValueError(f"there is no file {str(path)!r}")
    if path.is_dir():
        raise ValueError(f"{str(path)!r} is a folder, not a CSV file")
    if not path.is_file():
        raise ValueError(f"{str(path)!r} is a pipe or a device, and is read more than once: use a file")

    import pandas as pd

    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            header = next((fields for _, fields in _records(stream)), [])
        if not header:
            raise ValueError(f"{path.name} is empty")
        check_commas(path.name, header)
        if any("\0" in name for name in header):
            raise ValueError(f"{path.name} has a NUL character in its header: it is no text file")
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
    except (pd.errors.ParserError, pd.errors.ParserWarning, csv.Error, UnicodeDecodeError) as error:
        raise ValueError(describe_fault(path.name, error)) from error
    if target not in whole.columns:
        raise ValueError(
            f"--target: {path.name} has no column {target!r}; {_hint(target, list(whole.columns))}"
        )
    if not len(whole):
        raise ValueError(f"{path.name} has a header but no rows")
    frame = whole.drop(columns=_index_columns(whole, header, target))
    table = leave_out(Table(path.name, frame.drop(columns=target), frame[target], path), drop, training)
    if training:
        _warn_of_columns(table.frame)
    return table


def leave_out(table: Table, columns: Sequence[str], strict: bool = True) -> Table:
    """Return a table without some columns; if `strict`, they must be there."""
    for name in columns:
        if name == str(table.target.name):
            raise ValueError(f"--drop: {name!r} is the column of --target")
        if strict and name not in table.frame:
            raise ValueError(f"--drop: {table.name} has no column {name!r}; {_hint(name, list(table.frame))}")
    kept = table.frame.drop(columns=list(columns), errors="ignore")
    return Table(table.name, kept, table.target, table.path)


def _hint(name: str, columns: list[Any]) -> str:
    """Say which columns there are: those called alike, or else the first."""
    names = [str(column) for column in columns]
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    return f"its columns are {', '.join(names[:12])}{', ...' * (len(names) > 12)}"


def _index_columns(whole: pd.DataFrame, header: list[str], target: str) -> list[str]:
    """Return the leading columns without a name: those in which `DataFrame.to_csv` writes an index."""
    found = []
    for given, name in zip(header, whole.columns, strict=False):
        # Read and written again, the index is called "Unnamed: 0".
        if name == target or not (given == "" or re.fullmatch(r"Unnamed: \d+(\.\d+)?", given)):
            break
        found.append(name)
    if found:
        warnings.warn(
            "the first column has no name, like an index that pandas writes, and is left out of the "
            "features; give it a name to use it",
            stacklevel=3,
        )
    return found


def _warn_of_columns(features: pd.DataFrame) -> None:
    """Warn of columns that are hardly features."""
    for name, what in [*find_numberings(features), *find_odd_texts(features)]:
        warnings.warn(f"column {name!r} {what} leave it out with --drop {shlex.quote(name)}", stacklevel=3)


def check_complete(table: Table) -> Table:
    """Return the table, or say which entries are missing and what can be done."""
    absent = table.frame.isna()
    counts = absent.sum()
    counts = counts[counts > 0]
    if not len(counts):
        return table
    name = counts.index[0]
    row = table.name_row(table.frame.index[int(absent[name].to_numpy().argmax())])
    shown = [f"{count:,} of {str(column)!r}" for column, count in counts.iloc[:5].items()]
    if len(counts) > 5:
        shown.append(f"some of {len(counts) - 5} other columns")
    raise ValueError(
        f"{row}, column {str(name)!r}: the entry is missing; in {len(table.frame):,} rows there are missing "
        f"{', '.join(shown)}. Fill them in, leave rows out, or columns with --drop, or add --impute: medians "
        f"of the training rows for numbers, a category {MISSING!r} for text. (Where a file says NA, None or "
        "null, an entry is missing.)"
    )


def check_classes(table: Table) -> Table:
    """Return the table with classes that are text or integers, or say why they are no classes."""
    from pandas.api import types

    target = table.target
    absent = target.isna().to_numpy()
    if absent.any():
        row = table.name_row(target.index[int(absent.argmax())])
        raise ValueError(
            f"{row}, column {target.name!r}: the class is missing (as is one called NA, None or null); leave "
            "the row out: classes are never filled in"
        )
    distinct = target.nunique()
    numeric = types.is_numeric_dtype(target.dtype) and not types.is_bool_dtype(target.dtype)
    whole = numeric and bool((target == target.round()).all())
    most = min(_MOST_CLASSES, max(_MOST_FLOATS, len(target) // 2)) if whole else _MOST_FLOATS
    if numeric and distinct > most:
        raise ValueError(
            f"--target: column {target.name!r} holds {distinct:,} different numbers, which looks "
            "like regression; name a column of classes, or ask `ordinal-shapley value` for --model ridge"
        )
    if distinct > max(_MOST_CLASSES, len(target) // 2):
        raise ValueError(
            f"--target: column {target.name!r} has {distinct:,} different labels in "
            f"{len(target):,} rows; name a column of classes"
        )
    if whole and target.min() >= -(2.0**63) and target.max() < 2.0**63:  # else it would wrap
        return Table(table.name, table.frame, target.astype(np.int64), table.path)
    return Table(table.name, table.frame, target.astype(str), table.path)


def has_numbers(table: Table) -> bool:
    """Whether the table has targets that are numbers, and no classes: those never are floats."""
    return table.target.dtype.kind == "f"


def check_numbers(table: Table) -> Table:
    """Return the table with targets that are numbers, or say which is none."""
    import pandas as pd
    from pandas.api import types

    target = table.target
    absent = target.isna().to_numpy()
    if absent.any():
        row = table.name_row(target.index[int(absent.argmax())])
        raise ValueError(
            f"{row}, column {target.name!r}: the target is missing; leave the row out: targets are never "
            "filled in"
        )
    if types.is_bool_dtype(target.dtype):
        target = target.astype(str)
    numbers = pd.to_numeric(target, errors="coerce").astype(np.float64)
    unread = numbers.isna().to_numpy()
    if unread.any():
        odd = int(unread.argmax())
        raise ValueError(
            f"--model ridge predicts numbers: {table.name_row(target.index[odd])}, column {target.name!r} "
            f"holds {str(target.iloc[odd])!r}; for classes use --model logistic or neighbors"
        )
    infinite = np.isinf(numbers.to_numpy())
    if infinite.any():
        row = table.name_row(target.index[int(infinite.argmax())])
        raise ValueError(f"{row}, column {target.name!r}: the target is infinite")
    return Table(table.name, table.frame, numbers, table.path)


def draw(table: Table, rows: int, seed: int) -> Table:
    """Return that many rows, each class in proportion, in the order of the table."""
    n = len(table.frame)
    if rows > n:
        raise ValueError(f"--rows: {table.name} has {n:,} rows, {rows:,} were asked for")
    if has_numbers(table):
        return table.take(np.sort(np.random.default_rng(seed).choice(n, rows, replace=False)))
    counts = table.target.value_counts().sort_index()
    if rows < len(counts):
        raise ValueError(f"--rows: {rows:,} rows are too few for the {len(counts)} classes of {table.name}")
    shares = counts.to_numpy() * (rows / n)
    quotas = np.maximum(1, shares.astype(np.int64))
    while gap := rows - int(quotas.sum()):
        # One row more for the class that lacks most, or less for the one that has most too many.
        ahead = np.where((gap < 0) & (quotas == 1), -np.inf, np.sign(gap) * (shares - quotas))
        quotas[ahead.argmax()] += np.sign(gap)
    generator = np.random.default_rng(seed)
    classes = table.target.to_numpy()
    kept = [
        generator.choice(np.flatnonzero(classes == name), quota, replace=False)
        for name, quota in zip(counts.index, quotas, strict=True)
    ]
    return table.take(np.sort(np.concatenate(kept)))


def split(table: Table, fraction: float, seed: int, option: str = "--valid") -> tuple[Table, Table]:
    """Split off a stratified fraction; both parts stay in the order of the table.

    `option` is the one that would name a file in place of the split.
    """
    from sklearn.model_selection import train_test_split

    from ordinal_shapley.common.seeds import sklearn_state

    if has_numbers(table):
        n = len(table.target)
        held = round(fraction * n)
        if not 2 <= held < n:
            raise ValueError(
                f"{option}-fraction: of {n:,} rows {held:,} would be kept, expected 2 to {n - 1:,}"
            )
        order = np.random.default_rng(seed).permutation(n)
        return table.take(np.sort(order[held:])), table.take(np.sort(order[:held]))
    counts = table.target.value_counts()
    if counts.min() < 2:
        from ordinal_shapley.common.arrays import plain

        rarest = plain(counts.idxmin())
        raise ValueError(
            f"{option}-fraction: class {rarest!r} has a single row, so no split has every class "
            f"on both sides; give such rows with {option} or leave that class out"
        )
    try:
        parts = train_test_split(
            np.arange(len(table.target)),
            test_size=fraction,
            stratify=table.target,
            random_state=sklearn_state(seed),
        )
    except ValueError as error:
        raise ValueError(
            f"{option}-fraction: {len(table.target):,} rows in {len(counts)} classes are too few for "
            "this split with every class on both sides"
        ) from error
    first, second = (table.take(np.sort(part)) for part in parts)
    return first, second


def encode(train: Table, valid: Table, *, raw: bool, impute: bool = False) -> Problem:
    """Encode both tables with what the training table teaches, after the last checks."""
    import pandas as pd

    y, y_valid = _targets(train, valid)
    empty = [str(name) for name in train.frame if train.frame[name].isna().all()]
    if empty:
        raise ValueError(
            f"column {empty[0]!r} of {train.name} has no entry in the training rows, so there is nothing to "
            f"fill in: leave it out with --drop {shlex.quote(empty[0])}"
        )
    encoder = Encoder(raw=raw, impute=impute).fit(train.frame, name_row=train.name_row, warn=False)
    X, X_valid = (
        pd.DataFrame(
            encoder.transform(table.frame, name_row=table.name_row),
            index=table.frame.index,
            columns=encoder.feature_names_out(),
        )
        for table in (train, valid)
    )
    return Problem(train.name, X, y, X_valid, y_valid, train.frame, str(train.target.name))


def _targets(train: Table, valid: Table) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return both columns of targets, after the last checks."""
    y, y_valid = (np.asarray(table.target) for table in (train, valid))
    if has_numbers(train):
        return y, y_valid
    classes = set(train.target)
    if len(classes) < 2:
        raise ValueError(
            f"--target: column {train.target.name!r} of {train.name} has only one class, "
            f"{next(iter(classes))!r}; at least two are needed"
        )
    if y.dtype.kind != "i" or y_valid.dtype.kind != "i":
        y, y_valid = y.astype(np.str_), y_valid.astype(np.str_)
    unknown = ~np.isin(y_valid, y)
    if unknown.any():
        first = int(unknown.argmax())
        raise ValueError(
            f"{valid.name_row(valid.target.index[first])}: the validation class "
            f"{y_valid[first].item()!r} never occurs in training"
        )
    return y, y_valid


def text_columns(table: Table) -> tuple[str, ...]:
    """Return the columns that hold text: a validation file must not read them as numbers."""
    from pandas.api import types

    columns = {**{str(name): table.frame[name] for name in table.frame}}
    columns[str(table.target.name)] = table.target
    return tuple(name for name, column in columns.items() if not types.is_numeric_dtype(column.dtype))


def _records(stream: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the records that pandas sees, header included, each with its first line's number."""
    before = csv.field_size_limit(2**31 - 1)
    try:
        reader = csv.reader(stream)
        start = 1
        for fields in reader:
            if len(fields) > 1 or "".join(fields).strip():  # else a blank line
                yield start, fields
            start = reader.line_num + 1
    finally:
        csv.field_size_limit(before)


def _line(path: Path, position: Hashable) -> int | str:
    """Return the first line of a record: quoted line breaks and blank lines make them differ."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        for record, (line, _) in enumerate(_records(stream), start=-1):
            if record == position:
                return line
    return "?"
