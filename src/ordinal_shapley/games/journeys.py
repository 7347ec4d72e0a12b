"""Games of journeys: channels, such as ads, that people touch in an order before they convert or don't."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common import arguments
from ordinal_shapley.games import _journey_input as reading
from ordinal_shapley.games import _journey_sets as sharing
from ordinal_shapley.games._journey_forms import JourneyForms
from ordinal_shapley.games.compiled import CompiledGame
from ordinal_shapley.vocabulary import UNSEEN, VALUES, WORTHS, check_choice
from ordinal_shapley_kernels import journeys as kernels

if TYPE_CHECKING:
    import pandas as pd


class JourneyGame(JourneyForms):
    r"""A game of channels whose values share out the conversions of journeys in which order matters.

    Parameters
    ----------
    journeys : list of lists of str
        The channels of each journey in order of their touches, blanks around names left out; see
        `from_journeys`, `from_paths`, `from_frame` and `from_events` for other forms.
    conversions : array-like of shape (n_journeys,)
        How many such journeys converted; weights need not be whole numbers.
    non_conversions : array-like of shape (n_journeys,), optional
        How many did not; none by default.
    repeats : {"error", "first", "last"}, default "error"
        Which touch of a channel counts if a journey has several, for a channel plays once: "first" and "last"
        leave the others out, "error" refuses.
    unseen : {"backoff", "zero"}, optional
        What a sequence is worth that no journey had. "backoff", the default for rates: as much as its longest
        beginning that journeys had, so that a touch adds nothing if it is not known what it does there.
        "zero": nothing; the orders of the same channels that journeys had count for the others, too.
        Plays no part, and cannot be given, if ``worth="conversions"``.
    worth : {"rate", "conversions"}, default "rate"
        What a sequence is worth to the journeys of a set of channels, see Notes. "conversions" needs no
        journeys that did not convert.
    ordered : bool, default True
        False: journeys with the same channels are pooled, whatever their order, so that there is a classic
        value. An unseen set backs off to the largest of its subsets that were seen, pooled.
    channels : list of str, optional
        All channels, in order of their numbers; by default those that occur, sorted. Others than those get no
        credit.

    Attributes
    ----------
    n_players, order_free, player_names, player_classes, player_sizes
        See `Game`; the players are the channels.
    n_journeys, n_conversions : float
        Sums of the counts.

    Raises
    ------
    TypeError, ValueError
        If an argument cannot be used; the message names it, and the journey where there is one.

    Notes
    -----
    Let :math:`r(\sigma)` be the conversion rate of the journeys that touch the channels :math:`\sigma` in
    this order and no others, :math:`r(()) = 0`. ``unseen`` says what it is if there are none; with "zero" the
    rate of an order that was seen counts :math:`|\sigma|!` times over how many orders of its channels were.
    Let :math:`c(T)` be the conversions of all journeys with the set of channels :math:`T`, and
    :math:`\bar r(T)` the mean of :math:`r` over the orders of :math:`T`, each with the same weight. Then

    .. math:: U(\sigma) = \sum_T \kappa_T r(\sigma|_T), \qquad \kappa_T = c(T) / \bar r(T)

    over the sets with conversions, :math:`\sigma|_T` being the channels of :math:`\sigma` in :math:`T` in
    their order: the conversions to expect if :math:`\kappa_T` people could meet the channels of :math:`T`,
    but meet those of :math:`\sigma` only, in its order. Over all full orders this is on average
    :math:`\sum_T c(T)`, so partial ordinal and ordinal values add up to the conversions. In other words, the
    conversions of each set are shared in proportion to the values of the game of its rates. Where
    all orders of T are equally frequent, :math:`\kappa_T` is the number of journeys with the set :math:`T`.
    Not ordered, it always is, for all orders have one rate, and the classic value adds up as well.

    With ``worth="conversions"`` a sequence is worth something to a set only if it has all of its channels:
    :math:`U(\sigma) = \sum_T |T|! c(\sigma|_T)` over :math:`T \subseteq \sigma`, where :math:`c` of a
    sequence is the conversions of its journeys. Then the partial ordinal value gives each conversion to the
    last channel, and both the ordinal and the classic value share it equally.

    A set whose journeys never converted gets no credit, but its rate counts in larger sets. A credit is
    negative where the channel lowers rates.

    References
    ----------
    K. Zhao, S. H. Mahboobi, S. R. Bagheri, "Shapley value methods for attribution modeling in online
    advertising", arXiv:1804.05327, for sums over sets of channels and for credit by position, here
    ``worth="conversions"`` and ``credit("classic", by_position=True)``.

    Examples
    --------
    Who sees B after A converts thrice as often as anybody else:

    >>> import ordinal_shapley as osv
    >>> journeys = [["A"], ["B"], ["A", "B"], ["B", "A"]]
    >>> game = osv.JourneyGame(journeys, [10, 10, 30, 10], [90, 90, 70, 90])
    >>> game
    JourneyGame(2 channels, 400 journeys, 60 conversions, repeats='error', unseen='backoff')
    >>> game.credit()
             credit     share
    channel
    A          20.0  0.333333
    B          40.0  0.666667
    >>> game([0, 1]), game([1, 0])
    (80.0, 40.0)
    >>> osv.exact_values(game, "partial_ordinal").values
    array([20., 40.])
    """

    _without_order = "build it with ordered=False, or see credit('classic')"

    def __init__(
        self,
        journeys: Any,
        conversions: Any,
        non_conversions: Any = None,
        *,
        repeats: str = "error",
        unseen: str | None = None,
        worth: str = "rate",
        ordered: bool = True,
        channels: Any = None,
    ) -> None:
        counted = reading.count_journeys(journeys, conversions, non_conversions, repeats, channels)
        self._set(counted, repeats, unseen, worth, ordered)

    def _set(
        self,
        counted: reading.Counted,
        repeats: str,
        unseen: str | None = None,
        worth: str = "rate",
        ordered: bool = True,
    ) -> None:
        check_choice("worth", worth, WORTHS)
        if worth == "conversions":
            if unseen is not None:
                raise ValueError(f"unseen is {unseen!r}, expected none with worth='conversions'")
        else:
            unseen = "backoff" if unseen is None else unseen
            check_choice("unseen", unseen, UNSEEN)
        self.repeats, self.unseen, self.worth = repeats, unseen, worth
        self.ordered = arguments.flag("ordered", ordered)
        self.n_players = len(counted.channels)
        self.order_free = not self.ordered
        self.player_names = np.array(counted.channels, object)
        self.player_classes = None
        self.player_sizes = np.ones(self.n_players, np.int64)
        self.n_journeys = float(counted.totals.sum())
        self.n_conversions = float(counted.conversions.sum())
        self._counted = counted
        self._sets = sharing.make_sets(counted)
        if not self.ordered:
            sharing.check_tabulated(self._sets)
        if worth == "rate" and self.n_conversions == self.n_journeys > 0:
            warnings.warn(
                "every journey converts, so no path does better than another: credit tells of last touches "
                "or equal parts only; give those that did not convert, too",
                stacklevel=3,
            )

    def credit(self, value: str = "partial_ordinal", *, by_position: bool = False) -> pd.DataFrame:
        """Share out the conversions among channels, by the exact values of the game.

        They are added up set by set of channels that journeys have in common: how many channels there are in
        all does not matter.

        Parameters
        ----------
        value : {"partial_ordinal", "ordinal", "classic"}, default "partial_ordinal"
            As in `exact_values`; "classic" is that of the game with ``ordered=False``.
        by_position : bool, default False
            Say at which positions credit was earned. The partial ordinal value of a set's game is a mean over
            positions: what the channel adds as the first, the second, ... touch. For the other two, and if
            not ``ordered``, what a channel gets of the conversions of a set goes to the positions that it had
            in the journeys that converted, in proportion to their number.

        Returns
        -------
        pandas.DataFrame
            One row a channel. Columns credit and share, that of all conversions; the credits add up to the
            conversions. By position: the credits at position 1, 2, ..., which do so all together.

        Raises
        ------
        ValueError
            If ``value`` is something else, or the classic value cannot be computed: with
            ``unseen="backoff"`` it is for journeys of at most 20 channels.

        Examples
        --------
        >>> import ordinal_shapley as osv
        >>> game = osv.JourneyGame.from_paths(["A > B", "B > A"], [30, 10], worth="conversions")
        >>> game.credit()["credit"].to_dict(), game.credit("ordinal")["credit"].to_dict()
        ({'A': 10.0, 'B': 30.0}, {'A': 20.0, 'B': 20.0})
        >>> game.credit("classic", by_position=True)
        position     1     2
        channel
        A         15.0   5.0
        B          5.0  15.0
        """
        import pandas as pd

        check_choice("value", value, VALUES)
        arguments.flag("by_position", by_position)
        index = pd.Index(self._counted.channels, dtype=object, name="channel")
        n = max(1, int(self._sets.sizes.max(initial=0)))
        positions = pd.RangeIndex(1, n + 1, name="position")
        if by_position and self.ordered and value == "partial_ordinal" and self.n_conversions:
            options = (value, self.worth, self.unseen, self.n_players)
            return pd.DataFrame(sharing.share(self._sets, self._worths, *options)[2], index, positions)
        at, channel, position = self._sets.touches
        credit = self._shares(value)[at] * self._sets.touch_conversions
        if by_position:
            cells = _sums(channel * n + position, credit, self.n_players * n)
            return pd.DataFrame(cells.reshape(-1, n), index, positions)
        credits = _sums(channel, credit, self.n_players)
        whole = self.n_conversions or 1.0
        return pd.DataFrame({"credit": credits, "share": credits / whole}, index)

    def touches(self) -> pd.DataFrame:
        """Return in how many of the conversions each channel had a part, to compare credit with.

        Returns
        -------
        pandas.DataFrame
            One row a channel, with columns touched, first_touch and last_touch: conversions of the journeys
            that the channel is part of, begins and ends. The latter two add up to the conversions.

        Examples
        --------
        >>> import ordinal_shapley as osv
        >>> osv.JourneyGame.from_paths(["A > B", "B"], [3, 1], [1, 3]).touches()
                 touched  first_touch  last_touch
        channel
        A            3.0          3.0         0.0
        B            4.0          1.0         4.0
        """
        import pandas as pd

        _, channel, position = self._sets.touches
        first = position == 0
        ends = {
            "touched": np.ones_like(first),
            "first_touch": first,
            "last_touch": np.append(first, True)[1:],
        }
        counts = {
            name: _sums(channel[kept], self._sets.touch_conversions[kept], self.n_players)
            for name, kept in ends.items()
        }
        return pd.DataFrame(counts, pd.Index(self._counted.channels, dtype=object, name="channel"))

    def to_frame(self) -> pd.DataFrame:
        """Return the sequences that journeys had, with their counts.

        Returns
        -------
        pandas.DataFrame
            With columns path, conversions, non_conversions and rate, which `from_frame` reads if no name
            holds a ">".

        Examples
        --------
        >>> import ordinal_shapley as osv
        >>> osv.JourneyGame.from_paths(["A>B", "A > B"], [1, 2], [0, 1]).to_frame()
            path  conversions  non_conversions  rate
        0  A > B          3.0              1.0  0.75
        """
        import pandas as pd

        conversions, totals = self._counted.conversions, self._counted.totals
        names = self._counted.channels
        paths = [" > ".join(names[channel] for channel in sequence) for sequence in self._counted.sequences]
        return pd.DataFrame(
            {
                "path": pd.Series(paths, dtype=object),
                "conversions": conversions,
                "non_conversions": totals - conversions,
                "rate": conversions / totals,
            }
        )

    def __call__(self, sequence: Sequence[int] | NDArray[np.int64]) -> float:
        """Return the conversions to expect of a sequence of channels, by their numbers; see Notes."""
        return self._compiled(sequence)

    @cached_property
    def _pooled(self) -> reading.Counted:
        return sharing.pool(self._counted)

    @cached_property
    def _worths(self) -> sharing.Worths:
        return sharing.make_worths(self._counted, self.worth, self.unseen)

    def _shares(self, value: str) -> NDArray[np.float64]:
        """Of each member of each set: its value as a share of the set's sum."""
        if value != "classic" and self.ordered:
            return sharing.share(self._sets, self._worths, value, self.worth, self.unseen)[0]
        if self.unseen == "backoff":
            return sharing.share_tables(self._sets, *sharing.tabulate(self._pooled, self._sets, self.unseen))
        worths = sharing.make_worths(self._pooled, self.worth, self.unseen, ordered=False)
        return sharing.share(self._sets, worths, "classic", self.worth, self.unseen)[0]

    @property
    def _workspace_maker(self) -> Callable[..., Any]:
        return self._compiled._workspace_maker

    @property
    def _payload(self) -> tuple[Any, ...]:
        return self._compiled._payload

    @cached_property
    def _compiled(self) -> CompiledGame:
        sets, none = self._sets, np.zeros(0, np.int64)
        if self.ordered:
            worths = self._worths
            means = sharing.share(sets, worths, "partial_ordinal", self.worth, self.unseen)[1]
            trie, of_sequence, beyond = worths.trie, worths.worths, worths.beyond
            tables, table_starts = np.zeros(0), none
        else:
            table_starts, tables = sharing.tabulate(self._pooled, sets, self.unseen)
            means = tables[table_starts + (1 << sets.sizes) - 1]
            trie, of_sequence, beyond = sharing.Trie(none, none, none, none), np.zeros(0), np.zeros(0)
        of_starts, of_sets, of_bits = sharing.sets_of_channels(sets, self.n_players)
        return CompiledGame(
            self.n_players,
            kernels.evaluate,
            kernels.push,
            kernels.pop,
            arrays={
                "trie_starts": trie.starts,
                "trie_channels": trie.channels,
                "parents": trie.parents,
                "depths": trie.depths,
                "worths": of_sequence,
                "beyond": beyond,
                "tables": tables,
                "table_starts": table_starts,
                "weights": sets.conversions / means,
                "needed": sets.sizes if self.worth == "conversions" else np.zeros_like(sets.sizes),
                "of_starts": of_starts,
                "of_sets": of_sets,
                "of_bits": of_bits,
            },
            state={"at": np.zeros_like(sets.sizes), "behind": np.zeros_like(sets.sizes)},
            numbers={"ordered": int(self.ordered)},
            cache="JourneyGame",
        )

    @property
    def _settings(self) -> dict[str, Any]:
        sequences = self._counted.sequences
        touched = np.array([channel for sequence in sequences for channel in sequence], np.int64)
        lengths = np.array([len(sequence) for sequence in sequences], np.int64)
        return {
            "game": "JourneyGame",
            "journeys": (touched, lengths, self._counted.conversions, self._counted.totals),
            "unseen": self.unseen,
            "worth": self.worth,
            "ordered": self.ordered,
        }

    def __repr__(self) -> str:
        n, journeys, conversions = self.n_players, self.n_journeys, self.n_conversions
        options = [f"repeats={self.repeats!r}"]
        options += [f"worth={self.worth!r}" if self.unseen is None else f"unseen={self.unseen!r}"]
        return (
            f"JourneyGame({n:,} channel{'s' * (n != 1)}, {journeys:,.10g} journey{'s' * (journeys != 1)}, "
            f"{conversions:,.10g} conversion{'s' * (conversions != 1)}, {', '.join(options)}"
            f"{'' if self.ordered else ', ordered=False'})"
        )


def _sums(cells: NDArray[np.int64], numbers: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    # Of no numbers NumPy counts whole ones.
    return np.bincount(cells, numbers, n).astype(np.float64, copy=False)
