"""Results and games of this library as pyDVL's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.exact.values import ExactValues
from ordinal_shapley.games.base import Game, check_game
from ordinal_shapley.valuation.result import Valuation

try:
    from pydvl.utils.status import Status
    from pydvl.valuation.dataset import Dataset
    from pydvl.valuation.result import ValuationResult
    from pydvl.valuation.utility.base import UtilityBase
except ImportError as error:
    raise ImportError(
        f"ordinal_shapley.interop.pydvl needs pyDVL 0.10 ({error}): pip install 'pyDVL>=0.10'. It asks for "
        "numpy<2, and so for an environment of its own if yours has a newer NumPy"
    ) from error

__all__ = ["GameUtility", "to_valuation_result"]

_ORDERS = ("sorted", "listed")


def to_valuation_result(valuation: Valuation | ExactValues, *, names: Iterable[Any] | None = None) -> Any:
    """Return a result of this library as pyDVL's.

    pyDVL's standard error is the root of variance over count. The variances are such that it comes to ours,
    also where permutations depend on one another.

    Parameters
    ----------
    valuation : Valuation or ExactValues
        What `ordinal_shapley.sample_values` or `ordinal_shapley.exact_values` returns, or ``valuation_`` of a
        fitted estimator.
    names : iterable, optional
        A name for each player, all distinct; pyDVL writes them as strings. By default the names of the
        players, or else their indices.

    Returns
    -------
    pydvl.valuation.result.ValuationResult
        Its status is "converged" if a rule of convergence ended the run or the values are exact, else
        "pending". It has the further attributes ``n_permutations``, ``n_evaluations``, ``stopped_by`` and
        ``seed``.

    Raises
    ------
    TypeError, ValueError
        If an argument cannot be used; the message names it.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> from ordinal_shapley.interop.pydvl import to_valuation_result
    >>> game = osv.TableGame(2, {(0, 1): 1.0}, names=["ann", "bob"])
    >>> valuation = osv.sample_values(game, "partial_ordinal", "mc", n_permutations=1000, random_state=0)
    >>> result = to_valuation_result(valuation)
    >>> result.algorithm, result.status.value, result.n_permutations
    ('ordinal-shapley: partial_ordinal by full permutations', 'pending', 1000)
    >>> result.sort(reverse=True).names.tolist()
    ['bob', 'ann']
    """
    if not isinstance(valuation, Valuation | ExactValues):
        raise TypeError(f"valuation is a {type(valuation).__name__}, expected a Valuation or ExactValues")
    n = len(valuation)
    fields: dict[str, Any] = {
        "values": np.array(valuation.values),
        "data_names": _distinct_names(names, valuation.player_names, n),
        "n_evaluations": valuation.n_evaluations,
    }
    if isinstance(valuation, ExactValues):
        return ValuationResult(
            **fields,
            variances=np.zeros(n),
            counts=np.zeros(n, np.int64),
            status=Status.Converged,
            algorithm=f"ordinal-shapley: {valuation.kind.name}, exact",
        )
    return ValuationResult(
        **fields,
        variances=valuation.stderr**2 * np.maximum(valuation.counts, 1),
        counts=np.array(valuation.counts),
        status=Status.Converged if valuation.converged else Status.Pending,
        algorithm=f"ordinal-shapley: {valuation.kind.name} by {valuation.sampler.words}",
        n_permutations=valuation.n_permutations,
        stopped_by=valuation.stopped_by,
        seed=valuation.seed,
    )


class GameUtility(UtilityBase):
    """A game of this library as a utility of pyDVL's, which is a function of sets.

    Parameters
    ----------
    game : Game
        For example a `LogisticGame`.
    order : {"sorted", "listed"} or callable, optional
        Which sequence stands for a set; required unless ``game.order_free``. "sorted": the players in
        increasing order. "listed": as pyDVL's sampler lists them. Its permutation samplers list them in order
        of entry, so that `ShapleyValuation` with one of them estimates the *partial ordinal* Shapley value;
        values by other samplers mean little. A function takes the array of players and returns the sequence.

    Attributes
    ----------
    game, order
        As given.

    Raises
    ------
    TypeError, ValueError
        If an argument cannot be used; the message names it.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> from ordinal_shapley.interop.pydvl import GameUtility
    >>> from pydvl.valuation import DeterministicPermutationSampler, NoStopping, ShapleyValuation
    >>> game = osv.FunctionGame(lambda players: float(len(players)) ** 2, 3, order_free=True)
    >>> utility = GameUtility(game)
    >>> sampler = DeterministicPermutationSampler()
    >>> valuation = ShapleyValuation(utility, sampler, NoStopping(sampler)).fit(utility.dataset())
    >>> valuation.result.values.round(9)
    array([3., 3., 3.])
    """

    def __init__(self, game: Game, *, order: str | Callable[..., Any] | None = None) -> None:
        check_game("game", game)
        if not (callable(order) or order in _ORDERS or (order is None and game.order_free)):
            raise ValueError(
                f"order is {order!r}, expected 'sorted', 'listed' or a function: the utility of this game "
                "depends on the order of players, and a set has none"
            )
        self.game = game
        self.order = order

    def dataset(self, names: Iterable[Any] | None = None) -> Any:
        """Return a data set to fit pyDVL's valuations to: a row for each player.

        Any other with as many rows (or groups) will do, because only the indices are used.

        Parameters
        ----------
        names : iterable, optional
            As for `to_valuation_result`.

        Returns
        -------
        pydvl.valuation.dataset.Dataset
            The index of the player is its only feature.

        Raises
        ------
        TypeError, ValueError
            If ``names`` cannot be used.

        Examples
        --------
        >>> import ordinal_shapley as osv
        >>> from ordinal_shapley.interop.pydvl import GameUtility
        >>> game = osv.TableGame(2, {(0, 1): 1.0}, names=["ann", "bob"])
        >>> GameUtility(game, order="listed").dataset().names.tolist()
        ['ann', 'bob']
        """
        n = self.game.n_players
        labels = _distinct_names(names, self.game.player_names, n)
        return Dataset(np.arange(float(n))[:, None], np.zeros(n), feature_names=["player"], data_names=labels)

    def with_dataset(self, data: Any, copy: bool = True) -> Any:
        """Return the utility with a data set that has a row (or group) for each player; pyDVL calls this."""
        if not np.array_equal(np.sort(data.indices), np.arange(self.game.n_players)):
            raise ValueError(
                f"data has {len(data.indices)} rows or groups, expected one per player, indexed from 0 to "
                f"{self.game.n_players - 1}"
            )
        return super().with_dataset(data, copy)

    def __call__(self, sample: Any) -> float:
        """Return the utility of a sample's ``subset``, or of the empty set for None; pyDVL calls this."""
        if sample is None or len(sample.subset) == 0:
            return self.game(())
        players = np.asarray(sample.subset)
        sequence = np.sort(players) if self.order == "sorted" else players
        if callable(self.order):
            sequence = np.asarray(self.order(players))
            if not np.array_equal(np.sort(sequence), np.sort(players)):
                raise ValueError(
                    f"order returned {sequence.tolist()} for the set {sorted(players.tolist())}, expected "
                    "these players in some order"
                )
        return self.game(sequence)

    def __str__(self) -> str:
        return f"GameUtility({self.game!r})"


def _distinct_names(names: Iterable[Any] | None, player_names: Any, n: int) -> NDArray[np.str_]:
    """Return names as strings, which must be distinct for pyDVL."""
    if names is None:
        names = range(n) if player_names is None else player_names
    elif isinstance(names, str) or not isinstance(names, Iterable):
        raise TypeError(f"names is {names!r}, expected one name per player")
    texts = [str(name) for name in names]
    if len(texts) != n:
        raise ValueError(f"names has {len(texts)} names, expected one per player, {n}")
    text, count = Counter(texts).most_common(1)[0]
    if count > 1:
        raise ValueError(f"the players' names hold {text!r} twice: pass names that are distinct")
    return np.array(texts, dtype=np.str_)
