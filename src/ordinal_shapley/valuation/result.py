"""The result of a sampling run: a value and a standard error for every player."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common.frames import order_like
from ordinal_shapley.valuation.file import (
    FIELDS,
    OPTIONAL,
    File,
    as_labels,
    pack_evidence,
    read_valuation,
    same_labels,
    write_file,
)
from ordinal_shapley.valuation.moments import Folds, Moments, Ranges, join_ranges
from ordinal_shapley.valuation.settings import Settings
from ordinal_shapley.valuation.views import Views

if TYPE_CHECKING:
    from ordinal_shapley.evidence.labels import LabelEvidence
    from ordinal_shapley.sampling.sampler import PermutationSampler
    from ordinal_shapley.values.base import Value

# Settings that parts of one estimate must share, in the order in which differences are reported.
_SHARED = ("kind", "sampler", "position_profile", "seed", "game")
_SCORES = ("full_score", "baseline_score")


@dataclass(frozen=True, eq=False, repr=False)
class Valuation(Views):
    """Estimated values of the players of a game, with their standard errors.

    `ordinal_shapley.sample_values` returns one. The standard errors measure Monte Carlo noise about the
    *sampled* expectation only. Truncation and class sampling change that expectation: this bias is not
    covered by standard errors, and more permutations do not reduce it.

    Attributes
    ----------
    values : ndarray of float64, shape (n,)
        The estimates, read-only; NaN for a player that was in no permutation.
    stderr : ndarray of float64, shape (n,)
        Their standard errors, read-only; NaN where fewer than two permutations counted.
    stderr_total : ndarray of float64, shape (n,), or None
        Standard errors that also cover the choice of validation rows, read-only. None where the utility is
        not a mean over validation rows (such as an area under a curve), there are fewer than ten of them or
        more than 40,000 players, or the sampler is biased.
    counts : ndarray of int64, shape (n,)
        How many permutations counted for each player, read-only.
    n_permutations, n_evaluations : int
        Permutations drawn, and evaluations (those of full permutations included).
    converged : bool
        Whether a rule of convergence stopped the run. This does not mean that ranks are final: see
        ``reliability``.
    stopped_by : str
        The rule that stopped the run; "merge" for a pooled result.
    seconds : float
        Time the run took; the sum over the parts for a pooled result.
    sampling_seconds : float or None
        The part of it in which permutations were evaluated, not what came before: kernels compiled, the score
        of all rows, a pilot. None where that is not known.
    reliability : float
        Share of the variance between the values that is not noise.
    mean_evaluated : float
        Mean number of players (with groups: rows) evaluated per permutation.
    settings : Settings
        The settings of the run: value, sampler, seed and game.
    kind : Value
        The value that was estimated, such as `Ordinal`.
    sampler : PermutationSampler
        The sampler.
    seed : int
        Key of the permutation stream.
    ranges : tuple of (int, int)
        The permutations used: half-open index ranges, increasing and disjoint.
    player_names : ndarray of shape (n,) or None
        Names of the players, None for 0..n-1.
    moments : Moments or Folds
        The sums from which values and standard errors are computed; of each fold for a cross-fitted game.
    digest : str
        Fingerprint of game and options: only results with equal ones can be pooled.
    position_profile : ndarray of float64, shape (n, n), or None
        ``[i, k]``: expected contribution of player i at position k (from 0), NaN where it never stood there.
        Only with ``position_profile=True``. The mean of a row is the player's value exactly for the ordinal
        value, for a blend and over whole Latin squares, else in expectation. With size weights the value is
        the weighted mean, and positions without weight are NaN.
    position_profile_stderr : ndarray of float64, shape (n, n), or None
        Its standard errors; NaN where the design makes the contributions to it depend on one another.
    full_score : float or None
        Score of the model of all rows; where order matters, in a random order for an `EstimatorGame`, else
        the mean over ten. These fits are not among ``n_evaluations``. None for games of players that own no
        rows, and where the model of all rows fails.
    baseline_score : float or None
        Score of the majority-class baseline (for numbers: of the mean) on the same validation rows (0.5 for
        "roc_auc", all classes with one probability for "neg_log_loss"). Values of a model that is no better
        mean little.
    model : str or None
        In words, the model that was fitted and whether it was compiled; None for games without one.
    evidence : LabelEvidence or None
        Evidence against the label of each row, from models that were not trained on it; tables show it beside
        the values. The estimators and the command `value` compute it; ``dataclasses.replace(valuation,
        evidence=...)`` sets it, matched by the names of rows and players where both have names.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> game = osv.TableGame(2, {(0, 1): 1.0}, names=["ann", "bob"])
    >>> valuation = osv.sample_values(game, n_permutations=1000, random_state=0)
    >>> valuation.kind, valuation.n_permutations, valuation.stopped_by
    (Ordinal(), 1000, 'MaxPermutations')
    >>> valuation.to_frame()[["value", "below_zero"]].round(1)
         value  below_zero
    ann    0.3       False
    bob    0.3       False
    """

    values: NDArray[np.float64]
    stderr: NDArray[np.float64]
    counts: NDArray[np.int64]
    n_permutations: int
    n_evaluations: int
    converged: bool
    stopped_by: str
    seconds: float
    mean_evaluated: float
    settings: Settings
    ranges: Ranges
    player_names: NDArray[Any] | None
    moments: Moments | Folds
    stderr_total: NDArray[np.float64] | None = None
    position_profile: NDArray[np.float64] | None = None
    position_profile_stderr: NDArray[np.float64] | None = None
    full_score: float | None = None
    baseline_score: float | None = None
    sampling_seconds: float | None = None
    model: str | None = None
    evidence: LabelEvidence | None = None

    def __post_init__(self) -> None:
        if self.evidence is not None:
            if not hasattr(self.evidence, "self_confidence"):
                kind = type(self.evidence).__name__
                raise TypeError(
                    f"evidence is a {kind}, expected LabelEvidence, such as self_confidence gives"
                )
            if len(self.evidence) != len(self):
                raise ValueError(
                    f"evidence is of {len(self.evidence)} rows, expected {len(self)}, one per player"
                )
            order = order_like(self.evidence, self, "evidence", "valuation")
            if order is not None:
                object.__setattr__(self, "evidence", self.evidence.take(order))

    @property
    def kind(self) -> Value:
        """The value that was estimated."""
        return self.settings.kind

    @property
    def sampler(self) -> PermutationSampler:
        """The sampler."""
        return self.settings.sampler

    @property
    def seed(self) -> int:
        """Key of the permutation stream."""
        return self.settings.seed

    @classmethod
    def from_moments(
        cls,
        moments: Moments | Folds,
        settings: Settings,
        ranges: Ranges,
        *,
        player_names: NDArray[Any] | Sequence[Any] | None,
        **fields: Any,
    ) -> Valuation:
        """Make values and standard errors from sums over permutations.

        Parameters
        ----------
        moments : Moments
            The sums.
        settings : Settings
            What the run was.
        ranges : tuple of (int, int)
            The permutations they are over.
        player_names : sequence of length n or None
            Names of the players.
        **fields
            The attributes of the class that do not follow from these: ``converged``, ``stopped_by`` and
            ``seconds``, and those that may be None.

        Returns
        -------
        Valuation
            The result.

        Raises
        ------
        ValueError
            If ``player_names`` has the wrong length.
        """
        n = moments.n_players
        if player_names is not None and len(player_names) != n:
            raise ValueError(f"player_names has {len(player_names)} names, expected one per player, {n}")
        arrays, total = moments.estimates(settings.sampler.average), moments.n_permutations
        profile: tuple[Any, ...] = (None, None)
        total_errors = moments.stderr_total(settings.sampler.average)
        if isinstance(moments, Moments) and moments.profile.size:
            profile = moments.profile_estimates()
        for array in (*arrays, *profile, total_errors):
            if array is not None:
                array.flags.writeable = False
        return cls(
            *arrays,
            n_permutations=total,
            n_evaluations=moments.n_evaluations,
            mean_evaluated=moments.walk_length / total if total else math.nan,
            settings=settings,
            ranges=ranges,
            moments=moments,
            stderr_total=total_errors,
            position_profile=profile[0],
            position_profile_stderr=profile[1],
            player_names=None if player_names is None else as_labels(player_names),
            **fields,
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to one NumPy ``.npz`` file, without pickle.

        Labels that are neither numbers, strings, booleans, NumPy datetimes, None nor tuples of
        these are written as their ``str``, with a warning.

        Parameters
        ----------
        path : path-like
            The file, whose name is taken as it is; an existing file is overwritten.

        Raises
        ------
        TypeError
            If ``path`` is not a path.
        OSError
            If the file cannot be written.
        """
        fields = {name: kind(getattr(self, name)) for name, kind in FIELDS.items()}
        header: dict[str, Any] = {"optional": {name: getattr(self, name) for name in OPTIONAL}}
        arrays: dict[str, NDArray[Any]] = {}
        if self.evidence is not None:
            header["evidence"], arrays = pack_evidence(self.evidence)
        write_file(
            path, File(self.moments, self.ranges, self.settings, self.player_names, fields, header, arrays)
        )

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Valuation:
        """Read what `save` wrote.

        Parameters
        ----------
        path : path-like
            The file.

        Returns
        -------
        Valuation
            Bit-identical to the saved one.

        Raises
        ------
        TypeError
            If ``path`` is not a path.
        OSError
            If the file cannot be read.
        ValueError
            If the file holds something else.
        """
        return read_valuation(path, cls.from_moments)

    @staticmethod
    def merge(valuations: Iterable[Valuation]) -> Valuation:
        """Pool results from disjoint sets of permutations of one stream.

        Parameters
        ----------
        valuations : iterable of Valuation
            Results for the same game, options and seed, from permutation ranges that do not
            overlap, in any order.

        Returns
        -------
        Valuation
            The result of one run over all the permutations, up to rounding. It counts as converged if every
            part does.

        Raises
        ------
        TypeError
            If `valuations` is not an iterable of Valuation.
        ValueError
            If there is none, if they differ in value, sampler, seed, game, player names or minor version of
            the library, or if ranges overlap.

        Examples
        --------
        >>> import ordinal_shapley as osv
        >>> game = osv.TableGame(2, {(0, 1): 1.0})
        >>> def part(first):
        ...     return osv.sample_values(game, first_permutation=first, n_permutations=10, random_state=1)
        >>> osv.Valuation.merge([part(10), part(0)]).ranges
        ((0, 20),)
        >>> osv.Valuation.merge([part(0), part(0)])
        Traceback (most recent call last):
            ...
        ValueError: valuations share permutations 0..9 (ranges 0..9 and 0..9): pool disjoint ranges
        """
        if not isinstance(valuations, Iterable):
            raise TypeError(f"valuations is a {type(valuations).__name__}, expected a list of Valuation")
        parts = list(valuations)
        for part in parts:
            if not isinstance(part, Valuation):
                raise TypeError(f"valuations holds a {type(part).__name__}, expected a Valuation")
        if not parts:
            raise ValueError("valuations is empty, expected at least one Valuation")
        # In order of their first permutation, so that results do not depend on the order given.
        parts.sort(key=lambda part: part.ranges[:1])
        first = parts[0]
        for part in parts[1:]:
            _check_same(first, part)
        moments: Any = first.moments
        for part in parts[1:]:
            moments = moments.plus(part.moments)
        known = [part.sampling_seconds for part in parts if part.sampling_seconds is not None]
        scored = next((part for part in parts if part.full_score is not None), first)
        return Valuation.from_moments(
            moments,
            first.settings,
            join_ranges(part.ranges for part in parts),
            converged=all(part.converged for part in parts),
            stopped_by="merge" if len(parts) > 1 else first.stopped_by,
            seconds=sum(part.seconds for part in parts),
            player_names=first.player_names,
            **{name: getattr(scored, name) for name in _SCORES},
            sampling_seconds=sum(known) if known else None,
            model=first.model,
            evidence=next((part.evidence for part in parts if part.evidence is not None), None),
        )

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        scores = [f", {name}={score:.4g}" for name in _SCORES if (score := getattr(self, name)) is not None]
        model = "" if self.model is None else f", model={self.model!r}"
        return (
            f"Valuation({len(self)} players, kind={self.kind!r}, sampler={self.sampler!r}, "
            f"n_permutations={self.n_permutations}, stopped_by={self.stopped_by!r}, "
            f"converged={self.converged}{''.join(scores)}{model})"
        )


def _check_same(first: Valuation, other: Valuation) -> None:
    found = first.settings.differences(other.settings, *_SHARED)
    found = found or first.settings.differences(other.settings, "digest")
    if found:
        raise ValueError(
            f"valuations differ in {', '.join(found)}: pool results of the same game, options, seed and "
            "minor version of ordinal-shapley only"
        )
    if len(first) != len(other):
        raise ValueError(f"valuations have {len(first)} and {len(other)} players: pool those of one game")
    if not same_labels(first.player_names, other.player_names):
        raise ValueError("valuations differ in player_names: pool results of the same game only")
