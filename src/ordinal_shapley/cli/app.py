"""The command ``ordinal-shapley``."""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from ordinal_shapley.cli.compile import compile
from ordinal_shapley.cli.exact import EXACT_HELP, exact
from ordinal_shapley.cli.experiment import noise, removal
from ordinal_shapley.cli.info import info
from ordinal_shapley.cli.journeys import journeys
from ordinal_shapley.cli.output import error_lines, interruption, one_line
from ordinal_shapley.cli.value import value
from ordinal_shapley.cli.verify import VERIFY_HELP, verify

_HELP = {"help_option_names": ["-h", "--help"]}
app = typer.Typer(pretty_exceptions_enable=False, context_settings=_HELP)
experiments = typer.Typer(context_settings=_HELP)


class _Command(TyperCommand):
    """A command whose ``--help`` is listed last."""

    def get_help_option(self, ctx: Any) -> Any:
        """Return the option."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.rich_help_panel = "Running"
        return option


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line, by default with the arguments of the process, and exit with its code."""
    arguments = None if argv is None else list(argv)
    try:
        command = typer.main.get_command(app)
        code = command.main(arguments, prog_name="ordinal-shapley", standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort) as interrupt:
        typer.echo(interruption(interrupt), err=True)
        sys.exit(130)
    except Exception as error:
        # Usage errors come from the click that typer uses, which may be its own copy.
        if not isinstance(error, ValueError) and not hasattr(error, "format_message"):
            raise
        typer.echo(f"error: {one_line(getattr(error, 'format_message', error.__str__)())}", err=True)
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
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Measure what training rows, players or channels contribute, also if their order matters.

    To start with: ordinal-shapley value --dataset wine
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@experiments.callback(invoke_without_command=True)
def _experiments(context: typer.Context) -> None:
    """Test on your own rows what values are good for."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _command(command: Callable[..., None]) -> Callable[..., None]:
    """Make a command report errors in one line, and show when kernels are compiled."""

    @functools.wraps(command)
    def call(**given: Any) -> None:
        with error_lines():
            # Imported here, because help loads no libraries.
            from ordinal_shapley.common.compiling import compiling_line

            with compiling_line(given.get("progress", True)):
                command(**given)

    # Line breaks here are not on the screen.
    call.__doc__ = re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.getdoc(command) or "")
    return call


_ROWS, _GAMES, _INSTALLATION = "Training rows", "Players and channels", "Installation"
app.command(rich_help_panel=_ROWS, cls=_Command)(_command(value))
app.add_typer(experiments, name="experiment", rich_help_panel=_ROWS)
for _function, _help, _panel in (
    (exact, EXACT_HELP, _GAMES),
    (verify, VERIFY_HELP, _GAMES),
    (journeys, None, _GAMES),
    (compile, None, _INSTALLATION),
    (info, None, _INSTALLATION),
):
    app.command(help=_help, rich_help_panel=_panel, cls=_Command)(_command(_function))
for _function in (noise, removal):
    experiments.command(cls=_Command)(_command(_function))
