"""The command ``ordinal-shapley compile``."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from ordinal_shapley.cli.options import error_lines, running_option, warning_lines

COMPILE_HELP = """Compile all kernels ahead of the first run.

Kernels are compiled when they are first used, and kept on disk; this is for container images and continuous
integration, where the first run should not wait.
"""


Processes = Annotated[
    int, running_option("Processes that compile, -1 for one per core.", metavar="J", max=1024)
]


def compile(jobs: Processes = -1) -> None:
    """Compile all kernels."""
    from ordinal_shapley.common.compiling import compile_kernels

    with error_lines(), warning_lines():
        began = time.monotonic()
        n_kernels = compile_kernels(jobs)
        typer.echo(f"{n_kernels} kernels are compiled ({time.monotonic() - began:.0f} s).")
