"""Designs: dependence between permutations, and its consequences for errors."""

from __future__ import annotations

from dataclasses import dataclass

from ordinal_shapley.vocabulary import DESIGNS, check_choice
from ordinal_shapley_kernels.permutations import ANTITHETIC, INDEPENDENT, LATIN


@dataclass(frozen=True)
class Design:
    """Dependence between the permutations of a run; each single permutation is uniformly random."""

    name: str
    code: int  # of the kernel
    permutations: int | None = 1  # per independent replicate; None for as many as players
    of_all: bool = False  # whether it requires permutations of all players, so no class sampling
    # Whether control variates come from another stream, because permutations of a replicate are dependent.
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
