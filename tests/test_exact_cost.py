"""What exact values cost, as it is told before the work: time, pace and memory."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace

import pytest

import ordinal_shapley as osv
from ordinal_shapley.exact import enumeration, plan
from test_exact import random_table


def test_what_takes_too_long_is_refused():
    game = osv.FunctionGame(lambda S: 0.0, 11)
    with pytest.raises(ValueError, match=r"108,505,112.*max_seconds"):
        osv.exact_values(game, max_seconds=1)
    osv.exact_values(osv.FunctionGame(lambda S: 0.0, 5), max_seconds=math.inf)
    game = osv.FunctionGame(lambda S: 0.0, 30, order_free=True)
    with pytest.raises(ValueError, match=r"10\^32"):
        osv.exact_values(game)
    game = osv.FunctionGame(lambda S: 0.0, 1000)
    with pytest.raises(ValueError, match=r"1000 players"):
        osv.exact_values(game)


def test_the_time_is_what_all_utilities_take_shared_by_the_workers(monkeypatch):
    monkeypatch.setattr(plan, "seconds_an_evaluation", lambda game, scope: 4.0)
    hint = "give partition and case if only some orders matter, "
    for value, more in (("partial_ordinal", hint), ("ordinal", "")):
        expected = (
            r"1,957 utilities, about 1.09 hours at 4 s each on 2 workers, more than max_seconds \(3600\): "
            f"{more}estimate it with sample_values, or raise max_seconds"
        )
        with pytest.raises(ValueError, match=expected):
            osv.exact_values(random_table(6)[0], value, n_jobs=2)
    # Few utilities are not worth asking, unless a limit was.
    monkeypatch.setattr(plan, "seconds_an_evaluation", lambda game, scope: 1e6)
    osv.exact_values(random_table(5)[0])
    with pytest.raises(ValueError, match=r"326 .*max_seconds"):
        osv.exact_values(random_table(5)[0], max_seconds=10)


def test_the_pace_is_that_of_the_first_utilities(monkeypatch):
    ticks = itertools.count()
    clock = SimpleNamespace(perf_counter=lambda: 1e-4 * next(ticks))
    monkeypatch.setattr(enumeration, "time", clock)
    game, _ = random_table(6)
    scope = plan.make_scope(game, "partial_ordinal", None, None, None)
    # One first, which is not counted, then 1, 2, 4 .. to 512 and the 932 that are left of 1,956.
    assert enumeration.seconds_an_evaluation(game, scope) == pytest.approx(11 * 1e-4 / 1955, rel=1e-9)


def test_the_memory_that_is_asked_for(monkeypatch):
    asked = []
    monkeypatch.setattr(plan, "check_memory", lambda size, purpose, instead: asked.append(size))
    game, _ = random_table(5)
    osv.exact_values(game, "partial_ordinal", n_jobs=3)
    assert asked == []
    osv.exact_values(game, "ordinal", n_jobs=3)
    osv.exact_values(game, "weighted_ordinal", order_weight=lambda S: 1 / math.factorial(len(S)))
    # Sums of all subsets, of the whole and of two branches a worker; the weights and what checks them.
    assert set(asked) == {8 * 32 * 7, 32 * 326}


def test_what_takes_too_much_memory_is_refused(monkeypatch):
    monkeypatch.setattr("ordinal_shapley.common.parallel.available_memory", lambda: 100_000)
    game, _ = random_table(5)
    osv.exact_values(game, "ordinal")
    with pytest.raises(ValueError, match="GiB"):
        osv.exact_values(osv.FunctionGame(lambda S: 0.0, 8), "weighted_ordinal", order_weight=lambda S: 1.0)
    with pytest.raises(ValueError, match="8 players"):
        osv.TableGame(8, {})
