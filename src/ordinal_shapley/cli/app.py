"""The command ``ordinal-shapley``."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from ordinal_shapley.cli.compile import COMPILE_HELP, compile
from ordinal_shapley.cli.completion import COMPLETION_HELP, PROGRAM, completion, heed_shell
from ordinal_shapley.cli.exact import EXACT_HELP, exact
from ordinal_shapley.cli.experiment import app as experiment
from ordinal_shapley.cli.journeys import JOURNEYS_HELP, journeys
from ordinal_shapley.cli.options import interruption, one_line
from ordinal_shapley.cli.usage_errors import usage_line
from ordinal_shapley.cli.value import VALUE_HELP, value
from ordinal_shapley.cli.verify import VERIFY_HELP, verify

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
        typer.echo(f"error: {one_line(usage_line(error))}", err=True)
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


def _telling(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command say when kernels are compiled; what it takes is loaded when the command runs."""

    @functools.wraps(command)
    def call(*args: Any, **kwargs: Any) -> None:
        from ordinal_shapley.common.compiling import compiling_line

        with compiling_line(kwargs.get("progress", True)):
            command(*args, **kwargs)

    return call


app.command(help=VALUE_HELP)(_telling(value))
app.command(help=EXACT_HELP)(_telling(exact))
app.command(help=VERIFY_HELP)(_telling(verify))
app.command(help=JOURNEYS_HELP)(_telling(journeys))
app.add_typer(experiment, name="experiment")
app.command(help=COMPILE_HELP)(_telling(compile))
app.command(help=COMPLETION_HELP)(completion)
