"""The table of all players: their values and their own columns."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ordinal_shapley.report.text import decimals, shown_errors

if TYPE_CHECKING:
    import pandas as pd

    from ordinal_shapley.valuation.result import Valuation

MAX_COLUMNS = 60
PAGE = 25  # rows shown at first
_MAX_TEXT = 1_000
_FIGURES = {"std. error": "stderr", "low": "ci_low", "high": "ci_high"}
_BOTH = {
    "std. error": "stderr_total", "Monte Carlo error": "stderr", "low": "ci_low", "high": "ci_high",
}  # fmt: skip
_MAX_EXACT = 2**53  # largest exact integer of JavaScript
_UNSAFE = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


class Column(NamedTuple):
    """A column of the table."""

    title: str
    kind: str  # "number" or "text"
    own: bool  # whether it is a column of the rows, not of the result
    digits: int | None  # None for as many as a number has, at most six significant ones
    cells: list[Any]  # None for missing values

    def text(self, row: int) -> str:
        """Return the text of a cell."""
        cell = self.cells[row]
        if cell is None:
            return "\u2013"
        if self.kind == "text":
            return str(cell)
        if self.digits is None:
            cell = float(f"{cell:.6g}")
            text = f"{cell:.0f}" if cell.is_integer() and abs(cell) < 1e15 else repr(cell)
        else:
            text = f"{cell:.{self.digits}f}"
        return text.replace("-", "\u2212")


class RowTable(NamedTuple):
    """The table."""

    columns: list[Column]
    order: npt.NDArray[np.intp]  # initial order of the players: suspects first, the most suspicious on top
    below: npt.NDArray[np.bool_]  # players whose CI is entirely below 0
    other: npt.NDArray[np.bool_]  # players for which another label is predicted with confidence
    n_left_out: int  # number of columns of the rows that are not shown

    def column(self, title: str) -> Column:
        """Return a column of the result."""
        return next(column for column in self.columns if column.title == title and not column.own)

    def data(self) -> str:
        """Return everything as JSON for embedding in a page."""
        ends = [x for title in ("value", "low", "high") for x in self.column(title).cells if x is not None]
        content = {
            "columns": [column._asdict() for column in self.columns],
            "order": self.order.tolist(),
            "scale": [min([0.0, *ends]), max([0.0, *ends])],
            "suspects": int((self.below | self.other).sum()),
            "page": PAGE,
        }
        return json.dumps(content, allow_nan=False, separators=(",", ":")).translate(_UNSAFE)


def row_table(
    valuation: Valuation, X: pd.DataFrame | None, labels: npt.NDArray[Any] | None, noun: str, level: float
) -> RowTable:
    """Join the result, the labels and the rows' own columns."""
    frame = valuation.to_frame(level)
    digits = decimals(shown_errors(valuation), frame["value"].to_numpy())
    names = frame.index
    whole = valuation.player_names is None or np.asarray(valuation.player_names).dtype.kind in "iu"
    if whole and all(abs(int(name)) <= _MAX_EXACT for name in names):
        named = Column(noun, "number", False, 0, names.tolist())
    else:
        named = Column(noun, "text", False, None, [str(name)[:_MAX_TEXT] for name in names])
    evidence, below = valuation.evidence, frame["below_zero"].to_numpy()
    verdicts, other = np.where(below, "value below 0", "").tolist(), np.zeros(len(frame), np.bool_)
    predicted, ranks = [], [_figure("rank", frame["rank"], 0)]
    suspicion = -frame["rank"].to_numpy()
    if evidence is not None:
        verdicts, other = frame["verdict"].tolist(), evidence.disputed
        suspicion = frame["combined_rank"].to_numpy()
        predicted = [
            _column("predicted label", evidence.predicted_label, own=False),
            _figure("its probability", frame["predicted_probability"], 2),
            _figure("probability of the label", frame["self_confidence"], 2),
        ]
        ranks.append(_figure("combined rank", frame["combined_rank"], 0))
    shown = 0 if X is None else min(X.shape[1], MAX_COLUMNS)
    columns = [
        named,
        *[Column("verdict", "text", False, None, [word or None for word in verdicts])] * any(verdicts),
        *([] if labels is None else [_column("label", labels, own=False)]),
        *predicted[:2],
        _figure("value", frame["value"], digits),
        *([] if X is None else [_column(str(X.columns[k]), X.iloc[:, k], own=True) for k in range(shown)]),
        *(
            _figure(title, frame[name], digits)
            for title, name in (_FIGURES if valuation.stderr_total is None else _BOTH).items()
        ),
        *predicted[2:],
        *ranks,
    ]
    return RowTable(
        columns,
        np.lexsort((np.arange(len(frame)), suspicion, ~(below | other))),
        below,
        other,
        0 if X is None else X.shape[1] - shown,
    )


def _figure(title: str, cells: pd.Series[Any], digits: int) -> Column:
    return Column(title, "number", False, digits, _numbers(cells.to_numpy()))


def _column(title: str, cells: Any, *, own: bool) -> Column:
    """Return a column of any type."""
    kind = getattr(cells.dtype, "kind", "O")
    title = title[:_MAX_TEXT]
    if kind in "iuf":
        pandas = hasattr(cells, "iloc")
        numbers = cells.to_numpy(dtype=np.float64, na_value=np.nan) if pandas else cells.astype(np.float64)
        finite = numbers[np.isfinite(numbers)]
        # The largest may be rounded up to the next power of ten.
        exact = kind == "f" or not (np.abs(finite) >= _MAX_EXACT).any()
        if exact and not np.isinf(numbers).any():
            whole = kind in "iu" or bool((finite == np.round(finite)).all())
            return Column(title, "number", own, 0 if whole else None, _numbers(numbers))
    return Column(title, "text", own, None, [_text(cell) for cell in cells])


def _numbers(numbers: npt.NDArray[Any]) -> list[Any]:
    return [x if math.isfinite(x) else None for x in numbers.tolist()]


def _text(cell: Any) -> str | None:
    import pandas as pd

    missing = pd.isna(cell)
    return None if isinstance(missing, bool | np.bool_) and missing else str(cell)[:_MAX_TEXT]
