"""The options for the model that scores sequences of rows."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from ordinal_shapley.cli.options import FLAGS, either, model_option
from ordinal_shapley.vocabulary import (
    NEIGHBOR_SCORINGS,
    POSITION_WEIGHTS,
    REGRESSION_SCORINGS,
    SCORINGS,
    check_choice,
)

if TYPE_CHECKING:
    from ordinal_shapley.games.base import Game
    from ordinal_shapley.sampling.sampler import PermutationSampler
    from ordinal_shapley.tables.problem import Problem


class _Model(NamedTuple):
    """A model's name on the screen, its own argument, and its scores."""

    title: str
    own: str
    scorings: Sequence[str]


_MODELS = {
    "logistic": _Model("logistic regression", "C", SCORINGS),
    "multinomial": _Model("multinomial logistic regression", "C", SCORINGS),
    "ridge": _Model("ridge regression", "alpha", REGRESSION_SCORINGS),
    "neighbors": _Model("nearest neighbours", "n_neighbors", NEIGHBOR_SCORINGS),
}


def _scorings(context: typer.Context, incomplete: str) -> list[str]:
    """Return completions for a shell: the scores of the model that begin like the word being typed."""
    model = _MODELS.get(context.params.get("model") or "logistic")
    return [name for name in model.scorings if name.startswith(incomplete)] if model else []


@dataclass(frozen=True)
class ModelOptions:
    """The model, its score, and the weights of positions."""

    model: str = model_option(
        "logistic",
        "For classes: logistic (liblinear, one-vs-rest), multinomial (scikit-learn's LogisticRegression()) "
        "or neighbors (k nearest). For numbers: ridge.",
        "NAME",
        choices=tuple(_MODELS),
    )
    scoring: str | None = model_option(
        None,
        f"Score on validation rows: {either(SCORINGS)}; neighbors: {either(NEIGHBOR_SCORINGS)}; ridge: "
        f"{either(REGRESSION_SCORINGS)}.",
        "NAME",
        without="accuracy; r2 for ridge",
        complete=_scorings,
    )
    position_weight: str | None = model_option(
        None,
        f"Weight of a row by its position in the permutation: {either(POSITION_WEIGHTS)}.",
        "NAME",
        without="uniform for --value classic, else gaussian",
        choices=POSITION_WEIGHTS,
    )
    c: float | None = model_option(
        None,
        "logistic, multinomial: inverse strength of the L2 penalty.",
        "C",
        flag="--C",
        without="1",
        limits={"above": 0.0},
    )
    alpha: float | None = model_option(
        None, "ridge: strength of the L2 penalty.", "A", without="1", limits={"above": 0.0}
    )
    neighbors: int | None = model_option(None, "neighbors: number of neighbors that vote.", "K", without="5")

    @property
    def numbers(self) -> bool:
        """Whether the model predicts numbers in place of classes."""
        return self.model == "ridge"

    def check(self, sampler: PermutationSampler) -> None:
        """ValueError unless the options fit together, and the sampler."""
        if self.scoring is not None:
            check_choice("--scoring", self.scoring, tuple(_MODELS[self.model].scorings))
        for name in self._own():
            if name != _MODELS[self.model].own:
                models = " or ".join(model for model, one in _MODELS.items() if one.own == name)
                raise ValueError(f"{FLAGS[name]} is for --model {models}; --model is {self.model}")
        if self.numbers and sampler.draws_classes:
            raise ValueError(
                "--method draws rows class by class, and --model ridge has no classes: use auto, mc or tmc"
            )

    def _own(self) -> dict[str, Any]:
        given = {"C": self.c, "alpha": self.alpha, "n_neighbors": self.neighbors}
        return {name: choice for name, choice in given.items() if choice is not None}

    def _estimator(self, n_classes: int) -> Any:
        """Return the scikit-learn model."""
        from sklearn.linear_model import LogisticRegression, Ridge
        from sklearn.multiclass import OneVsRestClassifier
        from sklearn.neighbors import KNeighborsClassifier

        own = self._own()
        if self.model == "logistic":
            binary = LogisticRegression(solver="liblinear", **own)
            return binary if n_classes == 2 else OneVsRestClassifier(binary)
        kinds = {"multinomial": LogisticRegression, "ridge": Ridge, "neighbors": KNeighborsClassifier}
        return kinds[self.model](**own)

    def game(self, problem: Problem, value: str, folds: int | None, seed: int) -> Game:
        """Return the game of a problem for a value; with folds, drawn by the seed, of all its rows."""
        from ordinal_shapley import CrossFitGame, game_for

        make = functools.partial(
            game_for,
            self._estimator(len(set(problem.y.tolist()))),
            compiled=True,
            position_weight=self.position_weight or ("uniform" if value == "classic" else "gaussian"),
            scoring=self.scoring,
        )
        game: Game
        if folds is None:
            game = make(problem.X, problem.y, problem.X_valid, problem.y_valid)
        else:
            more = {"cv": folds, "regression": self.numbers, "random_state": seed}
            game = CrossFitGame(make, problem.X, problem.y, **more)
        return game

    def settings(self, game: Any) -> dict[str, Any]:
        """Return the settings of the game's model."""
        names = (_MODELS[self.model].own, "position_weight", "scoring")
        options = {name: getattr(game._folds[0][0], name) for name in names}
        return {"name": self.model, "fitted": game.model, **options}

    def words(self, game: Any) -> str:
        """Return the settings of the game's model as texts."""
        model, score = _MODELS[self.model], game.scoring.replace("_", " ")
        own = f"{model.own} {getattr(game._folds[0][0], model.own):g}"
        return f"{model.title}, {own}, {game.position_weight} position weights, scored by {score}"
