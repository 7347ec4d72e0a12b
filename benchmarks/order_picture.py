"""Draw why order matters, for the README: ``python benchmarks/order_picture.py docs/images/order.png``.

Left the score of one and the same set of Wine rows in many orders, right what a game of two is worth to each.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.preprocessing import scale

import ordinal_shapley as osv

N_ROWS, N_ORDERS = 12, 2_000
INK, BLUE, ORANGE = "#333333", "#1b6ca8", "#c8553d"


def scores_of_orders() -> tuple[np.ndarray, int]:
    """Validation accuracies of the models of the same rows, in random orders, and of how many rows."""
    wine = osv.datasets.load_wine()
    X, rng = scale(wine.X), np.random.default_rng(0)
    per_class = [np.flatnonzero(wine.y == label) for label in np.unique(wine.y)]
    train = np.concatenate([rows[: N_ROWS // 3] for rows in per_class])
    valid = np.setdiff1d(np.arange(len(wine.y)), train)
    game = osv.LogisticGame(X[train], wine.y[train], X[valid], wine.y[valid])
    return np.array([game(rng.permutation(N_ROWS)) for _ in range(N_ORDERS)]), len(valid)


def draw_scores(axes: Axes) -> None:
    scores, n_valid = scores_of_orders()
    right = np.rint(scores * n_valid)  # a bar for each number of rows
    edges = np.arange(right.min() - 0.5, right.max() + 1.0) / n_valid
    axes.hist(100 * scores, bins=100 * edges, color=BLUE, edgecolor="white", linewidth=0.5)
    axes.set_title(f"The same {N_ROWS} rows in {N_ORDERS:,} orders", fontsize=11, color=INK)
    axes.set_xlabel("validation accuracy (%)")
    axes.set_ylabel("orders")
    axes.margins(x=0.01)


def draw_shares(axes: Axes) -> None:
    """What each of two is worth, if a sale is made when mail comes after search, and only then."""
    names = ["search", "mail"]
    sale = osv.TableGame(2, {(0, 1): 1.0}, names=names)
    places = np.arange(2)
    for shift, value, colour in ((-0.19, "ordinal", BLUE), (0.19, "partial_ordinal", ORANGE)):
        shares = osv.exact_values(sale, value).values
        bars = axes.bar(places + shift, shares, 0.36, color=colour, label=value.replace("_", " "))
        axes.bar_label(bars, [f"{share:g}" for share in shares], padding=2, fontsize=10, color=INK)
    axes.set_xticks(places, names, fontsize=11)
    axes.set_ylim(0, 0.62)
    axes.set_ylabel("value")
    axes.set_title("A sale after search → mail, none after mail → search", fontsize=11, color=INK)
    axes.legend(frameon=False, loc="upper left")


def main(destination: str) -> None:
    """Draw both and write the file."""
    figure = Figure(figsize=(9.6, 2.5), layout="constrained", facecolor="white")
    left, right = figure.subplots(1, 2)
    draw_scores(left)
    draw_shares(right)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(Path(destination), dpi=130)


if __name__ == "__main__":
    main(*sys.argv[1:])
