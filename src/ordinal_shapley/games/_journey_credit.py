"""Results of journeys: the credit of channels, their touches, and the journeys themselves."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from ordinal_shapley.common import arguments
from ordinal_shapley.common.seeds import seed_of
from ordinal_shapley.games import _journey_bootstrap as resampling
from ordinal_shapley.games import _journey_input as reading
from ordinal_shapley.games import _journey_sets as sharing
from ordinal_shapley.vocabulary import JOURNEY_VALUES, check_choice

if TYPE_CHECKING:
    import pandas as pd


class Credit:
    """Methods of `JourneyGame` that return results."""

    n_players: int
    n_conversions: float
    ordered: bool
    utility: str
    unseen: str | None
    _counted: reading.Counted
    _sets: sharing.Sets

    def credit(
        self,
        value: str = "partial_ordinal",
        *,
        by_position: bool = False,
        bootstrap: int | None = None,
        random_state: Any = None,
    ) -> pd.DataFrame:
        """Share out the conversions among channels, by the exact values of the game.

        They are added up set by set, so it does not matter how many channels there are in all.

        Parameters
        ----------
        value : {"partial_ordinal", "ordinal", "classic"}, default "partial_ordinal"
            As in `exact_values`; "classic" is that of the game with ``ordered=False``.
        by_position : bool, default False
            Say at which positions credit was earned. The partial ordinal value is a mean over positions: what
            the channel adds as the first, the second, ... touch. For the other two, and if not ``ordered``,
            what a channel gets of a set's conversions goes to its positions in the journeys that converted,
            in proportion to their number.
        bootstrap : int, optional
            How many times to draw all journeys again, for standard errors and intervals, see Returns; 1000
            will do. Every count, of conversions or not, is drawn from the Poisson distribution with this
            mean, as if it were a random number of people. Errors are wrong if counts are something else, such
            as amounts of money or shares of journeys.
        random_state : int or numpy.random.Generator, optional
            Of the bootstrap; the same number gives the same errors, and with more resamples the same first
            ones.

        Returns
        -------
        pandas.DataFrame
            One row per channel. Columns credit and share, that of all conversions; the credits add up to the
            conversions. By position: the credits at position 1, 2, ..., which do so all together. With a
            bootstrap also stderr, ci_low and ci_high of the credit, share_stderr, share_ci_low and
            share_ci_high of the share: standard errors and 95 % percentile intervals. They are NaN for
            channels that get nothing in any resample, such as those without conversions.

        Raises
        ------
        TypeError, ValueError
            If an argument cannot be used, or the classic value cannot be computed: with
            ``unseen="backoff"`` it is for journeys of at most 20 channels.

        Examples
        --------
        >>> import ordinal_shapley as osv
        >>> game = osv.JourneyGame.from_paths(["A > B", "B > A"], [30, 10], utility="conversions")
        >>> game.credit()["credit"].to_dict(), game.credit("ordinal")["credit"].to_dict()
        ({'A': 10.0, 'B': 30.0}, {'A': 20.0, 'B': 20.0})
        >>> game.credit("classic", by_position=True)
        position     1     2
        channel
        A         15.0   5.0
        B          5.0  15.0
        >>> game.credit(bootstrap=1000, random_state=0)[["credit", "stderr", "ci_low", "ci_high"]].round()
                 credit  stderr  ci_low  ci_high
        channel
        A          10.0     3.0     4.0     17.0
        B          30.0     5.0    20.0     41.0
        """
        import pandas as pd

        check_choice("value", value, JOURNEY_VALUES)
        if arguments.flag("by_position", by_position) and bootstrap is not None:
            raise ValueError("bootstrap is for credit without by_position")
        if bootstrap is not None:
            bootstrap = arguments.integer("bootstrap", bootstrap, min=2, max=resampling.MAX_RESAMPLES)
        index = pd.Index(self._counted.channels, dtype=object, name="channel")
        n = max(1, int(self._sets.sizes.max(initial=0)))
        positions = pd.RangeIndex(1, n + 1, name="position")
        if by_position and self.ordered and value == "partial_ordinal" and self.n_conversions:
            options = (value, self.utility, self.unseen, self.n_players)
            return pd.DataFrame(sharing.share(self._sets, self._utilities, *options)[2], index, positions)
        counted, sets = self._counted, self._sets
        rule = sharing.Rule(value if self.ordered else "classic", self.utility, self.unseen)
        counts = counted.conversions[:, None], counted.totals[:, None]
        shares = sharing.shares_of(self._paths, sets, *counts, rule)
        if by_position:
            at, channel, position = sets.touches
            credit = shares[at, 0] * sets.touch_conversions
            cells = sharing.sum_up(channel * n + position, credit, self.n_players * n)
            return pd.DataFrame(cells.reshape(-1, n), index, positions)
        credits = sets.credits(shares, self.n_players)[:, 0]
        frame = {"credit": credits, "share": credits / (self.n_conversions or 1.0)}
        if bootstrap is not None:
            seed = seed_of(random_state)
            frame |= resampling.resample(self._paths, sets, counted, rule, bootstrap, seed)
        return pd.DataFrame(frame, index)

    def touches(self) -> pd.DataFrame:
        """Return in how many of the conversions each channel had a part, to compare credit with.

        Every touch counts, also those that ``repeats`` leaves out of the game.

        Returns
        -------
        pandas.DataFrame
            One row per channel: conversions of the journeys that the channel is part of (column touched),
            begins (first_touch) and ends (last_touch).

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

        index = pd.Index(self._counted.channels, dtype=object, name="channel")
        return pd.DataFrame(self._counted.touches, index, ["touched", "first_touch", "last_touch"])

    def to_frame(self) -> pd.DataFrame:
        """Return the sequences that journeys had, with their counts, without repeated touches.

        Returns
        -------
        pandas.DataFrame
            Columns path, conversions, non_conversions and rate; `from_frame` reads it if no name holds a ">".

        Examples
        --------
        >>> import ordinal_shapley as osv
        >>> osv.JourneyGame.from_paths(["A>B", "A > B"], [1, 2], [0, 1]).to_frame()
            path  conversions  non_conversions  rate
        0  A > B          3.0              1.0  0.75
        """
        import pandas as pd

        names, sequences, conversions, totals = self._counted[:4]
        paths = [" > ".join(names[channel] for channel in sequence) for sequence in sequences]
        counts = {"conversions": conversions, "non_conversions": totals - conversions}
        return pd.DataFrame({"path": pd.Series(paths, dtype=object), **counts, "rate": conversions / totals})

    @cached_property
    def _paths(self) -> sharing.Paths:
        return sharing.Paths(self._counted.sequences)

    @cached_property
    def _utilities(self) -> sharing.Utilities:
        counts = self._counted.conversions[:, None], self._counted.totals[:, None]
        return sharing.make_utilities(self._paths, *counts, self.utility, self.unseen)
