"""Training rows in their original form, dense of several types or sparse, read one at a time.

They are neither copied nor converted as a whole, and no kernel is compiled again for another type.
"""

from __future__ import annotations

from typing import Any

from ordinal_shapley_kernels.abi import inlined, symbol
from ordinal_shapley_kernels.workspace import (
    IntegerMatrix,
    Integers,
    Matrix,
    ShortMatrix,
    Shorts,
    SingleMatrix,
    Vector,
    Workspace,
)


class RawRows(Workspace):
    """Rows of one type; the arrays of the others are empty."""

    doubles: Matrix  # (n_rows, n_columns)
    singles: SingleMatrix  # (n_rows, n_columns)
    longs: IntegerMatrix  # (n_rows, n_columns)
    integers: ShortMatrix  # (n_rows, n_columns)
    entries: Vector  # (n_entries,): sparse rows: the values other than 0, row by row
    places: Shorts  # (n_entries,): their columns
    starts: Integers  # (n_rows + 1,): where each row begins
    centre: Vector  # (n_columns,) or (0,): subtracted from each dense row
    n_columns: int
    intercept: int  # whether each row ends with an additional 1


@inlined
def _copy(table: Any, row: int, centre: Vector, n_columns: int, out: Vector) -> None:
    for j in range(n_columns):
        out[j] = table[row, j] if row < table.shape[0] else 0.0
    if centre.shape[0] > 0 and row < table.shape[0]:
        for j in range(n_columns):
            out[j] -= centre[j]


@symbol
def read_row(raw: RawRows, row: int, out: Vector) -> None:
    """Write a row, without its padding; the one after the last is 0."""
    n_columns = raw.n_columns
    doubles, singles, longs, integers = raw.doubles, raw.singles, raw.longs, raw.integers
    if doubles.shape[0] > 0:
        _copy(doubles, row, raw.centre, n_columns, out)
    elif singles.shape[0] > 0:
        _copy(singles, row, raw.centre, n_columns, out)
    elif longs.shape[0] > 0:
        _copy(longs, row, raw.centre, n_columns, out)
    elif integers.shape[0] > 0:
        _copy(integers, row, raw.centre, n_columns, out)
    else:
        entries, places, starts = raw.entries, raw.places, raw.starts
        for j in range(n_columns):
            out[j] = 0.0
        for entry in range(starts[row], starts[row + 1]):
            out[places[entry]] = entries[entry]
    if raw.intercept:
        out[n_columns] = 1.0
