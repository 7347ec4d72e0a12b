"""Error of the ordinal value at equal numbers of evaluations: in/out against plain insertion.

Usage: PYTHONPATH=tests python benchmarks/ordinal_error.py [--render]

Writes a section of docs/variance.md, and the picture in it. Insertion is
that of tests/naive.py. Errors are counted in evaluations, never in time, so a busy machine changes nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from scipy.stats import spearmanr

import naive
import ordinal_shapley as osv
from bench import problems as data
from bench.record import Record, Script, replaced, surroundings, where
from page.tables import table, wrap

Floats = npt.NDArray[np.float64]

# PatienceTruncation() measures its target on so many orders, once a run.
TARGET_ORDERS = 20
# Keys of the random streams; run r of an estimator is seeded by r and its key.
TRUTH_SEED, IN_OUT_SEED, INSERTION_SEED = 1, 1_000, 2
IN_OUT, PATIENCE, INSERTION = "in/out", "in/out, patience", "insertion"
ROULETTE = "in/out, roulette"
STYLES: dict[str, dict[str, Any]] = {
    INSERTION: {"marker": "s", "color": "0.5", "linestyle": "--"},
    IN_OUT: {"marker": "o", "color": "black", "linestyle": "-"},
    PATIENCE: {"marker": "^", "color": "black", "linestyle": ":", "markerfacecolor": "white"},
    ROULETTE: {"marker": "D", "color": "black", "linestyle": "-.", "markerfacecolor": "white"},
}


TEXT = """\
How to [sample the ordinal value](theory.md#sampling-the-ordinal-value): root mean square errors over players
and independent runs, divided by the standard deviation of the true values, so that at 1 the error is as large
as the differences between players. "Insertion needs" says how many times the evaluations plain insertion
takes to have the error of in/out (below 1, insertion is better). The last columns are mean Spearman rank
correlations with the true values. Utilities known without an evaluation (the empty sequence, rows that lack
a class) are free for both. "In/out" evaluates full permutations (`"mc"`), "patience" ends them by
`PatienceTruncation()`, with a bias that does not shrink, "roulette" is the default, where a budget pays for
its pilot. In the market insertion is better, in the random table in/out; on the two data sets in/out over
full permutations has little
less error than insertion, and the default less than both once its pilot is paid."""


class Problem(NamedTuple):
    """A game and how it is tried.

    name, text : str
        For the picture, and for the list of settings.
    game : Game
    costs : callable
        Whether a sequence needs an evaluation: its utility is not known by rule.
    truth : ndarray
        The values to compare with.
    walks : tuple of int
        Random orders of the in/out runs; they set the budgets.
    n_runs : int
        Independent runs of each estimator.
    truncated : bool
        Whether in/out with truncated walks is tried, too.
    """

    name: str
    text: str
    game: osv.TableGame | osv.FunctionGame | osv.LogisticGame
    costs: Callable[[tuple[int, ...]], bool]
    truth: Floats
    walks: tuple[int, ...]
    n_runs: int
    truncated: bool = False


class Point(NamedTuple):
    """One estimator at one budget: mean evaluations used, root mean square error, mean rank correlation."""

    evaluations: float
    error: float
    correlation: float


# --------------------------------------------------------------------------------------------
# The games
# --------------------------------------------------------------------------------------------

COST = np.array([1.0, 2.0, 3.0, 4.0])
WORTH = np.array([7.0, 6.0, 5.0, 4.0])


@numba.njit
def gains_from_trade(sequence):
    """Sellers 0..3 wait with their good; buyers 4..7 take the cheapest that pays, or leave for good."""
    waiting = np.zeros(4, np.bool_)
    total = 0.0
    for player in sequence:
        if player < 4:
            waiting[player] = True
            continue
        for seller in range(4):
            gain = WORTH[player - 4] - COST[seller]
            if waiting[seller] and gain > 0.0:
                waiting[seller] = False
                total += gain
                break
    return total


def is_not_empty(sequence: tuple[int, ...]) -> bool:
    return len(sequence) > 0


class HasEveryClass:
    """Whether a sequence of rows has a model."""

    def __init__(self, y: npt.NDArray[np.int64]) -> None:
        self.y = y
        self.n_classes = len(np.unique(y))

    def __call__(self, sequence: tuple[int, ...]) -> bool:
        """Whether the rows of the sequence have every class."""
        return len(set(self.y[list(sequence)].tolist())) == self.n_classes


def small_problems(n_runs: int = 100, walks: tuple[int, ...] = (10, 20, 50, 100, 200, 500)) -> list[Problem]:
    """Games whose exact values are known."""
    table = osv.TableGame.from_array(7, np.random.default_rng(0).normal(size=13_700))
    games = [
        ("Random table", "7 players, every utility a standard normal number", table),
        (
            "Market",
            f"8 players: sellers at costs {COST.tolist()} wait, buyers at {WORTH.tolist()} take the cheapest "
            "good there that pays or leave; the utility is the gains from trade",
            osv.FunctionGame(gains_from_trade, 8),
        ),
    ]
    return [
        Problem(
            name,
            f"{text}; truth exact",
            game,
            is_not_empty,
            osv.exact_values(game, "ordinal").values,
            walks,
            n_runs,
        )
        for name, text, game in games
    ]


def real_problem(rows: data.Problem, n_truth: int, walks: tuple[int, ...], n_runs: int) -> Problem:
    """A data set; the truth is a long in/out run with a seed of its own."""
    game = osv.LogisticGame(rows.X, rows.y, rows.X_valid, rows.y_valid)
    truth = osv.sample_values(
        game, "ordinal", "mc", n_permutations=n_truth, random_state=TRUTH_SEED, n_jobs=-1
    )
    error = np.sqrt((truth.stderr**2).mean()) / truth.values.std()
    text = (
        f"`LogisticGame` on {len(rows.y)} standardised rows, Gaussian position weights, accuracy on "
        f"{len(rows.y_valid)} validation rows; truth: in/out over {n_truth:,} full orders, seed "
        f"{TRUTH_SEED}, with standard errors of {error:.2g} on the scale of the table (the values' standard "
        f"deviation is {truth.values.std():.2g})"
    )
    return Problem(rows.name, text, game, HasEveryClass(rows.y), truth.values, walks, n_runs, truncated=True)


def problems() -> Iterator[Problem]:
    yield from small_problems()
    yield real_problem(data.wine(), 40_000, (20, 40, 80, 160, 320), 12)
    yield real_problem(data.wdbc(), 30_000, (20, 40, 80, 160), 8)


# --------------------------------------------------------------------------------------------
# The estimators
# --------------------------------------------------------------------------------------------


def in_out_run(problem: Problem, run: int) -> tuple[list[int], list[Floats]]:
    """Evaluations used and values after each number of walks."""
    results = [
        osv.sample_values(problem.game, "ordinal", "mc", n_permutations=n, random_state=IN_OUT_SEED + run)
        for n in problem.walks
    ]
    return [r.n_evaluations for r in results], [r.values for r in results]


def patience_run(problem: Problem, run: int, budgets: list[int]) -> tuple[list[int], list[Floats]]:
    """Truncated walks, ten by ten, until the next ten would exceed the budget."""
    blocks: list[osv.Valuation] = []
    used: list[int] = []
    values: list[Floats] = []
    spent = TARGET_ORDERS
    while True:
        block = osv.sample_values(
            problem.game,
            "ordinal",
            osv.PermutationSampler(truncation=osv.PatienceTruncation()),
            n_permutations=10,
            first_permutation=10 * len(blocks),
            random_state=IN_OUT_SEED + run,
        )
        cost = block.n_evaluations - TARGET_ORDERS
        while len(used) < len(budgets) and spent + cost > budgets[len(used)]:
            used.append(spent)
            values.append(osv.Valuation.merge(blocks).values)
        if len(used) == len(budgets):
            return used, values
        spent += cost
        blocks.append(block)


def roulette_run(problem: Problem, run: int, budgets: list[int]) -> tuple[list[float], list[Floats]]:
    """As many orders as each budget pays for besides the pilot; NaN where it does not pay for that."""
    options: Any = {"value": "ordinal", "method": "auto", "random_state": IN_OUT_SEED + run}
    ten, twenty = (osv.sample_values(problem.game, n_permutations=n, **options) for n in (10, 20))
    each = (twenty.n_evaluations - ten.n_evaluations) / 10
    used, values = [], []
    for budget in budgets:
        count = int((budget - ten.n_evaluations) / each) // 10 * 10 + 20
        cost, estimate = budget + 1, np.full(problem.game.n_players, np.nan)
        while cost > budget and count > 10:
            count -= 10
            result = osv.sample_values(problem.game, n_permutations=count, **options)
            cost, estimate = result.n_evaluations, result.values
        used.append(cost if cost <= budget else np.nan)
        values.append(np.where(cost <= budget, estimate, np.nan))
    return used, values


def insertion_run(problem: Problem, run: int, budgets: list[int]) -> tuple[list[int], list[Floats]]:
    """Insert player after player in rounds until the next evaluation would exceed the budget."""
    n = problem.game.n_players
    rng = np.random.default_rng([INSERTION_SEED, run])
    sums, counts = np.zeros(n), np.zeros(n)
    spent = 0
    used: list[int] = []
    values: list[Floats] = []
    for player in itertools.cycle(range(n)):
        pair = naive.insertion_draw(n, player, rng)
        cost = sum(map(problem.costs, pair))
        while len(used) < len(budgets) and spent + cost > budgets[len(used)]:
            used.append(spent)
            values.append(sums / np.maximum(counts, 1))
        if len(used) == len(budgets):
            return used, values
        spent += cost
        sums[player] += problem.game(pair[1]) - problem.game(pair[0])
        counts[player] += 1
    raise AssertionError("a cycle does not end")


def all_runs(problem: Problem, run: int) -> dict[str, tuple[Any, list[Floats]]]:
    """Every estimator once; the budgets are what in/out used."""
    budgets, values = in_out_run(problem, run)
    out: dict[str, tuple[Any, list[Floats]]] = {
        IN_OUT: (budgets, values),
        INSERTION: insertion_run(problem, run, budgets),
    }
    if problem.truncated:
        out[PATIENCE] = patience_run(problem, run, budgets)
        out[ROULETTE] = roulette_run(problem, run, budgets)
    return out


def measure_points(problem: Problem) -> dict[str, list[Point]]:
    """Points of each estimator, budget by budget, over the independent runs."""
    runs = Parallel(n_jobs=-1)(delayed(all_runs)(problem, run) for run in range(problem.n_runs))
    points: dict[str, list[Point]] = {}
    for name in runs[0]:
        used = np.array([run[name][0] for run in runs])
        values = np.array([run[name][1] for run in runs])
        errors = np.sqrt(((values - problem.truth) ** 2).mean(axis=(0, 2)))
        correlations = [
            np.mean([spearmanr(one, problem.truth).statistic for one in values[:, k]])
            for k in range(len(problem.walks))
        ]
        points[name] = [
            Point(*map(float, row)) for row in zip(used.mean(axis=0), errors, correlations, strict=True)
        ]
    return points


def measured(problem: Problem) -> Record:
    """Return what the page says of one game; errors in standard deviations of the true values."""
    points = measure_points(problem)
    return {
        "players": problem.game.n_players,
        "settings": problem.text,
        "runs": problem.n_runs,
        "estimators": {
            name: {
                "evaluations": [point.evaluations for point in line],
                "error": [point.error / problem.truth.std() for point in line],
                "correlation": [point.correlation for point in line],
            }
            for name, line in points.items()
        },
    }


def measure() -> Record:
    found = {**surroundings("ordinal-shapley", "numba", "numpy"), "games": {}}
    for problem in problems():
        found["games"][problem.name] = measured(problem)
        print(problem.name, found["games"][problem.name], flush=True)
    return found


# --------------------------------------------------------------------------------------------
# The page
# --------------------------------------------------------------------------------------------


def draw(record: Record, docs: Path) -> None:
    """Error against evaluations, a panel for each game."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogLocator, NullLocator

    figure, axes = plt.subplots(2, 2, figsize=(8.0, 6.4), layout="constrained")
    for ax, (name, game) in zip(axes.flat, record["games"].items(), strict=True):
        for estimator, style in STYLES.items():
            if estimator in game["estimators"]:
                line = game["estimators"][estimator]
                known = [(x, y) for x, y in zip(line["evaluations"], line["error"], strict=True) if y]
                ax.loglog(*zip(*known, strict=True), label=estimator, markersize=6, **style)
        ax.set_title(f"{name}, {game['players']} players", fontsize="medium")
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.set_major_formatter("{x:,g}")
            axis.set_minor_locator(NullLocator())
        ax.grid(color="0.9", linewidth=0.6)
        ax.set_axisbelow(True)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
    axes[1, 0].legend(frameon=False)
    figure.supxlabel("evaluations of the utility", fontsize="medium")
    figure.supylabel("root mean square error / standard deviation of the values", fontsize="medium")
    figure.savefig(docs / "images" / "ordinal_error.png", dpi=150)
    plt.close(figure)


def rows(name: str, game: Record) -> Iterator[tuple[str, ...]]:
    """Yield the rows of one game; a cell is empty where an estimator was not tried."""
    estimators = game["estimators"]
    ours, theirs = estimators[IN_OUT], estimators[INSERTION]
    for k, evaluations in enumerate(ours["evaluations"]):
        cells = {
            what: [
                ""
                if one not in estimators or estimators[one][what][k] is None
                else f"{estimators[one][what][k]:.2f}"
                for one in (IN_OUT, PATIENCE, ROULETTE, INSERTION)
            ]
            for what in ("error", "correlation")
        }
        ratio = (theirs["error"][k] / ours["error"][k]) ** 2
        yield name, f"{evaluations:,.0f}", *cells["error"], f"{ratio:.1f}", *cells["correlation"]


def pages(record: Record, docs: Path) -> dict[str, str]:
    """Return the page with its generated part."""
    columns = (
        "game",
        "evaluations",
        "in/out",
        "in/out, patience",
        "in/out, roulette",
        "insertion",
        "insertion needs",
        "rank: in/out",
        "rank: patience",
        "rank: roulette",
        "rank: insertion",
    )
    settings = [
        f"{name}: {game['settings']}; {game['runs']} runs of each estimator."
        for name, game in record["games"].items()
    ]
    settings.append(
        f"Seeds: in/out run r has `random_state={IN_OUT_SEED} + r`, insertion "
        f"`default_rng([{INSERTION_SEED}, r])`. `make bench-error` wrote this: {where(record)}."
    )
    parts = [
        "## In/out against insertion",
        wrap(TEXT),
        table(columns, [row for name, game in record["games"].items() for row in rows(name, game)]),
        "![Error of the estimators against evaluations, in four games](images/ordinal_error.png)",
        "Settings:",
        wrap("- " + "\n- ".join(settings)),
    ]
    page = "variance.md"
    text = (docs / page).read_text(encoding="utf-8")
    return {page: replaced(text, "ordinal error", "\n\n".join(parts))}


SCRIPT = Script("ordinal_error", measure, pages, draw)

if __name__ == "__main__":
    SCRIPT.main()
