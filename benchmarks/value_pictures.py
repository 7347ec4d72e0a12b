"""Draw what values are for beyond wrong labels, for docs/which_value.md: ``make value-pictures``.

Three pictures of real data: rows that a model depends on and labels corrected, an owners' split, an order of
training. Arguments: the folder, by default docs/images; the names of pictures, by default all.
"""

from __future__ import annotations

import io
import itertools
import sys
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import ordinal_shapley as osv
from bench.record import DOCS
from ordinal_shapley.experiments import combined_rank, self_confidence
from ordinal_shapley.plots._axes import label_ends
from paper.splits import Split, make_split

INK, GREY, BLUE, ORANGE, GREEN = "#333333", "#8c8c8c", "#1b6ca8", "#c8553d", "#4c8c4a"
COLOURS = {"value": BLUE, "self-confidence": ORANGE, "both": GREEN, "random": GREY}
SPLITS, PERMUTATIONS, N_TEST = 8, 400, 5_000
MARKS = np.linspace(0, 0.5, 11)
OWNERS, N_ROWS = 6, 2_000
# The kind of model that the values are of.
MODEL = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000))


def scores_of(split: Split) -> dict[str, Any]:
    """Return classic values, self-confidence and random numbers of the rows of a split."""
    rows = (split.X, split.y, split.X_valid, split.y_valid)
    game = osv.LogisticGame(*rows, position_weight="uniform")
    values = osv.sample_values(game, "classic", n_permutations=PERMUTATIONS, random_state=0).values
    confidence = self_confidence(*rows, estimator=MODEL, random_state=0).self_confidence
    chance = np.random.default_rng(split.seed).random(len(values))
    return {"value": values, "self-confidence": confidence, "random": chance}


def accuracies(split: Split, changed: Callable[[np.ndarray], tuple[Any, Any]], order: Any) -> list[float]:
    """Accuracy on test rows of models of training rows in which the first ones of an order are changed."""
    heights = []
    for mark in MARKS:
        X, y = changed(order[: round(mark * len(order))])
        model = LogisticRegression(max_iter=1_000).fit(X, y)
        heights.append(model.score(split.X_test[:N_TEST], split.y_test[:N_TEST]))
    return heights


def removed(seed: int) -> dict[str, list[float]]:
    """Accuracies as rows with right labels go, those with the highest score first."""
    split = make_split("adult", seed, scaled=True)

    def without(rows: Any) -> tuple[Any, Any]:
        return np.delete(split.X, rows, axis=0), np.delete(split.y, rows)

    return {
        name: accuracies(split, without, np.argsort(-score, kind="stable"))
        for name, score in scores_of(split).items()
    }


def corrected(seed: int) -> dict[str, list[float]]:
    """Accuracies as labels, a fifth of them wrong, are looked at and put right from the lowest score up."""
    split = make_split("adult", seed, scaled=True, noisy=True)
    true = make_split("adult", seed, scaled=True).y

    def relabelled(rows: Any) -> tuple[Any, Any]:
        y = split.y.copy()
        y[rows] = true[rows]
        return split.X, y

    scores = scores_of(split)
    scores["both"] = combined_rank(scores["value"], scores["self-confidence"])
    return {
        name: accuracies(split, relabelled, np.argsort(score, kind="stable"))
        for name, score in scores.items()
    }


def draw_curves(axes: list[Axes]) -> None:
    titles = ("Right labels: rows removed, highest first", "A fifth wrong: labels corrected, lowest first")
    for ax, curves_of, title in zip(axes, (removed, corrected), titles, strict=True):
        runs = [curves_of(seed) for seed in range(SPLITS)]
        for name, colour in COLOURS.items():
            if name in runs[0]:
                heights = np.mean([run[name] for run in runs], axis=0)
                style = "--" if name == "random" else "-"
                ax.plot(100 * MARKS, 100 * heights, style, color=colour, label=name, linewidth=1.8)
        ax.set_title(title, fontsize=10.5, color=INK)
        ax.set_xlabel(f"rows {curves_of.__name__} (%)")
        label_ends(ax)
    axes[0].set_ylabel("test accuracy (%)")


def draw_owners(axes: list[Axes]) -> None:
    """Census rows belong to the occupation of the person: what each adds to the model of all."""
    data = osv.datasets.load("adult")
    rows = np.random.default_rng(0).permutation(len(data.y))[:N_ROWS]
    train, valid = np.array_split(rows, 2)
    jobs = data.frame["occupation"].to_numpy()
    largest = data.frame["occupation"].iloc[train].value_counts().index[:OWNERS]
    train = train[np.isin(jobs[train], largest)]
    mean, spread = data.X[train].mean(axis=0), data.X[train].std(axis=0)
    X, X_valid = ((data.X[part] - mean) / np.where(spread > 0, spread, 1) for part in (train, valid))
    parts = (X, data.y[train], X_valid, data.y[valid])
    game = osv.LogisticGame(
        *parts, groups=jobs[train], position_weight="uniform", scoring="balanced_accuracy"
    )
    shares = osv.exact_values(game, "classic").values
    confidence = self_confidence(*parts, estimator=MODEL, random_state=0).self_confidence
    means = [confidence[jobs[train] == name].mean() for name in game.player_names]
    order = np.argsort(shares)
    names = [f"{game.player_names[k]} ({np.sum(jobs[train] == game.player_names[k])})" for k in order]
    for ax, heights, colour in zip(axes, (shares, np.array(means)), (BLUE, ORANGE), strict=True):
        bars = ax.barh(names, 100 * heights[order], color=colour)
        ax.bar_label(bars, fmt="%.1f", padding=2, fontsize=9, color=INK)
        ax.set_xlim(0, 116 * heights.max())
    gain = 100 * (game(range(game.n_players)) - game.empty_value_)
    axes[0].set_title(f"Shares of {gain:.1f} points of balanced accuracy", fontsize=10.5, color=INK)
    axes[0].set_xlabel("classic value, points")
    axes[1].set_title("Self-confidence: nothing to add up", fontsize=10.5, color=INK)
    axes[1].set_xlabel("mean self-confidence (%)")
    axes[1].set_yticklabels([])


def draw_order(axes: list[Axes]) -> None:
    """Five clients train one model of handwritten digits one after another; it forgets."""
    kinds = {
        "all digits": range(10),
        "0 to 4": range(5),
        "5 to 9": range(5, 10),
        "even": range(0, 10, 2),
        "odd": range(1, 10, 2),
    }
    X, X_valid, y, y_valid = train_test_split(*load_digits(return_X_y=True), test_size=0.5, random_state=0)
    owner = np.random.default_rng(0).integers(len(kinds), size=len(y))
    rows = [np.flatnonzero((owner == k) & np.isin(y, kind)) for k, kind in enumerate(kinds.values())]

    @cache
    def accuracy(clients: tuple[int, ...]) -> float:
        model = SGDClassifier("log_loss", alpha=1e-3, learning_rate="constant", eta0=0.02, random_state=0)
        for client in clients:
            model.partial_fit(X[rows[client]] / 16, y[rows[client]], classes=np.arange(10))
        return float(model.score(X_valid / 16, y_valid))

    game = osv.FunctionGame(
        lambda sequence: accuracy(tuple(sequence.tolist())) if len(sequence) else 0.1, len(kinds)
    )
    orders = list(itertools.permutations(range(len(kinds))))
    heights = 100 * np.array([accuracy(order) for order in orders])
    last = np.array([order[-1] == 0 for order in orders])
    bins = np.arange(np.floor(heights.min() / 4) * 4, heights.max() + 4, 4)
    labels = ["another client last", "'all digits' last"]
    axes[0].hist([heights[~last], heights[last]], bins, stacked=True, color=[BLUE, ORANGE], label=labels)
    axes[0].set_title(
        f"The same {len(kinds)} clients, {len(orders)} orders of training", fontsize=10.5, color=INK
    )
    axes[0].set_xlabel("validation accuracy (%)")
    axes[0].set_ylabel("orders")
    axes[0].legend(frameon=False, fontsize=9)
    shares = 100 * osv.exact_values(game, "ordinal", n_jobs=1).values
    places = np.argsort(shares)
    bars = axes[1].barh([f"{list(kinds)[k]} ({len(rows[k])})" for k in places], shares[places], color=BLUE)
    axes[1].bar_label(bars, fmt="%.1f", padding=2, fontsize=9, color=INK)
    axes[1].set_xlim(0, 1.16 * shares.max())
    axes[1].set_title("Shares of the mean gain over orders", fontsize=10.5, color=INK)
    axes[1].set_xlabel("ordinal value, points")


PICTURES: dict[str, Callable[[list[Axes]], None]] = {
    "values_curves": draw_curves,
    "values_owners": draw_owners,
    "values_order": draw_order,
}


def main(folder: str = str(DOCS / "images"), *names: str) -> None:
    """Draw pictures and write the files."""
    for name in names or PICTURES:
        figure = Figure(figsize=(8.6, 2.8), layout="constrained", facecolor="white")
        axes = list(figure.subplots(1, 2))
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=UserWarning)
            PICTURES[name](axes)
        for ax in axes:
            ax.spines[["top", "right"]].set_visible(False)
        drawn = io.BytesIO()
        figure.savefig(drawn, dpi=110)
        # Few colours make small files.
        Image.open(drawn).convert("RGB").quantize(64).save(Path(folder) / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
