"""Files as frames: CSV, also compressed, and other formats of pandas."""

from __future__ import annotations

import codecs
import io
import re
import shlex
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ordinal_shapley.tables.table import COMMAS, Marks

if TYPE_CHECKING:
    import pandas as pd

_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
# Options to read texts unchanged, such as 007 and NA.
TEXTS: dict[str, Any] = {"dtype": str, "keep_default_na": False}
ADD_NAMES = "add a line above it that names the columns"
_COMPRESSED = (".gz", ".bz2", ".xz", ".zip", ".zst")
# Other formats: the function of pandas that reads them, and the package that it requires.
_READERS = {
    ".parquet": ("read_parquet", "pyarrow"),
    ".xlsx": ("read_excel", "openpyxl"),
    ".xls": ("read_excel", "xlrd"),
    ".ods": ("read_excel", "odfpy"),
}


class File(NamedTuple):
    """The content of a file, read once, as it may be a pipe."""

    name: str
    content: bytes  # CSV, with blank lines in place of those before the header
    marks: Marks
    texts: Sequence[str] = ()  # columns known to hold text

    def frame(self, dtype: Any = None, **options: Any) -> pd.DataFrame:
        """Return the frame, with at least one row; the options are those of `pandas.read_csv`."""
        import pandas as pd

        dtype = dtype or dict.fromkeys(self.texts, str)
        marks: dict[str, Any] = {"sep": self.marks.sep, "encoding": "utf-8-sig"}
        header: list[str] = []
        try:
            with warnings.catch_warnings():
                # Rows longer than the header would silently lose their last values.
                warnings.simplefilter("error", pd.errors.ParserWarning)
                first = pd.read_csv(io.BytesIO(self.content), header=None, nrows=1, **marks, **TEXTS)
                header = first.iloc[0].tolist()
                _check_header(self.name, header, self.marks.sep)
                options |= marks | {"index_col": False, "low_memory": False, "decimal": self.marks.decimal}
                frame: pd.DataFrame = pd.read_csv(io.BytesIO(self.content), dtype=dtype, **options)
        except pd.errors.EmptyDataError:
            raise ValueError(f"{self.name} is empty") from None
        except (pd.errors.ParserError, pd.errors.ParserWarning, UnicodeDecodeError) as error:
            raise ValueError(_why_not(self.name, error, self.marks.sep, header)) from error
        if not len(frame):
            raise ValueError(f"{self.name} has a header but no rows")
        return frame


def open_file(path: Path, what: str, marks: Marks) -> File:
    """Read a file in the format of its name; `what` is its expected content, for messages.

    `marks` are those of CSV, unless its first line names the separator, like Excel's ``sep=;``.
    """
    check_file(path, what)
    ending = path.suffix.lower()
    if ending in _READERS:
        return _converted(path, *_READERS[ending])
    content = _decompressed(path) if ending in _COMPRESSED else path.read_bytes()
    if b"\0" in content:
        raise ValueError(f"{path.name} holds NUL characters, so it is not UTF-8 text: save it as UTF-8")
    content, sep = _from_header(content, marks.sep)
    return File(path.name, content, marks._replace(sep=sep))


def is_table(path: Path) -> bool:
    """Whether a file has the name of a table."""
    return any(ending.lower() in (".csv", *_READERS) for ending in path.suffixes)


def check_file(path: Path, what: str) -> None:
    """ValueError unless the file exists; `what` is its expected content."""
    if not path.exists():
        raise ValueError(f"there is no file {str(path)!r}")
    if path.is_dir():
        raise ValueError(f"{str(path)!r} is a folder, not {what}")


def _decompressed(path: Path) -> bytes:
    from pandas.io.common import get_handle  # type: ignore[import-not-found]

    try:
        with get_handle(path, "rb", compression="infer", is_text=False) as opened:
            content: bytes = opened.handle.read()
            return content
    except Exception as error:  # each format has its own exceptions
        raise ValueError(f"{path.name} can't be decompressed: {error}") from error


def _converted(path: Path, reader: str, package: str) -> File:
    """Return the CSV of a file that pandas reads."""
    import pandas as pd

    typed, texts = reader == "read_parquet", []
    try:
        if typed:
            frame = pd.read_parquet(path)
            frame = frame.reset_index(drop=list(frame.index.names) == [None]).rename(columns=str)
            texts = [str(name) for name in frame.select_dtypes(["object", "string", "category"])]
        else:
            frame = pd.read_excel(path, header=None, **TEXTS)
            frame = frame[(frame != "").any(axis=1)]
    except ImportError as error:
        raise ValueError(f"reading {path.name} needs {package}: pip install {package}") from error
    except Exception as error:  # each reader has its own exceptions
        raise ValueError(f"{path.name} can't be read: {error}") from error
    return File(path.name, frame.to_csv(index=False, header=typed).encode(), COMMAS, texts)


def _from_header(content: bytes, sep: str) -> tuple[bytes, str]:
    """Return the content with blank lines in place of those before the header, and the separator.

    These are Excel's ``sep=;`` and comments, which begin with #.
    """
    content = content.removeprefix(codecs.BOM_UTF8)
    start, n, lines = 0, 0, io.BytesIO(content)
    previous = b""
    for line in lines:
        text = line.rstrip(b"\r\n")
        named = re.fullmatch(rb'"?sep=([,;|\t])"?', text) if not n else None
        if named:
            sep = named[1].decode()
        elif text.strip() and not text.startswith(b"#"):
            # A line with as many names as the next one has values is a header, even if it begins with #.
            if previous.startswith(b"#") and previous.count(sep.encode()) == text.count(sep.encode()) > 0:
                start, n = start - len(previous), n - 1
            break
        previous, start, n = line, start + len(line), n + 1
    return b"\n" * n + content[start:], sep


def _check_header(name: str, header: Sequence[str], sep: str) -> None:
    """ValueError if column names repeat, or the only column is really several."""
    repeated = [column for k, column in enumerate(header) if column and column in header[:k]]
    if repeated:  # pandas would rename the second one
        raise ValueError(
            f"{name} has more than one column {repeated[0]!r}; if its first line is a row of values, "
            f"{ADD_NAMES}"
        )
    for mark, word in _SEPARATORS.items():
        if not sep or len(header) > 1 or mark == sep or mark not in header[0].strip():
            continue
        given = "tab" if mark == "\t" else shlex.quote(mark)
        decimals = ", and --decimal , if numbers are written as 1,5" if mark != "," else ""
        raise ValueError(f"{name} has {word} between its columns: give --sep {given}{decimals}")


def _why_not(name: str, error: Exception, sep: str, header: Sequence[str]) -> str:
    """Return the message for an error of the parser or the decoder."""
    if isinstance(error, UnicodeDecodeError):
        return f"{name} is not UTF-8 text: {error.reason}; save it as UTF-8"
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    reason = reason.removeprefix("Error tokenizing data. ").removeprefix("C error: ")
    if reason.startswith("Length of header"):
        reason = "its rows have more values than the header has names"
    if reason.startswith(("its rows", "Expected ")):
        reason += f"; put text that holds {_SEPARATORS[sep]} between double quotes"
        if len(header) == 1:
            reason = (
                f"its first line, {header[0]!r}, is not a line of column names; begin lines above these with "
                "#, or delete them"
            )
    return f"{name} can't be read as CSV: {reason}"
