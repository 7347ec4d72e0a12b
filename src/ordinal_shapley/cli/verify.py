"""The command ``ordinal-shapley verify``: estimates of a game's values beside the exact ones."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ordinal_shapley.cli.game_options import (
    FILE_HELP,
    NAMED_VALUES,
    Alpha,
    Case,
    File,
    Partition,
    Value,
    check_out,
    read_game,
    read_groups,
    read_names,
)
from ordinal_shapley.cli.json_documents import Json, print_document, written
from ordinal_shapley.cli.options import (
    Design,
    Jobs,
    Progress,
    Tolerance,
    TruncationName,
    check_design,
    check_jobs,
    either,
    error_lines,
    option,
    running_option,
    sampling_options,
    warning_lines,
)
from ordinal_shapley.common.arguments import number
from ordinal_shapley.vocabulary import AVERAGES, CLASS_METHODS, METHODS, choose

if TYPE_CHECKING:
    from ordinal_shapley.verification.comparison import Verification

VERIFY_HELP = f"""Check estimates of the players' values against the exact ones.

Each error is taken apart into bias, which is what the method samples less the exact value, and noise.

{FILE_HELP} For example:

ordinal-shapley verify game.json --method tmc --permutations 5000

ordinal-shapley verify game.json --method ctmc --labels red,red,blue,blue
"""


def verify(
    game: File,
    method: Annotated[str, option(f"{either(METHODS)}.", choices=METHODS, metavar="NAME")] = "mc",
    value_kind: Value = "partial_ordinal",
    alpha: Alpha = None,
    partition: Partition = None,
    case: Case = None,
    design: Design = "independent",
    permutations: Annotated[int, option("How many permutations.", metavar="N", min=1, max=2**62)] = 5_000,
    truncation: TruncationName = None,
    tolerance: Tolerance = None,
    class_fraction: Annotated[
        float | None, option("cmc, ctmc: share of each class that is drawn.", default="0.8", metavar="Q")
    ] = None,
    labels: Annotated[
        str | None,
        option(
            "cmc, ctmc: a class for each player, in the order of the file, such as x,x,y.", metavar="CLASSES"
        ),
    ] = None,
    average: Annotated[
        str | None,
        option(
            "cmc, ctmc: the mean over all permutations, or over the selected that drew the player: "
            f"{either(AVERAGES)}.",
            default="all",
            choices=AVERAGES,
            metavar="NAME",
        ),
    ] = None,
    seed: Annotated[int, option("Seeds the permutations.", metavar="S", min=0, max=2**64 - 1)] = 0,
    max_seconds: Annotated[
        float | None,
        running_option("Refuse what would take longer to enumerate.", default="an hour", metavar="S"),
    ] = None,
    jobs: Jobs = -1,
    most_z: Annotated[
        float | None,
        running_option("Exit with 1 if the noise of a player is more than Z standard errors.", metavar="Z"),
    ] = None,
    out: Annotated[Path | None, running_option("Write the table there.", metavar="TABLE.csv")] = None,
    progress: Progress = True,
    as_json: Json = False,
) -> None:
    """Check estimates against exact values."""
    with error_lines():
        choose("--value", value_kind, NAMED_VALUES)
        choose("--method", method, METHODS)
        check_design(design, method)
        check_jobs(jobs)
        options = sampling_options(value_kind, method, class_fraction, truncation, tolerance)
        options |= _class_options(method, labels, average)
        groups = read_groups(partition, case)
        if most_z is not None:
            number("--most-z", most_z, above=0.0)
        check_out(out, game)
        with warning_lines() as warned:
            table = read_game(game, value_kind)

            from ordinal_shapley import verify as verify_values
            from ordinal_shapley.estimators.usual import usual_truncation

            options.setdefault("truncation", usual_truncation(value_kind, method))
            result = verify_values(
                table,
                value_kind,
                method,
                partition=groups,
                case=case,
                alpha=alpha,
                design=design,
                n_permutations=permutations,
                random_state=seed,
                n_jobs=jobs,
                progress=progress,
                max_seconds=max_seconds,
                **options,
            )
            from ordinal_shapley.cli import games_json, games_screen, outputs, screen

            frame = result.to_frame().rename_axis("player")
            if out is not None:
                outputs.write_csv(frame, out)
            if as_json:
                asked = {"value": value_kind, "alpha": alpha, "partition": groups, "case": case}
                asked |= {"method": method, "design": design, "permutations": permutations, "seed": seed}
                parts = games_json.verification(result, frame, game.name, asked, options)
                print_document("verify", parts | {"written": written(out)}, warned)
            else:
                console = screen.screen()
                games_screen.show_verification(
                    console, result, frame, game.name, _settings(method, options, design, seed)
                )
                screen.tell_written(console, out)
        if most_z is not None:
            _check_noise(result, most_z)


def _check_noise(result: Verification, most_z: float) -> None:
    """End with code 1 unless the noise is known, and of no player more than so many standard errors."""
    known = [abs(z) for z in result.z.tolist() if not math.isnan(z)]
    if known and max(known) <= most_z:
        return
    told = f"the largest |z| is {max(known):.2f}, above {most_z:g}" if known else "no z is known"
    typer.echo(f"check failed: {told}", err=True)
    raise typer.Exit(1)


def _class_options(method: str, labels: str | None, average: str | None) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if method not in CLASS_METHODS:
        for name, given in (("--labels", labels), ("--average", average)):
            if given is not None:
                raise ValueError(f"{name} is for cmc and ctmc; --method is {method}")
        return options
    if labels is None:
        raise ValueError(f"--labels is needed for {method}: a class for each player, such as x,x,y")
    options["labels"] = read_names(labels, "--labels")
    if average is not None:
        choose("--average", average, AVERAGES)
        options["average"] = average
    return options


def _settings(method: str, options: dict[str, Any], design: str, seed: int) -> str:
    """Return method and options in words."""
    words = [method]
    if method in CLASS_METHODS:
        words.append(f"class fraction {options.get('class_fraction', 0.8):g}")
        words.append(f"average {options.get('average', 'all')}")
    rule = options.get("truncation")
    if rule is not None:
        words.append(
            "roulette" if rule.rule == "roulette" else f"{rule.rule} rule with tolerance {rule.tol:g}"
        )
    if design != "independent":
        words.append(f"{design} permutations")
    return ", ".join([*words, f"seed {seed}"])
