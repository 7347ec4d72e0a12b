"""The lowest rows, and what speaks against their labels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ordinal_shapley.report.drawing import number
from ordinal_shapley.report.given import Given, are_classes, short, texts
from ordinal_shapley.report.labels import Witness, n_near, witnesses

_MOST = 20


class Line(NamedTuple):
    """A line of the table: texts; None in a column that the page leaves out."""

    rank: str
    name: str
    value: str
    stderr: str
    below: bool
    label: str | None
    predicted: str | None
    near: str | None
    verdict: str


class Lowest(NamedTuple):
    """What the section holds.

    Attributes
    ----------
    lines : list of Line
        The lowest first.
    note, summary : str
        Why nothing is known of the labels, or what is; "" for nothing to say.
    has_model, has_near : bool
        Whether a model of the other rows, and neighbours, were asked.
    n_near, n_below : int
        Neighbours asked; intervals below 0 in all.
    dim : bool
        Whether this value sees wrong labels only dimly.
    """

    lines: list[Line]
    note: str
    summary: str
    has_model: bool
    has_near: bool
    n_near: int
    n_below: int
    dim: bool


def lowest_rows(given: Given, digits: int | None) -> Lowest:
    """Return the section, with so many digits of the values."""
    valuation, labels = given.valuation, None if given.labels is None else texts(given.labels)
    order = valuation.ranking()
    known = order[np.isfinite(valuation.values[order])]
    lowest = known[::-1][: min(_MOST, max(1, len(known) // 2))]
    note, summary, numbers = "", "", False
    found: list[Witness] = []
    predicts_numbers = given.game is not None and given.game._predicts_numbers
    if predicts_numbers or (labels is not None and not are_classes(given.labels)):
        note, numbers = "The targets are numbers: only classes are looked at here.", True
    elif labels is None:
        note = "Pass the labels as y, and the game, to see what speaks against them."
    else:
        found = witnesses(given.game, given.X, labels, lowest)
        if not found:
            pass_this = "pass the game, or" if given.game is None else "this game can't say; pass"
            note = f"Nothing can be said of the labels: {pass_this} columns that are numbers as X."
        summary = _summary(given, labels, lowest, found, np.setdiff1d(known, lowest))
    order_matters = given.game is None or not given.game.order_free
    return Lowest(
        _lines(given, labels, lowest, found, digits),
        note,
        summary,
        any(witness.predicted is not None for witness in found),
        any(witness.agreeing is not None for witness in found),
        n_near(len(valuation)),
        int((valuation.confidence_interval(given.level)[1] < 0).sum()),
        valuation.kind.name == "partial_ordinal" and order_matters and given.noun == "row" and not numbers,
    )


def _summary(
    given: Given,
    labels: npt.NDArray[Any],
    lowest: npt.NDArray[np.intp],
    found: list[Witness],
    others: npt.NDArray[np.intp],
) -> str:
    """How often the model disagrees, with what it does elsewhere for comparison."""
    if all(witness.predicted is None for witness in found):
        return ""
    words = (
        f"The model of all other rows gives another class to {_n_against(found, labels[lowest])} of these "
        f"{len(found)}"
    )
    drawn = np.random.default_rng(0).permutation(others)[:_MOST]
    if len(drawn):
        against = _n_against(witnesses(given.game, given.X, labels, drawn), labels[drawn])
        words += f", and to {against} of {len(drawn)} drawn at random from the others"
    return words + "."


def _n_against(found: list[Witness], labels: npt.NDArray[Any]) -> int:
    return sum(w.predicted is not None and w.predicted != own for w, own in zip(found, labels, strict=True))


def _lines(
    given: Given,
    labels: npt.NDArray[Any] | None,
    lowest: npt.NDArray[np.intp],
    found: list[Witness],
    digits: int | None,
) -> list[Line]:
    table, asked = given.valuation.to_frame(given.level), n_near(len(given.valuation))
    lines = []
    for at, row in enumerate(lowest.tolist()):
        figures, own = table.iloc[row], None if labels is None else labels[row]
        predicted, near, verdict = None, None, ""
        if found:
            witness = found[at]
            verdict = _verdict(witness, str(own), asked)
            predicted = None if witness.predicted is None else short(witness.predicted)
            if witness.agreeing is not None:
                most = "" if witness.commonest == own else f"; most are {short(str(witness.commonest))}"
                near = f"{witness.agreeing} of {asked}{most}"
        lines.append(
            Line(
                f"{int(figures['rank']):,}",
                short(str(table.index[row])),
                number(float(figures["value"]), digits),
                number(float(figures["stderr"]), digits),
                bool(figures["below_zero"]),
                None if own is None else short(str(own)),
                predicted,
                near,
                verdict,
            )
        )
    return lines


def _verdict(witness: Witness, own: str, near: int) -> str:
    """What the witnesses say together."""
    says = []
    if witness.predicted is not None:
        says.append(witness.predicted != own)
    if witness.agreeing is not None:
        says.append(2 * witness.agreeing < near)
    if not says:
        return "nothing known"
    if len(says) == 2:
        return {2: "against the label", 1: "divided", 0: "for the label"}[sum(says)]
    return "against the label" if says[0] else "for the label"
