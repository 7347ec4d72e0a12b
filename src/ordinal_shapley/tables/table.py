"""Rows as features and targets, with names of rows for messages."""

from __future__ import annotations

import csv
import difflib
import io
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd


class Marks(NamedTuple):
    """Separator and decimal mark of a file."""

    sep: str = ","
    decimal: str = "."


COMMAS = Marks()


@dataclass(frozen=True, eq=False)
class Table:
    """Features and targets; results name the rows by the index of `frame`."""

    name: str  # of the file or the data set
    frame: pd.DataFrame
    target: pd.Series  # classes, or floats where numbers are to be predicted
    left_out: pd.DataFrame  # columns that are not features
    names: str | None = None  # the one that names the rows
    content: bytes | None = None  # of the file, if there is one
    marks: Marks = COMMAS

    @property
    def has_numbers(self) -> bool:
        """Whether targets are numbers; classes are never floats."""
        return self.target.dtype.kind == "f"

    def name_row(self, label: Hashable) -> str:
        """Return the name of a row in messages: its index and, for a file, its line."""
        if self.content is None:
            return f"row {label}"
        return f"row {label} (line {line_of(self.content, label, self.marks.sep)} of {self.name})"

    def name_first(self, rows: Any) -> str:
        """Return the name in messages of the first row for which a mask is True."""
        return self.name_row(self.target.index[int(rows.argmax())])

    def take(self, rows: npt.NDArray[Any]) -> Table:
        """Return the rows at these positions."""
        parts = {name: getattr(self, name).iloc[rows] for name in ("frame", "target", "left_out")}
        return replace(self, **parts)

    def drop(self, columns: Sequence[str], option: str = "--drop") -> Table:
        """Return the table without these columns, which an option names; ValueError if it lacks one."""
        import pandas as pd

        known = [*map(str, self.frame), *self.left_out]
        for name in columns:
            if name == str(self.target.name):
                raise ValueError(f"{option}: {name!r} is the column of --target")
            if name not in known:
                hint = hint_at(name, list(self.frame))
                raise ValueError(f"{option}: {self.name} has no column {name!r}; {hint}")
        gone = [name for name in dict.fromkeys(columns) if name in self.frame]
        left_out = pd.concat([self.left_out, self.frame[gone]], axis=1)
        return replace(self, frame=self.frame.drop(columns=gone), left_out=left_out)


def hint_at(name: str, columns: Sequence[Any]) -> str:
    """List columns: those with similar names, or else the first ones."""
    names = [str(column) for column in columns]
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    return f"its columns are {', '.join(names[:12])}{', ...' * (len(names) > 12)}"


def line_of(content: bytes, position: Hashable, sep: str) -> int | str:
    """Return the line where a record begins, which depends on line breaks in quotes and blank lines."""
    before = csv.field_size_limit(2**31 - 1)
    try:
        reader = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), delimiter=sep)
        record, start = -1, 1  # the first is the header
        for fields in reader:
            if len(fields) > 1 or "".join(fields).strip():  # else pandas skips it
                if record == position:
                    return start
                record += 1
            start = reader.line_num + 1
    finally:
        csv.field_size_limit(before)
    return "?"
