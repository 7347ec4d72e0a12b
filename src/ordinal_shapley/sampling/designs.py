"""Designs: how permutations depend on one another, and what follows for their errors."""

from __future__ import annotations

from dataclasses import dataclass

from ordinal_shapley.vocabulary import DESIGNS, check_choice
from ordinal_shapley_kernels.permutations import ANTITHETIC, INDEPENDENT, LATIN


@dataclass(frozen=True)
class Design:
    """How the permutations of a run depend on one another; each by itself is as random as in any other."""

    name: str
    code: int  # of the kernel
    permutations: int | None = 1  # in an independent replicate, that has errors; None for one for each player
    of_all: bool = False  # whether it needs permutations of all players, so no class sampling
    # Whether prefix utilities are compared with another stream, for all of a replicate depend on one another.
    own_baselines: bool = False
    shares_places: bool = False  # whether a player may be in the middle of two permutations of a replicate

    def replicate_size(self, n_players: int) -> int:
        """Return how many permutations make an independent replicate."""
        return n_players if self.permutations is None else self.permutations


_DESIGNS = (
    Design("independent", INDEPENDENT),
    Design("antithetic", ANTITHETIC, permutations=2, shares_places=True),
    Design("latin", LATIN, permutations=None, of_all=True, own_baselines=True),
)


def design_of(name: str) -> Design:
    """Return the design of a name; ValueError if there is none."""
    check_choice("design", name, DESIGNS)
    return next(design for design in _DESIGNS if design.name == name)
