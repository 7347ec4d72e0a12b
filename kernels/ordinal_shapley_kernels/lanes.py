"""Eight numbers at a time: the vector registers of the processor, as a type that kernels compute with.

The compiler's own vectoriser guards every loop against arrays that overlap, finishes it one number at a
time, and gives up on blocks of rows by columns; at the sizes here that was half of a fit. Arrays that are
read and written this way are padded to a multiple of `WIDTH`. Processors with narrower registers work on
two or four parts. With the JIT off `Lanes` are NumPy arrays of eight numbers.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numba import config, types
from numba.extending import intrinsic, models, register_model

WIDTH = 8


def padded(n: int) -> int:
    """N, or the next multiple of the width."""
    return -(-n // WIDTH) * WIDTH


if config.DISABLE_JIT:

    def load(array: Any, i: int) -> Any:
        """array[i : i + 8]."""
        return array[i : i + WIDTH].copy()

    def store(array: Any, i: int, lanes: Any) -> None:
        """array[i : i + 8] = lanes."""
        array[i : i + WIDTH] = lanes

    def splat(x: float) -> Any:
        """Eight times the same number."""
        return np.full(WIDTH, x)

    def ramp(first: float) -> Any:
        """first, first + 1, ..., first + 7."""
        return first + np.arange(WIDTH, dtype=np.float64)

    def total(lanes: Any) -> float:
        """Sum of the eight numbers, in halves."""
        halves = lanes[:4] + lanes[4:]
        quarters = halves[:2] + halves[2:]
        return float(quarters[0] + quarters[1])

    def clip(lanes: Any, low: float, high: float) -> Any:
        """Each number, or the bound that it exceeds."""
        return np.minimum(np.maximum(lanes, low), high)

    def magnitude(lanes: Any) -> Any:
        """Absolute values."""
        return np.abs(lanes)

    def times_power_of_two(lanes: Any, shifted: Any) -> Any:
        """Lanes times two to the power of the integers in the low bits of `shifted` (see `exp`)."""
        return lanes * ((shifted.view(np.int64) + 1023) << 52).view(np.float64)

else:
    from llvmlite import ir
    from numba.core.imputils import lower_builtin
    from numba.core.typing.templates import AbstractTemplate, infer_global, signature

    class LanesType(types.Type):
        """Eight float64."""

        def __init__(self) -> None:
            super().__init__(name="Lanes")

    lanes_type = LanesType()
    _VECTOR = ir.VectorType(ir.DoubleType(), WIDTH)
    _INTEGERS = ir.VectorType(ir.IntType(64), WIDTH)
    # What `a * b + c` needs to become one instruction; sums stay in the order they are written in.
    _FLAGS = ("contract",)

    @register_model(LanesType)
    class _LanesModel(models.PrimitiveModel):
        def __init__(self, manager: Any, numba_type: Any) -> None:
            super().__init__(manager, numba_type, _VECTOR)

    def _define(operation: Any, instruction: str) -> None:
        @infer_global(operation)
        class _Template(AbstractTemplate):
            def generic(self, args: Any, kws: Any) -> Any:
                if args == (lanes_type, lanes_type):
                    return signature(lanes_type, lanes_type, lanes_type)
                return None

        @lower_builtin(operation, LanesType, LanesType)
        def _lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return getattr(builder, instruction)(*args, flags=_FLAGS)

    for _operation, _instruction in (
        (operator.add, "fadd"),
        (operator.sub, "fsub"),
        (operator.mul, "fmul"),
        (operator.truediv, "fdiv"),
    ):
        _define(_operation, _instruction)

    def _constant(integer: int) -> Any:
        return ir.Constant(_INTEGERS, [integer] * WIDTH)

    def _spread(builder: Any, x: Any) -> Any:
        lone = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), x, ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
        return builder.shuffle_vector(lone, lone, zeros)

    def _address(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        array = context.make_array(sig.args[0])(context, builder, args[0])
        first = builder.gep(array.data, [args[1]])
        return builder.bitcast(first, _VECTOR.as_pointer())

    @intrinsic
    def load(typing_context: Any, array: Any, i: Any) -> Any:
        """array[i : i + 8]."""

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return builder.load(_address(context, builder, sig, args), align=8)

        return lanes_type(array, types.intp), codegen

    @intrinsic
    def store(typing_context: Any, array: Any, i: Any, lanes: Any) -> Any:
        """array[i : i + 8] = lanes."""

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            builder.store(args[2], _address(context, builder, sig, args), align=8)
            return context.get_dummy_value()

        return types.void(array, types.intp, lanes), codegen

    @intrinsic
    def splat(typing_context: Any, x: Any) -> Any:
        """Eight times the same number."""

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return _spread(builder, args[0])

        return lanes_type(types.float64), codegen

    @intrinsic
    def ramp(typing_context: Any, first: Any) -> Any:
        """first, first + 1, ..., first + 7."""

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            steps = ir.Constant(_VECTOR, [float(i) for i in range(WIDTH)])
            return builder.fadd(_spread(builder, args[0]), steps)

        return lanes_type(types.float64), codegen

    @intrinsic
    def total(typing_context: Any, lanes: Any) -> Any:
        """Sum of the eight numbers, in halves."""

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            lanes = args[0]
            for half in (4, 2, 1):
                parts = [
                    ir.Constant(ir.VectorType(ir.IntType(32), half), list(range(start, start + half)))
                    for start in (0, half)
                ]
                low, high = (builder.shuffle_vector(lanes, lanes, part) for part in parts)
                lanes = builder.fadd(low, high)
            return builder.extract_element(lanes, ir.Constant(ir.IntType(32), 0))

        return types.float64(lanes), codegen

    @intrinsic
    def clip(typing_context: Any, lanes: Any, low: Any, high: Any) -> Any:
        """Each number, or the bound that it exceeds; NaN gives `low`."""

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            lanes, low, high = args[0], _spread(builder, args[1]), _spread(builder, args[2])
            lanes = builder.select(builder.fcmp_ordered(">", lanes, low), lanes, low)
            return builder.select(builder.fcmp_ordered("<", lanes, high), lanes, high)

        return lanes_type(lanes, types.float64, types.float64), codegen

    @intrinsic
    def magnitude(typing_context: Any, lanes: Any) -> Any:
        """Absolute values."""

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            bits = builder.and_(builder.bitcast(args[0], _INTEGERS), _constant(2**63 - 1))
            return builder.bitcast(bits, _VECTOR)

        return lanes_type(lanes), codegen

    @intrinsic
    def times_power_of_two(typing_context: Any, lanes: Any, shifted: Any) -> Any:
        """Lanes times two to the power of the integers in the low bits of `shifted` (see `exp`)."""

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            bits = builder.add(builder.bitcast(args[1], _INTEGERS), _constant(1023))
            power = builder.bitcast(builder.shl(bits, _constant(52)), _VECTOR)
            return builder.fmul(args[0], power)

        return lanes_type(lanes, shifted), codegen
