"""Weights of classes, as scikit-learn's classifiers take them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common import arguments
from ordinal_shapley.games._rows import MAX_COST


def read_class_weight(class_weight: Any, classes: NDArray[Any]) -> NDArray[np.float64] | None:
    """Return the weight of each class, 1 for those that a dict lacks; None for "balanced"."""
    weights = np.ones(len(classes))
    if class_weight is None:
        return weights
    if isinstance(class_weight, str) and class_weight == "balanced":
        return None
    if not isinstance(class_weight, Mapping):
        raise TypeError(f"class_weight is {class_weight!r}, expected None, 'balanced' or a dict of weights")
    codes = {label: code for code, label in enumerate(classes.tolist())}
    for label, weight in class_weight.items():
        if label not in codes:
            raise ValueError(f"class_weight has {label!r}, expected classes that occur in y")
        name = f"class_weight of {label!r}"
        weights[codes[label]] = arguments.number(name, weight, above=0.0, max=MAX_COST)
    return weights
