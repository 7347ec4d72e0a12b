"""The command ``ordinal-shapley value``: the value of each training row to a model."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ordinal_shapley.cli import options, output
from ordinal_shapley.cli.data import DataOptionsWithFolds
from ordinal_shapley.cli.models import ModelOptions
from ordinal_shapley.cli.options import FIRST, either, option, output_option, running_option
from ordinal_shapley.vocabulary import VALUES, count

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from ordinal_shapley.tables.problem import Problem
    from ordinal_shapley.valuation.result import Valuation

_MAX_CLASSES = 6  # whose names and counts go on one line
_MAX_ROUNDS = 100  # number of points that a picture needs
_SHOWN = 10
_LONGEST_NAME = 16
_SHORTEST_LABEL = 8


@dataclass(frozen=True)
class RunOptions:
    """How the run is done, and its output."""

    out: Path | None = option(
        None, "Write the values of all rows to this file, at full precision.", "TABLE.csv", panel=FIRST
    )
    report: Path | None = option(
        None, "Write an HTML page that explains the result, with plots.", "REPORT.html", panel=FIRST
    )
    plot: Path | None = options.PLOT
    as_json: bool = options.JSON
    evidence: bool = output_option(
        True,
        "Predict each row's label by a random forest that was not trained on the row, to find label errors.",
        flag="--evidence/--no-evidence",
    )
    seed: int = options.SEED
    checkpoint: Path | None = running_option(
        None, "Save the run to this file; the same command resumes it, also to more permutations.", "RUN.npz"
    )
    jobs: int = options.JOBS
    progress: bool = options.PROGRESS


@options.command
def value(
    *,
    data: DataOptionsWithFolds,
    value_kind: str = option(
        "classic",
        f"{either(VALUES)}. Use classic, unless your rows have an order that training follows; the other two "
        "use the paper's Gaussian position weights.",
        "NAME",
        flag="--value",
        choices=VALUES,
    ),
    sizes: str | None = options.SIZES,
    sampling: options.SamplerOptions,
    models: ModelOptions,
    stopping: options.StoppingOptions,
    run: RunOptions,
) -> None:
    """Estimate how much each training row contributes to a model's score.

    The model is a logistic regression, or another --model. All rows are valued: they are split into five
    folds, and each row is a validation row in one fold and valued in the others. With --valid all rows are
    valued on validation rows whose labels you trust. Text columns become one column per category, numbers are
    standardised, and a first column without a name is left out. Missing values are an error, unless --impute
    is given. The same seed gives the same values. For example:

    ordinal-shapley value --dataset wine --out values.csv --report report.html

    ordinal-shapley value patients.csv --target outcome --valid later.csv --drop name --impute
    """
    data.check()
    outputs = {"--out": run.out, "--plot": run.plot, "--report": run.report}
    output.check_outputs(outputs | {"--checkpoint": run.checkpoint}, data.inputs())
    kind = options.weighted(value_kind, sizes)
    sampler, rule = sampling.sampler(), stopping.rule(data.folds or 1)
    models.check(sampler)
    with output.warning_lines() as warned_reading:
        ((problem,),) = data.read([run.seed], numbers=models.numbers)

    from ordinal_shapley import History, sample_values
    from ordinal_shapley.common.progress import quicker
    from ordinal_shapley.estimators.evidence import label_evidence

    with (
        quicker("--minutes M, fewer --permutations, small sets only (--sizes 50) or all cores (--jobs -1)"),
        output.warning_lines() as warned,
    ):
        game = models.game(problem, value_kind, data.folds, run.seed)
        history = None if run.report is None else History(rule, _MAX_ROUNDS)
        valuation = sample_values(
            game,
            kind,
            sampler,
            stopping=history or rule,
            random_state=run.seed,
            n_jobs=run.jobs,
            checkpoint=run.checkpoint,
            progress=run.progress,
        )
        if run.evidence and not models.numbers:
            rows = problem.X, problem.y, problem.X_valid, problem.y_valid
            found = label_evidence(*rows, random_state=run.seed, n_jobs=run.jobs)
            valuation = replace(valuation, evidence=found)
        frame = (
            valuation.to_frame().rename_axis("row").drop(columns=["count", "given_label"], errors="ignore")
        )
        frame.insert(0, "label", problem.y)
        title = f"{valuation.kind.title} Shapley values of {count(len(frame), 'row')} of {problem.name}"

        def every() -> list[str]:
            return [*warned_reading(), *warned()]

        def write_report(path: Path) -> None:
            targets = "numbers to predict" if models.numbers else "classes"
            valuation.to_html(
                path,
                X=problem.frame,
                y=problem.y,
                game=game,
                history=history,
                title=title,
                settings={
                    "Data": f"{problem.name}, with the {targets} in column {problem.target}",
                    **data.words(game),
                    "Order": _order(valuation, game),
                },
                warnings=every(),
            )

        # Classes have marks in the plot, numbers have none.
        marked = None if models.numbers else problem.y
        files = [
            (run.out, output.csv_writer(frame)),
            (run.plot, output.picture_writer("plot_values", valuation, classes=marked)),
            (run.report, write_report),
        ]

        def document() -> dict[str, Any]:
            from ordinal_shapley.report.text import is_better, sum_words, why_monte_carlo

            sizes = {"training_rows": len(frame), "validation_rows": game._n_valid}
            return {
                "data": {"name": problem.name, **sizes, **data.settings()},
                "settings": output.run_settings(valuation),
                "score": {
                    "all_rows": valuation.full_score,
                    "baseline": valuation.baseline_score,
                    "better_than_baseline": is_better(valuation),
                },
                "errors": {
                    "total": valuation.stderr_total is not None,
                    "why_not": why_monte_carlo(valuation, game) or None,
                },
                "sum": float(frame["value"].sum()),
                "sum_means": sum_words(valuation) or None,
                "run": output.run_summary(valuation) | {"stop": _why(valuation, stopping)},
                "rows": output.records(frame),
                "model": models.settings(game),
            }

        def on_screen(console: Console) -> None:
            console.print(f"[bold]{output.safe(title)}[/bold]")
            validation = data.validation(game)
            validation += "; give rows whose labels you trust as --valid" * (data.folds is not None)
            words = models.words(game), validation, _why(valuation, stopping)
            console.print(output.facts(*_facts(valuation, game, problem, *words)))
            _show_rows(console, valuation, frame, game)
            if valuation.kind.name == "partial_ordinal" and not (models.numbers or game.order_free):
                console.print(
                    "To find label errors use --value ordinal or classic: this value is poor at it."
                )

        output.show("value", run.as_json, document, on_screen, files, every)


def _order(valuation: Valuation, game: Any) -> str:
    """Describe the role of order, and when to use another value."""
    if valuation.kind.order_free:
        return "ignored, as rows of most tables have no order; if training follows one, use --value ordinal"
    if game.order_free:
        return "has no effect with uniform position weights, so all values equal the classic one"
    return (
        f"matters, by {game.position_weight} position weights; if your rows have no order, as in most "
        "tables, use --value classic"
    )


def _facts(
    valuation: Valuation, game: Any, problem: Problem, model: str, validation: str, why: str
) -> list[tuple[str, str]]:
    """Return the summary above the table, as pairs of terms and texts."""
    from ordinal_shapley.report.text import reliability_words, score_words, sum_words

    speed = valuation.n_evaluations / valuation.seconds if valuation.seconds > 0 else math.nan
    sizes = valuation.kind.size_words
    lines = {
        "model": model,
        "sampling": f"{valuation.sampler.words}; seed {valuation.seed}",
        "sizes": sizes and f"{sizes}: use the values to rank rows, they do not sum to the score",
        "order": _order(valuation, game),
        "labels": output.safe(_labels(problem)),
        "validation rows": output.safe(validation),
        "score": score_words(valuation, game),
        "values sum to": sum_words(valuation),
        "permutations": f"{valuation.n_permutations:,}, {why}",
        "rows evaluated": f"on average {valuation.mean_evaluated:.1f} of {len(valuation):,} per permutation",
        "model fits": f"{valuation.n_evaluations:,} in {valuation.seconds:.2f} s, {speed:,.0f} per second",
        "reliability": reliability_words(valuation),
    }
    return [(term, words) for term, words in lines.items() if words]


def _labels(problem: Problem) -> str:
    """Describe the target, so that numbers are not taken for classes unnoticed."""
    import numpy as np

    column, y = f"column {problem.target}", problem.y
    if y.dtype.kind == "f":
        return f"{column}: numbers from {y.min():g} to {y.max():g}"
    names, counts = np.unique(y, return_counts=True)
    words = f"{column}: {len(names):,} classes"
    if len(names) <= _MAX_CLASSES:
        parts = [f"{name} ({count(n, 'row')})" for name, n in zip(names, counts.tolist(), strict=True)]
        return f"{words}, {', '.join(parts)}"
    return f"{words} of {counts.min():,} to {counts.max():,} rows"


def _why(valuation: Valuation, stopping: options.StoppingOptions) -> str:
    """Describe why the run ended."""
    folds = len(valuation.moments.parts)
    bound, requested = stopping.standard_error, stopping.permutations
    if valuation.stopped_by == "MaxSeconds":
        return "stopped at the time limit"
    if bound is not None:
        if valuation.converged:
            return f"stopped once every standard error was at most {bound:g}"
        return f"stopped at this limit, with a standard error still above {bound:g}"
    if valuation.converged and not valuation.values.any():
        return f"stopped as all values were 0 over the last {100 * folds}: no row changed the score"
    if valuation.converged:
        return f"stopped once the values changed by less than 5 % over {100 * folds}; ranks can still change"
    if requested is None:
        return f"stopped at this limit, while the values still changed by 5 % or more over {100 * folds}"
    more = valuation.n_permutations > requested
    return f"from the checkpoint, more than the {requested:,} asked for" if more else "as asked for"


def _show_rows(console: Console, valuation: Valuation, frame: pd.DataFrame, game: Any) -> None:
    """Print the lowest and the highest rows, and explain the errors."""
    from ordinal_shapley.report.text import covered, decimals, shown_errors

    frame = frame.assign(error=shown_errors(valuation))
    ranked = frame.sort_values("rank", ascending=False, kind="stable")
    digits = decimals(frame["error"].to_numpy(), frame["value"].to_numpy())
    parts = {"All rows, lowest first": ranked}
    if len(frame) > 2 * _SHOWN:
        parts = {
            "The ten lowest rows, lowest first": ranked.head(_SHOWN),
            "The ten highest rows, highest first": ranked.tail(_SHOWN).iloc[::-1],
        }
    for title, rows in parts.items():
        console.print(f"\n[bold]{title}[/bold]")
        _show_table(console, rows, digits)
    known, below = int(frame["error"].notna().sum()), int(frame["below_zero"].sum())
    verb = "has" if below == 1 else "have"
    found = f"{below:,} of {count(known, 'row')} {verb} a 95 % CI entirely below 0."
    if not known:
        found = "No row has a standard error yet: use more permutations."
    console.print(f"\n{found} {covered(valuation, game)}")
    if "combined_rank" in frame:
        first = frame.sort_values("combined_rank", kind="stable").head(_SHOWN)
        evidence = valuation.evidence
        assert evidence is not None
        others = int(evidence.disputed.sum())
        names = ", ".join(output.safe(str(name)) for name in first.index)
        console.print(
            f"Labels to check first, by value and prediction (combined_rank): rows {names}. For {others:,} "
            f"of {count(len(frame), 'row')} a random forest that was not trained on the row predicts "
            f"another label with confidence. Its predictions agree with {100 * evidence.accuracy:.0f} % of "
            f"the labels given, the majority class with {100 * evidence.majority:.0f} %."
        )


def _show_table(console: Console, rows: pd.DataFrame, digits: int) -> None:
    from ordinal_shapley.common.names import names_of

    sign = output.plus_minus(console)
    names = [str(name) for name in rows.index]
    if output.room(console) is not None:
        # Names of rows stay distinct when they are shortened.
        names = names_of(rows.index.to_numpy(), len(rows), _LONGEST_NAME)

    def numbers(column: str, sign: str = "+") -> list[str]:
        return ["?" if math.isnan(number) else f"{number:{sign}.{digits}f}" for number in rows[column]]

    def joined(word: str, first: list[str], second: list[str]) -> list[str]:
        return [f"{one} {word} {two}" for one, two in zip(first, second, strict=True)]

    columns = {
        "rank": [*map(str, rows["rank"])],
        "row": [*map(output.safe, names)],
        "label": [*rows["label"]],
        f"value {sign} std. error": joined(sign, numbers("value"), numbers("error", "")),
        "95 % CI": joined("to", numbers("ci_low"), numbers("ci_high")),
        "": ["< 0" * bool(below) for below in rows["below_zero"]],
    }
    if "predicted_label" in rows:
        predictions = zip(rows["label"], rows["predicted_label"], rows["predicted_probability"], strict=True)
        columns["predicted"] = [
            "" if own == other else f"{output.safe(str(other))} {100 * share:.0f} %"
            for own, other, share in predictions
        ]
    others = {title: cells for title, cells in columns.items() if title != "label"}
    output.make_room(console, others, ("predicted",), _SHORTEST_LABEL)
    columns = {title: cells for title, cells in columns.items() if title == "label" or title in others}
    output.print_table(console, columns, "label")
