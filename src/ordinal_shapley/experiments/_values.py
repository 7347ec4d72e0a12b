"""The values of training rows that experiments are given, in whatever form."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common import arrays


def as_values(values: Any, n_rows: int | None = None) -> NDArray[np.float64]:
    """Return the values of a Valuation, a fitted estimator or an array: finite, one a row."""
    for name in ("values_", "values"):  # of an estimator; of a Valuation, of ExactValues or a Series
        inner = getattr(values, name, None)
        if inner is not None and not callable(inner):
            values = inner
            break
    if n_rows is None:
        n_rows = arrays.as_array(values, "values").size
    column = arrays.as_numbers(arrays.as_column(values, "values", n_rows, "training row"), "values")
    if not n_rows:
        raise ValueError("values is empty, expected one for each training row")
    bad = ~np.isfinite(column)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"values is {column[row]} at row {row}, expected a finite value for every row")
    return column
