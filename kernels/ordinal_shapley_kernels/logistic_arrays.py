"""The arrays of a logistic game: data, prefix, models and validation rows.

Sizes: n_rows training rows, n_features columns (the constant 1 of the intercept is the last), n_classes
classes, n_models = 1 for two classes (class 1 against class 0) else n_classes (each against the rest),
n_valid validation rows. n_features, capacity and width are the numbers of columns, training rows and
validation rows, padded to the length of a vector register; padding features are 0 in every row.

While the prefix is no longer than `LogisticWorkspace.span_limit`, the features of the models are coordinates
in the span of its rows, one for each row (see `span`); afterwards they are the columns of the data. n_dims is
the larger of the two numbers, padded; `LogisticWorkspace.dimension` is the number in use; n_span is
`span_limit`, padded.

White coordinates: with H = L L^T an earlier Hessian of a model and M = L^-1 its inverse factor, M transforms
gradients and rows, and L^T steps; the earlier Hessian becomes the identity.
"""

from __future__ import annotations

from ordinal_shapley_kernels.raw_rows import RawRows
from ordinal_shapley_kernels.workspace import Cube, IntegerMatrix, Integers, Matrix, Shorts, Vector, Workspace

EPSILON = 2.220446049250313e-16
# Squares of smaller numbers are 0.
UNDERFLOW = 1e-150
# Recent steps kept to correct a stale factor (see logistic_solver).
MEMORY = 4
SOFTMAX_MEMORY = 10

# Rows read at a time where `columns` has no room for them.
BLOCK = 128

# Solver.factor_state
NO_FACTOR = 0
STALE = 1  # reduces the gradient too little: factorise before the next step
USABLE = 2
EXACT = 3  # of the Hessian at the current model

# Solver.at_floor
NO_GRADIENT = -1
NOT_AT_FLOOR = 0
EUCLIDEAN_FLOOR = 1
HESSIAN_FLOOR = 2

# Columns of Solver.bounds
NORM = 0  # of the gradient
ROUNDING = 1  # bound on the rounding error of the gradient
WHITE_NORM = 2  # of the white gradient
SCORE_ROUNDING = 3  # bound on the rounding error of the decision value of a row of norm 1
SHARE = 4  # Hessians between model and optimum are at least this times the factorised one; 0 if unknown
RADIUS = 5  # distance to the optimum in white coordinates, inf if unknown
HALF = 6  # radius of a ball around model - gradient / (2 SHARE) that holds the optimum, in white coordinates
N_BOUNDS = 7


class Training(Workspace):
    """Training rows; never written by kernels.

    Attributes
    ----------
    raw : RawRows
        The rows, unless only products are kept.
    products : float64 (n_rows, padded n_rows) or (0, 0)
        Inner products of each row with all rows, where they are tabulated.
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

    raw: RawRows
    products: Matrix
    norms: Vector
    classes: Integers
    costs: Vector
    player_starts: Integers
    player_rows: Integers
    weight_table: Vector


class Validation(Workspace):
    """Validation rows, and the state of their decisions.

    Attributes
    ----------
    features : float64 (n_valid, n_features)
    columns : float64 (n_features, width)
        The same, feature by feature.
    full_norms : float64 (n_valid,)
        Their norms.
    products : float64 (n_rows, width) or (0, 0)
        Inner products with all training rows, where they are tabulated.
    coordinates : float64 (n_valid, n_span)
        In the span of the prefix; unknown ones are 0.
    coordinate_columns : float64 (n_span, width)
        The same, coordinate by coordinate; only the first `LogisticWorkspace.known_of_all` are valid.
    known : int64 (n_valid,)
        Number of known coordinates of each row.
    norms : float64 (n_valid,)
        Norm of the features in use, or an upper bound where coordinates are unknown.
    truth : int64 (n_valid,)
        Class codes.
    decisions : int64 (n_valid,)
        Written by the certificate.
    scores : float64 (n_models, width)
        Scratch for decision values.
    snapshot_models : float64 (n_models, n_dims)
        Models at which all rows were last scored.
    snapshot_decisions : int64 (n_valid,)
        Decisions of those models.
    snapshot_gaps : float64 (n_valid,)
        Their margins: absolute decision value, or lead over the runner-up.
    white_features : float64 (n_factors, n_valid, n_dims)
        Rows in the white coordinates of each factor, computed on first use.
    leverages : float64 (n_factors, n_valid)
        Their norms.
    stamps : int64 (n_factors, n_valid)
        Stamp (`Solver.factor_stamps`) of the factor that they were computed with.
    log_probabilities : float64 (n_valid,)
        Scratch: of the rows' classes.
    row_scores : float64 (n_models,)
        Scratch.
    order, counts : int64
        Scratch of the metrics; `order` also lists the rows to decide one by one.
    """

    features: Matrix
    columns: Matrix
    full_norms: Vector
    products: Matrix
    coordinates: Matrix
    coordinate_columns: Matrix
    known: Integers
    norms: Vector
    truth: Integers
    decisions: Integers
    scores: Matrix
    snapshot_models: Matrix
    snapshot_decisions: Integers
    snapshot_gaps: Vector
    white_features: Cube
    leverages: Matrix
    stamps: IntegerMatrix
    log_probabilities: Vector
    row_scores: Vector
    order: Integers
    counts: IntegerMatrix


class References(Workspace):
    """Where the model of two classes starts if it was last fitted to a far shorter sequence, or to none.

    Attributes
    ----------
    lengths : int64 (n_lengths,)
        Increasing lengths of sequences; empty if every fit starts from the last one.
    models : float64 (n_lengths, n_features)
        Means of the models of some sequences of that length.
    inverse_factors : float64 (n_lengths, n_features, n_features)
        Inverse Cholesky factors of the means of their Hessians.
    """

    lengths: Integers
    models: Matrix
    inverse_factors: Cube


class Prefix(Workspace):
    """Rows of the current sequence, in order.

    Attributes
    ----------
    rows : int64 (capacity,)
        The training rows.
    columns : float64 (n_dims, room)
        Their features in use, feature by feature, for as many rows as there is room for (see
        `logistic_overflow`).
    features : float64 (n_span + WIDTH, n_features), of softmax models (room + WIDTH, n_features)
        The rows in the columns of the data, row by row: while they have coordinates in the span, and for
        softmax models also later.
    entering : float64 (n_features,)
        The same for a single row, later.
    triangle : float64 (n_span, n_span)
        Their coordinates in the span, row by row.
    block : float64 (n_span + WIDTH, WIDTH)
        Scratch: coordinates of eight entering rows.
    noise : float64 (n_span,)
        For a row whose pivot is only rounding: size up to which the remainder of a product with another row
        of norm 1 counts as 0. Otherwise 0.
    dependent : int64 (n_span,)
        1 or more for rows that may lie in the span of those before them.
    wanted : float64 (n_span + WIDTH,)
        Scratch: inner products with the rows.
    norms : float64 (capacity,)
    largest : float64 (capacity,)
        The largest norm so far.
    base_costs : float64 (capacity,)
        C times sample weight.
    costs : float64 (capacity,)
        The same times the position weight at the current length; 0 in the padding.
    signs : float64 (n_models, capacity)
        +1 for the model's own class, -1 for the rest.
    slopes, trial_slopes : float64 (n_models, capacity)
        Derivative of each row's loss by its decision value, without costs, at the current models and at the
        trials.
    margins, residuals : float64 (n_models, capacity)
        Decision values of the trials, and derivatives with costs.
    values : float64 (n_models, capacity) or (0, 0)
        Decision values of the current models, kept for softmax models.
    scaled : float64 (4, room), of softmax models (padded n_models, capacity)
        Scratch; probabilities times costs for softmax models.
    overflow : float64 (BLOCK, n_features)
        Scratch: rows without columns, row by row.
    overflow_columns : float64 (n_features, BLOCK + WIDTH)
        Scratch: the same, feature by feature.
    overflow_weights : float64 (BLOCK,)
    overflow_values : float64 (n_models, BLOCK)
        Scratch: one number for each of them.
    overflow_order : int32 (capacity - room,)
        Their places in the prefix, in the order of the data.
    overflow_rows : int32 (capacity - room,)
        Their training rows.
    overflow_places : int32 (n_rows,)
        Scratch: the same of each training row; 0 between uses.
    class_counts : int64 (n_classes,)
        Rows with a weight.
    class_masses : float64 (n_classes,)
        Scratch: their weights.
    """

    rows: Integers
    columns: Matrix
    features: Matrix
    entering: Vector
    triangle: Matrix
    block: Matrix
    noise: Vector
    dependent: Integers
    wanted: Vector
    norms: Vector
    largest: Vector
    base_costs: Vector
    costs: Vector
    signs: Matrix
    slopes: Matrix
    trial_slopes: Matrix
    margins: Matrix
    residuals: Matrix
    values: Matrix
    scaled: Matrix
    overflow: Matrix
    overflow_columns: Matrix
    overflow_weights: Vector
    overflow_values: Matrix
    overflow_order: Shorts
    overflow_rows: Shorts
    overflow_places: Shorts
    class_counts: Integers
    class_masses: Vector


class Solver(Workspace):
    """Models and the state of their Newton iterations.

    Attributes
    ----------
    models, gradients, white_gradients : float64 (n_models, n_dims)
    active : int64 (n_models,)
        Models that a step or a gradient is for. Arrays called trial, margins or residuals have a row for each
        of these, in this order.
    trials, trial_gradients, trial_white_gradients : float64 (n_models, n_dims)
        Models that may be better.
    column_models : float64 (n_models, n_features)
        Scratch: models in the span as columns of the data; sums of gradients.
    bounds, trial_bounds : float64 (n_models, N_BOUNDS)
        Bounds of each model, and of the trials.
    sums : float64 (n_models, 4)
        Scratch of a gradient.
    inverse_factors : float64 (n_factors, n_dims, n_dims)
        Inverse Cholesky factors of earlier Hessians: one for each model, and if there are several models one
        more that they share at first.
    factor_stamps : int64 (n_factors,)
        Version of each factor; it only grows.
    factor_of : int64 (n_models,)
        Which factor a model uses.
    factor_curvatures : float64 (n_models, capacity)
        Second derivatives of the rows' losses in that Hessian, 0 for rows that came later.
    factor_leverages : float64 (n_models, capacity)
        Bound on the squared norm of these rows in white coordinates.
    hessian_slack : float64 (n_models, 2)
        Share of the factorised Hessian that may be gone with removed rows; share that may be rounding.
    white_steps, white_changes : float64 (n_models, MEMORY, n_dims)
        Recent steps and the changes of the gradient by them, in a ring buffer.
    curvature_scales : float64 (n_models, MEMORY)
        1 / (step . change).
    pairs : int64 (n_models, 2)
        Number of valid `white_steps`, and the place of the next one.
    factor_state : int64 (n_models,)
        NO_FACTOR, STALE, USABLE or EXACT.
    at_floor : int64 (n_models,)
        NO_GRADIENT at the start of a fit; NOT_AT_FLOOR; EUCLIDEAN_FLOOR if the gradient may be rounding
        alone, or no step shrinks it; HESSIAN_FLOOR if the same holds in the norm of the inverse Hessian.
    hessian_radii : float64 (n_models,)
        At HESSIAN_FLOOR: distance to the optimum in the Hessian's norm, inf if there is no bound.
    restarted : int64 (n_models,)
        1 for models that this fit has restarted from 0.
    involved : int64 (n_models,)
        1 for models that must be improved to decide a validation row.
    pair_products : float64 (MEMORY,)
    directions, white_directions : float64 (n_models, n_dims)
    scales : float64 (n_models,)
        Factor that shortens a direction, 0 while it is unknown.
    penalties : float64 (n_dims,)
        1 for features whose coefficients are penalised, 0 for a free intercept.
    offsets : float64 (n_models,)
        Upper bound on how much longer a row is in white coordinates; 0 unless the intercept is free (see
        `logistic_gradient`).
    intercepts : float64 (padded n_models + 2, padded n_models) or (0, 0)
        Scratch: a system of equations for the intercepts of softmax models.
    """

    models: Matrix
    gradients: Matrix
    white_gradients: Matrix
    active: Integers
    trials: Matrix
    trial_gradients: Matrix
    trial_white_gradients: Matrix
    column_models: Matrix
    bounds: Matrix
    trial_bounds: Matrix
    sums: Matrix
    inverse_factors: Cube
    factor_stamps: Integers
    factor_of: Integers
    factor_curvatures: Matrix
    factor_leverages: Matrix
    hessian_slack: Matrix
    white_steps: Cube
    white_changes: Cube
    curvature_scales: Matrix
    pairs: IntegerMatrix
    factor_state: Integers
    at_floor: Integers
    hessian_radii: Vector
    restarted: Integers
    involved: Integers
    pair_products: Vector
    directions: Matrix
    white_directions: Matrix
    scales: Vector
    penalties: Vector
    offsets: Vector
    intercepts: Matrix
