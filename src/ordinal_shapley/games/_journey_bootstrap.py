"""Sampling variation of credit: bootstrap of journeys."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common.parallel import check_memory
from ordinal_shapley.games._journey_input import Counted
from ordinal_shapley.games._journey_sets import Paths, Rule, Sets, shares_of

MAX_RESAMPLES = 100_000
# Level of the intervals, in percent.
_ENDS = (2.5, 97.5)
# Numbers (nodes times lanes) processed at once.
_AT_ONCE = 2**22
_MAX_LANES = 64
# NumPy draws no larger numbers; their relative spread is negligible.
_MAX_MEAN = 2.0**60


def _errors(prefix: str, drawn: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    found = np.full((3, len(drawn)), np.nan)
    known = drawn.any(axis=1)
    if drawn.shape[1] > 1 and known.any():
        found[0, known] = drawn[known].std(axis=1, ddof=1)
        found[1:, known] = np.percentile(drawn[known], _ENDS, axis=1)
    return {f"{prefix}{name}": row for name, row in zip(("stderr", "ci_low", "ci_high"), found, strict=True)}


def resample(
    paths: Paths,
    sets: Sets,
    counted: Counted,
    rule: Rule,
    n_resamples: int,
    seed: int,
) -> dict[str, NDArray[np.float64]]:
    """Draw every count from the Poisson distribution that has it as mean, and share conversions again.

    Returns standard errors and intervals of credits and shares, NaN for channels that never get any.
    """
    n_channels = len(counted.channels)
    check_memory(
        16 * n_channels * n_resamples,
        f"credit of {n_channels:,} channels in {n_resamples:,} resamples",
        "take a smaller bootstrap",
    )
    credits, conversions = np.zeros((n_channels, n_resamples)), np.zeros(n_resamples)
    means = np.concatenate([counted.conversions, counted.totals - counted.conversions])
    units = np.maximum(1.0, means / _MAX_MEAN)
    won = paths.pool(counted.conversions) > 0.0  # only these sets have conversions
    n_lanes = min(_MAX_LANES, max(1, _AT_ONCE // len(paths.trie.parents)))
    for first in range(0, n_resamples, n_lanes):
        lanes = range(first, min(first + n_lanes, n_resamples))
        # A stream for each resample, so that more resamples begin with the same ones.
        drawn = np.stack([np.random.default_rng([seed, k]).poisson(means / units) * units for k in lanes])
        converted, lost = np.split(np.ascontiguousarray(drawn.T, np.float64), 2)
        of_sets = sets._replace(conversions=paths.pool(converted)[won])
        shares = shares_of(paths, of_sets, converted, converted + lost, rule)
        credits[:, lanes] = of_sets.credits(shares, n_channels)
        conversions[lanes] = converted.sum(axis=0)
    some = conversions > 0.0
    return _errors("", credits) | _errors("share_", credits[:, some] / conversions[some])
