"""Designs: how permutations depend on one another, and what follows for their errors."""

from __future__ import annotations

from dataclasses import dataclass

from ordinal_shapley.vocabulary import DESIGNS, check_choice
from ordinal_shapley_kernels.permutations import ANTITHETIC, INDEPENDENT, LATIN


@dataclass(frozen=True)
class Design:
    """How the permutations of a run depend on one another; each by itself is as random as in any other.

    Attributes
    ----------
    name : str
        The word that stands for it.
    code : int
        The permutations kernel's.
    permutations : int or None
        How many make an independent replicate, over which standard errors are taken; None for as many as
        there are players.
    of_all : bool
        Whether it needs permutations of all players, and so goes with no class sampling.
    own_baselines : bool
        Whether prefix utilities are compared with permutations of another stream, for in its own all of a
        replicate depend on one another.
    shares_places : bool
        Whether a player may stand at one position in two permutations of a replicate, if it is the middle.
    """

    name: str
    code: int
    permutations: int | None = 1
    of_all: bool = False
    own_baselines: bool = False
    shares_places: bool = False

    def replicate_size(self, n_players: int) -> int:
        """Return how many permutations make an independent replicate."""
        return n_players if self.permutations is None else self.permutations


_DESIGNS = (
    Design("independent", INDEPENDENT),
    Design(
        "antithetic",
        ANTITHETIC,
        permutations=2,
        shares_places=True,
    ),
    Design(
        "latin",
        LATIN,
        permutations=None,
        of_all=True,
        own_baselines=True,
    ),
)


def design_of(name: str) -> Design:
    """Return the design of a name; ValueError if there is none."""
    check_choice("design", name, DESIGNS)
    return next(design for design in _DESIGNS if design.name == name)
