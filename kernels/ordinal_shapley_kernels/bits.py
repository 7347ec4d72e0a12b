"""Sets of players as the bits of an integer."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from ordinal_shapley_kernels.abi import FLAGS
from ordinal_shapley_kernels.workspace import COMPILED


def count_bits(mask: int) -> int:
    """Return how many bits are set."""
    return int(mask).bit_count()


def lowest_bit(mask: int) -> int:
    """Return the index of the lowest bit that is set; at least one must be."""
    mask = int(mask)
    return (mask & -mask).bit_length() - 1


# One machine instruction each.
if COMPILED:

    @intrinsic
    def _population(context, mask):  # type: ignore[no-untyped-def]
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.ctpop(arguments[0])

        return types.int64(types.int64), generate

    @intrinsic
    def _trailing_zeros(context, mask):  # type: ignore[no-untyped-def]
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

        return types.int64(types.int64), generate

    @overload(count_bits, jit_options=FLAGS)
    def _count_bits(mask):  # type: ignore[no-untyped-def]
        return lambda mask: _population(mask)

    @overload(lowest_bit, jit_options=FLAGS)
    def _lowest_bit(mask):  # type: ignore[no-untyped-def]
        return lambda mask: _trailing_zeros(mask)
