"""The lowest rows, and the evidence against their labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ordinal_shapley.report.given import Given, are_classes, texts
from ordinal_shapley.report.text import number, short, shown_errors

if TYPE_CHECKING:
    from collections.abc import Callable

    from ordinal_shapley.games.base import Game

_MAX_ROWS = 20
_MAX_NEAR = 5


class Evidence(NamedTuple):
    """What is known of the label of one row."""

    predicted: str | None = None  # by the model of all other rows; None if there is no such model
    agreeing: int | None = None  # nearest neighbours with its label; None if it is not known who they are
    majority: str | None = None  # the label that most of these have; its own if no other has more

    def verdict(self, own: str, near: int) -> str:
        """Say what prediction and neighbours, of whom there are `near`, mean for the label `own`."""
        against = []
        if self.predicted is not None:
            against.append(self.predicted != own)
        if self.agreeing is not None:
            against.append(2 * self.agreeing < near)
        if not against:
            return "nothing known"
        if all(against):
            return "against the label"
        return "divided" if any(against) else "for the label"


def find_evidence(
    game: Game | None, X: Any, labels: npt.NDArray[Any], rows: npt.NDArray[np.intp]
) -> list[Evidence]:
    """Return what is known of each of `rows`, as texts like `labels`; nothing if that can't be."""
    predict = None if game is None or len(labels) < 2 else game._leave_one_out()
    distances = None if len(labels) < 2 else _distances(game, X)
    if predict is None and distances is None:
        return []
    return [_evidence(predict, distances, labels, int(row)) for row in rows]


def n_near(n_rows: int) -> int:
    """How many neighbours are asked."""
    return min(_MAX_NEAR, n_rows - 1)


def _evidence(predict: Any, distances: Any, labels: npt.NDArray[Any], row: int) -> Evidence:
    predicted = None if predict is None else predict(row)
    predicted = None if predicted is None else str(predicted)
    if distances is None:
        return Evidence(predicted)
    from_here = np.array(distances(row), np.float64)
    from_here[row] = np.inf
    near = labels[np.argsort(from_here, kind="stable")[: n_near(len(labels))]]
    kinds, counts = np.unique(near, return_counts=True)
    agreeing = int((near == labels[row]).sum())
    majority = labels[row] if agreeing == counts.max() else kinds[counts.argmax()]
    return Evidence(predicted, agreeing, majority)


def _distances(game: Game | None, X: Any) -> Callable[[int], npt.NDArray[np.float64] | None] | None:
    """A function of a row that gives squared distances: in the features of the game, or else of `X`."""
    if game is not None and game._squared_distances(0) is not None:
        return game._squared_distances
    if X is None or any(getattr(dtype, "kind", "O") not in "biuf" for dtype in X.dtypes):
        return None
    numbers = X.to_numpy(dtype=np.float64, na_value=np.nan)
    if not np.isfinite(numbers).all():
        return None
    spread = numbers.std(axis=0)
    numbers = numbers / np.where(spread > 0, spread, 1.0)
    return lambda row: np.asarray(((numbers - numbers[row]) ** 2).sum(axis=1))


def lowest_rows(given: Given, digits: int | None) -> dict[str, Any]:
    """Return what the section holds, with so many digits of the values."""
    valuation, game = given.valuation, given.game
    labels = None if given.labels is None else texts(given.labels)
    order = valuation.ranking()
    known = order[np.isfinite(valuation.values[order])]
    lowest = known[::-1][: min(_MAX_ROWS, max(1, len(known) // 2))]
    note, summary = "", ""
    found: list[Evidence] = []
    numbers = labels is not None and not are_classes(given.labels)
    numbers = numbers or (game is not None and game._predicts_numbers)
    if numbers:
        note = "The targets are numbers: only classes are looked at here."
    elif labels is None:
        note = "Pass the labels as y, and the game, to see the evidence against them."
    else:
        found = find_evidence(game, given.X, labels, lowest)
        summary = _summary(given, labels, lowest, found, np.setdiff1d(known, lowest))
        if not found:
            how = "pass the game, or" if game is None else "this game can't say; pass"
            note = f"Nothing can be said of the labels: {how} columns that are numbers as X."
    by_order = valuation.kind.name == "partial_ordinal" and (game is None or not game.order_free)
    return {
        "lines": _lines(given, labels, lowest, found, digits),  # the lowest first
        "note": note,  # why nothing is known of the labels, if so
        "summary": summary,
        "has_model": any(evidence.predicted is not None for evidence in found),
        "has_near": any(evidence.agreeing is not None for evidence in found),
        "in_folds": len(valuation.moments.parts) > 1,
        "n_near": n_near(len(valuation)),
        "n_below": int((valuation.confidence_interval(given.level)[1] < 0).sum()),
        # Whether this value is poor at finding label errors.
        "poor": by_order and given.noun == "row" and not numbers,
    }


def _summary(
    given: Given,
    labels: npt.NDArray[Any],
    lowest: npt.NDArray[np.intp],
    found: list[Evidence],
    others: npt.NDArray[np.intp],
) -> str:
    """How often the prediction differs from the label, with what it does elsewhere for comparison."""
    if all(evidence.predicted is None for evidence in found):
        return ""
    against = _n_against(found, labels[lowest])
    words = f"The leave-one-out prediction differs from the label of {against} of these {len(found)}"
    drawn = np.random.default_rng(0).permutation(others)[:_MAX_ROWS]
    if len(drawn):
        against = _n_against(find_evidence(given.game, given.X, labels, drawn), labels[drawn])
        words += f", and of {against} of {len(drawn)} drawn at random from the others"
    return f"{words}."


def _n_against(found: list[Evidence], labels: npt.NDArray[Any]) -> int:
    return sum(e.predicted not in (None, own) for e, own in zip(found, labels, strict=True))


def _lines(
    given: Given,
    labels: npt.NDArray[Any] | None,
    lowest: npt.NDArray[np.intp],
    found: list[Evidence],
    digits: int | None,
) -> list[dict[str, Any]]:
    """Lines of texts; None in a column that the page leaves out."""
    table, n_asked = given.valuation.to_frame(given.level), n_near(len(given.valuation))
    errors = shown_errors(given.valuation)
    lines = []
    for row, evidence in zip(lowest.tolist(), found or [Evidence()] * len(lowest), strict=True):
        figures, own = table.iloc[row], None if labels is None else str(labels[row])
        near = None
        if evidence.agreeing is not None:
            most = "" if evidence.majority == own else f"; most are {short(str(evidence.majority))}"
            near = f"{evidence.agreeing} of {n_asked}{most}"
        lines.append(
            {
                "rank": f"{int(figures['rank']):,}",
                "name": short(str(table.index[row])),
                "value": number(float(figures["value"]), digits),
                "stderr": number(float(errors[row]), digits),
                "below": bool(figures["below_zero"]),
                "label": None if own is None else short(own),
                "predicted": None if evidence.predicted is None else short(evidence.predicted),
                "near": near,
                "verdict": evidence.verdict(own, n_asked) if found and own is not None else "",
            }
        )
    return lines
