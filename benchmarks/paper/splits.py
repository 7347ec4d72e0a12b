"""The splits of the experiments of arXiv:2305.01660, Section 5: rows valued, to score models, held out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ordinal_shapley as osv
from ordinal_shapley.tables.encoding import Encoder

NOISE = 0.2

# Rows valued, to score models, held out (None: all others). Wisconsin is not in the paper: it is what the
# authors' public code loads as Cancer.
SIZES: dict[str, tuple[int, int, int | None]] = {
    "wine": (89, 49, 40),
    "cancer": (143, 43, 100),
    "cancer-wisconsin": (284, 185, 100),
    "adult": (200, 200, None),
}
_ADULT_TRAINING_ROWS = 32_561  # of UCI's training file, which come first
_AUTHORS_ADULT = 1_000  # the authors' held-out rows of Adult begin here in the test file


@dataclass(frozen=True, eq=False)
class Split:
    """Rows valued (``X``, ``y``), rows that score models and held-out rows, ready for a game.

    ``y`` is what models are given; `flipped` are the positions in it that differ from the published labels,
    none without noise. ``seed`` is the run's, from which that of its values is drawn too.
    """

    dataset: str
    seed: int
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
    protocol : {"paper", "authors"}, default "paper"
        The paper's text, or its authors' public code, where Adult's valued rows come from UCI's training
        file and the others from its test file.
    """
    seeds = seeds_of(run_seed)
    data = osv.datasets.load(dataset)
    y = data.y
    random = np.random.default_rng(seeds["split"])
    parts = _authors_adult(random, len(y)) if (dataset, protocol) == ("adult", "authors") else None
    if parts is None:
        n_valued, n_valid, n_test = SIZES[dataset]
        stop = len(y) if n_test is None else n_valued + n_valid + n_test
        parts = np.split(random.permutation(len(y))[:stop], [n_valued, n_valued + n_valid])
    mixed = noisy and protocol == "authors" and dataset != "adult"
    noise = osv.corrupt_labels(y if mixed else y[parts[0]], NOISE if noisy else 0.0, seeds["noise"])
    given = noise.labels if mixed else y
    train = noise.labels[parts[0]] if mixed else noise.labels
    encoder = Encoder(raw=not (dataset == "adult" if scaled is None else scaled))
    X = encoder.fit_transform(data.frame.iloc[parts[0]])
    X_valid, X_test = (encoder.transform(data.frame.iloc[rows]) for rows in parts[1:])
    flipped = np.flatnonzero(train != y[parts[0]])
    return Split(dataset, run_seed, X, train, X_valid, given[parts[1]], X_test, given[parts[2]], flipped)


def _authors_adult(random: np.random.Generator, n_rows: int) -> list[NDArray[np.intp]]:
    n_valued, n_valid, _ = SIZES["adult"]
    valued = random.permutation(_ADULT_TRAINING_ROWS)[:n_valued]
    others = _ADULT_TRAINING_ROWS + random.permutation(n_rows - _ADULT_TRAINING_ROWS)
    return [valued, others[:n_valid], others[_AUTHORS_ADULT:]]
