"""The exponential and the logistic function in a form that the compiler vectorises.

`math.exp` is a call to the C library, one number at a time, and would be most of the cost of a gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from ordinal_shapley_kernels.abi import inlined
from ordinal_shapley_kernels.lanes import (
    add_product,
    clip,
    splat,
    subtract,
    subtract_product,
    times_power_of_two,
)
from ordinal_shapley_kernels.workspace import COMPILED

# Cody-Waite split of log(2): the high part has trailing zero bits, so that k * _LN2_HIGH is exact.
_LOG2E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
# Adding 1.5 * 2**52 rounds to the nearest integer and leaves it in the low bits of the sum.
_ROUND = 6755399441055744.0
_MAX_EXPONENT = 708.0  # exp of it is finite, and exp of its negative a normal number

if not COMPILED:

    def _bits_of(number: float) -> int:
        return int(np.float64(number).view(np.int64))

    def _float_of(bits: int) -> float:
        return float(np.uint64(bits & 0xFFFFFFFFFFFFFFFF).view(np.float64))

else:

    @intrinsic
    def _bits_of(typing_context: Any, number: Any) -> Any:
        """Bits of a float64 as an int64."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.bitcast(args[0], context.get_value_type(types.int64))

        return types.int64(types.float64), codegen

    @intrinsic
    def _float_of(typing_context: Any, bits: Any) -> Any:
        """Float64 that has the bits of an int64."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.bitcast(args[0], context.get_value_type(types.float64))

        return types.float64(types.int64), codegen


@inlined
def exp(x: float) -> float:
    """exp(x) to about one unit in the last place, with x clipped to +-708.

    Range reduction x = k log(2) + r with |r| <= log(2)/2, the Taylor polynomial of degree 13 in r
    (its remainder is below 2**-57 there), and 2**k assembled from its bits.
    """
    x = min(max(x, -_MAX_EXPONENT), _MAX_EXPONENT)
    shifted = x * _LOG2E + _ROUND
    k = shifted - _ROUND
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    # The low bits of `shifted` hold k (the constant's own low bits are zero); 1023 is the exponent's bias.
    return p * _float_of((_bits_of(shifted) + 1023) << 52)


@inlined
def exp_lanes(x: Any) -> Any:
    """`exp` of eight numbers at a time."""
    x = clip(x, -_MAX_EXPONENT, _MAX_EXPONENT)
    shifted = add_product(splat(_ROUND), x, splat(_LOG2E))
    k = subtract(shifted, splat(_ROUND))
    r = subtract_product(subtract_product(x, k, splat(_LN2_HIGH)), k, splat(_LN2_LOW))
    p = splat(1.0 / 6227020800.0)
    p = add_product(splat(1.0 / 479001600.0), p, r)
    p = add_product(splat(1.0 / 39916800.0), p, r)
    p = add_product(splat(1.0 / 3628800.0), p, r)
    p = add_product(splat(1.0 / 362880.0), p, r)
    p = add_product(splat(1.0 / 40320.0), p, r)
    p = add_product(splat(1.0 / 5040.0), p, r)
    p = add_product(splat(1.0 / 720.0), p, r)
    p = add_product(splat(1.0 / 120.0), p, r)
    p = add_product(splat(1.0 / 24.0), p, r)
    p = add_product(splat(1.0 / 6.0), p, r)
    p = add_product(splat(0.5), p, r)
    p = add_product(splat(1.0), p, r)
    p = add_product(splat(1.0), p, r)
    return times_power_of_two(p, shifted)
