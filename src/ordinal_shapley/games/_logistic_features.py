"""The features for a LogisticGame's kernels: columns, coordinates, or inner products."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import InitVar, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common import arrays
from ordinal_shapley.common.parallel import check_memory, one_thread
from ordinal_shapley.games._rows import in_span
from ordinal_shapley_kernels.lanes import padded
from ordinal_shapley_kernels.logistic_workspace import LogisticWorkspace, aligned

# Minimum share of the rows' squares that varies between rows, for inner products to be accurate.
_MIN_VARIATION = 1e-3
# If the largest cost times the largest square exceeds this, squared distances of rows must exceed the next.
_WEAK_PENALTY = 1e5
_MIN_DISTANCE = 1e-6
_EQUAL = 1e-12
# Minimum pivot of products of rows of norm 1.
_MIN_PIVOT = 1e-11
_MAX_COMPARED = 5_000
_ROWS_AT_A_TIME = 1_000
# Types that kernels read without conversion, in the order of `RawRows`.
_KINDS = ("float64", "float32", "int64", "int32")


# Maximum size of tables of inner products; other products are computed on demand.
_MAX_TABULATED = 2**28
# With fewer columns than this the span of a prefix does not pay off.
_MIN_COLUMNS = 48


@dataclass(eq=False, repr=False)
class Features:
    """Training and validation rows for `make_workspace`, and the transformation back to columns of the data.

    Training rows are kept as they came; kernels read those that they need. Validation rows are padded with 0
    as kernels want them.
    """

    rows: Any  # array or CSR matrix: columns that are not 0 throughout; or coordinates in `basis`
    held_out: InitVar[Any]  # the same of the validation rows
    intercept: bool  # whether a row ends with a 1 besides
    # Whether the intercept is not penalised. A row that is 0 but for it then follows the others.
    free: bool
    n_terms: int  # columns of the data, with that of the intercept
    used: NDArray[np.int64]  # those that `rows` hold, or that `basis` is of
    basis: NDArray[np.float64] | None = None  # (n_used, n_coordinates), orthonormal
    # (n_used,): what is subtracted from both, or has been where there is a basis: a free intercept takes it
    # up, and no digits are lost on columns far from 0.
    centre: NDArray[np.float64] | None = None
    span_limit: int = 0  # longest prefix whose models are looked for in its span

    def __post_init__(self, held_out: Any) -> None:
        self._shift = self.centre if self.basis is None else None
        # Inner products where they are tabulated: of training rows (n_rows, padded n_rows), and of these and
        # validation rows (n_rows, padded n_valid).
        self.products = self.valid_products = np.zeros((0, 0))
        self.n_features = self.rows.shape[1] + self.intercept  # without the padding
        squares = [np.einsum("ij,ij->i", block, block) for block in self.blocks()]
        self.norms = self.with_intercept(np.sqrt(np.concatenate(squares)))
        # (n_valid, padded n_features), and feature by feature
        self.valid = aligned(
            _block(held_out, slice(None), self.intercept, self._shift), padded(self.n_features)
        )
        self.valid_norms = np.sqrt(np.einsum("ij,ij->i", self.valid, self.valid))
        self.valid_columns = aligned(self.valid.T, padded(len(self.valid)))

    def blocks(self) -> Iterator[NDArray[np.float64]]:
        """Yield training rows in blocks, with the 1 of the intercept."""
        for first in range(0, self.rows.shape[0], _ROWS_AT_A_TIME):
            yield _block(self.rows, slice(first, first + _ROWS_AT_A_TIME), self.intercept, self._shift)

    def with_intercept(self, array: NDArray[Any], value: float = 1.0) -> NDArray[Any]:
        """Append the number for the row of a free intercept to those of the training rows."""
        return np.append(array, np.full_like(array[:1], value), axis=0) if self.free else array

    @property
    def raw(self) -> tuple[Any, ...]:
        """The arrays of `RawRows`, and its numbers."""
        rows = self.rows
        tables = [np.zeros((0, 0), kind) for kind in _KINDS]
        sparse = (np.zeros(0), np.zeros(0, np.int32), np.zeros(0, np.int64))
        if not self.n_features:
            pass
        elif arrays.is_sparse(rows):
            starts = self.with_intercept(rows.indptr, rows.indptr[-1]).astype(np.int64)
            sparse = rows.data, rows.indices.astype(np.int32, copy=False), starts
        else:
            tables[_KINDS.index(rows.dtype.name)] = rows
        shift = np.zeros(0) if self._shift is None else self._shift
        return (*tables, *sparse, shift, rows.shape[1], int(self.intercept))

    @property
    def largest(self) -> float:
        """Largest norm of a validation row."""
        return float(self.valid_norms.max())

    @property
    def span_rounding(self) -> float:
        """See `LogisticWorkspace`."""
        # Errors of the many terms of an inner product partly cancel: four standard deviations of their sum.
        return 8.0 + 4.0 * math.sqrt(self.n_terms + self.span_limit)

    def _by_column(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Transform rows of features to the columns of the data, with the intercept last."""
        out = np.zeros((len(features), self.n_terms))
        own = features[:, : self.rows.shape[1]]
        if self.intercept:
            out[:, -1] = features[:, self.rows.shape[1]]
        out[:, self.used] = own if self.basis is None else own @ self.basis.T
        return out

    def with_product(self, products: NDArray[np.float64]) -> NDArray[np.float64]:
        """Extend inner products of the training rows by those with the row of a free intercept."""
        return np.pad(products, ((0, 1), (0, 1)), constant_values=1.0) if self.free else products

    def coefficients(self, workspace: LogisticWorkspace, order: NDArray[np.int64]) -> NDArray[np.float64]:
        """Coefficients by column of the models in a workspace whose sequence holds the rows `order`."""
        models = workspace.solver.models[: workspace.n_models]
        if workspace.triangular:
            # Model j is sum_i a_i x_i with L^T a = its coordinates (see `span`).
            m = len(order) + self.free
            shares = np.linalg.solve(workspace.prefix.triangle[:m, :m].T, models[:, :m].T)
            shares, total = shares[self.free :], shares.sum(axis=0)
            models = np.column_stack([(self.rows[order].T @ shares).T, total])
            if self._shift is not None:
                models[:, :-1] -= np.outer(shares.sum(axis=0), self._shift)
        out = self._by_column(models)
        if self.centre is not None:
            out[:, -1] -= out[:, self.used] @ self.centre
        return out

    @one_thread()
    def tabulate(self) -> bool:
        """Tabulate the inner products that walks need repeatedly, unless too many; return whether it did."""
        n_rows, n_valid = len(self.norms), len(self.valid)
        if not self.span_limit or len(self.valid_products) or 8 * n_rows * n_valid > _MAX_TABULATED:
            return False
        columns = self.valid[:, : self.n_features].T
        products = np.concatenate([block @ columns for block in self.blocks()])
        self.valid_products = aligned(self.with_intercept(products), padded(n_valid))
        return True


def _block(
    rows: Any, part: Any, intercept: bool, shift: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return some rows as dense float64, minus `shift`, with the 1 of the intercept."""
    chosen = rows[part]
    out = np.ones((chosen.shape[0], rows.shape[1] + intercept))
    out[:, : rows.shape[1]] = chosen.toarray() if arrays.is_sparse(rows) else chosen
    if shift is not None:
        out[:, : rows.shape[1]] -= shift
    return out


def prepare(train: Any, valid: Any, cost: float, intercept: bool, free: bool) -> Features:
    """Choose the form of the features: `train` and `valid` are arrays or sparse rows, `cost` the largest."""
    n_rows, n_columns = train.shape
    # Columns that are 0 in all training rows, common with one-hot encoding, have coefficient 0.
    used = np.unique(train.nonzero()[1]) if arrays.is_sparse(train) else np.flatnonzero(train.any(axis=0))
    wide = len(used) + intercept > n_rows + free
    if wide and arrays.is_sparse(train):
        features = _keep_products(train, valid, intercept, free)
        if features is not None:
            return features
    if len(used) < n_columns:
        train, valid = (x[:, used] if arrays.is_sparse(x) else x.take(used, axis=1) for x in (train, valid))
    centre = None if not free or arrays.is_sparse(train) else train.mean(axis=0, dtype=np.float64)
    features = Features(train, valid, intercept, free, n_columns + 1, used, centre=centre)
    spans = len(used) >= _MIN_COLUMNS and _may_span(features, cost)
    if wide and spans and 8 * n_rows * n_rows <= _MAX_TABULATED:
        products = features.with_product(_gram(np.concatenate([*features.blocks()])))
        if spans := _are_independent(products):
            features.products = aligned(products, padded(len(products)))
    if wide and not spans:
        # Models lie in the span of the training rows. In an orthonormal basis of it norms and decision values
        # are the same, with at most as many features as rows.
        joined = intercept and not free  # a feature like the others
        rows, valid, basis = in_span(*(_block(x, slice(None), joined, centre) for x in (train, valid)))
        columns = np.append(used, n_columns) if joined else used
        return Features(rows, valid, free, free, n_columns + 1, columns, basis, centre)
    features.span_limit = min(n_rows + free, features.n_features) if spans else 0
    return features


def _may_span(features: Features, cost: float) -> bool:
    """Whether inner products can replace features without a relevant loss of precision.

    They lose everything below eps times the rows' squared lengths, which is too much if the rows differ
    little relative to their lengths, or if two of them nearly coincide and the penalty is weak.
    """
    squares = features.norms**2
    mean = np.sum([block.sum(axis=0) for block in features.blocks()], axis=0) / len(squares)
    if not squares.mean() - mean @ mean >= _MIN_VARIATION * squares.max():
        return False
    if cost * squares.max() < _WEAK_PENALTY:
        return True
    if len(squares) > _MAX_COMPARED:
        return False
    return _smallest_distance(_gram(np.concatenate([*features.blocks()]))) >= _MIN_DISTANCE


@one_thread()
def _gram(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(rows @ rows.T)


@one_thread()
def _are_independent(products: NDArray[np.float64]) -> bool:
    """Whether no row is nearly a combination of others, so that pivots of products are more than rounding."""
    norms = np.sqrt(np.diagonal(products))
    scaled = products / norms / norms[:, None]
    scaled[np.diag_indices_from(scaled)] -= _MIN_PIVOT
    try:
        np.linalg.cholesky(scaled)
    except np.linalg.LinAlgError:
        return False
    return True


@one_thread()
def _keep_products(train: Any, valid: Any, intercept: bool, free: bool) -> Features | None:
    """Keep inner products of sparse rows, which may be too large when dense; None if they lose too much."""
    n_rows, n_valid = train.shape[0], valid.shape[0]
    check_memory(
        8 * n_rows * (2 * n_rows + 2 * n_valid),
        f"working with the inner products of {n_rows:,} rows of more columns than rows",
        "use fewer rows, or fewer columns, for example with sklearn.decomposition.TruncatedSVD",
    )
    products, cross = (_products(x, train, intercept) for x in (train, valid))
    squares = np.diagonal(products)
    if not float(squares.mean() - products.mean()) >= _MIN_VARIATION * float(squares.max()):
        return None
    if 8 * train.shape[0] * train.shape[1] <= _MAX_TABULATED and not _are_independent(products):
        return None
    squared = valid.multiply(valid).sum(axis=1) if arrays.is_sparse(valid) else (valid * valid).sum(axis=1)
    n_columns = train.shape[1]
    nothing = np.zeros((n_rows, 0))
    features = Features(nothing, nothing[:n_valid], False, free, n_columns + 1, np.arange(n_columns))
    features.rows = train
    features.intercept = intercept
    features.valid_columns = np.zeros((0, padded(n_valid)))
    features.norms = features.with_intercept(np.sqrt(squares))
    features.valid_norms = np.sqrt(np.ravel(squared) + intercept)
    features.products = aligned(features.with_product(products), padded(n_rows + free))
    features.valid_products = aligned(features.with_intercept(cross.T), padded(n_valid))
    features.span_limit = n_rows + free
    return features


def _smallest_distance(products: NDArray[np.float64]) -> float:
    """Smallest squared distance between unequal rows, as a share of the longer one's square."""
    squares = np.diagonal(products)
    smallest = math.inf
    for i in range(1, len(products)):
        distances = squares[i] + squares[:i] - 2.0 * products[i, :i]
        shares = distances / np.maximum(squares[i], squares[:i])
        smallest = min(smallest, float(shares[shares > _EQUAL].min(initial=math.inf)))
    return smallest


def _products(rows: Any, train: Any, intercept: bool) -> NDArray[np.float64]:
    """Inner products, including the intercept if there is one."""
    if arrays.is_sparse(rows):
        # In parts, as products are seldom 0 and a sparse matrix of them takes more than twice the memory.
        columns = train.T.tocsr()
        products = np.empty((rows.shape[0], train.shape[0]))
        for first in range(0, rows.shape[0], _ROWS_AT_A_TIME):
            part = slice(first, first + _ROWS_AT_A_TIME)
            products[part] = (rows[part] @ columns).toarray()
    else:
        products = np.asarray(rows @ train.T)
    products += intercept
    return products
