"""The commands for games in a file: ``exact`` and ``verify``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ordinal_shapley.cli.json_documents import Json, print_document, written
from ordinal_shapley.cli.options import (
    Design,
    Tolerance,
    TruncationName,
    check_jobs,
    either,
    error_lines,
    option,
    running_option,
    sampling_options,
    warning_lines,
)
from ordinal_shapley.common.arguments import number
from ordinal_shapley.vocabulary import (
    AVERAGES,
    CASES,
    CLASS_METHODS,
    DESIGNS,
    EXACT_VALUES,
    METHODS,
    WAYS,
    choose,
)

if TYPE_CHECKING:
    from ordinal_shapley.games import TableGame
    from ordinal_shapley.verification.comparison import Verification

# Weights of orders are a function, which a command line has no words for.
_VALUES = tuple(value for value in EXACT_VALUES if value != "weighted_ordinal")

_FILE_HELP = """GAME.json holds up to 12 players and the utilities of sequences that aren't worth the default:

{"players": ["ann", "bob"], "utilities": {"ann > bob": 1.0, "bob": 0.5}, "default": 0.0}

A GAME.csv with the columns sequence and value does as well; its players are the names that occur, sorted."""

EXACT_HELP = f"""Compute the value of each player of a game exactly.

{_FILE_HELP} For example:

ordinal-shapley exact game.json

ordinal-shapley exact game.json --value ordinal --out values.csv
"""

VERIFY_HELP = f"""Check estimates of the players' values against the exact ones.

Each error is taken apart into bias, which is what the method samples less the exact value, and noise.

{_FILE_HELP} For example:

ordinal-shapley verify game.json --method tmc --permutations 5000

ordinal-shapley verify game.json --method ctmc --labels red,red,blue,blue
"""

_File = Annotated[
    Path, typer.Argument(metavar="GAME.json", help="The game; a name that ends with .csv is read as CSV.")
]
_Value = Annotated[str, option(f"{either(_VALUES)}.", flag="--value", choices=_VALUES, metavar="NAME")]
_Alpha = Annotated[float | None, option("blend: the share of the ordinal value, from 0 to 1.", metavar="A")]
_Partition = Annotated[
    str | None,
    option(
        "If only some orders matter: a group for each player, in the order of the file, such as a,a,b.",
        metavar="GROUPS",
    ),
]
_Case = Annotated[
    str | None,
    option(
        f"With --partition: whether order matters {either(CASES)} groups.", choices=CASES, metavar="WHERE"
    ),
]
_Jobs = Annotated[
    int, running_option("Threads, -1 for all cores; the values don't depend on it.", metavar="J", max=1024)
]
_Progress = Annotated[
    bool, running_option("Show a bar, if stderr is a terminal.", flag="--progress/--no-progress")
]


def exact(
    game: _File,
    value_kind: _Value = "partial_ordinal",
    alpha: _Alpha = None,
    by: Annotated[
        str | None,
        option(f"classic: go through {either(WAYS)}.", default="subsets", choices=WAYS, metavar="WHAT"),
    ] = None,
    partition: _Partition = None,
    case: _Case = None,
    max_seconds: Annotated[
        float | None,
        running_option("Refuse what would take longer.", default="an hour", metavar="S"),
    ] = None,
    jobs: _Jobs = -1,
    out: Annotated[Path | None, running_option("Write the values there.", metavar="VALUES.csv")] = None,
    profile: Annotated[
        bool, running_option("Show what each player adds at each position.", flag="--profile")
    ] = False,
    progress: _Progress = True,
    as_json: Json = False,
) -> None:
    """Compute the value of each player exactly."""
    with error_lines():
        choose("--value", value_kind, _VALUES)
        if by is not None:
            choose("--by", by, WAYS)
        groups = _groups(partition, case)
        check_jobs(jobs)
        _check_out(out, game)
        with warning_lines() as warned:
            table = _read_game(game, value_kind)

            from ordinal_shapley import exact_values

            result = exact_values(
                table,
                value_kind,
                partition=groups,
                case=case,
                alpha=alpha,
                by=by,
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
                asked = {"value": value_kind, "alpha": alpha, "by": by, "partition": groups, "case": case}
                parts = games_json.exact(result, game.name, asked)
                print_document("exact", parts | {"written": written(out)}, warned)
                return
            console = screen.screen()
            games_screen.show_exact(console, result, frame, game.name)
            screen.tell_written(console, out)


def verify(
    game: _File,
    method: Annotated[str, option(f"{either(METHODS)}.", choices=METHODS, metavar="NAME")] = "mc",
    value_kind: _Value = "partial_ordinal",
    alpha: _Alpha = None,
    partition: _Partition = None,
    case: _Case = None,
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
    jobs: _Jobs = -1,
    most_z: Annotated[
        float | None,
        running_option("Exit with 1 if the noise of a player is more than Z standard errors.", metavar="Z"),
    ] = None,
    out: Annotated[Path | None, running_option("Write the table there.", metavar="TABLE.csv")] = None,
    progress: _Progress = True,
    as_json: Json = False,
) -> None:
    """Check estimates against exact values."""
    with error_lines():
        choose("--value", value_kind, _VALUES)
        choose("--method", method, METHODS)
        choose("--design", design, DESIGNS)
        check_jobs(jobs)
        options = sampling_options(value_kind, method, class_fraction, truncation, tolerance)
        options |= _class_options(method, labels, average)
        groups = _groups(partition, case)
        if most_z is not None:
            number("--most-z", most_z, above=0.0)
        _check_out(out, game)
        with warning_lines() as warned:
            table = _read_game(game, value_kind)

            from ordinal_shapley import verify as verify_values

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


def _groups(partition: str | None, case: str | None) -> list[str] | None:
    if case is not None:
        choose("--case", case, CASES)
    if (partition is None) != (case is None):
        raise ValueError("--partition and --case belong together: give both or neither")
    return None if partition is None else _listed(partition, "--partition")


def _class_options(method: str, labels: str | None, average: str | None) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if method not in CLASS_METHODS:
        for name, given in (("--labels", labels), ("--average", average)):
            if given is not None:
                raise ValueError(f"{name} is for cmc and ctmc; --method is {method}")
        return options
    if labels is None:
        raise ValueError(f"--labels is needed for {method}: a class for each player, such as x,x,y")
    options["labels"] = _listed(labels, "--labels")
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


def _listed(text: str, flag: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise ValueError(f"{flag} is {text!r}, expected names with commas between them, such as x,x,y")
    return names


def _check_out(out: Path | None, game: Path) -> None:
    if out is not None:
        from ordinal_shapley.cli.outputs import check_writable

        check_writable(out, "--out", (game,))


def _read_game(path: Path, value: str) -> TableGame:
    """Read a game, and check that it has the value."""
    game = _read_file(path)
    if value == "classic" and not game.order_free:
        raise ValueError(
            f"--value: classic is for games whose order does not matter, and that of {path.name} does; ask "
            "for partial_ordinal or ordinal"
        )
    return game


def _read_file(path: Path) -> TableGame:
    from ordinal_shapley.games import TableGame
    from ordinal_shapley.tables.csv_faults import check_file
    from ordinal_shapley.tables.texts import read_texts

    if path.suffix.lower() != ".csv":
        check_file(path, "a game's file")
        return TableGame.from_json(path)
    import pandas as pd

    frame = read_texts(path, "a game's file")
    try:
        if {"sequence", "value"} <= set(frame.columns):
            pairs = zip(frame["sequence"], frame["value"], strict=True)
            frame["value"] = pd.Series([_as_number(*pair) for pair in pairs], frame.index, object)
        return TableGame.from_frame(frame)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path.name}: {error}") from error


def _as_number(sequence: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"the value of {sequence!r} is {text!r}, expected a number") from None
