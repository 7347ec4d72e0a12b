"""How permutations are drawn, truncated and averaged, as one object."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common import arguments, arrays
from ordinal_shapley.common.described import Described
from ordinal_shapley.common.frames import order_like
from ordinal_shapley.sampling.designs import design_of
from ordinal_shapley.sampling.truncation import PaperTruncation, PatienceTruncation, Roulette, TruncationRule
from ordinal_shapley.vocabulary import AVERAGES, CONTRIBUTIONS, METHODS, check_choice

if TYPE_CHECKING:
    from ordinal_shapley.games.base import Game
    from ordinal_shapley.values.base import Value

_CLASS_FRACTION = 0.8
_RULES: dict[str, type[TruncationRule]] = {
    rule.name: rule for rule in (Roulette, PaperTruncation, PatienceTruncation)
}


@dataclass(frozen=True, eq=False, repr=False)
class PermutationSampler(Described):
    r"""Random permutations of the players, evaluated prefix by prefix.

    Without options full permutations are evaluated: unbiased, but with the most evaluations.

    Parameters
    ----------
    truncation : {"roulette", "paper", "patience"}, truncation rule or None, optional
        Which prefixes are not evaluated: `Roulette` (unbiased, and the most efficient), `PaperTruncation` or
        `PatienceTruncation` (both biased).
    design : {"independent", "antithetic", "latin"}, default "independent"
        Dependence between permutations. "antithetic": each is followed by its reverse. "latin": in each block
        of ``n_players`` permutations every player is once at every position; not with ``class_fraction``.
        Each permutation alone is uniformly random, so the expectation of the estimate does not change.
    class_fraction : float, optional
        Draw permutations of a random subset with this share :math:`q` of every class: of a class of
        :math:`n_c` players :math:`\max(1, \lfloor q n_c \rfloor)`. Biased: no player ever joins all others.
    strata : array-like of shape (n_players,), optional
        Class of each player, for ``class_fraction``; by default that of the game. A column of a frame is
        matched with the players by its index.
    average : {"all", "selected"}, default "all"
        With ``class_fraction``: the mean over all permutations, where players that were not drawn count as 0,
        or for each player over those in which it was drawn. The two differ by a factor that is the same
        within a class.
    contribution : {"marginal", "in_out"}, optional
        Estimator of the classic value: "marginal", the mean of marginal contributions (the default), or
        "in_out", in which every prefix contributes to every player. Other values have only one.

    Raises
    ------
    TypeError, ValueError
        If an option cannot be used; the message names it.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> sampler = osv.PermutationSampler(truncation="roulette", design="antithetic")
    >>> sampler
    PermutationSampler(truncation=Roulette(), design='antithetic')
    >>> game = osv.TableGame(2, {(0, 1): 1.0})
    >>> osv.sample_values(game, method=sampler, n_permutations=100, random_state=0).sampler == sampler
    True
    """

    truncation: Any = None
    design: str = "independent"
    class_fraction: float | None = None
    strata: Any = None
    average: str = "all"
    contribution: str | None = None
    _column: ClassVar[Any] = None  # the original strata, if they have an index

    def __post_init__(self) -> None:
        object.__setattr__(self, "truncation", as_truncation(self.truncation))
        design = design_of(self.design)
        check_choice("average", self.average, AVERAGES)
        if self.contribution is not None:
            check_choice("contribution", self.contribution, CONTRIBUTIONS)
        if self.class_fraction is None:
            for name, given in (("strata", self.strata is not None), ("average", self.average != "all")):
                if given:
                    raise ValueError(f"{name} requires class_fraction: give that too, for example 0.8")
            return
        share = arguments.number("class_fraction", self.class_fraction, above=0.0, max=1.0)
        object.__setattr__(self, "class_fraction", share)
        if self.strata is not None:  # the length is checked with the game
            object.__setattr__(self, "_column", self.strata if hasattr(self.strata, "iloc") else None)
            object.__setattr__(self, "strata", arrays.as_array(self.strata, "strata", "player"))
        if design.of_all:
            raise ValueError(
                "use design='antithetic' or 'independent', or leave class_fraction out: "
                f"design={self.design!r} needs permutations of all players, and class_fraction draws some"
            )

    def matched(self, rows: Any, of: str) -> PermutationSampler:
        """Return the sampler with strata in the order of `rows`, a frame or a game, if they have an index.

        ValueError if the index is of other rows; `of` is the name of the rows in messages.
        """
        order = order_like(self._column, rows, "strata", of)
        return self if order is None else replace(self, strata=self.strata[order])

    def of_players(self, players: NDArray[np.int64], n_players: int) -> PermutationSampler:
        """Return the sampler of a fold in which these of all players train; ValueError if there is none."""
        if design_of(self.design).permutations is None:
            raise ValueError(
                f"use design='antithetic' or 'independent': design={self.design!r} is not for cross-fitted "
                "games, whose folds have blocks of different sizes"
            )
        if self.strata is None:
            return self
        return replace(self, strata=arrays.as_column(self.strata, "strata", n_players, "player")[players])

    @property
    def rule(self) -> TruncationRule | None:
        """The truncation rule."""
        rule: TruncationRule | None = self.truncation
        return rule

    @property
    def draws_classes(self) -> bool:
        """Whether permutations hold a share of every class."""
        return self.class_fraction is not None

    @property
    def biases(self) -> tuple[str, ...]:
        """The biases of estimates, which more permutations do not reduce, in words."""
        found = [self.rule.bias] if self.rule is not None and self.rule.bias else []
        if self.class_fraction is not None and self.class_fraction < 1.0:
            found.append("the bias of drawing a share of each class, in which no player joins all the others")
        return tuple(found)

    @property
    def words(self) -> str:
        """A short description."""
        parts = ["full permutations" if self.rule is None else self.rule.words]
        if self.class_fraction is not None:
            parts.append(f"a share of {self.class_fraction:.4g} of each class")
        if self.average == "selected":
            parts.append("averaged over the permutations that drew the player")
        if self.design != "independent":
            parts.append(f"{self.design} permutations")
        if self.contribution is not None:
            parts.append(f"{self.contribution.replace('_', '/')} contributions")
        return ", ".join(parts)

    def contribution_to(self, value: Value) -> str:
        """Return the contribution that estimates a value; ValueError if the sampler has another one."""
        if self.contribution is None:
            return value.contributions[0] if value.contributions else ""
        if self.contribution not in value.contributions:
            only = "both, by alpha" if not value.contributions else repr(value.contributions[0])
            raise ValueError(
                f"contribution is {self.contribution!r}, which does not estimate value {value.name!r}: leave "
                f"it out, or use {only}"
            )
        return self.contribution

    def draw_from(self, game: Game) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the strata of a game: players stratum after stratum, where each begins, and its quota.

        Without ``class_fraction`` all players are in one. TypeError or ValueError if classes are needed and
        there are none.
        """
        n = game.n_players
        if self.class_fraction is None:
            return np.arange(n), np.array([0, n]), np.array([n])
        if self.strata is not None:
            named = arrays.as_names(self.strata, "strata", n, "player")
            classes = arrays.encode(named, "strata")[1]
        elif game.player_classes is not None:
            classes = game.player_classes
        else:
            raise ValueError(
                "strata is missing: class_fraction draws players class by class, and this game has players "
                "of no class or of several; give a class for each player, or use method 'auto'"
            )
        sizes = np.bincount(classes)
        sizes = sizes[sizes > 0]
        # 0.7 * 90 is 62.99999999999999 in floating point, but means 63.
        quota = np.maximum(1, np.floor(self.class_fraction * sizes + 1e-9)).astype(np.int64)
        members = np.argsort(classes, kind="stable").astype(np.int64)
        return members, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), quota


def as_sampler(method: Any, name: str = "method") -> PermutationSampler:
    """Return the sampler of a name, or the sampler itself.

    "auto" is unbiased; "mc", "tmc", "cmc" and "ctmc" are the paper's algorithms.
    """
    if isinstance(method, PermutationSampler):
        return method
    if not isinstance(method, str):
        raise TypeError(
            f"{name} is {method!r}, expected one of {', '.join(map(repr, METHODS))}, or a PermutationSampler"
        )
    check_choice(name, method, METHODS)
    if method == "auto":
        return PermutationSampler(truncation=Roulette())
    return PermutationSampler(
        truncation=PaperTruncation() if method in ("tmc", "ctmc") else None,
        class_fraction=_CLASS_FRACTION if method in ("cmc", "ctmc") else None,
    )


def as_truncation(truncation: Any) -> TruncationRule | None:
    """Return the rule of a name, or the rule itself; None for no rule."""
    if truncation is None or isinstance(truncation, TruncationRule):
        return truncation
    if isinstance(truncation, str) and truncation in _RULES:
        return _RULES[truncation]()
    kind = ValueError if isinstance(truncation, str) else TypeError
    raise kind(
        f"truncation is {truncation!r}, expected None, one of {', '.join(map(repr, _RULES))}, or a rule such "
        "as PatienceTruncation(tol=0.01)"
    )
