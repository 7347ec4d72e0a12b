"""What a logistic game holds while a sequence grows: data, prefix, models and validation rows.

Sizes: n_rows training rows, n_features columns (the constant 1 of the intercept is the last), n_classes
classes, n_models = 1 for two classes (class 1 against class 0) else n_classes (each against the rest),
n_valid validation rows. n_features, capacity and width are the numbers of columns, training rows and
validation rows, padded to the length of a vector register; padding features are 0 in every row.

With more columns than rows ("wide" data) only inner products of rows are kept, and the features that models
work with are coordinates in the span of the prefix, one more for each of its rows (see `span`): n_features
is then n_rows, padded, and `Solver.extent` says how many are in use.

White coordinates: with H = L L^T an earlier Hessian of a model and M = L^-1 its inverse factor, M takes
gradients and rows, L^T takes steps there; the earlier Hessian is the identity.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley_kernels.lanes import WIDTH, padded

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

EPSILON = 2.220446049250313e-16
# Recent steps kept to correct a stale factor (see logistic_solver).
MEMORY = 4

# counters
LENGTH = 0  # rows in the prefix
CLASSES_PRESENT = 1
UNCONVERGED = 2  # fits whose ties rest on no bound: too many steps, or features of too wild a scale
SNAPSHOT = 3  # 1 while Validation.snapshot_* are of use
HARDEST = 4  # validation row that was the last to be decided
SCORED_ALONE = 5  # validation rows scored one by one since the snapshot
WHITENINGS_LEFT = 6  # validation rows that may still be whitened before the next step
N_COUNTERS = 7

# Solver.extent
DIMENSION = 0  # features in use, padded
TRIANGULAR = 1  # 1 for wide data: row i of the prefix has i + 1 features, the others are 0

# Solver.at_floor
NO_GRADIENT = -1
NOT_AT_FLOOR = 0
EUCLIDEAN_FLOOR = 1
HESSIAN_FLOOR = 2

# Columns of Solver.facts
NORM = 0  # of the gradient
ROUNDING = 1  # bound on what rounding may have done to the gradient
WHITE_NORM = 2  # of the white gradient
SCORE_ROUNDING = 3  # bound on what rounding does to the decision value of a row of norm 1
SHARE = 4  # the Hessian between model and optimum is at least this times the factorised one, 0 if unknown
RADIUS = 5  # distance to the optimum in white coordinates, inf if unknown
HALF = 6  # radius of a ball around model - gradient / (2 SHARE), in white coordinates, that holds it
N_FACTS = 7


class Training(NamedTuple):
    """Training rows; never written by kernels.

    Attributes
    ----------
    features : float64 (n_rows, n_features)
        Wide data: inner products of each row with all.
    norms : float64 (n_rows,)
        Euclidean norm of each row.
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
    products : float64 (n_rows, width)
        Wide data: inner products with all training rows; else empty.
    norms : float64 (n_valid,)
        Of the features in use.
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
        By how much: decision value, or lead over the runner-up.
    white_features : float64 (n_models, n_valid, n_features)
        Rows in white coordinates, made when first asked for.
    levers : float64 (n_models, n_valid)
        Their norms.
    stamps : int64 (n_models, n_valid)
        The factor (`Solver.factor_stamps`) that they were made with.
    row_scores : float64 (n_models,)
        Scratch.
    order, counts : int64
        Scratch of the metrics; `order` lists rows to decide one by one as well.
    """

    features: Floats
    columns: Floats
    products: Floats
    norms: Floats
    truth: Ints
    decisions: Ints
    scores: Floats
    snapshot_models: Floats
    snapshot_decisions: Ints
    snapshot_gaps: Floats
    white_features: Floats
    levers: Floats
    stamps: Ints
    row_scores: Floats
    order: Ints
    counts: Ints


class Prefix(NamedTuple):
    """Rows of the sequence at hand, in order.

    Attributes
    ----------
    columns : float64 (n_features, capacity)
    norms : float64 (capacity,)
    largest : float64 (capacity,)
        The largest norm so far.
    base_costs : float64 (capacity,)
        C times sample weight.
    costs : float64 (capacity,)
        The same times the position weight for the current length; 0 in the padding.
    signs : float64 (n_models, capacity)
        +1 for the model's own class, -1 for the rest.
    slopes : float64 (n_models, capacity)
        Derivative of each row's loss by its decision value, without costs, at the models at hand.
    trial_slopes, margins, residuals : float64 (capacity,)
        Scratch of a gradient pass: the same at a trial, decision values, derivatives with costs.
    scaled : float64 (4, capacity)
        Scratch.
    class_counts : int64 (n_classes,)
    rows : int64 (capacity,)
        Wide data: the training rows.
    entering : float64 (n_features,)
        Features of the row that was placed last.
    """

    columns: Floats
    norms: Floats
    largest: Floats
    base_costs: Floats
    costs: Floats
    signs: Floats
    slopes: Floats
    trial_slopes: Floats
    margins: Floats
    residuals: Floats
    scaled: Floats
    class_counts: Ints
    rows: Ints
    entering: Floats


class Solver(NamedTuple):
    """Models and what the Newton iteration remembers of them.

    Attributes
    ----------
    extent : int64 (2,)
        DIMENSION and TRIANGULAR.
    models, gradients, white_gradients : float64 (n_models, n_features)
    facts : float64 (n_models + 1, N_FACTS)
        What is known of each model and, in the last row, of the trial.
    inverse_factors : float64 (n_models, n_features, n_features)
        Inverse Cholesky factor of an earlier Hessian.
    factor_stamps : int64 (n_models,)
        Number of the factor; it only grows.
    factor_curvatures : float64 (n_models, capacity)
        Second derivatives of the rows' losses in that Hessian, 0 for rows that came later.
    factor_levers : float64 (n_models, capacity)
        Bound on the squared norm of these rows in white coordinates.
    factor_losses : float64 (n_models, 2)
        Share of the factorised Hessian that may have left with rows that were removed; share that rounding
        may have made up.
    white_steps, white_changes : float64 (n_models, MEMORY, n_features)
        Recent steps and the changes of gradient that they made, a ring.
    curvature_scales : float64 (n_models, MEMORY)
        1 / (step . change).
    pairs : int64 (n_models, 2)
        How many of `white_steps` are valid, and where the next one goes.
    factor_state : int64 (n_models,)
        NO_FACTOR, STALE, USABLE or EXACT.
    at_floor : int64 (n_models,)
        NO_GRADIENT at the start of a fit; NOT_AT_FLOOR; EUCLIDEAN_FLOOR when rounding may account for all
        of the gradient, or no step makes it smaller; HESSIAN_FLOOR when the same is true in the norm of the
        inverse Hessian.
    hessian_radii : float64 (n_models,)
        At HESSIAN_FLOOR: distance to the optimum in the Hessian's norm, inf if there is no bound.
    restarted : int64 (n_models,)
        1 for models that this fit has started again from 0.
    involved : int64 (n_models,)
        1 for models whose accuracy an undecided validation row waits for.
    pair_products : float64 (MEMORY,)
    trial, trial_gradient, trial_white_gradient, direction, white_direction : float64 (n_features,)
    """

    extent: Ints
    models: Floats
    gradients: Floats
    white_gradients: Floats
    facts: Floats
    inverse_factors: Floats
    factor_stamps: Ints
    factor_curvatures: Floats
    factor_levers: Floats
    factor_losses: Floats
    white_steps: Floats
    white_changes: Floats
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
    trial_white_gradient: Floats
    direction: Floats
    white_direction: Floats


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
        Number of terms in a decision value, for the rounding bound; of wide data what an inner product may
        be off, in units of eps times the lengths of its rows.
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


def _zeros(*shape: int) -> Floats:
    """Zeros that begin at a cache line: vector loads that straddle two take twice the time."""
    size = math.prod(shape)
    room = np.zeros(size + WIDTH)
    start = -room.ctypes.data % (8 * WIDTH) // 8
    return room[start : start + size].reshape(shape)


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
    wide: bool,
) -> LogisticWorkspace:
    """Allocate the workspace of one worker; read-only, unaligned or strided arrays are copied.

    The arguments are those of `Training`, `Validation` and `LogisticWorkspace`; with `wide` features are
    inner products with the training rows. Large buffers come from
    np.zeros, so the memory of rows that no walk reaches is never touched.
    """

    def own(array: NDArray[Any], dtype: type) -> NDArray[Any]:
        return np.require(array, dtype, ["C", "A", "W", "O"])

    n_rows, n_features = features.shape[0], padded(features.shape[1])
    n_valid = valid_features.shape[0]
    n_models = 1 if n_classes == 2 else n_classes
    # An odd number of cache lines a column, so that columns do not fall into the same cache sets.
    capacity = padded(n_rows)
    capacity += WIDTH if capacity % (2 * WIDTH) == 0 else 0
    width = padded(n_valid)
    rows = _zeros(n_rows, n_features)
    rows[:, : features.shape[1]] = features
    valid_rows = _zeros(n_valid, n_features)
    columns = _zeros(n_features, width)
    products = _zeros(n_rows if wide else 0, width)
    if wide:
        products[:, :n_valid] = valid_features.T
        squares = np.diagonal(features)
    else:
        valid_rows[:, : features.shape[1]] = valid_features
        columns[:, :n_valid] = valid_rows.T
        squares = np.einsum("ij,ij->i", rows, rows)

    def integers(*shape: int) -> Ints:
        return np.zeros(shape, np.int64)

    return LogisticWorkspace(
        Training(
            rows,
            np.sqrt(squares),
            own(classes, np.int64),
            own(costs, np.float64),
            own(player_starts, np.int64),
            own(player_rows, np.int64),
            own(weight_table, np.float64),
        ),
        Validation(
            features=valid_rows,
            columns=columns,
            products=products,
            norms=np.sqrt(np.einsum("ij,ij->i", valid_rows, valid_rows)),
            truth=own(truth, np.int64),
            decisions=integers(n_valid),
            scores=_zeros(n_models, width),
            snapshot_models=_zeros(n_models, n_features),
            snapshot_decisions=integers(n_valid),
            snapshot_gaps=_zeros(n_valid),
            white_features=_zeros(n_models, n_valid, n_features),
            levers=_zeros(n_models, n_valid),
            stamps=integers(n_models, n_valid),
            row_scores=_zeros(n_models),
            order=integers(n_valid),
            counts=integers(3, n_classes),
        ),
        Prefix(
            columns=_zeros(n_features, capacity),
            norms=_zeros(capacity),
            largest=_zeros(capacity),
            base_costs=_zeros(capacity),
            costs=_zeros(capacity),
            signs=_zeros(n_models, capacity),
            slopes=_zeros(n_models, capacity),
            trial_slopes=_zeros(capacity),
            margins=_zeros(capacity),
            residuals=_zeros(capacity),
            scaled=_zeros(4, capacity),
            class_counts=integers(n_classes),
            rows=integers(capacity),
            entering=_zeros(n_features),
        ),
        Solver(
            extent=np.array([0, 1] if wide else [n_features, 0], np.int64),
            models=_zeros(n_models, n_features),
            gradients=_zeros(n_models, n_features),
            white_gradients=_zeros(n_models, n_features),
            facts=_zeros(n_models + 1, N_FACTS),
            inverse_factors=_zeros(n_models, n_features, n_features),
            factor_stamps=integers(n_models),
            factor_curvatures=_zeros(n_models, capacity),
            factor_levers=_zeros(n_models, capacity),
            factor_losses=_zeros(n_models, 2),
            white_steps=_zeros(n_models, MEMORY, n_features),
            white_changes=_zeros(n_models, MEMORY, n_features),
            curvature_scales=_zeros(n_models, MEMORY),
            pairs=integers(n_models, 2),
            factor_state=integers(n_models),
            at_floor=integers(n_models),
            hessian_radii=_zeros(n_models),
            restarted=integers(n_models),
            involved=integers(n_models),
            pair_products=_zeros(MEMORY),
            trial=_zeros(n_features),
            trial_gradient=_zeros(n_features),
            trial_white_gradient=_zeros(n_features),
            direction=_zeros(n_features),
            white_direction=_zeros(n_features),
        ),
        integers(N_COUNTERS),
        int(scoring),
        int(weight_kind),
        float(empty_value),
        float(rounding_dimension),
        float(radius_tolerance),
    )
