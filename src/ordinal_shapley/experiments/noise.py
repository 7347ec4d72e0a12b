"""Labels flipped at random, to test methods that find them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common import arguments, arrays, frames
from ordinal_shapley.common.seeds import seed_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class LabelNoise:
    """Labels of which some were flipped.

    Attributes
    ----------
    labels : ndarray of shape (n_rows,)
        The labels, some flipped.
    rows : ndarray of intp
        The rows that were flipped, in increasing order.
    original : ndarray of shape (n_rows,)
        The original labels.
    row_names : ndarray of shape (n_rows,) or None
        Index of the labels if they were a Series.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> noise = osv.corrupt_labels(["no", "no", "yes", "yes", "no"], fraction=0.2, random_state=0)
    >>> noise.to_frame()[noise.mask]
      label original  changed
    2    no      yes     True
    """

    labels: NDArray[Any]
    rows: NDArray[np.intp]
    original: NDArray[Any]
    row_names: NDArray[Any] | None = None

    @property
    def mask(self) -> NDArray[np.bool_]:
        """Whether each row was flipped."""
        mask = np.zeros(len(self.labels), np.bool_)
        mask[self.rows] = True
        return mask

    def to_frame(self) -> pd.DataFrame:
        """Return one line per row: its label, the original one, and whether they differ."""
        import pandas as pd

        columns = {"label": self.labels, "original": self.original, "changed": self.mask}
        return pd.DataFrame(columns, index=frames.as_index(self.row_names))


def corrupt_labels(y: Any, fraction: float = 0.2, random_state: Any = None) -> LabelNoise:
    """Flip the labels of some rows, each to another class.

    The rows are drawn at random, and so are their new labels, with equal probability among the other classes
    of ``y``. ``y`` itself is not changed.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels of at least two classes.
    fraction : float, default 0.2
        The share of the labels to flip, from 0 to 1; their number is rounded to the nearest integer.
    random_state : None, int, numpy Generator or RandomState
        The same number flips the same labels.

    Returns
    -------
    LabelNoise
        The new labels, and which rows were flipped.

    Raises
    ------
    TypeError, ValueError
        If an argument cannot be used; the message names it.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> osv.corrupt_labels([0, 0, 1, 1, 2, 2], fraction=0.5, random_state=1).labels
    array([2, 0, 2, 1, 0, 2])
    """
    fraction = arguments.number("fraction", fraction, min=0.0, max=1.0)
    n = arrays.as_array(y, "y").size
    # A copy, as an array of Python objects would be returned itself.
    original = np.array(arrays.as_labels(y, "y", n, "row"))
    classes, codes = arrays.encode(original, "y")
    if len(classes) < 2:
        held = "one class only" if n else "no label"
        raise ValueError(f"y holds {held}, expected at least two classes: there is no other label to give")
    random = np.random.default_rng(seed_of(random_state))
    rows = np.sort(random.permutation(n)[: int(np.floor(fraction * n + 0.5))])
    codes[rows] = (codes[rows] + random.integers(1, len(classes), size=len(rows))) % len(classes)
    return LabelNoise(classes[codes], rows, original, frames.row_labels(y))
