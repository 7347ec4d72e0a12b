"""Brute force straight from the paper's formulas: the oracle every other test compares with.

Nothing here imports the library or its kernels, so an agreement is never the library agreeing with
itself. Slow and plain on purpose. Players and rows are counted from 0.
"""

from __future__ import annotations

import itertools
import math
import warnings
from fractions import Fraction

import numpy as np
from sklearn import metrics
from sklearn.linear_model import LogisticRegression

# A decision value closer to 0 than this share of its terms is a tie (solutions are far tighter).
TIE = 1e-11


# The logistic utility


def gaussian_weights(m):
    """W_i = m/(sqrt(2 pi) s) exp(-(i-mu)^2/(2 s^2)), mu = (m-1)/2, s = (m-1)/6; 1 for m = 1."""
    if m == 1:
        return np.ones(1)
    mu, s = (m - 1) / 2, (m - 1) / 6
    return np.array(
        [m / (math.sqrt(2 * math.pi) * s) * math.exp(-((i - mu) ** 2) / (2 * s**2)) for i in range(m)]
    )


def uniform_weights(m):
    return np.ones(m)


def with_intercept(X):
    X = np.asarray(X, dtype=np.float64)
    return np.column_stack([X, np.ones(len(X))])


def objective(w, X, sign, cost):
    """1/2 |w|^2 + sum_i cost_i log(1 + exp(-sign_i w.(x_i, 1))) in long double."""
    X, w = with_intercept(X).astype(np.longdouble), np.asarray(w, dtype=np.longdouble)
    z = sign * (X @ w)
    return float(w @ w / 2 + cost @ np.logaddexp(np.longdouble(0), -z))


def gradient(w, X, sign, cost):
    """Gradient of `objective` in long double."""
    X, w = with_intercept(X).astype(np.longdouble), np.asarray(w, dtype=np.longdouble)
    z = sign * (X @ w)
    with np.errstate(over="ignore"):
        p = 1 / (1 + np.exp(z))
    return w - X.T @ (cost * p * sign)


def gradient_norm(w, X, sign, cost):
    g = gradient(w, X, sign, cost)
    return float(np.sqrt(g @ g))


def newton(X, sign, cost, start=None):
    """Minimise `objective`: damped Newton, then steps on long double gradients down to the floor.

    The Hessian I + X'DX is factored as R'R by QR of (sqrt(D) X; I), which squares no condition
    number. Returns long double coefficients, intercept last.
    """
    A = with_intercept(X)
    n_features = A.shape[1]
    identity = np.eye(n_features)
    sign, cost = np.asarray(sign, dtype=np.float64), np.asarray(cost, dtype=np.float64)

    def value(w):
        return w @ w / 2 + cost @ np.logaddexp(0, -sign * (A @ w))

    def factor(w):
        with np.errstate(over="ignore"):
            p = 1 / (1 + np.exp(sign * (A @ w)))
        root = np.sqrt(cost * p * (1 - p))
        return p, np.linalg.qr(np.vstack([root[:, None] * A, identity]), mode="r")

    def step_for(R, g):
        return -np.linalg.solve(R, np.linalg.solve(R.T, g))

    w = np.zeros(n_features) if start is None else np.asarray(start, dtype=np.float64)
    f = value(w)
    for _ in range(1000):
        p, R = factor(w)
        g = w - A.T @ (cost * p * sign)
        step = step_for(R, g)
        decrement = -(g @ step)
        if decrement <= 1e-14 * (1 + abs(f)):
            break
        length = 1.0
        while value(w + length * step) > f - 1e-4 * length * decrement and length > 1e-18:
            length /= 2
        w = w + length * step
        f = value(w)
    best = w.astype(np.longdouble)
    best_norm = gradient_norm(best, X, sign, cost)
    for _ in range(40):
        _, R = factor(best.astype(np.float64))
        g = gradient(best, X, sign, cost)
        trial = best + step_for(R, (g / max(best_norm, 1e-300)).astype(np.float64)) * np.longdouble(best_norm)
        norm = gradient_norm(trial, X, sign, cost)
        if not norm < best_norm:
            break
        best, best_norm = trial, norm
    return best


def liblinear(X, sign, cost):
    """The same minimiser by scikit-learn's liblinear at tol 1e-12, as far as it gets."""
    model = LogisticRegression(solver="liblinear", C=1.0, tol=1e-12, max_iter=100_000, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(np.asarray(X, dtype=np.float64), sign, sample_weight=cost)
    return np.concatenate([model.coef_[0], model.intercept_])


def one_vs_rest(y, n_classes):
    """Signs of each fit: one for two classes (+1 = class 1), else one a class."""
    positive = [1] if n_classes == 2 else range(n_classes)
    return [np.where(np.asarray(y) == k, 1.0, -1.0) for k in positive]


def coefficients(X, y, n_classes, cost, solver=newton, start=None):
    """(K', d+1) coefficients of codes y, intercept last."""
    rows = []
    for k, sign in enumerate(one_vs_rest(y, n_classes)):
        if solver is newton and start is not None:
            rows.append(newton(X, sign, cost, start[k]))
        else:
            rows.append(solver(X, sign, cost))
    return np.array(rows)


def joint_newton(X, y, n_classes, cost, softmax, intercept):
    """Coefficients of a binary or softmax model with an intercept "free", "penalized" or "none"; its last.

    Newton's method on all coefficients at once, from the definition: probabilities of the classes, where in
    the binary case the model of class 0 is 0. A free intercept has no penalty.
    """
    A = with_intercept(X).astype(np.longdouble) * np.append(np.ones(X.shape[1]), intercept != "none")
    rows, d, first = A.astype(float), A.shape[1], 0 if softmax else 1
    y, cost = np.asarray(y), np.asarray(cost, dtype=np.longdouble)
    n_models = n_classes - first
    penalty = np.tile(np.append(np.ones(d - 1), intercept != "free"), n_models)
    own = np.eye(n_classes)[y]

    def parts(w):
        z = np.zeros((len(y), n_classes), dtype=np.longdouble)
        z[:, first:] = A @ w.reshape(n_models, d).T
        log_mass = np.logaddexp.reduce(z, axis=1)
        p = np.exp(z - log_mass[:, None])
        value = w @ (penalty * w) / 2 + cost @ (log_mass - (z * own).sum(axis=1))
        return value, p, penalty * w + (((p - own) * cost[:, None])[:, first:].T @ A).ravel()

    w = np.zeros(n_models * d, dtype=np.longdouble)
    value, p, gradient = parts(w)
    for _ in range(200):
        hessian = np.diag(penalty.astype(float))
        for a in range(n_models):
            for b in range(n_models):
                q = cost * p[:, a + first] * ((a == b) - p[:, b + first])
                block = (rows * q.astype(float)[:, None]).T @ rows
                hessian[a * d : (a + 1) * d, b * d : (b + 1) * d] += block
        step = -np.linalg.lstsq(hessian, gradient.astype(float), rcond=1e-15)[0]
        scale = 1.0
        while scale > 1e-12 and not parts(w + scale * step)[0] <= value:
            scale /= 2
        moved = parts(w + scale * step)
        if not np.linalg.norm(moved[2]) < np.linalg.norm(gradient) and moved[0] >= value:
            break
        w, (value, p, gradient) = w + scale * step, moved
    return w.reshape(n_models, d)


def decision_values(coef, X):
    return with_intercept(X).astype(coef.dtype) @ coef.T


def predict(coef, X, tie=TIE):
    """Class codes; a tie goes to the lowest class index (binary: class 0)."""
    values = decision_values(coef, X)
    radius = tie * (np.abs(with_intercept(X)) @ np.abs(coef).T.astype(np.float64) + 0.01)
    if values.shape[1] == 1:
        return (values[:, 0] > radius[:, 0]).astype(np.int64)
    out = np.empty(len(values), dtype=np.int64)
    for r, (row, around) in enumerate(zip(values, radius, strict=True)):
        top = int(np.argmax(row))
        out[r] = next(k for k in range(len(row)) if row[top] - row[k] <= around[top] + around[k])
    return out


def tie_ranks(values, coef, X, tie=TIE):
    """Ranks of values, equal for values that rounding alone tells apart."""
    radius = tie * (np.max(np.abs(with_intercept(X)) @ np.abs(coef[0]).astype(np.float64)) + 0.01)
    order = np.argsort(values)
    steps = np.diff(values[order]) > radius
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[order] = np.concatenate([[0], np.cumsum(steps)])
    return ranks


def score(y_true, coef, X, scoring, n_classes):
    """Score of coefficients on codes y_true through scikit-learn's metrics."""
    y_true = np.asarray(y_true)
    values = decision_values(coef, X).astype(np.float64)
    if scoring == "roc_auc":
        return float(metrics.roc_auc_score(y_true, tie_ranks(values[:, 0], coef, X)))
    if scoring == "neg_log_loss":
        log_sigmoid = -np.logaddexp(0, -values)
        if n_classes == 2:
            log_p = np.column_stack([-np.logaddexp(0, values[:, 0]), log_sigmoid[:, 0]])
        else:
            log_p = log_sigmoid - np.logaddexp.reduce(log_sigmoid, axis=1, keepdims=True)
        # scikit-learn counts probabilities below 2.2e-16 as that.
        return -float(metrics.log_loss(y_true, np.exp(log_p), labels=range(n_classes)))
    if scoring == "softmax neg_log_loss":
        log_p = values - np.logaddexp.reduce(values, axis=1, keepdims=True)
        return -float(metrics.log_loss(y_true, np.exp(log_p), labels=range(n_classes)))
    return score_labels(y_true, predict(coef, X), scoring, n_classes)


def score_labels(y_true, y_pred, scoring, n_classes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if scoring == "accuracy":
            return float(metrics.accuracy_score(y_true, y_pred))
        if scoring == "balanced_accuracy":
            return float(metrics.balanced_accuracy_score(y_true, y_pred))
        if scoring == "f1":
            if n_classes == 2:
                return float(metrics.f1_score(y_true, y_pred, pos_label=1, zero_division=0))
            return float(metrics.f1_score(y_true, y_pred, average="macro", zero_division=0))
    raise AssertionError(scoring)


def majority_score(y_valid, scoring, n_classes):
    """v_0: the score of always predicting the commonest validation label (lowest code if tied)."""
    if scoring == "roc_auc":
        return 0.5
    if scoring == "neg_log_loss":
        return -math.log(n_classes)
    commonest = int(np.argmax(np.bincount(y_valid, minlength=n_classes)))
    return score_labels(y_valid, np.full(len(y_valid), commonest), scoring, n_classes)


class LogisticUtility:
    """U(sequence) of players, each a list of training rows; y are class codes 0..K-1."""

    def __init__(
        self,
        X,
        y,
        X_valid,
        y_valid,
        *,
        weights=gaussian_weights,
        C=1.0,
        scoring="accuracy",
        members=None,
        sample_weight=None,
        empty_value="majority",
        solver=newton,
        multi_class="ovr",
        fit_intercept="penalized",
        class_weight=None,
    ):
        self.X, self.X_valid = np.asarray(X, float), np.asarray(X_valid, float)
        self.y, self.y_valid = np.asarray(y), np.asarray(y_valid)
        self.n_classes = int(self.y.max()) + 1
        self.weights, self.C, self.scoring, self.solver = weights, C, scoring, solver
        self.softmax, self.intercept = multi_class == "multinomial", fit_intercept
        self.class_weight = class_weight
        self.members = [[i] for i in range(len(self.y))] if members is None else members
        self.n_players = len(self.members)
        self.sample_weight = np.ones(len(self.y)) if sample_weight is None else sample_weight
        self.v0 = (
            majority_score(self.y_valid, scoring, self.n_classes)
            if empty_value == "majority"
            else float(empty_value)
        )
        self.memo = {}

    def rows(self, sequence):
        return [row for player in sequence for row in self.members[player]]

    def has_model(self, sequence):
        rows = np.array(self.rows(sequence), dtype=int)
        weighted = rows[self.weights(len(rows)) * self.sample_weight[rows] > 0] if len(rows) else rows
        return len(set(self.y[weighted])) == self.n_classes

    def problem(self, sequence):
        """(X, y, cost) of the weighted fit of a sequence."""
        rows = self.rows(sequence)
        cost = self.C * self.weights(len(rows)) * self.sample_weight[rows]
        y = self.y[rows]
        if self.class_weight == "balanced":
            cost = cost * cost.sum() / (self.n_classes * np.bincount(y, weights=cost)[y])
        elif self.class_weight is not None:
            cost = cost * np.array([self.class_weight.get(k, 1.0) for k in y])
        return self.X[rows], y, cost

    def coefficients(self, sequence, start=None):
        X, y, cost = self.problem(sequence)
        if self.softmax:
            models = joint_newton(X, y, self.n_classes, cost, True, self.intercept)
            return models if self.n_classes > 2 else models[1:] - models[:1]
        if self.intercept != "penalized":
            signs = one_vs_rest(y, self.n_classes)
            return np.array(
                [joint_newton(X, (sign > 0).astype(int), 2, cost, False, self.intercept)[0] for sign in signs]
            )
        return coefficients(X, y, self.n_classes, cost, self.solver, start)

    def __call__(self, sequence):
        key = tuple(int(i) for i in sequence)
        if key not in self.memo:
            if self.has_model(key):
                coef = self.coefficients(key)
                several = self.softmax and self.n_classes > 2 and self.scoring == "neg_log_loss"
                scoring = f"softmax {self.scoring}" if several else self.scoring
                self.memo[key] = score(self.y_valid, coef, self.X_valid, scoring, self.n_classes)
            else:
                self.memo[key] = self.v0
        return self.memo[key]


def ridge_predictions(X, Y, X_valid, cost, alpha, fit_intercept=True):
    """Predictions of ridge regressions of the columns of Y, by least squares on penalised rows."""
    x_mean, y_mean = np.zeros(X.shape[1]), np.zeros(Y.shape[1])
    if fit_intercept:
        x_mean, y_mean = np.average(X, axis=0, weights=cost), np.average(Y, axis=0, weights=cost)
    root = np.sqrt(cost)[:, None]
    penalty = math.sqrt(alpha) * np.eye(X.shape[1])
    A = np.vstack([root * (X - x_mean), penalty])
    B = np.vstack([root * (Y - y_mean), np.zeros((len(penalty), Y.shape[1]))])
    return (X_valid - x_mean) @ np.linalg.lstsq(A, B, rcond=None)[0] + y_mean


def score_numbers(truth, predicted, scoring):
    error = np.mean((truth - predicted) ** 2)
    return float(1 - error / truth.var() if scoring == "r2" else -error)


class RidgeUtility:
    """U(S) of weighted ridge regressions; every prefix has a model."""

    def __init__(
        self, X, y, X_valid, y_valid, weights=gaussian_weights, alpha=1.0, scoring="r2", fit_intercept=True
    ):
        self.X, self.y, self.X_valid, self.y_valid = (np.asarray(a, float) for a in (X, y, X_valid, y_valid))
        self.n_players = len(self.y)
        self.weights, self.alpha, self.scoring, self.fit_intercept = weights, alpha, scoring, fit_intercept
        self.v0 = self(())

    def has_model(self, sequence):
        return len(sequence) > 0

    def __call__(self, sequence):
        rows = [int(i) for i in sequence]
        predicted = np.full(len(self.y_valid), self.y_valid.mean())
        if rows:
            fit = (self.X[rows], self.y[rows, None], self.X_valid, self.weights(len(rows)), self.alpha)
            predicted = ridge_predictions(*fit, self.fit_intercept)[:, 0]
        return score_numbers(self.y_valid, predicted, self.scoring)


class RidgeClassifierUtility:
    """U(S) of weighted ridge regressions of +1 and -1; no model where a class has no weight."""

    def __init__(
        self,
        X,
        y,
        X_valid,
        y_valid,
        weights=gaussian_weights,
        alpha=1.0,
        scoring="accuracy",
        fit_intercept=True,
        class_weight=None,
        sample_weight=None,
    ):
        self.X, self.X_valid = np.asarray(X, float), np.asarray(X_valid, float)
        self.y, self.y_valid = np.asarray(y), np.asarray(y_valid)
        self.n_players, self.n_classes = len(self.y), int(self.y.max()) + 1
        self.weights, self.alpha, self.scoring = weights, alpha, scoring
        self.fit_intercept, self.class_weight = fit_intercept, class_weight
        self.sample_weight = np.ones(len(self.y)) if sample_weight is None else np.asarray(sample_weight)
        self.v0 = majority_score(self.y_valid, scoring, self.n_classes)
        self.memo = {}

    def costs(self, rows):
        """What the rows of a sequence weigh."""
        if not rows:
            return np.zeros(0)
        cost = self.weights(len(rows)) * self.sample_weight[rows]
        for i, row in enumerate(rows):
            if self.class_weight == "balanced":
                cost[i] *= len(rows) / (self.n_classes * sum(self.y[rows] == self.y[row]))
            elif self.class_weight is not None:
                cost[i] *= self.class_weight.get(int(self.y[row]), 1.0)
        return cost

    def has_model(self, sequence):
        rows = [int(i) for i in sequence]
        return len({int(self.y[row]) for row in rows}) == self.n_classes

    def __call__(self, sequence):
        key = tuple(int(i) for i in sequence)
        if key not in self.memo:
            self.memo[key] = self.utility(list(key))
        return self.memo[key]

    def utility(self, rows):
        cost = self.costs(rows)
        if any(cost[self.y[rows] == c].sum() == 0 for c in range(self.n_classes)):
            return self.v0
        positive = [1] if self.n_classes == 2 else range(self.n_classes)
        Y = np.column_stack([np.where(self.y[rows] == c, 1.0, -1.0) for c in positive])
        values = ridge_predictions(self.X[rows], Y, self.X_valid, cost, self.alpha, self.fit_intercept)
        if self.scoring == "roc_auc":
            return float(metrics.roc_auc_score(self.y_valid, np.round(values[:, 0], 9)))
        if self.n_classes == 2:
            decided = (values[:, 0] > TIE).astype(int)
        else:
            decided = np.argmax(values > values.max(axis=1, keepdims=True) - TIE, axis=1)
        return score_labels(self.y_valid, decided, self.scoring, self.n_classes)


def neighbor_votes(X, x, rows, cost, k, weights):
    """The k nearest rows to x, and what each weighs; of rows as near the first is nearer."""
    distance = {i: math.sqrt(((X[i] - x) ** 2).sum()) for i in rows}
    nearest = sorted(rows, key=lambda i: (distance[i], i))[:k]
    if weights == "uniform":
        return nearest, [cost[i] for i in nearest]
    if any(distance[i] == 0 for i in nearest):
        return nearest, [cost[i] * (distance[i] == 0) for i in nearest]
    return nearest, [cost[i] / distance[i] for i in nearest]


class NeighborUtility:
    """U(S) of weighted nearest neighbour votes; every prefix has a model."""

    def __init__(
        self,
        X,
        y,
        X_valid,
        y_valid,
        weights=gaussian_weights,
        k=5,
        scoring="accuracy",
        empty_value="majority",
        by="uniform",
    ):
        self.X, self.X_valid = np.asarray(X, float), np.asarray(X_valid, float)
        self.y, self.y_valid = np.asarray(y), np.asarray(y_valid)
        self.n_players, self.n_classes = len(self.y), int(self.y.max()) + 1
        self.weights, self.k, self.scoring, self.by = weights, k, scoring, by
        name = "accuracy" if scoring == "vote_share" else scoring
        self.v0 = (
            majority_score(self.y_valid, name, self.n_classes) if empty_value == "majority" else empty_value
        )

    def has_model(self, sequence):
        return len(sequence) > 0

    def __call__(self, sequence):
        rows = [int(i) for i in sequence]
        if not rows:
            return self.v0
        cost = dict(zip(rows, self.weights(len(rows)), strict=True))
        decisions, shares = [], []
        for x, truth in zip(self.X_valid, self.y_valid, strict=True):
            nearest, each = neighbor_votes(self.X, x, rows, cost, self.k, self.by)
            votes = np.bincount(self.y[nearest], weights=each, minlength=self.n_classes)
            decisions.append(next(c for c in range(self.n_classes) if votes[c] > max(votes) * (1 - TIE)))
            shares.append(votes[truth] / sum(votes) * len(nearest) / self.k)
        if self.scoring == "vote_share":
            return float(np.mean(shares))
        return score_labels(self.y_valid, np.array(decisions), self.scoring, self.n_classes)


class NeighborMeanUtility:
    """U(S) of weighted means of nearest neighbours; every prefix has a model."""

    def __init__(self, X, y, X_valid, y_valid, weights=gaussian_weights, k=5, scoring="r2", by="uniform"):
        self.X, self.y, self.X_valid, self.y_valid = (np.asarray(a, float) for a in (X, y, X_valid, y_valid))
        self.n_players = len(self.y)
        self.weights, self.k, self.scoring, self.by = weights, k, scoring, by
        self.v0 = self(())

    def has_model(self, sequence):
        return len(sequence) > 0

    def __call__(self, sequence):
        rows = [int(i) for i in sequence]
        predicted = np.full(len(self.y_valid), self.y_valid.mean())
        cost = dict(zip(rows, self.weights(len(rows)), strict=True)) if rows else {}
        for v, x in enumerate(self.X_valid if rows else ()):
            nearest, each = neighbor_votes(self.X, x, rows, cost, self.k, self.by)
            predicted[v] = np.average(self.y[nearest], weights=each if sum(each) > 0 else None)
        return score_numbers(self.y_valid, predicted, self.scoring)


class TableUtility:
    """U from a dictionary of 0-based tuples, others `default`; every prefix has a model."""

    def __init__(self, n_players, table, default=0.0):
        self.n_players, self.table, self.default = n_players, dict(table), default
        self.v0 = self(())

    def has_model(self, sequence):
        return True

    def __call__(self, sequence):
        return float(self.table.get(tuple(int(i) for i in sequence), self.default))


class JourneyUtility:
    """U of journeys of distinct channels with counts: rows of (channels, conversions, non-conversions)."""

    def __init__(self, n_players, rows, utility="rate", unseen="backoff", ordered=True):
        self.n_players, self.utility, self.unseen, self.ordered = n_players, utility, unseen, ordered
        self.won, self.all = {}, {}
        self.sets = {}
        for channels, conversions, others in rows:
            key = tuple(channels) if ordered else frozenset(channels)
            self.won[key] = self.won.get(key, 0.0) + conversions
            self.all[key] = self.all.get(key, 0.0) + conversions + others
            members = frozenset(channels)
            self.sets[members] = self.sets.get(members, 0.0) + conversions
        self.all = {key: total for key, total in self.all.items() if total > 0}
        self.sets = {members: conversions for members, conversions in self.sets.items() if conversions > 0}
        self.v0 = 0.0

    def has_model(self, sequence):
        return True

    def rate(self, sequence):
        """r of the definition, of a tuple of distinct channels."""
        key = tuple(sequence) if self.ordered else frozenset(sequence)
        if key in self.all:
            known = self.won[key] / self.all[key]
            if self.ordered and self.unseen == "zero":
                # The orders that were seen count for all.
                orders = list(itertools.permutations(key))
                known *= len(orders) / sum(order in self.all for order in orders)
            return known
        if self.unseen == "zero":
            return 0.0
        if self.ordered:
            beginnings = [sequence[:k] for k in range(len(sequence)) if sequence[:k] in self.all]
            longest = max(beginnings, key=len, default=None)
            return 0.0 if longest is None else self.won[longest] / self.all[longest]
        inside = [other for other in self.all if other < key]
        most = max(map(len, inside), default=0)
        largest = [other for other in inside if len(other) == most]
        return sum(self.won[o] for o in largest) / sum(self.all[o] for o in largest) if largest else 0.0

    def of_set(self, members, sequence):
        """What a set of channels adds to U."""
        part = tuple(channel for channel in sequence if channel in members)
        if self.utility == "conversions":
            if len(part) < len(members):
                return 0.0
            if not self.ordered:
                return self.won.get(members, 0.0)
            return math.factorial(len(part)) * self.won.get(part, 0.0)
        mean = np.mean([self.rate(order) for order in itertools.permutations(sorted(members))])
        return self.sets[members] / mean * self.rate(part)

    def __call__(self, sequence):
        sequence = tuple(int(i) for i in sequence)
        return float(sum(self.of_set(members, sequence) for members in self.sets))


def journey_credit_by_place(U, n_positions):
    """What a channel adds as the first, the second, ... of an order of a set, all orders alike."""
    credit = np.zeros((U.n_players, n_positions))
    for members in U.sets:
        for order in itertools.permutations(sorted(members)):
            for place, channel in enumerate(order):
                added = U.of_set(members, order[: place + 1]) - U.of_set(members, order[:place])
                credit[channel, place] += added / math.factorial(len(order))
    return credit


def journey_credit_by_position(U, rows, values, n_positions):
    """A set's values at the positions that its channels had in its journeys, in proportion to conversions."""
    credit = np.zeros((U.n_players, n_positions))
    for members, conversions in U.sets.items():
        of_set = values(lambda sequence, members=members: U.of_set(members, sequence))
        for channels, won, _ in rows:
            if frozenset(channels) == members:
                for place, channel in enumerate(channels):
                    credit[channel, place] += of_set[channel] * won / conversions
    return credit


# Exact values


def sequences_of(players):
    """Every sequence of distinct players, the empty one included."""
    for size in range(len(players) + 1):
        yield from itertools.permutations(players, size)


def exact_partial_ordinal(U, n):
    """phi_i = 1/n! sum_pi [U(P_i, i) - U(P_i)], P_i the sequence before i in pi."""
    phi = np.zeros(n)
    for pi in itertools.permutations(range(n)):
        for j, i in enumerate(pi):
            phi[i] += U(pi[: j + 1]) - U(pi[:j])
    return phi / math.factorial(n)


def exact_partial_ordinal_by_subsets(U, n):
    """The paper's first form: subsets S without i, and the orders of S."""
    phi = np.zeros(n)
    for i in range(n):
        for S in sequences_of([j for j in range(n) if j != i]):
            coefficient = 1 / (n * math.factorial(len(S)) * math.comb(n - 1, len(S)))
            phi[i] += coefficient * (U((*S, i)) - U(S))
    return phi


def exact_ordinal(U, n):
    """The ordinal value: i inserted at every place k of every order of every S without i."""
    phi = np.zeros(n)
    for i in range(n):
        for S in sequences_of([j for j in range(n) if j != i]):
            coefficient = 1 / (n * math.factorial(len(S) + 1) * math.comb(n - 1, len(S)))
            for k in range(len(S) + 1):
                phi[i] += coefficient * (U((*S[:k], i, *S[k:])) - U(S))
    return phi


def exact_weighted(U, n, q):
    """The general weighted expression: q weighs the orders of each S."""
    phi = np.zeros(n)
    for i in range(n):
        for S in sequences_of([j for j in range(n) if j != i]):
            phi[i] += q(S) * (U((*S, i)) - U(S)) / (n * math.comb(n - 1, len(S)))
    return phi


def exact_position_profile(U, n):
    """[i, k]: mean of U(P_i, i) - U(P_i) over the permutations in which i stands at place k."""
    profile = np.zeros((n, n))
    for pi in itertools.permutations(range(n)):
        for k, i in enumerate(pi):
            profile[i, k] += U(pi[: k + 1]) - U(pi[:k])
    return profile / math.factorial(n - 1)


def orders_within(S, groups):
    """The orders of S that permute the members of each group among their places in S."""
    out = [tuple(S)]
    for g in sorted({groups[i] for i in S}):
        places = [k for k, i in enumerate(S) if groups[i] == g]
        extended = []
        for order in out:
            for members in itertools.permutations([S[k] for k in places]):
                changed = list(order)
                for k, i in zip(places, members, strict=True):
                    changed[k] = i
                extended.append(tuple(changed))
        out = extended
    return out


def orders_between(S, groups):
    """One order of S for each class of orders that differ inside groups only."""
    return [
        order
        for order in itertools.permutations(S)
        if all(a < b for a, b in itertools.combinations(order, 2) if groups[a] == groups[b])
    ]


def exact_special_case(U, n, groups, case):
    """The theorem on the two special cases, as printed, the product to the number of groups."""
    phi = np.zeros(n)
    for i in range(n):
        others = [j for j in range(n) if j != i]
        for size in range(n):
            for S in itertools.combinations(others, size):
                product = math.prod(math.factorial([groups[j] for j in S].count(g)) for g in set(groups))
                if case == "within":
                    orders, weight = orders_within(S, groups), 1 / product
                else:
                    orders, weight = orders_between(S, groups), product / math.factorial(size)
                for order in orders:
                    phi[i] += weight * (U((*order, i)) - U(order)) / (n * math.comb(n - 1, size))
    return phi


def exact_classic(U, n):
    """The classic value of an order-free U, read from sorted sequences only."""
    phi = np.zeros(n)
    for i in range(n):
        others = [j for j in range(n) if j != i]
        for size in range(n):
            for S in itertools.combinations(others, size):
                phi[i] += (U(tuple(sorted((*S, i)))) - U(S)) / (n * math.comb(n - 1, size))
    return phi


def beta_size_weights(n, a, b):
    """w_s = C(n-1, s) B(s + b, n-1-s + a) / B(a, b) for whole a and b, in fractions."""

    def beta(x, y):
        return Fraction(math.factorial(x - 1) * math.factorial(y - 1), math.factorial(x + y - 1))

    return [math.comb(n - 1, s) * beta(s + b, n - 1 - s + a) / beta(a, b) for s in range(n)]


def banzhaf_size_weights(n):
    """w_s = C(n-1, s) / 2^(n-1)."""
    return [Fraction(math.comb(n - 1, s), 2 ** (n - 1)) for s in range(n)]


def exact_by_size(U, n, weights, sizes=None):
    """sum_s w_s of the mean, over the sets S of s others, of Ubar(S, i) - Ubar(S), Ubar the mean over orders.

    With `sizes` the [i, s] that are weighed, in place of their sums.
    """
    mean = {
        S: np.mean([U(order) for order in itertools.permutations(S)])
        for s in range(n + 1)
        for S in itertools.combinations(range(n), s)
    }
    added = np.zeros((n, n))
    for i in range(n):
        for S in mean:
            if i not in S:
                added[i, len(S)] += mean[tuple(sorted((*S, i)))] - mean[S]
    added /= [math.comb(n - 1, s) for s in range(n)]
    return added if sizes else added @ np.array(weights, float)


def exact_beta_shapley(U, n, a, b):
    """Beta Shapley of an order-free U from its integral form, E over q ~ Beta(b, a) of what i adds.

    A coalition holds each other player with probability q, so that one of s others has the probability
    E q^s (1 - q)^(n-1-s).
    """
    phi = np.zeros(n)
    for i in range(n):
        others = [j for j in range(n) if j != i]
        for s in range(n):
            moment = math.prod(b + k for k in range(s)) * math.prod(a + k for k in range(n - 1 - s))
            moment /= math.prod(a + b + k for k in range(n - 1))
            for S in itertools.combinations(others, s):
                phi[i] += moment * (U(tuple(sorted((*S, i)))) - U(S))
    return phi


def exact_banzhaf(U, n):
    """The mean of what i adds over all sets of others, of an order-free U."""
    phi = np.zeros(n)
    for i in range(n):
        others = [j for j in range(n) if j != i]
        sets = [S for s in range(n) for S in itertools.combinations(others, s)]
        phi[i] = np.mean([U(tuple(sorted((*S, i)))) - U(S) for S in sets])
    return phi


# Axioms


def gains(U, n, i, anywhere):
    """(change of U, the sequence with i) as i joins each sequence without it, at the end or anywhere."""
    out = []
    for S in sequences_of([j for j in range(n) if j != i]):
        for k in range(len(S) + 1) if anywhere else [len(S)]:
            joined = (*S[:k], i, *S[k:])
            out.append((U(joined) - U(S), joined))
    return out


def exchange(S, i, j):
    """The sequence with i in the place of j and j in that of i."""
    return tuple(j if k == i else i if k == j else k for k in S)


def asymmetry(U, n, i, j):
    """Largest change of U as i and j are exchanged, over all sequences."""
    return max(abs(U(S) - U(exchange(S, i, j))) for S in sequences_of(range(n)))


def literal_exchange(image, i, j):
    """The sequence that the condition of ordinal symmetry compares with, as printed.

    A permutation pi of a set S makes pi(s_1), pi(s_2), ... of its players s_1 < s_2 < ... The other sequence
    is made of (i, j)(s_1), (i, j)(s_2), ... by pi if S holds both or neither, else by (i, j) pi (i, j).
    """
    S = tuple(sorted(image))
    pi = dict(zip(S, image, strict=True))
    if (i in S) != (j in S):
        swap = {i: j, j: i}
        pi = {swap.get(k, k): swap.get(v, v) for k, v in pi.items()}
    return tuple(pi[k] for k in exchange(S, i, j))


# The ordinal value by plain insertion


def insertion_draw(n, i, rng):
    """A random sequence without i, and the same with i at a random place.

    The ordinal value's sum read as a mean: over sizes (1/n), sets of that size (1/C(n-1, size)), their
    orders (1/size!) and places (1/(size+1)).
    """
    size = int(rng.integers(n))
    S = tuple(rng.permutation([j for j in range(n) if j != i])[:size].tolist())
    k = int(rng.integers(size + 1))
    return S, (*S[:k], i, *S[k:])


# Algorithms 1 to 3 for given permutations


def walk_paper(U, sequence, tol):
    """Inner loop of Algorithms 1 (TMC) and 3 (CTMC): returns contributions and the walk's length.

    v_j = v_{j-1} once |U(whole sequence) - v_{j-1}| < tol, tested only where the prefix of length
    j-1 has a model.
    """
    full = U(sequence)
    v, marginals, length = U(()), [], 0
    truncated = False
    for j in range(1, len(sequence) + 1):
        if not truncated and U.has_model(sequence[: j - 1]) and abs(full - v) < tol:
            truncated = True
        new = v if truncated else U(sequence[:j])
        length += not truncated
        marginals.append(new - v)
        v = new
    return marginals, length


def walk_patience(U, sequence, tol, patience, target):
    """Stop after `patience` prefixes in a row, all with a model, within tol |target| of target."""
    v, marginals, length, in_a_row = U(()), [], 0, 0
    for j in range(1, len(sequence) + 1):
        if in_a_row >= patience:
            marginals.append(0.0)
            continue
        new = U(sequence[:j])
        length += 1
        if U.has_model(sequence[:j]):
            in_a_row = in_a_row + 1 if abs(new - target) <= tol * abs(target) else 0
        marginals.append(new - v)
        v = new
    return marginals, length


def walk_plain(U, sequence):
    """Inner loop of Algorithm 2 (CMC), and of plain Monte Carlo."""
    values = [U(sequence[:j]) for j in range(len(sequence) + 1)]
    return list(np.diff(values)), len(sequence)


def marginal_contributions(U, n, sequences, rule=None, tol=0.05, patience=6, target=None):
    """(T, n) contributions (0 where unchosen or truncated), (T, n) chosen, (T,) walk lengths."""
    out, chosen = np.zeros((len(sequences), n)), np.zeros((len(sequences), n), dtype=bool)
    lengths = np.zeros(len(sequences), dtype=int)
    for t, given in enumerate(sequences):
        sequence = tuple(int(i) for i in given)
        if rule == "paper":
            marginals, lengths[t] = walk_paper(U, sequence, tol)
        elif rule == "patience":
            marginals, lengths[t] = walk_patience(U, sequence, tol, patience, target)
        else:
            marginals, lengths[t] = walk_plain(U, sequence)
        out[t, list(sequence)] = marginals
        chosen[t, list(sequence)] = True
    return out, chosen, lengths


def averages(marginals, chosen, average):
    """Values and standard errors: "all" counts unchosen rounds as 0, "selected" leaves them out."""
    n = marginals.shape[1]
    values, errors = np.full(n, np.nan), np.full(n, np.nan)
    for i in range(n):
        sample = marginals[:, i] if average == "all" else marginals[chosen[:, i], i]
        if len(sample) >= 1:
            values[i] = sum(sample) / len(sample)
        if len(sample) >= 2:
            variance = sum((x - values[i]) ** 2 for x in sample) / (len(sample) - 1)
            errors[i] = math.sqrt(variance / len(sample))
    return values, errors


# The permutation stream, from its documented definition, in Python integers

WORD = 2**64
GOLDEN = 0x9E3779B97F4A7C15


def mix(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % WORD
    return z ^ (z >> 31)


class Stream:
    """Random numbers of permutation `index` of the stream `seed`."""

    def __init__(self, seed, index):
        self.state = mix(mix(seed) ^ ((index * 0xD1B54A32D192ED03 + GOLDEN) % WORD))
        self.draws = 0

    def bits(self):
        self.state = (self.state + GOLDEN) % WORD
        self.draws += 1
        return mix(self.state)

    def below(self, n):
        while True:
            product = (self.bits() >> 32) * n
            if product % 2**32 >= (2**32 - n) % n:
                return product >> 32


def permutation(seed, index, strata, quota, design="independent"):
    """Permutation `index`: `quota[s]` players of each stratum (a list of players), mixed."""
    if design == "antithetic" and index % 2:
        return permutation(seed, index - 1, strata, quota)[::-1]
    if design == "latin":
        (players,) = strata
        n = len(players)
        block, row = divmod(index, n)
        stream = Stream(seed, block)
        symbols, rows, columns = (shuffled(stream, part) for part in (players, range(n), range(n)))
        return [symbols[(rows[row] + columns[j]) % n] for j in range(n)]
    stream = Stream(seed, index)
    unused = [list(players) for players in strata]
    left = list(quota)
    out = []
    while sum(left):
        s = 0
        if len(strata) > 1:
            t = stream.below(sum(left))
            while t >= left[s]:
                t -= left[s]
                s += 1
        # Fisher-Yates: the pick changes places with the first unused member.
        pick = stream.below(len(unused[s]))
        unused[s][0], unused[s][pick] = unused[s][pick], unused[s][0]
        out.append(unused[s].pop(0))
        left[s] -= 1
    return out


def shuffled(stream, entries):
    """The entries, each exchanged from the last down with one at or before it."""
    out = list(entries)
    for i in range(len(out) - 1, 0, -1):
        j = stream.below(i + 1)
        out[i], out[j] = out[j], out[i]
    return out


def class_quota(counts, class_fraction):
    """floor(q n_c + 1e-9) of each class, at least 1."""
    return [max(1, math.floor(class_fraction * count + 1e-9)) for count in counts]
