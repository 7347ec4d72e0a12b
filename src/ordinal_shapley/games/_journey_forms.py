"""The forms that journeys come in."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, TypeVar

from ordinal_shapley.games import _journey_input as reading
from ordinal_shapley.games.base import Game

if TYPE_CHECKING:
    import pandas as pd

Form = TypeVar("Form", bound="JourneyForms")


class JourneyForms(Game):
    """What makes a game of journeys out of lists, texts and tables."""

    @abstractmethod
    def _set(
        self,
        counted: reading.Counted,
        repeats: str,
        unseen: str | None = None,
        worth: str = "rate",
        ordered: bool = True,
    ) -> None:
        """Take the journeys over."""

    @classmethod
    def from_journeys(
        cls: type[Form],
        journeys: Any,
        converted: Any,
        *,
        repeats: str = "error",
        channels: Any = None,
        **options: Any,
    ) -> Form:
        """Make a game of one list of channels for each journey.

        Parameters
        ----------
        journeys : list of lists of str
            The channels of each journey in order of their touches.
        converted : array-like of bool, shape (n_journeys,)
            Whether each journey converted.
        repeats : {"error", "first", "last"}, default "error"
            Which touch of a channel counts.
        channels : list of str, optional
            All channels, in order of their numbers.
        **options
            ``unseen``, ``worth`` and ``ordered`` as in `JourneyGame`.

        Returns
        -------
        JourneyGame
            The game.

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
        flags = reading.as_converted(converted, len(reading.as_rows(journeys, "journeys")))
        game = cls.__new__(cls)
        game._set(reading.count_journeys(journeys, flags, 1.0 - flags, repeats, channels), repeats, **options)
        return game

    @classmethod
    def from_paths(
        cls: type[Form],
        paths: Any,
        conversions: Any,
        non_conversions: Any = None,
        *,
        sep: str = ">",
        repeats: str = "error",
        channels: Any = None,
        **options: Any,
    ) -> Form:
        """Make a game of texts such as "A > B > C" with counts.

        Parameters
        ----------
        paths : list of str
            Names of channels in order of their touches, blanks around them left out. A text may come several
            times; its counts are added up.
        conversions : array-like of shape (n_paths,)
            How many journeys of each path converted.
        non_conversions : array-like of shape (n_paths,), optional
            How many did not.
        sep : str, default ">"
            What stands between channels; blanks that it begins or ends with count.
        repeats : {"error", "first", "last"}, default "error"
            Which touch of a channel counts.
        channels : list of str, optional
            All channels, in order of their numbers.
        **options
            ``unseen``, ``worth`` and ``ordered`` as in `JourneyGame`.

        Returns
        -------
        JourneyGame
            The game.

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
        game = cls.__new__(cls)
        counted = reading.count_paths(paths, conversions, non_conversions, sep, repeats, channels)
        game._set(counted, repeats, **options)
        return game

    @classmethod
    def from_frame(
        cls: type[Form],
        frame: pd.DataFrame,
        path: str = "path",
        conversions: str = "conversions",
        non_conversions: str | None = None,
        **options: Any,
    ) -> Form:
        """Make a game of a frame with a column of paths such as "A > B > C" and columns of counts.

        Parameters
        ----------
        frame : DataFrame
            One row a path, or several whose counts are added up.
        path : str, default "path"
            Column of paths.
        conversions : str, default "conversions"
            Column of the journeys that converted.
        non_conversions : str, optional
            Column of those that did not.
        **options
            As in `from_paths`.

        Returns
        -------
        JourneyGame
            The game.

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
        lost = None if non_conversions is None else reading.column_of(frame, non_conversions)
        return cls.from_paths(
            reading.column_of(frame, path), reading.column_of(frame, conversions), lost, **options
        )

    @classmethod
    def from_events(
        cls: type[Form],
        frame: pd.DataFrame,
        journey: str = "journey",
        channel: str = "channel",
        time: str | None = "time",
        converted: str = "converted",
        *,
        repeats: str = "error",
        channels: Any = None,
        **options: Any,
    ) -> Form:
        """Make a game of a long table with one row a touch, in any order.

        Parameters
        ----------
        frame : DataFrame
            One row a touch.
        journey : str, default "journey"
            Column that says which journey the touch is part of.
        channel : str, default "channel"
            Column of channels.
        time : str or None, default "time"
            Column of numbers or dates. Two channels of a journey at the same time are an error. None: touches
            are in the order of the rows.
        converted : str, default "converted"
            Column of True or False, or 1 or 0. A journey converted if one of its rows says so; all of its
            touches count, so leave out those after the conversion.
        repeats : {"error", "first", "last"}, default "error"
            Which touch of a channel counts.
        channels : list of str, optional
            All channels, in order of their numbers.
        **options
            ``unseen``, ``worth`` and ``ordered`` as in `JourneyGame`.

        Returns
        -------
        JourneyGame
            The game.

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
        game = cls.__new__(cls)
        counted = reading.count_events(frame, journey, channel, time, converted, repeats, channels)
        game._set(counted, repeats, **options)
        return game
