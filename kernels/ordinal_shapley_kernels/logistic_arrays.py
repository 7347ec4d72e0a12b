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
    """Training rows; never written by kernels."""

    raw: RawRows  # the rows, unless only products are kept
    # (n_rows, padded n_rows) or (0, 0): inner products of each row with all rows, where they are tabulated.
    products: Matrix
    norms: Vector  # (n_rows,): Euclidean norm of each row
    classes: Integers  # (n_rows,): class codes
    costs: Vector  # (n_rows,): C times the sample weight
    player_starts: Integers  # (n_players + 1,)
    # (n_rows,): rows of player p, in the order in which they enter:
    # player_rows[player_starts[p]:player_starts[p+1]].
    player_rows: Integers
    weight_table: Vector  # packed triangle of tabulated position weights, or empty


class Validation(Workspace):
    """Validation rows, and the state of their decisions."""

    features: Matrix  # (n_valid, n_features)
    columns: Matrix  # (n_features, width): the same, feature by feature
    full_norms: Vector  # (n_valid,): their norms
    # (n_rows, width) or (0, 0): inner products with all training rows, where they are tabulated.
    products: Matrix
    coordinates: Matrix  # (n_valid, n_span): in the span of the prefix; unknown ones are 0
    # (n_span, width): the same, coordinate by coordinate; only the first `LogisticWorkspace.known_of_all` are
    # valid.
    coordinate_columns: Matrix
    known: Integers  # (n_valid,): number of known coordinates of each row
    norms: Vector  # (n_valid,): norm of the features in use, or an upper bound where coordinates are unknown
    truth: Integers  # (n_valid,): class codes
    decisions: Integers  # (n_valid,): written by the certificate
    scores: Matrix  # (n_models, width): scratch for decision values
    snapshot_models: Matrix  # (n_models, n_dims): models at which all rows were last scored
    snapshot_decisions: Integers  # (n_valid,): decisions of those models
    snapshot_gaps: Vector  # (n_valid,): their margins: absolute decision value, or lead over the runner-up
    # (n_factors, n_valid, n_dims): rows in the white coordinates of each factor, computed on first use.
    white_features: Cube
    leverages: Matrix  # (n_factors, n_valid): their norms
    # (n_factors, n_valid): stamp (`Solver.factor_stamps`) of the factor that they were computed with.
    stamps: IntegerMatrix
    log_probabilities: Vector  # (n_valid,): scratch: of the rows' classes
    row_scores: Vector  # (n_models,): scratch
    # order, counts: scratch of the metrics; `order` also lists the rows to decide one by one.
    order: Integers
    counts: IntegerMatrix


class References(Workspace):
    """Where the model of two classes starts if it was last fitted to a far shorter sequence, or to none."""

    # (n_lengths,): increasing lengths of sequences; empty if every fit starts from the last one.
    lengths: Integers
    models: Matrix  # (n_lengths, n_features): means of the models of some sequences of that length
    # (n_lengths, n_features, n_features): inverse Cholesky factors of the means of their Hessians.
    inverse_factors: Cube


class Prefix(Workspace):
    """Rows of the current sequence, in order."""

    rows: Integers  # (capacity,): the training rows
    # (n_dims, room): their features in use, feature by feature, for as many rows as there is room for (see
    # `logistic_overflow`).
    columns: Matrix
    # (n_span + WIDTH, n_features), of softmax models (room + WIDTH, n_features): the rows in the columns of
    # the data, row by row: while they have coordinates in the span, and for softmax models also later.
    features: Matrix
    entering: Vector  # (n_features,): the same for a single row, later
    triangle: Matrix  # (n_span, n_span): their coordinates in the span, row by row
    block: Matrix  # (n_span + WIDTH, WIDTH): scratch: coordinates of eight entering rows
    # (n_span,): for a row whose pivot is only rounding: size up to which the remainder of a product with
    # another row of norm 1 counts as 0. Otherwise 0.
    noise: Vector
    dependent: Integers  # (n_span,): 1 or more for rows that may lie in the span of those before them
    wanted: Vector  # (n_span + WIDTH,): scratch: inner products with the rows
    norms: Vector  # (capacity,)
    largest: Vector  # (capacity,): the largest norm so far
    base_costs: Vector  # (capacity,): C times sample weight
    costs: Vector  # (capacity,): the same times the position weight at the current length; 0 in the padding
    signs: Matrix  # (n_models, capacity): +1 for the model's own class, -1 for the rest
    # slopes, trial_slopes (n_models, capacity): derivative of each row's loss by its decision value, without
    # costs, at the current models and at the trials.
    slopes: Matrix
    trial_slopes: Matrix
    # margins, residuals (n_models, capacity): decision values of the trials, and derivatives with costs.
    margins: Matrix
    residuals: Matrix
    # (n_models, capacity) or (0, 0): decision values of the current models, kept for softmax models.
    values: Matrix
    # (4, room), of softmax models (padded n_models, capacity): scratch; probabilities times costs for softmax
    # models.
    scaled: Matrix
    overflow: Matrix  # (BLOCK, n_features): scratch: rows without columns, row by row
    overflow_columns: Matrix  # (n_features, BLOCK + WIDTH): scratch: the same, feature by feature
    overflow_weights: Vector  # (BLOCK,)
    overflow_values: Matrix  # (n_models, BLOCK): scratch: one number for each of them
    overflow_order: Shorts  # (capacity - room,): their places in the prefix, in the order of the data
    overflow_rows: Shorts  # (capacity - room,): their training rows
    overflow_places: Shorts  # (n_rows,): scratch: the same of each training row; 0 between uses
    class_counts: Integers  # (n_classes,): rows with a weight
    class_masses: Vector  # (n_classes,): scratch: their weights


class Solver(Workspace):
    """Models and the state of their Newton iterations."""

    # models, gradients, white_gradients (n_models, n_dims)
    models: Matrix
    gradients: Matrix
    white_gradients: Matrix
    # (n_models,): models that a step or a gradient is for. Arrays called trial, margins or residuals have a
    # row for each of these, in this order.
    active: Integers
    # trials, trial_gradients, trial_white_gradients (n_models, n_dims): models that may be better.
    trials: Matrix
    trial_gradients: Matrix
    trial_white_gradients: Matrix
    # (n_models, n_features): scratch: models in the span as columns of the data; sums of gradients.
    column_models: Matrix
    # bounds, trial_bounds (n_models, N_BOUNDS): bounds of each model, and of the trials.
    bounds: Matrix
    trial_bounds: Matrix
    sums: Matrix  # (n_models, 4): scratch of a gradient
    # (n_factors, n_dims, n_dims): inverse Cholesky factors of earlier Hessians: one for each model, and if
    # there are several models one more that they share at first.
    inverse_factors: Cube
    factor_stamps: Integers  # (n_factors,): version of each factor; it only grows
    factor_of: Integers  # (n_models,): which factor a model uses
    # (n_models, capacity): second derivatives of the rows' losses in that Hessian, 0 for rows that came
    # later.
    factor_curvatures: Matrix
    # (n_models, capacity): bound on the squared norm of these rows in white coordinates.
    factor_leverages: Matrix
    # (n_models, 2): share of the factorised Hessian that may be gone with removed rows; share that may be
    # rounding.
    hessian_slack: Matrix
    # white_steps, white_changes (n_models, MEMORY, n_dims): recent steps and the changes of the gradient by
    # them, in a ring buffer.
    white_steps: Cube
    white_changes: Cube
    # (n_models, MEMORY): 1 / (step . change).
    curvature_scales: Matrix
    pairs: IntegerMatrix  # (n_models, 2): number of valid `white_steps`, and the place of the next one
    factor_state: Integers  # (n_models,): NO_FACTOR, STALE, USABLE or EXACT
    # (n_models,): NO_GRADIENT at the start of a fit; NOT_AT_FLOOR; EUCLIDEAN_FLOOR if the gradient may be
    # rounding alone, or no step shrinks it; HESSIAN_FLOOR if the same holds in the norm of the inverse
    # Hessian.
    at_floor: Integers
    # (n_models,): at HESSIAN_FLOOR: distance to the optimum in the Hessian's norm, inf if there is no bound.
    hessian_radii: Vector
    restarted: Integers  # (n_models,): 1 for models that this fit has restarted from 0
    involved: Integers  # (n_models,): 1 for models that must be improved to decide a validation row
    pair_products: Vector  # (MEMORY,)
    # directions, white_directions (n_models, n_dims)
    directions: Matrix
    white_directions: Matrix
    scales: Vector  # (n_models,): factor that shortens a direction, 0 while it is unknown
    penalties: Vector  # (n_dims,): 1 for features whose coefficients are penalised, 0 for a free intercept
    # (n_models,): upper bound on how much longer a row is in white coordinates; 0 unless the intercept is
    # free (see `logistic_gradient`).
    offsets: Vector
    # (padded n_models + 2, padded n_models) or (0, 0): scratch: a system of equations for the intercepts of
    # softmax models.
    intercepts: Matrix
