"""The record that every loader returns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    from ordinal_shapley.tables.encoding import Encoder


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A labelled table, as it was published and as arrays.

    The arrays are made when they are first read, and then kept.

    Parameters
    ----------
    name : str
        The name under which `ordinal_shapley.datasets.load` finds it.
    frame : pandas.DataFrame
        The features as published; ``?`` is a category like any other.
    target : pandas.Series
        The class of every row, on the index of `frame`.
    description : str
        One line: what a row and its class are.
    source : str
        Authors, year, repository and DOI.
    licence : str, default "CC BY 4.0"
        The terms the data come under.

    Examples
    --------
    >>> from ordinal_shapley import datasets
    >>> data = datasets.load_cancer()
    >>> data
    <Dataset 'cancer': 286 rows, 9 features, 201 no-recurrence-events, 85 recurrence-events>
    >>> data.X.shape, data.feature_names[0]
    ((286, 43), 'age=20-29')
    """

    name: str
    frame: pd.DataFrame
    target: pd.Series
    description: str
    source: str
    licence: str = "CC BY 4.0"
    # The rows whose categories become columns: more than `frame` if that is a part of a table, so that all
    # parts have the same columns.
    _categories_from: pd.DataFrame | None = None

    @cached_property
    def _encoder(self) -> Encoder:
        from ordinal_shapley.tables.encoding import Encoder

        reference = self.frame if self._categories_from is None else self._categories_from
        return Encoder(raw=True).fit(reference)

    @cached_property
    def X(self) -> npt.NDArray[np.float64]:  # noqa: N802
        """The features in C order: numbers first, unscaled, then one column per category."""
        return self._encoder.transform(self.frame)

    @cached_property
    def y(self) -> npt.NDArray[np.str_] | npt.NDArray[np.int64]:
        """The classes as an array, of text or of integers."""
        import numpy as np
        from pandas.api.types import is_numeric_dtype

        if is_numeric_dtype(self.target.dtype):
            return np.asarray(self.target, dtype=np.int64)
        return np.asarray(self.target, dtype=np.str_)

    @property
    def feature_names(self) -> list[str]:
        """The names of the columns of `X`; ``feature=category`` for a category's column."""
        return self._encoder.feature_names_out()

    def __len__(self) -> int:
        return len(self.frame)

    def __repr__(self) -> str:
        counts = self.target.value_counts().sort_index()
        classes = ", ".join(f"{count:,} {label}" for label, count in counts.items())
        size = f"{len(self):,} rows, {self.frame.shape[1]} features"
        return f"<Dataset {self.name!r}: {size}, {classes}>"
