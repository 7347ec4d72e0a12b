"""How many decimals to write."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt


def decimals(errors: npt.NDArray[np.float64], values: npt.NDArray[np.float64]) -> int:
    """Return the decimals that show two digits of a typical standard error, or else of a typical value."""
    for numbers in (errors, values):
        sizes = np.abs(np.asarray(numbers, dtype=np.float64))
        sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
        if sizes.size:
            return int(np.clip(1 - math.floor(math.log10(float(np.median(sizes)))), 2, 9))
    return 4
