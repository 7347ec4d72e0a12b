"""Objects that are described by their options: as text, in files, and in comparisons."""

from __future__ import annotations

import hashlib
import importlib
import json
from dataclasses import MISSING, fields
from typing import Any, NamedTuple

import numpy as np


class NotStored(NamedTuple):
    """Stands in for an option that no file can hold, such as a function, by its fingerprint."""

    digest: str

    def __repr__(self) -> str:
        return f"<not stored: {self.digest[:8]}>"


class Described:
    """A frozen dataclass whose options can be saved to a file and loaded again.

    Two are equal if their classes and options are. Use it with ``dataclass(frozen=True, eq=False,
    repr=False)``.
    """

    def settings(self) -> dict[str, Any]:
        """Return the public name of the class and all options, as JSON can hold them."""
        options = {field.name: self._stored(field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {"class": type(self).__name__, **options}

    def _stored(self, name: str) -> Any:
        """Return one option as JSON can hold it."""
        return _plain(getattr(self, name))

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return text_of(self.settings()) == text_of(other.settings())

    def __hash__(self) -> int:
        return hash(text_of(self.settings()))

    def __repr__(self) -> str:
        given = []
        for field in fields(self):  # type: ignore[arg-type]
            option = getattr(self, field.name)
            default = field.default
            if default is MISSING or isinstance(option, np.ndarray) or option != default:
                given.append(f"{field.name}={_shown(option)}")
        return f"{type(self).__name__}({', '.join(given)})"


def from_settings(settings: dict[str, Any]) -> Any:
    """Return the object that `settings` came from; options that could not be stored are `NotStored`."""
    made = getattr(importlib.import_module("ordinal_shapley"), str(settings["class"]))
    if not (isinstance(made, type) and issubclass(made, Described)):
        raise ValueError(f"{settings['class']!r} has no settings")
    found = object.__new__(made)  # without checks, which were done before it was written
    for field in fields(made):  # type: ignore[arg-type]
        object.__setattr__(found, field.name, _restored(settings[field.name]))
    return found


def text_of(settings: Any) -> str:
    """Return settings as text, which is the same for equal settings."""
    return json.dumps(settings, sort_keys=True)


def digest(*parts: Any) -> str:
    """Return a fingerprint of arrays, and of objects with a unique `repr`."""
    total = hashlib.blake2b(digest_size=16)
    for part in parts:
        if isinstance(part, np.ndarray):
            total.update(f"{part.dtype}{part.shape}".encode())
            # Without a copy, as it may be large.
            total.update(np.ascontiguousarray(part).reshape(-1).view(np.uint8).data)
        else:
            total.update(repr(part).encode())
        total.update(b";")
    return total.hexdigest()


def _plain(option: Any) -> Any:
    if option is None or isinstance(option, bool | int | float | str):
        return option
    if isinstance(option, np.generic):
        return _plain(option.item())
    if isinstance(option, Described):
        return option.settings()
    if isinstance(option, NotStored):
        return {"digest": option.digest}
    if isinstance(option, np.ndarray):
        return [_plain(entry) for entry in option.ravel().tolist()]
    return str(option)


def _restored(stored: Any) -> Any:
    if isinstance(stored, list):
        return np.array(stored)
    if isinstance(stored, dict):
        return NotStored(stored["digest"]) if "digest" in stored else from_settings(stored)
    return stored


def _shown(option: Any) -> str:
    if isinstance(option, np.ndarray):
        return f"<{option.size:,} entries>"
    return getattr(option, "__qualname__", None) or repr(option)
