"""Evidence against the label of each row from models of other rows, and a rank by it and by values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common import arrays, frames

if TYPE_CHECKING:
    import pandas as pd


_MIN_PROBABILITY = 1e-3  # no model is more certain of a label than that
_VALUE_WEIGHT = 1 / 3  # the best weight beside the default model of self-confidence


@dataclass(frozen=True, eq=False, repr=False)
class LabelEvidence:
    """Evidence against the label of each row, from models and neighbours that were not trained on it.

    `ordinal_shapley.experiments.self_confidence` returns one.

    Attributes
    ----------
    given_label : ndarray of shape (n_rows,)
        The labels.
    predicted_label : ndarray of shape (n_rows,)
        The labels with the highest probability.
    self_confidence : ndarray of float64, shape (n_rows,)
        Cross-validated probability of the given label. The lower, the more suspicious.
    predicted_probability : ndarray of float64, shape (n_rows,)
        That of the predicted label.
    agreeing_neighbors : ndarray of float64, shape (n_rows,), or None
        Share of the ``n_neighbors`` nearest other rows that have the given label. None where there are no
        distances: text, missing values.
    n_neighbors : int
        Number of neighbours.
    row_names : ndarray of shape (n_rows,) or None
        Index of the rows if they were a DataFrame.

    Examples
    --------
    >>> from ordinal_shapley.experiments import self_confidence
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, y = [[0.0], [0.1], [0.2], [0.3], [1.0], [1.1], [1.2], [1.3]], [*"aaabbbbb"]
    >>> model = KNeighborsClassifier(3)
    >>> evidence = self_confidence(X, y, estimator=model, cv=4, n_neighbors=3, random_state=0)
    >>> evidence
    LabelEvidence(8 rows, 1 of them disputed)
    >>> suspect = evidence.to_frame().loc[3]
    >>> suspect["given_label"], suspect["predicted_label"], float(suspect["agreeing_neighbors"])
    ('b', 'a', 0.0)
    """

    given_label: NDArray[Any]
    predicted_label: NDArray[Any]
    self_confidence: NDArray[np.float64]
    predicted_probability: NDArray[np.float64]
    agreeing_neighbors: NDArray[np.float64] | None
    n_neighbors: int
    row_names: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.given_label)

    def __repr__(self) -> str:
        return f"LabelEvidence({len(self)} rows, {self.disputed.sum()} of them disputed)"

    @property
    def accuracy(self) -> float:
        """Share of the rows whose predicted label is the given one."""
        return float(np.mean(self.given_label == self.predicted_label))

    @property
    def majority(self) -> float:
        """Share of the most frequent label; predictions that agree with fewer rows say nothing."""
        _, counts = np.unique(self.given_label, return_counts=True)
        return float(counts.max() / len(self))

    @property
    def disputed(self) -> NDArray[np.bool_]:
        """Rows for which another label is predicted with confidence, as a mask of shape (n_rows,).

        The probability of that label is at least the mean ``self_confidence`` of the rows that have it
        (Northcutt et al. 2021). No row is, if `accuracy` is not above `majority`.
        """
        differs = np.asarray(self.given_label != self.predicted_label)
        if self.accuracy <= self.majority:
            return np.zeros_like(differs)
        labels, codes = np.unique(self.given_label, return_inverse=True)
        mean_confidence = np.bincount(codes, self.self_confidence) / np.bincount(codes)
        # A label that only validation rows have is predicted with confidence from 0.5 on.
        known = np.isin(self.predicted_label, labels)
        place = np.minimum(np.searchsorted(labels, self.predicted_label), len(labels) - 1)
        return differs & (self.predicted_probability >= np.where(known, mean_confidence[place], 0.5))

    def _verdicts(self, below_zero: NDArray[np.bool_]) -> NDArray[Any]:
        """The evidence against the label of each row, given which CIs are entirely below 0."""
        verdicts = np.array([["", "other label predicted"], ["value below 0", "both"]], dtype=object)
        return np.asarray(verdicts[below_zero.astype(np.intp), self.disputed.astype(np.intp)])

    def take(self, rows: NDArray[np.intp]) -> LabelEvidence:
        """Return the evidence of these rows, in this order.

        Parameters
        ----------
        rows : array of int
            Their positions.

        Returns
        -------
        LabelEvidence
            What is known of them.
        """
        columns = {name: kept[rows] for name, kept in vars(self).items() if isinstance(kept, np.ndarray)}
        return LabelEvidence(**{**vars(self), **columns})

    def to_frame(self) -> pd.DataFrame:
        """Return one line per row, in the order of the rows.

        Returns
        -------
        DataFrame
            The columns ``given_label``, ``predicted_label``, ``self_confidence``, ``predicted_probability``
            and, where it is known, ``agreeing_neighbors``.
        """
        import pandas as pd

        columns = ["given_label", "predicted_label", "self_confidence", "predicted_probability"]
        if self.agreeing_neighbors is not None:
            columns.append("agreeing_neighbors")
        return pd.DataFrame(
            {name: getattr(self, name) for name in columns}, index=frames.as_index(self.row_names)
        )


def combined_rank(values: Any, evidence: Any) -> NDArray[np.intp]:
    r"""Rank rows by the evidence against their labels: values and predictions combined.

    Check labels in this order, from rank 1 on. Values and self-confidence each find errors that the other
    misses. Combined they find about as many as the better one alone, so you need not know which one that is.
    Where labels are hard to predict, or the model is poor, values are the better one.

    Parameters
    ----------
    values : Valuation, fitted estimator or array-like of shape (n_rows,)
        A value for each row, low where a row looks bad. Rows with NaN are ranked by self-confidence alone. A
        Series may be in another order: it is matched with ``evidence`` by its index.
    evidence : LabelEvidence or array-like of shape (n_rows,)
        Of the same rows; or the probability of each row's label, from any model that was not trained on the
        row. Rows without an index count from 0.

    Returns
    -------
    ndarray of intp, shape (n_rows,)
        The rank of each row of ``evidence``, 1 for the most suspicious; the earlier of two equal rows has the
        lower rank.

    Raises
    ------
    TypeError, ValueError
        If an argument cannot be used; the message names it.

    Notes
    -----
    Rows are in the order of

    .. math:: \log \frac{p_i}{1 - p_i} + \frac{\phi_i - \bar\phi}{3\,\mathrm{sd}(\phi)},

    the log-odds of the label of row :math:`i`, with :math:`p_i` from 0.001 to 0.999, and a third of its
    value in standard deviations of all values. A confident model decides, and values decide among labels
    that the model is unsure about.

    Examples
    --------
    >>> from ordinal_shapley.experiments import combined_rank
    >>> combined_rank([0.3, -0.2, 0.1, 0.2], [0.9, 0.6, 0.01, 0.6])
    array([4, 2, 1, 3])
    """
    order = frames.order_like(values, evidence, "values", "evidence")
    p = getattr(evidence, "self_confidence", evidence)
    n = arrays.as_array(p, "evidence").size
    p = arrays.as_numbers(arrays.as_column(p, "evidence", n, "row"), "evidence")
    if not n:
        raise ValueError("evidence is empty, expected a probability for each row")
    arrays.check_each("evidence", p, (p >= 0) & (p <= 1), "a probability from 0 to 1")
    values = getattr(values, "values_", getattr(values, "values", values))
    column = arrays.as_numbers(arrays.as_column(values, "values", n, "row of evidence"), "values")
    arrays.check_each("values", column, ~np.isinf(column), "finite values")
    column = column if order is None else column[order]
    p = np.clip(p, _MIN_PROBABILITY, 1 - _MIN_PROBABILITY)
    order = np.argsort(np.log(p / (1 - p)) + _VALUE_WEIGHT * _standardised(column), kind="stable")
    return np.argsort(order) + 1


def _standardised(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values in standard deviations from their mean, 0 for missing ones."""
    known = np.isfinite(values)
    result = np.zeros(len(values))
    if known.any():
        shifted = values[known] - values[known].mean()
        largest = np.abs(shifted).max()
        if largest > 0:
            shifted /= largest  # squares of tiny values would underflow
            result[known] = shifted / shifted.std()
    return result
