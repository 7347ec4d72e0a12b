"""Method and truncation rule where none is asked for."""

from __future__ import annotations

from ordinal_shapley.sampling.truncation import Truncation
from ordinal_shapley.vocabulary import TRUNCATED_METHODS

# The partial ordinal value has the rule of its paper.
WITHOUT_A_RULE = ("ordinal", "classic")


def usual_method(value: str, predicts_classes: bool) -> str:
    """Return the method: the paper's for its value, if there are classes to draw from."""
    return "ctmc" if value not in WITHOUT_A_RULE and predicts_classes else "tmc"


def usual_truncation(value: str, method: str) -> Truncation | None:
    """Return the rule: the paper's for its value, else one without bias, however many players there are."""
    if method not in TRUNCATED_METHODS:
        return None
    return Truncation.roulette() if value in WITHOUT_A_RULE else Truncation.paper()
