"""The loops to compare with: one model fitted anew to every prefix of an order of the training rows.

Runs under old versions of scikit-learn too, in environments without `ordinal_shapley`.
"""

from __future__ import annotations

import time

import numpy as np
import scipy.sparse
from sklearn.linear_model import LogisticRegression


def gaussian_weights(m):
    """Position weights of a sequence of m rows; they change with every row added."""
    if m == 1:
        return np.ones(1)
    mean, sd = (m - 1) / 2, (m - 1) / 6
    return m / (np.sqrt(2 * np.pi) * sd) * np.exp(-((np.arange(m) - mean) ** 2) / (2 * sd**2))


def fitted_lengths(y, n_classes):
    """Lengths of the prefixes that hold every class; the others have no model, here as in the game."""
    first = max(int(np.argmax(y == c)) for c in range(n_classes)) + 1
    return range(first, len(y) + 1)


def with_sklearn(problem, order, *, native, lengths=None):
    """Accuracy of every prefix, by ``LogisticRegression(solver="liblinear")`` with its defaults.

    `native`: three classes in one call, which scikit-learn 1.8 took away; else one binary model a
    class, of which the largest decision wins.

    Returns the CPU seconds and the accuracies, shape (n,), NaN where a prefix has no model.
    """
    n_classes = int(problem.y.max()) + 1
    model = LogisticRegression(solver="liblinear")
    accuracies = np.full(len(order), np.nan)
    start = time.process_time()
    for m in lengths or fitted_lengths(problem.y[order], n_classes):
        rows = order[:m]
        X, y, weights = problem.X[rows], problem.y[rows], gaussian_weights(m)
        if n_classes == 2 or native:
            predicted = model.fit(X, y, sample_weight=weights).predict(problem.X_valid)
        else:
            decisions = [
                model.fit(X, y == c, sample_weight=weights).decision_function(problem.X_valid)
                for c in range(n_classes)
            ]
            predicted = np.argmax(decisions, axis=0)
        accuracies[m - 1] = np.mean(predicted == problem.y_valid)
    return time.process_time() - start, accuracies


def with_liblinear(problem, order, *, lengths=None):
    """The same by liblinear's C++ alone, through the function that scikit-learn wraps it in.

    What is not liblinear's is done beforehand and not timed (rows in order, weights of every length),
    but for a product that scores the validation rows. Three classes go in one call.
    """
    # scikit-learn's own, private: its signature has been this one since sample weights came (0.16).
    from sklearn.svm._liblinear import set_verbosity_wrap, train_wrap

    set_verbosity_wrap(0)  # until told so it prints every step, and is slower for it
    n_classes = int(problem.y.max()) + 1
    sparse = scipy.sparse.issparse(problem.X)
    X, y = problem.X[order], problem.y[order].astype(np.float64)
    X_valid = problem.X_valid
    lengths = list(lengths or fitted_lengths(problem.y[order], n_classes))
    weights = [gaussian_weights(m) for m in lengths]
    prefixes = [X[:m] for m in lengths]
    class_weight = np.ones(n_classes)
    accuracies = np.full(len(order), np.nan)
    start = time.process_time()
    for m, X_m, weights_m in zip(lengths, prefixes, weights):  # noqa: B905 (Python 3.9 has no strict)
        # L2-regularised logistic loss in the primal (0), tolerance 1e-4, bias 1, C = 1, 100 steps.
        coef, _ = train_wrap(X_m, y[:m], sparse, 0, 1e-4, 1.0, 1.0, class_weight, 100, 0, 0.1, weights_m)
        decisions = X_valid @ coef[:, :-1].T + coef[:, -1]
        predicted = decisions[:, 0] > 0 if n_classes == 2 else np.argmax(decisions, axis=1)
        accuracies[m - 1] = np.mean(predicted == problem.y_valid)
    return time.process_time() - start, accuracies
