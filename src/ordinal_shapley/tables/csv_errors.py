"""What keeps a file from being read as CSV, and what to do about it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}


def check_file(path: Path, what: str) -> None:
    """ValueError unless there is a file; `what` says of what."""
    if not path.exists():
        raise ValueError(f"there is no file {str(path)!r}")
    if path.is_dir():
        raise ValueError(f"{str(path)!r} is a folder, not {what}")


def check_header(name: str, header: Sequence[str], sep: str | None) -> None:
    """ValueError if column names repeat, or the only column is really several.

    `sep` is what separates columns, None for a comma where no option takes another mark.
    """
    repeated = [column for k, column in enumerate(header) if column and column in header[:k]]
    if repeated:  # pandas would rename the second
        raise ValueError(f"{name} has more than one column {repeated[0]!r}")
    for mark, word in _SEPARATORS.items():
        if len(header) > 1 or mark == (sep or ",") or mark not in header[0].strip():
            continue
        if sep is None:
            raise ValueError(
                f"{name} has {word} between its columns, expected commas, and points in decimal numbers: "
                "save it as CSV with commas"
            )
        given = "tab" if mark == "\t" else shlex.quote(mark)
        decimals = ", and --decimal , if numbers are written as 1,5" if mark != "," else ""
        raise ValueError(f"{name} has {word} between its columns: give --sep {given}{decimals}")


def describe_error(name: str, error: Exception, sep: str) -> str:
    """Return the message for an error of the parser or the decoder."""
    if isinstance(error, UnicodeDecodeError):
        return f"{name} is not UTF-8 text: {error.reason}; save it as UTF-8"
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    reason = reason.removeprefix("Error tokenizing data. ").removeprefix("C error: ")
    if reason.startswith("Length of header"):
        reason = "its rows have more values than the header has names"
    if reason.startswith(("its rows", "Expected ")):
        reason += f"; put text that holds {_SEPARATORS[sep]} between double quotes"
    return f"{name} can't be read as CSV: {reason}"
