"""Odd input that once gave nonsense, a leaked warning or an error without a name."""

from __future__ import annotations

import pickle

import numpy as np

import ordinal_shapley as osv
from runs import sample_with

RNG = np.random.default_rng(0)
Y = np.arange(24) % 2
X = RNG.normal(size=(24, 3))
X[:, 0] += 2 * Y
Y_VALID = np.arange(12) % 2
X_VALID = RNG.normal(size=(12, 3))
X_VALID[:, 0] += 2 * Y_VALID


def game(**changes):
    arguments = {"X": X, "y": Y, "X_valid": X_VALID, "y_valid": Y_VALID} | changes
    return osv.LogisticGame(**arguments)


def test_functions_of_two_kinds_agree_and_the_game_pickles():
    pairwise = game(position_weight=lambda i, m: 1.0 + i / m)
    at_once = game(position_weight=lambda m: 1.0 + np.arange(m) / m)
    copied = pickle.loads(pickle.dumps(pairwise))
    order = RNG.permutation(24)
    expected = at_once.prefix_utilities(order)
    np.testing.assert_array_equal(pairwise.prefix_utilities(order), expected)
    np.testing.assert_array_equal(copied.prefix_utilities(order), expected)


def test_endless_patience_is_no_truncation():
    whole = osv.sample_values(game(), "partial_ordinal", "mc", n_permutations=4, random_state=0)
    rule = osv.PatienceTruncation(patience=10**30, target="given")
    patient = sample_with(game(), method="tmc", truncation=rule, n_permutations=4, random_state=0)
    np.testing.assert_array_equal(patient.values, whole.values)
