"""Golden values from published work, each with its source."""

from __future__ import annotations

import numpy as np
import pytest

import naive

# Players are written 1, 2, 3 as in the papers; the 0-based tables are derived from them.
THREE_PLAYERS = {
    (1, 3, 2): 4.0,
    (3, 1, 2): 4.0,
    (2, 3, 1): 4.0,
    (3, 2, 1): 4.0,
    (1, 2, 3): 3.0,
    (2, 1, 3): 3.0,
    (1, 2): 2.0,
    (2, 1): 2.0,
    (1, 3): 3.0,
    (3, 1): 3.0,
}
# The partial ordinal value is that of Nowak & Radzik (1994), "The Shapley value for n-person games
# in generalized characteristic function form", Games and Economic Behavior 6; the ordinal value is
# that of Sanchez & Bergantinos (1997), "On values for generalized characteristic functions",
# OR Spektrum 19.
CASES = {
    "three players": (3, THREE_PLAYERS, (39 / 18, 12 / 18, 15 / 18), (37 / 18, 10 / 18, 19 / 18)),
    "two players": (2, {(1, 2): 1.0}, (0.0, 0.5), (0.25, 0.25)),
}


@pytest.mark.parametrize("name", CASES)
def test_exact_values(name):
    n, table, partial, ordinal = CASES[name]
    U = naive.TableUtility(n, {tuple(i - 1 for i in sequence): value for sequence, value in table.items()})
    np.testing.assert_allclose(naive.exact_partial_ordinal(U, n), partial, atol=1e-14)
    np.testing.assert_allclose(naive.exact_partial_ordinal_by_subsets(U, n), partial, atol=1e-14)
    np.testing.assert_allclose(naive.exact_ordinal(U, n), ordinal, atol=1e-14)
