"""Rows in a CSV file, or at hand, as a table of features and targets."""

from __future__ import annotations

import csv
import difflib
import re
import shlex
import warnings
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ordinal_shapley.tables.cautions import find_odd_columns
from ordinal_shapley.tables.csv_faults import check_file, check_sep, describe_fault

if TYPE_CHECKING:
    import pandas as pd


class Marks(NamedTuple):
    """What stands between the columns of a file, and in its decimal numbers."""

    sep: str = ","
    decimal: str = "."


COMMAS = Marks()


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
    marks : Marks
        How it is written.
    left_out : pandas.DataFrame or None
        Columns that are no features, on the same index.
    names : str or None
        The one of them that names the rows.
    """

    name: str
    frame: pd.DataFrame
    target: pd.Series
    path: Path | None = None
    marks: Marks = COMMAS
    left_out: pd.DataFrame | None = None
    names: str | None = None

    @property
    def has_numbers(self) -> bool:
        """Whether targets are numbers, and no classes: those never are floats."""
        return self.target.dtype.kind == "f"

    def name_row(self, label: Hashable) -> str:
        """Return the words for a row: its index and, for a file, its line."""
        if self.path is None:
            return f"row {label}"
        return f"row {label} (line {_line(self.path, label, self.marks.sep)} of {self.name})"

    def take(self, rows: npt.NDArray[np.intp]) -> Table:
        """Return the rows at these positions."""
        left_out = None if self.left_out is None else self.left_out.iloc[rows]
        return replace(self, frame=self.frame.iloc[rows], target=self.target.iloc[rows], left_out=left_out)


def read_csv(
    path: Path,
    target: str,
    text: tuple[str, ...] = (),
    *,
    drop: Sequence[str] = (),
    names: str | None = None,
    training: bool = True,
    marks: Marks = COMMAS,
) -> Table:
    """Read a file of rows; the columns in `text` are read as text, those in `drop` are left out.

    So is the column `names`, whose texts name the rows. A training file must have all of these, and is
    looked through for odd columns.
    """
    check_file(path, "a CSV file")
    if not path.is_file():
        raise ValueError(f"{str(path)!r} is a pipe or a device, and is read more than once: use a file")

    import pandas as pd

    options: dict[str, Any] = {"sep": marks.sep, "encoding": "utf-8-sig", "index_col": False}
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            header = next((fields for _, fields in _records(stream, marks.sep)), [])
        if not header:
            raise ValueError(f"{path.name} is empty")
        check_sep(path.name, header, marks.sep)
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
                decimal=marks.decimal,
                low_memory=False,
                dtype={name: str for name in text if name in header},
                **options,
            )
            if names in whole:  # as it is written: 007 and NA are names
                at = list(whole.columns).index(names)
                column = pd.read_csv(path, usecols=[at], dtype=str, keep_default_na=False, **options)
                whole[names] = column.iloc[:, 0]
    except (pd.errors.ParserError, pd.errors.ParserWarning, csv.Error, UnicodeDecodeError) as error:
        raise ValueError(describe_fault(path.name, error, marks.sep)) from error
    if target not in whole.columns:
        raise ValueError(
            f"--target: {path.name} has no column {target!r}; {_hint(target, list(whole.columns))}"
        )
    if not len(whole):
        raise ValueError(f"{path.name} has a header but no rows")
    unnamed = _index_columns(whole, header, target, names)
    features = whole.drop(columns=[*unnamed, target])
    table = Table(path.name, features, whole[target], path, marks, whole[unnamed], names)
    if names is not None:
        table = leave_out(table, [names], training, "--id")
        if training:
            _check_names(table, names)
    table = leave_out(table, [name for name in drop if name != names], training)
    if training:
        _warn_of_columns(table.frame, marks)
    return table


def leave_out(table: Table, columns: Sequence[str], strict: bool = True, option: str = "--drop") -> Table:
    """Return a table without some columns, those of an option; if `strict`, they must be there."""
    kept = [] if table.left_out is None else list(table.left_out)
    for name in columns:
        if name == str(table.target.name):
            raise ValueError(f"{option}: {name!r} is the column of --target")
        if strict and name not in table.frame and name not in kept:
            hint = _hint(name, list(table.frame))
            raise ValueError(f"{option}: {table.name} has no column {name!r}; {hint}")
    import pandas as pd

    gone = [name for name in dict.fromkeys(columns) if name in table.frame]
    left_out = pd.concat([table.left_out, table.frame[gone]], axis=1)
    return replace(table, frame=table.frame.drop(columns=gone), left_out=left_out)


def _check_names(table: Table, column: str) -> None:
    """ValueError unless each row has a name of its own."""
    assert table.left_out is not None
    names = table.left_out[column]
    blank = names.str.strip() == ""
    odd = blank if blank.any() else names.duplicated()
    if odd.any():
        label = names.index[int(odd.to_numpy().argmax())]
        what = "the entry is missing" if blank.any() else f"{names[label]!r} stands there already"
        raise ValueError(
            f"--id: {table.name_row(label)}, column {column!r}: {what}; each row needs a name of its own: "
            f"leave such rows out, or the column with --drop {shlex.quote(column)}"
        )


def _hint(name: str, columns: list[Any]) -> str:
    """Say which columns there are: those called alike, or else the first."""
    names = [str(column) for column in columns]
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    return f"its columns are {', '.join(names[:12])}{', ...' * (len(names) > 12)}"


def _index_columns(whole: pd.DataFrame, header: list[str], target: str, names: str | None) -> list[str]:
    """Return the leading columns without a name: those in which `DataFrame.to_csv` writes an index."""
    found = []
    for given, name in zip(header, whole.columns, strict=False):
        # Read and written again, the index is called "Unnamed: 0".
        if name == target or not (given == "" or re.fullmatch(r"Unnamed: \d+(\.\d+)?", given)):
            break
        found.append(name)
    if found and names not in found:
        warnings.warn(
            "the first column has no name, like an index that pandas writes, and is left out of the "
            f"features; give it a name to use it, or name the rows by it: --id {shlex.quote(found[0])}",
            stacklevel=3,
        )
    return found


def _warn_of_columns(features: pd.DataFrame, marks: Marks) -> None:
    """Warn of columns that are hardly features."""
    for name, what, may_name in find_odd_columns(features):
        if marks.decimal == ".":
            what = what.replace("write them as in", "give --decimal , if they are decimals, write them as in")
        given = shlex.quote(name)
        naming = f", or name the rows by it: --id {given}" if may_name else ""
        warnings.warn(f"column {name!r} {what} leave it out with --drop {given}{naming}", stacklevel=3)


def text_columns(table: Table) -> tuple[str, ...]:
    """Return the columns that hold text: a validation file must not read them as numbers."""
    from pandas.api import types

    columns = {**{str(name): table.frame[name] for name in table.frame}}
    columns[str(table.target.name)] = table.target
    return tuple(name for name, column in columns.items() if not types.is_numeric_dtype(column.dtype))


def _records(stream: Iterable[str], sep: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the records that pandas sees, header included, each with its first line's number."""
    before = csv.field_size_limit(2**31 - 1)
    try:
        reader = csv.reader(stream, delimiter=sep)
        start = 1
        for fields in reader:
            if len(fields) > 1 or "".join(fields).strip():  # else a blank line
                yield start, fields
            start = reader.line_num + 1
    finally:
        csv.field_size_limit(before)


def _line(path: Path, position: Hashable, sep: str) -> int | str:
    """Return the first line of a record: quoted line breaks and blank lines make them differ."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        for record, (line, _) in enumerate(_records(stream, sep), start=-1):
            if record == position:
                return line
    return "?"
