"""Files that are complete or not there at all."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str], *, keep: bool = True) -> Iterator[Path]:
    """Give a temporary file beside `path`, which takes its place once the block has ended well.

    Devices, pipes and the like are given themselves: what took their place would be no device.
    """
    target = Path(os.path.realpath(path))
    if target.is_symlink():  # only one that leads back to itself stays one
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))
    exists = target.exists()
    if exists and not target.is_file():
        yield target
        return
    if exists and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "the file is write-protected", os.fspath(path))
    temporary = target.with_name(f".unfinished-{secrets.token_hex(4)}{target.suffix}")
    try:
        _make(temporary, path)
        if exists:
            shutil.copymode(target, temporary)
        yield temporary
        if keep:
            temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _make(temporary: Path, path: str | os.PathLike[str]) -> None:
    """Make an empty file; errors name the one that is asked for."""
    try:
        temporary.open("x").close()
    except OSError as error:
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
