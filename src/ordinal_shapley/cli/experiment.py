"""The commands ``ordinal-shapley experiment noise`` and ``ordinal-shapley experiment removal``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ordinal_shapley.cli import options, output
from ordinal_shapley.cli.data import FRACTION, DataOptions, DataOptionsWithTest
from ordinal_shapley.cli.options import SamplerOptions, either, model_option, option
from ordinal_shapley.vocabulary import SCORINGS, VALUES, count

if TYPE_CHECKING:
    from rich.console import Console

    from ordinal_shapley.tables.problem import Problem

_CONFIDENCE, _RANDOM = "self_confidence", "random"
_FOLDS = 5
_option = functools.partial(option, panel="Experiment")


@dataclass(frozen=True)
class ExperimentOptions:
    """The values, how they are sampled, the number of runs, and the output."""

    kinds: list[str] | None = option(
        None,
        f"{either(VALUES)}. Repeat the option for more than one.",
        "NAME",
        flag="--value",
        without="all three",
        choices=VALUES,
    )
    scoring: str = model_option(
        "accuracy", f"Score on validation rows: {either(SCORINGS)}.", "NAME", choices=SCORINGS
    )
    permutations: int | None = options.PERMUTATIONS
    runs: int = _option(
        5, "Number of runs, each with its own random split.", "N", limits={"min": 1, "max": 1_000}
    )
    seed: int = _option(
        0, "Random seed of the first run; run k has seed S + k - 1.", "S", limits={"min": 0, "max": 2**63}
    )
    jobs: int = options.JOBS
    out: Path | None = options.OUT
    plot: Path | None = options.PLOT
    as_json: bool = options.JSON


@dataclass(frozen=True)
class _Experiment:
    """How the results of the runs are reported."""

    name: str
    title: str
    # By their names in JSON: the title of a column, and a function from a run to the number.
    figures: dict[str, tuple[str, Callable[[Any], float]]]
    plot: str
    meaning: str


_NOISE = _Experiment(
    "noise",
    "Label errors found",
    {
        "roc_auc": ("ROC AUC", lambda found: found.auc),
        "precision": ("precision", lambda found: found.precision),
        "found_in_lowest_half": ("found in the lowest half", lambda found: found.found_at(0.5)),
    },
    "plot_detection",
    "ROC AUC is the probability that a flipped label has a lower value than a correct one, 0.5 for random "
    "values. Precision is the share of flipped labels among the lowest rows, as many as labels were flipped. "
    "Self-confidence is the probability of a row's label, predicted by models that were not trained on the "
    "row. If you want label errors and nothing else, use what finds most here; of the values, ordinal or "
    "classic.",
)
_REMOVAL = _Experiment(
    "removal",
    "Rows removed by value",
    {
        "all_rows": ("all rows", lambda curves: float(curves.high_first[0])),
        "highest_first": ("highest first", lambda curves: curves.auc),
        "lowest_first": ("lowest first", lambda curves: curves.auc_low_first),
    },
    "plot_removal",
    "Mean accuracy on the test set over all marks. Values are good if the accuracy is low when the highest "
    "values are removed first, and high when the lowest are.",
)


@options.command
def noise(
    data: DataOptions,
    plan: ExperimentOptions,
    sampling: SamplerOptions,
    fraction: float = _option(0.2, "Share of the training labels to flip.", "Q", limits=FRACTION),
) -> None:
    """Test which value finds label errors in your rows.

    Flips labels of some training rows, values all of them, and counts how many flipped rows are among the
    lowest values. Each run flips other labels and splits the rows anew. Self-confidence, the cross-validated
    probability of a row's label, is shown for comparison: it takes a few model fits and often finds more. Of
    the values, prefer ordinal or classic. The partial ordinal value is poor at finding label errors, because
    Gaussian position weights give the last row almost no weight. For example:

    ordinal-shapley experiment noise patients.csv --target outcome

    ordinal-shapley experiment noise --dataset wine --value ordinal --value classic --plot found.png
    """

    def prepare(run: int, problem: Problem) -> tuple[Any, Callable[[Any], Any]]:
        from ordinal_shapley import corrupt_labels, detect_noisy_labels

        flipped = corrupt_labels(problem.y, fraction, run)
        n, n_flipped = len(problem.y), len(flipped.rows)
        if n_flipped in (0, n):
            raise ValueError(
                f"--fraction is {fraction}, which would flip {n_flipped:,} of {n:,} labels: expected some, "
                "but not all"
            )
        return flipped.labels, lambda values: detect_noisy_labels(values, flipped)

    _run(_NOISE, data, plan, sampling, {"fraction": fraction}, prepare)


@options.command
def removal(
    data: DataOptionsWithTest,
    plan: ExperimentOptions,
    sampling: SamplerOptions,
    marks: int = _option(
        20, "Number of points at which to train again.", "N", limits={"min": 1, "max": 10_000}
    ),
) -> None:
    """Test whether a model depends on the rows with the highest values.

    Values the training rows, removes them from the highest value down and from the lowest up, trains the
    model again at 20 points and scores it on a test set. Each run splits the rows anew. For example:

    ordinal-shapley experiment removal patients.csv --target outcome

    ordinal-shapley experiment removal --dataset cancer --value ordinal --plot curves.png
    """

    def prepare(run: int, problem: Problem, test: Problem) -> tuple[Any, Callable[[Any], Any]]:
        from ordinal_shapley import remove_high_value

        rows = (problem.X, problem.y, test.X_valid, test.y_valid)
        return problem.y, lambda values: remove_high_value(values, *rows, marks=marks)

    _run(_REMOVAL, data, plan, sampling, {"marks": marks}, prepare)


def _run(
    experiment: _Experiment,
    data: DataOptions,
    plan: ExperimentOptions,
    sampling: SamplerOptions,
    more: dict[str, Any],
    prepare: Callable[..., tuple[Any, Callable[[Any], Any]]],
) -> None:
    """Value the rows in each run, and show the results.

    `prepare` returns the labels to train on, and a function from values to a result.
    """
    data.check()
    output.check_outputs({"--out": plan.out, "--plot": plan.plot}, data.inputs())
    sampler, kinds = sampling.sampler(), list(dict.fromkeys(plan.kinds or VALUES))
    seeds = range(plan.seed, plan.seed + plan.runs)
    import numpy as np
    import pandas as pd

    from ordinal_shapley import LogisticGame, sample_values
    from ordinal_shapley.experiments import self_confidence

    baselines = [_CONFIDENCE, _RANDOM] if experiment is _NOISE else [_RANDOM]
    results: dict[str, list[Any]] = {kind: [] for kind in [*kinds, *baselines]}
    with output.warning_lines() as warned:
        for run, (problem, *tests) in zip(seeds, data.read(seeds), strict=True):
            labels, judge = prepare(run, problem, *tests)
            rows = (problem.X, labels, problem.X_valid, problem.y_valid)
            for kind in kinds:
                weight = "uniform" if kind == "classic" else "gaussian"
                game = LogisticGame(*rows, position_weight=weight, scoring=plan.scoring)
                how = {"n_permutations": plan.permutations, "random_state": run, "n_jobs": plan.jobs}
                results[kind].append(judge(sample_values(game, kind, sampler, **how)))
            if _CONFIDENCE in results:
                found = self_confidence(*rows, cv=min(_FOLDS, len(labels)), random_state=run)
                results[_CONFIDENCE].append(judge(found.self_confidence))
            results[_RANDOM].append(judge(np.random.default_rng(run).random(len(labels))))
        frames = [
            result.to_frame().assign(value=name, seed=run)
            for name, runs in results.items()
            for run, result in zip(seeds, runs, strict=True)
        ]
        whole = pd.concat(frames).set_index("value")
        table = output.csv_writer(whole[["seed", *whole.columns.drop("seed")]])
        # The plot of label errors has a line for random values.
        named = {name.replace("_", " "): runs for name, runs in results.items()}
        named = {name: runs for name, runs in named.items() if experiment is _REMOVAL or name != _RANDOM}
        picture = output.picture_writer(experiment.plot, named)
        sizes = {"training rows": len(labels), "validation rows": len(problem.y_valid)}
        if tests:
            sizes["test rows"] = len(tests[0].y_valid)
        summaries = [{"value": name} | _summary(experiment, runs) for name, runs in results.items()]
        name = problem.name
        settings = {
            **data.settings(),
            "values": kinds,
            "sampler": sampler.settings(),
            "biases": sampler.biases,
            **{one: getattr(plan, one) for one in ("scoring", "permutations", "runs", "seed")},
            **more,
        }
        counts = {rows.replace(" ", "_"): n for rows, n in sizes.items()}
        document = {"data": {"name": name, **counts}, "settings": settings, "values": summaries}
        listed = ", ".join(f"{n:,} {what}" for what, n in sizes.items())
        title = (
            f"[bold]{experiment.title}[/bold] in {output.safe(name)}: {listed}; "
            f"{count(plan.runs, 'run')} from seed {plan.seed}\nSampling: {sampler.words}\n"
        )
        output.show(
            f"experiment {experiment.name}",
            plan.as_json,
            lambda: document,
            lambda console: _show(console, title, experiment, summaries),
            [(plan.out, table), (plan.plot, picture)],
            warned,
        )


def _summary(experiment: _Experiment, runs: list[Any]) -> dict[str, Any]:
    import numpy as np

    summary = {}
    for key, (_, figure) in experiment.figures.items():
        numbers = [figure(run) for run in runs]
        spread = np.std(numbers, ddof=1) if len(runs) > 1 else None
        summary[key] = {"mean": np.mean(numbers), "std": spread, "runs": numbers}
    return summary


def _show(console: Console, title: str, experiment: _Experiment, summaries: list[dict[str, Any]]) -> None:
    console.print(title)

    def text(cell: dict[str, Any]) -> str:
        return f"{cell['mean']:.2f}" + ("" if cell["std"] is None else f" ± {cell['std']:.2f}")

    columns = {"value": [line["value"].replace("_", " ") for line in summaries]}
    for key, (column, _) in experiment.figures.items():
        columns[column] = [text(line[key]) for line in summaries]
    output.print_table(console, columns, "value")
    spread = " Figures are means over the runs ± their standard deviation." * ("±" in columns[column][0])
    console.print(f"\n{experiment.meaning}{spread}")
