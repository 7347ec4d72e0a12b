"""Eight numbers at a time: the vector registers of the processor, as a type for kernels.

The compiler's own vectoriser guards every loop against overlapping arrays, finishes it one number at a time,
and gives up on blocks of rows by columns; at the sizes here that took half of a fit. Arrays are padded to a
multiple of `WIDTH`. Processors with narrower registers work on two or four parts.

With ORDINAL_SHAPLEY_SCALAR=1 in the environment, lanes are eight scalars and each function is eight scalar
instructions in the same order: to measure the effect of vector instructions, or to avoid them. With the JIT
off, lanes are NumPy arrays of eight numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

from ordinal_shapley_kernels.workspace import COMPILED, SCALAR

WIDTH = 8


def padded(n: int) -> int:
    """Round n up to a multiple of the width."""
    return -(-n // WIDTH) * WIDTH


if not COMPILED:

    def load(array: Any, i: int) -> Any:
        """array[i : i + 8]."""
        return array[i : i + WIDTH].copy()

    def load_row(matrix: Any, row: int, i: int) -> Any:
        """matrix[row, i : i + 8]."""
        return matrix[row, i : i + WIDTH].copy()

    def store(array: Any, i: int, lanes: Any) -> None:
        """array[i : i + 8] = lanes."""
        array[i : i + WIDTH] = lanes

    def store_row(matrix: Any, row: int, i: int, lanes: Any) -> None:
        """matrix[row, i : i + 8] = lanes."""
        matrix[row, i : i + WIDTH] = lanes

    def splat_of(array: Any, i: int) -> Any:
        """Eight times array[i]."""
        return np.full(WIDTH, array[i])

    def splat_at(matrix: Any, row: int, i: int) -> Any:
        """Eight times matrix[row, i]."""
        return np.full(WIDTH, matrix[row, i])

    def splat(x: float) -> Any:
        """Eight times the same number."""
        return np.full(WIDTH, x)

    def ramp(first: float) -> Any:
        """first, first + 1, ..., first + 7."""
        return first + np.arange(WIDTH, dtype=np.float64)

    def add(a: Any, b: Any) -> Any:
        """A + b."""
        return a + b

    def subtract(a: Any, b: Any) -> Any:
        """A - b."""
        return a - b

    def multiply(a: Any, b: Any) -> Any:
        """A * b."""
        return a * b

    def divide(a: Any, b: Any) -> Any:
        """A / b."""
        return a / b

    def add_product(total: Any, a: Any, b: Any) -> Any:
        """Total + a * b, in one rounding where the processor can."""
        return total + a * b

    def subtract_product(total: Any, a: Any, b: Any) -> Any:
        """Total - a * b, in one rounding where the processor can."""
        return total - a * b

    def total(lanes: Any) -> float:
        """Sum of the eight numbers, in halves."""
        halves = lanes[:4] + lanes[4:]
        quarters = halves[:2] + halves[2:]
        return float(quarters[0] + quarters[1])

    def totals(*lanes: Any) -> Any:
        """The `total` of each of eight lanes."""
        return np.array([total(one) for one in lanes])

    def store_halves(low: Any, high: Any, i: int, lanes: Any) -> None:
        """low[i : i + 4], high[i : i + 4] = the two halves of the lanes."""
        low[i : i + 4], high[i : i + 4] = lanes[:4], lanes[4:]

    def load_halves(low: Any, high: Any, i: int) -> Any:
        """low[i : i + 4] and high[i : i + 4] in one register."""
        return np.concatenate((low[i : i + 4], high[i : i + 4]))

    def clip(lanes: Any, low: float, high: float) -> Any:
        """Clip each number to the bounds."""
        return np.minimum(np.maximum(lanes, low), high)

    def magnitude(lanes: Any) -> Any:
        """Absolute values."""
        return np.abs(lanes)

    def times_power_of_two(lanes: Any, shifted: Any) -> Any:
        """Lanes times two to the power of the integers in the low bits of `shifted` (see `exp`)."""
        return lanes * ((shifted.view(np.int64) + 1023) << 52).view(np.float64)

else:
    _DOUBLE, _INTEGER, _INDEX = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
    _LANES = ir.ArrayType(_DOUBLE, WIDTH) if SCALAR else ir.VectorType(_DOUBLE, WIDTH)
    # Lets `total + a * b` become one instruction; sums stay in the order they are written in.
    _FLAGS = ("contract",)

    class LanesType(types.Type):
        """Eight float64."""

        def __init__(self) -> None:
            super().__init__(name="ScalarLanes" if SCALAR else "Lanes")

    lanes_type = LanesType()

    @register_model(LanesType)
    class _LanesModel(models.PrimitiveModel):
        def __init__(self, manager: Any, numba_type: Any) -> None:
            super().__init__(manager, numba_type, _LANES)

    def _parts(builder: Any, value: Any) -> list[Any]:
        """The eight numbers of a value; of a vector itself."""
        return [builder.extract_value(value, i) for i in range(WIDTH)] if SCALAR else [value]

    def _joined(builder: Any, parts: list[Any]) -> Any:
        if not SCALAR:
            return parts[0]
        value = ir.Constant(_LANES, ir.Undefined)
        for i, part in enumerate(parts):
            value = builder.insert_value(value, part, i)
        return value

    def _constant(kind: Any, number: Any) -> Any:
        """Broadcast a constant to a part."""
        if SCALAR:
            return ir.Constant(kind, number)
        return ir.Constant(ir.VectorType(kind, WIDTH), [number] * WIDTH)

    def _wide(kind: Any) -> Any:
        return kind if SCALAR else ir.VectorType(kind, WIDTH)

    def _spread(builder: Any, x: Any) -> Any:
        """Broadcast a number to a part."""
        if SCALAR:
            return x
        lone = builder.insert_element(ir.Constant(_LANES, ir.Undefined), x, ir.Constant(_INDEX, 0))
        return builder.shuffle_vector(lone, lone, ir.Constant(ir.VectorType(_INDEX, WIDTH), [0] * WIDTH))

    def _pairwise(name: str, doc: str, emit: Any, n_arguments: int = 2) -> Any:
        """Function of lanes that works number by number."""

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            parts = zip(*(_parts(builder, value) for value in args), strict=True)
            return _joined(builder, [emit(builder, *part) for part in parts])

        if n_arguments == 2:

            def function(typing_context: Any, a: Any, b: Any) -> Any:
                return lanes_type(lanes_type, lanes_type), generate

        else:

            def function(typing_context: Any, total: Any, a: Any, b: Any) -> Any:  # type: ignore[misc]
                return lanes_type(lanes_type, lanes_type, lanes_type), generate

        function.__name__, function.__doc__ = name, doc
        return intrinsic(function)

    def _fused(builder: Any, total: Any, a: Any, b: Any) -> Any:
        return builder.fadd(total, builder.fmul(a, b, flags=_FLAGS), flags=_FLAGS)

    def _fused_off(builder: Any, total: Any, a: Any, b: Any) -> Any:
        return builder.fsub(total, builder.fmul(a, b, flags=_FLAGS), flags=_FLAGS)

    add = _pairwise("add", "A + b.", lambda builder, a, b: builder.fadd(a, b))
    subtract = _pairwise("subtract", "A - b.", lambda builder, a, b: builder.fsub(a, b))
    multiply = _pairwise("multiply", "A * b.", lambda builder, a, b: builder.fmul(a, b))
    divide = _pairwise("divide", "A / b.", lambda builder, a, b: builder.fdiv(a, b))
    add_product = _pairwise("add_product", "Total + a * b, in one rounding if possible.", _fused, 3)
    subtract_product = _pairwise("subtract_product", "Total - a * b, likewise.", _fused_off, 3)

    # Indices are not wrapped: Numba would check each one for being negative.

    def _place(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        """Pointer to an element of a vector, or of a row of a matrix."""
        array = context.make_array(sig.args[0])(context, builder, args[0])
        if sig.args[0].ndim == 1:
            return builder.gep(array.data, [args[1]])
        columns = builder.extract_value(array.shape, 1)
        return builder.gep(array.data, [builder.add(builder.mul(args[1], columns), args[2])])

    def _address(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.bitcast(_place(context, builder, sig, args), _LANES.as_pointer())

    @intrinsic
    def load_row(typing_context: Any, matrix: Any, row: Any, i: Any) -> Any:
        """matrix[row, i : i + 8]."""

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return builder.load(_address(context, builder, sig, args), align=8)

        return lanes_type(matrix, types.intp, types.intp), generate

    @intrinsic
    def store_row(typing_context: Any, matrix: Any, row: Any, i: Any, lanes: Any) -> Any:
        """matrix[row, i : i + 8] = lanes."""

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            builder.store(args[3], _address(context, builder, sig, args), align=8)
            return context.get_dummy_value()

        return types.void(matrix, types.intp, types.intp, lanes), generate

    def _splat_from_memory(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        part = _spread(builder, builder.load(_place(context, builder, sig, args)))
        return _joined(builder, [part] * (WIDTH if SCALAR else 1))

    @intrinsic
    def splat_of(typing_context: Any, array: Any, i: Any) -> Any:
        """Eight times array[i]."""
        return lanes_type(array, types.intp), _splat_from_memory

    @intrinsic
    def splat_at(typing_context: Any, matrix: Any, row: Any, i: Any) -> Any:
        """Eight times matrix[row, i]."""
        return lanes_type(matrix, types.intp, types.intp), _splat_from_memory

    @intrinsic
    def load(typing_context: Any, array: Any, i: Any) -> Any:
        """array[i : i + 8]."""

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return builder.load(_address(context, builder, sig, args), align=8)

        return lanes_type(array, types.intp), generate

    @intrinsic
    def store(typing_context: Any, array: Any, i: Any, lanes: Any) -> Any:
        """array[i : i + 8] = lanes."""

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            builder.store(args[2], _address(context, builder, sig, args), align=8)
            return context.get_dummy_value()

        return types.void(array, types.intp, lanes), generate

    @intrinsic
    def splat(typing_context: Any, x: Any) -> Any:
        """Eight times the same number."""

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            part = _spread(builder, args[0])
            return _joined(builder, [part] * (WIDTH if SCALAR else 1))

        return lanes_type(types.float64), generate

    @intrinsic
    def ramp(typing_context: Any, first: Any) -> Any:
        """first, first + 1, ..., first + 7."""

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            part = _spread(builder, args[0])
            if SCALAR:
                steps = [ir.Constant(_DOUBLE, float(i)) for i in range(WIDTH)]
            else:
                steps = [ir.Constant(_LANES, [float(i) for i in range(WIDTH)])]
            return _joined(builder, [builder.fadd(part, step) for step in steps])

        return lanes_type(types.float64), generate

    def _total(builder: Any, lanes: Any) -> Any:
        if SCALAR:
            parts = _parts(builder, lanes)
            while len(parts) > 1:
                half = len(parts) // 2
                parts = [builder.fadd(a, b) for a, b in zip(parts[:half], parts[half:], strict=True)]
            return parts[0]
        for half in (4, 2, 1):
            kind = ir.VectorType(_INDEX, half)
            low, high = (
                builder.shuffle_vector(lanes, lanes, ir.Constant(kind, list(range(start, start + half))))
                for start in (0, half)
            )
            lanes = builder.fadd(low, high)
        return builder.extract_element(lanes, ir.Constant(_INDEX, 0))

    @intrinsic
    def total(typing_context: Any, lanes: Any) -> Any:
        """Sum of the eight numbers, in halves."""

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return _total(builder, args[0])

        return types.float64(lanes), generate

    # Places of the parts to add, in two vectors side by side: halves, quarters, eighths.
    _ROUNDS = (
        ((0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15)),
        ((0, 1, 4, 5, 8, 9, 12, 13), (2, 3, 6, 7, 10, 11, 14, 15)),
        ((0, 2, 4, 6, 8, 10, 12, 14), (1, 3, 5, 7, 9, 11, 13, 15)),
    )

    def _picked(builder: Any, a: Any, b: Any, places: tuple[int, ...]) -> Any:
        return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(_INDEX, WIDTH), list(places)))

    @intrinsic
    def totals(  # type: ignore[no-untyped-def]
        typing_context: Any, a, b, c, d, e, f, g, h
    ) -> Any:
        """The `total` of each of eight lanes, bit-identical, with half the instructions."""

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            if SCALAR:
                return _joined(builder, [_total(builder, value) for value in args])
            values = list(args)
            for low, high in _ROUNDS:
                values = [
                    builder.fadd(_picked(builder, a, b, low), _picked(builder, a, b, high))
                    for a, b in zip(values[::2], values[1::2], strict=True)
                ]
            return values[0]

        return lanes_type(*[lanes_type] * WIDTH), generate

    @intrinsic
    def store_halves(typing_context: Any, low: Any, high: Any, i: Any, lanes: Any) -> Any:
        """low[i : i + 4], high[i : i + 4] = the two halves of the lanes."""

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            half = ir.VectorType(_DOUBLE, WIDTH // 2)
            for k in range(2):
                array = context.make_array(sig.args[k])(context, builder, args[k])
                first = builder.gep(array.data, [args[2]])
                places = range(k * WIDTH // 2, (k + 1) * WIDTH // 2)
                if SCALAR:
                    for place in places:
                        target = builder.gep(first, [ir.Constant(_INTEGER, place - k * WIDTH // 2)])
                        builder.store(builder.extract_value(args[3], place), target)
                    continue
                index = ir.Constant(ir.VectorType(_INDEX, WIDTH // 2), list(places))
                part = builder.shuffle_vector(args[3], args[3], index)
                builder.store(part, builder.bitcast(first, half.as_pointer()), align=8)
            return context.get_dummy_value()

        return types.void(low, high, types.intp, lanes), generate

    @intrinsic
    def load_halves(typing_context: Any, low: Any, high: Any, i: Any) -> Any:
        """low[i : i + 4] and high[i : i + 4] in one register."""

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            lanes = ir.Constant(_LANES, ir.Undefined)
            for place in range(WIDTH):
                k, offset = divmod(place, WIDTH // 2)
                array = context.make_array(sig.args[k])(context, builder, args[k])
                index = builder.add(args[2], ir.Constant(_INTEGER, offset))
                number = builder.load(builder.gep(array.data, [index]))
                if SCALAR:
                    lanes = builder.insert_value(lanes, number, place)
                else:
                    lanes = builder.insert_element(lanes, number, ir.Constant(_INDEX, place))
            return lanes

        return lanes_type(low, high, types.intp), generate

    @intrinsic
    def clip(typing_context: Any, lanes: Any, low: Any, high: Any) -> Any:
        """Clip each number to the bounds; NaN gives `low`."""

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            low, high = _spread(builder, args[1]), _spread(builder, args[2])

            def clipped(part: Any) -> Any:
                part = builder.select(builder.fcmp_ordered(">", part, low), part, low)
                return builder.select(builder.fcmp_ordered("<", part, high), part, high)

            return _joined(builder, [clipped(part) for part in _parts(builder, args[0])])

        return lanes_type(lanes, types.float64, types.float64), generate

    @intrinsic
    def magnitude(typing_context: Any, lanes: Any) -> Any:
        """Absolute values."""

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            def positive(part: Any) -> Any:
                bits = builder.bitcast(part, _wide(_INTEGER))
                return builder.bitcast(builder.and_(bits, _constant(_INTEGER, 2**63 - 1)), part.type)

            return _joined(builder, [positive(part) for part in _parts(builder, args[0])])

        return lanes_type(lanes), generate

    def _scaled(builder: Any, part: Any, shifted: Any) -> Any:
        bits = builder.add(builder.bitcast(shifted, _wide(_INTEGER)), _constant(_INTEGER, 1023))
        power = builder.bitcast(builder.shl(bits, _constant(_INTEGER, 52)), part.type)
        return builder.fmul(part, power)

    times_power_of_two = _pairwise(
        "times_power_of_two",
        "Lanes times two to the power of the low bits of `shifted` (see `exp`).",
        _scaled,
    )
