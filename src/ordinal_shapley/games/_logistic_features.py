"""What a LogisticGame's kernels get to see of the features: columns, coordinates, or inner products."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common import arrays
from ordinal_shapley.common.parallel import check_memory, one_thread
from ordinal_shapley.games._rows import in_span
from ordinal_shapley_kernels.lanes import padded
from ordinal_shapley_kernels.logistic_workspace import LogisticWorkspace, aligned

# Share of a row's square that must vary from row to row for inner products to do.
_LEAST_VARIATION = 1e-3
# Where the largest cost times the largest square is more, rows must be apart by more, as a share of a square.
_WEAK_PENALTY = 1e5
_LEAST_DISTANCE = 1e-6
_EQUAL = 1e-12
_ROWS_AT_A_TIME = 1_000


class Features(NamedTuple):
    """Training and validation rows for `make_workspace`, and the way back to the columns of the data.

    Arrays are padded with 0 as kernels want them, so that workers share them.

    Attributes
    ----------
    train : float64 (n_rows, padded n_features)
        Columns that are not 0 throughout and the 1 of the intercept; or coordinates in `basis`; or, for wide
        data, inner products of the rows.
    norms : float64 (n_rows,)
        Euclidean norm of each training row.
    valid : float64 (n_valid, padded n_features)
        The same as `train` of the validation rows; empty for wide data.
    valid_columns : float64 (padded n_features, padded n_valid)
        The same, feature by feature; for wide data inner products of training and validation rows, of shape
        (n_rows, padded n_valid).
    n_features : int
        Features without the padding.
    largest : float
        Largest norm of a validation row.
    n_terms : int
        Columns of the data, with that of the intercept.
    used : int64 (n_used,)
        Those that are not 0 in all training rows.
    basis : float64 (n_used, n_features) or None
        Orthonormal.
    rows : array, sparse matrix or None
        Wide data: the training rows as they came.
    """

    train: NDArray[np.float64]
    norms: NDArray[np.float64]
    valid: NDArray[np.float64]
    valid_columns: NDArray[np.float64]
    n_features: int
    largest: float
    n_terms: int
    used: NDArray[np.int64]
    basis: NDArray[np.float64] | None
    rows: Any

    @property
    def wide(self) -> bool:
        """Whether `train` and `valid_columns` are inner products."""
        return self.rows is not None

    @property
    def rounding_dimension(self) -> float:
        """What `LogisticWorkspace` calls so."""
        # Errors of the many terms of an inner product cancel: four standard deviations of their sum.
        return 8.0 + 4.0 * math.sqrt(self.n_terms + len(self.train)) if self.wide else float(self.n_terms)

    def row(self, row: int) -> NDArray[np.float64]:
        """A training row by column of the data, the 1 of the intercept last."""
        if self.wide:
            numbers = self.rows[[row]]
            return np.append(numbers.toarray() if arrays.is_sparse(numbers) else numbers, 1.0)
        out = np.zeros(self.n_terms)
        features = self.train[row, : self.n_features]
        out[self.used] = features if self.basis is None else features @ self.basis.T
        return out

    def coefficients(self, workspace: LogisticWorkspace, order: NDArray[np.int64]) -> NDArray[np.float64]:
        """Coefficients by column of the models in a workspace whose sequence holds the rows `order`."""
        models = workspace.solver.models[: workspace.n_models]
        out = np.zeros((len(models), self.n_terms))
        if self.wide:
            # Model j is sum_i a_i x_i with L^T a = its coordinates (see `span`).
            m = len(order)
            triangle = workspace.prefix.columns[:m, :m]
            shares = np.linalg.solve(triangle, models[:, :m].T)
            out[:, :-1] = (self.rows[order].T @ shares).T
            out[:, -1] = shares.sum(axis=0)
            return out
        models = models[:, : self.n_features]
        out[:, self.used] = models if self.basis is None else models @ self.basis.T
        return out


def prepare(train: Any, valid: Any, cost: float) -> Features:
    """Choose the form of the features: `train` and `valid` are arrays or sparse rows, `cost` the largest."""
    n_rows, n_columns = train.shape
    # The coefficient of a column that is 0 in all training rows is 0: one-hot encoding makes many.
    used = np.unique(train.nonzero()[1]) if arrays.is_sparse(train) else np.flatnonzero(train.any(axis=0))
    wide = len(used) + 1 > n_rows
    if wide:
        features = _as_products(train, valid, np.append(used, n_columns), cost)
        if features is not None:
            return features
    train, valid = (
        np.column_stack([_dense(x[:, used], name), np.ones(x.shape[0])])
        for x, name in ((train, "X"), (valid, "X_valid"))
    )
    basis = None
    if wide:
        # A model lies in the span of the training rows. In an orthonormal basis of it norms and decision
        # values are the same, and there are no more features than rows.
        train, valid, basis = in_span(train, valid)
    n_features = train.shape[1]
    train, valid = (aligned(rows, padded(n_features)) for rows in (train, valid))
    norms, valid_norms = (np.sqrt(np.einsum("ij,ij->i", rows, rows)) for rows in (train, valid))
    columns = aligned(valid.T, padded(len(valid)))
    largest, used = float(valid_norms.max()), np.append(used, n_columns)
    return Features(train, norms, valid, columns, n_features, largest, n_columns + 1, used, basis, None)


@one_thread()
def _as_products(train: Any, valid: Any, used: NDArray[np.int64], cost: float) -> Features | None:
    """Inner products in place of features, if they lose nothing that matters.

    They lose what is below eps times the squares of the rows' lengths, which is too much if the rows hardly
    differ for their length, or if two of them nearly coincide where the penalty is weak.
    """
    n_rows, n_valid = train.shape[0], valid.shape[0]
    check_memory(
        8 * n_rows * (2 * n_rows + 2 * n_valid),
        f"working with the inner products of {n_rows:,} rows of more columns than rows",
        "use fewer rows, or fewer columns, for example with sklearn.decomposition.TruncatedSVD",
    )
    products, cross = (_products(x, train) for x in (train, valid))
    squares = np.diagonal(products)
    if not float(squares.mean() - products.mean()) >= _LEAST_VARIATION * float(squares.max()):
        return None
    # Sparse rows stay: made dense they may not fit.
    weak = cost * float(squares.max()) >= _WEAK_PENALTY and not arrays.is_sparse(train)
    if weak and _least_distance(products) < _LEAST_DISTANCE:
        return None
    squared = valid.multiply(valid).sum(axis=1) if arrays.is_sparse(valid) else (valid * valid).sum(axis=1)
    largest = float(np.sqrt(squared.max() + 1.0))
    return Features(
        aligned(products, padded(n_rows)),
        np.sqrt(squares),
        np.zeros((0, padded(n_rows))),
        aligned(cross.T, padded(n_valid)),
        n_rows,
        largest,
        train.shape[1] + 1,
        used,
        None,
        train,
    )


def _least_distance(products: NDArray[np.float64]) -> float:
    """Smallest squared distance of two rows that are not equal, as a share of the longer one's square."""
    squares = np.diagonal(products)
    least = math.inf
    for i in range(1, len(products)):
        distances = squares[i] + squares[:i] - 2.0 * products[i, :i]
        shares = distances / np.maximum(squares[i], squares[:i])
        least = min(least, float(shares[shares > _EQUAL].min(initial=math.inf)))
    return least


def _products(rows: Any, train: Any) -> NDArray[np.float64]:
    """Inner products, that of the intercept included."""
    if arrays.is_sparse(rows):
        # A part at a time: as a sparse matrix, products that are seldom 0 take more than twice the room.
        columns = train.T.tocsr()
        products = np.empty((rows.shape[0], train.shape[0]))
        for first in range(0, rows.shape[0], _ROWS_AT_A_TIME):
            part = slice(first, first + _ROWS_AT_A_TIME)
            products[part] = (rows[part] @ columns).toarray()
    else:
        products = np.asarray(rows @ train.T)
    products += 1.0
    return products


def _dense(rows: Any, name: str) -> NDArray[np.float64]:
    return arrays.make_dense(rows, name) if arrays.is_sparse(rows) else rows
