"""What exact values cost, as it is told before the work: time, pace and memory."""

from __future__ import annotations

import math

import pytest

import ordinal_shapley as osv
from test_exact import random_table


def test_what_takes_too_long_is_refused():
    game = osv.FunctionGame(lambda S: 0.0, 11)
    with pytest.raises(ValueError, match=r"108,505,112.*max_seconds"):
        osv.exact_values(game, "partial_ordinal", max_seconds=1)
    osv.exact_values(osv.FunctionGame(lambda S: 0.0, 5), "partial_ordinal", max_seconds=math.inf)
    game = osv.FunctionGame(lambda S: 0.0, 30, order_free=True)
    with pytest.raises(ValueError, match=r"10\^32"):
        osv.exact_values(game, "partial_ordinal")
    game = osv.FunctionGame(lambda S: 0.0, 1000)
    with pytest.raises(ValueError, match=r"1000 players"):
        osv.exact_values(game, "partial_ordinal")


def test_what_takes_too_much_memory_is_refused(monkeypatch):
    monkeypatch.setattr("ordinal_shapley.common.parallel.available_memory", lambda: 100_000)
    game, _ = random_table(5)
    osv.exact_values(game, "ordinal")
    with pytest.raises(ValueError, match="GiB"):
        osv.exact_values(osv.FunctionGame(lambda S: 0.0, 8), osv.WeightedOrdinal(lambda S: 1.0))
    with pytest.raises(ValueError, match="8 players"):
        osv.TableGame(8, {})
