"""The command ``ordinal-shapley compile``."""

from __future__ import annotations

import time

import typer

from ordinal_shapley.cli.options import JOBS, command
from ordinal_shapley.cli.output import warning_lines


@command
def compile(jobs: int = JOBS) -> None:
    """Compile all kernels ahead of the first run.

    Kernels are compiled when they are first used, and kept on disk; this is for container images and
    continuous integration, where the first run should not wait.
    """
    with warning_lines():
        from ordinal_shapley import compile_kernels

        began = time.monotonic()
        n_kernels = compile_kernels(jobs)
        typer.echo(f"{n_kernels} kernels are compiled ({time.monotonic() - began:.0f} s).")
