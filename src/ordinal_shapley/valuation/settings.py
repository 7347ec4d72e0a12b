"""The settings of a run as one object, to print, to save, and to compare when runs are resumed or pooled."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ordinal_shapley.common.described import digest, from_settings, text_of

if TYPE_CHECKING:
    from ordinal_shapley.sampling.sampler import PermutationSampler
    from ordinal_shapley.values.base import Value

_DIGEST_LENGTH = 32
# Public names.
_ARGUMENTS = {"kind": "value", "sampler": "method", "seed": "random_state"}


class Settings(NamedTuple):
    """The settings of a run, except how many permutations it takes."""

    kind: Value  # value that is estimated
    sampler: PermutationSampler  # how
    seed: int  # key of the permutation stream
    position_profile: bool = False  # whether contributions are recorded by position
    game: Mapping[str, str] = {}  # its options, or their digests if they are long
    version: str = ""  # of the library
    digest: str = ""  # fingerprint of game and options; "" while it is not known

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON for a file."""
        objects = {"kind": self.kind.settings(), "sampler": self.sampler.settings()}
        return {**self._asdict(), **objects, "game": dict(self.game)}

    @classmethod
    def from_json(cls, held: dict[str, Any]) -> Settings:
        """Return settings from `to_json`; KeyError, ValueError or TypeError if it is something else."""
        objects = {name: from_settings(held[name]) for name in ("kind", "sampler")}
        made = cls(**{**held, **objects})
        if not all(isinstance(text, str) for text in (made.version, made.digest, *made.game.values())):
            raise ValueError("its settings are not text")
        return made._replace(seed=int(made.seed))

    def differences(self, other: Settings, *names: str) -> list[str]:
        """Return the differences from another, in the order of `names`, with both values if short."""
        found = []
        for name in names:
            ours, theirs = getattr(self, name), getattr(other, name)
            if name == "game":
                found += _of_games(ours, theirs)
            elif name == "digest":
                found += ["the game's utilities"] * (ours != theirs)
            elif text_of(_as_json(ours)) != text_of(_as_json(theirs)):
                argument = _ARGUMENTS.get(name, name)
                found.append(
                    argument if repr(ours) == repr(theirs) else _both(argument, repr(theirs), repr(ours))
                )
        return found


def in_short(option: Any) -> str:
    """Return an option of a game as text: the option itself if it is short, else its digest."""
    if option is None or isinstance(option, bool | int | float | str | np.number):
        return json.dumps(option.item() if isinstance(option, np.number) else option)
    return digest(*option) if isinstance(option, tuple) else digest(option)


def _as_json(option: Any) -> Any:
    return option.settings() if hasattr(option, "settings") else option


def _of_games(ours: Mapping[str, str], theirs: Mapping[str, str]) -> list[str]:
    names = [*ours, *(name for name in theirs if name not in ours)]
    other = [name for name in names if theirs.get(name) != ours.get(name)]
    # Games with many and with few columns keep X and X_valid in one or in two settings.
    other = [name for name in other if " or " not in name or not set(name.split(" or ")) <= set(other)]
    return [_both(name, theirs.get(name), ours.get(name)) for name in other]


def _both(name: str, theirs: str | None, ours: str | None) -> str:
    """Describe how a setting differs, if both values are readable."""
    if theirs is None or ours is None or _is_digest(theirs) or _is_digest(ours):
        return name
    return f"{name} ({theirs} there, {ours} here)"


def _is_digest(text: str) -> bool:
    # Texts are quoted, and no setting is a number of 32 characters.
    return len(text) == _DIGEST_LENGTH and not text.startswith('"')
