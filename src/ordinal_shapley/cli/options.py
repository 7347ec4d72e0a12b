"""The options of all commands: their names, their checks, and the objects made from them."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_type_hints

import typer

from ordinal_shapley.common import arguments
from ordinal_shapley.vocabulary import AVERAGES, CASES, DESIGNS, METHODS, TRUNCATIONS, VALUES, check_choice

if TYPE_CHECKING:
    from ordinal_shapley.sampling.sampler import PermutationSampler
    from ordinal_shapley.sampling.stopping import StoppingRule
    from ordinal_shapley.values import Value
    from ordinal_shapley.values.sizes import SizeWeights

# --- options, and their names in messages of the library

# Options for arguments of the library: first those with other names, then those with the same name.
FLAGS = {
    "bound": "--standard-error",
    "n_jobs": "--jobs",
    "n_neighbors": "--neighbors",
    "n_permutations": "--permutations",
    "random_state": "--seed",
    "sep": "--path-sep",
    "size_weights": "--sizes",
    "tol": "--tolerance",
}
_SAME = (
    *("C", "after_conversion", "alpha", "average", "bootstrap", "case", "class_fraction", "cv", "design"),
    *("method", "partition", "position_weight", "repeats", "scoring", "strata", "truncation", "unseen"),
    *("exclude", "max_seconds", "utility", "value"),
)
FLAGS |= {name: f"--{name.replace('_', '-')}" for name in _SAME}
_NAME = "|".join(FLAGS)
_TEXT = "'[^']*'"
# As in "use method 'auto'" and "repeats='first' or 'last'"; in "alpha is 2.0, expected ..." and "partition
# and case belong together"; and anywhere but in quotes, where the user's columns are.
_WITH_TEXT = re.compile(rf"(?<![-\w'])({_NAME})(?:=| )({_TEXT}(?:(?:, | or ){_TEXT})*)")
_WITH_LIST = re.compile(rf"(?<![-\w'])({_NAME})=\[({_TEXT}(?:, {_TEXT})*)\]")
_AT_START = re.compile(
    rf"^(fold [0-9]+ of [0-9]+: )?({_NAME})(?: and ({_NAME}))?(?= is | has | holds | needs | belong|:|\[)"
)
_ALONE = re.compile(rf"(?<![-\w'])({'|'.join(name for name in FLAGS if '_' in name)})(?![\w'])")


def in_options(message: str) -> str:
    """Return a message of the library with options in place of the arguments that it names."""

    def quoted(text: str) -> str:
        return re.sub(_TEXT, lambda found: shlex.quote(found[0][1:-1]), text)

    message = message.replace("time=None", "--file-order in place of --time")
    message = message.replace("order_free=True", "--order-free")
    message = _WITH_LIST.sub(
        lambda found: " ".join(f"{FLAGS[found[1]]} {quoted(text)}" for text in re.findall(_TEXT, found[2])),
        message,
    )
    message = _WITH_TEXT.sub(lambda found: f"{FLAGS[found[1]]} {quoted(found[2])}", message)
    message = _AT_START.sub(
        lambda found: (found[1] or "") + " and ".join(FLAGS[n] for n in found.groups()[1:] if n), message
    )
    return _ALONE.sub(lambda found: FLAGS[found[1]], message)


def either(choices: Sequence[str]) -> str:
    """Return "a, b or c"."""
    return f"{', '.join(choices[:-1])} or {choices[-1]}"


def option(
    default: Any,
    help: str,
    metavar: str = "",
    *,
    panel: str = "Value",
    flag: str | None = None,
    without: str = "",
    choices: Sequence[str] = (),
    limits: dict[str, Any] | None = None,
    complete: Callable[..., list[str]] | None = None,
) -> Any:
    """Return an option, as the default of a parameter of a `command` or of a field of a group.

    `without` describes what happens without it. The value must be one of `choices`, which a shell completes,
    or within `limits`, as for `arguments.number`.
    """
    if choices:

        def complete(incomplete: str) -> list[str]:
            return [choice for choice in choices if choice.startswith(incomplete)]

    made = typer.Option(
        *([] if flag is None else [flag]),
        help=f"{help} (default: {without})" if without else help,
        show_default=not without,
        metavar=metavar or None,
        rich_help_panel=panel,
        autocompletion=complete,
        callback=_check(choices, limits) if choices or limits is not None else None,
    )
    return field(default=default, metadata={"typer": made})


FIRST = "Options to start with"
data_option = functools.partial(option, panel="Data")  # choose the data
sampling_option = functools.partial(option, panel="Sampling")  # choose how permutations are drawn
model_option = functools.partial(option, panel="Model")  # choose the utility of a sequence of rows
stopping_option = functools.partial(option, panel="Stopping")
output_option = functools.partial(option, panel="Output")
running_option = functools.partial(option, panel="Running")  # change no results


def argument(default: Any, help: str, metavar: str) -> Any:
    """Return an argument, to be used like an `option`; MISSING for a default makes it required."""
    made = typer.Argument(metavar=metavar, help=help, rich_help_panel="File")
    return field(default=default, metadata={"typer": made})


def _check(choices: Sequence[str], limits: dict[str, Any] | None) -> Callable[..., Any]:
    def check(param: typer.CallbackParam, value: Any) -> Any:
        name = param.opts[0]
        for one in value if isinstance(value, list) else [] if value is None else [value]:
            if choices:
                check_choice(name, one, tuple(choices))
            else:
                (arguments.integer if isinstance(one, int) else arguments.number)(name, one, **limits or {})
        return value

    return check


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Return a function as Typer can read it: a parameter that is a dataclass becomes its fields."""
    groups: dict[str, Any] = {}
    parameters: list[Parameter] = []
    for name, parameter in signature(function, eval_str=True).parameters.items():
        kind = parameter.annotation
        given = {name: (kind, parameter.default)}
        if is_dataclass(kind):
            groups[name], hints = kind, get_type_hints(kind)
            given = {one.name: (hints[one.name], one) for one in fields(kind)}
        for title, (hint, one) in given.items():
            default = Parameter.empty if one.default is MISSING else one.default
            annotation: Any = Annotated[hint, one.metadata["typer"]]
            parameters.append(
                Parameter(title, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            )

    @functools.wraps(function)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{one.name: given.pop(one.name) for one in fields(group)})
        function(**given)

    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


# --- how a run is done, and when it ends

SEED = sampling_option(0, "Random seed.", "S", limits={"min": 0, "max": 2**64 - 1})
JOBS = running_option(
    -1, "Threads, -1 for all cores; values do not depend on it.", "J", limits={"min": -1, "max": 1024}
)
PROGRESS = running_option(
    True, "Show a progress bar if stderr is a terminal.", flag="--progress/--no-progress"
)
JSON = output_option(False, "Print one JSON document instead of tables.", flag="--json")
OUT = output_option(None, "Write the table to this file, at full precision.", "TABLE.csv")
PLOT = output_option(None, "Save a plot to this file (png, svg, pdf ...).", "PLOT.png")
PERMUTATIONS = stopping_option(
    None,
    "Number of permutations.",
    "N",
    without="until the values change by less than 5 % over 100 permutations, or 100 per fold; at most 10,000",
    limits={"min": 1, "max": 2**62},
)
MAX_SECONDS = running_option(
    None, "Refuse to start an enumeration that would take more than S seconds.", "S", without="an hour"
)
_MAX_PERMUTATIONS = 10_000


@dataclass(frozen=True)
class StoppingOptions:
    """When sampling ends."""

    permutations: int | None = PERMUTATIONS
    standard_error: float | None = stopping_option(
        None, "Stop once every standard error is at most E, instead of once the values change little.", "E"
    )
    minutes: float | None = stopping_option(
        None, "Stop sampling after M minutes and use the permutations so far.", "M", limits={"above": 0.0}
    )

    def rule(self, folds: int = 1) -> StoppingRule:
        """Return the rule that ends a run with this number of folds."""
        from ordinal_shapley import MaxPermutations, MaxSeconds, MaxStandardError, RelativeChange

        rule: StoppingRule = MaxPermutations(self.permutations or _MAX_PERMUTATIONS)
        if self.standard_error is not None:
            rule = MaxStandardError(self.standard_error) | rule
        elif self.permutations is None:
            rule = RelativeChange(0.05, window=100 * folds) | rule
        return rule if self.minutes is None else rule | MaxSeconds(60.0 * self.minutes)


@dataclass(frozen=True)
class SamplerOptions:
    """How permutations are drawn and evaluated."""

    # Options of the subclass; in other games players have classes.
    strata: ClassVar[str | None] = None
    average: ClassVar[str | None] = None
    method: str = sampling_option(
        "auto",
        "auto (unbiased), or an algorithm of the paper: mc (unbiased), tmc, cmc or ctmc (biased).",
        "NAME",
        choices=METHODS,
    )
    truncation: str | None = sampling_option(
        None,
        "How permutations end early, to save model fits: roulette (at random, unbiased), paper or patience "
        "(biased).",
        "RULE",
        without="roulette for auto, paper for tmc and ctmc",
        choices=TRUNCATIONS,
    )
    tolerance: float | None = sampling_option(
        None, "Tolerance of --truncation paper and patience.", "TOL", without="0.05"
    )
    class_fraction: float | None = sampling_option(
        None, "cmc, ctmc: share of each class that a permutation draws.", "Q", without="0.8"
    )
    design: str = sampling_option(
        "independent", f"Dependence between permutations: {either(DESIGNS)}.", "NAME", choices=DESIGNS
    )

    def sampler(self) -> PermutationSampler:
        """Return the sampler."""
        from ordinal_shapley.sampling.sampler import as_sampler, as_truncation

        made = as_sampler(self.method)
        rule = made.rule
        if self.truncation is not None:
            if rule is None:
                raise ValueError(f"--truncation is for auto, tmc and ctmc; --method is {self.method}")
            rule = as_truncation(self.truncation)
        if self.tolerance is not None:
            if not hasattr(rule, "tol"):
                raise ValueError("--tolerance needs --truncation paper or patience, or --method tmc or ctmc")
            rule = replace(rule, tol=self.tolerance)  # type: ignore[type-var]
        given: dict[str, Any] = {"class_fraction": self.class_fraction, "average": self.average}
        given |= {"strata": _names(self.strata, "--strata")}
        given = {name: choice for name, choice in given.items() if choice is not None}
        if given and not made.draws_classes:
            raise ValueError(f"{FLAGS[next(iter(given))]} is for cmc and ctmc; --method is {self.method}")
        return replace(made, truncation=rule, design=self.design, **given)


@dataclass(frozen=True)
class GameSamplerOptions(SamplerOptions):
    """The same for a game whose players have no classes."""

    strata: str | None = sampling_option(  # type: ignore[misc]
        None, "cmc, ctmc: the class of each player, in the order of the file, such as x,x,y.", "CLASSES"
    )
    average: str | None = sampling_option(  # type: ignore[misc]
        None,
        "cmc, ctmc: average over all permutations, or over selected ones only, those that drew the player: "
        f"{either(AVERAGES)}.",
        "NAME",
        without="all",
        choices=AVERAGES,
    )


SIZES = option(
    None,
    "classic, ordinal: weight of set sizes: N (only sets of up to N members count), beta:A,B or banzhaf.",
    "SIZES",
    without="all sizes count equally",
)


@dataclass(frozen=True)
class GameValueOptions:
    """Which value of a game."""

    # Not WeightedOrdinal: a command line cannot express a function.
    value_kind: str = option(
        "ordinal", f"{either((*VALUES, 'blend'))}.", "NAME", flag="--value", choices=(*VALUES, "blend")
    )
    sizes: str | None = SIZES
    alpha: float | None = option(
        None, "blend: weight of the ordinal value, from 0 to 1; the rest is the classic one's.", "A"
    )
    partition: str | None = option(
        None,
        "If only some orders matter: the group of each player, in the order of the file, such as a,a,b.",
        "GROUPS",
    )
    case: str | None = option(
        None, f"With --partition: order matters {either(CASES)} groups.", "WHERE", choices=CASES
    )

    def value(self) -> Value:
        """Return the value."""
        from ordinal_shapley.values import Blend, PartialOrdinal

        if (self.alpha is None) == (self.value_kind == "blend"):
            raise ValueError(f"--alpha and --value blend belong together; --value is {self.value_kind}")
        if self.partition is None and self.case is None and (self.alpha is None or self.sizes is not None):
            return weighted(self.value_kind, self.sizes)
        if self.alpha is not None:
            return Blend(self.alpha)
        if self.value_kind != "partial_ordinal":
            raise ValueError(f"--partition is for --value partial_ordinal; --value is {self.value_kind}")
        return PartialOrdinal(_names(self.partition, "--partition"), self.case)


def weighted(name: str, sizes: str | None) -> Value:
    """Return the value of this name, with the size weights that a text specifies."""
    from ordinal_shapley.values import as_value

    if sizes is None:
        return as_value(name)
    if name not in ("classic", "ordinal"):
        raise ValueError(f"--sizes is for --value classic and ordinal; --value is {name}")
    return replace(as_value(name), size_weights=_size_weights(sizes))  # type: ignore[type-var]


def _size_weights(text: str) -> SizeWeights:
    """Return the size weights of a text such as "50", "beta:16,1" or "banzhaf"."""
    from ordinal_shapley.values import banzhaf_weights, beta_weights, sizes_up_to

    if text == "banzhaf":
        return banzhaf_weights()
    family, _, parameters = text.partition(":")
    try:
        if family == "beta":
            a, b = map(float, parameters.split(","))
            return beta_weights(a, b)
        return sizes_up_to(int(text))
    except ValueError:
        raise ValueError(
            f"--sizes is {text!r}, expected the largest size, such as 50, or beta:16,1 or banzhaf"
        ) from None


def _names(text: str | None, flag: str) -> list[str] | None:
    """Split a text at its commas into names."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise ValueError(f"{flag} is {text!r}, expected names with commas between them, such as x,x,y")
    return names
