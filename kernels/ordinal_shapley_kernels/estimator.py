"""The estimator game's nopython side: which sequences have a model, whose utility a function computes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley_kernels.abi import entry
from ordinal_shapley_kernels.blocks import score_without_model
from ordinal_shapley_kernels.function import FunctionWorkspace, make_function_workspace
from ordinal_shapley_kernels.games import OK, Game, GameFunctions
from ordinal_shapley_kernels.games import evaluate as evaluate_inner
from ordinal_shapley_kernels.games import pop as pop_inner
from ordinal_shapley_kernels.games import push as push_inner
from ordinal_shapley_kernels.games import reset as reset_inner
from ordinal_shapley_kernels.rows import Rows, has_every_class, make_rows, pop_rows, push_rows, reset_rows


class EstimatorWorkspace(Game):
    """Nopython side of an EstimatorGame."""

    rows: Rows  # rows of the current sequence
    inner: FunctionWorkspace  # trains and scores a model
    empty_value: float  # utility of a sequence without a model

    def score_in_blocks(self, block_of: NDArray[np.int64], block_weights: NDArray[np.float64]) -> None:
        """See the base class."""
        self.inner.score_in_blocks(block_of, block_weights)
        super().score_in_blocks(block_of, block_weights)

    def failure(self) -> Exception | None:
        """See the base class."""
        return self.inner.failure()


def make_workspace(
    callback: Any,
    player_starts: NDArray[np.int64],
    player_rows: NDArray[np.int64],
    classes: NDArray[np.int64],
    n_classes: int,
    empty_value: float,
) -> EstimatorWorkspace:
    """Allocate the workspace of one worker; for `callback` see `make_function_workspace`."""
    return EstimatorWorkspace(
        FUNCTIONS,
        rows=make_rows(player_starts, player_rows, classes, n_classes),
        inner=make_function_workspace(callback),
        empty_value=float(empty_value),
    )


@entry
def reset(game: EstimatorWorkspace) -> None:
    """Empty the sequence."""
    reset_rows(game.rows)
    reset_inner(game.inner)


@entry
def push(game: EstimatorWorkspace, player: int) -> None:
    """Append a player to the sequence."""
    push_rows(game.rows, player)
    push_inner(game.inner, player)


@entry
def pop(game: EstimatorWorkspace, player: int) -> None:
    """Take the player that was pushed last out of the sequence."""
    pop_rows(game.rows, player)
    pop_inner(game.inner, player)


@entry
def is_defined(game: EstimatorWorkspace) -> int:
    """Whether the sequence holds a row of every class."""
    return int(has_every_class(game.rows))


@entry
def evaluate(game: EstimatorWorkspace) -> int:
    """Write the function's utility of the current sequence."""
    if not has_every_class(game.rows):
        score_without_model(game)
        return OK
    status = evaluate_inner(game.inner)
    scores, inner_scores = game.scores, game.inner.scores
    for k in range(scores.shape[0]):
        scores[k] = inner_scores[k]
    return status


FUNCTIONS = GameFunctions(reset, push, pop, is_defined, evaluate)
