"""Columns that are hardly features: row IDs, names, dates and numbers written as text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pandas as pd

# So many integers without a gap are unlikely to be measurements.
_LONG_COUNT = 10
# So few distinct texts may be names of groups, whatever they look like.
_FEW_TEXTS = 20
_FEW_DATES = 5
# Texts shared by so few rows on average are of little use to a model.
_FEW_ROWS_PER_TEXT = 5
_ID_NAME = re.compile(
    r"((.*[\s_.\-])?(id|uid|uuid|guid|key|no|nr)|ids|index|row|rownames?|number)", re.IGNORECASE
)
_CAMEL_ID = re.compile(r".*[a-z](Id|ID)")
# As in 1,5 and 5 % and $3.20 and 7 kg; the text around the number is the same in all values.
_NOTATION = re.compile(r"\s*([<>~$€£]?)\s*[+-]?\d+(?:[.,]\d+)*\s*(%|[^\W\d_]{0,4})\s*")
# With so few distinct numbers texts among them may be codes as well.
_FEW_NUMBERS = 5
# Up to so many distinct texts without a digit may mark missing values; more are categories.
_MAX_MARKS = 2
_TIME = r"([T\s]\s*\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\s*([AaPp][Mm])?\s*(Z|[+-]\d{2}:?\d{2})?)?"
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
# pandas takes too many texts for dates, such as "1,5" and "version 1.2.0".
_DATE = re.compile(
    rf"\s*(\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d{{1,2}}[-/.]\d{{1,2}}[-/.](\d{{4}}|\d{{2}})"
    rf"|\d{{1,2}}[\s-]{_MONTH}[\s-]\d{{2,4}}|{_MONTH}\s\d{{1,2}},?\s\d{{4}}){_TIME}\s*",
    re.IGNORECASE,
)


class OddColumn(NamedTuple):
    """A column that is unlikely to be a feature, the warning, and whether it can be the row IDs."""

    name: str
    what: str
    can_name: bool


def find_odd_columns(frame: pd.DataFrame) -> Iterator[OddColumn]:
    """Yield the columns that are unlikely to be features."""
    import pandas as pd
    from pandas.api import types

    for name, column in frame.items():
        if isinstance(column.dtype, pd.CategoricalDtype):
            continue
        values, named = column.dropna(), _is_id(str(name))
        if not types.is_numeric_dtype(column.dtype):
            what = _oddity_of_texts(values.astype(str), named, len(column))
        else:
            what = _oddity_of_numbers(column, values, named)
        if what:
            can_name = what.endswith("is used as a feature;") and len(values) == len(column)
            yield OddColumn(str(name), what, can_name)


def _is_id(name: str) -> bool:
    return bool(_ID_NAME.fullmatch(name.strip()) or _CAMEL_ID.fullmatch(name.strip()))


def _oddity_of_numbers(column: pd.Series, numbers: pd.Series, named: bool) -> str:
    from pandas.api import types

    if len(numbers) <= 2 or not numbers.is_unique:
        return ""
    # Integers with missing values are read as floats.
    with_gaps = len(numbers) < len(column) and (numbers % 1 == 0).all()
    if not (types.is_integer_dtype(column.dtype) or with_gaps):
        return ""
    count = len(numbers) >= _LONG_COUNT and int(numbers.max()) - int(numbers.min()) == len(numbers) - 1
    return "looks like a row ID but is used as a feature;" if count or named else ""


def _oddity_of_texts(texts: pd.Series, named: bool, n_rows: int) -> str:
    kinds = texts.unique()
    n, many = len(kinds), "each of which becomes a column;"
    if n > _FEW_DATES and all(_DATE.fullmatch(text) for text in kinds):
        return f"holds {n:,} dates as text, {many} turn them into numbers, or"
    around = {found and found.groups() for found in map(_NOTATION.fullmatch, kinds)}
    if n > _FEW_NUMBERS and len(around) == 1 and None not in around:
        if around != {("", "")}:
            return f"holds {n:,} numbers written as {kinds[0]!r}, {many} write them as in 1234.5, or"
        if any("," in text for text in kinds):
            return f"holds {n:,} numbers with commas as text, {many} write them as in 1234.5, or"
    if 2 * len(texts) > n_rows and n == len(texts) > (2 if named else _FEW_TEXTS):
        return "holds text that differs in every row, like a row ID, but is used as a feature;"
    if n > _FEW_TEXTS and _FEW_ROWS_PER_TEXT * n > len(texts):
        return (
            f"holds {n:,} different texts in {len(texts):,} rows, {many} turn those that stand for numbers "
            "into numbers, group rare ones, or"
        )
    return ""


def find_odd_numbers(column: pd.Series, decimal: str = ".") -> pd.Series:
    """Return the texts in a column that are not numbers, if it seems to be one of numbers; else none.

    They are malformed numbers if one has a digit; texts without, such as "?", mark missing values.
    """
    import pandas as pd
    from pandas.api import types

    if types.is_numeric_dtype(column.dtype) or isinstance(column.dtype, pd.CategoricalDtype):
        return column[:0]
    numbers, odd = split_numbers(column, decimal)
    n_numbers, digits = numbers.nunique(), len(with_digits(odd)) > 0
    is_marked = not digits and odd.nunique() <= _MAX_MARKS
    is_spoilt = len(odd) < len(numbers) and (digits or n_numbers > _FEW_TEXTS)
    return odd if n_numbers > _FEW_NUMBERS and (is_marked or is_spoilt) else odd[:0]


def split_numbers(column: pd.Series, decimal: str = ".") -> tuple[pd.Series, pd.Series]:
    """Return the numbers in a column and its other texts."""
    import pandas as pd

    texts = column.dropna().astype(str)
    numbers = pd.to_numeric(texts.str.replace(decimal, ".", regex=False), errors="coerce")
    return numbers.dropna(), texts[numbers.isna()]


def with_digits(texts: pd.Series) -> pd.Series:
    """Return the texts that have a digit."""
    return texts[[bool(re.search(r"\d", text)) for text in texts]]
