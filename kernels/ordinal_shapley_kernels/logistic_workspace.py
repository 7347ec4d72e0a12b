"""What a logistic game holds while a sequence grows: data, prefix, models and validation rows.

Sizes: n_rows training rows, n_features columns (the constant 1 of the intercept is the last), n_classes
classes, n_models = 1 for two classes (class 1 against class 0) else n_classes (each against the rest),
n_valid validation rows. n_features, capacity and width are the numbers of columns, training rows and
validation rows, padded to the length of a vector register; padding features are 0 in every row.

With more columns than rows ("wide" data) only inner products of rows are kept, and the features that models
work with are coordinates in the span of the prefix, one more for each of its rows (see `span`): n_features
is then n_rows, padded, and `LogisticWorkspace.dimension` says how many are in use.

White coordinates: with H = L L^T an earlier Hessian of a model and M = L^-1 its inverse factor, M takes
gradients and rows, L^T takes steps there; the earlier Hessian is the identity.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley_kernels.games import Game, GameFunctions
from ordinal_shapley_kernels.lanes import WIDTH, padded
from ordinal_shapley_kernels.workspace import (
    Cube,
    IntegerMatrix,
    Integers,
    Matrix,
    Vector,
    Workspace,
    cache_aligned,
)

EPSILON = 2.220446049250313e-16
# Recent steps kept to correct a stale factor (see logistic_solver).
MEMORY = 4

# Solver.at_floor
NO_GRADIENT = -1
NOT_AT_FLOOR = 0
EUCLIDEAN_FLOOR = 1
HESSIAN_FLOOR = 2

# Columns of Solver.bounds
NORM = 0  # of the gradient
ROUNDING = 1  # bound on what rounding may have done to the gradient
WHITE_NORM = 2  # of the white gradient
SCORE_ROUNDING = 3  # bound on what rounding does to the decision value of a row of norm 1
SHARE = 4  # the Hessian between model and optimum is at least this times the factorised one, 0 if unknown
RADIUS = 5  # distance to the optimum in white coordinates, inf if unknown
HALF = 6  # radius of a ball around model - gradient / (2 SHARE), in white coordinates, that holds it
N_BOUNDS = 7


class Training(Workspace):
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

    features: Matrix
    norms: Vector
    classes: Integers
    costs: Vector
    player_starts: Integers
    player_rows: Integers
    weight_table: Vector


class Validation(Workspace):
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
    leverages : float64 (n_models, n_valid)
        Their norms.
    stamps : int64 (n_models, n_valid)
        The factor (`Solver.factor_stamps`) that they were made with.
    row_scores : float64 (n_models,)
        Scratch.
    order, counts : int64
        Scratch of the metrics; `order` lists rows to decide one by one as well.
    """

    features: Matrix
    columns: Matrix
    products: Matrix
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
    row_scores: Vector
    order: Integers
    counts: IntegerMatrix


class Prefix(Workspace):
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
    slopes : float64 (n_models + 1, capacity)
        Derivative of each row's loss by its decision value, without costs, at the models at hand and, in the
        last row, at the trial.
    margins, residuals : float64 (capacity,)
        Scratch of a gradient pass: decision values, derivatives with costs.
    scaled : float64 (4, capacity)
        Scratch.
    class_counts : int64 (n_classes,)
    rows : int64 (capacity,)
        Wide data: the training rows.
    entering : float64 (n_features,)
        Features of the row that was pushed last.
    """

    columns: Matrix
    norms: Vector
    largest: Vector
    base_costs: Vector
    costs: Vector
    signs: Matrix
    slopes: Matrix
    margins: Vector
    residuals: Vector
    scaled: Matrix
    class_counts: Integers
    rows: Integers
    entering: Vector


class Solver(Workspace):
    """Models and what the Newton iteration remembers of them.

    Attributes
    ----------
    models, gradients, white_gradients : float64 (n_models + 1, n_features)
        The last row is the trial, a model that may be better.
    bounds : float64 (n_models + 1, N_BOUNDS)
        What is known of each model and of the trial.
    inverse_factors : float64 (n_models, n_features, n_features)
        Inverse Cholesky factor of an earlier Hessian.
    factor_stamps : int64 (n_models,)
        Number of the factor; it only grows.
    factor_curvatures : float64 (n_models, capacity)
        Second derivatives of the rows' losses in that Hessian, 0 for rows that came later.
    factor_leverages : float64 (n_models, capacity)
        Bound on the squared norm of these rows in white coordinates.
    hessian_slack : float64 (n_models, 2)
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
    direction, white_direction : float64 (n_features,)
    """

    models: Matrix
    gradients: Matrix
    white_gradients: Matrix
    bounds: Matrix
    inverse_factors: Cube
    factor_stamps: Integers
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
    direction: Vector
    white_direction: Vector


class LogisticWorkspace(Game):
    """Nopython side of a LogisticGame.

    Attributes
    ----------
    training, validation, prefix, solver
        See those classes.
    n_models : int
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
    length : int
        Rows in the prefix.
    classes_present : int
    dimension : int
        Features in use, padded.
    triangular : int
        1 for wide data: row i of the prefix has i + 1 features, the others are 0.
    has_snapshot : int
        1 while `Validation.snapshot_*` are of use.
    hardest : int
        Validation row that was the last to be decided.
    scored_alone : int
        Validation rows scored one by one since the snapshot.
    whitenings_left : int
        Validation rows that may still be whitened before the next step.
    """

    training: Training
    validation: Validation
    prefix: Prefix
    solver: Solver
    n_models: int
    scoring: int
    weight_kind: int
    empty_value: float
    rounding_dimension: float
    radius_tolerance: float
    length: int
    classes_present: int
    dimension: int
    triangular: int
    has_snapshot: int
    hardest: int
    scored_alone: int
    whitenings_left: int


def aligned(rows: NDArray[np.float64], n_columns: int) -> NDArray[np.float64]:
    """Copy rows into some of `n_columns`, padded with 0, that begin at a cache line."""
    out = cache_aligned((len(rows), n_columns))
    out[:, : rows.shape[1]] = rows
    return out


def make_workspace(
    functions: GameFunctions,
    scoring: int,
    wide: bool,
    features: NDArray[np.float64],
    norms: NDArray[np.float64],
    classes: NDArray[np.int64],
    costs: NDArray[np.float64],
    player_starts: NDArray[np.int64],
    player_rows: NDArray[np.int64],
    weight_table: NDArray[np.float64],
    valid_features: NDArray[np.float64],
    valid_columns: NDArray[np.float64],
    truth: NDArray[np.int64],
    n_classes: int,
    weight_kind: int,
    empty_value: float,
    rounding_dimension: float,
    radius_tolerance: float,
) -> LogisticWorkspace:
    """Allocate the workspace of one worker; the arrays are only read, and shared.

    The arguments are those of `Training`, `Validation` and `LogisticWorkspace`. With `wide` features are
    inner products with the training rows, `valid_features` is empty and `valid_columns` holds the products
    of training and validation rows. The memory of rows that no walk reaches is never touched.
    """
    n_rows, n_features = features.shape[0], features.shape[1]
    n_valid, width = len(truth), valid_columns.shape[1]
    n_models = 1 if n_classes == 2 else n_classes
    # An odd number of cache lines a column, so that columns do not fall into the same cache sets.
    capacity = padded(n_rows)
    capacity += WIDTH if capacity % (2 * WIDTH) == 0 else 0
    squares = np.einsum("ij,ij->i", valid_features, valid_features)
    return LogisticWorkspace(
        functions,
        training=Training(
            features=features,
            norms=norms,
            classes=classes,
            costs=costs,
            player_starts=player_starts,
            player_rows=player_rows,
            weight_table=weight_table,
        ),
        validation=Validation(
            features=(n_valid, n_features) if wide else valid_features,
            columns=(n_features, width) if wide else valid_columns,
            products=valid_columns if wide else (0, width),
            norms=(n_valid,) if wide else np.sqrt(squares),
            truth=truth,
            decisions=(n_valid,),
            scores=(n_models, width),
            snapshot_models=(n_models, n_features),
            snapshot_decisions=(n_valid,),
            snapshot_gaps=(n_valid,),
            white_features=(n_models, n_valid, n_features),
            leverages=(n_models, n_valid),
            stamps=(n_models, n_valid),
            row_scores=(n_models,),
            order=(n_valid,),
            counts=(3, n_classes),
        ),
        prefix=Prefix(
            columns=(n_features, capacity),
            norms=(capacity,),
            largest=(capacity,),
            base_costs=(capacity,),
            costs=(capacity,),
            signs=(n_models, capacity),
            slopes=(n_models + 1, capacity),
            margins=(capacity,),
            residuals=(capacity,),
            scaled=(4, capacity),
            class_counts=(n_classes,),
            rows=(capacity,),
            entering=(n_features,),
        ),
        solver=Solver(
            models=(n_models + 1, n_features),
            gradients=(n_models + 1, n_features),
            white_gradients=(n_models + 1, n_features),
            bounds=(n_models + 1, N_BOUNDS),
            inverse_factors=(n_models, n_features, n_features),
            factor_stamps=(n_models,),
            factor_curvatures=(n_models, capacity),
            factor_leverages=(n_models, capacity),
            hessian_slack=(n_models, 2),
            white_steps=(n_models, MEMORY, n_features),
            white_changes=(n_models, MEMORY, n_features),
            curvature_scales=(n_models, MEMORY),
            pairs=(n_models, 2),
            factor_state=(n_models,),
            at_floor=(n_models,),
            hessian_radii=(n_models,),
            restarted=(n_models,),
            involved=(n_models,),
            pair_products=(MEMORY,),
            direction=(n_features,),
            white_direction=(n_features,),
        ),
        n_models=n_models,
        scoring=int(scoring),
        weight_kind=int(weight_kind),
        empty_value=float(empty_value),
        rounding_dimension=float(rounding_dimension),
        radius_tolerance=float(radius_tolerance),
        dimension=0 if wide else n_features,
        triangular=int(wide),
    )
