"""The interface of all games."""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from itertools import chain
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common.arguments import with_prefix
from ordinal_shapley.common.arrays import as_player_names
from ordinal_shapley.common.parallel import Prefer, heeding_interrupts
from ordinal_shapley.games._failures import UtilityError as UtilityError


class Game(ABC):
    """A real function of a sequence of players.

    Attributes
    ----------
    n_players : int
        Players are the integers 0, ..., n_players - 1.
    order_free : bool
        Whether the utility depends only on which players are in the sequence, not on their order.
    player_names : ndarray of shape (n_players,) or None
        Names of the players in results.
    player_classes : ndarray of int64, shape (n_players,), or None
        Class of each player, for the samplers that draw class by class; None if it is not known.
    player_sizes : ndarray of int64, shape (n_players,)
        Number of rows that each player owns.
    baseline_score : float or None
        Score of a constant prediction; None where it has none.
    model : str or None
        In words, the model that is fitted and whether it is compiled; None where there is none.
    """

    n_players: int
    order_free: bool
    player_names: NDArray[Any] | None
    player_classes: NDArray[np.int64] | None
    player_sizes: NDArray[np.int64]
    baseline_score: float | None = None
    _model: str | None = None
    # Whether more workers help, which they don't if every utility needs the interpreter.
    _runs_in_parallel: bool = True
    # joblib's name for the workers: processes if a utility holds the interpreter for long.
    _prefer: Prefer = "threads"
    # Advice for a game in which order does not matter.
    _without_order: str = "build it with order_free=True"
    # Whether only the user's declaration says that order does not matter.
    _order_on_trust: bool = False
    # Whether a sequence has a model only if it has every class.
    _awaits_classes: bool = False
    # Whether a utility may take minutes.
    _is_slow: bool = False
    # Time of a fit of all rows, if it was measured.
    _seconds_per_fit: float | None = None
    # Whether players are the training rows in their given order.
    _players_are_rows: bool = False
    # Number of validation rows, if there are models.
    _n_valid: int | None = None
    # Whether models predict numbers, not classes.
    _predicts_numbers: bool = False
    # Relative cost of some seconds of work; infinite if the formula has no such scale.
    _much: float = math.inf

    @property
    def model(self) -> str | None:
        """In words, the model that is fitted and whether it is compiled; None where there is none."""
        return self._model

    @abstractmethod
    def __call__(self, sequence: Sequence[int] | NDArray[np.int64]) -> float:
        """Return the utility of a sequence of players.

        Parameters
        ----------
        sequence : sequence of int
            Distinct players in order of entry; () is the empty sequence.

        Returns
        -------
        float
            The utility.

        Raises
        ------
        TypeError, ValueError
            If ``sequence`` is not a sequence of distinct players, or its utility not a finite number.
        RuntimeError
            If a function or a model of the user's fails.
        """

    @property
    @abstractmethod
    def _workspace_maker(self) -> Callable[..., Any]:
        """A module-level function that makes a nopython workspace from `_payload`."""

    @property
    @abstractmethod
    def _payload(self) -> tuple[Any, ...]:
        """Arrays and scalars for `_workspace_maker`; the arrays are never written."""

    @property
    def _folds(self) -> tuple[tuple[Game, NDArray[np.int64] | None], ...]:
        """The games among which permutations are divided, with the players of each; None for all."""
        return ((self, None),)

    @property
    def _row_shares(self) -> NDArray[np.float64] | None:
        """Weights of the validation rows in the utility, if that is a mean over them; they sum to 1."""
        return None

    @property
    def _settings(self) -> dict[str, Any]:
        """Settings that identify a game, under public names: short values, or tuples of arrays."""
        return {"game": self._payload}

    @property
    def _identity(self) -> tuple[Any, ...]:
        """The arrays and words of `_settings`."""
        return flat(self._settings.values())

    @property
    def _entries(self) -> tuple[Any, ...]:
        """Kernels that the workspace will need, if they take long to compile."""
        return ()

    @property
    def scored_orders(self) -> int:
        """Number of full permutations whose models are scored; 0 if players own no rows."""
        return 0

    def _relative_costs(self, sizes: NDArray[np.int64], jump: bool) -> NDArray[np.float64]:
        """Return the approximate relative cost of evaluating prefixes of these sizes.

        It is a formula, because a run must not depend on the clock. With `jump` the previous prefix is far
        shorter, else one player shorter.
        """
        return np.ones(len(sizes))

    def _make_workspace(self) -> Any:
        """Return a fresh nopython workspace."""
        return self._workspace_maker(*self._payload)

    def _spare_workspace(self) -> Any:
        """The workspace of this thread, because making one takes longer than evaluating a short sequence."""
        spare = vars(self).setdefault("_spare", threading.local())
        if not hasattr(spare, "workspace"):
            spare.workspace = self._make_workspace()
        spare.workspace.unconverged = 0
        return spare.workspace

    def __getstate__(self) -> dict[str, Any]:
        # Copies, which may be changed, and other processes start without a workspace.
        return {name: value for name, value in vars(self).items() if name != "_spare"}

    def _expect_walks(self, n_rows: int | None = None) -> bool:
        """Prepare the game if many sequences will be evaluated; return whether anything was done.

        With `n_rows` only this number of rows is known to enter.
        """
        return False

    def _for_jumps(self, tick: Callable[[int, int], bool], longest: int | None = None) -> Game:
        """Return the same game, prepared for a run that evaluates distant prefixes.

        Few of them have more than `longest` players. `tick` gets the progress and the total, and returns
        whether there is time for more.
        """
        return self

    def _warn_unconverged(self, n_fits: int) -> None:  # noqa: B027
        """Warn that this number of model fits did not converge."""

    @property
    def _score_name(self) -> str:
        """Name of the utility in a report."""
        return "utility"

    def _facts(self) -> dict[str, str]:
        """Terms and texts that describe the game in a report."""
        return {"Game": type(self).__name__}

    def _row_labels(self) -> NDArray[Any] | None:
        """Class of each player, if players are rows with classes."""
        return None

    def _listening(self) -> AbstractContextManager[None]:
        """Context while kernels run, which raises exceptions that they cannot pass on."""
        return heeding_interrupts()

    def _report(self, error: UtilityError, prefix: str = "") -> NoReturn:
        """Raise the error of a sequence's utility, prefixed with the permutation and `prefix`."""
        failure = self._failure(error.sequence) if error.failure is None else error.failure
        if error.permutation is not None:
            prefix = f"permutation {error.permutation}: {prefix}"
        raise with_prefix(prefix, failure)

    def _failure(self, sequence: tuple[int, ...]) -> Exception:
        """Return the error of a sequence's utility, for which compiled code reported no reason."""
        try:
            value = self(sequence)
        except (RuntimeError, TypeError, ValueError) as error:
            return error
        return RuntimeError(
            f"the utility of {sequence} failed or was not finite, and is {value} when evaluated again: "
            "expected a function of the sequence alone"
        )

    def _take_players(self, n_players: int, names: Any = None) -> None:
        """Set players without classes and rows."""
        self.n_players = n_players
        self.player_names = None if names is None else as_player_names(names, "names", n_players)
        self.player_classes = None
        self.player_sizes = np.ones(n_players, np.int64)

    def _check_sequence(self, sequence: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
        players = np.asarray(sequence)
        if players.size == 0:
            return np.zeros(0, np.int64)
        if players.ndim != 1 or players.dtype.kind not in "iu":
            raise TypeError(f"sequence is {sequence!r}, expected integers, the players in order of entry")
        outside = (players < 0) | (players >= self.n_players)
        if outside.any():
            raise ValueError(
                f"sequence holds player {players[outside][0]}, expected players 0 to {self.n_players - 1}"
            )
        if len(np.unique(players)) < len(players):
            raise ValueError("sequence holds a player twice, expected distinct players")
        return players.astype(np.int64)


def flat(options: Iterable[Any]) -> tuple[Any, ...]:
    """Return options, and what is in those that are tuples."""
    return tuple(chain.from_iterable(one if isinstance(one, tuple) else (one,) for one in options))


def check_game(name: str, game: object) -> None:
    """TypeError unless this is a game."""
    if not isinstance(game, Game):
        raise TypeError(
            f"{name} is a {type(game).__name__}, expected a game such as TableGame or LogisticGame"
        )
