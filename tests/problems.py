"""The data the tests value: real sets split as in the paper, and random ones."""

from __future__ import annotations

import os
from collections import defaultdict
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")


def size(compiled, interpreted):
    """How much of a test to run: kernels are some hundred times slower with the JIT off."""
    return compiled if JIT else interpreted


class Problem(NamedTuple):
    """Training and validation rows; y are class codes 0..K-1."""

    X: np.ndarray
    y: np.ndarray
    X_valid: np.ndarray
    y_valid: np.ndarray

    @property
    def n_classes(self):
        return int(self.y.max()) + 1

    def first(self, n):
        """The same problem with n training rows, every class among them."""
        rows = np.arange(len(self.y))
        leaders = [int(np.flatnonzero(self.y == k)[0]) for k in range(self.n_classes)]
        rows = np.concatenate([leaders, np.delete(rows, leaders)])[:n]
        return self._replace(X=self.X[rows], y=self.y[rows])

    def against_rest(self, k):
        """Class k (+1) against the rest (0)."""
        return self._replace(y=(self.y == k).astype(np.int64), y_valid=(self.y_valid == k).astype(np.int64))


def standardise(X):
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def split(X, y, n_train, n_valid, seed=0):
    order = np.random.default_rng(seed).permutation(len(y))
    y = np.unique(y, return_inverse=True)[1].astype(np.int64)
    train, valid = order[:n_train], order[n_train : n_train + n_valid]
    return Problem(X[train], y[train], X[valid], y[valid])


def people(n=40, noise=10.0):
    """A table such as users have: a number, a word, and the classes "old" and "young"."""
    rng = np.random.default_rng(0)
    age = rng.integers(20, 70, n)
    city = rng.choice(["Bonn", "Graz"], n)
    outcome = np.where(age + rng.normal(0, noise, n) > 45, "old", "young")
    return pd.DataFrame({"age": age, "city": city, "outcome": outcome})


@lru_cache
def wine(scaled=True):
    X, y = load_wine(return_X_y=True)
    return split(standardise(X) if scaled else X, y, 89, 49)


@lru_cache
def wdbc(scaled=True):
    X, y = load_breast_cancer(return_X_y=True)
    return split(standardise(X) if scaled else X, y, 284, 85)


@lru_cache
def cancer():
    """Ljubljana, one-hot: duplicates, and feature groups that carry both labels."""
    from ordinal_shapley import datasets

    data = datasets.load_cancer()
    return split(np.asarray(data.X, dtype=np.float64), data.y, 143, 43)


def twins():
    """Pairs of training rows of Cancer with equal features and different labels."""
    problem = cancer()
    rows = defaultdict(list)
    for i, x in enumerate(problem.X):
        rows[x.tobytes()].append(i)
    pairs = []
    for group in rows.values():
        for a in group:
            pairs += [(a, b) for b in group if problem.y[a] != problem.y[b]]
    return pairs


def random_problem(d, n=60, n_valid=40, n_classes=2, seed=0, noise=1.0):
    rng = np.random.default_rng([seed, d, n, n_classes])
    X = rng.normal(size=(n + n_valid, d))
    score = X @ rng.normal(size=(d, n_classes)) + noise * np.sqrt(d) * rng.normal(
        size=(n + n_valid, n_classes)
    )
    y = score.argmax(axis=1)
    y[:n_classes] = np.arange(n_classes)
    y = y.astype(np.int64)
    return Problem(X[:n], y[:n], X[n:], y[n:])


@lru_cache
def digits():
    """Ten classes, and features that are constant in most rows."""
    return split(*load_digits(return_X_y=True), 300, 100)


@lru_cache
def adult():
    """One-hot columns beside numbers, scaled: raw ones leave normal equations few digits."""
    from ordinal_shapley import datasets

    data = datasets.load_adult()
    return split(standardise(data.X), data.y, 150, 60)


@lru_cache
def words():
    """Like counts of words: hundreds of columns, mostly 0, and rows of nothing else."""
    rng = np.random.default_rng(12)
    y = rng.integers(3, size=120)
    rates = rng.gamma(0.05, 0.3, size=(3, 400))
    X = rng.poisson(rates[y]).astype(np.float64)
    X[[5, 30, 90]] = 0.0
    return split(X, y, 80, 40)


NAMED = {
    "wine": lambda: wine(True),
    "wine raw": lambda: wine(False),
    "wdbc": lambda: wdbc(True),
    "wdbc raw": lambda: wdbc(False),
    "cancer": cancer,
}
MORE = {"digits": digits, "adult": adult, "words": words}


def named(name):
    return (NAMED | MORE)[name]()
