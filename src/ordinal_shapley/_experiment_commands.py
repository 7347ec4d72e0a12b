"""The commands ``ordinal-shapley experiment noise`` and ``ordinal-shapley experiment removal``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ordinal_shapley._data_options import (
    VALID_FRACTION,
    DatasetName,
    Raw,
    Rows,
    RowsOfThree,
    Target,
    Train,
    Valid,
    ValidFraction,
    check_fraction,
    check_source,
    read_like,
    read_problem,
    read_table,
)
from ordinal_shapley._experiment_screen import RANDOM, finish
from ordinal_shapley._options import (
    Tolerance,
    TruncationName,
    check_jobs,
    data_option,
    either,
    error_lines,
    option,
    running_option,
    sampling_options,
    warning_lines,
)
from ordinal_shapley._outputs import check_outputs
from ordinal_shapley.vocabulary import METHODS, SCORINGS, VALUES, choose

if TYPE_CHECKING:
    from ordinal_shapley._tables import Problem
    from ordinal_shapley.valuation import Valuation

app = typer.Typer(
    context_settings={"help_option_names": ["-h", "--help"]},
)

_NOISE_HELP = """See which value finds wrong labels in your rows.

Changes labels of the training rows, values them, and looks how many of those changed are among the \
lowest values; with new labels and a new split in each run. To clean labels, prefer the ordinal value, \
or the classic one: under Gaussian weights the partial ordinal value sees wrong labels only dimly, for a \
row that comes last weighs almost nothing. For example:

ordinal-shapley experiment noise patients.csv --target outcome

ordinal-shapley experiment noise --dataset wine --value ordinal --value classic --plot found.png
"""
_REMOVAL_HELP = """See whether a model lives on the rows with the highest values.

Values the training rows, removes them from the highest value down and from the lowest up, trains the model \
again at 20 marks and scores it on rows held out; with a new split in each run. For example:

ordinal-shapley experiment removal patients.csv --target outcome

ordinal-shapley experiment removal --dataset cancer --value ordinal --plot curves.png
"""
Kinds = Annotated[
    list[str] | None,
    option(f"{either(VALUES)}; can be given again.", flag="--value", default="all three", metavar="NAME"),
]
Method = Annotated[
    str | None,
    option(f"{either(METHODS)}.", default="ctmc; tmc if ordinal or classic", metavar="NAME"),
]
Scoring = Annotated[str, option(f"{either(SCORINGS)}.", metavar="NAME")]
Permutations = Annotated[
    int | None,
    option(
        "How many permutations.",
        default="until the values change by less than 5 % over 100, at most 10,000",
        metavar="N",
        min=1,
        max=2**62,
    ),
]
Runs = Annotated[int, option("How many runs, each with a split of its own.", metavar="N", min=1, max=1_000)]
Seed = Annotated[int, option("Seed of the first run; the others count on.", metavar="S", min=0, max=2**63)]
Jobs = Annotated[
    int, running_option("Threads, -1 for all cores; the values don't depend on it.", metavar="J", max=1024)
]
Out = Annotated[Path | None, running_option("Write the curves of all runs there.", metavar="CURVES.csv")]
Plot = Annotated[Path | None, running_option("Draw them there (png, svg, pdf ...).", metavar="CURVES.png")]


@app.callback(invoke_without_command=True)
def _root(context: typer.Context) -> None:
    """See on your own rows what values are good for."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command(help=_NOISE_HELP)
def noise(
    train: Train = None,
    target: Target = None,
    dataset: DatasetName = None,
    valid: Valid = None,
    valid_fraction: ValidFraction = None,
    rows: Rows = None,
    raw: Raw = False,
    fraction: Annotated[float, data_option("Share of the training labels to change.", metavar="Q")] = 0.2,
    kinds: Kinds = None,
    method: Method = None,
    scoring: Scoring = "accuracy",
    truncation: TruncationName = None,
    tolerance: Tolerance = None,
    permutations: Permutations = None,
    runs: Runs = 5,
    seed: Seed = 0,
    jobs: Jobs = -1,
    out: Out = None,
    plot: Plot = None,
) -> None:
    """Change labels and look for them."""
    with error_lines():
        check_fraction("--fraction", fraction)
        options = _value_options(kinds, method, scoring, truncation, tolerance, permutations, jobs)
        check_outputs({"--out": out, "--plot": plot}, (train, valid))
        from ordinal_shapley.experiments.detection import detect_noisy_labels
        from ordinal_shapley.experiments.noise import corrupt_labels

        found: dict[str, list[Any]] = {}
        with warning_lines():
            for run in range(seed, seed + runs):
                problem = read_problem(train, target, dataset, valid, valid_fraction, rows, run, raw)
                changed = corrupt_labels(problem.y, fraction, run)
                if len(changed.rows) in (0, len(problem.y)):
                    raise ValueError(
                        f"--fraction: {fraction} of {len(problem.y):,} training rows is "
                        f"{len(changed.rows):,}; some must be changed and some not"
                    )
                for name, values in _values(problem, changed.labels, options, scoring, run):
                    found.setdefault(name, []).append(detect_noisy_labels(values, changed))
        finish(found, problem, None, seed, out, plot)


@app.command(help=_REMOVAL_HELP)
def removal(
    train: Train = None,
    target: Target = None,
    dataset: DatasetName = None,
    valid: Valid = None,
    valid_fraction: ValidFraction = None,
    test: Annotated[
        Path | None, data_option("Rows held out, with the same columns.", metavar="TEST.csv")
    ] = None,
    test_fraction: Annotated[
        float | None,
        data_option(
            "Without --test: the part of the rows, class by class, that is held out.",
            default="0.3; adult a third",
            metavar="Q",
        ),
    ] = None,
    rows: RowsOfThree = None,
    raw: Raw = False,
    marks: Annotated[int, option("At how many points to train again.", metavar="N", min=1, max=10_000)] = 20,
    kinds: Kinds = None,
    method: Method = None,
    scoring: Scoring = "accuracy",
    truncation: TruncationName = None,
    tolerance: Tolerance = None,
    permutations: Permutations = None,
    runs: Runs = 5,
    seed: Seed = 0,
    jobs: Jobs = -1,
    out: Out = None,
    plot: Plot = None,
) -> None:
    """Remove rows by their values."""
    with error_lines():
        if valid is not None and valid_fraction is not None:
            raise ValueError("give either --valid or --valid-fraction, and not both")
        if test is not None and test_fraction is not None:
            raise ValueError("give either --test or --test-fraction, and not both")
        check_fraction("--valid-fraction", valid_fraction)
        check_fraction("--test-fraction", test_fraction)
        check_source(train, target, dataset, {"--valid": valid, "--test": test})
        options = _value_options(kinds, method, scoring, truncation, tolerance, permutations, jobs)
        check_outputs({"--out": out, "--plot": plot}, (train, valid, test))
        from ordinal_shapley.experiments.removal import remove_high_value

        # Of Adult the paper's sizes, 200 valued and 200 to validate, and as many held out.
        usual = (0.5, 1 / 3) if dataset == "adult" else (VALID_FRACTION, VALID_FRACTION)
        fractions = (valid_fraction or usual[0], test_fraction or usual[1])
        curves: dict[str, list[Any]] = {}
        with warning_lines():
            for run in range(seed, seed + runs):
                problem, held = _three_parts((train, valid, test), target, dataset, fractions, rows, run, raw)
                for name, values in _values(problem, problem.y, options, scoring, run):
                    curves.setdefault(name, []).append(
                        remove_high_value(
                            values, problem.X, problem.y, held.X_valid, held.y_valid, marks=marks
                        )
                    )
        finish(curves, problem, held, seed, out, plot)


def _value_options(
    kinds: list[str] | None,
    method: str | None,
    scoring: str,
    truncation: str | None,
    tolerance: float | None,
    permutations: int | None,
    jobs: int,
) -> dict[str, dict[str, Any]]:
    """Return the arguments of `sample_values` for each kind of value."""
    choose("--scoring", scoring, SCORINGS)
    check_jobs(jobs)
    options = {}
    for kind in dict.fromkeys(kinds or VALUES):
        choose("--value", kind, VALUES)
        # As in the command `value`.
        chosen = method or ("ctmc" if kind == "partial_ordinal" else "tmc")
        choose("--method", chosen, METHODS)
        options[kind] = sampling_options(kind, chosen, None, truncation, tolerance)
        options[kind] |= {"value": kind, "method": chosen, "n_permutations": permutations, "n_jobs": jobs}
    return options


def _values(
    problem: Problem, labels: Any, options: dict[str, dict[str, Any]], scoring: str, seed: int
) -> Iterator[tuple[str, Valuation | Any]]:
    """Yield each kind of value of the training rows, and random ones to compare with."""
    import numpy as np

    from ordinal_shapley import LogisticGame, sample_values

    for kind, arguments in options.items():
        game = LogisticGame(
            problem.X,
            labels,
            problem.X_valid,
            problem.y_valid,
            position_weight="uniform" if kind == "classic" else "gaussian",
            scoring=scoring,
        )
        yield kind, sample_values(game, random_state=seed, **arguments)
    yield RANDOM, np.random.default_rng(seed).random(len(problem.y))


def _three_parts(
    files: tuple[Path | None, Path | None, Path | None],
    target: str | None,
    dataset: str | None,
    fractions: tuple[float, float],
    rows: int | None,
    seed: int,
    raw: bool,
) -> tuple[Problem, Problem]:
    """Return training rows with those to validate, and the same training rows with those held out."""
    from ordinal_shapley import _tables

    train, valid, test = files
    table = read_table(train, target, dataset)
    if rows is None and dataset == "adult":
        rows = 600
    if rows is not None:
        table = _tables.draw(table, rows, seed)
    parts = {}
    for name, path, fraction in (("test", test, fractions[1]), ("valid", valid, fractions[0])):
        if path is None:
            table, parts[name] = _tables.split(table, fraction, seed, f"--{name}")
        else:
            assert target is not None
            parts[name] = read_like(table, path, target)
    return tuple(_tables.encode(table, parts[name], raw=raw) for name in ("valid", "test"))  # type: ignore[return-value]
