"""Converting users' data to arrays, with errors that name the argument."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_shapley.common import frames

# A dense copy of a sparse matrix above this size is likely to be a mistake.
_MAX_DENSE_BYTES = 8 * 2**30
# Numeric labels look like measurements if there are more distinct ones than this, and many for the rows.
_MAX_NUMBERED_CLASSES = 100
# Squares of features, summed over rows and times the costs, must stay finite.
_MAX_NUMBER = 1e120
_ROWS_AT_A_TIME = 10_000
# Types of numbers that are kept, and types that a smaller one than float64 holds exactly.
_KEPT_AS = {
    **{kind: kind for kind in ("float64", "float32", "int64", "int32")},
    **dict.fromkeys(("bool", "int8", "uint8", "int16", "uint16", "float16"), "float32"),
    "uint32": "int64",
}


class Table(NamedTuple):
    """Feature rows as an array or sparse rows (CSR), and the names of columns if the input had any."""

    values: Any
    names: NDArray[Any] | None
    columns: list[str] | None


def is_sparse(X: Any) -> bool:
    """Whether X is a sparse matrix or array of SciPy, without importing SciPy."""
    return hasattr(X, "toarray") and hasattr(X, "nnz") and X.ndim == 2


def as_table(X: Any, name: str, *, keep_sparse: bool = False, keep_kind: bool = False) -> Table:
    """Convert a frame, an array of numbers or a sparse matrix; float64, C order, finite.

    A sparse matrix becomes a dense array unless `keep_sparse`. With `keep_kind` an array of float64, float32,
    int64 or int32 is taken as it is, others become one of these. An error names row and column.
    """
    index, columns = frames.row_labels(X), None
    X = frames.as_pandas(X, name)
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        columns = [str(column) for column in X.columns]
        X = with_numbers(X)
        for title, dtype in zip(columns, X.dtypes, strict=True):
            if getattr(dtype, "kind", "O") not in "biuf":
                advice = "encode categories first, for example with sklearn.preprocessing.OneHotEncoder"
                if getattr(dtype, "kind", "O") in "mM":
                    advice = "turn dates and durations into numbers, such as days, or drop them"
                raise TypeError(f"{name} has column {title!r} of type {dtype}, expected numbers: {advice}")
        kinds = {getattr(dtype, "name", "") for dtype in X.dtypes}
        if keep_kind and kinds in ({"float32"}, {"int64"}, {"int32"}):
            X = X.to_numpy()
        else:
            X = X.to_numpy(dtype=np.float64, na_value=np.nan)
    elif is_sparse(X):
        if keep_sparse:
            return Table(_as_sparse_rows(X, name), None, None)
        X = make_dense(X, name)
    array = as_array(X, name)
    if array.dtype.kind == "O" and array.ndim == 0:
        raise TypeError(f"{name} is a {type(X).__name__}, expected rows of numbers")
    if array.ndim != 2:
        raise ValueError(
            f"{name} has {array.ndim} dimensions, expected 2: rows and features "
            "(for one feature use X.reshape(-1, 1))"
        )
    array = _numeric(array, name)
    _check_shape(array, name)
    if keep_kind:
        values = np.require(array, _KEPT_AS.get(array.dtype.name, "float64"), ["C", "A"])
    else:
        values = np.array(array, dtype=np.float64, order="C")
    for first in range(0, len(values), _ROWS_AT_A_TIME):
        part = values[first : first + _ROWS_AT_A_TIME]
        bad = ~np.isfinite(part)
        if bad.any():
            row, column = (int(i) for i in np.argwhere(bad)[0])
            row_name = first + row if index is None else plain(index[first + row])
            column_name = column if columns is None else columns[column]
            count = int((~np.isfinite(values)).sum())
            raise _missing(name, part[row, column], row_name, column_name, count)
        _check_size(part, name)
    return Table(values, index, columns)


def with_numbers(X: Any, *, flags: bool = True) -> Any:
    """Return a pandas frame in which object columns of numbers and missing values are floats.

    Such columns come from a transposition or contain pd.NA. With `flags` booleans count as numbers.
    """
    from pandas.api.types import infer_dtype

    kinds = {"integer", "floating", "mixed-integer-float", "decimal", *["boolean", "empty"] * flags}
    places = [k for k, dtype in enumerate(X.dtypes) if getattr(dtype, "kind", "") == "O"]
    places = [k for k in places if infer_dtype(X.iloc[:, k], skipna=True) in kinds]
    if places:
        X = X.copy(deep=False)
        for k in places:
            column = X.iloc[:, k].astype(object).where(X.iloc[:, k].notna(), np.nan)
            X.isetitem(k, _floats(column.to_numpy()))
    return X


def _floats(objects: NDArray[Any]) -> NDArray[np.float64]:
    """Return numbers as floats; integers beyond the largest float are infinite."""
    try:
        return objects.astype(np.float64)
    except OverflowError:
        largest = int(np.finfo(np.float64).max)
        beyond = np.frompyfunc(lambda number: isinstance(number, int) and abs(number) > largest, 1, 1)
        infinite = np.where(objects > 0, np.inf, -np.inf)
        return np.where(beyond(objects).astype(bool), infinite, objects).astype(np.float64)


def warn_of_order(X: Any, name: str, stacklevel: int = 3, **columns: Any) -> None:
    """Warn if the index of a column differs from that of X, or its order: rows are matched by position."""
    if not (hasattr(X, "iloc") and hasattr(X, "index")):
        return
    for title, values in columns.items():
        index: Any = getattr(values, "index", None)
        if not hasattr(values, "iloc") or len(index) != len(X.index) or index.equals(X.index):
            continue
        try:
            labels = set(index) & set(X.index)
        except TypeError:  # unhashable labels can't be compared
            continue
        counted = any(frames.is_counted(given) for given in (index, X.index))
        if not counted and not labels:
            warnings.warn(
                f"pass {title}.to_numpy() if its rows are in the order of {name}: the two have no index "
                "label in common, so rows are matched by position",
                UserWarning,
                stacklevel=stacklevel,
            )
        elif index.is_unique and X.index.is_unique and len(labels) == len(index):
            warnings.warn(
                f"pass {title}.loc[{name}.index] to match rows by index, or {title}.to_numpy() by position: "
                f"the index of {title} is that of {name} in another order, and rows are matched by position",
                UserWarning,
                stacklevel=stacklevel,
            )


def make_dense(X: Any, name: str) -> NDArray[Any]:
    """Return a sparse matrix as an array, unless it would be too large."""
    n_bytes = 8 * X.shape[0] * X.shape[1]
    if n_bytes > _MAX_DENSE_BYTES:
        raise ValueError(
            f"{name} is sparse with shape {X.shape}; the dense copy needed would take "
            f"{n_bytes / 2**30:.0f} GiB: reduce the number of columns, for example with "
            "sklearn.decomposition.TruncatedSVD"
        )
    return np.asarray(X.toarray())


def _as_sparse_rows(X: Any, name: str) -> Any:
    """Return a copy of a sparse matrix as float64 rows, checked like a dense one."""
    _check_shape(_numeric(X, name), name)
    rows = X.tocsr().astype(np.float64)
    rows.sum_duplicates()
    bad = ~np.isfinite(rows.data)
    if bad.any():
        entry = int(np.argmax(bad))
        row = int(np.searchsorted(rows.indptr, entry, side="right")) - 1
        raise _missing(name, rows.data[entry], row, int(rows.indices[entry]), int(bad.sum()))
    _check_size(rows.data, name)
    return rows


def _check_shape(array: Any, name: str) -> None:
    if array.shape[0] == 0:
        raise ValueError(f"{name} has no rows, expected at least one")
    if array.shape[1] == 0:
        raise ValueError(f"{name} has no columns, expected at least one feature")


def _missing(name: str, value: float, row: Any, column: Any, count: int) -> ValueError:
    what = "a missing value" if np.isnan(value) else str(value)
    return ValueError(
        f"{name} has {what} at row {row!r}, column {column!r} ({count} missing or infinite in these "
        "rows): fill in or drop them first"
    )


def _check_size(values: NDArray[np.float64], name: str) -> None:
    largest = float(np.abs(values).max(initial=0.0))
    if largest > _MAX_NUMBER:
        raise ValueError(
            f"{name} holds a number of size {largest:.3g}, expected at most {_MAX_NUMBER:g}: rescale it, "
            "for example with sklearn.preprocessing.StandardScaler"
        )


def as_tables(
    X: Any, X_valid: Any, name: str = "X_valid", *, as_they_are: bool = False
) -> tuple[Table, Table]:
    """Convert training and validation rows, and check that they have the same features.

    With `as_they_are` training rows are not copied or converted without need; sparse rows stay sparse.
    """
    train = as_table(X, "X", keep_sparse=as_they_are, keep_kind=as_they_are)
    valid = as_table(X_valid, name, keep_sparse=as_they_are and is_sparse(X))
    check_features(valid.values.shape[1], train.values.shape[1], valid.columns, train.columns, name)
    return train, valid


def indexable(X: Any, name: str) -> Any:
    """Return rows in a form that can be indexed by position: a frame, an array or sparse rows."""
    if is_sparse(X):
        return X.tocsr()  # not every sparse format can index rows
    if frames.frame_of(X, name) is None:
        X = X if hasattr(X, "iloc") or hasattr(X, "tocsr") else as_array(X, name)
        if X.ndim != 2:
            raise ValueError(f"{name} has {X.ndim} dimensions, expected 2: rows and features")
    if X.shape[0] == 0:
        raise ValueError(f"{name} has no rows, expected at least one")
    return X


def take(X: Any, positions: NDArray[np.intp]) -> Any:
    """Return the rows at these positions."""
    return X[positions] if is_sparse(X) else frames.take(X, positions)


def model_rows(X: Any, name: str) -> Any:
    """Return rows for a scikit-learn model, which requires distinct column names of text."""
    X = indexable(X, name)
    columns = frames.columns_of(X) or []
    kinds = sorted({type(column).__name__ for column in columns})
    if len(kinds) > 1 and "str" in kinds:
        raise TypeError(f"{name} has column names of types {', '.join(kinds)}, expected text")
    repeated = [column for column, number in Counter(columns).items() if number > 1]
    if repeated:
        raise ValueError(f"{name} has more than one column {repeated[0]!r}: rename or drop all but one")
    return X


def check_features(n_found: int, n_expected: int, columns: Any, expected: Any, name: str) -> None:
    """ValueError unless validation rows have the features of the training rows."""
    if n_found != n_expected:
        raise ValueError(f"{name} has {n_found} features, expected {n_expected}, as many as X")
    if columns is not None and expected is not None and columns != expected:
        raise ValueError(f"{name} has other columns than X, or in another order: pass {name}[X.columns]")


def plain(value: Any) -> Any:
    """A numpy scalar as the Python object that it prints like."""
    return value.item() if isinstance(value, np.generic) else value


def as_array(values: Any, name: str, unit: str = "row") -> NDArray[Any]:
    """Convert to an array of any type; `unit` is what messages call one of its values."""
    if np.ma.isMaskedArray(values) and np.ma.is_masked(values):
        row = int(np.argwhere(np.ma.getmaskarray(values))[0][0])
        raise ValueError(f"{name} has masked values, the first at {unit} {row}: fill in or drop them first")
    try:
        return np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name} is not a rectangular array ({error})") from None


def as_column(values: Any, name: str, length: int, of: str) -> NDArray[Any]:
    """Convert to a one-dimensional array with `length` values, one for each of `of`."""
    array = as_array(values, name, _unit(of))
    if array.ndim == 0:  # numpy takes a generator, a set or a dictionary for a single object
        shown = f"a {type(values).__name__}" if array.dtype.kind == "O" else repr(values)
        raise TypeError(f"{name} is {shown}, expected a list or an array with one value for each {of}")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{name} has {array.ndim} dimensions, expected 1")
    if len(array) != length:
        raise ValueError(f"{name} has {len(array)} values, expected {length}, one for each {of}")
    return array


def _unit(of: str) -> str:
    """What messages call one of the values: "row" for "row of X"."""
    return "row" if "row" in of.split() else of


def as_names(values: Any, name: str, length: int, of: str) -> NDArray[Any]:
    """Convert labels of any type (numbers, strings, booleans, dates), none of them missing."""
    labels = as_column(values, name, length, of)
    listed = values if labels.dtype.kind == "U" and isinstance(values, list | tuple) else ()
    if not all(isinstance(value, str) for value in listed):  # numpy turned 1 into "1", and NaN into "nan"
        labels = np.array(values, dtype=object)
    if labels.dtype.kind == "O":  # from pandas, or of mixed types
        import pandas as pd

        missing = np.asarray(pd.isna(labels))
    else:
        missing = np.asarray(labels != labels)  # NaN, NaT
    if missing.any():
        unit, at = _unit(of), int(np.argmax(missing))
        advice = "drop such rows first" if unit == "row" else f"expected one for each {unit}"
        raise ValueError(f"{name} has a missing label at {unit} {at}: {advice}")
    return labels


def as_labels(values: Any, name: str, length: int, of: str) -> NDArray[Any]:
    """Convert class labels, and refuse numbers that look like the target of a regression."""
    labels = as_names(values, name, length, of)
    if labels.dtype.kind == "O" and all(
        isinstance(label, int | float | np.number | np.bool_) for label in labels
    ):
        labels = np.array(labels.tolist())  # scikit-learn does not take numbers of type object
    if labels.dtype.kind not in "iuf":
        return labels
    if not np.isfinite(labels).all():
        raise ValueError(f"{name} holds an infinite label, expected classes")
    distinct = len(np.unique(labels))
    many = distinct > max(_MAX_NUMBERED_CLASSES, length // 3)
    if many or (labels != np.floor(labels)).any():
        raise ValueError(
            f"{name} holds {distinct} distinct numbers and looks like regression, expected classes: use "
            "RidgeGame or estimator=Ridge(), bin the target or choose another column (or pass classes "
            "that are named by numbers as text)"
        )
    return labels


def as_classes(
    y: Any, y_valid: Any, n_rows: int, n_valid: int
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
    """Convert the labels of training and validation rows to codes; return the classes in y, at least two."""
    train = as_labels(y, "y", n_rows, "row of X")
    valid = as_labels(y_valid, "y_valid", n_valid, "row of X_valid")
    classes, train_codes = encode(train, "y")
    known = classes.tolist()
    if len(known) < 2:
        raise ValueError(f"y holds one class only ({known[0]!r}), expected at least two")
    distinct, codes = encode(valid, "y_valid")
    check_known("y_valid", distinct, known, "drop those validation rows or add training rows of that class")
    valid_codes = np.array([known.index(label) for label in distinct.tolist()], np.int64)[codes]
    return classes, train_codes, valid_codes


def check_known(name: str, distinct: NDArray[Any], known: list[Any], advice: str) -> None:
    """ValueError unless labels are among the classes in y."""
    unknown = [label for label in distinct.tolist() if label not in known]
    if not unknown:
        return
    alike = [label for label in known if str(label) == str(unknown[0])]
    if alike:
        kinds = [type(label).__name__ for label in (unknown[0], alike[0])]
        advice = f"{name} is of type {kinds[0]} and y of type {kinds[1]}, make both of one type"
    listed = ", ".join(map(repr, known[:10]))
    listed += f", ... ({len(known)} in all)" * (len(known) > 10)
    raise ValueError(f"{name} holds {unknown[0]!r}, which never occurs in y (classes {listed}): {advice}")


def check_each(name: str, values: NDArray[np.float64], usable: NDArray[np.bool_], expected: str) -> None:
    """ValueError, which says what was `expected`, at the first number of a column that is not usable."""
    if not usable.all():
        row = int(np.argmin(usable))
        what = "has a missing value" if np.isnan(values[row]) else f"is {values[row]}"
        raise ValueError(f"{name} {what} at row {row}, expected {expected}")


def as_weights(values: Any, name: str, length: int) -> NDArray[np.float64]:
    """Convert row weights: finite, at least 0, not all 0."""
    weights = as_numbers(as_column(values, name, length, "training row"), name)
    check_each(name, weights, np.isfinite(weights) & (weights >= 0), "finite weights of at least 0")
    if not weights.any():
        raise ValueError(f"{name} is 0 for every row, expected at least one positive weight")
    return weights


def as_numbers(array: NDArray[Any], name: str) -> NDArray[np.float64]:
    """Convert an array of real numbers to float64."""
    numbers: NDArray[np.float64] = _numeric(array, name).astype(np.float64)
    return numbers


def _numeric(array: Any, name: str) -> Any:
    """Return an array of real numbers; objects become floats."""
    why = ""
    if array.dtype.kind == "O":
        import pandas as pd

        array = np.where(pd.isna(array), np.nan, array)  # pd.NA is not a float
        try:
            return _floats(array)
        except (TypeError, ValueError) as error:
            why = f" ({error})"
    if array.dtype.kind not in "biuf":
        raise TypeError(
            f"{name} holds values of type {array.dtype}{why}, expected real numbers: encode them first"
        )
    return array


def as_targets(values: Any, name: str, length: int, of: str) -> NDArray[np.float64]:
    """Convert the target of a regression: finite numbers."""
    targets = as_numbers(as_column(values, name, length, of), name)
    small = np.abs(targets) <= _MAX_NUMBER  # NaN is not
    check_each(name, targets, small, f"finite numbers of size at most {_MAX_NUMBER:g}")
    return targets


def encode(values: NDArray[Any], name: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Sorted distinct values, and the position of each value among them."""
    try:
        distinct, codes = np.unique(values, return_inverse=True)
    except TypeError:
        kinds = sorted({type(value).__name__ for value in values.tolist()})
        raise TypeError(f"{name} mixes {', '.join(kinds)}, expected values of one type") from None
    return distinct, codes.astype(np.int64)


def as_player_names(values: Any, name: str, length: int) -> NDArray[Any]:
    """Convert the names of players: one per player, all distinct."""
    names = as_column(values, name, length, "player")
    if len(set(names.tolist())) < length:
        raise ValueError(f"{name} holds a name twice, expected distinct names")
    return names


def per_position(name: str, value: object, kinds: str, expected: str) -> NDArray[Any]:
    """Return a number or a sequence of numbers, of the dtype kinds given, with one dimension."""
    try:
        result = np.asarray(value)
    except ValueError:  # ragged
        raise TypeError(f"{name} is {value!r}, expected {expected}") from None
    if result.size == 0 or result.ndim > 1:
        raise ValueError(f"{name} has shape {result.shape}, expected one value per position")
    if result.dtype.kind not in kinds:
        raise TypeError(f"{name} is {value!r}, expected {expected}")
    return np.atleast_1d(result)


def intervals(
    low_name: str, low: ArrayLike, high_name: str, high: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the bounds of one interval per position."""
    ends = []
    for name, value in ((low_name, low), (high_name, high)):
        end = per_position(name, value, "iuf", "numbers").astype(np.float64)
        if not np.isfinite(end).all():
            raise ValueError(f"{name} has a value that is not finite")
        ends.append(end)
    lows, highs = ends
    if lows.size != highs.size:
        raise ValueError(f"{low_name} has {lows.size} values and {high_name} {highs.size}, expected as many")
    if (lows > highs).any():
        raise ValueError(f"{low_name} is above {high_name} at position {int(np.argmax(lows > highs)) + 1}")
    return lows, highs
