"""Rows in frames of pandas, Polars, PyArrow and others that Narwhals reads, and the labels of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd


def frame_of(X: Any, name: str) -> Any:
    """Return the Narwhals frame of a frame that is not like those of pandas; None for anything else."""
    if isinstance(X, np.ndarray | list | tuple):
        return None
    import narwhals.stable.v2 as nw

    if nw.dependencies.is_pandas_like_dataframe(X):
        return None
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        method = "compute" if hasattr(X, "compute") else "collect"
        raise TypeError(f"{name} is a {type(X).__name__}, which has no rows yet: pass {name}.{method}()")
    return frame if isinstance(frame, nw.DataFrame) else None


def as_pandas(X: Any, name: str) -> Any:
    """Return a frame of another library as a pandas frame, and anything else unchanged."""
    frame = frame_of(X, name)
    if frame is None:
        return X
    import pandas as pd

    # Column by column, which does not require PyArrow.
    return pd.DataFrame({column.name: column.to_numpy() for column in frame.iter_columns()})


def columns_of(X: Any) -> list[Any] | None:
    """Names of the columns of a frame, None if it has none."""
    if hasattr(X, "iloc"):
        return [*X.columns]
    frame = frame_of(X, "X")
    return None if frame is None else [*frame.columns]


def take(X: Any, positions: NDArray[np.intp]) -> Any:
    """Return the rows at these positions."""
    if hasattr(X, "iloc"):
        return X.iloc[positions]
    frame = frame_of(X, "X")
    return X[positions] if frame is None else frame[positions].to_native()


def stack(X: Any, more: Any) -> Any:
    """Concatenate the rows of two frames of one library with the same columns."""
    if hasattr(X, "iloc"):
        import pandas as pd

        return pd.concat([X, more.set_axis(X.columns, axis=1)])
    import narwhals.stable.v2 as nw

    first = nw.from_native(X)
    kinds = [nw.col(name).cast(kind) for name, kind in first.schema.items()]
    # Check both, as several types of a library may be one type of Narwhals.
    return nw.concat([rows.select(kinds) for rows in (first, nw.from_native(more))]).to_native()


class RowLabels(np.ndarray):
    """Labels of rows from an index with names, which it keeps as `names`."""

    names: tuple[Any, ...]

    def __array_finalize__(self, source: Any) -> None:
        self.names = getattr(source, "names", ())

    def __reduce__(self) -> Any:
        return with_names, (np.asarray(self), self.names)


def with_names(labels: NDArray[Any], names: Any) -> NDArray[Any]:
    """Return labels that keep the names of their index, or of its levels."""
    if all(name is None for name in names):
        return labels
    named = labels.view(RowLabels)
    named.names = tuple(names)
    return named


def row_labels(X: Any) -> NDArray[Any] | None:
    """Index of a frame or a column, None if it has none."""
    return with_names(X.index.to_numpy(), X.index.names) if hasattr(X, "iloc") else None


def as_index(labels: Any) -> pd.Index[Any] | None:
    """Return labels as the index of a table; tuples become levels."""
    if labels is None:
        return None
    import pandas as pd

    array: NDArray[Any] = np.asarray(labels)
    index: pd.Index[Any] = pd.Index(array)
    lengths = {len(label) if isinstance(label, tuple) else 0 for label in array.tolist()}
    if len(lengths) == 1 and lengths != {0}:
        index = pd.MultiIndex.from_tuples(array.tolist())
    names = getattr(labels, "names", ())
    if len(names) == index.nlevels:
        index.names = names
    return index


def order_like(values: Any, rows: Any, name: str, of: str) -> NDArray[np.intp] | None:
    """Return the position in `values` of each row's value, by the labels of both; None if in the same order.

    Values and rows are frames, columns, results or arrays. Results and arrays are in the order of their rows.
    A column may have been sorted: beside rows without labels, which count from 0, its own must do so, too.
    ValueError if the labels are of other rows, or those that pandas gives by default and the others the same
    in another order.
    """
    index, given = as_index(_labels(values)), as_index(_labels(rows))
    loose = hasattr(values, "iloc")
    if index is None or (given is None and not loose):
        return None
    known = given is not None
    if given is None:
        import pandas as pd

        given = pd.RangeIndex(len(index))
    if len(index) != len(given) or index.equals(given):
        return None  # a wrong length is another error
    same = index.is_unique and given.is_unique and bool(index.isin(given).all())
    counted = is_counted(index)
    if same and not (loose and counted):
        return index.get_indexer(given)
    if not same and (counted or (not loose and is_counted(given))):
        return None  # at least one index is the default one
    if not loose:
        raise ValueError(f"{name} and {of} name different rows: pass those of the same rows, or arrays")
    if same:
        like = f"{name}.loc[{of}.index]" if of.isidentifier() else f"{name} in that order"
        advice = f"{like} if the index is right, {name}.to_numpy() if the order is"
        raise ValueError(f"{name} has the index of {of} in another order, or none of its own: pass {advice}")
    what = f"has other index labels than {of}" if known else f"has an index and {of} has none"
    raise ValueError(f"{name} {what}: pass {name}.to_numpy() if it is in the order of the rows")


def _labels(rows: Any) -> Any:
    """Labels of a frame, a column or a result; None if it has none."""
    rows = getattr(rows, "valuation_", rows)  # of a fitted estimator
    if hasattr(rows, "iloc"):
        return row_labels(rows)
    return getattr(rows, "player_names", getattr(rows, "row_names", None))


def is_counted(index: Any) -> bool:
    """Whether an index is the one that frames have if none is given."""
    return bool(index.dtype.kind == "i" and (index.to_numpy() == np.arange(len(index))).all())
