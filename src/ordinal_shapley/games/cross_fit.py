"""Cross-fitting: each row is a validation row in one fold and a player in the others."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common import arrays, frames
from ordinal_shapley.common.arguments import with_prefix
from ordinal_shapley.games._folds import Split, make_splits
from ordinal_shapley.games._rows import RowGame
from ordinal_shapley.games.base import Game, flat


class CrossFitGame(Game):
    r"""One game per fold, so that all rows are valued and no separate validation set is needed.

    In each fold some rows are validation rows and the others are players. The utility of a sequence is its
    mean utility over the folds; in each fold, players that are not training rows there are left out.

    Parameters
    ----------
    make_game : callable
        ``make_game(X, y, X_valid, y_valid, **options)`` makes the game of a fold: `LogisticGame` or another
        class of games of rows, or a function that calls `game_for`.
    X : DataFrame, array or sparse matrix of shape (n_rows, n_features)
        All rows.
    y : array-like of shape (n_rows,)
        Their classes, or numbers.
    cv : int, splitter or iterable, default 5
        The split. A number of folds: drawn at random, stratified by class (numbers: by size). Classes with
        fewer rows than folds have no validation rows. With ``groups`` the rows of each owner are split, so
        that every owner is a player in every fold; the only row of an owner is never a validation row. Or a
        splitter of scikit-learn, or pairs of the positions of training and validation rows.
    groups : array-like of shape (n_rows,), optional
        Owner of each row; players are then the owners, as in `LogisticGame`.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of training rows.
    regression : bool, optional
        Whether ``y`` are numbers, not classes. By default that is so if ``make_game`` is a class of games for
        regression or some numbers are not whole.
    random_state : None, int, Generator or RandomState
        Makes the split into a number of folds reproducible.
    **options
        Passed on to ``make_game``.

    Attributes
    ----------
    n_players, order_free, player_names, player_classes, player_sizes
        See `Game`.
    folds : list of Game
        The game of each fold.
    players : list of ndarray of int64
        The players of each fold, as indices of players of this game, in increasing order.
    splits : list of (ndarray of int64, ndarray of int64)
        Positions in ``X`` of the training and of the validation rows of each fold.

    Raises
    ------
    TypeError, ValueError
        If an argument cannot be used; the message names it.

    Notes
    -----
    `sample_values` shares permutations out among the folds, ten at a time, so a run is as long as that of one
    game. A player's value is the mean over the folds in which it trains. If each player trains in all but one
    of K folds, values sum to K / (K - 1) times the mean gain over the folds; owners that play in every fold
    share the mean gain itself.

    Standard errors treat folds as independent, though their training rows overlap.

    References
    ----------
    V. Chernozhukov et al., "Double/debiased machine learning for treatment and structural parameters", The
    Econometrics Journal 21 (2018), for the term.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> game = osv.CrossFitGame(osv.LogisticGame, (X - X.mean(0)) / X.std(0), y, cv=5, random_state=0)
    >>> [fold.n_players for fold in game.folds], game.n_players
    ([142, 142, 142, 143, 143], 178)
    >>> osv.sample_values(game, n_permutations=100, random_state=0).values.shape
    (178,)
    """

    def __init__(
        self,
        make_game: Callable[..., RowGame],
        X: Any,
        y: Any,
        *,
        cv: int | Any = 5,
        groups: Any = None,
        sample_weight: Any = None,
        regression: bool | None = None,
        random_state: Any = None,
        **options: Any,
    ) -> None:
        X = arrays.indexable(X, "X")
        n_rows = X.shape[0]
        arrays.warn_of_order(X, "X", y=y, groups=groups, sample_weight=sample_weight)
        y = arrays.as_column(y, "y", n_rows, "row of X")
        owners = np.arange(n_rows)
        self.player_names = frames.row_labels(X)
        if groups is not None:
            groups = arrays.as_names(groups, "groups", n_rows, "row of X")
            self.player_names, owners = arrays.encode(groups, "groups")
        if sample_weight is not None:
            sample_weight = arrays.as_column(sample_weight, "sample_weight", n_rows, "row of X")
        if regression is None:
            fractions = y.dtype.kind == "f" and not np.array_equal(y, np.round(y))
            regression = bool(getattr(make_game, "_predicts_numbers", False)) or fractions
        y = (arrays.as_targets if regression else arrays.as_labels)(y, "y", n_rows, "row of X")
        self.splits: list[Split] = make_splits(
            cv, X, y, None if groups is None else owners, random_state, regression
        )
        self.n_players = int(owners.max()) + 1
        self.player_sizes = np.bincount(owners).astype(np.int64)
        self.folds: list[RowGame] = []
        self.players: list[NDArray[np.int64]] = []
        for k, (train, valid) in enumerate(self.splits):
            more = {"groups": groups, "sample_weight": sample_weight}
            more = {name: None if given is None else given[train] for name, given in more.items()}
            parts = arrays.take(X, train), y[train], arrays.take(X, valid), y[valid]
            try:
                self.folds.append(make_game(*parts, **more, **options))
            except (RuntimeError, TypeError, ValueError) as error:
                # Errors in rows are reported with their positions in X, not in the fold.
                make_game(X, y, X, y, groups=groups, sample_weight=sample_weight, **options)
                again = with_prefix(f"fold {k + 1} of {len(self.splits)}: ", error)
                raise again from again.__cause__
            self.players.append(np.unique(owners[train]))
        idle = np.setdiff1d(owners, np.concatenate(self.players))
        if len(idle):
            what = "rows" if groups is None else "owners"
            warnings.warn(
                f"{len(idle)} of {self.n_players} {what} train in no fold of cv, so that they get no value: "
                "pass folds in which each trains, such as those of KFold, or leave them out",
                UserWarning,
                stacklevel=2,
            )
        self._take_over(y, groups is None)

    def _take_over(self, y: NDArray[Any], players_are_rows: bool) -> None:
        """Copy the attributes that all folds share."""
        first = self.folds[0]
        self.order_free = first.order_free
        self.classes_ = first.classes_
        self.position_weight, self.scoring = first.position_weight, first.scoring
        self.n_rows = len(y)
        self._labels = y if players_are_rows and first.classes_ is not None else None
        self.player_classes = None  # the folds draw permutations, and know their classes
        scores = [fold.baseline_score for fold in self.folds]
        self.baseline_score = None if None in scores else float(np.mean(scores))  # type: ignore[arg-type]
        self._awaits_classes, self._is_slow = first._awaits_classes, first._is_slow
        self._players_are_rows = players_are_rows
        self._n_valid = sum(len(valid) for _, valid in self.splits)
        self._predicts_numbers = first._predicts_numbers

    @property
    def _folds(self) -> tuple[tuple[Game, NDArray[np.int64] | None], ...]:
        return tuple(zip(self.folds, self.players, strict=True))

    @property
    def model(self) -> str | None:
        """In words, the model that is fitted and whether it is compiled."""
        return None if self.folds[0].model is None else f"{self.folds[0].model}; {len(self.folds)} folds"

    def __call__(self, sequence: Sequence[int] | NDArray[np.int64]) -> float:
        """Return the mean utility over the folds of a sequence of distinct players; () is the empty one."""
        sequence = self._check_sequence(sequence)
        return float(np.mean([fold(self._in_fold(k, sequence)) for k, fold in enumerate(self.folds)]))

    def _in_fold(self, fold: int, sequence: NDArray[np.int64]) -> NDArray[np.int64]:
        """The players of a sequence that are players of a fold, by their indices there."""
        numbers = np.full(self.n_players, -1)
        numbers[self.players[fold]] = np.arange(len(self.players[fold]))
        mapped = numbers[sequence]
        return mapped[mapped >= 0]

    def _refuse(self) -> NoReturn:
        raise TypeError(
            "game is a CrossFitGame, whose values are sampled: use sample_values, or one of its folds"
        )

    @property
    def _workspace_maker(self) -> Callable[..., Any]:
        self._refuse()

    @property
    def _payload(self) -> tuple[Any, ...]:
        self._refuse()

    @property
    def _settings(self) -> dict[str, Any]:
        joined: dict[str, Any] = {}
        for fold in self.folds:
            for name, option in fold._settings.items():
                joined.setdefault(name, []).append(option)
        words = {name: options[0] for name, options in joined.items() if isinstance(options[0], str)}
        others = {name: flat(options) for name, options in joined.items() if name not in words}
        return {**others, **words, "game": "CrossFitGame", "cv": (len(self.folds), *self.players)}

    @property
    def scored_orders(self) -> int:
        """Number of full permutations whose models are scored."""
        return self.folds[0].scored_orders

    def _warn_unconverged(self, n_fits: int) -> None:
        self.folds[0]._warn_unconverged(n_fits)

    @property
    def _score_name(self) -> str:
        return self.folds[0]._score_name

    def _facts(self) -> dict[str, str]:
        facts = self.folds[0]._facts()
        facts["Score"] = f"{self._score_name} on the validation rows of {len(self.folds)} folds"
        return facts

    def _row_labels(self) -> NDArray[Any] | None:
        return self._labels

    def __repr__(self) -> str:
        return f"CrossFitGame({self.n_players} players, {len(self.folds)} folds of {self.folds[0]!r})"
