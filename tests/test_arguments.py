"""Checks of arguments: what passes, and what the errors say."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from ordinal_shapley.common import arguments


@pytest.mark.parametrize("value", [1, 1.0, np.float32(1), np.int8(1), Fraction(1)])
def test_numbers_of_any_kind_pass(value):
    found = arguments.number("x", value, least=1, most=1)
    assert type(found) is float and found == 1.0


@pytest.mark.parametrize(
    ("value", "limits", "words"),
    [
        (math.nan, {}, "x is nan, expected a finite number"),
        (10**400, {}, "x is inf, expected a finite number"),
        (0, {"above": 0}, "x is 0, expected a finite number above 0"),
        (-0.5, {"least": 0}, "x is -0.5, expected a finite number of at least 0"),
        (2, {"most": 1}, "x is 2, expected a finite number of at most 1"),
        (1, {"below": 1}, "x is 1, expected a finite number below 1"),
        (1.5, {"least": 0, "most": 1}, "x is 1.5, expected a number from 0 to 1"),
        (1, {"above": 0, "below": 1}, "x is 1, expected a number between 0 and 1"),
        (0, {"above": 0, "most": 1}, "x is 0, expected a number above 0 and at most 1"),
        (1, {"least": 0, "below": 1}, "x is 1, expected a number of at least 0 and below 1"),
        (math.inf, {"instead": "'all' or a"}, "x is inf, expected 'all' or a finite number"),
    ],
)
def test_what_is_out_of_range_is_told_with_the_limits(value, limits, words):
    with pytest.raises(ValueError) as caught:
        arguments.number("x", value, **limits)
    assert str(caught.value) == words


@pytest.mark.parametrize(
    ("value", "limits", "words"),
    [
        (0, {}, "x is 0, expected an integer of at least 1"),
        (2**63, {}, f"x is {2**63}, expected an integer below 2**63"),
        (-1, {"least": 0, "most": 1000}, "x is -1, expected an integer from 0 to 1,000"),
        (1001, {"least": 0, "most": 1000}, "x is 1001, expected an integer from 0 to 1,000"),
        (2**32, {"most": 2**32 - 1}, f"x is {2**32}, expected an integer below 2**32"),
    ],
)
def test_integers_out_of_range(value, limits, words):
    with pytest.raises(ValueError) as caught:
        arguments.integer("x", value, **limits)
    assert str(caught.value) == words


def test_integers_and_flags_come_back_as_those_of_python():
    assert type(arguments.integer("x", np.uint8(3))) is int
    assert arguments.integer("x", 10**30, most=math.inf) == 10**30
    assert arguments.integer("x", 5, most=5) == 5 and arguments.integer("x", 1) == 1
    assert arguments.flag("x", np.True_) is True and arguments.flag("x", False) is False
    with pytest.raises(TypeError, match="x is 1, expected True or False"):
        arguments.flag("x", 1)
