"""Intervals, ranks, tables, plots and reports of values and their standard errors."""

from __future__ import annotations

import math
from os import PathLike
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common.arguments import number
from ordinal_shapley.common.frames import as_index
from ordinal_shapley.evidence.labels import combined_rank
from ordinal_shapley.vocabulary import ERRORS, check_choice

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd
    from matplotlib.axes import Axes

    from ordinal_shapley.evidence.labels import LabelEvidence
    from ordinal_shapley.games.base import Game
    from ordinal_shapley.sampling.history import History


class Views:
    """Methods of `Valuation` for reading values."""

    values: NDArray[np.float64]
    stderr: NDArray[np.float64]
    counts: NDArray[np.int64]
    player_names: NDArray[Any] | None
    stderr_total: NDArray[np.float64] | None
    evidence: LabelEvidence | None

    def _errors(self, errors: str) -> NDArray[np.float64]:
        """Return the standard errors for intervals."""
        check_choice("errors", errors, ERRORS)
        known = errors == "total" and self.stderr_total is not None
        return self.stderr_total if known else self.stderr  # type: ignore[return-value]

    def confidence_interval(
        self, level: float = 0.95, *, errors: str = "total"
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the ends of a normal confidence interval for each value.

        Parameters
        ----------
        level : float, default 0.95
            Nominal coverage, between 0 and 1.
        errors : {"total", "monte_carlo"}, default "total"
            What CIs cover: "total" includes the choice of validation rows where ``stderr_total`` is known,
            "monte_carlo" is Monte Carlo noise only (see the class).

        Returns
        -------
        low, high : ndarray of float64, shape (n,)
            The ends; NaN where the standard error is.

        Raises
        ------
        TypeError, ValueError
            If ``level`` is not a number between 0 and 1, or ``errors`` not one of the names.
        """
        level = number("level", level, above=0.0, below=1.0)
        half = NormalDist().inv_cdf(0.5 + level / 2) * self._errors(errors)
        return self.values - half, self.values + half

    @property
    def reliability(self) -> float:
        """Share of the variance between the values that is not noise: ``1 - mean(stderr**2) / var(values)``.

        It approximates the squared correlation between these values and those of an infinitely long run, over
        the players whose standard errors are known: near 1 ranks hardly change with more permutations, near 0
        they are noise. Negative estimates count as 0. NaN if fewer than two players have standard errors, or
        all values are equal. ``var`` divides by the number of players less one.
        """
        known = np.isfinite(self.stderr) & np.isfinite(self.values)
        if known.sum() < 2:
            return math.nan
        values = self.values[known]
        unit = float(np.abs(values).max()) or 1.0  # squares of some would overflow
        spread = float(np.var(values / unit, ddof=1))
        if not spread > 0.0:
            return math.nan
        with np.errstate(over="ignore"):
            noise = float(np.mean((self.stderr[known] / unit) ** 2))
        return max(0.0, 1.0 - noise / spread)

    def probability_below(self, threshold: float = 0.0, *, errors: str = "total") -> NDArray[np.float64]:
        """Return the normal probability that each true value is below ``threshold``.

        Parameters
        ----------
        threshold : float, default 0.0
            The threshold.
        errors : {"total", "monte_carlo"}, default "total"
            As for `confidence_interval`.

        Returns
        -------
        ndarray of float64, shape (n,)
            The probabilities; 0 or 1 where the standard error is 0, NaN where it is NaN.

        Raises
        ------
        TypeError, ValueError
            If ``threshold`` is not a number, or ``errors`` not one of the names.
        """
        gaps = number("threshold", threshold) - self.values
        return _normal(gaps, self._errors(errors))

    def ranking(self) -> NDArray[np.intp]:
        """Return the players from the highest value to the lowest, ties in order, NaN last."""
        return np.argsort(-self.values, kind="stable")

    def to_frame(self, level: float = 0.95, *, errors: str = "total") -> pd.DataFrame:
        """Return one row per player, indexed by ``player_names``.

        Parameters
        ----------
        level : float, default 0.95
            Level of the confidence interval.
        errors : {"total", "monte_carlo"}, default "total"
            What it covers, as for `confidence_interval`.

        Returns
        -------
        pandas.DataFrame
            With columns value, stderr, stderr_total (NaN where it is not known), ci_low, ci_high, rank (1 for
            the highest value), count and below_zero (the interval is entirely below 0). With ``evidence``
            also its columns, see `LabelEvidence`, combined_rank (1 for the most suspicious label, see
            `ordinal_shapley.experiments.combined_rank`) and verdict ("value below 0", "other label
            predicted", "both", or empty without evidence against the label).

        Raises
        ------
        TypeError, ValueError
            If ``level`` is not a number between 0 and 1, or ``errors`` not one of the names.
        """
        import pandas as pd

        low, high = self.confidence_interval(level, errors=errors)
        frame = pd.DataFrame(
            {
                "value": self.values,
                "stderr": self.stderr,
                "stderr_total": math.nan if self.stderr_total is None else self.stderr_total,
                "ci_low": low,
                "ci_high": high,
                "rank": np.argsort(self.ranking()) + 1,
                "count": self.counts,
                "below_zero": high < 0,
            },
            index=as_index(self.player_names),
        )
        if self.evidence is not None:
            found = self.evidence.to_frame().set_axis(frame.index)
            frame = pd.concat([frame, found], axis=1)
            frame["combined_rank"] = combined_rank(self.values, self.evidence)
            frame["verdict"] = self.evidence._verdicts(high < 0)
        return frame

    def suspects(
        self, level: float | None = None, *, fdr: float | None = None, errors: str = "total"
    ) -> pd.DataFrame:
        """Return the players whose CI is entirely below 0, the lowest value first.

        With ``evidence``, these and, unless ``fdr`` is given, the rows for which another label is predicted
        with confidence (`LabelEvidence.disputed`), in the order of combined_rank: values and predictions each
        find label errors that the other misses.

        Parameters
        ----------
        level : float, optional
            Level of the CI; 0.95 without ``fdr``. It is not adjusted for the number of players: of many whose
            true value is 0, one in forty is returned by chance.
        fdr : float, optional
            Instead of a level, the false discovery rate: of the players returned, at most this share is
            expected to have a true value of 0 or more (Benjamini and Hochberg's procedure). This null
            hypothesis is "the value is not below 0", not "the label is right": rows with right labels lower
            the score, too, so of the labels of these rows a larger share may be right.
        errors : {"total", "monte_carlo"}, default "total"
            As for `confidence_interval`.

        Returns
        -------
        pandas.DataFrame
            Their rows of `to_frame` (with ``fdr``, at level 0.95), without column below_zero unless there is
            ``evidence``; none if there are no such players. Players without a standard error are returned by
            evidence only.

        Raises
        ------
        TypeError, ValueError
            If ``level`` or ``fdr`` is not a number between 0 and 1, both are given, or ``errors`` is not one
            of the names.

        References
        ----------
        Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", Journal of the Royal Statistical
        Society B 57 (1995).

        Examples
        --------
        >>> import ordinal_shapley as osv
        >>> game = osv.TableGame(3, {(0,): 1.0, (1,): -1.0, (2,): -2.0}, names=["ann", "bob", "cy"])
        >>> valuation = osv.sample_values(game, n_permutations=1000, random_state=0)
        >>> valuation.suspects()[["value", "rank"]].round(1)
             value  rank
        cy    -0.7     3
        bob   -0.2     2
        >>> valuation.suspects(fdr=0.01).index.tolist()
        ['cy', 'bob']
        """
        if level is not None and fdr is not None:
            raise ValueError("level and fdr are both given, expected one of them")
        frame = self.to_frame(0.95 if level is None else level, errors=errors)
        below = frame.pop("below_zero").to_numpy()
        if fdr is not None:
            below = self._discoveries(number("fdr", fdr, above=0.0, below=1.0), errors)
        if self.evidence is None:
            return frame[below].sort_values("rank", ascending=False, kind="stable")
        frame["below_zero"] = below
        frame["verdict"] = self.evidence._verdicts(below)
        shown = below if fdr is not None else frame["verdict"] != ""
        return frame[shown].sort_values("combined_rank", kind="stable")

    def _discoveries(self, fdr: float, errors: str) -> NDArray[np.bool_]:
        """Players for which Benjamini and Hochberg's procedure rejects a value of 0 or more."""
        p = _normal(self.values, self._errors(errors))
        p[(self.values == 0) & (self._errors(errors) == 0)] = 1.0
        known = np.sort(p[np.isfinite(p)])
        passed = known[known <= fdr * np.arange(1, len(known) + 1) / max(len(known), 1)]
        return np.asarray(p <= passed.max(initial=-1.0))

    def plot(self, **options: Any) -> Axes:
        """Draw the values from the lowest to the highest, each with its confidence interval.

        Parameters
        ----------
        **options
            ``ax``, ``level``, ``highlight`` and ``classes``, as for `ordinal_shapley.plots.plot_values`.

        Returns
        -------
        matplotlib.axes.Axes
            The axes drawn on.

        Raises
        ------
        ImportError
            If Matplotlib is not installed.
        TypeError, ValueError
            If an argument cannot be used; the message names it.
        """
        from ordinal_shapley.plots.values import plot_values

        return plot_values(self, **options)  # type: ignore[arg-type]

    def to_csv(self, path: str | PathLike[str], level: float = 0.95) -> None:
        """Write the table of `to_frame` as CSV, at full precision, the labels as column ``player``.

        Parameters
        ----------
        path : path-like
            The file; an existing one is overwritten once the new one is complete.
        level : float, default 0.95
            Level of the confidence interval.

        Raises
        ------
        TypeError, ValueError
            If ``path`` is not a path or ``level`` not a number between 0 and 1.
        OSError
            If the file cannot be written.
        """
        from ordinal_shapley.report.table_files import write_csv

        write_csv(self, path, level)  # type: ignore[arg-type]

    def to_parquet(self, path: str | PathLike[str], level: float = 0.95) -> None:
        """Write the table of `to_frame` as Parquet, the labels as column ``player``; needs pyarrow.

        Labels of mixed types are written as their ``str``, with a warning.

        Parameters
        ----------
        path : path-like
            The file; an existing one is overwritten once the new one is complete.
        level : float, default 0.95
            Level of the confidence interval.

        Raises
        ------
        ImportError
            If pyarrow is not installed.
        TypeError, ValueError
            If ``path`` is not a path or ``level`` not a number between 0 and 1.
        OSError
            If the file cannot be written.
        """
        from ordinal_shapley.report.table_files import write_parquet

        write_parquet(self, path, level)  # type: ignore[arg-type]

    def to_html(
        self,
        path: str | PathLike[str] | None = None,
        *,
        X: Any = None,
        y: Any = None,
        game: Game | None = None,
        history: History | None = None,
        title: str | None = None,
        level: float = 0.95,
        settings: Mapping[str, Any] | None = None,
        warnings: Iterable[str] = (),
    ) -> str:
        """Return a self-contained HTML report: what to check first, the values and how certain they are.

        It needs no network, works in light and dark mode and on a phone, and says which arguments would add
        more. Requires Jinja2, the ``report`` extra.

        Parameters
        ----------
        path : path-like, optional
            Where to write the page; an existing file is overwritten once the new one is complete.
        X : DataFrame, array or sparse matrix with one row per player, optional
            The players' own columns, of any type, for the table. A DataFrame is matched with
            ``player_names`` by its index.
        y : array-like of shape (n_players,), optional
            Their labels; by default those that ``game`` knows. A Series is matched in the same way.
        game : Game, optional
            The game of these values. It is evaluated some hundreds of times more, as players are removed.
        history : History, optional
            The history of the run, for the plots of convergence.
        title : str, optional
            Title of the page.
        level : float, default 0.95
            Level of the confidence intervals.
        settings : dict, optional
            More settings to show, as names and texts.
        warnings : list of str, optional
            Warnings of the run, shown at the top of the page.

        Returns
        -------
        str
            The page.

        Raises
        ------
        ImportError
            If Jinja2 is not installed.
        TypeError, ValueError
            If an argument cannot be used, or is of other players; the message names it.
        OSError
            If the file cannot be written; that is tried before the work.

        Examples
        --------
        >>> import ordinal_shapley as osv
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"]
        >>> game = osv.LogisticGame(X, y, [[0.2], [0.9], [2.8]], ["no", "no", "yes"])
        >>> history = osv.History(osv.MaxPermutations(200))
        >>> valuation = osv.sample_values(game, stopping=history, random_state=0)
        >>> page = valuation.to_html(X=X, game=game, history=history, title="Four rows")
        >>> "<h1>Four rows</h1>" in page
        True
        """
        from ordinal_shapley.report.page import page

        return page(self, path, X, y, game, history, title, level, settings, warnings)  # type: ignore[arg-type]

    def _repr_html_(self) -> str:
        from ordinal_shapley.report.notebook import summary

        return summary(self)  # type: ignore[arg-type]


def _normal(gaps: NDArray[np.float64], errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Normal probabilities below the gaps; if an error is 0, whether the gap is above 0."""
    # erfc keeps its relative accuracy far out in the tail, where 1 - cdf would round to 0.
    return np.array(
        [0.5 * math.erfc(-gap / (error * math.sqrt(2))) if error else gap > 0
         for gap, error in zip(gaps.tolist(), errors.tolist(), strict=True)],
        dtype=np.float64,
    )  # fmt: skip
