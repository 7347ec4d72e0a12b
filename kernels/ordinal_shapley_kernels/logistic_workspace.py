"""A logistic game's workspace; `logistic_arrays` describes its arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley_kernels.abi import part
from ordinal_shapley_kernels.games import Game, through_table
from ordinal_shapley_kernels.lanes import WIDTH, padded
from ordinal_shapley_kernels.logistic_arrays import (
    BLOCK,
    MEMORY,
    N_BOUNDS,
    SOFTMAX_MEMORY,
    Prefix,
    References,
    Solver,
    Training,
    Validation,
)
from ordinal_shapley_kernels.raw_rows import RawRows
from ordinal_shapley_kernels.workspace import cache_aligned


class LogisticFunctions(NamedTuple):
    """`GameFunctions`, and the functions of `span` and `logistic_overflow` for games that need them."""

    reset: Any
    push: Any
    pop: Any
    is_defined: Any
    evaluate: Any
    empty_span: Any = None
    enter_span: Any = None
    shrink_span: Any = None
    complete: Any = None
    score_in_span: Any = None
    order_overflow: Any = None
    enter_overflow: Any = None
    evaluate_overflow: Any = None
    differentiate_overflow: Any = None
    add_overflow_gram: Any = None


class LogisticWorkspace(Game):
    """Nopython side of a LogisticGame."""

    # empty_span_address, enter_span_address, shrink_span_address, complete_address, score_in_span_address:
    # addresses of the functions in `span`; 0 in games without a span.
    empty_span_address: int
    enter_span_address: int
    shrink_span_address: int
    complete_address: int
    score_in_span_address: int
    order_overflow_address: int
    enter_overflow_address: int
    evaluate_overflow_address: int
    # differentiate_overflow_address, add_overflow_gram_address: the same for `logistic_overflow`; 0 if the
    # features of all rows are kept.
    differentiate_overflow_address: int
    add_overflow_gram_address: int
    # training, validation, references, prefix, solver: see those classes.
    training: Training
    validation: Validation
    references: References
    prefix: Prefix
    solver: Solver
    n_models: int
    # Columns of the data with that of the intercept, padded; 0 where only inner products are kept.
    n_features: int
    scoring: int  # a code of `scoring`
    weight_kind: int  # a code of `position_weights`
    has_zero_weights: int  # 1 if some positions have weight 0
    balanced: int  # 1 if all classes of a sequence have the same total weight
    # 1 if the intercept is not penalised. The sequence then begins with a row of cost 0 that is 0 except for
    # the intercept: in the span the intercept is the coordinate of that row.
    free: int
    empty_value: float  # utility of a sequence that lacks a class
    span_limit: int  # longest prefix whose models are fitted in its span; 0 for never
    # column_rounding, span_rounding: rounding error of an inner product of features, or of rows by their
    # products, in eps times the lengths.
    column_rounding: float
    span_rounding: float
    rounding_dimension: float  # the one in use
    # For metrics without a certificate, the distance allowed from the converged model; negative for those
    # with one.
    radius_tolerance: float
    length: int  # rows in the prefix
    entered: int  # how many of them have their features; the others wait for an evaluation
    fitted: int  # length of the sequence that the models were last fitted to, 0 if they have not been
    classes_present: int
    dimension: int  # features in use, padded
    # 1 for coordinates in the span: row i of the prefix has i + 1 features, and the others are 0.
    triangular: int
    n_dependent: int  # rows of the prefix that may lie in the span of those before them
    known_of_all: int  # number of coordinates known of every validation row
    has_snapshot: int  # 1 while `Validation.snapshot_*` are valid
    has_gaps: int  # 1 if there has been a snapshot of this sequence or of one before it
    snapshot_rounding: float  # additional rounding error of its decision values, for a row of norm 1
    hardest: int  # the validation row that was undecided last
    scored_alone: int  # validation rows scored one by one since the snapshot
    n_overflow: int  # rows that `Prefix.overflow_order` lists
    softmax: int  # 1 for softmax models
    n_gradients: int  # gradients of softmax models since their factor was computed
    n_steps: int  # steps of this fit of softmax models
    is_cold: int  # 1 if this fit began without a factor
    is_lost: int  # 1 if this fit gave up before the optimum
    shares_left: int  # how many more new factors the models may share in this fit
    # whitenings_left, completions_left: how many more validation rows may be whitened, and brought into the
    # span, before the next step.
    whitenings_left: int
    completions_left: int


# Maximum number of features kept of the rows of a prefix.
_MAX_KEPT = 2**22


def _odd_lines(n_rows: int) -> int:
    """Pad a number of rows to an odd number of cache lines, so that columns do not share cache sets."""
    return padded(n_rows) + (WIDTH if padded(n_rows) % (2 * WIDTH) == 0 else 0)


def _max_dimensions(n_rows: int, n_features: int, span_limit: int) -> int:
    n_span = padded(span_limit)
    return n_span if span_limit >= n_rows else max(n_span, n_features)


def rooms(n_rows: int, n_features: int, span_limit: int) -> tuple[int, int]:
    """Return the number of rows that a prefix has room for, and of those whose features are kept."""
    capacity = _odd_lines(n_rows)
    max_room = _MAX_KEPT // _max_dimensions(n_rows, n_features, span_limit)
    return capacity, min(capacity, _odd_lines(max(span_limit, max_room)))


empty_span = through_table("empty_span", None)
enter_span = through_table("enter_span", None)
shrink_span = through_table("shrink_span", None, 1)
complete = through_table("complete", None, 1)
score_in_span = through_table("score_in_span", None)
order_overflow = through_table("order_overflow", None, 1)
enter_overflow = through_table("enter_overflow", None, 1)
evaluate_overflow = through_table("evaluate_overflow", None, 1)
differentiate_overflow = through_table("differentiate_overflow", None, 1)
add_overflow_gram = through_table("add_overflow_gram", None, 2)


@part
def free_column(game: LogisticWorkspace) -> int:
    """Place of a free intercept among the features in use."""
    return 0 if game.triangular else game.training.raw.n_columns


@part
def free_intercept(game: LogisticWorkspace) -> None:
    """Penalise the coefficients of all features in use except a free intercept."""
    if game.free:
        penalties = game.solver.penalties
        penalties[:] = 1.0
        penalties[free_column(game)] = 0.0


def aligned(rows: NDArray[np.float64], n_columns: int) -> NDArray[np.float64]:
    """Copy rows, padded to `n_columns` with 0, into memory that begins at a cache line."""
    out = cache_aligned((len(rows), n_columns))
    out[:, : rows.shape[1]] = rows
    return out


class Numbers(NamedTuple):
    """Arguments of `make_workspace` besides arrays: fields of `LogisticWorkspace`, and sizes."""

    scoring: int
    span_limit: int
    n_columns: int
    intercept: int
    n_classes: int
    weight_kind: int
    has_zero_weights: int
    balanced: int
    free: int
    softmax: int
    empty_value: float
    column_rounding: float
    span_rounding: float
    radius_tolerance: float


# Arrays for `make_workspace`, in order: fields of `RawRows`, `Training`, `Validation` and `References`.
ARRAYS = (
    *("doubles", "singles", "longs", "integers", "entries", "places", "starts", "centre"),
    *("products", "norms", "classes", "costs", "player_starts", "player_rows", "weight_table"),
    *("valid_features", "valid_columns", "valid_norms", "valid_products", "truth"),
    *("lengths", "reference_models", "reference_factors"),
)


def make_workspace(
    choose: Callable[[Numbers, bool], LogisticFunctions], numbers: Numbers, *arrays: NDArray[Any]
) -> LogisticWorkspace:
    """Allocate the workspace of one worker; `arrays`, named by `ARRAYS`, are shared and only read.

    `choose` returns the functions, given the numbers and whether there is an overflow. The memory of rows
    that no walk reaches is never touched.
    """
    given = dict(zip(ARRAYS, arrays, strict=True))
    n_rows, n_features = len(given["classes"]), given["valid_columns"].shape[0]
    n_valid, width = len(given["truth"]), padded(len(given["truth"]))
    n_classes, span_limit, softmax = numbers.n_classes, numbers.span_limit, numbers.softmax
    n_models = 1 if n_classes == 2 else n_classes
    n_factors, n_tiled = n_models + (n_models > 1), (n_models + 3) // 4 * 4  # as `add_gram` reads rows
    n_span = padded(span_limit)
    n_dims = _max_dimensions(n_rows, n_features, span_limit)
    n_steps = SOFTMAX_MEMORY if softmax else MEMORY
    capacity, room = rooms(n_rows, n_features, span_limit)
    n_overflow = BLOCK if room < capacity else 0
    penalties = np.ones(n_dims)
    if numbers.free and not span_limit:
        penalties[numbers.n_columns] = 0.0
    return LogisticWorkspace(
        choose(numbers, room < capacity),
        training=Training(
            raw=RawRows(
                **{name: given[name] for name in ARRAYS[:8]},
                n_columns=numbers.n_columns,
                intercept=numbers.intercept,
            ),
            **{name: given[name] for name in ARRAYS[8:15]},
        ),
        validation=Validation(
            features=given["valid_features"],
            columns=given["valid_columns"],
            full_norms=given["valid_norms"],
            products=given["valid_products"],
            truth=given["truth"],
            coordinates=(n_valid, n_span),
            coordinate_columns=(n_span, width),
            known=(n_valid,),
            norms=given["valid_norms"].copy(),
            decisions=(n_valid,),
            scores=(n_models, width),
            snapshot_models=(n_models, n_dims),
            snapshot_decisions=(n_valid,),
            snapshot_gaps=(n_valid,),
            white_features=(n_factors, n_valid, n_dims),
            leverages=(n_factors, n_valid),
            stamps=(n_factors, n_valid),
            log_probabilities=(n_valid,),
            row_scores=(n_models,),
            order=(n_valid,),
            counts=(3, n_classes),
        ),
        references=References(
            lengths=given["lengths"],
            models=given["reference_models"],
            inverse_factors=given["reference_factors"],
        ),
        prefix=Prefix(
            rows=(capacity,),
            columns=(n_dims, room),
            features=(max(n_span, room if softmax else 0) + WIDTH, n_features),
            entering=(n_features,),
            triangle=(n_span, n_span),
            block=(n_span + WIDTH, WIDTH),
            noise=(n_span,),
            dependent=(n_span,),
            wanted=(n_span + WIDTH,),
            norms=(capacity,),
            largest=(capacity,),
            base_costs=(capacity,),
            costs=(capacity,),
            signs=(n_models, capacity),
            slopes=(n_models, capacity),
            trial_slopes=(n_tiled if softmax else n_models, capacity),
            margins=(n_models, capacity),
            residuals=(n_models, capacity),
            values=(n_models, capacity) if softmax else (0, 0),
            scaled=(n_tiled if softmax else 4, capacity if softmax else max(room, n_overflow)),
            overflow=(n_overflow, n_features),
            overflow_columns=(n_features, n_overflow + WIDTH),
            overflow_weights=(n_overflow,),
            overflow_values=(n_models, n_overflow),
            overflow_order=(capacity - room,),
            overflow_rows=(capacity - room,),
            overflow_places=(n_rows if n_overflow else 0,),
            class_counts=(n_classes,),
            class_masses=(n_classes,),
        ),
        solver=Solver(
            models=(n_models, n_dims),
            gradients=(n_models, n_dims),
            white_gradients=(n_models, n_dims),
            active=(n_models,),
            trials=(n_models, n_dims),
            trial_gradients=(n_models, n_dims),
            trial_white_gradients=(n_models, n_dims),
            column_models=(n_models, n_features),
            bounds=(n_models, N_BOUNDS),
            trial_bounds=(n_models, N_BOUNDS),
            sums=(n_models, 4),
            inverse_factors=(n_factors, n_dims, n_dims),
            factor_stamps=(n_factors,),
            factor_of=(n_models,),
            factor_curvatures=(n_models, capacity),
            factor_leverages=(n_models, capacity),
            hessian_slack=(n_models, 2),
            white_steps=(n_models, n_steps, n_dims),
            white_changes=(n_models, n_steps, n_dims),
            curvature_scales=(n_models, n_steps),
            pairs=(n_models, 2),
            factor_state=(n_models,),
            at_floor=(n_models,),
            hessian_radii=(n_models,),
            restarted=(n_models,),
            involved=(n_models,),
            pair_products=(n_steps,),
            directions=(n_models, n_dims),
            white_directions=(n_models, n_dims),
            scales=(n_models,),
            penalties=penalties,
            offsets=(n_models,),
            intercepts=(n_tiled + 2, n_tiled) if softmax else (0, 0),
        ),
        n_models=n_models,
        n_features=n_features,
        **{name: number for name, number in numbers._asdict().items() if name in LogisticWorkspace._fields},
        dimension=n_features,
        rounding_dimension=numbers.column_rounding,
    )
