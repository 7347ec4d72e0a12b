"""The page: what each section holds, and what is left out for want of what it needs."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ordinal_shapley.report import citation, pictures, words
from ordinal_shapley.report.drawing import Picture, number
from ordinal_shapley.report.given import Given, are_classes, read, short, texts
from ordinal_shapley.report.lowest import lowest_rows
from ordinal_shapley.report.removal import Removal, removal_curves
from ordinal_shapley.report.rows import MOST_COLUMNS, PAGE, row_table
from ordinal_shapley.valuation.scores import is_better

if TYPE_CHECKING:
    from ordinal_shapley.valuation.result import Valuation

_MOST_CLASSES = 50  # in the table of classes


def check_jinja() -> None:
    """ImportError unless pages can be made."""
    from importlib.util import find_spec

    if find_spec("jinja2") is None:
        raise ImportError("the report needs Jinja2; install it with: pip install 'ordinal-shapley[report]'")


def render(
    valuation: Valuation,
    *,
    X: Any = None,
    y: Any = None,
    game: Any = None,
    history: Any = None,
    title: str | None = None,
    level: float = 0.95,
    settings: Mapping[str, Any] | None = None,
    warnings: Iterable[str] = (),
) -> str:
    """Return the page; the arguments are those of `Valuation.to_html`."""
    check_jinja()
    given = read(valuation, X, y, game, history, level)
    if title is not None and not isinstance(title, str):
        raise TypeError(f"title is {title!r}, expected a text")
    if settings is not None and not isinstance(settings, Mapping):
        raise TypeError(f"settings is a {type(settings).__name__}, expected a dictionary of terms and words")
    if isinstance(warnings, str):
        raise TypeError(f"warnings is {warnings!r}, expected a list of texts")
    if title is None:
        n = len(valuation)
        title = f"{valuation.kind.title} Shapley values of {n:,} {given.noun}{'s' * (n != 1)}"
    table = row_table(valuation, given.X, given.labels, given.noun, level)
    spread = pictures.histogram(valuation, given.noun, level)
    removal, removal_note = _removal(given)
    low, high = valuation.confidence_interval(level)
    page = {
        "title": title,
        "noun": given.noun,
        "n": len(valuation),
        "level": f"{100 * level:g}",
        "tiles": [
            (f"{given.noun}{'s' * (len(valuation) != 1)}", f"{len(valuation):,}"),
            ("permutations", f"{valuation.n_permutations:,}"),
            ("intervals below 0", f"{int((high < 0).sum()):,}"),
            ("intervals above 0", f"{int((low > 0).sum()):,}"),
            *words.score_tiles(valuation),
        ],
        "warnings": [str(line) for line in warnings],
        "asked": words.asked(
            valuation, given.game, given.noun, settings or {}, None if given.X is None else given.X.shape[1]
        ),
        "sure": words.sure(valuation, given.game, given.history, given.noun, level),
        "says_little": is_better(valuation) is False,
        "not_covered": words.not_covered(valuation, given.noun, level),
        "table": table,
        "first": table.lowest_first[:PAGE].tolist(),
        "most_columns": MOST_COLUMNS,
        "data": table.data(level),
        "has_columns": given.X is not None,
        "spread": spread,
        "classes": _classes(given),
        "convergence": _convergence(given),
        "has_history": given.history is not None,
        "taken_up_at": 0 if given.history is None else given.history.taken_up_at,
        "removal": removal,
        "removal_note": removal_note,
        "lowest": lowest_rows(given, table.column("value").digits),
        "citation": citation.sentences(),
        "bibtex": citation.bibtex(),
    }
    return _fill(page)


def _fill(page: dict[str, Any]) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    loader = PackageLoader("ordinal_shapley.report")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    style, script = (loader.get_source(environment, f"page.{kind}")[0] for kind in ("css", "js"))
    # No script runs but this one, whatever a label holds, and nothing is fetched.
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    html = environment.get_template("page.html").render(
        **page, style=Markup(style), script=Markup(script), digest=digest, markup=Markup
    )
    return html.encode("utf-8", "replace").decode()  # of names that are no text, such as half characters


def _classes(given: Given) -> list[list[str]]:
    """One line a class: how its values lie."""
    if not are_classes(given.labels):
        return []
    assert given.labels is not None
    labels = texts(given.labels)
    kinds = sorted(set(labels))
    if not 1 < len(kinds) <= _MOST_CLASSES:
        return []
    values, high = given.valuation.values, given.valuation.confidence_interval(given.level)[1]
    lines = []
    for kind in kinds:
        mine = labels == kind
        known = values[mine & np.isfinite(values)]
        figures = (known.mean(), np.median(known), known.min(), known.max()) if known.size else (np.nan,) * 4
        lines.append(
            [
                short(kind),
                f"{int(mine.sum()):,}",
                *(number(float(figure)) for figure in figures),
                f"{int((high[mine] < 0).sum()):,}",
            ]
        )
    return lines


def _convergence(given: Given) -> list[Picture]:
    history = given.history
    if history is None or not len(history.n_permutations) or not np.isfinite(history.values[-1]).any():
        return []
    return pictures.convergence(history, given.names, given.level)


def _removal_verdict(curves: Removal, noun: str) -> str:
    """What the curves say of the values, over the first half of the marks."""
    half = max(2, len(curves.removed) // 2)
    high, low, luck = (float(np.mean(line[..., :half])) for line in (curves.high, curves.low, curves.random))
    falls = "falls faster than at random" if high < luck else "does not fall faster than at random"
    holds = "holds better than at random" if low > luck else "does not hold better than at random"
    return (
        f"As the first half of the {noun}s goes, the score {falls} with the highest values first, and "
        f"{holds} with the lowest first."
    )


def _removal(given: Given) -> tuple[Picture | None, str]:
    """The picture and what to know about it, or why there is none."""
    game, noun = given.game, given.noun
    if game is None:
        return None, "Pass the game that was played to see what happens to its score."
    if game.n_players < 2 or not np.isfinite(given.valuation.values).any():
        return None, f"It takes two {noun}s with values at least."
    try:
        curves = removal_curves(game, given.valuation)
    except (RuntimeError, TypeError, ValueError) as error:  # of a utility that some sequences don't have
        return None, f"The game could not be played without some of the {noun}s: {error}"
    score = words.score_of(game)
    valid = " on the validation rows" if game._n_valid is not None else ""
    orders = (
        ""
        if curves.n_orders == 1 and game.order_free
        else f" Order matters, so each mark is the mean over {curves.n_orders} random orders of the {noun}s "
        "left, the same for all curves."
    )
    held = (
        " These are the validation rows that the values were made with, not rows held out for this: on such "
        "rows expect the curves to lie closer together."
        if valid
        else ""
    )
    gone = ""
    if game._awaits_classes:
        gone = f" Once a class is gone there is no model, and the score is {number(game.empty_value_)}."  # type: ignore[attr-defined]
    again = f"The game was played again with the {noun}s left: {score}{valid}.{orders}{gone}{held}"
    note = f"{_removal_verdict(curves, noun)} {again}"
    return pictures.removal(curves, score, noun), note
