"""The page: the content of each section, and the sections left out because their input is missing."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from ordinal_shapley.common.arguments import file_name
from ordinal_shapley.common.files import replacing
from ordinal_shapley.report import facts, pictures
from ordinal_shapley.report.drawing import Picture
from ordinal_shapley.report.given import Given, read, texts
from ordinal_shapley.report.removal import Removal, removal_curves
from ordinal_shapley.report.rows import MAX_COLUMNS, PAGE, row_table
from ordinal_shapley.report.text import covered, is_better, number, short
from ordinal_shapley.vocabulary import count

if TYPE_CHECKING:
    from ordinal_shapley.valuation.result import Valuation

_MAX_CLASSES = 50  # maximum rows in the table of classes


def page(
    valuation: Valuation,
    path: str | PathLike[str] | None,
    X: Any,
    y: Any,
    game: Any,
    history: Any,
    title: str | None,
    level: float,
    settings: Mapping[str, Any] | None,
    warnings: Iterable[str],
) -> str:
    """Return the page, and write it if there is a path; arguments as for `Valuation.to_html`."""
    if path is not None:
        file_name("path", path)
        with replacing(path, keep=False):  # fails before the work if the file can't be written
            pass
    if find_spec("jinja2") is None:
        raise ImportError("the report needs Jinja2; install it with: pip install 'ordinal-shapley[report]'")
    given = read(valuation, X, y, game, history, level)
    if title is not None and not isinstance(title, str):
        raise TypeError(f"title is {title!r}, expected a text")
    if settings is not None and not isinstance(settings, Mapping):
        raise TypeError(f"settings is a {type(settings).__name__}, expected a dictionary of terms and words")
    if isinstance(warnings, str):
        raise TypeError(f"warnings is {warnings!r}, expected a list of texts")
    n, noun = len(valuation), given.noun
    table = row_table(valuation, given.X, given.labels, noun, level)
    removal, removal_note = _removal(given)
    classes = noun == "row" and given.classes
    by_order = valuation.kind.name == "partial_ordinal" and (game is None or not game.order_free)
    content = {
        "title": title or f"{valuation.kind.title} Shapley values of {count(n, noun)}",
        "noun": noun,
        "n": n,
        "level": f"{100 * level:g}",
        "opening": facts.opening(given, table),
        "poor": classes and by_order,  # poor at finding label errors
        "unpredicted": classes and valuation.evidence is None,
        "warnings": [str(line) for line in warnings],
        "settings": facts.settings(given, settings or {}),
        "certainty": facts.certainty(given),
        "run": facts.run(given),
        "says_little": is_better(valuation) is False,
        "covered": covered(valuation, game),
        "not_covered": facts.not_covered(given),
        "table": table,
        "first": table.order[:PAGE].tolist(),
        "n_suspects": int((table.below | table.other).sum()),
        "max_columns": MAX_COLUMNS,
        "data": table.data(),
        "has_both": valuation.stderr_total is not None,
        "has_evidence": valuation.evidence is not None,
        "has_columns": given.X is not None,
        "spread": pictures.histogram(valuation, noun, level),
        "classes": _classes(given),
        "class_header": ["class", f"{noun}s", "mean", "median", "lowest", "highest", "CIs below 0"],
        "convergence": pictures.convergence(history, given.names, level),
        "history": given.history,
        "removal": removal,
        "removal_note": removal_note,
        "citation": facts.CITATION,
        "bibtex": facts.BIBTEX,
    }
    html = _fill(content)
    if path is not None:
        with replacing(path) as temporary:
            temporary.write_bytes(html.encode())
    return html


def _fill(content: dict[str, Any]) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    loader = PackageLoader("ordinal_shapley.report")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    style, script = (loader.get_source(environment, f"page.{kind}")[0] for kind in ("css", "js"))
    # Only this script may run, whatever labels contain, and nothing is fetched.
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    html = environment.get_template("page.html").render(
        **content, style=Markup(style), script=Markup(script), digest=digest, markup=Markup
    )
    return html.encode("utf-8", "replace").decode()  # names may contain lone surrogates


def _classes(given: Given) -> list[list[str]]:
    """One row per class: the distribution of its values."""
    if not given.classes:
        return []
    assert given.labels is not None
    labels = texts(given.labels)
    kinds = sorted(set(labels))
    if not 1 < len(kinds) <= _MAX_CLASSES:
        return []
    values, high = given.valuation.values, given.valuation.confidence_interval(given.level)[1]
    lines = []
    for kind in kinds:
        mine = labels == kind
        known = values[mine & np.isfinite(values)]
        figures = (known.mean(), np.median(known), known.min(), known.max()) if known.size else (np.nan,) * 4
        numbers = [number(float(figure)) for figure in figures]
        lines.append([short(kind), f"{int(mine.sum()):,}", *numbers, f"{int((high[mine] < 0).sum()):,}"])
    return lines


def _removal(given: Given) -> tuple[Picture | None, str]:
    """The picture and its explanation, or why there is none."""
    game, noun = given.game, given.noun
    if game is None:
        return None, "To see how the score changes, pass the game of these values as game."
    if game.n_players < 2 or not np.isfinite(given.valuation.values).any():
        return None, f"This requires at least two {noun}s with values."
    try:
        curves = removal_curves(game, given.valuation)
    except (RuntimeError, TypeError, ValueError) as error:  # some sequences may have no utility
        return None, f"The utility without some of the {noun}s could not be computed: {error}"
    validation = game._n_valid is not None
    on = " on the validation rows" if validation else ""
    sentences = [
        _removal_verdict(curves, noun),
        f"The score is that of the {noun}s left: {game._score_name}{on}.",
    ]
    if curves.n_orders > 1 or not game.order_free:
        sentences.append(
            f"Order matters, so each mark is a mean over {curves.n_orders} random orders of the {noun}s "
            "left, the same for all curves."
        )
    if game._awaits_classes:
        empty = number(game(()))
        sentences.append(f"Once all rows of a class are removed there is no model, and the score is {empty}.")
    if validation:
        sentences.append(
            "The values were computed with these validation rows, so they are not a test set: on a test set "
            "expect the curves to be closer together."
        )
    return pictures.removal(curves, game._score_name, noun), " ".join(sentences)


def _removal_verdict(curves: Removal, noun: str) -> str:
    """Interpretation of the curves over the first half of the marks."""
    half = max(2, len(curves.removed) // 2)
    high, low, random = (
        float(np.mean(line[..., :half])) for line in (curves.high, curves.low, curves.random)
    )
    falls = "falls faster than at random" if high < random else "does not fall faster than at random"
    holds = "holds better than at random" if low > random else "does not hold better than at random"
    return (
        f"While the first half of the {noun}s is removed, the score {falls} if the highest values go first, "
        f"and {holds} if the lowest go first."
    )
