"""What a logistic game holds while a sequence grows: data, prefix, models and validation rows.

Sizes: n_rows training rows, n_features columns (the constant 1 of the intercept is the last), n_classes
classes, n_models = 1 for two classes (class 1 against class 0) else n_classes (each against the rest),
n_valid validation rows; capacity and width are n_rows and n_valid padded to the vector length.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Loops over rows run to the next multiple of this (the padding has cost 0), so that no vector loop ends
# in a scalar tail.
PADDING = 16
# Recent steps kept to correct a stale factor (see logistic_solver).
MEMORY = 12

# counters
LENGTH = 0  # rows in the prefix
CLASSES_PRESENT = 1
UNCONVERGED = 2  # fits whose ties rest on no bound: too many steps, or features of too wild a scale
SNAPSHOT = 3  # 1 while Validation.snapshot_* are of use
HARDEST = 4  # validation row that was the last to be decided
SCORED_ALONE = 5  # validation rows scored one by one since the snapshot
N_COUNTERS = 6

# Solver.at_floor
NOT_AT_FLOOR = 0
EUCLIDEAN_FLOOR = 1
HESSIAN_FLOOR = 2


class Training(NamedTuple):
    """Training rows; never written by kernels.

    Attributes
    ----------
    features : float64 (n_rows, n_features)
    norms : float64 (n_rows,)
        Euclidean norm of each row of `features`.
    classes : int64 (n_rows,)
        Class codes.
    costs : float64 (n_rows,)
        C times the sample weight.
    player_starts : int64 (n_players + 1,)
    player_rows : int64 (n_rows,)
        Rows of player p, in the order in which they enter: player_rows[player_starts[p]:player_starts[p+1]].
    weight_table : float64
        Packed triangle of tabulated position weights, or empty.
    """

    features: Floats
    norms: Floats
    classes: Ints
    costs: Floats
    player_starts: Ints
    player_rows: Ints
    weight_table: Floats


class Validation(NamedTuple):
    """Validation rows and what is known of their decisions.

    Attributes
    ----------
    features : float64 (n_valid, n_features)
    columns : float64 (n_features, width)
        The same, feature by feature.
    norms : float64 (n_valid,)
    truth : int64 (n_valid,)
        Class codes.
    decisions : int64 (n_valid,)
        Written by the certificate.
    scores : float64 (n_models, width)
        Scratch for decision values.
    snapshot_models : float64 (n_models, n_features)
        Models at which all rows were last scored.
    snapshot_decisions : int64 (n_valid,)
        What those models decide.
    snapshot_gaps : float64 (n_valid,)
        By how much, as a distance in model space: decision value, or lead over the runner-up, divided
        by the norm of the row.
    row_scores : float64 (n_models,)
        Scratch.
    order, counts : int64
        Scratch of the metrics.
    """

    features: Floats
    columns: Floats
    norms: Floats
    truth: Ints
    decisions: Ints
    scores: Floats
    snapshot_models: Floats
    snapshot_decisions: Ints
    snapshot_gaps: Floats
    row_scores: Floats
    order: Ints
    counts: Ints


class Prefix(NamedTuple):
    """Rows of the sequence at hand, in order.

    Attributes
    ----------
    columns : float64 (n_features, capacity)
    norms : float64 (capacity,)
    base_costs : float64 (capacity,)
        C times sample weight.
    costs : float64 (capacity,)
        The same times the position weight for the current length; 0 in the padding.
    signs : float64 (n_models, capacity)
        +1 for the model's own class, -1 for the rest.
    margins, residuals, curvatures : float64 (capacity,)
        Scratch of a gradient pass: decision values, derivatives of the loss, second derivatives.
    class_counts : int64 (n_classes,)
    """

    columns: Floats
    norms: Floats
    base_costs: Floats
    costs: Floats
    signs: Floats
    margins: Floats
    residuals: Floats
    curvatures: Floats
    class_counts: Ints


class Solver(NamedTuple):
    """Models and what the Newton iteration remembers of them.

    Attributes
    ----------
    models, gradients : float64 (n_models, n_features)
    gradient_norms, rounding : float64 (n_models,)
        Norm of the gradient, and a bound on what rounding may hide.
    inverse_factors : float64 (n_models, n_features, n_features)
        Inverse Cholesky factor of an earlier Hessian.
    steps, changes : float64 (n_models, MEMORY, n_features)
        Recent steps and the changes of gradient that they made, a ring.
    curvature_scales : float64 (n_models, MEMORY)
        1 / (step . change).
    pairs : int64 (n_models, 2)
        How many of `steps` are valid, and where the next one goes.
    factor_state : int64 (n_models,)
        NO_FACTOR, STALE, USABLE or EXACT.
    at_floor : int64 (n_models,)
        NOT_AT_FLOOR; EUCLIDEAN_FLOOR when rounding may account for all of the gradient, or no step makes
        it smaller; HESSIAN_FLOOR when the same is true in the norm of the inverse Hessian.
    hessian_radii : float64 (n_models,)
        At HESSIAN_FLOOR: distance to the optimum in the Hessian's norm, inf if there is no bound.
    restarted : int64 (n_models,)
        1 for models that this fit has started again from 0.
    involved : int64 (n_models,)
        1 for models whose accuracy an undecided validation row waits for.
    pair_products : float64 (MEMORY,)
    trial, trial_gradient, direction, scratch : float64 (n_features,)
    hessian : float64 (n_features, n_features)
    """

    models: Floats
    gradients: Floats
    gradient_norms: Floats
    rounding: Floats
    inverse_factors: Floats
    steps: Floats
    changes: Floats
    curvature_scales: Floats
    pairs: Ints
    factor_state: Ints
    at_floor: Ints
    hessian_radii: Floats
    restarted: Ints
    involved: Ints
    pair_products: Floats
    trial: Floats
    trial_gradient: Floats
    direction: Floats
    scratch: Floats
    hessian: Floats


class LogisticWorkspace(NamedTuple):
    """Nopython side of a LogisticGame.

    Attributes
    ----------
    training, validation, prefix, solver
        See those classes.
    counters : int64 (N_COUNTERS,)
    scoring : int
        A code of `scoring`.
    weight_kind : int
        A code of `position_weights`.
    empty_value : float
        Utility of a sequence that lacks a class.
    rounding_dimension : float
        Number of terms in a decision value, for the rounding bound.
    radius_tolerance : float
        For metrics without a certificate: how far a model may be from the converged one; negative for
        those with one.
    """

    training: Training
    validation: Validation
    prefix: Prefix
    solver: Solver
    counters: Ints
    scoring: int
    weight_kind: int
    empty_value: float
    rounding_dimension: float
    radius_tolerance: float


def _padded(n: int) -> int:
    return -(-n // PADDING) * PADDING


def make_workspace(
    features: Floats,
    classes: Ints,
    costs: Floats,
    player_starts: Ints,
    player_rows: Ints,
    weight_table: Floats,
    valid_features: Floats,
    truth: Ints,
    n_classes: int,
    scoring: int,
    weight_kind: int,
    empty_value: float,
    rounding_dimension: float,
    radius_tolerance: float,
) -> LogisticWorkspace:
    """Allocate the workspace of one worker; read-only, unaligned or strided arrays are copied.

    The arguments are those of `Training`, `Validation` and `LogisticWorkspace`. Large buffers come from
    np.zeros, so the memory of rows that no walk reaches is never touched.
    """

    def own(array: NDArray[Any], dtype: type) -> NDArray[Any]:
        return np.require(array, dtype, ["C", "A", "W", "O"])

    features = own(features, np.float64)
    valid_features = own(valid_features, np.float64)
    n_rows, n_features = features.shape
    n_valid = valid_features.shape[0]
    n_models = 1 if n_classes == 2 else n_classes
    # An odd number of cache lines a column, so that columns do not fall into the same cache sets.
    capacity = _padded(n_rows)
    capacity += 8 if capacity % 16 == 0 else 0
    width = _padded(n_valid)
    columns = np.zeros((n_features, width))
    columns[:, :n_valid] = valid_features.T
    zeros = np.zeros
    return LogisticWorkspace(
        Training(
            features,
            np.sqrt(np.einsum("ij,ij->i", features, features)),
            own(classes, np.int64),
            own(costs, np.float64),
            own(player_starts, np.int64),
            own(player_rows, np.int64),
            own(weight_table, np.float64),
        ),
        Validation(
            valid_features,
            columns,
            np.sqrt(np.einsum("ij,ij->i", valid_features, valid_features)),
            own(truth, np.int64),
            zeros(n_valid, np.int64),
            zeros((n_models, width)),
            zeros((n_models, n_features)),
            zeros(n_valid, np.int64),
            zeros(n_valid),
            zeros(n_models),
            zeros(n_valid, np.int64),
            zeros((3, n_classes), np.int64),
        ),
        Prefix(
            zeros((n_features, capacity)),
            zeros(capacity),
            zeros(capacity),
            zeros(capacity),
            zeros((n_models, capacity)),
            zeros(capacity),
            zeros(capacity),
            zeros(capacity),
            zeros(n_classes, np.int64),
        ),
        Solver(
            zeros((n_models, n_features)),
            zeros((n_models, n_features)),
            zeros(n_models),
            zeros(n_models),
            zeros((n_models, n_features, n_features)),
            zeros((n_models, MEMORY, n_features)),
            zeros((n_models, MEMORY, n_features)),
            zeros((n_models, MEMORY)),
            zeros((n_models, 2), np.int64),
            zeros(n_models, np.int64),
            zeros(n_models, np.int64),
            zeros(n_models),
            zeros(n_models, np.int64),
            zeros(n_models, np.int64),
            zeros(MEMORY),
            zeros(n_features),
            zeros(n_features),
            zeros(n_features),
            zeros(n_features),
            zeros((n_features, n_features)),
        ),
        zeros(N_COUNTERS, np.int64),
        int(scoring),
        int(weight_kind),
        float(empty_value),
        float(rounding_dimension),
        float(radius_tolerance),
    )
