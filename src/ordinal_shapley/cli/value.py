"""The command ``ordinal-shapley value``: what each training row is worth to a model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ordinal_shapley.cli import value_words
from ordinal_shapley.cli.data_options import VALIDATION, DataOptions
from ordinal_shapley.cli.json_documents import (
    Json,
    print_document,
    records,
    run_summary,
    sampler_settings,
    written,
)
from ordinal_shapley.cli.model_options import ModelOptions
from ordinal_shapley.cli.option_groups import grouped
from ordinal_shapley.cli.options import (
    Jobs,
    Progress,
    SamplerOptions,
    StandardError,
    check_jobs,
    either,
    error_lines,
    option,
    running_option,
    stopping_rule,
    warning_lines,
)
from ordinal_shapley.cli.outputs import check_outputs
from ordinal_shapley.cli.report_option import Report, recorded, write_report
from ordinal_shapley.vocabulary import VALUES, choose

if TYPE_CHECKING:
    import pandas as pd

    from ordinal_shapley.games.base import Game
    from ordinal_shapley.sampling.history import History
    from ordinal_shapley.tables.problem import Problem
    from ordinal_shapley.valuation.result import Valuation

VALUE_HELP = """Say what each training row is worth to a model: a logistic regression, or another.

Text columns become one column a category; numbers are standardised. A missing entry is an error \
without --impute; a first column without a name is left out. The same seed gives the same values. For example:

ordinal-shapley value --dataset wine --out values.csv --plot values.png

ordinal-shapley value patients.csv --target outcome --valid later.csv --drop name --impute
"""


@grouped
def value(
    data: DataOptions,
    models: ModelOptions,
    sampling: SamplerOptions,
    value_kind: Annotated[
        str,
        option(
            f"{either(VALUES)}. Rows of a table have no order unless training gives them one, and then the "
            "classic value is right; the others bring the paper's Gaussian position weights.",
            flag="--value",
            choices=VALUES,
            metavar="NAME",
        ),
    ] = "classic",
    permutations: Annotated[
        int | None,
        option(
            "How many permutations.",
            default="until the values change by less than 5 % over 100, at most 10,000",
            metavar="N",
            min=1,
            max=2**62,
        ),
    ] = None,
    standard_error: StandardError = None,
    minutes: Annotated[
        float | None,
        running_option("Stop after M minutes of sampling, with what there is then.", metavar="M"),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        running_option(
            "Keep the run there; the same command goes on from it, also to more permutations.",
            metavar="RUN.npz",
        ),
    ] = None,
    seed: Annotated[
        int, option("Seeds rows, split and permutations.", metavar="S", min=0, max=2**64 - 1)
    ] = 0,
    jobs: Jobs = -1,
    out: Annotated[
        Path | None, running_option("Write the values of all rows there.", metavar="VALUES.csv")
    ] = None,
    plot: Annotated[
        Path | None, running_option("Draw them there (png, svg, pdf ...).", metavar="VALUES.png")
    ] = None,
    report: Report = None,
    progress: Progress = True,
    as_json: Json = False,
) -> None:
    """Value the training rows of a file or of a data set."""
    with error_lines():
        choose("--value", value_kind, VALUES)
        models.check(data.dataset)
        sampling.check()
        models.check_method(sampling)
        game_options = models.game_options(value_kind)
        check_jobs(jobs)
        stops = stopping_rule(permutations, standard_error, minutes)
        files = _Files(out, plot, report)
        check_outputs(files.by_option() | {"--checkpoint": checkpoint}, (data.train, data.valid))
        with warning_lines() as warned_reading:
            problem = data.read(seed, numbers=models.numbers)

        sampler = sampling.sampler()
        asked = {
            "value": value_kind,
            "method": sampling.method,
            **sampler_settings(sampler),
            "model": models.model,
            **game_options,
            "permutations": permutations,
            "standard_error": standard_error,
            "minutes": minutes,
            "seed": seed,
            **data.settings(),
        }
        from ordinal_shapley.common.progress import quicker

        words = "--minutes M, fewer --permutations or all cores (--jobs -1)"
        with quicker(words), warning_lines() as warned:
            from ordinal_shapley import sample_values

            game = models.game(problem, game_options)
            history = None
            if report is not None:
                stops, history = recorded(stops)
            valuation = sample_values(
                game,
                value_kind,
                sampler,
                random_state=seed,
                n_jobs=jobs,
                checkpoint=checkpoint,
                progress=progress,
                **stops,
            )
            result = _Result(
                problem,
                game,
                valuation,
                history,
                value_words.settings(models, valuation, asked),
                value_words.uncovered(valuation),
                data.words(problem),
                (permutations, standard_error),
            )
            result.write(files, [*warned_reading(), *warned(), *data.cautions(problem)])
            if as_json:
                parts = result.document(asked) | {"written": written(out, plot, report)}
                print_document("value", parts, lambda: [*warned_reading(), *warned()])
            else:
                result.show(files)


@dataclass(frozen=True)
class _Files:
    """The files to write."""

    out: Path | None
    plot: Path | None
    report: Path | None

    def by_option(self) -> dict[str, Path | None]:
        """Return the files by the option that names them."""
        return {"--out": self.out, "--plot": self.plot, "--report": self.report}


@dataclass(frozen=True)
class _Result:
    """What came out, with what is needed to tell it: words on settings, errors and data, and when to stop."""

    problem: Problem
    game: Game
    valuation: Valuation
    history: History | None
    settings: str
    uncovered: str
    data: dict[str, str]
    goals: tuple[int | None, float | None]

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The training rows in their order, as the CSV has them."""
        from ordinal_shapley.cli import outputs

        return outputs.result_frame(self.valuation, self.problem.y)

    def write(self, files: _Files, warned: list[str]) -> None:
        """Write the files asked for."""
        from ordinal_shapley.cli import outputs

        if files.out is not None:
            outputs.write_csv(self.frame, files.out)
        if files.plot is not None:
            outputs.write_picture(self.valuation, self.problem.y, files.plot)
        if files.report is not None:
            write_report(
                files.report,
                self.valuation,
                self.problem,
                self.game,
                self.history,
                self.data | {"Settings": self.settings},
                warned,
            )

    def document(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        from ordinal_shapley.cli import screen
        from ordinal_shapley.report.text import is_better

        problem, frame = self.problem, self.frame
        stop = screen.stop_reason(self.valuation, *self.goals)
        return {
            "data": {
                "name": problem.name,
                "training_rows": len(frame),
                "validation_rows": len(problem.y_valid),
            },
            "settings": asked,
            "score": {
                "all_rows": self.valuation.full_score,
                "guessing": self.valuation.guess_score,
                "better_than_guessing": is_better(self.valuation),
            },
            "run": run_summary(self.valuation) | {"stop": stop},
            "rows": records(frame),
        }

    def show(self, files: _Files) -> None:
        """Show the result on the screen, and say what was written."""
        from ordinal_shapley.cli import screen
        from ordinal_shapley.report.text import score_words

        classes = getattr(self.game, "classes_", None) is not None
        console = screen.screen()
        screen.show(
            console,
            self.valuation,
            self.frame,
            name=self.problem.name,
            n_valid=len(self.problem.y_valid),
            valid=self.data[VALIDATION],
            settings=self.settings,
            uncovered=self.uncovered,
            labels=value_words.labels(self.problem),
            score=score_words(self.valuation, self.game),
            goals=self.goals,
            dim=self.valuation.kind.name == "partial_ordinal" and classes and not self.game.order_free,
        )
        screen.tell_written(console, files.out, files.plot, files.report)
