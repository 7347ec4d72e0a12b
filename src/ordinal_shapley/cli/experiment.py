"""The commands ``ordinal-shapley experiment noise`` and ``ordinal-shapley experiment removal``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ordinal_shapley.cli.data_options import DataOptions, HeldOutOptions, check_fraction
from ordinal_shapley.cli.experiment_screen import RANDOM, OutputOptions, finish
from ordinal_shapley.cli.json_documents import truncation_settings
from ordinal_shapley.cli.option_groups import grouped
from ordinal_shapley.cli.options import (
    Jobs,
    Tolerance,
    TruncationName,
    check_jobs,
    data_option,
    either,
    error_lines,
    option,
    sampling_options,
    warning_lines,
)
from ordinal_shapley.cli.outputs import check_outputs
from ordinal_shapley.vocabulary import METHODS, SCORINGS, VALUES, choose

if TYPE_CHECKING:
    from ordinal_shapley.tables.problem import Problem
    from ordinal_shapley.valuation.result import Valuation

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


@dataclass(frozen=True)
class ValueOptions:
    """Which values, how they are sampled, and in how many runs."""

    kinds: Annotated[
        list[str] | None,
        option(
            f"{either(VALUES)}; can be given again.",
            flag="--value",
            default="all three",
            choices=VALUES,
            metavar="NAME",
        ),
    ] = None
    method: Annotated[
        str | None,
        option(
            f"{either(METHODS)}.", default="ctmc; tmc if ordinal or classic", choices=METHODS, metavar="NAME"
        ),
    ] = None
    scoring: Annotated[str, option(f"{either(SCORINGS)}.", choices=SCORINGS, metavar="NAME")] = "accuracy"
    truncation: TruncationName = None
    tolerance: Tolerance = None
    permutations: Annotated[
        int | None,
        option(
            "How many permutations.",
            default="until the values change by less than 5 % over 100, at most 10,000",
            metavar="N",
            min=1,
            max=2**62,
        ),
    ] = None
    runs: Annotated[
        int, option("How many runs, each with a split of its own.", metavar="N", min=1, max=1_000)
    ] = 5
    seed: Annotated[
        int, option("Seed of the first run; the others count on.", metavar="S", min=0, max=2**63)
    ] = 0
    jobs: Jobs = -1

    @property
    def seeds(self) -> range:
        """The seed of each run."""
        return range(self.seed, self.seed + self.runs)

    def settings(self) -> dict[str, Any]:
        """Return what ``--json`` tells of the options."""
        asked = {"scoring": self.scoring, "permutations": self.permutations}
        asked |= {"runs": self.runs, "seed": self.seed}
        kinds = [
            {"value": kind, "method": of["method"], **truncation_settings(of.get("truncation"))}
            for kind, of in self.sampling().items()
        ]
        return asked | {"values": kinds}

    def sampling(self) -> dict[str, dict[str, Any]]:
        """Return the arguments of `sample_values` for each kind of value."""
        from ordinal_shapley.estimators.usual import usual_method, usual_truncation

        choose("--scoring", self.scoring, SCORINGS)
        check_jobs(self.jobs)
        options = {}
        for kind in dict.fromkeys(self.kinds or VALUES):
            choose("--value", kind, VALUES)
            method = self.method or usual_method(kind, predicts_classes=True)
            choose("--method", method, METHODS)
            options[kind] = {
                "value": kind,
                "method": method,
                "n_permutations": self.permutations,
                "n_jobs": self.jobs,
                "truncation": usual_truncation(kind, method),
                **sampling_options(kind, method, None, self.truncation, self.tolerance),
            }
        return options


@app.callback(invoke_without_command=True)
def _root(context: typer.Context) -> None:
    """See on your own rows what values are good for."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command(help=_NOISE_HELP)
@grouped
def noise(
    data: DataOptions,
    values: ValueOptions,
    outputs: OutputOptions,
    fraction: Annotated[float, data_option("Share of the training labels to change.", metavar="Q")] = 0.2,
) -> None:
    """Change labels and look for them."""
    with error_lines():
        check_fraction("--fraction", fraction)
        values.sampling()  # says what is wrong before there is any work
        check_outputs({"--out": outputs.out, "--plot": outputs.plot}, (data.train, data.valid))
        from ordinal_shapley.experiments.detection import detect_noisy_labels
        from ordinal_shapley.experiments.noise import corrupt_labels

        found: dict[str, list[Any]] = {}
        with warning_lines() as warned:
            for run in values.seeds:
                problem = data.read(run)
                sampling = values.sampling()
                changed = corrupt_labels(problem.y, fraction, run)
                if len(changed.rows) in (0, len(problem.y)):
                    raise ValueError(
                        f"--fraction: {fraction} of {len(problem.y):,} training rows is "
                        f"{len(changed.rows):,}; some must be changed and some not"
                    )
                for name, worth in _values(problem, changed.labels, sampling, values.scoring, run):
                    found.setdefault(name, []).append(detect_noisy_labels(worth, changed))
        settings = data.settings() | values.settings() | {"fraction": fraction}
        finish(found, problem, None, settings, outputs, warned)


@app.command(help=_REMOVAL_HELP)
@grouped
def removal(
    data: HeldOutOptions,
    values: ValueOptions,
    outputs: OutputOptions,
    marks: Annotated[int, option("At how many points to train again.", metavar="N", min=1, max=10_000)] = 20,
) -> None:
    """Remove rows by their values."""
    with error_lines():
        data.check()
        values.sampling()  # says what is wrong before there is any work
        check_outputs({"--out": outputs.out, "--plot": outputs.plot}, (data.train, data.valid, data.test))
        from ordinal_shapley.experiments.removal import remove_high_value

        curves: dict[str, list[Any]] = {}
        with warning_lines() as warned:
            for run in values.seeds:
                problem, held = data.read_three(run)
                sampling = values.sampling()
                for name, worth in _values(problem, problem.y, sampling, values.scoring, run):
                    curves.setdefault(name, []).append(
                        remove_high_value(
                            worth, problem.X, problem.y, held.X_valid, held.y_valid, marks=marks
                        )
                    )
        settings = data.settings() | values.settings() | {"marks": marks}
        finish(curves, problem, held, settings, outputs, warned)


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
