"""The vectorisable exponential against the C library's."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ordinal_shapley_kernels import elementary
from problems import size


def test_exp_to_about_one_unit_in_the_last_place():
    rng = np.random.default_rng(0)
    points = np.concatenate(
        [
            rng.uniform(-708, 708, size(20_000, 1_000)),
            rng.normal(size=size(20_000, 1_000)),
            [0.0, -0.0, 1.0, -1.0, 708.0, -708.0, 1e-300, -1e-17],
            # next to the folds of the range reduction
            (np.arange(-1000, 1001)[:: size(1, 20)] + 0.5) * math.log(2) * 0.99,
        ]
    )
    points = points[np.abs(points) <= 708]
    got = np.array([elementary.exp(x) for x in points])
    exact = np.exp(points.astype(np.longdouble))
    error = np.abs((got - exact) / exact).astype(np.float64)
    assert error.max() < 3 * 2.0**-53


@pytest.mark.parametrize(
    ("x", "bound"), [(1e4, 708.0), (-1e4, -708.0), (math.inf, 708.0), (-math.inf, -708.0)]
)
def test_exp_is_clipped(x, bound):
    assert elementary.exp(x) == elementary.exp(bound)
    assert 0 < elementary.exp(x) < math.inf
