"""Tiles of products of matrices: sums that all stay in registers while their operands are read once.

How many fit depends on the processor, so these loops are emitted for the registers that it has. Each sum is
taken in the same order whatever the tile, so results don't depend on it.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ordinal_shapley_kernels.abi import inlined
from ordinal_shapley_kernels.workspace import COMPILED

# Number of vectors that share a tile.
MIN_VECTORS, MAX_VECTORS = 3, 5
_HAS_LONG_REGISTERS = bool(binding.get_host_cpu_features().get("avx512f", False))
# Width of a tile, in eights, by the number of vectors: for 32 registers of eight numbers, or 16 of four.
# Eight to twelve sums hide the latency of an addition.
SPANS = {3: 4, 4: 2, 5: 2} if _HAS_LONG_REGISTERS else {3: 2, 4: 1, 5: 1}

_SPAN_OF_THREE, _SPAN_OF_MORE = SPANS[3], SPANS[5]


@inlined
def span_of(size: int) -> int:
    """Width, in eights, of a tile of `size` vectors."""
    return _SPAN_OF_THREE if size == 3 else _SPAN_OF_MORE


if not COMPILED:

    def combine_tile(
        weights: Any,
        k: int,
        size: int,
        columns: Any,
        first: int,
        past: int,
        i: int,
        span: int,
        more: bool,
        out: Any,
    ) -> None:
        """out[k : k + size, i : i + 8 span] = weights[..., first : past] @ columns[first : past, ...].

        With `more` this is added to what is there.
        """
        own = out[k : k + size, i : i + 8 * span]
        found = weights[k : k + size, first:past] @ columns[first:past, i : i + 8 * span]
        own[:] = own + found if more else found

    def product_tile(
        vectors: Any,
        k: int,
        size: int,
        rows: Any,
        j: int,
        span: int,
        first: int,
        past: int,
        more: bool,
        out: Any,
    ) -> None:
        """out[k : k + size, j : j + span] = vectors[..., first : past] @ rows[..., first : past].T.

        With `more` this is added to what is there.
        """
        own = out[k : k + size, j : j + span]
        found = vectors[k : k + size, first:past] @ rows[j : j + span, first:past].T
        own[:] = own + found if more else found

else:
    from ordinal_shapley_kernels.lanes import _LANES, WIDTH, _fused, _joined, _parts, _spread, _total

    def _row(context: Any, builder: Any, kind: Any, matrix: Any, row: Any) -> Any:
        """Return a pointer to the beginning of a row."""
        array = context.make_array(kind)(context, builder, matrix)
        return builder.gep(array.data, [builder.mul(row, builder.extract_value(array.shape, 1))])

    def _load(builder: Any, row: Any, i: Any) -> Any:
        return builder.load(builder.bitcast(builder.gep(row, [i]), _LANES.as_pointer()), align=8)

    def _add_product(builder: Any, sums: Any, a: Any, b: Any) -> None:
        parts = zip(*(_parts(builder, value) for value in (builder.load(sums), a, b)), strict=True)
        builder.store(_joined(builder, [_fused(builder, *part) for part in parts]), sums)

    def _for_each_size(builder: Any, size: Any, span: Any, emit: Any) -> None:
        """Emit the tiles of all sizes, and a branch between them."""
        integer = size.type
        for count, widest in SPANS.items():
            for wide in {1, widest}:
                fits = builder.and_(
                    builder.icmp_signed("==", size, integer(count)),
                    builder.icmp_signed("==", span, integer(wide)),
                )
                with builder.if_then(fits):
                    emit(count, wide)

    def _zeros(builder: Any, n: int) -> list[Any]:
        sums = [cgutils.alloca_once(builder, _LANES) for _ in range(n)]
        for one in sums:
            builder.store(_LANES(None), one)
        return sums

    @intrinsic
    def combine_tile(  # type: ignore[no-untyped-def]
        typing_context: Any, weights, k, size, columns, first, past, i, span, more, out
    ) -> Any:
        """out[k : k + size, i : i + 8 span] = weights[..., first : past] @ columns[first : past, ...]."""

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            weights, k, size, columns, first, past, i, span, more, out = args

            def emit(count: int, wide: int) -> None:
                models = [builder.add(k, k.type(r)) for r in range(count)]
                places = [builder.add(i, i.type(WIDTH * c)) for c in range(wide)]
                own = [_row(context, builder, sig.args[0], weights, model) for model in models]
                goals = [_row(context, builder, sig.args[9], out, model) for model in models]
                sums = _zeros(builder, count * wide)
                with builder.if_then(more):
                    for r in range(count):
                        for c in range(wide):
                            builder.store(_load(builder, goals[r], places[c]), sums[r * wide + c])
                with cgutils.for_range_slice(builder, first, past, first.type(1)) as (j, _):
                    column = _row(context, builder, sig.args[3], columns, j)
                    values = [_load(builder, column, place) for place in places]
                    for r in range(count):
                        part = _spread(builder, builder.load(builder.gep(own[r], [j])))
                        weight = _joined(builder, [part] * len(_parts(builder, values[0])))
                        for c in range(wide):
                            _add_product(builder, sums[r * wide + c], weight, values[c])
                for r in range(count):
                    for c in range(wide):
                        address = builder.bitcast(builder.gep(goals[r], [places[c]]), _LANES.as_pointer())
                        builder.store(builder.load(sums[r * wide + c]), address, align=8)

            _for_each_size(builder, size, span, emit)
            return context.get_dummy_value()

        places = (types.intp,) * 4
        kinds = (weights, types.intp, types.intp, columns, *places, types.boolean, out)
        return types.void(*kinds), generate

    @intrinsic
    def product_tile(  # type: ignore[no-untyped-def]
        typing_context: Any, vectors, k, size, rows, j, span, first, past, more, out
    ) -> Any:
        """out[k : k + size, j : j + span] = vectors[..., first : past] @ rows[..., first : past].T."""

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            vectors, k, size, rows, j, span, first, past, more, out = args

            def emit(count: int, wide: int) -> None:
                models = [builder.add(k, k.type(r)) for r in range(count)]
                places = [builder.add(j, j.type(s)) for s in range(wide)]
                own = [_row(context, builder, sig.args[0], vectors, model) for model in models]
                theirs = [_row(context, builder, sig.args[3], rows, place) for place in places]
                sums = _zeros(builder, count * wide)
                with cgutils.for_range_slice(builder, first, past, first.type(WIDTH)) as (i, _):
                    values = [_load(builder, row, i) for row in theirs]
                    for r in range(count):
                        vector = _load(builder, own[r], i)
                        for s in range(wide):
                            _add_product(builder, sums[r * wide + s], values[s], vector)
                for r in range(count):
                    target = _row(context, builder, sig.args[9], out, models[r])
                    for s in range(wide):
                        result = _total(builder, builder.load(sums[r * wide + s]))
                        goal = builder.gep(target, [places[s]])
                        before = builder.select(more, builder.load(goal), result.type(0.0))
                        builder.store(builder.fadd(before, result), goal)

            _for_each_size(builder, size, span, emit)
            return context.get_dummy_value()

        places = (types.intp,) * 4
        kinds = (vectors, types.intp, types.intp, rows, *places, types.boolean, out)
        return types.void(*kinds), generate
