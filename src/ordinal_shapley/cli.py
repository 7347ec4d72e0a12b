"""The command ``ordinal-shapley``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ordinal_shapley._completion_command import COMPLETION_HELP, PROGRAM, completion, heed_shell
from ordinal_shapley._data_options import DataOptions
from ordinal_shapley._documents import (
    Json,
    Warned,
    print_document,
    records,
    run_summary,
    truncation_settings,
    written,
)
from ordinal_shapley._experiment_commands import app as experiment
from ordinal_shapley._game_commands import EXACT_HELP, VERIFY_HELP, exact, verify
from ordinal_shapley._journey_command import JOURNEYS_HELP, journeys
from ordinal_shapley._model_options import ModelOptions
from ordinal_shapley._option_groups import grouped
from ordinal_shapley._options import (
    Design,
    StandardError,
    Tolerance,
    TruncationName,
    check_jobs,
    either,
    error_lines,
    interruption,
    option,
    running_option,
    sampling_options,
    stopping_rule,
    warning_lines,
)
from ordinal_shapley._outputs import check_outputs
from ordinal_shapley._report_option import Report, recorded, write_report
from ordinal_shapley._reproduce_command import REPRODUCE_HELP, reproduce
from ordinal_shapley.vocabulary import (
    CLASS_METHODS,
    DESIGNS,
    METHODS,
    VALUES,
    choose,
)

if TYPE_CHECKING:
    from ordinal_shapley._tables import Problem
    from ordinal_shapley.games.base import Game

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_VALUE_HELP = """Say what each training row is worth to a model: a logistic regression, or another.

Text columns become one column a category; numbers are standardised. A missing entry is an error \
without --impute; a first column without a name is left out. The same seed gives the same values. For example:

ordinal-shapley value --dataset wine --out values.csv --plot values.png

ordinal-shapley value patients.csv --target outcome --valid later.csv --drop name --impute
"""


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; by default those of the process.
    """
    arguments = None if argv is None else list(argv)
    try:
        heed_shell()
        command = typer.main.get_command(app)
        code = command.main(arguments, prog_name=PROGRAM, standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort) as interrupt:
        typer.echo(interruption(interrupt), err=True)
        sys.exit(130)
    except Exception as error:
        # Usage errors come from the click that typer uses, which may be its own copy.
        if not hasattr(error, "format_message"):
            raise
        typer.echo(f"error: {' '.join(error.format_message().split())}", err=True)
        sys.exit(2)
    sys.exit(code if isinstance(code, int) else 0)


def _print_version(wanted: bool) -> None:
    if wanted:
        from ordinal_shapley import __version__

        typer.echo(f"ordinal-shapley {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Shapley values of training rows and players whose order matters."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command(help=_VALUE_HELP)
@grouped
def value(
    data: DataOptions,
    models: ModelOptions,
    method: Annotated[
        str | None,
        option(
            f"{either(METHODS)}.",
            default="ctmc; tmc if ordinal, classic or ridge",
            choices=METHODS,
            metavar="NAME",
        ),
    ] = None,
    value_kind: Annotated[
        str, option(f"{either(VALUES)}.", flag="--value", choices=VALUES, metavar="NAME")
    ] = "partial_ordinal",
    class_fraction: Annotated[
        float | None,
        option("cmc, ctmc: share of each class in a sampled set.", default="0.8", metavar="Q"),
    ] = None,
    truncation: TruncationName = None,
    tolerance: Tolerance = None,
    design: Design = "independent",
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
    max_seconds: Annotated[
        float | None,
        running_option("Stop after S seconds of sampling, with what there is then.", metavar="S"),
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
    jobs: Annotated[
        int,
        running_option("Threads, -1 for all cores; the values don't depend on it.", metavar="J", max=1024),
    ] = -1,
    out: Annotated[
        Path | None, running_option("Write the values of all rows there.", metavar="VALUES.csv")
    ] = None,
    plot: Annotated[
        Path | None, running_option("Draw them there (png, svg, pdf ...).", metavar="VALUES.png")
    ] = None,
    report: Report = None,
    progress: Annotated[
        bool, running_option("Show a bar, if stderr is a terminal.", flag="--progress/--no-progress")
    ] = True,
    as_json: Json = False,
) -> None:
    """Value the training rows of a file or of a data set."""
    with error_lines():
        choose("--value", value_kind, VALUES)
        models.check(data.dataset)
        method = method or models.usual_method(value_kind)
        choose("--method", method, METHODS)
        models.check_method(method)
        choose("--design", design, DESIGNS)
        if design == "latin" and method in CLASS_METHODS:
            raise ValueError(f"--design latin is for mc and tmc; --method is {method}")
        game_options = models.game_options(value_kind)
        check_jobs(jobs)
        options = sampling_options(value_kind, method, class_fraction, truncation, tolerance)
        stops = stopping_rule(permutations, standard_error, max_seconds)
        outputs = {"--out": out, "--plot": plot, "--report": report, "--checkpoint": checkpoint}
        check_outputs(outputs, (data.train, data.valid))
        with warning_lines() as read_warnings:
            problem = data.read(seed, numbers=models.numbers)
        settings = ", ".join(
            [
                *models.words(),
                method,
                *([f"class fraction {class_fraction or 0.8:g}"] if method in CLASS_METHODS else []),
                *([f"{design} permutations"] if design != "independent" else []),
                f"{game_options['position_weight']} weights",
                game_options["scoring"].replace("_", " "),
                f"seed {seed}",
            ]
        )
        options |= {"random_state": seed, "n_jobs": jobs, "design": design, "checkpoint": checkpoint, **stops}
        goals = (permutations, standard_error)
        asked = {
            "value": value_kind,
            "method": method,
            "class_fraction": (class_fraction or 0.8) if method in CLASS_METHODS else None,
            "design": design,
            **truncation_settings(options.get("truncation")),
            "model": models.model,
            **game_options,
            "permutations": permutations,
            "standard_error": standard_error,
            "max_seconds": max_seconds,
            "seed": seed,
            **data.settings(),
        }
        with warning_lines() as warned:
            _run(
                problem,
                models.game(problem, game_options),
                value_kind,
                method,
                options,
                settings,
                goals,
                progress,
                out,
                plot,
                report,
                (asked, lambda: [*read_warnings(), *warned()]) if as_json else None,
            )


def _run(
    problem: Problem,
    game: Game,
    value_kind: str,
    method: str,
    options: dict[str, Any],
    settings: str,
    goals: tuple[int | None, float | None],
    progress: bool,
    out: Path | None,
    plot: Path | None,
    report: Path | None,
    document: tuple[dict[str, Any], Warned] | None,
) -> None:
    """Sample the values, write the files, show the result."""
    from ordinal_shapley import _outputs, _screen, sample_values

    history = None
    if report is not None:
        options, history = recorded(options)
    valuation = sample_values(game, value=value_kind, method=method, progress=progress, **options)
    frame = _outputs.result_frame(valuation, problem.y)
    if out is not None:
        _outputs.write_csv(frame, out)
    if plot is not None:
        _outputs.write_picture(valuation, problem.y, plot)
    if report is not None:
        write_report(report, valuation, problem, game, history, settings)
    if document is not None:
        asked, warned = document
        sizes = {"training_rows": len(frame), "validation_rows": len(problem.y_valid)}
        parts = {
            "data": {"name": problem.name, **sizes},
            "settings": asked,
            "run": run_summary(valuation) | {"stop": _screen.stop_reason(valuation, *goals)},
            "rows": records(frame),
            "written": written(out, plot, report),
        }
        print_document("value", parts, warned)
        return
    console = _screen.screen()
    _screen.show(
        console,
        valuation,
        frame,
        name=problem.name,
        n_valid=len(problem.y_valid),
        settings=settings,
        goals=goals,
    )
    for path in (out, plot, report):
        if path is not None:
            console.print(f"Written: {path}", highlight=False, markup=False, soft_wrap=True)


app.command(help=EXACT_HELP)(exact)
app.command(help=VERIFY_HELP)(verify)
app.command(help=JOURNEYS_HELP)(journeys)
app.command(help=REPRODUCE_HELP)(reproduce)
app.add_typer(experiment, name="experiment")
app.command(help=COMPLETION_HELP)(completion)
