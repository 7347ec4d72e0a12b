"""Requirements of a table to be valued: no missing values, and targets that are classes or numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ordinal_shapley.common.names import warn_of_alike
from ordinal_shapley.tables.table import Table
from ordinal_shapley.vocabulary import MISSING

# More classes than the first, or floats with more distinct values than the second, are not classes.
_MAX_CLASSES = 100
_MAX_FLOATS = 20
_MAX_NAMED = 5  # maximum columns listed


def check_table(table: Table, numbers: bool, impute: bool) -> Table:
    """Return the table with targets that are `numbers` or classes; unless `impute`, it must be complete."""
    table = _with_numbers(table) if numbers else _with_classes(table)
    for column, values in table.frame.select_dtypes(exclude="number").items():
        warn_of_alike(values.unique(), f"values of column {str(column)!r}")
    absent = table.frame.isna()
    counts = absent.sum()
    counts = counts[counts > 0]
    if impute or not len(counts):
        return table
    name = counts.index[0]
    n = len(table.frame)
    shown = [f"{str(column)!r} {count:,} of {n:,} rows" for column, count in counts.iloc[:_MAX_NAMED].items()]
    if len(counts) > _MAX_NAMED:
        shown.append(f"and {len(counts) - _MAX_NAMED} other columns")
    raise ValueError(
        f"missing values: {', '.join(shown)}; the first in column {str(name)!r}, "
        f"{table.name_first(absent[name].to_numpy())}. Add --impute (numbers: median of the training rows, "
        f"text: category {MISSING!r}), --drop the columns, or fix the file. (NA, None and null in a file are "
        "missing values, and so is ? among numbers.)"
    )


def _with_classes(table: Table) -> Table:
    """Return the table with classes that are text or integers."""
    from pandas.api import types

    target = table.target
    # "?" among words or numbers is a missing class; "+" beside "-" is not.
    words = target.astype(str).str.contains(r"[^\W_]")
    _check_targets(table, "class", "classes", (target.isna() | (~words if words.any() else False)).to_numpy())
    distinct = target.nunique()
    numeric = types.is_numeric_dtype(target.dtype) and not types.is_bool_dtype(target.dtype)
    whole = numeric and bool((target == target.round()).all())
    many = max(_MAX_CLASSES, len(target) // 2)
    few = min(_MAX_CLASSES, max(_MAX_FLOATS, len(target) // 2)) if whole else _MAX_FLOATS
    if numeric and distinct > few:
        raise ValueError(
            f"--target: column {target.name!r} holds {distinct:,} different numbers, which looks like "
            "regression: name a column of classes, or use `ordinal-shapley value --model ridge`"
        )
    if distinct > many:
        raise ValueError(
            f"--target: column {target.name!r} has {distinct:,} different labels in {len(target):,} rows: "
            "name a column of classes"
        )
    if whole and target.min() >= -(2.0**63) and target.max() < 2.0**63:  # otherwise it would overflow
        return replace(table, target=target.astype(np.int64))
    target = target.astype(str)
    warn_of_alike(target.unique(), f"labels of column {target.name!r}")
    return replace(table, target=target)


def _with_numbers(table: Table) -> Table:
    """Return the table with targets that are finite numbers."""
    import pandas as pd
    from pandas.api import types

    target = table.target
    _check_targets(table, "target", "targets", target.isna().to_numpy())
    if types.is_bool_dtype(target.dtype):
        target = target.astype(str)
    numbers = pd.to_numeric(target, errors="coerce").astype(np.float64)
    unread = numbers.isna().to_numpy()
    if unread.any():
        raise ValueError(
            f"--model ridge predicts numbers: {table.name_first(unread)}, column {target.name!r} holds "
            f"{str(target[unread].iloc[0])!r}; for classes use --model logistic or neighbors"
        )
    infinite = np.isinf(numbers.to_numpy())
    if infinite.any():
        raise ValueError(f"{table.name_first(infinite)}, column {target.name!r}: the target is infinite")
    return replace(table, target=numbers)


def _check_targets(table: Table, one: str, many: str, absent: np.ndarray) -> None:
    n = int(absent.sum())
    if n:
        raise ValueError(
            f"column {table.target.name!r}: missing {one} in {n:,} of {len(absent):,} rows, first in "
            f"{table.name_first(absent)}: remove these rows, because {many} are never filled in (NA, None "
            "and null in a file are missing values)"
        )
