"""Files as tables of rows."""

from __future__ import annotations

import re
import shlex
import warnings
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ordinal_shapley.tables.checks import check_table
from ordinal_shapley.tables.column_warnings import (
    find_odd_columns,
    find_odd_numbers,
    split_numbers,
    with_digits,
)
from ordinal_shapley.tables.files import ADD_NAMES, TEXTS, open_file
from ordinal_shapley.tables.table import COMMAS, Marks, Table, hint_at
from ordinal_shapley.vocabulary import count

if TYPE_CHECKING:
    import pandas as pd


def read_table(
    path: Path,
    target: str,
    *,
    drop: Sequence[str] = (),
    names: str | None = None,
    marks: Marks = COMMAS,
    numbers: bool = False,
    impute: bool = False,
) -> Table:
    """Read training rows; their targets are `numbers` or else classes.

    The columns in `drop` are left out; so is `names`, whose texts name the rows. Unless `impute`, a missing
    value is an error.
    """
    table = _read(path, target, names, marks)
    unnamed = [str(name) for name in table.left_out]
    if unnamed and names not in unnamed:
        warnings.warn(
            "the first column has no name, like an index that pandas writes, and is left out; use it as row "
            f"IDs by --id {shlex.quote(unnamed[0])}, or give it a name to use it as a feature",
            stacklevel=2,
        )
    if names is not None:
        table = table.drop([names], "--id")
        _check_names(table, names)
    table = table.drop([name for name in drop if name != names])
    table = _with_numbers(table, list(_numeric(table)))
    _warn_of_columns(table)
    return check_table(table, numbers, impute)


def read_like(table: Table, path: Path, impute: bool = False) -> Table:
    """Read other rows with the columns of a table; they may lack those that it leaves out."""
    from pandas.api import types

    columns = [*table.frame.items(), (table.target.name, table.target)]
    # Columns of text are not read as numbers, whatever they look like here.
    texts = [str(name) for name, column in columns if not types.is_numeric_dtype(column.dtype)]
    other = _read(path, str(table.target.name), table.names, table.marks, texts)
    marked = [str(name) for name, column in other.frame.items() if not types.is_numeric_dtype(column.dtype)]
    other = _with_numbers(other, [name for name in table.frame if name in marked and name not in texts])
    other = other.drop([str(name) for name in table.left_out if name in other.frame])
    return check_table(other, table.has_numbers, impute)


def _read(path: Path, target: str, names: str | None, marks: Marks, texts: Sequence[str] = ()) -> Table:
    """Return the table that a file holds; of the columns without a name the first ones are left out."""
    file = open_file(path, "a table of rows", marks)
    frame = file.frame(dtype=dict.fromkeys([*file.texts, *texts], str))
    if names in frame:
        frame[names] = file.frame(usecols=[list(frame).index(names)], **TEXTS).iloc[:, 0]
    if target not in frame:
        hint = hint_at(target, list(frame))
        if any(_as_number(column) is not None for column in frame):
            hint += f"; if its first line is a row of values, {ADD_NAMES}"
        raise ValueError(f"--target: {path.name} has no column {target!r}; {hint}")
    _check_has_header(path.name, frame, target)
    # `DataFrame.to_csv` writes an index without a name, which pandas reads as "Unnamed: 0".
    unnamed = re.compile(r"Unnamed: \d+(\.\d+)?")
    index = list(takewhile(lambda name: name != target and unnamed.fullmatch(name), map(str, frame)))
    features = frame.drop(columns=[*index, target])
    return Table(path.name, features, frame[target], frame[index], names, file.content, file.marks)


def _with_numbers(table: Table, columns: Iterable[Hashable]) -> Table:
    """Return the table with missing values instead of texts without digits in these columns of numbers."""
    frame = table.frame.copy()
    for name in columns:
        numbers, odd = split_numbers(frame[name], table.marks.decimal)
        if len(odd) and not len(with_digits(odd)):
            frame[name] = numbers.reindex(frame.index)
            warnings.warn(
                f"column {name!r}: {odd.iloc[0]!r} among the numbers of {table.name} is treated as a missing "
                f"value, in {count(len(odd), 'row')}",
                stacklevel=3,
            )
    return replace(table, frame=frame)


def _numeric(table: Table) -> Iterator[Hashable]:
    """Yield the columns of numbers that contain texts; ValueError if these are malformed numbers."""
    for name, column in table.frame.items():
        odd = find_odd_numbers(column, table.marks.decimal)
        spoilt = with_digits(odd)
        if len(spoilt):
            raise ValueError(
                f"{table.name_row(spoilt.index[0])}, column {str(name)!r}: {spoilt.iloc[0]!r} is not a "
                "number, but most values are; correct it, or leave the column out with --drop "
                f"{shlex.quote(str(name))}"
            )
        if len(odd):
            yield name


def _check_has_header(name: str, frame: pd.DataFrame, target: str) -> None:
    """ValueError if the first line of a file seems to be a row of values: most are numbers or occur below."""
    numbers = [number for column in frame if (number := _as_number(column)) is not None]
    steps = {b - a for a, b in pairwise(numbers)}
    labels = len(steps) == 1 and steps <= {1.0, 2.0, 5.0, 10.0}  # column numbers, or years

    def is_value(column: Hashable) -> bool:
        return (_as_number(column) is not None and not labels) or column in set(frame[column].astype(str))

    if is_value(target) and 2 * sum(map(is_value, frame)) > frame.shape[1]:
        shown = ", ".join(map(str, [*frame][:5]))
        raise ValueError(f"the first line of {name} looks like a row of values, {shown}: {ADD_NAMES}")


def _as_number(text: Any) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _check_names(table: Table, column: str) -> None:
    """ValueError unless row IDs are complete and distinct."""
    names = table.left_out[column]
    blank = names.str.strip() == ""
    odd = blank if blank.any() else names.duplicated()
    if odd.any():
        what = "missing value" if blank.any() else f"duplicate value {names[odd].iloc[0]!r}"
        raise ValueError(
            f"--id: {table.name_first(odd.to_numpy())}, column {column!r}: {what}; remove such "
            f"rows, or use --drop {shlex.quote(column)} instead: row IDs must be distinct"
        )


def _warn_of_columns(table: Table) -> None:
    """Warn of columns that are unlikely to be features."""
    for name, what, can_name in find_odd_columns(table.frame):
        if table.marks.decimal == "." and "with commas" in what:
            what = what.replace("write them as in", "give --decimal , if they are decimals, write them as in")
        given = shlex.quote(name)
        naming = f", or use it as row IDs by --id {given}" if can_name else ""
        warnings.warn(f"column {name!r} {what} leave it out with --drop {given}{naming}", stacklevel=3)
