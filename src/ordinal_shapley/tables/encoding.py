"""Tables of numbers and categories as the float arrays that the model needs."""

from __future__ import annotations

import shlex
import warnings
from collections import Counter
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ordinal_shapley.tables.column_warnings import find_odd_columns
from ordinal_shapley.vocabulary import MISSING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Encoder"]

RowNamer = Callable[[Hashable], str]


class Encoder:
    """Encode training and validation tables alike.

    Text, booleans and pandas categories become one column a category; numbers are standardised with
    the mean and the standard deviation of the training table. Numbers come first, then the
    categories, each in the order of the training table's columns. A category that only the
    validation table has gets zeros in all the columns of its feature. A constant column becomes
    zeros.

    Parameters
    ----------
    raw : bool, default False
        Leave numbers as they are; categories are encoded all the same.

    Examples
    --------
    >>> import pandas as pd
    >>> train = pd.DataFrame({"size": [1.0, 3.0], "colour": ["red", "blue"]})
    >>> valid = pd.DataFrame({"colour": ["red", "green"], "size": [2.0, 4.0]})
    >>> encoder = Encoder().fit(train)
    >>> encoder.feature_names_out()
    ['size', 'colour=blue', 'colour=red']
    >>> encoder.transform(valid)
    array([[0., 0., 1.],
           [2., 0., 0.]])
    >>> gaps = pd.DataFrame({"size": [1.0, None, 4.0, 2.0]})
    >>> Encoder(raw=True, impute=True).fit_transform(gaps)
    array([[1., 0.],
           [2., 1.],
           [4., 0.],
           [2., 0.]])
    """

    def __init__(self, *, raw: bool = False, impute: bool = False) -> None:
        self.raw = raw
        self.impute = impute

    def fit(self, frame: pd.DataFrame, *, name_row: RowNamer | None = None, warn: bool = True) -> Encoder:
        """Learn columns, categories and scales from the features of the training table.

        `name_row` turns an index label into the words an error calls the row by; with `warn`, columns of text
        that become very many columns are warned of. A ValueError names what can't be encoded.
        """
        from sklearn.compose import ColumnTransformer
        from sklearn.preprocessing import OneHotEncoder, StandardScaler

        name_row = name_row or _plain_name
        frame = _with_text_columns(frame)
        self._columns = list(frame.columns)
        self._numeric = [name for name in self._columns if _is_number(frame[name])]
        categorical = [name for name in self._columns if name not in self._numeric]
        for name in categorical:
            _reject_disguised(frame[name], name_row)
        if warn:
            for odd in find_odd_columns(frame[categorical]):
                warnings.warn(f"column {odd.name!r} {odd.what} drop it", stacklevel=2)
        if self.impute:
            _reject_empty(frame)
        self._gappy = [name for name in self._numeric if self.impute and frame[name].isna().any()]
        indicators = [_indicator(name) for name in self._gappy]
        one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        self._transformer = ColumnTransformer(
            [
                ("numbers", "passthrough" if self.raw else StandardScaler(), self._numeric),
                ("indicators", "passthrough", indicators),
                ("categories", one_hot, categorical),
            ],
            sparse_threshold=0.0,
        )
        self._names = [*self._numeric, *indicators]
        self._reject_repeated([*self._columns, *indicators])
        self._exponents: dict[str, int] = {}
        self._medians: dict[str, float] = {}
        self._transformer.fit(self._clean(frame, name_row))
        if categorical:
            kinds = self._transformer.named_transformers_["categories"].categories_
            for name, categories in zip(categorical, kinds, strict=True):
                self._names += [f"{name}={category}" for category in categories]
        self._reject_repeated(self._names)
        return self

    @staticmethod
    def _reject_repeated(names: list[str]) -> None:
        repeated = [name for name, number in Counter(names).items() if number > 1]
        if repeated:
            raise ValueError(f"{repeated[0]!r} would name two encoded columns: rename a column or a category")

    def transform(
        self, frame: pd.DataFrame, *, name_row: RowNamer | None = None, name: str = "this one"
    ) -> npt.NDArray[np.float64]:
        """Encode a table that has the columns of the training table, in any order; errors call it `name`."""
        if not hasattr(self, "_transformer"):
            raise ValueError("this Encoder is not fitted yet: call fit(train) first")
        name_row = name_row or _plain_name
        frame = _with_text_columns(frame)
        missing = [name for name in self._columns if name not in frame.columns]
        extra = [name for name in frame.columns if name not in self._columns]
        if missing or extra:
            faults = [f"lacks {_listed(missing)}"] * bool(missing)
            faults += [f"has {_listed(extra)}, unknown in training"] * bool(extra)
            raise ValueError(f"the columns differ from the training table's: {name} {' and '.join(faults)}")
        with np.errstate(over="ignore", invalid="ignore"):
            encoded = self._transformer.transform(self._clean(frame[self._columns], name_row))
        result: npt.NDArray[np.float64] = np.ascontiguousarray(encoded, dtype=np.float64)
        bad = np.argwhere(~np.isfinite(result))
        if bad.size:
            raise _too_large(self._names[bad[0, 1]])
        return result

    def fit_transform(
        self, frame: pd.DataFrame, *, name_row: RowNamer | None = None
    ) -> npt.NDArray[np.float64]:
        """Fit to a table and encode it."""
        return self.fit(frame, name_row=name_row).transform(frame, name_row=name_row)

    def feature_names_out(self) -> list[str]:
        """Name the encoded columns; a category's column is called ``feature=category``."""
        return list(self._names)

    def _clean(self, frame: pd.DataFrame, name_row: RowNamer) -> pd.DataFrame:
        """Return the table as float and text columns, or say which value stands in the way."""
        import pandas as pd

        columns: dict[str, Any] = {}
        for name in self._columns:
            column = frame[name]
            absent = column.isna().to_numpy()
            if absent.any() and not self.impute:
                row = name_row(column.index[int(absent.argmax())])
                raise ValueError(
                    f"{row}, column {name!r}: missing value; fill it in, drop the row"
                    + ("" if name in self._numeric else ", write `?`, a category of its own,")
                    + " or ask for impute=True; NA, None and null in a file are missing values"
                )
            if name in self._numeric:
                columns[name] = self._clean_numbers(column, absent, name, name_row)
            else:
                texts = column.astype(object).where(~absent, MISSING)
                columns[name] = texts.astype(str).to_numpy(dtype=object)
            if name in self._gappy:
                columns[_indicator(name)] = absent.astype(np.float64)
        return pd.DataFrame(columns, index=frame.index)

    def _clean_numbers(
        self, column: pd.Series, absent: npt.NDArray[np.bool_], name: str, name_row: RowNamer
    ) -> npt.NDArray[np.float64]:
        """Return the numbers, scaled by a power of two and with medians where some are missing."""
        numbers = _as_numbers(column, absent, name, name_row)
        infinite = np.isinf(numbers)
        if infinite.any():
            row = name_row(column.index[int(infinite.argmax())])
            raise ValueError(f"{row}, column {name!r}: the number is infinite")
        # Learnt from the training table. Powers of two lose no digit, and with them neither
        # the squares of tiny numbers vanish nor those of huge ones overflow.
        if name not in self._exponents:
            self._exponents[name] = 0 if self.raw else int(np.frexp(np.nanmax(np.abs(numbers)))[1])
        numbers = np.ldexp(numbers, -self._exponents[name])
        if name not in self._medians:
            self._medians[name] = float(np.nanmedian(numbers))
        numbers[absent] = self._medians[name]
        if not np.isfinite(numbers).all():
            raise _too_large(name)
        return numbers


def _indicator(name: str) -> str:
    return f"{name}={MISSING}"


def _reject_empty(frame: pd.DataFrame) -> None:
    empty = [str(name) for name in frame if frame[name].isna().all()]
    if empty:
        raise ValueError(
            f"column {empty[0]!r} has no value in the training rows, so there is nothing to fill in: leave "
            f"it out with --drop {shlex.quote(empty[0])}"
        )


def _plain_name(label: Hashable) -> str:
    return f"row {label}"


def _too_large(name: str) -> ValueError:
    return ValueError(f"column {name!r} holds numbers too large to be standardised")


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:5])
    return shown + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _with_text_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table with text for column names, as scikit-learn asks, each name once."""
    if frame.shape[0] == 0 or frame.shape[1] == 0:
        missing = "rows" if frame.shape[0] == 0 else "feature columns"
        raise ValueError(f"the table has no {missing}")
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    repeated = frame.columns[frame.columns.duplicated()]
    if len(repeated):
        raise ValueError(f"column {repeated[0]!r} appears more than once")
    return frame.infer_objects()


def _is_number(column: pd.Series) -> bool:
    from pandas.api import types

    if types.is_datetime64_any_dtype(column.dtype) or types.is_timedelta64_dtype(column.dtype):
        raise ValueError(f"column {column.name!r} holds dates or durations; turn it into numbers or drop it")
    if types.is_complex_dtype(column.dtype):
        raise ValueError(f"column {column.name!r} holds complex numbers; only real ones can be used")
    return bool(types.is_numeric_dtype(column.dtype) and not types.is_bool_dtype(column.dtype))


def _as_numbers(
    column: pd.Series, absent: npt.NDArray[np.bool_], name: str, name_row: RowNamer
) -> npt.NDArray[np.float64]:
    """Return the numbers of a column, NaN where one is missing."""
    import pandas as pd

    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan, copy=True)
    unread = np.isnan(numbers) & ~absent
    if unread.any():
        first = int(unread.argmax())
        raise ValueError(
            f"{name_row(column.index[first])}, column {name!r}: {column.iloc[first]!r} is not a "
            "number, but the column holds numbers in the training table"
        )
    return np.asarray(numbers, dtype=np.float64)


def _reject_disguised(column: pd.Series, name_row: RowNamer) -> None:
    """Refuse text that would become many meaningless categories: spoilt numbers."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        return
    texts = column.dropna().astype(str)
    distinct = texts.nunique()
    if distinct <= 20:
        return
    odd = pd.to_numeric(texts, errors="coerce").isna().to_numpy()
    if texts[~odd].nunique() > 20 and 2 * int(odd.sum()) < len(texts):
        if not odd.any():
            raise ValueError(f"column {column.name!r} holds numbers written as text; turn it into numbers")
        first = int(odd.argmax())
        raise ValueError(
            f"{name_row(texts.index[first])}, column {column.name!r}: {texts.iloc[first]!r} is not "
            "a number, but most values are; fill it in or drop the row"
        )
