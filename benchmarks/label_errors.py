"""Which score finds wrong labels: values, self-confidence or both.

Writes tables of docs/guides/clean_labels.md.

Usage: python benchmarks/label_errors.py [--render]
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from scipy.stats import rankdata
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import ordinal_shapley as osv
from bench.record import Record, Script, replaced, surroundings, where
from ordinal_shapley.experiments import combined_rank, data_oob, knn_shapley, self_confidence
from page.tables import table, wrap
from paper.comparison import WALKS, sample_fits
from paper.splits import NOISE, make_split, seeds_of

Floats = npt.NDArray[np.float64]

# Others than those by which the form of the rule was chosen.
SEEDS = range(100, 140)
FITS = 25_000
FOLDS = 5
TREES = 200
SHARE = 0.2
DATASETS = {"wine": "Wine", "cancer-wisconsin": "WDBC", "adult": "Adult", "cancer": "Cancer"}
SETTINGS = ("trusted", "crossed")
SCORES = {
    "ordinal": "ordinal value",
    "classic": "classic value",
    "knn": "KNN-Shapley",
    "oob": "Data-OOB",
    "logistic": "self-confidence (logistic)",
    "forest": "self-confidence (forest)",
    "ordinal + logistic": "ordinal and logistic",
    "ordinal + forest": "ordinal and forest",
}
MODELS = ("logistic", "forest")


def log_odds(p: Floats) -> Floats:
    p = np.clip(p, 1e-3, 1 - 1e-3)
    return np.log(p / (1 - p))


def standardised(values: Floats) -> Floats:
    return (values - values.mean()) / values.std()


# Ways to combine values and probabilities; the lower, the more suspicious.
RULES: dict[str, Callable[[Floats, Floats], Any]] = {
    "log-odds and a third of standardised value": combined_rank,
    "the same, values whole": lambda v, p: log_odds(p) + standardised(v),
    "the same, values twice": lambda v, p: log_odds(p) + 2 * standardised(v),
    "mean of ranks": lambda v, p: rankdata(v) + rankdata(p),
    "ranks 1 : 3": lambda v, p: rankdata(v) + 3 * rankdata(p),
    "product of ranks": lambda v, p: rankdata(v) * rankdata(p),
    "lower of ranks": lambda v, p: np.minimum(rankdata(v), rankdata(p)),
    "higher of ranks": lambda v, p: np.maximum(rankdata(v), rankdata(p)),
}

TEXT = """\
Wrong labels found when a fifth of the labels is flipped: ROC AUC, and in brackets the share found in the
first {share:.0%} of the rows, as means over {runs} splits, with standardised features. The first columns have
validation rows with right labels; self-confidence has these in its training folds. In the others,
**crossed**, labels of the whole table are flipped, and each of {folds} folds is the validation set once.
Values take about {fits:,} fits in all. Logistic: scikit-learn's default, C = 1; forest: the default of
`self_confidence`. The last lines are `experiments.combined_rank`."""
RULE_TEXT = """\
How much more than the better of value and self-confidence alone a rule finds: in ROC AUC, and in
brackets in percentage points found in the first {share:.0%} of the rows, each with its standard error over
the splits; the lower of both settings, for ordinal values and the self-confidence of the model named.
Negative: one of them alone does better. The form of the first rule was chosen on other splits."""

HOW = "`make bench-labels` wrote these figures: {}."


class Problem(NamedTuple):
    """Rows with wrong labels among them, and the folds that their values are means over."""

    X: Floats
    y: npt.NDArray[Any]
    flipped: npt.NDArray[np.intp]
    valid: tuple[Floats, npt.NDArray[Any]] | None
    seed: int


def problem_of(dataset: str, seed: int, setting: str) -> Problem:
    if setting == "trusted":
        split = make_split(dataset, seed, noisy=True, scaled=True)
        return Problem(split.X, split.y, split.flipped, (split.X_valid, split.y_valid), split.values_seed)
    split = make_split(dataset, seed, scaled=True)
    X, y = np.concatenate([split.X, split.X_valid]), np.concatenate([split.y, split.y_valid])
    noise = osv.corrupt_labels(y, NOISE, seeds_of(seed)["noise"])
    return Problem(X, noise.labels, noise.rows, None, split.values_seed)


def over_folds(problem: Problem, value: Callable[..., Floats]) -> Floats:
    """Return a value of rows, validation rows and fits; without trusted rows its mean over folds."""
    if problem.valid is not None:
        return value(problem.X, problem.y, *problem.valid, FITS)
    order = np.random.default_rng(problem.seed).permutation(len(problem.y))
    order = order[np.argsort(problem.y[order], kind="stable")]
    totals = np.zeros(len(order))
    for fold in range(FOLDS):
        valid = order[fold::FOLDS]
        train = np.setdiff1d(order, valid)
        rows = (problem.X[train], problem.y[train], problem.X[valid], problem.y[valid])
        totals[train] += value(*rows, FITS // FOLDS)
    return totals / (FOLDS - 1)


def scores_of(problem: Problem) -> dict[str, Floats]:
    """Return every score that is no combination."""

    def sampled(kind: str, position_weight: str) -> Callable[..., Floats]:
        options = {"value": kind, "method": WALKS["roulette"], "random_state": problem.seed, "n_jobs": 1}

        def value(X: Floats, y: Any, X_valid: Floats, y_valid: Any, fits: int) -> Floats:
            game = osv.LogisticGame(X, y, X_valid, y_valid, position_weight=position_weight)
            return sample_fits(game, fits, options).values

        return value

    def neighbours(X: Floats, y: Any, X_valid: Floats, y_valid: Any, _: int) -> Floats:
        return knn_shapley(X, y, X_valid, y_valid)

    rows = (problem.X, problem.y, *(problem.valid or ()))
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000))
    seed = problem.seed
    return {
        "ordinal": over_folds(problem, sampled("ordinal", "gaussian")),
        "classic": over_folds(problem, sampled("classic", "uniform")),
        "knn": over_folds(problem, neighbours),
        "oob": data_oob(problem.X, problem.y, n_estimators=TREES, random_state=seed, n_jobs=1),
        "logistic": self_confidence(*rows, estimator=logistic, random_state=seed).self_confidence,
        "forest": self_confidence(*rows, random_state=seed).self_confidence,
    }


def found_by(score: Any, flipped: npt.NDArray[np.intp]) -> tuple[float, float]:
    detection = osv.detect_noisy_labels(score, flipped)
    return detection.auc, detection.found_at(SHARE)


def found_in(dataset: str, seed: int, setting: str) -> dict[str, tuple[float, float]]:
    """Return what each score and each rule finds in one split."""
    problem = problem_of(dataset, seed, setting)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning)
        scores = scores_of(problem)
    tried = dict(scores)
    for model in MODELS:
        pair = scores["ordinal"], scores[model]
        tried |= {f"{rule}, {model}": function(*pair) for rule, function in RULES.items()}
    return {name: found_by(score, problem.flipped) for name, score in tried.items()}


def gain_of(runs: dict[str, Floats], rule: str, model: str) -> list[list[float]]:
    """Return mean and standard error of what a rule finds above the better of both, in each measure."""
    parts = np.stack([runs["ordinal"], runs[model]])
    better = parts.mean(axis=1).argmax(axis=0)
    gains = runs[f"{rule}, {model}"] - parts[better, :, [0, 1]].T
    return [gains.mean(axis=0).tolist(), (gains.std(axis=0, ddof=1) / np.sqrt(len(gains))).tolist()]


def measure() -> Record:
    found: Record = surroundings("numba", "numpy", "scikit-learn")
    measured: Record = {}
    for setting in SETTINGS:
        for dataset in DATASETS:
            each = Parallel(n_jobs=-1)(delayed(found_in)(dataset, seed, setting) for seed in SEEDS)
            runs = {name: np.array([found[name] for found in each]) for name in each[0]}
            means = {name: run.mean(axis=0).tolist() for name, run in runs.items()}
            gains = {f"{rule}, {model}": gain_of(runs, rule, model) for rule in RULES for model in MODELS}
            measured.setdefault(setting, {})[dataset] = {"means": means, "gains": gains}
            print(setting, dataset, means, gains, flush=True)
    settings = {"seeds": list(SEEDS), "fits": FITS, "folds": FOLDS, "trees": TREES, "share": SHARE}
    return {**found, **settings, "measured": measured}


def scores_table(measured: Record) -> str:
    rule = next(iter(RULES))
    places = [(setting, dataset) for setting in SETTINGS for dataset in DATASETS]
    rows = []
    for key, name in SCORES.items():
        model = key.partition(" + ")[2]
        means = [measured[setting][dataset]["means"] for setting, dataset in places]
        pairs = [mean[f"{rule}, {model}" if model else key] for mean in means]
        rows.append((name, *(f"{area:.3f} ({share:.0%})" for area, share in pairs)))
    columns = [f"{DATASETS[dataset]}{', crossed' * (setting == 'crossed')}" for setting, dataset in places]
    return table(("score", *columns), rows)


def rules_table(measured: Record) -> str:
    rows = []
    for rule in RULES:
        for model in MODELS:
            cells = []
            for dataset in DATASETS:
                both = (measured[setting][dataset]["gains"][f"{rule}, {model}"] for setting in SETTINGS)
                # Measure by measure the mean and the error of the setting with the lower mean.
                (area, its_error), (share, error) = (
                    min(pair) for pair in zip(*(zip(*g, strict=True) for g in both), strict=True)
                )
                cells.append(f"{area:+.3f} ± {its_error:.3f} ({100 * share:+.1f} ± {100 * error:.1f})")
            rows.append((rule, model, *cells))
    return table(("rule", "model", *DATASETS.values()), rows, words=2)


def pages(record: Record, docs: Path) -> dict[str, str]:
    """Return the page with the tables in their places."""
    name = "guides/clean_labels.md"
    facts = {
        "share": record["share"],
        "runs": len(record["seeds"]),
        "folds": record["folds"],
        "fits": record["fits"],
    }
    measured = record["measured"]
    parts = {
        "label errors": [wrap(TEXT.format(**facts)), scores_table(measured), wrap(HOW.format(where(record)))],
        "label rules": [wrap(RULE_TEXT.format(**facts)), rules_table(measured)],
    }
    text = (docs / name).read_text(encoding="utf-8")
    for mark, body in parts.items():
        text = replaced(text, mark, "\n\n".join(body))
    return {name: text}


SCRIPT = Script("label_errors", measure, pages)

if __name__ == "__main__":
    SCRIPT.main()
