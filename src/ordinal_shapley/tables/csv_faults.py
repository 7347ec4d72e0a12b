"""What keeps a file from being read as CSV, and what to do about it, in words."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

_OTHER_MARKS = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_MARKS = {",": "commas", **_OTHER_MARKS}


def check_file(path: Path, what: str) -> None:
    """ValueError unless there is a file; `what` says of what."""
    if not path.exists():
        raise ValueError(f"there is no file {str(path)!r}")
    if path.is_dir():
        raise ValueError(f"{str(path)!r} is a folder, not {what}")


def check_commas(name: str, header: Sequence[str]) -> None:
    """Raise a ValueError if the only column is really several, with another mark between them."""
    for mark, word in _OTHER_MARKS.items():
        if len(header) == 1 and mark in header[0].strip():
            raise ValueError(
                f"{name} has {word} between its columns, expected commas, and points in decimal numbers: "
                "save it as CSV with commas"
            )


def check_sep(name: str, header: Sequence[str], sep: str) -> None:
    """Raise a ValueError if the only column is really several, with another mark than `sep` between them."""
    for mark, word in _MARKS.items():
        if len(header) == 1 and mark in header[0].strip() and mark != sep:
            given = "tab" if mark == "\t" else shlex.quote(mark)
            decimals = ", and --decimal , if numbers are written as 1,5" if mark != "," else ""
            raise ValueError(f"{name} has {word} between its columns: give --sep {given}{decimals}")


def describe_fault(name: str, error: Exception, sep: str = ",") -> str:
    """Return the message for an error of the parser or the decoder."""
    if isinstance(error, UnicodeDecodeError):
        return f"{name} is not UTF-8 text: {error.reason}; save it as UTF-8"
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    reason = reason.removeprefix("Error tokenizing data. ").removeprefix("C error: ")
    if reason.startswith("Length of header"):
        reason = "its rows have more entries than the header has names"
    if reason.startswith(("its rows", "Expected ")):
        reason += f"; put text that holds {_MARKS[sep]} between double quotes"
    return f"{name} can't be read as CSV: {reason}"
