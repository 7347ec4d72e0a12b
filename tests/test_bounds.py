"""Errors are no more frequent than the bounds say; the printed forms that fail, fail as documented."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

import naive
from ordinal_shapley import bounds

REPEATS = 5_000


def random_game(n, longest, rng, first_counts=False):
    """A table of random utilities; with `first_counts`, longer sequences differ less and less."""
    table = {(): 0.0}
    for sequence in naive.sequences_of(range(n)):
        if 0 < len(sequence) <= longest:
            table[sequence] = rng.uniform(-1, 1) / (len(sequence) ** 2 if first_counts else 1)
    return table


def contributions(table, sequences, n):
    """Marginal contribution and position (1, 2, ..) of each player in each sequence; 0 if not in it."""
    marginals, positions = np.zeros((len(sequences), n)), np.zeros((len(sequences), n), dtype=int)
    for row, sequence in enumerate(sequences):
        for j, i in enumerate(sequence):
            marginals[row, i] = table[sequence[: j + 1]] - table[sequence[:j]]
            positions[row, i] = j + 1
    return marginals, positions


def whole(table, n):
    return contributions(table, list(itertools.permutations(range(n))), n)


def ranges(marginals, positions, n):
    """Exact range of one player's marginal contribution at each position."""
    by_position = [marginals[positions == j] for j in range(1, n + 1)]
    return np.array([m.min() for m in by_position]), np.array([m.max() for m in by_position])


def means(outcomes, n_draws, rng, repeats=REPEATS):
    """(repeats, ...) means of `n_draws` independent outcomes, equally likely."""
    drawn = rng.multinomial(n_draws, np.full(len(outcomes), 1 / len(outcomes)), size=repeats)
    return drawn @ outcomes / n_draws


def assert_bounded(errors, tail, *arguments, **options):
    """No size of error is more frequent than its bound, within 4 standard deviations."""
    sizes = np.quantile(errors, [0.05, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999])
    for eps in [*sizes[sizes > 1e-9], 1.5 * errors.max() + 1e-9]:
        # A hair less than eps: an error that equals the bias is one only within rounding.
        chance = tail(float(eps) * (1 - 1e-9), *arguments, **options)
        frequency = np.mean(errors >= eps)
        assert frequency <= chance + 4 * math.sqrt(chance * (1 - chance) / len(errors))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("n_permutations", [1, 5, 60])
def test_tmc_plain_average(seed, k, n_permutations):
    n, rng = 4, np.random.default_rng(seed)
    marginals, positions = whole(random_game(n, n, rng, first_counts=seed % 2), n)
    estimates = means(np.where(positions <= k, marginals, 0.0), n_permutations, rng)
    for i in range(n):
        low, high = ranges(marginals[:, i], positions[:, i], n)
        errors = np.abs(estimates[:, i] - marginals[:, i].mean())
        bias = abs(np.where(positions[:, i] > k, marginals[:, i], 0.0).mean())
        options = {"n_permutations": n_permutations, "k": k}
        assert_bounded(errors, bounds.tmc_tail, low, high, **options)
        assert_bounded(errors, bounds.tmc_tail, low, high, bias=bias, **options)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("counts", [(1,), (3, 40), (1, 1, 1, 1), (50, 20, 7, 2)])
def test_tmc_stratified_average(seed, counts):
    n, rng = 4, np.random.default_rng(seed)
    marginals, positions = whole(random_game(n, n, rng, first_counts=seed % 2), n)
    for i in range(n):
        m, where = marginals[:, i], positions[:, i]
        low, high = ranges(m, where, n)
        estimates = sum(means(m[where == j], c, rng) for j, c in enumerate(counts, start=1)) / n
        errors = np.abs(estimates - m.mean())
        bias = abs(m[where > len(counts)].sum() / len(m))
        assert_bounded(errors, bounds.tmc_tail, low, high, counts=counts)
        assert_bounded(errors, bounds.tmc_tail, low, high, counts=counts, bias=bias)
        # The print is true here, and weaker.
        assert bounds.tmc_tail(0.3, low, high, counts=counts) <= bounds.tmc_tail(
            0.3, low, high, counts=counts, printed=True
        )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("quota", [(1, 1), (1, 2), (3, 1)])
@pytest.mark.parametrize("n_permutations", [1, 5, 60])
def test_cmc(seed, quota, n_permutations):
    classes, n = ((0, 1, 2), (3, 4)), 5
    rng = np.random.default_rng(seed)
    table = random_game(n, sum(quota), rng, first_counts=seed % 2)
    rounds = [
        order
        for drawn in itertools.product(
            *(itertools.combinations(c, m) for c, m in zip(classes, quota, strict=True))
        )
        for order in itertools.permutations(itertools.chain(*drawn))
    ]
    marginals, positions = contributions(table, rounds, n)
    estimates = means(marginals, n_permutations, rng)
    for players, m in zip(classes, quota, strict=True):
        q = m / len(players)
        for i in players:
            chosen = marginals[positions[:, i] > 0, i]
            low, high = chosen.min(), chosen.max()
            errors = np.abs(estimates[:, i] - q * chosen.mean())
            assert_bounded(errors, bounds.cmc_tail, low, high, n_permutations=n_permutations, q=q)


def test_cmc_of_contributions_of_one_sign():
    # Who is not drawn gets 0, which may be outside of the range.
    for arguments in ({"n_permutations": 50, "q": 0.6}, {"n_permutations": 50, "q": 0.6, "printed": True}):
        below, above = (bounds.cmc_tail(0.2, *ends, **arguments) for ends in ((-1.0, -0.5), (0.5, 1.0)))
        assert below == pytest.approx(above, rel=1e-12)
        assert below == pytest.approx(bounds.cmc_tail(0.2, 0.0, 1.0, **arguments), rel=1e-12)


@pytest.mark.parametrize("p", [1, 2, 3.5, math.inf])
@pytest.mark.parametrize("n_permutations", [5, 200])
def test_lp_norms(p, n_permutations):
    n, rng = 4, np.random.default_rng(11)
    marginals, positions = whole(random_game(n, n, rng, first_counts=True), n)
    errors = np.linalg.norm(means(marginals, n_permutations, rng) - marginals.mean(axis=0), ord=p, axis=1)
    tails = []
    for i in range(n):
        low, high = ranges(marginals[:, i], positions[:, i], n)
        tails.append(
            lambda e, low=low, high=high: bounds.tmc_tail(e, low, high, n_permutations=n_permutations)
        )
    assert_bounded(errors, bounds.lp_tail, tails, p)
    eps = 2 * float(errors.max())
    each = eps / n ** (1 / p)
    assert bounds.lp_tail(eps, tails, p) == pytest.approx(min(1, sum(tail(each) for tail in tails)))


def coin_chance(n_draws, eps, q=0.5):
    """Chance that the mean of `n_draws` of 0 or 1 is off by eps or more."""
    heads = np.arange(n_draws + 1)
    off = np.abs(heads / n_draws - q) >= eps - 1e-12
    return min(1.0, float(binom.pmf(heads, n_draws, q)[off].sum()))


@pytest.mark.parametrize("n_draws", [1, 2, 7, 100, 1000])
@pytest.mark.parametrize("deviations", [0.5, 1, 2, 3, 4])
def test_tmc_against_a_fair_coin(n_draws, deviations):
    eps = min(0.5, deviations * 0.5 / math.sqrt(n_draws))
    exact = coin_chance(n_draws, eps)
    assert exact <= bounds.tmc_tail(eps, 0, 1, n_permutations=n_draws)
    # Two players who always give 1 or take it, in orders cut after the first: 0 is in the range too.
    for given in (1, -1):
        both = [given, given]
        assert exact <= bounds.tmc_tail(eps, both, both, n_permutations=n_draws, k=1, bias=0)
    # One of three positions counts, so that the stratified average is a third of the coin's.
    low, high = [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]
    stratified = bounds.tmc_tail(eps / 3, low, high, counts=[n_draws])
    assert exact <= stratified
    if n_draws >= 100 and deviations >= 3:
        # A constant of 3 in the place of 2, or of n^3 in the place of n^2, would break it.
        assert exact > 2 * math.exp(-3 * n_draws * eps**2)
        assert stratified == pytest.approx(2 * math.exp(-2 * n_draws * eps**2))


def test_forms_are_those_of_the_documentation():
    low, high = np.array([-0.1, 0.2, -0.3, 0.1]), np.array([0.4, 0.3, 0.1, 0.2])
    r, n, k, eps = high - low, 4, 3, 0.4
    assert bounds.tmc_tail(eps, low, high, n_permutations=7) == pytest.approx(
        2 * math.exp(-2 * 7 * eps**2 / 0.7**2)
    )
    gap = eps - 0.2 / n
    assert bounds.tmc_tail(eps, low, high, n_permutations=7, k=k) == pytest.approx(
        2 * math.exp(-2 * 7 * gap**2 / 0.7**2)
    )
    m = np.array([3, 5, 9])
    for printed, square in ((False, n**2), (True, 1)):
        terms = 2 * np.exp(-2 * m * square * gap**2 / (k**2 * r[:k] ** 2))
        assert bounds.tmc_tail(eps, low, high, counts=m, printed=printed) == pytest.approx(
            min(1.0, terms.sum())
        )

    def h(x):
        return (1 + x) * math.log(1 + x) - x

    q, delta, times = 0.3, 0.7, 20
    v = q * 0.4**2
    assert bounds.cmc_tail(0.2, low, high, n_permutations=times, q=q) == pytest.approx(
        2 * math.exp(-times * v / delta**2 * h(delta * 0.2 / v))
    )
    v = 2 * q - q**2
    assert bounds.cmc_tail(0.2, low, high, n_permutations=times, q=q, printed=True) == pytest.approx(
        math.exp(-v * times * h(0.2 / (v * delta)))
    )


def test_an_error_not_above_the_bias_cannot_be_ruled_out():
    low, high = [0.0, 0.1], [0.0, 0.1]
    assert bounds.tmc_tail(0.05, low, high, n_permutations=100, k=1) == 1
    assert bounds.tmc_tail(0.0501, low, high, n_permutations=100, k=1) == 0
    assert bounds.tmc_tail(0.05, low, high, counts=[100]) == 1
    assert bounds.tmc_tail(0.0501, low, high, counts=[100]) == 0
    # Where nothing varies and nothing is cut, one permutation is enough.
    assert bounds.permutations_needed(1e-9, 0.05, 0.0, 0.0, q=0.5) == 1


def test_the_printed_tmc_bound_fails_for_the_plain_average():
    """r_j = 1e-3, T = 200, eps = 0.05: an error of probability 0.043."""
    n, times, eps = 7, 200, 0.05
    utility = naive.TableUtility(n, {(): 0.0}, default=1.0)
    order = tuple(range(n))
    always = np.array(naive.walk_plain(utility, order)[0])
    assert always.tolist() == [1, 0, 0, 0, 0, 0, 0]
    exact = coin_chance(times, eps, 1 / n)
    assert round(exact, 3) == 0.043
    low, high = always - 0.0005, always + 0.0005
    # Even had every position been sampled in every permutation.
    assert bounds.tmc_tail(eps, low, high, counts=[times] * n, printed=True) < 1e-300
    assert bounds.tmc_tail(eps, low, high, counts=[times] * n) < 1e-300
    assert bounds.tmc_tail(eps, low, high, n_permutations=times) > exact


@pytest.mark.parametrize("delta", [1.0, 0.02, 7.0])
def test_the_printed_cmc_bound_fails(delta):
    """Marginals of +-delta/2, q = 1, T = 1, eps = delta/2: P = 1 against 0.897."""
    eps = delta / 2
    estimates = np.array([-eps, eps])  # after one round; their mean is 0
    assert np.mean(np.abs(estimates) >= eps) == 1
    printed = bounds.cmc_tail(eps, -eps, eps, n_permutations=1, q=1, printed=True)
    assert round(printed, 3) == 0.897
    assert bounds.cmc_tail(eps, -eps, eps, n_permutations=1, q=1) == 1


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("empty_value", [0.0, 0.4])
def test_position_ranges_hold_and_have_the_papers_width(nonnegative, empty_value):
    n, rng = 4, np.random.default_rng(3)
    table = {(): empty_value}
    for sequence in naive.sequences_of(range(n)):
        if sequence:
            step = rng.uniform(0, 1) if nonnegative else rng.uniform(-1, 1)
            table[sequence] = table[sequence[:-1]] + step
    sizes = np.arange(1, n + 1)
    worth = [[v for s, v in table.items() if len(s) == k] for k in sizes]
    a = np.array([min(v) for v in worth]) / sizes
    b = np.array([max(v) for v in worth]) / sizes
    low, high = bounds.position_ranges(a, b, empty_value=empty_value, nonnegative=nonnegative)
    marginals, positions = whole(table, n)
    for i in range(n):
        least, most = ranges(marginals[:, i], positions[:, i], n)
        assert (low <= least + 1e-12).all() and (most <= high + 1e-12).all()
    for k in range(1, n):  # position k + 1; the arrays count from 0
        c = (a[k] - b[k - 1]) * k + a[k]
        top = (b[k] - a[k - 1]) * k + b[k]
        assert high[k] - low[k] == pytest.approx(top - (max(c, 0) if nonnegative else c))
    assert (low[0], high[0]) == pytest.approx((a[0] - empty_value, b[0] - empty_value))


@pytest.mark.parametrize("eps", [0.003, 0.05, 0.3])
@pytest.mark.parametrize("failure", [1e-6, 0.05, 0.9])
@pytest.mark.parametrize("n_players, p", [(1, math.inf), (30, math.inf), (30, 2), (30, 1)])
def test_the_inverse_is_tight(eps, failure, n_players, p):
    low, high = np.array([-0.1, -0.2, 0.0]), np.array([0.7, 0.3, 1e-5])

    def vector(tail, t):
        return n_players * tail(eps / n_players ** (1 / p), t)

    def tmc(e, t):
        return bounds.tmc_tail(e, low, high, n_permutations=t, k=2)

    def cmc(e, t):
        return bounds.cmc_tail(e, low, high, n_permutations=t, q=0.4)

    both = {"n_players": n_players, "p": p}
    for tail, options in (
        (tmc, {"k": 2}),
        (cmc, {"q": 0.4}),
    ):
        needed = bounds.permutations_needed(eps, failure, low, high, **both, **options)
        assert vector(tail, needed) <= failure
        assert needed == 1 or vector(tail, needed - 1) > failure


@pytest.mark.parametrize("eps", [0.02, 0.1, 0.17])
def test_the_inverse_of_a_bound_is_where_it_came_from(eps):
    """The quotient is an integer but for rounding, to either side of it."""
    for t in range(1, 400):
        failure = bounds.tmc_tail(eps, 0, 0.7, n_permutations=t)
        if failure < 1:
            assert bounds.permutations_needed(eps, failure, 0, 0.7) == t
            assert bounds.permutations_needed(eps, math.nextafter(failure, 0), 0, 0.7) == t + 1


# A real game
