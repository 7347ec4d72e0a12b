"""Results and games of this library as pyDVL's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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

    pyDVL's standard error is the root of variance over count. The variances are chosen so that it comes to
    ours, also where permutations depend on one another and it is not that of independent marginals.

    Parameters
    ----------
    valuation : Valuation or ExactValues
        What `ordinal_shapley.sample_values` or `ordinal_shapley.exact_values` returns, or ``valuation_`` of a
        fitted estimator.
    names : iterable, optional
        A name for each player, all distinct; pyDVL writes them as strings. By default the labels of the
        players, or else their numbers.

    Returns
    -------
    pydvl.valuation.result.ValuationResult
        Values, variances, counts and names in the order of the players. Its status is "converged" if a rule
        of convergence ended the run or the values are exact, else "pending". What was done is in
        ``algorithm`` and in further attributes: ``n_permutations``, ``n_evaluations``, ``stopped_by`` and
        ``seed``.

    Raises
    ------
    TypeError, ValueError
        If an argument cannot be used; the message names it. Labels that are not distinct call for ``names``.

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
    """A game of this library as a utility of pyDVL's.

    pyDVL's utilities are functions of sets. A game in which order plays no part is one already; for any other
    say in ``order`` which sequence stands for a set.

    Parameters
    ----------
    game : Game
        For example a `LogisticGame`.
    order : {"sorted", "listed"} or callable, optional
        "sorted": the players of a set in increasing order, a game in which order plays no part.
        "listed": the players as pyDVL's sampler lists them. Its permutation samplers list them in order of
        entry, so that `ShapleyValuation` with one of them estimates the *partial ordinal* Shapley value, and
        other samplers in some order of their own, so that values then mean little. A function is called with
        the array of players and returns the sequence. Required unless ``game.order_free``.

    Attributes
    ----------
    game : Game
        The game.
    order : str, callable or None
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
        if order is None and not game.order_free:
            raise ValueError(
                "order is None, but the utility of this game depends on the order of players, and a set has "
                "none: expected 'sorted', 'listed' or a function that puts a set in order"
            )
        if not (order is None or callable(order) or order in _ORDERS):
            raise ValueError(f"order is {order!r}, expected 'sorted', 'listed' or a function")
        self.game = game
        self.order = order

    def dataset(self, names: Iterable[Any] | None = None) -> Any:
        """Return a data set to fit pyDVL's valuations to: a row for each player.

        Any other data set will do that has as many rows (or groups) as there are players; only the indices
        are used.

        Parameters
        ----------
        names : iterable, optional
            A name for each player, all distinct. By default the labels of the players, or else their numbers.

        Returns
        -------
        pydvl.valuation.dataset.Dataset
            The number of the player is its only feature.

        Raises
        ------
        TypeError, ValueError
            If ``names`` cannot be used, or is left out and the labels of the players are not distinct.

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
        """Return the utility with a data set, whose indices are the players; pyDVL calls this.

        Parameters
        ----------
        data : pydvl.valuation.dataset.Dataset
            One with a row (or group) for each player.
        copy : bool, default True
            Whether to leave this utility as it is and return another.

        Returns
        -------
        GameUtility
            The utility.

        Raises
        ------
        ValueError
            If there are other indices than players.

        Examples
        --------
        >>> import ordinal_shapley as osv
        >>> from ordinal_shapley.interop.pydvl import GameUtility
        >>> utility = GameUtility(osv.TableGame(2, {(0, 1): 1.0}), order="sorted")
        >>> len(utility.with_dataset(utility.dataset()).training_data)
        2
        """
        if not np.array_equal(np.sort(data.indices), np.arange(self.game.n_players)):
            raise ValueError(
                f"data has {len(data.indices)} rows or groups, expected one a player, numbered from 0 to "
                f"{self.game.n_players - 1}"
            )
        return super().with_dataset(data, copy)

    def __call__(self, sample: Any) -> float:
        """Return the utility of a set of players.

        Parameters
        ----------
        sample : pydvl.valuation.types.Sample or None
            The set is its ``subset``; None is the empty one.

        Returns
        -------
        float
            The utility.

        Raises
        ------
        TypeError, ValueError
            If there are others in the set than players, or ``order`` returns no order of it.

        Examples
        --------
        >>> import numpy as np
        >>> import ordinal_shapley as osv
        >>> from ordinal_shapley.interop.pydvl import GameUtility
        >>> from pydvl.valuation.types import Sample
        >>> game = osv.TableGame(2, {(0, 1): 1.0})
        >>> [GameUtility(game, order=order)(Sample(None, np.array([1, 0]))) for order in ("listed", "sorted")]
        [0.0, 1.0]
        """
        if sample is None or len(sample.subset) == 0:
            return self.game(())
        players = np.asarray(sample.subset)
        if self.order == "sorted":
            return self.game(np.sort(players))
        if callable(self.order):
            sequence = np.asarray(self.order(players))
            if not np.array_equal(np.sort(sequence), np.sort(players)):
                raise ValueError(
                    f"order returned {sequence.tolist()} for the set {sorted(players.tolist())}, expected "
                    "these players in some order"
                )
            return self.game(sequence)
        return self.game(players)

    def __str__(self) -> str:
        return f"GameUtility({self.game!r})"


def _distinct_names(
    names: Iterable[Any] | None, labels: NDArray[Any] | Sequence[Any] | None, n: int
) -> NDArray[np.str_]:
    """Return names as strings, which pyDVL needs to be distinct."""
    if names is not None:
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise TypeError(f"names is {names!r}, expected one name a player")
        texts = [str(name) for name in names]
        if len(texts) != n:
            raise ValueError(f"names has {len(texts)} entries, expected one a player, {n}")
    else:
        texts = [str(label) for label in (range(n) if labels is None else labels)]
    seen: set[str] = set()
    for text in texts:
        if text in seen:
            source = "the labels of the players hold" if names is None else "names holds"
            wanted = "pass distinct ones in names" if names is None else "expected distinct ones"
            raise ValueError(f"{source} {text!r} twice, which pyDVL does not take: {wanted}")
        seen.add(text)
    return np.array(texts, dtype=np.str_)
