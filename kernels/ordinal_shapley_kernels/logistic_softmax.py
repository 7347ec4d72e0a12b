"""Fitting softmax models: all classes at once, by L-BFGS in the white coordinates of one factor.

The models (w_k, b_k) minimise, with z_ik = w_k.x_i + b_k,

    f(W, b) = |W|^2 / 2 + sum_i c_i (log sum_k exp(z_ik) - z_iy).

Free intercepts are eliminated: each gradient is taken at the minimum of f over b, which Newton's method finds
from the decision values alone. The result g(W) = min_b f(W, b) is 1-strongly convex.

The distance to the optimum W* is |W - W*| <= R = |grad g|, so on the straight line to it (w_a - w_b).x
changes by at most sqrt(2) R |x|. To bound the change of b, with p_ik the probabilities and the matrix
P_i = diag(p_i) - p_i p_i^T, a change dW moves b by db = -J^+ sum_i c_i P_i dW x_i, where J = sum_i c_i P_i.
That is the least squares solution of db_l - db_k = e_kl for all pairs of classes, with the weights
v_kl = sum_i c_i p_ik p_il, where e_kl = (dw_k - dw_l).m_kl and m_kl is the mean of the x_i with the weights
c_i p_ik p_il, so |m_kl| <= M = max_i |x_i|. By Cramer's rule and Cauchy and Binet's formula, a least squares
solution is a mean, with positive weights, of the solutions of as many of the equations as determine it: here
those of the pairs that make a spanning tree of the classes. In a tree the path from a to b goes through
distinct classes a = k_0, k_1, ..., k_r = b, and db_b - db_a is the sum of the e_kl on it. With m_j for the
mean of k_(j-1) and k_j, the difference of decision values of a row x then changes by

    dw_a.(x - m_1) + sum_(0<j<r) dw_(k_j).(m_j - m_(j+1)) - dw_b.(x - m_r).

There are at most K - 2 terms in the sum, each of at most 2 M. So this is at most |dW| times the root of
2 (|x| + M)^2 + 4 (K - 2) M^2, in every tree, in their mean, and on the whole line to W*: at most

    sqrt(2) R (|x| + sqrt(2 K - 3) M),

without the second term if intercepts are penalised, and so weights like others, or if there are none.
`certificate` takes half of it for each class.
"""

from __future__ import annotations

import math

from ordinal_shapley_kernels.abi import part, symbol
from ordinal_shapley_kernels.dense import FULL, LOWER, UPPER, add_multiple, copy_multiple, dot
from ordinal_shapley_kernels.lanes import (
    WIDTH,
    add,
    add_product,
    load,
    load_row,
    magnitude,
    multiply,
    splat,
    store_row,
    subtract,
    total,
)
from ordinal_shapley_kernels.logistic_arrays import (
    EPSILON,
    HESSIAN_FLOOR,
    NO_FACTOR,
    NORM,
    NOT_AT_FLOOR,
    RADIUS,
    ROUNDING,
    SCORE_ROUNDING,
    SHARE,
    UNDERFLOW,
    USABLE,
)
from ordinal_shapley_kernels.logistic_factor import factorise, forget, share_curvatures
from ordinal_shapley_kernels.logistic_intercepts import minimise_over_intercepts, soften
from ordinal_shapley_kernels.logistic_overflow import n_kept
from ordinal_shapley_kernels.logistic_workspace import (
    LogisticWorkspace,
    differentiate_overflow,
    evaluate_overflow,
    free_column,
)
from ordinal_shapley_kernels.products import combine_columns_of_each, row_products_of_each
from ordinal_shapley_kernels.workspace import Matrix

# Maximum error of a gradient due to free intercepts, as a share of the previous gradient.
_SHARE = 1e-2
# A step is too long if the slope at its end is above this share of the first, with the other sign.
_MAX_SLOPE = 0.5
_MAX_TRIALS = 30
# A new factor pays off after this many gradients, plus this many for each gradient that it costs.
_PATIENCE = 8.0
# A cold fit renews its factor after this many steps.
_FIRST_STEPS = 6
# Maximum steps of L-BFGS. Newton steps follow, each by at most _MAX_CONJUGATE conjugate gradients, fewer once
# the share _ROUGHLY of the squared gradient is left. With fewer rows than features all are Newton steps.
_MAX_STEPS = 100
_MAX_CONJUGATE = 250
_ROUGHLY = 1e-2
# Models whose rounding error may exceed this, in decision values of a row, have not converged.
_MAX_OFF = 1e-3
# A factor reads at least one in this number of blocks of rows.
_MAX_SKIPPED = 4


@part
def _find_margins(game: LogisticWorkspace) -> None:
    """Write the decision values of the trials into `margins`."""
    prefix, n_rows = game.prefix, n_kept(game)
    shape = UPPER if game.triangular else FULL
    combine_columns_of_each(
        game.solver.trials, game.n_models, game.dimension, prefix.columns, n_rows, shape, prefix.margins
    )
    if n_rows < game.length:
        evaluate_overflow(game, game.n_models)


@part
def _sum_residuals(game: LogisticWorkspace) -> None:
    """Write the sum of rows times residuals, plus the gradient of the penalty, into `trial_gradients`."""
    prefix, solver, n, n_rows = game.prefix, game.solver, game.dimension, n_kept(game)
    residuals, gradients = prefix.residuals, solver.trial_gradients
    if game.triangular:
        combine_columns_of_each(residuals, game.n_models, n_rows, prefix.triangle, n, LOWER, gradients)
    else:
        combine_columns_of_each(residuals, game.n_models, n_rows, prefix.features, n, FULL, gradients)
    if n_rows < game.length:
        differentiate_overflow(game, game.n_models)
    for k in range(game.n_models):
        for j in range(0, n, WIDTH):
            own = multiply(load(solver.penalties, j), load_row(solver.trials, k, j))
            store_row(gradients, k, j, add(load_row(gradients, k, j), own))


@symbol
def _differentiate(game: LogisticWorkspace, precision: float) -> None:
    """Compute gradients of the trials, whose decision values are `margins`, and bounds.

    Free intercepts may add an error of `precision` to a gradient.
    """
    prefix, solver, n_models = game.prefix, game.solver, game.n_models
    gradients, trials, residuals = solver.trial_gradients, solver.trials, prefix.residuals
    m, n, dimension = game.length, game.dimension, game.rounding_dimension
    off = apart = 0.0
    if game.free:
        off = minimise_over_intercepts(game, precision)
        apart = solver.intercepts[solver.intercepts.shape[1] + 1, 0]
    else:
        soften(game, False)
    _sum_residuals(game)
    square = weight = 0.0
    for k in range(n_models):
        if game.free:
            gradients[k, free_column(game)] = 0.0
        square += dot(gradients[k], gradients[k], n)
        weight += dot(trials[k], trials[k], n)
    size = math.sqrt(weight)
    pull, stiffness, one = splat(0.0), splat(0.0), splat(1.0)
    for i in range(0, m, WIDTH):
        norm, cost = load(prefix.norms, i), load(prefix.costs, i)
        left = own = splat(0.0)
        for k in range(n_models):
            probability = load_row(prefix.trial_slopes, k, i)
            left = add(left, magnitude(load_row(residuals, k, i)))
            own = add_product(own, probability, subtract(one, probability))
        pull = add_product(pull, norm, left)
        stiffness = add_product(stiffness, multiply(cost, own), multiply(norm, norm))
    terms = size + total(pull) if game.triangular else size
    rounding = (m + 8) * (size + total(pull)) + dimension * terms * (1.0 + total(stiffness))
    rounding = EPSILON * rounding + UNDERFLOW + off
    for k in range(n_models):
        bounds = solver.trial_bounds[k]
        bounds[NORM] = bounds[RADIUS] = math.sqrt(0.5 * square)
        bounds[ROUNDING] = rounding
        bounds[SCORE_ROUNDING] = EPSILON * dimension * terms + apart
        bounds[SHARE] = 0.0


@symbol
def _evaluate(game: LogisticWorkspace, precision: float) -> None:
    """Compute gradients of the trials from their weights alone."""
    _find_margins(game)
    _differentiate(game, precision)
    game.n_gradients += 1


@symbol
def _take(game: LogisticWorkspace) -> None:
    """Make the trials the current models."""
    prefix, solver = game.prefix, game.solver
    n_rows = (game.length + WIDTH - 1) // WIDTH * WIDTH
    for k in range(game.n_models):
        copy_multiple(solver.models[k], 1.0, solver.trials[k], game.dimension)
        copy_multiple(solver.gradients[k], 1.0, solver.trial_gradients[k], game.dimension)
        copy_multiple(prefix.slopes[k], 1.0, prefix.trial_slopes[k], n_rows)
        copy_multiple(prefix.values[k], 1.0, prefix.margins[k], n_rows)
        for j in range(solver.bounds.shape[1]):
            solver.bounds[k, j] = solver.trial_bounds[k, j]


@symbol
def _whiten(game: LogisticWorkspace, gradients: Matrix, out: Matrix) -> None:
    factor, n = game.solver.inverse_factors[game.n_models], game.dimension
    row_products_of_each(factor, n, gradients, game.n_models, n, LOWER, out)


@part
def _bound_offsets(game: LogisticWorkspace) -> None:
    """Write the length that free intercepts add to a row; see above."""
    n = game.n_models
    offset = math.sqrt(2.0 * n - 3.0) * game.prefix.largest[game.length - 1] if game.free else 0.0
    for k in range(n):
        game.solver.offsets[k] = offset


@symbol
def _renew_factor(game: LogisticWorkspace) -> None:
    """Compute the factor of the mean diagonal block of the Hessian at the current models."""
    solver, n_models = game.solver, game.n_models
    every = 1
    if not game.triangular:
        every = max(1, min(_MAX_SKIPPED, game.length // (2 * game.dimension)))
    for k in range(n_models):
        solver.active[k] = k
        solver.factor_state[k] = USABLE
    share_curvatures(game, n_models, every)
    factorise(game, n_models, 0, every)
    _bound_offsets(game)
    solver.pairs[0, 0] = solver.pairs[0, 1] = 0
    game.n_gradients = 0
    _whiten(game, solver.gradients, solver.white_gradients)


@part
def _factor_in_gradients(game: LogisticWorkspace) -> float:
    m, n = game.length, game.dimension
    return n * (m / 2.0 + n / 3.0) / (2.0 * (m + n) * game.n_models)


@part
def _is_stale(game: LogisticWorkspace) -> bool:
    return game.n_gradients > _PATIENCE * (1.0 + _factor_in_gradients(game))


@part
def _product(game: LogisticWorkspace, a: Matrix, b: Matrix) -> float:
    result = 0.0
    for k in range(game.n_models):
        result += dot(a[k], b[k], game.dimension)
    return result


@symbol
def _aim(game: LogisticWorkspace) -> None:
    """Write the direction of L-BFGS (two-loop recursion, Nocedal 1980), white and not."""
    solver, n_models, n = game.solver, game.n_models, game.dimension
    steps, changes, scales = solver.white_steps, solver.white_changes, solver.curvature_scales[0]
    out, along, memory = solver.white_directions, solver.pair_products, solver.white_steps.shape[1]
    n_pairs, newest = solver.pairs[0, 0], solver.pairs[0, 1] + memory - 1
    for k in range(n_models):
        copy_multiple(out[k], -1.0, solver.white_gradients[k], n)
    for t in range(n_pairs):
        slot = (newest - t) % memory
        across = 0.0
        for k in range(n_models):
            across += dot(steps[k, slot], out[k], n)
        along[slot] = scales[slot] * across
        for k in range(n_models):
            add_multiple(out[k], -along[slot], changes[k, slot], n)
    if n_pairs > 0:
        slot, square = newest % memory, 0.0
        for k in range(n_models):
            square += dot(changes[k, slot], changes[k, slot], n)
        for k in range(n_models):
            copy_multiple(out[k], 1.0 / (scales[slot] * square), out[k], n)
    for t in range(n_pairs):
        slot = (newest - (n_pairs - 1 - t)) % memory
        across = 0.0
        for k in range(n_models):
            across += dot(changes[k, slot], out[k], n)
        for k in range(n_models):
            add_multiple(out[k], along[slot] - scales[slot] * across, steps[k, slot], n)
    factor = solver.inverse_factors[n_models]
    combine_columns_of_each(out, n_models, n, factor, n, LOWER, solver.directions)


@symbol
def _apply_hessian(game: LogisticWorkspace) -> None:
    """Write the white product of the Hessian at the current models, intercepts included, with `trials`."""
    prefix, solver, n_models = game.prefix, game.solver, game.n_models
    margins, shares, residuals = prefix.margins, prefix.slopes, prefix.residuals
    _find_margins(game)
    for i in range(0, game.length, WIDTH):
        mean = splat(0.0)
        for k in range(n_models):
            mean = add_product(mean, load_row(shares, k, i), load_row(margins, k, i))
        for k in range(n_models):
            weight = multiply(load(prefix.costs, i), load_row(shares, k, i))
            store_row(residuals, k, i, multiply(weight, subtract(load_row(margins, k, i), mean)))
    _sum_residuals(game)
    _whiten(game, solver.trial_gradients, solver.trial_white_gradients)


@symbol
def _aim_by_newton(game: LogisticWorkspace) -> None:
    """Write the direction of Newton's method, approximately, by conjugate gradients."""
    solver, n_models, n = game.solver, game.n_models, game.dimension
    along, products = solver.white_directions, solver.trial_white_gradients
    # In the memory of earlier steps, which a new factor has made useless.
    found, rest = solver.white_steps, solver.white_changes
    square = 0.0
    for k in range(n_models):
        copy_multiple(along[k], -1.0, solver.white_gradients[k], n)
        copy_multiple(rest[k, 0], 1.0, along[k], n)
        copy_multiple(found[k, 0], 0.0, along[k], n)
        square += dot(along[k], along[k], n)
    enough = _ROUGHLY * square
    factor = solver.inverse_factors[n_models]
    for _ in range(_MAX_CONJUGATE):
        combine_columns_of_each(along, n_models, n, factor, n, LOWER, solver.trials)
        _apply_hessian(game)
        curvature = _product(game, along, products)
        if not curvature > 0.0:
            break
        before, square = square, 0.0
        for k in range(n_models):
            add_multiple(found[k, 0], before / curvature, along[k], n)
            add_multiple(rest[k, 0], -before / curvature, products[k], n)
            square += dot(rest[k, 0], rest[k, 0], n)
        if not square > enough:
            break
        for k in range(n_models):
            copy_multiple(along[k], square / before, along[k], n)
            add_multiple(along[k], 1.0, rest[k, 0], n)
    for k in range(n_models):
        copy_multiple(along[k], 1.0, found[k, 0], n)
    combine_columns_of_each(along, n_models, n, factor, n, LOWER, solver.directions)


@symbol
def _remember(game: LogisticWorkspace, scale: float) -> None:
    """Store the step about to be taken, and its change of the gradient."""
    solver, n_models, n = game.solver, game.n_models, game.dimension
    slot, memory = solver.pairs[0, 1], solver.white_steps.shape[1]
    curvature = square = 0.0
    for k in range(n_models):
        step, change = solver.white_steps[k, slot], solver.white_changes[k, slot]
        copy_multiple(step, scale, solver.white_directions[k], n)
        copy_multiple(change, 1.0, solver.trial_white_gradients[k], n)
        add_multiple(change, -1.0, solver.white_gradients[k], n)
        curvature += dot(step, change, n)
        square += dot(step, step, n)
    if curvature > 1e-10 * square:
        solver.curvature_scales[0, slot] = 1.0 / curvature
        solver.pairs[0, 0] = min(solver.pairs[0, 0] + 1, memory)
        solver.pairs[0, 1] = (slot + 1) % memory


@symbol
def _improve(game: LogisticWorkspace, precision: float, by_newton: bool) -> bool:
    """Take one descent step; return False if rounding hides the direction."""
    solver, n_models, n = game.solver, game.n_models, game.dimension
    if by_newton:
        if game.n_steps > _MAX_STEPS or _is_stale(game):
            _renew_factor(game)
        _aim_by_newton(game)
    else:
        _aim(game)
    first = _product(game, solver.gradients, solver.directions)
    scale = 1.0
    for _ in range(_MAX_TRIALS):
        for k in range(n_models):
            copy_multiple(solver.trials[k], 1.0, solver.models[k], n)
            add_multiple(solver.trials[k], scale, solver.directions[k], n)
        _evaluate(game, precision)
        slope = _product(game, solver.trial_gradients, solver.directions)
        if slope <= -_MAX_SLOPE * first:
            _whiten(game, solver.trial_gradients, solver.trial_white_gradients)
            _remember(game, scale)
            _take(game)
            for k in range(n_models):
                copy_multiple(solver.white_gradients[k], 1.0, solver.trial_white_gradients[k], n)
            return True
        if not first < 0.0:
            break
        # Too far, as the slope of a convex function rises: go to its zero if it rises linearly.
        share = first / (first - slope) if slope < math.inf else 0.1
        scale *= max(0.1, min(share, 0.9))
    solver.pairs[0, 0] = 0
    return False


@symbol
def start_softmax(game: LogisticWorkspace) -> None:
    """Compute gradients at the current models, and a factor if it is needed."""
    prefix, solver, n_models = game.prefix, game.solver, game.n_models
    m = game.length
    n_rows = (m + WIDTH - 1) // WIDTH * WIDTH
    if game.is_lost:
        # No step from there leads down; 0 is seldom such a point.
        for k in range(n_models):
            forget(game, k, 0)
            for i in range(m):
                prefix.values[k, i] = 0.0
    game.is_lost = 0
    for k in range(n_models):
        for i in range(m, n_rows):
            prefix.values[k, i] = 0.0
        copy_multiple(solver.trials[k], 1.0, solver.models[k], game.dimension)
        copy_multiple(prefix.margins[k], 1.0, prefix.values[k], n_rows)
        solver.at_floor[k] = NOT_AT_FLOOR
        solver.hessian_radii[k] = math.inf
    _bound_offsets(game)
    _differentiate(game, _SHARE * solver.bounds[0, NORM] if game.fitted > 0 else 0.0)
    _take(game)
    is_new = solver.factor_state[0] == NO_FACTOR
    if is_new or _is_stale(game):
        _renew_factor(game)
    else:
        _whiten(game, solver.gradients, solver.white_gradients)
    game.n_steps = 0
    game.is_cold = 1 if is_new else 0


@part
def give_up(game: LogisticWorkspace, is_rounding: bool) -> None:
    """Accept the models as they are; their gradient may be rounding alone."""
    bounds, offset = game.solver.bounds[0], game.solver.offsets[0]
    off = 2.0 * (bounds[NORM] + bounds[ROUNDING]) * (game.prefix.largest[game.length - 1] + offset)
    game.is_lost = 0 if is_rounding and off <= _MAX_OFF else 1
    for k in range(game.n_models):
        game.solver.at_floor[k] = HESSIAN_FLOOR


@symbol
def step_softmax(game: LogisticWorkspace) -> None:
    """Improve the models, or mark that they are at their floor."""
    solver = game.solver
    bounds = solver.bounds[0]
    game.n_steps += 1
    if game.is_cold > 0 and game.n_steps == _FIRST_STEPS:
        _renew_factor(game)
    is_near = bounds[NORM] <= 2.0 * bounds[ROUNDING]
    before = bounds[NORM]
    by_newton = game.length <= game.dimension or game.n_steps > _MAX_STEPS
    stuck = not _improve(game, 0.0 if is_near else _SHARE * before, by_newton)
    if stuck:
        # Free intercepts may be too far from their optimum for the slope to mean anything.
        for k in range(game.n_models):
            copy_multiple(solver.trials[k], 1.0, solver.models[k], game.dimension)
        _evaluate(game, 0.0)
        _take(game)
        stuck = not _improve(game, 0.0, True)
    is_rounding = bounds[NORM] <= bounds[ROUNDING] < math.inf
    if stuck or (is_near and is_rounding and bounds[NORM] > 0.5 * before):
        give_up(game, is_rounding)
