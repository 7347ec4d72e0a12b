"""Method and truncation rule where none is asked for."""

from __future__ import annotations

from ordinal_shapley.sampling.truncation import Truncation
from ordinal_shapley.vocabulary import TRUNCATED_METHODS

# The full walks at the start of a roulette take as many evaluations as twenty times the players.
MOST_FOR_PILOT = 2_000
# The partial ordinal value has the rule of its paper.
WITHOUT_A_RULE = ("ordinal", "classic")


def usual_method(value: str, predicts_classes: bool) -> str:
    """Return the method: the paper's for its value, if there are classes to draw from."""
    return "ctmc" if value not in WITHOUT_A_RULE and predicts_classes else "tmc"


def usual_truncation(value: str, method: str, n_players: int) -> Truncation | None:
    """Return the rule: the paper's for its value, else one without bias if its start is not too long."""
    if method not in TRUNCATED_METHODS:
        return None
    if value not in WITHOUT_A_RULE:
        return Truncation.paper()
    return Truncation.roulette() if n_players <= MOST_FOR_PILOT else Truncation.patience()
