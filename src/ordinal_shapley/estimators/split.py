"""The split an estimator makes when it gets no validation data, and rows picked from what users have."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from ordinal_shapley.common import arguments, arrays
from ordinal_shapley.common.seeds import sklearn_state


def strata_of(strata: Any, n_rows: int, groups: NDArray[Any] | None, train: NDArray[np.intp]) -> NDArray[Any]:
    """Return the strata of the rows, or of the groups in sorted order, that are valued."""
    if groups is None:
        return arrays.as_column(strata, "strata", n_rows, "row of X")[train]
    names = np.unique(groups)
    return arrays.as_column(strata, "strata", len(names), "group")[np.isin(names, groups[train])]


def split(
    y: NDArray[Any], groups: NDArray[Any] | None, valid_fraction: float, random_state: Any, by_class: bool
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return positions of training and validation rows, each in increasing order.

    With `by_class`, y are classes: each is drawn from, and each is among the training rows.
    """
    valid_fraction = arguments.number("valid_fraction", valid_fraction, above=0.0, below=1.0)
    arrays.encode(y, "y")  # labels of mixed types cannot be sorted: say so by name
    if groups is None:
        units, unit_classes = np.arange(len(y)), y
    else:
        units = arrays.encode(groups, "groups")[1]
        unit_classes = y[np.unique(units, return_index=True)[1]]
    stratify = unit_classes if by_class and np.array_equal(unit_classes[units], y) else None
    hint = "pass X_valid and y_valid to choose the validation rows yourself"
    if stratify is not None:
        names, sizes = np.unique(stratify, return_counts=True)
        if sizes.min() < 2:
            unit = "row" if groups is None else "group"
            raise ValueError(
                f"y has a single {unit} of class {names[sizes.argmin()]!s}, which cannot be both "
                f"valued and held out: {hint}"
            )
    state = sklearn_state(random_state)
    try:
        kept, held = train_test_split(
            np.arange(units.max() + 1),
            test_size=valid_fraction,
            stratify=stratify,
            random_state=state,
        )
    except ValueError as error:
        raise ValueError(
            f"valid_fraction {valid_fraction} does not split these rows ({error}): {hint}"
        ) from error
    train, valid = (np.flatnonzero(np.isin(units, part)) for part in (kept, held))
    lost = np.setdiff1d(y, y[train])
    if by_class and lost.size:
        raise ValueError(
            f"valid_fraction {valid_fraction} leaves no training row of class {lost[0]!s}: {hint}"
        )
    return train, valid
