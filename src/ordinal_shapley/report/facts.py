"""Text of a report on a result: its settings, and how certain it is."""

from __future__ import annotations

import platform
from datetime import datetime, timezone
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from ordinal_shapley import __version__
from ordinal_shapley.report.text import number, reliability_words, score_words, shown_errors, sum_words
from ordinal_shapley.vocabulary import count

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ordinal_shapley.report.given import Given
    from ordinal_shapley.report.rows import RowTable
    from ordinal_shapley.valuation.result import Valuation

Facts = list[tuple[str, str]]

STOPS = {
    "MaxPermutations": "the number of permutations was reached",
    "MaxEvaluations": "the number of evaluations was reached",
    "MaxSeconds": "the time limit was reached",
    "RelativeChange": "the values changed little, which does not mean that ranks are final",
    "MaxStandardError": "every standard error was at or below the bound",
    "RankStability": "the ranking changed little",
    "merge": "several runs were pooled",
}
_FDR = 0.1
_PACKAGES = ("numpy", "numba", "scikit-learn", "pandas")
# A copy of CITATION.cff, which wheels do not contain.
CITATION = [
    "J. Liu, P. Wang and C. Wu, \u201cData valuation: The partial ordinal Shapley value for machine "
    "learning\u201d, arXiv preprint arXiv:2305.01660, 2023, doi:10.48550/arXiv.2305.01660.",
    f"ordinal-shapley contributors, ordinal-shapley {__version__}.",
]
BIBTEX = f"""@article{{liu2023partial,
  title   = {{Data valuation: The partial ordinal Shapley value for machine learning}},
  author  = {{Liu, Jie and Wang, Peizheng and Wu, Chao}},
  journal = {{arXiv preprint arXiv:2305.01660}},
  year    = {{2023}},
  doi     = {{10.48550/arXiv.2305.01660}}
}}
@software{{ordinal_shapley,
  title   = {{ordinal-shapley}},
  author  = {{{{ordinal-shapley contributors}}}},
  version = {{{__version__}}}
}}"""


def opening(given: Given, table: RowTable) -> Facts:
    """Return what to know first about the result, as pairs of bold and normal text."""
    valuation, game, noun, n = given.valuation, given.game, given.noun, len(given.valuation)
    n_below, n_other = int(table.below.sum()), int(table.other.sum())
    n_suspects, checked = int((table.below | table.other).sum()), valuation.evidence is not None
    one, beyond = n_suspects == 1, f"({100 * given.level:g} % CI entirely below 0)"
    if not n_suspects:
        found = f"No {noun} {'looks wrong' if checked else 'clearly lowers the score'}:"
        why = f"no value is clearly below 0 {beyond}"
        why += f", and for no {noun} another label is predicted with confidence." if checked else "."
    else:
        looks = (
            f"may have {'a ' * one}wrong label{'s' * (not one)}" if checked else f"lower{'s' * one} the score"
        )
        found = f"{n_suspects:,} of {count(n, noun)} {looks}."
        why = f"{'Its value is' if one else 'Their values are'} clearly below 0 {beyond}. "
        if checked:
            why = f"For {n_other or 'none'} of them a model that was not trained on the {noun} predicts "
            why += "another label with confidence. "
            why += (
                f"{n_below or 'None'} {'have' if n_below > 1 else 'has'} a value clearly below 0 {beyond}. "
            )
        why += (
            f"Check {'it' if one else 'these'} first: {'it is' if one else 'they are'} on top of the table."
        )
    if valuation.evidence is not None:
        agreed, majority = valuation.evidence.accuracy, valuation.evidence.majority
        why += f" Predictions agree with {100 * agreed:.0f} % of the labels given"
        useless = f", no more than the majority class does ({100 * majority:.0f} %), and are not used."
        why += "." if agreed > majority else useless
    score = "score"
    if game is not None and game._n_valid is not None:
        score = f"{game._score_name} on validation rows"
        if len(valuation.moments.parts) == 1:
            why += f" The {game._n_valid:,} validation rows were not checked: they are assumed to be right."
    meaning = (
        f"How much a {noun} adds to the {score}, on average over random orders in which {noun}s join one "
        f"after another. Below 0: on average it lowers the score. Near 0: it makes little difference."
    )
    words = [(found, why), ("What is a value?", meaning)]
    if noun == "row" and n_suspects:
        column = "label" if given.classes else "target"
        todo = (
            f"Compare the {column} of each with its columns and with its source, and correct it if it is "
            "wrong. Otherwise keep the row, because rare and borderline rows look the same. Before you "
            "remove rows with low values, measure the effect on a test set."
        )
        words.append(("What to do?", todo))
    return words


def settings(given: Given, more: Mapping[str, Any]) -> Facts:
    """Return what was estimated, for which players and how, as pairs of terms and texts."""
    valuation, noun = given.valuation, given.noun
    ranges = ", ".join(f"{start:,} to {stop - 1:,}" for start, stop in valuation.ranges)
    packages = [f"{name} {version(name)}" for name in _PACKAGES]
    facts = [
        *((str(term), str(words)) for term, words in more.items()),
        ("Value", f"{valuation.kind.title}: {valuation.kind.meaning.format(noun=noun)}."),
        (f"{noun.capitalize()}s valued", f"{len(valuation):,}"),
    ]
    sums = sum_words(valuation, noun)
    facts += [("Values sum to", f"{sums}.")] * bool(sums)
    if given.X is not None:
        facts.append(("Their columns", f"{given.X.shape[1]:,}"))
    if valuation.model is not None:
        facts.append(("Model", valuation.model))
    if given.game is not None:
        facts += given.game._facts().items()
    return [
        *facts,
        ("Sampling", f"{valuation.sampler.words}; in Python: {valuation.sampler!r}"),
        ("Seed", f"{valuation.seed}, permutations {ranges or 'none'}"),
        ("Software", f"{', '.join([f'ordinal-shapley {__version__}', *packages])}, Python "
         f"{platform.python_version()}"),
        ("Page created", f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M} UTC"),
    ]  # fmt: skip


def stop_words(valuation: Valuation) -> str:
    """Describe why a run ended."""
    rules = [name.strip() for name in valuation.stopped_by.replace("|", ",").replace("&", ",").split(",")]
    return " and ".join(STOPS.get(rule, rule) for rule in rules)


def run(given: Given) -> Facts:
    """Return how the run went, as pairs of terms and texts."""
    valuation, seconds = given.valuation, given.valuation.seconds
    words, speed = stop_words(valuation), ""
    rule = "" if given.history is None else f" The stopping rule in Python: {given.history.rule!r}."
    if seconds > 0:
        speed = f" in {number(seconds)} s, {number(valuation.n_evaluations / seconds)} per second"
    return [
        ("Permutations", f"{valuation.n_permutations:,}"),
        ("Why it stopped", f"{words[:1].upper()}{words[1:]}.{rule}"),
        ("Evaluations", f"{valuation.n_evaluations:,}{speed}"),
        (f"Mean {given.noun}s evaluated per permutation", number(valuation.mean_evaluated)),
    ]


def certainty(given: Given) -> Facts:
    """Return how certain the values are, as pairs of terms and texts."""
    valuation, noun = given.valuation, given.noun
    model = score_words(valuation, given.game)
    facts = [("Score reached", model)] * bool(model)
    errors = shown_errors(valuation)
    errors = errors[np.isfinite(errors)]
    n, n_known = len(valuation), len(errors)
    if not n_known:
        return [*facts, ("Standard errors", "not known: they require at least two permutations")]
    low, high = valuation.confidence_interval(given.level)
    below, above = int((high < 0).sum()), int((low > 0).sum())
    intervals = (
        f"{below:,} entirely below 0, {above:,} entirely above 0, {n_known - below - above:,} contain 0"
    )
    intervals += f"; {n - n_known:,} {noun}s have none" * (n_known < n)
    found, reliable = len(valuation.suspects(fdr=_FDR)), reliability_words(valuation)
    alone = valuation.stderr[np.isfinite(valuation.stderr)]
    facts += [("Reliability", reliable)] * bool(reliable)
    facts.append(("Standard errors", _median_and_largest(errors)))
    if valuation.stderr_total is not None:
        facts.append(("Monte Carlo noise alone", _median_and_largest(alone)))
    return [
        *facts,
        (f"{100 * given.level:g} % CIs", intervals),
        (f"Below 0 at a false discovery rate of {100 * _FDR:g} %", f"{found:,}"),
    ]


def _median_and_largest(errors: NDArray[np.float64]) -> str:
    return f"median {number(float(np.median(errors)))}, largest {number(errors.max())}"


def not_covered(given: Given) -> list[str]:
    """Return what the standard errors do not cover."""
    valuation, noun = given.valuation, given.noun
    percent = 50 * (1 - given.level)
    expected = len(valuation) * percent / 100
    many = f"about {expected:,.0f}" if expected >= 1 else "less than one"
    biases = valuation.sampler.biases
    other = "Values depend on the game: another one would give other values."
    if noun == "row" or (given.game is not None and given.game._n_valid is not None):
        rows = "validation" if valuation.stderr_total is None else "training"
        other = f"Other {rows} rows, another score or another model would give other values."
    folds = "Folds are treated as independent, although they share training rows."
    return [
        *(f"{bias[:1].upper()}{bias[1:]}; more permutations do not reduce it." for bias in biases),
        other,
        *[folds] * (len(valuation.moments.parts) > 1),
        f"The value of a {noun} depends on the other {noun}s.",
        f"CIs are not adjusted for their number. Of {noun}s with a true value of 0, {percent:g} % have a CI "
        f"entirely below 0 by chance: {many} here if all true values were 0.",
    ]
