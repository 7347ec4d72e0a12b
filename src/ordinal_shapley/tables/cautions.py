"""Columns that are hardly features: numberings of the rows, names, dates and numbers written as text.

And labels that are hardly classes of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pandas as pd

# So many whole numbers without a gap are hardly measured.
_LONG_COUNT = 10
# So few different texts may be names of groups, whatever they look like.
_FEW_TEXTS = 20
_FEW_DATES = 5
# Of a text that so few rows share on average, little can be learned.
_FEW_ROWS_A_TEXT = 5
_ID_NAME = re.compile(
    r"((.*[\s_.\-])?(id|uid|uuid|guid|key|no|nr)|ids|index|row|rownames?|number)", re.IGNORECASE
)
_CAMEL_ID = re.compile(r".*[a-z](Id|ID)")
_NUMBER_WITH_COMMA = re.compile(r"\s*[+-]?\d+([.,]\d+)*\s*")
_TIME = r"([T\s]\s*\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\s*([AaPp][Mm])?\s*(Z|[+-]\d{2}:?\d{2})?)?"
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATE = re.compile(
    rf"\s*(\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d{{1,2}}[-/.]\d{{1,2}}[-/.](\d{{4}}|\d{{2}})"
    rf"|\d{{1,2}}[\s-]{_MONTH}[\s-]\d{{2,4}}|{_MONTH}\s\d{{1,2}},?\s\d{{4}}){_TIME}\s*",
    re.IGNORECASE,
)


class OddColumn(NamedTuple):
    """A column that is hardly a feature, what to say of it, and whether it may be the names of the rows."""

    name: str
    what: str
    may_name: bool = False


def find_odd_columns(frame: pd.DataFrame) -> Iterator[OddColumn]:
    """Yield all columns that are hardly features."""
    yield from _find_numberings(frame)
    yield from find_odd_texts(frame)


def _find_numberings(frame: pd.DataFrame) -> Iterator[OddColumn]:
    """Yield the columns of whole numbers that look like a numbering."""
    from pandas.api import types

    for name, column in frame.items():
        numbers = column.dropna()
        if not types.is_numeric_dtype(column.dtype) or len(numbers) <= 2 or not numbers.is_unique:
            continue
        complete = len(numbers) == len(column)
        # Whole numbers with an entry missing are read as floats.
        if not types.is_integer_dtype(column.dtype) and (complete or not (numbers % 1 == 0).all()):
            continue
        without_gap = int(numbers.max()) - int(numbers.min()) == len(numbers) - 1
        if (without_gap and len(numbers) >= _LONG_COUNT) or _is_id(str(name)):
            what = "looks like a numbering of the rows, and is used as a feature;"
            yield OddColumn(str(name), what, complete)


def find_odd_texts(frame: pd.DataFrame) -> Iterator[OddColumn]:
    """Yield the columns of text that become very many columns."""
    import pandas as pd
    from pandas.api import types

    for name, column in frame.items():
        if types.is_numeric_dtype(column.dtype) or isinstance(column.dtype, pd.CategoricalDtype):
            continue
        texts = column.dropna().astype(str)
        kinds = texts.unique()
        mostly, may_name = 2 * len(texts) > len(column), False
        if len(kinds) > _FEW_DATES and all(_DATE.fullmatch(text) for text in kinds):
            what = (
                f"holds {len(kinds):,} dates as text, which become as many columns: turn it into numbers, or"
            )
        elif (
            len(kinds) > _FEW_DATES
            and all(_NUMBER_WITH_COMMA.fullmatch(text) for text in kinds)
            and any("," in text for text in kinds)
        ):
            what = (
                f"holds {len(kinds):,} numbers with commas as text, which become as many columns: write them "
                "as in 1234.5, or"
            )
        elif mostly and len(kinds) == len(texts) > (2 if _is_id(str(name)) else _FEW_TEXTS):
            what = (
                "holds text that differs in every row, like a name or an identifier, and is used as a "
                "feature;"
            )
            may_name = len(texts) == len(column)
        elif len(kinds) > _FEW_TEXTS and _FEW_ROWS_A_TEXT * len(kinds) > len(texts):
            what = (
                f"holds {len(kinds):,} different texts in {len(texts):,} entries, which become as many "
                "columns: turn those that stand for numbers into numbers, put rare ones together, or"
            )
        else:
            continue
        yield OddColumn(str(name), what, may_name)


def find_alike(labels: Iterable[str]) -> list[list[str]]:
    """Return the groups of labels that differ in blanks or case only."""
    groups: dict[str, list[str]] = {}
    for label in sorted(set(labels)):
        groups.setdefault(" ".join(label.split()).casefold(), []).append(label)
    return [group for group in groups.values() if len(group) > 1]


def _is_id(name: str) -> bool:
    return bool(_ID_NAME.fullmatch(name.strip()) or _CAMEL_ID.fullmatch(name.strip()))
