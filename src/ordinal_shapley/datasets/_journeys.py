"""Synthetic journeys: the credit of every channel is known."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ordinal_shapley.common import arguments, arrays
from ordinal_shapley.common.seeds import seed_of
from ordinal_shapley.vocabulary import JOURNEY_VALUES, check_choice

if TYPE_CHECKING:
    import pandas as pd

    from ordinal_shapley.games import JourneyGame

_MAX_CHANNELS = 1_000
_MAX_TOUCHES = 20
_MAX_JOURNEYS = 10_000_000
_BLOCK = 2**22
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Journeys:
    """Synthetic journeys, with their true rates and credit.

    Attributes
    ----------
    frame : pandas.DataFrame
        One row per path that was drawn, with columns path, conversions and non_conversions.
    channels : list of str
        Names of the channels, in order.
    rates : ndarray of float64, shape (n_channels,)
        Increase in the probability of conversion by a touch of each channel.
    boosts : dict
        By pair of names: additional increase if the first comes before the second.
    n_journeys, max_length : int
        Number of journeys, and of touches of the longest one.

    Examples
    --------
    >>> from ordinal_shapley import datasets
    >>> data = datasets.make_journeys(1_000, n_channels=3, random_state=0)
    >>> data
    <Journeys: 1,000 journeys of 3 channels, 15 paths>
    >>> data.true_rate(["A", "B"]), data.true_rate(["B", "A"])
    (0.25, 0.1)
    """

    frame: pd.DataFrame
    channels: list[str]
    rates: npt.NDArray[np.float64]
    boosts: dict[tuple[str, str], float]
    n_journeys: int
    max_length: int

    def game(self, **options: Any) -> JourneyGame:
        """Return the game of the journeys; options are those of `ordinal_shapley.JourneyGame`.

        Examples
        --------
        >>> from ordinal_shapley import datasets
        >>> data = datasets.make_journeys(20_000, n_channels=2, random_state=0)
        >>> data.game().credit()["credit"].round().to_dict()
        {'A': 757.0, 'B': 1459.0}
        """
        from ordinal_shapley.games import JourneyGame

        return JourneyGame.from_frame(
            self.frame, non_conversions="non_conversions", channels=self.channels, **options
        )

    def true_rate(self, path: Any) -> float:
        """Return the probability that a journey of these channels, in this order, converts.

        Parameters
        ----------
        path : list of str
            Distinct channels in order of their touches.

        Examples
        --------
        >>> from ordinal_shapley import datasets
        >>> datasets.make_journeys(100, random_state=0).true_rate(["A"])
        0.05
        """
        for k, name in enumerate(path):
            if name not in self.channels or name in path[:k]:
                raise ValueError(f"path holds {name!r}, expected distinct channels of {self.channels}")
        touched = np.array([[self.channels.index(name) for name in path]], np.int64)
        return float(_probability(touched, self.rates, self._boosts())[0])

    def true_credit(self, value: str = "partial_ordinal") -> pd.Series:
        """Return the expected credit of each channel for this number of journeys.

        Parameters
        ----------
        value : {"partial_ordinal", "ordinal", "classic"}, default "partial_ordinal"
            As in `JourneyGame.credit`, of the game of rates.

        Returns
        -------
        pandas.Series
            Conversions by channel. The rate of a channel is its own credit. The boost of a pair is credited
            to the second channel by the partial ordinal value, and to both equally by the others.

        Examples
        --------
        >>> from ordinal_shapley import datasets
        >>> data = datasets.make_journeys(1_000, n_channels=2, random_state=0)
        >>> data.true_credit().round(6).to_dict()
        {'A': 37.5, 'B': 75.0}
        """
        import pandas as pd

        check_choice("value", value, JOURNEY_VALUES)
        n, boosts = len(self.channels), self._boosts()
        lengths = np.arange(1, self.max_length + 1)
        one = np.mean(lengths) / n
        two = np.mean(lengths * (lengths - 1)) / (n * (n - 1)) if n > 1 else 0.0
        # The first precedes the second in half of the journeys with both.
        of_pairs = boosts.sum(axis=0) if value == "partial_ordinal" else (boosts + boosts.T).sum(axis=0) / 2
        credit = self.n_journeys * (one * self.rates + two / 2 * of_pairs)
        return pd.Series(credit, pd.Index(self.channels, name="channel"), name="credit")

    def _boosts(self) -> npt.NDArray[np.float64]:
        boosts = np.zeros((len(self.channels),) * 2)
        for (first, second), boost in self.boosts.items():
            boosts[self.channels.index(first), self.channels.index(second)] = boost
        return boosts

    def __repr__(self) -> str:
        return (
            f"<Journeys: {self.n_journeys:,} journeys of {len(self.channels):,} channels, "
            f"{len(self.frame):,} paths>"
        )


def make_journeys(
    n_journeys: int = 10_000,
    n_channels: int = 4,
    *,
    max_length: int | None = None,
    rates: Any = 0.05,
    boosts: Mapping[tuple[int, int], float] | None = None,
    random_state: Any = None,
) -> Journeys:
    """Draw synthetic journeys through channels whose true credit is known.

    A journey has 1 to ``max_length`` distinct channels, all numbers equally likely, in random order. The
    probability that it converts is the sum of its channels' ``rates`` and of the ``boosts`` of the pairs that
    it has in order.

    Parameters
    ----------
    n_journeys : int, default 10_000
        Number of journeys.
    n_channels : int, default 4
        Number of channels, named A, B, C ... or, if there are more than 26, c0, c1 ...
    max_length : int, optional
        Touches of the longest journeys; by default 3, or all channels if there are fewer.
    rates : float or array-like of shape (n_channels,), default 0.05
        Increase in the probability of conversion by a touch.
    boosts : mapping, optional
        By pair of channel indices: additional increase if the first comes before the second; by default 0.15
        for (0, 1).
    random_state : int or numpy.random.Generator, optional
        The same number gives the same journeys.

    Returns
    -------
    Journeys
        The journeys with their true rates and credit.

    Raises
    ------
    TypeError, ValueError
        If an argument cannot be used, or a probability would not lie between 0 and 1.

    Examples
    --------
    >>> from ordinal_shapley import datasets
    >>> data = datasets.make_journeys(5, n_channels=2, random_state=1)
    >>> data.frame
        path  conversions  non_conversions
    0  A > B            1                2
    1      B            0                2
    """
    n = arguments.integer("n_journeys", n_journeys, max=_MAX_JOURNEYS)
    k = arguments.integer("n_channels", n_channels, max=_MAX_CHANNELS)
    longest = min(3, k)
    if max_length is not None:
        longest = arguments.integer("max_length", max_length, max=_MAX_TOUCHES)
    if longest > k:
        raise ValueError(f"max_length is {longest}, expected at most n_channels, {k}")
    if boosts is None:
        boosts = {(0, 1): 0.15} if k > 1 else {}
    own, pairs = _as_rates(rates, k), _as_boosts(boosts, k)
    rng = np.random.default_rng(seed_of(random_state))
    lengths = rng.integers(1, longest + 1, n)
    touched = _draw_orders(rng, n, k, longest)
    touched[np.arange(longest) >= lengths[:, None]] = -1
    probability = _probability(touched, own, pairs)
    names = [chr(ord("A") + i) for i in range(k)] if k <= 26 else [f"c{i}" for i in range(k)]
    out = (probability < -_ROUNDING) | (probability > 1.0 + _ROUNDING)
    if out.any():
        row = int(np.argmax(out))
        path = " > ".join(names[i] for i in touched[row, : lengths[row]].tolist())
        raise ValueError(
            f"rates and boosts give {path} a probability to convert of {probability[row]:g}, expected 0 to 1"
        )
    frame = _tabulate(touched, rng.random(n) < probability, names)
    listed = {(names[i], names[j]): float(pairs[i, j]) for i, j in np.argwhere(pairs).tolist()}
    return Journeys(frame, names, own, listed, n, longest)


def _as_rates(rates: Any, k: int) -> npt.NDArray[np.float64]:
    given = np.full(k, rates) if np.ndim(rates) == 0 else arrays.as_column(rates, "rates", k, "channel")
    numbers = arrays.as_numbers(given, "rates")
    if not np.isfinite(numbers).all():
        raise ValueError(f"rates holds {numbers[~np.isfinite(numbers)][0]}, expected finite numbers")
    return numbers


def _as_boosts(boosts: Any, k: int) -> npt.NDArray[np.float64]:
    pairs = np.zeros((k, k))
    if not isinstance(boosts, Mapping):
        raise TypeError(f"boosts is a {type(boosts).__name__}, expected a mapping from pairs of channels")
    for pair, boost in boosts.items():
        distinct = isinstance(pair, tuple) and len(set(pair)) == len(pair) == 2
        if not distinct or not all(isinstance(i, int | np.integer) and 0 <= i < k for i in pair):
            raise ValueError(f"boosts has the key {pair!r}, expected two channels, numbers from 0 to {k - 1}")
        pairs[pair] = arguments.number(f"the boost of {pair}", boost)
    return pairs


def _draw_orders(rng: np.random.Generator, n: int, k: int, longest: int) -> npt.NDArray[np.int64]:
    """Return the first channels of n random permutations of k channels."""
    size = max(1, _BLOCK // k)
    blocks = [
        np.argsort(rng.random((min(size, n - start), k)), axis=1)[:, :longest] for start in range(0, n, size)
    ]
    return np.concatenate(blocks)


def _probability(
    touched: npt.NDArray[np.int64], rates: npt.NDArray[np.float64], boosts: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the probability that each row of channels converts; rows are padded with -1."""
    # The index -1 picks an additional last channel without rate and boosts.
    own, pairs = np.append(rates, 0.0), np.pad(boosts, (0, 1))
    probability = own[touched].sum(axis=1)
    for first, second in itertools.combinations(range(touched.shape[1]), 2):
        probability += pairs[touched[:, first], touched[:, second]]
    return np.asarray(probability)


def _tabulate(
    touched: npt.NDArray[np.int64], converted: npt.NDArray[np.bool_], names: list[str]
) -> pd.DataFrame:
    import pandas as pd

    paths, which = np.unique(touched, axis=0, return_inverse=True)
    won = np.bincount(which.ravel(), converted, len(paths)).astype(np.int64)
    everyone = np.bincount(which.ravel())
    texts = [" > ".join(names[i] for i in path if i >= 0) for path in paths.tolist()]
    return pd.DataFrame({"path": texts, "conversions": won, "non_conversions": everyone - won})
