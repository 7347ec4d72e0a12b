"""The command ``ordinal-shapley reproduce``."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ordinal_shapley.cli.json_documents import Json, print_document
from ordinal_shapley.cli.options import (
    Progress,
    check_jobs,
    completer,
    either,
    error_lines,
    option,
    running_option,
    show_warnings,
)
from ordinal_shapley.datasets import NAMES
from ordinal_shapley.vocabulary import PROTOCOLS, choose

if TYPE_CHECKING:
    from ordinal_shapley.reproduction.results import Settings

_ALL = "all"
# The rows of a table are numbered, and seeds of runs count on from the first.
_MOST_RUNS = 1_000

REPRODUCE_HELP = """Run the experiments of the paper (arXiv:2305.01660) and write what comes of them.

Values the rows by TMC, CMC and CTMC and by others, removes rows by their values, looks for labels changed \
on purpose, and compares the values in that. Writes a page, tables, pictures and how it was run into a \
folder. The same seed gives the same tables, but for times. On two cores all data sets take half an hour. \
For example:

ordinal-shapley reproduce wine --out wine

ordinal-shapley reproduce all --runs 5
"""


def reproduce(
    dataset: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help=f"The data set: {either((*NAMES, _ALL))}.",
            show_default=False,
            autocompletion=completer((*NAMES, _ALL)),
        ),
    ],
    runs: Annotated[
        int, option("How many runs, each with a split of its own.", metavar="N", min=1, max=_MOST_RUNS)
    ] = 5,
    seed: Annotated[
        int, option("Seed of the first run; the others count on.", metavar="S", min=0, max=2**63)
    ] = 0,
    stratified: Annotated[
        bool, option("Draw splits class by class; the paper's are drawn at random.", flag="--stratified")
    ] = False,
    protocol: Annotated[
        str,
        option(
            f"{either(PROTOCOLS)}: which labels are changed, how Adult is split and what an empty sequence "
            "is worth, by the paper's text or as in its authors' code.",
            choices=PROTOCOLS,
            metavar="NAME",
        ),
    ] = "paper",
    cap: Annotated[
        int,
        option(
            "The most permutations a method may take.",
            flag="--most-permutations",
            metavar="N",
            min=1,
            max=2**40,
        ),
    ] = 5_000,
    jobs: Annotated[
        int, running_option("Processes, -1 for one a core; tables don't depend on it.", metavar="J", max=1024)
    ] = -1,
    out: Annotated[Path, running_option("The folder to write into.", metavar="DIR")] = Path("reproduction"),
    progress: Progress = True,
    as_json: Json = False,
) -> None:
    """Run the experiments and write the folder."""
    with error_lines():
        choose("NAME", dataset, (*NAMES, _ALL))
        choose("--protocol", protocol, PROTOCOLS)
        check_jobs(jobs)
        from ordinal_shapley.cli.outputs import make_folder

        make_folder(out, "--out")
        from ordinal_shapley.reproduction.results import Settings

        settings = Settings(
            NAMES if dataset == _ALL else (dataset,),
            runs=runs,
            seed=seed,
            stratified=stratified,
            protocol=protocol,
            cap=cap,
            jobs=jobs,
        )
        _run(settings, out, _command(dataset, settings), progress, as_json)


def _command(dataset: str, settings: Settings) -> str:
    """Return the command that does it again."""
    words = ["ordinal-shapley reproduce", dataset, f"--runs {settings.runs} --seed {settings.seed}"]
    words += ["--stratified"] * settings.stratified
    words += [f"--protocol {settings.protocol}"] * (settings.protocol != "paper")
    words += [f"--most-permutations {settings.cap}"] * (settings.cap != 5_000)
    return " ".join(words)


def _run(settings: Settings, out: Path, command: str, progress: bool, as_json: bool) -> None:
    from ordinal_shapley.cli.screen import screen
    from ordinal_shapley.common.progress import ProgressBar
    from ordinal_shapley.reproduction.outputs import PAGE, write_all
    from ordinal_shapley.reproduction.results import reproduce as run_all

    began = time.monotonic()
    with ProgressBar(enabled=progress, unit="runs") as bar:

        def report(done: int, total: int, name: str) -> None:
            bar.total = total
            bar.update(done, done, time.monotonic() - began, name)

        results = run_all(settings, report)
    written, claims = write_all(results, out, command)
    cautions = []
    if not any(name.startswith("images/") for name in written):
        cautions = ["no pictures without Matplotlib: pip install 'ordinal-shapley[plot]'"]
    if as_json:
        parts = {
            "settings": asdict(settings),
            "run": {"again": command, "seconds": results.seconds},
            "claims": [claim._asdict() for claim in claims],
            "written": [out / name for name in written],
        }
        print_document("reproduce", parts, lambda: cautions)
        show_warnings(cautions)
        return
    console = screen()
    console.print("[bold]Claims of the paper[/bold]", highlight=False)
    for claim in claims:
        console.print(f"{claim.claim} [bold]{claim.verdict}[/bold]", highlight=False)
    show_warnings(cautions)
    console.print(
        f"\nWritten: {out / PAGE} and {len(written) - 1} more files ({results.seconds:.0f} s)",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
