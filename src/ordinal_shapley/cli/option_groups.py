"""Groups of options that commands share, and commands that take them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_type_hints


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command as Typer can read it: a parameter that is a dataclass becomes its fields."""
    groups: dict[str, Any] = {}
    parameters: dict[str, inspect.Parameter] = {}
    # Not by get_type_hints: on Python 3.10 that puts Optional around what Typer is to find, where None is the
    # default.
    for name, parameter in inspect.signature(command, eval_str=True).parameters.items():
        kind = parameter.annotation
        if is_dataclass(kind):
            groups[name] = kind
            own = get_type_hints(kind, include_extras=True)
            for field in fields(kind):
                default = inspect.Parameter.empty if field.default is MISSING else field.default
                parameters[field.name] = _keyword(field.name, default, own[field.name])
        else:
            parameters[name] = _keyword(name, parameter.default, kind)

    @functools.wraps(command)
    def run(**given: Any) -> None:
        made = {
            name: group(**{field.name: given.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**made, **given)

    run.__signature__ = inspect.Signature(list(parameters.values()))  # type: ignore[attr-defined]
    run.__annotations__ = {name: parameter.annotation for name, parameter in parameters.items()}
    return run


def _keyword(name: str, default: Any, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
