"""Errors of utilities, stored where they occur until they can be raised."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Sequence
from typing import Any

from ordinal_shapley.common.arguments import with_prefix


class UtilityError(Exception):
    """A utility that a kernel could not use, with its sequence.

    `failure` is the error that the interpreter saw, caused by the exception of the user's function.
    """

    def __init__(self, sequence: Sequence[int], failure: Exception | None = None) -> None:
        super().__init__(sequence)
        self.sequence = tuple(int(player) for player in sequence)
        self.failure = failure
        self.permutation: int | None = None  # in which it occurred

    def __reduce__(self) -> tuple[Any, ...]:
        details: tuple[Any, ...] = ()
        if self.failure is not None:
            again = with_prefix("", self.failure)
            cause = again.__cause__
            assert cause is not None
            details = type(again), str(again), "".join(traceback.format_exception(cause)), _pickled(cause)
        return _unpack, (type(self), self.sequence, self.permutation, *details)


class RemoteError(Exception):
    """Stands in for an exception in another process; its message is the traceback there."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def message_of(error: BaseException) -> str:
    """Return the message of an exception of any class."""
    try:
        return str(error)
    except Exception:
        return "its message cannot be read"


def _pickled(cause: BaseException) -> bytes:
    """Pickle a user's exception; return nothing if it can't be pickled or unpickled."""
    from joblib import wrap_non_picklable_objects

    try:
        pickled = pickle.dumps(wrap_non_picklable_objects(cause, keep_wrapper=False))
        pickle.loads(pickled)
    except Exception:
        return b""
    return pickled


def _unpack(
    kind: type[UtilityError],
    sequence: tuple[int, ...],
    permutation: int | None,
    failure_kind: type[Exception] | None = None,
    message: str = "",
    trace: str = "",
    pickled: bytes = b"",
) -> UtilityError:
    error = kind(sequence)
    error.permutation = permutation
    if failure_kind is not None:
        error.failure = failure_kind(message)
        error.failure.__cause__ = _cause(trace, pickled)
    return error


def _cause(trace: str, pickled: bytes) -> BaseException:
    there = RemoteError(trace)
    try:
        cause: BaseException = pickle.loads(pickled)
    except Exception:  # it could not be pickled, or its class is unknown here
        return there
    cause.__cause__ = there
    return cause
