"""The commands ``ordinal-shapley experiment noise`` and ``ordinal-shapley experiment removal``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ordinal_shapley.cli.data_options import DataOptions, HeldOutOptions, check_fraction
from ordinal_shapley.cli.experiment_screen import RANDOM, OutputOptions, finish
from ordinal_shapley.cli.json_documents import sampler_settings
from ordinal_shapley.cli.option_groups import grouped
from ordinal_shapley.cli.options import (
    Jobs,
    SamplerOptions,
    check_jobs,
    data_option,
    either,
    error_lines,
    option,
    warning_lines,
)
from ordinal_shapley.cli.outputs import check_outputs
from ordinal_shapley.vocabulary import SCORINGS, VALUES, choose

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
    scoring: Annotated[str, option(f"{either(SCORINGS)}.", choices=SCORINGS, metavar="NAME")] = "accuracy"
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

    def check(self) -> None:
        """ValueError unless the options are known."""
        choose("--scoring", self.scoring, SCORINGS)
        check_jobs(self.jobs)
        for kind in self.names:
            choose("--value", kind, VALUES)

    @property
    def names(self) -> list[str]:
        """The values asked for."""
        return list(dict.fromkeys(self.kinds or VALUES))

    def settings(self, sampling: SamplerOptions) -> dict[str, Any]:
        """Return what ``--json`` tells of the options."""
        return {
            "values": self.names,
            "method": sampling.method,
            **sampler_settings(sampling.sampler()),
            "scoring": self.scoring,
            "permutations": self.permutations,
            "runs": self.runs,
            "seed": self.seed,
        }


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
    sampling: SamplerOptions,
    outputs: OutputOptions,
    fraction: Annotated[float, data_option("Share of the training labels to change.", metavar="Q")] = 0.2,
) -> None:
    """Change labels and look for them."""
    with error_lines():
        check_fraction("--fraction", fraction)
        values.check()
        sampling.check()
        check_outputs({"--out": outputs.out, "--plot": outputs.plot}, (data.train, data.valid))
        from ordinal_shapley.experiments.detection import detect_noisy_labels
        from ordinal_shapley.experiments.noise import corrupt_labels

        found: dict[str, list[Any]] = {}
        with warning_lines() as warned:
            for run in values.seeds:
                problem = data.read(run)
                changed = corrupt_labels(problem.y, fraction, run)
                if len(changed.rows) in (0, len(problem.y)):
                    raise ValueError(
                        f"--fraction: {fraction} of {len(problem.y):,} training rows is "
                        f"{len(changed.rows):,}; some must be changed and some not"
                    )
                for name, worth in _values(problem, changed.labels, values, sampling, run):
                    found.setdefault(name, []).append(detect_noisy_labels(worth, changed))
        settings = data.settings() | values.settings(sampling) | {"fraction": fraction}
        finish(found, problem, None, settings, outputs, warned)


@app.command(help=_REMOVAL_HELP)
@grouped
def removal(
    data: HeldOutOptions,
    values: ValueOptions,
    sampling: SamplerOptions,
    outputs: OutputOptions,
    marks: Annotated[int, option("At how many points to train again.", metavar="N", min=1, max=10_000)] = 20,
) -> None:
    """Remove rows by their values."""
    with error_lines():
        data.check()
        values.check()
        sampling.check()
        check_outputs({"--out": outputs.out, "--plot": outputs.plot}, (data.train, data.valid, data.test))
        from ordinal_shapley.experiments.removal import remove_high_value

        curves: dict[str, list[Any]] = {}
        with warning_lines() as warned:
            for run in values.seeds:
                problem, held = data.read_three(run)
                for name, worth in _values(problem, problem.y, values, sampling, run):
                    curves.setdefault(name, []).append(
                        remove_high_value(
                            worth, problem.X, problem.y, held.X_valid, held.y_valid, marks=marks
                        )
                    )
        settings = data.settings() | values.settings(sampling) | {"marks": marks}
        finish(curves, problem, held, settings, outputs, warned)


def _values(
    problem: Problem, labels: Any, values: ValueOptions, sampling: SamplerOptions, seed: int
) -> Iterator[tuple[str, Valuation | Any]]:
    """Yield each kind of value of the training rows, and random ones to compare with."""
    import numpy as np

    from ordinal_shapley import LogisticGame, sample_values

    for kind in values.names:
        game = LogisticGame(
            problem.X,
            labels,
            problem.X_valid,
            problem.y_valid,
            position_weight="uniform" if kind == "classic" else "gaussian",
            scoring=values.scoring,
        )
        valuation = sample_values(
            game,
            kind,
            sampling.sampler(),
            n_permutations=values.permutations,
            random_state=seed,
            n_jobs=values.jobs,
        )
        yield kind, valuation
    yield RANDOM, np.random.default_rng(seed).random(len(problem.y))
