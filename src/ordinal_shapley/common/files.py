"""Files that are complete or absent, and that only one run at a time may write."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import socket
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_TOKEN_BYTES = 4


@contextmanager
def replacing(path: str | os.PathLike[str], *, keep: bool = True) -> Iterator[Path]:
    """Yield a temporary file beside `path`, which replaces it if the block succeeds.

    Devices, pipes and the like are yielded themselves, as a file must not replace them.
    """
    target = Path(os.path.realpath(path))
    if target.is_symlink():  # only a link to itself remains a link
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    exists = target.exists()
    if exists and not target.is_file():
        yield target
        return
    if exists and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "the file is write-protected", os.fspath(path))
    start, end = _unfinished(target)
    temporary = target.with_name(f"{start}{secrets.token_hex(_TOKEN_BYTES)}{end}")
    try:
        temporary.open("x").close()
        if exists:
            shutil.copymode(target, temporary)
        yield temporary
        if keep:
            # First the content, then the name: after a crash the file is the old or the new one.
            with temporary.open("rb+") as stream:
                os.fsync(stream.fileno())
            temporary.replace(target)
            _sync_folder(target.parent)
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(temporary), temporary):
            raise
        # The error names no file, as that of a full disk, or the temporary one.
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error
    finally:
        temporary.unlink(missing_ok=True)


def _unfinished(target: Path) -> tuple[str, str]:
    """Beginning and end of the name of a temporary file for `target`."""
    return f".{target.stem}-unfinished-", target.suffix


def remove_unfinished(path: str | os.PathLike[str]) -> None:
    """Remove temporary files of killed writers of `path`; the caller must hold its lock."""
    target = Path(os.path.realpath(path))
    start, end = _unfinished(target)
    for name in os.listdir(target.parent):
        # Of the same length: without a suffix the pattern would also match files of a name with one.
        fits = len(name) == len(start) + 2 * _TOKEN_BYTES + len(end)
        if fits and name.startswith(start) and name.endswith(end):
            target.with_name(name).unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Flush a renaming to disk; not every system can do that for folders."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def locked(path: str | os.PathLike[str]) -> Iterator[None]:
    """Hold a lock on `path` until the block or the process ends.

    BlockingIOError if another holds the lock, of whom its text tells; OSError if no file can be there.
    """
    target = Path(os.path.realpath(path))
    lock = target.with_name(f".{target.name}.lock")
    descriptor = _take(lock)
    try:
        yield
    finally:
        # Removed while we hold the lock, so that it is not another's file.
        if sys.platform != "win32":
            lock.unlink(missing_ok=True)
        os.close(descriptor)


def _take(lock: Path) -> int:
    """Open and lock a file, which is then still in its place."""
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _lock(descriptor)
        except (BlockingIOError, PermissionError):
            holder = os.read(descriptor, 1000).decode(errors="replace").strip()
            os.close(descriptor)
            raise BlockingIOError(errno.EAGAIN, f"it is in use by {holder or 'another run'}") from None
        except OSError as error:  # some shared file systems have no locks
            warnings.warn(
                f"make sure that no other run writes to {lock.parent}, which cannot be locked "
                f"({error.strerror})",
                UserWarning,
                stacklevel=5,
            )
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), os.stat(lock)):
                os.ftruncate(descriptor, 0)
                with contextlib.suppress(OSError):  # a full disk
                    os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()}".encode())
                return descriptor
        os.close(descriptor)  # its holder has just removed it


def _lock(descriptor: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
