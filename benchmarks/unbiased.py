"""Values by default have no bias, however many players there are: writes a section of docs/variance.md.

Usage: python benchmarks/unbiased.py [--render]
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

import ordinal_shapley as osv
from bench import problems as data
from bench.evidence import Floats, Ints, Reference, agreement, coverage, error_of, from_definition, z_scores
from bench.record import RESULTS, Record, Script, load, replaced, surroundings, where
from ordinal_shapley.experiments.baselines import knn_shapley
from ordinal_shapley.sampling.ahead import Ahead
from page.tables import table, wrap

# Seeds of runs count from 0, those of references from here.
REFERENCE_SEED = 10**6
N_FEW = 5

TEXT = """\
`make bench-unbiased` writes this section: {where}.

`Roulette()`, the default, with many players.
Means over independent runs are compared with a reference that does without it: exact values, full
permutations (`method="mc"`), or evaluations of single random sequences, put together by the definition
(`from_definition` in `benchmarks/bench/evidence.py`).

- **players**: for each player a z-score, the difference over its standard error (of runs and reference
together). The root mean square is 1 without a bias; beside it the largest, and in brackets what that
exceeds by chance one time in twenty.
- **sums**: the same for sums over groups of players: all, each class, and tenths in the order of a column, of
the index and of the values of another run.
- **p**: how often chance makes the sum of the squared z-scores as large. Players share permutations, so
chance is simulated with the differences between the runs.
- **error**: how large a bias shows, as the standard error of the comparison: of a player, in standard
deviations of the values; and of the sum over all players, in percent of it. That sum is noisy: the default
evaluates all players together in one permutation of many, which matters to each of them little.

The truncation rule of patience has a bias: it is there to show that one is found."""
COVER = """\
How many of the 95 % intervals of single runs hold the reference, by whose own error they are widened here;
**few**: those of the players of the rare class, or of the ten largest owners. The pilot: its evaluations, its
share of the CPU time of the run, and how many permutations take as long.

**no width**: intervals of standard error 0, which hold nothing. For the classic value a permutation evaluates
its first players only. Where players are many more than all permutations together reach, most have changed
nothing yet: then a value of 0 and a standard error of 0 say that nothing is known. Such players have no
z-score, and scores of those seen a few times only are far from normal: of the classic value of all of Adult
only the sums tell of bias."""


class Case(NamedTuple):
    """A game, and what its values are compared with.

    game : Game
    text : str
        For the page.
    known_by : str
        The same: how the reference is known.
    reference : callable
        Makes it, of the game; may take long.
    groups : dict of str to int64 array
        Players whose values are summed, by name.
    few : int64 array
        Players whose intervals are looked at apart, too; may be none.
    """

    game: Any
    text: str
    known_by: str
    reference: Callable[[Any], Reference]
    groups: dict[str, Ints]
    few: Ints = np.zeros(0, np.int64)


class Trial(NamedTuple):
    """How a case is tried.

    value : str
    lengths : tuple of int
        Permutations of a run; means over runs of the last length are compared with the reference.
    n_runs : int
        Independent runs of each length.
    rule : str
        The truncation rule; by default that of `sample_values`.
    """

    value: str
    lengths: tuple[int, ...]
    n_runs: int
    rule: str = "roulette"


# --------------------------------------------------------------------------------------------
# References
# --------------------------------------------------------------------------------------------


def full_walks(n_batches: int, size: int) -> Callable[[Any], Reference]:
    """Every prefix of random orders."""

    def reference(game: Any) -> Reference:
        runs = [
            osv.sample_values(game, "ordinal", "mc", n_permutations=size, random_state=REFERENCE_SEED + k)
            for k in range(n_batches)
        ]
        values = np.array([run.values for run in runs])
        error = np.sqrt(np.mean([run.stderr**2 for run in runs], axis=0) / n_batches)
        return Reference(values.mean(axis=0), error, values)

    return reference


def single_sequences(n_batches: int, n_sizes: int, n_orders: int, n_full: int) -> Callable[[Any], Reference]:
    """Utilities of sequences drawn here."""

    def reference(game: Any) -> Reference:
        streams = [np.random.default_rng([REFERENCE_SEED, k]) for k in range(n_batches)]
        values = np.array([from_definition(game, rng, n_sizes, n_orders, n_full) for rng in streams])
        return Reference.mean(values)

    return reference


# --------------------------------------------------------------------------------------------
# Games
# --------------------------------------------------------------------------------------------


def tenths(name: str, scores: Floats | Ints) -> dict[str, Ints]:
    parts = np.array_split(np.argsort(scores, kind="stable"), 10)
    return {f"{name}, tenth {k}": part for k, part in enumerate(parts, 1)}


def groups_of(feature: Floats, codes: Ints | None = None) -> dict[str, Ints]:
    """All, classes, and tenths in the order of a feature and of the index."""
    everybody = np.arange(len(feature))
    groups = {"all": everybody}
    if codes is not None:
        groups |= {f"class {k}": np.flatnonzero(codes == k) for k in range(codes.max() + 1)}
    return groups | tenths("feature", feature) | tenths("index", everybody)


def logistic(rows: data.Problem, text: str, known_by: str, reference: Callable[[Any], Reference]) -> Case:
    game = osv.LogisticGame(rows.X, rows.y, rows.X_valid, rows.y_valid)
    return Case(game, text, known_by, reference, groups_of(rows.X[:, 0], rows.y))


def clusters(n: int = 5_000, n_batches: int = 14, size: int = 100) -> Case:
    return logistic(
        data.gaussian_classes(n, 10, 2, 500),
        f"{n:,} rows of 10 columns in two normal classes, `LogisticGame` with Gaussian weights",
        f"{n_batches * size:,} full permutations",
        full_walks(n_batches, size),
    )


def adult(n_batches: int = 32, n_sizes: int = 10, n_valid: int = 500) -> Case:
    rows = data.adult_all(n_valid)
    return logistic(
        rows,
        f"all {len(rows.y):,} rows of Adult, one-hot, `LogisticGame` with Gaussian weights",
        f"{8 * n_sizes * n_batches:,} single sequences",
        single_sequences(n_batches, n_sizes, 8, 2),
    )


def rare_class(n: int = 10_000, n_batches: int = 20, n_sizes: int = 300) -> Case:
    """A class of a few rows; half of the validation rows have it."""
    rng = np.random.default_rng(0)
    n_valid = 500
    y = np.arange(n + n_valid) < N_FEW
    y[n::2] = True
    X = rng.normal(size=(n + n_valid, 10)) + 2.5 * y[:, None]
    rows = data.Problem("rare", X[:n], y[:n].astype(np.int64), X[n:], y[n:].astype(np.int64))
    case = logistic(
        rows,
        f"{n:,} rows of 10 columns, {N_FEW} of them in a class of their own, `LogisticGame` with Gaussian "
        "weights",
        f"{8 * n_sizes * n_batches:,} single sequences",
        single_sequences(n_batches, n_sizes, 8, 20),
    )
    return case._replace(few=np.arange(N_FEW))


def owners(n: int = 300, n_batches: int = 40, n_sizes: int = 50) -> Case:
    """Groups of very different sizes as players."""
    sizes = np.maximum(1, np.random.default_rng(0).lognormal(3.2, 1.5, n)).astype(np.int64)
    rows = data.gaussian_classes(int(sizes.sum()), 10, 3, 500)
    owner = np.repeat(np.arange(n), sizes)
    return Case(
        osv.LogisticGame(rows.X, rows.y, rows.X_valid, rows.y_valid, groups=owner),
        f"{n} owners of {sizes.min()} to {sizes.max():,} rows, {sizes.sum():,} in all, of 10 columns in "
        "three normal classes, `LogisticGame` with Gaussian weights",
        f"{8 * n_sizes * n_batches:,} single sequences",
        single_sequences(n_batches, n_sizes, 8, 5),
        groups_of(sizes.astype(float)),
        np.argsort(-sizes)[:10],
    )


def neighbors(n_valid: int = 50, n: int = data.ADULT_ROWS) -> Case:
    rows = data.adult_all(n_valid)
    arrays = rows.X[:n], rows.y[:n], rows.X_valid, rows.y_valid
    game = osv.NearestNeighborGame(*arrays, position_weight="uniform", scoring="vote_share", empty_value=0.0)
    return Case(
        game,
        f"all {n:,} rows of Adult, one-hot, `NearestNeighborGame` with uniform weights and vote shares",
        "exact, KNN-Shapley",
        lambda _: Reference.exact(knn_shapley(*arrays)),
        groups_of(rows.X[:n, 0], rows.y[:n]),
    )


def _reset(game: Any) -> None:
    game.found = 0


def _push(game: Any, player: int) -> None:
    last = game.length - 1
    game.found += player < game.n_few
    game.sums[last] = game.logs[player] + (game.sums[last - 1] if last > 0 else 0.0)


def _pop(game: Any, player: int) -> None:
    game.found -= player < game.n_few


def _gained(game: Any) -> float:
    if game.found == 0:
        return 0.0
    gained = -math.expm1(game.sums[game.length - 1])
    if game.ordered:
        gained *= 1.2 if game.sequence[0] < game.sequence[game.length - 1] else 0.8
    return gained


def rare_players(n: int = 10_000, *, ordered: bool) -> Case:
    """Nothing is gained before one of a few players has come; what others add saturates."""
    gains = np.random.default_rng(0).lognormal(-8.0, 1.0, n)
    gains[:N_FEW] = 0.0
    game = osv.CompiledGame(
        n,
        _gained,
        _push,
        _pop,
        _reset,
        arrays={"logs": np.log1p(-gains)},
        state={"sums": np.zeros(n)},
        numbers={"found": 0, "n_few": N_FEW, "ordered": int(ordered)},
        order_free=not ordered,
    )
    order = ", times 1.2 or 0.8 depending on who comes first and last" if ordered else ""
    return Case(
        game,
        f"{n:,} players, a formula: 0 until one of {N_FEW} players has come, then 1 - product of (1 - gain) "
        f"over the others{order}",
        "exact, Owen's integral",
        lambda _: Reference.exact(rare_values(gains)),
        groups_of(gains),
        np.arange(N_FEW),
    )


def rare_values(gains: Floats) -> Floats:
    """Return the values of that game: each player's gain where all others are there with probability t."""
    nodes, weights = np.polynomial.legendre.leggauss(200)
    values = np.zeros(len(gains))
    for t, weight in zip((nodes + 1.0) / 2.0, weights / 2.0, strict=True):
        missed = np.prod(1.0 - t * gains)
        values += weight * (1.0 - (1.0 - t) ** N_FEW) * gains * missed / (1.0 - t * gains)
        values[:N_FEW] += weight * (1.0 - t) ** (N_FEW - 1) * (1.0 - missed)
    return values


CASES: dict[str, tuple[Callable[[], Case], list[Trial]]] = {
    "two classes": (
        clusters,
        [Trial("ordinal", (100, 1_000), 30), Trial("ordinal", (1_000,), 20, "patience")],
    ),
    "all of Adult": (adult, [Trial("ordinal", (60,), 8)]),
    "all of Adult, neighbours": (
        neighbors,
        [Trial("ordinal", (100, 1_000), 8), Trial("classic", (100, 1_000), 40)],
    ),
    "a rare class": (rare_class, [Trial("ordinal", (100, 1_000), 16)]),
    "rare players, formula": (
        lambda: rare_players(ordered=True),
        [Trial("ordinal", (100, 1_000), 60)],
    ),
    "rare players, formula without order": (
        lambda: rare_players(ordered=False),
        [Trial("classic", (100, 1_000), 60)],
    ),
    "owners": (owners, [Trial("ordinal", (100, 1_000), 12)]),
}


# --------------------------------------------------------------------------------------------
# Runs
# --------------------------------------------------------------------------------------------


class Pilot:
    """CPU seconds and utilities of the pilot of a run."""

    def __init__(self) -> None:
        self.seconds, self.evaluations = 0.0, 0

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Watch a run."""
        original = Ahead.plan

        def plan(ahead: Ahead, *arguments: Any) -> Any:
            began = time.process_time()
            try:
                return original(ahead, *arguments)
            finally:
                self.seconds = time.process_time() - began
                self.evaluations = ahead.evaluations

        with patch.object(Ahead, "plan", plan):
            yield


class Run(NamedTuple):
    """What one run gave and took."""

    values: Floats
    stderr: Floats
    evaluations: int
    pilot_evaluations: int
    seconds: float
    pilot_seconds: float


def one_run(game: Any, trial: Trial, count: int, seed: int) -> Run:
    rule = trial.rule
    pilot = Pilot()
    began = time.process_time()
    with pilot.watched():
        made = osv.sample_values(
            game,
            trial.value,
            osv.PermutationSampler(truncation=rule),
            n_permutations=count,
            random_state=seed,
            n_jobs=1,
        )
    seconds = time.process_time() - began
    return Run(made.values, made.stderr, made.n_evaluations, pilot.evaluations, seconds, pilot.seconds)


def tried(case: Case, trial: Trial, reference: Reference) -> Record:
    """Run and compare."""
    # Tenths in the order of the values: where shrinking them would show most.
    further = one_run(case.game, trial, trial.lengths[-1], REFERENCE_SEED).values
    groups = case.groups | tenths("value", further)
    if len(case.few):
        groups["few"] = case.few
    lengths: list[Record] = []
    for part, count in enumerate(trial.lengths):
        runs = [one_run(case.game, trial, count, part * trial.n_runs + k) for k in range(trial.n_runs)]
        values, stderr = np.array([run.values for run in runs]), np.array([run.stderr for run in runs])
        held = coverage(values, stderr, reference)
        lengths.append(
            {
                "permutations": count,
                "coverage": held.mean(),
                "no width": (stderr == 0.0).mean(),
                "coverage of the few": held[case.few].mean() if len(case.few) else None,
            }
            | {
                name: np.mean([getattr(run, name) for run in runs])
                for name in ("evaluations", "pilot_evaluations", "seconds", "pilot_seconds")
            }
        )
    error = np.sqrt((stderr**2).mean(axis=0) / trial.n_runs)
    # Of a player who changed nothing in any run nothing is known.
    seen = np.hypot(error, reference.error) > 0.0
    members = np.array([np.isin(np.arange(len(error)), part) for part in groups.values()], float).T
    sums = values @ members
    summed = reference.sums(members)
    total = np.hypot(error_of(sums[:, 0]), summed.error[0])
    return {
        **trial._asdict(),
        "rows": agreement(values[:, seen], reference.of(seen), error[seen])._asdict(),
        "sums": agreement(sums, summed)._asdict(),
        "error": np.sqrt((error**2 + reference.error**2).mean()) / reference.values.std(),
        "total error": total / abs(summed.values[0]),
        "z of sums": dict(zip(groups, z_scores(sums, summed), strict=True)),
        "lengths": lengths,
    }


def measured(case: Case, trials: list[Trial]) -> Record:
    """Return what the page says of one case."""
    began = time.process_time()
    reference = case.reference(case.game)
    seconds = time.process_time() - began
    return {
        "settings": case.text,
        "known_by": case.known_by,
        "players": case.game.n_players,
        "few": len(case.few),
        "reference_seconds": seconds,
        "trials": [tried(case, trial, reference) for trial in trials],
    }


def measure(*names: str) -> Record:
    """Measure games, by default all; of others what was measured stays."""
    found = surroundings("numba", "numpy", "scikit-learn")
    cases = load("unbiased")["cases"] if names and (RESULTS / "unbiased.json").exists() else {}
    with warnings.catch_warnings():
        # Patience ends walks early: that is what its bias is.
        warnings.filterwarnings("ignore", message=".*truncation ended", category=UserWarning)
        for name in names or CASES:
            make, trials = CASES[name]
            cases[name] = measured(make(), trials)
            print(name, cases[name], flush=True)
    return {**found, "cases": {name: cases[name] for name in CASES if name in cases}}


# --------------------------------------------------------------------------------------------
# The page
# --------------------------------------------------------------------------------------------


def cells(found: Record) -> tuple[str, ...]:
    """Return what a row says of differences."""
    return f"{found['sd']:.2f}", f"{found['largest']:.1f} ({found['bound']:.1f})", f"{found['p']:.2g}"


def pilot_permutations(length: Record) -> float:
    """How many permutations take as long as the pilot."""
    others = length["seconds"] - length["pilot_seconds"]
    return float(length["pilot_seconds"] / others * length["permutations"])


def pages(record: Record, docs: Path) -> dict[str, str]:
    """Return the page with its section."""
    differences, intervals, games = [], [], []
    for name, case in record["cases"].items():
        games.append(f"**{name}**: {case['settings']}. Reference: {case['known_by']}.")
        for trial in case["trials"]:
            value = trial["value"] if trial["rule"] == "roulette" else f"{trial['value']}, {trial['rule']}"
            runs = f"{trial['n_runs']} x {trial['lengths'][-1]['permutations']:,}"
            error = f"{trial['error']:.2g}; {trial['total error']:.1%}"
            differences.append((name, value, runs, *cells(trial["rows"]), *cells(trial["sums"]), error))
            intervals += [
                (
                    name,
                    value,
                    f"{length['permutations']:,}",
                    f"{length['coverage']:.1%}",
                    f"{length['coverage of the few']:.1%}" if case["few"] else "",
                    f"{length['no width']:.0%}" if length["no width"] else "",
                    f"{length['evaluations']:,.0f}",
                    f"{length['pilot_evaluations']:,.0f}",
                    f"{length['pilot_seconds'] / length['seconds']:.0%}",
                    f"{pilot_permutations(length):.0f}",
                )
                for length in trial["lengths"]
                if trial["rule"] == "roulette"
            ]
    columns = ("runs x permutations", "players", "largest", "p", "sums", "largest", "p", "error")
    covered = (
        "permutations",
        "intervals",
        "few",
        "no width",
        "evaluations",
        "pilot",
        "its time",
        "as that of",
    )
    parts = [
        "## Unbiased at any size",
        wrap(TEXT.format(where=where(record))),
        table(("game", "value", *columns), differences, words=2),
        wrap(COVER),
        table(("game", "value", *covered), intervals, words=2),
        "Games:",
        wrap("- " + "\n- ".join(games)),
    ]
    text = (docs / "variance.md").read_text(encoding="utf-8")
    return {"variance.md": replaced(text, "unbiased", "\n\n".join(parts))}


SCRIPT = Script("unbiased", measure, pages)

if __name__ == "__main__":
    SCRIPT.main()
