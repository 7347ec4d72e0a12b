"""The problems that are timed: training and validation rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from ordinal_shapley import datasets

Ints = npt.NDArray[np.int64]

ADULT_ROWS = 32_561


class Problem(NamedTuple):
    """Rows of a data set: name, X (n, d), y (n,), X_valid (v, d), y_valid (v,); classes are 0, 1, ...

    X and X_valid are arrays, or sparse matrices of the CSR kind.
    """

    name: str
    X: Any
    y: Ints
    X_valid: Any
    y_valid: Ints

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.y.max()) + 1

    def save(self, path: Path) -> None:
        """Write what `rival_scripts/protocol.py` reads."""
        path.parent.mkdir(parents=True, exist_ok=True)
        parts: dict[str, Any] = {"y": self.y, "y_valid": self.y_valid}
        for name in ("X", "X_valid"):
            rows = getattr(self, name)
            if scipy.sparse.issparse(rows):
                parts |= {f"{name}_{key}": getattr(rows, key) for key in ("data", "indices", "indptr")}
                parts[f"{name}_shape"] = np.array(rows.shape)
            else:
                parts[name] = rows
        np.savez(path, **parts)


def _split(
    name: str, X: npt.ArrayLike, y: npt.ArrayLike, n: int, n_valid: int, *, raw: bool = False
) -> Problem:
    codes = np.unique(y, return_inverse=True)[1].astype(np.int64)
    train, valid, y_train, y_valid = train_test_split(
        np.asarray(X, dtype=np.float64),
        codes,
        train_size=n,
        test_size=n_valid,
        stratify=codes,
        random_state=0,
    )
    if not raw:
        scaler = StandardScaler().fit(train)
        train, valid = scaler.transform(train), scaler.transform(valid)
    return Problem(name, train, y_train, valid, y_valid)


def wine() -> Problem:
    data = datasets.load_wine()
    return _split("Wine", data.X, data.y, 89, 49)


def wine_raw() -> Problem:
    data = datasets.load_wine()
    return _split("Wine, raw", data.X, data.y, 89, 49, raw=True)


def wdbc() -> Problem:
    data = datasets.load_cancer_wisconsin()
    return _split("WDBC", data.X, data.y, 284, 185)


def cancer() -> Problem:
    """Ljubljana's breast cancer, one-hot columns as they are."""
    data = datasets.load_cancer()
    return _split("Cancer", data.X, data.y, 143, 43, raw=True)


def adult(n: int = 200, n_valid: int = 200) -> Problem:
    data = datasets.load_adult(split="train")
    return _split("Adult, one-hot", data.X, data.y, n, n_valid)


def adult_all(n_valid: int = 1_000) -> Problem:
    """Every row of UCI's training file, and validation rows from its test file."""
    train, test = datasets.load_adult(split="train"), datasets.load_adult(split="test")
    scaler = StandardScaler().fit(train.X)
    rows = np.random.default_rng(0).permutation(len(test.y))[:n_valid]
    y, y_valid = ((part.y == ">50K").astype(np.int64) for part in (train, test))
    return Problem(
        "Adult, one-hot",
        scaler.transform(train.X),
        np.asarray(y),
        scaler.transform(test.X)[rows],
        np.asarray(y_valid)[rows],
    )


def dense_wide() -> Problem:
    """Two normal classes in 5,000 dimensions, one in fifty of which tells them apart."""
    rng = np.random.default_rng(0)
    n, d = 400, 5_000
    y = np.arange(n) % 2
    X = rng.normal(size=(n, d))
    X[:, ::50] += 0.25 * (2.0 * y[:, None] - 1.0)
    half = n // 2
    return Problem("dense, made up", X[:half], y[:half], X[half:], y[half:])


def sparse_wide() -> Problem:
    """Texts of 100 words over 20,000, frequent and rare ones; some words lean to one of two classes."""
    rng = np.random.default_rng(0)
    n, n_valid, d, length = 500, 200, 20_000, 100
    y = np.arange(n + n_valid) % 2
    frequency = 1.0 / np.arange(1, d + 1)
    lean = np.exp(0.3 * rng.normal(size=d))
    rows = []
    for label in y:
        p = frequency * (lean if label else 1.0 / lean)
        words, counts = np.unique(rng.choice(d, length, p=p / p.sum()), return_counts=True)
        tf = 1.0 + np.log(counts)
        rows.append((tf / np.linalg.norm(tf), words))
    indptr = np.concatenate([[0], np.cumsum([len(words) for _, words in rows])]).astype(np.int32)
    data, words = (np.concatenate(parts) for parts in zip(*rows, strict=True))
    X = scipy.sparse.csr_matrix((data, words.astype(np.int32), indptr), shape=(n + n_valid, d))
    return Problem("sparse, made up", X[:n], y[:n], X[n:], y[n:])


def embeddings(
    n: int, d: int, n_classes: int, n_valid: int = 500, *, decay: float = 0.0, dtype: type = np.float64
) -> Problem:
    """Normal classes, overlapping so that all rows make 70 to 95 % of decisions right.

    With a `decay` of 0.7 or so variances fall off as those of a network's embeddings do: the k-th direction
    has k^-decay of the first one's spread.
    """
    rng = np.random.default_rng([n, d, n_classes])
    y = rng.permutation(np.arange(n + n_valid) % n_classes)
    means = rng.normal(size=(n_classes, d))
    means -= means.mean(axis=0)
    # Two classes are 2.6 standard deviations apart, ten about 4.2.
    means *= (1.3 if n_classes == 2 else 3.0) / np.linalg.norm(means, axis=1, keepdims=True)
    X = np.empty((n + n_valid, d), dtype)
    rng.standard_normal(out=X, dtype=dtype)
    for label in range(n_classes):
        X[y == label] += means[label].astype(dtype)
    if decay:
        spread = np.arange(1.0, d + 1) ** -decay
        X *= spread * np.sqrt(d / np.sum(spread**2))
        X = X @ np.linalg.qr(rng.normal(size=(d, d)))[0]
    kind = "decaying" if decay else "normal"
    return Problem(f"{kind}, n = {n:,}, d = {d:,}, K = {n_classes}", X[:n], y[:n], X[n:], y[n:])


def digits() -> Problem:
    X, y = load_digits(return_X_y=True)
    return _split("digits", X, y, 1_000, 500)


def gaussian_classes(n: int, d: int, n_classes: int, n_valid: int = 200) -> Problem:
    """Normal classes about random centres, for curves of cost against size."""
    rng = np.random.default_rng(n + 7 * d + 31 * n_classes)
    y = np.arange(n + n_valid) % n_classes
    X = rng.normal(size=(n + n_valid, d)) + (2.0 / np.sqrt(d)) * rng.normal(size=(n_classes, d))[y]
    return Problem(f"normal, n = {n}, d = {d}", X[:n], y[:n], X[n:], y[n:])
