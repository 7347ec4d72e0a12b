"""The command ``ordinal-shapley verify``: estimates of a game's values beside the exact ones."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ordinal_shapley.cli.game_options import (
    FILE_HELP,
    Alpha,
    Case,
    File,
    Partition,
    ValueName,
    check_out,
    make_value,
    read_game,
    read_names,
)
from ordinal_shapley.cli.json_documents import Json, print_document, written
from ordinal_shapley.cli.option_groups import grouped
from ordinal_shapley.cli.options import (
    Jobs,
    Progress,
    SamplerOptions,
    check_jobs,
    either,
    error_lines,
    option,
    running_option,
    warning_lines,
)
from ordinal_shapley.common.arguments import number
from ordinal_shapley.vocabulary import AVERAGES, choose

if TYPE_CHECKING:
    from ordinal_shapley.verification.comparison import Verification

VERIFY_HELP = f"""Check estimates of the players' values against the exact ones.

Each error is taken apart into bias, which is what the method samples less the exact value, and noise.

{FILE_HELP} For example:

ordinal-shapley verify game.json --method tmc --permutations 5000

ordinal-shapley verify game.json --method ctmc --strata red,red,blue,blue
"""


@grouped
def verify(
    game: File,
    sampling: SamplerOptions,
    value_kind: ValueName = "ordinal",
    alpha: Alpha = None,
    partition: Partition = None,
    case: Case = None,
    permutations: Annotated[int, option("How many permutations.", metavar="N", min=1, max=2**62)] = 5_000,
    strata: Annotated[
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
        sampling.check()
        check_jobs(jobs)
        classes = _class_options(sampling, strata, average)
        kind = make_value(value_kind, alpha, partition, case)
        if most_z is not None:
            number("--most-z", most_z, above=0.0)
        check_out(out, game)
        with warning_lines() as warned:
            table = read_game(game, value_kind)

            from ordinal_shapley import verify as verify_values

            result = verify_values(
                table,
                kind,
                sampling.sampler(**classes),
                n_permutations=permutations,
                random_state=seed,
                n_jobs=jobs,
                progress=progress,
                max_seconds=max_seconds,
            )
            from ordinal_shapley.cli import games_json, games_screen, outputs, screen

            frame = result.to_frame().rename_axis("player")
            if out is not None:
                outputs.write_csv(frame, out)
            if as_json:
                asked = {
                    "value": value_kind,
                    "alpha": alpha,
                    "partition": None if partition is None else read_names(partition, "--partition"),
                    "case": case,
                    "method": sampling.method,
                    "permutations": permutations,
                    "seed": seed,
                }
                parts = games_json.verification(result, frame, game.name, asked)
                print_document("verify", parts | {"written": written(out)}, warned)
            else:
                console = screen.screen()
                words = f"{result.valuation.sampler.words}, seed {seed}"
                games_screen.show_verification(console, result, frame, game.name, words)
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


def _class_options(sampling: SamplerOptions, strata: str | None, average: str | None) -> dict[str, Any]:
    if not sampling.draws_classes:
        for name, given in (("--strata", strata), ("--average", average)):
            if given is not None:
                raise ValueError(f"{name} is for cmc and ctmc; --method is {sampling.method}")
        return {}
    if strata is None:
        raise ValueError(f"--strata is needed for {sampling.method}: a class for each player, such as x,x,y")
    if average is not None:
        choose("--average", average, AVERAGES)
    return {"strata": read_names(strata, "--strata"), "average": average or "all"}
