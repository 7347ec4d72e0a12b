"""What a report says in words: what was asked, and how sure the answer is."""

from __future__ import annotations

import platform
from datetime import datetime, timezone
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from ordinal_shapley import __version__
from ordinal_shapley.report.drawing import number
from ordinal_shapley.valuation.reliability import reliability_words
from ordinal_shapley.valuation.scores import score_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ordinal_shapley.games.base import Game
    from ordinal_shapley.sampling.history import History
    from ordinal_shapley.valuation.result import Valuation

Facts = list[tuple[str, str]]

_STOPS = {
    "MaxPermutations": "the number of permutations asked for, or the limit, was reached",
    "MaxEvaluations": "the number of evaluations asked for was reached",
    "MaxSeconds": "the time was up",
    "RelativeChange": "the values hardly changed any more",
    "MaxStandardError": "no standard error was above the bound",
    "RankStability": "the ranking hardly changed any more",
    "merge": "several runs were pooled",
}
_PACKAGES = ("numpy", "numba", "scikit-learn", "pandas")


def asked(
    valuation: Valuation, game: Game | None, noun: str, settings: Mapping[str, Any], columns: int | None
) -> Facts:
    """Return what was estimated, of what and how, in pairs of a term and its words."""
    facts = [(str(term), str(words)) for term, words in settings.items()]
    facts.append(("Value", f"{valuation.kind.title}: {valuation.kind.meaning.format(noun=noun)}."))
    facts.append((f"{noun.capitalize()}s valued", f"{len(valuation):,}"))
    if columns is not None:
        facts.append(("Their own columns", f"{columns:,}"))
    if game is not None:
        facts += _of_game(game, noun)
    ranges = ", ".join(f"{start:,} to {stop - 1:,}" for start, stop in valuation.ranges)
    facts += [
        ("Sampler", f"{valuation.sampler!r}: {valuation.sampler.words}"),
        ("Seed", f"{valuation.seed}, permutations {ranges or 'none'}"),
        ("Software", _software()),
        ("Page made", f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M} UTC"),
    ]
    return facts


def _of_game(game: Game, noun: str) -> Facts:
    facts = []
    n_rows = getattr(game, "n_rows", None)
    if n_rows is not None and n_rows != game.n_players:
        facts.append(("Training rows", f"{n_rows:,}, of {game.n_players:,} {noun}s"))
    kind = type(game).__name__
    model = getattr(game, "estimator", None)
    facts.append(("Game", f"{kind} of {type(model).__name__}" if model is not None else kind))
    if game._n_valid is not None:
        facts.append(("Score", f"{score_of(game)} on {game._n_valid:,} validation rows"))
    if hasattr(game, "position_weight"):
        facts.append(("Position weights", f"{game.position_weight}"))
    if hasattr(game, "C"):
        facts.append(("C", f"{game.C:g}; the smaller, the stronger the penalty"))
    if hasattr(game, "alpha"):
        facts.append(("alpha", f"{game.alpha:g}; the larger, the stronger the penalty"))
    if hasattr(game, "n_neighbors"):
        facts.append(("Neighbours", f"{game.n_neighbors}"))
    return facts


def score_of(game: Game) -> str:
    """Return what the game measures, in words."""
    scoring = getattr(game, "scoring", None)
    if scoring is None:
        return "utility"
    return scoring.replace("_", " ") if isinstance(scoring, str) else getattr(scoring, "__name__", "score")


def _software() -> str:
    parts = [f"ordinal-shapley {__version__}", *(f"{name} {version(name)}" for name in _PACKAGES)]
    return f"{', '.join(parts)}, Python {platform.python_version()}"


def stopped(valuation: Valuation, history: History | None) -> str:
    """Return why the run ended."""
    rules = [name.strip() for name in valuation.stopped_by.replace("|", ",").replace("&", ",").split(",")]
    words = " and ".join(_STOPS.get(rule, rule) for rule in rules)
    asked_for = f" (the rule was {history.rule!r})" if history is not None else ""
    kind = "a rule of convergence" if valuation.converged else "no rule of convergence"
    return f"{words[:1].upper()}{words[1:]}{asked_for}; {kind} ended the run."


def score_tiles(valuation: Valuation) -> Facts:
    """Return what the model of all rows scores, and what guessing does, as far as it is known."""
    scores = [("score of all rows", valuation.full_score), ("score of guessing", valuation.guess_score)]
    return [(term, f"{score:.4g}") for term, score in scores if score is not None]


def sure(valuation: Valuation, game: Game | None, history: History | None, noun: str, level: float) -> Facts:
    """Return how sure the values are, in pairs of a term and its words."""
    low, high = valuation.confidence_interval(level)
    known = np.isfinite(valuation.stderr)
    n_known, n = int(known.sum()), len(valuation)
    speed = ""
    if valuation.seconds > 0:
        rate = number(valuation.n_evaluations / valuation.seconds)
        speed = f" in {number(valuation.seconds)} s, {rate} a second"
    model = score_words(valuation, game)
    facts = [("Score reached", model)] if model else []
    facts += [
        ("Permutations", f"{valuation.n_permutations:,}"),
        ("Why it stopped", stopped(valuation, history)),
        ("Evaluations", f"{valuation.n_evaluations:,}{speed}"),
        ("Mean walk", f"{number(valuation.mean_walk_length)} of {n:,} {noun}s a permutation"),
    ]
    if not n_known:
        return [*facts, ("Standard errors", "not known: it takes two permutations at least")]
    errors = valuation.stderr[known]
    middle, largest = number(float(np.median(errors))), number(float(errors.max()))
    facts.append(("Standard errors", f"median {middle}, largest {largest}"))
    below, above = int((high < 0).sum()), int((low > 0).sum())
    facts.append(
        (
            f"{100 * level:g} % intervals",
            f"{below:,} below 0, {above:,} above 0, {n_known - below - above:,} that touch 0"
            + (f"; {n - n_known:,} {noun}s have none" if n_known < n else ""),
        )
    )
    reliable = reliability_words(valuation)
    if reliable:
        facts.append(("Reliability", reliable))
    return facts


def not_covered(valuation: Valuation, noun: str, level: float) -> list[str]:
    """Return what the standard errors say nothing about."""
    chance = 100 * (1 - level) / 2
    expected = len(valuation) * chance / 100
    many = f"about {expected:,.0f}" if expected >= 1 else "less than one"
    lines = []
    for bias in valuation.sampler.biases:
        lines.append(
            f"{bias[:1].upper()}{bias[1:]}. More permutations do not shrink it; method 'auto' has none."
        )
    lines += [
        "Other validation rows, another score or another model would give other values: these belong to the "
        "ones used."
        if noun == "row"
        else "Another game, such as one with other validation rows, would give other values.",
        f"A value depends on the other {noun}s. It is no property of a {noun} alone.",
        f"Each interval is looked at by itself. Of {noun}s worth exactly 0, {chance:g} % have an interval "
        f"below 0 by chance: {many} here if all were.",
    ]
    return lines
