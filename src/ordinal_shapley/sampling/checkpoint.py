"""The file in which a run is saved, so that it can be resumed however it ended.

It is a file of a `Valuation` (`Valuation.load` reads it) with the additional state of a run. Only complete
shards are in it, and later ones are added in the same way in any run, so a resumed run is bit-identical to
one that was never stopped.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from numpy.typing import NDArray

from ordinal_shapley.common.arguments import file_name
from ordinal_shapley.common.files import locked, remove_unfinished
from ordinal_shapley.common.parallel import uninterrupted
from ordinal_shapley.sampling.plan import Plan
from ordinal_shapley.sampling.state import State
from ordinal_shapley.valuation.file import File, read_file, write_file
from ordinal_shapley.valuation.settings import Settings

_FORMAT = 4
# Fields of a plan that come from a pilot.
_OF_PILOT = ("baselines", "inclusion", "block_baselines")
# Differences are reported in this order.
_COMPARED = ("version", "seed", "kind", "sampler", "position_profile", "game")
Scores: TypeAlias = tuple[float | None, float | None]
# Time between writes, in multiples of the duration of the last one.
_SPACING = 20.0


class Keeper:
    """Reads and writes the checkpoint of one run; with no path, it does nothing."""

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self._path = path
        self._name = "" if path is None else repr(os.fspath(path))
        self._file: File | None = None
        self._written: State | None = None
        self._next = 0.0
        self._warned = False
        self._scores: Scores = (None, None)
        self._pilots: list[dict[str, Any]] = []
        if path is not None and Path(path).exists():
            self._file = _read(path, self._name)
        # Seed of the run in the file, if there is one.
        self.seed = None if self._file is None else self._file.settings.seed

    def recall(self, plans: Sequence[Plan]) -> tuple[list[Plan], Scores] | None:
        """Return the plans with the results of pilots, and the scores, from the file; None without a file."""
        if self._file is None:
            return None
        self._scores, self._pilots = _ahead(self._file)
        pairs = zip(plans, self._pilots, strict=True)
        return [plan._replace(**pilot) for plan, pilot in pairs], self._scores

    def remember(self, plans: Sequence[Plan], scores: Scores) -> None:
        """Keep the results of the pilot of each fold, and the scores, for the file."""
        self._scores = scores
        self._pilots = [{name: getattr(plan, name) for name in _OF_PILOT} for plan in plans]

    def begin(self, settings: Settings, player_names: NDArray[Any] | None, first: int) -> None:
        """Set the settings of the run before it begins; ValueError if the file is of another run."""
        if self._path is None:
            return
        self._settings, self._player_names, self._first = settings, player_names, first
        if self._file is None:
            return
        differing = settings.differences(self._file.settings, *_COMPARED)
        theirs = self._file.ranges[0][0]
        if theirs != first:
            differing.append(f"first_permutation ({theirs} there, {first} here)")
        if differing:
            raise ValueError(
                f"use another checkpoint file, or the settings of the run in {self._name}, which differ in "
                f"{', '.join(differing)}"
            )

    def state(self, before: State, made: str) -> State:
        """Return the state to resume; `before` is that of a new run, whose fingerprint is `made`.

        ValueError if the game of the file has other utilities, OSError if no file can be written.
        """
        if self._path is None:
            return before
        self._settings = self._settings._replace(digest=made)
        if self._file is None:
            self._write(before)
            return before
        if self._file.settings.digest != made:
            raise ValueError(
                f"use another checkpoint file: the utilities of the game in {self._name} differ from "
                "this one's, if only in the last digits; expected the same game on the same kind of machine"
            )
        self._written = _state(self._file)
        return self._written

    def offer(self, state: State, seconds: float) -> None:
        """Write the state, unless the last write is recent."""
        if self._path is not None and time.monotonic() >= self._next:
            self.save(state, seconds)

    def save(self, state: State, seconds: float) -> None:
        """Write the state; only warn if that fails, as the file keeps an earlier one and the run goes on."""
        if self._path is None or state is self._written:
            return
        try:
            self._write(state, seconds)
        except OSError as error:
            if not self._warned:
                self._warned = True
                warnings.warn(f"{error}; {self.holds()}", RuntimeWarning, stacklevel=4)
        else:
            self._warned = False

    def holds(self) -> str:
        """Report what is saved, and where."""
        count = 0 if self._written is None else self._written.moments.n_permutations
        return f"{count:,} permutations are kept in {self._name}"

    def _write(self, state: State, seconds: float = 0.0) -> None:
        assert self._path is not None
        began = time.monotonic()
        moments, total = state.moments, state.seconds + seconds
        more: dict[str, NDArray[Any]] = {"block": state.block}
        for k, pilot in enumerate(self._pilots):
            more |= {f"{name}_{k}": array for name, array in pilot.items()}
        for k, (rounds, values) in enumerate(state.memory.values()):
            more |= {f"rounds_{k}": rounds, f"values_{k}": values}
        run = {
            "format": _FORMAT,
            "unconverged": state.unconverged,
            "round_ends": state.round_ends,
            "rules": list(state.memory),
            "scores": self._scores,
        }
        ranges = ((self._first, self._first + moments.n_permutations),)
        fields = {"converged": False, "stopped_by": "checkpoint", "seconds": total}
        try:
            with uninterrupted():
                write_file(
                    self._path,
                    File(moments, ranges, self._settings, self._player_names, fields, {"run": run}, more),
                )
                self._written = state
        except OSError as error:
            reason = error.strerror or str(error)
            raise OSError(error.errno, f"checkpoint {self._name} cannot be written: {reason}") from error
        finally:
            self._next = time.monotonic() + _SPACING * (time.monotonic() - began)


@contextmanager
def keeping(path: str | os.PathLike[str] | None) -> Iterator[Keeper]:
    """Hold the checkpoint for one run; an interrupt reports what is saved."""
    if path is None:
        yield Keeper(None)
        return
    name = repr(os.fspath(file_name("checkpoint", path)))
    if Path(path).exists() and not Path(path).is_file():
        raise ValueError(f"checkpoint is {name}, expected the name of an ordinary file")
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(path))
        except BlockingIOError as error:
            raise ValueError(f"checkpoint {name} cannot be used now: {error.strerror}") from None
        except OSError as error:
            raise OSError(error.errno, f"checkpoint {name} cannot be written: {error.strerror}") from error
        remove_unfinished(path)
        keeper = Keeper(path)
        try:
            yield keeper
        except KeyboardInterrupt as interrupt:
            interrupt.args = (f"{keeper.holds()}; run the same again to go on from there",)
            raise


def _read(path: str | os.PathLike[str], name: str) -> File:
    try:
        file = read_file(path)
        run = file.header.get("run")
        if run is None or run["format"] != _FORMAT:
            held = "a finished result" if run is None else f"of format {run['format']}"
            raise ValueError(
                f"checkpoint {name} is {held}, expected one of format {_FORMAT} or no file: give another name"
            )
        _state(file)
        _ahead(file)
    except KeyError as error:  # a damaged archive may lack members without an error
        raise _unusable(name, f"it lacks {error}") from error
    except ValueError as error:
        if str(error).startswith("checkpoint"):
            raise
        raise _unusable(name, str(error.__cause__ or error)) from error
    except OSError as error:
        raise OSError(error.errno, f"checkpoint {name} cannot be read: {error.strerror}") from error
    return file


def _unusable(name: str, why: str) -> ValueError:
    return ValueError(
        f"checkpoint {name} cannot be used ({why}): expected a file that sample_values wrote as a "
        "checkpoint, or none; move it away to begin anew"
    )


def _state(file: File) -> State:
    """The state in a file; KeyError if something is missing."""
    run, more = file.header["run"], file.more
    return State(
        file.moments,
        more["block"],
        run["unconverged"],
        file.fields["seconds"],
        run["round_ends"],
        {rule: (more[f"rounds_{k}"], more[f"values_{k}"]) for k, rule in enumerate(run["rules"])},
    )


def _ahead(file: File) -> tuple[Scores, list[dict[str, Any]]]:
    """The scores and the results of the pilot of each fold; KeyError if something is missing."""
    full, baseline = file.header["run"]["scores"]
    n_folds = len(file.moments.parts)
    pilots = [{name: file.more[f"{name}_{k}"] for name in _OF_PILOT} for k in range(n_folds)]
    return (full, baseline), pilots
