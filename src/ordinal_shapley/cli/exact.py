"""The command ``ordinal-shapley exact``: the value of each player of a game, from all sequences."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
from ordinal_shapley.cli.options import (
    Jobs,
    Progress,
    check_jobs,
    error_lines,
    running_option,
    warning_lines,
)

EXACT_HELP = f"""Compute the value of each player of a game exactly.

{FILE_HELP} For example:

ordinal-shapley exact game.json

ordinal-shapley exact game.json --value partial_ordinal --out values.csv
"""


def exact(
    game: File,
    value_kind: ValueName = "ordinal",
    alpha: Alpha = None,
    partition: Partition = None,
    case: Case = None,
    max_seconds: Annotated[
        float | None,
        running_option("Refuse what would take longer.", default="an hour", metavar="S"),
    ] = None,
    jobs: Jobs = -1,
    out: Annotated[Path | None, running_option("Write the values there.", metavar="VALUES.csv")] = None,
    profile: Annotated[
        bool, running_option("Show what each player adds at each position.", flag="--profile")
    ] = False,
    progress: Progress = True,
    as_json: Json = False,
) -> None:
    """Compute the value of each player exactly."""
    with error_lines():
        kind = make_value(value_kind, alpha, partition, case)
        check_jobs(jobs)
        check_out(out, game)
        with warning_lines() as warned:
            table = read_game(game, value_kind)

            from ordinal_shapley import exact_values

            result = exact_values(
                table,
                kind,
                position_profile=profile,
                n_jobs=jobs,
                progress=progress,
                max_seconds=max_seconds,
            )
            from ordinal_shapley.cli import games_json, games_screen, outputs, screen

            frame = result.to_frame().rename_axis("player")
            if result.position_profile is not None:
                for place, column in enumerate(result.position_profile.T, start=1):
                    frame[f"position_{place}"] = column
            if out is not None:
                outputs.write_csv(frame, out)
            if as_json:
                groups = None if partition is None else read_names(partition, "--partition")
                asked = {"value": value_kind, "alpha": alpha, "partition": groups, "case": case}
                parts = games_json.exact(result, game.name, asked)
                print_document("exact", parts | {"written": written(out)}, warned)
            else:
                console = screen.screen()
                games_screen.show_exact(console, result, frame, game.name)
                screen.tell_written(console, out)
