"""What a table must have to be valued: every entry, and targets that are classes or numbers."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ordinal_shapley.tables.cautions import find_alike, find_odd_columns
from ordinal_shapley.tables.reading import Table
from ordinal_shapley.vocabulary import MISSING

# More classes than this, or floats with more distinct values than the second, is no classification.
_MOST_CLASSES = 100
_MOST_FLOATS = 20
_ALIKE_TOLD = 5
_FEATURES = ("a feature", "features")


def check_complete(table: Table, training: bool = True) -> Table:
    """Return the table, or say which entries are missing and what can be done.

    Of a training table say, too, what would be warned of in the next run, so that there need not be one more.
    """
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
        f"null, an entry is missing.){_odd_words(table) if training else ''}"
    )


def _odd_words(table: Table) -> str:
    odd = [*find_odd_columns(table.frame)][:5]
    if not odd:
        return ""
    ways = "dropped or turned into numbers"
    if any(column.may_name for column in odd):
        ways = "dropped, turned into numbers or made the names of the rows (--id)"
    names = ", ".join(repr(column.name) for column in odd)
    return f" Hardly {_FEATURES[len(odd) > 1]}, and better {ways}: {names}."


def check_classes(table: Table) -> Table:
    """Return the table with classes that are text or integers, or say why they are no classes."""
    from pandas.api import types

    target = table.target
    blank = [isinstance(label, str) and not label.strip() for label in target]
    absent = target.isna().to_numpy() | blank
    if absent.any():
        row = table.name_row(target.index[int(absent.argmax())])
        raise ValueError(
            f"{row}, column {target.name!r}: the class is missing (as is one called NA, None or null) in "
            f"{_rows(absent)}; leave them out: classes are never filled in"
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
        return replace(table, target=target.astype(np.int64))
    target = target.astype(str)
    for group in find_alike(target.unique())[:_ALIKE_TOLD]:
        warnings.warn(
            f"labels {', '.join(map(repr, group))} of column {target.name!r} differ in blanks or case only, "
            "and count as classes of their own; write them alike if they are one",
            stacklevel=2,
        )
    return replace(table, target=target)


def _rows(absent: npt.NDArray[np.bool_]) -> str:
    n = int(absent.sum())
    return f"{n:,} row{'s' * (n != 1)} of {len(absent):,}"


def check_numbers(table: Table) -> Table:
    """Return the table with targets that are numbers, or say which is none."""
    import pandas as pd
    from pandas.api import types

    target = table.target
    absent = target.isna().to_numpy()
    if absent.any():
        row = table.name_row(target.index[int(absent.argmax())])
        raise ValueError(
            f"{row}, column {target.name!r}: the target is missing in {_rows(absent)}; leave them out: "
            "targets are never filled in"
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
    return replace(table, target=numbers)
