"""From tables to arguments of a game of training rows: rows drawn, split and encoded."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ordinal_shapley.common.names import find_alike
from ordinal_shapley.tables.encoding import Encoder
from ordinal_shapley.tables.table import Table

if TYPE_CHECKING:
    import pandas as pd

# More numeric classes than this may be a numeric target.
_MANY_NUMBERS = 10
# So many common rows are suspicious, unless duplicates among training rows are frequent as well.
_MIN_COPIES = 10
_MAX_COPIES = 0.2
_MAX_FOR_TWINS = 2


@dataclass(frozen=True, eq=False)
class Problem:
    """Arguments for a game of training rows; results name the rows by the index of `X`."""

    name: str
    X: pd.DataFrame
    y: npt.NDArray[Any]
    X_valid: Any  # a DataFrame, or None for cross-fitting
    y_valid: Any  # an array, or None
    frame: pd.DataFrame  # the original training rows, columns that are not features first
    target: str  # the column to predict


def draw(table: Table, rows: int, seed: int) -> Table:
    """Return that many rows, each class in proportion, in the order of the table."""
    n = len(table.frame)
    if rows > n:
        raise ValueError(f"--rows is {rows:,}, but {table.name} has only {n:,} rows")
    if table.has_numbers:
        return table.take(np.sort(np.random.default_rng(seed).choice(n, rows, replace=False)))
    counts = table.target.value_counts().sort_index()
    if rows < len(counts):
        raise ValueError(f"--rows is {rows:,}, expected at least the {len(counts)} classes of {table.name}")
    shares = counts.to_numpy() * (rows / n)
    quotas = np.maximum(1, shares.astype(np.int64))
    while gap := rows - int(quotas.sum()):
        # Add a row to the class with the largest deficit, or take one from that with the largest excess.
        ahead = np.where((gap < 0) & (quotas == 1), -np.inf, np.sign(gap) * (shares - quotas))
        quotas[ahead.argmax()] += np.sign(gap)
    generator = np.random.default_rng(seed)
    classes = table.target.to_numpy()
    kept = [
        generator.choice(np.flatnonzero(classes == name), quota, replace=False)
        for name, quota in zip(counts.index, quotas, strict=True)
    ]
    return table.take(np.sort(np.concatenate(kept)))


def split(table: Table, fraction: float, seed: int, option: str = "--valid") -> tuple[Table, Table]:
    """Split off a stratified fraction; both parts stay in the order of the table.

    `option` is the option that could name a file instead of the split.
    """
    from sklearn.model_selection import train_test_split

    from ordinal_shapley.common.seeds import sklearn_state

    n = len(table.target)
    if table.has_numbers:
        n_split = round(fraction * n)
        if not 2 <= n_split < n:
            raise ValueError(f"{option}-fraction selects {n_split:,} of {n:,} rows, expected 2 to {n - 1:,}")
        order = np.random.default_rng(seed).permutation(n)
        parts = order[n_split:], order[:n_split]
    else:
        counts = table.target.value_counts()
        if counts.min() < 2:
            raise ValueError(f"{option}-fraction: {_lone_class(table, counts, option)}")
        try:
            parts = train_test_split(
                np.arange(n), test_size=fraction, stratify=table.target, random_state=sklearn_state(seed)
            )
        except ValueError as error:
            raise ValueError(
                f"{option}-fraction: {n:,} rows in {len(counts)} classes are too few for this split with "
                "every class on both sides"
            ) from error
    first, second = (table.take(np.sort(part)) for part in parts)
    return first, second


def _lone_class(table: Table, counts: pd.Series, option: str) -> str:
    """Describe which class can't be split, and possible reasons."""
    from ordinal_shapley.common.arrays import plain

    rarest = plain(counts.idxmin())
    alike = [group for group in find_alike(map(str, counts.index)) if rarest in group]
    hint = f"; {' and '.join(map(repr, alike[0]))} differ in spaces or case only" if alike else ""
    if len(counts) > _MANY_NUMBERS and table.target.dtype.kind == "i":
        hint = "; if these are numbers to predict, ask `ordinal-shapley value` for --model ridge"
    return (
        f"class {rarest!r} has a single row, so no split has every class on both sides; give such rows with "
        f"{option} or leave that class out{hint}"
    )


def encode(train: Table, valid: Table | None, *, raw: bool, impute: bool = False) -> Problem:
    """Encode both tables, or the only one, by the training table, after the last checks."""
    import pandas as pd

    y, y_valid = _targets(train, valid)
    encoder = Encoder(raw=raw, impute=impute).fit(train.frame, name_row=train.name_row, warn=False)

    def encoded(table: Table) -> pd.DataFrame:
        return pd.DataFrame(
            encoder.transform(table.frame, name_row=table.name_row, name=table.name),
            index=table.frame.index,
            columns=encoder.feature_names_out(),
        )

    X, X_valid = encoded(train), None if valid is None else encoded(valid)
    if X_valid is not None and y_valid is not None:
        _warn_of_copies(X, y, X_valid, y_valid)
    frame = pd.concat([train.left_out, train.frame], axis=1)
    if train.names is not None:
        X.index = frame.index = pd.Index(frame.pop(train.names))
    return Problem(train.name, X, y, X_valid, y_valid, frame, str(train.target.name))


def _warn_of_copies(
    X: pd.DataFrame, y: npt.NDArray[Any], X_valid: pd.DataFrame, y_valid: npt.NDArray[Any]
) -> None:
    """Warn if many validation rows are exact copies of training rows.

    In a table of few categories many are, at random: but then many training rows equal other training rows.
    """
    rows, rows_valid = (
        # Rows do not differ by the sign of a zero.
        [(row.tobytes(), target) for row, target in zip(X.to_numpy() + 0.0, y.tolist(), strict=True)]
        for X, y in ((X, y), (X_valid, y_valid))
    )
    trained = Counter(rows)
    twins = sum(count for count in trained.values() if count > 1) / len(rows)
    copies = sum(row in trained for row in rows_valid)
    if copies >= _MIN_COPIES and copies > max(_MAX_COPIES, _MAX_FOR_TWINS * twins) * len(rows_valid):
        warnings.warn(
            f"remove duplicates: {copies:,} of the {len(rows_valid):,} validation rows are copies of "
            "training rows, which makes the model and the values look better than they are",
            stacklevel=3,
        )


def _targets(train: Table, valid: Table | None) -> tuple[npt.NDArray[Any], npt.NDArray[Any] | None]:
    """Return both columns of targets, after the last checks."""
    y, y_valid = np.asarray(train.target), None if valid is None else np.asarray(valid.target)
    if train.has_numbers:
        return y, y_valid
    classes = set(train.target)
    if len(classes) < 2:
        raise ValueError(
            f"--target: column {train.target.name!r} of {train.name} has only one class, "
            f"{next(iter(classes))!r}; at least two are needed"
        )
    if valid is None or y_valid is None:
        return y if y.dtype.kind == "i" else y.astype(np.str_), None
    if y.dtype.kind != "i" or y_valid.dtype.kind != "i":
        y, y_valid = y.astype(np.str_), y_valid.astype(np.str_)
    unknown = ~np.isin(y_valid, y)
    if unknown.any():
        raise ValueError(
            f"{valid.name_first(unknown)}: the validation class {y_valid[unknown][0].item()!r} never occurs "
            "in training"
        )
    return y, y_valid
