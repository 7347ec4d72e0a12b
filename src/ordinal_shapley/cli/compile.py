"""The command ``ordinal-shapley compile``."""

from __future__ import annotations

import time

import typer

from ordinal_shapley.cli.options import JOBS, command
from ordinal_shapley.cli.output import warning_lines


@command
def compile(jobs: int = JOBS) -> None:
    """Compile all kernels now, so that the first run does not wait.

    Otherwise kernels are compiled when they are first used, and kept on disk. Use this in container images
    and continuous integration.
    """
    with warning_lines():
        from ordinal_shapley import compile_kernels

        began = time.monotonic()
        n_kernels = compile_kernels(jobs)
        typer.echo(f"Compiled {n_kernels} kernels in {time.monotonic() - began:.0f} s.")
