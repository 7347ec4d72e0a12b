"""The command ``ordinal-shapley completion``, and what makes a shell's questions understood."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from ordinal_shapley.cli.options import completer, either, error_lines
from ordinal_shapley.vocabulary import choose

PROGRAM = "ordinal-shapley"
_QUESTION = "_ORDINAL_SHAPLEY_COMPLETE"
_SHELLS = ("bash", "zsh", "fish", "powershell")

COMPLETION_HELP = """Print what makes a shell complete commands, options and their choices.

For this session of Bash; in a start-up file such as ~/.bashrc for all:

eval "$(ordinal-shapley completion bash)"
"""


def completion(
    shell: Annotated[
        str,
        typer.Argument(
            metavar="SHELL",
            help=f"{either(_SHELLS)}.",
            show_default=False,
            autocompletion=completer(_SHELLS),
        ),
    ],
) -> None:
    """Print a shell's completion script."""
    with error_lines():
        choose("SHELL", shell, _SHELLS)
        from typer.completion import get_completion_script  # type: ignore[attr-defined]

        typer.echo(get_completion_script(prog_name=PROGRAM, complete_var=_QUESTION, shell=shell))


def heed_shell() -> None:
    """Let Typer answer a shell that asks what could come next: it does not if others install its scripts."""
    if _QUESTION in os.environ:
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()
