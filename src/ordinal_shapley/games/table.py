"""Games given by a table of utilities."""

from __future__ import annotations

import json
import math
import os
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common import arguments, arrays
from ordinal_shapley.common.files import replacing
from ordinal_shapley.common.names import warn_of_alike
from ordinal_shapley.common.parallel import check_memory
from ordinal_shapley.games._journey_input import as_frame, column_of
from ordinal_shapley.games._sequences import check_names, join_names, read_sequences, split_names
from ordinal_shapley.games.base import Game
from ordinal_shapley_kernels.table import Orders, is_order_free, make_workspace, subtree_sizes

# The table of 12 players takes 10 GiB, that of 13 takes 136.
_MAX_PLAYERS = 12


class TableGame(Game):
    """A game given by the utility of every sequence, in a table.

    Parameters
    ----------
    n_players : int
        Players are 0, ..., n_players - 1; up to 12.
    utilities : mapping
        Utilities by sequence, a tuple of players in order of entry; () is the empty sequence.
    default : float, default 0.0
        Utility of the sequences that are not listed.
    order_free : bool, default False
        Whether order does not matter, so that a sequence stands for all orders of its players.
    names : array-like of shape (n_players,), optional
        Names of the players, for files, frames and tables of results.

    Attributes
    ----------
    n_players, order_free, player_names, player_classes, player_sizes
        See `Game`; ``order_free`` says whether all orders of the same players have one utility.
    values : ndarray of float64
        All utilities, in the order of `from_array`; read-only.

    Raises
    ------
    TypeError, ValueError
        If an argument cannot be used; the message names it, and the sequence where there is one.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> game = osv.TableGame(2, {(0, 1): 1.0})
    >>> game([0, 1]), game([1, 0])
    (1.0, 0.0)
    >>> osv.exact_values(game).values
    array([0.25, 0.25])
    >>> osv.exact_values(game, "partial_ordinal").values
    array([0. , 0.5])
    >>> osv.TableGame(2, {(0, 1): 1.0}, order_free=True)([1, 0])
    1.0
    """

    _without_order = "give all orders of the same players one utility, as order_free=True does"

    def __init__(
        self,
        n_players: int,
        utilities: Mapping[tuple[int, ...], float],
        default: float = 0.0,
        *,
        order_free: bool = False,
        names: Any = None,
    ) -> None:
        n = arguments.integer("n_players", n_players, max=_MAX_PLAYERS)
        if not isinstance(utilities, Mapping):
            raise TypeError(f"utilities is a {type(utilities).__name__}, expected a mapping from sequences")
        self.n_players = n
        self._sizes = subtree_sizes(n)
        check_memory(
            8 * self._sizes[n], f"the table of {n} players", "use a FunctionGame, which computes utilities"
        )
        sets = arguments.flag("order_free", order_free)
        default = arguments.number("default", default)
        values = np.full(2**n if sets else self._sizes[n], default)
        listed: dict[int, Any] = {}
        for sequence, value in utilities.items():
            if not isinstance(sequence, tuple):
                raise TypeError(f"utilities has the key {sequence!r}, expected a tuple of players")
            try:
                players = self._check_sequence(sequence)
            except (TypeError, ValueError) as error:
                raise arguments.with_prefix(f"utilities has the key {sequence!r}: ", error) from error
            node = sum(1 << player for player in players.tolist()) if sets else self._node(players)
            values[node] = arguments.number(f"the utility of {tuple(sequence)}", value)
            other = listed.setdefault(node, sequence)
            if utilities[other] != value:
                raise ValueError(
                    f"utilities has {other} and {sequence}, the same players, with different utilities: "
                    "expected one, for order_free is True"
                )
        self._set(_in_all_orders(values, n) if sets else values, names)

    def _set(self, values: NDArray[np.float64], names: Any) -> None:
        self._take_players(self.n_players, names)
        self.values = values.view()
        self.values.flags.writeable = False
        orders = Orders(values=self.values, first=np.full(2**self.n_players, np.nan))
        self.order_free = bool(is_order_free(orders, self.n_players))

    @classmethod
    def from_array(cls, n_players: int, values: Any, *, names: Any = None) -> TableGame:
        """Make a game of an array with the utility of every sequence, in the preorder of their tree.

        Node 0 is the empty sequence. After a sequence comes all that begins with it followed by the lowest
        player left, then by the next, and so on. With :math:`k` players left these are
        :math:`S(k) = 1 + k S(k-1)` sequences, :math:`S(0) = 1`, itself included: 2, 5, 16, 65, 326, ... So
        for two players the order is (), (0), (0, 1), (1), (1, 0).

        Parameters
        ----------
        n_players : int
            Number of players, up to 12.
        values : array-like of shape (S(n_players),)
            Utilities. A contiguous float64 array is not copied, and must not change afterwards.
        names : array-like of shape (n_players,), optional
            Names of the players.

        Raises
        ------
        TypeError, ValueError
            If an argument cannot be used.

        Examples
        --------
        >>> import ordinal_shapley as osv
        >>> game = osv.TableGame.from_array(2, [0.0, 1.0, 5.0, 2.0, 3.0])
        >>> game([0, 1]), game([1]), game([1, 0])
        (5.0, 2.0, 3.0)
        """
        n = arguments.integer("n_players", n_players, max=_MAX_PLAYERS)
        game = cls.__new__(cls)
        game.n_players = n
        game._sizes = subtree_sizes(n)
        try:
            array = np.require(values, np.float64, ["C", "A"])
        except (TypeError, ValueError):
            raise TypeError("values holds what is not a number, expected utilities") from None
        if array.shape != (game._sizes[n],):
            raise ValueError(
                f"values has shape {array.shape}, expected ({game._sizes[n]},), one utility for each "
                f"sequence of {n} players"
            )
        if not (math.isfinite(array.min()) and math.isfinite(array.max())):
            bad = int(np.argmin(np.isfinite(array)))
            raise ValueError(
                f"values holds {array[bad]} at {bad}, the utility of {game._sequence(bad)}: "
                "expected finite numbers"
            )
        game._set(array, names)
        return game

    @classmethod
    def from_json(cls, path: str | os.PathLike[str], *, order_free: bool = False) -> TableGame:
        """Read a game from a JSON file.

        The file holds an object with ``players``, a list of names or their number, ``utilities``, an object
        from sequences such as "a > b > c" ("" is the empty one) to numbers, and ``default``, the utility of
        all others, 0 if it is left out.

        Parameters
        ----------
        path : path
            The file.
        order_free : bool, default False
            Whether a sequence stands for all orders of its players.

        Raises
        ------
        ValueError
            If the file does not exist or does not hold a game; the message says where it is wrong.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> import ordinal_shapley as osv
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "game.json"
        ...     _ = path.write_text('{"players": ["a", "b"], "utilities": {"a > b": 1.0}}')
        ...     osv.TableGame.from_json(path)([0, 1])
        1.0
        """
        path = Path(path)
        try:
            content = json.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=_as_object)
        except OSError as error:
            raise ValueError(f"{str(path)!r} can't be read: {error.strerror}") from error
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path.name} can't be read as JSON: {error}") from error
        try:
            if not isinstance(content, dict) or not {"players", "utilities"} <= set(content):
                raise ValueError("it holds no game, expected an object with 'players' and 'utilities'")
            unknown = sorted(set(content) - {"players", "utilities", "default"})
            if unknown:
                raise ValueError(f"{unknown[0]!r} is unknown, expected 'players', 'utilities' and 'default'")
            players, utilities = content["players"], content["utilities"]
            if not isinstance(utilities, dict):
                raise ValueError("utilities is not an object from sequences to numbers")
            names = players if isinstance(players, list) else None
            for name in names or ():
                if isinstance(name, bool) or not isinstance(name, str | int | float):
                    raise ValueError(f"players holds {name!r}, expected names")
            n_players = arguments.integer("players", len(names) if names else players, max=_MAX_PLAYERS)
            shown = check_names([str(name) for name in names or range(n_players)])
            table = read_sequences(utilities.items(), shown)
            default = content.get("default", 0.0)
            game = cls(n_players, table, default, order_free=order_free, names=names)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path.name}: {error}") from error
        _warn_of_sets(table, n_players, order_free)
        return game

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write the game to a JSON file that `from_json` reads.

        Parameters
        ----------
        path : path
            The file; sequences with the most frequent utility are left out.

        Raises
        ------
        ValueError
            If a name holds '>' or has spaces around it, or two are the same.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> import ordinal_shapley as osv
        >>> game = osv.TableGame(2, {(0, 1): 1.0}, names=["a", "b"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "game.json"
        ...     game.to_json(path)
        ...     print(path.read_text())
        {
         "players": [
          "a",
          "b"
         ],
         "default": 0.0,
         "utilities": {
          "a > b": 1.0
         }
        }
        """
        labels = range(self.n_players) if self.player_names is None else self.player_names
        names = check_names([str(label) for label in labels])
        distinct, counts = np.unique(self.values, return_counts=True)
        default = float(distinct[np.argmax(counts)])
        content = {
            "players": self.n_players if self.player_names is None else names,
            "default": default,
            "utilities": {
                join_names(names[player] for player in self._sequence(node)): float(self.values[node])
                for node in np.flatnonzero(self.values != default).tolist()
            },
        }
        with replacing(arguments.file_name("path", path)) as temporary:
            temporary.write_text(json.dumps(content, indent=1, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        sequence: str = "sequence",
        value: str = "value",
        *,
        players: Any = None,
        default: float = 0.0,
        order_free: bool = False,
    ) -> TableGame:
        """Make a game of a frame with a column of sequences and one of utilities.

        Parameters
        ----------
        frame : DataFrame
            Of pandas, Polars or whatever else Narwhals reads: one row for each sequence that is listed.
        sequence : str, default "sequence"
            Column of sequences such as "a > b > c"; an empty text is the empty sequence.
        value : str, default "value"
            Column of utilities.
        players : array-like of str, optional
            Names of the players, in order; by default those that occur, sorted.
        default : float, default 0.0
            Utility of the sequences that are not listed.
        order_free : bool, default False
            Whether a sequence stands for all orders of its players.

        Raises
        ------
        TypeError, ValueError
            If a column is missing or a row cannot be read.

        Examples
        --------
        >>> import pandas as pd
        >>> import ordinal_shapley as osv
        >>> frame = pd.DataFrame({"sequence": ["ann", "bob > ann"], "value": [1.0, 3.0]})
        >>> game = osv.TableGame.from_frame(frame)
        >>> game.player_names.tolist(), game([1, 0])
        (['ann', 'bob'], 3.0)
        """
        frame = as_frame(frame)
        texts, values = (column_of(frame, name).tolist() for name in (sequence, value))
        for row, text in zip(frame.index, texts, strict=True):
            if not isinstance(text, str):
                raise TypeError(
                    f"frame has {text!r} at row {row!r}, expected a text such as 'a > b', or '' for the "
                    "empty sequence, which read_csv keeps with keep_default_na=False"
                )
        if players is None:
            players = sorted({name for text in texts for name in split_names(text)})
            warn_of_alike(players, "players")
        names = check_names([str(name) for name in arrays.as_player_names(players, "players", len(players))])
        table = read_sequences(zip(texts, values, strict=True), names)
        n_players = arguments.integer("the number of players", len(names), max=_MAX_PLAYERS)
        game = cls(n_players, table, default, order_free=order_free, names=names)
        _warn_of_sets(table, n_players, order_free)
        return game

    _workspace_maker = staticmethod(make_workspace)

    @property
    def _payload(self) -> tuple[Any, ...]:
        return self.values, self.n_players

    def __call__(self, sequence: Sequence[int] | NDArray[np.int64]) -> float:
        """Return the utility of a sequence of distinct players; () is the empty one."""
        return float(self.values[self._node(self._check_sequence(sequence))])

    def _node(self, players: NDArray[np.int64]) -> int:
        left = list(range(self.n_players))
        node = 0
        for player in players.tolist():
            rank = left.index(player)
            del left[rank]
            node += 1 + rank * self._sizes[len(left)]
        return node

    def _sequence(self, node: int) -> tuple[int, ...]:
        left = list(range(self.n_players))
        sequence = []
        while node:
            rank, node = divmod(node - 1, self._sizes[len(left) - 1])
            sequence.append(left.pop(rank))
        return tuple(sequence)

    def __repr__(self) -> str:
        kind = ", order free" if self.order_free else ""
        return f"TableGame({self.n_players} players, {len(self.values):,} sequences{kind})"


def _in_all_orders(utilities: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Return the utilities of all sequences of n players from those of sets, as bits."""
    after: dict[int, NDArray[np.float64]] = {}  # utilities of the subtree after each set of so many players
    for size in range(n, -1, -1):
        masks = [sum(1 << player for player in players) for players in combinations(range(n), size)]
        after = {
            mask: np.concatenate(
                [utilities[[mask]], *(after[mask | 1 << p] for p in range(n) if not mask >> p & 1)]
            )
            for mask in masks
        }
    return after[0]


def _warn_of_sets(listed: Mapping[tuple[int, ...], Any], n: int, order_free: bool) -> None:
    """Warn if each set of players is listed in one order, as in an order-free game."""
    sets = Counter(frozenset(sequence) for sequence in listed)
    sets.pop(frozenset(), None)
    several = sum(len(players) > 1 for players in sets)
    # One sequence of two players is no evidence of that.
    every = several == 2**n - n - 1 and (n > 2 or len(sets) == 2**n - 1)
    if order_free or n < 2 or not every or max(sets.values()) > 1:
        return
    warnings.warn(
        "use order_free=True if order does not matter: each set of players is listed in one order only, and "
        "its other orders have the default utility",
        UserWarning,
        stacklevel=3,
    )


def _as_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    name, count = Counter(name for name, _ in pairs).most_common(1)[0] if pairs else ("", 0)
    if count > 1:
        raise ValueError(f"it lists {name!r} twice")
    return dict(pairs)
