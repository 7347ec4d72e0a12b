"""The options that say which model values the rows, and the game they make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ordinal_shapley.cli.options import SamplerOptions, either, option
from ordinal_shapley.common.arguments import number
from ordinal_shapley.vocabulary import (
    MODELS,
    NEIGHBOR_SCORINGS,
    POSITION_WEIGHTS,
    REGRESSION_SCORINGS,
    SCORINGS,
    choose,
)

if TYPE_CHECKING:
    from ordinal_shapley.games.base import Game
    from ordinal_shapley.tables.problem import Problem

_SCORINGS = {"logistic": SCORINGS, "ridge": REGRESSION_SCORINGS, "neighbors": NEIGHBOR_SCORINGS}


def _scorings(context: typer.Context, incomplete: str) -> list[str]:
    """Return what a shell asks for: the scores of the model that begin like the word being typed."""
    names = _SCORINGS.get(context.params.get("model") or "logistic", ())
    return [name for name in names if name.startswith(incomplete)]


def model_option(help: str, **more: Any) -> Any:
    """Return an option that says what a sequence of rows is worth."""
    return option(help, panel="Model", **more)


@dataclass(frozen=True)
class ModelOptions:
    """Which model, how it is scored, and how positions weigh."""

    model: Annotated[
        str,
        model_option(
            "logistic or neighbors, for classes, or ridge, for numbers.",
            choices=MODELS,
            metavar="NAME",
        ),
    ] = "logistic"
    scoring: Annotated[
        str | None,
        model_option(
            f"{either(SCORINGS)}; neighbors: also vote_share, and neither of the last two; ridge: "
            f"{either(REGRESSION_SCORINGS)}.",
            default="accuracy; r2 if ridge",
            autocompletion=_scorings,
            metavar="NAME",
        ),
    ] = None
    position_weight: Annotated[
        str | None,
        model_option(
            f"Weight of a row by its position: {either(POSITION_WEIGHTS)}.",
            default="gaussian; uniform if classic",
            choices=POSITION_WEIGHTS,
            metavar="NAME",
        ),
    ] = None
    c: Annotated[
        float | None,
        model_option(
            "logistic: the smaller, the stronger the L2 penalty.", flag="--C", default="1", metavar="C"
        ),
    ] = None
    alpha: Annotated[
        float | None,
        model_option("ridge: the larger, the stronger the L2 penalty.", default="1", metavar="A"),
    ] = None
    neighbors: Annotated[
        int | None,
        model_option("neighbors: how many vote.", default="5", metavar="K", min=1),
    ] = None

    @property
    def numbers(self) -> bool:
        """Whether the model predicts numbers in place of classes."""
        return self.model == "ridge"

    def check(self, dataset: str | None) -> None:
        """ValueError unless the options go together, and with the data."""
        choose("--model", self.model, MODELS)
        for flag, given, home in (
            ("--C", self.c, "logistic"),
            ("--alpha", self.alpha, "ridge"),
            ("--neighbors", self.neighbors, "neighbors"),
        ):
            if given is not None and self.model != home:
                raise ValueError(f"{flag} is for --model {home}; --model is {self.model}")
            if given is not None:
                number(flag, given, above=0.0)
        if self.scoring is not None:
            named = "--scoring" if self.model == "logistic" else f"--scoring for --model {self.model}"
            choose(named, self.scoring, _SCORINGS[self.model])
        if self.numbers and dataset is not None:
            raise ValueError(
                f"--model ridge predicts numbers, and --dataset {dataset} has classes: give a TRAIN.csv and "
                "the column of numbers as --target"
            )

    def check_method(self, sampling: SamplerOptions) -> None:
        """ValueError if the method needs classes and there are none."""
        if self.numbers and sampling.draws_classes:
            raise ValueError(
                f"--method {sampling.method} draws rows class by class, and --model ridge has no classes: "
                "use auto, mc or tmc"
            )

    def game_options(self, value_kind: str) -> dict[str, Any]:
        """Return the arguments of the game that the options stand for."""
        weight = self.position_weight or ("uniform" if value_kind == "classic" else "gaussian")
        choose("--position-weight", weight, POSITION_WEIGHTS)
        if value_kind == "classic" and weight != "uniform":
            raise ValueError("--position-weight: the classic value needs uniform weights")
        options: dict[str, Any] = {
            "position_weight": weight,
            "scoring": self.scoring or _SCORINGS[self.model][0],
        }
        if self.model == "logistic":
            return options | {"C": 1.0 if self.c is None else self.c}
        if self.model == "ridge":
            return options | {"alpha": 1.0 if self.alpha is None else self.alpha}
        return options | {"n_neighbors": self.neighbors or 5}

    def words(self) -> list[str]:
        """Return what the screen calls the model; nothing for the usual one."""
        if self.model == "logistic":
            return []
        return ["ridge regression" if self.numbers else f"{self.neighbors or 5} nearest neighbours"]

    def game(self, problem: Problem, options: dict[str, Any]) -> Game:
        """Return the game of a problem."""
        from ordinal_shapley import LogisticGame, NearestNeighborGame, RidgeGame

        kind: Any = {"logistic": LogisticGame, "ridge": RidgeGame, "neighbors": NearestNeighborGame}
        game: Game = kind[self.model](problem.X, problem.y, problem.X_valid, problem.y_valid, **options)
        return game
