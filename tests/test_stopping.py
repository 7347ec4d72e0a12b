"""Stopping rules against a transcription of their definition, and their composition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordinal_shapley.sampling.stopping import (
    Check,
    MaxPermutations,
    Progress,
    RelativeChange,
    StoppingRule,
)


def at(n_permutations, values=(1.0, 2.0)):
    values = np.array(values, dtype=float)
    return Progress(values, np.zeros_like(values), n_permutations, 10 * n_permutations, 0.1)


def naive_change(history, window):
    """Return the figure of RelativeChange from its definition; history is [(t, values), ...]."""
    now, values = history[-1]
    before = [t for t, _ in history[:-1] if t <= now - window]
    if not before:
        return None
    worst = 0.0
    for t, earlier in history[:-1]:
        if t < max(before):
            continue
        known = [
            (v, e) for v, e in zip(values, earlier, strict=True) if v == v and e == e
        ]  # NaN is the only float that differs from itself
        scale = sum(abs(v) for v, _ in known) / len(known) if known else 0.0
        if scale == 0.0:
            return math.inf
        terms = [abs(v - e) / max(abs(v), scale) for v, e in known]
        worst = max(worst, sum(terms) / len(terms))
    return worst


class TestMaxPermutations:
    def test_stops_at_its_number(self):
        check = MaxPermutations(250).begin()
        assert [check(at(t)) for t in (100, 200, 249, 250, 300)] == [False] * 3 + [True] * 2

    def test_is_no_convergence(self):
        check = MaxPermutations(100).begin()
        assert (check.fired, check.converged) == ("", False)
        assert check(at(100))
        assert (check.fired, check.converged, check.figure) == ("MaxPermutations", False, "")

    @pytest.mark.parametrize(
        ("n", "error"),
        [(0, ValueError), (-5, ValueError), (1e3, TypeError), ("10", TypeError), (True, TypeError)],
    )
    def test_bad_number(self, n, error):
        with pytest.raises(error, match="n_permutations is"):
            MaxPermutations(n)

    def test_numpy_integer(self):
        cap = MaxPermutations(np.int64(7)).max_permutations
        assert cap == 7
        assert type(cap) is int


class TestRelativeChange:
    def test_by_hand(self):
        check = RelativeChange(tol=0.05).begin()
        assert not check(at(100, [1.0, 3.0]))
        assert check.figure == "relative change unknown (stop < 0.05)"
        # mean |v| = 2: (|1.1 - 1| / 2 + |2.9 - 3| / 2.9) / 2 = 0.0422 and a bit.
        assert check(at(200, [1.1, 2.9]))
        assert check.figure == "relative change 0.0422 (stop < 0.05)"
        assert (check.fired, check.converged) == ("RelativeChange", True)
        assert not check(at(300, [2.0, 2.9]))
        assert (check.fired, check.converged) == ("", False)

    def test_needs_an_earlier_round(self):
        assert not RelativeChange(window=100).begin()(at(100))
        assert not RelativeChange(window=1).begin()(at(5_000))

    def test_waits_for_its_window(self):
        check = RelativeChange(window=300).begin()
        said = [check(at(t)) for t in (100, 200, 300, 400)]
        assert said == [False, False, False, True]

    def test_a_short_last_round_does_not_look_converged(self):
        check = RelativeChange(tol=0.05, window=100).begin()
        check(at(100, [1.0, 1.0]))
        check(at(200, [2.0, 2.0]))
        assert not check(at(210, [2.01, 2.01])), "210 must be compared with 100, not only with 200"

    def test_looks_at_the_worst_of_the_window(self):
        swing = [(100, [1.0, 1.0]), (200, [2.0, 2.0]), (300, [1.0, 1.0])]
        narrow, wide = RelativeChange(window=100).begin(), RelativeChange(window=200).begin()
        for t, values in swing:
            narrow(at(t, values))
            wide(at(t, values))
        assert wide(at(400, [1.0, 1.0])) is False
        assert narrow(at(400, [1.0, 1.0])) is True

    def test_never_on_zeros(self):
        check = RelativeChange(tol=1e9).begin()
        assert not any(check(at(t, [0.0, 0.0])) for t in range(100, 1_000, 100))
        assert not check.converged

    def test_near_zero_values_do_not_block_it(self):
        check = RelativeChange().begin()
        check(at(100, [1e-9, 1.0]))
        assert check(at(200, [-1e-9, 1.01])), "relative to |v_i| alone, the first moved by 200 %"

    def test_unknown_players_are_left_out(self):
        check = RelativeChange().begin()
        check(at(100, [math.nan, 1.0, 5.0]))
        assert check(at(200, [7.0, 1.0, 5.0]))
        check = RelativeChange().begin()
        check(at(100, [math.nan, math.nan]))
        assert not check(at(200, [math.nan, math.nan]))

    def test_keeps_its_own_copy(self):
        check, values = RelativeChange().begin(), np.array([1.0, 2.0])
        check(Progress(values, values, 100, 0, 0.0))
        values *= 3  # a driver may reuse its array
        assert not check(Progress(values, values, 200, 0, 0.0))

    @given(
        window=st.sampled_from([1, 50, 100, 150, 250, 400]),
        rounds=st.lists(
            st.tuples(
                st.sampled_from([10, 50, 100, 130]),
                st.lists(
                    st.one_of(st.integers(-99, 99).map(lambda k: k / 50), st.just(math.nan), st.just(0.0)),
                    min_size=3,
                    max_size=3,
                ),
            ),
            max_size=8,
        ),
    )
    def test_equals_the_definition(self, window, rounds):
        check, history, now = RelativeChange(tol=0.3, window=window).begin(), [], 0
        for step, values in rounds:
            now += step
            history.append((now, values))
            expected = naive_change(history, window)
            if expected is not None and math.isclose(expected, 0.3, rel_tol=1e-9):
                return  # rounding decides
            assert check(at(now, values)) == (expected is not None and expected < 0.3)
            shown = "unknown" if expected is None else f"{expected:.3g}"
            if expected is None or not math.isfinite(expected):
                assert check.figure == f"relative change {shown} (stop < 0.3)"

    @pytest.mark.parametrize(
        ("options", "error", "named"),
        [
            ({"tol": 0.0}, ValueError, "tol is 0.0"),
            ({"tol": -1}, ValueError, "tol is -1"),
            ({"tol": math.nan}, ValueError, "tol is nan"),
            ({"tol": math.inf}, ValueError, "tol is inf"),
            ({"tol": None}, TypeError, "tol is None"),
            ({"tol": True}, TypeError, "tol is True"),
            ({"window": 0}, ValueError, "window is 0"),
            ({"window": 10.0}, TypeError, "window is 10.0"),
        ],
    )
    def test_bad_arguments(self, options, error, named):
        with pytest.raises(error, match=named):
            RelativeChange(**options)

    def test_has_no_cap(self):
        assert RelativeChange().max_permutations is None


class Scripted(StoppingRule):
    """Says what it is told to, and counts its calls."""

    def __init__(self, answers, *, name, converges):
        self.answers, self.name, self.converges = answers, name, converges
        self.calls = 0

    def begin(self):
        rule = self

        class Run(Check):
            def __call__(self, progress):
                stop = rule.answers[progress.n_permutations // 100 - 1]
                rule.calls += 1
                self.figure = f"{rule.name} figure"
                self.fired = rule.name if stop else ""
                self.converged = stop and rule.converges
                return stop

        return Run()


answers = st.lists(st.booleans(), min_size=5, max_size=5)


class TestComposition:
    @given(answers, answers, answers)
    def test_is_boolean_algebra(self, a, b, c):
        rules = [
            Scripted(said, name=name, converges=name != "C")
            for name, said in zip("ABC", (a, b, c), strict=True)
        ]
        either, both = (rules[0] | rules[1] & rules[2]).begin(), (rules[0] & rules[1]).begin()
        for round_ in range(5):
            x, y, z = a[round_], b[round_], c[round_]
            assert either(at(100 * round_ + 100)) == (x or (y and z))
            assert bool(either.fired) == (x or (y and z))
            assert either.converged == (x or (y and z))
            assert both(at(100 * round_ + 100)) == (x and y)
            assert both.converged == (x and y)
            assert both.fired == ("A & B" if x and y else "")
        # No call is saved by the other side's answer: a rule that looks back misses no round.
        assert [rule.calls for rule in rules] == [10, 10, 5]

    def test_either_reports_who_stopped(self):
        rule = RelativeChange() | MaxPermutations(200)
        check = rule.begin()
        assert not check(at(100, [1.0, 1.0]))
        assert check.fired == ""
        assert check(at(200, [2.0, 2.0]))
        assert (check.fired, check.converged) == ("MaxPermutations", False)

    def test_convergence_at_the_cap_is_convergence(self):
        for rule in (
            RelativeChange() | MaxPermutations(200),
            MaxPermutations(200) | RelativeChange(),
        ):
            check = rule.begin()
            check(at(100))
            assert check(at(200))
            assert (check.fired, check.converged) == ("RelativeChange", True)

    def test_both_with_a_minimum(self):
        check = (RelativeChange() & MaxPermutations(400)).begin()
        assert [check(at(t)) for t in (100, 200, 300, 400)] == [False] * 3 + [True]
        assert (check.fired, check.converged) == ("RelativeChange & MaxPermutations", True)

    def test_an_unmet_side_of_both_is_not_convergence(self):
        check = (RelativeChange() & MaxPermutations(400)).begin()
        check(at(100))
        assert not check(at(200))
        assert (check.fired, check.converged) == ("", False)

    def test_caps_of_two_are_no_convergence(self):
        check = (MaxPermutations(100) & MaxPermutations(200) | MaxPermutations(300)).begin()
        assert not check(at(100))
        assert check(at(200))
        assert (check.fired, check.converged) == ("MaxPermutations & MaxPermutations", False)

    def test_figures_join(self):
        check = (RelativeChange(0.1) | MaxPermutations(500) | RelativeChange(0.2, 50)).begin()
        check(at(100))
        assert check.figure == ("relative change unknown (stop < 0.1); relative change unknown (stop < 0.2)")

    def test_caps(self):
        change, small, large = RelativeChange(), MaxPermutations(10), MaxPermutations(20)
        assert (change | small).max_permutations == 10
        assert (small | large).max_permutations == 10
        assert (small & large).max_permutations == 20
        assert (small & change).max_permutations is None
        assert (change | RelativeChange(0.1)).max_permutations is None
        assert ((small & change) | large).max_permutations == 20

    @given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 9))
    def test_the_cap_is_when_it_stops(self, a, b, c):
        a, b, c = (MaxPermutations(100 * k) for k in (a, b, c))
        for rule in (a | b & c, (a | b) & c, a & b & c, a | b | c):
            check = rule.begin()
            first = next(t for t in range(100, 1_000, 100) if check(at(t)))
            assert first == rule.max_permutations

    def test_runs_do_not_share_state(self):
        rule = RelativeChange() | MaxPermutations(1_000)
        one, two = rule.begin(), rule.begin()
        one(at(100))
        assert not two(at(200))
        assert one(at(200))

    def test_rules_are_values(self):
        rule = RelativeChange() & MaxPermutations(5)
        assert rule == RelativeChange() & MaxPermutations(5)
        assert rule != RelativeChange() | MaxPermutations(5)
        assert hash(rule) == hash(RelativeChange() & MaxPermutations(5))

    def test_repr_reads_back(self):
        a, b, c = RelativeChange(), MaxPermutations(5), MaxPermutations(9)
        for rule in (a | b & c, (a | b) & c, a & (b | c), a | b | c):
            assert eval(repr(rule)) == rule

    @pytest.mark.parametrize("other", [100, None, "MaxPermutations"])
    def test_only_rules_combine(self, other):
        with pytest.raises(TypeError, match="unsupported operand"):
            RelativeChange() | other
        with pytest.raises(TypeError, match="unsupported operand"):
            other & RelativeChange()
