"""What the commands have in common: options, and how they end in an error or with a warning."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ordinal_shapley.cli.printable import printable
from ordinal_shapley.common.arguments import number
from ordinal_shapley.vocabulary import DESIGNS, METHODS, TRUNCATIONS, choose

if TYPE_CHECKING:
    from ordinal_shapley.sampling.sampler import PermutationSampler

_LARGEST_SHOWN = 1_000_000  # the help prints limits in full, and longer ones break its lines


def either(choices: Sequence[str]) -> str:
    """Return "a, b or c"."""
    return f"{', '.join(choices[:-1])} or {choices[-1]}"


def option(
    help: str,
    *,
    panel: str = "Method",
    flag: str | None = None,
    default: str = "",
    choices: Sequence[str] = (),
    **more: Any,
) -> Any:
    """Return an option; `default` says in words what happens without it, a shell completes `choices`."""
    names = () if flag is None else (flag,)
    if more.get("max", 0) > _LARGEST_SHOWN:
        more["callback"] = _at_most(more.pop("max"))
    if choices:
        more["autocompletion"] = completer(choices)
    if default:
        help, more["show_default"] = f"{help} (default: {default})", False
    return typer.Option(*names, help=help, rich_help_panel=panel, **more)


def completer(choices: Sequence[str]) -> Callable[[str], list[str]]:
    """Return what a shell asks for words that begin like the one being typed."""

    def complete(incomplete: str) -> list[str]:
        return [choice for choice in choices if choice.startswith(incomplete)]

    return complete


def _at_most(most: int) -> Callable[[int | None], int | None]:
    def check(value: int | None) -> int | None:
        if value is not None and value > most:
            raise typer.BadParameter(f"is {value}, expected at most {most}")
        return value

    return check


@dataclass(frozen=True)
class SamplerOptions:
    """How permutations are drawn and evaluated."""

    method: Annotated[
        str,
        option(
            "auto, without bias, or an algorithm of the paper: mc, or with bias tmc, cmc, ctmc.",
            choices=METHODS,
            metavar="NAME",
        ),
    ] = "auto"
    truncation: Annotated[
        str | None,
        option(
            f"The rule that ends permutations early: {either(TRUNCATIONS)}; all but roulette are biased.",
            default="roulette if auto, paper if tmc or ctmc",
            choices=TRUNCATIONS,
            metavar="RULE",
        ),
    ] = None
    tolerance: Annotated[
        float | None, option("The tolerance of paper and patience.", default="0.05", metavar="TOL")
    ] = None
    class_fraction: Annotated[
        float | None,
        option("cmc, ctmc: share of each class in a permutation.", default="0.8", metavar="Q"),
    ] = None
    design: Annotated[
        str,
        option(
            f"How permutations depend on one another: {either(DESIGNS)}.", choices=DESIGNS, metavar="NAME"
        ),
    ] = "independent"

    @property
    def draws_classes(self) -> bool:
        """Whether the method draws rows class by class."""
        return self.method in ("cmc", "ctmc")

    def check(self) -> None:
        """ValueError unless the options are known and go together."""
        choose("--method", self.method, METHODS)
        choose("--design", self.design, DESIGNS)
        if self.truncation is not None:
            choose("--truncation", self.truncation, TRUNCATIONS)
            if self.method in ("mc", "cmc"):
                raise ValueError(f"--truncation is for auto, tmc and ctmc; --method is {self.method}")
        if self.class_fraction is not None:
            if not self.draws_classes:
                raise ValueError(f"--class-fraction is for cmc and ctmc; --method is {self.method}")
            number("--class-fraction", self.class_fraction, above=0.0, most=1.0)
        if self.tolerance is not None:
            by_method = "paper" if self.method in ("tmc", "ctmc") else None
            if (self.truncation or by_method) not in ("paper", "patience"):
                raise ValueError("--tolerance is for --truncation paper or patience: name one of them")
            number("--tolerance", self.tolerance, least=0.0)
        if self.design == "latin" and self.draws_classes:
            raise ValueError(f"--design latin is for auto, mc and tmc; --method is {self.method}")

    def sampler(self, **more: Any) -> PermutationSampler:
        """Return the sampler; `more` are other options of it."""
        from dataclasses import replace

        from ordinal_shapley.sampling.sampler import as_sampler
        from ordinal_shapley.sampling.truncation import as_rule

        made = as_sampler(self.method)
        rule = made.rule if self.truncation is None else as_rule(self.truncation)
        if self.tolerance is not None:
            rule = replace(rule, tol=self.tolerance)  # type: ignore[type-var]
        if self.class_fraction is not None:
            more["class_fraction"] = self.class_fraction
        return replace(made, truncation=rule, design=self.design, **more)


StandardError = Annotated[
    float | None,
    option("Stop when no standard error is above E, in place of the change of the values.", metavar="E"),
]


def data_option(help: str, **more: Any) -> Any:
    """Return an option that says which data."""
    return option(help, panel="Data", **more)


def running_option(help: str, **more: Any) -> Any:
    """Return an option that changes no number."""
    return option(help, panel="Running", **more)


Jobs = Annotated[
    int, running_option("Threads, -1 for all cores; the values don't depend on it.", metavar="J", max=1024)
]
Progress = Annotated[
    bool, running_option("Show a bar, if stderr is a terminal.", flag="--progress/--no-progress")
]


def check_jobs(jobs: int) -> None:
    """ValueError unless `jobs` is one that joblib takes."""
    if jobs == 0:
        raise ValueError("--jobs is 0, expected a number of workers, or -1 for one a core")


def stopping_rule(
    permutations: int | None, standard_error: float | None, minutes: float | None
) -> dict[str, Any]:
    """Return the arguments of `sample_values` that say when to stop."""
    for name, given in (("--standard-error", standard_error), ("--minutes", minutes)):
        if given is not None:
            number(name, given, above=0.0)
    if standard_error is None and minutes is None:
        return {"n_permutations": permutations}
    from ordinal_shapley import MaxPermutations, MaxSeconds, MaxStandardError, RelativeChange

    rule: Any = MaxPermutations(permutations or 10_000)
    if standard_error is not None:
        rule = MaxStandardError(standard_error) | rule
    elif permutations is None:
        rule = RelativeChange(0.05, window=100) | rule
    return {"stopping": rule if minutes is None else rule | MaxSeconds(60.0 * minutes)}


def interruption(error: BaseException) -> str:
    """Say in one line that the command was interrupted, and what is kept of it."""
    kept = str(error) if isinstance(error, KeyboardInterrupt) else ""
    return f"interrupted: {one_line(kept)}" if kept else "interrupted"


def one_line(text: str) -> str:
    """Return the text as one line that a terminal may have."""
    return printable(" ".join(text.split()))


@contextmanager
def error_lines() -> Iterator[None]:
    """End the command with one line where the block fails over what the user gave."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        typer.echo(interruption(interrupt), err=True)
        raise typer.Exit(130) from None
    except BrokenPipeError:
        from ordinal_shapley.cli.screen import PIPE_CLOSED, close_stdout

        close_stdout()
        raise typer.Exit(PIPE_CLOSED) from None
    except (ValueError, OSError) as error:
        text = str(error)
        if isinstance(error, OSError) and error.strerror and error.filename is None:
            text = error.strerror  # one of ours, which says what happened to which file
        typer.echo(f"error: {one_line(text)}", err=True)
        raise typer.Exit(2) from None


@contextmanager
def warning_lines() -> Iterator[Callable[[], list[str]]]:
    """Show what the block warns of as lines, each once, when it has ended well; give what there is so far."""
    with warnings.catch_warnings(record=True) as caught:
        for category in (UserWarning, RuntimeWarning):
            warnings.simplefilter("always", category)

        def told() -> list[str]:
            texts = (one_line(str(caution.message)) for caution in caught)
            return list(dict.fromkeys(texts))

        yield told
    show_warnings(told())


def show_warnings(texts: Sequence[str]) -> None:
    """Show warnings on stderr, a line each."""
    colour = None if os.environ.get("NO_COLOR") else typer.colors.YELLOW
    for text in texts:
        typer.secho(f"warning: {text}", err=True, fg=colour)
