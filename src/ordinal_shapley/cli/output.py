"""Output of commands: screen, JSON, files, errors and warnings."""

from __future__ import annotations

import io
import json
import math
import os
import sys
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ordinal_shapley.cli.options import in_options
from ordinal_shapley.common.files import replacing

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from ordinal_shapley.valuation.result import Valuation

Warned = Callable[[], list[str]]
_NEEDED = {"--plot": "Matplotlib", "--report": "Jinja2"}
_PICTURES = (".png", ".svg", ".pdf", ".jpg", ".jpeg", ".webp")

# Without a terminal there is no width: nothing is shortened or broken into lines.
_ENDLESS = 100_000
_LONGEST_LABEL = 24
_PIPE_CLOSED = 141  # exit code of a program that ends because its output is no longer read
# Control characters and line breaks; marks that change the direction of the text after them.
_CONTROLS = ("Cc", "Zl", "Zp")
_TURNS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


# --- lines


def printable(text: str) -> str:
    """Return the text with control characters written out, for example an escape as backslash, x1b."""
    if text.isprintable():
        return text
    return "".join(
        character.encode("unicode_escape").decode()
        if unicodedata.category(character) in _CONTROLS or character in _TURNS
        else character
        for character in text
    )


def one_line(text: str) -> str:
    """Return the text as one line that is safe for a terminal."""
    return printable(" ".join(text.split()))


def interruption(error: BaseException) -> str:
    """Report in one line that the command was interrupted, and what is saved of it."""
    return "interrupted" + f": {one_line(str(error))}" * bool(str(error))


@contextmanager
def error_lines() -> Iterator[None]:
    """End the command with one line if the block fails because of the user's input."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        typer.echo(interruption(interrupt), err=True)
        raise typer.Exit(130) from None
    except BrokenPipeError:
        # The rest goes nowhere, so that Python has nothing to complain of when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(_PIPE_CLOSED) from None
    except (ValueError, OSError) as error:
        text = str(error)
        if isinstance(error, OSError) and error.strerror and error.filename is None:
            text = error.strerror  # one of ours, which names the file and the problem
        typer.echo(f"error: {one_line(in_options(text))}", err=True)
        raise typer.Exit(2) from None


@contextmanager
def warning_lines() -> Iterator[Warned]:
    """Show the warnings of the block as lines, each once, if it succeeds; yield those so far."""
    with warnings.catch_warnings(record=True) as caught:
        for category in (UserWarning, RuntimeWarning):
            warnings.simplefilter("always", category)
        warnings.filterwarnings("ignore", "write class labels alike")  # reported for the column, by name

        def warned() -> list[str]:
            return list(dict.fromkeys(one_line(in_options(str(one.message))) for one in caught))

        yield warned
    colour = None if os.environ.get("NO_COLOR") else typer.colors.YELLOW
    for text in warned():
        typer.secho(f"warning: {text}", err=True, fg=colour)


# --- the screen


def screen() -> Console:
    """Return the screen; characters that it can't print become question marks instead of errors."""
    from rich.console import Console

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            raise  # again: `error_lines` ends the command

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    console = Screen(highlight=False)
    has_width = console.is_terminal or os.environ.get("COLUMNS", "").isdigit()
    return console if has_width else Screen(highlight=False, width=_ENDLESS)


def room(console: Console, longest: int = _LONGEST_LABEL) -> int | None:
    """Return the maximum length of a name on the screen; None for no limit."""
    return longest if console.width < _ENDLESS else None


def plus_minus(console: Console) -> str:
    """Return the sign, in characters that the screen has."""
    return "±" if console.encoding.lower().startswith("utf") else "+/-"


def facts(*rows: tuple[str, str]) -> Table:
    """Return a table of terms and texts."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    for row in rows:
        grid.add_row(*row)
    return grid


def print_table(
    console: Console, columns: Mapping[str, Sequence[Any]], name: str, longest: int = _LONGEST_LABEL
) -> None:
    """Print columns of numbers, and one called `name`, whose cells are shortened on a narrow screen."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in columns:
        if title == name:
            table.add_column(title, max_width=room(console, longest))
        else:
            table.add_column(title, justify="right", no_wrap=True)
    cut = [map(_cut, cells) if title == name else cells for title, cells in columns.items()]
    for cells in zip(*cut, strict=True):
        table.add_row(*cells)
    console.print(table)


def print_wide(console: Console, name: str, names: Sequence[Any], columns: Mapping[str, list[str]]) -> None:
    """Print columns of cells beside names, in several tables where the screen is narrow."""
    longest = max(len(_cut(one)) for one in [name, *names])
    named = min(longest, room(console) or longest) + 2
    width = max(_width_of({title: cells}) for title, cells in columns.items())
    at_once = max(1, (console.width - named) // width)
    titles = list(columns)
    for start in range(0, len(titles), at_once):
        if start:
            console.print()
        shown = {title: columns[title] for title in titles[start : start + at_once]}
        print_table(console, {name: names} | shown, name)


def make_room(
    console: Console, columns: dict[str, list[str]], first_out: Sequence[str], shortest_name: int
) -> None:
    """Remove columns for which a narrow screen, which must also show names, has no room."""
    for title in first_out:
        if title in columns and _width_of(columns) + shortest_name + 2 > console.width:
            del columns[title]


def _width_of(columns: Mapping[str, list[str]]) -> int:
    return sum(max(map(len, [title, *cells])) + 2 for title, cells in columns.items())


def _cut(name: Any) -> Text:
    """Return a name, shortened with an ellipsis if there is no room for it."""
    from rich.text import Text

    return Text(printable(str(name)), no_wrap=True, overflow="ellipsis")


def safe(text: Any) -> str:
    """Return the text without anything that rich takes for markup or a terminal for a command."""
    from rich.markup import escape

    return escape(printable(str(text)))


def show(
    command: str,
    as_json: bool,
    document: Callable[[], Mapping[str, Any]],
    on_screen: Callable[[Console], None],
    files: Sequence[tuple[Path | None, Callable[[Path], Any]]] = (),
    warned: Warned = list,
) -> None:
    """Write the files, each by its function, and print the results of a command on the screen or as JSON.

    A file that can't be written does not affect the other files and the screen: its error comes last. A
    document has command and version, its parts, the files and the warnings. Lists have one object per
    line, for ``grep`` and ``head``.
    """
    written, failed = [], []
    for path, write in files:
        if path is not None:
            try:
                write(path)
                written.append(str(path))
            except Exception as error:  # raised below
                failed.append(error)
    if as_json:
        from ordinal_shapley import __version__

        whole = {"command": command, "version": __version__, **document()}
        whole |= {"written": written, "warnings": warned()}
        lines = [f"  {json.dumps(name)}: {_text(_plain(part))}" for name, part in whole.items()]
        typer.echo("{\n" + ",\n".join(lines) + "\n}")
        sys.stdout.flush()
    else:
        console = screen()
        on_screen(console)
        for file in written:
            console.print(f"Written: {printable(file)}", markup=False, soft_wrap=True)
    for one in failed[1:]:
        typer.echo(f"error: {one_line(str(one))}", err=True)
    if failed:
        raise failed[0]


# --- JSON


def _text(part: Any) -> str:
    if isinstance(part, list) and any(isinstance(item, dict) for item in part):
        return "[\n" + ",\n".join(f"    {_text(item)}" for item in part) + "\n  ]"
    return json.dumps(part, allow_nan=False)


def _plain(part: Any) -> Any:
    """Convert to types of JSON; numbers that are not finite become null."""
    if isinstance(part, Mapping):
        return {str(name): _plain(item) for name, item in part.items()}
    if isinstance(part, (list, tuple, range)):
        return [_plain(item) for item in part]
    if isinstance(part, Path):
        return str(part)
    if hasattr(part, "tolist"):  # NumPy's arrays and scalars
        return _plain(part.tolist())
    if isinstance(part, float) and not math.isfinite(part):
        return None
    return part


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table, each with its index under the name of the index."""
    names = (str(frame.index.name), *frame.columns)
    return [dict(zip(names, row, strict=True)) for row in frame.itertuples(name=None)]


def run_settings(valuation: Valuation) -> dict[str, Any]:
    """Return the settings of a sampling run."""
    return {
        "value": valuation.kind.settings(),
        "sampler": valuation.sampler.settings(),
        "biases": valuation.sampler.biases,
        "seed": valuation.seed,
    }


def run_summary(valuation: Valuation) -> dict[str, Any]:
    """Return the cost of a sampling run, and why it ended."""
    seconds = valuation.seconds
    return {
        "permutations": valuation.n_permutations,
        "evaluations": valuation.n_evaluations,
        "seconds": seconds,
        "evaluations_per_second": valuation.n_evaluations / seconds if seconds > 0 else math.nan,
        "mean_evaluated_per_permutation": valuation.mean_evaluated,
        "stopped_by": valuation.stopped_by,
        "converged": valuation.converged,
        "reliability": valuation.reliability,
    }


# --- files


def check_outputs(outputs: Mapping[str, Path | None], inputs: Sequence[Path | None]) -> None:
    """Raise unless the files given, by option, can be written later, and are distinct."""
    read = [os.path.realpath(path) for path in inputs if path is not None]
    taken: dict[str, str] = {}
    for flag, path in outputs.items():
        if path is None:
            continue
        if flag in _NEEDED and find_spec(_NEEDED[flag].lower()) is None:
            raise ValueError(f"{flag} needs {_NEEDED[flag]}: pip install 'ordinal-shapley[{flag[2:]}]'")
        target = os.path.realpath(path)
        ending = flag == "--plot" and path.suffix.lower() not in _PICTURES
        problems = {
            f"{path.name!r} must end with one of {', '.join(_PICTURES)}": ending,
            "'-' is not a file name, and the screen is taken; name a file": str(path) == "-",
            f"{str(path)!r} is a folder; give a file name": path.is_dir(),
            f"{str(path)!r} is not an ordinary file": path.exists() and not path.is_file(),
            f"name another file: {str(path)!r} is where the screen goes": path.exists() and _is_screen(path),
            f"name another file: {str(path)!r} is an input of this run": target in read,
            f"there is no folder {str(path.parent)!r}": not os.path.isdir(os.path.dirname(target)),
        }
        for problem, there in problems.items():
            if there:
                raise ValueError(f"{flag}: {problem}")
        try:
            # Trying is the only reliable way: permissions don't show read-only or full disks.
            with replacing(path, keep=False) as temporary:
                if flag == "--plot":
                    _try_picture(temporary)
        except OSError as error:
            raise ValueError(f"{flag}: can't write {str(path)!r}: {error.strerror or error}") from error
        other = taken.setdefault(target, flag)
        if other != flag:
            raise ValueError(f"{other} and {flag} both name {str(path)!r}; give two files")


def _try_picture(path: Path) -> None:
    """Draw an empty picture, to find out what Matplotlib lacks."""
    os.environ["MPLBACKEND"] = "agg"  # a notebook's backend may not be installed
    try:
        picture_writer("")(path)
    except OSError:
        raise
    except Exception as error:  # from Matplotlib, or from a package that a format requires
        raise ValueError(f"--plot: Matplotlib can't draw {path.suffix}: {error}") from error


def _is_screen(path: Path) -> bool:
    """Whether a file is the one that standard output or standard error goes to."""
    for descriptor in (1, 2):
        with suppress(OSError):  # closed
            if os.path.samestat(path.stat(), os.fstat(descriptor)):
                return True
    return False


def csv_writer(frame: pd.DataFrame) -> Callable[[Path], None]:
    """Return a function that writes a table at full precision."""

    def write(path: Path) -> None:
        with replacing(path) as temporary:
            frame.to_csv(temporary)

    return write


def picture_writer(
    plot: str, *drawn: Any, height: float = 4.5, title: str = "", **options: Any
) -> Callable[[Path], None]:
    """Return a function that draws by a function of `ordinal_shapley.plots`, without a window."""

    def write(path: Path) -> None:
        import matplotlib
        from matplotlib.figure import Figure

        from ordinal_shapley import plots

        figure = Figure(figsize=(8.0, height), layout="constrained")
        ax = figure.subplots()
        if plot:
            getattr(plots, plot)(*drawn, ax=ax, **options)
        if title:
            ax.set_title(title, fontsize="medium", wrap=True)
        metadata = {"Date": None} if path.suffix.lower() == ".svg" else None  # the same bytes every time
        with replacing(path) as temporary, matplotlib.rc_context({"svg.hashsalt": path.stem}):
            figure.savefig(temporary, dpi=150, metadata=metadata)

    return write
