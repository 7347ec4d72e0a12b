"""Workspaces, on which kernels work: tables of addresses, sizes and numbers with named fields.

A subclass of `Workspace` lists its fields as annotations: arrays (`Vector`, `Matrix`, ...), `int`, `float`
and other workspaces. Python makes one from arrays, shapes (for arrays of 0 that it allocates) and numbers,
and keeps them alive. Kernels read fields as attributes, set those that are numbers, and change arrays in
place. A kernel gets the address of the table, so nothing is copied, no references are counted, and the number
of fields does not matter.

Arrays that kernels write must be writable; workspaces may share arrays that are only read.
"""

from __future__ import annotations

import ctypes
import math
import os
import warnings
from typing import Annotated, Any, ClassVar, NamedTuple, get_args, get_origin, get_type_hints

import numba
import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import (
    infer_getattr,
    lower_getattr_generic,
    lower_setattr_generic,
    models,
    register_model,
)
from numpy.typing import NDArray


class Kind(NamedTuple):
    """Element type and dimensions of an array, and whether compiled code may not write it."""

    dtype: str
    ndim: int
    readonly: bool = False


Vector = Annotated[NDArray[np.float64], Kind("float64", 1)]
Matrix = Annotated[NDArray[np.float64], Kind("float64", 2)]
Cube = Annotated[NDArray[np.float64], Kind("float64", 3)]
Integers = Annotated[NDArray[np.int64], Kind("int64", 1)]
IntegerMatrix = Annotated[NDArray[np.int64], Kind("int64", 2)]
IntegerCube = Annotated[NDArray[np.int64], Kind("int64", 3)]
SingleMatrix = Annotated[NDArray[np.float32], Kind("float32", 2)]
Shorts = Annotated[NDArray[np.int32], Kind("int32", 1)]
ShortMatrix = Annotated[NDArray[np.int32], Kind("int32", 2)]
Words = Annotated[NDArray[np.uint64], Kind("uint64", 1)]
Flags = Annotated[NDArray[np.bool_], Kind("bool", 1)]

# Only `numba` and `numba.extending` are stable interfaces; without these other names nothing is compiled.
_UNPROMISED = (
    ("numba.core.base", "BaseContext.make_array"),
    ("numba.core.base", "BaseContext.populate_array"),
    ("numba.core.typing.templates", "AttributeTemplate"),
    ("numba.core.errors", "NumbaError"),
)


def _is_there(module: str, name: str) -> bool:
    try:
        value: Any = __import__(module, fromlist=["_"])
        for part in name.split("."):
            value = getattr(value, part)
    except (ImportError, AttributeError):
        return False
    return True


_missing = [name for module, name in _UNPROMISED if not _is_there(module, name)]
if _missing and not config.DISABLE_JIT:
    warnings.warn(
        "install a version of Numba that docs/compatibility.md lists: kernels run as Python, hundreds of "
        f"times slower, for Numba {numba.__version__} has no {_missing[0]}",
        RuntimeWarning,
        stacklevel=2,
    )

# Whether kernels are compiled; otherwise they are Python functions.
COMPILED = not config.DISABLE_JIT and not _missing
# Whether lanes are eight single numbers: the same source without vector instructions.
SCALAR = os.environ.get("ORDINAL_SHAPLEY_SCALAR", "0") not in ("", "0")

_LINE = 8  # numbers in a cache line: vector loads that straddle two take twice the time


_DTYPES = {name: np.dtype(name) for name in ("float64", "float32", "int64", "int32", "uint64", "bool")}


def _plain(array: Any, dtype: str) -> NDArray[Any]:
    """Return an array as kernels need it; the array itself if possible."""
    if type(array) is np.ndarray and array.dtype is _DTYPES[dtype]:
        flags = array.flags
        if flags.c_contiguous and flags.aligned:
            return array
    return np.require(array, dtype, ["C", "A"])


_Memory = ctypes.c_char * 0


def _address_of(array: NDArray[Any]) -> int:
    # Takes a fifth of the time of the array interface, and a tenth of `array.ctypes.data`.
    if array.flags.writeable:
        return ctypes.addressof(_Memory.from_buffer(array.data))
    return int(array.__array_interface__["data"][0])


def cache_aligned(shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return zeros that begin at a cache line."""
    size = math.prod(shape)
    room = np.zeros(size + _LINE)
    start = -_address_of(room) % (8 * _LINE) // 8
    return room[start : start + size].reshape(shape)


class Field(NamedTuple):
    """Place of a field in the table: one number, or an address and sizes."""

    name: str
    kind: Any  # type or None: an array, `int`, `float` or a subclass of Workspace
    slot: int  # index of the field's first number in the table


def _kind_of(hint: Any) -> Any:
    if get_origin(hint) is Annotated:
        return get_args(hint)[1]
    return hint


class _Number:
    """Attribute for a field that is a number."""

    def __init__(self, slot: int, is_float: bool) -> None:
        self.slot = slot
        self.is_float = is_float

    def __get__(self, workspace: Any, owner: Any = None) -> Any:
        if workspace is None:
            return self
        if self.is_float:
            return float(workspace._floats[self.slot])
        return int(workspace._table[self.slot])

    def __set__(self, workspace: Any, value: Any) -> None:
        if self.is_float:
            workspace._floats[self.slot] = value
        else:
            workspace._table[self.slot] = value


class Workspace:
    """A table with named fields; see the module.

    Parameters
    ----------
    **fields
        An array (shared, if it has the field's element type and is contiguous), a shape for an array of 0
        that begins at a cache line, a number, or a workspace. Numbers that are left out are 0.
    """

    _fields: ClassVar[dict[str, Field]] = {}
    _n_slots: ClassVar[int] = 0
    _n_needed: ClassVar[int] = 0  # fields that are not numbers
    _settable: ClassVar[frozenset[str] | None] = None  # numbers that compiled code may set; None for all
    _type_name: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        hints = get_type_hints(cls, include_extras=True)
        set_fields(cls, {name: _kind_of(hint) for name, hint in hints.items() if not name.startswith("_")})

    def __init__(self, **fields: Any) -> None:
        words = [0] * self._n_slots
        floats = []
        scratch: list[tuple[Field, tuple[int, ...], int]] = []
        size = 0
        missing = self._n_needed
        for name, value in fields.items():
            if name not in self._fields:
                raise TypeError(f"{type(self).__name__} has no field {name!r}")
            field = self._fields[name]
            kind, slot = field.kind, field.slot
            if kind is int:
                words[slot] = value
                continue
            if kind is float:
                floats.append((slot, value))
                continue
            missing -= 1
            if not isinstance(kind, Kind):
                self.__dict__[name] = value
                words[slot] = value.address
            elif isinstance(value, tuple):
                scratch.append((field, value, size))
                numbers = math.prod(value) * _DTYPES[kind.dtype].itemsize // 8 + 1
                size += -(-numbers // _LINE) * _LINE
            else:
                array = _plain(value, kind.dtype)
                if array.ndim != kind.ndim:
                    raise ValueError(f"{name} has {array.ndim} dimensions, expected {kind.ndim}")
                self.__dict__[name] = array
                words[slot] = _address_of(array)
                words[slot + 1 : slot + 1 + kind.ndim] = array.shape
        if missing:
            lacking = [name for name, field in self._fields.items() if field.kind not in (int, float)]
            raise TypeError(f"{type(self).__name__} lacks one of its fields {', '.join(lacking)}")
        if scratch:
            # One block of memory; pages that no kernel reaches are never touched.
            self._block = cache_aligned((size,))
            start = _address_of(self._block)
            for field, shape, place in scratch:
                words[field.slot] = start + 8 * place
                words[field.slot + 1 : field.slot + 1 + len(shape)] = shape
            self._places = {field.name: (place, shape) for field, shape, place in scratch}
        self._table = np.array(words, np.int64)
        self._floats = self._table.view(np.float64)
        for slot, value in floats:
            self._floats[slot] = value
        self._as_parameter_ = self.address = _address_of(self._table)

    def share(self, name: str, array: NDArray[Any]) -> None:
        """Replace the array of a field by another one of the same kind."""
        field = self._fields[name]
        array = _plain(array, field.kind.dtype)
        self.__dict__[name] = array
        self._table[field.slot] = _address_of(array)
        self._table[field.slot + 1 : field.slot + 1 + array.ndim] = array.shape

    def __getattr__(self, name: str) -> Any:
        # Views of the block are made on demand.
        places = self.__dict__.get("_places", {})
        if name not in places:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        first, shape = places[name]
        dtype = _DTYPES[self._fields[name].kind.dtype]
        count = math.prod(shape)
        numbers = -(-count * dtype.itemsize // 8)
        view = self._block[first : first + numbers].view(dtype)[:count].reshape(shape)
        self.__dict__[name] = view
        return view


def set_fields(cls: type[Workspace], kinds: dict[str, Any]) -> None:
    """Lay out the table of a class of workspaces."""
    fields = {}
    slot = 0
    for name, kind in kinds.items():
        fields[name] = Field(name, kind, slot)
        if isinstance(kind, Kind):
            slot += 1 + kind.ndim
        else:
            if kind in (int, float):
                setattr(cls, name, _Number(slot, kind is float))
            elif not (isinstance(kind, type) and issubclass(kind, Workspace)):
                raise TypeError(
                    f"{cls.__name__}.{name} is {kind!r}, expected an array, a number or a workspace"
                )
            slot += 1
    cls._fields = fields
    cls._n_slots = slot
    cls._n_needed = sum(kind not in (int, float) for kind in kinds.values())


class WorkspaceType(types.Type):
    """A workspace as kernels see it: the address of its table, with attributes."""

    def __init__(self, layout: type[Workspace]) -> None:
        self.layout = layout
        super().__init__(name=layout._type_name or f"{layout.__module__}.{layout.__qualname__}")


def numba_type(hint: Any) -> Any:
    """Type of a field, an argument or an answer in compiled code."""
    kind = _kind_of(hint)
    if isinstance(kind, Kind):
        dtype = types.boolean if kind.dtype == "bool" else getattr(types, kind.dtype)
        return types.Array(dtype, kind.ndim, "C", readonly=kind.readonly)
    if isinstance(kind, type) and issubclass(kind, Workspace):
        return WorkspaceType(kind)
    if kind in (int, bool):
        return types.int64
    if kind is float:
        return types.float64
    if kind in (None, type(None)):
        return types.none
    raise TypeError(f"{hint!r} is not a type that kernels take")


_WORD = ir.IntType(64)


@register_model(WorkspaceType)
class _WorkspaceModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _WORD)


if COMPILED:
    from numba.core.typing.templates import AttributeTemplate

    @infer_getattr
    class _Attributes(AttributeTemplate):
        """Types of the attributes of workspaces."""

        key = WorkspaceType

        def generic_resolve(self, kind: Any, name: str) -> Any:
            field = kind.layout._fields.get(name)
            return None if field is None else numba_type(field.kind)


def _word(builder: Any, table: Any, slot: int, kind: Any) -> Any:
    """Return a pointer to a slot of a table."""
    place = builder.add(table, ir.Constant(_WORD, 8 * slot))
    return builder.inttoptr(place, kind.as_pointer())


@lower_getattr_generic(WorkspaceType)
def _read(context: Any, builder: Any, kind: Any, table: Any, name: str) -> Any:
    slot = kind.layout._fields[name].slot
    answer = numba_type(kind.layout._fields[name].kind)
    if not isinstance(answer, types.Array):
        return builder.load(_word(builder, table, slot, context.get_value_type(answer)))
    array = context.make_array(answer)(context, builder)
    sizes = [builder.load(_word(builder, table, slot + 1 + i, _WORD)) for i in range(answer.ndim)]
    item = stride = ir.Constant(_WORD, context.get_abi_sizeof(context.get_data_type(answer.dtype)))
    strides = [stride]
    for size in sizes[:0:-1]:
        stride = builder.mul(stride, size)
        strides.insert(0, stride)
    data = builder.load(_word(builder, table, slot, array.data.type))
    context.populate_array(array, data=data, shape=sizes, strides=strides, itemsize=item, meminfo=None)
    return array._getvalue()


@lower_setattr_generic(WorkspaceType)
def _write(context: Any, builder: Any, signature: Any, values: Any, name: str) -> Any:
    table, value = values
    field = signature.args[0].layout._fields[name]
    settable = signature.args[0].layout._settable
    if field.kind not in (int, float):
        raise TypeError(f"{name} is an array and cannot be set: change its elements, {name}[...] = ...")
    if settable is not None and name not in settable:
        raise TypeError(f"{name} cannot be set: the library keeps it")
    answer = numba_type(field.kind)
    value = context.cast(builder, value, signature.args[1], answer)
    builder.store(value, _word(builder, table, field.slot, context.get_value_type(answer)))
