"""Tables of numbers and categories as the float arrays that the model needs."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

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
    """

    def __init__(self, *, raw: bool = False) -> None:
        self.raw = raw

    def fit(self, frame: pd.DataFrame, *, name_row: RowNamer | None = None) -> Encoder:
        """Learn columns, categories and scales from the training table.

        Parameters
        ----------
        frame : pandas.DataFrame
            The features, without the target.
        name_row : callable, optional
            Turns an index label into the words an error calls the row by; by default ``row LABEL``.

        Returns
        -------
        Encoder
            The encoder itself.

        Raises
        ------
        ValueError
            If a number is NaN or infinite, a category is missing, a column can't be a feature or
            two encoded columns would have one name: the message names the row and the column.
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
        one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        self._transformer = ColumnTransformer(
            [
                ("numbers", "passthrough" if self.raw else StandardScaler(), self._numeric),
                ("categories", one_hot, categorical),
            ],
            sparse_threshold=0.0,
        )
        self._exponents: dict[str, int] = {}
        self._transformer.fit(self._clean(frame, name_row))
        self._names = list(self._numeric)
        if categorical:
            kinds = self._transformer.named_transformers_["categories"].categories_
            for name, categories in zip(categorical, kinds, strict=True):
                self._names += [f"{name}={category}" for category in categories]
        repeated = [name for name, number in Counter(self._names).items() if number > 1]
        if repeated:
            raise ValueError(f"{repeated[0]!r} would name two encoded columns: rename a column or a category")
        return self

    def transform(self, frame: pd.DataFrame, *, name_row: RowNamer | None = None) -> npt.NDArray[np.float64]:
        """Encode a table that has the columns of the training table, in any order.

        Parameters
        ----------
        frame : pandas.DataFrame
            The features, without the target.
        name_row : callable, optional
            As for `fit`.

        Returns
        -------
        numpy.ndarray
            C-ordered float64, a row for each row of `frame`.

        Raises
        ------
        ValueError
            If columns are missing, unknown or of another kind than in training, or an entry is
            missing, NaN or infinite.
        """
        if not hasattr(self, "_transformer"):
            raise ValueError("this Encoder is not fitted yet: call fit(train) first")
        name_row = name_row or _plain_name
        frame = _with_text_columns(frame)
        missing = [name for name in self._columns if name not in frame.columns]
        extra = [name for name in frame.columns if name not in self._columns]
        if missing or extra:
            faults = [f"lacks {_listed(missing)}"] * bool(missing)
            faults += [f"has {_listed(extra)}, unknown in training"] * bool(extra)
            raise ValueError(f"the columns differ from the training table's: this one {' and '.join(faults)}")
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
        """Fit to a table and encode it: `fit`, then `transform`.

        Parameters
        ----------
        frame, name_row
            As for `fit`.

        Returns
        -------
        numpy.ndarray
            As from `transform`.
        """
        return self.fit(frame, name_row=name_row).transform(frame, name_row=name_row)

    def feature_names_out(self) -> list[str]:
        """Name the encoded columns; a category's column is called ``feature=category``.

        Returns
        -------
        list of str
        """
        return list(self._names)

    def _clean(self, frame: pd.DataFrame, name_row: RowNamer) -> pd.DataFrame:
        """Return the table as float and text columns, or say which entry stands in the way."""
        import pandas as pd

        columns: dict[str, Any] = {}
        for name in self._columns:
            column = frame[name]
            absent = column.isna().to_numpy()
            if absent.any():
                row = name_row(column.index[int(absent.argmax())])
                raise ValueError(
                    f"{row}, column {name!r}: the entry is missing or NaN; fill it in or drop the row"
                    + ("" if name in self._numeric else " (or write `?`, a category of its own)")
                    + "; where a file says NA, None or null, pandas reads a missing entry"
                )
            if name in self._numeric:
                numbers = _as_numbers(column, name, name_row)
                infinite = ~np.isfinite(numbers)
                if infinite.any():
                    row = name_row(column.index[int(infinite.argmax())])
                    raise ValueError(f"{row}, column {name!r}: the number is infinite")
                # Learnt from the training table. Powers of two lose no digit, and with them neither
                # the squares of tiny numbers vanish nor those of huge ones overflow.
                if name not in self._exponents:
                    self._exponents[name] = 0 if self.raw else int(np.frexp(np.abs(numbers).max())[1])
                columns[name] = np.ldexp(numbers, -self._exponents[name])
                if not np.isfinite(columns[name]).all():
                    raise _too_large(name)
            else:
                columns[name] = column.astype(str).to_numpy(dtype=object)
        return pd.DataFrame(columns, index=frame.index)


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


def _as_numbers(column: pd.Series, name: str, name_row: RowNamer) -> npt.NDArray[np.float64]:
    import pandas as pd

    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    unread = np.isnan(numbers)
    if unread.any():
        first = int(unread.argmax())
        raise ValueError(
            f"{name_row(column.index[first])}, column {name!r}: {column.iloc[first]!r} is not a "
            "number, but the column holds numbers in the training table"
        )
    return np.asarray(numbers, dtype=np.float64)


def _reject_disguised(column: pd.Series, name_row: RowNamer) -> None:
    """Refuse text that would become many meaningless categories: spoilt numbers, names."""
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
            "a number, but most entries are; fill it in or drop the row"
        )
    if distinct == len(texts):
        raise ValueError(
            f"column {column.name!r} holds text that differs in every row, like a name or an "
            "identifier: drop it"
        )
    if 2 * distinct > len(texts):
        warnings.warn(
            f"column {column.name!r} holds {distinct:,} different texts in {len(texts):,} rows and becomes "
            "as many columns; dates and numbers with units are better turned into numbers, or dropped",
            stacklevel=3,
        )
