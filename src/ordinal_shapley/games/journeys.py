"""Games of journeys: channels, such as ads, that people touch in an order and then convert or not."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common import arguments, arrays
from ordinal_shapley.games import _journey_input as reading
from ordinal_shapley.games import _journey_sets as sharing
from ordinal_shapley.games._journey_credit import Credit
from ordinal_shapley.games.base import Game
from ordinal_shapley.games.compiled import CompiledGame
from ordinal_shapley.vocabulary import UNSEEN, UTILITIES, check_choice
from ordinal_shapley_kernels import journeys as kernels


class JourneyGame(Credit, Game):
    r"""A game of channels whose values attribute conversions to channels, by the order of touches.

    Parameters
    ----------
    journeys : list of lists of str
        The channels of each journey in order of their touches, blanks around names left out; see
        `from_journeys`, `from_paths`, `from_frame` and `from_events` for other forms.
    conversions : array-like of shape (n_journeys,)
        Number of such journeys that converted; need not be whole numbers.
    non_conversions : array-like of shape (n_journeys,), optional
        Number that did not convert; by default 0.
    repeats : {"error", "first", "last"}, default "error"
        Which touch of a channel counts if a journey has several, because a channel is a player once: "first"
        and "last" leave the others out, "error" raises an error.
    unseen : {"backoff", "zero"}, optional
        Utility of a sequence without journeys. "backoff", the default for rates: that of its longest
        beginning with journeys, so that a touch adds nothing where its effect is unknown. "zero": 0; observed
        orders of the same channels count for the unobserved ones, too. Cannot be given if
        ``utility="conversions"``.
    utility : {"rate", "conversions"}, default "rate"
        Utility of a sequence to the journeys of a set of channels, see Notes. "conversions" needs no journeys
        that did not convert.
    ordered : bool, default True
        False: journeys with the same channels are pooled, whatever their order, so that there is a classic
        value. An unseen set backs off to the largest of its subsets that were seen, pooled.
    channels : list of str, optional
        All channels, in order; by default those that occur, sorted.
    exclude : list of str, optional
        Channels that are no channels, but mark the beginning of journeys or their outcome. Their touches are
        left out, and conversions are kept. Journeys that touch nothing else are left out, with a warning if
        they converted.

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
    this order and no others, :math:`r(()) = 0`. ``unseen`` defines it if there are none; with "zero" the rate
    of an observed order counts :math:`|\sigma|!` times over how many orders of its channels were. Let
    :math:`c(T)` be the conversions of all journeys with the set of channels :math:`T`, and :math:`\bar r(T)`
    the mean of :math:`r` over the orders of :math:`T`, each with the same weight. Then

    .. math:: U(\sigma) = \sum_T \kappa_T r(\sigma|_T), \qquad \kappa_T = c(T) / \bar r(T)

    over the sets with conversions, :math:`\sigma|_T` being the channels of :math:`\sigma` in :math:`T` in
    their order: the conversions to expect if :math:`\kappa_T` people could meet the channels of :math:`T`,
    but meet those of :math:`\sigma` only, in its order. Over all full permutations the mean is :math:`\sum_T
    c(T)`, so partial ordinal and ordinal values add up to the conversions: those of each set are divided in
    proportion to the values of the game of its rates. Where all orders of T are equally frequent, or if not
    ordered, :math:`\kappa_T` is the number of journeys with the set :math:`T`; then the classic value adds up
    as well.

    With ``utility="conversions"`` a sequence has a utility to a set only if it has all of its channels:
    :math:`U(\sigma) = \sum_T |T|! c(\sigma|_T)` over :math:`T \subseteq \sigma`, where :math:`c` of a
    sequence is the conversions of its journeys. Then the partial ordinal value gives each conversion to the
    last channel, and both the ordinal and the classic value share it equally.

    A set whose journeys never converted gets no credit, but its rate counts in larger sets. Where rates are
    lower with a channel than without, its credit is negative.

    References
    ----------
    K. Zhao, S. H. Mahboobi, S. R. Bagheri, "Shapley value methods for attribution modeling in online
    advertising", arXiv:1804.05327, for sums over sets of channels and for credit by position, here
    ``utility="conversions"`` and ``credit("classic", by_position=True)``.

    Examples
    --------
    People who touch B after A convert three times as often as others:

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
        utility: str = "rate",
        ordered: bool = True,
        channels: Any = None,
        exclude: Any = None,
    ) -> None:
        if not isinstance(journeys, reading.Journeys):
            journeys = reading.read_lists(journeys, conversions, non_conversions)
        check_choice("utility", utility, UTILITIES)
        if utility == "conversions":
            if unseen is not None:
                raise ValueError(f"unseen is {unseen!r}, expected none with utility='conversions'")
        else:
            unseen = "backoff" if unseen is None else unseen
            check_choice("unseen", unseen, UNSEEN)
        self.repeats, self.unseen, self.utility = repeats, unseen, utility
        self.ordered = arguments.flag("ordered", ordered)
        self._of_journeys = journeys.of_journeys
        self._counted = counted = reading.count_journeys(journeys, repeats, channels, exclude)
        self._take_players(len(counted.channels), np.array(counted.channels, object))
        self.order_free = not self.ordered
        self.n_journeys = float(counted.totals.sum())
        self.n_conversions = float(counted.conversions.sum())
        self._sets = sharing.make_sets(counted)
        if not self.ordered:
            sharing.check_tabulated(self._sets)
        if utility == "rate" and self.n_conversions == self.n_journeys > 0:
            warnings.warn(
                "add the journeys that did not convert: all of these do, so no path does better than another "
                "and credit only reflects last touches or equal shares",
                stacklevel=3,
            )

    @classmethod
    def from_journeys(cls, journeys: Any, converted: Any, **options: Any) -> JourneyGame:
        """Make a game of one list of channels for each journey.

        Parameters
        ----------
        journeys : list of lists of str
            The channels of each journey in order of their touches.
        converted : array-like of bool, shape (n_journeys,)
            Whether each journey converted.
        **options
            ``repeats``, ``unseen``, ``utility``, ``ordered``, ``channels`` and ``exclude`` as in
            `JourneyGame`.

        Raises
        ------
        TypeError, ValueError
            If an argument cannot be used.

        Examples
        --------
        >>> import ordinal_shapley as osv
        >>> journeys = [["ad", "mail"], ["ad"], ["ad"], ["mail", "ad", "mail"]]
        >>> game = osv.JourneyGame.from_journeys(journeys, [True, True, False, False], repeats="first")
        >>> game.credit()["credit"].to_dict()
        {'ad': 1.5, 'mail': 0.5}
        """
        rows = reading.as_list(journeys, "journeys", "journey")
        flags = arrays.as_column(converted, "converted", len(rows), "journey")
        flags = reading.as_flags(flags, "converted", range(len(rows)))
        return cls(rows, flags, 1.0 - flags, **options)

    @classmethod
    def from_paths(
        cls, paths: Any, conversions: Any, non_conversions: Any = None, *, sep: str = ">", **options: Any
    ) -> JourneyGame:
        """Make a game of texts such as "A > B > C" with counts.

        Parameters
        ----------
        paths : list of str
            Names of channels in order of their touches, blanks around them left out.
        conversions : array-like of shape (n_paths,)
            Number of journeys of each path that converted.
        non_conversions : array-like of shape (n_paths,), optional
            How many did not.
        sep : str, default ">"
            Separator of channels; blanks at its ends count.
        **options
            As in `from_journeys`.

        Raises
        ------
        TypeError, ValueError
            If an argument cannot be used.

        Examples
        --------
        >>> import ordinal_shapley as osv
        >>> game = osv.JourneyGame.from_paths(["ad > mail", "ad"], [30, 10], [70, 90])
        >>> game.credit(by_position=True)
        position     1     2
        channel
        ad        20.0   0.0
        mail       0.0  20.0
        """
        return cls(reading.read_paths(paths, conversions, non_conversions, sep), None, **options)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        path: str = "path",
        conversions: str = "conversions",
        non_conversions: str | None = None,
        **options: Any,
    ) -> JourneyGame:
        """Make a game of a frame with a column of paths such as "A > B > C" and columns of counts.

        Parameters
        ----------
        frame : DataFrame
            Of pandas, Polars or whatever else Narwhals reads: one row per path, or several whose counts are
            added up.
        path, conversions, non_conversions : str
            Columns of paths, of the journeys that converted, and of those that did not; without a name,
            non_conversions if there is one.
        **options
            As in `from_paths`.

        Raises
        ------
        TypeError, ValueError
            If a column is missing or a row cannot be read.

        Examples
        --------
        >>> import pandas as pd
        >>> import ordinal_shapley as osv
        >>> frame = pd.DataFrame({"path": ["ad > mail", "ad"], "conversions": [30, 10], "lost": [70, 90]})
        >>> osv.JourneyGame.from_frame(frame, non_conversions="lost").credit()["credit"].to_dict()
        {'ad': 20.0, 'mail': 20.0}
        """
        frame = reading.as_frame(frame)
        columns = [reading.column_of(frame, name) for name in (path, conversions)]
        if non_conversions is not None or "non_conversions" in frame:
            columns.append(reading.column_of(frame, non_conversions or "non_conversions"))
        return cls.from_paths(*columns, **options)

    @classmethod
    def from_events(
        cls,
        frame: Any,
        journey: str = "journey",
        channel: str = "channel",
        time: str | None = "time",
        converted: str = "converted",
        *,
        after_conversion: str | None = None,
        exclude: Any = None,
        **options: Any,
    ) -> JourneyGame:
        """Make a game of a long table.

        Parameters
        ----------
        frame : DataFrame
            Of pandas, Polars or whatever else Narwhals reads: one row per touch, in any order.
        journey, channel : str, default "journey" and "channel"
            Columns of the journeys and the channels.
        time : str or None, default "time"
            Column of numbers or dates. Two channels of a journey at the same time are an error. None: touches
            are in the order of the rows.
        converted : str, default "converted"
            Column of True or False, or 1 or 0: whether the touch converted. Where all rows of each journey
            say the same, it is whether the journey did, and all of its touches count.
        after_conversion : {"cut", "split", "keep"}, optional
            What to do with touches after the first one that converted. "cut", the default: they are left out,
            with a warning that says how many. "split": after each conversion a new journey begins, so that
            all conversions count. "keep": they count, and the journey converted once.
        exclude : list of str, optional
            As in `JourneyGame`. A conversion at an excluded touch is one of the touches before.
        **options
            As in `from_journeys`.

        Raises
        ------
        TypeError, ValueError
            If a column is missing or a row cannot be read.

        Examples
        --------
        >>> import pandas as pd
        >>> import ordinal_shapley as osv
        >>> touches = [("u1", "mail", 2, 1), ("u1", "ad", 1, 0), ("u2", "ad", 1, 0)]
        >>> frame = pd.DataFrame(touches, columns=["journey", "channel", "time", "converted"])
        >>> osv.JourneyGame.from_events(frame).to_frame()
                path  conversions  non_conversions  rate
        0         ad          0.0              1.0   0.0
        1  ad > mail          1.0              0.0   1.0
        """
        columns = journey, channel, time, converted
        journeys = reading.read_events(frame, *columns, after_conversion, exclude)
        return cls(journeys, None, exclude=exclude, **options)

    def __call__(self, sequence: Sequence[int] | NDArray[np.int64]) -> float:
        """Return the conversions to expect of a sequence of channels, by their numbers; see Notes."""
        return self._compiled(sequence)

    @property
    def _workspace_maker(self) -> Callable[..., Any]:
        return self._compiled._workspace_maker

    @property
    def _payload(self) -> tuple[Any, ...]:
        return self._compiled._payload

    @cached_property
    def _compiled(self) -> CompiledGame:
        known = self._utilities if self.ordered else None
        tables = None
        if not self.ordered:
            counts = np.stack([self._counted.conversions, self._counted.totals], axis=1)
            conversions, totals = self._paths.pool(counts).T
            pooled = self._paths.pooled, self._sets
            tables = sharing.tabulate(*pooled, conversions, totals, self.unseen)
        return CompiledGame(
            self.n_players,
            kernels.evaluate,
            kernels.push,
            kernels.pop,
            arrays=sharing.game_arrays(self._sets, self.n_players, self.utility, self.unseen, known, tables),
            state={"at": np.zeros_like(self._sets.sizes), "behind": np.zeros_like(self._sets.sizes)},
            numbers={"ordered": int(self.ordered)},
            cache="JourneyGame",
        )

    @property
    def _settings(self) -> dict[str, Any]:
        _, sequences, conversions, totals = self._counted[:4]
        touched = np.array([channel for sequence in sequences for channel in sequence], np.int64)
        lengths = np.array([len(sequence) for sequence in sequences], np.int64)
        return {
            "game": "JourneyGame",
            "journeys": (touched, lengths, conversions, totals),
            "unseen": self.unseen,
            "utility": self.utility,
            "ordered": self.ordered,
        }

    def __repr__(self) -> str:
        counts = {"channel": self.n_players, "journey": self.n_journeys, "conversion": self.n_conversions}
        sizes = ", ".join(f"{count:,.10g} {name}{'s' * (count != 1)}" for name, count in counts.items())
        kind = f"utility={self.utility!r}" if self.unseen is None else f"unseen={self.unseen!r}"
        unordered = "" if self.ordered else ", ordered=False"
        return f"JourneyGame({sizes}, repeats={self.repeats!r}, {kind}{unordered})"
