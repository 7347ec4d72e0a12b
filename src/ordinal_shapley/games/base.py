"""The interface of all games."""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
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
    # Whether more workers help: not where every utility needs the interpreter.
    _runs_in_parallel: bool = True
    # Which workers, as joblib calls them: processes where a utility holds the interpreter for long.
    _prefer: Prefer = "threads"
    # How to get such a game whose order does not matter.
    _without_order: str = "build it with order_free=True"
    # Whether users say that the order does not matter, and nothing else does.
    _order_on_trust: bool = False
    # Whether no sequence has a model before every class has come.
    _awaits_classes: bool = False
    # Whether a utility may take minutes.
    _is_slow: bool = False
    # What a fit of all rows took, where that was timed.
    _seconds_per_fit: float | None = None
    # Whether each player is one training row, in their given order.
    _players_are_rows: bool = False
    # Rows that models are scored on, where there are models.
    _n_valid: int | None = None
    # Whether models predict numbers, not classes.
    _predicts_numbers: bool = False
    # By `_relative_costs`, what takes some seconds; infinite where the formula does not tell.
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
        """A function of the module level that makes a nopython workspace of `_payload`."""

    @property
    @abstractmethod
    def _payload(self) -> tuple[Any, ...]:
        """Arrays and scalars for `_workspace_maker`; the arrays are never written."""

    @property
    def _folds(self) -> tuple[tuple[Game, NDArray[np.int64] | None], ...]:
        """The games that permutations are shared out among, with the players of each; None for all."""
        return ((self, None),)

    @property
    def _row_shares(self) -> NDArray[np.float64] | None:
        """What each validation row weighs in the utility, where that is a mean over them; they sum to 1."""
        return None

    @property
    def _settings(self) -> dict[str, Any]:
        """What tells one game from another under the names that users know: words, or tuples of arrays."""
        return {"game": self._payload}

    @property
    def _identity(self) -> tuple[Any, ...]:
        """The arrays and words of `_settings`."""
        parts = [value if isinstance(value, tuple) else (value,) for value in self._settings.values()]
        return tuple(chain.from_iterable(parts))

    @property
    def _entries(self) -> tuple[Any, ...]:
        """Kernels that the workspace will need, if compiling them takes a while."""
        return ()

    @property
    def scored_orders(self) -> int:
        """Number of orders of all rows whose models are scored; 0 where players own no rows."""
        return 0

    def _relative_costs(self, sizes: NDArray[np.int64], jump: bool) -> NDArray[np.float64]:
        """Return about what evaluating prefixes of so many players costs, up to a factor.

        That is by formula, for a run must not depend on the clock. A `jump` comes from a prefix far shorter,
        else from the one before.
        """
        return np.ones(len(sizes))

    def _make_workspace(self) -> Any:
        """Return a fresh nopython workspace."""
        return self._workspace_maker(*self._payload)

    def _spare_workspace(self) -> Any:
        """The workspace of this thread; making one takes longer than evaluating a short sequence."""
        spare = vars(self).setdefault("_spare", threading.local())
        if not hasattr(spare, "workspace"):
            spare.workspace = self._make_workspace()
        spare.workspace.unconverged = 0
        return spare.workspace

    def __getstate__(self) -> dict[str, Any]:
        # Copies, in which something may be changed, and other processes begin without a workspace.
        return {name: value for name, value in vars(self).items() if name != "_spare"}

    def _expect_walks(self, n_rows: int | None = None) -> bool:
        """Prepare a run: what pays only where many sequences are evaluated; say whether there was anything.

        With `n_rows` so many rows enter one after the other, and nobody knows what follows.
        """
        return False

    def _for_jumps(self, tell: Callable[[int, int], bool], longest: int | None = None) -> Game:
        """Return the same game, prepared for a run that evaluates prefixes far apart.

        Few of them have more than `longest` players. `tell` hears how much of that is done, of how much, and
        says whether there is time for more.
        """
        return self

    def _warn_unconverged(self, n_fits: int) -> None:  # noqa: B027
        """Warn if so many model fits of a run did not converge."""

    @property
    def _score_name(self) -> str:
        """What a page calls the utility."""
        return "utility"

    def _facts(self) -> dict[str, str]:
        """Terms and words with which a page describes the game."""
        return {"Game": type(self).__name__}

    def _row_labels(self) -> NDArray[Any] | None:
        """Class of each player, where players are rows and have one."""
        return None

    def _listening(self) -> AbstractContextManager[None]:
        """Hold this open while kernels run: it raises what they cannot pass on."""
        return heeding_interrupts()

    def _report(self, error: UtilityError, prefix: str = "") -> NoReturn:
        """Raise what is wrong with the utility of a sequence, with the permutation and `prefix` before it."""
        failure = self._failure(error.sequence) if error.failure is None else error.failure
        if error.permutation is not None:
            prefix = f"permutation {error.permutation}: {prefix}"
        raise with_prefix(prefix, failure)

    def _failure(self, sequence: tuple[int, ...]) -> Exception:
        """What is wrong with the utility of a sequence, of which compiled code says no more than that."""
        try:
            value = self(sequence)
        except (RuntimeError, TypeError, ValueError) as error:
            return error
        return RuntimeError(
            f"the utility of {sequence} failed or was not finite, and is {value} when evaluated again: "
            "expected a function of the sequence alone"
        )

    def _take_players(self, n_players: int, names: Any = None) -> None:
        """Have players without classes or rows of their own."""
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


def check_game(name: str, game: object) -> None:
    """TypeError unless this is a game."""
    if not isinstance(game, Game):
        raise TypeError(
            f"{name} is a {type(game).__name__}, expected a game such as TableGame or LogisticGame"
        )
