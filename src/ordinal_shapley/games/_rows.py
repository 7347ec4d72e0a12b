"""Base of games of training rows: which rows each player owns, and position weights."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common import arguments, arrays
from ordinal_shapley.common.names import warn_of_alike
from ordinal_shapley.common.parallel import one_thread
from ordinal_shapley.games._scores import (
    MAX_COST,
    check_score,
    check_spread,
    majority_score,
    score_of_squares,
)
from ordinal_shapley.games.base import Game
from ordinal_shapley.vocabulary import POSITION_WEIGHTS, REGRESSION_SCORINGS, check_choice
from ordinal_shapley_kernels import position_weights
from ordinal_shapley_kernels.walks import utilities_of

_MAX_UTILITY = 1e100
_LONGEST_CALLABLE = 5_000
_LONGEST_TABLE = 20_000
_SCORED_ORDERS = 10
# Scores that are means over validation rows.
_MEANS = {"accuracy", "vote_share", "neg_log_loss", "r2", "neg_mean_squared_error"}
_NONE = np.zeros(0)

PositionWeight = str | Callable[..., Any]
_Matrix = NDArray[np.float64]


class PositionWeights(NamedTuple):
    """Weights of the positions in a sequence of any length."""

    kind: int  # as in the position weight kernel
    table: NDArray[np.float64]  # for a user's function, the packed triangle of its values
    name: str

    @property
    def uniform(self) -> bool:
        """Whether all weights are 1, so that positions do not matter."""
        return self.kind == position_weights.UNIFORM

    def of_length(self, m: int) -> NDArray[np.float64]:
        """Return the weights in a sequence of m rows."""
        if self.kind == position_weights.TABLE:
            return self.table[m * (m - 1) // 2 : m * (m + 1) // 2]
        weights = np.empty(m)
        weigher = position_weights.PositionWeights(kind=self.kind, table=_NONE, out=weights)
        position_weights.weigh_positions(weigher, m)
        return weights


class RowGame(Game):
    """A game whose players bring training rows, each its own or, with groups, several."""

    _without_order = "build it with position_weight='uniform'"

    n_rows: int
    position_weight: str
    empty_value_: float  # utility of the sequences without a model
    classes_: NDArray[Any] | None  # sorted; None where models predict numbers
    scoring: Any
    _codes: NDArray[np.int64]
    _truth: NDArray[Any]
    _n_valid: int
    _player_rows: NDArray[np.int64]
    _player_starts: NDArray[np.int64]
    _weights: PositionWeights

    def _read_players(self, index: NDArray[Any] | None, groups: Any, codes: NDArray[np.int64] | None) -> None:
        """Find the players; `codes` are the classes of the rows, None if they have none."""
        if groups is None:
            self.player_names = index
            owners = np.arange(self.n_rows)
            self.n_players = self.n_rows
        else:
            names = arrays.as_names(groups, "groups", self.n_rows, "row of X")
            self.player_names, owners = arrays.encode(names, "groups")
            warn_of_alike(self.player_names, "groups", 5)
            self.n_players = len(self.player_names)
        self.player_sizes = np.bincount(owners, minlength=self.n_players).astype(np.int64)
        # A stable sort keeps the rows of an owner in their given order.
        self._player_rows = np.argsort(owners, kind="stable").astype(np.int64)
        self._player_starts = np.concatenate([[0], np.cumsum(self.player_sizes)]).astype(np.int64)
        self._players_are_rows = np.array_equal(self._player_rows, np.arange(self.n_players))
        self.player_classes = None
        if codes is not None:
            warn_of_alike(self.classes_ if self.classes_ is not None else (), "class labels", 5)
            codes = codes[self._player_rows]
            first = codes[self._player_starts[:-1]]
            pure = np.array_equal(codes, np.repeat(first, self.player_sizes))
            self.player_classes = first if pure else None

    def _read_position_weight(self, weight: PositionWeight) -> None:
        self._weights = _position_weights(weight, self.n_rows)
        self.position_weight = self._weights.name
        self.order_free = self._weights.uniform

    def _read_sample_weight(self, sample_weight: Any) -> NDArray[np.float64]:
        if sample_weight is None:
            return np.ones(self.n_rows)
        weights = arrays.as_weights(sample_weight, "sample_weight", self.n_rows)
        if weights.max() > MAX_COST:
            raise ValueError(
                f"sample_weight is up to {weights.max():.3g}, expected at most {MAX_COST:g}: rescale the "
                "weights"
            )
        return weights

    def _read_empty_value(
        self, value: Any, words: tuple[str, ...], constant: Callable[[], float], known: bool = True
    ) -> None:
        """Read a number, or for one of `words` the score of a `constant` prediction.

        A score that is not `known` is only computed if it is needed.
        """
        choices = " or ".join(map(repr, words))
        if isinstance(value, str):
            if value not in words:
                raise ValueError(f"empty_value is {value!r}, expected {choices} or a number")
            self.empty_value_ = self.baseline_score = constant()
        else:
            limits = {"min": -_MAX_UTILITY, "max": _MAX_UTILITY}
            self.empty_value_ = arguments.number("empty_value", value, **limits, instead=f"{choices} or a")
            self.baseline_score = None
            if known:
                with suppress(ValueError):  # a score may not apply to constant predictions
                    self.baseline_score = constant()

    @property
    def scored_orders(self) -> int:
        """Number of full permutations whose models are scored."""
        return 1 if self.order_free or self._is_slow else _SCORED_ORDERS

    @property
    def _row_shares(self) -> NDArray[np.float64] | None:
        if self.scoring == "balanced_accuracy":
            counts = np.bincount(self._truth)
            return np.asarray(1.0 / (np.count_nonzero(counts) * counts[self._truth]))
        if isinstance(self.scoring, str) and self.scoring in _MEANS:
            return np.full(self._n_valid, 1.0 / self._n_valid)
        return None

    @property
    def _score_name(self) -> str:
        name = self.scoring if isinstance(self.scoring, str) else getattr(self.scoring, "__name__", "score")
        return str(name).replace("_", " ")

    def _facts(self) -> dict[str, str]:
        facts = super()._facts()
        if self.n_rows != self.n_players:
            facts["Training rows"] = f"{self.n_rows:,}, owned by {self.n_players:,} players"
        facts["Score"] = f"{self._score_name} on {self._n_valid:,} validation rows"
        return facts | {"Position weights": self.position_weight}

    def _row_labels(self) -> NDArray[Any] | None:
        if self.classes_ is None or not self._players_are_rows:
            return None
        return np.asarray(self.classes_[self._codes])


class CompiledRowGame(RowGame):
    """A game of training rows that is evaluated by kernels alone."""

    feature_names: list[str] | None
    _own = ""  # what a repr says of the model, besides what all games have

    def _read_rows(
        self,
        rows: tuple[Any, Any, Any, Any],
        groups: Any,
        sample_weight: Any,
        as_they_are: bool = False,
    ) -> tuple[arrays.Table, arrays.Table]:
        """Read X, y, X_valid and y_valid of a constructor; return training and validation rows as tables."""
        X, y, X_valid, y_valid = rows
        train, valid = arrays.as_tables(X, X_valid, as_they_are=as_they_are)
        arrays.warn_of_order(X, "X", 4, y=y, groups=groups, sample_weight=sample_weight)
        arrays.warn_of_order(X_valid, "X_valid", 4, y_valid=y_valid)
        self.n_rows, self._n_valid = train.values.shape[0], valid.values.shape[0]
        self.feature_names = train.columns
        return train, valid

    def _read_classes(
        self, y: Any, y_valid: Any, scoring: Any, scorings: tuple[str, ...], empty_value: Any
    ) -> None:
        """Take classes, and the score of decisions on them."""
        self.classes_, self._codes, self._truth = arrays.as_classes(y, y_valid, self.n_rows, self._n_valid)
        check_choice("scoring", scoring, scorings)
        check_score(scoring, self.classes_, self._truth)
        self.scoring, n_classes = scoring, len(self.classes_)
        self._read_empty_value(
            empty_value, ("majority",), lambda: majority_score(scoring, self._truth, n_classes)
        )

    def _read_targets(
        self, y: Any, y_valid: Any, scoring: Any, empty_value: Any
    ) -> tuple[NDArray[np.float64], tuple[float, float]]:
        """Take numbers to predict, and the score of predictions; its offset and scale are for kernels."""
        self.classes_ = None
        targets = arrays.as_targets(y, "y", self.n_rows, "row of X")
        self._truth = arrays.as_targets(y_valid, "y_valid", self._n_valid, "row of X_valid")
        check_choice("scoring", scoring, REGRESSION_SCORINGS)
        check_spread(scoring, self._truth)
        self.scoring = scoring
        *units, mean_score = score_of_squares(scoring, self._truth)
        self._read_empty_value(empty_value, ("mean",), lambda: mean_score)
        return targets, (units[0], units[1])

    @property
    def model(self) -> str:
        """In words, the model that is fitted and whether it is compiled."""
        return self._model or f"{type(self).__name__}, compiled"

    def _evaluate(self, sequence: Sequence[int] | NDArray[np.int64], every: bool) -> NDArray[np.float64]:
        players = self._check_sequence(sequence)
        if not len(players):
            return np.full(0 if every else 1, self.empty_value_)
        if every:
            self._expect_walks(int(self.player_sizes[players].sum()))
        workspace = self._spare_workspace()
        values = utilities_of(workspace, players, every)
        self._warn_unconverged(workspace.unconverged)
        return values

    def __call__(self, sequence: Sequence[int] | NDArray[np.int64]) -> float:
        """Return the score of the model trained on a sequence of players.

        Parameters
        ----------
        sequence : sequence of int
            Distinct players in order of entry; () is the empty sequence.

        Returns
        -------
        float
            The score.

        Raises
        ------
        TypeError, ValueError
            If ``sequence`` is not a sequence of distinct players.
        """
        return float(self._evaluate(sequence, every=False)[0])

    def prefix_utilities(self, sequence: Sequence[int] | NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the utility of every prefix of a sequence: of its first player, its first two, and so on.

        Much faster than one call for each, because every fit starts from the one before.

        Parameters
        ----------
        sequence : sequence of int
            Distinct players in order of entry.

        Returns
        -------
        ndarray of float64, shape (len(sequence),)
            The utilities.

        Raises
        ------
        TypeError, ValueError
            If ``sequence`` is not a sequence of distinct players.

        Examples
        --------
        >>> import ordinal_shapley as osv
        >>> X, y = [[-4.0], [-1.0], [3.0]], [0, 0, 1]
        >>> game = osv.LogisticGame(X, y, [[-0.5], [-1.0], [5.0]], [0, 0, 1])
        >>> game.prefix_utilities([0, 1, 2])
        array([0.66666667, 0.66666667, 1.        ])
        """
        return self._evaluate(sequence, every=True)

    def __repr__(self) -> str:
        classes = "" if self.classes_ is None else f"{len(self.classes_)} classes, "
        return (
            f"{type(self).__name__}({self.n_players} players, {self.n_rows} rows, {classes}"
            f"{self._n_valid} validation rows, position_weight={self.position_weight!r}, "
            f"{self._own.format(self)}scoring={self.scoring!r})"
        )


def _position_weights(weight: PositionWeight, n_rows: int) -> PositionWeights:
    if isinstance(weight, str):
        check_choice("position_weight", weight, POSITION_WEIGHTS)
        kinds = {"gaussian": position_weights.GAUSSIAN, "uniform": position_weights.UNIFORM}
        return PositionWeights(kinds[weight], _NONE, weight)
    if not callable(weight):
        raise TypeError(f"position_weight is {weight!r}, expected 'gaussian', 'uniform' or a function")
    n_arguments = _count_arguments(weight)
    longest = _LONGEST_TABLE if n_arguments == 2 else _LONGEST_CALLABLE
    if n_rows > longest:
        raise ValueError(
            f"position_weight is a function and X has {n_rows} rows, expected at most {longest}: "
            "use 'gaussian' or 'uniform'"
        )
    table = np.empty(n_rows * (n_rows + 1) // 2)
    for m in range(1, n_rows + 1):
        row = [weight(i, m) for i in range(m)] if n_arguments == 2 else weight(m)
        try:
            weights = arrays.as_numbers(np.asarray(row), "position_weight")
        except ValueError as error:
            raise ValueError(f"position_weight gives no array of weights for m = {m} ({error})") from None
        if weights.shape != (m,):
            raise ValueError(
                f"position_weight({m}) has shape {weights.shape}, expected ({m},), one weight per position"
            )
        bad = ~((weights >= 0) & (weights <= MAX_COST))
        if bad.any():
            raise ValueError(
                f"position_weight gives {weights[bad][0]} for m = {m}, expected weights from 0 to "
                f"{MAX_COST:g}"
            )
        table[m * (m - 1) // 2 : m * (m + 1) // 2] = weights
    # Only the name of a function is kept: its values are in the table, and it may not be picklable.
    return PositionWeights(position_weights.TABLE, table, getattr(weight, "__name__", "function"))


def _count_arguments(weight: Callable[..., Any]) -> int:
    """Number of arguments of a position weight function: w(position, m) or w(m)."""
    expected = "expected w(position, m), which returns one weight, or w(m), which returns m of them"
    try:
        signature = inspect.signature(getattr(weight, "py_func", weight))
    except ValueError:
        raise TypeError(f"position_weight is {weight!r}, {expected}") from None
    for n_arguments in (2, 1):
        try:
            signature.bind(*range(n_arguments))
        except TypeError:
            continue
        return n_arguments
    raise TypeError(f"position_weight takes {signature}, {expected}")


@one_thread()
def in_span(train: _Matrix, valid: _Matrix) -> tuple[_Matrix, _Matrix, _Matrix]:
    """Return coordinates of both in an orthonormal basis of the span of the first, and this basis."""
    basis, triangle = np.linalg.qr(train.T)
    seen = valid @ basis
    # Rounding errors count as 0: a row that is perpendicular to all others is tied in every model.
    rounding = 4.0 * np.finfo(np.float64).eps * np.sqrt(valid.shape[1]) * np.linalg.norm(valid, axis=1)
    seen[np.abs(seen) <= rounding[:, None]] = 0.0
    return np.ascontiguousarray(triangle.T), seen, basis
