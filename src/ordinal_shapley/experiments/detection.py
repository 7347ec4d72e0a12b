"""How well values find label errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common import arguments, arrays, frames
from ordinal_shapley.experiments.noise import LabelNoise

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class NoiseDetection:
    """Share of label errors found as rows are inspected from the lowest value up.

    Where rows share a value, the figures are means over the orders in which they may be inspected.

    Attributes
    ----------
    inspected, found : ndarray of float64, shape (n_rows + 1,)
        Share of the rows inspected, from 0 to 1, and share of the label errors found by then.
    n_noisy : int
        Number of label errors.
    auc : float
        Area under the ROC curve of the negative values: the probability that a row with a label error has a
        lower value than one without. 0.5 is no better than random.
    precision : float
        Share of label errors among the ``n_noisy`` lowest rows.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> found = osv.detect_noisy_labels([0.3, -0.2, 0.1, 0.2], [1])
    >>> found.auc, found.precision
    (1.0, 1.0)
    >>> found.to_frame()
       inspected  found
    0       0.00    0.0
    1       0.25    1.0
    2       0.50    1.0
    3       0.75    1.0
    4       1.00    1.0
    """

    inspected: NDArray[np.float64]
    found: NDArray[np.float64]
    n_noisy: int
    auc: float
    precision: float

    def found_at(self, share: float) -> float:
        """Return the share of the label errors found when this share of the rows is inspected.

        Parameters
        ----------
        share : float
            From 0 to 1.

        Raises
        ------
        TypeError, ValueError
            If ``share`` is not a number from 0 to 1.
        """
        share = arguments.number("share", share, min=0.0, max=1.0)
        return float(np.interp(share, self.inspected, self.found))

    def to_frame(self) -> pd.DataFrame:
        """Return the curve, one row per share inspected."""
        import pandas as pd

        return pd.DataFrame({"inspected": self.inspected, "found": self.found})


def detect_noisy_labels(values: Any, noisy: Any) -> NoiseDetection:
    """Inspect rows from the lowest value up and count the label errors found.

    Parameters
    ----------
    values : Valuation or array-like of shape (n_rows,)
        Any value for each training row, low where a row looks bad; also a fitted estimator. A Series may be
        in another order: it is matched with ``noisy`` by its index.
    noisy : LabelNoise, array of bool of shape (n_rows,), or array of int
        The rows whose labels are wrong: what `corrupt_labels` returned, a mask, or their positions. Rows
        without an index count from 0.

    Returns
    -------
    NoiseDetection
        The curve and its summary figures.

    Raises
    ------
    TypeError, ValueError
        If an argument cannot be used; the message names it.

    Examples
    --------
    >>> import numpy as np
    >>> import ordinal_shapley as osv
    >>> wine = osv.datasets.load_wine()
    >>> X, y = (wine.X - wine.X.mean(axis=0)) / wine.X.std(axis=0), wine.y
    >>> train, valid = np.arange(0, 178, 2), np.arange(1, 178, 2)
    >>> noise = osv.corrupt_labels(y[train], random_state=0)
    >>> game = osv.LogisticGame(X[train], noise.labels, X[valid], y[valid])
    >>> valuation = osv.sample_values(game, n_permutations=200, random_state=0)
    >>> osv.detect_noisy_labels(valuation, noise).auc > 0.8
    True
    """
    masked = isinstance(noisy, LabelNoise) or arrays.as_array(noisy, "noisy").dtype.kind == "b"
    column = as_values(values, None, noisy if masked else None, "noisy")
    n = len(column)
    mask = _as_mask(noisy, n)
    n_noisy = int(mask.sum())
    if n_noisy in (0, n):
        few = "no row" if n_noisy == 0 else "every row"
        raise ValueError(f"noisy names {few}, expected some rows with a wrong label and some without")
    # Within rows of equal value errors are found at a constant rate, the mean over their orders.
    levels = np.unique(column, return_inverse=True)[1]
    ends = np.concatenate([[0], np.cumsum(np.bincount(levels))])
    hits = np.concatenate([[0], np.cumsum(np.bincount(levels, weights=mask))])
    found = np.interp(np.arange(n + 1), ends, hits) / n_noisy
    steps = np.arange(n + 1) / n
    # Area over the curve of errors found, against right labels: the ROC curve is straight within a tie.
    misses = (ends - hits) / (n - n_noisy)
    auc = float(np.sum(np.diff(misses) * (hits[1:] + hits[:-1]) / 2) / n_noisy)
    return NoiseDetection(steps, found, n_noisy, auc, float(found[n_noisy]))


def as_values(values: Any, n_rows: int | None, rows: Any, of: str) -> NDArray[np.float64]:
    """Return the values of a Valuation, a fitted estimator or an array: finite, in the order of `rows`."""
    order = frames.order_like(values, rows, "values", of)
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
    arrays.check_each("values", column, np.isfinite(column), "a finite value for every row")
    return column if order is None else column[order]


def _as_mask(noisy: Any, n: int) -> NDArray[np.bool_]:
    if isinstance(noisy, LabelNoise):
        noisy = noisy.mask
    rows = arrays.as_array(noisy, "noisy")
    if rows.dtype.kind == "b":
        return np.asarray(arrays.as_column(rows, "noisy", n, "training row"), np.bool_)
    if rows.size and rows.dtype.kind not in "iu":
        raise TypeError(
            f"noisy holds values of type {rows.dtype}, expected row positions or a mask of booleans"
        )
    bad = (rows < 0) | (rows >= n)
    if rows.ndim != 1 or bad.any():
        raise ValueError(
            f"noisy has shape {rows.shape} and rows from {rows.min()} to {rows.max()}, expected a list of "
            f"rows from 0 to {n - 1}"
        )
    counts = np.bincount(rows.astype(np.intp), minlength=n)
    if counts.max() > 1:
        raise ValueError(
            f"noisy names row {counts.argmax()} more than once, expected distinct rows, or a mask"
        )
    return counts > 0
