"""CSV files as frames, and as tables of rows."""

from __future__ import annotations

import io
import re
import shlex
import warnings
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ordinal_shapley.tables.checks import check_table
from ordinal_shapley.tables.column_warnings import find_odd_columns
from ordinal_shapley.tables.table import COMMAS, Marks, Table, hint_at

if TYPE_CHECKING:
    import pandas as pd

_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_TEXTS: dict[str, Any] = {"dtype": str, "keep_default_na": False}


def check_file(path: Path, what: str) -> None:
    """ValueError unless there is a file; `what` says of what."""
    if not path.exists():
        raise ValueError(f"there is no file {str(path)!r}")
    if path.is_dir():
        raise ValueError(f"{str(path)!r} is a folder, not {what}")


def read_texts(path: Path, what: str, sep: str | None = None) -> pd.DataFrame:
    """Read all columns of a CSV file as texts, for the command that knows what they mean.

    `what` says what is expected to be in the file, `sep` what separates its columns.
    """
    check_file(path, what)
    return _parse(path.name, path.read_bytes(), sep, **_TEXTS)


def _parse(name: str, content: bytes, sep: str | None = None, **options: Any) -> pd.DataFrame:
    """Return the frame, with at least one row, that a CSV file holds.

    `sep` is what separates columns, None for a comma where no option takes another mark.
    """
    import pandas as pd

    if b"\0" in content:
        raise ValueError(f"{name} holds NUL characters, so it is not UTF-8 text: save it as UTF-8")
    marks: dict[str, Any] = {"sep": sep or ",", "encoding": "utf-8-sig"}
    try:
        with warnings.catch_warnings():
            # Rows longer than the header would silently lose their last values.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            header = pd.read_csv(io.BytesIO(content), header=None, nrows=1, **marks, **_TEXTS)
            _check_header(name, header.iloc[0].tolist(), sep)
            frame: pd.DataFrame = pd.read_csv(
                io.BytesIO(content), index_col=False, low_memory=False, **marks, **options
            )
    except pd.errors.EmptyDataError:
        raise ValueError(f"{name} is empty") from None
    except (pd.errors.ParserError, pd.errors.ParserWarning, UnicodeDecodeError) as error:
        raise ValueError(_why_not(name, error, sep or ",")) from error
    if not len(frame):
        raise ValueError(f"{name} has a header but no rows")
    return frame


def _check_header(name: str, header: Sequence[str], sep: str | None) -> None:
    """ValueError if column names repeat, or the only column is really several."""
    repeated = [column for k, column in enumerate(header) if column and column in header[:k]]
    if repeated:  # pandas would rename the second
        raise ValueError(f"{name} has more than one column {repeated[0]!r}")
    for mark, word in _SEPARATORS.items():
        if len(header) > 1 or mark == (sep or ",") or mark not in header[0].strip():
            continue
        if sep is None:
            raise ValueError(
                f"{name} has {word} between its columns, expected commas, and points in decimal numbers: "
                "save it as CSV with commas"
            )
        given = "tab" if mark == "\t" else shlex.quote(mark)
        decimals = ", and --decimal , if numbers are written as 1,5" if mark != "," else ""
        raise ValueError(f"{name} has {word} between its columns: give --sep {given}{decimals}")


def _why_not(name: str, error: Exception, sep: str) -> str:
    """Return the message for an error of the parser or the decoder."""
    if isinstance(error, UnicodeDecodeError):
        return f"{name} is not UTF-8 text: {error.reason}; save it as UTF-8"
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    reason = reason.removeprefix("Error tokenizing data. ").removeprefix("C error: ")
    if reason.startswith("Length of header"):
        reason = "its rows have more values than the header has names"
    if reason.startswith(("its rows", "Expected ")):
        reason += f"; put text that holds {_SEPARATORS[sep]} between double quotes"
    return f"{name} can't be read as CSV: {reason}"


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
            "the first column has no name, like an index that pandas writes, and is left out of the "
            f"features; give it a name to use it, or name the rows by it: --id {shlex.quote(unnamed[0])}",
            stacklevel=2,
        )
    if names is not None:
        table = table.drop([names], "--id")
        _check_names(table, names)
    table = table.drop([name for name in drop if name != names])
    _warn_of_columns(table)
    return check_table(table, numbers, impute)


def read_like(table: Table, path: Path, impute: bool = False) -> Table:
    """Read other rows with the columns of a table; they may lack those that it leaves out."""
    from pandas.api import types

    columns = [*table.frame.items(), (table.target.name, table.target)]
    # Text is not read as numbers, whatever it looks like here.
    texts = [str(name) for name, column in columns if not types.is_numeric_dtype(column.dtype)]
    other = _read(path, str(table.target.name), table.names, table.marks, texts)
    other = other.drop([str(name) for name in table.left_out if name in other.frame])
    return check_table(other, table.has_numbers, impute)


def _read(path: Path, target: str, names: str | None, marks: Marks, texts: Sequence[str] = ()) -> Table:
    """Return the table that a file holds; of the columns without a name the first ones are left out."""
    check_file(path, "a CSV file")
    content = path.read_bytes()  # a pipe is read only once
    frame = _parse(path.name, content, **marks._asdict(), dtype=dict.fromkeys(texts, str))
    if names in frame:  # as it is written: 007 and NA are names
        column = list(frame).index(names)
        frame[names] = _parse(path.name, content, marks.sep, usecols=[column], **_TEXTS).iloc[:, 0]
    if target not in frame:
        raise ValueError(f"--target: {path.name} has no column {target!r}; {hint_at(target, list(frame))}")
    # `DataFrame.to_csv` writes an index without a name, which pandas reads as "Unnamed: 0".
    unnamed = re.compile(r"Unnamed: \d+(\.\d+)?")
    index = list(takewhile(lambda name: name != target and unnamed.fullmatch(name), map(str, frame)))
    features = frame.drop(columns=[*index, target])
    return Table(path.name, features, frame[target], frame[index], names, content, marks)


def _check_names(table: Table, column: str) -> None:
    """ValueError unless each row has a name of its own."""
    names = table.left_out[column]
    blank = names.str.strip() == ""
    odd = blank if blank.any() else names.duplicated()
    if odd.any():
        what = "missing value" if blank.any() else f"{names[odd].iloc[0]!r} occurs already"
        raise ValueError(
            f"--id: {table.name_first(odd.to_numpy())}, column {column!r}: {what}; each row needs a name of "
            f"its own: leave such rows out, or the column with --drop {shlex.quote(column)}"
        )


def _warn_of_columns(table: Table) -> None:
    """Warn of columns that are hardly features."""
    for name, what, can_name in find_odd_columns(table.frame):
        if table.marks.decimal == ".":
            what = what.replace("write them as in", "give --decimal , if they are decimals, write them as in")
        given = shlex.quote(name)
        naming = f", or name the rows by it: --id {given}" if can_name else ""
        warnings.warn(f"column {name!r} {what} leave it out with --drop {given}{naming}", stacklevel=3)
