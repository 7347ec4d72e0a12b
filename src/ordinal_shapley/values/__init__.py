"""The values of players, one class each."""

from __future__ import annotations

from typing import Any

from ordinal_shapley.values.base import Value
from ordinal_shapley.values.blend import Blend
from ordinal_shapley.values.classic import Classic
from ordinal_shapley.values.ordinal import Ordinal
from ordinal_shapley.values.partial_ordinal import PartialOrdinal
from ordinal_shapley.values.sizes import SizeWeights, banzhaf_weights, beta_weights, sizes_up_to
from ordinal_shapley.values.weighted_ordinal import WeightedOrdinal

__all__ = ["Blend", "Classic", "Ordinal", "PartialOrdinal", "SizeWeights", "Value", "WeightedOrdinal"]
__all__ += ["as_value", "banzhaf_weights", "beta_weights", "sizes_up_to"]

_NAMED: dict[str, type[Value]] = {kind.name: kind for kind in (Ordinal, PartialOrdinal, Classic)}
_WITH_OPTIONS: dict[str, type[Value]] = {kind.name: kind for kind in (Blend, WeightedOrdinal)}


def as_value(value: Any, name: str = "value") -> Value:
    """Return the value of a name, or the value itself; errors begin with `name`."""
    if isinstance(value, Value):
        return value
    names = ", ".join(map(repr, _NAMED))
    if not isinstance(value, str):
        raise TypeError(f"{name} is {value!r}, expected one of {names} or an object such as Blend(0.5)")
    if value in _WITH_OPTIONS:
        kind = _WITH_OPTIONS[value].__name__
        raise ValueError(f"{name} is {value!r}, which has options: expected an object, {kind}(...)")
    if value not in _NAMED:
        raise ValueError(f"{name} is {value!r}, expected one of {names} or an object such as Blend(0.5)")
    return _NAMED[value]()
