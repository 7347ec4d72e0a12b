"""Checks of numbers: what passes, and what is out of range or no number."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from ordinal_shapley.common import arguments


@pytest.mark.parametrize("value", [1, 1.0, np.float32(1), np.int8(1), Fraction(1)])
def test_numbers_of_any_kind_pass(value):
    found = arguments.number("x", value, min=1, max=1)
    assert type(found) is float and found == 1.0


@pytest.mark.parametrize(
    ("check", "value", "limits"),
    [
        (arguments.number, math.nan, {}),
        (arguments.number, 10**400, {}),
        (arguments.number, 0, {"above": 0}),
        (arguments.number, -0.5, {"min": 0}),
        (arguments.number, 2, {"max": 1}),
        (arguments.number, 1, {"below": 1}),
        (arguments.integer, 0, {}),
        (arguments.integer, 2**63, {}),
        (arguments.integer, -1, {"min": 0, "max": 1000}),
        (arguments.integer, 1001, {"min": 0, "max": 1000}),
    ],
)
def test_what_is_out_of_range(check, value, limits):
    with pytest.raises(ValueError, match=r"^x is "):
        check("x", value, **limits)


@pytest.mark.parametrize("value", [True, np.True_, "1", None, 1j, [1.0]])
def test_what_is_no_number(value):
    for check in (arguments.number, arguments.integer):
        with pytest.raises(TypeError, match=r"^x is "):
            check("x", value, min=0)


def test_integers_and_flags_come_back_as_those_of_python():
    assert type(arguments.integer("x", np.uint8(3))) is int
    assert arguments.integer("x", 10**30, max=math.inf) == 10**30
    assert arguments.flag("x", np.True_) is True and arguments.flag("x", False) is False
    with pytest.raises(TypeError, match="x"):
        arguments.flag("x", 1)
