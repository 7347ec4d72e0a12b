"""The splits of the experiments of arXiv:2305.01660, Section 5: rows valued, to score models, held out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley import datasets
from ordinal_shapley.experiments.noise import corrupt_labels
from ordinal_shapley.tables.encoding import Encoder
from ordinal_shapley.vocabulary import PROTOCOLS, choose

NOISE = 0.2

# Rows valued, to score models, held out (None: all others). Wisconsin is not in the paper: it is what the
# authors' public code loads as Cancer.
SIZES: dict[str, tuple[int, int, int | None]] = {
    "wine": (89, 49, 40),
    "cancer": (143, 43, 100),
    "cancer-wisconsin": (284, 185, 100),
    "adult": (200, 200, None),
}
_AUTHORS_ADULT = 1_000  # their held-out rows of Adult begin here in the test file


@dataclass(frozen=True, eq=False)
class Split:
    """Rows valued (``X``, ``y``), rows that score models and held-out rows, ready for a game.

    ``y`` is what models are given; `flipped` are the positions in it that differ from the published labels,
    none without noise. ``seed`` is the run's, from which that of its values is drawn too.
    """

    dataset: str
    seed: int
    noisy: bool
    X: NDArray[np.float64]
    y: NDArray[Any]
    X_valid: NDArray[np.float64]
    y_valid: NDArray[Any]
    X_test: NDArray[np.float64]
    y_test: NDArray[Any]
    flipped: NDArray[np.intp]

    @property
    def values_seed(self) -> int:
        """Seed of permutations and of other draws that a value takes."""
        return seeds_of(self.seed)["values"]


def sizes_in_words(dataset: str, protocol: str) -> str:
    """Return how many rows are valued, score models and are held out."""
    rest = "all others" if protocol == "paper" else f"the test file but for {_AUTHORS_ADULT:,} rows"
    return " / ".join(rest if size is None else str(size) for size in SIZES[dataset])


def seeds_of(run_seed: int) -> dict[str, int]:
    """Return the seeds that one run uses, by what for."""
    split, noise, values = np.random.SeedSequence(run_seed).generate_state(3).tolist()
    return {"split": split, "noise": noise, "values": values}


def make_split(
    dataset: str,
    run_seed: int,
    *,
    noisy: bool = False,
    scaled: bool | None = None,
    stratified: bool = False,
    protocol: str = "paper",
) -> Split:
    """Draw the rows of one run, and change labels if it is a noisy one.

    Parameters
    ----------
    dataset : str
        A name that `datasets.load` knows.
    run_seed : int
        Everything random in the run follows from it.
    noisy : bool, default False
        Change a fifth of the labels of the rows valued. In the authors' protocol, for all but Adult: a fifth
        of all labels, those that models are scored on too.
    scaled : bool, optional
        Standardise numbers by the rows valued. By default as in the experiments: Adult only.
    stratified : bool, default False
        Draw class by class, instead of from all rows alike.
    protocol : {"paper", "authors"}, default "paper"
        The paper's text, or its authors' public code, where Adult's valued rows come from UCI's training
        file and the others from its test file.

    Returns
    -------
    Split
    """
    choose("dataset", dataset, datasets.NAMES)
    choose("protocol", protocol, PROTOCOLS)
    seeds = seeds_of(run_seed)
    data = datasets.load(dataset)
    y = data.y
    random = np.random.default_rng(seeds["split"])
    if dataset == "adult" and protocol == "authors":
        parts = _authors_adult(random)
    else:
        parts = _draw(y, SIZES[dataset], random, stratified)
    mixed = noisy and protocol == "authors" and dataset != "adult"
    noise = corrupt_labels(y if mixed else y[parts[0]], NOISE if noisy else 0.0, seeds["noise"])
    given = noise.labels if mixed else y
    train = noise.labels[parts[0]] if mixed else noise.labels
    encoder = Encoder(raw=not (dataset == "adult" if scaled is None else scaled))
    X = encoder.fit_transform(data.frame.iloc[parts[0]])
    X_valid, X_test = (encoder.transform(data.frame.iloc[rows]) for rows in parts[1:])
    flipped = np.flatnonzero(train != y[parts[0]])
    return Split(
        dataset, run_seed, noisy, X, train, X_valid, given[parts[1]], X_test, given[parts[2]], flipped
    )


def _draw(
    y: NDArray[Any], sizes: tuple[int, int, int | None], random: np.random.Generator, stratified: bool
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows of the three parts, in random order."""
    order = random.permutation(len(y))
    if stratified:
        # Each class spread evenly over the order, so that every part holds its share of it.
        codes = np.unique(y, return_inverse=True)[1][order]
        places = np.empty(len(y))
        for code in range(codes.max() + 1):
            mine = np.flatnonzero(codes == code)
            places[mine] = (np.arange(len(mine)) + random.random()) / len(mine)
        order = order[np.argsort(places, kind="stable")]
    first, second, third = sizes
    stop = len(y) if third is None else first + second + third
    return order[:first], order[first : first + second], order[first + second : stop]


def _authors_adult(
    random: np.random.Generator,
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    n_train, n_test = (len(datasets.load_adult(part)) for part in ("train", "test"))
    valued = random.permutation(n_train)[: SIZES["adult"][0]]
    others = n_train + random.permutation(n_test)
    return valued, others[: SIZES["adult"][1]], others[_AUTHORS_ADULT:]
