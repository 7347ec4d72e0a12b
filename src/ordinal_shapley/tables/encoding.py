"""Encode tables of numbers and categories as float arrays, by a scikit-learn transformer."""

from __future__ import annotations

import shlex
import warnings
from collections import Counter
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from ordinal_shapley.common.arrays import with_numbers
from ordinal_shapley.common.frames import as_pandas
from ordinal_shapley.tables.column_warnings import find_odd_columns, find_odd_numbers
from ordinal_shapley.vocabulary import MISSING

if TYPE_CHECKING:
    import pandas as pd


RowNamer = Callable[[Hashable], str]
# Squares of numbers up to two to this power, and down to its inverse, do not overflow or underflow.
_MAX_EXPONENT = 400
# So few distinct numbers in a column of text may be codes.
_FEW_NUMERALS = 20


def column_pipeline(X: Any, *, raw: bool = False, impute: bool = False) -> ColumnTransformer:
    """Return the scikit-learn transformer with which the command prepares columns, for use in a pipeline.

    Numbers are standardised; text, booleans and pandas categories become one column per category. Numbers
    come first, then the categories, each in the order of the table's columns. A category that is not in the
    training rows gets zeros in all the columns of its feature.

    Parameters
    ----------
    X : DataFrame
        Training rows, which determine the columns that hold numbers.
    raw : bool, default False
        Do not standardise numbers.
    impute : bool, default False
        Fill in missing values: numbers with the median, plus a column that marks them; text with the category
        "missing". Without it missing values are an error.

    Returns
    -------
    sklearn.compose.ColumnTransformer
        Not fitted.

    Raises
    ------
    TypeError, ValueError
        If ``X`` is not a DataFrame, or a column cannot be prepared; the message names row and column.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"size": [1.0, None, 3.0], "colour": ["red", "blue", "red"]})
    >>> columns = osv.column_pipeline(frame, impute=True)
    >>> columns.fit_transform(frame).round(2)
    array([[-1.22,  0.  ,  0.  ,  1.  ],
           [ 0.  ,  1.  ,  1.  ,  0.  ],
           [ 1.22,  0.  ,  0.  ,  1.  ]])
    >>> columns.get_feature_names_out().tolist()
    ['size', 'size=missing', 'colour=blue', 'colour=red']
    """
    X = as_pandas(X, "X")
    if not (hasattr(X, "iloc") and hasattr(X, "columns")):
        raise TypeError(f"X is a {type(X).__name__}, expected a DataFrame")
    odd = [name for name in X.columns if not isinstance(name, str)]
    if odd:
        raise TypeError(f"X has a column named {odd[0]!r}, expected text: X.rename(columns=str)")
    return clone(Encoder(raw=raw, impute=impute).fit(X).columns)


def as_text(X: Any) -> pd.DataFrame:
    """Return columns of categories as text, with a category for missing values."""
    X = as_pandas(X, "X")
    text: pd.DataFrame = X.astype(object).where(X.notna(), MISSING).astype(str).astype(object)
    return text


def as_floats(X: Any) -> pd.DataFrame:
    """Return columns of numbers with objects, such as pd.NA, as floats."""
    numbers: pd.DataFrame = with_numbers(as_pandas(X, "X"), flags=False)
    return numbers


def as_marks(X: Any) -> pd.DataFrame:
    """Return 1 for each missing value, 0 for others."""
    marks: pd.DataFrame = as_pandas(X, "X").isna().astype(np.float64)
    return marks


def times_powers_of_two(X: Any, exponents: list[int]) -> npt.NDArray[np.float64]:
    """Return columns scaled by powers of two, without rounding errors."""
    largest = np.finfo(np.float64).max  # larger numbers are refused after standardising
    return np.asarray(np.ldexp(np.asarray(X, np.float64), exponents).clip(-largest, largest))


def mark_names(_: Any, names: Any) -> list[str]:
    """Name the columns that mark missing values."""
    return [_mark(name) for name in names]


def category_name(name: str, category: Any) -> str:
    """Name the column of a category."""
    return f"{name}={category}"


class Encoder:
    """Encode training and validation tables alike, as `column_pipeline` does, with checks of every table."""

    columns: ColumnTransformer  # what `fit` has made and fitted

    def __init__(self, *, raw: bool = False, impute: bool = False) -> None:
        self.raw = raw
        self.impute = impute

    def fit(self, frame: pd.DataFrame, *, name_row: RowNamer = "row {}".format, warn: bool = True) -> Encoder:
        """Learn columns, categories and scales from the features of the training table.

        `name_row` turns an index label into the words an error calls the row by; with `warn`, columns of text
        that become very many columns are warned of. A ValueError names what can't be encoded.
        """
        given = _with_text_columns(frame)
        frame = with_numbers(given, flags=False)
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
        gappy = [name for name in self._numeric if self.impute and frame[name].isna().any()]
        _reject_repeated([*self._columns, *map(_mark, gappy)])
        frame = self._clean(frame, name_row)
        text = FunctionTransformer(as_text, feature_names_out="one-to-one")
        one_hot = OneHotEncoder(
            handle_unknown="ignore", sparse_output=False, feature_name_combiner=category_name
        )
        parts = [
            ("numbers", self._scaling(frame[self._numeric], given[self._numeric]), self._numeric),
            ("missing", FunctionTransformer(as_marks, feature_names_out=mark_names), gappy),
            ("categories", make_pipeline(text, one_hot), categorical),
        ]
        self.columns = ColumnTransformer(
            [part for part in parts if part[2]], sparse_threshold=0.0, verbose_feature_names_out=False
        )
        self.columns.fit(frame)
        self._names = [*self._numeric, *map(_mark, gappy)]
        if categorical:
            fitted = self.columns.named_transformers_["categories"][-1]
            self._names += fitted.get_feature_names_out(categorical).tolist()
        _reject_repeated(self._names)
        return self

    def transform(
        self, frame: pd.DataFrame, *, name_row: RowNamer = "row {}".format, name: str = "this one"
    ) -> npt.NDArray[np.float64]:
        """Encode a table that has the columns of the training table, in any order; errors call it `name`."""
        if not hasattr(self, "columns"):
            raise ValueError("this Encoder is not fitted yet: call fit(train) first")
        frame = _with_text_columns(frame)
        missing = [name for name in self._columns if name not in frame.columns]
        extra = [name for name in frame.columns if name not in self._columns]
        if missing or extra:
            faults = [f"lacks {_listed(missing)}"] * bool(missing)
            faults += [f"has {_listed(extra)}, unknown in training"] * bool(extra)
            raise ValueError(f"the columns differ from the training table's: {name} {' and '.join(faults)}")
        with np.errstate(over="ignore", invalid="ignore"):
            encoded = self.columns.transform(self._clean(frame, name_row))
        result: npt.NDArray[np.float64] = np.ascontiguousarray(encoded, dtype=np.float64)
        bad = np.argwhere(~np.isfinite(result))
        if bad.size:
            raise ValueError(f"column {self._names[bad[0, 1]]!r} holds numbers too large to be standardised")
        return result

    def fit_transform(self, frame: pd.DataFrame) -> npt.NDArray[np.float64]:
        """Fit to a table and encode it."""
        return self.fit(frame).transform(frame)

    def feature_names_out(self) -> list[str]:
        """Name the encoded columns; a category's column is called ``feature=category``."""
        return list(self._names)

    def _clean(self, frame: pd.DataFrame, name_row: RowNamer) -> pd.DataFrame:
        """Return the table with numbers as floats; errors name the value that is not a number."""
        import pandas as pd

        columns: dict[str, Any] = {}
        for name in self._columns:
            column = columns[name] = frame[name]
            absent = column.isna().to_numpy()
            if absent.any() and not self.impute:
                row = name_row(column.index[int(absent.argmax())])
                raise ValueError(
                    f"{row}, column {name!r}: missing value; fill it in, drop the row"
                    + ("" if name in self._numeric else ", write `?`, a category of its own,")
                    + " or use impute=True; NA, None and null in a file are missing values"
                )
            if name in self._numeric:
                columns[name] = numbers = _as_numbers(column, absent, name, name_row)
                if np.isinf(numbers).any():
                    row = name_row(column.index[int(np.isinf(numbers).argmax())])
                    raise ValueError(f"{row}, column {name!r}: the number is infinite")
        return pd.DataFrame(columns, index=frame.index)

    def _scaling(self, numbers: pd.DataFrame, given: pd.DataFrame) -> Any:
        """Return the transformer that imputes and standardises numbers, of which `given` may hold objects."""
        steps: list[Any] = []
        if not given.select_dtypes(object).empty:
            steps.append(FunctionTransformer(as_floats, feature_names_out="one-to-one"))
        if self.impute:
            steps.append(SimpleImputer(strategy="median"))
        if not self.raw:
            exponents = [int(np.frexp(numbers[name].abs().max())[1]) for name in numbers]
            if max(map(abs, exponents), default=0) > _MAX_EXPONENT:
                # Otherwise squares of tiny numbers would underflow, and those of huge ones overflow.
                powers = {"exponents": [-exponent for exponent in exponents]}
                steps.append(
                    FunctionTransformer(times_powers_of_two, kw_args=powers, feature_names_out="one-to-one")
                )
            steps.append(StandardScaler())
        return make_pipeline(*steps) if steps else "passthrough"


def _mark(name: str) -> str:
    return f"{name}={MISSING}"


def _reject_repeated(names: list[str]) -> None:
    repeated = [name for name, number in Counter(names).items() if number > 1]
    if repeated:
        raise ValueError(f"{repeated[0]!r} would name two encoded columns: rename a column or a category")


def _reject_empty(frame: pd.DataFrame) -> None:
    empty = [str(name) for name in frame if frame[name].isna().all()]
    if empty:
        raise ValueError(
            f"column {empty[0]!r} has no value in the training rows, so there is nothing to fill in: leave "
            f"it out with --drop {shlex.quote(empty[0])}"
        )


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:5])
    return shown + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _with_text_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table with distinct column names of text, as scikit-learn requires."""
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

    column = with_numbers(column.to_frame(), flags=False).iloc[:, 0]
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
    """Refuse text that would become many meaningless categories: malformed numbers."""
    import pandas as pd

    odd = find_odd_numbers(column)
    if len(odd):
        raise ValueError(
            f"{name_row(odd.index[0])}, column {column.name!r}: {odd.iloc[0]!r} is not a number, but most "
            "values are; correct it, make it a missing value, or leave the column out"
        )
    texts = column.dropna()
    if texts.nunique() <= _FEW_NUMERALS or isinstance(column.dtype, pd.CategoricalDtype):
        return
    if pd.to_numeric(texts.astype(str), errors="coerce").notna().all():
        raise ValueError(f"column {column.name!r} holds numbers written as text; turn it into numbers")
